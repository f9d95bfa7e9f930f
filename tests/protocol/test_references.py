"""EVD-9: an evidence reference names this run's route on the registered endpoint, or nothing."""

from __future__ import annotations

from typing import Any
from urllib.parse import urljoin, urlsplit

import httpx
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from agentbeat_protocol.errors import EvidenceRefError, ProtocolError
from agentbeat_protocol.references import check_no_redirect, resolve_evidence_ref
from support.cases import load

LINES = load("evidence_refs.jsonl")
REFERENCES = [line for line in LINES if line.get("kind") is None]
REDIRECTS = [line for line in LINES if line.get("kind") == "redirect"]

RUN = "run-a-1"
REGISTERED = "https://gw.example/tenants/a/v1/agent/invocations"
EVIDENCE = f"https://gw.example/tenants/a/v1/evidence/{RUN}"


def refusal(ref: object, *, registered: str = REGISTERED, run_id: str = RUN) -> EvidenceRefError:
    with pytest.raises(EvidenceRefError) as caught:
        resolve_evidence_ref(registered, ref, run_id=run_id)
    assert caught.value.path == "/evidence_ref"
    assert len(str(caught.value)) < 400
    return caught.value


def test_every_line_of_the_case_file_is_tried_here() -> None:
    assert len(REFERENCES) + len(REDIRECTS) == len(LINES) == 102


@pytest.mark.parametrize("line", REFERENCES, ids=lambda line: line["id"])
def test_a_reference_of_the_case_file_gets_its_verdict(line: dict[str, Any]) -> None:
    if line["expect"] == "allow":
        url = resolve_evidence_ref(line["base"], line["ref"], run_id=line["run_id"])
        assert url == line["resolved"]
    else:
        assert refusal(line["ref"], registered=line["base"], run_id=line["run_id"]).rule == line["rule"]


@pytest.mark.parametrize("line", REDIRECTS, ids=lambda line: line["id"])
def test_a_redirect_in_answer_to_a_good_reference_is_refused(line: dict[str, Any]) -> None:
    resolve_evidence_ref(line["base"], line["ref"], run_id=line["run_id"])
    with pytest.raises(EvidenceRefError) as caught:
        check_no_redirect(line["status"], line["location"])
    assert caught.value.rule == line["rule"]


@pytest.mark.parametrize("status", [300, 304, 305, 399])
def test_every_3xx_is_a_redirect_and_where_to_is_not_repeated(status: int) -> None:
    with pytest.raises(EvidenceRefError) as caught:
        check_no_redirect(status, "https://evil.example/?token=hush")
    assert caught.value.rule == "O-REDIRECT"
    assert "hush" not in str(caught.value)


@pytest.mark.parametrize("status", [200, 206, 401, 404, 500])
def test_other_answers_are_no_redirects_even_with_a_location(status: int) -> None:
    check_no_redirect(status, "https://evil.example/")


ACCEPTED = {
    "path with the prefix": f"/tenants/a/v1/evidence/{RUN}",
    "path without the prefix": f"/v1/evidence/{RUN}",
    "scheme-relative": f"//gw.example/tenants/a/v1/evidence/{RUN}",
    "scheme-relative without the prefix": f"//gw.example/v1/evidence/{RUN}",
    "full": EVIDENCE,
    "full without the prefix": f"https://gw.example/v1/evidence/{RUN}",
    "everything spelled otherwise": "HTTPS://GW.Example:00443/%74enants/%61/%76%31/evid%65nce/%72un%2Da%2D%31",
}


@pytest.mark.parametrize("ref", ACCEPTED.values(), ids=ACCEPTED)
def test_every_accepted_form_leads_to_the_registered_base(ref: str) -> None:
    assert resolve_evidence_ref(REGISTERED, ref, run_id=RUN) == EVIDENCE


