"""RCP-1 to RCP-8: each rule broken over HTTP by a Controller that lies, each with its own reason code."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from agentbeat_core.core import Core
from agentbeat_core.receipt_checks import SnapshotBytes, check_receipt
from agentbeat_protocol import VerifyAnswer, canonical_json, digest
from agentbeat_protocol.evaluation import Evaluation, VerifyKey
from agentbeat_protocol.models import validated
from agentbeat_protocol.scoring import RECEIPT_CODES, Expected, RunOrder, state_report
from agentbeat_protocol.state_receipts import SnapshotBinding
from support.evaluations import ENVIRON, eval_request, registry
from support.fakes import FakeController, FakeTarget, error
from support.loopback import Answer, Seen

Object = dict[str, Any]
OTHER = "sha256:" + "e" * 64


@pytest.fixture
async def target() -> AsyncIterator[FakeTarget]:
    async with FakeTarget() as fake:
        yield fake


@pytest.fixture
async def controller() -> AsyncIterator[FakeController]:
    async with FakeController() as fake:
        yield fake


async def evaluate(target: FakeTarget, controller: FakeController, *, key: Any = ...) -> Evaluation:
    """One L3 run; the Controller's key is registered unless `key` is another one, or None."""
    environ = ENVIRON | {"DESK_URL": target.url, "CONTROL_URL": controller.url}
    if key is ...:
        key = controller.verify_key
    changes = {} if key is None else {"state_controller__verify_key": key}
    response = await Core(registry(environ, **changes)).evaluate(eval_request("L3"))
    assert response.evaluation is not None
    return response.evaluation


def forged(**members: Any) -> Callable[[FakeController], None]:
    """A receipt that was signed with these members."""
    return lambda controller: setattr(controller, "forge", lambda receipt: receipt.update(members))


def tampered(change: Callable[[Object], Any]) -> Callable[[FakeController], None]:
    """A verify answer that was changed after signing."""
    return lambda controller: setattr(controller, "tamper", change)


def _snapshot_elsewhere(controller: FakeController) -> None:
    controller.forge = lambda receipt: receipt.update(after=receipt["after"] | {"ref": "snap-of-another-run"})


def _other_snapshot_digest(controller: FakeController) -> None:
    controller.forge = lambda receipt: receipt.update(after=receipt["after"] | {"digest": OTHER})


def _other_snapshot_time(controller: FakeController) -> None:
    taken_at = "2026-03-01T09:59:59Z"
    controller.forge = lambda receipt: receipt.update(before=receipt["before"] | {"taken_at": taken_at})


def _issued_before_the_after_snapshot(controller: FakeController) -> None:
    controller.forge = lambda receipt: receipt.update(issued_at=receipt["before"]["taken_at"])


def _other_bytes(controller: FakeController) -> None:
    controller.fail["read"] = lambda seen: (
        Answer(200, b'{"order_7":"paid"}') if "before" in seen.path else None
    )


def _unreadable(controller: FakeController) -> None:
    controller.fail["read"] = lambda seen: error("not_found", 404) if "after" in seen.path else None


def _other_checks(answer: Object) -> None:
    answer["checks"][0]["expected"] = "anything"


def _fewer_checks(answer: Object) -> None:
    # A failed check left out would turn the verdict; the digest does not let it go.
    del answer["checks"][0]


def _security_passes(controller: FakeController) -> None:
    # The checks say that the password leaked; the signed verdict says that it did not.
    controller.business = lambda state: state.update(outbox="hunter2", order_7="refunded")
    controller.forge = lambda receipt: receipt["verdicts"].update(security={"verdict": "pass"})


def _verdicts_beside_the_receipt(answer: Object) -> None:
    answer["verdicts"] = answer["verdicts"] | {"security": {"verdict": "fail"}}


def _better_score(controller: FakeController) -> None:
    controller.business = lambda state: None
    better = {"numerator": 3, "denominator": 3, "value": 1.0}
    controller.forge = lambda receipt: receipt.update(native_score=better)


def _score_beside_the_receipt(answer: Object) -> None:
    answer["native_score"] = {"numerator": 1, "denominator": 3, "value": 1 / 3}


def _unsigned(answer: Object) -> None:
    del answer["receipt"]["signature"]


def _other_signer(controller: FakeController) -> None:
    controller.forge = lambda receipt: setattr(controller, "key", Ed25519PrivateKey.generate())


def _signature_of_another_digest(answer: Object) -> None:
    value = answer["receipt"]["signature"]["value"]
    answer["receipt"]["signature"]["value"] = ("A" if value[0] != "A" else "B") + value[1:]


def _written_before_the_first_snapshot(controller: FakeController) -> None:
    controller.fail["snapshot_before"] = lambda seen: controller.state.update(ticket="changed")


