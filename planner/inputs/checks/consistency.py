"""What only shows when the scenario is seen whole and beside the catalog."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.inputs.checks.faults import Fault, entries, not_in_play, unstated_figure
from planner.inputs.checks.jobs import contradictions
from planner.inputs.checks.money import unusable
from planner.inputs.checks.running import not_running
from planner.inputs.checks.sites import misplaced
from planner.inputs.checks.teams import misassigned
from planner.inputs.scenario.quarter import Quarter
from planner.inputs.scenario.spelling import LARGEST_COUNT_PER_QUARTER

if TYPE_CHECKING:
    from collections.abc import Iterator

    from planner.errors import Finding
    from planner.inputs.catalog.catalog import Catalog
    from planner.inputs.reading.document import Document
    from planner.inputs.scenario.horizon import Horizon
    from planner.inputs.scenario.job import Job
    from planner.inputs.scenario.scenario import Scenario

__all__ = ["inconsistencies"]


def inconsistencies(document: Document, scenario: Scenario, catalog: Catalog) -> Iterator[Finding]:
    """Find what contradicts itself, the horizon, or the catalog; unknown names are passed over."""
    for faults in (
        _horizon(scenario.horizon),
        _policies(scenario, catalog),
        _nodes(scenario, catalog),
        _prices(scenario, catalog),
        unusable(scenario, catalog),
        _jobs(scenario, catalog),
        misplaced(scenario, catalog),
        misassigned(scenario, catalog),
        not_running(scenario, catalog),
    ):
        for fault in faults:
            yield document.finding(fault.path, fault.message, fault.hint, at_key=fault.at_key)


def _horizon_text(horizon: Horizon) -> str:
    return " to ".join(dict.fromkeys((horizon.labels[0], horizon.labels[-1])))


def _horizon(horizon: Horizon) -> Iterator[Fault]:
    end = horizon.first_quarter + horizon.quarters
    if horizon.as_of is not None and horizon.as_of >= end.start:
        yield Fault(
            ("horizon", "as_of"),
            f"{horizon.as_of} lies after the horizon ({_horizon_text(horizon)})",
        )


def _policies(scenario: Scenario, catalog: Catalog) -> Iterator[Fault]:
    policies = scenario.policies
    for position, gpu_type in enumerate(policies.excluded_gpu_types):
        if gpu_type in (policies.allowed_gpu_types or ()):
            path = ("policies", "excluded_gpu_types", position)
            yield Fault(path, f"{gpu_type!r} is both allowed and excluded", "keep one of them")
    for gpu_type in policies.growth_reserve:
        at = ("policies", "growth_reserve", gpu_type)
        yield from not_in_play(at, gpu_type, scenario, catalog)
    if isinstance(policies.spare_nodes, dict):
        in_play = scenario.node_types_in_play
        for node_type in policies.spare_nodes:
            if node_type not in in_play:
                yield Fault(
                    ("policies", "spare_nodes", node_type),
                    f"{node_type!r} is neither owned nor offered here",
                    f"in play: {', '.join(in_play)}" if in_play else None,
                    at_key=True,
                )


def _nodes(scenario: Scenario, catalog: Catalog) -> Iterator[Fault]:
    if not scenario.fleet and not scenario.offers:
        yield Fault(
            (),
            "nothing is owned and nothing is offered, so nothing can run anywhere",
            "add nodes under `fleet:` or `offers:`",
        )
    for path, entry in entries(scenario):
        node = catalog.nodes.get(entry.node_type)
        if node is not None and node.mean_power_kw is None:
            yield unstated_figure(path, entry.node_type, "mean_power_kw", "the cost of energy")


def _prices(scenario: Scenario, catalog: Catalog) -> Iterator[Fault]:
    book = catalog.prices
    for name, offer in scenario.offers.items():
        if offer.node_type not in catalog.nodes:
            continue
        own, key = offer.stated_price, offer.price_key
        if own is None and book.listed(offer.kind, offer.node_type) is None:
            yield Fault(
                ("offers", name),
                f"price book {book.header.id!r} has no price to {offer.kind} {offer.node_type!r}",
                f"state `{key}` here",
                at_key=True,
            )
        if offer.price_date is not None and own is None:
            yield Fault(
                ("offers", name, "price_date"),
                "dates a price that is not stated here",
                f"state `{key}` too, or leave the date to the price book",
            )


def _jobs(scenario: Scenario, catalog: Catalog) -> Iterator[Fault]:
    for name, job in scenario.jobs.items():
        yield from _activity(name, job, scenario.horizon)
        for found in contradictions(job, catalog):
            yield found._replace(path=("jobs", name, *found.path))


def _activity(name: str, job: Job, horizon: Horizon) -> Iterator[Fault]:
    where = _horizon_text(horizon)
    outside = False
    if isinstance(job.count, dict):
        for key in job.count:
            if not horizon.includes(Quarter.parse(key)):
                outside = True
                yield Fault(
                    ("jobs", name, "count", key),
                    f"{key} lies outside the horizon ({where})",
                    at_key=True,
                )
    late = [str(quarter) for quarter in job.quarters or () if not horizon.includes(quarter)]
    if late:
        shown = late[0] if len(late) == 1 else f"{late[0]} to {late[-1]}"
        verb = "lies" if len(late) == 1 else "lie"
        path = ("jobs", name, "quarters")
        yield Fault(path, f"{shown} {verb} outside the horizon ({where})")
    if outside or late:
        return
    counts = job.counts(horizon)
    if not any(counts):
        yield Fault(("jobs", name), "is active in no quarter", "delete it, or give it a count")
    for quarter, count in zip(horizon.labels, counts, strict=True):
        if count > LARGEST_COUNT_PER_QUARTER:
            message = f"grows to {count:,} in {quarter}, at most {LARGEST_COUNT_PER_QUARTER:,}"
            yield Fault(("jobs", name, "growth_per_quarter"), message)
            break
