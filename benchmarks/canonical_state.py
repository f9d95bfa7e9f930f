"""Canonical bytes of the support desk's whole state: what each snapshot writes and digests.

Beside it stands `json.dumps` with sorted keys, which is not RFC 8785: its numbers and its order are others.
"""

from __future__ import annotations

import json
import tempfile

from agentbeat_controller import open_engine
from agentbeat_controller.environments.desk import DeskEnvironment
from agentbeat_protocol import canonical_json, digest
from benchmarks.measuring import interleaved, milliseconds, print_table

__all__ = ["run"]

ROUNDS = 7
REPEATS = 50


def desk_state() -> object:
    """The state of a desk after a reset."""
    environment = DeskEnvironment()
    with tempfile.TemporaryDirectory() as folder:
        engine = open_engine(f"sqlite:///{folder}/desk.db")
        try:
            with engine.begin() as connection:
                environment.create_tables(connection)
                profile = environment.profiles["desk-refund-full"]
                environment.reset(connection, "environment-bench", profile, injection=None)
                return environment.state(connection, "environment-bench")
        finally:
            engine.dispose()


def run() -> None:
    """Measure and print."""
    state = desk_state()
    raw = canonical_json(state)
    candidates = (
        ("json.dumps, sorted keys", lambda: json.dumps(state, sort_keys=True, separators=(",", ":"))),
        ("canonical_json", lambda: canonical_json(state)),
        ("digest: canonical_json and SHA-256", lambda: digest(state)),
    )
    times = interleaved(
        ROUNDS,
        *(lambda candidate=candidate: [candidate() for _ in range(REPEATS)] for _, candidate in candidates),
    )
    print_table(
        f"Canonical JSON of the desk's state, {len(raw) / 1024:.1f} KiB",
        ("", "ms", "ratio"),
        (
            (
                name,
                f"{milliseconds(taken) / REPEATS:.3f}",
                f"{milliseconds(taken) / milliseconds(times[0]):.1f}",
            )
            for (name, _), taken in zip(candidates, times, strict=True)
        ),
    )
