"""`agentbeat claims verify` on a bundle of many files: read as a stream, with the same result."""

from __future__ import annotations

import json
import multiprocessing
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agentbeat_receipts import StreamError, streams
from agentbeat_receipts.commands import stream_progress, verifying
from agentbeat_receipts.streams import Progress
from support.claim_batches import Making, batch
from support.claim_commands import auditor_file, bundle, claims, public_file, retrospective
from support.kiosk import KIOSK

PLAIN = Making(manifest=retrospective())
FIRST = "v-1.free.1"


@pytest.fixture(autouse=True)
def _toy_domain(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agentbeat_receipts.domains.known_domains", lambda: {KIOSK.name: KIOSK})


@pytest.fixture
def streamed(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """Every bundle counts as long; what each stream was asked for."""
    asked: list[dict[str, Any]] = []
    real: Callable[..., Any] = streams.verify_stream

    def noted(*given: Any, **options: Any) -> Any:
        asked.append(options)
        return real(*given, **options)

    monkeypatch.setattr(verifying, "MANY", 3)
    monkeypatch.setattr(streams, "verify_stream", noted)
    return asked


def _arguments(folder: Path, source: Path) -> tuple[object, ...]:
    return (source, "--keyring", public_file(folder), "--auditor-key", auditor_file(folder))


@pytest.mark.parametrize("name", ["claim", "claim.tar"])
def test_a_long_bundle_gets_the_table_and_reports_of_a_short_one(
    tmp_path: Path, name: str, request: pytest.FixtureRequest
) -> None:
    made = batch(PLAIN).without("receipts", FIRST)
    arguments = _arguments(tmp_path, bundle(tmp_path, made, name))
    expected, as_json = claims("verify", *arguments), claims("verify", *arguments, "--json", "-")
    asked = request.getfixturevalue("streamed")
    page = tmp_path / "page.html"
    assert claims("verify", *arguments, "--workers", 1, "--html", page) == expected
    assert expected.code == 3
    assert json.loads(claims("verify", *arguments, "--workers", 2, "--json", "-").out) == json.loads(
        as_json.out
    )
    assert [options["workers"] for options in asked] == [1, 2]
    assert FIRST in page.read_text()
    assert not multiprocessing.active_children()


def test_without_a_number_of_workers_every_cpu_is_used(
    tmp_path: Path, streamed: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agentbeat_receipts.streams.verifying.usable_cores", lambda: 1)
    assert claims("verify", *_arguments(tmp_path, bundle(tmp_path, batch(PLAIN)))).code == 0
    assert [options["workers"] for options in streamed] == [None]


def test_a_bundle_of_few_files_and_many_bytes_is_read_as_a_stream(
    tmp_path: Path, streamed: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    source = bundle(tmp_path, batch(PLAIN))
    monkeypatch.setattr(verifying, "MANY", 2_000)
    assert claims("verify", *_arguments(tmp_path, source)).code == 0
    assert not streamed
    monkeypatch.setattr(verifying, "LARGE", 1_000)
    assert claims("verify", *_arguments(tmp_path, source), "--workers", 1).code == 0
    assert len(streamed) == 1


def test_a_claim_of_a_long_bundle_is_explained(tmp_path: Path, streamed: list[dict[str, Any]]) -> None:
    source, *options = _arguments(tmp_path, bundle(tmp_path, batch(PLAIN)))
    ran = claims("explain", source, "C2", *options, "--workers", 1)
    assert (ran.code, ran.err) == (0, "")
    assert len(streamed) == 1


@pytest.mark.parametrize("number", ["0", "-1", "two", "1.5", "1000", ""])
def test_what_is_no_number_of_workers_is_refused(tmp_path: Path, number: str) -> None:
    ran = claims("verify", tmp_path, "--keyring", tmp_path, f"--workers={number}")
    assert ran.code == 2
    assert "expected a number from 1 to 999" in ran.err


def test_a_stream_that_breaks_off_gets_no_verdict(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any, **__: Any) -> None:
        raise StreamError("the deliveries changed from one reading to the next")

    arguments = _arguments(tmp_path, bundle(tmp_path, batch(PLAIN)))
    monkeypatch.setattr(verifying, "MANY", 3)
    monkeypatch.setattr(streams, "verify_stream", broken)
    ran = claims("verify", *arguments)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err == "agentbeat claims verify: the deliveries changed from one reading to the next\n"


class _Terminal:
    """A standard error that is a terminal."""

    def __init__(self) -> None:
        self.text = ""

    def write(self, text: str) -> int:
        self.text += text
        return len(text)

    def flush(self) -> None:
        """Nothing is held back."""

    def isatty(self) -> bool:
        return True


def test_on_a_terminal_a_line_says_how_far_it_is_when_it_takes_long(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = _Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    with stream_progress.stream_progress() as told:
        told(Progress("sighted", 128))
    assert terminal.text == ""
    monkeypatch.setattr(stream_progress, "PATIENCE", 0.0)

    def interrupted() -> None:
        with stream_progress.stream_progress() as told:
            told(Progress("sighted", 12_800))
            told(Progress("opened", 1_280))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert "reading: 12,800 files" in terminal.text
    assert "opening: 1,280 envelopes" in terminal.text
    assert terminal.text.endswith("\x1b[2K")  # the line is wiped out, also by an interrupt


def test_nothing_is_said_where_there_is_no_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stream_progress, "PATIENCE", 0.0)
    with stream_progress.stream_progress() as told:
        told(Progress("sighted", 128))
    assert capsys.readouterr() == ("", "")
