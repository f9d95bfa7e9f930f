"""Tools record their calls in the current run, and are otherwise the functions that they were."""

from __future__ import annotations

import asyncio
import contextvars
import functools
import gc
import inspect
import json
import threading
import warnings
from collections.abc import Callable, Coroutine, Iterator
from concurrent import futures
from typing import Any, assert_type

import pytest

from agentbeat_protocol import Instant, read_evidence
from agentbeat_sdk.recorder import EvidenceRecorder
from agentbeat_sdk.redaction import MARK, Redactor
from agentbeat_sdk.runs import Run, activate, current_run
from agentbeat_sdk.tools import tool


def new_run(run_id: str = "run-a") -> Run:
    record = EvidenceRecorder(run_id, "case-a", source="desk", redactor=Redactor(), clock=Instant.now)
    return Run(run_id, "case-a", "do it", {}, record)


@pytest.fixture
def run() -> Iterator[Run]:
    run = new_run()
    with activate(run):
        yield run


def recorded(run: Run) -> list[dict[str, Any]]:
    """The data of the events before the final message."""
    raw = run.record.complete("done")
    read_evidence(raw, run_id=run.run_id, case_id="case-a")
    return [event["data"] for event in json.loads(raw)["events"]][:-1]


def calls(run: Run) -> list[Any]:
    """Each call as (name, arguments, result, error)."""
    found: dict[str, list[Any]] = {}
    for data in recorded(run):
        if "arguments" in data:
            found[data["call_id"]] = [data["name"], data["arguments"], "(open)", None]
        elif "is_error" in data:
            found[data["call_id"]][2] = data["result"]
            found[data["call_id"]][3] = data.get("error")
            assert data["is_error"] == ("error" in data)
    return [tuple(call) for call in found.values()]


