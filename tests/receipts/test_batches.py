"""The writer signs in the order that the verifier asks for, and in no other."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from agentbeat_receipts.batches import Batch, Facts, OrderError
from agentbeat_receipts.objects import Checkpoint, ClosingRecord, Manifest, Opening, Receipt, Ticket
from support.receipt_batches import ANCHOR, COMPONENT_DIGESTS, keyring, manifest, opening

FACTS = Facts(components=COMPONENT_DIGESTS)


def _batch() -> Batch:
    return Batch(manifest(), keyring(), anchor=ANCHOR)


def _opening(batch: Batch, assignment: str = "p-1.none", of: Manifest | None = None) -> Opening:
    return opening(of or manifest(), assignment, batch.ticket_digest(assignment))


def test_everything_that_frames_the_runs_is_there_before_the_first() -> None:
    bodies = [document.body for document in _batch().framing()]
    assert [type(body) for body in bodies] == [Manifest, *[Ticket] * 4, Checkpoint]
    checkpoint = bodies[-1]
    assert isinstance(checkpoint, Checkpoint)
    assert set(checkpoint.tickets) == {body.digest() for body in bodies[1:-1]}


def test_receipts_chain_from_the_checkpoint_to_the_closing_record() -> None:
    batch = _batch()
    before = batch.framing()[-1].body.digest()
    for place, assignment in enumerate(("p-2.both", "p-1.none"), start=1):
        receipt = batch.receipt(_opening(batch, assignment), FACTS).receipt.body
        assert isinstance(receipt, Receipt)
        assert (receipt.sequence, receipt.previous) == (place, before)
        before = receipt.digest()
    closing = batch.close().body
    assert isinstance(closing, ClosingRecord)
    assert (closing.count, closing.head) == (2, before)


def test_a_batch_without_runs_closes_at_the_checkpoint() -> None:
    batch = _batch()
    closing = batch.close().body
    assert isinstance(closing, ClosingRecord)
    assert (closing.count, closing.head) == (0, batch.framing()[-1].body.digest())


REFUSED: dict[str, Callable[[Batch], Opening]] = {
    "of another manifest": lambda batch: _opening(batch, of=manifest(title="other")),
    "does not list": lambda batch: _opening(batch).model_copy(update={"assignment": "p-9.none"}),
    "another ticket": lambda batch: _opening(batch).model_copy(update={"ticket": None}),
    "a second receipt": lambda batch: _opening(batch, "p-2.both"),
}


@pytest.mark.parametrize("fault", REFUSED)
def test_an_opening_that_has_no_place_is_refused_and_the_chain_stands_still(fault: str) -> None:
    batch = _batch()
    first = batch.receipt(_opening(batch, "p-2.both"), FACTS).receipt.body
    with pytest.raises(OrderError, match=fault):
        batch.receipt(REFUSED[fault](batch), FACTS)
    following = batch.receipt(_opening(batch), FACTS).receipt.body
    assert isinstance(following, Receipt)
    assert (following.sequence, following.previous) == (2, first.digest())


def test_nothing_is_signed_after_closing() -> None:
    batch = _batch()
    batch.close()
    with pytest.raises(OrderError, match="closed"):
        batch.receipt(_opening(batch), FACTS)
    with pytest.raises(OrderError, match="closed"):
        batch.close()


def test_a_retrospective_batch_has_no_tickets_and_takes_no_anchor() -> None:
    of = manifest(mode="retrospective")
    batch = Batch(of, keyring())
    assert [type(document.body) for document in batch.framing()] == [Manifest]
    assert batch.ticket_digest("p-1.none") is None
    first = batch.receipt(opening(of, "p-1.none", None), FACTS, encrypted=False)
    assert isinstance(first.receipt.body, Receipt)
    assert first.receipt.body.previous == of.digest()
    assert first.envelope is None
    assert first.receipt.body.envelope is None
    with pytest.raises(OrderError, match="anchor"):
        Batch(of, keyring(), anchor=ANCHOR)


def test_a_batch_goes_on_where_it_was_cut_off() -> None:
    first = _batch()
    written = [first.receipt(_opening(first, name), FACTS).receipt.body for name in ("p-1.none", "p-2.both")]
    second = _batch()
    second.resume(body for body in written if isinstance(body, Receipt))
    with pytest.raises(OrderError, match="second receipt"):
        second.receipt(_opening(second, "p-1.none"), FACTS)
    third = second.receipt(_opening(second, "p-1.both"), FACTS).receipt.body
    assert isinstance(third, Receipt)
    assert (third.sequence, third.previous) == (3, written[1].digest())


@pytest.mark.parametrize("places", [(1,), (1, 0), (0, 0)], ids=["gap", "reordered", "repeated"])
def test_what_is_not_the_chain_from_its_beginning_is_not_gone_on_from(places: tuple[int, ...]) -> None:
    first = _batch()
    written = [first.receipt(_opening(first, name), FACTS).receipt.body for name in ("p-1.none", "p-2.both")]
    with pytest.raises(OrderError):
        _batch().resume(body for place in places if isinstance(body := written[place], Receipt))
