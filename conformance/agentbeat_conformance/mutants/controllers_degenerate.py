"""State Controllers that are none: whichever checks say so, they must not be found conformant."""

from __future__ import annotations

from agentbeat_conformance.mutants.base_controller import BaseController
from agentbeat_conformance.mutants.registry import degenerate
from agentbeat_conformance.mutants.replies import Asked, Reply, json_reply
from agentbeat_protocol import HEALTH_PATH, error_envelope

__all__: list[str] = []


@degenerate("controller-refuses-all", tier="controller", text="It answers everything but health with 401.")
class ControllerRefusesAll(BaseController):
    async def answer(self, asked: Asked) -> Reply:
        if asked.path == HEALTH_PATH:
            return await super().answer(asked)
        return json_reply(401, error_envelope("unauthorized", "expected the bearer secret"))


@degenerate("controller-empty-200", tier="controller", text="It answers everything with an empty 200.")
class ControllerEmpty200(BaseController):
    async def answer(self, asked: Asked) -> Reply:  # noqa: ARG002 - whatever is asked
        return Reply(200)


@degenerate("controller-of-pages", tier="controller", text="It answers everything with a page of HTML.")
class ControllerOfPages(BaseController):
    async def answer(self, asked: Asked) -> Reply:  # noqa: ARG002 - whatever is asked
        return Reply(200, b"<!doctype html><title>Welcome</title>", [("Content-Type", "text/html")])


@degenerate("controller-echoes", tier="controller", text="It answers a request with its own body.")
class ControllerEchoes(BaseController):
    async def answer(self, asked: Asked) -> Reply:
        if asked.method == "GET":
            return await super().answer(asked)
        return Reply(200, await asked.body.read(65_536), [("Content-Type", "application/json")])


@degenerate("controller-after-reset-nothing", tier="controller", text="It resets, and fails at all else.")
class ControllerAfterResetNothing(BaseController):
    async def answer(self, asked: Asked) -> Reply:
        if asked.method == "GET" or asked.path.endswith("/reset"):
            return await super().answer(asked)
        return json_reply(500, error_envelope("internal_error", "the Controller failed"))
