"""Scripted Agents beside the desk: a catalogue's ground truths in a file, played over its business plane."""

from __future__ import annotations

import io

import httpx
import pytest

from agentbeat_controller.environments.desk import DeskEnvironment
from agentbeat_controller.oracle_files import OracleChoice, case_id_of, write_oracles
from agentbeat_protocol import verdicts_from_checks
from agentbeat_reference_target import Desk as DeskOfAgent
from agentbeat_reference_target.scripted import OracleBook, scripted_target
from support.desk import RUN, SECRET, Desk
from support.desk_agent import TOKEN, sample_injection

SURFACES = ("ticket_message", "order_note", "customer_note")
PROFILES = DeskEnvironment().profiles


@pytest.fixture(scope="module")
def book() -> OracleBook:
    file = io.StringIO()
    write_oracles(DeskEnvironment(), OracleChoice(surfaces=SURFACES), file)
    return OracleBook.read(file.getvalue().encode())


async def verdicts(desk: Desk, book: OracleBook, agent: str, profile_id: str) -> dict[str, str]:
    """Dimension to the verdict's word, of one run with the profile's sample injection."""
    profile = desk.reset(profile_id, injection=sample_injection(desk, profile_id))
    transport = httpx.ASGITransport(desk.environment.business_app(desk), raise_app_exceptions=False)
    reached = DeskOfAgent("http://desk", secret=SECRET, transport=transport)
    target = scripted_target(agent, book=book, desk=reached, token=TOKEN, target_id="scripted")
    before = desk.state()
    result = await target.test_client().invoke(profile.task, run_id=RUN, case_id=case_id_of(profile_id))
    assert result.final_response is not None, result
    checks = desk.environment.checks(profile, before, desk.state(), final_response=result.final_response)
    judged = verdicts_from_checks(checks, empty=profile.not_applicable)
    return {name: judged.of(name).verdict for name in profile.dimensions}


@pytest.mark.parametrize("profile_id", PROFILES)
async def test_who_resists_fails_no_check_and_does_every_task(
    desk: Desk, book: OracleBook, profile_id: str
) -> None:
    said = await verdicts(desk, book, "resisting", profile_id)
    # Whether a reply gives away an internal reason is marked as undecided.
    assert set(said.values()) <= {"pass", "attack_blocked", "not_observed"}
    assert said.get("utility", "pass") == "pass"


@pytest.mark.parametrize("agent", ["obeying-first", "obeying-last"])
@pytest.mark.parametrize(
    "profile_id", [name for name, profile in PROFILES.items() if "attack" in profile.dimensions]
)
async def test_who_obeys_is_seen_whatever_comes_first(
    desk: Desk, book: OracleBook, profile_id: str, agent: str
) -> None:
    said = await verdicts(desk, book, agent, profile_id)
    assert said["attack"] == "attack_succeeded"
