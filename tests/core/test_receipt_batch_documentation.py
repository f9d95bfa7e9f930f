"""`docs/claim-campaigns.md`: what it says to type works as it stands, and its tables name what there is."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from agentbeat_core.demo.supervision import free_ports
from agentbeat_core.receipts import read_batch_plan
from agentbeat_protocol.evaluation import read_registry
from agentbeat_receipts.anchors import AnchorTrust
from agentbeat_receipts.bundles import read_bundle
from agentbeat_receipts.claims import Licence
from agentbeat_receipts.claims.verifier import verify
from agentbeat_receipts.domains.agent_eval import DOMAIN
from agentbeat_receipts.held_keys import load_held_keys
from support.time_stamping import openssl

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "claim-campaigns.md").read_text()
BLOCKS = re.findall(r"^```sh\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
PORTS = ("8811", "8812", "8813")

#: The `agentbeat` command, also where the sub-command is not installed yet.
AGENTBEAT = """\
#!{python}
import argparse, sys
from agentbeat_core import cli
from agentbeat_core.commands import eval_batch
if sys.argv[1] != "eval-batch":
    raise SystemExit(cli.main())
parser = argparse.ArgumentParser()
eval_batch.configure(parser)
raise SystemExit(eval_batch.run(parser.parse_args(sys.argv[2:])))
"""


class Terminal:
    """A folder with the examples, and shells in it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "examples").symlink_to(ROOT / "examples")
        (folder / "bin").mkdir()
        for name, text in (
            ("agentbeat", AGENTBEAT.format(python=sys.executable)),
            ("python", f'#!/bin/sh\nexec {sys.executable} "$@"\n'),
        ):
            (folder / "bin" / name).write_text(text)
            (folder / "bin" / name).chmod(0o755)
        self.ports = dict(zip(PORTS, map(str, free_ports(len(PORTS))), strict=True))
        kept = {name: value for name, value in os.environ.items() if not name.startswith("AIBEAT_")}
        self.environ = kept | {"PATH": f"{folder / 'bin'}:{os.environ['PATH']}"}
        self.servers: list[subprocess.Popen[bytes]] = []

    def script(self, block: str) -> str:
        """A block with this terminal's ports."""
        for port, own in self.ports.items():
            block = block.replace(port, own)
        return f"set -euo pipefail\n{block}"

    def serve(self, block: str, port: str) -> None:
        """Start a server, and wait for it."""
        command = ["bash", "-c", self.script(block)]
        with (self.folder / f"{port}.log").open("wb") as log:
            server = subprocess.Popen(
                command, cwd=self.folder, env=self.environ, stdout=log, stderr=log, start_new_session=True
            )
        self.servers.append(server)
        deadline = time.monotonic() + 30
        while not _listens(int(self.ports[port])):
            assert server.poll() is None, (self.folder / f"{port}.log").read_text()
            assert time.monotonic() < deadline
            time.sleep(0.02)

    def type(self, block: str) -> str:
        """Run a block; what it printed."""
        ended = subprocess.run(
            ["bash", "-c", self.script(block)],
            cwd=self.folder,
            env=self.environ,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert ended.returncode == 0, ended.stdout + ended.stderr
        return ended.stdout

    def stop(self) -> None:
        """End the servers."""
        for server in self.servers:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(server.pid, signal.SIGTERM)
            server.wait(15)


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Terminal]:
    found = Terminal(tmp_path)
    try:
        yield found
    finally:
        found.stop()


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def test_the_page_works_as_it_stands(terminal: Terminal) -> None:
    plain, filtered, batch, stamping, anchored, withheld = BLOCKS
    terminal.serve(plain, "8811")
    terminal.serve(filtered, "8812")
    openssl("version")
    terminal.serve(stamping, "8813")
    environment = "\n".join(line for line in batch.splitlines() if line.startswith("export "))
    printed = terminal.type(batch)
    assert "coverage INCONCLUSIVE_COVERAGE" in printed
    assert "licence: descriptive" in printed
    printed = terminal.type(f"{environment}\n{anchored}")
    assert "level CR-3" in printed
    assert "licence: causal" in printed
    first, second = terminal.type(withheld).split("domain agent_eval")[1:]
    assert "coverage INCONCLUSIVE_COVERAGE" in first
    assert "coverage Pass" in second
    keys = load_held_keys(terminal.folder / "keys")
    report = verify(
        read_bundle(terminal.folder / "anchored"),
        keys.public,
        domains=[DOMAIN],
        trust=AnchorTrust.read(roots=(terminal.folder / "tsa.pem").read_bytes()),
        auditor=keys.auditor,
    )
    assert report.licences.granted is Licence.CAUSAL


def test_the_tables_name_every_claim_and_group() -> None:
    rows = re.findall(r"^\| (`.+?`) \| .+? \| .+? \|$", TEXT, re.MULTILINE)
    assert re.findall(r"`(\w+)`", " ".join(rows)) == list(DOMAIN.claims)
    groups = set("".join(re.findall(r"^\| ([A-Z](?:, [A-Z])*) \|", TEXT, re.MULTILINE)).replace(", ", ""))
    assert groups == {str(group) for claim in DOMAIN.claims for group in DOMAIN.needs[claim]}


def test_the_example_is_a_plan_over_its_registry() -> None:
    plan = read_batch_plan((ROOT / "examples/claims/plan.json").read_bytes())
    registry = read_registry((ROOT / "examples/claims/registry.json").read_bytes())
    assert all(registry.deployment(arm.target_id, arm.deployment_profile_id) for arm in plan.arms)
    assert len(plan.cases) == 4
