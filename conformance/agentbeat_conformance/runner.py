"""Runs a plan: check after check against one probe, each to exactly one outcome, everything on record.

    run = await Runner(plan, subject, wire=SocketWire(url), secrets={"secret": secret}).run()
    run.verdict, run.results, run.transcript

The runner owns what a check must not think about: the record, the time that a check may take, the budget,
the secrets, and what happens when somebody ends the run. `begin`, `attempt` for each requirement and `end`
are the same in steps, for a caller that has a loop of its own.
"""

from __future__ import annotations

import asyncio
import secrets as random_secrets
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from typing import Final, TypeVar

from agentbeat_conformance.exchanges import Exchange
from agentbeat_conformance.executions import INTERRUPTED, Execution
from agentbeat_conformance.outcomes import Outcome, Result
from agentbeat_conformance.plans import BY_COMMAND, Plan
from agentbeat_conformance.requirements import SPECS, SUITE_VERSION, Capability, Requirement
from agentbeat_conformance.runs import Run
from agentbeat_conformance.sessions import Commands, Session, Wire
from agentbeat_conformance.subjects import probe_of
from agentbeat_conformance.transcript_records import Header, Subject, Transcript
from agentbeat_conformance.wires.concealment import ConcealingWire, Concealment
from agentbeat_conformance.wires.recording import Recorder, RecordingCommands, RecordingWire
from agentbeat_protocol import Instant

__all__ = ["CHECK_SECONDS", "Interruption", "Progress", "Runner", "new_seed"]

#: How long one check may take, in seconds: several invocations of a slow Agent.
CHECK_SECONDS: Final = 900.0

#: Called with a requirement when its check begins, and with its result when it has ended.
Progress = Callable[[Requirement, Result | None], None]

StepT = TypeVar("StepT")


def new_seed() -> str:
    """A seed that no session had."""
    return random_secrets.token_hex(5)


class Interruption:
    """A way to end a run early: what is shown by then is reported, the rest could not run."""

    def __init__(self) -> None:
        self._asked = asyncio.Event()

    def ask(self) -> None:
        """End the run; safe to call again, and from a signal handler of the loop."""
        self._asked.set()

    @property
    def asked(self) -> bool:
        """Whether the run is to end."""
        return self._asked.is_set()

    async def wait(self) -> None:
        """Come back when it is asked for."""
        await self._asked.wait()


class Runner:
    """One run of a plan against one endpoint.

    Args:
        plan: what to check.
        subject: whom the checks talk to; markers stand in the place of secrets.
        wire: carries the requests.
        secrets: the secrets by the names of their markers.
        commands: what restarts the server and writes to its environment, as far as the plan says so.
        seed: what all ids follow from; a new one by default.
        check_seconds: how long one check may take.
        pause: lets that many seconds go by; for a server in this process whose clock can be moved.
        progress: told of each check.
        interruption: ends the run early.

    Raises:
        ValueError: a secret cannot be concealed (see `Concealment`), or the subject's options are wrong.
    """

    def __init__(
        self,
        plan: Plan,
        subject: Subject,
        *,
        wire: Wire,
        secrets: Mapping[str, str] | None = None,
        commands: Commands | None = None,
        seed: str | None = None,
        check_seconds: float = CHECK_SECONDS,
        pause: Callable[[float], Awaitable[object]] = asyncio.sleep,
        progress: Progress | None = None,
        interruption: Interruption | None = None,
    ) -> None:
        self._plan = plan
        self._check_seconds = check_seconds
        self._progress = progress or (lambda _requirement, _result: None)
        self._interruption = interruption or Interruption()
        self._recorder = Recorder()
        concealing = ConcealingWire(wire, Concealment(secrets)) if secrets else wire
        has_commands = not plan.capabilities.isdisjoint(BY_COMMAND)
        self._session = Session(
            wire=RecordingWire(concealing, self._recorder),
            seed=seed or new_seed(),
            budget=plan.budget,
            safe=plan.safe,
            commands=RecordingCommands(commands, self._recorder) if commands and has_commands else None,
            pause=pause,
        )
        self._header = _header(plan, subject, self._session)
        self._execution = Execution(plan, probe_of(subject, self._session))
        self._timed_out: set[str] = set()
        self._interrupted: str | None = None

    @property
    def exchanges(self) -> tuple[Exchange, ...]:
        """All that was said so far, each at its index."""
        return tuple(self._session.exchanges)

    async def run(self) -> Run:
        """Check everything that is planned."""
        await self.begin()
        results = [await self.attempt(made) for made in self._plan.requirements]
        return self.end(results)

    async def begin(self) -> None:
        """See whether the endpoint can be reached, and what it shows of itself."""
        await self._bounded(self._execution.begin())

    async def attempt(self, made: Requirement) -> Result:
        """Check one requirement: exactly one outcome, whatever happens."""
        self._progress(made, None)
        result = self._execution.foregone(made)
        if result is None:
            result = await self._checked(made)
        self._progress(made, result)
        return result

    def end(self, results: Sequence[Result]) -> Run:
        """The finished run, of the results of all planned requirements in their order.

        Raises:
            ValueError: a planned requirement has no result, or another one has.
        """
        if [result.requirement for result in results] != list(self._plan.requirements):
            raise ValueError("got other results, expected one for each planned requirement, in order")
        transcript = Transcript(
            header=self._header,
            entries=self._recorder.entries,
            timed_out=frozenset(self._timed_out),
            interrupted=self._interrupted,
        )
        return self._execution.finished(results, transcript)

    async def _checked(self, made: Requirement) -> Result:
        result = None if self._interruption.asked else await self._bounded(self._execution.check(made))
        if result is not None:
            return result
        if self._interruption.asked:
            self._interrupted = self._interrupted or made.id
            return Result(requirement=made, outcome=Outcome.COULD_NOT_RUN, reason=INTERRUPTED)
        self._timed_out.add(made.id)
        return self._execution.timed_out(made)

    async def _bounded(self, step: Coroutine[object, object, StepT]) -> StepT | None:
        """What the step gives; None when it took too long or the run was interrupted."""
        doing = asyncio.create_task(step)
        ending = asyncio.create_task(self._interruption.wait())
        try:
            await asyncio.wait(
                {doing, ending}, timeout=self._check_seconds, return_when=asyncio.FIRST_COMPLETED
            )
            return doing.result() if doing.done() else None
        finally:
            doing.cancel()
            ending.cancel()
            await asyncio.gather(doing, ending, return_exceptions=True)


def _header(plan: Plan, subject: Subject, session: Session) -> Header:
    sockets = {Capability.SOCKET} if session.wire.has_sockets else set()
    return Header(
        suite_version=SUITE_VERSION,
        catalogue=plan.catalogue,
        catalogue_digest=plan.catalogue_digest,
        specs=SPECS,
        tier=plan.tier,
        subject=subject,
        seed=session.seed,
        planned=tuple(made.id for made in plan.requirements),
        left_out=tuple(made.id for made in plan.left_out),
        capabilities=plan.capabilities | sockets,
        budget=plan.budget,
        safe=plan.safe,
        started_at=str(Instant.now()),
    )
