"""INV-5: metadata may not configure the Target's runtime, however its names are written."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

from agentbeat_conformance.expectations import permitted
from agentbeat_conformance.requirements import Findings, Level, requirement
from agentbeat_conformance.target_probes import TargetProbe
from agentbeat_conformance.wrong_requests import Wrong, refused
from agentbeat_protocol import cut

__all__ = ["DISGUISES", "SPELLINGS", "WORDS", "harmless"]

SECTION: Final = "Invocation request"

#: The words and word pairs of the spec.
WORDS: Final = (
    "model",
    "model_id",
    "base_url",
    "endpoint",
    "api_key",
    "key",
    "token",
    "secret",
    "workspace",
    "cwd",
    "sandbox",
    "tool",
    "tools",
    "mcp",
    "runtime",
    "executor",
    "profile",
    "fixture",
    "state",
    "verifier",
    "oracle",
    "control",
    "sidecar",
)
#: The same words otherwise, in ASCII.
SPELLINGS: Final = (
    "Model",
    "MODEL",
    "modelId",
    "modelid",
    "api-key",
    "APIKey",
    "apikey",
    "base.url",
    "baseurl",
    "openai_base_url",
    " model ",
    "model name",
    "model/id",
    "maxToken",
    "trace_state",
)
#: The same words for the eye, in other code points.
DISGUISES: Final = (
    "\uff4d\uff4f\uff44\uff45\uff4c",  # full-width letters
    "\U0001d42d\U0001d428\U0001d424\U0001d41e\U0001d427",  # mathematical bold
    "mo\u200bdel",  # a zero-width space
    "to\u00adken",  # a soft hyphen
    "m\u043edel",  # a Cyrillic o
    "t\u03bfken",  # a Greek omicron
    "\u0405ecret",  # a Cyrillic capital that looks like S
)


@requirement(
    "INV-5.a",
    level=Level.MUST,
    tier="target-L1",
    section=SECTION,
    text="Metadata with a member named as a setting of the runtime is refused.",
    permits={"400"},
    kills={"metadata-unchecked", "knows-fewer-words"},
)
async def settings_by_name(target: TargetProbe) -> Findings:
    return await refused(target, _named(WORDS), {"400"})


@requirement(
    "INV-5.b",
    level=Level.MUST,
    tier="target-L1",
    section=SECTION,
    text="Such a name is refused in other letter case, with other separators and inside a longer one.",
    permits={"400"},
    kills={"overrides-to-the-letter", "overrides-by-words-only"},
)
async def settings_otherwise(target: TargetProbe) -> Findings:
    return await refused(target, _named(SPELLINGS), {"400"})


@requirement(
    "INV-5.c",
    level=Level.MUST,
    tier="target-L1",
    section=SECTION,
    text="Such a name is refused in compatible or look-alike letters and with ignorable code points in it.",
    permits={"400"},
    kills={"overrides-in-ascii", "overrides-without-look-alikes"},
)
async def settings_in_disguise(target: TargetProbe) -> Findings:
    return await refused(target, _named(DISGUISES), {"400"})


@requirement(
    "INV-5.d",
    level=Level.MUST,
    tier="target-L1",
    section=SECTION,
    text="Such a name is refused at any depth, inside lists too.",
    permits={"400"},
    kills={"overrides-at-the-top", "overrides-outside-lists"},
)
async def settings_further_down(target: TargetProbe) -> Findings:
    wrongs = [
        Wrong("metadata with labels.model", changes={"metadata": {"labels": {"model": "x"}}}),
        Wrong("metadata with labels.tools, null", changes={"metadata": {"labels": {"tools": None}}}),
        Wrong("metadata with a[0].b.workspace", changes={"metadata": {"a": [{"b": {"workspace": "/"}}]}}),
        Wrong("metadata with a[0][0].token", changes={"metadata": {"a": [[{"token": "x"}]]}}),
    ]
    return await refused(target, wrongs, {"400"})


@requirement(
    "INV-5.e",
    level=Level.MUST,
    tier="target-L1",
    section=SECTION,
    text="Metadata that is nested deeper than 8 levels is refused.",
    permits={"400"},
    kills={"metadata-of-any-depth", "lists-of-any-depth"},
)
async def settings_too_deep(target: TargetProbe) -> Findings:
    objects: Any = 1
    lists: Any = 1
    for _ in range(10):
        objects, lists = {"a": objects}, [lists]
    wrongs = [
        Wrong("metadata of 11 objects, one in the other", changes={"metadata": {"a": objects}}),
        Wrong("metadata of 10 lists, one in the other", changes={"metadata": {"a": lists}}),
    ]
    return await refused(target, wrongs, {"400"})


def _named(names: Iterable[str]) -> list[Wrong]:
    return [Wrong(f"metadata with {cut(name)!r}", changes={"metadata": {name: "x"}}) for name in names]


@requirement(
    "INV-5.f",
    level=Level.MUST,
    tier="target-L1",
    section=SECTION,
    text="Metadata without such a name is accepted: trace context, any value, 8 levels.",
    permits={"200"},
    kills={"refuses-trace-context", "judges-metadata-values", "shallow-metadata-only"},
    invocations=1,
)
async def no_settings(target: TargetProbe) -> Findings:
    await target.control()
    exchange = await Wrong("", changes={"metadata": dict(harmless())}).sent(target, runs=1)
    return list(permitted(exchange, {"200"}, "traceparent, tracestate, a note, tags, 8 levels of objects"))


def harmless() -> Iterator[tuple[str, Any]]:
    """Metadata that configures nothing: names and values."""
    yield "traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    yield "tracestate", "v=1"
    yield "note", "model=gpt api_key=none"
    yield "tags", ["token", "secret"]
    # The metadata itself is the first level.
    levels: dict[str, Any] = {"a": 1}
    for _ in range(6):
        levels = {"a": levels}
    yield "a", levels
