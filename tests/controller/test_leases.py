"""The rules of one lease: the order of steps, the window, the end. Pure, no clock and no database."""

import pytest

from agentbeat_controller.leases import Lease, next_stage
from agentbeat_protocol import ProtocolError

STAGES = ("reset", "before", "after", "verified")
STEPS = ("before", "after", "verify")
ALLOWED = {("reset", "before"): "before", ("before", "after"): "after", ("after", "verify"): "verified"}


def lease(**changes):
    members = {
        "lease_id": "lease-1",
        "run_id": "run-a",
        "case_id": "case-a",
        "profile_id": "ledger-note",
        "profile_digest": "sha256:" + "a" * 64,
        "deployment_profile_id": "deployment-a",
        "binding_mode": "catalog",
        "environment_id": "env-1",
        "attempt_nonce": "0" * 32,
        "snapshots": True,
        "injection_digest": None,
        "state_digest": "sha256:" + "b" * 64,
        "stage": "reset",
        "status": "active",
        "expires_at": 1_000,
    }
    return Lease(**{**members, **changes})


@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize("step", STEPS)
def test_each_step_follows_exactly_one_stage(stage, step):
    """CTL-1, the whole table: three pairs are in order and nine are not."""
    expected = ALLOWED.get((stage, step))
    assert next_stage(stage, step) == expected
    if expected is not None:
        assert lease(stage=stage).stage_after(step) == expected
        return
    with pytest.raises(ProtocolError) as caught:
        lease(stage=stage).stage_after(step)
    assert (caught.value.code, caught.value.rule) == ("phase_out_of_order", "CTL-1")


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize(
    "changes",
    [{"status": "released"}, {"status": "expired"}, {"snapshots": False}],
    ids=["released", "expired", "without-snapshots"],
)
def test_a_lease_that_ended_or_has_no_snapshots_takes_no_step(step, changes):
    stage = {"before": "reset", "after": "before", "verify": "after"}[step]
    with pytest.raises(ProtocolError) as caught:
        lease(stage=stage, **changes).stage_after(step)
    assert caught.value.code == "phase_out_of_order"


@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize("status", ["active", "released", "expired"])
@pytest.mark.parametrize("snapshots", [True, False])
def test_the_window_is_open_in_one_place(stage, status, snapshots):
    """With snapshots only between before and after; without, as long as the lease is active (CTL-12)."""
    is_open = status == "active" and (stage == "before" if snapshots else True)
    refusal = lease(stage=stage, status=status, snapshots=snapshots).window_refusal()
    assert (refusal is None) == is_open
    if refusal is not None:
        assert (refusal.code, refusal.rule) == ("environment_closed", "CTL-12")


@pytest.mark.parametrize(
    ("status", "now", "expired"),
    [
        ("active", 999, False),
        ("active", 1_000, True),
        ("active", 1_001, True),
        ("released", 5_000, False),
        ("expired", 0, True),
    ],
    ids=[
        "before-its-end",
        "at-its-end",
        "past-its-end",
        "released-never",
        "recorded-whatever-the-clock-says",
    ],
)
def test_a_lease_ends_at_its_very_instant_and_stays_ended(status, now, expired):
    assert lease(status=status).has_expired(now) is expired


@pytest.mark.parametrize("member", ["case_id", "profile_id"])
def test_a_request_that_speaks_of_another_case_or_profile_is_a_conflict(member):
    bound = {"case_id": "case-a", "profile_id": "ledger-note"}
    lease().check_binding(**bound)
    with pytest.raises(ProtocolError) as caught:
        lease().check_binding(**{**bound, member: "another"})
    assert caught.value.code == "binding_conflict"
