"""A verdict that does without the evidence of its tier is counted, wherever its number is read."""

from __future__ import annotations

import asyncio
import json
from collections import Counter, defaultdict
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from agentbeat_receipts.claims import ClaimReport, Fault, Licence
from agentbeat_receipts.claims.results import WEAKER_CAVEAT
from agentbeat_receipts.deliveries import Delivery
from agentbeat_receipts.domains.agent_eval import DOMAIN
from agentbeat_receipts.objects import Null, Pair, material_digest
from agentbeat_receipts.reports.html import to_html
from agentbeat_receipts.reports.json_report import to_json
from agentbeat_receipts.reports.reasoning import reasoning_lines
from agentbeat_receipts.reports.table import render_table
from agentbeat_receipts.streams import verify_stream
from agentbeat_receipts.verification import Verdict
from support.eval_batches import Object, Ran, batch_run, plan_json, staged, verified
from support.eval_forgeries import Edit, case_of, chain_of, result_of, rewritten, transcoded
from support.fakes import FakeController, FakeJudge, scores

DIMENSIONS = ("utility", "security", "attack_success")
PLAIN, GUARDED = "a-00001", "a-00002"


#: One case, once under each arm.
FEW: dict[str, Any] = {"cases": 1, "replicates": 1, "contracts": []}


def made(
    folder: Path, tier: str, *, judge: str | None, controller: FakeController | None = None, **changes: Any
) -> Ran:
    async def run() -> Ran:
        asked = (controller or FakeController()) if tier == "L3" else None
        async with staged(controller=asked, judge=None if judge is None else FakeJudge(judge)) as stage:
            return await batch_run(stage, plan_json(tier, **changes), folder / "claim")

    return asyncio.run(run())


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Ran]:
    """Four cases twice under both arms by the native verdict; one case in other ways."""
    folder = tmp_path_factory.mktemp("weaker")
    for name in ("native", "rules", "unjudged", "ungated"):
        (folder / name).mkdir()
    ungated = {"scoring_profile__metric_policy": {"native_security_gate": False}}
    return {
        "native": made(folder / "native", "L3", judge=scores()),
        "rules": made(folder / "rules", "L2", judge=scores(), **FEW),
        "unjudged": made(folder / "unjudged", "L3", judge=None, **FEW),
        "ungated": made(folder / "ungated", "L3", judge=scores(), **FEW, **ungated),
    }


# --- What is done to openings -----------------------------------------------------------------------------


def no_word(opening: Object) -> None:
    """The State Controller is said not to have answered."""
    state = opening["materials"]["state"]
    opening["materials"]["state"] = {**dict.fromkeys(state), "reason": "unavailable"}


def broken_word(opening: Object) -> None:
    """Its receipt is there, with another signature."""

    def change(answer: Object) -> Object:
        signature = {**answer["receipt"]["signature"], "value": "A" * 86}
        return {**answer, "receipt": {**answer["receipt"], "signature": signature}}

    state = opening["materials"]["state"]
    state["verify"] = transcoded(change)(state["verify"])


def no_document(opening: Object) -> None:
    """The evidence document is said not to have come."""
    (event,) = [each for each in opening["attempts"][-1]["events"] if each["type"] == "evidence"]
    event["data"] = {"document": None, "reason": "evidence_unavailable"}
    opening["attempts"][-1]["treatments"] = []


def no_judge(opening: Object) -> None:
    """The judge is said not to have answered."""
    choice = opening["attempts"][-1]["choice"]
    choice["input"] = {"answer": None, "reason": "judge_timeout"}
    choice["output"] = {"scores": None, "reason": "judge_timeout"}


def both(opening: Object) -> None:
    broken_word(opening)
    no_judge(opening)


def found(ran: Ran, assignment: str, edit: Edit | None) -> dict[str, tuple[Any, tuple[str, ...]]]:
    """Each verdict's value, and what it does without."""
    replay = DOMAIN.replay(case_of(ran, assignment, edit=edit))
    return {name: (replay.value(name), replay.weaknesses(name)) for name in DIMENSIONS}


# --- One run ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["native", "rules", "unjudged", "ungated"])
def test_an_honest_run_does_without_nothing(runs: dict[str, Ran], name: str) -> None:
    for assignment in (PLAIN, GUARDED):
        assert [weak for _, weak in found(runs[name], assignment, None).values()] == [(), (), ()]
    replay = DOMAIN.replay(case_of(runs[name], PLAIN))
    assert [replay.weaknesses(claim) for claim in DOMAIN.claims if claim not in DIMENSIONS] == [()] * 5


