"""State Controllers under test: a control plane with its door, in this process or as a process of its own."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

import httpx
from sqlalchemy import event, inspect

from agentbeat_controller import (
    ControlApp,
    ControllerLimits,
    ControlPlane,
    Door,
    ReceiptSigner,
    Transactions,
    open_engine,
)
from agentbeat_controller.front import guarded
from agentbeat_controller.timekeeping import NANOSECONDS, Timekeeper
from agentbeat_protocol import RUN_ID_HEADER, Instant, ResetRequest, digest
from agentbeat_protocol.models import validated
from support.ledger import PROFILES, Ledger

CONTROL_SECRET = "control-secret-of-the-tests-0123456789"
DEPLOYMENTS = ("deployment-a", "deployment-b")
BUSINESS_SECRETS = {name: f"business-secret-of-{name}-0123456789" for name in DEPLOYMENTS}
NONCE = "0123456789abcdef0123456789abcdef"
SIGNER = ReceiptSigner.generate()


class Clock:
    """A clock that the test sets; the monotonic one only moves with `advance`."""

    def __init__(self, text="2026-03-01T10:00:00Z"):
        self.system = Instant.parse(text).unix_nanoseconds
        self.monotonic = 0

    def advance(self, seconds):
        """Time goes by."""
        self.system += int(seconds * NANOSECONDS)
        self.monotonic += int(seconds * NANOSECONDS)

    def set_back(self, seconds):
        """Somebody sets the system clock back; no time goes by."""
        self.system -= int(seconds * NANOSECONDS)

    def keeper(self):
        """A new process's view of these clocks."""
        return Timekeeper(
            clock=lambda: Instant.from_nanoseconds(self.system), monotonic=lambda: self.monotonic
        )


@dataclass
class Rig:
    """One Controller on one database, a SQLite file or a URL. `restart` forgets everything but that."""

    database: Path | str
    clock: Clock = field(default_factory=Clock)
    environment: Ledger = field(default_factory=Ledger)
    signer: ReceiptSigner | None = SIGNER
    limits: ControllerLimits = field(default_factory=ControllerLimits)
    controller_id: str = "controller-under-test"

    def __post_init__(self):
        self.engine = open_engine(
            self.database if isinstance(self.database, str) else f"sqlite:///{self.database}"
        )
        if self.engine.dialect.name == "sqlite":
            # Tests kill processes, not machines: what was written is there without waiting for the disk.
            event.listen(self.engine, "connect", lambda each, _: each.execute("PRAGMA synchronous = OFF"))
        self.plane = ControlPlane(
            environment=self.environment,
            transactions=Transactions(self.engine, wait_seconds=5),
            controller_id=self.controller_id,
            deployments=DEPLOYMENTS,
            signer=self.signer,
            timekeeper=self.clock.keeper(),
            limits=self.limits,
        )
        self.plane.start()
        self.door = Door(self.plane.book, BUSINESS_SECRETS)
        self.control_app = ControlApp(self.plane, secret=CONTROL_SECRET)
        self.business_app = guarded(self.environment.business_app(self.door), self.limits)

    def restart(self, **changes):
        """The same Controller in another process, as far as it can tell."""
        self.close()
        settings = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return Rig(**{**settings, **changes})

    def close(self):
        self.engine.dispose()

    def rows(self):
        """Every row of every table but the clock's: what a refused call must leave as it was."""
        with self.engine.begin() as connection:
            query = connection.exec_driver_sql
            names = inspect(connection).get_table_names()
            return {
                name: sorted(repr(tuple(row)) for row in query(f'SELECT * FROM "{name}"'))
                for name in names
                if name != "controller"
            }

    def control(self, secret=CONTROL_SECRET):
        """A client of the control plane, over ASGI."""
        return _client(self.control_app, secret)

    def business(self, deployment="deployment-a", run_id=None, secret=None):
        """A client of the business plane, over ASGI."""
        client = _client(self.business_app, secret or BUSINESS_SECRETS[deployment])
        if run_id is not None:
            client.headers[RUN_ID_HEADER] = run_id
        return client


def _client(app, secret):
    headers = {"Authorization": f"Bearer {secret}"} if secret else {}
    transport = httpx.ASGITransport(app, raise_app_exceptions=False)
    return httpx.AsyncClient(transport=transport, base_url="http://controller.test", headers=headers)


@contextlib.contextmanager
def rig_in(folder, **settings):
    """A Controller on a database file in `folder`, closed at the end."""
    rig = Rig(Path(folder) / "controller.db", **settings)
    try:
        yield rig
    finally:
        rig.close()


# Messages


def common(run="a", profile="ledger-note"):
    return {
        "schema_version": "state-controller-v1",
        "run_id": f"run-{run}",
        "case_id": f"case-{run}",
        "profile_id": profile,
    }


