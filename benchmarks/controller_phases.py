"""A State Controller's part of an L3 run over HTTP: reset, both snapshots, verify; each run on its own desk.

Beside them stands `GET /healthz` of the same process: what an exchange costs that does nothing.
"""

from __future__ import annotations

import secrets
import time
from collections import defaultdict
from typing import Any

import httpx

from benchmarks.controllers import DEPLOYMENT, PROFILE, controller
from benchmarks.measuring import percentile, print_table

__all__ = ["run"]

RUNS = 60
WARM_UP = 5


def run() -> None:
    """Measure and print."""
    taken: dict[str, list[float]] = defaultdict(list)
    with (
        controller() as served,
        httpx.Client(base_url=served.url, headers=served.headers, trust_env=False) as client,
    ):
        digest = _profile_digest(client)
        for number in range(WARM_UP + RUNS):
            steps = _one_run(client, number, digest)
            if number >= WARM_UP:
                for name, seconds in steps.items():
                    taken[name].append(seconds)
    base = percentile(taken["GET /healthz"], 0.5)
    print_table(
        f"State Controller on SQLite over loopback HTTP, {RUNS} runs",
        ("", "p50 ms", "p95 ms", "ratio"),
        (
            (
                name,
                f"{percentile(values, 0.5) * 1000:.2f}",
                f"{percentile(values, 0.95) * 1000:.2f}",
                f"{percentile(values, 0.5) / base:.1f}",
            )
            for name, values in taken.items()
        ),
    )


def _one_run(client: httpx.Client, number: int, digest: str) -> dict[str, float]:
    """Seconds of each step of one run, and of all of them."""
    common = {
        "schema_version": "state-controller-v1",
        "run_id": f"run-bench-{number}",
        "case_id": "case-bench-001",
        "profile_id": PROFILE,
    }
    steps: dict[str, float] = {}

    def step(name: str, path: str, **members: Any) -> dict[str, Any]:
        start = time.perf_counter()
        answer = client.post(f"/v1/environment/{path}", json={**common, **members})
        steps[name] = time.perf_counter() - start
        answer.raise_for_status()
        found: dict[str, Any] = answer.json()
        return found

    start = time.perf_counter()
    client.get("/healthz").raise_for_status()
    steps["GET /healthz"] = time.perf_counter() - start
    lease = step(
        "reset",
        "reset",
        deployment_profile_id=DEPLOYMENT,
        profile_digest=digest,
        binding_mode="catalog",
        attempt_nonce=secrets.token_hex(16),
        snapshots=True,
    )["lease_id"]
    before = step("snapshot before", "snapshot", lease_id=lease, phase="before")
    after = step("snapshot after", "snapshot", lease_id=lease, phase="after")
    references = {
        phase: {"ref": answer["snapshot_ref"], "digest": answer["digest"]}
        for phase, answer in (("before", before), ("after", after))
    }
    step("verify, with the signed receipt", "verify", lease_id=lease, final_response="Done.", **references)
    steps["all four"] = sum(seconds for name, seconds in steps.items() if name != "GET /healthz")
    step("release", "release", lease_id=lease)
    return steps


def _profile_digest(client: httpx.Client) -> str:
    profiles = client.get("/v1/environment/profiles").raise_for_status().json()["profiles"]
    return next(str(entry["profile_digest"]) for entry in profiles if entry["profile_id"] == PROFILE)
