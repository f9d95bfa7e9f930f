"""One report in every form: complete, without a secret, and safe whatever the server answered."""

from __future__ import annotations

import io
import json
import re
from datetime import date
from html import unescape
from html.parser import HTMLParser
from importlib import resources
from xml.etree import ElementTree

import pytest
from jsonschema import Draft202012Validator
from rich.console import Console

from agentbeat_conformance.expected_failures import ExpectedFailure
from agentbeat_conformance.outcomes import Outcome, Verdict
from agentbeat_conformance.reports.badge import badge
from agentbeat_conformance.reports.html import to_html
from agentbeat_conformance.reports.json_report import (
    ConformanceReport,
    generated_schema,
    schema_text,
    to_json,
)
from agentbeat_conformance.reports.junit import to_junit
from agentbeat_conformance.reports.table import render_table
from agentbeat_protocol import digest_bytes
from support import reports

COMMAND = (
    "curl -isS http://127.0.0.1:8080/v1/agent/invocations -H 'User-Agent:' -H 'Accept:' "
    """-H "Authorization: Bearer $AGENT_TOKEN" -H 'Content-Type: application/json' """
    """-H 'Connection: close' --data-raw '{"run_id": "run-conf-1"}'"""
)


def table(report, **options):
    written = io.StringIO()
    render_table(report, Console(file=written, **{"width": 100, **options}))
    return written.getvalue()


# --- Table


def test_the_table_has_a_row_for_every_requirement_and_ends_with_the_verdict():
    report = reports.every_outcome()
    lines = table(report).splitlines()
    for result in report.results:
        assert any(line.strip().startswith(result.requirement.id) for line in lines)
    assert lines[-3].startswith("NOT CONFORMANT  1 passed, 2 failed")
    assert lines[-2] == "2 MUST requirements of target-L1 do not hold."
    assert "explain INV-2.a" in lines[-1]


def test_a_failure_is_shown_with_its_exchange_and_the_command_on_one_line():
    shown = table(reports.every_outcome())
    block = shown[shown.index("INV-2.a FAIL") :]
    assert "- a body of `[]`: got 200, expected 400" in block
    assert "    > POST /v1/agent/invocations HTTP/1.1\n" in block
    assert "    < 200\n" in block
    assert f"\n{COMMAND}\n" in block


def test_what_was_not_shown_is_told_with_its_reason():
    shown = table(reports.every_outcome())
    assert "could not run  INV-4: the positive control was answered 500, not 200\n" in shown
    assert "n/a  EVD-1.a: no task was given (--task)\n" in shown


@pytest.mark.parametrize(("columns", "widest"), [(80, 80), (100, 100), (300, 120)])
def test_the_table_is_as_wide_as_the_console_up_to_120_columns_but_for_commands(columns, widest):
    lines = table(reports.every_outcome(), width=columns).splitlines()
    assert max(len(line) for line in lines if not line.startswith("curl ")) == widest


def test_colours_are_for_terminals_only():
    assert "\x1b" not in table(reports.every_outcome())
    assert "\x1b" in table(reports.every_outcome(), force_terminal=True, color_system="standard")


def test_a_servers_answer_is_no_command_to_the_terminal_and_no_mark_up():
    shown = table(reports.every_outcome(), width=120)
    assert all(character.isprintable() or character == "\n" for character in shown)
    assert "[bold]b[/bold]" in shown
    assert ":smile:" in shown


def test_many_findings_are_cut_and_counted():
    findings = [reports.Finding(f"case {number}", 0) for number in range(9)]
    shown = table(reports.report(reports.failed("INV-1", *findings), exchanges=reports.EXCHANGES))
    assert "- case 5\n" in shown
    assert "case 6" not in shown
    assert "- … and 3 more\n" in shown


def test_a_report_without_results_is_no_pass():
    shown = table(reports.report(reachable=False))
    assert "NOTHING TESTED  no checks" in shown


# --- JSON


def test_the_json_is_what_its_schema_says():
    schema = json.loads(schema_text())
    Draft202012Validator.check_schema(schema)
    members = json.loads(to_json(reports.every_outcome()))
    Draft202012Validator(schema).validate(members)
    assert members["verdict"] == "not_conformant"
    assert members["exit_code"] == 1
    assert members["counts"] == {
        "pass": 1,
        "fail": 2,
        "warn": 1,
        "not_applicable": 1,
        "could_not_run": 1,
        "error": 0,
    }
    assert members["suite"]["catalogue_digest"] == reports.every_outcome().catalogue_digest


def test_the_schema_refuses_what_the_json_never_holds():
    validator = Draft202012Validator(json.loads(schema_text()))
    members = json.loads(to_json(reports.every_outcome()))
    assert not validator.is_valid({**members, "verdict": "fine"})
    assert not validator.is_valid({**members, "more": 1})
    del members["seed"]
    assert not validator.is_valid(members)


def test_the_shipped_schema_is_the_models_schema():
    """`python -m agentbeat_conformance.reports.json_report` writes it anew."""
    assert schema_text() == generated_schema()


