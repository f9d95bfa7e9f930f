"""What `docs/conformance.md` shows and nobody writes by hand: the tables of rules, and the bytes on the wire.

    python -m agentbeat_conformance.reports.guide docs/conformance.md

writes each part anew between its two lines, `<!-- guide: exchange INV-2.a -->` and `<!-- guide: end -->`. The
exchanges are run on correct servers (see `examples`). Run ids, ports, times and digests differ from run to
run; `lasting` masks them, so that a test can hold the page to what the code does now.
"""

from __future__ import annotations

import functools
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Final

from agentbeat_conformance.catalogues import load_catalogue
from agentbeat_conformance.exchanges import Exchange
from agentbeat_conformance.reports.examples import example_of, run_on_correct_server
from agentbeat_conformance.reports.excerpts import answer_text, request_text
from agentbeat_conformance.reports.records import shell_variables
from agentbeat_conformance.reports.wording import NEEDS
from agentbeat_conformance.requirements import Requirement
from agentbeat_conformance.runs import Run
from agentbeat_conformance.untested import UNTESTED

__all__ = ["in_page", "lasting", "part_names"]

_PART: Final = re.compile(r"<!-- guide: (?P<name>[^>]+?) -->\n.*?<!-- guide: end -->", re.DOTALL)
#: How much of a body is shown, in characters.
_BODY: Final = 4000
#: The steps of a Controller's run that parts show: the target or how it begins, and which such exchange.
_STEPS: Final[Mapping[str, tuple[str, int]]] = {
    "profiles": ("/v1/environment/profiles", 0),
    "reset": ("/v1/environment/reset", 0),
    "snapshot before": ("/v1/environment/snapshot", 0),
    "snapshot after": ("/v1/environment/snapshot", 1),
    "snapshot read": ("/v1/environment/snapshots/", 0),
    "verify": ("/v1/environment/verify", 0),
    "release": ("/v1/environment/release", 0),
}
_VOLATILE: Final = (
    (re.compile(r"conf-[0-9a-f]{10}-"), "conf-SEED-"),
    (re.compile(r"127\.0\.0\.1:\d+"), "127.0.0.1:PORT"),
    (re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z"), "TIME"),
    (re.compile(r"sha256:[0-9a-f]{64}"), "sha256:DIGEST"),
    (re.compile(r"\b(lease|env|snapshot|receipt|key)-[0-9a-f]{8,}"), r"\1-ID"),
    (re.compile(r"\btask-[0-9a-f]{24}"), "task-ID"),
    (re.compile(r'("attempt_nonce": ?)"[0-9a-f]{32}"'), r'\1"NONCE"'),
    (re.compile(r'("value": ?)"[A-Za-z0-9_-]{86}"'), r'\1"SIGNATURE"'),
    (re.compile(r"(?i)(content-length: )\d+"), r"\1N"),
    (re.compile(r"\([\d,]+ bytes in all\)"), "(N bytes in all)"),
)


def in_page(page: str) -> str:
    """The page with every part made anew.

    Raises:
        ValueError: it asks for a part that there is not.
    """
    return _PART.sub(lambda found: _whole(found["name"]), page)


def part_names(page: str) -> list[str]:
    """The names of the parts that the page asks for, in order."""
    return [found["name"] for found in _PART.finditer(page)]


def lasting(page: str) -> str:
    """The page without what differs from run to run."""
    for pattern, mask in _VOLATILE:
        page = pattern.sub(mask, page)
    return page


def _whole(name: str) -> str:
    kind, _, what = name.partition(" ")
    make = _MAKERS.get(kind)
    if make is None:
        raise ValueError(f"there is no part {name}, expected one of {', '.join(_MAKERS)}")
    return f"<!-- guide: {name} -->\n\n{make(what).strip()}\n\n<!-- guide: end -->"


def _requirements(family: str) -> str:
    """A table of all requirements of a family."""
    rows = [made for made in load_catalogue().values() if made.rule.startswith(f"{family}-")]
    if not rows:
        raise ValueError(f"there is no family {family}")
    rows.sort(key=lambda made: (int(made.rule.partition("-")[2]), made.id))
    lines = ["| id | level | requirement | answers that are right | needs |", "|---|---|---|---|---|"]
    return "\n".join([*lines, *(_row(made) for made in rows)])


def _row(made: Requirement) -> str:
    needs = "; ".join(NEEDS[need] for need in sorted(made.needs))
    cells = (made.id, made.level, made.text, ", ".join(sorted(made.permits)), needs)
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def _untested(_what: str) -> str:
    """What no check tries."""
    return "\n".join(f"- {rule}: {reason}." for rule, reason in UNTESTED.items())


def _exchange(id: str) -> str:
    """The exchange that shows a requirement."""
    catalogue = load_catalogue()
    if id not in catalogue:
        raise ValueError(f"there is no requirement {id}")
    example = example_of(catalogue[id], on_socket=True)
    if example is None:
        raise ValueError(f"there is no exchange for {id}")
    return _shown(example)


def _step(name: str) -> str:
    """One step of a Controller's run from reset to release."""
    if name not in _STEPS:
        raise ValueError(f"there is no step {name}, expected one of {', '.join(_STEPS)}")
    path, place = _STEPS[name]
    found = [exchange for exchange in _controller_run().exchanges if _is_step(exchange, path)]
    return _shown(found[place])


def _is_step(exchange: Exchange, path: str) -> bool:
    target = exchange.request.target
    return target.startswith(path) if path.endswith("/") else target == path


@functools.cache
def _controller_run() -> Run:
    return run_on_correct_server(load_catalogue()["CTL-1.a"], on_socket=True)


def _shown(exchange: Exchange) -> str:
    return "\n".join(("```", *_lines(exchange), "```"))


def _lines(exchange: Exchange) -> Iterator[str]:
    text = request_text(exchange.request, limit=_BODY)
    for mark, variable in shell_variables({"secret": "TOKEN"}).items():
        text = text.replace(mark, f"${variable}")
    for mark, part in (("> ", text), ("< ", answer_text(exchange, limit=_BODY))):
        yield from (f"{mark}{line}".rstrip() for line in part.splitlines())


_MAKERS: Final[Mapping[str, Callable[[str], str]]] = {
    "requirements": _requirements,
    "untested": _untested,
    "exchange": _exchange,
    "step": _step,
}


def _main(path: Path) -> None:
    path.write_text(in_page(path.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    _main(Path(sys.argv[1]))
