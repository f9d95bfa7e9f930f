"""How a batch may end before its end, and how it goes on: killed, interrupted, refused."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agentbeat_core.commands import eval_batch
from agentbeat_core.receipts import BatchError, ReplayDiffersError
from agentbeat_core.receipts.attempts import INTERRUPTED
from agentbeat_core.refusals import RefusedError
from agentbeat_core.scoring import build_evaluation
from agentbeat_protocol.evaluation import Evaluation
from agentbeat_protocol.models import Ratio
from agentbeat_receipts.bundles import read_bundle
from agentbeat_receipts.keyring_files import create_keyring
from agentbeat_receipts.keys import Keyring
from agentbeat_receipts.objects import Manifest, Pair, Receipt, read_document
from agentbeat_receipts.verification import Verdict
from support.eval_batches import Object, Ran, Stage, batch_run, plan_json, staged, verified
from support.eval_forgeries import chain_of
from support.fakes import FakeController, FakeTarget

#: `agentbeat eval-batch` in a process of its own; interrupted, it ends as the `agentbeat` command does.
COMMAND = """\
import argparse
from agentbeat_core.commands import eval_batch as command
parser = argparse.ArgumentParser()
command.configure(parser)
try:
    raise SystemExit(command.run(parser.parse_args()))
except KeyboardInterrupt:
    raise SystemExit(130) from None
"""


class Place:
    """The files of a batch, and the command that runs it."""

    def __init__(self, folder: Path, stage: Stage, plan: Object) -> None:
        self.folder, self.stage = folder, stage
        self.bundle = folder / "claim"
        stage.keyring = create_keyring(folder / "keys")
        (folder / "plan.json").write_text(json.dumps(plan))
        (folder / "registry.json").write_text(json.dumps(stage.registry_json()))

    def arguments(self, *more: str) -> list[str]:
        """The command line."""
        files = ["plan.json", "--receipts", "keys", "--out", "claim", "--registry", "registry.json"]
        return [str(self.folder / each) if each[0] != "-" else each for each in files] + list(more)

    async def begun(self, *more: str) -> asyncio.subprocess.Process:
        """The command, running."""
        return await asyncio.create_subprocess_exec(
            sys.executable,
            "-c",
            COMMAND,
            *self.arguments(*more),
            env=self.stage.environ,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    async def ended(self, *more: str) -> tuple[int | None, str]:
        """The command's exit code, and what it said."""
        process = await self.begun(*more)
        _, said = await process.communicate()
        return process.returncode, said.decode()


def held_up(target: FakeTarget, *, at: int) -> tuple[asyncio.Event, asyncio.Event]:
    """The Agent's invocation of this number reports and waits; when it has come, and what lets it go on."""
    come, go_on = asyncio.Event(), asyncio.Event()
    act, seen = target.acts, []

    async def acts(invocation: Object) -> None:
        assert act is not None
        seen.append(invocation["run_id"])
        if len(seen) == at:
            come.set()
            await go_on.wait()
        await act(invocation)

    target.acts = acts
    return come, go_on


def receipts_in(bundle: Path) -> list[Receipt]:
    bodies = [read_document(each.content).body for each in read_bundle(bundle)]
    return sorted((b for b in bodies if isinstance(b, Receipt)), key=lambda receipt: receipt.sequence)


# --- Killed, interrupted, terminated ----------------------------------------------------------------------


