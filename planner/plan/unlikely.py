"""Figures that are allowed and seldom meant: a plan that rests on one says so at its head.

None of the limits here changes a figure; they decide only what is worth a second look.
"""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

from planner.plan.plan import Note
from planner.plan.words import amount

if TYPE_CHECKING:
    from collections.abc import Iterator

    from planner.inputs.settled import Inputs

__all__ = ["unlikely_figures"]

_PRICE_FACTOR = 3
"""A price of one GPU for one of its node is off by the GPUs of a node, four or more."""
_STEEP_RATE = Decimal("0.5")
_STEEP_GROWTH = Decimal(2)


def unlikely_figures(inputs: Inputs) -> Iterator[Note]:
    """Prices far from the book's, steep rates and growth, and memory without headroom."""
    yield from _prices(inputs)
    rate = inputs.scenario.finance.discount_rate_per_year
    if rate is not None and rate > _STEEP_RATE:
        yield Note(
            text=f"a discount rate of {amount(rate, 'share')} a year makes later money almost free",
            origin="finance.discount_rate_per_year",
        )
    if inputs.scenario.policies.headroom == 0:
        yield Note(
            text="no GPU memory is kept free beyond the margins of the formulas",
            origin="policies.headroom",
        )
    for name, job in sorted(inputs.scenario.jobs.items()):
        growth = job.growth_per_quarter
        if growth is not None and growth > _STEEP_GROWTH:
            yield Note(
                text=f"{name} grows by {amount(growth, 'share')} in each quarter",
                origin=f"jobs.{name}.growth_per_quarter",
            )


def _prices(inputs: Inputs) -> Iterator[Note]:
    """Prices stated here that differ from the price book's by a factor."""
    book = inputs.catalog.prices
    for name, offer in sorted(inputs.scenario.offers.items()):
        if offer.kind == "buy":
            own, listed = offer.price_usd, book.purchase.get(offer.node_type)
            usual = listed.price_usd if listed else None
            key, what = "price_usd", "a node, not of a GPU"
        else:
            own, rented = offer.price_usd_per_gpu_hour, book.rent.get(offer.node_type)
            usual = rented.usd_per_gpu_hour if rented else None
            key, what = "price_usd_per_gpu_hour", "a GPU, not of a node"
        if own is None or usual is None or usual <= own * _PRICE_FACTOR <= usual * _PRICE_FACTOR**2:
            continue
        yield Note(
            text=f"the price of {name}, {_usd(own)}, is far from the {_usd(usual)} of the price "
            f"book: it is the price of {what}",
            origin=f"offers.{name}.{key}",
        )


def _usd(price: Decimal) -> str:
    return f"${price.normalize():,f}"
