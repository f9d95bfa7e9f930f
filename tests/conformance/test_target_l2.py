"""The rules of `target-L2`: which check catches which mutant, and who is green."""

from __future__ import annotations

import httpx
import pytest

from agentbeat_conformance.catalogues import load_catalogue
from agentbeat_conformance.judging import judge_async
from agentbeat_conformance.mutants import load as load_mutants
from agentbeat_conformance.mutants.base_target import BaseTarget
from agentbeat_conformance.mutants.registry import cross_check
from agentbeat_conformance.outcomes import Outcome, Verdict
from agentbeat_conformance.requirements import Capability, Level
from agentbeat_reference_target import Desk as DeskOfAgent
from agentbeat_reference_target import desk_target
from agentbeat_sdk import MemoryStore, Run, Target
from support.desk import SECRET as BUSINESS_SECRET
from support.desk import Desk
from support.judged_targets import TargetProcess, judge_app, judge_mutant, judge_url, shown

CATALOGUE = load_catalogue()
MUTANTS = load_mutants()
EVIDENCE = {made.id: made for made in CATALOGUE.values() if made.tier == "target-L2"}
OF_EVIDENCE = [name for name, mutant in MUTANTS.items() if mutant.breaks and mutant.breaks <= EVIDENCE.keys()]
SECRET = "a-secret-of-this-test"
ACCUSING = (Outcome.FAIL, Outcome.WARN, Outcome.COULD_NOT_RUN, Outcome.ERROR)


@pytest.mark.parametrize("name", OF_EVIDENCE)
async def test_a_mutant_is_caught_by_its_own_check_and_by_no_other(name):
    mutant = MUTANTS[name]
    run = await judge_mutant(mutant, only={"EVD"})
    failed, warned = shown(run, Outcome.FAIL).keys(), shown(run, Outcome.WARN).keys()
    assert not shown(run, Outcome.ERROR)
    assert mutant.breaks <= failed | warned
    assert failed - mutant.breaks <= mutant.consequences
    assert run.verdict is (Verdict.NOT_CONFORMANT if failed else Verdict.INCOMPLETE)


def test_every_requirement_of_evidence_has_a_mutant_that_breaks_it_alone():
    killed = {id for name in OF_EVIDENCE if len(MUTANTS[name].breaks) == 1 for id in MUTANTS[name].breaks}
    assert killed == EVIDENCE.keys()
    assert {made.rule for made in EVIDENCE.values()} == {f"EVD-{number}" for number in range(1, 16)}
    assert not [fault for fault in cross_check(CATALOGUE, MUTANTS) if "EVD-" in fault]


@pytest.mark.parametrize(
    "name", ["evidence-of-latest-run", "unfinished-run-partial", "evidence-with-own-secret"]
)
async def test_the_verdict_follows_from_the_transcript(name):
    run = await judge_mutant(MUTANTS[name], only={"EVD"})
    again = await judge_async(run.transcript)
    assert again.verdict is run.verdict
    assert [(result.requirement.id, result.outcome) for result in again.results] == [
        (result.requirement.id, result.outcome) for result in run.results
    ]


async def test_the_base_target_meets_every_must_and_every_should():
    run = await judge_app(BaseTarget().app)
    assert shown(run, *ACCUSING) == {}
    assert run.verdict is Verdict.CONFORMANT


# --- Preconditions


async def test_an_agent_that_uses_no_tool_is_not_accused_and_not_conformant():
    run = await judge_app(BaseTarget().app, tasks=["Say that you are ready.", "Say it again."])
    untried = shown(run, Outcome.COULD_NOT_RUN)
    assert untried.keys() == {"EVD-7.a", "EVD-7.b", "EVD-7.c", "EVD-7.d"}
    assert all("no tool call" in reason for reason in untried.values())
    assert shown(run, Outcome.FAIL, Outcome.WARN) == {}
    assert run.verdict is Verdict.INCOMPLETE


async def test_a_target_that_refuses_everything_meets_no_rule_of_evidence():
    class Refusing(BaseTarget):
        secret = "another-secret"

    run = await judge_app(Refusing().app, only={"EVD"})
    assert {result.outcome for result in run.results} == {Outcome.COULD_NOT_RUN}


async def test_a_target_that_serves_no_evidence_is_told_so():
    class AnswerAlone(BaseTarget):
        level = "L1"

    run = await judge_app(AnswerAlone().app, only={"EVD"})
    assert shown(run, Outcome.FAIL).keys() == {"EVD-1.a", "EVD-9.a"}


async def test_a_secret_that_leaks_is_in_no_finding_and_spoils_no_digest():
    class Leaking(BaseTarget):
        def document(self, recording):
            document = recording.document()
            document["events"][0]["data"]["attributes"] = {"head": f"token {self.secret}"}
            return document

        def response(self, invocation, final_response):
            from agentbeat_protocol import digest_bytes

            digest = digest_bytes(self.documents[invocation.run_id])
            return {**super().response(invocation, final_response), "metadata": {"evidence_digest": digest}}

    run = await judge_app(Leaking().app, only={"EVD"})
    assert shown(run, Outcome.WARN).keys() == {"EVD-13.a"}
    assert shown(run, Outcome.COULD_NOT_RUN).keys() == {"EVD-11.b"}
    assert BaseTarget.secret not in repr(run)


