"""Nodes that are owned, bought, rented, reserved or had by the hour, and APIs paid by the token."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from planner.inputs.base import (
    LARGEST_FLEET,
    Count,
    Day,
    Frozen,
    HourPrice,
    Name,
    NodePower,
    NodePrice,
    Number,
    OneOrMoreNames,
    PositiveCount,
    PositiveNumber,
    exactly_one,
    whole,
)
from planner.inputs.scenario.horizon import ByQuarter, CountByQuarter, Quarters
from planner.inputs.scenario.load import Load
from planner.inputs.scenario.quarter import QUARTER_WEEKS, RUN_HOURS, WEEK_HOURS, Quarter
from planner.inputs.scenario.site import SITE_LIMITS, Cooling

OfferKind = Literal["buy", "rent", "reserve", "hourly"]
Term = Annotated[Literal[1, 3], BeforeValidator(whole)]

LONGEST_LEAD_WEEKS = 520
OWN_FIGURES = (*(limit.figure for limit in SITE_LIMITS), "mean_power_kw", "cooling")
"""What a node takes of its site: figures of the catalog that an entry may state itself."""


class Nodes(Frozen):
    """Nodes of one type, with what their rating plate or quote says that one takes of its site."""

    node_type: str
    """Node type id of the catalog."""
    max_power_kw: NodePower | None = None
    """Nameplate of one node; the catalog's if left out."""
    mean_power_kw: NodePower | None = None
    """Mean draw of one node under load, for the energy; the catalog's if left out."""
    rack_units: Annotated[PositiveCount, Field(le=100)] | None = None
    """Height of one node; the catalog's if left out."""
    network_ports: Annotated[PositiveCount, Field(le=1000)] | None = None
    """Switch ports of one node; the catalog's if left out."""
    cooling: Cooling | None = None
    """What cools one node; the catalog's if left out."""


class Sale(Frozen):
    """What owned nodes bring that are sold: a stated price, or what their life leaves of another.

    It is received in the quarter of the sale and widens no budget; what the node would have brought
    right after the horizon is given up by it.
    """

    price_usd: ByQuarter[NodePrice, NodePrice] | None = None
    """What one node brings."""
    paid_usd: NodePrice | None = None
    """In place of `price_usd`: what one node cost new; it brings its residual value, as `finance`
    says."""
    bought: Quarter | None = None
    """With `paid_usd`: the quarter in which the nodes entered service."""
    quarters: Quarters = None
    """Quarters at whose start nodes may leave; any if left out."""
    maximum: Annotated[Count, Field(le=LARGEST_FLEET)] | None = None
    """Nodes sold over the horizon; no limit if left out."""
    quote: Name | None = None
    """Offer of the buyer; a price without one counts as illustrative."""

    _one_price = exactly_one(
        "price_usd",
        "paid_usd",
        told="a sale needs either `price_usd`, what a node brings, or `paid_usd` with `bought`, "
        "what it cost new and when it entered service",
    )

    @model_validator(mode="after")
    def _known_age(self) -> Sale:
        if (self.paid_usd is None) != (self.bought is None):
            raise ValueError("`paid_usd` and `bought` go together: the price new, and since when")
        return self