def test_the_json_reads_back_into_its_model():
    text = to_json(reports.every_outcome())
    model = ConformanceReport.model_validate_json(text)
    assert [result.id for result in model.results] == [
        "INV-1.a",
        "INV-2.a",
        "INV-4",
        "INV-10.a",
        "INV-11",
        "EVD-1.a",
    ]
    assert model.exchanges[1].request.repeat == COMMAND
    assert model.exchanges[2].answer is None
    assert model.exchanges[2].failure == "timeout"


def test_a_long_body_is_an_excerpt_with_the_digest_of_the_whole():
    body = b"a" * 3000
    report = reports.report(reports.passed(), exchanges=(reports.exchange(0, body=body),))
    shown = ConformanceReport.model_validate_json(to_json(report)).exchanges[0].answer.body
    assert (shown.bytes, shown.excerpt, shown.complete) == (3000, "a" * 2000, False)
    assert shown.digest == digest_bytes(body)


def test_a_finding_that_points_at_no_exchange_says_so():
    """With `--safe` a check may look at a control that was not made."""
    report = reports.report(reports.failed("INV-1", reports.Finding("a", -1)), exchanges=reports.EXCHANGES)
    members = json.loads(to_json(report))
    Draft202012Validator(json.loads(schema_text())).validate(members)
    assert members["results"][0]["findings"] == [{"message": "a", "exchange": None, "before": []}]


# --- JUnit


def cases(report):
    suite = ElementTree.fromstring(to_junit(report)).find("testsuite")
    return suite, {case.get("name").split()[0]: case for case in suite.findall("testcase")}


def test_junit_has_one_test_case_for_each_requirement():
    suite, by_id = cases(reports.every_outcome())
    assert {name: suite.get(name) for name in ("tests", "failures", "errors", "skipped")} == {
        "tests": "6",
        "failures": "2",
        "errors": "1",
        "skipped": "1",
    }
    ends = {id: [child.tag for child in case] for id, case in by_id.items()}
    assert ends == {
        "INV-1.a": [],
        "INV-2.a": ["failure"],
        "INV-4": ["error"],
        "INV-10.a": ["failure"],
        "INV-11": ["system-out"],
        "EVD-1.a": ["skipped"],
    }
    assert by_id["INV-2.a"].get("classname") == "agentbeat.target-L1.INV-2"
    assert by_id["INV-2.a"][0].get("message") == "a body of `[]`: got 200, expected 400"
    assert COMMAND in by_id["INV-2.a"][0].text


def test_our_own_fault_is_an_error_in_junit():
    suite, by_id = cases(reports.report(reports.passed(), reports.broken()))
    assert suite.get("errors") == "1"
    assert by_id["HLT-1"][0].get("type") == "error"


def test_junit_is_xml_whatever_the_server_answered():
    text = to_junit(reports.every_outcome())
    assert all(character.isprintable() or character in "\n\t" for character in text)
    _, by_id = cases(reports.every_outcome())
    assert "<script>alert(1)</script>]]>&amp;[bold]" in by_id["INV-10.a"][0].text


# --- HTML


class Page(HTMLParser):
    """All elements and attributes of a page, and the text outside its style."""

    VOID = frozenset({"meta"})

    def __init__(self, page):
        super().__init__()
        self.open, self.elements, self.text = [], [], []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if "style" not in self.open:
            self.text.append(data)


def page(report):
    read = Page(to_html(report))
    assert not read.open
    return read


def test_the_page_has_every_requirement_with_its_findings_and_exchanges():
    read = page(reports.every_outcome())
    ids = [attributes["id"] for tag, attributes in read.elements if tag == "details" and "id" in attributes]
    assert ids == ["INV-1.a", "INV-2.a", "INV-4", "INV-10.a", "INV-11", "EVD-1.a"]
    opened = [
        attributes["id"] for _, attributes in read.elements if "id" in attributes and "open" in attributes
    ]
    assert opened == ["INV-2.a", "INV-10.a"]
    links = [attributes["href"] for tag, attributes in read.elements if tag == "a"]
    assert links == ["#INV-2.a", "#INV-4", "#INV-10.a", "#INV-11"]
    text = "".join(read.text)
    assert "(no whole answer in time)" in text
    assert "got 200, expected 400" in text
    assert "curl -isS \\\n  http://127.0.0.1:8080/v1/agent/invocations" in text


def test_the_page_loads_nothing_and_runs_nothing():
    read = page(reports.every_outcome())
    assert not {"script", "link", "img", "iframe", "object", "form"} & {tag for tag, _ in read.elements}
    for _, attributes in read.elements:
        assert not [name for name in attributes if name.startswith("on") or name in ("src", "style")]
        assert attributes.get("href", "#").startswith("#")
    style = to_html(reports.report()).partition("<style>")[2].partition("</style>")[0]
    assert "<" not in style
    assert "url(" not in style
    assert "@import" not in style


def test_a_servers_answer_is_text_in_the_page():
    report = reports.every_outcome()
    assert "<script>alert(1)</script>]]>&amp;[bold]" in "".join(page(report).text)
    assert all(character.isprintable() or character in "\n\t" for character in to_html(report))


