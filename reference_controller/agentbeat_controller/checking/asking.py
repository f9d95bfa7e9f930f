"""What the conformance suite runs while a check's Controller is under it: a restart, or a write.

    python -m agentbeat_controller.checking.asking restart FILE
    python -m agentbeat_controller.checking.asking write FILE

`write` puts $AGENTBEAT_CANARY into the environment of the run $AGENTBEAT_RUN_ID, by the call that the JSON in
FILE describes: `url`, `secret_file`, `method`, `path`, `query`, `body`, with `CANARY` where the text goes.
"""

from __future__ import annotations

import http.client
import json
import os
import sys
import time
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from agentbeat_protocol import RUN_ID_HEADER

__all__ = ["CANARY", "main"]

#: Stands for the text in a described call: letters only, so that it survives a path, a query and JSON.
CANARY: Final = "agentbeatcheckcanarytext"

_SECONDS: Final = 100
_BETWEEN_LOOKS: Final = 0.05


def main(arguments: list[str]) -> int:
    """Do what is asked; 0 when it was done."""
    what, file = arguments
    return _restart(Path(file)) if what == "restart" else _write(Path(file))


def _restart(request: Path) -> int:
    request.touch()
    deadline = time.monotonic() + _SECONDS
    while request.exists():
        if time.monotonic() > deadline:
            return 1
        time.sleep(_BETWEEN_LOOKS)
    return 0


def _write(file: Path) -> int:
    call = json.loads(file.read_text())
    canary = os.environ["AGENTBEAT_CANARY"]
    path, query, body = (call[part].replace(CANARY, canary) for part in ("path", "query", "body"))
    headers = {
        "Authorization": f"Bearer {Path(call['secret_file']).read_text()}",
        "Content-Type": "application/json",
        RUN_ID_HEADER: os.environ["AGENTBEAT_RUN_ID"],
    }
    connection = http.client.HTTPConnection(urlsplit(call["url"]).netloc, timeout=_SECONDS)
    try:
        connection.request(
            call["method"], f"{path}?{query}" if query else path, body=body.encode(), headers=headers
        )
        return 0 if 200 <= connection.getresponse().status < 300 else 1
    finally:
        connection.close()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