REFUSED = {
    "an array": ([], "O-TYPE"),
    "an object": ({"href": f"/v1/evidence/{RUN}"}, "O-TYPE"),
    "a number with a fraction": (1.5, "O-TYPE"),
    "bytes": (f"/v1/evidence/{RUN}".encode(), "O-TYPE"),
    "one character too many": ("/" + "a" * 4096, "O-LEN"),
    "no text": ("", "O-PATH"),
    "a template": ("/v1/evidence/{run_id}", "O-CHARS"),
    "angle brackets": (f"<{EVIDENCE}>", "O-CHARS"),
    "a pipe for a colon": (f"https|//gw.example/v1/evidence/{RUN}", "O-CHARS"),
    "a no-break space": (f"\u00a0/v1/evidence/{RUN}", "O-CHARS"),
    "a trailing newline": (f"/v1/evidence/{RUN}\n", "O-CHARS"),
    "DEL": (f"/v1/evidence/{RUN}\x7f", "O-CHARS"),
    "a lone surrogate": (f"/v1/evidence/{RUN}\ud800", "O-CHARS"),
    "backslashes for slashes": (f"\\v1\\evidence\\{RUN}", "O-CHARS"),
    "host and port alone": (f"127.0.0.1:443/v1/evidence/{RUN}", "O-PARSE"),
    "a colon first": (f":443/v1/evidence/{RUN}", "O-PARSE"),
    "a scheme without slashes": (f"https:gw.example/v1/evidence/{RUN}", "O-PARSE"),
    "an empty host": (f"https://:443/v1/evidence/{RUN}", "O-PARSE"),
    "two ports": (f"https://gw.example:443:443/v1/evidence/{RUN}", "O-PARSE"),
    "a negative port": (f"https://gw.example:-443/v1/evidence/{RUN}", "O-PARSE"),
    "an open bracket": (f"https://[::1/v1/evidence/{RUN}", "O-PARSE"),
    "text behind the bracket": (f"https://[::1]evil/v1/evidence/{RUN}", "O-PARSE"),
    "a host list": (f"https://gw.example,evil.example/v1/evidence/{RUN}", "O-PARSE"),
    "a script": ("javascript:alert(1)", "O-SCHEME"),
    "a nested URL": (f"blob:{EVIDENCE}", "O-SCHEME"),
    "a host taken for a scheme": (f"gw.example:443/v1/evidence/{RUN}", "O-SCHEME"),
    "empty userinfo": (f"https://@gw.example/v1/evidence/{RUN}", "O-USERINFO"),
    "two userinfos": (f"https://gw.example@me@gw.example/v1/evidence/{RUN}", "O-USERINFO"),
    "userinfo without a scheme": (f"//me@gw.example/v1/evidence/{RUN}", "O-USERINFO"),
    "a trailing dot": (f"https://gw.example./v1/evidence/{RUN}", "O-ORIGIN"),
    "a subdomain": (f"https://a.gw.example/v1/evidence/{RUN}", "O-ORIGIN"),
    "port 0": (f"https://gw.example:0/v1/evidence/{RUN}", "O-ORIGIN"),
    "the port of http": (f"//gw.example:80/v1/evidence/{RUN}", "O-ORIGIN"),
    "another host behind a good fragment": (f"//evil.example/#{EVIDENCE}", "O-ORIGIN"),
    "a query": (f"/v1/evidence/{RUN}?v=1", "O-QUERY"),
    "an empty query": (f"{EVIDENCE}?", "O-QUERY"),
    "a query before a fragment": (f"{EVIDENCE}?#", "O-QUERY"),
    "a fragment": (f"/v1/evidence/{RUN}#top", "O-FRAGMENT"),
    "an empty fragment": (f"{EVIDENCE}#", "O-FRAGMENT"),
    "an origin without a path": ("https://gw.example", "O-PATH"),
    "the root": ("/", "O-PATH"),
    "a doubled slash": (f"/v1//evidence/{RUN}", "O-PATH"),
    "a doubled slash after the origin": (f"https://gw.example//v1/evidence/{RUN}", "O-PATH"),
    "a relative path that resolves well": (f"../evidence/{RUN}", "O-PATH"),
    "the run id alone": (RUN, "O-PATH"),
    "a dot segment": (f"/v1/./evidence/{RUN}", "O-PATH"),
    "dot segments that cancel out": (f"/v1/x/../evidence/{RUN}", "O-PATH"),
    "encoded dots that cancel out": (f"/v1/x/%2E%2e/evidence/{RUN}", "O-PATH"),
    "an encoded slash": (f"/v1%2Fevidence/{RUN}", "O-PATH"),
    "a hyphen encoded twice": ("/v1/evidence/run%252Da-1", "O-PATH"),
    "an escape that decoding would complete": ("/v1/evidence/run%2%44a-1", "O-PATH"),
    "half an escape": (f"/v1/evidence/{RUN}%", "O-PATH"),
    "a space behind the id": (f"/v1/evidence/{RUN}%20", "O-PATH"),
    "an escape of the IIS kind": ("/v1/evidence/run%u002da-1", "O-PATH"),
    "square brackets": (f"/v1/evidence/[{RUN}]", "O-PATH"),
    "the route in capitals": (f"/V1/evidence/{RUN}", "O-PATH"),
    "another route of this run": (f"/v1/state/{RUN}", "O-PATH"),
    "this run behind another prefix": (f"/tenants/b/v1/evidence/{RUN}", "O-PATH"),
    "the prefix twice": (f"/tenants/a/tenants/a/v1/evidence/{RUN}", "O-PATH"),
    "half the prefix": (f"/tenants/v1/evidence/{RUN}", "O-PATH"),
    "the route of all runs": ("/v1/evidence", "O-RUN"),
    "a member of this run": (f"/v1/evidence/{RUN}/events", "O-RUN"),
    "another file type": (f"/v1/evidence/{RUN}.json", "O-RUN"),
    "a path parameter": (f"/v1/evidence/{RUN};v=2", "O-RUN"),
    "a decoded letter of another id": ("/v1/evidence/run-b%2D1", "O-RUN"),
}


