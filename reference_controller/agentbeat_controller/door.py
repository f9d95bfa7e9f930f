"""The control plane's side of the business plane: who calls, which environment, and is the window open?

A business call and a snapshot both lock the lease. So a call that is let in has committed before the after
snapshot looks, or comes after it and finds the window closed; nothing lies between (CTL-4, CTL-12).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from sqlalchemy import Connection

from agentbeat_controller import store
from agentbeat_controller.credentials import BusinessSecrets
from agentbeat_controller.environments.base import Entry
from agentbeat_controller.lease_book import LeaseBook
from agentbeat_controller.leases import Lease
from agentbeat_controller.refusals import environment_closed, lease_expired, not_found
from agentbeat_protocol import RUN_ID_HEADER, ProtocolError

__all__ = ["Door"]


class Door:
    """A `BusinessDoor` on a book of leases.

    Args:
        book: whose leases, database and time decide.
        secrets: the business secret of each Deployment.

    Raises:
        ValueError: two Deployments share a secret.
    """

    def __init__(self, book: LeaseBook, secrets: Mapping[str, str]) -> None:
        self._book = book
        self._secrets = BusinessSecrets(secrets)

    def authenticate(self, authorization: str | None) -> str:
        """The Deployment whose business secret stands in this `Authorization` header.

        Raises:
            ProtocolError: `unauthorized`.
        """
        return self._secrets.deployment(authorization)

    @contextmanager
    def enter(self, deployment_profile_id: str, run_id: str | None) -> Iterator[Entry]:
        """One business call's transaction; see `BusinessDoor.enter`.

        Raises:
            ProtocolError: `not_found`, `environment_closed`, `lease_expired` or `controller_unavailable`.
        """
        with self._book.transactions.begin() as connection:
            lease = _find(connection, deployment_profile_id, run_id)
            refusal = self._refusal(connection, lease)
            if refusal is None:
                yield Entry(
                    connection=connection,
                    environment_id=lease.environment_id,
                    profile_id=lease.profile_id,
                    run_id=lease.run_id,
                )
                return
        # Raised when the transaction has committed: an expiry that was found is kept.
        raise refusal

    def _refusal(self, connection: Connection, lease: Lease) -> ProtocolError | None:
        if self._book.ends_by_time(connection, lease):
            return lease_expired()
        return lease.window_refusal()


def _find(connection: Connection, deployment_profile_id: str, run_id: str | None) -> Lease:
    if run_id is not None:
        lease = store.lease_of_run(connection, run_id, lock=True)
        if lease is None or lease.deployment_profile_id != deployment_profile_id:
            raise not_found("CTL-6", "a run of this Deployment")
        return lease
    deployment = store.deployment_of(connection, deployment_profile_id)
    holder = deployment.lease_id if deployment else None
    lease = store.lease_with_id(connection, holder, lock=True) if holder else None
    if lease is None:
        raise environment_closed(
            f"a run that holds this Deployment's environment, or {RUN_ID_HEADER} for a run with its own"
        )
    return lease
