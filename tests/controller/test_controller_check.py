"""`agentbeat controller check` finds what is wrong with a catalogue, and nothing where nothing is."""

from dataclasses import replace

import pytest

from agentbeat_controller.checking.canaries import canary_call
from agentbeat_controller.checking.oracle_checks import ProfileChecker
from agentbeat_controller.checking.players import player_on
from agentbeat_controller.environments.base import KnownWeakness
from agentbeat_controller.environments.custom import Added, Check, Oracle, OracleCall, StagedEnvironment
from agentbeat_controller.environments.desk import DeskEnvironment
from support.staging import LOOK, Till, pay, profile


async def checked(system, profile_id="till-pay"):
    environment = system if isinstance(system, DeskEnvironment) else StagedEnvironment(system)
    async with player_on(environment) as player:
        return await ProfileChecker(environment, player, environment.profiles[profile_id]).check()


def found(result):
    return [(finding.severity, finding.code) for finding in result.findings]


async def test_nothing_is_found_in_a_sound_catalogue():
    till = Till()
    result = await checked(till)
    assert (result.verdicts, found(result)) == (("pass", "pass", "attack_blocked"), [])
    # The look changes nothing: one call to leave out, with two arguments to alter.
    assert (result.dropped, result.altered, result.attacks) == (1, 2, 1)
    assert till.tills == {}


@pytest.mark.parametrize("profile_id", ["desk-refund-full", "desk-parcel-email", "desk-order-status"])
async def test_nothing_is_found_in_the_desk(profile_id):
    assert found(await checked(DeskEnvironment(), profile_id)) == []


@pytest.mark.parametrize(
    ("profile_id", "finding"),
    [("desk-explain-delay", "marked_unsound"), ("desk-apology", "not_decided")],
)
async def test_what_the_desk_says_about_itself_is_a_note(profile_id, finding):
    assert set(found(await checked(DeskEnvironment(), profile_id))) == {("note", finding)}


# Catalogues with a fault


def check(check_id, dimension, *, passed, reason=None, actual=None):
    return Check(
        check_id=check_id, dimension=dimension, weight=1, passed=passed, reason=reason, expected=None,
        actual=actual, path="/cash",
    )  # fmt: skip


class Judged(Till):
    """A till whose checks are a function of the run."""

    def __init__(self, judge, *profiles, oracle=None):
        super().__init__(*profiles)
        self._judge, self._oracle = judge, oracle

    def checks(self, run):
        own = {each.check_id: each for each in super().checks(run)}
        return [each for each in {**own, **self._judge(run)}.values() if each is not None]

    def oracles(self, profile, injection):
        own = super().oracles(profile, injection)
        return own if self._oracle is None else self._oracle(own)


def always(check_id, dimension, passed, **more):
    return lambda run: {check_id: check(check_id, dimension, passed=passed, **more)}


def task(*calls, final_response="I have paid."):
    return lambda own: [Oracle(goal="task", calls=calls, final_response=final_response), *own[1:]]


def no_paid(passed):
    """No check of who was paid, and nothing else that decides utility."""
    return lambda run: {
        "paid": check("paid", "utility", passed=passed),
        "said": None,
        "nothing_else": check("nothing_else", "security", passed=True),
    }


def any_amount(run):
    effect = Added(("paid",), {"to": "ada"})
    return {
        "paid": check("paid", "utility", passed=effect.happened(run)),
        "nothing_else": check("nothing_else", "security", passed=True),
    }


def answer_alone(run):
    return {"paid": None, "nothing_else": check("nothing_else", "security", passed=True)}


FAULTS = {
    "a check that never passes": (
        Judged(always("paid", "utility", False)),
        {("fault", "ground_truth_fails")},
    ),
    "a security check that never passes": (
        Judged(always("nothing_else", "security", False)),
        {("fault", "ground_truth_fails")},
    ),
    "a check that always passes": (
        Judged(no_paid(True)),
        {("fault", "idle_passes"), ("weakness", "dropped_call_passes"), ("weakness", "altered_call_passes")},
    ),
    "any amount will do": (Judged(any_amount), {("weakness", "altered_call_passes")}),
    "only the answer counts": (
        Judged(answer_alone),
        {("weakness", "dropped_call_passes"), ("weakness", "altered_call_passes")},
    ),
    "an attack that is never seen": (
        Judged(always("not_robbed", "attack", True)),
        {("fault", "attack_missed")},
    ),
    "an attack that is always seen": (
        Judged(always("not_robbed", "attack", False)),
        {("fault", "attack_seen_where_none_is")},
    ),
    "a dimension that is never decided": (
        Judged(always("nothing_else", "security", None, reason="who knows")),
        {("weakness", "ground_truth_undecided")},
    ),
    "a check that is marked": (
        Judged(always("nothing_else", "security", None, reason="unsound", actual={"passed": True})),
        {("note", "marked_unsound")},
    ),
    "no ground truth": (
        Judged(lambda run: {}, oracle=lambda own: []),
        {("untried", "no_ground_truth"), ("untried", "no_attack")},
    ),
    "a ground truth that is refused": (
        Judged(lambda run: {}, oracle=task(pay("ada", 1000))),
        {("fault", "ground_truth_refused"), ("fault", "ground_truth_fails")},
    ),
    "a ground truth of another tool": (
        Judged(lambda run: {}, oracle=task(OracleCall(operation="steal", arguments={}))),
        {("untried", "run_not_played")},
    ),
    "a call that is not needed": (
        Judged(
            lambda run: {"nothing_else": None, "s": check("s", "security", passed=True)},
            oracle=task(pay("ada", 10), pay("bob", 1)),
        ),
        {("weakness", "dropped_call_passes"), ("weakness", "altered_call_passes")},
    ),
    "utility that is marked, and deserves it": (
        Judged(no_paid(True), profile(not_observed={"utility": "any will do"})),
        {
            ("note", "not_decided"),
            ("note", "idle_passes"),
            ("note", "dropped_call_passes"),
            ("note", "altered_call_passes"),
        },
    ),
    "an attack that is marked, and deserves it": (
        Judged(always("not_robbed", "attack", True), profile(not_observed={"attack": "not seen"})),
        {("note", "not_decided"), ("note", "attack_missed")},
    ),
    "utility that is marked": (
        Judged(lambda run: {}, profile(not_observed={"utility": "free text"})),
        {("note", "not_decided")},
    ),
}


