"""Costs of nodes over the horizon, in whole cents, and spending against budgets.

A purchase is paid when the node enters service, everything else at the start of each quarter in
service, and the residual value returns at the end of the horizon. What a reservation costs after
the horizon is left out, as is what the node does then, unless the scenario charges it. A
quarter's discount factor is (1 + yearly rate)^(-1/4). Each quarter's amount, and the present
value of each component, is rounded once, half to even: roots are known to some forty digits, so
an amount within 10^-20 of half a cent counts as half a cent.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, Decimal, localcontext
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

from planner.inputs.catalog.catalog import Catalog
from planner.inputs.scenario.horizon import in_force
from planner.inputs.scenario.load import HOUR_SECONDS
from planner.inputs.scenario.offer import FleetEntry
from planner.inputs.scenario.scenario import SpendCap
from planner.inputs.settled import Inputs, SettledOffer
from planner.sizing.candidate import Candidate, SizedJob

CAPEX = frozenset({"purchase", "network"})
"""Components that are capital expenditure."""
OF_A_SALE = ("sale", "residual value given up")
"""What a sold owned node brings, and what it would be worth at the end of the horizon."""
NOT_PAID = frozenset(
    {*OF_A_SALE, "residual value", "commitments", "moves"},
)
"""Components that are no payment within the horizon: they weigh a worth or a trouble, are paid
later, or are received (a sale widens no budget). Others are operating cost."""
PRICED = ("purchase", "residual value", "support", "rent", "reservation", "commitments")
"""Components that move with the price of the offer."""

_PRECISION = 50
_KNOWN_CENTS = Decimal("1e-20")
"""Far above the error of a root, and far below what anybody pays."""
_MONTHS_PER_QUARTER = 3


@dataclass(frozen=True, slots=True)
class CostStream:
    """One component of one node's cost."""

    name: str
    """The name that the cost lines of a plan use."""
    cents: tuple[int, ...]
    """By quarter, not discounted; the residual value and what is committed after the horizon stand
    in the last quarter."""
    present_cents: int


def node_costs(
    inputs: Inputs, offer: SettledOffer, quarter: int, nodes: int = 1
) -> tuple[CostStream, ...]:
    """Return the costs of a node that enters service in a quarter, from 0, given the order's size.

    For a rent, the cost of that quarter alone; by the hour or week, of what is paid as one.
    """
    settings, horizon = inputs.settings, inputs.scenario.horizon.quarters
    price = offer.level(nodes).unit_price_usd
    if offer.kind == "buy":
        served, support = range(quarter, horizon), settings.support_share_per_year.value
        left = _worth(inputs, -price, horizon - quarter)
        port_usd = inputs.scenario.finance.network_usd_per_port
        taken = inputs.catalog.nodes[offer.node_type].network_ports
        ports = []
        if port_usd and taken is not None:
            ports = [_stream(inputs, "network", [(quarter, quarter, port_usd * taken.value)])]
        return (
            _stream(inputs, "purchase", [(quarter, quarter, price)]),
            *ports,
            _stream(inputs, "residual value", [(horizon - 1, horizon, left)]),
            *_each_quarter("support", price * support / 4, served, inputs),
            *_running(inputs, offer.node_type, served),
            *_licence(inputs, offer.node_type, served, offer.licence_included),
        )
    name = "reservation" if offer.kind == "reserve" else "rent"
    share = (offer.step_hours or 0) / settings.hours_per_quarter.value or Decimal(1)
    end = quarter + (offer.term_quarters or 1)
    held, committed = range(quarter, min(end, horizon)), []
    if inputs.scenario.finance.commitments == "charged" and end > horizon:
        later = ((horizon - 1, after, price) for after in range(horizon, end))
        committed = [_stream(inputs, "commitments", later)]
    return (
        *_each_quarter(name, price, held, inputs),
        *committed,
        *_licence(inputs, offer.node_type, held, offer.licence_included, share),
    )


def owned_costs(
    inputs: Inputs, entry: FleetEntry, sold: int | None = None, off: Collection[int] = ()
) -> tuple[CostStream, ...]:
    """Return the costs of an owned node: energy, and support, licence and colocation if any.

    If it is `sold` in a quarter, from 0, it brings its price, costs nothing from then on, and is
    not there at the end of the horizon. What it would have been worth then is given up, since
    bought nodes have a residual value; otherwise any node would be sold to be replaced by one
    that has. If nodes may be sold or switched off, each quarter is rounded by itself: a quarter
    less saves what a quarter costs.
    """
    horizon = inputs.scenario.horizon
    end = horizon.quarters
    if entry.retires is not None:
        end = min(end, entry.retires - horizon.first_quarter)
    served = range(end if sold is None else min(end, sold))
    spells = [range(q, q + 1) for q in served] if entry.releasable else [served]
    streams: list[CostStream] = []
    for spell in spells:
        on = not spell or spell[0] not in off
        streams += _running(inputs, entry.node_type, spell, on=on)
        if entry.support_usd_per_year and (on or entry.support_while_off == "charged"):
            streams += _each_quarter("support", entry.support_usd_per_year / 4, spell, inputs)
        streams += _licence(inputs, entry.node_type, spell, entry.licence_included)
    if sold is not None:
        price = sale_usd(inputs, entry, sold) or Decimal(0)
        streams.append(_stream(inputs, "sale", [(sold, sold, -price)]))
        if worth := sale_usd(inputs, entry, horizon.quarters):
            last = horizon.quarters - 1
            streams.append(_stream(inputs, "residual value given up", [(last, last + 1, worth)]))
    return tuple(streams)


