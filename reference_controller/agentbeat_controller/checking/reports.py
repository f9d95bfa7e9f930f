"""What a check found, as lines for people and as JSON for programs.

One line for each profile with what was played, then every finding with what was tried and what came of it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from .conformance import ConformanceResult
from .findings import Finding, ProfileResult, Severity

__all__ = ["REPORT_SCHEMA", "Report"]

REPORT_SCHEMA: Final = "agentbeat-controller-check-v1"

_SEVERITIES: Final[tuple[Severity, ...]] = ("fault", "weakness", "untried", "note")
_COLOURS: Final = {"fault": "31", "weakness": "33", "untried": "35", "note": "36", "good": "32", "head": "1"}
_WORDS: Final = {
    "pass": "pass",
    "fail": "FAIL",
    "attack_blocked": "blocked",
    "attack_succeeded": "SUCCEEDED",
    "not_observed": "?",
    "not_applicable": "-",
}
#: Gives a text the colour of a name, or leaves it.
_Paint = Callable[[str, str], str]
_HEADS: Final = (
    "profile",
    "utility",
    "security",
    "attack",
    "plays",
    "dropped",
    "altered",
    "attacks",
    "found",
)


@dataclass(frozen=True, kw_only=True)
class Report:
    """The whole check.

    Args:
        conformance: None where it was not asked for.
    """

    environment: str
    profiles: tuple[ProfileResult, ...]
    conformance: ConformanceResult | None

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Every finding."""
        own = tuple(finding for profile in self.profiles for finding in profile.findings)
        return own + (self.conformance.findings if self.conformance else ())

    @property
    def exit_code(self) -> int:
        """1: faults or weaknesses; 3: none, but not everything could be tried; else 0."""
        found = {finding.severity for finding in self.findings}
        if found & {"fault", "weakness"}:
            return 1
        complete = self.conformance is None or self.conformance.verdict == "conformant"
        return 0 if complete and "untried" not in found else 3

    def as_json(self) -> dict[str, Any]:
        """The report for programs."""
        counts = Counter(finding.severity for finding in self.findings)
        return {
            "schema_version": REPORT_SCHEMA,
            "environment": self.environment,
            "exit_code": self.exit_code,
            "counts": {severity: counts[severity] for severity in _SEVERITIES},
            "profiles": [profile.as_json() for profile in self.profiles],
            "conformance": self.conformance.as_json() if self.conformance else None,
        }

    def as_text(self, *, coloured: bool) -> str:
        """The report for people."""
        paint = _painted if coloured else _plain
        lines = [*_table(self.profiles, paint), ""]
        for profile in self.profiles:
            lines += _listed(profile.profile_id, profile.findings, paint)
        if self.conformance is not None:
            lines += _conformance(self.conformance, paint)
        return "\n".join([*lines, self._last_line(paint)])

    def _last_line(self, paint: _Paint) -> str:
        counts = Counter(finding.severity for finding in self.findings)
        told = ", ".join(f"{counts[each]} {_plural(each, counts[each])}" for each in _SEVERITIES)
        word = {0: "HOLDS", 1: "DOES NOT HOLD", 3: "INCOMPLETE"}[self.exit_code]
        return f"{paint(word, 'good' if self.exit_code == 0 else 'fault')}  {self.environment}: {told}"


def _plain(text: str, _name: str) -> str:
    return text


def _painted(text: str, name: str) -> str:
    return f"\x1b[{_COLOURS[name]}m{text}\x1b[0m"


def _plural(severity: Severity, count: int) -> str:
    plurals = {"fault": "faults", "weakness": "weaknesses", "untried": "untried", "note": "notes"}
    return severity if count == 1 else plurals[severity]


def _table(profiles: Sequence[ProfileResult], paint: _Paint) -> Iterator[str]:
    rows = [_HEADS, *(_row(profile) for profile in profiles)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(_HEADS))]
    for place, row in enumerate(rows):
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]
        line = "  ".join(cells).rstrip()
        yield paint(line, "head") if place == 0 else line


def _row(profile: ProfileResult) -> tuple[str, ...]:
    verdicts = profile.verdicts or ("no ground truth", "", "")
    counts = (profile.plays, profile.dropped, profile.altered, profile.attacks)
    found = Counter(finding.severity for finding in profile.findings)
    told = ", ".join(f"{found[each]} {_plural(each, found[each])}" for each in _SEVERITIES if found[each])
    words = (_WORDS.get(word, word) for word in verdicts)
    return (profile.profile_id, *words, *map(str, counts), told)


def _listed(title: str, findings: Sequence[Finding], paint: _Paint) -> Iterator[str]:
    if not findings:
        return
    yield paint(title, "head")
    for finding in findings:
        yield f"  {paint(finding.severity, finding.severity)} {finding.code}"
        yield f"    tried  {finding.tried}"
        yield f"    found  {finding.found}"
    yield ""


def _conformance(result: ConformanceResult, paint: _Paint) -> Iterator[str]:
    counts = ", ".join(f"{count} {name.replace('_', ' ')}" for name, count in result.counts.items())
    verdict = (result.verdict or "not run").replace("_", " ")
    good = "good" if result.verdict == "conformant" else "untried" if result.verdict is None else "fault"
    yield f"{paint('CTL rules', 'head')}  {paint(verdict, good)}" + (f": {counts}" if counts else "")
    yield ""
    yield from _listed("CTL rules", result.findings, paint)
