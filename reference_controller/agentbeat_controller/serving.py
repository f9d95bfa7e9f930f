"""`agentbeat controller serve`: from options to two listening planes.

Where things are goes to standard error, and to a file for programs (`--ready-file`). What the process writes
is for its owner only.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import signal
import sys
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

from agentbeat_controller.announcements import for_people, mcp_of, what_is_served, write_whole
from agentbeat_controller.control_app import ControlApp
from agentbeat_controller.control_plane import ControlPlane, SetupError
from agentbeat_controller.databases import open_engine, shown
from agentbeat_controller.door import Door
from agentbeat_controller.environments.base import Environment
from agentbeat_controller.keys import KeyFolder, KeyFolderError
from agentbeat_controller.limits import ControllerLimits
from agentbeat_controller.servers import PlaneError, PortError, Service
from agentbeat_controller.signing_keys import claim_key
from agentbeat_controller.transactions import Transactions
from agentbeat_protocol import ProtocolError

__all__ = ["ServeOptions", "serve"]

_LONGEST_NAME = 256


@dataclass(frozen=True, kw_only=True)
class ServeOptions:
    """What `serve` is asked for.

    Args:
        home: the folder of keys, secrets and, unless `database` says otherwise, the database.
        controller_id: None: the folder's own, made up on first start.
        database: a database URL; None: a SQLite file in `home`.
        unsigned: sign no receipts.
        new_signing_key: the home's key may take the place of the one that the database knows.
        ready_file: written when both planes answer, removed when they end.
    """

    environment: Environment
    home: Path
    deployments: tuple[str, ...]
    host: str
    control_port: int
    business_port: int
    controller_id: str | None
    database: str | None
    lease_seconds: int
    unsigned: bool
    new_signing_key: bool
    ready_file: Path | None


def serve(options: ServeOptions) -> int:
    """Serve both planes until a signal; the exit code: 0, or 2 with a message where it could not start."""
    umask = os.umask(0o077)
    try:
        _serve(options)
    except (KeyFolderError, PlaneError, PortError, SetupError, ProtocolError, ValueError, OSError) as error:
        print(f"agentbeat controller: {_reason(error)}", file=sys.stderr)
        return 2
    finally:
        os.umask(umask)
    return 0


def _reason(error: Exception) -> str:
    if isinstance(error, ProtocolError):
        return f"expected {error.expected}"
    if isinstance(error, OSError):
        return f"{error.filename or 'the system'}: {error.strerror}"
    return str(error)


def _serve(options: ServeOptions) -> None:
    _check_deployments(options.deployments)
    limits = ControllerLimits(
        lease_seconds=options.lease_seconds,
        max_lease_seconds=max(options.lease_seconds, ControllerLimits().max_lease_seconds),
    )
    if options.ready_file is not None:
        options.ready_file.unlink(missing_ok=True)
    keys = KeyFolder.open(options.home)
    controller_id = keys.controller_id(options.controller_id)
    engine = open_engine(options.database or keys.default_database)
    transactions = Transactions(engine)
    claim = partial(claim_key, keys=keys, controller_id=controller_id, new=options.new_signing_key)
    try:
        signer = None if options.unsigned else transactions.run(claim)
        plane = ControlPlane(
            environment=options.environment,
            transactions=transactions,
            controller_id=controller_id,
            deployments=options.deployments,
            signer=signer,
            limits=limits,
        )
        plane.start()
        door = Door(plane.book, {name: keys.business_secret(name) for name in options.deployments})
        control = ControlApp(plane, secret=_control_secret(keys, options.deployments))
        business = options.environment.business_app(door)
        service = Service.bind(
            control=control,
            business=business,
            host=options.host,
            control_port=options.control_port,
            business_port=options.business_port,
            limits=limits,
        )
        told = what_is_served(
            environment=options.environment,
            deployments=options.deployments,
            service=service,
            mcp=mcp_of(business, service.business_url),
            keys=keys,
            signer=signer,
            controller_id=controller_id,
            database=shown(engine.url),
        )
        _run(service, told, options.ready_file)
    finally:
        engine.dispose()


def _run(service: Service, told: dict[str, Any], ready_file: Path | None) -> None:
    def on_ready() -> None:
        if ready_file is not None:
            write_whole(ready_file, json.dumps(told, indent=2) + "\n")
        print(for_people(told), file=sys.stderr, flush=True)

    def on_end() -> None:
        if ready_file is not None:
            ready_file.unlink(missing_ok=True)

    async def until_stopped() -> None:
        try:
            cut_off = await service.run(on_ready=on_ready)
        finally:
            on_end()
        if cut_off:  # before the loop ends, which would wait for the threads of these calls
            _end_now(cut_off)

    asyncio.run(until_stopped())
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)  # what is left is tidying, and whoever asks again does not wait
    print("State Controller stopped", file=sys.stderr, flush=True)


def _end_now(cut_off: int) -> NoReturn:
    """End the process as a kill does: leases and database are what a restart finds after one (CTL-10)."""
    calls = "1 call was" if cut_off == 1 else f"{cut_off} calls were"
    print(f"State Controller stopped: {calls} cut off", file=sys.stderr, flush=True)
    logging.shutdown()
    sys.stdout.flush()
    os._exit(0)


def _check_deployments(names: tuple[str, ...]) -> None:
    if len(set(names)) != len(names):
        raise ValueError("a Deployment is named twice")
    for name in names:
        if not (name.isprintable() and 0 < len(name) <= _LONGEST_NAME):
            raise ValueError(f"a Deployment's id is 1 to {_LONGEST_NAME} printable characters")


def _control_secret(keys: KeyFolder, deployments: tuple[str, ...]) -> str:
    """The control secret, which is no Deployment's secret: else an Agent's tools could verify themselves."""
    secret = keys.control_secret()
    if any(keys.business_secret(name) == secret for name in deployments):
        raise KeyFolderError(f"{keys.control_secret_path}: a Deployment has the same secret")
    return secret
