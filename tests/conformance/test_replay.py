"""A recorded session over again: the same questions, the same answers, and nothing else."""

from __future__ import annotations

import asyncio

import pytest

from agentbeat_conformance.exchanges import Answer, Exchange, Failure, Request
from agentbeat_conformance.transcript_records import CommandEntry, ExchangeEntry
from agentbeat_conformance.wires import (
    Recorder,
    RecordingCommands,
    RecordingWire,
    Replay,
    ReplayCommands,
    ReplayError,
    ReplayWire,
    Stopped,
)

OK = Answer(status=200, fields=(), body=b"{}")
NO = Answer(status=401, fields=(), body=b"")


def request(target: str = "/", *, withhold: int = 0) -> Request:
    built = Request.build("GET", target, host="h")
    return Request(raw=built.raw, method="GET", target=target, fields=built.fields, withhold=withhold)


def entry(target: str, answer: Answer | None = OK, *, scope: str = "INV-1.a") -> ExchangeEntry:
    return ExchangeEntry(scope=scope, request=request(target), answer=answer)


def wire_of(*entries: ExchangeEntry | CommandEntry) -> ReplayWire:
    return ReplayWire(Replay(entries), has_sockets=False)


class Scripted:
    """A wire whose answers come when the test says so."""

    has_sockets = True

    def __init__(self) -> None:
        self.gates: dict[str, asyncio.Event] = {}

    async def exchange(self, request: Request, *, scope: str) -> Exchange:
        gate = self.gates.get(request.target)
        if gate is not None:
            await gate.wait()
        return Exchange(request=request, answer=Answer(status=200, fields=(), body=request.target.encode()))


async def test_the_same_question_gets_its_answers_in_their_order() -> None:
    wire = wire_of(entry("/a", OK), entry("/a", NO), entry("/b", OK, scope="control"))
    assert (await wire.exchange(request("/a"), scope="INV-1.a")).answer == OK
    assert (await wire.exchange(request("/b"), scope="control")).answer == OK
    assert (await wire.exchange(request("/a"), scope="INV-1.a")).answer == NO


async def test_failures_are_repeated_as_they_were() -> None:
    recorded = ExchangeEntry(scope="INV-1.a", request=request("/a"), failure=Failure.CUT)
    exchange = await wire_of(recorded).exchange(request("/a"), scope="INV-1.a")
    assert (exchange.answer, exchange.failure) == (None, Failure.CUT)


@pytest.mark.parametrize(
    ("asked", "scope"),
    [(request("/other"), "INV-1.a"), (request("/a", withhold=3), "INV-1.a"), (request("/a"), "INV-2.a")],
    ids=["another-request", "held-back", "another-check"],
)
async def test_another_question_is_an_error_and_takes_no_answer_away(asked: Request, scope: str) -> None:
    wire = wire_of(entry("/a"))
    with pytest.raises(ReplayError, match=scope):
        await wire.exchange(asked, scope=scope)
    assert (await wire.exchange(request("/a"), scope="INV-1.a")).answer == OK


async def test_the_same_question_once_more_than_recorded_is_an_error() -> None:
    wire = wire_of(entry("/a"))
    await wire.exchange(request("/a"), scope="INV-1.a")
    with pytest.raises(ReplayError, match="once more"):
        await wire.exchange(request("/a"), scope="INV-1.a")


async def test_where_nobody_waited_any_longer_the_check_stops() -> None:
    with pytest.raises(Stopped):
        await wire_of(entry("/a", None)).exchange(request("/a"), scope="INV-1.a")
    assert not issubclass(Stopped, Exception)


async def test_commands_end_as_they_did() -> None:
    written = CommandEntry(scope="CTL-3.b", command="write", run_id="run-1", canary="tea", done=True)
    commands = ReplayCommands(
        Replay(
            [
                CommandEntry(scope="CTL-3.b", command="restart", done=False),
                written,
                CommandEntry(scope="CTL-3.b", command="restart"),
            ]
        )
    )
    with pytest.raises(ReplayError, match="write command"):
        await commands.write("coffee", run_id="run-1", scope="CTL-3.b")
    assert not await commands.restart(scope="CTL-3.b")
    assert await commands.write("tea", run_id="run-1", scope="CTL-3.b")
    with pytest.raises(Stopped):
        await commands.restart(scope="CTL-3.b")
    with pytest.raises(ReplayError):
        await commands.restart(scope="CTL-3.b")


# --- Recording


async def test_exchanges_are_recorded_in_the_order_in_which_they_began() -> None:
    inner, recorder = Scripted(), Recorder()
    inner.gates["/slow"] = asyncio.Event()
    wire = RecordingWire(inner, recorder)
    slow = asyncio.create_task(wire.exchange(request("/slow"), scope="INV-4.f"))
    await asyncio.sleep(0)
    await wire.exchange(request("/quick"), scope="INV-4.f")
    inner.gates["/slow"].set()
    await slow
    assert [
        (e.request.target, e.answer and e.answer.body)
        for e in recorder.entries
        if isinstance(e, ExchangeEntry)
    ] == [
        ("/slow", b"/slow"),
        ("/quick", b"/quick"),
    ]
    assert wire.has_sockets


async def test_an_exchange_that_was_given_up_is_on_record_without_an_end() -> None:
    inner, recorder = Scripted(), Recorder()
    inner.gates["/slow"] = asyncio.Event()
    waiting = asyncio.create_task(RecordingWire(inner, recorder).exchange(request("/slow"), scope="INV-4.f"))
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    [recorded] = recorder.entries
    assert recorded.stopped


async def test_side_by_side_requests_are_answered_alike_in_whatever_order_they_are_asked_again() -> None:
    inner, recorder = Scripted(), Recorder()
    wire = RecordingWire(inner, recorder)
    await asyncio.gather(*(wire.exchange(request(path), scope="INV-4.f") for path in ("/a", "/b", "/c")))
    again = ReplayWire(Replay(recorder.entries), has_sockets=True)
    for path in ("/c", "/a", "/b"):
        exchange = await again.exchange(request(path), scope="INV-4.f")
        assert exchange.answer is not None
        assert exchange.answer.body == path.encode()


async def test_commands_are_recorded_with_their_end() -> None:
    class Once:
        def __init__(self) -> None:
            self.told: list[str] = []

        async def restart(self, *, scope: str) -> bool:
            return not self.told

        async def write(self, canary: str, *, run_id: str, scope: str) -> bool:
            self.told.append(canary)
            return True

    recorder = Recorder()
    commands = RecordingCommands(Once(), recorder)
    assert await commands.restart(scope="a")
    assert await commands.write("tea", run_id="run-1", scope="b")
    assert not await commands.restart(scope="c")
    assert recorder.entries == (
        CommandEntry(scope="a", command="restart", done=True),
        CommandEntry(scope="b", command="write", run_id="run-1", canary="tea", done=True),
        CommandEntry(scope="c", command="restart", done=False),
    )
