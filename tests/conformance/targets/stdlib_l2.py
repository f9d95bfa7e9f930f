"""A Target by hand, L2: `stdlib_l1` and the evidence of each run, with the standard library alone.

    TARGET_SECRET=… python stdlib_l2.py --port 8080 --store runs.sqlite3

Its Agent looks orders up. `Evidence` notes what happens; `document` is written once, and served as it is.
"""

import json
import re
import threading
from datetime import UTC, datetime

import stdlib_l1
from request_rules import Refused, is_id

EVIDENCE = "/v1/evidence/"
ORDERS = {"7": "shipped", "8": "packed"}
MAX_EVENTS, MAX_CHARACTERS = 5_000, 32_768
SECRET_NAME = re.compile(r"password|passwd|secret|token|authorization|api[_-]?key|credential", re.IGNORECASE)
SECRET_SHAPE = re.compile(r"(?<=Bearer )[^\s\"',;]+|\bsk-[A-Za-z0-9_-]{6,}")


def agent(text, tool):
    """The Agent: `tool(name, arguments, work)` does the work and notes it."""
    found = {}
    for number in re.findall(r"\border (\d+)", text):
        found[number] = tool("orders.get", {"number": number}, lambda number=number: ORDERS[number])
    answers = [f"Order {number}: {status or 'there is none'}." for number, status in found.items()]
    return " ".join(answers) or "I am ready."


def now():
    return datetime.now(UTC).isoformat()


class Evidence:
    """The events of one run, in order (EVD-5), without secrets (EVD-13)."""

    def __init__(self, run_id, case_id, secret):
        self.run_id, self.case_id, self.secret = run_id, case_id, secret
        self.started_at, self.events, self.lock = now(), [], threading.Lock()

    def add(self, type, **data):
        """Append an event. Places are kept for the two that end a run."""
        with self.lock:
            if len(self.events) >= MAX_EVENTS - 2 and type not in ("message", "run.error"):
                return
            self.events.append(
                {
                    "event_id": f"{self.run_id}:event:{len(self.events)}",
                    "sequence": len(self.events),
                    "occurred_at": now(),
                    "source": "agent",
                    "type": type,
                    "data": {**self.redacted(data), "attributes": {}},
                }
            )

    def message(self, role, text):
        """EVD-14: at most the first 32,768 code points, and at least one."""
        self.add("message", role=role, text=self.redacted(text)[:MAX_CHARACTERS] or " ")

    def tool(self, name, arguments, work):
        """Do the work between a tool.call and its tool.result (EVD-7); gives the result or None."""
        with self.lock:
            call_id = f"call-{len(self.events)}"
        self.add("tool.call", call_id=call_id, name=name, arguments=arguments)
        try:
            result, failed = work(), False
        except Exception:
            result, failed = None, True
        self.add("tool.result", call_id=call_id, name=name, result=result, is_error=failed)
        return result

    def redacted(self, value, name=""):
        """EVD-13: the Target's secret, what is shaped like one, and what is named like one."""
        if isinstance(value, dict):
            return {key: self.redacted(member, key) for key, member in value.items()}
        if isinstance(value, list):
            return [self.redacted(item) for item in value]
        if not isinstance(value, str):
            return value
        if SECRET_NAME.search(name):
            return "[redacted]"
        return SECRET_SHAPE.sub("[redacted]", value.replace(self.secret, "[redacted]"))

    def document(self):
        """EVD-1 to EVD-8: the tools are listed also when none was called. EVD-11: made once."""
        return json.dumps(
            {
                "schema_version": "target-evidence-v1",
                "run_id": self.run_id,
                "case_id": self.case_id,
                "assurance_level": "L2",
                "observed_channels": ["messages", "tools"],
                "started_at": self.started_at,
                "finished_at": now(),
                "events": self.events,
            }
        ).encode()


class Handler(stdlib_l1.Handler):
    level = "L2"

    def run_agent(self, invocation):
        """Run the Agent; the document is kept before the answer goes out, a failed run's too."""
        run_id, text = invocation["run_id"], invocation["input"]["text"]
        evidence = Evidence(run_id, invocation["case_id"], self.server.secret)
        evidence.message("user", text)
        try:
            final_response = agent(text, evidence.tool)
            evidence.message("assistant", final_response)
            return final_response
        except Exception:
            evidence.add("run.error", message="the Agent failed")
            raise
        finally:
            update = "UPDATE runs SET document = ? WHERE run_id = ?"
            self.server.store.execute(update, evidence.document(), run_id)

    def completed(self, invocation):
        return {**super().completed(invocation), "evidence_ref": EVIDENCE + invocation["run_id"]}  # EVD-9

    def other_route(self):
        """EVD-10: one 404 for what is unknown, malformed or unfinished."""
        if self.path.startswith(EVIDENCE) and self.command != "GET":
            raise Refused(405, "method_not_allowed", "expected GET", Allow="GET")
        run_id = self.path.removeprefix(EVIDENCE)
        if self.path.startswith(EVIDENCE) and is_id("run", run_id):
            rows = self.server.store.execute("SELECT document FROM runs WHERE run_id = ?", run_id)
            if rows and rows[0][0] is not None:
                return rows[0][0]
        raise Refused(404, "not_found", "expected a route or a finished run")


if __name__ == "__main__":
    stdlib_l1.main(Handler)
