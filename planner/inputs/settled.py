"""Inputs with every figure settled: by the scenario, else by a policy rule or the price book.

Each settled figure remembers where it came from, so that nothing is guessed silently.
"""

from __future__ import annotations

from datetime import date
from decimal import ROUND_HALF_EVEN, Context, Decimal
from pathlib import Path
from typing import Any

from planner.errors import Finding, refuse
from planner.inputs.base import Frozen, SourcedFigure
from planner.inputs.catalog.catalog import Catalog
from planner.inputs.checks.faults import entries
from planner.inputs.measured import MeasuredRuns
from planner.inputs.override import AppliedChange, Override
from planner.inputs.reading.document import dotted
from planner.inputs.reading.locate import InputFile
from planner.inputs.rules.book import RuleBook
from planner.inputs.rules.facts import SETTINGS
from planner.inputs.scenario.horizon import Horizon
from planner.inputs.scenario.offer import OWN_FIGURES, Offer, OfferKind
from planner.inputs.scenario.quarter import Quarter
from planner.inputs.scenario.scenario import Finance, Policies, ResolvedScenario


class Setting(Frozen):
    """One parameter with its origin."""

    value: Decimal
    unit: str
    origin: str
    """`scenario` or `rule <id>`."""
    assumed: bool
    """True where the scenario is silent and a policy rule spoke."""


class Settings(Frozen):
    """Every parameter of cost and policy."""

    headroom: Setting
    """Share of GPU memory."""
    run_utilization: Setting
    """Share of the hours that a run holds its GPUs."""
    discount_rate_per_year: Setting
    useful_life_years: Setting
    support_share_per_year: Setting
    energy_usd_per_kwh: Setting
    pue: Setting
    hours_per_quarter: Setting


class PriceLevel(Frozen):
    """What one node costs in an order of so many or more, all of them."""

    from_nodes: int
    unit_price_usd: Decimal
    price_text: str


class SettledOffer(Frozen):
    """An offer with its price settled."""

    name: str
    node_type: str
    sites: tuple[str, ...]
    """Where its nodes may stand, sorted: all of them share its maximum and its price levels."""
    kind: OfferKind
    unit_price_usd: Decimal
    """Buy: one node. Rent and reserve: one node for one quarter. By the hour or by the week: one
    node for `step_hours`."""
    price_text: str
    """The price as offered: `$325,000 per node`, `$4.14 per GPU-hour`."""
    price_origin: str
    """Quote reference, or price book id and its source."""
    price_date: str | None
    """ISO date."""
    illustrative: bool
    lead_time_weeks: int
    maximum: int | None
    deliveries: tuple[int, ...] | None = None
    """Nodes that may enter service in each quarter of the horizon; None: any number."""
    levels: tuple[PriceLevel, ...] = ()
    """Prices of larger orders, fewest nodes first."""
    term_quarters: int | None = None
    """Reserve: quarters that a node is held and paid."""
    step_hours: int | None = None
    """By the hour or by the week: hours that are paid as one; None: a node is had for quarters."""
    minimum_hours: int = 1
    """By the hour or by the week: what a node is paid for at the least each time it is had."""
    available: tuple[Quarter, ...] | None = None
    """Quarters in which nodes may enter service; None: any."""
    end_of_sale: date | None = None
    """Last day of an order."""
    licence_included: str | None = None
    """What shows that the price covers the licence."""

    def level(self, nodes: int) -> PriceLevel:
        """The price of each node in an order of so many."""
        reached = (level for level in reversed(self.levels) if level.from_nodes <= nodes)
        base = PriceLevel(
            from_nodes=1, unit_price_usd=self.unit_price_usd, price_text=self.price_text
        )
        return next(reached, base)


class Options(Frozen):
    """What was asked for beside the scenario's own file, as it was written."""

    variations: tuple[str, ...] = ()
    """Overrides and scenarios, in order."""
    settings: tuple[Override, ...] = ()
    """In order."""
    catalog: tuple[str, ...] = ()
    """Files and folders."""
    rules: tuple[str, ...] = ()
    """The same."""


class Inputs(Frozen):
    """All that planning needs, nothing else is read afterwards."""

    scenario: ResolvedScenario
    catalog: Catalog
    """With the figures of nodes that the scenario states itself."""
    catalog_of_files: Catalog
    """As the catalog's files have it."""
    rules: RuleBook
    measured: MeasuredRuns = ()
    """Runs of the user that predictions are held against."""
    settings: Settings
    offers: tuple[SettledOffer, ...]
    """In the scenario's order of names, sorted."""
    files: tuple[InputFile, ...]
    changes: tuple[AppliedChange, ...] = ()
    """In the order in which they were made."""
    question: str = ""
    """The whole scenario as YAML, in an order of its own."""
    since_earlier: tuple[tuple[str, str], ...] = ()
    """What the scenario seems to have missed of an earlier plan, which says what runs today:
    sentences, and the sections of the scenario that they are about."""
    options: Options = Options()

    @property
    def read_from(self) -> tuple[Path, ...]:
        """Where the files lie that no output may overwrite."""
        return tuple(file.location for file in self.files if file.location)

    @property
    def gpu_types_in_play(self) -> tuple[str, ...]:
        """GPU types of the nodes that are owned or offered, sorted."""
        nodes = (self.catalog.nodes[name] for name in self.scenario.node_types_in_play)
        return tuple(sorted({node.gpu_type for node in nodes}))


_CENT = Decimal("0.01")
_EXACT = Context(prec=100)


