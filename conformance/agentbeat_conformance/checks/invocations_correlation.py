"""INV-6: the correlation headers equal the body's ids. Targets may ignore them: all of it is SHOULD."""

from __future__ import annotations

from typing import Final

from agentbeat_conformance.requirements import Findings, Level, requirement
from agentbeat_conformance.target_probes import TargetProbe
from agentbeat_conformance.wrong_requests import Wrong, refused
from agentbeat_protocol import CASE_ID_HEADER, RUN_ID_HEADER

__all__: list[str] = []

SECTION: Final = "Invocation request"


@requirement(
    "INV-6.a",
    level=Level.SHOULD,
    tier="target-L1",
    section=SECTION,
    text="X-AIBeat-Run-ID that is missing, repeated or other than the body's is refused.",
    permits={"400"},
    kills={
        "ignores-correlation",
        "run-header-is-optional",
        "run-header-by-its-beginning",
        "first-header-counts",
        "last-header-counts",
    },
    invocations=1,
)
async def run_header(target: TargetProbe) -> Findings:
    other = (RUN_ID_HEADER, "run-other")
    wrongs = [
        *_wrong_headers(RUN_ID_HEADER, "run_id"),
        Wrong(f"{RUN_ID_HEADER} twice, right then wrong", more=(other,)),
        Wrong(
            f"{RUN_ID_HEADER} twice, wrong then right",
            fields={RUN_ID_HEADER: None},
            more=lambda ids: (other, (RUN_ID_HEADER, ids.run_id)),
        ),
    ]
    return await refused(target, wrongs, {"400"}, lenient=True)


@requirement(
    "INV-6.b",
    level=Level.SHOULD,
    tier="target-L1",
    section=SECTION,
    text="X-AIBeat-Case-ID that is missing or other than the body's is refused.",
    permits={"400"},
    kills={"ignores-correlation", "ignores-case-header"},
    invocations=1,
)
async def case_header(target: TargetProbe) -> Findings:
    return await refused(target, _wrong_headers(CASE_ID_HEADER, "case_id"), {"400"}, lenient=True)


def _wrong_headers(header: str, member: str) -> list[Wrong]:
    return [
        Wrong(f"no {header}", fields={header: None}),
        Wrong(f"an empty {header}", fields={header: ""}),
        Wrong(f"{header} of another one", fields=lambda ids: {header: f"{getattr(ids, member)}-b"}),
        Wrong(
            f"{header} with the id twice, as a list",
            fields=lambda ids: {header: f"{getattr(ids, member)}, {getattr(ids, member)}"},
        ),
    ]
