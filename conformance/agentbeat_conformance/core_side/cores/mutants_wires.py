"""Mutants that go where they must not go, read on without an end, or ask the Agent twice."""

from __future__ import annotations

import gzip
from collections.abc import Mapping
from typing import Any
from urllib.parse import urljoin, urlsplit

from agentbeat_conformance.core_side.cores.http import Got, UnansweredError, exchange
from agentbeat_conformance.core_side.cores.mutants_documents import believed
from agentbeat_conformance.core_side.cores.preflight import Run
from agentbeat_conformance.core_side.cores.registry import core_mutant
from agentbeat_conformance.core_side.cores.scoring import Trace
from agentbeat_conformance.core_side.cores.small import SmallCore
from agentbeat_conformance.core_side.cores.wires import FailedError
from agentbeat_protocol import (
    EVIDENCE_PATH,
    INVOCATION_PATH,
    MAX_EVIDENCE_BYTES,
    EvidenceRefError,
    InvocationResponse,
)

__all__ = ["FollowsRedirects"]

_REDIRECTS = frozenset({301, 302, 303, 307, 308})


@core_mutant(
    "follows-redirects",
    flaw="follows redirects, with the secret",
    caught_by=[
        "redirect.evidence-301",
        "redirect.evidence-302",
        "redirect.evidence-307",
        "redirect.invocation-302",
        "redirect.invocation-307",
        "redirect.verify-307",
        "judge.redirect",
    ],
)
class FollowsRedirects(SmallCore):
    """As many HTTP clients do by default."""

    def fields_beyond(self, fields: Mapping[str, str]) -> Mapping[str, str]:
        """The header fields for the place that a redirect names."""
        return fields

    async def asked(
        self, method: str, url: str, fields: Mapping[str, str], body: bytes | None, **limits: Any
    ) -> Got:
        """An exchange, and those that it leads to."""
        got = await super().asked(method, url, fields, body, **limits)
        location = got.fields.get("location", "")
        if got.status not in _REDIRECTS or not location.startswith(("/", "http://127.")):
            return got
        if got.status < 304:
            method, body = "GET", None
        return await super().asked(method, urljoin(url, location), self.fields_beyond(fields), body, **limits)


@core_mutant(
    "follows-redirects-bare",
    flaw="follows redirects, without the secret",
    caught_by=["redirect.evidence-302", "redirect.evidence-308", "redirect.invocation-308"],
)
class _FollowsRedirectsBare(FollowsRedirects):
    def fields_beyond(self, fields: Mapping[str, str]) -> Mapping[str, str]:
        return {name: value for name, value in fields.items() if name != "Authorization"}


class _OwnReading(SmallCore):
    """Reads whatever URL it makes of the reference."""

    def made_of(self, base: str, ref: str) -> str | None:
        """The URL; None: refused."""
        raise NotImplementedError

    def evidence_url(self, run: Run, ref: object) -> str:
        url: str | None = None
        if isinstance(ref, str):
            try:
                url = self.made_of(run.target.base, ref)
                reachable = url is not None and urlsplit(url).port
            except ValueError:
                reachable = None
            if url is not None and reachable and urlsplit(url).hostname in ("127.0.0.1", "localhost"):
                return url
        raise EvidenceRefError("O-PARSE", got="a reference", expected="another")


@core_mutant(
    "follows-the-reference",
    flaw="reads the URL that the reference names",
    caught_by=[
        "reference.other-port",
        "reference.scheme-relative",
        "reference.userinfo",
        "reference.localhost",
    ],
)
class _FollowsTheReference(_OwnReading):
    def made_of(self, base: str, ref: str) -> str | None:
        return urljoin(base + INVOCATION_PATH, ref)


@core_mutant(
    "compares-the-host",
    flaw="compares the host of the reference, and not the port",
    caught_by=["reference.other-port", "reference.scheme-relative", "reference.ref-028"],
)
class _ComparesTheHost(_OwnReading):
    def made_of(self, base: str, ref: str) -> str | None:
        url = urljoin(base + INVOCATION_PATH, ref)
        return url if urlsplit(url).hostname == urlsplit(base).hostname else None


@core_mutant(
    "compares-the-beginning",
    flaw="looks whether the reference begins with the registered origin or a slash",
    caught_by=["reference.userinfo", "reference.scheme-relative", "reference.other-run"],
)
class _ComparesTheBeginning(_OwnReading):
    def made_of(self, base: str, ref: str) -> str | None:
        return urljoin(base, ref) if ref.startswith((base, "/")) else None


@core_mutant(
    "strips-the-reference",
    flaw="drops white space and control characters from the reference",
    caught_by=["reference.ref-088", "reference.tab-before", "reference.white-space-before"],
)
class _StripsTheReference(SmallCore):
    def evidence_url(self, run: Run, ref: object) -> str:
        if isinstance(ref, str):
            stripped = "".join(character for character in ref if character > " ")
            if stripped != ref and urlsplit(urljoin(run.target.base, stripped)).hostname == "127.0.0.1":
                return urljoin(run.target.base, stripped)
        return super().evidence_url(run, ref)


@core_mutant(
    "reads-all-the-same",
    flaw="reads the registered route where the reference is absent or refused",
    caught_by=["reference.absent", "reference.ref-020", "reference.ref-130", "reference.other-run"],
)
class _ReadsAllTheSame(SmallCore):
    def evidence_url(self, run: Run, ref: object) -> str:
        del ref
        return f"{run.target.base}{EVIDENCE_PATH}{run.run_id}"