class FleetEntry(Nodes):
    """Nodes that are owned already."""

    count: Annotated[PositiveCount, Field(le=LARGEST_FLEET)]
    """Nodes owned, until they retire."""
    site: Name = "main"
    """Where they stand; the only site of `sites`, if there is just one."""
    retires: Quarter | None = None
    """First quarter without them; never if left out."""
    licence_included: Name | None = None
    """What shows that their software licence is paid; without it, `finance` says what it costs."""
    support_usd_per_year: NodePrice | None = None
    """Support contract of one node for one year; not counted if left out."""
    may_switch_off: bool = False
    """Whether nodes may be off for whole quarters, without energy and power."""
    support_while_off: Literal["charged", "saved"] = "charged"
    """Whether the support contract goes on while a node is off."""
    sale: Sale | None = None
    """How nodes may be sold; none if left out."""

    @property
    def sites(self) -> tuple[str, ...]:
        """The one site."""
        return (self.site,)

    @property
    def releasable(self) -> bool:
        """Whether the plan may do without nodes: sell them, or switch them off."""
        return self.may_switch_off or self.sale is not None

    @model_validator(mode="after")
    def _support_is_known(self) -> FleetEntry:
        if self.support_while_off == "saved":
            for key in ("support_usd_per_year", "may_switch_off"):
                if not getattr(self, key):
                    raise ValueError(f"`support_while_off: saved` needs `{key}`")
        return self


class PriceBreak(Frozen):
    """A lower price for larger orders."""

    from_nodes: Annotated[PositiveCount, Field(ge=2, le=LARGEST_FLEET)]
    """Nodes of one order from which this price holds."""
    price_usd: NodePrice
    """Price of one node, for all nodes of the order."""


class Offer(Nodes):
    """Nodes that may be had; a price left out is that of the price book."""

    kind: OfferKind
    """`buy`: for good. `rent`: for a quarter, or for `term_weeks`. `reserve`: for `term_years`.
    `hourly`: by the hour, for runs of known length. Always whole nodes."""
    site: OneOrMoreNames = "main"
    """Where the nodes will stand; of several sites, the plan chooses. The only site of `sites`, if
    there is just one."""
    price_usd: NodePrice | None = None
    """Buy only: price of one node; the price book's if left out."""
    price_usd_per_gpu_hour: HourPrice | None = None
    """All but buy: price of one GPU-hour with energy and support, paid for the whole node as long
    as it is held; the price book's, which has none to reserve, if left out."""
    price_breaks: tuple[PriceBreak, ...] = ()
    """Buy only: lower prices for larger orders."""
    term_years: Term | None = None
    """Reserve only, and required: how long a node is held and paid."""
    term_weeks: Annotated[PositiveCount, Field(le=QUARTER_WEEKS)] | None = None
    """Rent only: nodes are held for terms of this many weeks, by runs of known length; a whole
    quarter if left out."""
    minimum_hours: Annotated[PositiveCount, Field(le=RUN_HOURS)] | None = None
    """By the hour only: the least hours that are paid each time; 1 if left out."""
    price_date: Day | None = None
    """Day of the price; an old one draws a warning."""
    quote: Name | None = None
    """Quote or contract; a price without one counts as illustrative."""
    lead_time_weeks: Annotated[Count, Field(le=LONGEST_LEAD_WEEKS)] = 0
    """From the order to service."""
    available: Quarters = None
    """Quarters in which nodes may enter service; all if left out."""
    end_of_sale: Day | None = None
    """Last day of an order."""
    maximum: Annotated[Count, Field(le=LARGEST_FLEET)] | None = None
    """Buy: nodes over the whole horizon. All else: nodes at any one time; no limit if left out."""
    deliveries: CountByQuarter | None = None
    """Buy and reserve: nodes that may enter service in one quarter, at all sites together (by
    quarter: none in those left out); no limit if left out."""
    maximum_gpus: Annotated[Count, Field(le=LARGEST_FLEET)] | None = None
    """By the hour only: GPUs at any one time, of whole nodes; no limit if left out."""
    licence_included: Name | None = None
    """What shows that the price covers the software licence; without it, `finance` says what it
    costs."""

    @property
    def price_key(self) -> Literal["price_usd", "price_usd_per_gpu_hour"]:
        """The key of its price: of one node to buy, else of one GPU for one hour."""
        return "price_usd" if self.kind == "buy" else "price_usd_per_gpu_hour"

    @property
    def stated_price(self) -> Decimal | None:
        """Its price under that key, USD; None where it is left to the price book."""
        return self.price_usd if self.kind == "buy" else self.price_usd_per_gpu_hour

    @property
    def sites(self) -> tuple[str, ...]:
        """Where nodes may stand, sorted."""
        return (self.site,) if isinstance(self.site, str) else tuple(sorted(self.site))

    @property
    def step_hours(self) -> int | None:
        """Hours that are paid as one where a node may come and go within a quarter; else None."""
        if self.kind == "hourly":
            return 1
        return self.term_weeks * WEEK_HOURS if self.term_weeks else None

    @model_validator(mode="after")
    def _breaks_descend(self) -> Offer:
        if not self.price_breaks or self.kind != "buy":
            return self
        if self.price_usd is None:
            raise ValueError("`price_breaks` need `price_usd`, the price below the first of them")
        levels = [(1, self.price_usd), *((b.from_nodes, b.price_usd) for b in self.price_breaks)]
        for (fewer, dearer), (more, cheaper) in pairwise(levels):
            if more <= fewer or cheaper >= dearer:
                raise ValueError(
                    "`price_breaks` go up in `from_nodes` and down in `price_usd`, "
                    f"{more} at {cheaper} does not follow {fewer} at {dearer}"
                )
        return self