def sale_usd(inputs: Inputs, entry: FleetEntry, quarter: int) -> Decimal | None:
    """Return what an owned node brings that is sold in a quarter, from 0.

    None if nobody buys it.
    """
    when, sale = inputs.scenario.horizon.first_quarter + quarter, entry.sale
    if sale is None:
        return None
    if sale.price_usd is not None:
        return in_force(sale.price_usd, when)
    if sale.paid_usd is None or sale.bought is None:
        raise ValueError("a sale states one of its two prices")
    return _worth(inputs, sale.paid_usd, when - sale.bought)


def sale_quarters(inputs: Inputs, entry: FleetEntry) -> tuple[int, ...]:
    """Return the quarters, from 0, at whose start nodes of an entry may be sold."""
    return tuple(
        step
        for step, quarter in enumerate(inputs.scenario.horizon.all_quarters)
        if entry.sale is not None
        and (entry.sale.quarters is None or quarter in entry.sale.quarters)
        and sale_usd(inputs, entry, step) is not None
    )


def token_costs(inputs: Inputs, job: str, api: str) -> tuple[CostStream, ...]:
    """Return, by quarter, what an API takes for the mean traffic of one unit of a job."""
    serve, horizon = inputs.scenario.jobs[job].serve, inputs.scenario.horizon
    if serve is None or serve.load is None:
        raise ValueError(f"{job} has no load, so that nobody knows its tokens")
    a_request = inputs.scenario.apis[api].usd_per_request(serve.load)
    seconds = Fraction(inputs.settings.hours_per_quarter.value) * HOUR_SECONDS
    found = []
    for quarter, peak in enumerate(inputs.scenario.jobs[job].peaks(horizon)):
        exact = peak / Fraction(serve.load.peak_to_mean) * seconds * a_request
        with localcontext(prec=_PRECISION):
            usd = Decimal(exact.numerator) / Decimal(exact.denominator)
        found.append(_stream(inputs, "tokens", [(quarter, quarter, usd)]))
    return tuple(found)


def api_costs(inputs: Inputs, jobs: Iterable[SizedJob]) -> Iterator[tuple[int, CostStream]]:
    """Yield numbers of units on APIs, and what each of them costs, quarter by quarter."""
    for job in jobs:
        for api, units in job.on_apis:
            costs = token_costs(inputs, job.scenario_name, api)
            yield from ((count, one) for count, one in zip(units, costs, strict=True) if count)


class Entering(NamedTuple):
    """Nodes of an offer that enter service together."""

    offer: SettledOffer
    quarter: int
    """From 0."""
    nodes: int
    ordered: int
    """Nodes of the whole order, at all sites, which decide the price."""
    site: str = ""


class Released(NamedTuple):
    """Nodes of a fleet entry that are sold, or switched off for a quarter, together."""

    entry: FleetEntry
    quarter: int
    """From 0."""
    nodes: int
    sold: bool
    """Whether they are sold rather than switched off."""
    name: str = ""
    """The name of the fleet entry."""


def released_costs(inputs: Inputs, gone: Released) -> tuple[CostStream, ...]:
    """Return what a released node costs beyond being kept, which is mostly negative."""
    sold, off = (gone.quarter, ()) if gone.sold else (None, (gone.quarter,))
    saved = (
        CostStream(one.name, tuple(-cents for cents in one.cents), -one.present_cents)
        for one in owned_costs(inputs, gone.entry)
    )
    return (*owned_costs(inputs, gone.entry, sold, off), *saved)


def portfolio_costs(
    inputs: Inputs, acquired: Iterable[Entering], released: Iterable[Released] = ()
) -> Iterator[tuple[int, CostStream]]:
    """Yield numbers of nodes, and what each of them costs: owned ones and acquired ones.

    For released owned nodes, what they cost beyond being kept: less than nothing.
    """
    for entry in inputs.scenario.fleet.values():
        yield from ((entry.count, stream) for stream in owned_costs(inputs, entry))
    for gone in released:
        yield from ((gone.nodes, stream) for stream in released_costs(inputs, gone))
    for one in acquired:
        streams = node_costs(inputs, one.offer, one.quarter, one.ordered)
        yield from ((one.nodes, stream) for stream in streams)


def present_cents(streams: Iterable[CostStream]) -> int:
    """Return the net present cost of components together."""
    return sum(stream.present_cents for stream in streams)


