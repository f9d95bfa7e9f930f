"""The corpus has the paper's counts and layout, says whose it is, and holds no verdict."""

from __future__ import annotations

import ast
import re
from collections import Counter
from pathlib import Path

import pytest

import agentbeat_receipts
from agentbeat_receipts.corpus import (
    OURS,
    CorpusKeys,
    Epoch,
    corpus_epochs,
    corpus_seed,
    isolation_epoch,
    keyring_of,
    make_epoch,
    pressure_epoch,
    prospective_epoch,
    repaired_isolation,
    retrospective_epochs,
    stability_epoch,
)
from agentbeat_receipts.corpus.origins import OURS_AT_LENGTH
from agentbeat_receipts.domains.market import FixedMenu, Run, simulate
from agentbeat_receipts.domains.market.streams import derived_seed
from agentbeat_receipts.objects import Checkpoint, Opening, Ticket

SEED = corpus_seed(1)
ROOM = Path(agentbeat_receipts.__file__).parent

#: Profiles, arms, replicates and claims with a contract (spec 4, "What must come out").
LAYOUT = {
    "E1": (27, 4 + 3 * 2, 1, ()),
    "E2": (30, 3 + 3 * 4, 1, ()),
    "E3": (4, 3, 3, ("C3",)),
    "E4": (12, 3, 1, ("C1",)),
    "E5": (75, 4, 1, ()),
    "E6": (75, 4, 1, ()),
    "E7": (15, 2, 1, ()),
}
COUNTS = {"E1": 270, "E2": 450, "E3": 36, "E4": 36, "E5": 300, "E6": 300, "E7": 30}


def _epochs() -> dict[str, Epoch]:
    return dict(corpus_epochs(SEED))


def _runs(epoch: Epoch, seed: bytes) -> dict[tuple[str, str], list[Run]]:
    """Every run of an epoch, without its receipts."""
    return {
        (name, arm): [
            simulate(
                plan.setting,
                profile,
                flags=frozenset(plan.treatments),
                retry=epoch.retry,
                seed=derived_seed(seed, epoch.key, name, arm, str(replicate)),
            )
            for replicate in range(epoch.replicates)
        ]
        for name, profile in epoch.profiles.items()
        for arm, plan in epoch.plans.items()
    }


def _total(runs: list[Run], value: str) -> int:
    return sum(run.values[value] for run in runs)  # type: ignore[misc]  # integers by their claims


@pytest.mark.parametrize("key", LAYOUT)
def test_an_epoch_has_the_papers_layout_and_count(key: str) -> None:
    epoch = _epochs()[key]
    manifest = epoch.manifest()
    contracts = tuple(contract.claim for contract in manifest.contracts)
    assert (len(epoch.profiles), len(epoch.plans), epoch.replicates, contracts) == LAYOUT[key]
    assert epoch.size == len(manifest.assignments) == COUNTS[key]
    assert manifest.mode == ("prospective" if key == "E7" else "retrospective")
    assert len(manifest.disclosed) == 8


def test_the_retrospective_epochs_have_1392_runs_of_which_210_are_of_menus() -> None:
    epochs = retrospective_epochs(SEED)
    assert sum(epoch.size for epoch in epochs) == 1392
    menus = Counter(
        epoch.key
        for epoch in epochs
        for plan in epoch.plans.values()
        if isinstance(plan.setting.model, FixedMenu)
        for _ in range(len(epoch.profiles) * epoch.replicates)
    )
    assert menus == {"E1": 108, "E2": 90, "E3": 12}


def test_every_title_says_that_it_is_ours_and_not_the_authors() -> None:
    titles = [epoch.manifest().title for epoch in _epochs().values()]
    assert all(title.startswith(OURS) for title in titles)
    assert len(set(titles)) == len(titles)
    assert "not the authors' data" in OURS
    assert "not the authors' data" in OURS_AT_LENGTH.replace("\n", " ")


def test_nonces_are_labelled_as_derived_from_the_seed() -> None:
    assert {epoch.manifest().nonces for epoch in _epochs().values()} == {"derived_from_seed"}


def test_the_arms_of_e1_differ_in_form_and_chooser_which_its_group_does_not_allow() -> None:
    manifest = isolation_epoch(SEED).manifest()
    (group,) = manifest.comparison_groups
    differing = {
        name
        for name in manifest.arms[0].components
        if len({arm.components[name] for arm in manifest.arms}) > 1
    }
    assert differing == {"model", "schema", "chooser"}
    assert group.may_differ == ("model",)
    assert len(group.arms) == len(manifest.arms)


