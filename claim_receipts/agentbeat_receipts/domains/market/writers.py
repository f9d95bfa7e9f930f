"""A seeded writer: what a language model might answer, made from a seed and a few knobs.

It decides first what to offer at which price, and then how to say it (`wordings`). Each kind of decision has
its own stream, so a knob of one changes nothing else.

    brief shows values     the set with the most to share out; cost + greed percent of what is to be shared
    brief hides values     the writer's own bundle; cost + margin percent

The prompt's `push` is added to greed and margin. A price is never negative.
"""

from __future__ import annotations

from agentbeat_receipts.domains.market.briefs import Brief
from agentbeat_receipts.domains.market.materials import Catalogue, MenuOffer, Prompt, SeededWriter
from agentbeat_receipts.domains.market.policies import marked_up, wanted_sets
from agentbeat_receipts.domains.market.sellers import Enquiry, NoAnswer
from agentbeat_receipts.domains.market.streams import Stream
from agentbeat_receipts.domains.market.wordings import Speech, broken_text, written_text

__all__ = ["WriterSeller", "decided_offers"]


class WriterSeller:
    """Answers as a `SeededWriter` does.

    Args:
        writer: its knobs.
    """

    def __init__(self, writer: SeededWriter) -> None:
        self._writer = writer

    def answer(self, enquiry: Enquiry) -> bytes:
        """Text with offers, or a failure, as the seed has it.

        Raises:
            NoAnswer: timeout.
        """
        writer, setting = self._writer, enquiry.setting
        fate = Stream(enquiry.seed, "fate")
        if fate.chance(writer.timeout_per_mille):
            raise NoAnswer("timeout")
        fails = fate.chance(writer.failure_per_mille)
        mood = Stream(enquiry.seed, "mood")
        brief = Brief.model_validate(enquiry.brief)
        offers = decided_offers(writer, setting.catalogue, setting.prompt, brief, enquiry.seed)
        leaks = mood.chance(writer.leak_per_mille)
        cost = sum(setting.catalogue.costs[name] for name in offers[0].components)
        speech = Speech(
            offers=offers,
            presses=mood.chance(writer.pressure_per_mille),
            told_cost=cost if leaks else None,
        )
        wording = Stream(enquiry.seed, "wording")
        text = written_text(speech, setting, wording)
        return (broken_text(text, setting, Stream(enquiry.seed, "failure")) if fails else text).encode()


def decided_offers(
    writer: SeededWriter, catalogue: Catalogue, prompt: Prompt, brief: Brief, seed: bytes
) -> tuple[MenuOffer, ...]:
    """What is offered at which price; the first offer is the best one."""
    prices = Stream(seed, "price")
    components, price = _best_offer(writer, catalogue, prompt, brief)
    varied = price * (100 - writer.spread + prices.below(2 * writer.spread + 1)) // 100
    surcharge = writer.surcharge if prices.chance(writer.surcharge_per_mille) else 0
    offers = [MenuOffer(components=components, price=varied, surcharge=surcharge)]
    cost = max(1, sum(catalogue.costs[name] for name in components))
    # What the buyer asked for least, or the last by name, goes first.
    kept = sorted(components, key=lambda name: (name in brief.required, (brief.values or {}).get(name, 0)))
    for gone in range(1, min(writer.offers, len(components))):
        smaller = tuple(sorted(kept[gone:]))
        share = sum(catalogue.costs[name] for name in smaller)
        offers.append(MenuOffer(components=smaller, price=varied * share // cost, surcharge=surcharge))
    return tuple(offers)


def _best_offer(
    writer: SeededWriter, catalogue: Catalogue, prompt: Prompt, brief: Brief
) -> tuple[tuple[str, ...], int]:
    costs = catalogue.costs
    if brief.values is not None:
        values, outside = brief.values, brief.outside or 0
        shares = [
            (sum(values.get(name, 0) - costs[name] for name in offered) - outside, offered)
            for offered in wanted_sets(catalogue, brief)
        ]
        # Among equals the first, which is the smallest.
        gain, offered = max(shares, key=lambda share: share[0], default=(0, ()))
        if gain > 0:
            cost = sum(costs[name] for name in offered)
            return offered, max(0, cost + gain * (writer.greed + prompt.push) // 100)
    offered = tuple(sorted(set(writer.bundle) & costs.keys())) or (min(costs),)
    return offered, max(0, marked_up(sum(costs[name] for name in offered), writer.margin + prompt.push))
