"""The reference State Controller under the suite: in process on two environments, and as a real process."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shlex
import signal
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pytest

from agentbeat_conformance import command
from agentbeat_conformance.judging import judge
from agentbeat_conformance.outcomes import ExitCode, Verdict
from agentbeat_conformance.requirements import Capability
from agentbeat_conformance.transcripts import read_transcript
from agentbeat_conformance.wires import AsgiWire
from agentbeat_controller import ControllerLimits
from agentbeat_controller.environments.desk import DeskEnvironment
from support.controller_suites import CATALOGUE, controller_run, ends
from support.controllers import CONTROL_SECRET, SIGNER, Rig, rig_in
from support.loopback import free_port

DEPLOYMENT = "deployment-a"
EXPIRY = "not_applicable: leases do not end within seconds"


class Reference:
    """The reference Controller in process, that can be restarted and written to."""

    def __init__(self, rig, path, body):
        self.rig = rig
        self._path, self._body = path, body

    async def app(self, scope, receive, send):
        await self.rig.control_app(scope, receive, send)

    async def restart(self):
        self.rig = self.rig.restart()

    async def write(self, canary, run_id):
        async with self.rig.business(DEPLOYMENT, run_id) as tools:
            answer = await tools.post(self._path, json=self._body(canary))
        return answer.is_success

    async def pause(self, seconds):
        self.rig.clock.advance(seconds)

    async def judged(self, **options):
        """The run of the whole suite against it."""
        told = {"restart": self.restart, "write": self.write, "pause": self.pause} | options
        async with AsgiWire(self.app) as wire:
            return await controller_run(
                wire, secret=CONTROL_SECRET, deployment=DEPLOYMENT, verify_key=SIGNER.verify_key, **told
            )


@pytest.fixture
def on_ledger(tmp_path):
    """On the smallest environment; its leases end within seconds of a clock that the test moves."""
    with rig_in(tmp_path, limits=ControllerLimits(lease_seconds=4)) as rig:
        reference = Reference(rig, "/entries", lambda canary: {"name": canary, "amount": 1})
        yield reference
        reference.rig.close()


@pytest.fixture
def on_desk(tmp_path):
    """On the support desk."""
    with rig_in(tmp_path, environment=DeskEnvironment()) as rig:
        reference = Reference(rig, "/v1/tickets/TCK-2/replies", lambda canary: {"body": canary})
        yield reference
        reference.rig.close()


async def test_the_reference_controller_passes_every_check(on_ledger):
    run = await on_ledger.judged()
    assert (run.verdict, ends(run)) == (Verdict.CONFORMANT, {})


async def test_it_passes_on_the_support_desk(on_desk):
    run = await on_desk.judged()
    assert run.verdict is Verdict.CONFORMANT
    assert ends(run) == {made.id: EXPIRY for made in CATALOGUE.values() if Capability.EXPIRY in made.needs}


async def test_it_passes_on_postgresql(postgres_url):
    """Every rule that is seen from outside, as on SQLite."""
    with contextlib.closing(Rig(postgres_url, limits=ControllerLimits(lease_seconds=4))) as rig:
        reference = Reference(rig, "/entries", lambda canary: {"name": canary, "amount": 1})
        run = await reference.judged()
        reference.rig.close()
    assert (run.verdict, ends(run)) == (Verdict.CONFORMANT, {})


@pytest.mark.parametrize("mode", ["deployment_static", "catalog"])
async def test_it_passes_in_either_mode_alone(on_ledger, mode):
    run = await on_ledger.judged(binding_mode=mode)
    assert run.verdict is Verdict.CONFORMANT


async def test_it_passes_without_a_key_when_its_receipts_are_unsigned(tmp_path):
    with rig_in(tmp_path, signer=None) as rig:
        reference = Reference(rig, "/entries", lambda canary: {"name": canary, "amount": 1})
        async with AsgiWire(reference.app) as wire:
            run = await controller_run(
                wire, secret=CONTROL_SECRET, deployment=DEPLOYMENT, write=reference.write
            )
    assert run.verdict is Verdict.CONFORMANT


# As a real process, by the commands that a user would give

WRITE = """
import json, os, sys, urllib.error, urllib.request
ready = json.load(open(sys.argv[1]))["business"]
request = urllib.request.Request(
    ready["url"] + "/v1/tickets/TCK-2/replies",
    data=json.dumps({"body": os.environ["AGENTBEAT_CANARY"]}).encode(),
    headers={
        "Authorization": "Bearer " + open(ready["deployments"]["deployment-desk"]["secret_file"]).read(),
        "Content-Type": "application/json",
        "X-AIBeat-Run-ID": os.environ["AGENTBEAT_RUN_ID"],
    },
)
try:
    urllib.request.urlopen(request, timeout=20)
