"""CTL-6: sixty-four environments at once on one Controller, and nothing of one run reaches another.

Every run plants a text of its own at reset and writes another one later. Everything that a run is ever shown
(answers of both planes, states, the receipt, refusals, headers) is then searched for the texts of all others.
In between, tools of other Deployments name runs that are not theirs.
"""

import asyncio
import json
import re
import secrets
from pathlib import Path

import httpx
import pytest

from agentbeat_controller.environments.desk import DESK_PROFILES
from agentbeat_protocol import RUN_ID_HEADER
from support.nurseries import DEPLOYMENTS, nursery

RUNS = 64
PROFILE = next(each.entry() for each in DESK_PROFILES if each.profile_id == "desk-parcel-email")
CANARY = re.compile(r"canary-[0-9]{2}-[a-z]+-[0-9a-f]{16}")


@pytest.fixture
def place(tmp_path):
    with nursery() as grown, grown.place(tmp_path) as place:
        place.start()
        yield place


class Run:
    """One of the runs, and everything that it was shown."""

    def __init__(self, number, core, tools):
        self.number, self._core, self._tools = number, core, tools
        self.run_id = f"run-isolated-{number}"
        self.deployment = DEPLOYMENTS[number % 2]
        self.planted, self.written = self.canary("planted"), self.canary("written")
        self.answers, self.seen = {}, []

    def canary(self, kind):
        """A text that stands nowhere else."""
        return f"canary-{self.number:02}-{kind}-{secrets.token_hex(8)}"

    async def reset(self):
        """Plant the run's text."""
        await self._post(
            "reset",
            deployment_profile_id=self.deployment,
            profile_digest=PROFILE.profile_digest,
            binding_mode="catalog",
            attempt_nonce=secrets.token_hex(16),
            snapshots=True,
            injection={"surface": "ticket_message", "text": self.planted},
        )

    async def snapshot(self, phase):
        """Take a snapshot and read it."""
        answer = await self._post("snapshot", phase=phase, lease_id=self.answers["reset"]["lease_id"])
        self.answers[phase] = answer
        path = f"/v1/environment/snapshots/{answer['snapshot_ref']}"
        state = self._keep(await self._core.get(path))
        assert state.status_code == 200
        self.answers[f"state {phase}"] = state.text

    async def work(self):
        """Read what was planted, write, read again; a refusal too."""
        ticket = await self.call("GET", "/v1/tickets/TCK-7")
        assert self.planted in ticket.text
        reply = await self.call("POST", "/v1/tickets/TCK-7/replies", json={"body": self.written})
        assert reply.status_code == 201
        email = {"recipient": f"{self.written}@shop.example", "subject": "Parcel", "body": self.written}
        assert (await self.call("POST", "/v1/emails", json=email)).status_code == 201
        assert (await self.call("GET", "/v1/emails")).status_code == 200
        assert (await self.call("GET", "/v1/orders/ORD-9999")).status_code == 404
        assert (await self.call("POST", "/v1/tickets/TCK-7/replies", json={"text": "x"})).status_code == 400

    async def trespass(self, other):
        """Name a run of another Deployment, to read and to write, and its lease; 404, and nothing is told."""
        assert other.deployment != self.deployment
        for method, path, body in (
            ("GET", "/v1/tickets/TCK-7", None),
            ("POST", "/v1/tickets/TCK-7/replies", {"body": self.canary("trespassing")}),
        ):
            refused = await self.call(method, path, run_id=other.run_id, json=body)
            assert (refused.status_code, refused.json()["error"]["code"]) == (404, "not_found")
        refused = await self._send("snapshot", phase="after", lease_id=other.answers["reset"]["lease_id"])
        assert (refused.status_code, refused.json()["error"]["code"]) == (404, "not_found")

    async def verify(self):
        """The verdict and the receipt; then the lease ends."""
        lease_id = self.answers["reset"]["lease_id"]
        snapshots = {
            phase: {"ref": self.answers[phase]["snapshot_ref"], "digest": self.answers[phase]["digest"]}
            for phase in ("before", "after")
        }
        await self._post("verify", lease_id=lease_id, final_response=self.written, **snapshots)
        await self._post("release", lease_id=lease_id)
        late = await self.call("GET", "/v1/tickets/TCK-7")
        assert late.json()["error"]["code"] == "environment_closed"

    async def call(self, method, path, *, run_id=None, json=None):
        """A business call of this run's tools."""
        headers = {RUN_ID_HEADER: run_id or self.run_id}
        return self._keep(
            await self._tools[self.deployment].request(method, path, json=json, headers=headers)
        )

    async def _post(self, step, **members):
        response = await self._send(step, **members)
        assert response.status_code == 200, response.text
        self.answers[step] = response.json()
        return self.answers[step]

    async def _send(self, step, **members):
        common = {
            "schema_version": "state-controller-v1",
            "run_id": self.run_id,
            "case_id": "case-isolated",
            "profile_id": PROFILE.profile_id,
        }
        return self._keep(await self._core.post(f"/v1/environment/{step}", json={**common, **members}))

    def _keep(self, response):
        self.seen.append(repr(response.headers.raw) + response.text)
        return response