class TestCalls:
    """What is recorded."""

    def test_a_call_and_its_result_are_recorded(self, run: Run) -> None:
        @tool
        def search(query: str, limit: int = 10) -> list[str]:
            return [query] * limit

        assert search("refund", limit=2) == ["refund", "refund"]
        assert calls(run) == [("search", {"query": "refund", "limit": 2}, ["refund", "refund"], None)]

    def test_outside_of_a_run_it_is_only_called(self) -> None:
        @tool
        def search(query: str) -> str:
            return query

        assert current_run() is None
        assert search("refund") == "refund"

    def test_an_exception_is_recorded_and_raised_as_it_was(self, run: Run) -> None:
        error = ValueError("no such ticket")

        @tool
        def close(ticket: str) -> None:
            raise error

        with pytest.raises(ValueError, match="no such ticket") as caught:
            close("T-1")
        assert caught.value is error
        shown = recorded(run)
        assert shown[1]["is_error"] is True
        assert shown[1]["result"] is None
        assert shown[1]["status"] == "error"
        assert shown[1]["error"] == {"type": "ValueError", "message": "no such ticket"}

    @pytest.mark.parametrize("stop", [KeyboardInterrupt, SystemExit, GeneratorExit])
    def test_so_is_what_is_no_exception(self, run: Run, stop: type[BaseException]) -> None:
        @tool
        def work() -> None:
            raise stop

        with pytest.raises(stop):
            work()
        assert calls(run)[0][3] == {"type": stop.__name__, "message": ""}

    async def test_an_async_tool_is_recorded_when_it_has_returned(self, run: Run) -> None:
        @tool
        async def fetch(url: str) -> str:
            await asyncio.sleep(0)
            return url.upper()

        pending = fetch("a")
        assert run.record.recorded == {}, "nothing is called before it is awaited"
        assert await pending == "A"
        assert calls(run) == [("fetch", {"url": "a"}, "A", None)]

    async def test_a_cancelled_tool_gets_its_error_result(self, run: Run) -> None:
        started = asyncio.Event()

        @tool
        async def wait() -> None:
            started.set()
            await asyncio.Event().wait()

        task = asyncio.create_task(wait())
        await started.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        shown = recorded(run)
        assert shown[1]["status"] == "cancelled"
        assert shown[1]["error"]["type"] == "CancelledError"

    async def test_a_tool_that_never_returns_stays_unanswered_and_is_named(self, run: Run) -> None:
        @tool
        async def wait() -> None:
            await asyncio.Event().wait()

        task = asyncio.create_task(wait())
        await asyncio.sleep(0)
        shown = recorded(run)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        assert shown[0]["name"] == "wait"
        assert shown[1:] == [
            {"name": "tool.unfinished", "attributes": {"calls": [{"call_id": "call-1", "name": "wait"}]}}
        ]
        assert run.record.late == {"tool.result": 1}

    async def test_parallel_calls_interleave_and_keep_their_results(self, run: Run) -> None:
        @tool
        async def fetch(number: int) -> int:
            await asyncio.sleep(0.001 * (5 - number))
            return number

        assert await asyncio.gather(*map(fetch, range(5))) == list(range(5))
        shown = calls(run)
        assert [call[1]["number"] for call in shown] == [call[2] for call in shown] == list(range(5))

    def test_tools_that_call_tools_are_both_recorded(self, run: Run) -> None:
        @tool
        def inner(number: int) -> int:
            return number + 1

        @tool
        def outer(number: int) -> int:
            return inner(number) * 2

        assert outer(1) == 4
        assert calls(run) == [("outer", {"number": 1}, 4, None), ("inner", {"number": 1}, 2, None)]

    def test_arguments_are_taken_before_the_function_changes_them(self, run: Run) -> None:
        @tool
        def empty(basket: list[str]) -> list[str]:
            basket.clear()
            return basket

        basket = ["a"]
        assert empty(basket) is basket
        basket.append("later")
        assert calls(run) == [("empty", {"basket": ["a"]}, [], None)]

    def test_two_runs_do_not_mix(self) -> None:
        @tool
        def work(number: int) -> int:
            return number

        first, second = new_run("run-a"), new_run("run-b")
        with activate(first):
            work(1)
            with activate(second):
                work(2)
            work(3)
        assert [call[2] for call in calls(first)] == [1, 3]
        assert [call[2] for call in calls(second)] == [2]

    async def test_a_thread_of_asyncio_knows_the_run_and_another_one_enters_it(self, run: Run) -> None:
        @tool
        def work(where: str) -> str:
            return where

        await asyncio.to_thread(work, "asyncio")

        def enter() -> None:
            work("not recorded")
            with activate(run):
                work("entered")

        thread = threading.Thread(target=contextvars.Context().run, args=(enter,))
        thread.start()
        thread.join()
        assert [call[2] for call in calls(run)] == ["asyncio", "entered"]

    def test_a_recorder_at_its_bound_does_not_disturb_a_tool(self, run: Run) -> None:
        @tool
        def work(number: int) -> int:
            if number % 2:
                raise ValueError("odd")
            return number

        run.record.complete("done")
        assert work(2) == 2
        with pytest.raises(ValueError, match="odd"):
            work(1)
        assert run.record.late == {"tool.call": 2, "tool.result": 2}


class TestArguments:
    """Arguments by name."""

    def test_every_kind_of_parameter(self, run: Run) -> None:
        @tool
        def work(a: int, /, b: int, *more: int, c: int = 3, **fields: int) -> None: ...

        work(1, 2, 4, 5, c=6, d=7)
        work(1, b=2)
        assert [call[1] for call in calls(run)] == [
            {"a": 1, "b": 2, "more": [4, 5], "c": 6, "d": 7},
            {"a": 1, "b": 2},
        ]

    def test_keywords_that_share_a_name_with_a_parameter_stand_apart(self, run: Run) -> None:
        @tool
        def work(a: int, /, **fields: int) -> None: ...

        work(1, **{"a": 2})
        assert calls(run)[0][1] == {"a": 1, "fields": {"a": 2}}

    def test_a_call_that_does_not_fit_is_recorded_and_raises_what_the_function_raises(self, run: Run) -> None:
        @tool
        def work(a: int) -> None: ...

        with pytest.raises(TypeError, match="unexpected keyword"):
            work(1, b=2)  # type: ignore[call-arg]
        name, arguments, result, error = calls(run)[0]
        assert (name, arguments, result) == ("work", {"args": [1], "kwargs": {"b": 2}}, None)
        assert error["type"] == "TypeError"

    async def test_an_async_call_that_does_not_fit_too(self, run: Run) -> None:
        @tool
        async def work(a: int) -> None: ...

        with pytest.raises(TypeError, match="missing"):
            await work()  # type: ignore[call-arg]
        assert calls(run)[0][3]["type"] == "TypeError"

    def test_any_object_may_be_an_argument_or_a_result(self, run: Run) -> None:
        class Broken:
            def __repr__(self) -> str:
                raise RuntimeError

        @tool
        def work(*items: object) -> object:
            return items[0]

        broken = Broken()
        generator = (number for number in range(3))
        assert work(broken, generator) is broken
        assert work(generator) is generator
        assert list(generator) == [0, 1, 2]
        assert [call[2] for call in calls(run)] == ["… unreadable", "<builtins.generator>"]


