"""The CTL rules, judged from outside: `agentbeat conformance controller` on a Controller of the check's own.

The suite is another room's and a program of its own: it is started as one, where it is installed, and its
JSON report is read. It gets everything it can use: the verify key, a restart, and a call that writes.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from agentbeat_protocol import cut

from .canaries import CanaryCall
from .findings import Finding, Severity
from .supervised import StartError, supervised

__all__ = ["ConformanceResult", "not_run", "try_conformance"]

_SECRET: Final = "AGENTBEAT_CHECK_CONTROL_SECRET"  # noqa: S105 - the name of a variable
_USAGE: Final = 2


@dataclass(frozen=True, kw_only=True)
class ConformanceResult:
    """What the suite said.

    Args:
        verdict: the suite's word, or None where it was not run.
        counts: outcome to how many requirements.
    """

    verdict: str | None
    counts: dict[str, int]
    findings: tuple[Finding, ...]

    def as_json(self) -> dict[str, Any]:
        """The result for a report."""
        findings = [finding.as_json() for finding in self.findings]
        return {"verdict": self.verdict, "counts": self.counts, "findings": findings}


def try_conformance(
    environment_name: str, *, canary: CanaryCall | None, profile_id: str | None
) -> ConformanceResult:
    """Start a Controller on the environment and have the suite judge it.

    Args:
        canary: the call that writes; without one the rules that need it cannot be tried.
        profile_id: the profile that runs are made of; None: the canary's, or the suite's own choice.
    """
    program = _program()
    if program is None:
        return not_run("the command agentbeat is not installed")
    with tempfile.TemporaryDirectory(prefix="agentbeat-check-") as name:
        folder = Path(name)
        try:
            with supervised(environment_name, folder) as controller:
                command = [*program, "conformance", "controller", controller.ready["control"]["url"]]
                command += ["--json", str(folder / "report.json"), "--token-env", _SECRET]
                command += _options(controller.ready, controller.request, folder, canary, profile_id)
                secret = Path(controller.ready["control"]["secret_file"]).read_text()
                done = subprocess.run(  # noqa: S603 - our own program, with arguments of our own
                    command,
                    env={**os.environ, _SECRET: secret},
                    capture_output=True,
                    text=True,
                    check=False,
                )
        except StartError as error:
            return not_run(f"the Controller did not come up: {error}")
        return _read(done, folder / "report.json")


def _program() -> list[str] | None:
    """The installed command: the one beside this interpreter, or the path's."""
    beside = Path(sys.executable).with_name("agentbeat")
    found = str(beside) if beside.is_file() else shutil.which("agentbeat")
    return None if found is None else [found]


def _options(
    ready: dict[str, Any], request: Path, folder: Path, canary: CanaryCall | None, profile_id: str | None
) -> list[str]:
    ((deployment, business),) = ready["business"]["deployments"].items()
    asking = [sys.executable, "-m", "agentbeat_controller.checking.asking"]
    options = ["--deployment", deployment, f"--verify-key={ready['verify_key']}"]
    options += ["--restart-command", shlex.join([*asking, "restart", str(request)])]
    if canary is not None:
        file = folder / "canary.json"
        file.write_text(canary.as_json(url=ready["business"]["url"], secret_file=business["secret_file"]))
        options += ["--write-command", shlex.join([*asking, "write", str(file)])]
    chosen = profile_id or (canary.profile_id if canary else None)
    return options if chosen is None else [*options, "--profile", chosen]


def _read(done: subprocess.CompletedProcess[str], file: Path) -> ConformanceResult:
    try:
        report = json.loads(file.read_text())
    except (OSError, ValueError):
        words = [line for line in done.stderr.splitlines() if line.strip()] or ["it said nothing"]
        # A missing extra is a wrong command line to the command, and says what to install.
        what = words[0] if done.returncode == _USAGE else f"exit code {done.returncode}: {words[-1]}"
        return not_run(cut(what, 300))
    findings = [_finding(each) for each in report["results"] if each["outcome"] not in _FINE]
    counts = {name: count for name, count in report["counts"].items() if isinstance(count, int) and count}
    return ConformanceResult(verdict=report["verdict"], counts=counts, findings=tuple(findings))


_FINE: Final = ("pass", "not_applicable")
#: A MUST that is broken, a SHOULD that is not met; whatever else there is could not be tried.
_SEVERITIES: Final[dict[str, Severity]] = {"fail": "fault", "warn": "weakness"}


def _finding(result: dict[str, Any]) -> Finding:
    said = [each.get("message", "") for each in result.get("findings", ())]
    found = "; ".join(said[:3]) or result.get("reason") or result["outcome"]
    return Finding(
        severity=_SEVERITIES.get(result["outcome"], "untried"),
        code=result["id"],
        tried=cut(result["text"], 200),
        found=cut(found, 300),
    )


def not_run(why: str) -> ConformanceResult:
    """What is said where the suite was not run."""
    tried = "agentbeat conformance controller"
    finding = Finding(severity="untried", code="conformance_not_run", tried=tried, found=why)
    return ConformanceResult(verdict=None, counts={}, findings=(finding,))
