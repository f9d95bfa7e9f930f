"""INV-5: no spelling of a metadata member's name configures the Target's runtime."""

from __future__ import annotations

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from agentbeat_protocol.confusables import is_ignorable
from agentbeat_protocol.look_alikes import LOOK_ALIKES
from agentbeat_protocol.overrides import is_runtime_override

#: The words of the spec, one by one.
SPEC = (
    "model model_id base_url endpoint api_key key token secret workspace cwd sandbox tool tools mcp runtime "
    "executor profile fixture state verifier oracle control sidecar"
)
WORDS = SPEC.split()
PAIRS = ["model_id", "base_url", "api_key"]

ORDINARY_NAMES = """
    traceparent tracestate note labels locale tenant priority request_id correlationId sessionId user-agent
    timestamp createdAt tags version lang region team owner purpose retry_count parentSpanID x-request-start
    HTTPStatus url baseline base api id sha256 v2 monkey keyboard tokenizer stateless statement estate Estate
    ESTATE toolbox Toolbox stool profiler remodel modeling secretary controller endpoints runtimes scwd mo-del
    to.ken имя заметка ключ σημείωση τιμή 名前 備考 größe _ - 7 🙂
"""
ORDINARY = [*ORDINARY_NAMES.split(), "", " "]


SPELLINGS = {
    # letter case and acronyms
    "camel case": "modelId",
    "pascal case": "BaseUrl",
    "acronym first": "APIKey",
    "acronym last": "modelID",
    "acronym before a word": "HTTPEndpoint",
    "acronym before lower case": "MCPserver",
    "capitals": "OPENAI_API_KEY",
    "capitals without separator": "OPENAIAPIKEY",
    "wild letter case": "mOdEl",
    "wild letter case behind a word": "myMoDeL",
    "wild letter case of a pair": "bAsEuRl",
    # separators
    "padding": " model ",
    "dots": "llm.model.name",
    "a dollar": "$model",
    "an index": "tools[0]",
    "a path": "/agent/tools",
    "a no-break space": "model\u00a0name",
    "an en dash": "base\u2013url",
    "a line break": "api\nkey",
    "a pair parted elsewhere": "ap_ikey",
    "a pair parted everywhere": "b.a.s.e.u.r.l",
    "a pair without separator": "baseurl",
    "a pair inside one word": "openaiapikey",
    "a pair in the plural": "apiKeys",
    "a word in a phrase": "which tool to use",
    # digits
    "a number behind": "model2",
    "a number in front": "2model",
    "a number between": "gpt4model",
    "a numbered plural": "tools1",
    "a superscript": "model\u00b2",
    "a digit of another script": "model\u0662",
    # another script beside
    "Chinese beside": "\u6a21\u578bmodel",
    "Cyrillic beside": "model\u0436",
    # compatibility forms
    "full width": "\uff4d\uff4f\uff44\uff45\uff4c",
    "full-width low line": "api\uff3fkey",
    "mathematical bold": "\U0001d426\U0001d428\U0001d41d\U0001d41e\U0001d425",
    "mathematical monospace": "\U0001d697\U0001d698\U0001d69d\U0001d68e_\U0001d694\U0001d68e\U0001d6a2",
    "double-struck": "\U0001d565\U0001d560\U0001d560\U0001d55d",
    "mathematical Greek": "t\U0001d6d0ken",
    "circled": "\u24da\u24d4\u24e8",
    "parenthesized": "\u24a6\u24a0\u24b4",
    "squared": "\U0001f13a\U0001f134\U0001f148",
    "negative circled": "\U0001f15a\U0001f154\U0001f168",
    "negative squared": "\U0001f17a\U0001f174\U0001f188",
    "regional indicators": "\U0001f1f0\U0001f1ea\U0001f1fe",
    "superscript letters": "\u1d50\u1d52\u1d48\u1d49\u02e1",
    "a ligature": "\ufb01xture",
    "a Roman numeral": "mode\u217c",
    "the Kelvin sign": "\u212aey",
    "a long s": "\u017fecret",
    # look-alikes
    "Cyrillic small o": "m\u043edel",
    "Cyrillic capitals": "\u0422\u041e\u041a\u0415N",
    "Cyrillic word": "\u0441w\u0501",
    "Cyrillic with a descender": "\u049bey",
    "Cyrillic palochka as l": "mode\u04cf",
    "Cyrillic palochka as i": "prof\u04cfle",
    "Greek small": "t\u03bf\u03bfl",
    "Greek with an accent": "m\u03ccdel",
    "Greek capitals": "\u03a4\u039f\u039a\u0395\u039d",
    "Greek nu as n": "\u03c4\u03bf\u03ba\u03b5\u03bd",
    "Greek nu as v": "\u03bderifier",
    "Greek lunate sigma": "\u03f2wd",
    "Latin dotless i": "runt\u0131me",
    "Latin alpha and a cedilla": "worksp\u0251\u00e7e",
    "Latin small capitals": "\u1d0d\u1d0f\u1d05\u1d07\u029f",
    "Latin with a stroke": "m\u00f8del",
    "Latin with a hook": "\u0199ey",
    "Latin double o": "t\ua74fl",
    "Armenian": "t\u0585\u0585l",
    "Cherokee": "\u13b7\u13dfP",
    "Cherokee small": "\uab87\uabafP",
    "Coptic": "t\u2c9f\u2c9fl",
    "Lisu": "\ua4d4\ua4f3\ua4f3\ua4e1",
    # marks and what does not show
    "an accent": "m\u00f3del",
    "a combining accent": "mo\u0301del",
    "a strike-through": "m\u0336o\u0336d\u0336e\u0336l\u0336",
    "an enclosing circle": "k\u20ddey",
    "a zero-width space": "mo\u200bdel",
    "a zero-width joiner": "api\u200dkey",
    "a soft hyphen": "to\u00adken",
    "a direction mark": "\u200fsecret",
    "a direction override": "\u202ekey",
    "an isolate": "\u2066key\u2069",
    "a word joiner": "c\u2060wd",
    "a byte-order mark": "\ufefftools",
    "a variation selector": "k\ufe0fey",
    "a supplementary variation selector": "k\U000e0100ey",
    "a tag": "k\U000e0065ey",
    "a Hangul filler": "k\u3164ey",
    "a half-width Hangul filler": "k\uffa0ey",
    "a grapheme joiner": "k\u034fey",
    "a control": "k\x00ey",
    "a control that ends the text for C": "key\x00name",
    "an unassigned code point": "k\uffffey",
    "a lone surrogate": "k\ud800ey",
    "two that do not show, one joins and one parts": "mo\u200bdel\u200bname",
    "one that does not show inside an acronym": "HTTPE\u200bndpoint",
    "one that does not show inside an acronym before lower case": "MC\u200bPserver",
    "a row of them": "\u200b\u200bcw\u200d\u200d\u200dd\u200b",
    "one beside a separator": "api\u200b_\u200bkey",
    "all at once": "\u200bO\u0440enA\u0399.\uff21\u03a1\u0406\u00ad\u2013K\u0415\u0301y2",
}