@pytest.mark.parametrize("retries", [False, True], ids=["listed", "retried"])
async def test_a_killed_batch_verifies_as_far_as_it_goes_and_goes_on(tmp_path: Path, retries: bool) -> None:
    policy = {"max_attempts": 2, "retry_on": [INTERRUPTED] if retries else []}
    async with staged() as stage:
        place = Place(tmp_path, stage, plan_json(replicates=1, retry=policy, contracts=[]))
        come, go_on = held_up(stage.plain, at=3)
        process = await place.begun()
        await asyncio.wait_for(come.wait(), 20)
        process.send_signal(signal.SIGKILL)
        await process.communicate()
        go_on.set()

        # Two cases of two arms have ended, the third was begun.
        assert len(receipts_in(place.bundle)) == 4
        report = verified(read_bundle(place.bundle), stage.keyring)
        assert report.chain.integrity is Verdict.PASS
        assert report.chain.coverage is Verdict.INCONCLUSIVE_COVERAGE
        assert report.claim("C4").verdict is Verdict.INCONCLUSIVE_COVERAGE
        assert report.claim("C2").verdict is Verdict.PASS
        assert report.claim("attack_success").verdict is Verdict.PASS

        code, said = await place.ended("--resume")
    assert code == 0, said
    assert "8 runs (4 before)" in said
    ran = Ran(place.bundle, stage.keyring, None, {})  # type: ignore[arg-type]
    chain = chain_of(ran)
    assert {len(each.attempts) for each in chain.opened.values()} == ({1, 2} if retries else {1})
    attempts = chain.opened["a-00005"].attempts
    assert (attempts[0].status, attempts[0].failure) == ("failed", INTERRUPTED)
    assert attempts[-1].status == ("accepted" if retries else "failed")
    report = verified(read_bundle(place.bundle), stage.keyring, anchored=False)
    assert (report.chain.integrity, report.chain.retries) == (Verdict.PASS, Verdict.PASS)
    assert report.chain.arrived == report.chain.expected == 8
    assert report.claim("C4").verdict is Verdict.PASS
    nulls = {} if retries else {"harness_error": 1}
    assert dict(report.claim("attack_success").nulls) == nulls


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)], ids=["interrupted", "terminated"]
)
async def test_an_interrupted_batch_gives_the_environment_back_and_is_honestly_incomplete(
    tmp_path: Path, number: signal.Signals, code: int
) -> None:
    controller = FakeController()
    async with staged(controller=controller) as stage:
        place = Place(tmp_path, stage, plan_json("L3", replicates=1, contracts=[]))
        come, go_on = held_up(stage.plain, at=2)
        process = await place.begun()
        await asyncio.wait_for(come.wait(), 20)
        assert controller.released is False
        process.send_signal(number)
        await process.communicate()
        go_on.set()
        assert process.returncode == code
        assert controller.released is True
        report = verified(read_bundle(place.bundle), stage.keyring)
        assert report.chain.integrity is Verdict.PASS
        assert report.chain.coverage is Verdict.INCONCLUSIVE_COVERAGE
        assert report.chain.report is not None
        assert report.chain.report.complete is False
        assert {(cell.profile, cell.arm) for cell in report.chain.report.cells} == {
            ("case-desk-1", "plain"),
            ("case-desk-1", "guarded"),
        }
        code_then, _ = await place.ended("--resume")
    assert code_then == 0


async def test_a_closed_batch_has_nothing_more_to_run(tmp_path: Path) -> None:
    async with staged() as stage:
        plan = plan_json(cases=1, replicates=1, contracts=[])
        await batch_run(stage, plan, tmp_path / "claim")
        runs = stage.plain.runs
        with pytest.raises(BatchError, match="closed"):
            await batch_run(stage, plan, tmp_path / "claim", resume=True)
        assert stage.plain.runs == runs


async def test_a_record_that_was_written_before_the_kill_is_what_the_receipt_is_made_of(
    tmp_path: Path,
) -> None:
    """The process died after the run and before the receipt: the run is not made again."""
    async with staged() as stage:
        plan = plan_json(cases=1, replicates=1, contracts=[])
        first = await batch_run(stage, plan, tmp_path / "claim", anchored=False)
        runs = stage.plain.runs
        (first.bundle / "closing-record.json").unlink()
        (first.bundle / "receipts" / "a-00002.json").unlink()
        second = await batch_run(stage, plan, tmp_path / "claim", resume=True, anchored=False)
        assert stage.plain.runs == runs
        assert second.outcome.before == 1
    report = verified(second.deliveries, stage.keyring, anchored=False)
    assert report.chain.arrived == 2
    assert report.claim("guardrail_fidelity").verdict is Verdict.PASS


async def test_what_was_published_is_reported_also_when_the_receipt_is_written_later(tmp_path: Path) -> None:
    async with staged() as stage:
        plan = plan_json(cases=1, replicates=1, contracts=[])
        first = await batch_run(stage, plan, tmp_path / "claim", anchored=False)
        before = chain_of(first).opened["a-00002"].reported
        (first.bundle / "closing-record.json").unlink()
        (first.bundle / "receipts" / "a-00002.json").unlink()
        second = await batch_run(stage, plan, tmp_path / "claim", resume=True, anchored=False)
    assert chain_of(second).opened["a-00002"].reported == before != {}


