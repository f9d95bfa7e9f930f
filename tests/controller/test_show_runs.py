"""What is shown of a run: everything that the database keeps, and whether it still belongs together."""

from __future__ import annotations

import json

import pytest

from agentbeat_controller import ReceiptSigner
from agentbeat_controller.environments.desk import DeskEnvironment
from agentbeat_controller.showing.changes import apply
from agentbeat_controller.showing.findings import key_id_of
from agentbeat_controller.showing.reading import ShowError, opened, read_run
from agentbeat_controller.showing.views import SHOWN_SCHEMA, as_json
from agentbeat_protocol import canonical_json
from support.controllers import SIGNER, rig_in
from support.shown_runs import INJECTION, PROFILE, kept_content, play, shown, url_of

WHOLE = ("reset", "before", "after", "verify")
ALL_NAMES = ["digest", "signature", "before", "after", "checks", "answer", "run"]


@pytest.fixture
def rig(tmp_path):
    with rig_in(tmp_path, environment=DeskEnvironment()) as rig:
        yield rig


def holds(view):
    return {finding.name: finding.holds for finding in view.findings}


async def test_a_whole_run_is_shown_with_what_changed_and_what_was_expected(rig):
    run = await play(rig, *WHOLE)
    view = shown(rig)
    told = as_json(view)
    assert told["schema_version"] == SHOWN_SCHEMA
    assert [(change["kind"], change["path"]) for change in told["changes"]] == [
        ("added", "/records/messages/MSG-17"),
        ("added", "/records/refunds/REF-502"),
        ("added", "/records/refunds/REF-503"),
        ("changed", "/records/tickets/TCK-2/status"),
    ]
    assert told["changes"][3] == {
        "kind": "changed",
        "path": "/records/tickets/TCK-2/status",
        "before": "open",
        "after": "solved",
        "checks": [],
    }
    assert told["changes"][2]["after"]["order_id"] == "ORD-1007"
    assert "nothing_else_changed" in told["changes"][2]["checks"]
    verify = run.answers["verify"]
    assert (told["verified"]["checks"], told["verified"]["verdicts"]) == (
        verify["checks"],
        verify["verdicts"],
    )
    assert told["verified"]["receipt"]["receipt_digest"] == verify["receipt"]["receipt_digest"]
    assert told["states"]["after"]["digest"] == run.answers["after"]["digest"]
    assert told["injection"] == {**INJECTION, "digest": run.answers["reset"]["injection_digest"]}
    assert [(call["operation"], call["status"]) for call in told["calls"]] == [
        ("get_ticket", 200),
        ("issue_refund", 201),
        ("issue_refund", 201),
        ("get_order", 404),
        ("add_ticket_reply", 201),
        ("set_ticket_status", 200),
    ]
    assert holds(view) == dict.fromkeys(ALL_NAMES, True)


async def test_the_changes_and_the_log_are_all_that_differs(rig):
    """Before, the changes and the log make the state after, to the byte."""
    run = await play(rig, *WHOLE)
    view = shown(rig)
    before = kept_content(rig, run.answers["before"]["digest"])
    found = apply(before, [each.change for each in view.changes]) | {"calls": view.calls}
    assert canonical_json(found) == canonical_json(kept_content(rig, run.answers["after"]["digest"]))


async def test_a_run_without_injection_or_change_says_so(rig):
    async with rig.control():
        await play(rig, "reset", "before", name="b", injection=None)
    with rig.engine.begin() as connection:
        connection.exec_driver_sql("UPDATE leases SET stage = 'after'")
        connection.exec_driver_sql(
            "INSERT INTO snapshots SELECT 'after-b', lease_id, 'after', digest, taken_at FROM snapshots"
        )
    told = as_json(shown(rig, "b"))
    assert (told["injection"], told["changes"], told["calls"], told["verified"]) == (None, [], [], None)


async def test_a_run_that_is_not_verified_yet_shows_its_difference(rig):
    await play(rig, "reset", "before", "after")
    view = shown(rig)
    assert len(view.changes) == 4
    assert (view.verified, view.receipt, view.findings) == (None, None, ())


async def test_a_released_and_an_expired_run_are_shown_as_ever(rig):
    await play(rig, *WHOLE, "release")
    await play(rig, *WHOLE, name="b")
    rig.clock.advance(3_600)
    await play(rig, "reset", name="c")
    for name, status in (("a", "released"), ("b", "expired")):
        view = shown(rig, name)
        assert (view.lease.status, holds(view)) == (status, dict.fromkeys(ALL_NAMES, True))


# The receipt


async def test_without_a_key_the_signature_is_not_judged(rig):
    await play(rig, *WHOLE)
    assert holds(shown(rig, verify_key=None))["signature"] is None