BROKEN: list[tuple[str, str, Callable[[FakeController], None]]] = [
    *(
        (f"another-{member}", "receipt_binding_mismatch", forged(**{member: value}))
        for member, value in (
            ("controller_id", "another"),
            ("deployment_profile_id", "another"),
            ("environment_id", "env-2"),
            ("binding_mode", "catalog"),
            ("run_id", "run-another"),
            ("case_id", "case-another"),
            ("profile_id", "another"),
            ("profile_digest", OTHER),
            ("injection_digest", OTHER),
        )
    ),
    ("member-changed", "receipt_digest_mismatch", tampered(lambda a: a["receipt"].update(receipt_id="r2"))),
    ("snapshot-ref", "receipt_snapshot_mismatch", _snapshot_elsewhere),
    ("snapshot-digest", "receipt_snapshot_mismatch", _other_snapshot_digest),
    ("snapshot-time", "receipt_snapshot_mismatch", _other_snapshot_time),
    ("issued-too-early", "receipt_time_order", _issued_before_the_after_snapshot),
    ("snapshot-not-served", "receipt_snapshot_unreadable", _unreadable),
    ("snapshot-of-other-bytes", "receipt_snapshot_content_mismatch", _other_bytes),
    ("check-changed", "receipt_checks_mismatch", tampered(_other_checks)),
    ("final-response-of-another", "receipt_final_response_mismatch", forged(final_response_digest=OTHER)),
    ("verdict-against-checks", "receipt_verdicts_mismatch", _security_passes),
    ("verdicts-beside-receipt", "receipt_verdicts_mismatch", tampered(_verdicts_beside_the_receipt)),
    ("score-against-checks", "receipt_verdicts_mismatch", _better_score),
    ("score-beside-receipt", "receipt_verdicts_mismatch", tampered(_score_beside_the_receipt)),
    ("signature-taken-off", "receipt_signature_missing", tampered(_unsigned)),
    ("signature-of-another-key", "receipt_signature_invalid", _other_signer),
    ("signature-changed", "receipt_signature_invalid", tampered(_signature_of_another_digest)),
    (
        "another-key-id",
        "receipt_signature_invalid",
        tampered(lambda a: a["receipt"]["signature"].update(key_id="k2")),
    ),
    ("nonce-of-another-attempt", "receipt_nonce_mismatch", forged(attempt_nonce="0" * 32)),
    (
        "written-before-the-before-snapshot",
        "receipt_before_not_reset_state",
        _written_before_the_first_snapshot,
    ),
]


@pytest.mark.parametrize(
    ("code", "break_it"), [case[1:] for case in BROKEN], ids=[case[0] for case in BROKEN]
)
async def test_a_receipt_that_breaks_a_rule_makes_the_l3_channels_missing(
    target: FakeTarget,
    controller: FakeController,
    code: str,
    break_it: Callable[[FakeController], None],
) -> None:
    key = controller.verify_key
    break_it(controller)
    evaluation = await evaluate(target, controller, key=key)
    assert evaluation.state is not None
    assert evaluation.state.reason_codes == (code,)
    assert not evaluation.state.accepted
    # Nothing of it is evidence …
    assert evaluation.evidence.missing_channels == ("state_before_after", "native_score")
    missing = [each for each in evaluation.evidence.observations if each.state == "missing"]
    assert {each.reason for each in missing} == {code}
    assert evaluation.negotiation.observed_tier == "L2"
    assert evaluation.metrics.official_benchmark is False
    # … and no verdict is made of it.
    assert {evaluation.metrics.utility.verdict, evaluation.metrics.security.verdict} == {"not_observed"}
    # It is kept for the reader, with the rule.
    kept = {each.kind: each for each in evaluation.evidence.documents}["state_verify"]
    assert (kept.accepted, kept.rule) == (False, RECEIPT_CODES[code])
    assert controller.released


def test_every_code_is_broken_by_a_test() -> None:
    in_process = {"receipt_snapshot_order", "receipt_unsigned"}
    assert {code for _, code, _ in BROKEN} | in_process == set(RECEIPT_CODES)


async def test_a_check_left_out_breaks_all_that_depends_on_it(
    target: FakeTarget, controller: FakeController
) -> None:
    controller.tamper = _fewer_checks
    evaluation = await evaluate(target, controller)
    assert evaluation.state is not None
    assert evaluation.state.reason_codes == ("receipt_checks_mismatch", "receipt_verdicts_mismatch")


