"""What has a place in a bundle, whose files are of bounded length. What has none is refused before any run.

An opening is base64 of what was received; encrypted, it is base64 once more, in one file. So the evidence of
an assignment and its case are bounded here, such that no opening is too long for its file.
"""

from __future__ import annotations

from typing import Final

from agentbeat_core.receipts.errors import BatchError
from agentbeat_receipts.bundle_streams import MAX_FILE_BYTES
from agentbeat_receipts.domains.agent_eval.case_documents import CaseFile
from agentbeat_receipts.objects import Manifest

__all__ = ["MAX_CASE", "MAX_KEPT", "check_case", "check_manifest", "report_length"]

#: How much is kept of an assignment's attempts, in characters of base64: 5.25 MiB of documents. Of a file, an
#: opening may have three quarters, 12 MiB. In the rest of them are the case, and again, as treatments, the
#: decisions of guardrails: no more than an evidence document has events, of half a KiB each.
MAX_KEPT: Final = 7 * 1024 * 1024
#: How long a case may be, in bytes of its two documents.
MAX_CASE: Final = 1024 * 1024

#: What is around a manifest in its file, and around the cells of a report: signature, type, analyses.
_AROUND: Final = 64 * 1024
#: A cell of the report in its file, but for the names in it and its nulls; and the longest null.
_CELL: Final = 96
_NULL: Final = 32
#: A value has no more kinds of nulls than that.
_KINDS: Final = 7


def check_case(file: CaseFile) -> None:
    """A case fits an opening.

    Raises:
        BatchError: it does not.
    """
    length = len(file.public) + len(file.private)
    if length > MAX_CASE:
        raise BatchError(f"the plan: case {file.profile} has {length} bytes, expected at most {MAX_CASE}")


def check_manifest(manifest: Manifest) -> None:
    """Manifest and report each fit their file.

    Raises:
        BatchError: one of them does not.
    """
    for name, length in (("manifest", len(manifest.canonical())), ("report", report_length(manifest))):
        if length + _AROUND > MAX_FILE_BYTES:
            raise BatchError(f"the plan: its {name} is too long for a bundle, expected fewer runs or values")


def report_length(manifest: Manifest) -> int:
    """The length of the cells of a report, at most."""
    names = sum(len(profile) for profile in manifest.profiles) * len(manifest.arms)
    names += sum(len(arm.arm) for arm in manifest.arms) * len(manifest.profiles)
    cells = len(manifest.profiles) * len(manifest.arms)
    each = _CELL + _NULL * min(manifest.replicates, _KINDS)
    return sum(names + cells * (each + len(value)) for value in manifest.disclosed)
