"""The report as one HTML page: no script, nothing loaded from anywhere, light or dark as the reader has it.

All that a server answered is escaped twice over: first what does not print, then what HTML reads. A policy in
the page's head forbids everything but its own style, should that ever fail. Outcomes are words; colours only
repeat them. Every requirement is a `<details>` with an anchor, `#INV-3.b`.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import resources
from typing import Final

from agentbeat_conformance.exchanges import Exchange
from agentbeat_conformance.outcomes import Outcome, Result
from agentbeat_conformance.reports.details import SEQUENCE
from agentbeat_conformance.reports.excerpts import answer_text, request_text, visible
from agentbeat_conformance.reports.markup import Markup, element
from agentbeat_conformance.reports.records import Report
from agentbeat_conformance.reports.wording import (
    NEEDS,
    OUTCOMES,
    VERDICTS,
    meaning,
    next_step,
    outcome_words,
    plan_line,
)

__all__ = ["to_html"]

_POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
_OPEN: Final = (Outcome.FAIL, Outcome.ERROR)
_TROUBLE: Final = (Outcome.FAIL, Outcome.ERROR, Outcome.COULD_NOT_RUN, Outcome.WARN)


def to_html(report: Report) -> str:
    """The report as a page that ends in a line feed."""
    style = (resources.files("agentbeat_conformance.reports") / "report.css").read_text(encoding="utf-8")
    title = f"AgentBeat conformance: {report.tier}"
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=_POLICY),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="referrer", content="no-referrer"),
        element("title", f"{VERDICTS[report.verdict].capitalize()} – {title}"),
        # Our own file: it holds no `<`, so nothing in it ends the element.
        element("style", Markup(style)),
    )
    body = element(
        "body",
        element("header", element("h1", title), *_summary(report)),
        element("main", *_troubles(report), *_rules(report)),
    )
    return f"<!doctype html>\n{element('html', head, body, lang='en')}\n"


def _summary(report: Report) -> Iterator[Markup]:
    yield element("p", VERDICTS[report.verdict], class_=f"verdict {report.verdict}")
    yield element("p", *_prose(f"{meaning(report)} {next_step(report)}"))
    if report.complaints:
        items = [element("li", visible(complaint)) for complaint in report.complaints]
        yield element("p", "The file of expected failures is out of date:")
        yield element("ul", *items, class_="fail")
    facts = {
        "Endpoint": report.endpoint,
        "Suite": f"{report.suite_version}, for {', '.join(report.specs)}",
        "Catalogue": f"{report.catalogue}, {report.catalogue_digest}",
        "Plan": plan_line(report),
        "Left out": ", ".join(made.id for made in report.left_out),
        "Started": report.started_at,
        "Seed": report.seed,
    }
    pairs = [item for name, text in facts.items() if text for item in _fact(name, text)]
    yield element("dl", *pairs, class_="facts")
    heads = [element("th", OUTCOMES[outcome], scope="col", class_=outcome) for outcome in Outcome]
    cells = [element("td", str(report.count(outcome))) for outcome in Outcome]
    yield element(
        "table",
        element("caption", f"How the {len(report.results)} checks ended"),
        element("thead", element("tr", *heads)),
        element("tbody", element("tr", *cells)),
    )


def _fact(name: str, text: str) -> tuple[Markup, Markup]:
    return element("dt", name), element("dd", visible(text))


def _troubles(report: Report) -> Iterator[Markup]:
    troubles = report.ended(*_TROUBLE)
    if not troubles:
        return
    items = [
        element(
            "li",
            element("span", outcome_words(report, result), class_=f"outcome {result.outcome}"),
            " ",
            element("a", result.requirement.id, href=f"#{result.requirement.id}"),
            " ",
            *_prose(result.requirement.text),
        )
        for result in troubles
    ]
    yield element("section", element("h2", "What does not hold, or was not shown"), element("ul", *items))


def _rules(report: Report) -> Iterator[Markup]:
    for rule, results in report.rules().items():
        yield element(
            "section",
            element("h2", f"{rule} – {visible(results[0].requirement.section)}"),
            *(_requirement(report, result) for result in results),
        )


def _requirement(report: Report, result: Result) -> Markup:
    made = result.requirement
    summary = element(
        "summary",
        element("span", outcome_words(report, result), class_=f"outcome {result.outcome}"),
        " ",
        element("span", made.id, class_="id"),
        " ",
        element("span", made.level, class_="level"),
        " ",
        *_prose(made.text),
    )
    facts = [*_fact("Permitted outcomes", ", ".join(sorted(made.permits)))]
    if made.needs:
        facts += _fact("Needs", "; ".join(NEEDS[need] for need in sorted(made.needs)))
    entry = report.expectation(result)
    if entry is not None:
        facts += _fact("Expected", f"until {entry.expires}: {entry.reason}")
    if result.reason:
        facts += _fact("Reason", result.reason)
    parts = [element("dl", *facts, class_="facts")]
    if result.findings:
        found = [element("li", *_prose(finding.message)) for finding in result.findings]
        parts += [element("h3", "Findings"), element("ul", *found)]
    sequence = [report.repeat(exchange) or "…" for exchange in report.leading_to(result)]
    if sequence:
        parts += [element("h3", SEQUENCE.capitalize()), _text("\n".join(sequence), "commands")]
    named = {finding.exchange for finding in result.findings}
    cited = dict.fromkeys([*(e.index for e in report.shown_by(result)), *result.exchanges])
    exchanges = report.at(cited)
    if exchanges:
        parts.append(element("h3", "Exchanges"))
        parts += [_exchange(report, exchange, is_open=exchange.index in named) for exchange in exchanges]
    inside = element("div", *parts, class_="inside")
    return element("details", summary, inside, id=made.id, open=result.outcome in _OPEN)


def _exchange(report: Report, exchange: Exchange, *, is_open: bool) -> Markup:
    command = report.repeat(exchange, lines=True)
    line = f"{exchange.index}: {visible(exchange.request.method)} {visible(exchange.request.target)[:80]}"
    parts = [
        element("h3", "Request"),
        _text(request_text(exchange.request), "request"),
        element("h3", "Answer"),
        _text(answer_text(exchange), "answer"),
    ]
    if command is not None:
        parts += [element("h3", "Repeat it"), _text(command, "command")]
    return element(
        "details",
        element("summary", element("code", line), f" → {exchange.outcome}"),
        element("div", *parts, class_="inside"),
        open=is_open,
    )


def _prose(text: str) -> list[str]:
    """`text` with what stands between backquotes as code."""
    parts = visible(text).split("`")
    if len(parts) % 2 == 0:
        return ["`".join(parts)]
    return [element("code", part) if place % 2 else part for place, part in enumerate(parts)]


def _text(text: str, what: str) -> Markup:
    # A box that scrolls has to be reachable by keyboard.
    return element("pre", element("code", text), tabindex="0", role="region", aria_label=what)
