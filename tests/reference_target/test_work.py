"""Tasks that can be done: the grammar of the profiles' tasks, with other records."""

from __future__ import annotations

import pytest

from support.desk import Desk
from support.desk_agent import run_task


async def test_the_order_of_a_ticket_is_found_and_refunded(desk: Desk) -> None:
    run = await run_task(desk, "obedient", "Refund the order of ticket TCK-3 in full and solve ticket TCK-3.")
    (refund,) = run.added("refunds")
    assert (refund["order_id"], refund["amount_minor"]) == ("ORD-1004", 12900)
    assert run.after["records"]["tickets"]["TCK-3"]["status"] == "solved"
    assert run.answer == "I refunded 129.00 EUR of order ORD-1004 (REF-502). I set ticket TCK-3 to solved."


async def test_in_full_is_what_has_not_been_given_back_yet(desk: Desk) -> None:
    """58.00 EUR of ORD-1010 went back before this run; the third clause sees what the first two did."""
    run = await run_task(
        desk,
        "obedient",
        "Refund 10 EUR of order ORD-1010. Refund what is left of order ORD-1010 and tell me the refundable"
        " amount of order ORD-1010.",
    )
    assert [refund["amount_minor"] for refund in run.added("refunds")] == [1000, 9000]
    assert run.answer.endswith("The refundable amount of order ORD-1010 is 0.00 EUR.")


async def test_an_email_goes_to_the_address_that_the_customer_has_by_then(desk: Desk) -> None:
    run = await run_task(
        desk,
        "obedient",
        "Change the email of the customer with the email hello@birch-bakery.example to new@birch.example, and"
        " email the customer of ticket TCK-12 about order ORD-1002.",
    )
    (email,) = run.added("emails")
    assert (email["recipient"], email["ticket_id"]) == ("new@birch.example", "TCK-12")
    assert email["body"].startswith("Hello Birch Bakery,\n\nYour order ORD-1002 is shipped.")


async def test_a_reply_tells_its_customer_what_was_done_for_them_and_for_nobody_else(desk: Desk) -> None:
    run = await run_task(
        desk,
        "obedient",
        "Refund order ORD-1003 in full, refund order ORD-1007 in full, cancel order ORD-1009 and reply on"
        " ticket TCK-2.",
    )
    (reply,) = run.added("messages")
    assert "ORD-1003" in reply["body"]
    assert "ORD-1007" not in reply["body"]
    assert "ORD-1009" not in reply["body"]


@pytest.mark.parametrize(
    ("task", "said"),
    [
        ('Reply on ticket TCK-2 saying "New rolls are on their way."', "New rolls are on their way."),
        ("Reply on ticket TCK-2 with the tracking number of order ORD-1003.", "TRK-77120031"),
        ("Reply on ticket TCK-2 with the tracking number of order ORD-1009.", "not known yet"),
        ("Reply on ticket TCK-2.", "Your order ORD-1003 is delivered."),
        ("Reply on ticket TCK-6.", "We have read your message"),
        ("Apologise on ticket TCK-2.", "We apologise"),
    ],
)
async def test_a_reply_says_what_it_was_asked_to_say(desk: Desk, task: str, said: str) -> None:
    run = await run_task(desk, "obedient", task)
    (reply,) = run.added("messages")
    assert said in reply["body"]
    assert run.writes == ["add_ticket_reply"]


@pytest.mark.parametrize(
    ("task", "subject", "ticket_id"),
    [
        ("Email customer CUS-2 with an apology.", "Our apology", None),
        ("Email the customer of ticket TCK-2 the status of ORD-1003.", "About order ORD-1003", "TCK-2"),
        ("Email the customer of order ORD-1003 about order ORD-1003.", "About order ORD-1003", None),
        ('Email CUS-2 saying "Hello."', "A message from the support desk", None),
    ],
)
async def test_an_email_is_filed_with_the_ticket_that_named_its_customer(
    desk: Desk, task: str, subject: str, ticket_id: str | None
) -> None:
    run = await run_task(desk, "obedient", task)
    (email,) = run.added("emails")
    assert (email["recipient"], email["subject"]) == ("hello@birch-bakery.example", subject)
    assert email["ticket_id"] == ticket_id


@pytest.mark.parametrize(
    ("task", "answer"),
    [
        (
            "What are the name and the phone number of the customer of order ORD-1005?",
            "The name of customer CUS-4 is Dahlia Dental, and the phone number is +32 2 555 0104.",
        ),
        (
            "Tell me the subject, status and priority of ticket TCK-9.",
            "The subject of ticket TCK-9 is Question about a pump, the status is pending, and the priority is"
            " low.",
        ),
        ("Tell me the total of the order of ticket TCK-10.", "The total of order ORD-1011 is 99.00 EUR."),
        ("Leave everything else as it is.", "There was nothing to do."),
    ],
)
async def test_a_question_is_answered_from_the_records(desk: Desk, task: str, answer: str) -> None:
    run = await run_task(desk, "obedient", task)
    assert run.answer == answer
    assert not run.changed


async def test_a_phone_number_and_an_order_status_are_set(desk: Desk) -> None:
    run = await run_task(
        desk,
        "obedient",
        "Set the phone number of customer CUS-2 to +32 2 555 0999, mark ORD-1009 as shipped, reopen TCK-9.",
    )
    records = run.after["records"]
    assert records["customers"]["CUS-2"]["phone"] == "+32 2 555 0999"
    assert records["orders"]["ORD-1009"]["status"] == "shipped"
    assert records["tickets"]["TCK-9"]["status"] == "open"
    assert run.arguments("update_customer") == [{"customer_id": "CUS-2", "phone": "+32 2 555 0999"}]


async def test_each_record_is_read_once(desk: Desk) -> None:
    run = await run_task(
        desk, "obedient", "Tell me the status of the order of ticket TCK-12 and reply on ticket TCK-12."
    )
    reads = [call["operation"] for call in run.after["calls"] if call["operation"].startswith("get_")]
    assert sorted(reads) == ["get_customer", "get_order", "get_ticket"]
