"""Answers of a Controller read tolerantly, and what a probe chooses from a catalogue."""

from __future__ import annotations

import base64
import json

import pytest

from agentbeat_conformance.controller_answers import error_code, members_of, read_answer, surplus
from agentbeat_conformance.controller_choices import public_key, usable_entries
from agentbeat_conformance.controller_probes import ControllerProbe
from agentbeat_conformance.exchanges import Answer, Exchange, Failure, Request
from agentbeat_conformance.mutants.base_controller import DEPLOYMENT, BaseController
from agentbeat_conformance.mutants.registry import SECRET
from agentbeat_conformance.requirements import Capability, CouldNotRun
from agentbeat_conformance.sessions import Session
from agentbeat_conformance.wires import AsgiWire
from agentbeat_protocol import Catalogue, ProtocolError, ReleaseAnswer

RELEASED = {
    "schema_version": "state-controller-v1",
    "run_id": "run-a",
    "case_id": "case-a",
    "profile_id": "p",
    "lease_id": "lease-1",
    "status": "released",
}
ENTRY = {
    "profile_id": "p",
    "profile_digest": "sha256:" + "0" * 64,
    "title": "P",
    "binding_modes": ["catalog"],
    "dimensions": ["utility"],
}


def answered(body, status=200):
    """An exchange with this body."""
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    request = Request.build("POST", "/v1/environment/release", host="c", body=b"{}")
    return Exchange(request=request, answer=Answer(status=status, fields=(), body=raw))


# Reading


def test_members_that_the_specs_do_not_name_are_dropped_and_told():
    exchange = answered({**RELEASED, "took": 1, "a/b~c": {}})
    assert read_answer(exchange, ReleaseAnswer).lease_id == "lease-1"
    assert set(surplus(exchange, ReleaseAnswer)) == {"/took", "/a~1b~0c"}


def test_they_are_dropped_inside_lists_and_objects_too():
    entries = [{**ENTRY, "tools": []}, {**ENTRY, "profile_id": "q", "x": {"y": 1}}]
    exchange = answered({"schema_version": "state-controller-v1", "controller_id": "c", "profiles": entries})
    assert [entry.profile_id for entry in read_answer(exchange, Catalogue).profiles] == ["p", "q"]
    assert surplus(exchange, Catalogue) == ("/profiles/0/tools", "/profiles/1/x")


@pytest.mark.parametrize(
    "body",
    [
        {**RELEASED, "status": "gone"},
        {name: value for name, value in RELEASED.items() if name != "lease_id"},
        {**RELEASED, "run_id": "RUN"},
        [],
        b"",
        b"{",
        b'{"status": "released", "status": "released"}',
    ],
    ids=["value", "missing", "pattern", "array", "nothing", "syntax", "twice"],
)
def test_all_else_is_as_strict_as_the_protocol(body):
    with pytest.raises(ProtocolError):
        read_answer(answered(body), ReleaseAnswer)


def test_an_answer_that_is_all_surplus_ends():
    """Reading drops a bounded number of members, one at a time."""
    with pytest.raises(ProtocolError):
        read_answer(answered({f"member-{number}": 1 for number in range(500)}), ReleaseAnswer)


def test_without_an_answer_there_is_nothing_to_read():
    request = Request.build("GET", "/", host="c")
    cut = Exchange(request=request, answer=None, failure=Failure.CUT)
    with pytest.raises(ProtocolError):
        members_of(cut)
    assert error_code(cut) is None
    assert error_code(answered(b"<html>", 409)) is None
    envelope = {"error": {"code": "binding_conflict", "message": "expected another"}}
    assert error_code(answered(envelope, 409)) == "binding_conflict"


# Choosing


def test_an_entry_that_can_be_reset_is_usable_whatever_else_it_lacks():
    """Its own check judges the catalogue; runs need an id, a digest and a mode."""
    bare = {name: value for name, value in ENTRY.items() if name not in ("title", "dimensions")}
    (entry,) = usable_entries({"profiles": [bare]})
    assert (entry.profile_id, entry.dimensions) == ("p", ("utility", "security", "attack"))


@pytest.mark.parametrize(
    "catalogue",
    [None, [], {}, {"profiles": None}, {"profiles": [1, {}, {**ENTRY, "profile_digest": "md5:0"}]}],
    ids=["null", "array", "empty", "no-list", "no-entry"],
)
def test_what_is_no_catalogue_has_no_entries(catalogue):
    assert usable_entries(catalogue) == ()


@pytest.mark.parametrize("padding", ["", "="])
def test_a_verify_key_is_32_bytes_in_base64url(padding):
    text = base64.urlsafe_b64encode(bytes(range(224, 256))).rstrip(b"=").decode() + padding
    assert public_key(text) == bytes(range(224, 256))


@pytest.mark.parametrize("text", ["", "AAAA", "A" * 44, "+" * 43, "ä" * 43, "A" * 42 + " ", "A" * 42 + "B"])
def test_what_is_no_verify_key_is_refused_without_being_repeated(text):
    with pytest.raises(ValueError, match="32 bytes in base64url") as caught:
        public_key(text)
    assert text == "" or text not in str(caught.value)


# The probe


def probe(server=None, **options):
    """A probe of a server in process."""
    session = Session(wire=AsgiWire((server or BaseController()).app), seed="0")
    return ControllerProbe(session, host="c", secret=SECRET, deployment_id=DEPLOYMENT, **options)


async def test_runs_are_made_of_the_first_profile_with_a_surface_unless_one_is_named():
    assert (await probe().profile()).profile_id == "shelf-label"
    assert (await probe(profile_id="shelf-plain").profile()).profile_id == "shelf-plain"
    with pytest.raises(CouldNotRun, match="does not list"):
        await probe(profile_id="shelf-none").profile()


async def test_capabilities_are_what_the_controller_shows():
    everything = {Capability.AUTH, Capability.STATIC, Capability.CATALOG, Capability.INJECTION}
    assert await probe().capabilities() == everything | {Capability.UNDECIDED}
    one = probe(profile_id="shelf-plain", binding_mode="catalog", verify_key="A" * 43)
    assert await one.capabilities() == {
        Capability.AUTH,
        Capability.CATALOG,
        Capability.UNDECIDED,
        Capability.VERIFY_KEY,
    }


async def test_a_mode_that_the_profile_does_not_offer_cannot_be_run():
    controller = probe(binding_mode="catalog")
    with pytest.raises(CouldNotRun, match="deployment_static"):
        async with controller.run(mode="deployment_static"):
            raise AssertionError("unreachable")


async def test_a_run_is_released_whatever_happens_inside_its_block():
    server = BaseController()

    async def broken_off():
        async with probe(server).run() as run:
            await run.through("reset", "before")
            raise LookupError

    with pytest.raises(LookupError):
        await broken_off()
    assert [lease.released for lease in server.leases.values()] == [True]


async def test_a_write_without_a_command_could_not_run():
    with pytest.raises(CouldNotRun, match="--write-command"):
        await probe().write("canary", run_id="run-a")


async def test_a_lease_that_nobody_has_has_the_form_of_those_that_somebody_has():
    controller = probe()
    async with controller.run() as run:
        assert run.unknown_lease == "lease-that-nobody-has1"
        await run.through("reset")
        assert run.unknown_lease != run.lease_id
        assert run.unknown_lease[:-1] == run.lease_id[:-1]
