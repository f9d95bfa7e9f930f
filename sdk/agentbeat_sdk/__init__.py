"""Put an Agent behind the AgentBeat Target protocol.

    from agentbeat_sdk import Run, Target

    target = Target("support-desk", token_env="TARGET_TOKEN", tier="L2")

    @target.invoke
    def answer(run: Run) -> str:
        return f"You asked: {run.text}"

    target.run(port=8080)

`Target` serves the protocol, `tool` records the calls of a function, `Run` is what the Agent gets and
`run.record` where it writes further evidence. A `RunStore` keeps claims and documents.
"""

from agentbeat_sdk.limits import Limits, RecordingLimits
from agentbeat_sdk.recorder import EvidenceRecorder
from agentbeat_sdk.redaction import Redactor
from agentbeat_sdk.runs import Completion, Run, activate, current_run
from agentbeat_sdk.stores import MemoryStore, RunStore, SQLiteStore, StoreError
from agentbeat_sdk.target import Target
from agentbeat_sdk.tools import tool

__all__ = [
    "Completion",
    "EvidenceRecorder",
    "Limits",
    "MemoryStore",
    "RecordingLimits",
    "Redactor",
    "Run",
    "RunStore",
    "SQLiteStore",
    "StoreError",
    "Target",
    "activate",
    "current_run",
    "tool",
]
