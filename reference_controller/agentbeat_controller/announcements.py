"""What a Controller that has come up tells: as a record for programs, and as lines for people.

A secret is in neither: only the path of the file that holds it is.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from agentbeat_controller.environments.base import Environment
from agentbeat_controller.keys import KeyFolder
from agentbeat_controller.receipts import ReceiptSigner
from agentbeat_controller.servers import Service
from agentbeat_protocol import cut

if TYPE_CHECKING:
    from starlette.types import ASGIApp

__all__ = ["READY_SCHEMA", "for_people", "mcp_of", "what_is_served", "write_whole"]

#: Characters of a line.
_LONGEST: Final = 5_000
READY_SCHEMA: Final = "agentbeat-controller-ready-v1"


def what_is_served(
    *,
    environment: Environment,
    deployments: Iterable[str],
    service: Service,
    mcp: Mapping[str, str | None],
    keys: KeyFolder,
    signer: ReceiptSigner | None,
    controller_id: str,
    database: str,
) -> dict[str, Any]:
    """Everything a harness needs to know; `database` has its password left out.

    Args:
        mcp: what `mcp_of` says.
    """
    return {
        "schema_version": READY_SCHEMA,
        "pid": os.getpid(),
        "controller_id": controller_id,
        "environment": environment.name,
        "profiles": len(environment.profiles),
        "control": {"url": service.control_url, "secret_file": str(keys.control_secret_path)},
        "business": {
            "url": service.business_url,
            "mcp": dict(mcp),
            "deployments": {
                name: {"secret_file": str(keys.business_secret_path(name))} for name in deployments
            },
        },
        "verify_key": signer.verify_key if signer else None,
        "signing_key_id": signer.key_id if signer else None,
        "home": str(keys.path),
        "database": database,
    }


def mcp_of(business: ASGIApp, url: str) -> dict[str, str | None]:
    """Where the business plane's tools are served over MCP, or why they are not.

    Args:
        business: an environment's own application.
        url: the plane's origin.
    """
    path = getattr(business, "mcp_path", "")
    if path:
        return {"url": f"{url}{path}", "reason": None}
    reason = "the extra `mcp` is not installed" if path is None else "the environment has no tools for it"
    return {"url": None, "reason": reason}


def for_people(told: Mapping[str, Any]) -> str:
    """The same as lines for a terminal; what does not print in a name is escaped."""
    mcp = told["business"]["mcp"]
    lines = [
        f"State Controller {told['controller_id']}: {told['environment']}, {told['profiles']} profiles",
        f"  control plane   {told['control']['url']}",
        f"    secret in     {told['control']['secret_file']}",
        f"  business plane  {told['business']['url']}",
        f"    over MCP      {mcp['url'] or 'not served: ' + mcp['reason']}",
    ]
    for name, deployment in told["business"]["deployments"].items():
        lines += [f"    {name}", f"    secret in     {deployment['secret_file']}"]
    if told["verify_key"] is None:
        lines.append("  receipts        unsigned")
    else:
        lines += [f"  verify key      {told['verify_key']}", f"  key id          {told['signing_key_id']}"]
    lines += [f"  database        {told['database']}", "Stop with Ctrl-C."]
    return "\n".join(cut(line, _LONGEST) for line in lines)


def write_whole(path: Path, text: str) -> None:
    """Write a file whole: who waits for it never reads a part."""
    draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    draft.write_text(text)
    draft.replace(path)
