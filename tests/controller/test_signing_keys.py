"""One signing key for one database: what a Controller does that has another one, or none any more."""

import contextlib
import queue
import shutil
import subprocess
import sys
import threading
import time

import pytest

from agentbeat_controller import KeyFolder, ReceiptSigner, signature_holds
from agentbeat_controller.databases import open_engine
from agentbeat_protocol import StateReceipt
from agentbeat_protocol.models import validated
from support.controllers import DEPLOYMENTS, Run, served
from support.postgres import both_databases

DESK = "desk-solve-one"
OPTION = "--new-signing-key"


@pytest.fixture
def url(database):
    """The database as the command line names it."""
    return database if isinstance(database, str) else f"sqlite:///{database}"


@pytest.fixture
def start(tmp_path, url):
    """Start a Controller with a home of its own below the test's folder."""

    def start(home, *options):
        folder = tmp_path / home
        folder.mkdir(exist_ok=True)
        given = ["--database", url, "--controller-id", "controller-one", "--deployment", "deployment-a"]
        return served(folder, *given, *options)

    return start


@pytest.fixture
def refused(tmp_path, url):
    """What a Controller says that does not start; nothing in the database has changed then."""

    def refused(home, *options):
        rows = kept(url)
        command = [
            sys.executable,
            "-m",
            "agentbeat_controller",
            "serve",
            "--home",
            str(tmp_path / home / "home"),
        ]
        command += ["--database", url, "--control-port", "0", "--business-port", "0"]
        if "--controller-id" not in options:
            command += ["--controller-id", "controller-one"]
        done = subprocess.run([*command, *options], capture_output=True, text=True, timeout=60, check=False)
        assert (done.returncode, done.stdout) == (2, "")
        assert "Traceback" not in done.stderr
        assert "PRIVATE" not in done.stderr
        assert kept(url) == rows
        return done.stderr

    return refused


def kept(url):
    """The rows that tell whose database it is and what signs its receipts."""
    engine = open_engine(url)
    try:
        with engine.begin() as connection:
            query = connection.exec_driver_sql
            return [
                sorted(map(tuple, query(f"SELECT * FROM {name}"))) for name in ("signing_keys", "deployments")
            ]
    finally:
        engine.dispose()


def key_file(tmp_path, home):
    return tmp_path / home / "home" / "signing.key"


def receipt_of(controller, name):
    """A run of the desk; its receipt."""
    with controller.control() as core:
        profiles = core.get("/v1/environment/profiles").json()["profiles"]
        digest = {each["profile_id"]: each["profile_digest"] for each in profiles}[DESK]
        run = Run(None, name, DESK, profile_digest=digest, deployment_profile_id=DEPLOYMENTS[0])
        for step in ("reset", "before", "after", "verify"):
            path = f"/v1/environment/{'snapshot' if step in ('before', 'after') else step}"
            answer = core.post(path, json=run.body(step))
            assert answer.status_code == 200, answer.text
            run.answers[step] = answer.json()
    return validated(StateReceipt, run.answers["verify"]["receipt"])


@both_databases
def test_a_second_process_with_another_key_does_not_start_and_one_with_the_same_does(
    start, refused, tmp_path
):
    """The same database, the same controller id: they share one home, or copies of it."""
    key = ReceiptSigner.generate()
    with start("first") as first:
        KeyFolder.open(tmp_path / "second" / "home")
        key_file(tmp_path, "second").write_bytes(key.to_pem())
        key_file(tmp_path, "second").chmod(0o600)
        said = refused("second")
        assert str(key_file(tmp_path, "second")) in said
        assert f"got the key {key.key_id}, expected the key {first.ready['signing_key_id']}" in said
        assert OPTION in said
        assert key_file(tmp_path, "second").read_bytes() == key.to_pem()
        shutil.copy(key_file(tmp_path, "first"), key_file(tmp_path, "second"))
        with start("second") as second:
            for number, controller in enumerate((first, second)):
                assert signature_holds(receipt_of(controller, str(number)), first.ready["verify_key"])