def spent_cents(inputs: Inputs, cap: SpendCap, components: Iterable[CostStream]) -> int:
    """Return what of these components counts against a budget."""
    labels = inputs.scenario.horizon.labels
    quarters = range(len(labels)) if cap.quarter is None else (labels.index(cap.quarter),)
    return sum(
        one.cents[quarter]
        for one in components
        if one.name not in NOT_PAID
        and (cap.spend == "spending" or (cap.spend == "capex") == (one.name in CAPEX))
        for quarter in quarters
    )


def entry_quarters(inputs: Inputs, offer: SettledOffer) -> tuple[int, ...]:
    """Return the quarters, from 0, in which nodes of an offer may enter service.

    They are ordered the lead time before, or at the end of sale where that comes before it within
    the same quarter, though not before the day of the plan.
    """
    horizon = inputs.scenario.horizon
    return tuple(
        step
        for step, quarter in enumerate(horizon.all_quarters)
        if (offer.available is None or quarter in offer.available)
        and horizon.order_day(quarter, offer.lead_time_weeks, offer.end_of_sale)
    )


def _running(
    inputs: Inputs, node_type: str, served: range, *, on: bool = True
) -> Iterator[CostStream]:
    """Yield energy, while a node is on, and colocation of a node on the buyer's own floor."""
    settings, node = inputs.settings, inputs.catalog.nodes[node_type]
    if on:
        if node.mean_power_kw is None:
            raise ValueError(f"{node_type} has no mean power; inputs are settled only where it has")
        usd = (
            node.mean_power_kw.value
            * settings.pue.value
            * settings.hours_per_quarter.value
            * settings.energy_usd_per_kwh.value
        )
        yield from _each_quarter("energy", usd, served, inputs)
    price, power = inputs.scenario.finance.colocation_usd_per_kw_month, node.max_power_kw
    if price and power is not None:
        usd = price * power.value * _MONTHS_PER_QUARTER
        yield from _each_quarter("colocation", usd, served, inputs)


def _licence(
    inputs: Inputs,
    node_type: str,
    served: range,
    included: str | None,
    share: Decimal = Decimal(1),
) -> Iterator[CostStream]:
    """Yield the licence of a node for a share of each quarter."""
    node = inputs.catalog.nodes[node_type]
    usd = inputs.scenario.finance.licence_usd(node.gpu_type)
    if usd and included is None:
        yield from _each_quarter("licence", usd * node.gpus.value / 4 * share, served, inputs)


def _each_quarter(name: str, usd: Decimal, served: range, inputs: Inputs) -> Iterator[CostStream]:
    yield _stream(inputs, name, ((quarter, quarter, usd) for quarter in served))


def _worth(inputs: Inputs, price: Decimal, quarters: int) -> Decimal:
    """Return what is left of a price after so many quarters in service."""
    cap = inputs.scenario.finance.residual_at_most
    with localcontext(prec=_PRECISION):
        life = 4 * inputs.settings.useful_life_years.value
        left = max(Decimal(0), 1 - Decimal(quarters) / life)
        return price * (left if cap is None else min(left, cap))


def _stream(inputs: Inputs, name: str, paid: Iterable[tuple[int, int, Decimal]]) -> CostStream:
    """Build a component from payments: the quarter it is booked in, that of the payment, USD."""
    rate = inputs.settings.discount_rate_per_year.value
    cents = [0] * inputs.scenario.horizon.quarters
    with localcontext(prec=_PRECISION):
        present = Decimal(0)
        for quarter, when, usd in paid:
            cents[quarter] += in_cents(usd)
            present += usd * _factor(rate, when)
        return CostStream(name, tuple(cents), in_cents(present))


@lru_cache(maxsize=1000)
def _factor(rate_per_year: Decimal, quarters: int) -> Decimal:
    """Return the present value of a dollar that is paid so many quarters from now."""
    with localcontext(prec=_PRECISION):
        return (1 + rate_per_year) ** (Decimal(-quarters) / 4)


def rented_usd_per_hour(candidate: Candidate, catalog: Catalog) -> Decimal | None:
    """Return the hourly cost of all replicas at the lowest listed rent; None without one.

    A partition costs its share of the GPU's memory slices, and so does a share of its memory.
    """
    rents = [
        rent.usd
        for name, rent in catalog.prices.rent.items()
        if catalog.nodes[name].gpu_type == candidate.gpu_type
    ]
    if not rents:
        return None
    share, gpu = Decimal(1), catalog.gpus[candidate.gpu_type]
    if candidate.partition is not None:
        taken = gpu.mig_profiles[candidate.partition].memory_slices
        share = Decimal(taken) / gpu.memory_slices
    elif candidate.shared_mb:
        share = Decimal(candidate.shared_mb) / candidate.gpu_capacity_mb
    return min(rents) * candidate.gpus * candidate.replicas * share


def in_cents(usd: Decimal) -> int:
    """Round to whole cents, half to even."""
    with localcontext(prec=_PRECISION):
        known = (usd * 100).quantize(_KNOWN_CENTS, rounding=ROUND_HALF_EVEN)
        return int(known.quantize(Decimal(1), rounding=ROUND_HALF_EVEN))
