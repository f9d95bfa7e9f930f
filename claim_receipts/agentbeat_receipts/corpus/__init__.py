"""The corpus: six retrospective epochs and a prospective one, generated from a seed at the paper's counts.

It is ours and says so everywhere; the authors' records are not public. Nothing in it is a verdict, and the
verifier knows no epochs.
"""

from agentbeat_receipts.corpus.authorities import CorpusAuthority, corpus_authority
from agentbeat_receipts.corpus.controls import (
    control_epochs,
    direction_control,
    stability_control,
    whole_control,
)
from agentbeat_receipts.corpus.epochs import Epoch
from agentbeat_receipts.corpus.folders import CorpusWriter, corpus_epochs, write_corpus
from agentbeat_receipts.corpus.making import CorpusKeys, MadeEpoch, deliveries_of, make_epoch
from agentbeat_receipts.corpus.origins import OURS, OURS_AT_LENGTH, corpus_seed, keyring_of
from agentbeat_receipts.corpus.prospective import prospective_epoch
from agentbeat_receipts.corpus.repairs import (
    repaired_epochs,
    repaired_isolation,
    repaired_pressure,
    repaired_stability,
)
from agentbeat_receipts.corpus.retrospective import (
    isolation_epoch,
    pressure_epoch,
    retrospective_epochs,
    scripted_epoch,
    stability_epoch,
    unified_epoch,
)

__all__ = [
    "OURS",
    "OURS_AT_LENGTH",
    "CorpusAuthority",
    "CorpusKeys",
    "CorpusWriter",
    "Epoch",
    "MadeEpoch",
    "control_epochs",
    "corpus_authority",
    "corpus_epochs",
    "corpus_seed",
    "deliveries_of",
    "direction_control",
    "isolation_epoch",
    "keyring_of",
    "make_epoch",
    "pressure_epoch",
    "prospective_epoch",
    "repaired_epochs",
    "repaired_isolation",
    "repaired_pressure",
    "repaired_stability",
    "retrospective_epochs",
    "scripted_epoch",
    "stability_control",
    "stability_epoch",
    "unified_epoch",
    "whole_control",
    "write_corpus",
]
