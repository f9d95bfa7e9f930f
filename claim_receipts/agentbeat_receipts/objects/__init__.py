"""The objects of a claim: what is promised, how runs are framed, what came out and what is behind it."""

from agentbeat_receipts.objects.anchors import AnchorForm, TimeAnchor
from agentbeat_receipts.objects.assignments import Assignment, AssignmentTable, Replicates
from agentbeat_receipts.objects.base import Body, Null, Pair
from agentbeat_receipts.objects.contents import Contents
from agentbeat_receipts.objects.contracts import (
    Contract,
    Contrast,
    DirectionContract,
    Equivalence,
    Margin,
    Quotient,
    Sign,
    StabilityContract,
    Variance,
)
from agentbeat_receipts.objects.documents import (
    SIGNER,
    Document,
    Reading,
    SignatureFault,
    read_document,
    read_shortened,
    read_whole,
    sign,
    signature_fault,
    signed,
    wrapped,
    write_document,
)
from agentbeat_receipts.objects.kept_lists import KeptList
from agentbeat_receipts.objects.manifests import (
    COMPONENTS,
    Arm,
    ComparisonGroup,
    ComponentName,
    Manifest,
    RetryPolicy,
)
from agentbeat_receipts.objects.materials import material_digest
from agentbeat_receipts.objects.openings import (
    INITIAL,
    Attempt,
    Choice,
    Envelope,
    OfferStages,
    Opening,
    TraceEvent,
    TreatmentEvent,
)
from agentbeat_receipts.objects.receipts import EVIDENCE, EvidenceName, Receipt, Status
from agentbeat_receipts.objects.reports import ReportBundle, ReportedAnalysis, ReportedCell
from agentbeat_receipts.objects.tickets import Checkpoint, ClosingRecord, Ticket

__all__ = [
    "COMPONENTS",
    "EVIDENCE",
    "INITIAL",
    "SIGNER",
    "AnchorForm",
    "Arm",
    "Assignment",
    "AssignmentTable",
    "Attempt",
    "Body",
    "Checkpoint",
    "Choice",
    "ClosingRecord",
    "ComparisonGroup",
    "ComponentName",
    "Contents",
    "Contract",
    "Contrast",
    "DirectionContract",
    "Document",
    "Envelope",
    "Equivalence",
    "EvidenceName",
    "KeptList",
    "Manifest",
    "Margin",
    "Null",
    "OfferStages",
    "Opening",
    "Pair",
    "Quotient",
    "Reading",
    "Receipt",
    "Replicates",
    "ReportBundle",
    "ReportedAnalysis",
    "ReportedCell",
    "RetryPolicy",
    "Sign",
    "SignatureFault",
    "StabilityContract",
    "Status",
    "Ticket",
    "TimeAnchor",
    "TraceEvent",
    "TreatmentEvent",
    "Variance",
    "material_digest",
    "read_document",
    "read_shortened",
    "read_whole",
    "sign",
    "signature_fault",
    "signed",
    "wrapped",
    "write_document",
]