class Desk:
    """A class whose methods are tools."""

    def __init__(self, name: str) -> None:
        self.name = name

    @tool
    def plain(self, number: int) -> str:
        """Docs."""
        return f"{self.name}{number}"

    @tool
    async def later(self, number: int) -> str:
        return f"{self.name}{number}"

    @classmethod
    @tool
    def inner_class(cls, number: int) -> str:
        return f"{cls.__name__}{number}"

    @tool
    @classmethod
    def outer_class(cls, number: int) -> str:
        return f"{cls.__name__}{number}"

    @staticmethod
    @tool
    def inner_static(number: int) -> int:
        return number

    @tool(name="static")
    @staticmethod
    def outer_static(number: int) -> int:
        return number

    def __call__(self, number: int) -> int:
        return number


class Later:
    async def __call__(self, number: int) -> int:
        return number


class TestKinds:
    """Which functions can be tools."""

    async def test_methods_of_every_kind_leave_out_self_and_cls(self, run: Run) -> None:
        desk = Desk("d")
        assert desk.plain(1) == "d1"
        assert Desk.plain(desk, number=2) == "d2"
        assert await desk.later(3) == "d3"
        assert Desk.inner_class(4) == desk.outer_class(4) == "Desk4"
        assert Desk.inner_static(5) == desk.outer_static(5) == 5
        shown = calls(run)
        assert [call[0] for call in shown] == [
            "plain",
            "plain",
            "later",
            "inner_class",
            "outer_class",
            "inner_static",
            "static",
        ]
        assert all(list(call[1]) == ["number"] for call in shown)

    async def test_callable_objects_partials_and_builtins(self, run: Run) -> None:
        desk = Desk("d")
        assert tool(name="object")(desk)(1) == 1
        assert await tool(name="later")(Later())(2) == 2
        assert tool(name="partial")(functools.partial(desk.plain.__wrapped__, desk))(3) == "d3"  # type: ignore[attr-defined]
        assert tool(desk.plain.__wrapped__.__get__(desk))(4) == "d4"  # type: ignore[attr-defined]
        assert tool(max)(1, 5) == 5
        assert tool(len)([1]) == 1
        shown = calls(run)
        assert [call[0] for call in shown] == ["object", "later", "partial", "plain", "max", "len"]
        assert [call[2] for call in shown] == [1, 2, "d3", "d4", 5, 1]
        assert shown[4][1] == {"args": [1, 5], "kwargs": {}}

    def test_an_object_without_a_name_is_called_by_its_type(self, run: Run) -> None:
        tool(Desk("d"))(1)
        assert calls(run)[0][0] == "Desk"

    async def test_a_plain_function_that_returns_a_coroutine_is_recorded_when_that_is_done(
        self, run: Run
    ) -> None:
        async def fetch(number: int) -> int:
            if number < 0:
                raise ValueError("negative")
            return number

        @tool
        def start(number: int) -> Coroutine[Any, Any, int]:
            return fetch(number)

        assert await start(1) == 1
        with pytest.raises(ValueError, match="negative"):
            await start(-1)
        assert [call[2] for call in calls(run)] == [1, None]

    async def test_so_is_one_that_returns_a_task(self, run: Run) -> None:
        async def fetch(number: int) -> int:
            await asyncio.sleep(0)
            if number < 0:
                raise ValueError("negative")
            return number

        @tool
        def start(number: int) -> asyncio.Task[int]:
            return asyncio.create_task(fetch(number))

        tasks = [start(1), start(-1), start(3)]
        tasks[2].cancel()
        assert run.record.recorded == {"tool.call": 3}
        await asyncio.wait(tasks)
        await asyncio.sleep(0)
        shown = recorded(run)
        assert {data["call_id"]: data.get("status") for data in shown if "is_error" in data} == {
            "call-1": None,
            "call-2": "error",
            "call-3": "cancelled",
        }

    def test_and_one_that_returns_a_future_of_a_pool(self, run: Run) -> None:
        with futures.ThreadPoolExecutor(1) as pool:

            @tool
            def start(number: int) -> futures.Future[int]:
                return pool.submit(lambda: number)

            assert start(4).result() == 4
        assert calls(run) == [("start", {"number": 4}, 4, None)]

    @pytest.mark.parametrize("asynchronous", [False, True])
    def test_a_generator_function_is_refused(self, asynchronous: bool) -> None:
        def sync() -> Iterator[int]:
            yield 1

        async def later() -> Any:
            yield 1

        function: Any = later if asynchronous else sync
        for refused in (function, functools.partial(function)):
            with pytest.raises(TypeError, match="generator"):
                tool(name="x")(refused)

    @pytest.mark.parametrize("thing", [Desk, 5, None, "name"], ids=["class", "number", "nothing", "text"])
    def test_what_is_no_function_is_refused(self, thing: Any) -> None:
        with pytest.raises(TypeError, match="function"):
            tool(name="x")(thing)

    @pytest.mark.parametrize("name", ["", "x" * 257, 5])
    def test_a_name_has_1_to_256_characters(self, name: Any) -> None:
        with pytest.raises(ValueError, match="name"):
            tool(name=name)(len)
        assert tool(name="x" * 256)(len)([1]) == 1

    def test_a_coroutine_that_nobody_awaits_is_left_alone(self, run: Run) -> None:
        @tool
        async def fetch() -> None: ...

        with warnings.catch_warnings(record=True):
            warnings.simplefilter("always")
            pending = fetch()
            del pending
            gc.collect()
        assert run.record.recorded == {}


