"""Keep one throw-away PostgreSQL cluster for as long as whoever started this process lives.

A script of its own, in a session of its own: a Ctrl-C in the terminal does not reach it, and when its
standard input ends, however the other side has ended, it stops the server and removes the folder. It prints
one line of JSON when the cluster is up and one per command (`stop`, `start`) when that is done; `end` is the
same as the end of the input.

    python postgres_keeper.py        {"ok": true, "folder": …, "port": …, "password": …}
"""

from __future__ import annotations

import json
import os
import pwd
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SECONDS = 30
#: Bytes that must be free in memory for the cluster to be put there.
ROOM = 4 * 1024**3
#: Nothing here outlives a power cut, so nothing waits for the disk. What is committed still outlives the
#: server's own processes: `synchronous_commit` stays on.
SETTINGS = {
    "autovacuum": "off",
    "deadlock_timeout": "100ms",
    "fsync": "off",
    "full_page_writes": "off",
    "listen_addresses": "127.0.0.1",
    "max_wal_senders": "0",
    "shared_buffers": "32MB",
    "wal_level": "minimal",
}


def binaries() -> Path | None:
    """The folder of the newest server's programs, or None."""
    found = [path.parent for path in Path("/usr/lib/postgresql").glob("*/bin/postgres")]
    if found:
        return max(found, key=lambda path: int(path.parent.name))
    in_path = shutil.which("postgres")
    return Path(in_path).resolve().parent if in_path else None


def as_owner() -> list[str]:
    """What to put before a command: PostgreSQL does not run as root."""
    if os.geteuid() != 0:
        return []
    return ["setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups", "--"]


class Cluster:
    """The folder and the server process."""

    def __init__(self, programs: Path) -> None:
        self.programs = programs
        self.folder = Path(tempfile.mkdtemp(prefix="agentbeat-postgres-", dir=_place()))
        self.password = secrets.token_urlsafe(12)
        self.port = 0
        self.server: subprocess.Popen[bytes] | None = None

    def make(self) -> None:
        """An empty cluster: trust on its own socket, a password on the network."""
        password_file = self.folder / "password"
        password_file.write_text(self.password)
        if os.geteuid() == 0:
            owner = pwd.getpwnam("postgres")
            for path in (self.folder, password_file):
                os.chown(path, owner.pw_uid, owner.pw_gid)
        command = [str(self.programs / "initdb"), "--no-sync", "--no-instructions", "--locale=C"]
        command += ["--encoding=UTF8", "--username=postgres", f"--pwfile={password_file}"]
        command += ["--auth-local=trust", "--auth-host=scram-sha-256", f"--pgdata={self.folder / 'data'}"]
        done = subprocess.run([*as_owner(), *command], capture_output=True, text=True, cwd="/", check=False)
        if done.returncode:
            raise RuntimeError(f"initdb: {done.stderr}")

    def start(self) -> None:
        """Start the server and wait until it takes connections; the port stays what it was."""
        for _ in range(5):
            self.port = self.port or _free_port()
            settings = {**SETTINGS, "port": str(self.port), "unix_socket_directories": str(self.folder)}
            command = [str(self.programs / "postgres"), "-D", str(self.folder / "data")]
            command += [f"--{name}={value}" for name, value in settings.items()]
            with (self.folder / "log").open("ab") as log:
                self.server = subprocess.Popen(
                    [*as_owner(), *command], stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd="/"
                )
            if self._comes_up():
                return
            self.stop()
            self.port = 0  # somebody else had taken it meanwhile
        raise RuntimeError(f"the server does not start: {(self.folder / 'log').read_text()[-2000:]}")

    def _comes_up(self) -> bool:
        state = self.folder / "data" / "postmaster.pid"
        deadline = time.monotonic() + SECONDS
        while self.server is not None and self.server.poll() is None and time.monotonic() < deadline:
            if state.exists() and state.read_text().rstrip().endswith("ready"):
                return True
            time.sleep(0.01)
        return False

    def stop(self) -> None:
        """Stop at once, as after a crash of the server."""
        if self.server is None:
            return
        self.server.send_signal(signal.SIGQUIT)
        try:
            self.server.wait(SECONDS)
        except subprocess.TimeoutExpired:
            self.server.kill()
            self.server.wait()
        self.server = None

    def remove(self) -> None:
        """Nothing is left."""
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)


def _place() -> str:
    """In memory where there is much of it: a thousand small files are made and removed in no time there.

    Either path is short, as the name of a socket must be.
    """
    memory = Path("/dev/shm")
    roomy = memory.is_dir() and os.access(memory, os.W_OK) and shutil.disk_usage(memory).free > ROOM
    return str(memory) if roomy else "/tmp"


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return int(probe.getsockname()[1])


def _say(**members: object) -> None:
    print(json.dumps(members), flush=True)


def main() -> None:
    programs = binaries()
    if programs is None:
        _say(ok=False, reason="PostgreSQL's server is not installed")
        return
    cluster = Cluster(programs)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: sys.exit(1))
    try:
        cluster.make()
        cluster.start()
        _say(ok=True, folder=str(cluster.folder), port=cluster.port, password=cluster.password)
        for line in sys.stdin:
            if line == "end\n":
                break
            {"stop": cluster.stop, "start": cluster.start}[line.strip()]()
            _say(ok=True)
    except (RuntimeError, OSError, KeyError) as error:
        _say(ok=False, reason=f"{type(error).__name__}: {error}")
    finally:
        cluster.remove()


if __name__ == "__main__":
    main()