@pytest.mark.parametrize(("ref", "rule"), REFUSED.values(), ids=REFUSED)
def test_anything_but_this_runs_route_is_refused_by_its_rule(ref: object, rule: str) -> None:
    assert refusal(ref).rule == rule


def test_a_reference_without_the_registered_prefix_never_leads_out_of_it() -> None:
    """What is read is the registered base, whatever the reference left out."""
    url = resolve_evidence_ref(
        "http://[::1]:8091/%7ea/v1/agent/invocations", f"/v1/evidence/{RUN}", run_id=RUN
    )
    assert url == f"http://[::1]:8091/~a/v1/evidence/{RUN}"


def test_an_escape_that_the_registered_prefix_has_is_compared_as_it_stands() -> None:
    registered = "https://gw.example/a%20b/v1/agent/invocations"
    url = f"https://gw.example/a%20b/v1/evidence/{RUN}"
    assert resolve_evidence_ref(registered, f"/a%20b/v1/evidence/{RUN}", run_id=RUN) == url
    assert refusal(f"/a%2520b/v1/evidence/{RUN}", registered=registered).rule == "O-PATH"


@pytest.mark.parametrize(
    "part", ["me:hush@gw.example", "gw.example?key=hush#", "gw.example/v1?hush", "evil.example#hush"]
)
def test_a_refusal_repeats_no_place_where_secrets_are_put(part: str) -> None:
    assert "hush" not in str(refusal(f"https://{part}"))


