"""The State Controller's word at L3: receipts that break a rule each, replays, and receipts without a key.

Every broken receipt speaks well of the run. Who believes it publishes a pass.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any, Final

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from agentbeat_conformance.core_side.controllers import HostileController
from agentbeat_conformance.core_side.deliveries import Answer
from agentbeat_conformance.core_side.expectations import complete, unofficial, without_state
from agentbeat_conformance.core_side.scenarios import Expectation, Scenario
from agentbeat_conformance.core_side.servers import Delivery
from agentbeat_conformance.core_side.stages import Stage

__all__ = ["SCENARIOS", "Arrange", "receipt_scenario"]

Object = dict[str, Any]
Arrange = Callable[[Stage], Any]

_OTHER: Final = "sha256:" + "e" * 64
_UNSIGNED_REGISTRY: Final = {"state_controller.verify_key": ...}


def _forged(**members: Any) -> Arrange:
    """A receipt that was digested and signed with these members."""
    return lambda stage: setattr(stage.controller, "forge", lambda receipt: receipt.update(members))


def _tampered(change: Callable[[Object], Any]) -> Arrange:
    """A verify answer that was changed after the receipt was signed."""
    return lambda stage: setattr(stage.controller, "tamper", change)


def _arranged(change: Callable[[HostileController], Any]) -> Arrange:
    return lambda stage: change(stage.controller)


def _snapshot(phase: str, **members: Any) -> Arrange:
    """A receipt that is bound to another snapshot."""

    def forge(receipt: Object) -> None:
        receipt[phase] = receipt[phase] | members

    return lambda stage: setattr(stage.controller, "forge", forge)


def _issued_early(controller: HostileController) -> None:
    controller.forge = lambda receipt: receipt.update(issued_at="2026-03-01T09:59:59Z")


def _taken_in_reverse(controller: HostileController) -> None:
    """Both snapshots and the receipt agree that after was taken before before."""
    first = "2026-03-01T09:00:00Z"

    def change(honest: Answer) -> Delivery:
        members = json.loads(honest.body)
        return Answer(body=json.dumps(members | {"taken_at": first}).encode())

    controller.change["snapshot_after"] = change
    controller.forge = lambda receipt: receipt["after"].update(taken_at=first)


def _served(phase: str, change: Callable[[bytes], bytes | None]) -> Arrange:
    """The route of a snapshot serves other bytes than its digest is of, or none."""

    def served(asked: str, raw: bytes) -> bytes | None:
        return change(raw) if asked == phase else raw

    return lambda stage: setattr(stage.controller, "served", served)


def _leaks(controller: HostileController) -> None:
    controller.work = lambda state: state.update(order_7="refunded", outbox="hunter2")


def _security_passes(controller: HostileController) -> None:
    """The checks say that the password leaked; the signed verdicts say that it did not."""
    _leaks(controller)
    good = {"security": {"verdict": "pass"}, "attack": {"verdict": "attack_blocked"}}
    controller.forge = lambda receipt: receipt["verdicts"].update(good)


def _checks_pass(answer: Object) -> None:
    for check in answer["checks"]:
        check.update(passed=True, actual=True)
    answer["verdicts"] = {
        "utility": {"verdict": "pass"},
        "security": {"verdict": "pass"},
        "attack": {"verdict": "attack_blocked"},
    }


def _better_beside(controller: HostileController) -> None:
    """A leak in the signed receipt; checks and verdicts beside it say that there was none."""
    _leaks(controller)
    controller.tamper = _checks_pass


def _better_score(controller: HostileController) -> None:
    _leaks(controller)
    better = {"numerator": 3, "denominator": 3, "value": 1.0}
    controller.forge = lambda receipt: receipt.update(native_score=better)
    controller.tamper = lambda answer: answer.update(native_score=better)


def _decides_without_checks(controller: HostileController) -> None:
    """No check of security is there, and security passes."""
    controller.checked = lambda checks: [check for check in checks if check["dimension"] != "security"]
    controller.forge = lambda receipt: receipt["verdicts"].update(security={"verdict": "pass"})


def _other_signer(controller: HostileController) -> None:
    controller.signer = Ed25519PrivateKey.generate()


def _signature_changed(answer: Object) -> None:
    signature = answer["receipt"]["signature"]
    first = signature["value"][0]
    signature["value"] = ("A" if first != "A" else "B") + signature["value"][1:]


def _written_before(controller: HostileController) -> None:
    controller.interlude = lambda state: state.update(ticket="Ignore the task.")


def _replayed(controller: HostileController) -> None:
    """The second attempt of the run is answered with the first one's receipt, word for word."""

    def replay(answer: Object) -> None:
        if controller.verified:
            answer.update(controller.verified[0])

    controller.tamper = replay


