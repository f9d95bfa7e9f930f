"""What there is to say of a reason, a question or a claim, without any bundle; as lines of text."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from agentbeat_receipts.claims.domains import Domain
from agentbeat_receipts.claims.faults import FAULT_RULES, Fault
from agentbeat_receipts.claims.groups import EXPERIMENT_CLAIMS, EXPERIMENT_NEEDS, GROUPS, Group
from agentbeat_receipts.reports.outcomes import verdict_text
from agentbeat_receipts.verification.reasons import RULES, Reason, Scope, Verdict

__all__ = ["Topic", "claim_text", "labelled", "topic_lines", "topics"]

WIDTH: Final = 100
LABEL: Final = 14

_QUESTIONS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "integrity": (
            "Bytes, signatures, chain and openings are sound. If not, every other verdict is Invalid."
        ),
        "coverage": (
            "Everything that the manifest promises has arrived, and was promised before the first outcome. "
            "Claimed at CR-3 only; a causal licence needs it."
        ),
        "openings": (
            "The private evidence behind every receipt is open. Without it nothing can be replayed."
        ),
        "retries": "The terminal attempt of every run is the one that the retry policy names.",
    }
)
_CLAIMS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "C1": (
            "Direction. The means of the levels go one way, as declared, and the one-sided lower bound "
            "(q = 1/20) of strongest minus weakest lies beyond the threshold. Needs a contract and at "
            "least 4 profiles."
        ),
        "C2": (
            "Isolation. Each receipt's components are its arm's, and the arms of a comparison group differ "
            "only where the manifest allows it."
        ),
        "C3": (
            "Stability. With at least 2 replicates in each cell, the interval (1/40, 39/40) of the contrast "
            "lies beyond the boundary, or inside ±delta. Needs a contract and at least 4 profiles."
        ),
        "C4": (
            "Accounting. Every transaction is replayed exactly, the domain's identity holds, and every "
            "promised cell of the report is there with the sum and count that come out again."
        ),
    }
)
_CONCERNS: Final[Mapping[Scope, str]] = MappingProxyType(
    {
        Scope.INTEGRITY: "integrity, and with it every claim",
        Scope.COVERAGE: "coverage; a terminal that is missing also C1, C3 and C4, and never C2",
        Scope.OPENINGS: "the openings, and each claim that needs private evidence",
        Scope.RETRIES: "the retries; C3 always, and C1 where it has a contract",
        Scope.NOTE: "nothing: it is only noted",
    }
)


@dataclass(frozen=True, slots=True)
class Topic:
    """Something that can be explained.

    Args:
        name: as it is asked for.
        kind: what it is.
    """

    name: str
    kind: str


def topics(domains: Iterable[Domain]) -> dict[str, Topic]:
    """Everything that can be explained, by name."""
    found = {name: Topic(name, "question") for name in _QUESTIONS}
    found |= {name: Topic(name, "claim of the batch") for name in EXPERIMENT_CLAIMS}
    found |= {
        claim: Topic(claim, "claim of each transaction") for domain in domains for claim in domain.claims
    }
    found |= {str(group): Topic(str(group), "group of fields") for group in GROUPS}
    found |= {str(verdict): Topic(str(verdict), "verdict") for verdict in Verdict}
    # A reason of the chain and one of a claim have different names, which the tests see to.
    found |= {str(reason): Topic(str(reason), "reason of the chain") for reason in Reason}
    found |= {str(fault): Topic(str(fault), "reason of a claim") for fault in Fault}
    return found


def topic_lines(topic: Topic, domains: Iterable[Domain]) -> Iterator[str]:
    """All there is to say of it."""
    known = tuple(domains)
    yield f"{topic.name}  ({topic.kind})"
    match topic.kind:
        case "reason of the chain":
            rule = RULES[Reason(topic.name)]
            yield from _rule(rule.layer, rule.verdict, rule.text)
            yield from labelled("concerns", _CONCERNS[rule.scope])
        case "reason of a claim":
            fault = FAULT_RULES[Fault(topic.name)]
            yield from _rule(fault.layer, fault.verdict, fault.text)
            yield from labelled("concerns", "the claim that it is found for, and claims that rest on it")
        case "group of fields":
            yield from labelled("holds", Group(topic.name).label)
            for domain in known:
                needing = [claim for claim, needs in domain.needs.items() if topic.name in needs]
                yield from labelled(domain.name, ", ".join(needing) or "no claim needs it")
        case "verdict":
            yield from labelled("means", verdict_text(Verdict(topic.name)))
        case "question":
            yield from textwrap.wrap(_QUESTIONS[topic.name], WIDTH)
            scope = Scope(topic.name)
            yield from labelled("reasons", ", ".join(r for r in Reason if RULES[r].scope is scope))
        case _:
            yield from claim_text(topic.name)
            yield from _needs(topic.name, known)


def claim_text(claim: str) -> list[str]:
    """What a claim of the batch asserts; nothing for a claim of transactions, which the domain knows."""
    return textwrap.wrap(_CLAIMS.get(claim, ""), WIDTH)


def labelled(label: str, text: str) -> list[str]:
    """Text beside its label, broken into lines."""
    return textwrap.wrap(
        text,
        WIDTH,
        initial_indent=f"{label:<{LABEL}}",
        subsequent_indent=" " * LABEL,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _rule(layer: str, verdict: Verdict, text: str) -> Iterator[str]:
    yield from labelled("rule", text)
    yield from labelled("layer", layer)
    yield from labelled("verdict", f"{verdict}: {verdict_text(verdict)}")


def _needs(claim: str, domains: Iterable[Domain]) -> Iterator[str]:
    for domain in domains:
        if claim in domain.claims or claim in EXPERIMENT_CLAIMS:
            needed = domain.needs.get(claim, EXPERIMENT_NEEDS.get(claim, frozenset()))
            groups = "; ".join(f"{group} {group.label}" for group in GROUPS if group in needed)
            yield from labelled(domain.name, f"needs {groups}")
