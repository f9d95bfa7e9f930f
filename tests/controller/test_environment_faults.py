"""What an environment's code raises or gives that is no answer: both planes go on, and the log says so."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from pydantic import RootModel
from starlette.responses import JSONResponse

from agentbeat_controller.environments import calls
from agentbeat_controller.environments.containment import EnvironmentExitError, contained
from agentbeat_controller.environments.custom.tools import Declined, ToolAnswer
from agentbeat_controller.environments.operations import Operation
from agentbeat_controller.environments.plane import business_plane
from support.controllers import BUSINESS_SECRETS, Rig, Run, code_of
from support.ledger import Ledger, write
from support.mcp_clients import MODES, over_mcp, refused_code
from support.postgres import both_databases
from support.staging import Till, call, paid, run_of, staged_rig, unleased


class OwnError(BaseException):
    """No `Exception`, and nothing that Python knows."""


def raising(error):
    def fault(*_, **__):
        raise error

    return fault


def endless():
    found = []
    found.append(found)
    return found


def nested(levels):
    return [nested(levels - 1)] if levels else []


def declined(message):
    raise Declined(message)


#: What ends a thread, a process or a coroutine where nobody looks.
ENDS = {
    "SystemExit": SystemExit(3),
    "KeyboardInterrupt": KeyboardInterrupt(),
    "GeneratorExit": GeneratorExit(),
    "StopIteration": StopIteration(),
    "an error of its own": OwnError("secret of the inside"),
}
#: What JSON has no form for.
NO_JSON = {
    "no number": float("nan"),
    "an infinity in a list": [1, float("inf")],
    "half a character": "\ud800",
    "half a character in a name": {"\ud800": 1},
    "a list in itself": endless(),
    "an object": object(),
    "too deep": nested(400),
}

FAULTS = {
    **{name: raising(error) for name, error in ENDS.items()},
    **{name: lambda value=value: value for name, value in NO_JSON.items()},
    "it declines with half a character": lambda: declined("\ud800"),
    "it declines without words": lambda: declined(None),
}
ends = pytest.mark.parametrize("error", ENDS.values(), ids=ENDS)


class OddTill(Till):
    """A till whose tool `odd` pays somebody, and then does what the test says."""

    fault = None

    def tools(self):
        return [*super().tools(), self.odd]

    def odd(self, place: str, to: str) -> object:
        """Pay 10 to somebody, oddly."""
        self.pay(place, to, 10)
        return self.fault()


@pytest.fixture
def till():
    return OddTill()


@pytest.fixture
def staged(database, till):
    with staged_rig(database, till) as rig:
        yield rig


# Tools


@both_databases
@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
async def test_a_tool_that_gives_no_answer_is_refused_and_logged_alike_over_http_and_mcp(
    staged, till, fault, caplog
):
    """One line says 500 for each call, no absence is concluded, and the next call is answered."""
    run = run_of(staged)
    await run.through("reset", "before")
    till.fault = fault
    over_http = await call(staged, "odd", to="ada")
    assert code_of(over_http) == (500, "internal_error")
    secret = BUSINESS_SECRETS["deployment-a"]
    async with over_mcp(staged.business_app, secret=secret, run_id="run-a") as client:
        result = await client.call_tool("odd", {"to": "bob"})
        assert refused_code(result) == "internal_error"
        assert (await client.call_tool("look", {})).structured_content == {"note": ""}
    assert "secret" not in over_http.text + result.content[0].text
    assert "Traceback" in caplog.text
    state, words = await paid(staged, run)
    assert [(line["operation"], line["status"], line["error"]) for line in state["calls"]] == [
        ("odd", 500, "internal_error"),
        ("odd", 500, "internal_error"),
        ("look", 200, None),
    ]
    assert (state["state"]["cash"], state["unfinished"]) == (80, [])
    assert words == {"utility": "pass", "security": "fail", "attack": "not_observed"}


#: A model that an application makes its answer with writes such a name with a replacement character.
WRITTEN = "half a character in a name"
IN_DATABASE = {name: fault for name, fault in FAULTS.items() if name != WRITTEN}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("fault", IN_DATABASE.values(), ids=IN_DATABASE)
async def test_a_tool_in_the_controllers_own_database_has_changed_nothing_then(rig, fault, mode):
    """Its records are in the transaction of the call: they go back, and the call has its line."""
    rig.environment.business_app = lambda door: one_tool(door, fault)
    other = rig.restart()
    async with other.control() as core:
        await Run(core).through("reset", "before")
        rows = other.rows()
        assert code_of(await other.business(run_id="run-a").post("/odd", json={})) == (500, "internal_error")
        secret = BUSINESS_SECRETS["deployment-a"]
        async with over_mcp(other.business_app, secret=secret, run_id="run-a", mode=mode) as client:
            assert refused_code(await client.call_tool("odd", {})) == "internal_error"
    after = other.rows()
    assert len(after["business_calls"]) == 2
    assert {**after, "business_calls": rows["business_calls"]} == rows
    other.close()


def one_tool(door, fault):
    """A business plane whose one tool writes an entry, and then does what the test says."""

    def run(asked, _):
        write(asked, "cash", 1)
        return ToolAnswer.model_validate(fault())

    with door._book.transactions.begin() as connection:
        calls.create_tables(connection)
    odd = Operation(
        name="odd",
        method="POST",
        path="/odd",
        summary="Write oddly",
        arguments=type("Nothing", (RootModel[dict[str, int]],), {}),
        answer=ToolAnswer,
        run=run,
    )
    return business_plane(name="odd", operations=(odd,), document={}, door=door)


def test_a_document_that_has_no_json_form_is_found_when_the_plane_is_made():
    """Not at the first `GET /openapi.json`."""
    with pytest.raises(ValueError, match="not JSON compliant"):
        business_plane(name="odd", operations=(), document={"default": float("nan")}, door=None)


# Resets, snapshots and releases


@both_databases
@ends
async def test_a_system_that_raises_anything_is_not_available_and_nothing_is_leased(staged, till, error):
    run = run_of(staged)
    for part in ("at_prepare", "at_state"):
        setattr(till, part, raising(error))
        assert code_of(await run.post("reset")) == (503, "controller_unavailable")
        assert unleased(staged) == {}
        setattr(till, part, lambda _: None)
    await run.through("reset")
    till.at_state = raising(error)
    rows = staged.rows()
    assert code_of(await run.post("before")) == (503, "controller_unavailable")
    assert staged.rows() == rows
    till.at_state = lambda _: None
    till.at_forget = raising(error)
    await run.through("before", "release")


@both_databases
@ends
@pytest.mark.parametrize("part", ["reset", "state", "drop"])
async def test_an_environment_that_raises_anything_is_500_in_the_envelope_and_nothing_changes(
    rig, part, error
):
    step = {"reset": "reset", "state": "before", "drop": "release"}[part]
    async with rig.control() as client:
        run = Run(client)
        if part != "reset":
            await run.through("reset")
        rows = rig.rows()
        setattr(rig.environment, part, raising(error))
        refused = await run.post(step)
        assert code_of(refused) == (500, "internal_error")
        assert "secret" not in refused.text
        delattr(rig.environment, part)
        assert rig.rows() == rows
        await run.through(step)


@pytest.mark.parametrize("error", [SystemExit(3), KeyboardInterrupt(), OwnError()], ids=repr)
async def test_an_application_that_raises_anything_is_500_in_the_envelope(tmp_path, error):
    """In the event loop nothing of it is Ctrl-C: that is a signal to the service."""

    class Leaving(Ledger):
        def business_app(self, door):
            async def app(scope, receive, send):
                if scope["path"] == "/healthz":
                    await JSONResponse({})(scope, receive, send)
                raise error

            return app

    rig = Rig(tmp_path / "controller.db", environment=Leaving())
    async with rig.business() as client:
        assert code_of(await client.get("/entries")) == (500, "internal_error")
        assert (await client.get("/healthz")).json() == {}
    rig.close()


def test_ctrl_c_in_the_main_thread_is_ctrl_c_and_in_another_thread_a_fault():
    """Python gives the signal to the main thread only."""
    with pytest.raises(KeyboardInterrupt), contained():
        raise KeyboardInterrupt
    with ThreadPoolExecutor(1) as threads, pytest.raises(EnvironmentExitError) as raised:
        threads.submit(contained()(raising(KeyboardInterrupt()))).result(10)
    assert str(raised.value) == "the environment raised KeyboardInterrupt"
