"""The shipped JSON Schemas are the models', are valid, and agree with the readers on shape."""

import json

import pytest
from jsonschema import Draft202012Validator

from agentbeat_protocol.schemas import MODELS, generated_schema, schema_names, schema_text
from support.cases import load, materialize


@pytest.mark.parametrize("name", schema_names())
def test_the_shipped_schema_is_what_the_model_gives_and_is_a_valid_schema(name):
    assert schema_text(name) == generated_schema(name), "run `make schemas`"
    Draft202012Validator.check_schema(json.loads(schema_text(name)))


def test_an_unknown_schema_is_a_key_error():
    with pytest.raises(KeyError):
        schema_text("../models")


def test_every_schema_has_its_own_name():
    assert len(set(MODELS.values())) == len(MODELS)


def test_the_evidence_schema_accepts_every_legal_document_and_refuses_a_wrong_shape():
    """Shape alone: what a schema can say of lengths, types, members and patterns."""
    validator = Draft202012Validator(json.loads(schema_text("target-evidence-v1")))
    refused = 0
    for case in load("evidence_cases.jsonl"):
        shape = case["rule"].split(":")[0].split("/")[0].split(" ")[0]
        if case["expect"] == "accept":
            assert validator.is_valid(json.loads(materialize(case))), case["id"]
        elif shape in ("S-REQUIRED", "S-ADDPROP", "S-ENUM", "S-LEN", "S-COUNT"):
            assert not validator.is_valid(json.loads(materialize(case))), case["id"]
            refused += 1
    assert refused > 20
