"""Core's side of the wire: HTTP clients, and what Core says to Targets and State Controllers."""

from agentbeat_core.clients.controller_client import ControllerClient
from agentbeat_core.clients.exchange import Peer, Reply, TransportError
from agentbeat_core.clients.pool import ClientPool
from agentbeat_core.clients.target_client import EvidenceRead, Invoked, TargetClient

__all__ = [
    "ClientPool",
    "ControllerClient",
    "EvidenceRead",
    "Invoked",
    "Peer",
    "Reply",
    "TargetClient",
    "TransportError",
]
