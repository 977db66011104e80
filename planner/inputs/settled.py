"""Inputs with every figure settled: by the scenario, else by a policy rule or the price book.

Each settled figure remembers where it came from, so that nothing is guessed silently.
"""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import TYPE_CHECKING

from planner.inputs.base import Frozen
from planner.inputs.catalog.catalog import Catalog
from planner.inputs.layers.override import Override
from planner.inputs.reading.locate import InputFile
from planner.inputs.rules.book import RuleBook
from planner.inputs.scenario.offer import OfferKind
from planner.inputs.scenario.quarter import Quarter
from planner.inputs.scenario.scenario import Scenario

if TYPE_CHECKING:
    from pathlib import Path

__all__ = [
    "ChangeNote",
    "Inputs",
    "Options",
    "PriceLevel",
    "Setting",
    "Settings",
    "SettledOffer",
]


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


class ChangeNote(Frozen):
    """One change that was made to the scenario of the files, for people."""

    path: str
    """Dotted."""
    before: str | None
    """As it would be written in a file; None where nothing was stated."""
    after: str | None
    """None where it was deleted."""
    by: str
    """`override price-up` or `--set`."""


class Inputs(Frozen):
    """All that planning needs, nothing else is read afterwards."""

    scenario: Scenario
    catalog: Catalog
    """With the figures of nodes that the scenario states itself."""
    catalog_of_files: Catalog
    """As the catalog's files have it."""
    rules: RuleBook
    settings: Settings
    offers: tuple[SettledOffer, ...]
    """In the scenario's order of names, sorted."""
    files: tuple[InputFile, ...]
    changes: tuple[ChangeNote, ...] = ()
    """In the order in which they were made."""
    question: str = ""
    """The whole scenario as YAML, in an order of its own."""
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
