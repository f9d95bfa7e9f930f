"""Failures that are known and put up with for a while, so that a run can stay green without saying a lie.

    [[expected]]
    id = "INV-9.a"
    reason = "The gateway in front of it queues instead of refusing; ticket 4711."
    expires = 2031-01-31

The verdict on the endpoint does not change: it is not conformant. Only the exit code does, and only as long
as the file is true. A requirement that holds after all, an entry that has expired and an id that there is not
fail the run.
"""

from __future__ import annotations

import tomllib
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any, Final

from agentbeat_conformance.outcomes import ExitCode, Outcome, Verdict
from agentbeat_conformance.runs import Run
from agentbeat_protocol import cut

__all__ = ["Assessment", "ExpectedFailure", "ExpectedFailuresError", "assess", "read_expected_failures"]

_MEMBERS: Final = ("id", "reason", "expires")


class ExpectedFailuresError(ValueError):
    """The file is not as described: a wrong command line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectedFailure:
    """One requirement that is known not to be met.

    Attributes:
        reason: why it is put up with.
        expires: the last day on which it is.
    """

    id: str
    reason: str
    expires: date


@dataclass(frozen=True, slots=True, kw_only=True)
class Assessment:
    """A run in the light of what was expected of it.

    Attributes:
        expected: the failures (and warnings) that were expected, by id.
        complaints: what is not true any longer in the file.
        exit_code: the command's exit status.
    """

    expected: tuple[ExpectedFailure, ...] = ()
    complaints: tuple[str, ...] = ()
    exit_code: ExitCode


def read_expected_failures(raw: bytes) -> tuple[ExpectedFailure, ...]:
    """The entries of a file.

    Raises:
        ExpectedFailuresError: it is no TOML, or an entry is half there or there twice.
    """
    try:
        document = tomllib.loads(raw.decode())
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ExpectedFailuresError(f"expected TOML: {cut(str(error), 200)}") from error
    entries = document.get("expected")
    if document.keys() != {"expected"} or not isinstance(entries, list):
        raise ExpectedFailuresError("expected tables [[expected]] and nothing else")
    read = tuple(_entry(number, entry) for number, entry in enumerate(entries, start=1))
    ids = [entry.id for entry in read]
    if len(set(ids)) < len(ids):
        twice = ", ".join(sorted({cut(id) for id in ids if ids.count(id) > 1}))
        raise ExpectedFailuresError(f"got two entries for {twice}, expected one for each id")
    return read


def assess(
    run: Run, expected: Iterable[ExpectedFailure], *, known: Collection[str], today: date
) -> Assessment:
    """Hold a run against the file.

    Args:
        known: every id of the catalogue; an entry for another tier is none of this run's business.
        today: which entries have expired by now.
    """
    entries = {entry.id: entry for entry in expected}
    complaints = [f"{cut(id)}: the catalogue has no such requirement" for id in entries if id not in known]
    met: list[ExpectedFailure] = []
    for result in run.results:
        entry = entries.get(result.requirement.id)
        if entry is None:
            continue
        if entry.expires < today:
            complaints.append(f"{entry.id}: the entry expired on {entry.expires}")
        elif result.outcome is Outcome.PASS:
            complaints.append(f"{entry.id}: it holds, and was expected to fail; remove the entry")
        elif result.outcome in (Outcome.FAIL, Outcome.WARN):
            met.append(entry)
    exit_code = _exit_code(run, {entry.id for entry in met}, has_complaints=bool(complaints))
    return Assessment(expected=tuple(met), complaints=tuple(complaints), exit_code=exit_code)


def _exit_code(run: Run, met: set[str], *, has_complaints: bool) -> ExitCode:
    verdict = run.verdict
    if verdict in (Verdict.ERROR, Verdict.NOTHING_TESTED):
        return ExitCode.of(verdict)
    if has_complaints:
        return ExitCode.NOT_CONFORMANT
    if verdict is Verdict.NOT_CONFORMANT and all(
        result.requirement.id in met for result in run.results if result.outcome is Outcome.FAIL
    ):
        whole = run.plan.is_whole and not run.count(Outcome.COULD_NOT_RUN)
        return ExitCode.CONFORMANT if whole else ExitCode.INCOMPLETE
    return ExitCode.of(verdict)


def _entry(number: int, entry: Any) -> ExpectedFailure:
    if not isinstance(entry, dict) or entry.keys() != set(_MEMBERS):
        raise ExpectedFailuresError(f"entry {number}: expected {', '.join(_MEMBERS)} and nothing else")
    id, reason, expires = (entry[name] for name in _MEMBERS)
    if not isinstance(id, str) or not isinstance(reason, str) or not reason.strip():
        raise ExpectedFailuresError(f"entry {number}: expected an id and a reason in words")
    if not isinstance(expires, date) or isinstance(expires, datetime):
        raise ExpectedFailuresError(f"entry {number}: expected expires as a date, such as 2031-01-31")
    return ExpectedFailure(id=id, reason=reason, expires=expires)
