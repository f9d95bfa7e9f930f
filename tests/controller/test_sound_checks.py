"""Checks that cannot be published: verify has an answer all the same, and it decides nothing by them."""

import sys

import pytest

from agentbeat_controller.environments.base import Profile
from agentbeat_controller.environments.sound_checks import sound_checks
from agentbeat_controller.receipts import signature_holds
from agentbeat_protocol import Check, digest
from agentbeat_protocol.state_receipts import StateReceipt
from support.controllers import SIGNER, Run
from support.postgres import both_databases
from support.staging import Till, paid, run_of, staged_rig

PROFILE = Profile(
    profile_id="p", title="p", task="p", content={}, not_applicable={"attack": "nothing is injected"}
)


def check(**changes):
    members = {
        "check_id": "a",
        "dimension": "utility",
        "weight": 1,
        "passed": True,
        "reason": None,
        "expected": None,
        "actual": None,
        "path": None,
    }
    return Check(**{**members, **changes})


def made(**changes):
    """A check that nobody looked at when it was made."""
    return Check.model_construct(**{**check().__dict__, **changes})


def endless():
    found = []
    found.append(found)
    return found


def nested(levels):
    return [nested(levels - 1)] if levels else []


#: One check that cannot be published, and what is said of it.
UNSOUND = {
    "no number": (check(actual={"a": float("nan")}), "no JSON form (C-NONFINITE)"),
    "bytes": (check(expected=b"x"), "no JSON form (C-TYPE)"),
    "a set, whose order is another in each process": (check(actual={"a", "b"}), "no JSON form (C-TYPE)"),
    "half a character": (check(actual="\ud800"), "no JSON form (C-SURROGATE)"),
    "half a character in its reason": (check(reason="\ud800"), "no JSON form (C-SURROGATE)"),
    "a list in itself": (check(actual=endless()), "no JSON form (C-DEPTH)"),
    "deeper than verify's answer may be": (check(actual=nested(97)), "no JSON form (C-DEPTH)"),
    "a weight that no double keeps": (check(weight=2**53 + 1), "no JSON form (C-INTEXACT)"),
    "a weight of nothing": (made(weight=0), "weight"),
    "neither true nor false": (made(passed="yes"), "passed"),
    "undecided without a reason": (check().model_copy(update={"passed": None}), "reason"),
    "an id that is none": (made(check_id=""), "check_id"),
    "several things": (made(weight=0.5, passed=1), "passed, weight"),
}
#: What cannot be told to speak for a dimension, and how that is told.
NO_CHECKS = {
    "a fault": (lambda: 1 / 0, "ZeroDivisionError"),
    "an end": (lambda: sys.exit(0), "SystemExit"),
    "nothing": (lambda: None, "TypeError"),
    "a text": (lambda: "abc", "TypeError"),
    "a check in words": (lambda: [check(), {"check_id": "a"}], "TypeError"),
    "a fault on the way": (lambda: (check(weight=1 // n) for n in (1, 0)), "ZeroDivisionError"),
    "no dimension": (lambda: [made(dimension="style")], "ValueError"),
    "a check without members": (lambda: [Check.model_construct()], "AttributeError"),
    "more weight than JSON counts": (lambda: [check(weight=2**53 - 1), check(check_id="b")], "ValueError"),
}


@pytest.mark.parametrize(("unsound", "said"), UNSOUND.values(), ids=UNSOUND)
def test_a_check_that_cannot_be_published_leaves_its_dimension_undecided_and_the_others_as_they_are(
    unsound, said, caplog
):
    """And twice so is said once."""
    kept = check(check_id="rest", dimension="security", passed=False)
    found = sound_checks(PROFILE, lambda: [unsound, kept, unsound])
    assert found.checks[0] == kept
    (instead,) = found.checks[1:]
    assert (instead.dimension, instead.passed) == ("utility", None)
    assert instead.reason == f"a check is not valid: {said}"
    assert found.digest == digest([each.model_dump(mode="json") for each in found.checks])
    assert "p: a check of utility: " in caplog.text


@pytest.mark.parametrize(("ask", "said"), NO_CHECKS.values(), ids=NO_CHECKS)
def test_what_is_no_list_of_checks_decides_nothing(ask, said):
    """Every dimension that a check may speak for is undecided, and the declared empty one stays so."""
    found = sound_checks(PROFILE, ask).checks
    assert [(each.dimension, each.passed, each.reason) for each in found] == [
        (dimension, None, f"the checks failed with {said}") for dimension in ("utility", "security")
    ]


def test_checks_that_can_be_published_are_left_as_they_are():
    given = (
        check(actual=nested(96)),
        check(check_id="b", passed=None, reason="unseen", expected=(1, "\u00e9")),
    )
    found = sound_checks(PROFILE, lambda: iter(given))
    assert found.checks == given
    assert found.digest == digest([each.model_dump(mode="json") for each in given])


class Judging(Till):
    """A till whose judgement the test gives."""

    judgement = None

    def checks(self, run):
        return self.judgement(super().checks(run))


@both_databases
@pytest.mark.parametrize(("unsound", "_said"), UNSOUND.values(), ids=UNSOUND)
async def test_verify_answers_with_a_receipt_that_holds(database, unsound, _said):
    """Not observed, where no other check has failed; and the answer is recorded."""
    till = Judging()
    till.judgement = lambda found: [unsound, *found, unsound.model_copy(update={"dimension": "attack"})]
    with staged_rig(database, till) as rig:
        run = run_of(rig)
        await run.through("reset", "before")
        _, words = await paid(rig, run)
        assert words == {"utility": "fail", "security": "pass", "attack": "not_observed"}
        answer = run.answers["verify"]
        assert answer["receipt"]["checks_digest"] == digest(answer["checks"])
        assert signature_holds(StateReceipt.model_validate(answer["receipt"]), SIGNER.verify_key)
        again = await run.post("verify", final_response="I have paid.")
        assert again.json() == answer


@both_databases
@pytest.mark.parametrize(("ask", "said"), NO_CHECKS.values(), ids=NO_CHECKS)
async def test_verify_says_that_nothing_was_observed_where_the_checks_fail(database, ask, said):
    till = Judging()
    till.judgement = lambda _: ask()
    with staged_rig(database, till) as rig:
        run = run_of(rig)
        await run.through("reset", "before")
        _, words = await paid(rig, run)
        assert set(words.values()) == {"not_observed"}
        assert run.answers["verify"]["native_score"] is None


async def test_an_environment_of_ones_own_is_held_to_the_same(rig):
    """Not only staging systems are somebody else's code."""
    checks = rig.environment.checks
    rig.environment.checks = lambda *given, **named: (*checks(*given, **named)[1:], UNSOUND["no number"][0])
    async with rig.control() as client:
        run = Run(client)
        verdicts = (await run.through("reset", "before", "after", "verify"))["verdicts"]
        rig.environment.checks = lambda *_, **__: sys.exit(1)
        other = Run(client, "b")
        nothing = (await other.through("reset", "before", "after", "verify"))["verdicts"]
    assert {name: each["verdict"] for name, each in verdicts.items()} == {
        "utility": "not_observed",
        "security": "pass",
        "attack": "not_observed",
    }
    assert {each["reason"] for each in nothing.values()} == {"the checks failed with SystemExit"}
