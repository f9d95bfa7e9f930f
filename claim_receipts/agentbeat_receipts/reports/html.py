"""The report as one HTML page: no script, nothing loaded from anywhere, light or dark as the reader has it.

All that was delivered is escaped (see `markup`), and a policy in the page's head forbids everything but its
own style, should that ever fail. Verdicts are words; colours only repeat them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import resources
from typing import Final

from agentbeat_protocol import cut
from agentbeat_receipts.claims.results import WEAKER_CAVEAT, ClaimReport
from agentbeat_receipts.reports.html_chain import chain_section, coverage_section, findings_section
from agentbeat_receipts.reports.html_claims import (
    analyses_section,
    badge,
    claims_section,
    licences_section,
)
from agentbeat_receipts.reports.markup import Markup, breakable, element
from agentbeat_receipts.reports.outcomes import ExitCode, headline, judged, outcome_of
from agentbeat_receipts.reports.wording import counts_text

__all__ = ["to_html"]

_POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
_CLASSES: Final = {ExitCode.PASS: "pass", ExitCode.INVALID: "invalid", ExitCode.INCONCLUSIVE: "open"}
_QUESTIONS: Final = ("integrity", "coverage", "openings", "retries")

_CAVEATS: Final = {
    "verified_only_within_committed_ingress": (
        "A run that nobody ticketed, or an attempt that nobody listed, leaves no trace here."
    ),
    "full_replacement_undetectable_before_closing_is_published": (
        "Until the closing record is known outside, the operator can replace the whole chain by another."
    ),
    WEAKER_CAVEAT: (
        "Evidence that was promised is missing behind some values, which were made from what is left; each "
        "claim says how many, and what is missing. Nobody outside signs that it was missing."
    ),
}


def to_html(report: ClaimReport) -> str:
    """The report as a page that ends in a line feed."""
    style = (resources.files("agentbeat_receipts.reports") / "report.css").read_text(encoding="utf-8")
    outcome = outcome_of(report)
    title = cut(report.title or "A batch without its manifest", 200)
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=_POLICY),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="referrer", content="no-referrer"),
        element("title", f"{outcome.word} – {title}"),
        # Our own file: it holds no `<`, so nothing in it ends the element.
        element("style", Markup(style)),
    )
    sections = {
        "claims": ("Claims", claims_section(report)),
        "licence": ("What may be said", licences_section(report)),
        "analyses": ("Analyses", analyses_section(report)),
        "coverage": ("Coverage", coverage_section(report)),
        "chain": ("Chain", chain_section(report.chain)),
        "findings": ("Findings", findings_section(report)),
        "caveats": ("What even a Pass does not say", _caveats(report)),
    }
    filled = {name: (text, parts) for name, (text, parts) in sections.items() if parts}
    links = [element("a", text, href=f"#{name}") for name, (text, _) in filled.items()]
    body = element(
        "body",
        element(
            "header", element("h1", title), *_summary(report), element("nav", *links, aria_label="Sections")
        ),
        element(
            "main",
            *(
                element("section", element("h2", text), *parts, id=name)
                for name, (text, parts) in filled.items()
            ),
        ),
    )
    return f"<!doctype html>\n{element('html', head, body, lang='en')}\n"


def _summary(report: ClaimReport) -> Iterator[Markup]:
    outcome, chain = outcome_of(report), report.chain
    yield element("p", outcome.word, class_=f"outcome {_CLASSES[outcome.code]}")
    yield element("p", headline(report))
    expected = "" if chain.expected is None else f" of {chain.expected}"
    verdicts = judged(report)
    facts: dict[str, str] = {
        "Domain": cut(report.domain or "not known"),
        "Level": str(chain.level or "none"),
        "Manifest": element("code", chain.manifest_digest or "not known"),
        "Anchored at": "" if report.anchored_at is None else str(report.anchored_at),
        "Terminals": f"{chain.arrived}{expected}{_beside(report.statuses)}",
        "Replayed": f"{report.settled}{_beside(report.stages)}",
    }
    facts |= {name.capitalize(): badge(verdicts[name]) for name in _QUESTIONS}
    pairs = [
        item for name, text in facts.items() if text for item in (element("dt", name), element("dd", text))
    ]
    yield element("dl", *pairs, class_="facts")


def _beside(counts: Mapping[str, int]) -> str:
    return f": {counts_text(counts)}" if counts else ""


def _caveats(report: ClaimReport) -> list[Markup]:
    items = [
        element("li", element("code", breakable(caveat)), f": {_CAVEATS.get(caveat, '')}")
        for caveat in report.caveats
    ]
    return [element("ul", *items)] if items else []