def reset_body(run="a", profile="ledger-note", **changes):
    return {
        **common(run, profile),
        "deployment_profile_id": "deployment-a",
        "profile_digest": PROFILES[profile].profile_digest if profile in PROFILES else digest(None),
        "binding_mode": "catalog",
        "attempt_nonce": NONCE,
        "snapshots": True,
        **changes,
    }


def reset_request(run="a", profile="ledger-note", **changes):
    return validated(ResetRequest, reset_body(run, profile, **changes))


class Run:
    """One run as Core would lead it: each call's body from what the earlier ones answered."""

    def __init__(self, client, name="a", profile="ledger-note", **reset):
        self.client, self.name = client, name
        self.common = common(name, profile)
        self.reset = reset_body(name, profile, **reset)
        self.answers = {}

    def body(self, step, **changes):
        """The request of a step; what no answer gave yet is made up, as a confused caller would."""
        lease = {**self.common, "lease_id": self.answers.get("reset", {}).get("lease_id", "lease-unknown")}
        if step == "reset":
            return {**self.reset, **changes}
        if step in ("before", "after"):
            return {**lease, "phase": step, **changes}
        if step == "verify":
            return {**lease, **self.references(), "final_response": "It is paid.", **changes}
        if step == "renew":
            return {**lease, "expires_at": "2026-03-01T11:00:00Z", **changes}
        return {**lease, **changes}

    def references(self):
        """Both snapshots as verify is given them."""
        return {phase: self._reference(phase) for phase in ("before", "after")}

    def snapshot_path(self, phase):
        """Where a snapshot is read."""
        return f"/v1/environment/snapshots/{self.answers[phase]['snapshot_ref']}"

    def _reference(self, phase):
        answer = self.answers.get(phase, {})
        return {
            "ref": answer.get("snapshot_ref", "snapshot-unknown"),
            "digest": answer.get("digest", digest(None)),
        }

    async def post(self, step, **changes):
        """Send a step and keep what a 200 says."""
        path = f"/v1/environment/{'snapshot' if step in ('before', 'after') else step}"
        response = await self.client.post(path, json=self.body(step, **changes))
        if response.status_code == 200:
            self.answers[step] = response.json()
        return response

    async def through(self, *steps):
        """Send steps that must succeed; the last one's answer."""
        for step in steps:
            response = await self.post(step)
            assert response.status_code == 200, (step, response.text)
        return self.answers[steps[-1]]


def code_of(response):
    """Status and error code of a refusal."""
    return response.status_code, response.json()["error"]["code"]


# Real processes


@dataclass
class Served:
    """`agentbeat controller serve` as a process, and what its ready file says."""

    process: subprocess.Popen
    ready: dict

    @property
    def control_secret(self):
        return Path(self.ready["control"]["secret_file"]).read_text()

    def business_secret(self, deployment):
        return Path(self.ready["business"]["deployments"][deployment]["secret_file"]).read_text()

    def control(self):
        """A blocking client of the control plane."""
        return _http(self.ready["control"]["url"], self.control_secret)

    def business(self, deployment="deployment-desk", run_id=None):
        """A blocking client of the business plane."""
        client = _http(self.ready["business"]["url"], self.business_secret(deployment))
        if run_id is not None:
            client.headers[RUN_ID_HEADER] = run_id
        return client

    def kill(self):
        """SIGKILL, and wait until it is gone."""
        self.process.kill()
        self.process.wait(10)

    def stop(self, number=signal.SIGTERM):
        """Ask it to stop; the exit code."""
        self.process.send_signal(number)
        return self.process.wait(15)


def _http(url, secret):
    headers = {"Authorization": f"Bearer {secret}"}
    return httpx.Client(base_url=url, headers=headers, timeout=20, verify=False)  # no TLS: nothing to load


@contextlib.contextmanager
def served(folder, *options, control_port=0, stderr=None, program=("-m", "agentbeat_controller")):
    """A Controller process with its home in `folder`, killed at the end if it still runs."""
    ready_file = Path(folder) / "ready.json"
    ready_file.unlink(missing_ok=True)
    command = [sys.executable, *program, "serve", "--home", str(Path(folder) / "home")]
    command += ["--control-port", str(control_port), "--business-port", "0", "--ready-file", str(ready_file)]
    log = stderr or (Path(folder) / "stderr.txt")
    with log.open("ab") as sink:
        process = subprocess.Popen([*command, *options], stdout=sink, stderr=sink, env=os.environ.copy())
        try:
            yield Served(process, _await_ready(process, ready_file, log))
        finally:
            if process.poll() is None:
                process.kill()
            process.wait(10)


def _await_ready(process, ready_file, log):
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        if ready_file.exists():
            return json.loads(ready_file.read_text())
        if process.poll() is not None:
            break
        time.sleep(0.02)
    raise AssertionError(f"the Controller did not come up: {log.read_text()}")