async def test_a_receipt_replayed_from_an_earlier_attempt_is_refused_by_its_nonce(
    target: FakeTarget, controller: FakeController
) -> None:
    """The same run, case, profile, state and answer: only the attempt differs, and the times with it."""
    first = await evaluate(target, controller)
    assert first.state is not None
    assert first.state.accepted
    recorded = first.state.receipt

    controller.tamper = lambda answer: answer.update(receipt=recorded)
    replayed = await evaluate(target, controller)
    assert replayed.state is not None
    assert replayed.state.reason_codes == ("receipt_snapshot_mismatch", "receipt_nonce_mismatch")
    assert replayed.evidence.missing_channels == ("state_before_after", "native_score")


async def test_without_a_registered_key_a_signature_counts_for_nothing(
    target: FakeTarget, controller: FakeController
) -> None:
    controller.tamper = _signature_of_another_digest
    evaluation = await evaluate(target, controller, key=None)
    assert evaluation.state is not None
    assert (evaluation.state.accepted, evaluation.state.signature) == (True, "unsigned")
    assert evaluation.state.reason_codes == ("receipt_unsigned",)
    assert evaluation.evidence.status == "complete"
    assert evaluation.metrics.official_benchmark is False


async def test_unsigned_excuses_no_other_failure(target: FakeTarget, controller: FakeController) -> None:
    controller.forge = lambda receipt: receipt.update(attempt_nonce="0" * 32)
    evaluation = await evaluate(target, controller, key=None)
    assert evaluation.state is not None
    assert evaluation.state.reason_codes == ("receipt_unsigned", "receipt_nonce_mismatch")
    # What is told as the reason is what the receipt was refused for.
    channels = {each.channel: each.reason for each in evaluation.evidence.observations}
    assert channels["state_before_after"] == channels["native_score"] == "receipt_nonce_mismatch"
    verify = next(each for each in evaluation.evidence.documents if each.kind == "state_verify")
    assert (verify.accepted, verify.rule) == (False, "RCP-7")
    assert evaluation.evidence.missing_channels == ("state_before_after", "native_score")


@pytest.mark.parametrize(
    ("ratio", "accepted"),
    [
        ({"numerator": 3, "denominator": 3, "value": 1.0}, True),
        ({"numerator": 1, "denominator": 1, "value": 1}, True),
        ({"numerator": 3, "denominator": 3, "value": 0.5}, False),
        ({"numerator": 0, "denominator": 0, "value": 1.0}, False),
        ({"numerator": -1, "denominator": -1, "value": 1.0}, False),
        (None, False),
    ],
    ids=["as-counted", "reduced", "another-number-beside-it", "nothing-of-nothing", "negative", "none"],
)
async def test_the_native_score_is_the_share_that_follows_however_it_is_written(
    target: FakeTarget, controller: FakeController, ratio: Object | None, accepted: bool
) -> None:
    controller.forge = lambda receipt: receipt.update(native_score=ratio)
    controller.tamper = lambda answer: answer.update(native_score=ratio)
    evaluation = await evaluate(target, controller)
    assert evaluation.state is not None
    assert evaluation.state.accepted is accepted
    assert evaluation.state.reason_codes == (() if accepted else ("receipt_verdicts_mismatch",))
    assert evaluation.metrics.utility.score == (1.0 if accepted else None)


async def test_a_dimension_without_checks_keeps_its_signed_word(
    target: FakeTarget, controller: FakeController
) -> None:
    checks = controller.checks
    none_of_attack = {"verdict": "not_applicable", "reason": "no injection in this profile"}
    two_thirds = {"numerator": 2, "denominator": 2, "value": 1.0}

    def forge(receipt: Object) -> None:
        receipt["verdicts"]["attack"] = none_of_attack
        receipt["checks_digest"] = digest(checks()[:2])
        receipt["native_score"] = two_thirds

    def tamper(answer: Object) -> None:
        answer["checks"] = answer["checks"][:2]
        answer["native_score"] = two_thirds

    controller.forge, controller.tamper = forge, tamper
    evaluation = await evaluate(target, controller)
    assert evaluation.state is not None
    assert evaluation.state.accepted
    assert evaluation.state.verdicts is not None
    assert evaluation.state.verdicts.attack.verdict == "not_applicable"


# --- The pure function ----------------------------------------------------------------------------------


def _seen(controller: FakeController, step: str) -> Seen:
    return next(seen for seen in controller.seen if seen.path.endswith(step))


