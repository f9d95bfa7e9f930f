"""What came of playing an environment, as its process says it message by message (`playing`)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

from .canaries import CanaryCall
from .findings import Finding, ProfileResult

__all__ = ["Plays"]

_NOT_REACHED: Final = Finding(
    severity="untried",
    code="not_reached",
    tried="the profile",
    found="got an end before its turn, expected that every profile is tried",
)


@dataclass
class Plays:
    """What is known so far.

    Args:
        problem: why nothing can be tried; None: there is a catalogue.
        environment: its name.
        profile_ids: of the profiles that are checked, in order.
        results: of those that were.
        findings: those that are no single profile's.
        canary: the call that writes.
        complete: everything has been tried.
    """

    problem: str | None = None
    environment: str = ""
    profile_ids: list[str] = field(default_factory=list)
    results: list[ProfileResult] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    canary: CanaryCall | None = None
    complete: bool = False
    _begun: int = 0

    def take(self, message: dict[str, Any]) -> None:
        """Take in the next message."""
        match message:
            case {"problem": text}:
                self.problem = text
            case {"environment": name, "profiles": profile_ids}:
                self.environment, self.profile_ids = name, profile_ids
            case {"profile": _}:
                self._begun += 1
            case {"result": members}:
                self.results.append(ProfileResult.from_members(members))
            case {"finding": members}:
                self.findings.append(Finding(**members))
            case {"canary": members}:
                self.canary = members and CanaryCall(**members)
            case {"stopped": members}:
                self._stop(Finding(**members))
            case {"end": _}:
                self.complete = len(self.results) == len(self.profile_ids) > 0

    def all_results(self) -> list[ProfileResult]:
        """One for each profile, also for those that were not reached."""
        rest = self.profile_ids[len(self.results) :]
        return self.results + [ProfileResult.unplayed(each, _NOT_REACHED) for each in rest]

    def _stop(self, finding: Finding) -> None:
        """What ended the process is the finding of the profile that was under way, if one was."""
        if not self.environment:
            self.problem = f"{finding.tried}: {finding.found}"
        elif self._begun > len(self.results):
            self.results.append(ProfileResult.unplayed(self.profile_ids[len(self.results)], finding))
        else:
            self.findings.append(finding)
