"""`python -m agentbeat_receipts.tampering docs/claim-receipts.md`: write the page's tables anew."""

from __future__ import annotations

import sys
from pathlib import Path

from agentbeat_receipts.tampering.tables import with_tables

if __name__ == "__main__":
    for name in sys.argv[1:]:
        Path(name).write_text(with_tables(Path(name).read_text(encoding="utf-8")), encoding="utf-8")
