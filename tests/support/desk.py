"""A support desk on a database of its own, with a door that opens and closes at a test's word."""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
from sqlalchemy import Connection, text

from agentbeat_controller.databases import open_engine
from agentbeat_controller.environments.base import Entry, Profile
from agentbeat_controller.environments.desk import DeskEnvironment
from agentbeat_protocol import RUN_ID_HEADER, Check, Injection, JSONValue, MeaningError

SECRET = "business-secret"
OTHER_SECRET = "business-secret-of-another"
DEPLOYMENT = "desk-deployment"
RUN = "run-desk-001"


class Desk:
    """One environment in a database, and the control plane's part reduced to switches.

    It is a `BusinessDoor`: `open_window` decides whether calls are let in, `unavailable` whether the
    database answers.
    """

    def __init__(self, folder: Path, profile_id: str = "desk-refund-full", *, url: str | None = None) -> None:
        self.environment = DeskEnvironment()
        self.engine = open_engine(url or f"sqlite:///{folder / 'desk.db'}")
        weakref.finalize(self, self.engine.dispose)
        self.environment_id = "env-1"
        self.open_window = True
        self.unavailable = False
        with self.engine.begin() as connection:
            self.environment.create_tables(connection)
        self.profile = self.reset(profile_id)

    def reset(
        self, profile_id: str, *, injection: Injection | None = None, environment_id: str | None = None
    ) -> Profile:
        self.profile = self.environment.profiles[profile_id]
        with self.engine.begin() as connection:
            self.environment.reset(
                connection, environment_id or self.environment_id, self.profile, injection=injection
            )
        return self.profile

    def state(self, environment_id: str | None = None) -> Any:
        with self.engine.begin() as connection:
            return self.environment.state(connection, environment_id or self.environment_id)

    def execute(self, statement: str, **values: Any) -> None:
        with self.engine.begin() as connection:
            connection.execute(text(statement), values)

    def checks(
        self, before: JSONValue, after: JSONValue, *, final_response: str = "Done."
    ) -> dict[str, Check]:
        found = self.environment.checks(self.profile, before, after, final_response=final_response)
        return {check.check_id: check for check in found}

    # The door.

    def authenticate(self, authorization: str | None) -> str:
        known = {f"Bearer {SECRET}": DEPLOYMENT, f"Bearer {OTHER_SECRET}": "another-deployment"}
        if authorization not in known:
            raise MeaningError(
                "CTL-9", code="unauthorized", got="another secret", expected="a business secret"
            )
        return known[authorization]

    @contextmanager
    def enter(self, deployment_profile_id: str, run_id: str | None) -> Iterator[Entry]:
        if self.unavailable:
            raise _refusal("controller_unavailable")
        if deployment_profile_id != DEPLOYMENT or run_id not in (None, RUN):
            raise _refusal("not_found")
        with self.engine.begin() as connection:
            if not self.open_window:
                raise _refusal("environment_closed")
            yield self.entry(connection)

    def entry(self, connection: Connection) -> Entry:
        return Entry(
            connection=connection,
            environment_id=self.environment_id,
            profile_id=self.profile.profile_id,
            run_id=RUN,
        )

    def client(self, *, secret: str | None = SECRET, run_id: str | None = RUN) -> httpx.AsyncClient:
        headers = {"Authorization": f"Bearer {secret}"} if secret else {}
        if run_id:
            headers[RUN_ID_HEADER] = run_id
        transport = httpx.ASGITransport(self.environment.business_app(self), raise_app_exceptions=False)
        return httpx.AsyncClient(transport=transport, base_url="http://desk", headers=headers)


def _refusal(code: str) -> MeaningError:
    return MeaningError("CTL-12", code=code, got="no open window", expected="an open window")