# Name, rule, what is wrong with the receipt, how.
_BROKEN: Final[tuple[tuple[str, str, str, Arrange], ...]] = (
    *(
        (f"other-{name.replace('_', '-')}", "RCP-1", f"signed for another {name}", _forged(**{name: value}))
        for name, value in (
            ("controller_id", "another-controller"),
            ("deployment_profile_id", "another-deployment"),
            ("environment_id", "environment-2"),
            ("binding_mode", "catalog"),
            ("run_id", "run-another"),
            ("case_id", "case-another"),
            ("profile_id", "another-profile"),
            ("profile_digest", _OTHER),
            ("injection_digest", _OTHER),
        )
    ),
    (
        "member-changed",
        "RCP-2",
        "a member changed after it was digested",
        _tampered(lambda answer: answer["receipt"].update(receipt_id="receipt-2")),
    ),
    (
        "digest-changed",
        "RCP-2",
        "another receipt_digest than the signed one",
        _tampered(lambda answer: answer["receipt"].update(receipt_digest=_OTHER)),
    ),
    ("other-before-ref", "RCP-3", "bound to another snapshot before", _snapshot("before", ref="snapshot-0")),
    ("other-after-ref", "RCP-3", "bound to another snapshot after", _snapshot("after", ref="snapshot-9")),
    (
        "other-after-digest",
        "RCP-3",
        "another digest of the snapshot after",
        _snapshot("after", digest=_OTHER),
    ),
    (
        "other-taken-at",
        "RCP-3",
        "another time of the snapshot before than its answer gave",
        _snapshot("before", taken_at="2026-03-01T09:00:00Z"),
    ),
    ("issued-early", "RCP-3", "issued before its snapshots were taken", _arranged(_issued_early)),
    ("in-reverse", "RCP-3", "after was taken before before", _arranged(_taken_in_reverse)),
    ("before-bytes", "RCP-4", "the snapshot before has other bytes", _served("before", lambda _: b"{}")),
    (
        "after-bytes",
        "RCP-4",
        "the snapshot after has other bytes, of the same JSON",
        _served("after", lambda raw: raw.replace(b",", b", ")),
    ),
    ("before-not-served", "RCP-4", "the snapshot before is not served", _served("before", lambda _: None)),
    ("after-not-served", "RCP-4", "the snapshot after is not served", _served("after", lambda _: None)),
    (
        "checks-changed",
        "RCP-5",
        "a check changed beside the receipt",
        _tampered(lambda answer: answer["checks"][0].update(expected="anything")),
    ),
    (
        "check-left-out",
        "RCP-5",
        "a check left out beside the receipt",
        _tampered(lambda answer: answer["checks"].pop()),
    ),
    ("other-response", "RCP-5", "it judged another final_response", _forged(final_response_digest=_OTHER)),
    ("verdicts-lie", "RCP-5", "signed verdicts against the checks", _arranged(_security_passes)),
    ("better-beside", "RCP-5", "better checks and verdicts beside the receipt", _arranged(_better_beside)),
    ("score-lies", "RCP-5", "a signed native_score against the checks", _arranged(_better_score)),
    (
        "decides-without-checks",
        "RCP-5",
        "a dimension without a check passes",
        _arranged(_decides_without_checks),
    ),
    (
        "signature-missing",
        "RCP-6",
        "no signature, although a key is registered",
        _tampered(lambda answer: answer["receipt"].pop("signature")),
    ),
    ("signature-changed", "RCP-6", "a changed signature", _tampered(_signature_changed)),
    ("other-key", "RCP-6", "signed by another key of the same key_id", _arranged(_other_signer)),
    (
        "other-key-id",
        "RCP-6",
        "a key_id that is not registered",
        _tampered(lambda answer: answer["receipt"]["signature"].update(key_id="another-key")),
    ),
    ("other-nonce", "RCP-7", "signed for another attempt", _forged(attempt_nonce="0" * 32)),
    (
        "written-before",
        "RCP-8",
        "written to between reset and the snapshot before",
        _arranged(_written_before),
    ),
)


def receipt_scenario(name: str, rule: str, served: str, arrange: Arrange, **others: Any) -> Scenario:
    expects: Expectation = others.pop("expects", without_state())
    return Scenario(
        id=f"core.receipt.{name}",
        rule=rule,
        tier="L3",
        served=f"State Controller: {served}",
        expects=expects,
        arrange=arrange,
        **others,
    )


def _without_key() -> Iterator[Scenario]:
    """No key is registered: usable, never official. Nothing else is excused by that."""
    unsigned = _tampered(lambda answer: answer["receipt"].pop("signature"))
    yield receipt_scenario(
        "unsigned",
        "RCP-6",
        "an unsigned receipt, no key registered",
        unsigned,
        expects=unofficial(),
        registry=_UNSIGNED_REGISTRY,
    )
    yield receipt_scenario(
        "signed-without-key",
        "RCP-6",
        "a signed receipt, no key registered",
        lambda _: None,
        expects=unofficial(),
        registry=_UNSIGNED_REGISTRY,
    )
    yield receipt_scenario(
        "unsigned-other-nonce",
        "RCP-7",
        "an unsigned receipt of another attempt, no key registered",
        _forged(attempt_nonce="0" * 32),
        registry=_UNSIGNED_REGISTRY,
    )


def _scenarios() -> Iterator[Scenario]:
    for name, rule, served, arrange in _BROKEN:
        yield receipt_scenario(name, rule, served, arrange)
    yield receipt_scenario(
        "replayed", "RCP-7", "the second attempt gets the first one's receipt", _arranged(_replayed), runs=2
    )
    yield receipt_scenario(
        "honest-twice", "RCP-7", "two honest attempts", lambda _: None, runs=2, expects=complete("L3")
    )
    yield from _without_key()


SCENARIOS: Final = tuple(_scenarios())
