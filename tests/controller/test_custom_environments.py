"""A staging system behind the control plane: what holds when it works, and when it does not."""

import pytest

from agentbeat_controller.environments.custom import StagedEnvironment
from agentbeat_protocol import ProtocolError
from support.controllers import code_of
from support.staging import ATTACK, Till, call, paid, profile, reset_of, run_of, staged_rig, unleased


@pytest.fixture
def till():
    return Till()


@pytest.fixture
def staged(database, till):
    with staged_rig(database, till) as rig:
        yield rig


# A run


async def test_a_run_is_prepared_used_read_and_judged(staged, till):
    run = run_of(staged)
    await run.through("reset", "before")
    answer = await call(staged, "pay", to="ada", amount=10)
    assert (answer.status_code, answer.json()) == (200, 90)
    state, words = await paid(staged, run)
    assert state["state"] == {"cash": 90, "paid": {"1": {"to": "ada", "amount": 10}}, "note": ""}
    assert state["calls"] == [
        {
            "sequence": 1,
            "operation": "pay",
            "arguments": {"to": "ada", "amount": 10},
            "status": 200,
            "error": None,
        }
    ]
    assert (state["system"], state["profile_id"], state["unfinished"]) == ("till", "till-pay", [])
    assert words == {"utility": "pass", "security": "pass", "attack": "attack_blocked"}
    await run.through("release")
    assert till.tills == {}


async def test_an_injection_stands_where_prepare_puts_it_and_an_attack_is_seen(staged):
    run = run_of(staged, injection={"surface": "note", "text": ATTACK})
    await run.through("reset", "before")
    assert (await call(staged, "look")).json() == {"note": ATTACK}
    await call(staged, "pay", to="mallory", amount=50)
    _, words = await paid(staged, run)
    assert words == {"utility": "fail", "security": "fail", "attack": "attack_succeeded"}


async def test_no_run_sees_the_place_of_another(staged):
    first, second = run_of(staged, "a"), run_of(staged, "b")
    for run in (first, second):
        await run.through("reset", "before")
    await call(staged, "pay", run="a", to="ada", amount=10)
    state, words = await paid(staged, second)
    assert (state["state"]["cash"], state["calls"]) == (100, [])
    assert words["utility"] == "fail"


async def test_a_call_outside_the_window_does_not_reach_the_system(staged, till):
    run = run_of(staged)
    await run.through("reset")
    assert code_of(await call(staged, "pay", to="ada", amount=10)) == (409, "environment_closed")
    await run.through("before")
    await run.through("after")
    assert code_of(await call(staged, "pay", to="ada", amount=10)) == (409, "environment_closed")
    assert [each["cash"] for each in till.tills.values()] == [100]


# Reset


async def test_a_reset_that_does_not_take_is_repeated(staged, till):
    """CTL-3: the state must be the one that the first reset of this profile and injection gave."""
    await run_of(staged, "first").through("reset")
    wrong = iter([7, 8])

    def disturb(place):
        place["cash"] = next(wrong, place["cash"])

    till.at_prepare = disturb
    second = run_of(staged, "second")
    await second.through("reset", "before")
    state = (await second.client.get(second.snapshot_path("before"))).json()
    assert state["state"]["cash"] == 100
    assert len(till.prepared) == 1 + 3


async def test_a_reset_that_never_takes_is_503_and_leases_nothing(staged, till):
    first = run_of(staged, "first")
    await first.through("reset", "release")
    before = unleased(staged)
    till.at_prepare = lambda place: place.update(cash=7)
    refused = await run_of(staged, "second").post("reset")
    assert code_of(refused) == (503, "controller_unavailable")
    assert refused.headers["Retry-After"] == "1"
    assert unleased(staged) == before


async def test_each_injection_has_a_starting_state_of_its_own(staged):
    digests = []
    for number, text in enumerate([None, "one", "two", "one", None]):
        changes = {"injection": {"surface": "note", "text": text}} if text else {}
        run = run_of(staged, str(number), **changes)
        digests.append((await run.through("reset"))["state_digest"])
    assert digests[0] == digests[4]
    assert digests[1] == digests[3]
    assert len(set(digests)) == 3


@pytest.mark.parametrize("where", ["at_prepare", "at_state"])
async def test_a_system_that_does_not_answer_makes_a_reset_503_and_leases_nothing(staged, till, where):
    def fail(_):
        raise OSError("the staging host is down")

    setattr(till, where, fail)
    refused = await run_of(staged).post("reset")
    assert code_of(refused) == (503, "controller_unavailable")
    assert "staging host" not in refused.text
    assert unleased(staged) == {}
    setattr(till, where, lambda _: None)
    await run_of(staged).through("reset", "before")


async def test_a_state_that_is_no_json_makes_a_reset_503(staged, till):
    till.at_prepare = lambda place: place.update(cash={1, 2})
    assert code_of(await run_of(staged).post("reset")) == (503, "controller_unavailable")
    assert unleased(staged) == {}


async def test_prepare_may_refuse_an_injection(staged, till):
    def refuse(place):
        if place["note"]:
            raise ProtocolError("CTL-9", code="invalid_request", got="a long text", expected="a short one")

    till.at_prepare = refuse
    injection = {"surface": "note", "text": "x"}
    assert code_of(await run_of(staged, injection=injection).post("reset")) == (400, "invalid_request")
    assert unleased(staged) == {}


# Snapshot and verify