async def test_another_key_is_named(rig):
    await play(rig, *WHOLE)
    other = ReceiptSigner.generate()
    (found,) = [each for each in shown(rig, verify_key=other.verify_key).findings if each.name == "signature"]
    assert found.holds is False
    assert other.key_id in found.words
    assert SIGNER.key_id in found.words


async def test_an_unsigned_receipt_is_told_as_one(tmp_path):
    with rig_in(tmp_path, environment=DeskEnvironment(), signer=None) as rig:
        await play(rig, *WHOLE)
        (found,) = [each for each in shown(rig).findings if each.name == "signature"]
    assert (found.holds, found.words) == (None, "the receipt is not signed")


def test_a_keys_name_is_the_one_that_its_signer_gives():
    assert key_id_of(SIGNER.verify_key) == SIGNER.key_id
    for bad in ("", "abc", SIGNER.verify_key + "AA", "!" * 43):
        with pytest.raises(ValueError, match="32 bytes"):
            key_id_of(bad)


def edit(rig, table, change, column="body"):
    """Change the JSON in one table's column, as somebody with the file could."""
    with rig.engine.begin() as connection:
        rows = connection.exec_driver_sql(f"SELECT rowid, {column} FROM {table}").all()
        for rowid, raw in rows:
            try:
                value = json.loads(raw)
            except ValueError:
                continue
            changed = change(value)
            if changed is not None:
                connection.exec_driver_sql(
                    f"UPDATE {table} SET {column} = ? WHERE rowid = ?", (canonical_json(changed), rowid)
                )


def _other_verdict(value):
    if "receipt_digest" in value:
        return {**value, "verdicts": {**value["verdicts"], "utility": {"verdict": "pass", "reason": None}}}
    return None


def _other_check(value):
    if "checks" not in value:
        return None
    first, *others = value["checks"]
    return {**value, "checks": [{**first, "weight": 9}, *others]}


def _other_reply(value):
    if "records" not in value or "MSG-17" not in value["records"]["messages"]:
        return None
    value["records"]["messages"]["MSG-17"]["body"] = "Never said."
    return value


TAMPERED = {
    "a verdict in the receipt": ("receipts", _other_verdict, {"digest", "signature", "answer"}),
    "a check in the answer": ("answers", _other_check, {"checks"}),
    "a record in the state": ("contents", _other_reply, {"after"}),
}


@pytest.mark.parametrize(("table", "change", "broken"), TAMPERED.values(), ids=TAMPERED.keys())
async def test_what_was_changed_afterwards_is_found(rig, table, change, broken):
    await play(rig, *WHOLE)
    edit(rig, table, change)
    assert {name for name, held in holds(shown(rig)).items() if held is not True} == broken


async def test_a_lease_that_is_not_the_receipts_is_found(rig):
    await play(rig, *WHOLE)
    with rig.engine.begin() as connection:
        connection.exec_driver_sql("UPDATE leases SET case_id = 'another-case'")
    assert holds(shown(rig))["run"] is False


async def test_a_text_that_is_not_the_planted_one_is_not_shown_as_it(rig):
    """The lease has the digest; a kept text without it is no evidence. The same without the table."""
    await play(rig, *WHOLE)
    with rig.engine.begin() as connection:
        connection.exec_driver_sql("UPDATE injections SET text = 'Something harmless.'")
    told = as_json(shown(rig))["injection"]
    assert (told["surface"], told["text"]) == (None, None)
    assert told["digest"].startswith("sha256:")
    with rig.engine.begin() as connection:
        connection.exec_driver_sql("DROP TABLE injections")
    assert as_json(shown(rig))["injection"] == told


# What cannot be shown


async def test_a_run_without_both_snapshots_says_what_there_is(rig):
    await play(rig, "reset", name="a")
    await play(rig, "reset", "before", name="b")
    await play(rig, "reset", name="c", snapshots=False)
    for name, said in (
        ("a", "has been reset, and has no snapshot yet; its lease is active until 2026-03-01T10:15:00Z"),
        ("b", "has its snapshot before, and none after to compare it with"),
        ("c", "was reset without snapshots, so no state is kept"),
    ):
        with pytest.raises(ShowError) as caught:
            shown(rig, name)
        assert said in str(caught.value)
        assert f"run-{name} ({PROFILE}, deployment-a)" in str(caught.value)


async def test_a_run_that_is_not_there_says_which_ones_are(rig):
    with opened(url_of(rig)) as connection, pytest.raises(ShowError) as none:
        read_run(connection, "run-x")
    assert str(none.value) == "no run run-x in this database; it has none yet"
    for name in "abcdefg":
        await play(rig, "reset", name=name)
    with opened(url_of(rig)) as connection, pytest.raises(ShowError) as caught:
        read_run(connection, "run-x\x1b[2J" + "y" * 500)
    assert "it has 7, the latest: run-" in str(caught.value)
    assert "\x1b" not in str(caught.value)
    assert len(str(caught.value)) < 300