async def test_the_budget_bounds_what_the_rules_of_evidence_run():
    server = BaseTarget()
    # The control and one run for each task; two checks want a run of their own.
    run = await judge_app(server.app, only={"EVD"}, budget=3)
    assert len(server.claims) == 3
    untried = shown(run, Outcome.COULD_NOT_RUN)
    assert untried.keys() == {"EVD-10.f", "EVD-13.b"}
    assert all("budget" in reason for reason in untried.values())
    assert all(exchange.answer for exchange in run.exchanges)
    assert (await judge_async(run.transcript)).verdict is run.verdict is Verdict.INCOMPLETE


# --- Below a prefix


class BelowAPrefix(BaseTarget):
    """A Target that a gateway mounts at `/desks/7`."""

    named = "/desks/7"

    async def serve(self, scope, receive, send):
        assert scope["path"].startswith("/desks/7")
        await super().serve({**scope, "path": scope["path"].removeprefix("/desks/7")}, receive, send)

    def response(self, invocation, final_response):
        members = super().response(invocation, final_response)
        return {**members, "evidence_ref": self.named + members["evidence_ref"]}


@pytest.mark.parametrize(
    "named", ["", "/desks/7", "//target.example/desks/7", "http://target.example/desks/7"]
)
async def test_a_reference_may_name_the_prefix_or_not(named):
    server = BelowAPrefix()
    server.named = named
    run = await judge_app(server.app, prefix="/desks/7")
    assert shown(run, *ACCUSING) == {}
    assert run.verdict is Verdict.CONFORMANT


async def test_a_reference_below_another_prefix_is_refused():
    server = BelowAPrefix()
    server.named = "/desks/8"
    run = await judge_app(server.app, prefix="/desks/7", only={"EVD-9"})
    assert shown(run, Outcome.FAIL).keys() == {"EVD-9.c"}


# --- Targets of this repository


async def test_a_target_of_the_sdk_meets_every_rule():
    target = Target("orders", token=SECRET, tier="L2", store=MemoryStore())

    @target.tool
    def look_up(order: str) -> dict[str, str]:
        return {"order": order, "status": "shipped"}

    @target.invoke
    async def answer(run: Run) -> str:
        return look_up("7")["status"] if "order" in run.text else "I am ready."

    tasks = ["What is the status of order 7?", "Has order 7 been shipped?"]
    run = await judge_app(target.app, secret=SECRET, tasks=tasks)
    assert shown(run, *ACCUSING) == {}
    assert run.verdict is Verdict.CONFORMANT


class OpenDesk(Desk):
    """A desk for whichever run comes."""

    def enter(self, deployment_profile_id, run_id):
        return super().enter(deployment_profile_id, None)


async def test_the_reference_target_meets_every_rule(tmp_path):
    desk = OpenDesk(tmp_path)
    transport = httpx.ASGITransport(desk.environment.business_app(desk), raise_app_exceptions=False)
    reached = DeskOfAgent("http://desk", secret=BUSINESS_SECRET, transport=transport)
    target = desk_target("obedient", desk=reached, token=SECRET, tier="L2", store=MemoryStore())
    tasks = ["Tell me the status and the tracking number of order ORD-1002.", "Set ticket TCK-8 to solved."]
    run = await judge_app(target.app, secret=SECRET, tasks=tasks)
    assert shown(run, *ACCUSING) == {}
    assert run.verdict is Verdict.CONFORMANT


async def test_a_hand_written_l1_target_meets_every_rule_through_kills_and_restarts(tmp_path):
    target = TargetProcess("stdlib_l1", tmp_path, secret=SECRET)
    try:
        run = await judge_url(target.url, secret=SECRET, tier="target-L1", commands=target)
    finally:
        target.kill()
    assert shown(run, *ACCUSING, Outcome.NOT_APPLICABLE) == {}
    assert run.verdict is Verdict.CONFORMANT


async def test_a_hand_written_l2_target_meets_every_rule_through_kills_and_restarts(tmp_path):
    target = TargetProcess("stdlib_l2", tmp_path, secret=SECRET)
    tasks = ["What is the status of order 7 and of order 9?", "Where is order 8?"]
    try:
        run = await judge_url(target.url, secret=SECRET, tier="target-L2", tasks=tasks, commands=target)
    finally:
        target.kill()
    assert shown(run, *ACCUSING, Outcome.NOT_APPLICABLE) == {}
    assert run.verdict is Verdict.CONFORMANT


def test_what_needs_no_task_says_what_it_needs():
    assert {made.id for made in EVIDENCE.values() if Capability.AUTH in made.needs} == {
        *("EVD-10.a", "EVD-10.b", "EVD-10.c", "EVD-13.a"),
    }
    should = {made.id for made in EVIDENCE.values() if made.level is Level.SHOULD}
    assert should == {"EVD-5.e", "EVD-12", "EVD-13.a", "EVD-13.b", "EVD-13.c", "EVD-14"}
