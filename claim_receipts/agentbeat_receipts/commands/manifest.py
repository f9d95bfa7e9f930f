"""`agentbeat claims manifest`: check and sign what is promised.

DRAFT.json holds the members of a manifest (`agentbeat claims schema claims-manifest-v1` prints the schema):
profiles, arms with the digest of each component, the whole assignment matrix, the retry policy, the values
that receipts disclose, and the contracts of C1 and C3. It is checked whole: its shape, and that it agrees
with itself. What is wrong is said with a JSON pointer to its place. Nothing that is signed can be changed
afterwards, so notes tell what this manifest will not be able to claim.

BUNDLE is made: a folder with bundle.json and manifest.json. The manifest's digest is printed; a time anchor
is made over it. Needs manifest_authority.key.

example:
  agentbeat claims manifest draft.json --keyring keys --out claim
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

from agentbeat_receipts.commands.options import UsageError, say, write_text

if TYPE_CHECKING:
    from agentbeat_receipts.objects import Manifest

__all__ = ["HELP", "configure", "run"]

HELP: Final = "check and sign a manifest: everything that is promised before the first run"

#: C1 and C3 ask for so many profiles, and C3 for so many replicates.
_PROFILES: Final = 4
_REPLICATES: Final = 2


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    add = parser.add_argument
    add("draft", metavar="DRAFT.json", type=Path, help="the manifest's members as JSON")
    add("--keyring", metavar="FOLDER", type=Path, required=True, help="with manifest_authority.key")
    add("--out", metavar="BUNDLE", type=Path, required=True, help="the bundle's folder, new or empty")


def run(args: argparse.Namespace) -> int:
    """Sign the manifest; print its digest."""
    from agentbeat_receipts.bundles import write_bundle
    from agentbeat_receipts.held_keys import load_held_keys

    if args.out.suffix == ".tar":
        raise UsageError(f"{args.out}: expected a folder, as tickets and receipts are added to it")
    manifest = _read(args.draft)
    signed = load_held_keys(args.keyring).sign(manifest)
    write_bundle(args.out, [signed])
    for note in _notes(manifest):
        say(f"note: {note}")
    if manifest.mode == "prospective":
        say(f"next: a time anchor over this digest, then agentbeat claims ticket {args.out}")
    write_text(manifest.digest())
    return 0


def _read(path: Path) -> Manifest:
    from agentbeat_protocol import ProtocolError
    from agentbeat_protocol.models import validated
    from agentbeat_receipts.canonical import read_exact
    from agentbeat_receipts.objects import Manifest

    try:
        value = read_exact(path.read_bytes())
        if isinstance(value, dict) and value.keys() >= {"body", "type"}:
            raise UsageError(f"{path}: got a document with type and body, expected the body's members")
        return validated(Manifest, value)
    except ProtocolError as error:
        raise UsageError(f"{path}: {error}") from None


def _notes(manifest: Manifest) -> Iterator[str]:
    """What this manifest cannot claim, whatever comes out."""
    from agentbeat_receipts.claims.isolation import compares_arms
    from agentbeat_receipts.domains import known_domains

    if manifest.domain not in set(known_domains()):
        yield f"this version has no domain {manifest.domain}: only C2 and coverage can be verified with it"
    contracted = {contract.claim for contract in manifest.contracts}
    for claim in ("C1", "C3"):
        if claim not in contracted:
            yield f"no contract for {claim}: it will be I_C"
        elif len(manifest.profiles) < _PROFILES:
            yield f"{len(manifest.profiles)} profiles, and {claim} asks for {_PROFILES}: it will be I_E"
    if "C3" in contracted and manifest.replicates < _REPLICATES:
        yield f"{manifest.replicates} replicate, and C3 asks for {_REPLICATES}: it will be I_E"
    if not compares_arms(manifest):
        yield "no comparison group of two arms: C2 will be I_C"
    if manifest.mode != "prospective":
        yield "retrospective: coverage will not be claimed, and there are no tickets"
    if manifest.nonces == "derived_from_seed":
        yield "nonces derived from a seed: commitments will bind, but hide nothing"
