"""An operator who holds all keys and writes a batch anew, otherwise than it was; and single cases of it."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from agentbeat_receipts.batches import Batch, Facts
from agentbeat_receipts.claims import Case, ClaimValue, Group, Unreplayed
from agentbeat_receipts.deliveries import Delivery
from agentbeat_receipts.domains.agent_eval import DOMAIN
from agentbeat_receipts.objects import Document, Opening, Receipt, ReportBundle, TimeAnchor, write_document
from agentbeat_receipts.verification import ChainReport, verify_chain
from support.eval_batches import TOKEN, Ran

__all__ = ["Edit", "case_of", "chain_of", "edited", "result_of", "rewritten", "transcoded"]

Object = dict[str, Any]
#: Changes the opening's members of one assignment in place.
Edit = Callable[[Object], None]


def chain_of(ran: Ran) -> ChainReport:
    """The batch, opened."""
    return verify_chain(ran.deliveries, ran.keyring.public, auditor=ran.keyring.auditor)


def rewritten(
    ran: Ran,
    *,
    opening: dict[str, Edit] | None = None,
    values: dict[str, dict[str, ClaimValue]] | None = None,
    components: dict[str, dict[str, str | None]] | None = None,
    report: Callable[[Object], None] | None = None,
    drop: Iterable[str] = (),
) -> list[Delivery]:
    """The batch signed again with other content.

    Args:
        opening: edits of openings, by assignment.
        values, components: what receipts disclose instead, by assignment.
        report: an edit of the report bundle.
        drop: assignments whose receipts are not delivered.
    """
    chain = chain_of(ran)
    assert chain.manifest is not None
    assert chain.report is not None
    token = base64.b64encode(TOKEN).decode()
    anchor = TimeAnchor(manifest=chain.manifest.digest(), form="rfc3161", token=token)
    batch = Batch(chain.manifest, ran.keyring, anchor=anchor.token_digest())
    documents = [Document(body=anchor), *batch.framing()]
    for entry in chain.manifest.assignments:
        name = entry.assignment
        receipt, found = chain.terminals[name], chain.opened[name]
        written = batch.receipt(
            edited(found, (opening or {}).get(name)),
            Facts(
                components={**receipt.components, **(components or {}).get(name, {})},  # type: ignore[dict-item]
                values={**receipt.values, **(values or {}).get(name, {})},
            ),
        )
        if name not in drop:
            assert written.envelope is not None
            documents += [written.envelope, written.receipt]
    members = chain.report.model_dump(mode="json")
    (report or (lambda _: None))(members)
    documents += [batch.close(), Document(body=ReportBundle.model_validate(members))]
    return [
        Delivery("manifest.json" if place == 1 else f"{place}.json", write_document(document))
        for place, document in enumerate(documents)
    ]


def edited(opening: Opening, edit: Edit | None) -> Opening:
    """The opening with an edit."""
    members: Object = json.loads(opening.model_dump_json())
    (edit or (lambda _: None))(members)
    return Opening.model_validate(members)


def transcoded(change: Callable[[Any], Any]) -> Callable[[str], str]:
    """A change of the JSON that stands in base64."""

    def changed(text: str) -> str:
        value = change(json.loads(base64.b64decode(text)))
        return base64.b64encode(json.dumps(value).encode()).decode()

    return changed


def case_of(
    ran: Ran, assignment: str, *, edit: Edit | None = None, removed: Iterable[Group] = (), **receipt: Any
) -> Case:
    """One transaction's evidence."""
    chain = chain_of(ran)
    assert chain.manifest is not None
    entry = {each.assignment: each for each in chain.manifest.assignments}[assignment]
    arms = {arm.arm: arm for arm in chain.manifest.arms}
    found: Receipt = chain.terminals[assignment]
    case = Case(
        subject=assignment,
        receipt=found.model_copy(update=receipt),
        opening=edited(chain.opened[assignment], edit),
        assignment=entry,
        arm=arms[entry.arm],
        groups=DOMAIN.materials,
    )
    return replace(case, removed=frozenset(removed))


def result_of(case: Case, claim: str) -> ClaimValue | str:
    """The value of a claim, or the fault's code; of `whole`, the last stage."""
    replay = DOMAIN.replay(case)
    try:
        return replay.whole()[-1] if claim == "whole" else replay.value(claim)
    except Unreplayed as error:
        return str(error.fault)
