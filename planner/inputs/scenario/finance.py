"""What things cost besides their price, and how much may be spent when."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import ROUND_FLOOR, Decimal
from typing import Annotated, Literal, NamedTuple

from pydantic import AfterValidator, Field, Tag

from planner.inputs.base import Frozen, NotNegative, Number, PositiveNumber, Share
from planner.inputs.scenario.spelling import ONE_OR_BY_KEY, quarter_key

TOTAL = "total"
"""The key that caps the whole horizon, beside its quarters."""


def _quarter_or_total(key: str) -> str:
    return key if key == TOTAL else quarter_key(key)


FigureByGpuType = Annotated[
    Annotated[NotNegative, Tag("one figure")] | Annotated[dict[str, NotNegative], Tag("by key")],
    ONE_OR_BY_KEY,
]
"""One figure for all GPU types, or figures by GPU type; one that is left out has none."""

FigureByQuarter = Annotated[
    Annotated[NotNegative, Tag("one figure")]
    | Annotated[
        dict[Annotated[str, AfterValidator(_quarter_or_total)], NotNegative],
        Field(min_length=1),
        Tag("by key"),
    ],
    ONE_OR_BY_KEY,
]
"""One figure for the whole horizon, or by quarter; `total` beside quarters is the whole again."""


class Finance(Frozen):
    """Parameters of the cost; one left out takes a policy rule's value, as an assumption."""

    discount_rate_per_year: Annotated[Share, Field(ge=0, le=10)] | None = None
    """Rate at which later money counts less; rule `policies/discount-rate` if left out."""
    useful_life_years: PositiveNumber | None = None
    """Straight-line life, which sets the residual value; rule `policies/useful-life` if left
    out."""
    support_share_per_year: Annotated[Share, Field(ge=0, le=1)] | None = None
    """Yearly support of bought nodes as a share of the price; rule `policies/support` if left
    out."""
    energy_usd_per_kwh: NotNegative | None = None
    """Price of electricity; rule `policies/energy-price` if left out."""
    pue: Annotated[Number, Field(ge=1, le=5)] | None = None
    """Power usage effectiveness: facility power over computer power; rule `policies/pue` if left
    out."""
    licence_usd_per_gpu_year: FigureByGpuType | None = None
    """Software licence of one GPU: one figure, or by GPU type; none if left out."""
    colocation_usd_per_kw_month: NotNegative | None = None
    """Charge for one kW of nameplate power of owned and bought nodes; none if left out."""
    network_usd_per_port: NotNegative | None = None
    """Transceivers, cable and share of the switches for one port of a bought node, paid with it and
    worth nothing afterwards; none if left out."""
    residual_at_most: Annotated[Share, Field(ge=0, le=1)] | None = None
    """Largest share of its price that a bought node is worth at the end of the horizon; what its
    useful life leaves if left out."""
    optimism_bias: Annotated[Share, Field(ge=0, le=10)] | None = None
    """Share by which purchases tend to turn out dearer than planned, as the UK Green Book asks for;
    shown as an adjusted figure beside the plan's, which it does not change; none if left out."""
    commitments: Literal["shown", "charged"] = "shown"
    """Reservations after the horizon: `shown` beside the plan, or `charged` as a cost of it."""

    def licence_usd(self, gpu_type: str) -> Decimal:
        """What the licence of one GPU costs for one year; 0 where none is stated."""
        stated = self.licence_usd_per_gpu_year
        if isinstance(stated, dict):
            return stated.get(gpu_type, Decimal(0))
        return Decimal(0) if stated is None else stated


Spend = Literal["capex", "opex", "spending"]
"""Purchases; everything else that is paid; both."""


class SpendCap(NamedTuple):
    """One budget: at most so much of one kind of money, of one quarter or of the horizon."""

    spend: Spend
    quarter: str | None
    """None: the whole horizon."""
    cents: int

    @property
    def name(self) -> str:
        """`capex of 2027Q2`, `spending in total`."""
        return f"{self.spend} of {self.quarter}" if self.quarter else f"{self.spend} in total"


class Budget(Frozen):
    """What may be paid, not discounted; what is left out is not limited."""

    capex_usd: FigureByQuarter | None = None
    """Purchases: one figure for the horizon, or by quarter, with `total` for the whole."""
    opex_usd: FigureByQuarter | None = None
    """Rents, reservations, support, energy, licences and colocation, those of owned nodes too;
    likewise."""
    total_usd: FigureByQuarter | None = None
    """Both together, likewise."""

    def caps(self) -> Iterator[SpendCap]:
        """Every budget by itself: capex, opex, both; by quarter, then the whole horizon."""
        stated: tuple[tuple[Spend, Decimal | dict[str, Decimal] | None], ...] = (
            ("capex", self.capex_usd),
            ("opex", self.opex_usd),
            ("spending", self.total_usd),
        )
        for spend, figures in stated:
            by_key = figures if isinstance(figures, dict) else {TOTAL: figures}
            for key in sorted(by_key, key=lambda key: (key == TOTAL, key)):
                usd = by_key[key]
                if usd is not None:
                    yield SpendCap(spend, None if key == TOTAL else key, _cents(usd))


def _cents(usd: Decimal) -> int:
    """Whole cents, never more than stated."""
    return int((usd * 100).to_integral_value(ROUND_FLOOR))