@core_mutant(
    "refuses-full-urls",
    flaw="takes a path alone for a reference",
    caught_by=["reference.ref-007", "reference.ref-009", "reference.ref-015"],
)
class _RefusesFullURLs(SmallCore):
    def evidence_url(self, run: Run, ref: object) -> str:
        if not isinstance(ref, str) or not ref.startswith("/v"):
            raise EvidenceRefError("O-PATH", got="a reference", expected="a path")
        return super().evidence_url(run, ref)


# --- Sizes, times, statuses -----------------------------------------------------------------------------


@core_mutant(
    "reads-without-a-limit",
    flaw="reads evidence of any size",
    caught_by=["delivery.too-large", "delivery.endless"],
)
class _ReadsWithoutALimit(SmallCore):
    def evidence_limit(self) -> int:
        return 2**40

    def document(self, run: Run, raw: bytes) -> Trace:
        return believed(raw) if len(raw) > MAX_EVIDENCE_BYTES else super().document(run, raw)


@core_mutant("stops-too-early", flaw="stops reading below 16 MiB", caught_by=["delivery.exactly-16-mib"])
class _StopsTooEarly(SmallCore):
    def evidence_limit(self) -> int:
        return 16 * 10**6


@core_mutant(
    "unpacks-without-a-limit",
    flaw="unpacks a compressed answer, whatever it stands for",
    caught_by=["delivery.gzip-bomb"],
)
class _UnpacksWithoutALimit(SmallCore):
    async def asked(
        self, method: str, url: str, fields: Mapping[str, str], body: bytes | None, **limits: Any
    ) -> Got:
        got = await super().asked(method, url, fields, body, **limits)
        if got.fields.get("content-encoding") != "gzip":
            return got
        return Got(got.status, got.fields, gzip.decompress(got.body))

    def document(self, run: Run, raw: bytes) -> Trace:
        return believed(raw) if len(raw) > MAX_EVIDENCE_BYTES else super().document(run, raw)


@core_mutant(
    "waits-for-each-read",
    flaw="has a time-out for each read, and none for the whole",
    caught_by=["delivery.dripping", "invocation.dripping", "judge.dripping"],
)
class _WaitsForEachRead(SmallCore):
    async def asked(
        self, method: str, url: str, fields: Mapping[str, str], body: bytes | None, **limits: Any
    ) -> Got:
        return await exchange(method, url, fields=fields, body=body, whole=False, **limits)


@core_mutant(
    "waits-for-ever",
    flaw="does not know the request's time-outs",
    caught_by=["delivery.late", "invocation.late", "receipt.verify-late", "receipt.after-late", "judge.late"],
)
class _WaitsForEver(SmallCore):
    async def asked(
        self, method: str, url: str, fields: Mapping[str, str], body: bytes | None, **limits: Any
    ) -> Got:
        return await super().asked(method, url, fields, body, **limits | {"seconds": 30.0})


@core_mutant(
    "evidence-of-any-status",
    flaw="takes the body of any answer for the evidence",
    caught_by=["delivery.http-500-good", "delivery.http-404-good", "delivery.http-206-good"],
)
class _EvidenceOfAnyStatus(SmallCore):
    def is_document(self, status: int) -> bool:
        del status
        return True


@core_mutant(
    "response-of-any-status",
    flaw="takes the body of any answer for the invocation response",
    caught_by=["invocation.http-500-good", "invocation.http-202"],
)
class _ResponseOfAnyStatus(SmallCore):
    async def invoked(self, run: Run) -> InvocationResponse:
        return self.response(run, (await self.post(run)).body)


@core_mutant(
    "retries-after-5xx",
    flaw="invokes again after a 5xx",
    caught_by=[
        "invocation.http-500",
        "invocation.http-502",
        "invocation.http-503-draining",
        "invocation.http-504",
        "invocation.failed-at-l3",
    ],
)
class _RetriesAfter5xx(SmallCore):
    async def post(self, run: Run) -> Got:
        got = await super().post(run)
        return await super().post(run) if got.status >= 500 else got


@core_mutant(
    "retries-lost-connections",
    flaw="invokes again after a time-out or a lost connection",
    caught_by=["invocation.hang-up", "invocation.cut", "invocation.late"],
)
class _RetriesLostConnections(SmallCore):
    async def post(self, run: Run) -> Got:
        try:
            return await super().post(run)
        except FailedError:
            return await super().post(run)


@core_mutant(
    "sends-no-correlation",
    flaw="sends no correlation headers",
    caught_by=["control.l1", "control.l2", "control.l3"],
)
class _SendsNoCorrelation(SmallCore):
    async def asked(
        self, method: str, url: str, fields: Mapping[str, str], body: bytes | None, **limits: Any
    ) -> Got:
        kept = {name: value for name, value in fields.items() if not name.startswith("X-")}
        return await super().asked(method, url, kept, body, **limits)


@core_mutant(
    "fails-on-http-1-0",
    flaw="takes an answer without a length for a broken one",
    caught_by=["delivery.http-1-0", "invocation.http-1-0", "invocation.chunked"],
)
class _FailsOnHTTP10(SmallCore):
    async def asked(
        self, method: str, url: str, fields: Mapping[str, str], body: bytes | None, **limits: Any
    ) -> Got:
        got = await super().asked(method, url, fields, body, **limits)
        if "content-length" not in got.fields:
            raise UnansweredError("connection", started=True)
        return got
