"""A function as a tool: what is taken, what is refused before it runs, and what its signature must have."""

from typing import Literal

import pytest

from agentbeat_controller.environments.custom import Declined, StagedEnvironment
from agentbeat_controller.environments.custom.tools import as_tool
from support.controllers import code_of
from support.staging import Till, call, run_of, staged_rig


class Busy(Till):
    """A till with tools of every kind of argument; each call that ran is in `ran`."""

    def __init__(self):
        super().__init__()
        self.ran = []

    def tools(self):
        return [self.everything, self.answers]

    def everything(
        self,
        place: str,
        text: str,
        number: int = 0,
        *,
        kind: Literal["a", "b"] = "a",
        rest: dict | None = None,
    ) -> None:
        """Take everything.

        And say nothing.
        """
        self.ran.append((text, number, kind, rest))

    def answers(self, place: str, what: str) -> object:
        """Answer something."""
        return {"text": "yes", "list": (1, 2), "none": None, "odd": object()}[what]


@pytest.fixture
def busy():
    return Busy()


@pytest.fixture
async def begun(database, busy):
    with staged_rig(database, busy) as rig:
        await run_of(rig).through("reset", "before")
        yield rig


async def test_arguments_that_are_left_out_have_their_defaults(begun, busy):
    assert (await call(begun, "everything", text="x")).status_code == 200
    assert (await call(begun, "everything", text="x", number=2, kind="b", rest={"a": [1]})).status_code == 200
    assert busy.ran == [("x", 0, "a", None), ("x", 2, "b", {"a": [1]})]


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"text": 1},
        {"text": "x", "number": "1"},
        {"text": "x", "number": True},
        {"text": "x", "kind": "c"},
        {"text": "x", "place": "env-of-another"},
        {"text": "x", "unknown": 1},
        {"text": "x", "number": 2**53 + 1},
    ],
    ids=["missing", "text", "number", "truth", "choice", "place", "unknown", "beyond JSON"],
)
async def test_other_arguments_are_refused_before_the_tool_runs(begun, busy, arguments):
    refused = await call(begun, "everything", **arguments)
    assert code_of(refused) == (400, "invalid_request")
    assert busy.ran == []
    assert begun.rows()["staged_begun"] == []


@pytest.mark.parametrize(
    ("what", "status", "answer"),
    [("text", 200, "yes"), ("list", 200, [1, 2]), ("none", 200, None), ("odd", 500, None)],
)
async def test_an_answer_is_any_json_value(begun, what, status, answer):
    got = await call(begun, "answers", what=what)
    assert got.status_code == status
    if status == 200:
        assert got.json() == answer


async def test_the_document_describes_the_tools(begun):
    document = (await begun.business().get("/openapi.json")).json()
    operation = document["paths"]["/tools/everything"]["post"]
    body = operation["requestBody"]["content"]["application/json"]["schema"]
    assert (operation["operationId"], operation["summary"]) == ("everything", "Take everything.")
    assert (set(body["properties"]), body["required"]) == ({"text", "number", "kind", "rest"}, ["text"])


def no_place() -> None: ...


def untyped(place: str, what) -> None: ...


def variadic(place: str, *what: str) -> None: ...


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (lambda place: None, "a tool's name"),
        (no_place, "expected the place"),
        (untyped, "what: expected a named argument with a type"),
        (variadic, "what: expected a named argument with a type"),
    ],
    ids=["lambda", "no place", "untyped", "variadic"],
)
def test_a_function_that_is_no_tool_is_refused_by_name(function, said):
    with pytest.raises(ValueError, match=said):
        as_tool(function)


@pytest.mark.parametrize(("code", "status"), [("Not Snake", 409), ("fine", 200), ("fine", 500)])
def test_a_refusal_is_a_4xx_with_a_code(code, status):
    with pytest.raises(ValueError, match="snake_case code and a 4xx"):
        Declined("no", code=code, status=status)


def test_a_closing_system_is_closed_with_its_environment():
    closed = []

    class Closing(Till):
        def close(self):
            closed.append(True)

    StagedEnvironment(Closing()).close()
    StagedEnvironment(Till()).close()
    assert closed == [True]
