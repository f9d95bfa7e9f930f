"""What an Agent's author sees of a Target."""

from __future__ import annotations

import asyncio
import contextvars
import functools
import re
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

import agentbeat_sdk
from agentbeat_sdk import (
    Completion,
    MemoryStore,
    Run,
    Target,
    current_run,
)
from agentbeat_sdk.target import default_store_path
from support.targets import SECRET, echo, make_target


class TestMaking:
    """The arguments."""

    def test_a_target_without_a_secret_is_made_on_purpose_only(self) -> None:
        with pytest.raises(TypeError, match="token=None"):
            Target("desk")
        assert Target("desk", token=None).settings.token is None

    def test_the_secret_comes_from_the_environment(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("DESK_TOKEN", "from-the-environment")
        assert Target("desk", token_env="DESK_TOKEN").settings.token == "from-the-environment"

    @pytest.mark.parametrize("value", [None, ""], ids=["not set", "empty"])
    def test_an_empty_variable_makes_no_open_target(
        self, monkeypatch: pytest.MonkeyPatch, value: str | None
    ) -> None:
        monkeypatch.delenv("DESK_TOKEN", raising=False)
        if value is not None:
            monkeypatch.setenv("DESK_TOKEN", value)
        with pytest.raises(ValueError, match="DESK_TOKEN is not set"):
            Target("desk", token_env="DESK_TOKEN")

    def test_one_secret_is_enough(self) -> None:
        with pytest.raises(TypeError, match="not both"):
            Target("desk", token=SECRET, token_env="DESK_TOKEN")

    @pytest.mark.parametrize(
        "token", ["", "two words", "tab\tinside", "line\n", "café", "x" * 4_097, 7, b"bytes"], ids=repr
    )
    def test_a_secret_that_no_header_carries_is_refused_and_not_shown(self, token: Any) -> None:
        with pytest.raises(ValueError, match="visible ASCII") as caught:
            Target("desk", token=token)
        assert str(token) not in str(caught.value) or token == ""

    @pytest.mark.parametrize("target_id", ["", "a\nb", "x" * 257, "\ud800", None], ids=repr)
    def test_a_target_id_off_its_pattern_is_refused(self, target_id: Any) -> None:
        with pytest.raises(ValueError, match="target_id"):
            Target(target_id, token=SECRET)

    @pytest.mark.parametrize("tier", ["L3", "l2", None], ids=repr)
    def test_there_are_two_tiers(self, tier: Any) -> None:
        with pytest.raises(ValueError, match="expected 'L1' or 'L2'"):
            Target("desk", token=SECRET, tier=tier)

    def test_what_it_prints_of_itself_holds_no_secret(self) -> None:
        target = Target("desk", token=SECRET, secrets=["model-key-1"])
        shown = repr(target) + repr(target.settings)
        assert SECRET not in shown
        assert "model-key-1" not in shown

    @pytest.mark.parametrize(("token", "offers"), [(SECRET, "L2"), (None, "L2, open to anybody")])
    def test_when_it_serves_it_says_where_and_to_whom(
        self, capsys: pytest.CaptureFixture[str], token: str | None, offers: str
    ) -> None:
        make_target(echo, token=token)._announce("http://127.0.0.1:8080")
        printed = capsys.readouterr()
        assert printed.out == ""
        assert printed.err == (
            f"target desk ({offers}) listens on http://127.0.0.1:8080;"
            " runs are kept in memory, forgotten with this process\n"
        )

    def test_it_has_one_agent(self) -> None:
        target = make_target(echo)
        with pytest.raises(RuntimeError, match="an Agent already"):
            target.invoke(echo)

    def test_an_agent_is_something_to_call(self) -> None:
        with pytest.raises(TypeError, match="got str"):
            Target("desk", token=SECRET).invoke("echo")  # type: ignore[type-var]

    async def test_without_an_agent_nothing_begins_and_nothing_is_claimed(self) -> None:
        store = MemoryStore()
        target = Target("desk", token=SECRET, store=store)
        with pytest.raises(RuntimeError, match=r"@target\.invoke"):
            target.run(port=0)
        result = await target.test_client(store=store).invoke("hello", run_id="run-none")
        assert (result.status, result.error_code) == (500, "internal_error")
        assert not store.is_claimed("run-none")

    def test_the_decorators_give_the_functions_back(self) -> None:
        assert Target("desk", token=SECRET).invoke(echo) is echo


class TestDefaultStore:
    """A Target that was given no store."""

    @pytest.mark.parametrize(
        ("target_id", "name"),
        [
            ("support-desk", r"agentbeat-support-desk\.sqlite3"),
            ("Support Desk!", r"agentbeat-support-desk-[0-9a-f]{8}\.sqlite3"),
            ("../../etc/passwd", r"agentbeat-etc-passwd-[0-9a-f]{8}\.sqlite3"),
            ("日本", r"agentbeat-[0-9a-f]{8}\.sqlite3"),
            ("x" * 256, r"agentbeat-x{48}-[0-9a-f]{8}\.sqlite3"),
        ],
    )
    def test_has_a_file_of_its_own_in_the_working_directory(self, target_id: str, name: str) -> None:
        assert re.fullmatch(name, str(default_store_path(target_id)))

    def test_ids_that_look_alike_share_no_file(self) -> None:
        ids = ["a-b", "a.b", "a b", "A-B", "a-b" + "x" * 60, "a-b" + "x" * 61]
        assert len({default_store_path(target_id) for target_id in ids}) == len(ids)

    def test_is_made_when_the_target_serves_and_not_before(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(tmp_path)
        target = Target("desk", token=SECRET)
        target.invoke(echo)
        assert target.test_client().invoke_sync("hello").status == 200
        assert list(tmp_path.iterdir()) == []
        target.app.open()
        assert (tmp_path / "agentbeat-desk.sqlite3").exists()
        target.app.close()


class CallableAgent:
    async def __call__(self, run: Run) -> str:
        return echo(run)


async def async_echo(run: Run) -> str:
    await asyncio.sleep(0)
    return echo(run)


def hidden_coroutine(run: Run) -> Any:
    return async_echo(run)


@functools.wraps(async_echo)
def wrapped_with_its_own_loop(run: Run) -> Any:
    return asyncio.run(async_echo(run))


@pytest.mark.parametrize(
    "handler",
    [
        pytest.param(echo, id="a function"),
        pytest.param(async_echo, id="a coroutine function"),
        pytest.param(lambda run: echo(run), id="a lambda"),
        pytest.param(functools.partial(async_echo), id="a partial"),
        pytest.param(CallableAgent(), id="an object"),
        pytest.param(hidden_coroutine, id="a function that gives a coroutine"),
        pytest.param(wrapped_with_its_own_loop, id="a wrapper with a loop of its own"),
        pytest.param(lambda run: Completion(echo(run)), id="a completion"),
    ],
)
async def test_an_agent_may_be(handler: Any) -> None:
    result = await make_target(handler).test_client().invoke("hello", case_id="case-a")
    assert result.final_response == "done: hello"
    assert result.response is not None
    assert result.response.case_id == "case-a"


async def test_the_agent_gets_the_invocation() -> None:
    seen: list[Run] = []

    async def handler(run: Run) -> str:
        assert current_run() is run
        seen.append(run)
        return "done"

    await (
        make_target(handler)
        .test_client()
        .invoke("hello", run_id="run-a", case_id="case-a", metadata={"note": [1, None]})
    )
    (run,) = seen
    assert (run.run_id, run.case_id, run.text, run.metadata) == (
        "run-a",
        "case-a",
        "hello",
        {"note": [1, None]},
    )
    assert run.headers()["X-AIBeat-Run-ID"] == "run-a"
    assert current_run() is None


async def test_a_sync_agent_runs_in_a_thread_with_its_context() -> None:
    variable: contextvars.ContextVar[str] = contextvars.ContextVar("variable", default="unset")
    seen: list[Any] = []

    def handler(run: Run) -> str:
        seen.append(
            (threading.current_thread() is threading.main_thread(), variable.get(), current_run() is run)
        )
        variable.set("of the agent")
        return "done"

    variable.set("of the caller")
    assert (await make_target(handler).test_client().invoke("hello")).status == 200
    assert seen == [(False, "of the caller", True)]
    assert variable.get() == "of the caller"


@pytest.mark.parametrize("kind", ["sync", "async"])
async def test_the_tools_of_a_target_are_recorded_in_the_run_that_calls_them(kind: str) -> None:
    target = Target("desk", token=SECRET, tier="L2", store=MemoryStore())

    @target.tool
    def look_up(order: str) -> str:
        return f"{order}: shipped"

    if kind == "sync":
        target.invoke(lambda run: look_up(run.text))
    else:

        @target.invoke
        async def answer(run: Run) -> str:
            return look_up(run.text)

    client = target.test_client()
    results = await asyncio.gather(client.invoke("A-1"), client.invoke("A-2"))
    for result, order in zip(results, ("A-1", "A-2"), strict=True):
        assert result.evidence is not None
        call, outcome, message = (event.data for event in result.evidence.events)
        assert (call.name, call.arguments) == ("look_up", {"order": order})
        assert (outcome.result, message.text) == (f"{order}: shipped", f"{order}: shipped")


async def test_sync_agents_do_not_hold_up_each_other_or_the_server() -> None:
    both = threading.Barrier(2, timeout=5)

    def handler(run: Run) -> str:
        both.wait()
        return "done"

    client = make_target(handler).test_client()
    results = await asyncio.gather(client.invoke("a"), client.invoke("b"))
    assert [result.status for result in results] == [200, 200]


def test_the_client_works_without_an_event_loop_and_without_httpx(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "httpx", None)
    result = make_target(echo).test_client().invoke_sync("hello")
    assert result.final_response == "done: hello"
    assert result.evidence is not None
    assert [event.type for event in result.evidence.events] == ["message"]


def test_the_public_names_are_these() -> None:
    assert sorted(agentbeat_sdk.__all__) == agentbeat_sdk.__all__
    for name in agentbeat_sdk.__all__:
        assert getattr(agentbeat_sdk, name).__module__.startswith("agentbeat_sdk.")