def settled_catalog(scenario: ResolvedScenario, catalog: Catalog) -> Catalog:
    """Give node types the figures that a fleet entry or an offer states of them.

    All nodes of a type are alike, so the first entry that states a figure speaks for all;
    another check makes sure that no other contradicts it.
    """
    own: dict[str, dict[str, SourcedFigure[Any]]] = {}
    for path, entry in entries(scenario):
        for key in OWN_FIGURES:
            stated = getattr(entry, key)
            if stated is not None and entry.node_type in catalog.nodes:
                figures = own.setdefault(entry.node_type, {})
                source = f"{dotted(path)} of the scenario"
                figures.setdefault(key, SourcedFigure(value=stated, source=source, basis="stated"))
    nodes = {name: catalog.nodes[name].model_copy(update=own[name]) for name in own}
    return catalog.model_copy(update={"nodes": {**catalog.nodes, **nodes}}) if nodes else catalog


def settled_settings(
    rules: RuleBook, policies: Policies | None = None, finance: Finance | None = None
) -> Settings:
    """Take each setting from the scenario, else from the policy rule that gives it.

    Raises InputError naming every setting that neither gives.
    """
    stated: dict[str, Decimal | None] = {**dict(finance or Finance())}
    policies = policies or Policies()
    stated |= {"headroom": policies.headroom, "run_utilization": policies.run_utilization}
    settings: dict[str, Setting] = {}
    findings: list[Finding] = []
    for name in Settings.model_fields:
        value, origin, assumed = stated.get(name), "scenario", False
        if value is None:
            try:
                value, origin, assumed = rules.figure(name), f"rule {rules.setting(name).id}", True
            except KeyError:
                hint = f"give the rule that set it its `sets: {name}` again"
                findings.append(Finding(f"no policy rule sets {name}", hint=hint))
                continue
        unit = SETTINGS[name].unit
        settings[name] = Setting(value=value, unit=unit, origin=origin, assumed=assumed)
    refuse(findings)
    return Settings(**settings)


def settled_offers(
    scenario: ResolvedScenario, catalog: Catalog, settings: Settings
) -> tuple[SettledOffer, ...]:
    """Give each offer its price, sorted by name; an offer without any is a KeyError here."""
    hours = settings.hours_per_quarter.value
    return tuple(
        _settled_offer(name, scenario.offers[name], catalog, hours, scenario.horizon)
        for name in sorted(scenario.offers)
    )


def _settled_offer(
    name: str, offer: Offer, catalog: Catalog, hours: Decimal, horizon: Horizon
) -> SettledOffer:
    own = offer.stated_price
    if own is None:
        price, origin, priced_on, illustrative = _listed_price(offer, catalog)
    else:
        price, priced_on, illustrative = own, offer.price_date, offer.quote is None
        origin = f"quote {offer.quote}" if offer.quote else "scenario, without a quote"
    if offer.kind == "buy":
        unit, text = price, f"${_money(price)} per node"
    else:
        gpus = catalog.nodes[offer.node_type].gpus.value
        each = hours if offer.step_hours is None else Decimal(offer.step_hours)
        unit = _EXACT.multiply(_EXACT.multiply(price, gpus), each)
        text = f"${_money(price)} per GPU-hour"
    most = [] if offer.maximum is None else [offer.maximum]
    if offer.maximum_gpus is not None:
        most.append(offer.maximum_gpus // catalog.nodes[offer.node_type].gpus.value)
    return SettledOffer(
        name=name,
        node_type=offer.node_type,
        sites=offer.sites,
        kind=offer.kind,
        unit_price_usd=unit.quantize(_CENT, ROUND_HALF_EVEN, _EXACT),
        price_text=text,
        price_origin=origin,
        price_date=priced_on.isoformat() if priced_on else None,
        illustrative=illustrative,
        lead_time_weeks=offer.lead_time_weeks,
        maximum=min(most, default=None),
        deliveries=_deliveries(offer, horizon),
        levels=tuple(
            PriceLevel(
                from_nodes=level.from_nodes,
                unit_price_usd=level.price_usd.quantize(_CENT, ROUND_HALF_EVEN, _EXACT),
                price_text=f"${_money(level.price_usd)} per node from {level.from_nodes} nodes on",
            )
            for level in offer.price_breaks
        ),
        term_quarters=None if offer.term_years is None else 4 * offer.term_years,
        step_hours=offer.step_hours,
        minimum_hours=offer.minimum_hours or offer.step_hours or 1,
        available=offer.available,
        end_of_sale=offer.end_of_sale,
        licence_included=offer.licence_included,
    )


def _deliveries(offer: Offer, horizon: Horizon) -> tuple[int, ...] | None:
    stated = offer.deliveries
    if isinstance(stated, dict):
        return tuple(stated.get(label, 0) for label in horizon.labels)
    return None if stated is None else (stated,) * horizon.quarters


def _listed_price(offer: Offer, catalog: Catalog) -> tuple[Decimal, str, date | None, bool]:
    """Return price, origin, date and whether it is illustrative, from the price book."""
    book = catalog.prices
    listed = book.listed(offer.kind, offer.node_type)
    if listed is None:
        raise KeyError(offer.node_type)
    origin = f"price book {book.header.id}: {catalog.source_text(listed.source)}"
    return listed.usd, origin, listed.date, book.header.illustrative


def _money(price: Decimal) -> str:
    """Format money as offered, never rounded: `325,000`, `4.14`, `2.267`."""
    text = f"{price.normalize(_EXACT):,f}"
    whole, _, fraction = text.partition(".")
    return f"{whole}.{fraction:0<2}" if fraction else whole
