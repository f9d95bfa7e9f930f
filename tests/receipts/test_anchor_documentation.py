"""`docs/claim-anchors.md` says what there is, and its examples run."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from pathlib import Path
from string import Template

import httpx
import pytest

from agentbeat_receipts import Level, write_bundle
from agentbeat_receipts.anchors import EASIEST_TARGET, ProvenAnchor, prove, request_token
from agentbeat_receipts.anchors.opentimestamps import MAX_DEPTH, MAX_MESSAGE_BYTES, MAX_PROOF_BYTES
from agentbeat_receipts.objects.documents import sign
from agentbeat_receipts.verification import Reason
from support.anchored_batches import MANIFEST, anchored
from support.claim_commands import Ran, claims
from support.receipt_batches import keyring, manifest
from support.time_stamping import authority, openssl, serving

TEXT = (Path(__file__).parents[2] / "docs" / "claim-anchors.md").read_text()


def _block(language: str, place: int = 0) -> str:
    return re.findall(rf"```{language}\n(.*?)```", TEXT, flags=re.DOTALL)[place]


def test_the_example_in_python_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.lower().endswith("_proxy")]:
        monkeypatch.delenv(name)
    Path("roots.pem").write_bytes(authority().root.pem)
    with serving(authority().answer) as url:
        names: dict[str, object] = {
            "authority_url": url,
            "keyring": keyring(),
            "manifest": manifest(),
        }
        exec(_block("python"), names)
    report = names["report"]
    # No run has ended yet: coverage is open, but not for want of an anchor.
    assert report.anchored_at is not None
    assert report.level is Level.CR_3
    assert not any(reason.startswith("anchor_") for reason in report.reasons)


def _typed(line: str, folder: Path, monkeypatch: pytest.MonkeyPatch, **variables: str) -> Ran:
    """A line that begins with `agentbeat claims`, as a shell would run it in a folder."""
    monkeypatch.chdir(folder)
    agentbeat, group, *words = shlex.split(Template(line).substitute(variables))
    assert (agentbeat, group) == ("agentbeat", "claims")
    return claims(*words)


def test_the_commands_by_hand_make_a_token_that_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    query, exchange, verify, attach = _block("sh", 1).splitlines()
    assert exchange.startswith("curl ")
    (tmp_path / "roots.pem").write_bytes(authority().root.pem)
    openssl("version")

    def run(command: str) -> None:
        given = {**os.environ, "DIGEST": MANIFEST.removeprefix("sha256:")}
        subprocess.run(["sh", "-c", command], cwd=tmp_path, env=given, check=True, capture_output=True)

    run(query)
    (tmp_path / "response.tsr").write_bytes(authority().answer((tmp_path / "request.tsq").read_bytes()))
    run(verify)
    anchor = anchored((tmp_path / "response.tsr").read_bytes())
    assert isinstance(prove(anchor, authority().trust()), ProvenAnchor)
    write_bundle(tmp_path / "claim", [sign(manifest(), keyring())])
    ran = _typed(attach, tmp_path, monkeypatch)
    assert (ran.code, ran.out.strip()) == (0, anchor.token_digest())


def test_the_command_that_asks_an_authority_works_as_it_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_bundle(tmp_path / "claim", [sign(manifest(), keyring())])
    (tmp_path / "roots.pem").write_bytes(authority().root.pem)
    with serving(authority().answer) as url:
        ran = _typed(_block("sh"), tmp_path, monkeypatch, AUTHORITY=url)
    assert ran.code == 0, ran.err
    assert len(list((tmp_path / "claim" / "anchors").iterdir())) == 1


def test_the_bytes_for_a_proof_are_those_that_the_manifest_is_signed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_bundle(tmp_path / "claim", [sign(manifest(), keyring())])
    request, stamp, _, _ = _block("sh", 2).splitlines()
    assert _typed(request, tmp_path, monkeypatch).code == 0
    assert (tmp_path / stamp.split()[-1]).read_bytes() == manifest().signed_bytes()


def test_what_openssl_verifies_of_our_own_request_is_a_token_too(tmp_path: Path) -> None:
    anchor = request_token(
        "http://authority.example",
        MANIFEST,
        transport=httpx.MockTransport(
            lambda request: httpx.Response(
                200,
                headers={"Content-Type": "application/timestamp-reply"},
                content=authority().answer(request.content),
            )
        ),
    )
    files = {"response.tsr": anchor.token_bytes(), "roots.pem": authority().root.pem}
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    response, roots = (str(tmp_path / name) for name in files)
    digest = MANIFEST.removeprefix("sha256:")
    assert b"OK" in openssl("ts", "-verify", "-digest", digest, "-in", response, "-CAfile", roots)


def test_every_reason_of_an_anchor_and_every_limit_is_named() -> None:
    named = set(re.findall(r"`(anchor_\w+)`", TEXT))
    assert named == {reason for reason in Reason if reason.startswith("anchor_")}
    assert EASIEST_TARGET == 2**192 - 1
    assert "2^192 - 1" in TEXT
    limits = (MAX_DEPTH, MAX_MESSAGE_BYTES, MAX_PROOF_BYTES)
    assert limits == (256, 4096, 64 * 1024)
    assert all(said in TEXT for said in ("at most 256", "4,096 bytes", "64 KiB"))
