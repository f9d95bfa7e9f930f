"""How a check talks to a State Controller: requests that are right but for the one thing in question.

One run is shared by all checks of a session. `control` leads it cleanly from reset to release: without it no
refusal means anything. Which profile, and in which mode, is looked up in the catalogue once.

    async with controller.run() as run:
        await run.through("reset", "before")
        again = await run.send("before")
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from typing import Any, Final

from agentbeat_conformance.controller_answers import members_of
from agentbeat_conformance.controller_choices import public_key, usable_entries
from agentbeat_conformance.controller_runs import ControllerRun
from agentbeat_conformance.exchanges import Exchange, Request
from agentbeat_conformance.requirements import Capability, CouldNotRun
from agentbeat_conformance.sessions import Session
from agentbeat_protocol import CONTROL_PATH, DIMENSIONS, HEALTH_PATH, Instant, ProfileEntry, ProtocolError
from agentbeat_protocol.state_receipts import BindingMode
from agentbeat_protocol.verdicts import Dimension

__all__ = ["KEEP", "ControllerProbe"]

#: Leases that end within so many seconds let the suite wait for their end.
SHORT_LEASE_SECONDS: Final = 5

_NANOSECONDS: Final = 1_000_000_000


class _Keep:
    """Stands for: leave this part of the request as it should be."""


KEEP: Final = _Keep()


class ControllerProbe:
    """Talks to the control plane of one State Controller.

    Args:
        session: records what is sent.
        host: the Host of every request, `127.0.0.1:8801`.
        prefix: the path before `/v1/…`, empty at the root.
        secret: the control plane's bearer secret.
        deployment_id: the Deployment that resets name.
        profile_id: the profile that runs are made of; None for the first one that offers a surface, or the
            first one of the catalogue.
        binding_mode: the only mode to use; None for every mode that the profile offers.
        verify_key: the public key that is registered for the Controller: its 32 bytes in base64url.

    Raises:
        ValueError: `verify_key` is no such key.
    """

    def __init__(
        self,
        session: Session,
        *,
        host: str,
        prefix: str = "",
        secret: str | None,
        deployment_id: str,
        profile_id: str | None = None,
        binding_mode: BindingMode | None = None,
        verify_key: str | None = None,
    ) -> None:
        self.session = session
        self.host = host
        self.prefix = prefix
        self.secret = secret
        self.deployment_id = deployment_id
        self.verify_key = None if verify_key is None else public_key(verify_key)
        self._chosen_profile = profile_id
        self._chosen_mode = binding_mode
        self._entries: tuple[ProfileEntry, ...] | None = None
        self._listed: Exchange | None = None
        self._control: ControllerRun | None = None

    async def listed(self) -> Exchange:
        """The shared read of the catalogue."""
        if self._listed is None:
            with self._shared():
                self._listed = await self.get(CONTROL_PATH + "profiles")
        return self._listed

    async def entries(self) -> tuple[ProfileEntry, ...]:
        """The catalogue's entries, as far as runs need them.

        Raises:
            CouldNotRun: there is no catalogue to choose from.
        """
        if self._entries is None:
            listed = await self.listed()
            if listed.status != 200:
                raise CouldNotRun(f"the catalogue was answered {listed.outcome}, not 200")
            try:
                self._entries = usable_entries(members_of(listed))
            except ProtocolError:
                raise CouldNotRun("the catalogue is no JSON object with profiles") from None
        return self._entries

    async def controller_id(self) -> str:
        """The id that the catalogue gives the Controller.

        Raises:
            CouldNotRun: it gives none.
        """
        await self.entries()
        members = members_of(await self.listed())
        given = members.get("controller_id")
        if not isinstance(given, str):
            raise CouldNotRun("the catalogue has no controller_id")
        return given

    async def profile(self) -> ProfileEntry:
        """The profile that runs are made of.

        Raises:
            CouldNotRun: the catalogue has no such profile, or none at all.
        """
        entries = await self.entries()
        if self._chosen_profile is not None:
            entries = tuple(entry for entry in entries if entry.profile_id == self._chosen_profile)
            if not entries:
                raise CouldNotRun("the catalogue does not list the profile that was asked for")
        if not entries:
            raise CouldNotRun("the catalogue lists no profile")
        return next((entry for entry in entries if entry.surfaces), entries[0])

    async def modes(self, profile: ProfileEntry | None = None) -> tuple[BindingMode, ...]:
        """The binding modes to use, of a profile or of the one that runs are made of."""
        offered = (profile or await self.profile()).binding_modes
        return offered if self._chosen_mode is None else tuple(m for m in offered if m == self._chosen_mode)

    async def undeciding(self) -> dict[Dimension, ProfileEntry]:
        """For each dimension the first usable profile that cannot decide it, where there is one."""
        usable = [entry for entry in await self.entries() if await self.modes(entry)]
        return {
            dimension: entry
            for dimension in reversed(DIMENSIONS)
            for entry in reversed(usable)
            if dimension not in entry.dimensions
        }

    async def control(self) -> ControllerRun:
        """The shared run, led from reset to release with both snapshots read.

        Raises:
            CouldNotRun: one of its steps was not answered 200.
        """
        control = await self.attempt()
        control.need("reset", "before", "read-before", "after", "read-after", "verify", "release")
        return control

    async def attempt(self) -> ControllerRun:
        """The shared run, however far it came."""
        if self._control is None:
            with self._shared():
                self._control = run = await self._new_run()
                for step in ("reset", "before", "read-before", "after", "read-after", "verify"):
                    if (await run.send(step)).status != 200:
                        break
                await run.end()
        return self._control

    @contextmanager
    def _shared(self) -> Iterator[None]:
        scope, self.session.scope = self.session.scope, "control"
        try:
            yield
        finally:
            self.session.scope = scope

    @property
    def known_lease(self) -> str | None:
        """A lease that the Controller gave at some time."""
        return None if self._control is None else self._control.lease_id

    @property
    def known_end(self) -> Instant:
        """The end of a lease that the Controller gave at some time: an instant that may be asked for."""
        if self._control is None or "reset" not in self._control.granted:
            return Instant.from_nanoseconds(0)
        return self._control.expires_at

    async def capabilities(self) -> frozenset[Capability]:
        """What the Controller itself shows that it can do, and what the probe was given.

        Whether the suite may restart it or write to it is for those who know the commands.
        """
        found = {Capability.AUTH} if self.secret is not None else set()
        if self.verify_key is not None:
            found.add(Capability.VERIFY_KEY)
        try:
            profile = await self.profile()
            found |= {Capability(mode) for mode in await self.modes()}
            if profile.surfaces:
                found.add(Capability.INJECTION)
            if await self.undeciding():
                found.add(Capability.UNDECIDED)
            control = await self.control()
            lasts = control.expires_at.nanoseconds_since(control.taken("before").taken_at)
            if lasts <= SHORT_LEASE_SECONDS * _NANOSECONDS:
                found.add(Capability.EXPIRY)
        except CouldNotRun:
            pass
        return frozenset(found)

    @asynccontextmanager
    async def run(
        self, *, mode: BindingMode | None = None, profile: ProfileEntry | None = None, **settings: Any
    ) -> AsyncIterator[ControllerRun]:
        """A new run, released at the end of the block; see `ControllerRun` for its settings.

        Raises:
            CouldNotRun: there is no profile to run, or it does not offer the mode.
        """
        run = await self._new_run(mode, profile, **settings)
        try:
            yield run
        finally:
            await run.end()

    async def _new_run(
        self, mode: BindingMode | None = None, profile: ProfileEntry | None = None, **settings: Any
    ) -> ControllerRun:
        profile = profile or await self.profile()
        modes = await self.modes(profile)
        if mode is None:
            # Runs that have an environment of their own do not stand in each other's way.
            mode = "catalog" if "catalog" in modes else "deployment_static"
        if mode not in modes:
            raise CouldNotRun(f"the profile does not offer the binding mode {mode}")
        return ControllerRun(self, ids=self.session.ids(), profile=profile, mode=mode, **settings)

    async def post(
        self,
        route: str,
        members: Mapping[str, Any] | None = None,
        *,
        body: bytes | None = None,
        secret: str | _Keep | None = KEEP,
        media_type: str = "application/json",
    ) -> Exchange:
        """A POST of a control route such as `reset`.

        Args:
            members: of the body; one that is `...` is left out.
            body: the exact body instead.
            secret: another secret, or None for no Authorization.
        """
        kept = {name: value for name, value in (members or {}).items() if value is not ...}
        request = Request.build(
            "POST",
            self.prefix + CONTROL_PATH + route,
            host=self.host,
            fields=[*self.authorization(secret), ("Content-Type", media_type)],
            body=json.dumps(kept, ensure_ascii=False).encode() if body is None else body,
        )
        return await self.session.send(request)

    async def get(
        self, path: str, *, secret: str | _Keep | None = KEEP, authorization: str | None = None
    ) -> Exchange:
        """A GET of a path below the prefix.

        Args:
            secret: another secret, or None for no Authorization.
            authorization: the whole value of that field instead.
        """
        fields = self.authorization(secret) if authorization is None else [("Authorization", authorization)]
        request = Request.build("GET", self.prefix + path, host=self.host, fields=fields)
        return await self.session.send(request)

    async def health(self) -> Exchange:
        """A read of the health route, without a secret."""
        return await self.get(HEALTH_PATH, secret=None)

    def authorization(self, secret: str | _Keep | None = KEEP) -> list[tuple[str, str]]:
        """The Authorization field for a secret; none for None."""
        chosen = self.secret if isinstance(secret, _Keep) else secret
        return [] if chosen is None else [("Authorization", f"Bearer {chosen}")]

    async def write(self, canary: str, *, run_id: str) -> bool:
        """Have `canary` written into the run's environment over the business plane; whether it was accepted.

        Raises:
            CouldNotRun: no command does that.
        """
        if self.session.commands is None:
            raise CouldNotRun("it needs a command that writes over the business plane (--write-command)")
        return await self.session.commands.write(canary, run_id=run_id, scope=self.session.scope)
