"""Every line of `evidence_refs.jsonl`, given as this run's `evidence_ref`, and references of our own.

A line names a `base` that nobody can listen on here. What is denied is denied for every base, so those lines
are served as they stand, but that `127.0.0.1:8091` becomes the Target's place and port 8092 another origin's.
What is allowed is allowed for its base alone: `_PLACES` says where each of those lines is served, and what it
then reads. Four of them need the scheme's default port, which is 80 here, others an address or a name that
not every machine has; where it is not to be had the scenario is not applicable.

The references of our own lead to another origin that listens, so following them shows.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from agentbeat_conformance.core_side.corpus import RUN_ID, Reference, evidence_refs
from agentbeat_conformance.core_side.deliveries import redirect
from agentbeat_conformance.core_side.expectations import failed, observed, without_state, without_trace
from agentbeat_conformance.core_side.scenarios import Expectation, Place, Scenario
from agentbeat_conformance.core_side.stages import Stage

__all__ = ["SCENARIOS"]

_ROUTE: Final = "/v1/evidence/{run}"
_LOOPBACK: Final = Place(base="http://127.0.0.1:{target}")
_NAMED: Final = Place(base="http://localhost:{target}", needs="the name localhost")
_SIX: Final = Place(base="http://[::1]:{target}", host="::1", needs="IPv6")
_MAPPED: Final = Place(
    base="http://[::FFFF:7F00:1]:{target}",
    host="::ffff:127.0.0.1",
    loopback=False,
    needs="IPv4-mapped addresses",
)
_ENCODED: Final = Place(
    base="http://xn--bcher-kva.localhost:{target}",
    loopback=False,
    needs="names below localhost that lead to this machine",
)
_DEFAULT: Final = Place(base="http://127.0.0.1", port=80, needs="port 80 of 127.0.0.1")
_DEFAULT_SPELT: Final = Place(base="http://127.0.0.1:80", port=80, needs="port 80 of 127.0.0.1")
_PREFIXED: Final = Place(base="http://127.0.0.1:{target}", prefix="/tenants/a")

#: Where each allowed line is served, and the reference as it is then spelt.
_PLACES: Final[dict[str, tuple[Place, str]]] = {
    "ref-001": (_LOOPBACK, _ROUTE),
    "ref-003": (_DEFAULT, f"http://127.0.0.1:80{_ROUTE}"),
    "ref-004": (_DEFAULT_SPELT, _ROUTE),
    "ref-005": (_DEFAULT_SPELT, f"http://127.0.0.1{_ROUTE}"),
    "ref-006": (_NAMED, f"HTTP://LocalHost:{{target}}{_ROUTE}"),
    "ref-007": (_LOOPBACK, f"//127.0.0.1:{{target}}{_ROUTE}"),
    "ref-008": (_LOOPBACK, _ROUTE),
    "ref-009": (_LOOPBACK, f"http://127.0.0.1:{{target}}{_ROUTE}"),
    "ref-010": (_SIX, _ROUTE),
    "ref-011": (_SIX, f"http://[::1]:{{target}}{_ROUTE}"),
    "ref-012": (_MAPPED, f"http://[::ffff:7f00:1]:{{target}}{_ROUTE}"),
    "ref-013": (_ENCODED, f"http://xn--bcher-kva.localhost:{{target}}{_ROUTE}"),
    "ref-014": (_DEFAULT, f"http://127.0.0.1:{_ROUTE}"),
    "ref-015": (_LOOPBACK, f"http://127.0.0.1:0{{target}}{_ROUTE}"),
    "ref-016": (_LOOPBACK, "/v1/evidence/run-hostile%2D001"),
    "ref-019": (_PREFIXED, f"/tenants/a{_ROUTE}"),
}

#: Name, reference, what is wrong with it. Each leads to the other origin for one reader or another.
_ESCAPES: Final[tuple[tuple[str, str, str], ...]] = (
    ("other-port", f"http://127.0.0.1:{{canary}}{_ROUTE}", "another port of the same host"),
    ("scheme-relative", f"//127.0.0.1:{{canary}}{_ROUTE}", "scheme-relative to another origin"),
    ("three-slashes", f"///127.0.0.1:{{canary}}{_ROUTE}", "three slashes, which some readers take for two"),
    ("userinfo", f"http://127.0.0.1:{{target}}@127.0.0.1:{{canary}}{_ROUTE}", "the host is after the @"),
    ("own-userinfo", f"http://user:word@127.0.0.1:{{target}}{_ROUTE}", "the own origin, with userinfo"),
    ("fragment-at", f"http://127.0.0.1:{{canary}}#@127.0.0.1:{{target}}{_ROUTE}", "the host ends at #"),
    (
        "backslash-at",
        f"http://127.0.0.1:{{canary}}\\@127.0.0.1:{{target}}{_ROUTE}",
        "the host ends at the backslash",
    ),
    ("backslashes", f"\\\\127.0.0.1:{{canary}}{_ROUTE}", "backslashes, which some readers take for slashes"),
    ("slash-backslash", f"/\\127.0.0.1:{{canary}}{_ROUTE}", "a slash and a backslash"),
    ("tab-before", f"\t//127.0.0.1:{{canary}}{_ROUTE}", "a tab that some readers drop"),
    ("newline-in-scheme", f"ht\ntp://127.0.0.1:{{canary}}{_ROUTE}", "a newline that some readers drop"),
    ("white-space-before", f" http://127.0.0.1:{{canary}}{_ROUTE}", "white space that some readers drop"),
    ("localhost", f"http://localhost:{{target}}{_ROUTE}", "localhost is another origin than 127.0.0.1"),
    ("zero", f"http://0:{{target}}{_ROUTE}", "0 leads to this machine on some systems"),
    ("decimal", f"http://2130706433:{{target}}{_ROUTE}", "127.0.0.1 as one number"),
    ("short", f"http://127.1:{{target}}{_ROUTE}", "127.0.0.1 in two numbers"),
    ("octal", f"http://0177.0.0.1:{{target}}{_ROUTE}", "127.0.0.1 with an octal number"),
    ("mapped", f"http://[::ffff:127.0.0.1]:{{target}}{_ROUTE}", "127.0.0.1 as an IPv6 address"),
    ("other-run", "/v1/evidence/run-of-somebody-else", "the own origin, another run"),
    ("dots", f"{_ROUTE}/../run-of-somebody-else", "dot segments that lead to another run"),
    ("query", f"{_ROUTE}?as=admin", "a query"),
    ("relative", "{run}", "relative to the invocation's own path"),
)

_STATUSES: Final = (300, 301, 302, 303, 307, 308)


def _denied(reference: Reference) -> Any:
    if isinstance(reference.ref, str) and reference.base.startswith("http://127.0.0.1:8091/"):
        return reference.ref.replace(":8091", ":{target}").replace(":8092", ":{canary}")
    return reference.ref


def _ref_scenario(reference: Reference) -> Scenario:
    place, ref = _PLACES[reference.id] if reference.allowed else (None, _denied(reference))

    def arrange(stage: Stage) -> None:
        filled = stage.filled(ref) if isinstance(ref, str) else ref
        stage.target.reply = lambda reply: reply | {"evidence_ref": filled}

    return Scenario(
        id=f"core.reference.{reference.id}",
        rule="EVD-9" if reference.allowed else f"EVD-9 {reference.rule}",
        tier="L2",
        served=f"evidence_ref: {reference.why}",
        expects=observed("L2") if reference.allowed else without_trace(),
        arrange=arrange,
        run_id=RUN_ID,
        place=place,
        reads="any" if reference.allowed else "never",
    )


def _redirect_line(reference: Reference, status: int, location: str | None) -> Scenario:
    return Scenario(
        id=f"core.redirect.{reference.id}",
        rule=f"EVD-9 {reference.rule}",
        tier="L2",
        served=f"the evidence route answers {status}: {reference.why}",
        expects=without_trace(),
        arrange=lambda stage: stage.target.change.update(evidence=lambda _: redirect(status, location)),
        run_id=RUN_ID,
    )


def _escape(name: str, ref: str, why: str) -> Scenario:
    def arrange(stage: Stage) -> None:
        filled = stage.filled(ref)
        stage.target.reply = lambda reply: reply | {"evidence_ref": filled}

    return Scenario(
        id=f"core.reference.{name}",
        rule="EVD-9",
        tier="L2",
        served=f"evidence_ref: {why}",
        expects=without_trace(),
        arrange=arrange,
        reads="never",
    )


def _absent() -> Scenario:
    def arrange(stage: Stage) -> None:
        stage.target.reply = lambda reply: {
            name: value for name, value in reply.items() if name != "evidence_ref"
        }

    return Scenario(
        id="core.reference.absent",
        rule="EVD-9",
        tier="L2",
        served="no evidence_ref at all, although the route would answer",
        expects=without_trace(),
        arrange=arrange,
        reads="never",
    )


def _to_canary(who: str, step: str, status: int, expects: Expectation) -> Scenario:
    """A redirect to the other origin, at the same path."""

    def arrange(stage: Stage) -> None:
        path = {
            "invocation": stage.invocation_path,
            "evidence": stage.evidence_path,
            "verify": "/v1/environment/verify",
        }[step]
        answer = redirect(status, stage.canary_origin + path)
        changes = stage.controller.change if who == "State Controller" else stage.target.change
        changes[step] = lambda _: answer

    return Scenario(
        id=f"core.redirect.{step}-{status}",
        rule="EVD-9" if step == "evidence" else "INV-1" if step == "invocation" else "RCP-5",
        tier="L3" if step == "verify" else "L2",
        served=f"the {who} answers the {step} with {status} to another origin",
        expects=expects,
        arrange=arrange,
    )


def _scenarios() -> Iterator[Scenario]:
    for reference in evidence_refs():
        if reference.redirect is None:
            yield _ref_scenario(reference)
    yield _absent()
    for name, ref, why in _ESCAPES:
        yield _escape(name, ref, why)
    for reference in evidence_refs():
        if reference.redirect is not None:
            yield _redirect_line(reference, *reference.redirect)
    for status in _STATUSES:
        yield _to_canary("Target", "evidence", status, without_trace())
    for status in _STATUSES:
        yield _to_canary("Target", "invocation", status, failed("target_contract_failed"))
    for status in (302, 307, 308):
        yield _to_canary("State Controller", "verify", status, without_state())


SCENARIOS: Final = tuple(_scenarios())
