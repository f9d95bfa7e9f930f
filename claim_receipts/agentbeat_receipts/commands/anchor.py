"""`agentbeat claims anchor`: show from outside by when the manifest existed.

  anchor request BUNDLE --out FILE           what to send to a time-stamping authority (RFC 3161)
  anchor attach BUNDLE TOKEN                 its answer, or an OpenTimestamps proof, into the bundle
  anchor fetch BUNDLE URL --tsa-root PEM     both in one, over HTTP

With --form opentimestamps, `request` writes the very bytes whose SHA-256 is the manifest's digest: stamp
that file with any OpenTimestamps client, and attach the proof once it is complete. A token is taken when it
is over this manifest; whether it can be trusted is for each verifier to say, with --tsa-root or
--block-header. The digest that tickets will cite is printed. Attach before `agentbeat claims ticket`.

example:
  agentbeat claims anchor request claim --out request.tsq
  curl -H 'Content-Type: application/timestamp-query' --data-binary @request.tsq URL > token.tsr
  agentbeat claims anchor attach claim token.tsr
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Final

from agentbeat_receipts.commands.options import UsageError, say, write_report, write_text

if TYPE_CHECKING:
    from agentbeat_receipts.objects import Manifest, TimeAnchor

__all__ = ["HELP", "configure", "run"]

HELP: Final = "get a time anchor over the manifest, and put it into the bundle"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the steps and their options."""
    steps = parser.add_subparsers(dest="step", required=True, metavar="STEP")
    request = steps.add_parser("request", help="write what an authority is to stamp")
    attach = steps.add_parser("attach", help="put a token into the bundle")
    fetch = steps.add_parser("fetch", help="ask an authority over HTTP, and put its token into the bundle")
    for step in (request, attach, fetch):
        step.add_argument("bundle", metavar="BUNDLE", type=Path, help="a folder that `manifest` has made")
    request.add_argument("--out", metavar="FILE", required=True, help="the file to write")
    request.add_argument(
        "--form",
        choices=("rfc3161", "opentimestamps"),
        default="rfc3161",
        help="a time-stamp request, or the bytes to stamp (default: %(default)s)",
    )
    attach.add_argument("token", metavar="TOKEN", type=Path, help="a response in DER, or a proof (.ots)")
    fetch.add_argument("url", metavar="URL", help="the authority's address")
    fetch.add_argument(
        "--tsa-root",
        metavar="PEM",
        type=Path,
        action="append",
        default=[],
        help="certificates against which the token must hold at once",
    )
    request.set_defaults(anchor_run=_request)
    attach.set_defaults(anchor_run=_attach)
    fetch.set_defaults(anchor_run=_fetch)


def run(args: argparse.Namespace) -> int:
    """Run the step."""
    code: int = args.anchor_run(args)
    return code


def _request(args: argparse.Namespace) -> int:
    from agentbeat_receipts.anchors import make_request

    manifest = _manifest(args.bundle)
    stamped = args.form == "rfc3161"
    write_report(args.out, make_request(manifest.digest()).der if stamped else manifest.signed_bytes())
    say("next: have it stamped, then agentbeat claims anchor attach")
    return 0


def _attach(args: argparse.Namespace) -> int:
    from agentbeat_receipts.commands.bundles import read_token

    return _add(args.bundle, read_token(args.token, _manifest(args.bundle).digest()))


def _fetch(args: argparse.Namespace) -> int:
    from agentbeat_receipts.anchors import AnchorError, TokenRequestError, request_token
    from agentbeat_receipts.commands.verifying import trust_of

    trust = trust_of(args.tsa_root, (), ())
    try:
        anchor = request_token(
            args.url, _manifest(args.bundle).digest(), trust=trust if trust.roots else None
        )
    except (AnchorError, TokenRequestError) as error:
        raise UsageError(f"the authority: {error}") from None
    return _add(args.bundle, anchor)


def _manifest(bundle: Path) -> Manifest:
    from agentbeat_receipts.bundle_folders import sole
    from agentbeat_receipts.commands.bundles import folder_documents
    from agentbeat_receipts.objects import Manifest

    return sole(folder_documents(bundle), Manifest)[1]


def _add(bundle: Path, anchor: TimeAnchor) -> int:
    from agentbeat_receipts.anchoring import is_pending
    from agentbeat_receipts.bundle_folders import add_documents
    from agentbeat_receipts.objects import Document

    add_documents(bundle, [Document(body=anchor)])
    if is_pending(anchor):
        say("note: the proof is pending: it is no anchor, and tickets cannot cite it")
    write_text(anchor.token_digest())
    return 0
