"""Checks of a whole scenario together with the catalog: the table of all checks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import timedelta
from typing import Any

from planner.errors import Finding
from planner.inputs.base import LARGEST_COUNT_PER_QUARTER, NotKnown
from planner.inputs.catalog.catalog import Catalog
from planner.inputs.checks.faults import (
    Fault,
    Whole,
    fault_of_name,
    held_figures,
    known,
    late_figures,
    unstated_figure,
)
from planner.inputs.checks.jobs import contradictions, nothing_to_keep, running
from planner.inputs.checks.sites import (
    figures_by_quarter,
    job_places,
    misstated,
    node_sites,
    site_needs,
    spare_groups,
    taken_already,
)
from planner.inputs.reading.document import Path, YamlDocument
from planner.inputs.scenario.horizon import Horizon
from planner.inputs.scenario.job import SERVING_SUFFIX, Job
from planner.inputs.scenario.load import TRAFFIC
from planner.inputs.scenario.offer import LONGEST_LEAD_WEEKS, Api, FleetEntry, Offer, OfferKind
from planner.inputs.scenario.quarter import Quarter
from planner.inputs.scenario.scenario import (
    ALL_GPU_TYPES,
    TOTAL,
    ResolvedScenario,
    Team,
    kind_of_quota,
)
from planner.inputs.text import did_you_mean, difference, folded, one_of

_Check = Callable[[Whole], Iterator[Fault]]
_CheckOfEntry = Callable[[Whole, Path, Any], Iterator[Fault]]


def inconsistencies(
    document: YamlDocument, scenario: ResolvedScenario, catalog: Catalog
) -> Iterator[Finding]:
    """Find everything that contradicts itself, the horizon or the catalog.

    Unknown names are passed over.
    """
    whole = Whole(scenario, catalog)
    of_entries = (_of_entries(whole, section, checks) for section, checks in _OF_ENTRIES.items())
    for fault in known(*(check(whole) for check in _OF_ALL), *of_entries):
        yield fault.finding(document)


def _of_entries(whole: Whole, section: str, checks: tuple[_CheckOfEntry, ...]) -> Iterator[Fault]:
    for name, entry in getattr(whole.scenario, section).items():
        yield from known(*(check(whole, (section, name), entry) for check in checks))


def _horizon_text(horizon: Horizon) -> str:
    return " to ".join(dict.fromkeys((horizon.labels[0], horizon.labels[-1])))


def _horizon(whole: Whole) -> Iterator[Fault]:
    horizon = whole.scenario.horizon
    begins, end = horizon.first_quarter.start, horizon.first_quarter + horizon.quarters
    path = ("horizon", "as_of")
    if horizon.as_of is not None and horizon.as_of >= end.start:
        yield Fault(path, f"{horizon.as_of} lies after the horizon ({_horizon_text(horizon)})")
    if horizon.as_of is not None and begins - horizon.as_of > timedelta(weeks=LONGEST_LEAD_WEEKS):
        message = (
            f"{horizon.as_of} lies more than {LONGEST_LEAD_WEEKS} weeks, the longest lead time, "
            f"before {horizon.first_quarter}"
        )
        yield Fault(path, message)


def _both_allowed_and_excluded(whole: Whole) -> Iterator[Fault]:
    policies = whole.scenario.policies
    for position, gpu_type in enumerate(policies.excluded_gpu_types):
        if gpu_type in (policies.allowed_gpu_types or ()):
            path = ("policies", "excluded_gpu_types", position)
            yield Fault(path, f"{gpu_type!r} is both allowed and excluded", "keep one of them")


def _nothing_to_run_on(whole: Whole) -> Iterator[Fault]:
    scenario = whole.scenario
    if scenario.jobs and not scenario.fleet and not scenario.offers:
        yield Fault(
            (),
            "nothing is owned and nothing is offered, so nothing can run anywhere",
            "add nodes under `fleet:` or `offers:`",
        )


def _budget(whole: Whole) -> Iterator[Fault]:
    for key in ("capex_usd", "opex_usd", "total_usd"):
        with suppress(NotKnown):
            figures = getattr(whole.scenario.budget, key)
            for quarter in figures if isinstance(figures, dict) else ():
                if quarter != TOTAL and not whole.scenario.horizon.includes(Quarter.parse(quarter)):
                    message = f"{quarter} lies outside the horizon"
                    yield Fault(("budget", key, quarter), message, at_key=True)


def _unstated(whole: Whole, path: Path, entry: FleetEntry | Offer) -> Iterator[Fault]:
    """Find figures that a node type lacks and that a cost of its nodes depends on."""
    node, finance = whole.catalog.nodes.get(entry.node_type), whole.scenario.finance
    if node is None:
        return
    bought = isinstance(entry, Offer) and entry.kind == "buy"
    on_own_floor = bought or isinstance(entry, FleetEntry)
    if node.mean_power_kw is None:
        yield unstated_figure(path, entry.node_type, "mean_power_kw", "the cost of energy")
    if node.max_power_kw is None and on_own_floor and finance.colocation_usd_per_kw_month:
        yield unstated_figure(path, entry.node_type, "max_power_kw", "colocation")
    if node.network_ports is None and bought and finance.network_usd_per_port:
        yield unstated_figure(path, entry.node_type, "network_ports", "what the network costs")


_OF_KINDS: dict[str, tuple[OfferKind, ...]] = {
    "price_usd": ("buy",),
    "price_usd_per_gpu_hour": ("rent", "reserve", "hourly"),
    "price_breaks": ("buy",),
    "term_years": ("reserve",),
    "term_weeks": ("rent",),
    "minimum_hours": ("hourly",),
    "maximum_gpus": ("hourly",),
    "deliveries": ("buy", "reserve"),
}
"""Keys that only offers of some kinds have."""


def _of_its_kind(_: Whole, path: Path, offer: Offer) -> Iterator[Fault]:
    """Find keys that offers of this kind do not have, and a missing term of a reservation."""
    for key, kinds in _OF_KINDS.items():
        with suppress(NotKnown):
            if getattr(offer, key) not in (None, ()) and offer.kind not in kinds:
                price = key in ("price_usd", "price_usd_per_gpu_hour")
                hint = f"state `{offer.price_key}` in its place" if price else "leave it out"
                meant = one_of([f"`kind: {kind}`" for kind in kinds])
                message = f"goes with {meant}, not with `{offer.kind}`"
                yield Fault((*path, key), message, hint, at_key=True)
    if offer.kind == "reserve" and offer.term_years is None:
        yield Fault(path, "an offer to reserve needs `term_years`, 1 or 3", at_key=True)


def _unpriced(whole: Whole, path: Path, offer: Offer) -> Iterator[Fault]:
    book = whole.catalog.prices
    if offer.node_type not in whole.catalog.nodes or offer.stated_price is not None:
        return
    if book.listed(offer.kind, offer.node_type) is None:
        yield Fault(
            path,
            f"price book {book.header.id!r} has no price to {offer.kind} {offer.node_type!r}",
            f"state `{offer.price_key}` here",
            at_key=True,
        )


def _dated(whole: Whole, path: Path, offer: Offer) -> Iterator[Fault]:
    yield from _priced_later(whole, path, offer)
    if offer.price_date is not None and offer.stated_price is None:
        yield Fault(
            (*path, "price_date"),
            "dates a price that is not stated here",
            f"state `{offer.price_key}` too, or leave the date to the price book",
        )


def _priced_later(whole: Whole, path: Path, priced: Offer | Api) -> Iterator[Fault]:
    horizon = whole.scenario.horizon
    if priced.price_date and priced.price_date >= (horizon.first_quarter + horizon.quarters).start:
        message = f"{priced.price_date} lies after the horizon ({_horizon_text(horizon)})"
        yield Fault((*path, "price_date"), message, "write the day on which the price was asked")


def _no_node(whole: Whole, path: Path, offer: Offer) -> Iterator[Fault]:
    node = whole.catalog.nodes.get(offer.node_type)
    if node is None or offer.maximum_gpus is None:
        return
    if 0 < offer.maximum_gpus < node.gpus.value:
        yield Fault(
            (*path, "maximum_gpus"),
            f"{offer.maximum_gpus} GPUs are no whole node: one of {offer.node_type} has "
            f"{node.gpus.value}",
            f"write {node.gpus.value}, or a multiple of it",
        )


def _window(whole: Whole, path: Path, offer: Offer) -> Iterator[Fault]:
    includes = whole.scenario.horizon.includes
    if offer.available is not None and not any(map(includes, offer.available)):
        yield Fault((*path, "available"), "lies wholly outside the horizon", "leave the offer out")
    deliveries = offer.deliveries
    if isinstance(deliveries, dict) and not any(map(includes, map(Quarter.parse, deliveries))):
        message = "names no quarter of the horizon"
        yield Fault((*path, "deliveries"), message, "leave the offer out")


def _end_of_sale(whole: Whole, path: Path, offer: Offer) -> Iterator[Fault]:
    horizon = whole.scenario.horizon
    if offer.end_of_sale is None:
        return
    as_of, first = horizon.earliest_order, horizon.first_quarter
    if offer.end_of_sale < as_of:
        message = f"{offer.end_of_sale} has passed on the day of the plan, {as_of}"
        yield Fault((*path, "end_of_sale"), message, "leave the offer out")
    elif (
        horizon.order_day(first.start - timedelta(weeks=offer.lead_time_weeks)) > offer.end_of_sale
    ):
        yield Fault(
            (*path, "end_of_sale"),
            f"what is ordered by {offer.end_of_sale} is delivered before {first}",
            "a node enters service when it is delivered: count it under `fleet:`",
        )


def _retired(whole: Whole, path: Path, entry: FleetEntry) -> Iterator[Fault]:
    if entry.retires is not None and entry.retires <= whole.scenario.horizon.first_quarter:
        yield Fault(
            (*path, "retires"),
            f"nodes that retire in {entry.retires} never serve in this horizon",
            "leave the entry out",
        )


def _sold(whole: Whole, path: Path, entry: FleetEntry) -> Iterator[Fault]:
    """Find sales in no quarter, and nodes that were bought after they are there."""
    sale, horizon = entry.sale, whole.scenario.horizon
    if sale is None:
        return
    path = (*path, "sale")
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


def _traffic(whole: Whole, path: Path, job: Job) -> Iterator[Fault]:
    """Find traffic of quarters that never come, or none in any quarter."""
    load, horizon = job.load, whole.scenario.horizon
    for key in TRAFFIC if load is not None else ():
        stated = getattr(load, key)
        if not isinstance(stated, dict):
            continue
        at = (*path, "serve", "load", key)
        late = [*late_figures(at, stated, horizon)]
        yield from late
        if not late and not any(job.peaks(horizon)):
            yield Fault(at, "is no traffic in any quarter of the horizon")


_MOST_PER_SECOND = 1_000_000
"""The most requests of one endpoint per second: more were counted by another unit of time."""


def _too_much(whole: Whole, path: Path, job: Job) -> Iterator[Fault]:
    load, horizon = job.load, whole.scenario.horizon
    peaks = job.peaks(horizon)
    most = max(peaks, default=0)
    if load is not None and most > _MOST_PER_SECOND:
        grown = peaks[0] <= _MOST_PER_SECOND and load.growth_per_quarter is not None
        stated = (key for key in TRAFFIC if getattr(load, key) is not None)
        yield Fault(
            (*path, "serve", "load", "growth_per_quarter" if grown else next(stated)),
            f"makes {float(most):,.0f} requests a second in {horizon.labels[peaks.index(most)]} "
            f"at the peak, at most {_MOST_PER_SECOND:,} are planned for",
        )


def _activity(whole: Whole, path: Path, job: Job) -> Iterator[Fault]:
    horizon = whole.scenario.horizon
    counts_by_quarter = job.count if isinstance(job.count, dict) else {}
    after = [*late_figures((*path, "count"), counts_by_quarter, horizon)]
    yield from after
    yield from _traffic(whole, path, job)
    late = [str(quarter) for quarter in job.quarters or () if not horizon.includes(quarter)]
    if late:
        shown = late[0] if len(late) == 1 else f"{late[0]} to {late[-1]}"
        verb = "lies" if len(late) == 1 else "lie"
        message = f"{shown} {verb} outside the horizon ({_horizon_text(horizon)})"
        yield Fault((*path, "quarters"), message)
    if after or late:
        return
    counts = job.counts(horizon)
    if not any(counts):
        yield Fault(path, "is active in no quarter", "delete it, or give it a count")
    dated = job.run.quarter if job.run else None
    active = [q for q, count in zip(horizon.all_quarters, counts, strict=True) if count]
    if dated and active and active != [dated]:
        others = ", ".join(str(quarter) for quarter in active if quarter != dated)
        yield Fault(
            (*path, "run"),
            f"has dates in {dated}, and the job is active in {others or 'no such quarter'}",
            f"write `quarters: {dated}` beside it, or weeks of the quarter in place of dates",
        )
    for quarter, count in zip(horizon.labels, counts, strict=True):
        if count > LARGEST_COUNT_PER_QUARTER:
            message = f"grows to {count:,} in {quarter}, at most {LARGEST_COUNT_PER_QUARTER:,}"
            yield Fault((*path, "growth_per_quarter"), message)
            break


def _derived(whole: Whole) -> Iterator[Fault]:
    """Find jobs that serve a tuned model under another job's name, or one that looks like it."""
    names = {folded(name): name for name in whole.scenario.jobs}
    for name, job in whole.scenario.jobs.items():
        with suppress(NotKnown):
            derived = f"{name}{SERVING_SUFFIX}" if job.tune and job.tune.deploy else ""
            if derived and (taken := names.get(folded(derived))):
                message = f"derives the job {derived!r}, whose name is taken"
                if taken != derived:
                    message += f" by {taken!r}, which differs in {difference(derived, taken)}"
                yield Fault(("jobs", name, "tune", "deploy"), message, "rename one of the two jobs")