@both_databases
def test_a_home_without_the_key_of_its_database_does_not_start_and_makes_none(start, refused, tmp_path):
    """The file was deleted: a new key would make the receipts of before look forged."""
    with start("home") as controller:
        receipt, known = receipt_of(controller, "a"), controller.ready
    lost = key_file(tmp_path, "home")
    pem = lost.read_bytes()
    lost.unlink()
    said = refused("home")
    assert f"{lost}: got no file, expected the key {known['signing_key_id']}" in said
    assert OPTION in said
    assert not lost.exists()
    lost.write_bytes(pem)
    lost.chmod(0o600)
    with start("home") as controller:
        assert controller.ready["verify_key"] == known["verify_key"]
        assert signature_holds(receipt, controller.ready["verify_key"])


@both_databases
def test_a_new_key_signs_from_the_moment_on_that_somebody_says_so(start, refused, tmp_path, url):
    """A missing one is made, the database remembers both, and who has the old one starts no more."""
    with start("home") as controller:
        first = controller.ready
    backup = key_file(tmp_path, "home").rename(tmp_path / "signing.key.backup")
    with start("home", OPTION) as controller:
        second = controller.ready
        assert second["verify_key"] != first["verify_key"]
        assert signature_holds(receipt_of(controller, "b"), second["verify_key"])
    with start("home") as controller:
        assert controller.ready["verify_key"] == second["verify_key"]
    expected = [(each["signing_key_id"], each["verify_key"]) for each in (first, second)]
    assert [row[1:] for row in kept(url)[0]] == expected
    shutil.copy(backup, key_file(tmp_path, "home"))
    assert f"expected the key {second['signing_key_id']}" in refused("home")
    with start("home", OPTION) as controller:
        assert controller.ready["verify_key"] == first["verify_key"]


@both_databases
def test_the_option_for_a_new_key_is_refused_where_the_key_is_not_new(start, refused, tmp_path):
    """Left in a service's command line, it would let any key pass from then on."""
    with start("home", OPTION) as controller:
        known = controller.ready
    said = refused("home", OPTION)
    assert f"got the key {known['signing_key_id']}" in said
    assert "move the file away" in said
    with start("home") as controller:
        assert controller.ready["verify_key"] == known["verify_key"]


def test_a_database_whose_receipts_were_unsigned_takes_a_key_and_unsigned_needs_none(start, tmp_path):
    with start("home", "--unsigned"):
        assert not key_file(tmp_path, "home").exists()
    with start("home") as controller:
        assert controller.ready["signing_key_id"] is not None
    key_file(tmp_path, "home").unlink()
    with start("home", "--unsigned") as controller:
        assert controller.ready["signing_key_id"] is None
        assert receipt_of(controller, "a").signature is None


def test_the_database_of_another_controller_id_is_told_apart_and_no_key_is_made(start, refused, tmp_path):
    with start("home"):
        pass
    said = refused("other", "--controller-id", "controller-other")
    assert "belongs to another controller id: controller-one" in said
    assert not key_file(tmp_path, "other").exists()


@both_databases
def test_of_two_homes_that_start_at_once_on_an_empty_database_one_serves(tmp_path, url, start):
    """The database has one key, whoever came first; the other one is told whose."""

    def begin(home):
        with contextlib.suppress(AssertionError), start(home) as controller:
            up.put(controller.ready["signing_key_id"])
            assert done.wait(60)

    up, done = queue.Queue(), threading.Event()
    threads = [threading.Thread(target=begin, args=(home,)) for home in ("first", "second")]
    for thread in threads:
        thread.start()
    serving = up.get(timeout=60)
    logs = [tmp_path / home / "stderr.txt" for home in ("first", "second")]
    deadline = time.monotonic() + 60
    while not any("expected the key" in log.read_text() for log in logs):
        assert up.empty()
        assert time.monotonic() < deadline
        time.sleep(0.02)
    done.set()
    for thread in threads:
        thread.join(60)
    assert up.empty()
    assert sum(f"expected the key {serving}" in log.read_text() for log in logs) == 1
    assert [row[1] for row in kept(url)[0]] == [serving]
