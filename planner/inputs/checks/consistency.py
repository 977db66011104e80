"""What only shows when the scenario is seen whole and beside the catalog."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from planner.inputs.checks.droppable import undroppable
from planner.inputs.checks.faults import (
    Fault,
    entries,
    held_figures,
    known,
    late_figures,
    unknown_reference,
    unstated_figure,
)
from planner.inputs.checks.jobs import contradictions
from planner.inputs.checks.running import not_running
from planner.inputs.checks.sites import misplaced, misstated
from planner.inputs.scenario.finance import TOTAL
from planner.inputs.scenario.job import SERVING_SUFFIX
from planner.inputs.scenario.load import TRAFFIC
from planner.inputs.scenario.offer import FleetEntry
from planner.inputs.scenario.quarter import Quarter
from planner.inputs.scenario.spelling import LARGEST_COUNT_PER_QUARTER
from planner.inputs.scenario.team import ALL_GPU_TYPES, kind_of_quota
from planner.inputs.text.words import did_you_mean, difference, folded

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from planner.errors import Finding
    from planner.inputs.catalog.catalog import Catalog
    from planner.inputs.reading.document import Document, Path
    from planner.inputs.scenario.horizon import Horizon
    from planner.inputs.scenario.job import Job
    from planner.inputs.scenario.offer import Sale
    from planner.inputs.scenario.scenario import Offer, Scenario
    from planner.inputs.scenario.team import Team

__all__ = ["inconsistencies"]


def inconsistencies(document: Document, scenario: Scenario, catalog: Catalog) -> Iterator[Finding]:
    """Find what contradicts itself, the horizon, or the catalog; unknown names are passed over."""
    for fault in known(
        _horizon(scenario),
        _both_allowed_and_excluded(scenario),
        _nodes(scenario, catalog),
        misstated(scenario, catalog),
        _prices(scenario, catalog),
        _offers(scenario),
        _fleet(scenario),
        _budget(scenario),
        _own_floor(scenario, catalog),
        _jobs(scenario, catalog),
        misplaced(scenario, catalog),
        _teams(scenario, catalog),
        not_running(scenario, catalog),
    ):
        yield document.finding(fault.path, fault.message, fault.hint, at_key=fault.at_key)


def _horizon_text(horizon: Horizon) -> str:
    return " to ".join(dict.fromkeys((horizon.labels[0], horizon.labels[-1])))


def _horizon(scenario: Scenario) -> Iterator[Fault]:
    horizon = scenario.horizon
    end = horizon.first_quarter + horizon.quarters
    if horizon.as_of is not None and horizon.as_of >= end.start:
        yield Fault(
            ("horizon", "as_of"),
            f"{horizon.as_of} lies after the horizon ({_horizon_text(horizon)})",
        )


def _both_allowed_and_excluded(scenario: Scenario) -> Iterator[Fault]:
    policies = scenario.policies
    for position, gpu_type in enumerate(policies.excluded_gpu_types):
        if gpu_type in (policies.allowed_gpu_types or ()):
            path = ("policies", "excluded_gpu_types", position)
            yield Fault(path, f"{gpu_type!r} is both allowed and excluded", "keep one of them")


def _nodes(scenario: Scenario, catalog: Catalog) -> Iterator[Fault]:
    if scenario.jobs and not scenario.fleet and not scenario.offers:
        yield Fault(
            (),
            "nothing is owned and nothing is offered, so nothing can run anywhere",
            "add nodes under `fleet:` or `offers:`",
        )
    yield from known(*(_drawn(path, entry, catalog) for path, entry in entries(scenario)))


def _drawn(path: Path, entry: FleetEntry | Offer, catalog: Catalog) -> Iterator[Fault]:
    node = catalog.nodes.get(entry.node_type)
    if node is not None and node.mean_power_kw is None:
        yield unstated_figure(path, entry.node_type, "mean_power_kw", "the cost of energy")


def _prices(scenario: Scenario, catalog: Catalog) -> Iterator[Fault]:
    for name, offer in scenario.offers.items():
        yield from known(
            _unpriced(name, offer, catalog), _dated(name, offer), _no_node(name, offer, catalog)
        )


def _unpriced(name: str, offer: Offer, catalog: Catalog) -> Iterator[Fault]:
    book = catalog.prices
    if offer.node_type not in catalog.nodes or offer.stated_price is not None:
        return
    if book.listed(offer.kind, offer.node_type) is None:
        yield Fault(
            ("offers", name),
            f"price book {book.header.id!r} has no price to {offer.kind} {offer.node_type!r}",
            f"state `{offer.price_key}` here",
            at_key=True,
        )


def _no_node(name: str, offer: Offer, catalog: Catalog) -> Iterator[Fault]:
    node = catalog.nodes.get(offer.node_type)
    if node is None or offer.maximum_gpus is None:
        return
    if 0 < offer.maximum_gpus < node.gpus.value:
        yield Fault(
            ("offers", name, "maximum_gpus"),
            f"{offer.maximum_gpus} GPUs are no whole node: one of {offer.node_type} has "
            f"{node.gpus.value}",
            f"write {node.gpus.value}, or a multiple of it",
        )


def _dated(name: str, offer: Offer) -> Iterator[Fault]:
    if offer.price_date is not None and offer.stated_price is None:
        yield Fault(
            ("offers", name, "price_date"),
            "dates a price that is not stated here",
            f"state `{offer.price_key}` too, or leave the date to the price book",
        )


def _jobs(scenario: Scenario, catalog: Catalog) -> Iterator[Fault]:
    names = {folded(name): name for name in scenario.jobs}
    for name, job in scenario.jobs.items():
        yield from known(
            _activity(name, job, scenario),
            _derived(name, job, names),
            _api(name, job, scenario, catalog),
            undroppable(name, job, scenario),
        )
        for found in contradictions(job, catalog):
            yield found._replace(path=("jobs", name, *found.path))


def _derived(name: str, job: Job, names: Mapping[str, str]) -> Iterator[Fault]:
    """The job that serves a tuned model takes the name of another, or one that looks like it."""
    if job.tune is None or job.tune.deploy is None:
        return
    derived = f"{name}{SERVING_SUFFIX}"
    taken = names.get(folded(derived))
    if taken is not None:
        message = f"derives the job {derived!r}, whose name is taken"
        if taken != derived:
            message += f" by {taken!r}, which differs in {difference(derived, taken)}"
        yield Fault(("jobs", name, "tune", "deploy"), message, "rename one of the two jobs")


def _api(name: str, job: Job, scenario: Scenario, catalog: Catalog) -> Iterator[Fault]:
    """Requests may leave for an API, and none serves the model; an unknown one is passed over."""
    serve = job.serve if job.api == "allowed" and job.load else None
    if serve is None or (serve.model is not None and serve.model not in catalog.models):
        return
    if not scenario.apis_of(name):
        named = serve.model or "a model that is stated by its size"
        yield Fault(
            ("jobs", name, "api"),
            f"no API under `apis:` serves {named}",
            "add one, or leave `api` out",
        )


def _traffic(name: str, job: Job, horizon: Horizon) -> Iterator[Fault]:
    """Traffic of quarters that never come, or none in any quarter."""
    load = job.load
    for key in TRAFFIC if load is not None else ():
        stated = getattr(load, key)
        if not isinstance(stated, dict):
            continue
        path: Path = ("jobs", name, "serve", "load", key)
        late = [*late_figures(path, stated, horizon)]
        yield from late
        if not late and not any(job.peaks(horizon)):
            yield Fault(path, "is no traffic in any quarter of the horizon")


def _activity(name: str, job: Job, scenario: Scenario) -> Iterator[Fault]:
    horizon = scenario.horizon
    where = _horizon_text(horizon)
    path: Path = ("jobs", name, "count")
    after = [*late_figures(path, job.count, horizon)] if isinstance(job.count, dict) else []
    yield from after
    yield from _traffic(name, job, horizon)
    late = [str(quarter) for quarter in job.quarters or () if not horizon.includes(quarter)]
    if late:
        shown = late[0] if len(late) == 1 else f"{late[0]} to {late[-1]}"
        verb = "lies" if len(late) == 1 else "lie"
        path = ("jobs", name, "quarters")
        yield Fault(path, f"{shown} {verb} outside the horizon ({where})")
    if after or late:
        return
    counts = job.counts(horizon)
    if not any(counts):
        yield Fault(("jobs", name), "is active in no quarter", "delete it, or give it a count")
    dated = job.run.quarter if job.run else None
    active = [q for q, count in zip(horizon.all_quarters, counts, strict=True) if count]
    if dated and active and active != [dated]:
        others = ", ".join(str(quarter) for quarter in active if quarter != dated)
        yield Fault(
            ("jobs", name, "run"),
            f"has dates in {dated}, and the job is active in {others or 'no such quarter'}",
            f"write `quarters: {dated}` beside it, or weeks of the quarter in place of dates",
        )
    for quarter, count in zip(horizon.labels, counts, strict=True):
        if count > LARGEST_COUNT_PER_QUARTER:
            message = f"grows to {count:,} in {quarter}, at most {LARGEST_COUNT_PER_QUARTER:,}"
            yield Fault(("jobs", name, "growth_per_quarter"), message)
            break


def _offers(scenario: Scenario) -> Iterator[Fault]:
    for name, offer in scenario.offers.items():
        path = ("offers", name)
        yield from known(_window(scenario, path, offer), _end_of_sale(scenario, path, offer))


def _fleet(scenario: Scenario) -> Iterator[Fault]:
    for name, entry in scenario.fleet.items():
        yield from known(_retired(scenario, ("fleet", name), entry))
        if entry.sale is not None:
            yield from known(_sold(scenario.horizon, ("fleet", name, "sale"), entry.sale))


def _retired(scenario: Scenario, path: Path, entry: FleetEntry) -> Iterator[Fault]:
    if entry.retires is not None and entry.retires <= scenario.horizon.first_quarter:
        yield Fault(
            (*path, "retires"),
            f"nodes that retire in {entry.retires} never serve in this horizon",
            "leave the entry out",
        )


def _sold(horizon: Horizon, path: Path, sale: Sale) -> Iterator[Fault]:
    """Find each sale that is in no quarter, and nodes that were bought after they are there."""
    first = horizon.first_quarter
    after = first + horizon.quarters  # by its price goes what is given up
    chosen = horizon.all_quarters if sale.quarters is None else sale.quarters
    within = [quarter for quarter in chosen if horizon.includes(quarter)]
    if not within:
        message = "lies wholly outside the horizon"
        yield Fault((*path, "quarters"), message, "leave it out to sell in any quarter")
    elif isinstance(sale.price_usd, dict):
        late = [key for key in sale.price_usd if Quarter.parse(key) > after]
        yield from late_figures((*path, "price_usd"), late, horizon)
        begin = min(map(Quarter.parse, sale.price_usd))
        if max(within) < begin <= after:
            message = f"says nothing of {max(within)}: a price holds from its quarter on"
            hint = f"state a price for {min(within)} as well"
            yield Fault((*path, "price_usd"), message, hint)
    if sale.bought is not None and sale.bought > first:
        message = f"{sale.bought} lies after {first}, from which on the nodes are owned"
        yield Fault((*path, "bought"), message, "write the quarter in which they entered service")


def _window(scenario: Scenario, path: Path, offer: Offer) -> Iterator[Fault]:
    if offer.available is not None and not any(map(scenario.horizon.includes, offer.available)):
        yield Fault((*path, "available"), "lies wholly outside the horizon", "leave the offer out")
    if isinstance(offer.deliveries, dict):
        quarters = map(Quarter.parse, offer.deliveries)
        if not any(map(scenario.horizon.includes, quarters)):
            message = "names no quarter of the horizon"
            yield Fault((*path, "deliveries"), message, "leave the offer out")


def _end_of_sale(scenario: Scenario, path: Path, offer: Offer) -> Iterator[Fault]:
    horizon = scenario.horizon
    if offer.end_of_sale is None:
        return
    as_of = horizon.earliest_order
    lead = timedelta(weeks=offer.lead_time_weeks)
    if offer.end_of_sale < as_of:
        message = f"{offer.end_of_sale} has passed on the day of the plan, {as_of}"
        yield Fault((*path, "end_of_sale"), message, "leave the offer out")
    elif horizon.first_quarter.start - lead > offer.end_of_sale:
        first = horizon.first_quarter
        yield Fault(
            (*path, "end_of_sale"),
            f"what is ordered by {offer.end_of_sale} is delivered before {first}",
            "a node enters service when it is delivered: count it under `fleet:`",
        )


def _budget(scenario: Scenario) -> Iterator[Fault]:
    for key in ("capex_usd", "opex_usd", "total_usd"):
        yield from known(_outside(scenario, key))


def _outside(scenario: Scenario, key: str) -> Iterator[Fault]:
    figures = getattr(scenario.budget, key)
    for quarter in figures if isinstance(figures, dict) else ():
        if quarter != TOTAL and not scenario.horizon.includes(Quarter.parse(quarter)):
            message = f"{quarter} lies outside the horizon"
            yield Fault(("budget", key, quarter), message, at_key=True)


def _own_floor(scenario: Scenario, catalog: Catalog) -> Iterator[Fault]:
    """Nodes on the buyer's own floor that lack what a price of `finance` goes by."""
    finance = scenario.finance
    asked = []
    if finance.colocation_usd_per_kw_month:
        asked.append(("max_power_kw", "colocation", True))
    if finance.network_usd_per_port:
        asked.append(("network_ports", "what the network costs", False))
    for figure, what, owned in asked:
        for path, entry in entries(scenario):
            yield from known(_lacking(path, entry, catalog, figure, what, owned=owned))


