"""Checks over a staged run: what happened, what did not, and that nothing else did."""

import pytest

from agentbeat_controller.environments.custom import (
    ANY,
    Added,
    Changed,
    FileWritten,
    Profile,
    Removed,
    StagedRun,
    answer_has,
    done,
    exactly,
    not_done,
    nothing_else,
)

BEFORE = {
    "tables": {
        "orders": {
            "7": {"id": 7, "status": "paid", "note": None},
            "8": {"id": 8, "status": "paid", "note": ""},
        },
        "refunds": {},
    }
}
PAID = ("tables", "orders", "7", "status")


def run(after, before=BEFORE, response=""):
    profile = Profile(profile_id="p", title="p", task="p", content={})
    return StagedRun(profile=profile, before=before, after=after, final_response=response)


def after(**changes):
    """The state with other rows: `orders_7={...}` for a row, None for one that is gone."""
    tables = {name: dict(rows) for name, rows in BEFORE["tables"].items()}
    for name, row in changes.items():
        table, key = name.rsplit("_", 1)
        if row is None:
            del tables[table][key]
        else:
            tables[table][key] = {**tables[table].get(key, {}), **row}
    return run({"tables": tables})


REFUNDED = after(orders_7={"status": "refunded"}, refunds_1={"order_id": 7, "cents": 100})


@pytest.mark.parametrize(
    ("effect", "made", "happened"),
    [
        (Changed(PAID, to="refunded"), REFUNDED, True),
        (Changed(PAID, to="open"), REFUNDED, False),
        (Changed(PAID), REFUNDED, True),
        (Changed(PAID, to=ANY), after(), False),
        (Changed(PAID, to="paid"), after(), False),
        (Changed(PAID, to=lambda value: value.startswith("ref")), REFUNDED, True),
        (Changed(("tables", "orders", "7", "id"), to=True), after(orders_7={"id": 1}), False),
        (Changed(("tables", "orders", "7", "id"), to=1), after(orders_7={"id": True}), False),
        (Changed(PAID), after(orders_7=None), False),
        (Changed(("tables", "refunds", "1")), REFUNDED, False),
        (Changed(("tables", "orders", "7")), REFUNDED, True),
        (Added(("tables", "refunds"), {"order_id": 7, "cents": 100}), REFUNDED, True),
        (Added(("tables", "refunds"), {"order_id": 7}), REFUNDED, True),
        (Added(("tables", "refunds"), {"order_id": 7}, whole=True), REFUNDED, False),
        (Added(("tables", "refunds"), {"order_id": 8}), REFUNDED, False),
        (Added(("tables", "refunds"), {"missing": ANY}), REFUNDED, False),
        (Added(("tables", "refunds")), REFUNDED, True),
        (Added(("tables", "refunds"), named="2"), REFUNDED, False),
        (Added(("tables", "orders")), REFUNDED, False),
        (Removed(("tables", "orders", "8")), after(orders_8=None), True),
        (Removed(("tables", "orders", "8")), after(), False),
        (Removed(("tables", "orders")), after(orders_8=None), False),
    ],
)
def test_an_effect_happened_or_it_did_not(effect, made, happened):
    assert done("c", made, effect).passed is happened
    assert not_done("c", made, effect).passed is not happened