def test_a_screen_reader_finds_its_way():
    read = page(reports.every_outcome())
    tags = [tag for tag, _ in read.elements]
    assert tags.count("h1") == tags.count("main") == tags.count("header") == 1
    assert ("html", {"lang": "en"}) in read.elements
    assert all(attributes["scope"] for tag, attributes in read.elements if tag == "th")
    for tag, attributes in read.elements:
        if tag == "pre":
            assert attributes["tabindex"] == "0"
            assert attributes["aria-label"]


def luminance(colour):
    """Relative luminance as WCAG defines it."""
    parts = [int(colour[start : start + 2], 16) / 255 for start in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_every_colour_of_a_text_stands_out_in_light_and_in_dark():
    style = (resources.files("agentbeat_conformance.reports") / "report.css").read_text()
    schemes = re.findall(r":root \{(.*?)\}", style, re.DOTALL)
    assert len(schemes) == 2
    for scheme in schemes:
        colours = dict(re.findall(r"--(\w+): (#[0-9a-f]{6})", scheme))
        for name in set(colours) - {"paper", "field", "line"}:
            for ground in ("paper", "field"):
                dark, light = sorted((luminance(colours[name]), luminance(colours[ground])))
                assert (light + 0.05) / (dark + 0.05) >= 4.5, (name, ground)


# --- Expected failures


def put_up_with():
    entry = ExpectedFailure(id="INV-2.a", reason="ticket 4711", expires=date(2031, 1, 31))
    return reports.every_outcome(expected=(entry,), complaints=("INV-9: it holds, remove the entry",))


def test_the_table_says_what_is_put_up_with_and_what_is_out_of_date():
    shown = table(put_up_with())
    assert "FAIL (expected)" in shown
    assert "  expected until 2031-01-31: ticket 4711\n" in shown
    assert "expected failures  INV-9: it holds, remove the entry\n" in shown


def test_a_failure_that_is_put_up_with_is_skipped_in_junit_and_a_stale_entry_is_an_error():
    suite, by_id = cases(put_up_with())
    counts = [suite.get(name) for name in ("tests", "failures", "errors", "skipped")]
    assert counts == ["7", "1", "2", "2"]
    assert by_id["INV-2.a"][0].tag == "skipped"
    assert by_id["INV-2.a"][0].get("message") == "expected until 2031-01-31: ticket 4711"
    assert by_id["up"][0].get("message") == "INV-9: it holds, remove the entry"


def test_the_json_and_the_page_say_what_is_put_up_with():
    members = json.loads(to_json(put_up_with()))
    Draft202012Validator(json.loads(schema_text())).validate(members)
    expected = {result["id"]: result["expected"] for result in members["results"] if result["expected"]}
    assert expected == {"INV-2.a": {"reason": "ticket 4711", "expires": "2031-01-31"}}
    assert members["complaints"] == ["INV-9: it holds, remove the entry"]
    text = "".join(page(put_up_with()).text)
    assert "until 2031-01-31: ticket 4711" in text
    assert "INV-9: it holds, remove the entry" in text


# --- Sequences


def a_sequence():
    finding = reports.Finding("release: got 200, expected 409", 3, before=(1, 0, 99))
    return reports.report(reports.failed("CTL-1.z", finding), exchanges=reports.EXCHANGES)


@pytest.mark.parametrize("render", [table, to_junit, to_html], ids=["table", "junit", "html"])
def test_a_sequence_is_shown_as_the_commands_that_lead_to_its_end_in_order(render):
    text = unescape(render(a_sequence()))
    _, found, sequence = text.partition("he requests that lead there, in order")
    assert found
    numbers = re.findall(r"--data-raw '{\"run_id\": \"run-conf-(\d)\"}'", sequence)
    assert numbers[:2] == ["1", "0"]


def test_the_json_names_the_exchanges_of_a_sequence():
    members = json.loads(to_json(a_sequence()))
    (finding,) = members["results"][0]["findings"]
    assert (finding["before"], finding["exchange"]) == ([1, 0], 3)


# --- Badge


def test_only_a_conformant_endpoint_has_the_badge_of_one():
    report = reports.report(reports.passed())
    assert badge(report) == {
        "schemaVersion": 1,
        "label": "AgentBeat target-L1 1.0",
        "message": "conformant",
        "color": "brightgreen",
        "isError": False,
    }
    for verdict in set(Verdict) - {Verdict.CONFORMANT}:
        other = badge(reports.every_outcome(verdict=verdict))
        assert other["color"] != "brightgreen"
        assert other["message"] == verdict.replace("_", " ")


# --- All


@pytest.mark.parametrize(
    "render", [table, to_json, to_junit, to_html], ids=["table", "json", "junit", "html"]
)
def test_a_report_is_the_same_each_time_and_tells_each_end(render):
    report = reports.every_outcome()
    assert render(report) == render(report)
    for result in report.results:
        if result.outcome is not Outcome.PASS:
            told = result.reason or result.findings[0].message.split(" ")[-1]
            assert told in render(report).replace("\n", " ")
