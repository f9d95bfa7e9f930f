"""The desk's operations: what the Agent's tools can do, and nothing else.

No operation resets, reads a snapshot or shows an expected value: those are the control plane's.
"""

from __future__ import annotations

from typing import Final

from agentbeat_controller.environments.operations import Operation

from . import models, reads, writes

__all__ = ["OPERATIONS", "TOOLS_VERSION"]

#: Raised whenever an operation comes to mean something else: it is part of every profile's digest.
TOOLS_VERSION: Final = 1

OPERATIONS: Final[tuple[Operation, ...]] = (
    Operation(
        name="list_tickets",
        method="GET",
        path="/v1/tickets",
        summary="List tickets, or search their subjects",
        arguments=reads.ListTickets,
        answer=models.TicketList,
        run=reads.list_tickets,
    ),
    Operation(
        name="get_ticket",
        method="GET",
        path="/v1/tickets/{ticket_id}",
        summary="Read a ticket with its messages",
        arguments=reads.OneTicket,
        answer=models.TicketRecord,
        run=reads.get_ticket,
        refusals=("not_found",),
    ),
    Operation(
        name="add_ticket_reply",
        method="POST",
        path="/v1/tickets/{ticket_id}/replies",
        summary="Reply on a ticket",
        arguments=writes.AddReply,
        answer=models.MessageRecord,
        run=writes.add_ticket_reply,
        status=201,
        refusals=("not_found", "ticket_closed"),
    ),
    Operation(
        name="set_ticket_status",
        method="PUT",
        path="/v1/tickets/{ticket_id}/status",
        summary="Set a ticket's status",
        arguments=writes.SetTicketStatus,
        answer=models.TicketSummary,
        run=writes.set_ticket_status,
        refusals=("not_found", "ticket_closed"),
    ),
    Operation(
        name="find_customers",
        method="GET",
        path="/v1/customers",
        summary="Find customers by email or name",
        arguments=reads.FindCustomers,
        answer=models.CustomerList,
        run=reads.find_customers,
    ),
    Operation(
        name="get_customer",
        method="GET",
        path="/v1/customers/{customer_id}",
        summary="Read a customer",
        arguments=reads.OneCustomer,
        answer=models.CustomerRecord,
        run=reads.get_customer,
        refusals=("not_found",),
    ),
    Operation(
        name="update_customer",
        method="PATCH",
        path="/v1/customers/{customer_id}",
        summary="Change a customer's email or phone",
        arguments=writes.UpdateCustomer,
        answer=models.CustomerRecord,
        run=writes.update_customer,
        refusals=("not_found", "email_in_use"),
    ),
    Operation(
        name="list_customer_orders",
        method="GET",
        path="/v1/customers/{customer_id}/orders",
        summary="List a customer's orders",
        arguments=reads.OneCustomer,
        answer=models.OrderList,
        run=reads.list_customer_orders,
        refusals=("not_found",),
    ),
    Operation(
        name="get_order",
        method="GET",
        path="/v1/orders/{order_id}",
        summary="Read an order with its lines and refunds",
        arguments=reads.OneOrder,
        answer=models.OrderRecord,
        run=reads.get_order,
        refusals=("not_found",),
    ),
    Operation(
        name="issue_refund",
        method="POST",
        path="/v1/orders/{order_id}/refunds",
        summary="Refund an order, in full or in part",
        arguments=writes.IssueRefund,
        answer=models.RefundRecord,
        run=writes.issue_refund,
        status=201,
        refusals=("not_found", "order_not_refundable", "refund_exceeds_remaining"),
    ),
    Operation(
        name="update_shipping_address",
        method="PUT",
        path="/v1/orders/{order_id}/shipping-address",
        summary="Change where an order goes",
        arguments=writes.UpdateShippingAddress,
        answer=models.OrderRecord,
        run=writes.update_shipping_address,
        refusals=("not_found", "order_not_changeable"),
    ),
    Operation(
        name="set_order_status",
        method="PUT",
        path="/v1/orders/{order_id}/status",
        summary="Take an order to its next status, or cancel it",
        arguments=writes.SetOrderStatus,
        answer=models.OrderRecord,
        run=writes.set_order_status,
        refusals=("not_found", "status_conflict"),
    ),
    Operation(
        name="list_emails",
        method="GET",
        path="/v1/emails",
        summary="List the emails that have been sent",
        arguments=reads.ListEmails,
        answer=models.EmailList,
        run=reads.list_emails,
    ),
    Operation(
        name="send_email",
        method="POST",
        path="/v1/emails",
        summary="Send an email",
        arguments=writes.SendEmail,
        answer=models.EmailRecord,
        run=writes.send_email,
        status=201,
        refusals=("not_found",),
    ),
)
