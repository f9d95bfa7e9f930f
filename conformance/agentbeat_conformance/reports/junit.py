"""The report as JUnit XML: one test case for each requirement, so that any CI shows it.

A failure is a MUST that does not hold. What could not run is an error, since a green line would say more than
was shown. A SHOULD that is not met stays green and says so on its standard output. A failure that is put up
with is skipped, with the reason; what is out of date in the file that says so is an error.
"""

from __future__ import annotations

from collections.abc import Callable
from types import MappingProxyType
from typing import Final
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from agentbeat_conformance.outcomes import Outcome, Result
from agentbeat_conformance.reports.details import details
from agentbeat_conformance.reports.excerpts import visible
from agentbeat_conformance.reports.records import Report

__all__ = ["to_junit"]


def to_junit(report: Report) -> str:
    """The report as XML text that ends in a line feed."""
    put_up_with = sum(report.expectation(result) is not None for result in report.ended(Outcome.FAIL))
    counts = {
        "tests": len(report.results) + len(report.complaints),
        "failures": report.count(Outcome.FAIL) - put_up_with,
        "errors": report.count(Outcome.COULD_NOT_RUN, Outcome.ERROR) + len(report.complaints),
        "skipped": report.count(Outcome.NOT_APPLICABLE) + put_up_with,
    }
    attributes = {name: str(count) for name, count in counts.items()}
    name = f"AgentBeat {report.tier}"
    root = Element(
        "testsuites", {"name": name, **{key: attributes[key] for key in ("tests", "failures", "errors")}}
    )
    suite = SubElement(
        root, "testsuite", {"name": name, "timestamp": visible(report.started_at), **attributes}
    )
    properties = SubElement(suite, "properties")
    for key, value in _properties(report).items():
        SubElement(properties, "property", {"name": key, "value": visible(value)})
    for results in report.rules().values():
        for result in results:
            _add_case(suite, report, result)
    for complaint in report.complaints:
        case = SubElement(
            suite, "testcase", {"classname": "agentbeat.expected-failures", "name": "up to date"}
        )
        SubElement(case, "error", {"type": "expected-failures", "message": visible(complaint)})
    indent(root)
    # Every text went through `visible`, so no character is left that XML 1.0 cannot hold.
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{tostring(root, encoding="unicode")}\n'


def _properties(report: Report) -> dict[str, str]:
    return {
        "suite_version": report.suite_version,
        "catalogue": report.catalogue,
        "catalogue_digest": report.catalogue_digest,
        "specs": " ".join(report.specs),
        "tier": report.tier,
        "endpoint": report.endpoint,
        "seed": report.seed,
        "verdict": report.verdict,
    }


def _add_case(suite: Element, report: Report, result: Result) -> None:
    made = result.requirement
    case = SubElement(
        suite,
        "testcase",
        {"classname": f"agentbeat.{report.tier}.{made.rule}", "name": f"{made.id} {visible(made.text)}"},
    )
    add = _ENDS.get(result.outcome)
    if add is not None:
        add(case, report, result)


def _failed(case: Element, report: Report, result: Result) -> None:
    entry = report.expectation(result)
    if entry is not None:
        message = f"expected until {entry.expires}: {entry.reason}"
        SubElement(case, "skipped", {"message": visible(message)})
        SubElement(case, "system-out").text = _details(report, result)
        return
    message = result.findings[0].message if result.findings else "not met"
    failure = SubElement(case, "failure", {"type": result.requirement.level, "message": visible(message)})
    failure.text = _details(report, result)


def _warned(case: Element, report: Report, result: Result) -> None:
    SubElement(case, "system-out").text = f"SHOULD not met\n{_details(report, result)}"


def _skipped(case: Element, report: Report, result: Result) -> None:  # noqa: ARG001 - one shape for all
    SubElement(case, "skipped", {"message": visible(result.reason or "not applicable")})


def _errored(case: Element, report: Report, result: Result) -> None:
    message = visible(result.reason or "no reason given")
    error = SubElement(case, "error", {"type": result.outcome, "message": message})
    error.text = _details(report, result)


_ENDS: Final[MappingProxyType[Outcome, Callable[[Element, Report, Result], None]]] = MappingProxyType(
    {
        Outcome.FAIL: _failed,
        Outcome.WARN: _warned,
        Outcome.NOT_APPLICABLE: _skipped,
        Outcome.COULD_NOT_RUN: _errored,
        Outcome.ERROR: _errored,
    }
)


def _details(report: Report, result: Result) -> str:
    return details(result, report.exchanges, repeat=report.repeat)
