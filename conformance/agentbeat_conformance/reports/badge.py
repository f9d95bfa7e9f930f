"""The badge: the JSON that a shields.io endpoint badge is drawn from (schema version 1).

>>> badge(report)["message"]  # doctest: +SKIP
'conformant'
"""

from __future__ import annotations

from types import MappingProxyType
from typing import Any, Final

from agentbeat_conformance.outcomes import Verdict
from agentbeat_conformance.reports.records import Report

__all__ = ["badge"]

_COLOURS: Final = MappingProxyType(
    {
        Verdict.CONFORMANT: "brightgreen",
        Verdict.NOT_CONFORMANT: "red",
        Verdict.INCOMPLETE: "yellow",
        Verdict.NOTHING_TESTED: "lightgrey",
        Verdict.ERROR: "lightgrey",
    }
)


def badge(report: Report) -> dict[str, Any]:
    """The members of the badge; only a conformant endpoint has the colour of one."""
    return {
        "schemaVersion": 1,
        "label": f"AgentBeat {report.tier} {report.suite_version}",
        "message": report.verdict.replace("_", " "),
        "color": _COLOURS[report.verdict],
        "isError": report.verdict is Verdict.ERROR,
    }
