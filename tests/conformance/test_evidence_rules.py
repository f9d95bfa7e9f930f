"""The rules of evidence one by one: each line of the case files breaks one, and no other is accused."""

from __future__ import annotations

import copy
import json
from dataclasses import dataclass
from typing import Any

import pytest

from agentbeat_conformance.catalogues import load_catalogue
from agentbeat_conformance.evidence_views import Document
from agentbeat_conformance.exchanges import Answer, Exchange, Failure, Request
from agentbeat_conformance.requirements import CouldNotRun, Level
from agentbeat_conformance.sessions import Ids
from agentbeat_conformance.target_probes import Traced
from agentbeat_protocol import is_run_id
from support.cases import context, event, good_document, load, materialize

CATALOGUE = load_catalogue()
#: The rules that are about the served document alone.
ABOUT_DOCUMENTS = [
    made
    for made in CATALOGUE.values()
    if made.rule in {f"EVD-{number}" for number in (1, 2, 3, 4, 5, 6, 7, 8, 12, 15)} and made.id != "EVD-2.c"
]
# The suite makes its run ids, so it never asks for one that is off its pattern.
CASES = [case for case in load("evidence_cases.jsonl") if is_run_id(context(case)["run_id"])]
#: The S-* rules that say a member is missing or one too many; all others are about what a member is.
PRESENCE = {"S-ADDPROP": {"EVD-1.c"}, "S-REQUIRED": {"EVD-1.d"}}
OTHERWISE = {
    "X-BIND": {"EVD-2.a", "EVD-2.b"},
    "X-TIME": {"EVD-4.b"},
    "X-ORDER": {"EVD-5.a"},
    "X-EVENTID": {"EVD-5.b", "EVD-5.c"},
    "X-TOOL": {"EVD-7.a", "EVD-7.b", "EVD-7.c", "EVD-7.d"},
    "X-CHANNEL": {"EVD-8"},
    "S-DATETIME": {"EVD-4.a"},
    "S-COUNT": {"EVD-5.d"},
    "S-UNIQUE": {"EVD-6.a"},
    "S-CHANNELS": {"EVD-6.b"},
}
#: Lines whose S-* rule is about a member that another rule than EVD-1 judges, and one that breaks two rules.
BY_LINE = {
    "ev-155": {"EVD-6.c"},
    "ev-160": {"EVD-5.b"},
    "ev-173": {"EVD-5.b"},
    "ev-198": {"EVD-3"},
    "ev-281": {"EVD-1.b"},
}


@dataclass
class StubTarget:
    """A Target whose evidence is there already."""

    run: Traced
    tasks: tuple[str, ...] = ("task",)
    secret: str | None = None
    registered_url: str = "http://target.example/v1/agent/invocations"

    async def traced(self, task: int = 0) -> Traced:
        return self.run

    async def plain(self) -> Traced:
        return self.run


def served(raw: bytes, ids: dict[str, str], *, response: Any = None) -> Traced:
    request = Request.build("GET", "/", host="target.example")

    def exchange(body: bytes) -> Exchange:
        return Exchange(request=request, answer=Answer(status=200, fields=(), body=body), index=0)

    return Traced(
        Ids(ids["run_id"], ids["case_id"]), exchange(json.dumps(response or {}).encode()), exchange(raw)
    )


async def broken(raw: bytes, ids: dict[str, str]) -> set[str]:
    """The MUST requirements that a document breaks."""
    target = StubTarget(served(raw, ids))
    found = set()
    for made in ABOUT_DOCUMENTS:
        try:
            if made.level is Level.MUST and list(await made.check(target)):
                found.add(made.id)
        except CouldNotRun:
            continue
    return found


def expected_rules(case: dict[str, Any]) -> set[str]:
    rule = case["rule"].replace(":", " ").replace("/", " ").split()[0]
    if case["id"] in BY_LINE:
        return BY_LINE[case["id"]]
    if rule.startswith("J-"):
        return {"EVD-1.b"}
    return PRESENCE.get(rule) or OTHERWISE.get(rule) or {"EVD-1.e"}


@pytest.mark.parametrize("case", [c for c in CASES if c["expect"] == "accept"], ids=lambda c: c["id"])
async def test_an_odd_but_legal_document_is_accused_of_nothing(case):
    assert await broken(materialize(case), context(case)) == set()


