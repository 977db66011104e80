"""What only shows when the scenario is seen whole and beside the catalog."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from planner.inputs.jobcheck import contradictions
from planner.inputs.moneycheck import unusable
from planner.inputs.quarter import Quarter
from planner.inputs.runningcheck import not_running
from planner.inputs.sitecheck import misplaced
from planner.inputs.spelling import LARGEST_COUNT_PER_QUARTER
from planner.inputs.teamcheck import misassigned
from planner.inputs.words import own_figure

if TYPE_CHECKING:
    from collections.abc import Iterator

    from planner.errors import Finding
    from planner.inputs.catalog import Catalog
    from planner.inputs.document import Document, Path
    from planner.inputs.horizon import Horizon
    from planner.inputs.job import Job
    from planner.inputs.scenario import Scenario

__all__ = ["inconsistencies"]


class _Fault(NamedTuple):
    path: Path
    message: str
    hint: str | None = None
    at_key: bool = False


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
    last = horizon.first_quarter + (horizon.quarters - 1)
    return f"{horizon.first_quarter} to {last}" if horizon.quarters > 1 else str(last)


def _horizon(horizon: Horizon) -> Iterator[_Fault]:
    end = horizon.first_quarter + horizon.quarters
    if horizon.as_of is not None and horizon.as_of >= end.start:
        yield _Fault(
            ("horizon", "as_of"),
            f"{horizon.as_of} lies after the horizon ({_horizon_text(horizon)})",
        )


def _policies(scenario: Scenario, catalog: Catalog) -> Iterator[_Fault]:
    policies = scenario.policies
    for position, gpu_type in enumerate(policies.excluded_gpu_types):
        if gpu_type in (policies.allowed_gpu_types or ()):
            path = ("policies", "excluded_gpu_types", position)
            yield _Fault(path, f"{gpu_type!r} is both allowed and excluded", "keep one of them")
    yield from _growth(scenario, catalog)
    if isinstance(policies.spare_nodes, dict):
        in_play = {owned.node_type for owned in scenario.fleet.values()}
        in_play |= {offer.node_type for offer in scenario.offers.values()}
        for node_type in policies.spare_nodes:
            if node_type not in in_play:
                yield _Fault(
                    ("policies", "spare_nodes", node_type),
                    f"{node_type!r} is neither owned nor offered here",
                    f"in play: {', '.join(sorted(in_play))}" if in_play else None,
                    at_key=True,
                )


def _growth(scenario: Scenario, catalog: Catalog) -> Iterator[_Fault]:
    node_types = {owned.node_type for owned in scenario.fleet.values()}
    node_types |= {offer.node_type for offer in scenario.offers.values()}
    in_play = {catalog.nodes[name].gpu_type for name in node_types if name in catalog.nodes}
    for gpu_type in scenario.policies.growth_reserve:
        if gpu_type in catalog.gpus and gpu_type not in in_play:
            yield _Fault(
                ("policies", "growth_reserve", gpu_type),
                f"{gpu_type!r} is neither owned nor offered here",
                f"in play: {', '.join(sorted(in_play))}" if in_play else None,
                at_key=True,
            )


def _nodes(scenario: Scenario, catalog: Catalog) -> Iterator[_Fault]:
    if not scenario.fleet and not scenario.offers:
        yield _Fault(
            (),
            "nothing is owned and nothing is offered, so nothing can run anywhere",
            "add nodes under `fleet:` or `offers:`",
        )
    named = [
        (("fleet", name, "node_type"), owned.node_type) for name, owned in scenario.fleet.items()
    ]
    named += [
        (("offers", name, "node_type"), offer.node_type) for name, offer in scenario.offers.items()
    ]
    for path, node_type in named:
        node = catalog.nodes.get(node_type)
        if node is not None and node.mean_power_kw is None:
            yield _Fault(
                path,
                f"{node_type!r} has no mean_power_kw in the catalog, "
                "which the cost of energy needs",
                own_figure(node_type, "mean_power_kw"),
            )


def _prices(scenario: Scenario, catalog: Catalog) -> Iterator[_Fault]:
    book = catalog.prices
    for name, offer in scenario.offers.items():
        if offer.node_type not in catalog.nodes:
            continue
        buys = offer.kind == "buy"
        key = "price_usd" if buys else "price_usd_per_gpu_hour"
        own = offer.price_usd if buys else offer.price_usd_per_gpu_hour
        listed = (offer.kind == "buy" and offer.node_type in book.purchase) or (
            offer.kind == "rent" and offer.node_type in book.rent
        )
        if own is None and not listed:
            yield _Fault(
                ("offers", name),
                f"price book {book.header.id!r} has no price to {offer.kind} {offer.node_type!r}",
                f"state `{key}` here",
                at_key=True,
            )
        if offer.price_date is not None and own is None:
            yield _Fault(
                ("offers", name, "price_date"),
                "dates a price that is not stated here",
                f"state `{key}` too, or leave the date to the price book",
            )


def _jobs(scenario: Scenario, catalog: Catalog) -> Iterator[_Fault]:
    for name, job in scenario.jobs.items():
        yield from _activity(name, job, scenario.horizon)
        for found in contradictions(job, catalog):
            yield _Fault(("jobs", name, *found.path), found.message, found.hint)


def _activity(name: str, job: Job, horizon: Horizon) -> Iterator[_Fault]:
    where = _horizon_text(horizon)
    outside = False
    if isinstance(job.count, dict):
        for key in job.count:
            if not 0 <= Quarter.parse(key) - horizon.first_quarter < horizon.quarters:
                outside = True
                yield _Fault(
                    ("jobs", name, "count", key),
                    f"{key} lies outside the horizon ({where})",
                    at_key=True,
                )
    late = [
        str(quarter)
        for quarter in job.quarters or ()
        if not 0 <= quarter - horizon.first_quarter < horizon.quarters
    ]
    if late:
        shown = late[0] if len(late) == 1 else f"{late[0]} to {late[-1]}"
        verb = "lies" if len(late) == 1 else "lie"
        path = ("jobs", name, "quarters")
        yield _Fault(path, f"{shown} {verb} outside the horizon ({where})")
    if outside or late:
        return
    counts = job.counts(horizon)
    if not any(counts):
        yield _Fault(("jobs", name), "is active in no quarter", "delete it, or give it a count")
    for step, count in enumerate(counts):
        if count > LARGEST_COUNT_PER_QUARTER:
            quarter = horizon.first_quarter + step
            message = f"grows to {count:,} in {quarter}, at most {LARGEST_COUNT_PER_QUARTER:,}"
            yield _Fault(("jobs", name, "growth_per_quarter"), message)
            break
