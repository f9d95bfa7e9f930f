"""All there is to say of a requirement: `agentbeat conformance explain ID`.

print(explain(made, mutants={name: mutant.text for name, mutant in load().items()}))
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping
from typing import Final

from agentbeat_conformance.exchanges import Exchange
from agentbeat_conformance.reports.excerpts import answer_text, request_text
from agentbeat_conformance.reports.wording import NEEDS
from agentbeat_conformance.requirements import Requirement
from agentbeat_conformance.untested import UNTESTED

__all__ = ["SPEC_OF", "explain"]

#: The spec whose rules a family is of.
SPEC_OF: Final[Mapping[str, str]] = {
    "INV": "target-invocation-v1",
    "HLT": "target-invocation-v1",
    "EVD": "target-evidence-v1",
    "CTL": "state-controller-v1",
    "RCP": "state-receipt-v1",
}

_WIDTH: Final = 100
_LABEL: Final = 20
#: How much of a body is shown, in characters.
_BODY: Final = 3000


def explain(made: Requirement, *, mutants: Mapping[str, str], example: Exchange | None = None) -> str:
    """The requirement in words, as text of lines without a line feed at its end.

    Args:
        mutants: what each mutant does, by its name.
        example: an exchange of the check with a correct server (see `examples.example_of`).
    """
    return "\n".join(_lines(made, mutants, example))


def _lines(made: Requirement, mutants: Mapping[str, str], example: Exchange | None) -> Iterator[str]:
    yield f"{made.id}  {made.level}  {made.tier}"
    yield from textwrap.wrap(made.text, _WIDTH)
    yield ""
    yield from _labelled("section", f"{made.section} ({SPEC_OF[made.rule.partition('-')[0]]})")
    yield from _labelled("permitted outcomes", ", ".join(sorted(made.permits)))
    yield from _labelled(
        "needs", "; ".join(NEEDS[need] for need in sorted(made.needs)) or "nothing beyond HTTP"
    )
    if made.tier != "controller":
        yield from _labelled("runs of the Agent", f"{made.invocations}, beside the shared ones")
    if made.until is not None:
        yield from _labelled("in the catalogue", f"from {made.since} until {made.until}")
    for name in sorted(made.kills):
        yield from _labelled("catches", f"{name}: {mutants.get(name, 'not described')}")
    if made.rule in UNTESTED:
        yield from _labelled(f"not tried of {made.rule}", UNTESTED[made.rule])
    if example is not None:
        yield from ("", "For example, with a correct server:")
        sent, came = request_text(example.request, limit=_BODY), answer_text(example, limit=_BODY)
        for mark, text in (("> ", sent), ("< ", came)):
            yield ""
            yield from (f"  {mark}{line}".rstrip() for line in text.splitlines())


def _labelled(label: str, text: str) -> list[str]:
    return textwrap.wrap(
        text,
        _WIDTH,
        initial_indent=f"{label:<{_LABEL}}",
        subsequent_indent=" " * _LABEL,
        break_long_words=False,
        break_on_hyphens=False,
    )
