"""`agentbeat controller`: what it makes, prints and says, how it stops, and that it never tells a secret."""

import argparse
import json
import os
import signal
import socket
import stat
import subprocess
import sys

import httpx
import pytest

import agentbeat_controller
from agentbeat_controller import command
from agentbeat_controller.environments.desk import DeskEnvironment
from support.controllers import code_of, served

CLI = [sys.executable, "-m", "agentbeat_controller"]


def run(*arguments, **settings):
    return subprocess.run(
        [*CLI, *arguments], capture_output=True, text=True, timeout=60, check=False, **settings
    )


def parsed(*arguments):
    parser = argparse.ArgumentParser()
    command.configure(parser)
    return parser.parse_args(arguments)


# profiles


def test_profiles_prints_the_catalogue_and_starts_nothing(tmp_path):
    """JSON on standard output and nothing else anywhere: no folder, no key, no database."""
    done = run("profiles", env={**os.environ, "HOME": str(tmp_path)})
    printed = json.loads(done.stdout)
    catalogue = DeskEnvironment().profiles
    assert (done.returncode, done.stderr, printed["environment"]) == (0, "", "desk")
    assert [entry["profile_id"] for entry in printed["profiles"]] == list(catalogue)
    for entry in printed["profiles"]:
        profile = catalogue[entry["profile_id"]]
        assert entry["profile_digest"] == profile.profile_digest
        assert entry["task"] == profile.task
        assert entry["injections"].keys() <= set(entry["surfaces"])
    assert list(tmp_path.iterdir()) == []


# serve


def test_serve_tells_where_everything_is_and_no_secret(tmp_path):
    """In the ready file and on standard error; secrets are in files for their owner only."""
    with served(tmp_path, "--deployment", "deployment-a", "--deployment", "team/b") as controller:
        ready = controller.ready
        with controller.control() as core, controller.business("team/b") as tools:
            health = core.get("/healthz").json()
            assert code_of(tools.get("/v1/orders/ORD-1003")) == (409, "environment_closed")
        secrets = [controller.control_secret, *map(controller.business_secret, ("deployment-a", "team/b"))]
        assert stat.S_IMODE((tmp_path / "ready.json").stat().st_mode) == 0o600
        assert controller.stop() == 0
    assert ready.keys() == {
        "schema_version",
        "pid",
        "controller_id",
        "environment",
        "profiles",
        "control",
        "business",
        "verify_key",
        "signing_key_id",
        "home",
        "database",
    }
    assert (health["controller_id"], health["signing_key_id"]) == (
        ready["controller_id"],
        ready["signing_key_id"],
    )
    assert ready["control"]["url"] != ready["business"]["url"]
    assert ready["database"] == f"sqlite:///{tmp_path}/home/controller.db"
    assert len(set(secrets)) == 3
    private = (tmp_path / "home" / "signing.key").read_text().splitlines()[1]
    told = json.dumps(ready) + (tmp_path / "stderr.txt").read_text()
    assert not any(secret in told for secret in (*secrets, private))
    printed = (tmp_path / "stderr.txt").read_text()
    for said in (ready["control"]["url"], ready["business"]["url"], ready["verify_key"], ready["home"]):
        assert said in printed
    files = [path for path in (tmp_path / "home").rglob("*") if path.is_file()]
    assert {stat.S_IMODE(path.stat().st_mode) for path in files} == {0o600}
    assert not (tmp_path / "ready.json").exists()


def test_the_secrets_of_the_planes_do_not_cross_and_each_deployment_has_its_own(tmp_path):
    with served(tmp_path, "--deployment", "deployment-a", "--deployment", "deployment-b") as controller:
        control, business = controller.ready["control"]["url"], controller.ready["business"]["url"]
        keys = {name: controller.business_secret(name) for name in ("deployment-a", "deployment-b")}

        def get(url, secret):
            return httpx.get(url, headers={"Authorization": f"Bearer {secret}"}).status_code

        profiles, order = f"{control}/v1/environment/profiles", f"{business}/v1/orders/ORD-1003"
        assert get(profiles, controller.control_secret) == 200
        assert {get(profiles, secret) for secret in keys.values()} == {401}
        assert get(order, controller.control_secret) == 401
        assert {get(order, secret) for secret in keys.values()} == {409}
        assert httpx.post(f"{business}/v1/environment/reset", json={}).status_code == 401
        for path in ("/v1/environment/profiles", "/v1/environment/reset", "/v1/environment/snapshots/x"):
            assert get(business + path, keys["deployment-a"]) in (404, 405)


def test_unsigned_makes_no_key_and_says_so(tmp_path):
    with served(tmp_path, "--unsigned", "--controller-id", "controller-mine") as controller:
        assert (controller.ready["verify_key"], controller.ready["signing_key_id"]) == (None, None)
        assert controller.ready["controller_id"] == "controller-mine"
    assert not (tmp_path / "home" / "signing.key").exists()
    assert "unsigned" in (tmp_path / "stderr.txt").read_text()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_stops_both_planes(tmp_path, number):
    """The process ends, and with it the planes; a port may be another process's a moment later."""
    with served(tmp_path) as controller:
        assert controller.stop(number) == 0
    assert not (tmp_path / "ready.json").exists()
    log = (tmp_path / "stderr.txt").read_text()
    assert log.endswith("State Controller stopped\n")
    assert "Traceback" not in log


