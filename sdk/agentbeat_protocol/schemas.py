"""JSON Schemas of everything that crosses a process boundary, for readers in other languages.

They are generated from the models into `json_schemas/`, one file per name, and shipped in the wheel:
`agentbeat schema NAME` prints them. After a change of a model, `make schemas` writes them anew; the tests
fail while the files and the models differ.

A schema says the shape. Rules that relate two places, such as a result to its call, are not in it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel

from agentbeat_protocol import controller, evidence, invocations, state_receipts
from agentbeat_protocol.evaluation import cases, registries, requests, responses

__all__ = ["MODELS", "generated_schema", "schema_document", "schema_names", "schema_text"]

MODELS: Final[Mapping[str, type[BaseModel]]] = {
    "target-invocation-v1": invocations.Invocation,
    "target-invocation-response-v1": invocations.InvocationResponse,
    "target-evidence-v1": evidence.EvidenceDocument,
    "target-health-v1": invocations.Health,
    "error-envelope-v1": invocations.ErrorEnvelope,
    "controller-health-v1": controller.ControllerHealth,
    "controller-catalogue-v1": controller.Catalogue,
    "controller-reset-request-v1": controller.ResetRequest,
    "controller-reset-answer-v1": controller.ResetAnswer,
    "controller-snapshot-request-v1": controller.SnapshotRequest,
    "controller-snapshot-answer-v1": controller.SnapshotAnswer,
    "controller-verify-request-v1": controller.VerifyRequest,
    "controller-verify-answer-v1": controller.VerifyAnswer,
    "controller-renew-request-v1": controller.RenewRequest,
    "controller-renew-answer-v1": controller.RenewAnswer,
    "controller-release-request-v1": controller.ReleaseRequest,
    "controller-release-answer-v1": controller.ReleaseAnswer,
    "state-receipt-v1": state_receipts.StateReceipt,
    "agent-case-only-v1": cases.AgentCase,
    "target-profile-v1": cases.TargetProfile,
    "target-capability-v1": cases.TargetCapability,
    "agent-target-registry-v1": registries.Registry,
    "eval-run-request-v1": requests.EvalRunRequest,
    "eval-run-response-v1": responses.EvalRunResponse,
    "agent-preflight-v1": requests.PreflightRequest,
    "agent-preflight-response-v1": responses.PreflightResponse,
    "agent-score-v1": requests.ScoreRequest,
    "agent-score-response-v1": responses.ScoreResponse,
}

_FOLDER: Final = "json_schemas"


def schema_names() -> tuple[str, ...]:
    """The names that `schema_text` knows, sorted."""
    return tuple(sorted(MODELS))


def schema_text(name: str) -> str:
    """The shipped JSON Schema of that name, as text.

    Raises:
        KeyError: there is no schema of that name.
    """
    if name not in MODELS:
        raise KeyError(name)
    return (resources.files("agentbeat_protocol") / _FOLDER / f"{name}.json").read_text(encoding="utf-8")


def generated_schema(name: str) -> str:
    """The JSON Schema of that name as the models give it now."""
    return schema_document(name, MODELS[name].model_json_schema(mode="validation"))


def schema_document(name: str, schema: Mapping[str, Any]) -> str:
    """A schema under its name, as the file that is shipped. The other rooms write theirs with it too."""
    document = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:agentbeat:{name}",
        **_without_null_defaults(schema),
    }
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _without_null_defaults(node: Any) -> Any:
    """Absence is not null: pydantic's default for an absent member says nothing about the wire."""
    if isinstance(node, dict):
        return {
            name: _without_null_defaults(value)
            for name, value in node.items()
            if not (name == "default" and value is None)
        }
    if isinstance(node, list):
        return [_without_null_defaults(item) for item in node]
    return node


def _write_all() -> None:
    folder = Path(__file__).parent / _FOLDER
    folder.mkdir(exist_ok=True)
    for stale in {path.stem for path in folder.glob("*.json")} - set(MODELS):
        (folder / f"{stale}.json").unlink()
    for name in schema_names():
        (folder / f"{name}.json").write_text(generated_schema(name), encoding="utf-8")


if __name__ == "__main__":
    _write_all()
