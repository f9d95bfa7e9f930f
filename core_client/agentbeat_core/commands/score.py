"""`agentbeat score`: score what was already observed, without calling the Agent.

Reads an agent-score-v1 from standard input and writes an agent-score-response-v1 to standard output. The
judge is asked when the environment names one. No registry is needed, and a score is never official.

exit codes:
  0  scored
  1  scored, and a dimension named by --fail-on was decided bad
  2  no request that can be scored
"""

from __future__ import annotations

import argparse
from typing import Final

__all__ = ["EXTRA", "HELP", "configure", "run"]

HELP: Final = "score what was already observed, without calling the Agent"
EXTRA: Final = "core"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    from agentbeat_core.commands.documents import add_fail_on

    add_fail_on(parser)


def run(args: argparse.Namespace) -> int:
    """Score the request on standard input."""
    import asyncio

    from agentbeat_core.commands.documents import (
        COMPLETED,
        DIMENSION_FAILED,
        REFUSED,
        read_document,
        refuse_document,
        say,
        some_failed,
        write_document,
    )
    from agentbeat_core.judge.client import judge_from_environment
    from agentbeat_core.refusals import RefusedError
    from agentbeat_core.rescoring import score
    from agentbeat_protocol import ProtocolError, error_envelope
    from agentbeat_protocol.evaluation import read_score_request

    try:
        response = asyncio.run(score(read_score_request(read_document()), judge=judge_from_environment()))
    except ProtocolError as error:
        return refuse_document("score", error)
    except RefusedError as error:
        write_document(error_envelope(error.failure.code, error.failure.message))
        say(f"agentbeat score: refused: {error}")
        return REFUSED
    write_document(response)
    return DIMENSION_FAILED if some_failed(response.evaluation.metrics, args.fail_on) else COMPLETED
