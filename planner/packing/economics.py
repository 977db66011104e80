"""What one node costs over the horizon, component by component, in whole cents.

Purchase is paid when the node enters service, support, energy and rent at the start of each quarter
in service, and the residual value returns at the end of the horizon. A quarter's discount factor is
(1 + yearly rate)^(-1/4). Each quarter's amount, and the present value of each component, is rounded
once, half to even.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, Decimal, localcontext
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from planner.inputs.settled import Inputs, Settings, SettledOffer

__all__ = ["CostStream", "node_costs", "owned_costs"]

_PRECISION = 50


@dataclass(frozen=True, slots=True)
class CostStream:
    """One component of one node's cost."""

    name: str
    """`purchase`, `residual value`, `support`, `energy` or `rent`."""
    cents: tuple[int, ...]
    """By quarter, not discounted; the residual value stands in the last quarter."""
    present_cents: int


def node_costs(inputs: Inputs, offer: SettledOffer, quarter: int) -> tuple[CostStream, ...]:
    """Costs of one node of an offer that enters service in a quarter, from 0; rent: for it only."""
    settings, horizon = inputs.settings, inputs.scenario.horizon.quarters
    price = offer.unit_price_usd
    if offer.kind == "rent":
        return (_stream("rent", {quarter: price}, settings, horizon),)
    served = range(quarter, horizon)
    support = price * settings.support_share_per_year.value / 4
    return (
        _stream("purchase", {quarter: price}, settings, horizon),
        _residual(price, quarter, settings, horizon),
        _stream("support", dict.fromkeys(served, support), settings, horizon),
        _stream(
            "energy", dict.fromkeys(served, _energy_usd(inputs, offer.node_type)), settings, horizon
        ),
    )


def owned_costs(inputs: Inputs, node_type: str) -> tuple[CostStream, ...]:
    """Costs of one owned node over the horizon: its energy."""
    horizon = inputs.scenario.horizon.quarters
    energy = dict.fromkeys(range(horizon), _energy_usd(inputs, node_type))
    return (_stream("energy", energy, inputs.settings, horizon),)


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
        present = value * _factor(settings, horizon)
        cents = [0] * (horizon - 1) + [_cents(value)]
        return CostStream("residual value", tuple(cents), _cents(present))


def _stream(name: str, usd: dict[int, Decimal], settings: Settings, horizon: int) -> CostStream:
    """A component from its amount by quarter."""
    with localcontext() as context:
        context.prec = _PRECISION
        present = sum(
            (amount * _factor(settings, quarter) for quarter, amount in usd.items()), Decimal(0)
        )
        cents = tuple(_cents(usd.get(quarter, Decimal(0))) for quarter in range(horizon))
        return CostStream(name, cents, _cents(present))


def _factor(settings: Settings, quarters: int) -> Decimal:
    return (1 + settings.discount_rate_per_year.value) ** (Decimal(-quarters) / 4)


def _cents(usd: Decimal) -> int:
    return int((usd * 100).quantize(Decimal(1), rounding=ROUND_HALF_EVEN))
