"""State Controllers with a route that is open, or a secret that is compared loosely (CTL-9)."""

from __future__ import annotations

from typing import Any

from agentbeat_conformance.mutants.base_controller import BaseController
from agentbeat_conformance.mutants.registry import controller_mutant
from agentbeat_conformance.mutants.replies import Asked, Refused

__all__: list[str] = []


class _Open(BaseController):
    """Asks for no secret on one route."""

    opens: str

    def authorise(self, asked: Asked, route: str) -> None:
        if not route.startswith(self.opens):
            super().authorise(asked, route)


@controller_mutant(
    "reset-is-open", breaks={"CTL-9.r"}, text="Reset needs no secret.", consequences={"CTL-2.m"}
)
class ResetIsOpen(_Open):
    opens = "reset"


@controller_mutant("snapshot-is-open", breaks={"CTL-9.s"}, text="Snapshot needs no secret.")
class SnapshotIsOpen(BaseController):
    def authorise(self, asked: Asked, route: str) -> None:
        if route != "snapshot":
            super().authorise(asked, route)


@controller_mutant(
    "snapshot-read-is-open", breaks={"CTL-9.t"}, text="To read a snapshot no secret is needed."
)
class SnapshotReadIsOpen(_Open):
    opens = "snapshots/"


@controller_mutant("verify-is-open", breaks={"CTL-9.u"}, text="Verify needs no secret.")
class VerifyIsOpen(_Open):
    opens = "verify"


@controller_mutant("renew-is-open", breaks={"CTL-9.v"}, text="Renew needs no secret.")
class RenewIsOpen(_Open):
    opens = "renew"


@controller_mutant("release-is-open", breaks={"CTL-9.w"}, text="Release needs no secret.")
class ReleaseIsOpen(_Open):
    opens = "release"


@controller_mutant(
    "catalogue-is-open",
    breaks={"CTL-9.x"},
    text="To read the catalogue no secret is needed.",
    consequences={"CTL-9.y"},
)
class CatalogueIsOpen(_Open):
    opens = "profiles"


@controller_mutant(
    "secret-is-compared-by-its-beginning",
    breaks={"CTL-9.y"},
    text="It compares the first characters of the secret.",
)
class SecretIsComparedByItsBeginning(BaseController):
    def is_secret(self, given: str) -> bool:
        return given[:12] == self.secret[:12]


@controller_mutant(
    "scheme-is-ignored", breaks={"CTL-9.y"}, text="It takes the secret under any scheme, and under none."
)
class SchemeIsIgnored(BaseController):
    def authorise(self, asked: Asked, route: str) -> None:  # noqa: ARG002 - the base's signature
        given = (asked.value("authorization") or "").split(" ")[-1]
        if not self.is_secret(given):
            raise Refused("unauthorized", "expected the secret", ("WWW-Authenticate", "Bearer"))


@controller_mutant(
    "health-needs-the-secret", breaks={"CTL-9.n"}, text="Its health route answers nobody without the secret."
)
class HealthNeedsTheSecret(BaseController):
    def health(self, asked: Asked) -> dict[str, Any]:
        self.authorise(asked, "healthz")
        return super().health(asked)


@controller_mutant("health-shows-the-secret", breaks={"CTL-9.n"}, text="Its health route shows the secret.")
class HealthShowsTheSecret(BaseController):
    def health(self, asked: Asked) -> dict[str, Any]:
        return {**super().health(asked), "status": f"ok, secret {self.secret}"}


@controller_mutant(
    "health-without-its-protocol", breaks={"CTL-9.n"}, text="Its health document does not name the protocol."
)
class HealthWithoutItsProtocol(BaseController):
    def health(self, asked: Asked) -> dict[str, Any]:
        members = super().health(asked)
        del members["protocol"]
        return members