def _api(whole: Whole, path: Path, job: Job) -> Iterator[Fault]:
    """Find jobs that may use an API although none serves the model.

    Unknown ones are passed over.
    """
    serve = job.serve if job.api == "allowed" and job.load else None
    models = {serve and serve.model, *(api.model for api in whole.scenario.apis.values())} - {None}
    if serve is None or models - whole.catalog.models.keys():
        return
    if not whole.scenario.apis_of(str(path[1])):
        named = serve.model or "a model that is stated by its size"
        message = f"no API under `apis:` serves {named}"
        yield Fault((*path, "api"), message, "add one, or leave `api` out")


def _undroppable(whole: Whole, path: Path, job: Job) -> Iterator[Fault]:
    """Find what contradicts `droppable`, one thing at a time."""
    if job.droppable is None:
        return
    path = (*path, "droppable")
    most = max(job.units(whole.scenario.horizon), default=0)
    if whole.scenario.policies.shortage == "refuse":
        told = "nothing is dropped: `policies.shortage` is `refuse`"
        yield Fault(path, told, "leave it out, or write `policies: {shortage: drop}`")
    elif job.required:
        told = "a required job is kept whole"
        yield Fault(path, told, "leave it out, or require what must run as a job of its own")
    elif job.tune is not None and job.tune.deploy is not None:
        told = "the job is kept whole with the deployment that is derived from it"
        yield Fault(path, told, "leave it out, or serve the model by a job of its own")
    elif job.load:
        told = "replicas that follow from a load depend on the GPU type, so they are not counted"
        yield Fault(path, told, "leave it out, or state `replicas` in place of `load`")
    elif job.droppable != "all" and job.droppable > most > 0:
        told = f"{job.droppable:,} are more than the job has in any quarter ({most:,})"
        yield Fault(path, told, f"write {most}, or `all`")


