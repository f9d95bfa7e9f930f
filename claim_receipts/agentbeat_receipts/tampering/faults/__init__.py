"""The faults of spec 4, by what is done: withheld, altered, chained, sealed, replayed, reported, unseen."""

from agentbeat_receipts.tampering.faults.altered import ALTERED
from agentbeat_receipts.tampering.faults.chained import CHAINED
from agentbeat_receipts.tampering.faults.replayed import REPLAYED
from agentbeat_receipts.tampering.faults.reported import REPORTED
from agentbeat_receipts.tampering.faults.sealed import SEALED
from agentbeat_receipts.tampering.faults.unseen import UNSEEN
from agentbeat_receipts.tampering.faults.withheld import WITHHELD

__all__ = ["ALTERED", "CHAINED", "REPLAYED", "REPORTED", "SEALED", "UNSEEN", "WITHHELD"]
