"""A run's difference as one HTML page: all of it in the file, nothing loaded, light or dark as its reader.

Values are escaped for HTML after `words` has taken out what does not print, so nothing that an Agent wrote
can be markup or run backwards; and should something slip through, the page's own policy loads and runs
nothing. Bounds are wider than a terminal's, and said where they cut.
"""

from __future__ import annotations

import html
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, TypeVar

from agentbeat_controller.showing.style import STYLE
from agentbeat_controller.showing.views import ShownChange, View
from agentbeat_controller.showing.words import KINDS, PASSED, outline, path_text, sides, value_text
from agentbeat_protocol import DIMENSIONS, Check, Instant, cut

__all__ = ["page"]

#: The most changes, checks and calls; lines of one value; characters of one text.
_MOST: Final = 1_000
_LINES: Final = 400
_LONGEST: Final = 4_000
_COLUMNS: Final = 58

_OUTCOMES: Final = {True: "good", False: "bad", None: "odd"}
_VERDICTS: Final = {"pass": "good", "attack_blocked": "good", "fail": "bad", "attack_succeeded": "bad"}

T = TypeVar("T")


def page(view: View) -> str:
    """The view as an HTML document."""
    title = html.escape(f"Run {cut(view.lease.run_id, 160)}")
    body = "\n".join(
        [
            f"<header><h1>{title}</h1>",
            *_verdicts(view),
            "</header>",
            *_section("Run", _about(view)),
            *_section(f"What changed ({len(view.changes)})", _changes(view)),
            *_section("What was expected", _expected(view)),
            *_section(_calls_title(view), _calls(view)),
            *_section("Receipt", _receipt(view)),
        ]
    )
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta http-equiv="Content-Security-Policy" '
        "content=\"default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'\">\n"
        f"<title>{title}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<main>\n{body}\n</main>\n"
        "</body>\n</html>\n"
    )


def _section(title: str, parts: Iterator[str]) -> Iterator[str]:
    yield f"<section><h2>{_text(title)}</h2>"
    yield from parts
    yield "</section>"


def _text(text: str, limit: int = 400) -> str:
    return html.escape(cut(text, limit))


def _value(value: Any, kind: str = "") -> str:
    lines = outline(value, _COLUMNS, most=_LINES, longest=_LONGEST, opened=True)
    return f'<pre class="{kind}">{html.escape(chr(10).join(lines))}</pre>'


def _path(path: str) -> str:
    return f"<code>{html.escape(path_text(path, 400))}</code>"


def _tag(kind: str, text: str) -> str:
    return f'<span class="tag {kind}">{_text(text)}</span>'


def _bounded(items: Sequence[T], one: Callable[[T], str]) -> Iterator[str]:
    yield "<ol>"
    for item in items[:_MOST]:
        yield f"<li>{one(item)}</li>"
    yield "</ol>"
    if len(items) > _MOST:
        yield f"<p>… and {len(items) - _MOST} more, which JSON output has.</p>"


def _verdicts(view: View) -> Iterator[str]:
    if view.verified is None:
        yield f"<p>{_tag('odd', 'not verified yet')}</p>"
        return
    yield '<ul class="verdicts">'
    for dimension in DIMENSIONS:
        verdict = view.verified.verdicts.of(dimension)
        reason = f" <small>{_text(verdict.reason)}</small>" if verdict.reason else ""
        kind = _VERDICTS.get(verdict.verdict, "odd")
        yield f"<li>{dimension} {_tag(kind, verdict.verdict.replace('_', ' '))}{reason}</li>"
    score = view.verified.native_score
    yield f"<li>score {'none' if score is None else f'{score.numerator}/{score.denominator}'}</li></ul>"


