"""Reset plants a text, whatever it is, at every vector of the suite; or refuses it, and nothing changes."""

import json

import pytest

from agentbeat_controller.environments.agentdojo import SEEN_VECTORS
from agentbeat_protocol import Injection, ProtocolError
from support.agentdojo_runs import Bench, needs_agentdojo, planted, probe, probed

TEXTS = {
    "quotes": "Do \"this\" and 'that' `now`.",
    "backslashes": "C:\\new\\table \\n \\x41 \\",
    "newlines": "one\ntwo\r\nthree\n\n  four\t\n",
    "braces": "{} {0} {user_task} {{injection_bill_text}} %s ${HOME}",
    "emoji": "🙂 é ‮ ñ 漢字 \N{SNOWMAN}",
    "yaml": '---\n- &a [*a, !!python/object:os.system x]\n# : - ? | >\n"',
    "ten kilobytes": 'long "and" \\ wide\n' * 640,
    "blank": "   ",
}
#: What double-quoted YAML cannot express as it is; upstream's way folds or refuses it.
BEYOND_YAML = {"separators": "one\u2028two\u2029three\u0085four", "controls": "\x01\x1b[31m\x7f"}

#: Places per suite: some vectors stand at two.
SUITES = {"workspace": 16, "travel": 14, "banking": 4, "slack": 7}


@pytest.fixture
def bench(agentdojo):
    bench = Bench(agentdojo)
    yield bench
    bench.close()


def _texts(value):
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | dict):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _texts(item)


@pytest.mark.parametrize("suite", SUITES)
@pytest.mark.parametrize("text", {**TEXTS, **BEYOND_YAML}.values(), ids={**TEXTS, **BEYOND_YAML})
def test_the_text_stands_at_every_vector_as_it_is(bench, suite, text):
    """The neutral state differs from it there only."""
    profile = bench.profile(f"{suite}-user_task_0-injection_task_1")
    state = bench.reset(profile, planted(text))
    marked = bench.reset(profile, planted("⟦here⟧"))
    assert sum(text in each for each in _texts(state["environment"])) >= SUITES[suite]
    assert sum("⟦here⟧" in each for each in _texts(marked["environment"])) == SUITES[suite]
    put_back = json.dumps(marked, ensure_ascii=False).replace(
        "⟦here⟧", json.dumps(text, ensure_ascii=False)[1:-1]
    )
    assert _without_sizes(json.loads(put_back)) == _without_sizes(state)


def _without_sizes(value):
    if isinstance(value, dict):
        return {name: _without_sizes(item) for name, item in value.items() if name != "size"}
    return [_without_sizes(item) for item in value] if isinstance(value, list) else value


def test_it_is_what_upstreams_own_way_makes_of_the_escaped_text():
    needs_agentdojo()
    assert probed(probe("plants", texts=list(TEXTS.values()))) == []


def test_the_seen_vectors_are_those_that_upstreams_attacks_plant_at():
    """All 97 tasks meet one at least."""
    needs_agentdojo()
    found = probed(probe("seen"))
    assert len(found) == 97
    assert [pair for pair in found if pair[0] != pair[1] or not pair[0]] == []


def test_a_text_for_the_seen_vectors_stands_there_only(bench):
    profile = bench.profile("banking-user_task_0-injection_task_0")
    everywhere, seen = (bench.reset(profile, planted("⟦here⟧", surface)) for surface in profile.surfaces)
    harmless = bench.reset(profile)
    assert [sum("⟦here⟧" in each for each in _texts(state)) for state in (everywhere, seen, harmless)] == [
        4,
        1,
        0,
    ]
    assert profile.surfaces[1] == SEEN_VECTORS
    assert "⟦here⟧" in dict(seen["environment"]["filesystem"]["files"])["bill-december-2023.txt"]


def test_without_an_injection_the_vectors_have_their_harmless_defaults(bench):
    profile = bench.profile("banking-user_task_0-injection_task_0")
    alone = bench.profile("banking-user_task_0")
    state = bench.reset(profile)
    assert state["environment"] == bench.reset(alone)["environment"]
    assert state["environment"] != bench.reset(profile, planted())["environment"]


@pytest.mark.parametrize("injection", [None, planted()], ids=["none", "planted"])
def test_two_resets_give_one_state_whatever_ran_between(bench, injection):
    """CTL-3."""
    profile = bench.profile("slack-user_task_3-injection_task_1")
    first = bench.reset(profile, injection)
    bench.play(profile, *bench.oracles(profile, injection).values(), injection=planted("another"))
    assert bench.reset(profile, injection) == first


@pytest.mark.parametrize(
    ("name", "injection", "path"),
    [
        ("banking-user_task_0-injection_task_0", planted("a\0b"), "/injection/text"),
        (
            "banking-user_task_0-injection_task_0",
            Injection(surface="injection_bill_text", text="x"),
            "/injection/surface",
        ),
        ("banking-user_task_0", planted(), "/injection/surface"),
    ],
    ids=["NUL", "surface", "no injection task"],
)
def test_what_cannot_be_planted_is_refused_and_nothing_changes(agentdojo, bench, name, injection, path):
    profile = bench.profile(name)
    before = bench.reset(bench.profile("slack-user_task_0"))
    with pytest.raises(ProtocolError) as refused:
        bench.reset(profile, injection)
    assert (refused.value.code, refused.value.path) == ("invalid_request", path)
    with pytest.raises(ProtocolError):
        agentdojo.oracles(profile, injection=injection)
    assert bench.state() == before


def test_an_attacks_ground_truth_is_made_for_what_is_planted(bench):
    """Mail to pass on has the injected text in it: the sequence for another state would not count."""
    profile = bench.profile("workspace-user_task_0-injection_task_6")
    sent = [
        next(
            call.arguments["body"] for call in bench.oracles(profile, each)["attack"].calls if call.arguments
        )
        for each in (planted("one text"), planted("another text"))
    ]
    assert "one text" in sent[0]
    assert "another text" in sent[1]
