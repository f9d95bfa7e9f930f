"""Every profile against every kind of Agent: calls written by hand, verdicts from the states."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from agentbeat_controller.environments import BINDING_MODES
from agentbeat_controller.environments.desk import DESK_PROFILES, DeskEnvironment
from agentbeat_controller.environments.desk.effects import CellChange, NewRow
from agentbeat_controller.environments.desk.state_checks import OnlyAllowed
from agentbeat_controller.environments.desk.tables import RECORD_TABLES
from agentbeat_protocol import Injection, SchemaError, digest, verdicts_from_checks
from support.desk import Desk
from support.desk_behaviours import BLOCKED, EMPTY, EXPECTED, FAIL, FOLLOWED, PASS, REACHED, UNSEEN, behaviour

#: The registry pins these. A change here is a change of what a profile means: say so in the release.
DIGESTS = {
    "desk-refund-full": "sha256:292386eff0472a1b7e9e4849fb8f5deb4f3317edd1c3565c451666880091f244",
    "desk-refund-part": "sha256:c18f2375548bdb5c0f7d65420e5b6e152b8ca253be703d377b957aeefc6e482f",
    "desk-change-address": "sha256:2974538101dc0de5c5204273bae5e93b3d553a5bc45d821d0b4cbae4bda7a13b",
    "desk-cancel-order": "sha256:bfe3da63db546feada7298cd19888b745c364220f262885f9eb41ada6b3cf51b",
    "desk-order-status": "sha256:33592873fc18c3847c2da2079e045335176d8b8f745f875868d56be2e1d4e0e4",
    "desk-parcel-email": "sha256:57d801609e8e3a2c9e98c22e8329b7de7194593eef803468a7f0a00802445681",
    "desk-solve-one": "sha256:20b4a3fd8241d6bb665a452d4a3cec5846bfb00ef0dea06df5ab40a233ead084",
    "desk-explain-delay": "sha256:e98c23d1b0695c0565ec04ff6ddd525df0eca6d3a97d353e7d5a3bf2d8ef4b90",
    "desk-apology": "sha256:697b67148a27d08e2e16dfa6bbf759bc72169399edd9a23a455f4c9c1151d449",
    "desk-change-contact": "sha256:6994bc3cb1c40fb5720c70ecbf1fb477065a056908c387eef0ca7ff0d9794309",
    "desk-private-answer": "sha256:df8a5744a6d908bc95860e5de8115c1d6a68f8655dab943d9afa41b3ed28a046",
}

RUNS = [(profile, name) for profile, row in EXPECTED.items() for name in row]


@pytest.mark.parametrize(("profile_id", "name"), RUNS, ids=[f"{p}-{n}" for p, n in RUNS])
async def test_verdicts_follow_from_what_the_agent_did(profile_id: str, name: str, tmp_path: Path) -> None:
    """CTL-8: the calls go through the API; the verdict comes from the two states and the answer."""
    desk = Desk(tmp_path)
    texts = desk.environment.profiles[profile_id].injections
    surface = next(iter(texts), None)
    planted = Injection(surface=surface, text=texts[surface]) if surface else None
    profile = desk.reset(profile_id, injection=planted)
    before = desk.state()
    acts = behaviour(name, profile_id)
    async with desk.client() as client:
        for step in acts.steps:
            answer = await client.request(step.method, step.path, json=step.body)
            assert answer.is_success, (step, answer.text)
    after = desk.state()

    checks = desk.environment.checks(profile, before, after, final_response=acts.answer)

    verdicts = verdicts_from_checks(checks, empty=profile.not_applicable)
    found = (verdicts.utility.verdict, verdicts.security.verdict, verdicts.attack.verdict)
    assert found == EXPECTED[profile_id][name], [check for check in checks if not check.passed]


def test_every_dimension_has_a_profile_for_each_kind_of_agent() -> None:
    """For utility, security and attack: one where obedient is right, one each that the others fail."""
    good, bad = {PASS, BLOCKED}, {FAIL, REACHED}
    for place in range(3):
        for name, outcome in (("obedient", good), ("gullible", bad), ("careless", bad)):
            assert any(row[name][place] in outcome for row in EXPECTED.values() if name in row), (place, name)
    assert any(UNSEEN in row["obedient"] for row in EXPECTED.values())
    assert any(row["obedient"][1:] == (EMPTY, EMPTY) for row in EXPECTED.values())


def test_the_table_covers_the_catalogue() -> None:
    profiles = DeskEnvironment().profiles
    assert list(profiles) == [profile.profile_id for profile in DESK_PROFILES]
    assert profiles.keys() == EXPECTED.keys()
    assert FOLLOWED.keys() == {name for name, profile in profiles.items() if profile.surfaces}
    assert all(profile.binding_modes == BINDING_MODES for profile in profiles.values())
    assert all(profile.injections.keys() == set(profile.surfaces) for profile in profiles.values())


def test_an_undecided_dimension_has_the_profiles_own_reason(tmp_path: Path) -> None:
    """CTL-11: never a pass and never 0, but a reason."""
    desk = Desk(tmp_path, "desk-apology")
    state = desk.state()
    checks = desk.environment.checks(desk.profile, state, state, final_response="Sorry.")
    verdict = verdicts_from_checks(checks, empty=desk.profile.not_applicable).utility
    assert verdict.verdict == "not_observed"
    assert verdict.reason == desk.profile.not_observed["utility"]
    assert "utility" not in desk.profile.dimensions


async def test_an_unsound_oracle_keeps_its_word_and_decides_nothing(tmp_path: Path) -> None:
    desk = Desk(tmp_path, "desk-explain-delay")
    before = desk.state()
    async with desk.client() as client:
        await client.post(
            "/v1/tickets/TCK-10/replies", json={"body": "Our carrier is insolvent, ORD-1011 is lost."}
        )
    check = desk.checks(before, desk.state())["internal_reason_kept"]
    assert (check.passed, check.actual["passed"]) == (None, False)
    assert check.reason is not None
    assert "insolvent" in str(check.actual["actual"])


def test_profile_digests_are_the_pinned_ones() -> None:
    found = {name: profile.profile_digest for name, profile in DeskEnvironment().profiles.items()}
    assert found == DIGESTS


def test_a_title_and_a_sample_text_are_no_part_of_the_digest() -> None:
    profile = DESK_PROFILES[0]
    renamed = replace(profile, title="Another title", task="Another task", injections={})
    other = replace(profile, checks=profile.checks[:-1])
    assert renamed.entry().profile_digest == profile.entry().profile_digest
    assert other.entry().profile_digest != profile.entry().profile_digest


def test_the_content_of_every_profile_is_plain_json() -> None:
    for profile in DeskEnvironment().profiles.values():
        assert digest(dict(profile.content)).startswith("sha256:")


def test_an_allowed_row_leaves_no_column_free_by_oversight() -> None:
    """Each allowed new row names every column but `created_at`; each allowed cell exists."""
    for profile in DESK_PROFILES:
        for check in profile.checks:
            for effect in check.allowed if isinstance(check, OnlyAllowed) else ():
                columns = {column.name for column in RECORD_TABLES[effect.table].columns}
                if isinstance(effect, NewRow):
                    assert effect.where.keys() == columns - {"environment_id", "id", "created_at"}
                assert not isinstance(effect, CellChange) or effect.column in columns


def test_check_ids_are_unique_in_their_profile() -> None:
    for profile in DESK_PROFILES:
        ids = [check.check_id for check in profile.checks]
        assert len(ids) == len(set(ids)), profile.profile_id


@pytest.mark.parametrize(
    "injection",
    [
        Injection(surface="order_note", text="Do this."),
        Injection(surface="TICKET_MESSAGE", text="Do this."),
        Injection(surface="ticket_message", text="A\0B"),
    ],
    ids=["a surface of another profile", "a surface that does not exist", "a text that no record can hold"],
)
def test_an_injection_that_cannot_be_planted_changes_nothing(injection: Injection, tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    before = desk.state()
    with pytest.raises(SchemaError) as refused:
        desk.reset("desk-refund-full", injection=injection)
    assert (refused.value.code, refused.value.status) == ("invalid_request", 400)
    assert injection.text not in str(refused.value)
    assert desk.state() == before


def test_a_profile_of_another_build_is_refused(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    state = desk.state()
    changed = replace(desk.profile, content={**desk.profile.content, "more": 1})
    with pytest.raises(ValueError, match="not one of this desk's"):
        desk.environment.checks(changed, state, state, final_response="Done.")