async def test_a_result_that_its_evidence_does_not_give_is_never_signed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not at once, and not by going on either."""

    def otherwise(**members: Any) -> Evaluation:
        evaluation = build_evaluation(**members)
        coverage = evaluation.evidence.model_copy(update={"coverage": Ratio.of(3, 4)})
        return evaluation.model_copy(update={"evidence": coverage})

    async with staged() as stage:
        plan = plan_json(cases=1, replicates=1, contracts=[])
        with monkeypatch.context() as patched:
            patched.setattr("agentbeat_core.core.build_evaluation", otherwise)
            with pytest.raises(ReplayDiffersError, match="a-00001: channel_coverage"):
                await batch_run(stage, plan, tmp_path / "claim")
        with pytest.raises(ReplayDiffersError, match="a-00001: channel_coverage"):
            await batch_run(stage, plan, tmp_path / "claim", resume=True)
        assert stage.plain.runs == 1
    assert receipts_in(tmp_path / "claim") == []


async def test_a_fault_of_core_after_the_answer_is_a_harness_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(**members: Any) -> Evaluation:
        raise RuntimeError("a fault of Core")

    async with staged() as stage:
        plan = plan_json(cases=1, replicates=1, contracts=[])
        monkeypatch.setattr("agentbeat_core.core.build_evaluation", fails)
        ran = await batch_run(stage, plan, tmp_path / "claim")
    assert ran.outcome.harness_errors == 2
    report = verified(ran.deliveries, stage.keyring)
    assert report.claim("completion").value == Pair(pair=(0, 2))
    assert report.claim("C4").verdict is Verdict.PASS


# --- Refused ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("role", ["manifest_authority", "ingress_authority", "auditor"])
async def test_a_batch_goes_on_with_the_keys_that_it_was_begun_with(tmp_path: Path, role: str) -> None:
    """Also the auditor's: one that could open half of the evidence would find the other half wanting."""
    async with staged() as stage:
        plan = plan_json(cases=1, replicates=1, contracts=[])
        ran = await batch_run(stage, plan, tmp_path / "claim")
        (ran.bundle / "closing-record.json").unlink()
        before = read_bundle(ran.bundle)
        stage.keyring = replace(stage.keyring, **{role: getattr(Keyring.generate(), role)})
        with pytest.raises(BatchError, match="another auditor" if role == "auditor" else "signature_invalid"):
            await batch_run(stage, plan, tmp_path / "claim", resume=True)
        assert read_bundle(ran.bundle) == before


@pytest.mark.parametrize(
    ("changes", "error", "said"),
    [
        ({"arms__0__target_id": "nobody"}, BatchError, "registry"),
        ({"cases__0__case__scenario_id": "another"}, RefusedError, "scenario_not_allowed"),
        ({"scoring_profile__llm_judge_weight": 0.4}, RefusedError, "weights_unsound"),
        ({"scoring_profile__llm_judge_weight": -0.3}, RefusedError, "weights_unsound"),
        ({"contracts__0__levels": ["plain", "nobody"]}, BatchError, "only declared arms"),
        ({"disclosed": ["completion"]}, BatchError, "only declared values"),
    ],
    ids=["no such arm", "scenario", "weights", "a negative weight", "contract", "outcome not disclosed"],
)
async def test_a_batch_that_cannot_be_run_whole_is_not_begun(
    tmp_path: Path, changes: Object, error: type[Exception], said: str
) -> None:
    async with staged() as stage:
        with pytest.raises(error, match=said):
            await batch_run(stage, plan_json(**changes), tmp_path / "claim")
        assert (stage.plain.seen, stage.guarded.seen) == ([], [])


async def test_another_plan_does_not_go_on_with_a_batch(tmp_path: Path) -> None:
    async with staged() as stage:
        ran = await batch_run(stage, plan_json(cases=1, replicates=1, contracts=[]), tmp_path / "claim")
        (ran.bundle / "closing-record.json").unlink()
        before = read_bundle(ran.bundle)
        other = plan_json(cases=1, replicates=1, contracts=[], title="Another")
        with pytest.raises(BatchError, match="its manifest is another"):
            await batch_run(stage, other, ran.bundle, resume=True)
        assert read_bundle(ran.bundle) == before


async def test_a_bundle_that_was_tampered_with_is_not_gone_on_with(tmp_path: Path) -> None:
    async with staged() as stage:
        plan = plan_json(cases=1, replicates=1, contracts=[])
        ran = await batch_run(stage, plan, tmp_path / "claim")
        (ran.bundle / "closing-record.json").unlink()
        receipt = ran.bundle / "receipts" / "a-00001.json"
        receipt.write_text(receipt.read_text().replace('"attack_success":1', '"attack_success":0'))
        with pytest.raises(BatchError, match="signature_invalid"):
            await batch_run(stage, plan, tmp_path / "claim", resume=True)


