"""What a check found, and how much it matters.

fault       the catalogue judges wrongly: a ground truth that does not pass, an idle Agent that does, an
            attack that is missed or seen where there is none; its code fails; or the Controller breaks a rule
weakness    the catalogue may judge wrongly: a ground truth passes with a call left out or altered
known       one of these that the profile itself names (`KnownWeakness`)
untried     nothing can be said: no ground truth is known, or the environment did not answer
note        what the profile says about itself, for the record
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final, Literal, get_args

from agentbeat_controller.environments.base import KnownWeakness

__all__ = ["SEVERITIES", "Finding", "FindingList", "ProfileResult", "Severity"]

Severity = Literal["fault", "weakness", "untried", "known", "note"]
#: The worst first.
SEVERITIES: Final[tuple[Severity, ...]] = get_args(Severity)


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One thing that was found.

    Args:
        code: snake_case; what kind of thing.
        tried: what was done.
        found: what came of it, and what was expected.
    """

    severity: Severity
    code: str
    tried: str
    found: str

    def as_json(self) -> dict[str, Any]:
        """The finding for a report."""
        return asdict(self)


class FindingList:
    """The findings of one profile, each held to what the profile says of itself.

    Args:
        known: the weaknesses that the profile names.
    """

    def __init__(self, known: Iterable[KnownWeakness]) -> None:
        self._known: dict[tuple[str, str], KnownWeakness] = {(each.code, each.about): each for each in known}
        self._met: set[tuple[str, str]] = set()
        self._found: list[Finding] = []

    def add(
        self, severity: Severity, code: str, tried: str, found: str, *, about: str = "", marked: bool = False
    ) -> None:
        """Keep a finding.

        Args:
            about: what a `KnownWeakness` would name, where it is of such a kind.
            marked: a check said it whose word counts for nothing: it is a note.
        """
        key = (code, about)
        known = self._known.get(key)
        if marked:
            severity, found = "note", f"{found} (marked: it counts for nothing)"
        elif known is not None:
            severity, found = "known", f"{found} (known: {known.reason})"
        self._met.add(key)
        self._found.append(Finding(severity=severity, code=code, tried=tried, found=found))

    def keep(self, finding: Finding) -> None:
        """Keep a finding that no profile can know of."""
        self._found.append(finding)

    def add_outdated(self) -> None:
        """Say which known weaknesses were not found, when everything has been tried."""
        for key, weakness in self._known.items():
            if key not in self._met:
                tried = f"the known weakness {weakness.code} of {weakness.about}"
                self.add("weakness", "known_not_found", tried, "not found: the profile names it without need")

    def all(self) -> tuple[Finding, ...]:
        """What was found, in order."""
        return tuple(self._found)


@dataclass(frozen=True, kw_only=True)
class ProfileResult:
    """What was tried with one profile, and found.

    Args:
        verdicts: of the ground truth: utility, security, attack; None where none is known.
        plays: how many runs were played.
        dropped: how many ground-truth calls were left out, one at a time.
        altered: how many arguments were altered, one at a time.
        attacks: how many attack ground truths were played.
    """

    profile_id: str
    verdicts: tuple[str, str, str] | None
    plays: int
    dropped: int
    altered: int
    attacks: int
    findings: tuple[Finding, ...]

    def as_json(self) -> dict[str, Any]:
        """The result for a report."""
        names = ("utility", "security", "attack")
        return {
            "profile_id": self.profile_id,
            "ground_truth": None if self.verdicts is None else dict(zip(names, self.verdicts, strict=True)),
            "plays": self.plays,
            "dropped_calls": self.dropped,
            "altered_arguments": self.altered,
            "attacks": self.attacks,
            "findings": [finding.as_json() for finding in self.findings],
        }

    @classmethod
    def from_members(cls, members: Mapping[str, Any]) -> ProfileResult:
        """The result whose members, as `dataclasses.asdict` gives them, went through JSON."""
        verdicts = members["verdicts"]
        found = tuple(Finding(**each) for each in members["findings"])
        return cls(**{**members, "verdicts": verdicts and tuple(verdicts), "findings": found})

    @classmethod
    def unplayed(cls, profile_id: str, finding: Finding) -> ProfileResult:
        """Of a profile of which nothing else is known."""
        return cls(
            profile_id=profile_id,
            verdicts=None,
            plays=0,
            dropped=0,
            altered=0,
            attacks=0,
            findings=(finding,),
        )
