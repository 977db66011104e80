"""What one node costs over the horizon, component by component, in whole cents; and one change.

Purchase is paid when the node enters service, all else at the start of each quarter in service, and
the residual value returns at the end of the horizon. What a reservation costs after the horizon is
left out, as is what the node does then. A quarter's discount factor is (1 + yearly rate)^(-1/4).
Each quarter's amount, and the present value of each component, is rounded once, half to even:
roots are known to some forty digits, so that 10^-20 of a cent off half a cent is taken for half.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, Decimal, localcontext
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from planner.inputs.scenario.scenario import FleetEntry
    from planner.inputs.settled import Inputs, Settings, SettledOffer

__all__ = ["CAPEX", "NOT_PAID", "PRICED", "CostStream", "change_costs", "node_costs", "owned_costs"]

CAPEX = "purchase"
"""The one component that is capital expenditure."""
NOT_PAID = "residual value"
"""The one component that nobody pays or is paid: a worth in the books."""
PRICED = (CAPEX, NOT_PAID, "support", "rent", "reservation")
"""Components that move with the price of the offer."""

_PRECISION = 50
_KNOWN_CENTS = Decimal("1e-20")
"""Far above what a root is off by, and far below what anybody pays."""
_MONTHS_PER_QUARTER = 3


@dataclass(frozen=True, slots=True)
class CostStream:
    """One component of one node's cost."""

    name: str
    """As the cost lines of a plan are named."""
    cents: tuple[int, ...]
    """By quarter, not discounted; the residual value stands in the last quarter."""
    present_cents: int


def node_costs(
    inputs: Inputs, offer: SettledOffer, quarter: int, nodes: int = 1
) -> tuple[CostStream, ...]:
    """Costs of one node that enters service in a quarter, from 0, in an order of so many nodes.

    Rent: of that quarter alone. By the hour or by the week: of what is paid as one.
    """
    settings, horizon = inputs.settings, inputs.scenario.horizon.quarters
    price = offer.level(nodes).unit_price_usd
    if offer.kind == "buy":
        served = range(quarter, horizon)
        return (
            _stream("purchase", {quarter: price}, settings, horizon),
            _residual(price, quarter, settings, horizon),
            *_each_quarter("support", _support_usd(price, settings), served, inputs),
            *_running(inputs, offer.node_type, served),
            *_licence(inputs, offer.node_type, served, offer.licence_included),
        )
    held = range(quarter, min(quarter + (offer.term_quarters or 1), horizon))
    name = "reservation" if offer.kind == "reserve" else "rent"
    share = (offer.step_hours or 0) / settings.hours_per_quarter.value or Decimal(1)
    return (
        *_each_quarter(name, price, held, inputs),
        *_licence(inputs, offer.node_type, held, offer.licence_included, share),
    )


def owned_costs(inputs: Inputs, entry: FleetEntry) -> tuple[CostStream, ...]:
    """Costs of one owned node while it is in service: energy, and licence and colocation if any."""
    horizon = inputs.scenario.horizon
    end = horizon.quarters
    if entry.retires is not None:
        end = min(end, entry.retires - horizon.first_quarter)
    served = range(end)
    return (
        *_running(inputs, entry.node_type, served),
        *_licence(inputs, entry.node_type, served, entry.licence_included),
    )


def change_costs(inputs: Inputs, job: str, quarter: int) -> CostStream:
    """What it costs if one unit of a job changes its GPU type at the start of a quarter, from 0."""
    usd = inputs.scenario.gpu_type_change_usd(job)
    horizon = inputs.scenario.horizon.quarters
    return _stream("type changes", {quarter: usd}, inputs.settings, horizon)


def _running(inputs: Inputs, node_type: str, served: range) -> Iterator[CostStream]:
    """Energy and colocation of a node on the buyer's own floor."""
    yield from _each_quarter("energy", _energy_usd(inputs, node_type), served, inputs)
    price = inputs.scenario.finance.colocation_usd_per_kw_month
    power = inputs.catalog.nodes[node_type].max_power_kw
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
    """The licence of a node for a share of each quarter."""
    node = inputs.catalog.nodes[node_type]
    usd = inputs.scenario.finance.licence_usd(node.gpu_type)
    if usd and included is None:
        yield from _each_quarter("licence", usd * node.gpus.value / 4 * share, served, inputs)


def _each_quarter(name: str, usd: Decimal, served: range, inputs: Inputs) -> Iterator[CostStream]:
    horizon = inputs.scenario.horizon.quarters
    yield _stream(name, dict.fromkeys(served, usd), inputs.settings, horizon)


def _support_usd(price: Decimal, settings: Settings) -> Decimal:
    return price * settings.support_share_per_year.value / 4


def _energy_usd(inputs: Inputs, node_type: str) -> Decimal:
    power = inputs.catalog.nodes[node_type].mean_power_kw
    if power is None:
        raise ValueError(f"{node_type} has no mean power; inputs are settled only where it has")
    settings = inputs.settings
    return (
        power.value
        * settings.pue.value
        * settings.hours_per_quarter.value
        * settings.energy_usd_per_kwh.value
    )


def _residual(price: Decimal, quarter: int, settings: Settings, horizon: int) -> CostStream:
    with localcontext() as context:
        context.prec = _PRECISION
        served = Decimal(horizon - quarter)
        left = max(Decimal(0), 1 - served / (4 * settings.useful_life_years.value))
        value = -price * left
        present = value * _factor(settings.discount_rate_per_year.value, horizon)
        cents = [0] * (horizon - 1) + [_cents(value)]
        return CostStream("residual value", tuple(cents), _cents(present))


def _stream(name: str, usd: dict[int, Decimal], settings: Settings, horizon: int) -> CostStream:
    """A component from its amount by quarter."""
    with localcontext() as context:
        context.prec = _PRECISION
        rate = settings.discount_rate_per_year.value
        present = sum(
            (amount * _factor(rate, quarter) for quarter, amount in usd.items()), Decimal(0)
        )
        cents = tuple(_cents(usd.get(quarter, Decimal(0))) for quarter in range(horizon))
        return CostStream(name, cents, _cents(present))


@lru_cache(maxsize=1000)
def _factor(rate_per_year: Decimal, quarters: int) -> Decimal:
    """What a dollar is worth now that is paid so many quarters from now."""
    with localcontext() as context:
        context.prec = _PRECISION
        return (1 + rate_per_year) ** (Decimal(-quarters) / 4)


def _cents(usd: Decimal) -> int:
    known = (usd * 100).quantize(_KNOWN_CENTS, rounding=ROUND_HALF_EVEN)
    return int(known.quantize(Decimal(1), rounding=ROUND_HALF_EVEN))
