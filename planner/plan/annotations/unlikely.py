"""Figures that are allowed and seldom meant: a plan that rests on one says so at its head.

The limits are policy rules. They change no figure, they decide only what is worth a second look.
"""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import TYPE_CHECKING

from planner.inputs.checks.faults import entries
from planner.inputs.rules.facts import SETTINGS
from planner.inputs.scenario.offer import FleetEntry
from planner.inputs.scenario.quarter import Quarter
from planner.inputs.text.words import count_of
from planner.plan.plan import Note
from planner.plan.words import amount, price, some_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from planner.inputs.catalog.catalog import Catalog
    from planner.inputs.scenario.job import Job
    from planner.inputs.scenario.site import Site
    from planner.inputs.settled import Inputs

__all__ = ["unlikely_figures"]

_QUARTERS_NAMED = 4
_W_OF_A_KW = 1000
_SMALLER_UNITS = {"energy_usd_per_kwh": "cents", "useful_life_years": "months"}
"""Parameters of the cost that no bound holds, with the unit in which they are slipped."""


def unlikely_figures(inputs: Inputs) -> Iterator[Note]:
    """Old or far-off figures, W for kW, steep rates and growth, no headroom, skipped quarters."""
    yield from _stale(inputs)
    yield from _far_off(inputs)
    yield from _far_above(inputs)
    for name, site in sorted(inputs.scenario.sites.items()):
        yield from _in_watts(name, site, inputs)
    rate = inputs.scenario.finance.discount_rate_per_year
    if rate is not None and rate > inputs.rules.figure("steep_discount_rate"):
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
        yield from _stretched(name, job, inputs.catalog)
        yield from _resting(name, job)
        growth = job.growth_per_quarter
        if growth is not None and growth > inputs.rules.figure("steep_growth_per_quarter"):
            yield Note(
                text=f"{name} grows by {amount(growth, 'share')} in each quarter; a growth of "
                f"{amount(growth / 100, 'share')} is written {growth / 100:f}",
                origin=f"jobs.{name}.growth_per_quarter",
            )


def _stretched(name: str, job: Job, catalog: Catalog) -> Iterator[Note]:
    """A job of more tokens than its model was built for, where rope scaling is declared."""
    asked = job.tune or job.serve
    model = catalog.models.get(asked.model or "") if asked else None
    key, tokens = (
        ("sequence", job.tune.sequence)
        if job.tune
        else ("context", job.serve.context if job.serve else None)
    )
    if model is not None and tokens is not None and tokens > model.max_context:
        yield Note(
            text=f"{name} holds {tokens:,} tokens, its model is built for {model.max_context:,}: "
            "its rope scaling is declared, what the answers are worth is not",
            origin=f"jobs.{name}.{job.kind}.{key}",
        )


def _resting(name: str, job: Job) -> Iterator[Note]:
    """A service whose count skips quarters, as if each figure held until the next."""
    if job.kind == "tune" or job.run or not isinstance(job.count, dict):
        return
    named = sorted(map(Quarter.parse, job.count))
    every = [named[0] + step for step in range(named[-1] - named[0])]
    if skipped := [str(quarter) for quarter in every if quarter not in named]:
        yield Note(
            text=f"{name} has no unit in {some_of(skipped, _QUARTERS_NAMED)}, which its count "
            "leaves out: a count does not hold until the next; write a 0 there if none is meant",
            origin=f"jobs.{name}.count",
        )


def _stale(inputs: Inputs) -> Iterator[Note]:
    as_of = inputs.scenario.horizon.earliest_order
    for offer in inputs.offers:
        if offer.price_date is None:
            continue
        days = (as_of - date.fromisoformat(offer.price_date)).days
        if days > inputs.rules.figure("stale_price_days"):
            yield Note(
                text=f"the price of {offer.name} is of {offer.price_date}, {count_of(days, 'day')} "
                f"before {as_of}, the first day on which this plan can order",
                origin=f"offers.{offer.name}",
            )


def _far_off(inputs: Inputs) -> Iterator[Note]:
    """Prices stated here that differ from the price book's by a factor."""
    book = inputs.catalog.prices
    factor = inputs.rules.figure("far_off_price_factor")
    for name, offer in sorted(inputs.scenario.offers.items()):
        buys = offer.kind == "buy"
        own = offer.stated_price
        listed = book.listed("buy" if buys else "rent", offer.node_type)
        if own is None or listed is None:
            continue
        if not listed.usd <= own * factor <= listed.usd * factor**2:
            what = "a node, not of a GPU" if buys else "a GPU, not of a node"
            yield Note(
                text=f"the price of {name}, {price(own)}, is far from the {price(listed.usd)} of "
                f"the price book: the key takes the price of {what}",
                origin=f"offers.{name}.{offer.price_key}",
            )


def _far_above(inputs: Inputs) -> Iterator[Note]:
    """Parameters of the cost that are above the policy rule's by that factor."""
    factor = inputs.rules.figure("far_off_price_factor")
    for key, smaller in _SMALLER_UNITS.items():
        own = getattr(inputs.scenario.finance, key)
        if own is not None and own > inputs.rules.figure(key) * factor:
            unit, rule = SETTINGS[key].unit, inputs.rules.setting(key)
            yield Note(
                text=f"{amount(own, unit)} are far above the "
                f"{amount(inputs.rules.figure(key), unit)} of the rule {rule.id}: the key does not "
                f"take {smaller}",
                origin=f"finance.{key}",
            )


def _in_watts(name: str, site: Site, inputs: Inputs) -> Iterator[Note]:
    """Limits that are a thousand times what they must hold: one node, or all that are owned."""
    drawn = [
        (plate.value, entry.count if isinstance(entry, FleetEntry) else 0)
        for _, entry in entries(inputs.scenario)
        if name in entry.sites and (plate := inputs.catalog.nodes[entry.node_type].max_power_kw)
    ]
    one = max((each for each, _ in drawn), default=Decimal(0))
    several = sum(each * count for each, count in drawn)
    power = site.power_kw
    fed = max(power.values()) if isinstance(power, dict) else power
    of_racks = site.racks.power_kw if site.racks else None
    for key, limit, held in (("", fed, max(one, several)), ("racks.", of_racks, one)):
        if limit is not None and held and limit >= held * _W_OF_A_KW:
            yield Note(
                text=f"{amount(limit, 'kW')} are over a thousand times what nodes there draw "
                f"({amount(held, 'kW')}) and limit nothing: the key does not take W",
                origin=f"sites.{name}.{key}power_kw",
            )
