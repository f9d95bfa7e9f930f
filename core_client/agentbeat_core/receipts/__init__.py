"""Batches with claim receipts: what is promised before the first run, and a signed receipt of each (spec 4).

plan = read_batch_plan(raw)
with BatchStore(Path("claim"), resume=False) as store:
    prepared = prepare_batch(plan, registry, salt=store.salt, judge_model=None)
    batch = BatchRun(prepared, evaluator=core, signer=load_operator(Path("keys")), store=store, …)
    await batch.run()
"""

from agentbeat_core.receipts.errors import BatchError, ReplayDiffersError
from agentbeat_core.receipts.opening import read_anchor, sign_manifest
from agentbeat_core.receipts.plans import BatchPlan, read_batch_plan
from agentbeat_core.receipts.preparing import PreparedBatch, prepare_batch
from agentbeat_core.receipts.running import BatchOutcome, BatchRun, Evaluates
from agentbeat_core.receipts.signers import Operator, load_operator
from agentbeat_core.receipts.stores import BatchStore

__all__ = [
    "BatchError",
    "BatchOutcome",
    "BatchPlan",
    "BatchRun",
    "BatchStore",
    "Evaluates",
    "Operator",
    "PreparedBatch",
    "ReplayDiffersError",
    "load_operator",
    "prepare_batch",
    "read_anchor",
    "read_batch_plan",
    "sign_manifest",
]
