"""CTL-10 on the real thing: `agentbeat controller serve`, killed with SIGKILL and started again."""

import hashlib
import json
import sqlite3
import threading
import time

import httpx
import pytest

from agentbeat_controller import signature_holds
from agentbeat_protocol import StateReceipt
from agentbeat_protocol.models import validated
from support.controllers import NONCE, code_of, served

PROFILE = "desk-refund-full"
COMMON = {
    "schema_version": "state-controller-v1",
    "run_id": "run-kill",
    "case_id": "case-kill",
    "profile_id": PROFILE,
}


def post(client, step, **members):
    path = "snapshot" if step in ("before", "after") else step
    body = {**COMMON, **members, **({"phase": step} if path == "snapshot" else {})}
    return client.post(f"/v1/environment/{path}", json=body)


def reset(client, **changes):
    catalogue = client.get("/v1/environment/profiles").json()
    digests = {entry["profile_id"]: entry["profile_digest"] for entry in catalogue["profiles"]}
    members = {
        "deployment_profile_id": "deployment-desk",
        "profile_digest": digests[PROFILE],
        "binding_mode": "deployment_static",
        "attempt_nonce": NONCE,
        "snapshots": True,
    }
    return post(client, "reset", **{**members, **changes})


def verify(client, lease_id, before, after):
    return post(
        client,
        "verify",
        lease_id=lease_id,
        before={"ref": before["snapshot_ref"], "digest": before["digest"]},
        after={"ref": after["snapshot_ref"], "digest": after["digest"]},
        final_response="Done.",
    )


def refund(client):
    """A business write: some money back on an order that the profile is about."""
    return client.post("/v1/orders/ORD-1003/refunds", json={"amount_minor": 100, "reason": "damaged"})


def table(home, query):
    with sqlite3.connect(home / "controller.db") as connection:
        rows = connection.execute(query).fetchall()
    connection.close()
    return rows


def test_a_run_goes_on_after_the_controller_was_killed_between_its_snapshots(tmp_path):
    """The lease, its window, the records and every answer are as they were; the end is one valid receipt."""
    with served(tmp_path) as controller, controller.control() as core, controller.business() as tools:
        first = reset(core)
        lease_id = first.json()["lease_id"]
        assert code_of(refund(tools)) == (409, "environment_closed")
        before = post(core, "before", lease_id=lease_id)
        written = refund(tools)
        assert written.is_success, written.text
        controller.kill()
    with served(tmp_path) as controller, controller.control() as core, controller.business() as tools:
        assert reset(core).content == first.content
        assert post(core, "before", lease_id=lease_id).content == before.content
        assert code_of(reset(core, attempt_nonce="f" * 32)) == (409, "binding_conflict")
        assert refund(tools).is_success
        after = post(core, "after", lease_id=lease_id)
        state = core.get(f"/v1/environment/snapshots/{after.json()['snapshot_ref']}")
        assert "sha256:" + hashlib.sha256(state.content).hexdigest() == after.json()["digest"]
        assert len(json.loads(state.content)["calls"]) == 2
        judged = verify(core, lease_id, before.json(), after.json())
        assert judged.status_code == 200
        controller.kill()
    with served(tmp_path) as controller, controller.control() as core, controller.business() as tools:
        again = verify(core, lease_id, before.json(), after.json())
        assert again.content == judged.content
        assert code_of(refund(tools)) == (409, "environment_closed")
        receipt = validated(StateReceipt, again.json()["receipt"])
        assert signature_holds(receipt, controller.ready["verify_key"])
        assert receipt.controller_id == controller.ready["controller_id"]
        assert post(core, "release", lease_id=lease_id).status_code == 200
        assert controller.stop() == 0
    assert table(tmp_path / "home", "SELECT count(*) FROM receipts") == [(1,)]


@pytest.mark.parametrize("seconds", [0.0, 0.02, 0.05])
def test_a_kill_under_load_leaves_whole_calls_only(tmp_path, seconds):
    """Tools write while Core asks for the after snapshot; the kill comes anywhere in between."""
    with served(tmp_path) as controller, controller.control() as core:
        lease_id = reset(core).json()["lease_id"]
        before = post(core, "before", lease_id=lease_id).json()
        answered = []

        def write():
            with controller.business() as tools:
                for _ in range(200):
                    try:
                        response = refund(tools)
                    except httpx.TransportError:
                        return
                    answered.append(response.status_code)

        def ask():
            with controller.control() as client:
                try:
                    post(client, "after", lease_id=lease_id)
                except httpx.TransportError:
                    return

        threads = [threading.Thread(target=write) for _ in range(2)]
        for thread in threads:
            thread.start()
        while len(answered) < 4:
            time.sleep(0.002)
        threads.append(threading.Thread(target=ask))
        threads[-1].start()
        time.sleep(seconds)
        controller.kill()
        for thread in threads:
            thread.join(20)
    with served(tmp_path) as controller, controller.control() as core:
        after = post(core, "after", lease_id=lease_id).json()
        state = json.loads(core.get(f"/v1/environment/snapshots/{after['snapshot_ref']}").content)
        sequences = [call["sequence"] for call in state["calls"]]
        assert sequences == list(range(1, len(sequences) + 1))
        # What was answered was kept; what was cut off may be there, but then it is whole.
        accepted = [call for call in state["calls"] if call["error"] is None]
        assert len(accepted) >= sum(status < 400 for status in answered) > 0
        assert len(state["records"]["refunds"]) - len(_refunds(core, before)) == len(accepted)
        assert verify(core, lease_id, before, after).status_code == 200
    query = "SELECT count(*) FROM snapshots LEFT JOIN contents USING (digest) WHERE body IS NULL"
    assert table(tmp_path / "home", query) == [(0,)]
    assert table(tmp_path / "home", "SELECT count(*) FROM receipts") == [(1,)]


def _refunds(core, snapshot):
    state = core.get(f"/v1/environment/snapshots/{snapshot['snapshot_ref']}").json()
    return state["records"]["refunds"]


def test_a_lease_that_ended_while_the_controller_was_down_has_expired(tmp_path):
    with served(tmp_path, "--lease-seconds", "1") as controller, controller.control() as core:
        lease_id = reset(core).json()["lease_id"]
        controller.kill()
    time.sleep(1)
    with served(tmp_path, "--lease-seconds", "60") as controller, controller.control() as core:
        assert code_of(post(core, "before", lease_id=lease_id)) == (409, "lease_expired")
        assert reset(core, run_id="run-next").status_code == 200
