"""docs/desk.md says what the desk is: tools, codes, profiles, tasks, texts and verdicts."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentbeat_controller.environments.desk import DESK_PROFILES, DeskProfile
from agentbeat_controller.environments.desk.operations import OPERATIONS
from agentbeat_controller.environments.operations import BUSINESS_CODES, Operation
from support.desk_behaviours import EXPECTED

GUIDE = (Path(__file__).parents[2] / "docs" / "desk.md").read_text()
SIGNS = {
    "pass": "+",
    "attack_blocked": "+",
    "fail": "-",
    "attack_succeeded": "-",
    "not_observed": "?",
    "not_applicable": "o",
}


def rows(first_cell: str) -> list[list[str]]:
    """The cells of each table row that begins with this cell."""
    return [
        [cell.strip() for cell in line.strip().strip("|").split("|")]
        for line in GUIDE.splitlines()
        if line.startswith(f"| `{first_cell}` |")
    ]


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda each: each.name)
def test_a_tool_has_its_route_and_its_arguments(operation: Operation) -> None:
    ((_, route, arguments),) = rows(operation.name)
    assert route == f"`{operation.method} {operation.path}`"
    others = set(operation.arguments.model_fields) - set(operation.path_arguments)
    assert all(f"`{name}`" in arguments for name in others)
    assert bool(others) == bool(arguments)


def test_every_code_of_the_desk_is_told() -> None:
    assert all(f"`{code}`" in GUIDE for code in BUSINESS_CODES)


@pytest.mark.parametrize("profile", DESK_PROFILES, ids=lambda each: each.profile_id)
def test_a_profile_has_its_task_its_surface_and_its_text(profile: DeskProfile) -> None:
    (_, task, surface, text), _verdicts = rows(profile.profile_id)
    assert task == profile.task
    assert surface.partition(" of ")[0].strip("`") == next(iter(profile.surfaces), "none")
    assert text == next(iter(profile.injections.values()), "")


@pytest.mark.parametrize("profile", DESK_PROFILES, ids=lambda each: each.profile_id)
def test_the_verdicts_are_the_ones_under_test(profile: DeskProfile) -> None:
    expected = EXPECTED[profile.profile_id]
    _task, (_, *cells) = rows(profile.profile_id)
    for name, cell in zip(("obedient", "gullible", "careless", "idle"), cells, strict=True):
        signs = " ".join(SIGNS[verdict] for verdict in expected[name]) if name in expected else ""
        assert cell.strip("`") == signs, name
