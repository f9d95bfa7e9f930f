"""INV-1, what is accepted: spellings of a right invocation that a Target may not refuse.

A client sends these without thinking of it, and another client will. The longest ids and texts are those of
the spec: bounds are inclusive.
"""

from __future__ import annotations

import json
from typing import Any, Final

from agentbeat_conformance.expectations import permitted
from agentbeat_conformance.requirements import Findings, Level, requirement
from agentbeat_conformance.sessions import Ids
from agentbeat_conformance.target_probes import PLAIN_TASK, TargetProbe

__all__: list[str] = []

SECTION: Final = "Invocation request"
MAX_RUN_ID: Final = 160
MAX_CASE_ID: Final = 200
MAX_TEXT_BYTES: Final = 512 * 1024


@requirement(
    "INV-1.g",
    level=Level.MUST,
    tier="target-L1",
    section=SECTION,
    text="An invocation is accepted however its JSON is written: order, white space, escapes, no metadata.",
    permits={"200"},
    kills={"wants-metadata", "reads-members-in-order"},
    invocations=1,
)
async def any_spelling(target: TargetProbe) -> Findings:
    await target.control()
    ids = target.session.ids()
    members: dict[str, Any] = {
        "input": {"text": PLAIN_TASK},
        "case_id": ids.case_id,
        "run_id": ids.run_id,
        "schema_version": "target-invocation-v1",
    }
    written = json.dumps(members, indent=1).replace("\n", "\r\n").replace('"run_id"', '"run\\u005fid"')
    exchange = await target.post(ids=ids, body=written.encode() + b"\r\n", runs=1)
    what = "members in another order, indented, one name with an escape, no metadata"
    return list(permitted(exchange, {"200"}, what))


@requirement(
    "INV-1.h",
    level=Level.MUST,
    tier="target-L1",
    section=SECTION,
    text="Content-Type application/json is accepted with parameters and in any letter case.",
    permits={"200"},
    kills={"content-type-to-the-letter"},
    invocations=1,
)
async def media_type_with_parameters(target: TargetProbe) -> Findings:
    await target.control()
    written = "Application/JSON;charset=UTF-8"
    exchange = await target.post(fields={"Content-Type": written}, runs=1)
    return list(permitted(exchange, {"200"}, f"Content-Type: {written}"))


@requirement(
    "INV-1.i",
    level=Level.MUST,
    tier="target-L1",
    section=SECTION,
    text="A run_id of 160 and a case_id of 200 characters are accepted.",
    permits={"200"},
    kills={"short-ids-only"},
    invocations=1,
)
async def longest_ids(target: TargetProbe) -> Findings:
    await target.control()
    short = target.session.ids()
    ids = Ids(_padded(short.run_id, MAX_RUN_ID), _padded(short.case_id, MAX_CASE_ID))
    exchange = await target.invoke(ids=ids)
    return list(permitted(exchange, {"200"}, "ids as long as they may be"))


def _padded(id: str, length: int) -> str:
    return f"{id}-{'0' * length}"[:length]


@requirement(
    "INV-1.j",
    level=Level.MUST,
    tier="target-L1",
    section=SECTION,
    text="An input.text of exactly 512 KiB of UTF-8 is not refused as an invalid input.",
    permits={"200", "413", "502", "504"},
    kills={"text-limit-is-exclusive", "short-texts-only"},
    invocations=1,
)
async def longest_text(target: TargetProbe) -> Findings:
    """A lower body limit (413) and an Agent that cannot take it (502, 504) are no such refusal."""
    await target.control()
    # White space costs a model little.
    text = PLAIN_TASK.ljust(MAX_TEXT_BYTES)
    exchange = await target.invoke(text)
    return list(permitted(exchange, {"200", "413", "502", "504"}, "a text of 524288 bytes"))