def _lacking(
    path: Path, entry: FleetEntry | Offer, catalog: Catalog, figure: str, what: str, *, owned: bool
) -> Iterator[Fault]:
    node = catalog.nodes.get(entry.node_type)
    meant = owned if isinstance(entry, FleetEntry) else entry.kind == "buy"
    if meant and node is not None and getattr(node, figure) is None:
        yield unstated_figure(path, entry.node_type, figure, what)


def _teams(scenario: Scenario, catalog: Catalog) -> Iterator[Fault]:
    """Find all of these; without `teams`, a job's team is a name alone and any will do."""
    for name, job in scenario.jobs.items():
        yield from known(_unlisted(scenario, ("jobs", name, "team"), job))
    for name, team in scenario.teams.items():
        yield from known(_quota(scenario, catalog, ("teams", name, "quota_gpus"), team))


def _unlisted(scenario: Scenario, path: Path, job: Job) -> Iterator[Fault]:
    teams = sorted(scenario.teams)
    if teams and job.team is not None and job.team not in teams:
        hint = did_you_mean(job.team, teams, 3) or f"known: {', '.join(teams)}"
        yield Fault(path, f"unknown team {job.team!r}", hint)


def _quota(scenario: Scenario, catalog: Catalog, path: Path, team: Team) -> Iterator[Fault]:
    stated = team.quota_gpus
    if not isinstance(stated, dict):
        return
    if kind_of_quota(stated) == "by quarter":
        yield from held_figures(path, stated, scenario.horizon)
        return
    for key, figure in stated.items():
        if key != ALL_GPU_TYPES:
            yield from known(_gpu_type(catalog, (*path, key), key))
        if isinstance(figure, dict):
            yield from held_figures((*path, key), figure, scenario.horizon)


def _gpu_type(catalog: Catalog, path: Path, name: str) -> Iterator[Fault]:
    if name not in catalog.gpus:
        message, hint = unknown_reference("GPU type", name, catalog.gpus, catalog)
        yield Fault(path, message, hint, at_key=True)
