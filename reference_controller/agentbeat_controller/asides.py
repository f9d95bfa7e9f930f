"""Slow questions that come up inside a transaction, answered while none is open.

SQLite has one writer, and a lease is locked while a call on it is under way: who waits for another process
inside a transaction makes others wait who have nothing to do with it. So a question ends the transaction that
it comes up in, and nothing is written; it is answered with no transaction open; then the work begins anew,
and where it puts the same question again, the answer is there.

    def work():
        with transactions.begin() as connection:
            text = read(connection)
            write(connection, aside(text, lambda: ask_a_process(text)))

    with_asides(work)

- An answer follows from its question alone, and one that is given in vain does no harm. So it is right
  whatever happened between the two transactions: work that finds another state puts another question, and no
  update is lost.
- What the work writes, it writes in its last transaction. The ones before it left nothing (CTL-10).
- Outside `with_asides` a question is answered where it is put.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from typing import Any, TypeVar, cast

__all__ = ["Aside", "aside", "with_asides"]

T = TypeVar("T")

#: The questions of the work that is under way in this thread, each with its answer; None: no such work.
_answered: ContextVar[list[tuple[object, object]] | None] = ContextVar("answered", default=None)


class Aside(BaseException):
    """Work ends here until its question is answered. No `Exception`: whoever handles faults lets it pass."""

    def __init__(self, question: object, answer: Callable[[], Any]) -> None:
        super().__init__()
        self.question = question
        self.answer = answer


def aside(question: object, answer: Callable[[], T]) -> T:
    """The answer to a question that comes up inside a transaction.

    Args:
        question: equal to another one only if its answer is the same.
        answer: answers it; called with no transaction of this thread open.
    """
    answered = _answered.get()
    if answered is None:
        return answer()
    for known, found in answered:
        if known == question:
            return cast(T, found)
    raise Aside(question, answer)


def with_asides(work: Callable[[], T]) -> T:
    """What `work` returns; it is begun anew after each question that it puts.

    Args:
        work: opens its transactions itself, and ends them when an exception passes.
    """
    answered: list[tuple[object, object]] = []
    while True:
        token = _answered.set(answered)
        try:
            return work()
        except Aside as put:
            question, answer = put.question, put.answer
        finally:
            _answered.reset(token)
        answered.append((question, answer()))
