"""`agentbeat controller` on a machine whose clock is ahead: `python ahead_controller.py SECONDS serve …`."""

from __future__ import annotations

import sys

from agentbeat_controller.__main__ import main
from agentbeat_controller.timekeeping import NANOSECONDS, Timekeeper
from agentbeat_protocol import Instant


def set_ahead(seconds: int) -> None:
    """Every `Timekeeper` of this process reads such a clock from now on."""

    def clock() -> Instant:
        return Instant.from_nanoseconds(Instant.now().unix_nanoseconds + seconds * NANOSECONDS)

    Timekeeper.__init__.__kwdefaults__["clock"] = clock


if __name__ == "__main__":
    set_ahead(int(sys.argv.pop(1)))
    sys.exit(main())
