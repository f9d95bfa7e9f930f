"""`agentbeat preflight`: would this case run on this Target? Nothing is called.

Reads an agent-preflight-v1 from standard input (an eval-run request without run_id) and writes an
agent-preflight-response-v1 to standard output.

exit codes:
  0  it would run
  2  it is refused, or there is no request; the response has the code
"""

from __future__ import annotations

import argparse
from typing import Final

__all__ = ["EXTRA", "HELP", "configure", "run"]

HELP: Final = "say whether a case would run on a Target; nothing is called"
EXTRA: Final = "core"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    from agentbeat_core.commands.eval_run import add_registry

    add_registry(parser)


def run(args: argparse.Namespace) -> int:
    """Check the request on standard input."""
    from agentbeat_core.commands.documents import (
        COMPLETED,
        REFUSED,
        read_document,
        refuse_document,
        say,
        write_document,
    )
    from agentbeat_core.commands.eval_run import registry_of
    from agentbeat_core.core import Core
    from agentbeat_core.refusals import RefusedError
    from agentbeat_protocol import ProtocolError
    from agentbeat_protocol.evaluation import PreflightResponse, read_preflight_request

    try:
        request = read_preflight_request(read_document())
    except ProtocolError as error:
        return refuse_document("preflight", error)
    try:
        response = Core(registry_of(args)).preflight(request)
    except RefusedError as error:
        response = PreflightResponse(accepted=False, failure=error.failure)
    write_document(response)
    if response.failure is not None:
        say(f"agentbeat preflight: refused: {response.failure.code}: {response.failure.message}")
    return COMPLETED if response.accepted else REFUSED
