"""The State Controller: sets the environment, holds it to one run, and says what happened to it.

Two planes share one process and one database, and nothing else:

    control plane     Core resets, takes snapshots, verifies, renews and releases (`ControlPlane`)
    business plane    the Agent's tools work on the records, while the window is open (`Door`)

What is prepared, read and judged is an `Environment`; `agentbeat controller serve` starts both planes on the
support desk. A Controller in one's own process:

    keys = KeyFolder.open(Path("controller"))
    environment = DeskEnvironment()
    plane = ControlPlane(
        environment=environment,
        transactions=Transactions(open_engine(keys.default_database)),
        controller_id=keys.controller_id(),
        deployments=["deployment-desk"],
        signer=keys.signer(),
    )
    plane.start()
    control = ControlApp(plane, secret=keys.control_secret())
    door = Door(plane.book, {"deployment-desk": keys.business_secret("deployment-desk")})
    service = Service.bind(control=control, business=environment.business_app(door))
    asyncio.run(service.run())

The names below are loaded when they are first used: the `agentbeat` command looks at this package even where
the extra `controller` is not installed.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from agentbeat_controller.control_app import ControlApp
    from agentbeat_controller.control_plane import ControlPlane
    from agentbeat_controller.databases import open_engine
    from agentbeat_controller.door import Door
    from agentbeat_controller.environments.base import BusinessDoor, Entry, Environment, Profile
    from agentbeat_controller.keys import KeyFolder, KeyFolderError
    from agentbeat_controller.limits import ControllerLimits
    from agentbeat_controller.receipts import ReceiptSigner, signature_holds
    from agentbeat_controller.servers import Service
    from agentbeat_controller.transactions import Transactions

__all__ = [
    "BusinessDoor",
    "ControlApp",
    "ControlPlane",
    "ControllerLimits",
    "Door",
    "Entry",
    "Environment",
    "KeyFolder",
    "KeyFolderError",
    "Profile",
    "ReceiptSigner",
    "Service",
    "Transactions",
    "open_engine",
    "signature_holds",
]

_HOMES: Final = {
    "BusinessDoor": "environments.base",
    "ControlApp": "control_app",
    "ControlPlane": "control_plane",
    "ControllerLimits": "limits",
    "Door": "door",
    "Entry": "environments.base",
    "Environment": "environments.base",
    "KeyFolder": "keys",
    "KeyFolderError": "keys",
    "Profile": "environments.base",
    "ReceiptSigner": "receipts",
    "Service": "servers",
    "Transactions": "transactions",
    "open_engine": "databases",
    "signature_holds": "receipts",
}


def __getattr__(name: str) -> Any:
    """Load a public name from the module that defines it."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