def _about(view: View) -> Iterator[str]:
    lease = view.lease
    named = {
        "case": lease.case_id,
        "profile": lease.profile_id,
        "profile digest": lease.profile_digest,
        "deployment": f"{lease.deployment_profile_id}, {lease.binding_mode}",
        "environment": lease.environment_id,
        "lease": f"{lease.stage}, {lease.status}",
    }
    for phase, snapshot in (("before", view.before), ("after", view.after)):
        named[phase] = f"{Instant.from_nanoseconds(snapshot.taken_at).text} {snapshot.digest}"
    yield "<dl>"
    yield from (f"<dt>{name}</dt><dd>{_text(text)}</dd>" for name, text in named.items())
    yield f"<dt>injection</dt><dd>{_injection(view)}</dd></dl>"


def _injection(view: View) -> str:
    digest = view.lease.injection_digest
    if digest is None:
        return "none"
    if view.injection is None:
        return f"{_text(digest)} (its text is not kept)"
    return f"at {_text(view.injection.surface)}, {_text(digest)}{_value(view.injection.text, 'odd')}"


def _changes(view: View) -> Iterator[str]:
    if not view.changes:
        yield "<p>Nothing: the states are equal but for the log of calls.</p>"
        return
    yield from _bounded(view.changes, _one_change)


def _one_change(shown: ShownChange) -> str:
    change = shown.change
    before, after = sides(change.before, change.after, _LONGEST)
    parts = [f"<h3>{_tag(change.kind, KINDS[change.kind][1])} {_path(shown.path)}</h3>"]
    if change.kind != "added":
        parts.append(_value(before, "old"))
    if change.kind != "removed":
        parts.append(_value(after, "new"))
    if shown.checks:
        looked = " ".join(
            _tag(_OUTCOMES[check.passed], f"{check.check_id} {PASSED[check.passed][1]}")
            for check in shown.checks
        )
        parts.append(f'<p class="near">looked at by {looked}</p>')
    return "".join(parts)


def _expected(view: View) -> Iterator[str]:
    if view.verified is None:
        yield "<p>The run has not been verified yet.</p>"
    else:
        yield from _bounded(view.verified.checks, _one_check)


def _one_check(check: Check) -> str:
    outcome = _tag(_OUTCOMES[check.passed], PASSED[check.passed][1])
    place = "" if check.path is None else f" at {_path(check.path)}"
    reason = f"<p>{_text(check.reason, 2_000)}</p>" if check.reason else ""
    return (
        f"<h3>{outcome} {_text(check.check_id)}</h3>"
        f"<p>{check.dimension}, weight {check.weight}{place}</p>{reason}"
        f'<div class="sides"><div><h4>expected</h4>{_value(check.expected)}</div>'
        f"<div><h4>actual</h4>{_value(check.actual)}</div></div>"
    )


def _calls_title(view: View) -> str:
    return f"Business calls ({len(view.calls)})" if view.calls is not None else "Business calls"


def _calls(view: View) -> Iterator[str]:
    if view.calls is None:
        yield "<p>The state keeps no log of them.</p>"
    elif not view.calls:
        yield "<p>None.</p>"
    else:
        yield from _bounded(view.calls, _one_call)


def _one_call(call: Any) -> str:
    if not isinstance(call, dict) or "operation" not in call:
        return _value(call)
    error = call.get("error")
    outcome = _tag("bad" if error else "good", f"{call.get('status', '?')} {error or ''}".strip())
    name = _text(f"{call.get('sequence', '')} {call['operation']}".strip())
    arguments = html.escape(value_text(call.get("arguments"), _LONGEST))
    return f"<h3><code>{name}</code> {outcome}</h3><pre>{arguments}</pre>"


def _receipt(view: View) -> Iterator[str]:
    receipt = view.receipt
    if receipt is None:
        yield "<p>None: the run has not been verified yet.</p>"
        return
    yield f"<p>{_text(receipt.receipt_id)}, issued at {_text(receipt.issued_at.text)}<br>"
    yield f'<code>{_text(receipt.receipt_digest)}</code></p><ul class="findings">'
    for finding in view.findings:
        yield f"<li>{_tag(_OUTCOMES[finding.holds], PASSED[finding.holds][0])} {_text(finding.words)}</li>"
    yield "</ul>"
