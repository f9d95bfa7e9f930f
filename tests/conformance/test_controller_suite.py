"""The State Controller's checks, their mutants and the base Controller.

That each mutant is caught by its own check, and no oddity is accused, is the self-test's matrix to show.
"""

from __future__ import annotations

import pytest

from agentbeat_conformance.judging import judge_async
from agentbeat_conformance.mutants import load
from agentbeat_conformance.mutants.base_controller import BaseController
from agentbeat_conformance.mutants.registry import cross_check
from agentbeat_conformance.mutants.replies import Refused
from agentbeat_conformance.outcomes import Outcome, Verdict
from agentbeat_conformance.requirements import Capability, Level
from agentbeat_conformance.transcripts import read_transcript, write_transcript
from agentbeat_conformance.trials import run_of, try_mutant
from agentbeat_conformance.wires import AsgiWire
from agentbeat_protocol import DIMENSIONS, StateReceipt, canonical_json, read_json
from support.controller_suites import CATALOGUE, controller_run, ends, result_of, run_of_server

SERVERS = {name: mutant for name, mutant in load().items() if mutant.tier == "controller"}
BROKEN = [name for name, mutant in SERVERS.items() if mutant.kind == "controller"]
DEGENERATE = [name for name, mutant in SERVERS.items() if mutant.kind == "degenerate"]
#: What each check needs, but for those that need leases which end within seconds.
NEEDS = {id: made.needs for id, made in CATALOGUE.items() if Capability.EXPIRY not in made.needs}
#: Rules of spec 2, each with a check of its own or several.
RULES = {*(f"CTL-{number}" for number in range(1, 13)), *(f"RCP-{number}" for number in range(1, 9))}


@pytest.mark.parametrize("name", DEGENERATE)
async def test_a_server_that_is_no_controller_is_never_conformant(name):
    trial = await try_mutant(SERVERS[name], CATALOGUE)
    assert trial.verdict in (Verdict.NOT_CONFORMANT, Verdict.INCOMPLETE)
    assert trial.errors == ()


async def test_a_controller_that_does_not_know_the_secret_is_not_accused():
    """The user has given the wrong one, as far as anybody can tell."""
    trial = await try_mutant(SERVERS["controller-refuses-all"], CATALOGUE)
    assert (trial.verdict, trial.failed) == (Verdict.INCOMPLETE, ())


def test_the_two_registers_agree():
    assert cross_check(CATALOGUE, SERVERS) == []


def test_there_is_a_check_for_each_rule_and_a_mutant_that_breaks_each_alone():
    assert {made.rule for made in CATALOGUE.values()} == RULES
    alone = {id for name in BROKEN for id in SERVERS[name].breaks if len(SERVERS[name].breaks) == 1}
    assert alone == CATALOGUE.keys()
    assert len(BROKEN) >= 40


# The base Controller


async def test_the_base_controller_is_conformant_and_every_check_that_applies_passes():
    server = BaseController()
    async with AsgiWire(server.app) as wire:
        run = await run_of_server(server, wire)
    assert run.verdict is Verdict.CONFORMANT
    assert ends(run) == {
        made.id: "not_applicable: leases do not end within seconds"
        for made in CATALOGUE.values()
        if Capability.EXPIRY in made.needs
    }


async def test_with_short_leases_the_rules_of_expiry_are_checked_too():
    class Short(BaseController):
        lease_seconds = 4

    server = Short()
    async with AsgiWire(server.app) as wire:
        run = await run_of_server(server, wire)
    assert (run.verdict, ends(run)) == (Verdict.CONFORMANT, {})


async def test_the_suite_leaves_no_lease_behind():
    server = BaseController()
    async with AsgiWire(server.app) as wire:
        await run_of_server(server, wire)
    assert [lease for lease in server.leases.values() if not lease.released] == []


async def test_without_a_write_command_the_verdict_is_incomplete_and_never_conformant():
    server = BaseController()
    async with AsgiWire(server.app) as wire:
        run = await run_of_server(server, wire, write=None)
    assert run.verdict is Verdict.INCOMPLETE
    untried = {result.requirement.id for result in run.results if result.outcome is Outcome.COULD_NOT_RUN}
    assert untried == {id for id, needs in NEEDS.items() if Capability.WRITE in needs}
    assert {"CTL-3.e", "CTL-4.b", "CTL-6.f", "CTL-12.a"} <= untried


async def test_without_a_restart_command_and_a_key_their_rules_are_not_applicable():
    server = BaseController()
    async with AsgiWire(server.app) as wire:
        run = await run_of_server(server, wire, restart=None, verify_key=None)
    assert run.verdict is Verdict.CONFORMANT
    left_out = {Capability.RESTART, Capability.VERIFY_KEY, Capability.EXPIRY}
    assert ends(run).keys() == {made.id for made in CATALOGUE.values() if made.needs & left_out}


async def test_a_write_command_that_does_nothing_shows_nothing():
    """A business call that is always refused says nothing about windows."""

    async def refuse(canary, run_id):
        return False

    server = BaseController()
    async with AsgiWire(server.app) as wire:
        run = await run_of_server(server, wire, write=refuse)
    assert run.verdict is Verdict.INCOMPLETE
    for id in (id for id, needs in NEEDS.items() if Capability.WRITE in needs):
        assert result_of(run, id).outcome is Outcome.COULD_NOT_RUN, id


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"deployment_id": "deployment-nobody-knows"}, "not_found"),
        ({"profile_id": "profile-nobody-knows"}, "does not list the profile"),
    ],
    ids=["deployment", "profile"],
)
async def test_a_wrong_option_makes_the_run_incomplete_and_accuses_nobody(options, reason):
    class Choosy(BaseController):
        def check_profile(self, request, profile):
            super().check_profile(request, profile)
            if request.deployment_profile_id != self.deployment:
                raise Refused("not_found", "expected a Deployment of this Controller")

    server = Choosy()
    async with AsgiWire(server.app) as wire:
        run = await run_of_server(server, wire, **options)
    assert run.verdict is Verdict.INCOMPLETE
    assert reason in (result_of(run, "CTL-1.a").reason or "")