@pytest.mark.parametrize("case", [c for c in CASES if c["expect"] == "reject"], ids=lambda c: c["id"])
async def test_a_document_that_breaks_a_rule_is_accused_of_that_rule_alone(case):
    found = await broken(materialize(case), context(case))
    assert len(found) == 1
    assert found <= expected_rules(case)


async def test_a_document_that_breaks_many_rules_is_accused_of_each():
    document = good_document()
    document |= {"assurance_level": "L3", "score": 1, "observed_channels": ["tools", "tools", "messages"]}
    document |= {"finished_at": "2026-03-01T09:59:59Z", "case_id": "case-other"}
    call = {"call_id": "c", "name": "a", "arguments": {}, "attributes": {}}
    result = {"call_id": "c", "name": "b", "result": 1, "is_error": 0, "attributes": {}}
    document["events"] = [event(1, "tool.call", call), event(1, "tool.result", result)]
    ids = {"run_id": "run-hostile-001", "case_id": "case-hostile-001"}
    assert await broken(json.dumps(document).encode(), ids) == {
        *("EVD-1.c", "EVD-1.e", "EVD-2.b", "EVD-3", "EVD-4.b", "EVD-5.a", "EVD-5.c", "EVD-6.a", "EVD-7.b"),
    }


async def test_every_faulty_event_is_told_of():
    document = good_document()
    document["events"] = [event(number) for number in range(4)]
    del document["events"][1]["source"]
    document["events"][3]["source"] = ""
    target = StubTarget(served(json.dumps(document).encode(), context({})))
    missing = [finding.message for finding in await CATALOGUE["EVD-1.d"].check(target)]
    wrong = [finding.message for finding in await CATALOGUE["EVD-1.e"].check(target)]
    # The stub gives the same document for the task and for the control.
    assert missing == ["/events/1/source: got nothing, expected this member"] * 2
    assert wrong == ["/events/3/source: got a string of 0 characters, expected at least 1 characters"] * 2


@pytest.mark.parametrize("id", [made.id for made in ABOUT_DOCUMENTS if made.id not in ("EVD-1.a", "EVD-15")])
@pytest.mark.parametrize(
    ("exchange", "reason"),
    [
        (lambda answer: Exchange(request=answer.request, answer=None, failure=Failure.CLOSED), "closed"),
        (
            lambda answer: Exchange(
                request=answer.request, answer=Answer(status=404, fields=(), body=b"{}"), index=0
            ),
            "404",
        ),
    ],
    ids=["closed", "404"],
)
async def test_without_a_document_no_rule_is_held_to_be_kept(id, exchange, reason):
    run = served(b"{}", context({}))
    target = StubTarget(Traced(run.ids, run.invocation, exchange(run.evidence)))
    with pytest.raises(CouldNotRun, match=reason):
        await CATALOGUE[id].check(target)


async def test_the_tool_rules_need_a_tool_event():
    target = StubTarget(served(json.dumps(good_document()).encode(), context({})))
    for id in ("EVD-7.a", "EVD-7.b", "EVD-7.c", "EVD-7.d"):
        with pytest.raises(CouldNotRun, match="no tool call"):
            await CATALOGUE[id].check(target)


async def test_the_document_is_not_changed_by_looking_at_it():
    run = served(json.dumps({**good_document(), "score": 1}).encode(), context({}))
    before = copy.deepcopy(Document.of(run).members)
    for made in ABOUT_DOCUMENTS:
        try:
            list(await made.check(StubTarget(run)))
        except CouldNotRun:
            continue
    assert Document.of(run).members == before


@pytest.mark.parametrize(
    "case", [c for c in load("evidence_refs.jsonl") if "kind" not in c], ids=lambda c: c["id"]
)
async def test_a_reference_is_judged_as_core_judges_it(case):
    run = served(
        b"{}", {"run_id": case["run_id"], "case_id": "case-a"}, response={"evidence_ref": case["ref"]}
    )
    target = StubTarget(run, registered_url=case["base"])
    accused = set()
    for id in ("EVD-9.a", "EVD-9.b", "EVD-9.c"):
        try:
            if list(await CATALOGUE[id].check(target)):
                accused.add(id)
        except CouldNotRun:
            continue
    if case["expect"] == "allow":
        assert accused == set()
    else:
        by_rule = {"O-TYPE": "EVD-9.a"} | dict.fromkeys(
            ("O-QUERY", "O-FRAGMENT", "O-PATH", "O-RUN"), "EVD-9.c"
        )
        assert accused == {by_rule.get(case["rule"].split()[0], "EVD-9.b")}