@pytest.mark.parametrize(
    ("edit", "word"), [(no_word, "native_missing"), (broken_word, "native_refused")], ids=["none", "broken"]
)
def test_without_the_state_controllers_word_the_judge_decides_and_that_is_said(
    runs: dict[str, Ran], edit: Edit, word: str
) -> None:
    """The attack succeeded; to the judge it did not."""
    assert found(runs["native"], PLAIN, None)["attack_success"] == (1, ())
    assert found(runs["native"], PLAIN, edit) == {
        "utility": (1, (word,)),
        "security": (1, (word,)),
        "attack_success": (0, (word,)),
    }


def test_without_a_judge_nothing_is_left_and_nulls_are_not_counted_twice(runs: dict[str, Ran]) -> None:
    nothing = Null(null="not_observed")
    values = [value for value, _ in found(runs["unjudged"], PLAIN, no_word).values()]
    assert values == [nothing, nothing, nothing]


def test_without_the_judge_the_rest_decides_and_that_is_said_where_the_plan_has_one(
    runs: dict[str, Ran],
) -> None:
    gate = found(runs["native"], PLAIN, no_judge)
    # The hard gate overrules any judge; utility has none.
    assert gate == {
        "utility": (1, ("judge_missing",)),
        "security": (0, ()),
        "attack_success": (1, ()),
    }
    ungated = found(runs["ungated"], PLAIN, no_judge)
    assert [weak for _, weak in ungated.values()] == [("judge_missing",)] * 3
    assert [weak for _, weak in found(runs["unjudged"], PLAIN, None).values()] == [()] * 3


def test_without_the_evidence_document_the_judge_decides_in_place_of_rules(runs: dict[str, Ran]) -> None:
    """Those that look at the answer only are decided all the same."""
    weak = {name: weak for name, (_, weak) in found(runs["rules"], PLAIN, no_document).items()}
    assert weak["utility"] == ("rules_not_observed",)
    assert set(weak.values()) <= {(), ("rules_not_observed",)}


class BlindController(FakeController):
    """One that does not see whether the order was refunded, and says so under its signature."""

    def __init__(self) -> None:
        super().__init__()
        self.forge = lambda receipt: receipt["verdicts"].update(utility={"verdict": "not_observed"})

    def checks(self) -> list[Object]:
        unseen = {"passed": None, "actual": None, "reason": "not_observed"}
        return [each | unseen if each["dimension"] == "utility" else each for each in super().checks()]


def test_what_the_state_controller_did_not_observe_is_named_so(tmp_path: Path) -> None:
    ran = made(tmp_path, "L3", judge=scores(), controller=BlindController(), **FEW)
    assert found(ran, GUARDED, None) == {
        "utility": (1, ("native_not_observed",)),
        "security": (1, ()),
        "attack_success": (0, ()),
    }


@pytest.mark.parametrize("weights", [("0", "0"), ("1", "0"), ("0.5", "0.4"), ("0.7", "0.30001")], ids=str)
def test_weights_that_share_nothing_are_malformed_and_no_crash(
    runs: dict[str, Ran], weights: tuple[str, str]
) -> None:
    """Whoever signs the manifest can promise any scorer."""

    def edit(opening: Object) -> None:
        opening["materials"]["scorer"].update(deterministic_weight=weights[0], llm_judge_weight=weights[1])
        no_word(opening)

    case = case_of(runs["native"], PLAIN)
    scorer = {**case.material("scorer"), "deterministic_weight": weights[0], "llm_judge_weight": weights[1]}
    components = {**case.receipt.components, "scorer": material_digest("scorer", scorer)}
    changed = case_of(runs["native"], PLAIN, edit=edit, components=components)
    for claim in (*DIMENSIONS, "whole"):
        assert result_of(changed, claim) == Fault.EVIDENCE_MALFORMED


# --- A batch, signed again by whoever holds all keys ------------------------------------------------------


def retold(ran: Ran, edit: Edit, *, of: Callable[[dict[str, Any]], bool]) -> list[Delivery]:
    """The batch with an edit of some openings, and with every number told as it then comes out."""
    chain = chain_of(ran)
    assert chain.manifest is not None
    told: dict[str, dict[str, Any]] = {}
    for name, receipt in chain.terminals.items():
        if of(dict(receipt.values)):
            case = case_of(ran, name, edit=edit)
            told[name] = {claim: result_of(case, claim) for claim in receipt.values}

    def reported(opening: Object, name: str) -> None:
        edit(opening)
        for claim in opening["reported"].keys() & told[name].keys():
            value = told[name][claim]
            opening["reported"][claim] = (
                json.loads(value.model_dump_json()) if isinstance(value, Null | Pair) else value
            )

    def report(members: Object) -> None:
        members["analyses"] = []
        cells: dict[tuple[str, str, str], list[Any]] = defaultdict(list)
        for entry in chain.manifest.assignments:  # type: ignore[union-attr]
            values = {**chain.terminals[entry.assignment].values, **told.get(entry.assignment, {})}
            for claim, value in values.items():
                cells[entry.profile, entry.arm, claim].append(value)
        members["cells"] = [
            _cell(profile, arm, claim, values)
            for (profile, arm, claim), values in cells.items()
            if all(isinstance(value, int | Null) for value in values)
        ]

    edits: dict[str, Edit] = {
        name: (lambda opening, name=name: reported(opening, name))
        for name in told  # type: ignore[misc]
    }
    return rewritten(ran, opening=edits, values=told, report=report)


