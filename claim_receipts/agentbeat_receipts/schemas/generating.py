"""The schemas as the models give them now."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from agentbeat_protocol.schemas import schema_document
from agentbeat_receipts.bundles import FormatFile
from agentbeat_receipts.keyring_files import PublicFile
from agentbeat_receipts.objects import SIGNER, Body
from agentbeat_receipts.objects.documents import Wire
from agentbeat_receipts.reports.json_report import SCHEMA_NAME as VERIFICATION
from agentbeat_receipts.reports.json_report import Verification
from agentbeat_receipts.reproduction.json_form import SCHEMA_NAME as REPRODUCTION
from agentbeat_receipts.reproduction.json_form import ReproductionReport

__all__ = ["generated_schema", "schema_names"]

Schema = dict[str, Any]

_REF: Final = "#/$defs/{model}"


def _kind(body: type[Body]) -> str:
    """The kind of an object out of its type: `application/vnd.agentbeat.claims.<kind>.v1+json`."""
    return body.TYPE.split(".claims.", 1)[1].removesuffix(".v1+json")


def _of_model(model: type[BaseModel]) -> Schema:
    # A member that has a default is optional to the reader, and always there in what is written.
    mode: Any = "serialization" if model in (Verification, ReproductionReport) else "validation"
    return model.model_json_schema(mode=mode)


def _of_document() -> Schema:
    """A body with its type; a signature exactly where a role signs the type."""
    models: list[type[BaseModel]] = [Wire, *SIGNER]
    keys, together = models_json_schema([(model, "validation") for model in models], ref_template=_REF)
    definitions: Schema = together["$defs"]
    members = definitions.pop(keys[Wire, "validation"]["$ref"].rsplit("/", 1)[1])["properties"]
    choices = []
    for body, role in SIGNER.items():
        properties: Schema = {
            "type": {"const": body.TYPE},
            "body": keys[body, "validation"],
            "transport": members["transport"],
        }
        if role is not None:
            properties |= {"signature": members["signature"], "key_id": members["key_id"]}
        choices.append(
            {
                "title": f"{body.__name__} document",
                "type": "object",
                "properties": properties,
                "required": ["type", "body", *(["signature"] if role is not None else [])],
                "additionalProperties": False,
            }
        )
    return {
        "title": "Document",
        "description": "A body as it is delivered: with its type, and its signature where a role signs it.",
        "oneOf": choices,
        "$defs": definitions,
    }


def _makers() -> Mapping[str, Callable[[], Schema]]:
    models: dict[str, type[BaseModel]] = {f"claims-{_kind(body)}-v1": body for body in SIGNER}
    models |= {
        "claims-bundle-v1": FormatFile,
        "claims-public-keyring-v1": PublicFile,
        VERIFICATION: Verification,
        REPRODUCTION: ReproductionReport,
    }
    makers: dict[str, Callable[[], Schema]] = {
        name: partial(_of_model, model) for name, model in models.items()
    }
    return {**makers, "claims-document-v1": _of_document}


_MAKERS: Final = _makers()


def schema_names() -> tuple[str, ...]:
    """The names of all schemas, sorted."""
    return tuple(sorted(_MAKERS))


def generated_schema(name: str) -> str:
    """The JSON Schema of that name as the models give it now.

    Raises:
        KeyError: there is no schema of that name.
    """
    return schema_document(name, _MAKERS[name]())
