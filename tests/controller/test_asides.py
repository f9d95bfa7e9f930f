"""Questions inside a transaction, and turns: what `asides` and `queues` promise."""

import threading

import pytest

from agentbeat_controller.asides import aside, with_asides
from agentbeat_controller.queues import Turns


class Ledger:
    """Work with a transaction: what was entered is kept when its end is reached."""

    def __init__(self):
        self.begun, self.kept = 0, []

    def work(self, *questions):
        self.begun += 1
        entered = [aside(question, lambda q=question: self.answer(q)) for question in questions]
        self.kept.append(entered)
        return entered

    def answer(self, question):
        if question == "fault":
            raise LookupError(question)
        return question.upper()


def test_work_is_begun_anew_after_each_question_and_ends_once():
    ledger = Ledger()
    assert with_asides(lambda: ledger.work("a", "b", "a")) == ["A", "B", "A"]
    assert (ledger.begun, ledger.kept) == (3, [["A", "B", "A"]])


def test_an_answer_is_not_remembered_beyond_its_work():
    ledger = Ledger()
    for begun in (2, 4):
        with_asides(lambda: ledger.work("a"))
        assert ledger.begun == begun


def test_outside_of_such_work_a_question_is_answered_where_it_is_put():
    ledger = Ledger()
    assert ledger.work("a") == ["A"]
    assert ledger.begun == 1


def test_what_an_answer_raises_ends_the_work_and_nothing_is_kept():
    ledger = Ledger()
    with pytest.raises(LookupError, match="fault"):
        with_asides(lambda: ledger.work("a", "fault"))
    assert ledger.kept == []
    assert ledger.work("a") == ["A"]


def test_whoever_handles_faults_does_not_swallow_a_question():
    def work():
        try:
            return aside("a", lambda: 1)
        except Exception:
            return None

    assert with_asides(work) == 1


def test_a_question_that_comes_up_while_another_is_answered_is_answered_there():
    answers = []

    def outer():
        answers.append(aside("inner", lambda: 1))
        return 2

    assert with_asides(lambda: aside("outer", outer)) == 2
    assert answers == [1]


def test_the_questions_of_one_thread_are_not_another_ones():
    seen = []

    def work():
        other = threading.Thread(target=lambda: seen.append(aside("a", lambda: "other")))
        other.start()
        other.join()
        return aside("a", lambda: "mine")

    assert with_asides(work) == "mine"
    assert seen == ["other", "other"]


def test_a_name_is_taken_by_one_at_a_time_and_other_names_are_free():
    turns = Turns()
    with turns.taken("a", seconds=0) as mine, turns.taken("b", seconds=0) as other:
        assert (mine, other) == (True, True)
        with turns.taken("a", seconds=0) as again:
            assert again is False
    with turns.taken("a", seconds=0) as mine:
        assert mine is True


def test_a_turn_goes_on_when_its_holder_fails_and_no_name_is_remembered():
    turns = Turns()
    with pytest.raises(LookupError), turns.taken("a", seconds=0):
        raise LookupError
    with turns.taken("a", seconds=0) as mine:
        assert mine
    assert turns._queues == {}
