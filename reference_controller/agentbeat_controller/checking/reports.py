"""What a check found, for programs: the exit code and JSON. `report_texts` has it for people."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any, Final

from .conformance import ConformanceResult
from .findings import SEVERITIES, Finding, ProfileResult, Severity

__all__ = ["INTERRUPTED", "REPORT_SCHEMA", "Report"]

REPORT_SCHEMA: Final = "agentbeat-controller-check-v1"
#: The exit code after Ctrl-C.
INTERRUPTED: Final = 130


@dataclass(frozen=True, kw_only=True)
class Report:
    """The whole check.

    Args:
        profiles: those that were checked.
        catalogue: what was found that is no single profile's.
        conformance: None where it was not asked for, or not reached.
        interrupted: somebody has stopped the check; there was more to try.
    """

    environment: str
    profiles: tuple[ProfileResult, ...]
    conformance: ConformanceResult | None
    catalogue: tuple[Finding, ...] = ()
    interrupted: bool = False

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Every finding."""
        own = tuple(finding for profile in self.profiles for finding in profile.findings)
        return self.catalogue + own + (self.conformance.findings if self.conformance else ())

    @property
    def counts(self) -> dict[Severity, int]:
        """How many findings there are of each severity, the worst first."""
        found = Counter(finding.severity for finding in self.findings)
        return {severity: found[severity] for severity in SEVERITIES}

    @property
    def exit_code(self) -> int:
        """130: interrupted; 1: faults or weaknesses; 3: none, but not everything could be tried; else 0."""
        if self.interrupted:
            return INTERRUPTED
        if self.counts["fault"] or self.counts["weakness"]:
            return 1
        complete = self.conformance is None or self.conformance.verdict == "conformant"
        return 0 if complete and not self.counts["untried"] else 3

    def as_json(self) -> dict[str, Any]:
        """The report for programs."""
        return {
            "schema_version": REPORT_SCHEMA,
            "environment": self.environment,
            "exit_code": self.exit_code,
            "interrupted": self.interrupted,
            "counts": self.counts,
            "findings": [finding.as_json() for finding in self.catalogue],
            "profiles": [profile.as_json() for profile in self.profiles],
            "conformance": self.conformance.as_json() if self.conformance else None,
        }