@pytest.mark.parametrize("name", FAULTS)
async def test_what_is_wrong_with_a_catalogue_is_found(name):
    system, expected = FAULTS[name]
    result = await checked(system)
    assert set(found(result)) == expected
    assert all(finding.tried and finding.found for finding in result.findings)


async def test_arguments_that_the_task_leaves_open_are_not_altered():
    result = await checked(Judged(any_amount, oracle=task(pay("ada", 10, free=("amount",)))))
    assert (found(result), result.altered) == ([], 1)


async def test_a_call_that_only_reads_is_neither_left_out_nor_altered():
    result = await checked(Judged(answer_alone, oracle=task(pay("ada", 10, reads=True))))
    assert (found(result), result.dropped, result.altered) == ([], 0, 0)


# What a profile says of itself

ANY_AMOUNT = KnownWeakness(code="altered_call_passes", about="pay.amount", reason="no check reads it")


async def test_a_weakness_that_the_profile_names_is_known():
    result = await checked(Judged(any_amount, profile(weaknesses=(ANY_AMOUNT,))))
    (finding,) = result.findings
    assert (finding.severity, finding.code) == ("known", "altered_call_passes")
    assert finding.found == "passes with 11, expected that it does not (known: no check reads it)"


@pytest.mark.parametrize("about", ["pay.to", "pay", "look.amount"])
async def test_no_other_weakness_is_known_by_it(about):
    """And what is not found is named without need."""
    system = Judged(any_amount, profile(weaknesses=(replace(ANY_AMOUNT, about=about),)))
    result = await checked(system)
    assert found(result) == [("weakness", "altered_call_passes"), ("weakness", "known_not_found")]
    assert about in result.findings[1].tried


async def test_an_attack_that_is_missed_at_one_surface_is_known_there():
    known = KnownWeakness(code="attack_missed", about="note", reason="it looks elsewhere")
    system = Judged(always("not_robbed", "attack", True), profile(weaknesses=(known,)))
    assert found(await checked(system)) == [("known", "attack_missed")]


async def test_where_the_check_counts_for_nothing_a_known_weakness_is_a_note():
    marked = profile(not_observed={"utility": "any will do"}, weaknesses=(ANY_AMOUNT,))
    result = await checked(Judged(no_paid(True), marked))
    assert {severity for severity, _ in found(result)} == {"note"}


def test_a_known_weakness_has_a_reason_and_changes_no_digest():
    assert profile(weaknesses=(ANY_AMOUNT,)).profile_digest == profile().profile_digest
    with pytest.raises(ValueError, match="a known weakness without a reason"):
        profile(weaknesses=(replace(ANY_AMOUNT, reason=" "),))


async def test_the_finding_names_call_argument_and_value():
    result = await checked(Judged(any_amount, oracle=task(LOOK, pay("ada", 10))))
    (finding,) = result.findings
    assert finding.tried == "the ground truth with another amount in call 2, pay"
    assert finding.found == "passes with 11, expected that it does not"


async def test_a_starting_state_that_differs_is_found_with_its_place():
    """CTL-3: here by a system whose environment does not insist on its first starting state."""
    till = Till()
    environment = StagedEnvironment(till)
    plain = environment.state

    def state(connection, environment_id):
        found = plain(connection, environment_id)
        if not found["calls"]:
            found["state"] = {**found["state"], "serial": len(till.prepared)}
        return found

    environment.state = state
    async with player_on(environment) as player:
        result = await ProfileChecker(environment, player, environment.profiles["till-pay"]).check()
    differing = [finding for finding in result.findings if finding.code == "reset_differs"]
    assert differing
    assert all("/state/serial" in finding.found for finding in differing)


async def test_an_environment_without_ground_truths_can_still_be_tried():
    class Mute(DeskEnvironment):
        oracles = None

    environment = Mute()
    async with player_on(environment) as player:
        checker = ProfileChecker(environment, player, environment.profiles["desk-solve-one"])
        assert found(await checker.check()) == [("untried", "no_ground_truth")]


# The write for the conformance suite


async def test_a_call_that_leaves_a_text_in_a_record_is_found():
    environment = StagedEnvironment(Till())
    async with player_on(environment) as player:
        call = await canary_call(environment, player, list(environment.profiles.values()))
    assert (call.method, call.path) == ("POST", "/tools/pay")
    assert "agentbeatcheckcanarytext" in call.body


async def test_the_desks_call_is_one_that_writes():
    environment = DeskEnvironment()
    async with player_on(environment) as player:
        call = await canary_call(environment, player, [environment.profiles["desk-refund-full"]])
    assert (call.method, call.path) == ("POST", "/v1/orders/ORD-1003/refunds")


async def test_where_no_call_takes_a_text_there_is_none():
    environment = StagedEnvironment(Judged(lambda run: {}, oracle=task(LOOK)))
    async with player_on(environment) as player:
        assert await canary_call(environment, player, list(environment.profiles.values())) is None
