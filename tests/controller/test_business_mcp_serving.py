"""Where the tools over MCP are told, and what is so without the extra."""

from __future__ import annotations

import itertools
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from agentbeat_controller.announcements import mcp_of
from agentbeat_controller.environments import plane
from agentbeat_controller.environments.desk.operations import OPERATIONS
from support.controllers import served
from support.desk import RUN, SECRET, Desk
from support.mcp_clients import over_http, over_mcp


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def app(desk: Desk) -> Any:
    return desk.environment.business_app(desk)


async def test_without_the_extra_the_plane_is_as_ever_and_says_why(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plane, "mcp_is_installed", lambda: False)
    served = app(desk)
    async with over_http(served, secret=SECRET, run_id=RUN) as http:
        answer = await http.post("/mcp", json={})
        assert (answer.status_code, answer.json()["error"]["message"]) == (404, "no such route")
        assert (await http.get("/v1/orders/ORD-1003")).status_code == 200
    said: Mapping[str, Any] = mcp_of(served, "http://a")
    assert said == {"url": None, "reason": "the extra `mcp` is not installed"}


def test_what_is_told_of_a_plane_with_tools_and_of_one_without(desk: Desk) -> None:
    assert mcp_of(app(desk), "http://a:1") == {"url": "http://a:1/mcp", "reason": None}
    reason = {"url": None, "reason": "the environment has no tools for it"}
    assert mcp_of(desk.environment.business_app, "http://a:1") == reason  # type: ignore[arg-type]


async def test_a_controller_that_comes_up_tells_where_the_tools_are(tmp_path: Path) -> None:
    """In its ready file and among its lines; the tools are there."""
    with served(tmp_path) as controller:
        told = controller.ready["business"]["mcp"]
        secret = controller.business_secret("deployment-desk")
        async with over_mcp(told["url"].removesuffix("/mcp"), secret=secret) as client:
            assert len((await client.list_tools()).tools) == len(OPERATIONS)
    assert f"    over MCP      {told['url']}\n" in (tmp_path / "stderr.txt").read_text()


def test_a_controller_without_the_extra_comes_up_and_says_so(tmp_path: Path) -> None:
    code = "import sys; sys.modules['mcp'] = None; from agentbeat_controller.__main__ import main; main()"
    ports = ["--control-port", "0", "--business-port", "0", "--home", str(tmp_path / "home")]
    with subprocess.Popen(
        [sys.executable, "-c", code, "serve", *ports], stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr is not None
        lines = list(itertools.takewhile(lambda line: "Ctrl-C" not in line, process.stderr))
        process.terminate()
    assert "    over MCP      not served: the extra `mcp` is not installed\n" in lines


def test_the_library_is_not_loaded_before_it_is_needed() -> None:
    """A Controller that nobody calls over MCP does not pay for it."""
    code = (
        "import sys; from agentbeat_controller.environments.desk import DeskEnvironment\n"
        "assert DeskEnvironment().business_app(None).mcp_path == '/mcp'\n"
        "print([name for name in sys.modules if name.split('.')[0] in ('mcp', 'mcp_types')])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout == "[]\n"