@pytest.mark.parametrize("mode", ["deployment_static", "catalog"])
async def test_one_binding_mode_can_be_chosen(mode):
    server = BaseController()
    async with AsgiWire(server.app) as wire:
        run = await run_of_server(server, wire, binding_mode=mode)
    assert run.verdict is Verdict.CONFORMANT
    assert {lease.request.binding_mode for lease in server.leases.values()} == {mode}


# Replay


@pytest.mark.parametrize("name", ["controller-short-leases", "late-release-ends-the-next-run", *DEGENERATE])
async def test_a_transcript_gives_the_same_results_again(name):
    """Shrinking included: what it sent is in the transcript, and is asked for again."""
    run = await run_of(SERVERS[name], CATALOGUE)
    written = b"".join(write_transcript(run.transcript))
    again = await judge_async(read_transcript(written), catalogue=CATALOGUE)
    assert again.results == run.results
    assert again.verdict is run.verdict


async def test_two_runs_with_one_seed_ask_the_same_requests():
    asked = []
    for _ in range(2):
        server = BaseController()
        async with AsgiWire(server.app) as wire:
            run = await run_of_server(server, wire)
        asked.append([exchange.request.target.partition("snapshots/")[0] for exchange in run.exchanges])
    assert asked[0] == asked[1]


# A receipt that was tampered with


class Tampering(BaseController):
    """Between the Controller and the suite somebody changes one member of each receipt."""

    def __init__(self, member, value):
        super().__init__()
        self._member, self._value = member, value

    async def answer(self, asked):
        reply = await super().answer(asked)
        if asked.path.endswith("/verify") and reply.status == 200:
            members = read_json(reply.body)
            members["receipt"][self._member] = self._value
            reply.body = canonical_json(members)
        return reply


OTHER = {
    "schema_version": "state-receipt-v2",
    "receipt_id": "receipt-other",
    "controller_id": "controller-other",
    "deployment_profile_id": "deployment-other",
    "run_id": "run-other",
    "case_id": "case-other",
    "attempt_nonce": "f" * 32,
    "profile_id": "profile-other",
    "profile_digest": "sha256:" + "0" * 64,
    "binding_mode": "deployment_static",
    "environment_id": "env-other",
    "injection_digest": "sha256:" + "0" * 64,
    "before": {"ref": "other", "digest": "sha256:" + "0" * 64, "taken_at": "2026-01-01T00:00:00Z"},
    "after": {"ref": "other", "digest": "sha256:" + "0" * 64, "taken_at": "2026-01-01T00:00:00Z"},
    "final_response_digest": "sha256:" + "0" * 64,
    "verdicts": {name: {"verdict": "not_observed", "reason": "x"} for name in DIMENSIONS},
    "checks_digest": "sha256:" + "0" * 64,
    "native_score": {"numerator": 6, "denominator": 6, "value": 1.0},
    "issued_at": "2100-01-01T00:00:00Z",
    "receipt_digest": "sha256:" + "0" * 64,
    "signature": {"algorithm": "ed25519", "key_id": "key-other", "value": "A" * 86},
}


def test_each_member_of_a_receipt_is_tampered_with():
    assert OTHER.keys() == StateReceipt.model_fields.keys()


@pytest.mark.parametrize("member", OTHER)
async def test_a_receipt_with_one_member_changed_is_told(member):
    server = Tampering(member, OTHER[member])
    async with AsgiWire(server.app) as wire:
        run = await run_of_server(server, wire, only=("RCP", "CTL-1.b"), restart=None, write=None)
    failed = {result.requirement.id for result in run.results if result.outcome is Outcome.FAIL}
    assert failed
    assert run.verdict is Verdict.NOT_CONFORMANT


# What findings hold


@pytest.mark.parametrize("name", ["secret-is-compared-by-its-beginning", "refusals-repeat-values"])
async def test_no_finding_shows_the_secret_or_unbounded_text(name):
    run = await run_of(SERVERS[name], CATALOGUE)
    for result in run.results:
        for finding in result.findings:
            assert SERVERS[name].secret not in finding.message
            assert len(finding.message) < 1_000


@pytest.mark.parametrize("name", BROKEN)
async def test_a_finding_points_at_an_exchange_of_its_run(name):
    run = await run_of(SERVERS[name], {id: CATALOGUE[id] for id in SERVERS[name].breaks})
    for result in run.results:
        for finding in result.findings:
            assert finding.exchange is not None
            assert run.exchanges[finding.exchange].index == finding.exchange


def test_every_must_of_a_controller_has_a_level_and_a_mutant_of_its_own():
    assert {made.level for made in CATALOGUE.values()} == {Level.MUST, Level.SHOULD}
    assert all(made.kills <= SERVERS.keys() for made in CATALOGUE.values())


async def test_an_endpoint_that_is_not_there_is_nothing_tested():
    async def nobody(scope, receive, send):
        raise OSError("nobody is there")

    async with AsgiWire(nobody) as wire:
        run = await controller_run(wire)
    assert run.verdict in (Verdict.NOTHING_TESTED, Verdict.INCOMPLETE)
    assert all(result.outcome is not Outcome.PASS for result in run.results)