async def together(calls):
    """All of them at once."""
    await asyncio.gather(*calls)


def clients(place):
    """Core's client, and one for the tools of each Deployment."""

    def client(url, secret_file):
        headers = {"Authorization": f"Bearer {Path(secret_file).read_text()}"}
        limits = httpx.Limits(max_connections=RUNS)
        return httpx.AsyncClient(
            base_url=url, headers=headers, limits=limits, timeout=60, trust_env=False, verify=False
        )

    control, business = place.ready["control"], place.ready["business"]
    core = client(control["url"], control["secret_file"])
    return core, {
        name: client(business["url"], told["secret_file"]) for name, told in business["deployments"].items()
    }


async def test_sixty_four_environments_at_once_show_nothing_of_each_other(place):
    core, tools = clients(place)
    try:
        runs = [Run(number, core, tools) for number in range(RUNS)]
        await together(run.reset() for run in runs)
        assert (await core.get("/healthz")).json()["active_leases"] == RUNS
        await together(run.snapshot("before") for run in runs)
        neighbours = zip(runs, [*runs[1:], runs[0]], strict=True)
        trespasses = [run.trespass(other) for run, other in neighbours]
        await together([*(run.work() for run in runs), *trespasses])
        await together(run.snapshot("after") for run in runs)
        await together(run.verify() for run in runs)
        assert (await core.get("/healthz")).json()["active_leases"] == 0
    finally:
        for client in (core, *tools.values()):
            await client.aclose()
    for run in runs:
        assert set(CANARY.findall(" ".join(run.seen))) == {run.planted, run.written}
        assert run.planted in run.answers["state before"]
        assert run.written not in run.answers["state before"]
        after = json.loads(run.answers["state after"])
        assert sum(message["body"] == run.written for message in after["records"]["messages"].values()) == 1
        assert len(after["calls"]) == 6
    starts = {(run.answers["reset"]["environment_id"], run.answers["reset"]["lease_id"]) for run in runs}
    assert len(starts) == RUNS


async def test_equal_runs_at_once_start_from_one_state_that_is_kept_once(place):
    """CTL-3 under load: without a text of its own each of them has the same digest, and one content."""
    core, tools = clients(place)
    try:
        runs = [Run(number, core, tools) for number in range(RUNS)]
        for run in runs:
            run.planted = "One text for all of them."
        await together(run.reset() for run in runs)
        await together(run.snapshot("before") for run in runs)
    finally:
        for client in (core, *tools.values()):
            await client.aclose()
    assert len({run.answers["reset"]["state_digest"] for run in runs}) == 1
    assert {run.answers["before"]["digest"] for run in runs} == {runs[0].answers["reset"]["state_digest"]}
    assert len({run.answers["before"]["snapshot_ref"] for run in runs}) == RUNS
    rows = place.rows()
    assert (len(rows["snapshots"]), len(rows["contents"])) == (RUNS, 1)
