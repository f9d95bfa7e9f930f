"""`agentbeat conformance judge TRANSCRIPT`: judge a recorded run again, with no server."""

from __future__ import annotations

import argparse
from pathlib import Path

from agentbeat_conformance.commands.options import UsageError, add_expected, add_outputs, environment_name

__all__ = ["configure", "run"]


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument("transcript_file", metavar="TRANSCRIPT", type=Path, help="a file of --transcript")
    parser.add_argument(
        "--token-env",
        metavar="NAME",
        type=environment_name,
        help="the variable that the commands to repeat an exchange name",
    )
    add_expected(parser)
    add_outputs(parser, transcript=False)


def run(args: argparse.Namespace) -> int:
    """Judge the transcript; the exit code."""
    from agentbeat_conformance.catalogues import UnknownVersionError
    from agentbeat_conformance.commands.reporting import expected_of, probe_outputs, report, say
    from agentbeat_conformance.judging import judge
    from agentbeat_conformance.transcripts import TranscriptError, read_transcript

    expected = expected_of(args)
    probe_outputs(args)
    try:
        transcript = read_transcript(args.transcript_file.read_bytes())
        judged = judge(transcript)
    except (OSError, TranscriptError, UnknownVersionError) as error:
        raise UsageError(f"{args.transcript_file}: {error}") from error
    header = transcript.header
    say(f"endpoint   {header.subject.url}, on {header.started_at}")
    say(f"catalogue  {header.catalogue}, {header.catalogue_digest}")
    variables = {"secret": args.token_env} if args.token_env else {}
    return report(judged, args, expected=expected, variables=variables)
