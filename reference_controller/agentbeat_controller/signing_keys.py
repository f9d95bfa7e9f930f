"""One signing key for one Controller's database, until somebody says that it shall be another.

Who reads a receipt verifies it with the public key that was registered for the Controller. A process that
signs with another key, because it has another home folder or because the key's file was lost and made anew,
would give out receipts that look forged. So the database keeps every public key that its receipts were signed
with, and a Controller starts only with the last of them:

    database      home folder     without an option         --new-signing-key
    no key yet    a key           signs with it             signs with it
    no key yet    none            makes one                 makes one
    key A         key A           signs with A              refused: that key is not new
    key A         key B           refused                   signs with B from now on
    key A         none            refused; none is made     makes one, for from now on

A key's file is never overwritten or deleted here.

    signer = transactions.run(partial(claim_key, keys=keys, controller_id=controller_id, new=False))
"""

from __future__ import annotations

from sqlalchemy import Connection, insert, inspect, select

from agentbeat_controller.control_plane import SetupError
from agentbeat_controller.databases import begin_setup
from agentbeat_controller.keys import KeyFolder
from agentbeat_controller.receipts import ReceiptSigner
from agentbeat_controller.tables import controller, signing_keys
from agentbeat_protocol import cut

__all__ = ["claim_key"]


def claim_key(connection: Connection, *, keys: KeyFolder, controller_id: str, new: bool) -> ReceiptSigner:
    """The signer of the Controller's receipts; its public key is the database's last one from now on.

    Args:
        connection: inside a transaction; processes that start at the same time come one after another.
        new: the folder's key, made where it is missing, takes the place of the one that the database knows.

    Raises:
        SetupError: see above; or the database is another Controller's.
        KeyFolderError: the key cannot be read or made.
    """
    begin_setup(connection)
    _check_owner(connection, controller_id)
    signing_keys.create(connection, checkfirst=True)
    newest_first = select(signing_keys).order_by(signing_keys.c.number.desc()).limit(1)
    last = connection.execute(newest_first).one_or_none()
    if last is None:
        return _signing_from_now_on(connection, keys.signer(), number=1)
    if not new and not keys.has_signing_key:
        raise _another_key(keys, "no file", last.key_id)
    signer = keys.signer()
    same = signer.verify_key == last.verify_key
    if same and new:
        raise _no_new_key(keys, signer)
    if not same and not new:
        raise _another_key(keys, f"the key {signer.key_id}", last.key_id)
    return signer if same else _signing_from_now_on(connection, signer, number=last.number + 1)


def _signing_from_now_on(connection: Connection, signer: ReceiptSigner, *, number: int) -> ReceiptSigner:
    row = {"number": number, "key_id": signer.key_id, "verify_key": signer.verify_key}
    connection.execute(insert(signing_keys), row)
    return signer


def _check_owner(connection: Connection, controller_id: str) -> None:
    """The words are `ControlPlane.start`'s, which would come too late: a key would have been made."""
    if inspect(connection).has_table(controller.name):
        owner = connection.execute(select(controller.c.controller_id)).scalar_one_or_none()
        if owner not in (None, controller_id):
            raise SetupError(f"the database belongs to another controller id: {cut(str(owner), 64)}")


def _another_key(keys: KeyFolder, got: str, expected: str) -> SetupError:
    return SetupError(
        f"{keys.signing_key_path}: got {got}, expected the key {expected}, which signs this database's "
        f"receipts. Bring the file back from a backup, or copy it from the home folder of a Controller that "
        f"has it. To sign with another key from now on, stop every Controller on this database and start one "
        f"with --new-signing-key; whoever verifies receipts must then be given its public key too"
    )


def _no_new_key(keys: KeyFolder, signer: ReceiptSigner) -> SetupError:
    return SetupError(
        f"{keys.signing_key_path}: got the key {signer.key_id}, which signs this database's receipts "
        f"already; expected another one, or no file, with --new-signing-key. To sign with a new key, move "
        f"the file away and keep it; else leave the option out"
    )