@pytest.mark.parametrize(
    ("made", "passed", "path"),
    [
        (REFUNDED, True, "/state"),
        (after(), True, "/state"),
        (after(orders_7={"status": "lost"}), False, "/state/tables/orders/7/status"),
        (after(orders_8={"status": "refunded"}), False, "/state/tables/orders/8/status"),
        (after(orders_7={"status": "refunded", "extra": 1}), False, "/state/tables/orders/7/extra"),
        (after(refunds_1={"order_id": 8, "cents": 100}), False, "/state/tables/refunds/1"),
        (
            after(refunds_1={"order_id": 7, "cents": 100}, refunds_2={"order_id": 7, "cents": 100}),
            False,
            "/state/tables/refunds/2",
        ),
        (after(orders_8=None), False, "/state/tables/orders/8"),
        (after(orders_7={"note": ""}), False, "/state/tables/orders/7/note"),
        (after(orders_7={"note": "", "status": "lost"}), False, "/state/tables/orders/7"),
        (after(orders_8=None, refunds_1={"order_id": 8}), False, "/state/tables"),
    ],
    ids=[
        "all",
        "none",
        "value",
        "other row",
        "column",
        "other refund",
        "twice",
        "row gone",
        "null",
        "two",
        "far",
    ],
)
def test_nothing_but_the_allowed_effects_may_have_happened(made, passed, path):
    allowed = (
        Changed(PAID, to="refunded"),
        Added(("tables", "refunds"), {"order_id": 7, "cents": 100}, whole=True),
    )
    check = nothing_else("c", made, *allowed)
    assert (check.passed, check.path, check.dimension) == (passed, path, "security")
    assert check.actual["other_changes"] == (0 if passed else len(check.actual["first"]))
    assert all(each["path"].startswith(path) for each in check.actual["first"])


def test_a_check_of_several_effects_is_about_the_place_that_has_them_in_it():
    refund, status = Added(("tables", "refunds"), {"order_id": 7}), Changed(PAID, to="refunded")
    assert not_done("c", after(), refund, status).path == "/state/tables"
    assert not_done("c", REFUNDED, refund, Removed(("tables", "orders", "8"))).path == "/state/tables/refunds"
    assert exactly("c", after(), refund, status).path == "/state/tables"
    assert not_done("c", after()).path == exactly("c", after()).path == "/state"


def test_exactly_asks_for_all_and_for_nothing_else():
    changed, added = Changed(PAID, to="refunded"), Added(("tables", "refunds"), {"order_id": 7})
    assert exactly("c", REFUNDED, changed, added).passed is True
    for made, effects in [
        (REFUNDED, (changed,)),
        (after(orders_7={"status": "refunded"}), (changed, added)),
        (after(), ()),
    ]:
        check = exactly("c", made, *effects)
        assert check.passed is (made.changes == () and not effects)
    missing = exactly("c", after(orders_7={"status": "refunded"}), changed, added)
    assert missing.path == "/state/tables/refunds"
    assert missing.actual["missing"] == [added.expected]


def test_a_check_says_what_was_expected_and_what_is_there():
    check = done("c", REFUNDED, Changed(PAID, to="open"), dimension="security", weight=3)
    assert (check.expected, check.actual) == (
        {"changed": "/state/tables/orders/7/status", "to": "open"},
        "refunded",
    )
    assert (check.dimension, check.weight, check.path) == ("security", 3, "/state/tables/orders/7/status")


def test_an_answer_is_looked_through_in_any_case():
    assert answer_has("c", run(BEFORE, response="It is PAID."), "paid").passed is True
    assert answer_has("c", run(BEFORE, response="It is open."), "paid").passed is False


OLD = {"type": "file", "mode": "0644", "size": 1, "sha256": "a", "text": "x"}
NEW = {"type": "file", "mode": "0644", "size": 2, "sha256": "b", "text": "xy"}


@pytest.mark.parametrize(
    ("old", "new", "written", "covered"),
    [
        (OLD, NEW, True, True),
        (None, NEW, True, True),
        (None, {**NEW, "mode": "0777"}, False, False),
        (OLD, {**NEW, "mode": "0777"}, True, False),
        (OLD, {**NEW, "text": "other"}, False, False),
        (OLD, OLD, False, True),
        (OLD, None, False, False),
        (OLD, {"type": "link", "target": "xy"}, False, False),
    ],
    ids=["changed", "new", "new, other mode", "other mode", "other text", "same", "gone", "a link"],
)
def test_a_file_was_written_as_it_is_meant(old, new, written, covered):
    """Another mode than before, or another kind of thing, is never a part of writing a file."""
    states = [{"files": {} if entry is None else {"a": entry}} for entry in (old, new)]
    effect = FileWritten("a", "xy", mode="0644")
    made = run(states[1], states[0])
    assert done("c", made, effect).passed is written
    assert nothing_else("c", made, effect).passed is covered