class TestLook:
    """A tool looks like its function."""

    def test_name_signature_docs_and_kind_are_kept(self) -> None:
        @tool(name="other")
        def search(query: str, limit: int = 10) -> list[str]:
            """Find tickets."""
            return []

        @tool
        async def fetch() -> None: ...

        assert (search.__name__, search.__doc__) == ("search", "Find tickets.")
        assert list(inspect.signature(search).parameters) == ["query", "limit"]
        assert search.__annotations__["query"] == "str"
        assert inspect.iscoroutinefunction(fetch)
        assert not inspect.iscoroutinefunction(search)

    def test_types_are_kept(self) -> None:
        """Checked by mypy; at run time it shows that both forms give a function back."""

        @tool
        def bare(query: str) -> int:
            return len(query)

        @tool(name="x", redact=["query"])
        async def with_options(query: str) -> int:
            return len(query)

        assert_type(bare("ab"), int)
        checked: Callable[[str], Coroutine[Any, Any, int]] = with_options
        assert asyncio.run(checked("ab")) == bare("ab") == 2

    def test_decorating_twice_records_once_and_new_options_count(self, run: Run) -> None:
        @tool
        def work(number: int) -> int:
            return number

        assert tool(work) is work
        assert tool(name="renamed", redact="number")(work)(5) == 5
        desk = Desk("d")
        assert tool(name="bound")(desk.plain)(1) == "d1"
        assert calls(run) == [("renamed", {"number": MARK}, 5, None), ("bound", {"number": 1}, "d1", None)]

    def test_a_decorator_between_two_tools_is_kept(self, run: Run) -> None:
        @tool
        def work(number: int) -> int:
            return number

        @functools.wraps(work)
        def twice(number: int) -> int:
            return work(number) * 2

        assert tool(twice)(2) == 4
        assert tool(name="outer")(twice)(3) == 6
        assert [call[0] for call in calls(run)] == ["work", "outer", "work"]


