"""The two folders of a batch and its journal: what is kept where, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agentbeat_core.receipts import BatchError, BatchStore
from agentbeat_core.receipts.attempts import Ended, interrupted
from agentbeat_core.receipts.journals import Journal
from agentbeat_receipts.bundles import read_bundle
from agentbeat_receipts.domains.agent_eval.records import AttemptRecord
from agentbeat_receipts.objects import Document, Envelope
from support.eval_batches import batch_run, plan_json, staged

# --- The folders ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("prepare", "resume", "said"),
    [
        (lambda folder: (folder / "claim").mkdir(), True, "no batch was begun"),
        (lambda folder: (folder / "claim").write_text("x"), False, "there already"),
        (lambda folder: _filled(folder / "claim"), False, "there already"),
        (lambda folder: _filled(folder / "claim.private"), False, "there already"),
        (lambda folder: _open_to_others(folder), True, "lets others in"),
    ],
    ids=["nothing to resume", "a file", "a full folder", "a full private folder", "open to others"],
)
def test_folders_that_do_not_fit_are_refused(
    tmp_path: Path, prepare: Callable[[Path], Any], resume: bool, said: str
) -> None:
    prepare(tmp_path)
    with pytest.raises(BatchError, match=said):
        BatchStore(tmp_path / "claim", resume=resume)


def test_a_batch_that_was_killed_before_it_had_a_salt_is_begun_anew(tmp_path: Path) -> None:
    with BatchStore(tmp_path / "claim", resume=False) as store:
        salt = store.private / "salt"
        assert salt.stat().st_mode & 0o777 == 0o600
        salt.unlink()
    with pytest.raises(BatchError, match="no batch was begun"):
        BatchStore(tmp_path / "claim", resume=True)
    BatchStore(tmp_path / "claim", resume=False).close()


@pytest.mark.parametrize(
    "content", [b"", b"xyz", b"\xff", b"00" * 31], ids=["none", "no hex", "no text", "short"]
)
def test_a_salt_of_another_kind_is_refused_and_the_batch_not_held(tmp_path: Path, content: bytes) -> None:
    BatchStore(tmp_path / "claim", resume=False).close()
    salt = tmp_path / "claim.private" / "salt"
    honest = salt.read_bytes()
    salt.write_bytes(content)
    with pytest.raises(BatchError, match="32 bytes in hex"):
        BatchStore(tmp_path / "claim", resume=True)
    salt.write_bytes(honest)
    BatchStore(tmp_path / "claim", resume=True).close()


async def test_a_bundle_that_lost_its_first_file_is_no_new_one(tmp_path: Path) -> None:
    async with staged() as stage:
        plan = plan_json(cases=1, replicates=1, contracts=[])
        ran = await batch_run(stage, plan, tmp_path / "claim", anchored=False)
        before = read_bundle(ran.bundle)
        first = ran.bundle / "bundle.json"
        content = first.read_bytes()
        first.unlink()
        with pytest.raises(BatchError, match=r"no bundle\.json"):
            await batch_run(stage, plan, tmp_path / "claim", resume=True, anchored=False)
        first.write_bytes(content)
    assert read_bundle(ran.bundle) == before


async def test_evidence_that_a_receipt_cites_is_not_written_anew(tmp_path: Path) -> None:
    async with staged() as stage:
        ran = await batch_run(stage, plan_json(cases=1, replicates=1, contracts=[]), tmp_path / "claim")
    envelope = ran.bundle / "envelopes" / "a-00001.json"
    other = Document(body=Envelope(manifest="sha256:" + "0" * 64, assignment="a-00001", envelope=""))
    with BatchStore(ran.bundle, resume=True) as store:
        with pytest.raises(BatchError, match="nothing is overwritten"):
            store.add(other)
        (ran.bundle / "receipts" / "a-00001.json").unlink()
        before = envelope.read_bytes()
        store.add(other)
    assert envelope.read_bytes() != before


def _filled(folder: Path) -> None:
    folder.mkdir()
    (folder / "other").write_text("x")


def _open_to_others(folder: Path) -> None:
    BatchStore(folder / "claim", resume=False).close()
    (folder / "claim.private").chmod(0o755)


def test_two_processes_do_not_work_on_one_batch(tmp_path: Path) -> None:
    with (
        BatchStore(tmp_path / "claim", resume=False),
        pytest.raises(BatchError, match="another process"),
    ):
        BatchStore(tmp_path / "claim", resume=True)
    with BatchStore(tmp_path / "claim", resume=True) as store:
        assert store.private.stat().st_mode & 0o077 == 0


# --- The journal ------------------------------------------------------------------------------------------


def test_the_journal_remembers_what_was_begun_and_what_has_ended(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    ended = Ended(record=AttemptRecord(failure="target_unreachable"), published={"completion": 0})
    with Journal(path) as journal:
        journal.started("a-1", 1)
        journal.ended("a-1", 1, ended)
        journal.started("a-1", 2)
    with Journal(path) as journal:
        assert journal.attempts("a-1") == [ended, interrupted()]
        assert journal.attempts("a-2") == []
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_line_that_was_cut_off_is_as_if_not_written(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    ended = Ended(record=AttemptRecord(failure="target_timeout"), published={"completion": 0})
    with Journal(path) as journal:
        journal.started("a-1", 1)
        journal.ended("a-1", 1, ended)
    whole = path.read_bytes()
    path.write_bytes(whole[:-20])
    with Journal(path) as journal:
        assert journal.attempts("a-1") == [interrupted()]
        journal.ended("a-1", 1, ended)
        assert journal.attempts("a-1") == [ended]
    assert path.read_bytes() == whole


@pytest.mark.parametrize(
    "lines",
    [
        b"no JSON\n",
        b'{"assignment":"a-1","attempt":2,"event":"started"}\n',
        b'{"assignment":"a-1","attempt":1,"event":"ended"}\n',
    ],
    ids=["no JSON", "a gap", "an end without a record"],
)
def test_a_journal_of_another_kind_is_refused(tmp_path: Path, lines: bytes) -> None:
    (tmp_path / "journal").write_bytes(lines)
    with pytest.raises(BatchError):
        Journal(tmp_path / "journal")
