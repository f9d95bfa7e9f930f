"""JSON Schemas of what Core reads beside the messages of the protocol: the plan of `agentbeat eval-batch`.

They are generated from the models into `json_schemas/` and shipped in the wheel; `agentbeat schema NAME`
prints them. After a change of a model, `python -m agentbeat_core.schemas` writes them anew; the tests fail
while the files and the models differ. A schema says the shape. Rules that relate two places, such as a
contract to the arms that it names, are not in it.
"""

from __future__ import annotations

from importlib import resources
from pathlib import Path
from typing import Any, Final

from agentbeat_protocol.schemas import schema_document

__all__ = ["generated_schema", "schema_names", "schema_text"]

_PLAN: Final = "eval-batch-plan-v1"
_FOLDER: Final = "json_schemas"


def schema_names() -> tuple[str, ...]:
    """The names that `schema_text` knows, sorted."""
    return (_PLAN,)


def schema_text(name: str) -> str:
    """The shipped JSON Schema of that name, as text.

    Raises:
        KeyError: there is no schema of that name.
    """
    if name not in schema_names():
        raise KeyError(name)
    return (resources.files("agentbeat_core") / _FOLDER / f"{name}.json").read_text(encoding="utf-8")


def generated_schema(name: str) -> str:
    """The JSON Schema of that name as the models give it now.

    Raises:
        KeyError: there is no schema of that name.
    """
    if name not in schema_names():
        raise KeyError(name)
    return schema_document(name, _of_plan())


def _of_plan() -> dict[str, Any]:
    # The model needs the receipts room; the shipped text does not.
    from agentbeat_core.receipts.plans import CONTRACT_DEFAULTS, BatchPlan

    schema = BatchPlan.model_json_schema(mode="validation")
    # The model is given whole contracts; the reader completes what a plan leaves out of them.
    by_claim: dict[str, str] = schema["properties"]["contracts"]["items"]["discriminator"]["mapping"]
    for claim, reference in by_claim.items():
        contract, defaults = schema["$defs"][reference.rsplit("/", 1)[1]], CONTRACT_DEFAULTS[claim]
        contract["required"] = [member for member in contract["required"] if member not in defaults]
        for member, default in defaults.items():
            contract["properties"][member]["default"] = default
    return schema


def _write_all() -> None:
    folder = Path(__file__).parent / _FOLDER
    folder.mkdir(exist_ok=True)
    for stale in {path.stem for path in folder.glob("*.json")} - set(schema_names()):
        (folder / f"{stale}.json").unlink()
    for name in schema_names():
        (folder / f"{name}.json").write_text(generated_schema(name), encoding="utf-8")


if __name__ == "__main__":
    _write_all()