async def test_a_state_that_cannot_be_read_is_no_snapshot_and_the_lease_stays_as_it_was(staged, till):
    run = run_of(staged)
    await run.through("reset", "before")
    await call(staged, "pay", to="ada", amount=10)

    def fail(_):
        raise ConnectionError("gone")

    till.at_state = fail
    rows = staged.rows()
    assert code_of(await run.post("after")) == (503, "controller_unavailable")
    assert staged.rows() == rows
    till.at_state = lambda _: None
    _, words = await paid(staged, run)
    assert words["utility"] == "pass"


async def test_checks_that_fail_decide_nothing(staged, till, monkeypatch):
    run = run_of(staged)
    await run.through("reset", "before", "after")
    monkeypatch.setattr(till, "checks", lambda run: [1 // 0])
    verified = (await run.post("verify")).json()
    assert {each["verdict"] for each in verified["verdicts"].values()} == {"not_observed"}
    assert all("ZeroDivisionError" in check["reason"] for check in verified["checks"])


@pytest.mark.parametrize(
    "state",
    [None, 7, {}, {"schema_version": "staged-state-v1", "profile_id": "other"}],
    ids=["null", "a number", "empty", "another profile's"],
)
def test_states_of_another_kind_decide_nothing_and_say_why(till, state):
    environment = StagedEnvironment(till)
    known = environment.profiles["till-pay"]
    checks = environment.checks(known, state, state, final_response="I have paid.")
    assert [check.passed for check in checks] == [None, None, None]
    assert all(check.reason.startswith("the state before") for check in checks)


def test_what_a_profile_cannot_decide_is_never_decided(till):
    """The system's word is kept beside the reason (CTL-11)."""
    odd = profile(not_observed={"utility": "the till cannot tell"}, not_applicable={"attack": "none"})
    environment = StagedEnvironment(Till(odd))
    state = {
        "schema_version": "staged-state-v1",
        "profile_id": "till-pay",
        "state": {"cash": 100, "paid": {}, "note": ""},
        "calls": [],
        "unfinished": [],
    }
    known = environment.profiles["till-pay"]
    checks = {each.check_id: each for each in environment.checks(known, state, state, final_response="paid")}
    assert checks.keys() == {"paid", "said", "nothing_else"}
    assert (checks["said"].passed, checks["said"].reason) == (None, "the till cannot tell")
    assert checks["said"].actual["passed"] is True
    assert checks["nothing_else"].passed is True


# Places


async def test_fixed_places_are_for_one_run_at_a_time(database):
    till = Till(places=("main",))
    with staged_rig(database, till) as rig:
        static = {"binding_mode": "deployment_static"}
        first = run_of(rig, "a", **static)
        await first.through("reset", "before")
        other = run_of(rig, "b", **static, deployment_profile_id="deployment-b")
        refused = await other.post("reset")
        assert code_of(refused) == (409, "environment_busy")
        assert "Retry-After" in refused.headers
        await call(rig, "pay", to="ada", amount=10)
        await first.through("release")
        await other.through("reset", "before")
        state = (await other.client.get(other.snapshot_path("before"))).json()
        assert state["state"] == {"cash": 100, "paid": {}, "note": ""}
        assert set(till.prepared) == {"main"}


def test_a_system_with_fixed_places_offers_no_environment_of_a_runs_own():
    environment = StagedEnvironment(Till(places=("main",)))
    assert environment.profiles["till-pay"].binding_modes == ("deployment_static",)


async def test_a_lease_ends_though_its_place_cannot_be_forgotten_and_that_is_tried_again(staged, till):
    def fail(_):
        raise OSError("not now")

    till.at_forget = fail
    first = run_of(staged, "a")
    await first.through("reset", "release")
    assert till.forgotten == []
    assert len(staged.rows()["staged_leftovers"]) == 1
    till.at_forget = lambda _: None
    await run_of(staged, "b").through("reset")
    assert till.forgotten == till.prepared[:1]
    assert staged.rows()["staged_leftovers"] == []


# The catalogue


def test_all_that_decides_a_run_is_in_the_digest():
    """Another content, version or tool is another profile; where the till stands is not."""

    class Newer(Till):
        version = 2

    class Richer(Till):
        def tools(self):
            return [self.pay, self.look, self.forgive]

        def forgive(self, place: str) -> None:
            """Forgive."""

    systems = [Till(), Till(), Newer(), Richer(), Till(profile(content={"cash": 99}))]
    digests = [StagedEnvironment(each).profiles["till-pay"].profile_digest for each in systems]
    assert digests[0] == digests[1]
    assert len(set(digests)) == 4


@pytest.mark.parametrize("what", ["profile", "tool"])
def test_two_of_one_name_are_refused(what):
    class Twice(Till):
        def tools(self):
            return [self.pay, self.pay]

    with pytest.raises(ValueError, match=f"two {what}s have the same name"):
        StagedEnvironment(Till(profile(), profile()) if what == "profile" else Twice())


def test_a_profile_of_another_system_is_refused(till):
    environment = StagedEnvironment(till)
    other = StagedEnvironment(Till(profile(content={"cash": 1}))).profiles["till-pay"]
    with pytest.raises(ValueError, match="not one of this system's"):
        environment.checks(other, None, None, final_response="")


async def test_the_reset_of_a_profile_that_has_changed_is_refused(staged):
    reset = reset_of(staged) | {"profile_digest": "sha256:" + "0" * 64}
    assert code_of(await run_of(staged, **reset).post("reset")) == (409, "profile_changed")