except urllib.error.HTTPError:
    sys.exit(1)
"""

START = """
set -e
cd {folder}
if [ -f pid ]; then
  kill -9 $(cat pid)
  while kill -0 $(cat pid) 2>/dev/null; do sleep 0.02; done
fi
rm -f ready.json
{python} -m agentbeat_controller serve --home home --ready-file ready.json \\
  --control-port {control} --business-port {business} >>log 2>&1 </dev/null &
echo $! >pid
while [ ! -f ready.json ]; do kill -0 $(cat pid); sleep 0.02; done
"""


@dataclass(frozen=True)
class Process:
    """`agentbeat controller serve` as a user runs it, with the commands for the suite beside it."""

    folder: Path

    @property
    def ready(self):
        return json.loads((self.folder / "ready.json").read_text())

    @property
    def restart_command(self):
        return f"sh {self.folder / 'start.sh'}"

    @property
    def write_command(self):
        return shlex.join([sys.executable, str(self.folder / "write.py"), str(self.folder / "ready.json")])


@pytest.fixture
def process(tmp_path):
    script = START.format(folder=tmp_path, python=sys.executable, control=free_port(), business=free_port())
    (tmp_path / "start.sh").write_text(script)
    (tmp_path / "write.py").write_text(WRITE)
    try:
        subprocess.run(["sh", str(tmp_path / "start.sh")], check=True, timeout=60)
        yield Process(tmp_path)
    finally:
        if (tmp_path / "pid").exists():
            os.kill(int((tmp_path / "pid").read_text()), signal.SIGKILL)


def judged(process, *options, monkeypatch, folder):
    """The exit code of `agentbeat conformance controller`, and its report."""
    ready = process.ready
    monkeypatch.setenv("CONTROL_SECRET", Path(ready["control"]["secret_file"]).read_text())
    parser = argparse.ArgumentParser()
    command.configure(parser)
    arguments = ["controller", ready["control"]["url"], "--deployment", "deployment-desk"]
    arguments += ["--token-env", "CONTROL_SECRET", "--json", str(folder / "report.json"), *options]
    code = command.run(parser.parse_args(arguments))
    return code, json.loads((folder / "report.json").read_text())


def test_a_real_process_is_conformant_with_a_write_and_a_restart_command(process, monkeypatch, tmp_path):
    code, report = judged(
        process,
        *("--write-command", process.write_command),
        *("--restart-command", process.restart_command),
        f"--verify-key={process.ready['verify_key']}",
        *("--transcript", str(tmp_path / "transcript.jsonl")),
        monkeypatch=monkeypatch,
        folder=tmp_path,
    )
    assert (code, report["verdict"]) == (ExitCode.CONFORMANT, "conformant")
    outcomes = Counter(result["outcome"] for result in report["results"])
    left_out = {made.id for made in CATALOGUE.values() if Capability.EXPIRY in made.needs}
    assert outcomes == {"pass": len(CATALOGUE) - len(left_out), "not_applicable": len(left_out)}
    transcript = (tmp_path / "transcript.jsonl").read_bytes()
    assert Path(process.ready["control"]["secret_file"]).read_bytes() not in transcript
    assert ends(judge(read_transcript(transcript))) == dict.fromkeys(left_out, EXPIRY)


def test_without_a_write_command_a_real_process_is_incomplete(process, monkeypatch, tmp_path):
    code, report = judged(process, "--only", "CTL-12", monkeypatch=monkeypatch, folder=tmp_path)
    assert (code, report["verdict"]) == (ExitCode.NOTHING_TESTED, "nothing_tested")
    code, report = judged(process, "--only", "CTL-4", monkeypatch=monkeypatch, folder=tmp_path)
    assert (code, report["verdict"]) == (ExitCode.INCOMPLETE, "incomplete")
