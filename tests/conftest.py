"""What every test of the suite shares.

Hypothesis has no deadline for an example: a busy machine is no failure. In CI it tries the same examples each
time, so that a red run can be repeated; on a developer's machine it looks for new ones.
"""

from __future__ import annotations

import os

from hypothesis import settings

settings.register_profile("local", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True, print_blob=True)
settings.load_profile("ci" if os.environ.get("CI") else "local")
