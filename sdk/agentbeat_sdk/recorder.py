"""The evidence of one run, recorded by the Agent as it works (L2).

`EvidenceRecorder` has one method for each event type of `target-evidence-v1`. It may be used from any thread.
Every event is redacted, bounded and turned into bytes when it is given; nothing of the Agent's own objects is
kept. The document that `complete` or `fail` returns holds every rule of spec 1, whatever was recorded.

1. Recording never fails a run. What cannot be read becomes a mark, what is too long is cut and says so. Only
   a mistake in the code raises: an unknown role, an exit code that is no integer, files not observed.
2. At the first event that goes past a bound, recording stops: the document holds the beginning of the run
   whole, and `evidence.truncated` counts what followed. A result without an open call is counted there too.
3. No result is invented. A call that never returned stays unanswered, and `tool.unfinished` names it.
4. The last event says how the run ended. When the Agent has just recorded its answer itself, it stands once.
5. After the end, events are counted in `late` and go nowhere: a background task must not fail for being late.
6. Time does not run backwards in a document: a clock that is set back is held at the latest time seen.

>>> record = EvidenceRecorder("run-a", "case-a", source="desk", redactor=Redactor())
>>> call_id = record.tool_call("search", {"query": "refund", "api_key": "k-123"})
>>> record.tool_result(call_id, ["T-1"])
>>> document = record.complete("One ticket asks for a refund.")
>>> document.count(b'"event_id"'), b"k-123" in document
(3, False)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from os import PathLike
from typing import Any, Literal

from agentbeat_protocol import Instant, is_case_id, is_run_id
from agentbeat_protocol.models import MAX_SAFE_INTEGER
from agentbeat_sdk.bounded import encoded
from agentbeat_sdk.documents import TRUNCATED, UNFINISHED
from agentbeat_sdk.drafts import NO_TEXT, Draft, check_choice, shown_source
from agentbeat_sdk.ledger import Ledger
from agentbeat_sdk.limits import RecordingLimits
from agentbeat_sdk.redaction import Redactor

__all__ = ["EvidenceRecorder", "MessageRole", "StreamedRole"]

MessageRole = Literal["system", "user", "assistant", "tool"]
StreamedRole = Literal["assistant", "tool"]
Attributes = Mapping[str, Any] | None


class EvidenceRecorder:
    """Records one run; every method is safe to call from any thread.

    Args:
        run_id, case_id: the invocation's ids (EVD-2).
        source: the source of every event, the Target's id as a rule; it is cut to 160 code points.
        limits: the bounds of the document and of what is in it.
        redactor: knows the secrets that must not be recorded (EVD-13).
        clock: gives the present instant.
        files: whether the Target observes file changes. Messages and tools are always observed (EVD-6).

    Raises:
        ValueError: an id is off its pattern, or the limits leave no room for a document.
    """

    def __init__(
        self,
        run_id: str,
        case_id: str,
        *,
        source: str,
        limits: RecordingLimits = RecordingLimits(),  # noqa: B008 - frozen
        redactor: Redactor,
        clock: Callable[[], Instant] = Instant.now,
        files: bool = False,
    ) -> None:
        if not is_run_id(run_id):
            raise ValueError("run_id: got another form, expected run-… of at most 160 characters")
        if not is_case_id(case_id):
            raise ValueError("case_id: got another form, expected case-… of at most 200 characters")
        self._limits = limits
        self._redactor = redactor
        self._files = files
        self._ledger = Ledger(
            run_id,
            case_id,
            source=shown_source(source, limits.max_source, redactor),
            channels=("messages", "tools", "files") if files else ("messages", "tools"),
            limits=limits,
            redactor=redactor,
            clock=clock,
        )

    @property
    def closed(self) -> bool:
        """Whether the document is finished."""
        return self._ledger.finished

    @property
    def size(self) -> int:
        """Bytes of the events in the document; 0 when it is finished."""
        return self._ledger.size

    @property
    def recorded(self) -> dict[str, int]:
        """How many events of each type stand in the document, without the ones that close it."""
        return self._ledger.counts("recorded")

    @property
    def dropped(self) -> dict[str, int]:
        """How many events of each type are missing in the document; it says so itself."""
        return self._ledger.counts("dropped")

    @property
    def late(self) -> dict[str, int]:
        """How many events of each type came after the end of the run."""
        return self._ledger.counts("late")

    def message(self, role: MessageRole, text: str | None, *, attributes: Attributes = None) -> None:
        """A whole message. One without text, as a turn of tool calls only may be, is not recorded."""
        check_choice("role", role, MessageRole)
        draft = self._draft(role=encoded(role))
        if draft.add_text("text", text, self._limits.max_text):
            self._record("message", draft, attributes)

    def message_delta(self, role: StreamedRole, delta: str | None, *, attributes: Attributes = None) -> None:
        """A piece of a message as it was streamed; an empty one is not recorded."""
        check_choice("role", role, StreamedRole)
        draft = self._draft(role=encoded(role), delta="")
        text = draft.plain(delta)
        if len(text) > self._limits.max_text:
            draft.lengths["delta"] = len(text)
        if text:
            self._ledger.add_delta(text, draft.finish(attributes))

    def tool_call(
        self,
        name: str,
        arguments: object = None,
        *,
        call_id: str | None = None,
        hide: Iterable[str] = (),
        attributes: Attributes = None,
    ) -> str:
        """A call of a tool; `tool` records its calls by itself.

        Args:
            arguments: an object, as a mapping or as a model; another value becomes its member `value`.
            call_id: the caller's id. One that is taken or cannot be shown stands as another in the document.
            hide: texts that are no secret of the Target, but are not to be recorded with this event.

        Returns:
            The id to give to `tool_result`; the caller's own id serves as well.
        """
        draft = self._draft(hide, call_id="")
        given = draft.plain(call_id)
        if self._ledger.refuses("tool.call"):
            return given or self._ledger.spare_call_id()
        draft.add_text("name", name, self._limits.max_name, empty=NO_TEXT)
        draft.add_object("arguments", {} if arguments is None else arguments)
        shown_id = draft.redactor.clean(given, self._limits.max_name).text
        return self._ledger.add_call(given, shown_id, draft.finish(attributes))

    def tool_result(
        self,
        call_id: str,
        result: object = None,
        *,
        is_error: bool = False,
        error: object = None,
        status: str | None = None,
        hide: Iterable[str] = (),
        attributes: Attributes = None,
    ) -> None:
        """What came of a call, under the name that was called.

        A result without an open call cannot stand in a document; `evidence.truncated` counts it.

        Args:
            call_id: what `tool_call` returned, or the id that it was given.
            result: any value.
            error: an exception or any value; left out when None.
            hide: as for `tool_call`.
        """
        draft = self._draft(hide, call_id="", name="")
        given = draft.plain(call_id)
        if self._ledger.refuses("tool.result"):
            self._ledger.returned(given)
            return
        draft.add_value("result", result)
        draft.members["is_error"] = encoded(bool(is_error))
        draft.add_status(status)
        if error is not None:
            draft.add_value("error", error)
        self._ledger.add_result(given, draft.finish(attributes))

    def command_result(
        self,
        command: str,
        exit_code: int,
        output: str | None = "",
        *,
        status: str | None = None,
        attributes: Attributes = None,
    ) -> None:
        """A command that the Agent ran to its end.

        Raises:
            TypeError, ValueError: the exit code is no integer within ±(2^53-1).
        """
        if isinstance(exit_code, bool) or not isinstance(exit_code, int):
            raise TypeError(f"exit_code: got {type(exit_code).__name__}, expected int")
        if abs(exit_code) > MAX_SAFE_INTEGER:
            raise ValueError("exit_code: got a larger one, expected an integer within ±(2^53-1)")
        draft = self._draft()
        draft.add_text("command", command, self._limits.max_text, empty=NO_TEXT)
        draft.members["exit_code"] = encoded(int(exit_code))
        draft.add_text("output", output, self._limits.max_text)
        draft.add_status(status)
        self._record("command.result", draft, attributes)

    def file_change(
        self,
        path: str | PathLike[str],
        *,
        diff: str | None = None,
        changes: object = None,
        status: str | None = None,
        attributes: Attributes = None,
    ) -> None:
        """A file that the Agent changed: a diff, a list of changes, or both.

        Raises:
            RuntimeError: the Target does not observe files (EVD-8).
            ValueError: neither diff nor changes are given.
        """
        if not self._files:
            raise RuntimeError("file_change: the Target does not observe files, expected files=True")
        if diff is None and changes is None:
            raise ValueError("file_change: got neither diff nor changes, expected at least one")
        draft = self._draft()
        draft.add_text("path", path, self._limits.max_text, empty=NO_TEXT)
        if diff is not None:
            draft.add_text("diff", diff, self._limits.max_text)
        if changes is not None:
            draft.add_array("changes", changes)
        draft.add_status(status)
        self._record("file.change", draft, attributes)

    def run_error(self, message: str | BaseException, *, attributes: Attributes = None) -> None:
        """An error of the run itself. A run that fails gets its last `run.error` from `fail`."""
        draft = self._draft()
        draft.add_text("message", message, self._limits.max_text, empty=NO_TEXT)
        self._record("run.error", draft, attributes)

    def lifecycle(self, name: str, *, status: str | None = None, attributes: Attributes = None) -> None:
        """A step of the run, such as `guardrail.decision`.

        Raises:
            ValueError: only the recorder itself gives `evidence.truncated` and `tool.unfinished`.
        """
        if name in (TRUNCATED, UNFINISHED):
            raise ValueError(f"name: got {name}, expected one that the recorder does not keep for itself")
        draft = self._draft()
        draft.add_text("name", name, self._limits.max_status, empty=NO_TEXT)
        draft.add_status(status)
        self._record("lifecycle", draft, attributes)

    def complete(self, final_response: str) -> bytes:
        """Close the evidence of a run that gave its answer, and return the document (EVD-14).

        Raises:
            ValueError: the answer holds no character that is not white space (INV-1). Nothing is closed.
            RuntimeError: the document is finished already.
        """
        if not isinstance(final_response, str) or not final_response.strip():
            raise ValueError("final_response: expected a character that is not white space")
        draft = self._draft(role=encoded("assistant"))
        draft.add_text("text", final_response, self._limits.max_text)
        return self._ledger.finish("message", draft.finish(None))

    def fail(self, message: str | BaseException) -> bytes:
        """Close the evidence of a run that failed, and return the document.

        Raises:
            RuntimeError: the document is finished already.
        """
        draft = self._draft()
        draft.add_text("message", message, self._limits.max_text, empty=NO_TEXT)
        return self._ledger.finish("run.error", draft.finish(None))

    def discard(self) -> None:
        """Close the evidence without making a document; RuntimeError when it is closed already."""
        self._ledger.discard()

    def _draft(self, hide: Iterable[str] = (), **members: str) -> Draft:
        hidden = [hide] if isinstance(hide, str) else list(hide)
        redactor = self._redactor.including(hidden) if hidden else self._redactor
        return Draft(self._limits, redactor, members)

    def _record(self, kind: str, draft: Draft, attributes: Attributes) -> None:
        if not self._ledger.refuses(kind):
            self._ledger.add(kind, draft.finish(attributes))
