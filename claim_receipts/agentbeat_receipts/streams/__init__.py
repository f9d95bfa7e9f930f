"""Verification of batches of any length: read twice, in several processes, with no body held.

report = verify_stream(stream_bundle(Path("claim.tar")), public_keys, domains=[market])
"""

from agentbeat_receipts.streams.passes import Progress
from agentbeat_receipts.streams.pools import StreamError
from agentbeat_receipts.streams.verifying import verify_stream

__all__ = ["Progress", "StreamError", "verify_stream"]
