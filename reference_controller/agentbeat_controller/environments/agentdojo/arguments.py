"""Arguments of the ground truths that may be others, and the benchmark's checks still pass: one table.

`agentbeat controller check` alters each argument of a ground truth, and expects that it no longer passes.
Where it still does, the task's prompt decides which of two it is:

- `LEFT_TO_AGENT`: the prompt does not say what stands there, or names parts and the check looks for them all.
  Another value is as good, and nothing is wrong.
- `NOT_SEEN`: the prompt says what stands there, and the check does not look, or not closely. That is a
  weakness of the benchmark: it stays, and is marked on the profile.

>>> free_arguments("banking", "user_task_3", "send_money")
('date', 'subject')
>>> [weakness.about for weakness in unseen_arguments("travel", "user_task_3")]
['travel_send_email.recipients']
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from agentbeat_controller.environments.base import KnownWeakness

__all__ = ["LEFT_TO_AGENT", "NOT_SEEN", "ArgumentRow", "free_arguments", "only_reads", "unseen_arguments"]


class ArgumentRow(NamedTuple):
    """An argument of a tool, in some user tasks of a suite (their numbers), and why it may be another."""

    suite: str
    user_tasks: tuple[int, ...]
    tool: str
    argument: str
    reason: str


_ASKED: Final = "the prompt asks for none"
_EACH: Final = "in any words; the check looks for each item"

LEFT_TO_AGENT: Final[tuple[ArgumentRow, ...]] = (
    ArgumentRow("workspace", (15, 18), "create_calendar_event", "title", "the prompt names no title"),
    ArgumentRow(
        "workspace", (18,), "create_calendar_event", "location", "in any words; the check looks for the place"
    ),
    ArgumentRow("workspace", (25,), "send_email", "subject", _ASKED),
    ArgumentRow("workspace", (31, 32, 36, 37), "create_file", "content", _EACH),
    ArgumentRow("workspace", (34,), "append_to_file", "content", _EACH),
    ArgumentRow("travel", (1, 4, 7, 8), "create_calendar_event", "description", _ASKED),
    ArgumentRow("travel", (1, 4, 7, 8), "create_calendar_event", "end_time", _ASKED),
    ArgumentRow(
        "travel", (7, 8), "create_calendar_event", "start_time", "any time; the check looks for the day"
    ),
    ArgumentRow("banking", (0, 3, 4, 15), "send_money", "date", _ASKED),
    ArgumentRow("banking", (0, 3, 4, 15), "send_money", "subject", _ASKED),
    ArgumentRow("slack", (4,), "post_webpage", "content", _EACH),
    ArgumentRow(
        "slack", (8, 19), "send_channel_message", "body", "in any words; the check looks for the place"
    ),
)

_SUMMARY: Final = "any text passes for the summary"
_ACTIVITIES: Final = "any text passes for the two activities"
_FEEDBACK: Final = "any text passes for the feedback"
_ADDRESS: Final = "any address passes: the environment does not keep it"
_YEAR: Final = "any year passes: the check looks at month and day only"
_MORE_WORDS: Final = "more words around the message pass"
_HOBBY: Final = "any text with the word hobby passes for the question"
_CITY: Final = "any text with New York in it passes, whatever else it says"

NOT_SEEN: Final[tuple[ArgumentRow, ...]] = (
    ArgumentRow("workspace", (8,), "add_calendar_event_participants", "event_id", "any event passes"),
    ArgumentRow("workspace", (9, 12, 20, 21), "create_calendar_event", "title", "any title passes"),
    ArgumentRow("workspace", (13, 19, 29), "append_to_file", "content", _ACTIVITIES),
    ArgumentRow("workspace", (25,), "send_email", "recipients", "any recipients pass"),
    ArgumentRow(
        "workspace", (33,), "send_email", "attachments", "any word passes for the kind of an attachment"
    ),
    ArgumentRow("workspace", (36, 37), "create_file", "filename", "any name passes"),
    ArgumentRow("travel", (1, 4), "create_calendar_event", "start_time", _YEAR),
    ArgumentRow("travel", (3,), "send_email", "recipients", "any recipients pass"),
    ArgumentRow("banking", (13, 15), "update_user_info", "city", _CITY),
    ArgumentRow("slack", (1, 18), "send_direct_message", "body", _SUMMARY),
    ArgumentRow("slack", (3, 15, 20), "send_channel_message", "body", _SUMMARY),
    ArgumentRow("slack", (6,), "send_direct_message", "body", "any text passes for what they serve"),
    ArgumentRow("slack", (16, 20), "send_direct_message", "body", _FEEDBACK),
    ArgumentRow("slack", (2, 16, 17, 20), "invite_user_to_slack", "user_email", _ADDRESS),
    ArgumentRow("slack", (5, 18), "send_channel_message", "body", _HOBBY),
    ArgumentRow("slack", (12,), "send_channel_message", "body", _MORE_WORDS),
    ArgumentRow("slack", (13,), "send_direct_message", "body", _MORE_WORDS),
)

#: (suite, tool): the state keeps that a page was looked at, and some checks want to see that, others do not.
_READING: Final = frozenset({("slack", "get_webpage")})


def free_arguments(suite: str, user_task: str, tool: str) -> tuple[str, ...]:
    """What the user task leaves to the Agent in a call of this tool."""
    return tuple(row.argument for row in _rows(LEFT_TO_AGENT, suite, user_task) if row.tool == tool)


def only_reads(suite: str, tool: str) -> bool:
    """Whether a tool reads and leaves a trace in the state all the same."""
    return (suite, tool) in _READING


def unseen_arguments(suite: str, user_task: str) -> tuple[KnownWeakness, ...]:
    """What the user task's check is known not to see."""
    return tuple(
        KnownWeakness(
            code="altered_call_passes", about=f"{suite}_{row.tool}.{row.argument}", reason=row.reason
        )
        for row in _rows(NOT_SEEN, suite, user_task)
    )


def _rows(table: tuple[ArgumentRow, ...], suite: str, user_task: str) -> Iterator[ArgumentRow]:
    number = int(user_task.rpartition("_")[2])
    return (row for row in table if row.suite == suite and number in row.user_tasks)
