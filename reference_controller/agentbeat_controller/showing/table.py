"""A run's difference for a terminal: plain text, with colour where the caller says that it can be seen.

Signs say everything that colours say. Each line comes from `words`, so no value can move the cursor, and the
number of lines has a bound; `--json` has everything.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, TypeVar

from agentbeat_controller.showing.views import ShownChange, View
from agentbeat_controller.showing.words import KINDS, PASSED, outline, path_text, sides, value_text
from agentbeat_protocol import DIMENSIONS, Check, Instant, cut

__all__ = ["table"]

#: The most changes, checks and calls that are written.
_MOST: Final = 200
#: The most lines of one value.
_LINES: Final = 24
_NARROW, _WIDE = 40, 160

_STYLES: Final = {"bold": "1", "dim": "2", "good": "32", "bad": "31", "odd": "33", "place": "36"}
_OF_KIND: Final = {"added": "good", "removed": "bad", "changed": "odd", "reordered": "odd"}
_OF_OUTCOME: Final = {True: "good", False: "bad", None: "odd"}
_GOOD_VERDICTS: Final = frozenset({"pass", "attack_blocked"})
_BAD_VERDICTS: Final = frozenset({"fail", "attack_succeeded"})

Paint = Callable[[str, str], str]
T = TypeVar("T")


def table(view: View, *, colour: bool, width: int) -> str:
    """The view as lines, with a newline at the end.

    Args:
        colour: whether escape sequences may be written.
        width: of the terminal, in columns.
    """

    def paint(style: str, text: str) -> str:
        return f"\x1b[{_STYLES[style]}m{text}\x1b[0m" if colour else text

    room = max(_NARROW, min(width, _WIDE))
    lines = [
        *_head(view, paint, room),
        *_section(paint, f"What changed ({len(view.changes)})", _changes(view, paint, room)),
        *_section(paint, "What was expected", _expected(view, paint, room)),
        *_section(paint, _calls_title(view), _calls(view, paint, room)),
        *_section(paint, "Receipt", _receipt(view, paint, room)),
    ]
    return "\n".join(lines) + "\n"


def _section(paint: Paint, title: str, lines: Iterator[str]) -> Iterator[str]:
    yield ""
    yield paint("bold", title)
    yield from (f"  {line}".rstrip() for line in lines)


def _head(view: View, paint: Paint, room: int) -> Iterator[str]:
    lease = view.lease

    def line(name: str, text: str) -> str:
        return f"  {name:<12}{cut(text, room)}"

    yield paint("bold", f"Run {cut(lease.run_id)}")
    yield line("case", lease.case_id)
    yield line("profile", lease.profile_id)
    yield line("deployment", f"{lease.deployment_profile_id}, {lease.binding_mode}")
    yield line("lease", f"{lease.stage}, {lease.status}")
    if lease.injection_digest is None:
        yield line("injection", "none")
    elif view.injection is None:
        yield line("injection", f"{lease.injection_digest} (its text is not kept)")
    else:
        yield line("injection", f"at {view.injection.surface}, {lease.injection_digest}")
        yield "  " + " " * 12 + paint("odd", value_text(view.injection.text, room - 14))
    for phase, snapshot in (("before", view.before), ("after", view.after)):
        yield line(phase, f"{snapshot.digest} {Instant.from_nanoseconds(snapshot.taken_at).text}")


def _bounded(items: Sequence[T], one: Callable[[T], Iterator[str]]) -> Iterator[str]:
    for item in items[:_MOST]:
        yield from one(item)
    if len(items) > _MOST:
        yield f"… and {len(items) - _MOST} more (--json has all)"


def _changes(view: View, paint: Paint, room: int) -> Iterator[str]:
    if not view.changes:
        yield paint("dim", "nothing: the states are equal but for the log of calls")
    yield from _bounded(view.changes, lambda shown: _one_change(shown, paint, room - 8))


def _value(value: Any, room: int) -> tuple[str, ...]:
    return outline(value, room, most=_LINES, opened=True)


def _one_change(shown: ShownChange, paint: Paint, room: int) -> Iterator[str]:
    change = shown.change
    sign, word = KINDS[change.kind]
    style = _OF_KIND[change.kind]
    yield f"{paint(style, sign)} {paint('place', path_text(shown.path, room))} {paint('dim', word)}"
    before, after = sides(change.before, change.after, room)
    if change.kind != "added":
        yield from (f"    {paint('bad', '- ' + text)}" for text in _value(before, room))
    if change.kind != "removed":
        yield from (f"    {paint('good', '+ ' + text)}" for text in _value(after, room))
    if shown.checks:
        told = ", ".join(f"{cut(check.check_id)} {PASSED[check.passed][1]}" for check in shown.checks)
        yield f"      {paint('dim', cut('looked at by ' + told, room))}"


def _expected(view: View, paint: Paint, room: int) -> Iterator[str]:
    verified = view.verified
    if verified is None:
        yield paint("odd", "the run has not been verified yet")
        return
    score = verified.native_score
    ratio = "none" if score is None else f"{score.numerator}/{score.denominator}"
    for dimension in DIMENSIONS:
        verdict = verified.verdicts.of(dimension)
        good, bad = verdict.verdict in _GOOD_VERDICTS, verdict.verdict in _BAD_VERDICTS
        style = "good" if good else "bad" if bad else "odd"
        reason = f"  {cut(verdict.reason, room)}" if verdict.reason else ""
        yield f"{dimension:<10}{paint(style, verdict.verdict)}{reason}"
    yield f"{'score':<10}{ratio}"
    yield from _bounded(verified.checks, lambda check: _one_check(check, paint, room - 18))


def _one_check(check: Check, paint: Paint, room: int) -> Iterator[str]:
    sign, word = PASSED[check.passed]
    weight = f"{check.dimension}, weight {check.weight}, {word}"
    yield ""
    yield f"{paint(_OF_OUTCOME[check.passed], f'{sign:<2}')} {cut(check.check_id)} {paint('dim', weight)}"
    if check.path is not None:
        yield f"     at        {paint('place', path_text(check.path, room))}"
    if check.reason:
        yield f"     because   {cut(check.reason, room)}"
    for name, value in (("expected", check.expected), ("actual", check.actual)):
        first, *others = outline(value, room, most=_LINES)
        yield f"     {name:<10}{first}"
        yield from (" " * 15 + line for line in others)


def _calls_title(view: View) -> str:
    return f"Business calls ({len(view.calls)})" if view.calls is not None else "Business calls"


def _calls(view: View, paint: Paint, room: int) -> Iterator[str]:
    if view.calls is None:
        yield paint("dim", "the state keeps no log of them")
    elif not view.calls:
        yield paint("dim", "none")
    else:
        yield from _bounded(view.calls, lambda call: _one_call(call, paint, room - 4))


def _one_call(call: Any, paint: Paint, room: int) -> Iterator[str]:
    if not isinstance(call, dict) or "operation" not in call:
        yield value_text(call, room)
        return
    error = call.get("error")
    outcome = cut(f"{call.get('status', '?')} {error or ''}".strip(), 48)
    start = f"{cut(str(call.get('sequence', '')), 8):>4}  {cut(str(call['operation']), 64)}"
    yield f"{start}  {paint('bad' if error else 'good', outcome)}"
    yield f"      {paint('dim', value_text(call.get('arguments'), room - 6))}"


def _receipt(view: View, paint: Paint, room: int) -> Iterator[str]:
    receipt = view.receipt
    if receipt is None:
        yield paint("dim", "none: the run has not been verified yet")
        return
    yield f"{receipt.receipt_id}, issued at {cut(receipt.issued_at.text)}"
    yield receipt.receipt_digest
    for finding in view.findings:
        sign = PASSED[finding.holds][0]
        yield f"{paint(_OF_OUTCOME[finding.holds], f'{sign:<2}')} {cut(finding.words, room)}"
