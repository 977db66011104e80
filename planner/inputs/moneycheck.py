"""Offers that cannot be used, nodes that never serve, and budgets of no quarter planned."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, NamedTuple

from planner.inputs.quarter import Quarter
from planner.inputs.words import own_figure

if TYPE_CHECKING:
    from collections.abc import Iterator

    from planner.inputs.catalog import Catalog
    from planner.inputs.document import Path
    from planner.inputs.scenario import Offer, Scenario

__all__ = ["unusable"]


class _Fault(NamedTuple):
    path: Path
    message: str
    hint: str | None = None
    at_key: bool = False


def unusable(scenario: Scenario, catalog: Catalog) -> Iterator[_Fault]:
    """Find them all; names that the catalog does not know are passed over."""
    for name, offer in scenario.offers.items():
        yield from _window(scenario, ("offers", name), offer)
    for name, entry in scenario.fleet.items():
        if entry.retires is not None and entry.retires <= scenario.horizon.first_quarter:
            yield _Fault(
                ("fleet", name, "retires"),
                f"nodes that retire in {entry.retires} never serve in this horizon",
                "leave the entry out",
            )
    yield from _budget(scenario)
    yield from _colocation(scenario, catalog)
    yield from _licences(scenario, catalog)


def _window(scenario: Scenario, path: Path, offer: Offer) -> Iterator[_Fault]:
    horizon = scenario.horizon
    if offer.available is not None and not any(
        0 <= quarter - horizon.first_quarter < horizon.quarters for quarter in offer.available
    ):
        yield _Fault((*path, "available"), "lies wholly outside the horizon", "leave the offer out")
    if offer.end_of_sale is None:
        return
    as_of = horizon.as_of or horizon.first_quarter.start
    lead = timedelta(weeks=offer.lead_time_weeks)
    if offer.end_of_sale < as_of:
        message = f"{offer.end_of_sale} has passed on the day of the plan, {as_of}"
        yield _Fault((*path, "end_of_sale"), message, "leave the offer out")
    elif horizon.first_quarter.start - lead > offer.end_of_sale:
        first = horizon.first_quarter
        yield _Fault(
            (*path, "end_of_sale"),
            f"what is ordered by {offer.end_of_sale} is delivered before {first}",
            "a node enters service when it is delivered: count it under `fleet:`",
        )


def _budget(scenario: Scenario) -> Iterator[_Fault]:
    horizon = scenario.horizon
    for key in ("capex_usd", "opex_usd", "total_usd"):
        figures = getattr(scenario.budget, key)
        for quarter in figures if isinstance(figures, dict) else ():
            if quarter == "total":
                continue
            if not 0 <= Quarter.parse(quarter) - horizon.first_quarter < horizon.quarters:
                message = f"{quarter} lies outside the horizon"
                yield _Fault(("budget", key, quarter), message, at_key=True)


def _colocation(scenario: Scenario, catalog: Catalog) -> Iterator[_Fault]:
    if not scenario.finance.colocation_usd_per_kw_month:
        return
    named = [(("fleet", name), entry.node_type) for name, entry in scenario.fleet.items()]
    named += [
        (("offers", name), offer.node_type)
        for name, offer in scenario.offers.items()
        if offer.kind == "buy"
    ]
    for path, node_type in named:
        node = catalog.nodes.get(node_type)
        if node is not None and node.max_power_kw is None:
            yield _Fault(
                (*path, "node_type"),
                f"{node_type!r} has no max_power_kw in the catalog, which colocation needs",
                own_figure(node_type, "max_power_kw"),
            )


def _licences(scenario: Scenario, catalog: Catalog) -> Iterator[_Fault]:
    stated = scenario.finance.licence_usd_per_gpu_year
    if not isinstance(stated, dict):
        return
    node_types = {entry.node_type for entry in scenario.fleet.values()}
    node_types |= {offer.node_type for offer in scenario.offers.values()}
    in_play = {catalog.nodes[name].gpu_type for name in node_types if name in catalog.nodes}
    for gpu_type in stated:
        if gpu_type in catalog.gpus and gpu_type not in in_play:
            yield _Fault(
                ("finance", "licence_usd_per_gpu_year", gpu_type),
                f"no node with {gpu_type!r} is owned or offered here",
                f"in play: {', '.join(sorted(in_play))}" if in_play else None,
                at_key=True,
            )
