"""The kill matrix: which check catches which mutant, as text for a terminal and as tables for a page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from agentbeat_conformance.mutants.registry import Mutant
from agentbeat_conformance.requirements import Level, Requirement
from agentbeat_conformance.trials import Trial

__all__ = ["BEGIN", "END", "Matrix", "in_page", "to_markdown", "to_text"]

#: Between these lines of a page stands the matrix.
BEGIN: Final = "<!-- kill matrix: begin (agentbeat conformance self-test --write-docs) -->"
END: Final = "<!-- kill matrix: end -->"


@dataclass(frozen=True, slots=True, kw_only=True)
class Matrix:
    """What the self-test has shown.

    Attributes:
        catalogue: the requirements, and `mutants` the servers that they were tried on.
        trials: one for each server, in the order of the register.
        faults: what is wrong with the suite; empty when it is sound.
        is_whole: whether every server was tried.
        seconds: how long it took.
    """

    catalogue: Mapping[str, Requirement]
    mutants: Mapping[str, Mutant]
    trials: tuple[Trial, ...]
    faults: tuple[str, ...]
    is_whole: bool
    seconds: float

    def kills(self) -> dict[str, list[str]]:
        """The mutants that each requirement's check catches as its own, by its id."""
        caught: dict[str, list[str]] = {id: [] for id in self.catalogue}
        for trial in self.trials:
            for id in sorted(self.mutants[trial.name].breaks & trial.caught):
                caught.setdefault(id, []).append(trial.name)
        return caught

    def of_kind(self, *kinds: str) -> list[Trial]:
        """The trials of servers of these kinds."""
        return [trial for trial in self.trials if trial.kind in kinds]


def to_text(matrix: Matrix) -> str:
    """The matrix for a terminal: a line for each server, then a summary and the faults."""
    width = max((len(trial.name) for trial in matrix.trials), default=0)
    lines = [
        f"{trial.name:<{width}}  {_said(matrix, trial)}  ({trial.seconds:.1f} s)" for trial in matrix.trials
    ]
    return "\n".join([*lines, "", *_summary(matrix), *(f"FAULT {fault}" for fault in matrix.faults)])


def to_markdown(matrix: Matrix) -> str:
    """The matrix for the documentation; the same for every sound run."""
    lines = [*_summary(matrix), ""]
    for kind, title in (("target", "Targets"), ("controller", "State Controllers")):
        lines += [f"### {title} with one rule broken", ""]
        lines += ["| mutant | what it does | caught by | and in consequence |", "|---|---|---|---|"]
        for trial in matrix.of_kind(kind):
            own, further = _caught(matrix, trial)
            text = matrix.mutants[trial.name].text
            lines.append(f"| `{trial.name}` | {_cell(text)} | {', '.join(own)} | {', '.join(further)} |")
        lines.append("")
    lines += ["### Servers that must never pass", "", "| server | what it does |", "|---|---|"]
    lines += [_row(matrix, trial) for trial in matrix.of_kind("degenerate")]
    lines += ["", "### Legal oddities that must stay green", "", "| oddity | what it does |", "|---|---|"]
    lines += [_row(matrix, trial) for trial in matrix.of_kind("oddity")]
    return "\n".join(lines) + "\n"


def in_page(page: str, table: str) -> str:
    """The page with this table between its two markers.

    Raises:
        ValueError: the page has not exactly these two, in this order.
    """
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end or BEGIN in rest or END in after + before:
        raise ValueError(f"expected one line {BEGIN} and, below it, one line {END}")
    return f"{before}{BEGIN}\n\n{table.strip()}\n\n{END}{after}"


def _said(matrix: Matrix, trial: Trial) -> str:
    if trial.kind not in ("target", "controller"):
        return f"{trial.kind}: {trial.verdict}"
    own, further = _caught(matrix, trial)
    also = f", and in consequence by {', '.join(further)}" if further else ""
    return f"caught by {', '.join(own) or 'nothing'}{also}"


def _caught(matrix: Matrix, trial: Trial) -> tuple[list[str], list[str]]:
    """The ids that catch it as their own, and the MUST ids that fail in consequence, both in order."""
    breaks = matrix.mutants[trial.name].breaks
    own = [id for id in matrix.catalogue if id in breaks & trial.caught]
    return own, [id for id in matrix.catalogue if id in set(trial.failed) - breaks]


def _summary(matrix: Matrix) -> Iterator[str]:
    kinds = {"target": "Targets", "controller": "State Controllers", "degenerate": "degenerate servers"}
    counts = [f"{len(matrix.of_kind(kind))} {name}" for kind, name in kinds.items()]
    yield f"Broken servers: {', '.join(counts)}. Legal oddities: {len(matrix.of_kind('oddity'))}."
    if matrix.is_whole:
        musts = [made.id for made in matrix.catalogue.values() if made.level is Level.MUST]
        kills = matrix.kills()
        killing = sum(bool(kills[id]) for id in musts)
        total = len(matrix.catalogue)
        yield f"Requirements: {total}, of which {len(musts)} MUST; {killing} of these catch a mutant."


def _row(matrix: Matrix, trial: Trial) -> str:
    return f"| `{trial.name}` | {_cell(matrix.mutants[trial.name].text)} |"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
