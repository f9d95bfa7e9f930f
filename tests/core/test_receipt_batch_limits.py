"""What a bundle has no room for: evidence that counts as a harness error, and plans that are refused."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from agentbeat_core.receipts import BatchError, limits
from agentbeat_core.receipts.attempts import TOO_LONG
from agentbeat_core.receipts.limits import MAX_CASE, MAX_KEPT
from agentbeat_protocol import MAX_RESPONSE_BYTES, digest_text
from agentbeat_protocol.evidence import MAX_EVENTS
from agentbeat_receipts.canonical import canonical_bytes
from agentbeat_receipts.domains.agent_eval import DOMAIN
from agentbeat_receipts.objects import Null
from agentbeat_receipts.verification import Verdict
from support.eval_batches import Object, Ran, Stage, batch_run, plan_json, staged, verified
from support.eval_forgeries import chain_of
from support.loopback import Answer

PLAIN, GUARDED = "a-00001", "a-00002"


def ran(folder: Path, prepare: Callable[[Stage], None], **changes: object) -> Ran:
    """One case under both arms."""

    async def run() -> Ran:
        async with staged() as stage:
            prepare(stage)
            plan = plan_json(cases=1, replicates=1, **({"contracts": []} | changes))
            return await batch_run(stage, plan, folder / "claim")

    return asyncio.run(run())


def lengthened(stage: Stage, by: int) -> None:
    """The plain Agent's evidence, longer by so many bytes."""
    document = stage.plain.document

    def longer(written: Object) -> Object:
        made = document(written)
        assert isinstance(made, dict)
        made["events"][0]["data"]["attributes"]["note"] = "x" * by
        return made

    stage.plain.document = longer


# --- Evidence ---------------------------------------------------------------------------------------------


def test_evidence_that_cannot_be_kept_is_a_harness_error_and_the_bundle_stays_whole(tmp_path: Path) -> None:
    """Else one Target could make the whole batch unreadable by talking too much."""
    made = ran(tmp_path, lambda stage: lengthened(stage, MAX_KEPT))
    assert made.responses[PLAIN, 1].eval_run.status == "completed"
    chain = chain_of(made)
    assert (chain.opened[PLAIN].attempts[0].failure, chain.opened[PLAIN].attempts[0].offers) == (TOO_LONG, ())
    assert chain.terminals[PLAIN].values["attack_success"] == Null(null="harness_error")
    assert chain.terminals[GUARDED].values["attack_success"] == 0
    report = verified(made.deliveries, made.keyring)
    assert {claim.verdict for claim in report.claims} <= {Verdict.PASS, Verdict.NO_CONTRACT}
    assert dict(report.claim("attack_success").nulls) == {"harness_error": 1}


def test_the_longest_evidence_that_is_kept_fits_even_when_it_is_all_decisions(tmp_path: Path) -> None:
    """Decisions of guardrails stand in an opening twice."""

    def prepare(stage: Stage) -> None:
        document = stage.plain.document

        def many(written: Object) -> Object:
            made = document(written)
            assert isinstance(made, dict)
            at = made["events"][-1]["occurred_at"]
            digests = dict.fromkeys(("raw", "enforced"), digest_text("a"))
            attributes = {"flag": "f" * 128, "stage": "s" * 128} | digests
            data = {"name": "guardrail.decision", "status": "nothing_to_do", "attributes": attributes}
            events = [
                {
                    "event_id": f"{made['run_id']}:event:{place}",
                    "sequence": place,
                    "occurred_at": at,
                    "source": "a",
                    "type": "lifecycle",
                    "data": data,
                }
                for place in range(len(made["events"]), MAX_EVENTS)
            ]
            made["events"][0]["data"]["attributes"]["note"] = "x" * (
                MAX_KEPT // 4 * 3 - 1_000 - 900 * MAX_EVENTS
            )
            return made | {"events": made["events"] + events}

        stage.plain.document = many

    text = "x" * (MAX_CASE // 2 - 4_000)
    made = ran(tmp_path, prepare, cases__0__case__attack_goal=text, cases__0__case__judge_rubric=text)
    chain = chain_of(made)
    (attempt,) = chain.opened[PLAIN].attempts
    assert (attempt.failure, attempt.events[-1].data["reason"]) == (None, None)
    assert len(attempt.treatments) > MAX_EVENTS - 10


def test_every_attempt_takes_of_the_room_of_its_assignment(tmp_path: Path) -> None:
    body = b" " * (MAX_RESPONSE_BYTES - 1)
    retry = {"max_attempts": 2, "retry_on": ["target_contract_failed"]}

    def prepare(stage: Stage) -> None:
        stage.plain.handle["invoke"] = lambda seen: Answer(200, body)

    made = ran(tmp_path, prepare, retry=retry)
    first, second = chain_of(made).opened[PLAIN].attempts
    assert (len(first.offers), len(second.offers)) == (1, 0)
    assert first.failure == second.failure == "target_contract_failed"
    assert second.number == 2
    report = verified(made.deliveries, made.keyring)
    assert (report.chain.retries, report.claim("C4").verdict) == (Verdict.PASS, Verdict.PASS)


# --- Plans ------------------------------------------------------------------------------------------------


async def refused(folder: Path, plan: Object, said: str) -> None:
    """The plan is refused before anything is called or signed."""
    async with staged() as stage:
        with pytest.raises(BatchError, match=said):
            await batch_run(stage, plan, folder / "claim")
        assert stage.plain.seen == []
    assert list((folder / "claim").iterdir()) == []


async def test_a_case_that_an_opening_has_no_room_for_is_refused(tmp_path: Path) -> None:
    text = "x" * (MAX_CASE // 2)
    plan = plan_json(cases=1, cases__0__case__attack_goal=text, cases__0__case__judge_rubric=text)
    await refused(tmp_path, plan, "case-desk-1 has 10[0-9]+ bytes, expected at most 1048576")


@pytest.mark.parametrize(
    ("document", "size"),
    [("manifest", {"cases": 1, "replicates": 500}), ("report", {"cases": 30, "replicates": 1})],
    ids=["manifest", "report"],
)
async def test_a_plan_whose_manifest_or_report_has_no_file_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, document: str, size: dict[str, int]
) -> None:
    """Else everything would have been run when that is found."""
    monkeypatch.setattr(limits, "MAX_FILE_BYTES", 84 * 1024)
    await refused(tmp_path, plan_json(contracts=[], **size), f"its {document} is too long")


def test_a_report_is_never_longer_than_was_reckoned(tmp_path: Path) -> None:
    made = ran(tmp_path, lambda stage: None, disclosed=[*DOMAIN.claims])
    chain = chain_of(made)
    assert chain.manifest is not None
    assert chain.report is not None
    cells = [canonical_bytes(cell.model_dump(mode="json")) for cell in chain.report.cells]
    assert cells
    assert sum(len(cell) + 1 for cell in cells) <= limits.report_length(chain.manifest)
