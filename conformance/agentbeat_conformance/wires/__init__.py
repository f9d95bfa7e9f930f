"""What carries a check's requests: a socket, an ASGI application, or a transcript of an earlier session.

Session → RecordingWire → ConcealingWire → SocketWire or AsgiWire
Session → ReplayWire
"""

from agentbeat_conformance.wires.asgi import AsgiWire
from agentbeat_conformance.wires.concealment import ConcealingWire, Concealment, marker
from agentbeat_conformance.wires.recording import Recorder, RecordingCommands, RecordingWire
from agentbeat_conformance.wires.replay import Replay, ReplayCommands, ReplayError, ReplayWire, Stopped
from agentbeat_conformance.wires.sockets import SocketWire

__all__ = [
    "AsgiWire",
    "ConcealingWire",
    "Concealment",
    "Recorder",
    "RecordingCommands",
    "RecordingWire",
    "Replay",
    "ReplayCommands",
    "ReplayError",
    "ReplayWire",
    "SocketWire",
    "Stopped",
    "marker",
]
