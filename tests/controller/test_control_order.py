"""CTL-1 over HTTP: each call at each point of a run, and that a refused one changes nothing."""

import pytest

from support.controllers import Run, code_of

ORDER = ("reset", "before", "after", "verify", "release")
#: How far the run has come, and the calls that are legal next. Repeating a call is CTL-2's business.
LEGAL = {
    ("reset",): {"before", "renew", "release"},
    ("reset", "before"): {"after", "renew", "release"},
    ("reset", "before", "after"): {"verify", "renew", "release"},
    ("reset", "before", "after", "verify"): {"renew", "release"},
    ("reset", "before", "after", "verify", "release"): set(),
    ("reset", "release"): set(),
    ("reset", "before", "release"): set(),
    ("reset", "before", "after", "release"): set(),
}
CALLS = ("before", "after", "verify", "renew", "release")


POINTS = [
    pytest.param(done, call, id=f"{call}-once-{'-'.join(done)}")
    for done in LEGAL
    for call in CALLS
    if call not in done
]


@pytest.mark.parametrize(("done", "call"), POINTS)
async def test_a_call_is_answered_in_its_place_and_refused_everywhere_else(rig, done, call):
    """A call that is out of order is 409 `phase_out_of_order`, and every row is as it was."""
    async with rig.control() as client:
        run = Run(client)
        await run.through(*done)
        rows = rig.rows()
        response = await run.post(call)
        if call in LEGAL[done]:
            assert response.status_code == 200
            return
        assert code_of(response) == (409, "phase_out_of_order")
        assert rig.rows() == rows


@pytest.mark.parametrize("call", CALLS)
async def test_nothing_comes_before_reset(rig, call):
    """There is no lease to speak of: 404."""
    async with rig.control() as client:
        rows = rig.rows()
        assert code_of(await Run(client).post(call)) == (404, "not_found")
        assert rig.rows() == rows


@pytest.mark.parametrize("call", ["before", "after", "verify"])
async def test_a_run_reset_without_snapshots_has_none(rig, call):
    async with rig.control() as client:
        run = Run(client, snapshots=False)
        await run.through("reset")
        rows = rig.rows()
        assert code_of(await run.post(call)) == (409, "phase_out_of_order")
        assert rig.rows() == rows
        await run.through("renew", "release")


async def test_a_whole_run_in_order_ends_with_nothing_left_of_its_records(rig):
    """RCP-8 holds on the way: the before snapshot has the digest that reset gave."""
    async with rig.control() as client:
        run = Run(client)
        await run.through(*ORDER)
        assert run.answers["before"]["digest"] == run.answers["reset"]["state_digest"]
        assert run.answers["release"]["status"] == "released"
    rows = rig.rows()
    assert rows["ledger_entries"] == rows["ledger_calls"] == rows["ledger_environments"] == []
    assert len(rows["receipts"]) == 1
    assert len(rows["answers"]) == len(ORDER)
