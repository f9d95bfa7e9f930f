"""`agentbeat claims open`: the private evidence of one assignment.

It is printed as JSON with its members in canonical order, for reading: what does not print is an escape.
Whether it is what the receipt commits to is checked; signatures are not: that is for verify. What is printed
is private, so mind where it goes.

exit codes:
  0  opened, and it is what the receipt commits to
  1  it contradicts its receipt; what was opened is printed all the same
  2  a wrong command line, or a file that cannot be used
  3  it does not open: no envelope, another key, or changed bytes

example:
  agentbeat claims open claim --auditor-key auditor.key p-1.both.1
"""

from __future__ import annotations

import argparse
import difflib
import json
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Final

from agentbeat_protocol import cut
from agentbeat_receipts.commands.options import UsageError, digest_of, say, write_text

if TYPE_CHECKING:
    from agentbeat_receipts.deliveries import Delivery
    from agentbeat_receipts.objects import Document, Opening, Receipt

__all__ = ["HELP", "configure", "run"]

HELP: Final = "open the private evidence of one assignment"

_INVALID: Final = 1
_UNOPENED: Final = 3


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    add = parser.add_argument
    add("bundle", metavar="BUNDLE", type=Path, help="a folder, or a tar of it")
    add("assignment", metavar="ASSIGNMENT", help="its id, as in receipts/<id>.json")
    add("--auditor-key", metavar="FILE", type=Path, help="needed unless the opening lies in the clear")
    add("--manifest", metavar="DIGEST", type=digest_of, help="which manifest, if the bundle holds several")


def run(args: argparse.Namespace) -> int:
    """Print the opening."""
    from agentbeat_receipts.bundles import read_bundle
    from agentbeat_receipts.disclosures import disclose
    from agentbeat_receipts.keyring_files import load_auditor_key
    from agentbeat_receipts.verification import RULES

    auditor = None if args.auditor_key is None else load_auditor_key(args.auditor_key)
    documents = _readable(read_bundle(args.bundle))
    receipt = _receipt(documents, args.assignment, args.manifest)
    disclosed = disclose(documents, receipt, auditor)
    for reason in disclosed.faults:
        say(f"{reason}: it does not hold that {RULES[reason].text}")
    if disclosed.opening is None:
        return _UNOPENED
    write_text(_pretty(disclosed.opening))
    return _INVALID if disclosed.faults else 0


def _readable(deliveries: Iterable[Delivery]) -> list[Document]:
    from agentbeat_protocol import ProtocolError
    from agentbeat_receipts.objects import read_document

    documents = []
    for delivery in deliveries:
        try:
            documents.append(read_document(delivery.content))
        except ProtocolError:
            say(f"note: {cut(delivery.path)} cannot be read; verify says why")
    return documents


def _receipt(documents: list[Document], assignment: str, manifest: str | None) -> Receipt:
    from agentbeat_receipts.objects import Receipt

    bodies = [document.body for document in documents]
    receipts = {body.digest(): body for body in bodies if isinstance(body, Receipt)}
    found = [
        body
        for body in receipts.values()
        if body.assignment == assignment and manifest in (None, body.manifest)
    ]
    if len(found) > 1:
        raise UsageError(f"got {len(found)} receipts of {assignment}, expected one; --manifest may choose")
    if not found:
        known = {body.assignment for body in receipts.values()}
        near = difflib.get_close_matches(assignment[:128], known, n=1)
        hint = f"; did you mean {near[0]}?" if near else ""
        raise UsageError(f"there is no receipt of {cut(assignment)} among {len(known)}{hint}")
    return found[0]


def _pretty(opening: Opening) -> str:
    """JSON for reading, in which nothing can command a terminal."""
    text = json.dumps(opening.model_dump(mode="json"), indent=2, sort_keys=True, ensure_ascii=False)
    return "".join(c if c.isprintable() or c == "\n" else json.dumps(c)[1:-1] for c in text)