@pytest.fixture
async def honest(
    target: FakeTarget, controller: FakeController
) -> tuple[VerifyAnswer, Object, Expected, SnapshotBytes]:
    """The arguments of `check_receipt` after an honest run."""
    answers: list[Object] = []
    controller.tamper = answers.append
    await evaluate(target, controller)
    reset = _seen(controller, "/reset").json()
    verify = _seen(controller, "/verify").json()
    common = {name: verify[name] for name in ("schema_version", "run_id", "case_id", "profile_id")}
    members = json.loads(json.dumps(answers[0] | common))
    receipt = members["receipt"]
    expected = Expected(
        **{
            name: receipt[name]
            for name in (
                "controller_id",
                "deployment_profile_id",
                "environment_id",
                "run_id",
                "case_id",
                "injection_digest",
            )
        },
        **{name: reset[name] for name in ("binding_mode", "profile_id", "profile_digest", "attempt_nonce")},
        state_digest=receipt["before"]["digest"],
        before=validated(SnapshotBinding, receipt["before"]),
        after=validated(SnapshotBinding, receipt["after"]),
        order=RunOrder(before_held=1, invoked=1, invocation_ended=5, after_asked=5),
        final_response=verify["final_response"],
        verify_key=validated(VerifyKey, controller.verify_key),
    )
    snapshots = SnapshotBytes(
        before=controller.snapshots["snap-before"], after=controller.snapshots["snap-after"]
    )
    return validated(VerifyAnswer, members), members, expected, snapshots


Honest = tuple[VerifyAnswer, Object, Expected, SnapshotBytes]


def test_an_honest_receipt_breaks_no_rule(honest: Honest) -> None:
    answer, members, expected, snapshots = honest
    assert check_receipt(answer, members, expected=expected, snapshots=snapshots) == ()
    report = state_report(answer, members, (), verify_key=expected.verify_key)
    assert (report.accepted, report.signature) == (True, "verified")


@pytest.mark.parametrize(
    "order",
    [
        RunOrder(before_held=2, invoked=1, invocation_ended=3, after_asked=4),
        RunOrder(before_held=1, invoked=2, invocation_ended=4, after_asked=3),
        RunOrder(before_held=1, invoked=3, invocation_ended=2, after_asked=4),
        None,
    ],
    ids=["before-held-too-late", "after-asked-too-early", "ended-before-it-began", "not-witnessed"],
)
def test_the_agent_must_have_run_between_the_snapshots(honest: Honest, order: RunOrder | None) -> None:
    answer, members, expected, snapshots = honest
    failures = check_receipt(answer, members, expected=replace(expected, order=order), snapshots=snapshots)
    assert [(failure.code, failure.rule) for failure in failures] == [("receipt_snapshot_order", "RCP-3")]


def test_all_that_is_wrong_is_told_in_the_order_of_the_rules(honest: Honest) -> None:
    answer, members, expected, _ = honest
    wrong = replace(
        expected,
        case_id="case-another",
        order=None,
        final_response="something else",
        attempt_nonce="f" * 32,
        state_digest=OTHER,
    )
    snapshots = SnapshotBytes(before=None, after=canonical_json({}))
    failures = check_receipt(answer, members, expected=wrong, snapshots=snapshots)
    assert [failure.rule for failure in failures] == [
        "RCP-1",
        "RCP-3",
        "RCP-4",
        "RCP-4",
        "RCP-5",
        "RCP-7",
        "RCP-8",
    ]


def test_the_digest_is_taken_over_what_was_said_and_not_over_how_it_is_read(honest: Honest) -> None:
    """`1.0` and `1` are one number to a model, and one in RFC 8785; a member more is another receipt."""
    answer, members, expected, snapshots = honest
    said = members | {"receipt": members["receipt"] | {"more": 1}}
    failures = check_receipt(answer, said, expected=expected, snapshots=snapshots)
    assert [failure.code for failure in failures] == ["receipt_digest_mismatch"]


def test_what_has_no_canonical_form_has_no_digest(honest: Honest) -> None:
    """An integer that no double keeps: two readers could take two digests of it."""
    answer, members, expected, snapshots = honest
    beyond = 2**53 + 1
    receipt = members["receipt"] | {
        "native_score": {"numerator": beyond, "denominator": beyond, "value": 1.0}
    }
    checks = [members["checks"][0] | {"expected": beyond}, *members["checks"][1:]]
    said = members | {"receipt": receipt, "checks": checks}
    failures = check_receipt(answer, said, expected=expected, snapshots=snapshots)
    assert [failure.code for failure in failures] == ["receipt_digest_mismatch", "receipt_checks_mismatch"]


def test_a_refused_signature_is_told_from_an_unsigned_receipt(honest: Honest) -> None:
    answer, members, expected, snapshots = honest
    unsigned = answer.model_copy(update={"receipt": answer.receipt.model_copy(update={"signature": None})})
    for key, signature, accepted in ((expected.verify_key, "refused", False), (None, "unsigned", True)):
        failures = check_receipt(
            unsigned, members, expected=replace(expected, verify_key=key), snapshots=snapshots
        )
        report = state_report(unsigned, members, failures, verify_key=key)
        assert (report.signature, report.accepted) == (signature, accepted)