_MILLION = 10**6

_LEAST_USD_PER_MILLION = Decimal("0.0001")


def _by_the_million(price: Decimal) -> Decimal:
    if 0 < price < _LEAST_USD_PER_MILLION:
        meant = (price * _MILLION).normalize()
        raise ValueError(
            f"{price:f} is less than anybody asks for a million tokens, write {meant:f} if it is "
            "the price of one"
        )
    return price


TokenPrice = Annotated[Number, Field(ge=0, le=10**5), AfterValidator(_by_the_million)]
"""USD for a million tokens."""


class Api(Frozen):
    """An API that serves one model."""

    model: str
    """Model id of the catalog; the API takes jobs that serve this model without adapters."""
    usd_per_million_input_tokens: TokenPrice
    """Price of a million tokens of prompts."""
    usd_per_million_output_tokens: TokenPrice
    """Price of a million tokens of answers."""
    usd_per_million_cached_tokens: TokenPrice | None = None
    """Price of a million tokens of prompts that its prefix cache holds (`load.cached_input`); as
    other prompts if left out."""
    requests_per_second: PositiveNumber | None = None
    """Rate limit at the peak, of all jobs together; none if left out."""
    available: Quarters = None
    """Quarters in which it can be used; all if left out."""
    price_date: Day | None = None
    """Day of the prices; old ones draw a warning."""
    quote: Name | None = None
    """Contract or price list; prices without one count as illustrative."""

    @model_validator(mode="after")
    def _no_gift(self) -> Api:
        prices = (self.usd_per_million_input_tokens, self.usd_per_million_output_tokens)
        if not any(prices) and self.requests_per_second is None:
            raise ValueError(
                "an API at no price would take all requests: state its price, or its rate limit "
                "(`requests_per_second`)"
            )
        return self

    @model_validator(mode="after")
    def _cached_for_less(self) -> Api:
        fresh, cached = self.usd_per_million_input_tokens, self.usd_per_million_cached_tokens
        if cached is not None and cached > fresh:
            raise ValueError(
                f"tokens that the cache holds cost no more than others: "
                f"`usd_per_million_cached_tokens` ({cached:f}) is above "
                f"`usd_per_million_input_tokens` ({fresh:f})"
            )
        return self

    def usd_per_request(self, load: Load) -> Fraction:
        """What one request of mean length costs, USD."""
        cached = Fraction(load.cached_input) * load.input_tokens
        fresh = self.usd_per_million_input_tokens
        again = self.usd_per_million_cached_tokens
        return (
            (load.input_tokens - cached) * Fraction(fresh)
            + cached * Fraction(fresh if again is None else again)
            + load.output_tokens * Fraction(self.usd_per_million_output_tokens)
        ) / _MILLION
