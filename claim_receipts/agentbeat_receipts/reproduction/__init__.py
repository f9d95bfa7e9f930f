"""The reproduction: the paper's tables beside what this kit computes on a corpus of its own.

The verifier is the one that everybody has. What must come out is in `predictions.json`, and the paper's
figures are in `paper`.
"""

from agentbeat_receipts.reproduction.json_form import to_json
from agentbeat_receipts.reproduction.predictions import Predictions, published_predictions
from agentbeat_receipts.reproduction.printing import print_reproduction
from agentbeat_receipts.reproduction.running import Reproduction, reproduce
from agentbeat_receipts.reproduction.tables import Mark, Row, Table

__all__ = [
    "Mark",
    "Predictions",
    "Reproduction",
    "Row",
    "Table",
    "print_reproduction",
    "published_predictions",
    "reproduce",
    "to_json",
]
