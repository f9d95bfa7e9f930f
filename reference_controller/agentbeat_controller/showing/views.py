"""A run as it is shown: what changed, what was expected, what was called, what was signed.

One record for the terminal, for the page and for JSON, so that they cannot say different things. Pure.

The log of business calls is part of the states: it is shown as calls, not as a change.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from agentbeat_controller.leases import Lease
from agentbeat_controller.showing.changes import Change, Member, diff, place_in, pointer
from agentbeat_controller.showing.findings import Finding, receipt_findings
from agentbeat_controller.showing.reading import RunRecord, ShowError
from agentbeat_controller.store import Snapshot
from agentbeat_protocol import (
    Check,
    Injection,
    Instant,
    StateReceipt,
    VerifyAnswer,
    digest,
    read_json,
)

__all__ = ["SHOWN_SCHEMA", "ShownChange", "View", "as_json", "view_of"]

SHOWN_SCHEMA: Final = "agentbeat-controller-show-v1"

#: The member of a state that holds the log of business calls.
_LOG: Final = "calls"


@dataclass(frozen=True, kw_only=True)
class ShownChange:
    """A change, and the checks that look at its place.

    Args:
        path: like a pointer, with ids where lists have them. Checks may name either that or the index.
    """

    change: Change
    path: str
    checks: tuple[Check, ...]


@dataclass(frozen=True, kw_only=True)
class View:
    """A run, ready to be shown.

    Args:
        changes: the differences between the two states, without the log.
        calls: the log as the state after has it; None where the state keeps none.
        injection: in words, if they are kept and still have the lease's digest.
        findings: what holds of the receipt.
    """

    lease: Lease
    injection: Injection | None
    before: Snapshot
    after: Snapshot
    changes: tuple[ShownChange, ...]
    calls: Sequence[Any] | None
    verified: VerifyAnswer | None
    receipt: StateReceipt | None
    findings: tuple[Finding, ...]


def view_of(run: RunRecord, *, verify_key: str | None = None) -> View:
    """The view of a run with both its snapshots.

    Raises:
        ShowError: there is no second state to compare; the message says what there is.
    """
    if run.before is None or run.after is None:
        raise ShowError(_what_there_is(run))
    before, after = _state(run.before), _state(run.after)
    checks = run.verified.checks if run.verified else ()
    return View(
        lease=run.lease,
        injection=_true_to_digest(run),
        before=run.before,
        after=run.after,
        changes=tuple(
            _shown(change, checks, before if change.kind == "removed" else after)
            for change in diff(before, after)
            if _log_of(after) is None or change.path[:1] != (Member(_LOG),)
        ),
        calls=_log_of(after),
        verified=run.verified,
        receipt=run.receipt,
        findings=receipt_findings(run, verify_key=verify_key),
    )


def as_json(view: View) -> dict[str, Any]:
    """All of it as plain JSON, nothing cut."""
    lease = view.lease
    return {
        "schema_version": SHOWN_SCHEMA,
        "run": {
            "run_id": lease.run_id,
            "case_id": lease.case_id,
            "profile_id": lease.profile_id,
            "profile_digest": lease.profile_digest,
            "deployment_profile_id": lease.deployment_profile_id,
            "binding_mode": lease.binding_mode,
            "environment_id": lease.environment_id,
            "stage": lease.stage,
            "status": lease.status,
            "expires_at": Instant.from_nanoseconds(lease.expires_at).text,
        },
        "injection": None
        if lease.injection_digest is None
        else {
            "digest": lease.injection_digest,
            "surface": view.injection.surface if view.injection else None,
            "text": view.injection.text if view.injection else None,
        },
        "states": {"before": _snapshot(view.before), "after": _snapshot(view.after)},
        "changes": [_change(shown) for shown in view.changes],
        "calls": None if view.calls is None else list(view.calls),
        "verified": view.verified.model_dump(mode="json") if view.verified else None,
        "findings": [{"name": each.name, "holds": each.holds, "words": each.words} for each in view.findings],
    }


def _state(snapshot: Snapshot) -> Any:
    return read_json(snapshot.content, max_bytes=max(1, len(snapshot.content)))


def _log_of(state: Any) -> Sequence[Any] | None:
    log = state.get(_LOG) if isinstance(state, Mapping) else None
    return log if isinstance(log, list) else None


def _true_to_digest(run: RunRecord) -> Injection | None:
    kept = run.injection
    return kept if kept and digest(kept.model_dump()) == run.lease.injection_digest else None


def _shown(change: Change, checks: Sequence[Check], state: Any) -> ShownChange:
    path, place = pointer(change.path), place_in(state, change.path)
    near = tuple(
        check
        for check in checks
        if check.path is not None and (_touches(path, check.path) or _touches(place, check.path))
    )
    return ShownChange(change=change, path=path, checks=near)


def _touches(one: str, other: str) -> bool:
    """Whether one place is the other or lies in it; everything lies in the whole."""
    return one == other or one.startswith(other + "/") or other.startswith(one + "/")


def _what_there_is(run: RunRecord) -> str:
    lease = run.lease
    about = f"run {lease.run_id} ({lease.profile_id}, {lease.deployment_profile_id})"
    end = Instant.from_nanoseconds(lease.expires_at).text
    until = f"until {end}" if lease.status == "active" else f"(it would have ended at {end})"
    held = f"its lease is {lease.status} {until}"
    if not lease.snapshots:
        return f"{about} was reset without snapshots, so no state is kept; {held}"
    if run.before is None:
        return f"{about} has been reset, and has no snapshot yet; {held}"
    return f"{about} has its snapshot before, and none after to compare it with; {held}"


def _snapshot(snapshot: Snapshot) -> dict[str, Any]:
    taken_at = Instant.from_nanoseconds(snapshot.taken_at).text
    return {"ref": snapshot.snapshot_ref, "digest": snapshot.digest, "taken_at": taken_at}


def _change(shown: ShownChange) -> dict[str, Any]:
    change = shown.change
    sides: dict[str, Any] = {"before": change.before, "after": change.after}
    if change.kind in ("added", "removed"):
        sides.pop("before" if change.kind == "added" else "after")
    place = {} if change.index is None else {"index": change.index}
    return {
        "kind": change.kind,
        "path": shown.path,
        **place,
        **sides,
        "checks": [check.check_id for check in shown.checks],
    }
