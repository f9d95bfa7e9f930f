"""What a check found, and how much it matters.

fault       the catalogue judges wrongly: a ground truth that does not pass, an idle Agent that does, an
            attack that is missed or seen where there is none; a rule that the Controller breaks
weakness    the catalogue may judge wrongly: a ground truth passes with a call left out or altered
untried     nothing can be said: no ground truth is known, or the environment did not answer
note        what the profile says about itself, for the record
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

__all__ = ["Finding", "ProfileResult", "Severity"]

Severity = Literal["fault", "weakness", "untried", "note"]


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