def test_the_repaired_e1_differs_in_what_is_allowed_only() -> None:
    manifest = repaired_isolation(SEED).manifest()
    for name in set(manifest.arms[0].components) - {"model"}:
        assert len({arm.components[name] for arm in manifest.arms}) == 1


@pytest.mark.parametrize("number", range(20))
def test_e3_has_one_contrast_below_zero_and_three_of_at_most_three_times_as_much(number: int) -> None:
    seed = corpus_seed(number)
    runs = _runs(stability_epoch(seed), seed)
    contrasts = [
        _total(runs[name, "both"], "welfare") - _total(runs[name, "none"], "welfare")
        for name in ("p-01", "p-02", "p-03", "p-04")
    ]
    assert contrasts[0] < 0
    assert all(0 < contrast <= -3 * contrasts[0] for contrast in contrasts[1:])


@pytest.mark.parametrize("number", range(20))
def test_pressure_in_e4_overprices_into_rejections(number: int) -> None:
    seed = corpus_seed(number)
    epoch = pressure_epoch(seed)
    runs = _runs(epoch, seed)
    ended = {arm: [runs[name, arm][0].status for name in epoch.profiles] for arm in epoch.plans}
    assert ended["compliance"] == ended["standard"] == ["accepted"] * 12
    assert Counter(ended["pressure"]) == {"rejected": 9, "accepted": 3}
    profits = [
        sum(_total(runs[name, arm], "seller_profit") for name in epoch.profiles)
        for arm in ("compliance", "standard", "pressure")
    ]
    assert profits[0] < profits[1] > profits[2]


@pytest.mark.parametrize("number", range(20))
def test_e7_has_24_accepted_and_6_rejected_terminals(number: int) -> None:
    seed = corpus_seed(number)
    runs = [run for cell in _runs(prospective_epoch(seed), seed).values() for run in cell]
    assert Counter(run.status for run in runs) == {"accepted": 24, "rejected": 6}


def test_a_retrospective_epoch_is_made_again_byte_for_byte() -> None:
    one, other = (make_epoch(stability_epoch(SEED), CorpusKeys.of(SEED)).deliveries() for _ in range(2))
    assert one == other


def test_a_prospective_epoch_has_the_same_promises_and_openings_again_and_new_envelopes() -> None:
    one, other = (make_epoch(prospective_epoch(SEED), CorpusKeys.of(SEED)) for _ in range(2))
    promised = [
        [document.body for document in made.documents if isinstance(document.body, Ticket | Checkpoint)]
        for made in (one, other)
    ]
    assert promised[0] == promised[1]
    assert len(promised[0]) == 31
    openings: list[list[Opening]] = [[run.opening for run in made.batch.runs] for made in (one, other)]
    assert openings[0] == openings[1]
    assert one.deliveries() != other.deliveries()


def test_keys_come_from_the_seed_and_no_two_seeds_share_them() -> None:
    rings = [keyring_of(corpus_seed(number)).public for number in (1, 1, 2)]
    assert rings[0] == rings[1]
    assert rings[0].ingress_authority != rings[2].ingress_authority
    assert rings[0].auditor != rings[2].auditor


def test_a_negative_seed_is_refused() -> None:
    with pytest.raises(ValueError, match="expected 0 or more"):
        corpus_seed(-1)


def _imported(path: Path) -> set[str]:
    modules: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            modules.add(node.module)
        elif isinstance(node, ast.Import):
            modules.update(alias.name for alias in node.names)
    return modules


def test_the_generation_knows_no_verdicts() -> None:
    judging = ("agentbeat_receipts.claims", "agentbeat_receipts.analyses", "agentbeat_receipts.verification")
    for path in (ROOM / "corpus").glob("*.py"):
        assert not [name for name in _imported(path) if name.startswith(judging)], path.name


def test_what_judges_knows_no_epochs() -> None:
    for part in ("claims", "analyses", "verification", "domains", "statistics", "anchors", "objects"):
        for path in (ROOM / part).rglob("*.py"):
            assert not [name for name in _imported(path) if ".corpus" in name], path.name
            assert not re.search(r"\bE[1-7]\b", path.read_text(encoding="utf-8")), path.name