UNUSABLE = {
    "userinfo": "https://me:hush@gw.example/v1/agent/invocations",
    "a query": "https://gw.example/v1/agent/invocations?hush=1",
    "an empty query": "https://gw.example/v1/agent/invocations?",
    "a fragment": "https://gw.example/v1/agent/invocations#hush",
    "another scheme": "ftp://gw.example/v1/agent/invocations",
    "no scheme": "gw.example/v1/agent/invocations",
    "no host": "https:///v1/agent/invocations",
    "a host of two readings": "http://127.1:8091/v1/agent/invocations",
    "another route": "https://gw.example/v1/agent/run",
    "the base alone": "https://gw.example",
    "a trailing slash": "https://gw.example/v1/agent/invocations/",
    "a longer segment": "https://gw.examplev1/agent/invocations",
    "a prefix with dot segments": "https://gw.example/a/../v1/agent/invocations",
    "a prefix with encoded dot segments": "https://gw.example/%2e%2E/v1/agent/invocations",
    "a prefix with an empty segment": "https://gw.example/a//v1/agent/invocations",
    "a prefix with a broken escape": "https://gw.example/a%2/v1/agent/invocations",
    "white space": "https://gw.example/v1/agent/invocations ",
}


@pytest.mark.parametrize("url", UNUSABLE.values(), ids=UNUSABLE)
def test_a_registered_url_that_cannot_be_held_to_is_our_own_error(url: str) -> None:
    """It is no verdict about the Target, so it is no `EvidenceRefError`."""
    with pytest.raises(ProtocolError) as caught:
        resolve_evidence_ref(url, f"/v1/evidence/{RUN}", run_id=RUN)
    assert not isinstance(caught.value, EvidenceRefError)
    assert "registered URL" in str(caught.value)
    assert "hush" not in str(caught.value)


@pytest.mark.parametrize("run_id", ["", "run-", "run-a/../b", "run-a\n", "RUN-a", "run-" + "a" * 157])
def test_a_run_id_off_its_pattern_is_our_own_error(run_id: str) -> None:
    with pytest.raises(ProtocolError) as caught:
        resolve_evidence_ref(REGISTERED, f"/v1/evidence/{run_id}", run_id=run_id)
    assert not isinstance(caught.value, EvidenceRefError)
    assert caught.value.code == "invalid_run_id"


PIECES = [
    "https:",
    "http:",
    "//",
    "/",
    "gw.example",
    "evil.example",
    ":443",
    ":8443",
    "@",
    "\\",
    "?",
    "#",
    ";",
]
PIECES += [
    "/tenants/a",
    "/v1",
    "/evidence",
    f"/{RUN}",
    RUN,
    "..",
    ".",
    "%2F",
    "%2e",
    "%",
    "%2D",
    "\t",
    "[::1]",
    "é",
]


@given(st.lists(st.sampled_from(PIECES), max_size=9).map("".join))
@example(f"//gw.example/tenants/a/v1/evidence/{RUN}")
@example(f"https://gw.example:443/v1/evidence/{RUN}")
def test_what_is_accepted_leads_to_the_same_place_for_other_parsers(ref: str) -> None:
    """Two parsers of another make read an accepted reference as the same origin and route."""
    try:
        url = resolve_evidence_ref(REGISTERED, ref, run_id=RUN)
    except EvidenceRefError:
        return
    assert url == EVIDENCE
    read_by_httpx = httpx.URL(REGISTERED).join(ref)
    assert (read_by_httpx.scheme, read_by_httpx.host, read_by_httpx.port) == ("https", "gw.example", None)
    read_by_urllib = urlsplit(urljoin(REGISTERED, ref))
    assert (read_by_urllib.scheme, read_by_urllib.hostname, read_by_urllib.port or 443) == (
        "https",
        "gw.example",
        443,
    )
    for path in (read_by_httpx.path, read_by_urllib.path.replace("%2D", "-")):
        assert path in (f"/v1/evidence/{RUN}", f"/tenants/a/v1/evidence/{RUN}")


@given(
    st.sampled_from(["/v1/evidence/run-a-1", "/tenants/a/v1/evidence/run-a-1"]),
    st.integers(0, 31),
    st.characters(),
)
def test_one_character_more_in_a_path_is_never_accepted(ref: str, place: int, character: str) -> None:
    refusal(ref[:place] + character + ref[place:])


@given(st.text() | st.none() | st.integers() | st.lists(st.text(), max_size=2))
def test_no_value_raises_anything_but_the_refusal(ref: object) -> None:
    refusal(ref)
