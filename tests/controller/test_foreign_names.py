"""Names that an environment's author chose, as a terminal gets them: nothing of them moves its cursor."""

from __future__ import annotations

import argparse
import json
import logging

import pytest

from agentbeat_controller import command
from agentbeat_controller.announcements import for_people
from agentbeat_controller.environments.custom import StagedEnvironment
from agentbeat_protocol import ProtocolError
from support.staging import Till, profile

ODD = "till\x1b[2J\x9b31m\u202e"


class OddTill(Till):
    name = ODD


@pytest.fixture
def environment(monkeypatch):
    made = StagedEnvironment(OddTill(profile(title=ODD, task=f"Pay. {ODD}")))
    monkeypatch.setattr(command, "environment_named", lambda _: made)
    return made


def printed(capsys, *arguments):
    parser = argparse.ArgumentParser()
    command.configure(parser)
    code = command.run(parser.parse_args(arguments))
    out, err = capsys.readouterr()
    assert all(line.isprintable() for line in (out + err).split("\n"))
    return code, out, err


def test_the_catalogue_is_printed_with_escapes(environment, capsys):
    code, out, _ = printed(capsys, "profiles")
    told = json.loads(out)
    assert (code, told["environment"], told["profiles"][0]["title"]) == (0, ODD, ODD)


def test_ground_truths_are_printed_with_escapes_and_so_is_that_there_are_none(environment, capsys):
    code, out, _ = printed(capsys, "oracles")
    assert (code, ODD in json.dumps(json.loads(out), ensure_ascii=False)) == (0, False)
    code, out, err = printed(capsys, "oracles", "--profiles", "nothing")
    assert (code, out) == (2, "")
    assert "till\\x1b[2J" in err


def test_the_lines_at_the_start_are_printed_with_escapes():
    told = {
        "controller_id": ODD, "environment": ODD, "profiles": 1, "control": {"url": "u", "secret_file": ODD},
        "business": {"url": "u", "mcp": {"url": None, "reason": "r"}, "deployments": {}},
        "verify_key": None, "database": ODD,
    }  # fmt: skip
    lines = for_people(told).split("\n")
    assert all(line.isprintable() for line in lines)
    assert "till\\x1b[2J\\x9b31m\\u202e" in lines[0]


def test_the_log_of_a_failure_has_escapes(environment, caplog):
    def fail(_):
        raise OSError(ODD)

    environment.system.at_state = fail
    with caplog.at_level(logging.ERROR), pytest.raises(ProtocolError):
        environment._prepared("place", environment.system.profiles[0], None)
    (line,) = caplog.messages
    assert line.isprintable()