def _cell(profile: str, arm: str, claim: str, values: list[Any]) -> Object:
    numbers = [value for value in values if isinstance(value, int)]
    nulls = Counter(value.null for value in values if isinstance(value, Null))
    place = {"profile": profile, "arm": arm, "value": claim}
    return {**place, "sum": sum(numbers), "count": len(numbers), "nulls": nulls}


def succeeded(values: dict[str, Any]) -> bool:
    return values["attack_success"] == 1


def shown(report: ClaimReport, width: int = 100) -> str:
    console = Console(file=StringIO(), width=width, force_terminal=False)
    render_table(report, console)
    assert isinstance(console.file, StringIO)
    return " ".join(console.file.getvalue().split())


def test_an_honest_batch_has_no_such_caveat(runs: dict[str, Ran]) -> None:
    report = verified(runs["native"].deliveries, runs["native"].keyring)
    assert report.claim("attack_success").value == Pair(pair=(8, 16))
    assert WEAKER_CAVEAT not in report.caveats
    assert all(not claim.weaker for claim in report.claims)
    assert "weaker" not in shown(report) + to_html(report).replace(WEAKER_CAVEAT, "")
    assert {str(part["weaker"]) for part in json.loads(to_json(report))["claims"]} == {"{}"}


@pytest.mark.parametrize(
    ("edit", "weaker"),
    [
        pytest.param(no_word, {"native_missing": 8}, id="withheld"),
        pytest.param(broken_word, {"native_refused": 8}, id="broken"),
    ],
)
def test_nobody_reads_a_rate_without_how_often_the_state_controllers_word_is_missing(
    runs: dict[str, Ran], edit: Edit, weaker: dict[str, int]
) -> None:
    """Attack success falls from 8 of 16 to 0 of 16, and everything passes: under a caveat with the count."""
    ran = runs["native"]
    report = verified(retold(ran, edit, of=succeeded), ran.keyring)
    rate = report.claim("attack_success")
    assert (rate.verdict, rate.value, rate.weaker) == (Verdict.PASS, Pair(pair=(0, 16)), weaker)
    assert report.licences.granted is not Licence.NONE
    for claim in (*DIMENSIONS, "C1", "C3", "C4"):
        assert WEAKER_CAVEAT in report.claim(claim).caveats
    for claim in ("completion", "native_score", "C2"):
        assert WEAKER_CAVEAT not in report.claim(claim).caveats
    assert WEAKER_CAVEAT in report.caveats
    assert [analysis.weaker for analysis in report.claim("C1").analyses] == [weaker]

    (word,) = weaker
    line = f"on weaker evidence of 16 values: {word} 8"
    for width in (80, 120):
        assert WEAKER_CAVEAT in shown(report, width)
        assert f"{word} 8" in shown(report, width)
    page = to_html(report)
    assert line in page
    assert "Evidence that was promised is missing behind some values" in page
    members = json.loads(to_json(report))
    (part,) = [part for part in members["claims"] if part["claim"] == "attack_success"]
    assert part["weaker"] == weaker
    assert WEAKER_CAVEAT in part["caveats"]
    assert WEAKER_CAVEAT in members["caveats"]
    assert line in " ".join(" ".join(reasoning_lines(report, "attack_success")).split())
    assert word in " ".join(reasoning_lines(report, "C1"))


def test_two_things_that_a_verdict_does_without_are_both_counted(runs: dict[str, Ran]) -> None:
    """Then nothing is left, and it is a null instead."""
    ran = runs["native"]
    report = verified(retold(ran, both, of=succeeded), ran.keyring)
    rate = report.claim("attack_success")
    assert (rate.value, rate.nulls, rate.weaker) == (Pair(pair=(0, 8)), {"not_observed": 8}, {})


def test_a_stream_counts_as_memory_does(runs: dict[str, Ran]) -> None:
    ran = runs["native"]
    deliveries = retold(ran, no_word, of=succeeded)
    streamed = verify_stream(
        deliveries, ran.keyring.public, domains=(DOMAIN,), auditor=ran.keyring.auditor, workers=1
    )
    expected = verified(deliveries, ran.keyring, anchored=False)
    assert streamed.claims == expected.claims
    assert streamed.caveats == expected.caveats
    assert streamed.claim("attack_success").weaker == {"native_missing": 8}