def _contradictions(whole: Whole, path: Path, job: Job) -> Iterator[Fault]:
    yield from (one.below(*path) for one in contradictions(job, whole.catalog))


def _unlisted(whole: Whole, path: Path, job: Job) -> Iterator[Fault]:
    """Find teams that are not listed; without `teams`, any name will do."""
    teams = sorted(whole.scenario.teams)
    if teams and job.team is not None and job.team not in teams:
        hint = did_you_mean(job.team, teams, 3) or f"known: {', '.join(teams)}"
        yield Fault((*path, "team"), f"unknown team {job.team!r}", hint)


def _quota(whole: Whole, path: Path, team: Team) -> Iterator[Fault]:
    stated, path = team.quota_gpus, (*path, "quota_gpus")
    if not isinstance(stated, dict):
        return
    if kind_of_quota(stated) == "by quarter":
        yield from held_figures(path, stated, whole.scenario.horizon)
        return
    for key, figure in stated.items():
        with suppress(NotKnown):
            if key != ALL_GPU_TYPES and (fault := fault_of_name("GPU type", key, whole.catalog)):
                message, hint = fault
                hint = did_you_mean(key, (ALL_GPU_TYPES,)) or hint
                yield Fault((*path, key), message, hint, at_key=True)
        if isinstance(figure, dict):
            yield from held_figures((*path, key), figure, whole.scenario.horizon)


_OF_ALL: tuple[_Check, ...] = (
    *(_horizon, _both_allowed_and_excluded, _nothing_to_run_on, _budget, misstated),
    *(_derived, running, nothing_to_keep),
)
_OF_NODES: tuple[_CheckOfEntry, ...] = (_unstated, node_sites, site_needs)
_OF_ENTRIES: dict[str, tuple[_CheckOfEntry, ...]] = {
    "fleet": (*_OF_NODES, _retired, _sold),
    "offers": (*_OF_NODES, _of_its_kind, _unpriced, _dated, _no_node, _window, _end_of_sale),
    "jobs": (_activity, _too_much, _api, _undroppable, _contradictions, job_places, _unlisted),
    "apis": (_priced_later,),
    "teams": (_quota,),
    "sites": (figures_by_quarter, taken_already, spare_groups),
}
"""Checks of each entry of a section."""
