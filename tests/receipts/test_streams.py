"""A batch that streams by gets the report that it gets in memory, whatever is wrong with it."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentbeat_receipts.deliveries import Delivery
from agentbeat_receipts.keys import Keyring
from agentbeat_receipts.objects import Document, SignatureFault
from agentbeat_receipts.streams import chunks as chunking
from agentbeat_receipts.streams.gathering import Gathering
from agentbeat_receipts.streams.records import ReceiptRecord
from agentbeat_receipts.verification import Finding, Reason, Verdict
from support import claim_faults
from support.chain_faults import FAULTS
from support.claim_batches import batch, kiosk_manifest, unopened
from support.json_values import json_values
from support.receipt_batches import Parts, deliveries, honest, manifest
from support.receipt_tampering import LAST, failed, nonce, with_last
from support.streamed import compared, in_memory, streamed


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three deliveries a task, so that what belongs together is in several."""
    monkeypatch.setattr(chunking, "_MOST", 3)


def _orders(delivered: list[Delivery]) -> dict[str, list[Delivery]]:
    shuffled = [*delivered, *delivered]
    random.Random(4).shuffle(shuffled)
    return {"as delivered": delivered, "backwards": delivered[::-1], "twice and shuffled": shuffled}


KIOSK_BATCHES: dict[str, Callable[[], Parts]] = {
    "honest": batch,
    "retrospective": lambda: batch(manifest=kiosk_manifest(mode="retrospective")),
    "no contract": lambda: batch(manifest=claim_faults.SILENT),
    "a terminal withheld": lambda: claim_faults.withheld(batch(), claim_faults.RUN),
    "one opening missing": lambda: unopened(batch(), claim_faults.RUN),
    "all openings withheld": lambda: unopened(batch()),
    "a value other than replayed": lambda: batch(disclosed=claim_faults.values(surplus=21)),
    "a trace that does not come out": claim_faults.other_trace,
    "a decision missing": claim_faults.no_decision,
    "another profile": claim_faults.other_profile,
    "a retry shadowed": claim_faults.shadowed,
    "another scorer": claim_faults.other_scorer,
    "a byte flipped": lambda: claim_faults.flipped(batch()),
    "another domain": lambda: batch(members={claim_faults.RUN: {"domain": "market"}}),
    "every opening of another domain": lambda: batch(
        members={e.assignment: {"domain": "market"} for e in kiosk_manifest().assignments}
    ),
    "a nonce of three": lambda: batch(
        members={name: {"nonce": nonce(bytes(32))} for name in ("v-1.free.1", "v-3.free.1", "v-2.capped.2")}
    ),
    "two nonces of two": lambda: batch(
        members={
            name: {"nonce": nonce(bytes([place // 2]) * 32)}
            for place, name in enumerate(("v-1.free.1", "v-3.free.1", "v-2.capped.2", "v-5.free.2"))
        }
    ),
}


@pytest.mark.parametrize("name", KIOSK_BATCHES)
def test_a_batch_with_its_claims_is_judged_as_in_memory(name: str) -> None:
    for made in _orders(deliveries(KIOSK_BATCHES[name]().documents())).values():
        expected, got = compared(made)
        assert got == expected
        expected, got = compared(made, opened=False)
        assert got == expected


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_found_as_in_memory(name: str) -> None:
    for made in _orders(deliveries(FAULTS[name].make().documents())).values():
        expected, got = compared(made)
        assert got == expected
        assert FAULTS[name].reasons <= got.chain.reasons


def _other(**members: Any) -> list[Document]:
    parts = honest(manifest(title="another epoch"), **members)
    return [document for document in parts.documents() if document is not parts.manifest]


def _beside(*documents: Document) -> list[Delivery]:
    return deliveries([*honest().documents(), *documents])


def _respelled(change: Callable[[bytes], bytes]) -> list[Delivery]:
    return [Delivery(d.path, change(d.content)) for d in deliveries(batch().documents())]


def _spaced(raw: bytes) -> bytes:
    return json.dumps(json.loads(raw), indent=1).encode()


def _escaped(raw: bytes) -> bytes:
    return raw.replace(b'"assignment"', b'"\\u0061ssignment"')


def _elsewhere(name: str) -> Document:
    """An envelope that says that it is of another assignment."""
    parts = honest()
    body = parts.envelopes[LAST].body
    return Document(body=body.model_copy(update={"assignment": name}))


INPUTS: dict[str, Callable[[], list[Delivery]]] = {
    "nothing": list,
    "one receipt with its envelope": lambda: deliveries(
        [batch().receipts[claim_faults.RUN], batch().envelopes[claim_faults.RUN]]
    ),
    "all but the manifest": lambda: deliveries(batch().documents()[1:]),
    "all but the manifest, two nonces alike": lambda: deliveries(
        KIOSK_BATCHES["two nonces of two"]().documents()[1:]
    ),
    "no manifest and two domains": lambda: deliveries(KIOSK_BATCHES["another domain"]().documents()[1:]),
    "envelopes only": lambda: deliveries(list(honest().envelopes.values())),
    "openings in the clear": lambda: deliveries(honest(encrypted=False).documents()),
    "openings in the clear beside their envelopes": lambda: _beside(*honest().openings.values()),
    "the report only": lambda: deliveries([honest().report]),
    "objects of another manifest": lambda: _beside(*_other()),
    "objects of strangers": lambda: _beside(*_other(keys=Keyring.generate())),
    "two manifests": lambda: deliveries(
        [*honest().documents(), *honest(manifest(title="another epoch")).documents()]
    ),
    "two manifests, and what cannot be read": lambda: [
        *_beside(honest(manifest(title="another epoch")).manifest),
        Delivery("x.json", b'{,"type":"application/vnd.agentbeat.claims.envelope.v1+json"}'),
        Delivery("y.json", b"{"),
    ],
    "all by strangers": lambda: deliveries(honest(keys=Keyring.generate()).documents()),
    "white space": lambda: _respelled(_spaced),
    "escapes": lambda: _respelled(_escaped),
    "every spelling": lambda: [*_respelled(_spaced), *_respelled(_escaped), *_respelled(bytes)],
    "a retry shadowed by a run that shares its nonce": lambda: deliveries(
        honest(
            openings={
                "p-1.both": {"nonce": nonce(bytes(32))},
                "p-2.none": {"nonce": nonce(bytes(32)), "attempts": (failed(1),)},
            }
        ).documents()
    ),
    "an envelope of no assignment": lambda: _beside(_elsewhere("p-9.none")),
    "an envelope of another assignment": lambda: _beside(_elsewhere("p-1.none")),
    "bytes that end as an envelope does": lambda: [
        *_beside(),
        Delivery("x.json", b'["type":"application/vnd.agentbeat.claims.envelope.v1+json"}'),
        Delivery("y.json", b'{"a":1,"a":2,"type":"application/vnd.agentbeat.claims.opening.v1+json"}\n'),
        Delivery("z.json", b'{"a":"","type":"application/vnd.agentbeat.claims.manifest.v1+json"}'),
    ],
    "an envelope without an end": lambda: [Delivery(d.path, d.content[:-1]) for d in _beside()],
    "a receipt with a good signature and a bad one": lambda: [
        *_beside(),
        *deliveries([Document(body=honest().receipts[LAST].body, signature=bytes(64))]),
    ],
}


@pytest.mark.parametrize("name", INPUTS)
def test_whatever_is_delivered_is_judged_as_in_memory(name: str) -> None:
    for made in _orders(INPUTS[name]()).values():
        for opened in (True, False):
            expected, got = compared(made, opened=opened)
            assert got == expected


def test_each_of_several_manifests_is_judged_as_in_memory() -> None:
    made = INPUTS["two manifests"]()
    for parts in (honest(), honest(manifest(title="another epoch"))):
        expected, got = compared(made, manifest=parts.manifest.body.digest())
        assert got == expected
        assert (got.chain.integrity, got.chain.coverage) == (Verdict.PASS, Verdict.PASS)


def test_ours_with_its_manifest_digest_changed_is_told_from_others_objects() -> None:
    made = deliveries(FAULTS["flipped-manifest-digest-in-ticket"].make().documents())
    expected, got = compared([*made, *deliveries(_other(keys=Keyring.generate()))])
    assert got == expected
    assert Reason.SIGNATURE_INVALID in got.chain.reasons
    assert Reason.SET_ASIDE in got.chain.reasons


@pytest.mark.parametrize("name", ["honest", "two nonces of two", "a trace that does not come out"])
def test_two_workers_say_what_one_says(name: str) -> None:
    made = _orders(deliveries(KIOSK_BATCHES[name]().documents()))["twice and shuffled"]
    assert streamed(made, workers=2) == streamed(made) == in_memory(made)


PLACES = deliveries(honest(encrypted=False).documents())


def _ways(value: Any, way: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    found = [way]
    if isinstance(value, dict | list):
        for name, member in value.items() if isinstance(value, dict) else enumerate(value):
            found += _ways(member, (*way, name))
    return found


def _put(value: Any, way: tuple[str | int, ...], new: object) -> Any:
    if not way:
        return new
    copy = value.copy()
    copy[way[0]] = _put(value[way[0]], way[1:], new)
    return copy


@given(st.data())
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_value_in_any_place_is_judged_as_in_memory(data: st.DataObject) -> None:
    place = data.draw(st.integers(0, len(PLACES) - 1))
    wire = json.loads(PLACES[place].content)
    way = data.draw(st.sampled_from(_ways(wire)))
    changed = Delivery("x.json", json.dumps(_put(wire, way, data.draw(json_values))).encode())
    gone = data.draw(st.sets(st.integers(0, len(PLACES) - 1), max_size=3))
    kept = [delivery for at, delivery in enumerate(PLACES) if at not in gone]
    made = data.draw(st.permutations([*kept, changed]))
    expected, got = compared(made)
    assert got == expected


def test_a_record_gives_its_receipt_again() -> None:
    made = [*honest().receipts.values(), *batch().receipts.values(), with_last(honest()).receipts[LAST]]
    bare = with_last(honest(), ticket=None, envelope=None, values={})
    for document in [*made, bare.receipts[LAST]]:
        record = ReceiptRecord.of(document.body, frozenset({None, SignatureFault.HINT}))  # type: ignore[arg-type]
        assert record.receipt() == document.body
        assert record.shared(lambda member: member) == record


def test_findings_beyond_the_limit_are_the_first_whatever_their_order() -> None:
    found = [Finding(Reason.TICKET_MISSING, f"a-{place:03}") for place in range(100)]
    other = Finding(Reason.CHAIN_GAP, "sha256:0")
    for seed in range(5):
        random.Random(seed).shuffle(found)
        gathering = Gathering(limit=10)
        gathering.add([*found, other])
        gathering.add(found[:7])
        kept = gathering.findings()
        more = Finding(Reason.TICKET_MISSING, "…", "more than these 10", more=True)
        assert kept == sorted([*sorted(found)[:10], more, other])


def test_as_many_findings_as_the_limit_are_all_there() -> None:
    found = [Finding(Reason.TICKET_MISSING, f"a-{place}") for place in range(10)]
    gathering = Gathering(limit=10)
    gathering.add(found)
    gathering.add(found)
    assert gathering.findings() == found
