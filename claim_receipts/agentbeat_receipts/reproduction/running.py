"""The whole reproduction: make the corpus, verify it, and fill every table.

    result = reproduce(1)
    result.as_predicted

Everything that is judged is deterministic in its seed. The predictions are read before anything is made.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from agentbeat_receipts.corpus import corpus_epochs
from agentbeat_receipts.reproduction import grids
from agentbeat_receipts.reproduction.ablations import Ablation, abstraction_rows, matrix_rows
from agentbeat_receipts.reproduction.costs import cost_table
from agentbeat_receipts.reproduction.faults import fault_rows
from agentbeat_receipts.reproduction.predictions import Predictions, published_predictions
from agentbeat_receipts.reproduction.tables import Table, table_of
from agentbeat_receipts.reproduction.variants import variant_rows
from agentbeat_receipts.reproduction.verifying import Bench, Verified
from agentbeat_receipts.tampering import run_catalogue

__all__ = ["Reproduction", "reproduce"]

#: Told of each step before it begins: what it is, and how many there are in all.
OnStep = Callable[[str, int], None]
OnVerified = Callable[[Verified], None]


def _nothing(*_: object) -> None:
    """Nobody is told."""


@dataclass(frozen=True, slots=True)
class Reproduction:
    """All tables of one run.

    Args:
        seed: the corpus' number.
        predictions: the digest of what was predicted.
        tables: in the order in which they are printed.
    """

    seed: int
    predictions: str
    tables: tuple[Table, ...]

    @property
    def as_predicted(self) -> bool:
        """Whether nothing that is judged came out otherwise."""
        return not any(table.differs for table in self.tables)


def reproduce(
    seed: int,
    *,
    predictions: Predictions | None = None,
    on_step: OnStep = _nothing,
    on_verified: OnVerified = _nothing,
) -> Reproduction:
    """Make and verify everything.

    Args:
        seed: the corpus' number.
        predictions: what must come out; the published ones unless given.
        on_step: told of each step before it begins.
        on_verified: given each bundle of the corpus once it is verified.

    Raises:
        ValueError: a negative seed.
    """
    expected = published_predictions() if predictions is None else predictions
    bench = Bench.of(seed)
    epochs = dict(corpus_epochs(bench.keys.seed))
    steps = len(epochs) + 6
    found: dict[str, Verified] = {}
    for place, epoch in epochs.items():
        on_step(f"{place}: {epoch.size} receipts", steps)
        found[place] = bench.verified(place, epoch)
        on_verified(found[place])
    tables = list(_corpus_tables(found, expected))
    on_step("epochs under each other's names", steps)
    renamed = list(grids.rename_rows(bench, found))
    on_step("E3 and E4 from further seeds", steps)
    renamed += grids.seed_rows(seed)
    tables.append(table_of("invariance", "What no verdict hangs on", renamed, expected))
    on_step("evidence taken away", steps)
    tables += _ablation_tables(bench, found["controls/control-whole"], expected)
    on_step("the prospective epoch with something kept back", steps)
    title = "Prospective epoch, and what is kept back of it"
    tables.append(table_of("variants", title, variant_rows(bench, found["E7"]), expected))
    on_step("faults and benign changes", steps)
    title = "Faults and benign changes of the catalogue, one at a time"
    note = "of L4 no receipt can show anything: there the expected verdict is a Pass with its caveat"
    tables.append(table_of("faults", title, fault_rows(run_catalogue()), expected, note=note))
    on_step("cost", steps)
    seven = [found[key] for key in (*grids.RETROSPECTIVE, "E7")]
    tables.append(cost_table(bench, found["E7"], seven))
    return Reproduction(seed, expected.digest, tuple(tables))


def _corpus_tables(found: dict[str, Verified], expected: Predictions) -> list[Table]:
    return [
        table_of("corpus", "Corpus: receipts", grids.corpus_rows(found), expected),
        table_of(
            "grid",
            "Verdicts on C1 C2 C3 C4",
            grids.grid_rows(found),
            expected,
            note="P Pass, X Invalid, I_C no contract, I_E the evidence does not cross its boundary",
        ),
        table_of("reasons", "Why these three", grids.reason_rows(found), expected),
        table_of("repaired", "Repaired twins", grids.repaired_rows(found), expected),
        table_of("controls", "Controls outside the corpus", grids.control_rows(found), expected),
        table_of("replay", "Exact replay", grids.replay_rows(found), expected),
    ]


def _ablation_tables(bench: Bench, control: Verified, expected: Predictions) -> list[Table]:
    ablation = Ablation(bench, control)
    return [
        table_of(
            "abstractions", "Claims determined by each kind of record", abstraction_rows(ablation), expected
        ),
        table_of(
            "matrix",
            "Field groups and the claims that are undetermined without them",
            matrix_rows(ablation),
            expected,
            note="the dots of the paper's matrix are lost in the text that we have; this is a reconstruction",
        ),
    ]
