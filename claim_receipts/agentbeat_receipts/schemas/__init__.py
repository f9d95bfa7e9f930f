"""JSON Schemas (draft 2020-12) of everything that claims are delivered in, for readers in other languages.

    claims-<kind>-v1          the body of each kind of object, such as claims-receipt-v1
    claims-document-v1        a body with its type and signature, as each file of a bundle holds it
    claims-bundle-v1          bundle.json
    claims-public-keyring-v1  public.json
    claims-verification-v1    what `agentbeat claims verify --json` writes
    claims-reproduction-v1    what `agentbeat claims reproduce --json` writes

They are generated from the models into this folder and shipped in the wheel; `agentbeat claims schema NAME`
prints them. After a change of a model, `python -m agentbeat_receipts.schemas` writes them anew; the tests
fail while the files and the models differ. A schema says the shape. Rules that relate two places, such as a
receipt to its ticket, are not in it.
"""

from __future__ import annotations

from importlib import resources

from agentbeat_receipts.schemas.generating import generated_schema, schema_names

__all__ = ["generated_schema", "schema_names", "schema_text"]


def schema_text(name: str) -> str:
    """The shipped JSON Schema of that name, as text.

    Raises:
        KeyError: there is no schema of that name.
    """
    if name not in schema_names():
        raise KeyError(name)
    return (resources.files("agentbeat_receipts.schemas") / f"{name}.json").read_text(encoding="utf-8")