# --- The command ------------------------------------------------------------------------------------------


def _filled(folder: Path) -> None:
    folder.mkdir()
    (folder / "other").write_text("x")


def run_command(monkeypatch: pytest.MonkeyPatch, place: Place, *more: str) -> int:
    import argparse

    for name, value in place.stage.environ.items():
        monkeypatch.setenv(name, value)
    for name in ("AIBEAT_JUDGE_BASE_URL", "AIBEAT_JUDGE_MODEL"):
        monkeypatch.delenv(name, raising=False)
    parser = argparse.ArgumentParser()
    eval_batch.configure(parser)
    return eval_batch.run(parser.parse_args(place.arguments(*more)))


async def test_the_manifest_can_be_signed_first_and_anchored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    async with staged() as stage:
        place = Place(tmp_path, stage, plan_json(cases=1, replicates=1, contracts=[]))
        code = await asyncio.to_thread(run_command, monkeypatch, place, "--manifest-only")
        digest = capsys.readouterr().out.strip()
        (body,) = [read_document(each.content).body for each in read_bundle(place.bundle)]
        assert isinstance(body, Manifest)
        assert (code, digest) == (0, body.digest())
        assert stage.plain.seen == []
        code = await asyncio.to_thread(
            run_command, monkeypatch, place, "--resume", "--results", str(tmp_path / "results")
        )
        assert code == 0
        assert "2 runs, 0 harness errors" in capsys.readouterr().err
    results = sorted((tmp_path / "results").iterdir())
    assert [path.name for path in results] == ["a-00001-1.json", "a-00002-1.json"]
    assert json.loads(results[0].read_text())["eval_run"]["status"] == "completed"


@pytest.mark.parametrize(
    ("break_it", "said"),
    [
        (lambda folder: (folder / "plan.json").unlink(), "plan: "),
        (lambda folder: (folder / "plan.json").write_text("{}"), "S-REQUIRED"),
        (lambda folder: (folder / "keys" / "ingress_authority.key").unlink(), "no ingress_authority.key"),
        (lambda folder: (folder / "keys").chmod(0o755), "lets others in"),
        (lambda folder: (folder / "registry.json").unlink(), "registry_unreadable"),
        (lambda folder: _filled(folder / "claim"), "there already"),
    ],
    ids=["no plan", "another plan", "no key", "open keys", "no registry", "bundle is there"],
)
async def test_the_command_refuses_in_one_line_and_leaves_nothing_behind(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    break_it: Callable[[Path], Any],
    said: str,
) -> None:
    async with staged() as stage:
        place = Place(tmp_path, stage, plan_json(cases=1, replicates=1, contracts=[]))
        break_it(tmp_path)
        before = sorted(path.name for path in tmp_path.iterdir())
        assert await asyncio.to_thread(run_command, monkeypatch, place) == 2
        captured = capsys.readouterr()
        assert said in captured.err
        assert captured.err.startswith("agentbeat eval-batch: refused: ")
        assert captured.err.count("\n") == 1
        assert sorted(path.name for path in tmp_path.iterdir()) == before
        assert stage.plain.seen == []


async def test_the_operator_does_not_need_the_auditors_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with staged() as stage:
        place = Place(tmp_path, stage, plan_json(cases=1, replicates=1, contracts=[]))
        (tmp_path / "keys" / "auditor.key").unlink()
        assert await asyncio.to_thread(run_command, monkeypatch, place) == 0
    report = verified(read_bundle(place.bundle), stage.keyring, anchored=False)
    assert report.claim("attack_success").verdict is Verdict.PASS


async def test_a_secret_in_the_evidence_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Evidence is kept byte for byte, so it is encrypted; who runs the batch is told."""
    async with staged() as stage:
        stage.plain.reply = lambda reply: reply | {"metadata": {"echo": stage.environ["DESK_SECRET"]}}
        place = Place(tmp_path, stage, plan_json(cases=1, replicates=1, contracts=[]))
        assert await asyncio.to_thread(run_command, monkeypatch, place) == 0
        assert "1 attempts have a secret" in capsys.readouterr().err
    secret = stage.environ["DESK_SECRET"].encode()
    assert not any(secret in each.content for each in read_bundle(place.bundle))
