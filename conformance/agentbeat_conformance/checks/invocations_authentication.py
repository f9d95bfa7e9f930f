"""INV-2: who may ask. A request without the right secret is told so, before all else about it is looked at.

In checks `target.secret` is a marker, and the wire puts the secret in its place; it knows near misses with
something before or behind it and without the last character, and no others. The secret in the query is not
tried, though no Target may take it there: it would end up in access logs.
"""

from __future__ import annotations

import dataclasses
from typing import Final

from agentbeat_conformance.expectations import permitted
from agentbeat_conformance.requirements import Capability, Findings, Level, requirement
from agentbeat_conformance.target_probes import TargetProbe
from agentbeat_conformance.wrong_requests import Wrong, claims_nothing, refused

__all__: list[str] = []

SECTION: Final = "Invocation request"
#: How long a Target may take for an answer for which it needs neither the body nor its Agent, in seconds.
PATIENCE: Final = 5.0


@requirement(
    "INV-2.a",
    level=Level.MUST,
    tier="target-L1",
    section=SECTION,
    text="An invocation without the secret is answered 401.",
    needs={Capability.AUTH},
    permits={"401"},
    kills={"serves-without-secret", "forbids-without-secret"},
)
async def no_secret(target: TargetProbe) -> Findings:
    return await refused(target, [Wrong("no Authorization", secret=None)], {"401"})


@requirement(
    "INV-2.b",
    level=Level.MUST,
    tier="target-L1",
    section=SECTION,
    text="An invocation with another secret, a longer or a shorter one too, is answered 401.",
    needs={Capability.AUTH},
    permits={"401"},
    kills={"any-secret-will-do", "secret-by-its-beginning", "secret-within", "part-of-the-secret"},
)
async def wrong_secret(target: TargetProbe) -> Findings:
    secret = target.secret or ""
    secrets = {
        "another secret": "conformance-suite-guess",
        "the secret and one character more": f"{secret}x",
        "the secret behind another character": f"x{secret}",
        "the secret but its last character": secret[:-1],
    }
    wrongs = [Wrong(what, secret=wrong) for what, wrong in secrets.items()]
    return await refused(target, wrongs, {"401"})


@requirement(
    "INV-2.c",
    level=Level.MUST,
    tier="target-L1",
    section=SECTION,
    text="An Authorization that is no bearer secret is answered 401, whatever bytes it holds.",
    needs={Capability.AUTH},
    permits={"401"},
    kills={"any-scheme-will-do", "secret-without-scheme", "empty-secret-will-do", "chokes-on-odd-secrets"},
)
async def odd_authorization(target: TargetProbe) -> Findings:
    secret = target.secret or ""
    values = {
        "Basic with the secret": f"Basic {secret}",
        "another scheme before the secret": f"Token {secret}",
        "the secret without a scheme": secret,
        "Bearer and nothing": "Bearer",
        "Bearer and a space": "Bearer ",
        "a byte beyond ASCII": "Bearer caf\xe9",
    }
    return await refused(
        target, [Wrong(what, fields={"Authorization": value}) for what, value in values.items()], {"401"}
    )


@requirement(
    "INV-2.d",
    level=Level.MUST,
    tier="target-L1",
    section=SECTION,
    text="A request without the secret is answered 401 whatever else is wrong with it.",
    needs={Capability.AUTH},
    permits={"401"},
    kills={"media-type-before-secret", "body-before-secret", "replay-before-secret"},
)
async def secret_comes_first(target: TargetProbe) -> Findings:
    wrongs = [
        Wrong("no secret, another media type", secret=None, fields={"Content-Type": "text/plain"}),
        Wrong("no secret, no JSON", secret=None, body=b"{"),
        Wrong("no secret, an unknown member", secret=None, changes={"extra": 1}),
        Wrong("no secret, a runtime override", secret=None, changes={"metadata": {"model": "x"}}),
    ]
    findings = await refused(target, wrongs, {"401"})
    if not target.session.safe:
        ids, _ = await target.invoked()
        replay = await target.post(ids=ids, secret=None)
        findings += permitted(replay, {"401"}, "no secret, a run_id that was accepted before")
    return findings


@requirement(
    "INV-2.e",
    level=Level.MUST,
    tier="target-L1",
    section=SECTION,
    text="A request without the secret is answered 401 before its body has come.",
    needs={Capability.AUTH, Capability.SOCKET},
    permits={"401"},
    kills={"waits-for-the-body"},
)
async def secret_before_body(target: TargetProbe) -> Findings:
    await target.control()
    whole = target.request(secret=None, seconds=PATIENCE)
    headed = dataclasses.replace(whole, withhold=len(whole.body), needs_socket=True)
    exchange = await target.session.send(headed)
    return list(permitted(exchange, {"401"}, f"no secret, and no body within {PATIENCE:g} seconds"))


@requirement(
    "INV-2.f",
    level=Level.MUST,
    tier="target-L1",
    section=SECTION,
    text="A request that is refused for its secret runs nothing: its run_id may be used afterwards.",
    needs={Capability.AUTH},
    permits={"200"},
    kills={"claims-before-secret", "runs-before-secret"},
    invocations=1,
)
async def refused_secret_claims_nothing(target: TargetProbe) -> Findings:
    wrongs = [Wrong("no secret", secret=None), Wrong("another secret", secret=f"{target.secret}x")]
    return await claims_nothing(target, wrongs)


@requirement(
    "INV-2.g",
    level=Level.SHOULD,
    tier="target-L1",
    section=SECTION,
    text="A repeated Authorization is refused, though one of its values is right.",
    needs={Capability.AUTH},
    permits={"400", "401"},
    kills={"first-authorization-counts", "last-authorization-counts"},
    invocations=1,
)
async def repeated_authorization(target: TargetProbe) -> Findings:
    right, wrong = ("Authorization", f"Bearer {target.secret}"), ("Authorization", "Bearer wrong")
    wrongs = [
        Wrong("two Authorization fields, right then wrong", secret=None, more=(right, wrong)),
        Wrong("two Authorization fields, wrong then right", secret=None, more=(wrong, right)),
    ]
    return await refused(target, wrongs, {"400", "401"}, lenient=True)


@requirement(
    "INV-2.h",
    level=Level.SHOULD,
    tier="target-L1",
    section=SECTION,
    text="The scheme Bearer is accepted in any letter case.",
    needs={Capability.AUTH},
    permits={"200"},
    kills={"scheme-to-the-letter"},
    invocations=1,
)
async def scheme_in_any_case(target: TargetProbe) -> Findings:
    await target.control()
    exchange = await target.post(fields={"Authorization": f"bearer {target.secret}"}, runs=1)
    return list(permitted(exchange, {"200"}, "bearer in lower case"))