class TestRedact:
    """What is kept out of the evidence by hand."""

    def test_named_arguments_and_the_result_are_hidden(self, run: Run) -> None:
        @tool(redact=["card", "return"])
        def charge(card: str, amount: int) -> str:
            return f"receipt for {card}"

        assert charge("4111-1111", 5) == "receipt for 4111-1111"
        assert calls(run) == [("charge", {"card": MARK, "amount": 5}, MARK, None)]

    def test_a_hidden_text_is_hidden_in_the_whole_call(self, run: Run) -> None:
        @tool(redact="card")
        def charge(card: list[object], note: str) -> str:
            if note.startswith("fail"):
                raise ValueError(f"declined: {card}")
            return f"charged {card[0]}"

        charge(["4111-1111", 987654], "with 4111-1111")
        with pytest.raises(ValueError, match="4111-1111"):
            charge(["4111-1111", {"cvc": 987654}], "fail 987654")
        first, second = calls(run)
        assert first == ("charge", {"card": MARK, "note": f"with {MARK}"}, f"charged {MARK}", None)
        assert second[1] == {"card": MARK, "note": f"fail {MARK}"}
        assert "4111" not in second[3]["message"]
        assert "987654" not in second[3]["message"]

    def test_a_short_hidden_text_does_not_take_others_with_it(self, run: Run) -> None:
        @tool(redact=["answer"])
        def vote(answer: str) -> str:
            return "yesterday"

        vote("yes")
        assert calls(run)[0][1:3] == ({"answer": MARK}, "yesterday")

    def test_a_function_chooses_what_is_recorded(self, run: Run) -> None:
        def shown(name: str, value: Any) -> Any:
            return f"…{value[-4:]}" if name == "card" else f"({value})" if name == "return" else value

        @tool(redact=shown)
        def charge(card: str, note: str) -> str:
            return f"paid with {card}"

        charge("4111-2222", "for 4111-2222")
        assert calls(run) == [
            ("charge", {"card": "…2222", "note": f"for {MARK}"}, f"(paid with {MARK})", None)
        ]

    def test_a_function_that_raises_hides_all_and_the_tool_goes_on(self, run: Run) -> None:
        @tool(redact=lambda name, value: value[100])
        def charge(card: str) -> str:
            return f"paid with {card}"

        assert charge("4111-2222") == "paid with 4111-2222"
        assert calls(run) == [("charge", {"card": MARK}, MARK, None)]

    def test_keywords_of_a_function_that_takes_any_can_be_hidden(self, run: Run) -> None:
        @tool(redact=["pin"])
        def login(**fields: str) -> None: ...

        login(user="ada", pin="2718")
        assert calls(run)[0][1] == {"user": "ada", "pin": MARK}

    def test_a_call_that_does_not_fit_hides_everything(self, run: Run) -> None:
        @tool(redact=["card"])
        def charge(card: str) -> None: ...

        with pytest.raises(TypeError):
            charge("4111", "2222")  # type: ignore[call-arg]
        assert calls(run)[0][1] == {"args": MARK, "kwargs": MARK}

    def test_secrets_by_name_are_hidden_without_being_told(self, run: Run) -> None:
        @tool
        def login(user: str, password: str) -> dict[str, str]:
            return {"session_token": "s-1", "user": user}

        login("ada", password="hunter2")
        assert calls(run) == [
            ("login", {"user": "ada", "password": MARK}, {"session_token": MARK, "user": "ada"}, None)
        ]

    @pytest.mark.parametrize(
        "redact", [["cart"], "cart", iter(["card", "cart"])], ids=["list", "text", "iterator"]
    )
    def test_a_name_that_is_no_parameter_is_refused(self, redact: Any) -> None:
        def charge(card: str) -> None: ...

        with pytest.raises(TypeError, match="'cart'"):
            tool(redact=redact)(charge)

    def test_names_need_a_function_that_tells_its_parameters(self) -> None:
        with pytest.raises(TypeError, match="parameters"):
            tool(redact=["a"])(max)
        assert tool(redact=["return"])(max)(1, 2) == 2