class TestNames:
    @pytest.mark.parametrize("word", WORDS)
    def test_every_word_of_the_spec_is_refused(self, word: str) -> None:
        assert is_runtime_override(word)

    @pytest.mark.parametrize("word", WORDS)
    @pytest.mark.parametrize("frame", ["{}_x", "x_{}", "x-{}-y", "x.{}", "{}2", "x {} y"])
    def test_every_word_of_the_spec_is_refused_inside_a_name(self, word: str, frame: str) -> None:
        assert is_runtime_override(frame.format(word))

    @pytest.mark.parametrize("pair", PAIRS)
    def test_a_pair_is_refused_without_its_separator(self, pair: str) -> None:
        assert is_runtime_override(pair.replace("_", ""))
        assert is_runtime_override("x" + pair.replace("_", "") + "x")

    @pytest.mark.parametrize("name", SPELLINGS.values(), ids=SPELLINGS)
    def test_no_spelling_frees_a_forbidden_name(self, name: str) -> None:
        assert is_runtime_override(name)

    @pytest.mark.parametrize("name", ["trace_state", "idempotency_key", "primaryKey", "database_url"])
    def test_the_rule_errs_on_the_side_of_refusal(self, name: str) -> None:
        assert is_runtime_override(name)

    @pytest.mark.parametrize("name", ORDINARY)
    def test_an_ordinary_name_passes(self, name: str) -> None:
        assert not is_runtime_override(name)

    def test_a_long_name_is_judged_as_a_whole(self) -> None:
        assert not is_runtime_override("aA" * 50_000)
        assert is_runtime_override("aA" * 50_000 + "_m\u043edel")


# Look-alikes of each letter, in either letter case.
TWINS: dict[str, list[str]] = {}
for twin, passed_for in LOOK_ALIKES.items():
    TWINS.setdefault(passed_for.lower(), []).append(twin)

forbidden_words = st.sampled_from(WORDS)
invisible = "\u00ad\u034f\u115f\u200b\u202e\u3164\ufe0f\ufeff\U000e0041"
ignorables = st.characters().filter(is_ignorable) | st.sampled_from(invisible)
separators = st.sampled_from(["_", "-", ".", " ", "/", "::", "\t", "\u2014", "\u3000", "$"])


@st.composite
def disguised(draw: st.DrawFn) -> str:
    """A forbidden word with ignorable code points, other separators and other letter case."""
    word = draw(forbidden_words)
    if "_" in word:
        word = word.replace("_", draw(separators | st.just("")))
    word = "".join(draw(st.sampled_from([letter.lower(), letter.upper()])) for letter in word)
    for character in draw(st.lists(ignorables, max_size=4)):
        place = draw(st.integers(0, len(word)))
        word = word[:place] + character + word[place:]
    return word


@st.composite
def imitated(draw: st.DrawFn) -> str:
    """A forbidden word in which some letters are look-alikes or carry a mark."""
    word = draw(forbidden_words)
    return "".join(
        draw(st.sampled_from([letter, letter + "\u0301", *TWINS.get(letter, [])])) for letter in word
    )


@given(disguised(), separators, st.sampled_from(["", "x", "my", "2"]))
@example("mo\u200bdel", "-", "x")
def test_ignorables_separators_and_letter_case_never_free_a_name(
    word: str, separator: str, other: str
) -> None:
    assert is_runtime_override(word)
    assert is_runtime_override(f"{other}{separator}{word}")
    assert is_runtime_override(f"{word}{separator}{other}")


@given(imitated())
def test_look_alikes_and_marks_never_free_a_name(word: str) -> None:
    assert is_runtime_override(word)


plain_words = st.sampled_from([name.lower() for name in ORDINARY if name.isalpha() and name.isascii()])


@given(st.lists(plain_words, min_size=1, max_size=4))
def test_ordinary_words_pass_in_every_notation(words: list[str]) -> None:
    assume(not any(pair.replace("_", "") in "".join(words) for pair in PAIRS))
    assert not is_runtime_override("_".join(words))
    assert not is_runtime_override("-".join(words))
    assert not is_runtime_override(words[0] + "".join(word.capitalize() for word in words[1:]))


@given(st.text())
def test_any_text_gets_a_verdict(name: str) -> None:
    assert is_runtime_override(name) in (True, False)
    assert is_runtime_override(name + "_model")
