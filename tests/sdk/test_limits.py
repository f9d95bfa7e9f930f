"""The bounds: their defaults, and what is no bound."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from agentbeat_sdk import Limits, RecordingLimits

KIB = 1024
MIB = 1024 * KIB


def test_the_defaults_are_the_protocols() -> None:
    limits = Limits()
    assert (limits.max_head_bytes, limits.max_header_fields, limits.max_body_bytes) == (32 * KIB, 100, MIB)
    assert (limits.recording.max_events, limits.recording.max_document_bytes) == (5_000, 16 * MIB)


@pytest.mark.parametrize("value", [0, -1, 1.5, True, "8", None], ids=repr)
@pytest.mark.parametrize("name", ["max_body_bytes", "max_concurrent_runs", "retry_after"])
def test_a_count_is_a_whole_number_of_at_least_1(name: str, value: Any) -> None:
    with pytest.raises(ValueError, match=name):
        Limits(**{name: value})


@pytest.mark.parametrize("value", [0, -1.0, float("nan"), float("inf"), True, "8", None], ids=repr)
@pytest.mark.parametrize("name", ["run_timeout", "head_timeout", "drain_timeout"])
def test_a_time_is_positive_and_finite(name: str, value: Any) -> None:
    with pytest.raises(ValueError, match=name):
        Limits(**{name: value})


@pytest.mark.parametrize(
    "field", [field.name for field in dataclasses.fields(RecordingLimits) if field.name != "max_value_items"]
)
def test_no_document_may_go_beyond_the_protocols_bounds(field: str) -> None:
    most = {"max_value_bytes": 16 * MIB, "max_value_depth": 32}.get(field, getattr(RecordingLimits(), field))
    assert getattr(RecordingLimits(**{field: most}), field) == most
    with pytest.raises(ValueError, match=f"{field}: got {most + 1}"):
        RecordingLimits(**{field: most + 1})


def test_a_document_always_has_room_for_its_end() -> None:
    with pytest.raises(ValueError, match="max_events"):
        RecordingLimits(max_events=2)


def test_the_limits_of_the_evidence_are_limits() -> None:
    with pytest.raises(TypeError, match="got dict"):
        Limits(recording={"max_events": 3})  # type: ignore[arg-type]


def test_they_do_not_change() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        Limits().max_body_bytes = 1  # type: ignore[misc]
