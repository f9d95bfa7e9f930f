"""What a check found, for people.

One line for each profile with what was played. Then the findings, the worst first: what was tried and what
came of it. One that is the same in many profiles is told once. Names and texts are others': what does not
print in them is escaped.

    weakness altered_call_passes  shop-refund and 3 more profiles
      tried  the ground truth with another amount in call 2, refund
      found  passes with 11, expected that it does not
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from agentbeat_protocol import cut

from .conformance import ConformanceResult
from .findings import SEVERITIES, Finding, ProfileResult, Severity
from .reports import INTERRUPTED, Report

__all__ = ["report_text"]

_COLOURS: Final = {
    "fault": "31",
    "weakness": "33",
    "untried": "35",
    "known": "34",
    "note": "36",
    "good": "32",
    "head": "1",
}
_PLURALS: Final[dict[Severity, str]] = {"fault": "faults", "weakness": "weaknesses", "note": "notes"}
_MEANINGS: Final[dict[Severity, str]] = {
    "fault": "the catalogue judges wrongly, its code fails, or the Controller breaks a rule",
    "weakness": "the catalogue may judge wrongly",
    "untried": "nothing can be said",
    "known": "weaknesses that the profile itself names",
    "note": "what the profile says about itself",
}
_WORDS: Final = {
    "pass": "pass",
    "fail": "FAIL",
    "attack_blocked": "blocked",
    "attack_succeeded": "SUCCEEDED",
    "not_observed": "?",
    "not_applicable": "-",
}
_LAST_WORDS: Final = {0: "HOLDS", 1: "DOES NOT HOLD", 3: "INCOMPLETE", INTERRUPTED: "INTERRUPTED"}
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
_CATALOGUE: Final = "the catalogue"
_RULES: Final = "the CTL rules"
#: The most that is shown of a name, and of what was found.
_NAME, _TEXT = 100, 1000

#: Gives a text the colour of a name, or leaves it.
_Paint = Callable[[str, str], str]


def report_text(report: Report, *, coloured: bool) -> str:
    """The report for people."""
    paint = _painted if coloured else _plain
    lines = [*_table(report.profiles, paint), "", *_listed(report, paint)]
    if report.conformance is not None:
        lines += _conformance(report.conformance, paint)
    return "\n".join([*lines, _last_line(report, paint)])


def _plain(text: str, _name: str) -> str:
    return text


def _painted(text: str, name: str) -> str:
    return f"\x1b[{_COLOURS[name]}m{text}\x1b[0m"


def _counted(count: int, severity: Severity) -> str:
    return f"{count} {severity if count == 1 else _PLURALS.get(severity, severity)}"


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
    told = ", ".join(_counted(found[each], each) for each in SEVERITIES if found[each])
    words = (_WORDS.get(word, word) for word in verdicts)
    return (cut(profile.profile_id, _NAME), *words, *map(str, counts), told)


def _listed(report: Report, paint: _Paint) -> Iterator[str]:
    """Every finding once, with where it was found, by severity."""
    places: dict[Finding, list[str]] = defaultdict(list)
    for finding in report.catalogue:
        places[finding].append(_CATALOGUE)
    for profile in report.profiles:
        for finding in dict.fromkeys(profile.findings):
            places[finding].append(cut(profile.profile_id, _NAME))
    for finding in report.conformance.findings if report.conformance else ():
        places[finding].append(_RULES)
    for severity in SEVERITIES:
        found = [finding for finding in places if finding.severity == severity]
        if not found:
            continue
        heading = _PLURALS.get(severity, severity).capitalize()
        yield f"{paint(heading, 'head')}: {_MEANINGS[severity]}"
        for finding in found:
            yield f"  {paint(severity, severity)} {finding.code}  {_where(places[finding])}"
            yield f"    tried  {cut(finding.tried, _TEXT)}"
            yield f"    found  {cut(finding.found, _TEXT)}"
        yield ""


def _where(places: Sequence[str]) -> str:
    first, *others = places
    if not others:
        return first
    return f"{first} and {len(others)} more profile{'s' if len(others) > 1 else ''}"


def _conformance(result: ConformanceResult, paint: _Paint) -> Iterator[str]:
    counts = ", ".join(f"{count} {name.replace('_', ' ')}" for name, count in result.counts.items())
    verdict = (result.verdict or "not run").replace("_", " ")
    good = "good" if result.verdict == "conformant" else "untried" if result.verdict is None else "fault"
    yield f"{paint('CTL rules', 'head')}  {paint(verdict, good)}" + (f": {counts}" if counts else "")
    yield ""


def _last_line(report: Report, paint: _Paint) -> str:
    told = ", ".join(_counted(count, severity) for severity, count in report.counts.items())
    word = paint(_LAST_WORDS[report.exit_code], "good" if report.exit_code == 0 else "fault")
    return f"{word}  {cut(report.environment, _NAME)}: {told}"