def test_an_idle_connection_does_not_hold_up_the_end(tmp_path):
    with served(tmp_path) as controller, controller.control() as core, controller.business() as tools:
        core.get("/healthz")
        tools.get("/healthz")
        assert controller.stop() == 0


def test_ports_that_are_asked_for_are_taken_and_a_taken_one_is_named(tmp_path):
    """Exit code 2 with the plane, the port and the reason; nothing keeps listening."""
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        done = run(
            "serve", "--home", str(tmp_path / "home"), "--control-port", "0", "--business-port", str(port),
            "--ready-file", str(tmp_path / "ready.json"),
        )  # fmt: skip
    assert done.returncode == 2
    assert f"business plane: cannot listen on 127.0.0.1 port {port}" in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "ready.json").exists()


def test_a_folder_that_others_can_read_stops_the_start(tmp_path):
    (tmp_path / "home").mkdir(mode=0o755)
    (tmp_path / "home").chmod(0o755)
    done = run("serve", "--home", str(tmp_path / "home"), "--control-port", "0", "--business-port", "0")
    assert done.returncode == 2
    assert "open to others (mode 0755)" in done.stderr
    assert list((tmp_path / "home").iterdir()) == []


def test_one_secret_for_both_planes_stops_the_start(tmp_path):
    """Else an Agent's tools could verify themselves."""
    home = tmp_path / "home"
    with served(tmp_path) as controller:
        controller.stop()
    (home / "control.secret").write_text((home / "business" / "deployment-desk.secret").read_text())
    done = run("serve", "--home", str(home), "--control-port", "0", "--business-port", "0")
    assert done.returncode == 2
    assert "same secret" in done.stderr
    assert (home / "control.secret").read_text() not in done.stderr


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--database", "nonsense"], "database URL"),
        (["--database", "sqlite://"], "must be a file"),
        (["--database", "nosuch://u:pass-word@x/y"], "expected SQLite or PostgreSQL"),
        (["--database", "postgresql+pg8000://u:pass-word@x/y"], "driver"),
        (["--database", "sqlite:////no/such/folder/x.db"], "database"),
        (["--ready-file", "/no/such/folder/ready.json"], "/no/such/folder"),
        (["--deployment", "a", "--deployment", "a"], "named twice"),
        (["--deployment", "a\nb"], "printable"),
        (["--controller-id", "x" * 300], "controller id"),
    ],
    ids=["url", "memory", "kind", "driver", "folder", "ready-file", "twice", "control-character", "id"],
)
def test_options_that_cannot_be_meant_are_exit_code_2(tmp_path, options, said):
    done = run(
        "serve", "--home", str(tmp_path / "home"), "--control-port", "0", "--business-port", "0", *options
    )
    assert (done.returncode, "Traceback" in done.stderr) == (2, False)
    assert said in done.stderr
    assert "pass-word" not in done.stderr


def test_a_database_that_does_not_let_one_in_is_exit_code_2_and_the_password_is_not_told(postgres, tmp_path):
    """Neither the one that was tried nor the right one; the server's own words say what is wrong."""
    url = postgres.url.replace("0123456789", "of-another")
    done = run("serve", "--home", str(tmp_path / "home"), "--database", url)
    assert (done.returncode, "Traceback" in done.stderr) == (2, False)
    assert "authentication failed" in done.stderr
    assert not any(part in done.stderr for part in ("pa:ss", "pa%3Ass", "of-another"))


def test_without_psycopg_the_extra_is_named(tmp_path):
    """Nothing else is missing, so nothing else is said."""
    code = (
        "import sys; sys.modules['psycopg'] = None\n"
        "from agentbeat_controller.__main__ import main\n"
        "sys.argv = ['c', 'serve', '--home', sys.argv[1], '--database', 'postgresql://u:pass-word@h/db']\n"
        "sys.exit(main())"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "home")],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, "Traceback" in done.stderr) == (2, False)
    assert "pip install 'agentbeat-kit[postgres]'" in done.stderr
    assert "pass-word" not in done.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ["serve", "--control-port", "65536"],
        ["serve", "--control-port", "-1"],
        ["serve", "--lease-seconds", "0"],
        ["serve", "--lease-seconds", "1e3"],
        ["serve", "--environment", "no-such"],
        ["profiles", "--home", "x"],
        [],
        ["stop"],
    ],
    ids=" ".join,
)
def test_a_command_line_that_cannot_be_read_is_exit_code_2(arguments, capsys):
    with pytest.raises(SystemExit) as caught:
        parsed(*arguments)
    assert caught.value.code == 2
    assert "error:" in capsys.readouterr().err


def test_the_defaults_are_a_loopback_address_and_a_folder_of_ones_own():
    args = parsed("serve")
    assert (args.host, args.control_port, args.business_port) == ("127.0.0.1", 8801, 8802)
    assert (str(args.home), args.lease_seconds, args.environment) == ("~/.agentbeat/controller", 900, "desk")


# The package


def test_every_public_name_is_there():
    for name in agentbeat_controller.__all__:
        assert getattr(agentbeat_controller, name).__module__.startswith("agentbeat_controller.")
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = agentbeat_controller.no_such_name


def test_the_command_can_be_looked_at_without_its_extra():
    """The `agentbeat` command lists it where neither SQLAlchemy nor cryptography is installed."""
    code = (
        "import sys; sys.modules['sqlalchemy'] = sys.modules['cryptography'] = None\n"
        "import argparse, agentbeat_controller.command as c\n"
        "c.configure(argparse.ArgumentParser()); print(c.EXTRA, c.HELP)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.startswith("controller ")
