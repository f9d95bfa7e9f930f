"""One run of a State Controller as Core would lead it: each request from what the earlier answers said.

    run = ControllerRun(probe, ids=session.ids(), profile=profile, mode="catalog")
    await run.through("reset", "before")
    refused = await run.send("before", case_id="case-another")

What no answer gave yet is made up, as a confused caller would: a lease and two snapshots that nobody has.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, Literal, TypeVar, cast

from pydantic import BaseModel

from agentbeat_conformance.controller_answers import error_code, members_of, read_answer
from agentbeat_conformance.exchanges import Exchange
from agentbeat_conformance.requirements import CouldNotRun
from agentbeat_conformance.sessions import Ids
from agentbeat_protocol import (
    CONTROL_PATH,
    Instant,
    ProfileEntry,
    ProtocolError,
    ReleaseAnswer,
    RenewAnswer,
    ResetAnswer,
    SnapshotAnswer,
    VerifyAnswer,
    cut,
    digest_text,
)
from agentbeat_protocol.state_receipts import BindingMode

if TYPE_CHECKING:
    from agentbeat_conformance.controller_probes import ControllerProbe

__all__ = ["ANSWERS", "FINAL_RESPONSE", "SNAPSHOTS", "ControllerRun", "Step"]

Step = Literal["reset", "before", "read-before", "after", "read-after", "verify", "renew", "release"]

#: What the suite says that the Agent answered; it did nothing.
FINAL_RESPONSE: Final = "Nothing was done."
SNAPSHOTS: Final = CONTROL_PATH + "snapshots/"

#: The shape of each step's answer.
ANSWERS: Final[Mapping[str, type[BaseModel]]] = {
    "reset": ResetAnswer,
    "before": SnapshotAnswer,
    "after": SnapshotAnswer,
    "verify": VerifyAnswer,
    "renew": RenewAnswer,
    "release": ReleaseAnswer,
}

_ROUTES: Final = {"before": "snapshot", "after": "snapshot"}
_MINUTE: Final = 60 * 1_000_000_000

ModelT = TypeVar("ModelT", bound=BaseModel)


def _shown(exchange: Exchange) -> str:
    """The outcome, with the code of a refusal."""
    code = error_code(exchange)
    return exchange.outcome if code is None else f"{exchange.outcome} ({cut(code)})"


class ControllerRun:
    """One run.

    Args:
        probe: sends its requests.
        ids: the run and its case.
        profile: what reset asks for.
        mode: how the run holds its environment.
        snapshots: whether reset announces snapshots.
        injection: what reset plants: `surface` and `text`.

    Attributes:
        granted: the last exchange of each step that was answered 200.
        last: the last exchange of each step, whatever it was answered.
    """

    def __init__(
        self,
        probe: ControllerProbe,
        *,
        ids: Ids,
        profile: ProfileEntry,
        mode: BindingMode,
        snapshots: bool = True,
        injection: Mapping[str, str] | None = None,
    ) -> None:
        self.probe = probe
        self.ids = ids
        self.profile = profile
        self.mode = mode
        self.snapshots = snapshots
        self.injection = injection
        # Both follow from the run id, so that a replay asks the same.
        name = hashlib.sha256(ids.run_id.encode()).hexdigest()
        #: The attempt's nonce: 128 bits in hex.
        self.nonce = name[:32]
        #: A word for a business call that stands nowhere else, and that no encoding escapes.
        self.canary = f"canary{name[32:52]}"
        self.granted: dict[str, Exchange] = {}
        self.last: dict[str, Exchange] = {}

    # --- Requests

    def body(self, step: Step, **changes: Any) -> dict[str, Any]:
        """The members of a step's request, some of them changed; `...` leaves one out."""
        members: dict[str, Any] = {
            "schema_version": "state-controller-v1",
            "run_id": self.ids.run_id,
            "case_id": self.ids.case_id,
            "profile_id": self.profile.profile_id,
        }
        if step == "reset":
            members |= {
                "deployment_profile_id": self.probe.deployment_id,
                "profile_digest": self.profile.profile_digest,
                "binding_mode": self.mode,
                "attempt_nonce": self.nonce,
                "snapshots": self.snapshots,
            }
            if self.injection is not None:
                members["injection"] = dict(self.injection)
            return members | changes
        members["lease_id"] = self.lease_id or self.unknown_lease
        if step in ("before", "after"):
            members["phase"] = step
        elif step == "verify":
            members |= {"before": self.reference("before"), "after": self.reference("after")}
            members["final_response"] = FINAL_RESPONSE
        elif step == "renew" and "expires_at" not in changes:
            members["expires_at"] = self.later()
        return members | changes

    async def send(self, step: Step, *, body: Mapping[str, Any] | None = None, **changes: Any) -> Exchange:
        """Send a step, and keep its 200 answer: what follows is made of it.

        Args:
            body: all members instead of those that the step has now.
            changes: members to change; `...` leaves one out.
        """
        exchange = await self.attempt(step, body=body, **changes)
        if exchange.status == 200:
            self.granted[step] = exchange
        return exchange

    async def attempt(self, step: Step, *, body: Mapping[str, Any] | None = None, **changes: Any) -> Exchange:
        """Send a step as `send` does, and make nothing of its answer."""
        if step in ("read-before", "read-after"):
            phase = cast(Literal["before", "after"], step.removeprefix("read-"))
            exchange = await self.probe.get(SNAPSHOTS + self.reference(phase)["ref"])
        else:
            members = self.body(step, **changes) if body is None else body
            exchange = await self.probe.post(_ROUTES.get(step, step), members)
        self.last[step] = exchange
        return exchange

    async def through(self, *steps: Step) -> None:
        """Send steps as they should be.

        Raises:
            CouldNotRun: one was not answered 200.
        """
        for step in steps:
            await self.send(step)
            self.need(step)

    async def end(self) -> None:
        """Release the lease, if there is one that has not been released."""
        if self.lease_id is not None and "release" not in self.granted:
            await self.send("release")

    async def write(self) -> bool:
        """Have the run's canary written over the business plane; whether it was accepted."""
        return await self.probe.write(self.canary, run_id=self.ids.run_id)

    async def write_inside(self) -> None:
        """The positive control of a write: the window is open.

        Raises:
            CouldNotRun: it was not accepted.
        """
        if not await self.write():
            raise CouldNotRun("the write command was not accepted inside the open window")

    # --- What the answers said

    def need(self, *steps: Step) -> None:
        """The steps were answered 200.

        Raises:
            CouldNotRun: one was not; the check's own rule is then not at issue.
        """
        for step in steps:
            if step not in self.granted:
                last = self.last.get(step)
                got = "was not asked for" if last is None else f"was answered {_shown(last)}, not 200"
                raise CouldNotRun(f"{step} of a run that is as it should be {got}")

    @property
    def lease_id(self) -> str | None:
        """The lease that reset gave; None before."""
        lease = self._members("reset").get("lease_id")
        return lease if isinstance(lease, str) else None

    @property
    def unknown_lease(self) -> str:
        """A lease that nobody has, in the form that this Controller's leases have, where one is known."""
        known = self.lease_id or self.probe.known_lease or "lease-that-nobody-has0"
        return known[:-1] + ("1" if known[-1] != "1" else "2")

    @property
    def started(self) -> ResetAnswer:
        """What reset answered."""
        return self._read("reset", ResetAnswer)

    def taken(self, phase: Literal["before", "after"]) -> SnapshotAnswer:
        """What a snapshot answered."""
        return self._read(phase, SnapshotAnswer)

    @property
    def verified(self) -> VerifyAnswer:
        """What verify answered."""
        return self._read("verify", VerifyAnswer)

    @property
    def expires_at(self) -> Instant:
        """The end that reset gave the lease."""
        return self.started.expires_at

    @property
    def renewed(self) -> RenewAnswer:
        """What the last renewal answered."""
        return self._read("renew", RenewAnswer)

    def members(self, step: Step) -> dict[str, Any]:
        """The members of a step's 200 answer as they were received."""
        self.need(step)
        return self._members(step)

    def content(self, phase: Literal["before", "after"]) -> bytes:
        """The bytes of a snapshot that was read."""
        step = cast(Step, f"read-{phase}")
        self.need(step)
        answer = self.granted[step].answer
        return b"" if answer is None else answer.body

    def reference(self, phase: Literal["before", "after"]) -> dict[str, str]:
        """A snapshot as verify is given it."""
        answer = self._members(phase)
        ref, digest = answer.get("snapshot_ref"), answer.get("digest")
        return {
            "ref": ref if isinstance(ref, str) else f"snapshot-{phase}-that-nobody-has",
            "digest": digest if isinstance(digest, str) else digest_text(""),
        }

    def later(self, minutes: int = 1) -> str:
        """An instant so many minutes after the end that reset gave the lease; one as near without a lease."""
        end = self.expires_at if "reset" in self.granted else self.probe.known_end
        return str(Instant.from_nanoseconds(end.unix_nanoseconds + minutes * _MINUTE))

    def _members(self, step: str) -> dict[str, Any]:
        if step not in self.granted:
            return {}
        try:
            members = members_of(self.granted[step])
        except ProtocolError:
            return {}
        return members if isinstance(members, dict) else {}

    def _read(self, step: Step, model: type[ModelT]) -> ModelT:
        self.need(step)
        try:
            return read_answer(self.granted[step], model)
        except ProtocolError as error:
            # Not this check's rule: the answers' shapes have one of their own.
            raise CouldNotRun(f"{step} was answered in another shape: {error}") from None
