"""`agentbeat target serve`: from options to a listening Target, and what is told about it.

Where it listens goes to standard error, and to a file for programs (`--ready-file`). Secrets come from
environment variables or files, and go nowhere.
"""

from __future__ import annotations

import json
import os
import secrets
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from agentbeat_sdk import SQLiteStore, Target

from .desk import Desk
from .scripted import SCRIPTED_AGENTS, OracleBook, scripted_target
from .targets import desk_target

__all__ = ["READY_SCHEMA", "ServeOptions", "serve"]

READY_SCHEMA: Final = "agentbeat-target-ready-v1"

#: Bytes of the largest file that is taken for a secret.
_LONGEST_SECRET: Final = 4_096


@dataclass(frozen=True, kw_only=True)
class ServeOptions:
    """What `serve` is asked for.

    Args:
        oracles: the file of ground truths; a scripted Agent needs it, no other takes it.
        token_env, token_file: where the Target's secret is; neither: an open Target.
        business_url: the business API that the Agent works on; None: an Agent without a desk.
        business_secret_env, business_secret_file: where its secret is; one of them with a URL.
        store: the SQLite file of runs; None: the SDK's own choice.
        ready_file: written when the Target listens, removed when it has stopped.
    """

    agent: str
    oracles: Path | None
    tier: Literal["L1", "L2"]
    target_id: str
    host: str
    port: int
    token_env: str | None
    token_file: Path | None
    business_url: str | None
    business_secret_env: str | None
    business_secret_file: Path | None
    store: Path | None
    ready_file: Path | None


def serve(options: ServeOptions) -> int:
    """Serve until a signal; the exit code: 0, or 2 with a message where it could not start."""
    try:
        if options.ready_file is not None:
            options.ready_file.unlink(missing_ok=True)
        _serve(_target(options), options)
    except (ValueError, RuntimeError) as error:
        print(f"agentbeat target: {error}", file=sys.stderr)
        return 2
    except OSError as error:
        where = error.filename or f"{options.host} port {options.port}"
        print(f"agentbeat target: {where}: {error.strerror or error}", file=sys.stderr)
        return 2
    return 0


def _target(options: ServeOptions) -> Target:
    desk = _desk(options)
    token = _secret("the Target's secret", options.token_env, options.token_file)
    store = None if options.store is None else SQLiteStore(options.store)
    if options.agent not in SCRIPTED_AGENTS:
        if options.oracles is not None:
            raise ValueError(f"--oracles is for a scripted Agent: {', '.join(SCRIPTED_AGENTS)}")
        return desk_target(
            options.agent,
            desk=desk,
            token=token,
            tier=options.tier,
            target_id=options.target_id,
            store=store,
        )
    if desk is None or options.oracles is None:
        raise ValueError(f"the {options.agent} Agent needs --oracles and --business-url")
    return scripted_target(
        options.agent,
        book=OracleBook.load(options.oracles),
        desk=desk,
        token=token,
        tier=options.tier,
        target_id=options.target_id,
        store=store,
    )


def _desk(options: ServeOptions) -> Desk | None:
    secret = _secret("the business secret", options.business_secret_env, options.business_secret_file)
    if options.business_url is None and secret is None:
        return None
    if options.business_url is None:
        raise ValueError("a business secret without --business-url opens nothing")
    if secret is None:
        raise ValueError("--business-url needs --business-secret-env or --business-secret-file")
    return Desk(options.business_url, secret=secret)


def _secret(what: str, variable: str | None, file: Path | None) -> str | None:
    if variable is not None:
        secret, place = os.environ.get(variable, ""), f"the environment variable {variable}"
    elif file is not None:
        with file.open("rb") as opened:
            raw = opened.read(_LONGEST_SECRET + 1)
        secret, place = raw.decode("ascii", "replace").strip(), str(file)
        if len(raw) > _LONGEST_SECRET:
            raise ValueError(f"{what}: {place} is longer than {_LONGEST_SECRET} bytes")
    else:
        return None
    if not secret:
        raise ValueError(f"{what}: {place} is not set, or is empty")
    return secret


def _serve(target: Target, options: ServeOptions) -> None:
    def on_start(url: str) -> None:
        if options.ready_file is not None:
            _write(options.ready_file, json.dumps(_told(options, target, url), indent=2) + "\n")
        print(_for_people(options, target, url), file=sys.stderr, flush=True)

    try:
        target.run(options.host, options.port, on_start=on_start)
    finally:
        if options.ready_file is not None:
            options.ready_file.unlink(missing_ok=True)
    print("Target stopped", file=sys.stderr, flush=True)


def _told(options: ServeOptions, target: Target, url: str) -> dict[str, object]:
    """Everything that a harness needs to know; no secret."""
    return {
        "schema_version": READY_SCHEMA,
        "pid": os.getpid(),
        "url": url,
        "target_id": options.target_id,
        "agent": options.agent,
        "tier": options.tier,
        "open": target.settings.token is None,
        "business_url": options.business_url,
        "store": str(target.store),
    }


def _for_people(options: ServeOptions, target: Target, url: str) -> str:
    access = "open to anybody" if target.settings.token is None else "with a bearer secret"
    return "\n".join(
        [
            f"Target {options.target_id}: the {options.agent} Agent, {options.tier}, {access}",
            f"  listens on  {url}",
            f"  works on    {options.business_url or 'nothing'}",
            f"  runs in     {target.store}",
            "Stop with Ctrl-C.",
        ]
    )


def _write(path: Path, text: str) -> None:
    """Write a file whole: who waits for it never reads a part."""
    draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    draft.write_text(text)
    draft.replace(path)
