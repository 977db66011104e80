"""What a reader must know before trusting a plan."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING

from planner.inputs.checks.faults import entries
from planner.inputs.checks.sites import cooled_by
from planner.inputs.reading.document import dotted
from planner.inputs.scenario.offer import OWN_FIGURES
from planner.inputs.scenario.places import node_places, place_of, pool_places
from planner.inputs.scenario.site import POWER, limits_told
from planner.inputs.text.words import count_of
from planner.packing.solution import Status
from planner.packing.statement.facility import spare_nodes
from planner.plan.annotations.doubtful import unit_slips, unlikely_figures
from planner.plan.annotations.provenance import rules_used
from planner.plan.figures.costs import acquired_cents, colocation_text, licence_text
from planner.plan.figures.shares import most_saved
from planner.plan.plan import Note
from planner.plan.words import amount, some_of, usd
from planner.sizing.sizer import LENGTH_UNKNOWN

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from decimal import Decimal

    from planner.inputs.base import Figure
    from planner.inputs.scenario.scenario import FleetEntry
    from planner.inputs.settled import Inputs, SettledOffer
    from planner.packing.solution import Solution
    from planner.plan.plan import Acquisition, CostLine, Node, NodeUse, PlannedJob
    from planner.sizing.candidate import SizedJob, Sizing

__all__ = [
    "assumption_notes",
    "dear_spares",
    "no_spare",
    "running_assumptions",
    "running_warnings",
    "warning_notes",
    "without_room",
]

_JOBS_NAMED = 3
_HELD_NAMED = 12


def warning_notes(
    inputs: Inputs,
    jobs: tuple[SizedJob, ...],
    solution: Solution,
    planned: tuple[PlannedJob, ...],
    nodes: tuple[Node, ...],
    placements: tuple[tuple[NodeUse, ...], ...],
    bought: tuple[Acquisition, ...],
    costs: tuple[CostLine, ...],
) -> tuple[Note, ...]:
    """Warnings, those that decide about money first."""
    return (
        *_not_proved(solution),
        *_retiring(inputs),
        *_committed(bought),
        *dear_spares(inputs, nodes, placements, bought),
        *_of_unknown_length(jobs, solution, planned),
        *_illustrative(inputs),
        *unit_slips(inputs, nodes, costs),
        *unlikely_figures(inputs),
        *_silent_rules(inputs, jobs),
        *running_warnings(inputs, jobs),
        *_idle_though_owned(inputs, jobs, planned, nodes, placements, bought),
        *no_spare(inputs, nodes, placements),
        *_from_sizing(jobs, _other_warnings),
    )


def assumption_notes(inputs: Inputs, jobs: tuple[SizedJob, ...]) -> tuple[Note, ...]:
    """Everything that the scenario leaves open and a rule, a figure or the method fills in."""
    return (
        *_settings(inputs),
        *_lead_times(inputs),
        *_waived(inputs),
        *_catalog_figures(inputs),
        *_own_figures(inputs),
        *_uncooled(inputs),
        *_owned_support(inputs),
        *running_assumptions(inputs),
        *_beside_the_price(inputs),
        *_from_sizing(jobs, lambda sizing: sizing.assumptions),
    )


def _not_proved(solution: Solution) -> Iterator[Note]:
    if solution.status is Status.NOT_PROVED:
        left = solution.cost_cents - solution.bound_cents
        yield Note(
            text=(
                "not proved: a limit was hit; a cheaper plan may exist, cheaper by at most "
                f"{usd(left)} ({solution.gap:.3%})"
            ),
            origin="solver",
        )


def _retiring(inputs: Inputs) -> Iterator[Note]:
    horizon = inputs.scenario.horizon
    for name, entry in sorted(inputs.scenario.fleet.items()):
        if entry.retires is not None and entry.retires - horizon.first_quarter < horizon.quarters:
            retire, are = ("retires", "it is") if entry.count == 1 else ("retire", "they are")
            yield Note(
                text=f"{count_of(entry.count, 'owned node')} of {name} ({entry.node_type} @ "
                f"{entry.site}) {retire}: from {entry.retires} on {are} no longer in service",
                origin=f"fleet.{name}",
            )


def _of_unknown_length(
    jobs: tuple[SizedJob, ...], solution: Solution, planned: tuple[PlannedJob, ...]
) -> Iterator[Note]:
    """Tuning jobs that hold GPUs all quarter for want of a length, and what one could save."""
    held = {job.name for job in jobs if any(job.units) and LENGTH_UNKNOWN in job.sizing.warnings}
    if not held:
        return
    tags = sum(job.tag_cents for job in planned if job.name in held)
    worth = "would save nothing here"
    if saved := most_saved(solution, tags):
        theirs = "their price tags come" if len(held) > 1 else "its price tag comes"
        worth = f"could save up to {usd(saved)} ({theirs} to {usd(tags)}, but nodes come whole)"
    yield Note(
        text="the length of a run is not stated, so GPUs are held all quarter by "
        f"{some_of(sorted(held), _HELD_NAMED)}: stating `tune.dataset_tokens` or `run.hours` "
        f"{worth}",
        origin="rules/time/planned-hours",
    )


def _other_warnings(sizing: Sizing) -> tuple[str, ...]:
    return tuple(text for text in sizing.warnings if text != LENGTH_UNKNOWN)


def _committed(bought: tuple[Acquisition, ...]) -> Iterator[Note]:
    cents = sum(line.committed_cents for line in bought)
    if cents:
        yield Note(
            text=f"reservations commit to {usd(cents)} after the horizon, which no cost of this "
            "plan holds: like the residual value of a purchase, it is for what the nodes do then",
            origin="offers",
        )


def _illustrative(inputs: Inputs) -> Iterator[Note]:
    book = inputs.catalog.prices.header
    concerned = [offer for offer in inputs.offers if offer.illustrative]
    from_book = [offer for offer in concerned if _from_book(inputs, offer)]
    own = [offer for offer in concerned if not _from_book(inputs, offer)]
    if from_book:
        yield Note(text=f"{book.notice} Offers concerned: {_prices(from_book)}", origin=book.id)
    if own:
        yield Note(
            text=f"no quote stands behind these prices, they are illustrative: {_prices(own)}",
            origin="scenario",
        )


def _from_book(inputs: Inputs, offer: SettledOffer) -> bool:
    return inputs.scenario.offers[offer.name].stated_price is None


def _prices(offers: Iterable[SettledOffer]) -> str:
    return ", ".join(f"{offer.name} ({offer.price_text})" for offer in offers)


def _silent_rules(inputs: Inputs, jobs: tuple[SizedJob, ...]) -> Iterator[Note]:
    """Rules of the user's that matched nothing: each may hold a slip that reads like a rule."""
    if not inputs.rules.own:
        return
    heard = {rule.id for rule in rules_used(inputs, jobs)}
    for rule in sorted(inputs.rules.own - heard):
        yield Note(text=f"your rule {rule} applied to no job here", origin=f"rule {rule}")


def _idle_though_owned(
    inputs: Inputs,
    jobs: tuple[SizedJob, ...],
    planned: tuple[PlannedJob, ...],
    nodes: tuple[Node, ...],
    placements: tuple[tuple[NodeUse, ...], ...],
    bought: tuple[Acquisition, ...],
) -> Iterator[Note]:
    """Owned nodes that run nothing beside acquired ones, since some job keeps its GPU type."""
    if not bought:
        return
    keeps = {job.name: job.sites for job in jobs if job.keeps_gpu_type}
    busy = {use.node for uses in placements for use in uses}
    spare = without_room(inputs, nodes)
    idle: dict[tuple[str, str, str], int] = Counter(
        (node.node_type, node.site, node.gpu_type)
        for node in nodes
        if node.origin == "owned"
        and node.id not in busy
        and (node.node_type, node.site) not in spare
    )
    for (node_type, site, gpu_type), count in sorted(idle.items()):
        shut_out = [
            job.name
            for job in planned
            if job.name in keeps
            and (not keeps[job.name] or site in keeps[job.name])
            and sum(map(bool, job.units)) > 1
            and any(
                one.gpu_type == gpu_type and one.extra_cents is None for one in job.alternatives
            )
        ]
        if shut_out:
            yield Note(
                text=f"nothing runs on {count_of(count, 'owned node')} of {node_type} @ {site}, "
                f"while others are acquired: {_names(shut_out)} could, but not in every quarter, "
                "and each unit keeps its GPU type; may_change_gpu_type lets it change",
                origin="policies.may_change_gpu_type",
            )


def _settings(inputs: Inputs) -> Iterator[Note]:
    for name in type(inputs.settings).model_fields:
        setting = getattr(inputs.settings, name)
        if setting.assumed:
            text = f"{name} = {amount(setting.value, setting.unit)} ({setting.origin})"
            yield Note(text=text, origin=setting.origin)


def _lead_times(inputs: Inputs) -> Iterator[Note]:
    silent = sorted(
        name
        for name, offer in inputs.scenario.offers.items()
        if "lead_time_weeks" not in offer.model_fields_set
    )
    if silent:
        yield Note(
            text="no lead time is stated, so nodes count as in service on the day of the order: "
            f"{', '.join(silent)}",
            origin="offers",
        )


def _waived(inputs: Inputs) -> Iterator[Note]:
    for rule, reason in sorted(inputs.scenario.policies.waived_rules.items()):
        yield Note(text=f"rule {rule} is waived: {reason}", origin="policies.waived_rules")


def _catalog_figures(inputs: Inputs) -> Iterator[Note]:
    """Figures of nodes in play that no one published for that node."""
    for node_type in inputs.scenario.node_types_in_play:
        for name, unit, figure in _figures_used(inputs, node_type):
            if figure is not None and figure.basis in ("estimate", "assumption"):
                article = "an" if figure.basis[0] in "ae" else "a"
                note = f": {figure.note}" if figure.note else ""
                yield Note(
                    text=f"{node_type}: {name} = {amount(figure.value, unit)} is {article} "
                    f"{figure.basis}{note}",
                    origin=f"catalog {node_type}",
                )


def _own_figures(inputs: Inputs) -> Iterator[Note]:
    """Figures that one entry states of its nodes, and that others of the type take over."""
    asked = [(dotted(path), entry) for path, entry in entries(inputs.scenario)]
    for node_type in inputs.scenario.node_types_in_play:
        alike = [(origin, entry) for origin, entry in asked if entry.node_type == node_type]
        for key in OWN_FIGURES:
            stated = [(origin, own) for origin, e in alike if (own := getattr(e, key)) is not None]
            silent = sorted(origin for origin, e in alike if getattr(e, key) is None)
            if stated and silent:
                first, value = min(stated)
                yield Note(
                    text=f"{', '.join(silent)}: {key} = {value} as {first} states it, since all "
                    f"{node_type} are alike",
                    origin=first,
                )


def _figures_used(
    inputs: Inputs, node_type: str
) -> Iterator[tuple[str, str, Figure[int] | Figure[Decimal] | None]]:
    node = inputs.catalog.nodes[node_type]
    yield "cpu_cores", "cores", node.cpu_cores
    yield "host_memory_gb", "GB", node.host_memory_gb
    yield "mean_power_kw", "kW", node.mean_power_kw
    sites = [
        inputs.scenario.sites[site]
        for _, entry in _entries(inputs)
        for site in entry.sites
        if entry.node_type == node_type and site in inputs.scenario.sites
    ]
    told = limits_told({limit.need for site in sites for limit in site.limits}) if sites else ()
    if not sites and inputs.scenario.finance.colocation_usd_per_kw_month:
        told = (POWER,)
    for limit in told:
        yield limit.figure, limit.stated_in, getattr(node, limit.figure)


def _entries(inputs: Inputs) -> Iterator[tuple[str, FleetEntry | SettledOffer]]:
    for name, entry in sorted(inputs.scenario.fleet.items()):
        yield f"fleet.{name}", entry
    for offer in inputs.offers:
        yield f"offers.{offer.name}", offer


def _uncooled(inputs: Inputs) -> Iterator[Note]:
    """Nodes that need liquid at a site that does not say how it cools."""
    for origin, entry in _entries(inputs):
        if cooled_by(inputs.catalog.nodes[entry.node_type]) != frozenset({"liquid"}):
            continue
        for name in entry.sites:
            site = inputs.scenario.sites.get(name)
            if site is not None and site.cooling is None:
                yield Note(
                    text=f"{entry.node_type} needs liquid cooling, which {name} is taken to have",
                    origin=origin,
                )


def _owned_support(inputs: Inputs) -> Iterator[Note]:
    finance = inputs.scenario.finance
    more = finance.licence_usd_per_gpu_year or finance.colocation_usd_per_kw_month
    cost = "no support" if more else "their energy alone"
    if inputs.scenario.fleet:
        yield Note(
            text=f"owned nodes cost {cost}: their support contracts are not known, and "
            "what was paid for them is spent",
            origin="fleet",
        )


def _beside_the_price(inputs: Inputs) -> Iterator[Note]:
    """Licences and colocation: at which price, that none is counted, or what shows it is paid."""
    finance, fleet = inputs.scenario.finance, sorted(inputs.scenario.fleet.items())
    licence, colocation = finance.licence_usd_per_gpu_year, finance.colocation_usd_per_kw_month
    silent = []
    if licence is None:
        silent.append("no software licence is counted (licence_usd_per_gpu_year)")
    else:
        none_else = ", none for any other GPU type" if isinstance(licence, dict) else ""
        yield Note(
            text=f"a software licence costs {licence_text(inputs)}{none_else}: stated in the "
            "scenario, which names no quote",
            origin="finance.licence_usd_per_gpu_year",
        )
    if colocation is None:
        silent.append("no colocation is counted (colocation_usd_per_kw_month)")
    else:
        yield Note(
            text=f"colocation costs {colocation_text(inputs)}: stated in the scenario, which "
            "names no quote",
            origin="finance.colocation_usd_per_kw_month",
        )
    if silent:
        yield Note(text="; ".join(silent), origin="finance")
    evidence = [(f"fleet.{name}", entry.licence_included) for name, entry in fleet]
    evidence += [(f"offers.{offer.name}", offer.licence_included) for offer in inputs.offers]
    for origin, text in evidence:
        if text is not None and licence is not None:
            yield Note(text=f"the licence is included, as shown by: {text}", origin=origin)


def _from_sizing(
    jobs: tuple[SizedJob, ...], texts: Callable[[Sizing], tuple[str, ...]]
) -> Iterator[Note]:
    """Each text once, with the jobs that it concerns."""
    concerned: dict[str, list[str]] = defaultdict(list)
    for job in jobs:
        for text in dict.fromkeys(texts(job.sizing)):
            concerned[text].append(job.name)
    for text, names in sorted(concerned.items()):
        yield Note(text=text, origin=_names(names))


def _names(names: list[str]) -> str:
    kind = "job" if len(names) == 1 else "jobs"
    return f"{kind} {some_of(names, _JOBS_NAMED)}"


_SPARE_NODES = "policies.spare_nodes"

_Pool = tuple[str, str]
"""Node type and site."""


def dear_spares(
    inputs: Inputs,
    nodes: tuple[Node, ...],
    placements: tuple[tuple[NodeUse, ...], ...],
    bought: tuple[Acquisition, ...],
) -> Iterator[Note]:
    """Pools that keep more nodes empty than work there, with what the plan acquires beside that.

    Such a figure is seldom meant: it takes owned nodes out of use, or buys nodes to stand empty.
    """
    cents = acquired_cents(inputs, bought)
    at_work = _most_at_work(nodes, placements)
    shut = without_room(inputs, nodes)
    for pool in sorted(shut | at_work.keys()):
        kept, works = spare_nodes(inputs, *pool), at_work[pool]
        place = f"{pool[0]} @ {pool[1]}"
        here = cents.get(pool, 0)
        elsewhere = sum(cents.values()) - here
        others = f"the plan acquires others for {usd(elsewhere)} net present cost"
        if pool in shut:
            beside = f"; {others}" if elsewhere else ""
            yield Note(
                text=f"nothing can run on {place}, as {count_of(kept, 'spare node')} must stay "
                "empty in a pool that runs a job and it never has more nodes than that"
                f"{beside}",
                origin=_asked_by(inputs, pool),
            )
        elif kept > works and (here or elsewhere):
            what = f"the nodes that the plan acquires there cost {usd(here)} net present cost"
            yield Note(
                text=f"{count_of(kept, 'node')} of {place} must stay empty as spare beside "
                f"{works:,} at work; {what if here else others}",
                origin=_asked_by(inputs, pool),
            )


def no_spare(
    inputs: Inputs, nodes: tuple[Node, ...], placements: tuple[tuple[NodeUse, ...], ...]
) -> Iterator[Note]:
    """Everything on one node type, of which a failed node stops its jobs."""
    node_type_of = {node.id: node.node_type for node in nodes if not node.hours}
    at_work = (use.node for uses in placements for use in uses)
    used = {node_type_of[name] for name in at_work if name in node_type_of}
    spare = inputs.scenario.policies.spare_nodes
    by_site = any(site.spare_nodes for site in inputs.scenario.sites.values())
    if len(used) == 1:
        node_type = used.pop()
        kept = spare if isinstance(spare, int) else spare.get(node_type, 0)
        if not (kept or by_site):
            yield Note(
                text=f"everything runs on one node type, {node_type}, and no spare node is kept: "
                "a failed node stops its jobs",
                origin=_SPARE_NODES,
            )


def without_room(inputs: Inputs, nodes: tuple[Node, ...]) -> set[_Pool]:
    """Pools with owned nodes that have no more than are kept spare."""
    owned = {(node.node_type, node.site) for node in nodes if node.origin == "owned"}
    there = Counter(
        (node.node_type, node.site, quarter)
        for node in nodes
        if not node.hours
        for quarter in node.in_service
    )
    enough = {
        (node_type, site)
        for (node_type, site, _), count in there.items()
        if count > spare_nodes(inputs, node_type, site)
    }
    return owned - enough


def _most_at_work(
    nodes: tuple[Node, ...], placements: tuple[tuple[NodeUse, ...], ...]
) -> Counter[_Pool]:
    """Nodes of each pool that run anything, in the quarter in which most do."""
    pool_of = {node.id: (node.node_type, node.site) for node in nodes if not node.hours}
    most: Counter[_Pool] = Counter()
    for uses in placements:
        most |= Counter(pool_of[use.node] for use in uses if use.node in pool_of)
    return most


def _asked_by(inputs: Inputs, pool: _Pool) -> str:
    """Who asks for so many: the site, or the policies."""
    site = inputs.scenario.sites.get(pool[1])
    asked = spare_nodes(inputs, *pool)
    return f"sites.{pool[1]}.spare_nodes" if site and site.spare_nodes == asked else _SPARE_NODES


_NAMED = 6


def running_assumptions(inputs: Inputs) -> Iterator[Note]:
    """What is taken for granted of moves."""
    scenario = inputs.scenario
    free = sorted(
        {
            entry.job
            for entry in scenario.running
            if scenario.jobs[entry.job].move_cost_usd is None
            and not (entry.pinned or scenario.jobs[entry.job].pinned)
        }
    )
    if free and scenario.policies.move_cost_usd is None:
        yield Note(
            text=f"to move {some_of(free, _NAMED)} costs nothing: no price of a move is stated",
            origin="policies.move_cost_usd",
        )
    if scenario.running:
        yield Note(
            text="the time that a move takes is not planned, and a change of node within a pool "
            "has no price",
            origin="running",
        )
    loaded = sorted(name for name, job in scenario.jobs.items() if job.has_load)
    if scenario.running and loaded:
        yield Note(
            text=f"{some_of(loaded, _NAMED)}: replicas that follow from a load cannot be told "
            "apart, so that none of them counts as running today",
            origin="running",
        )


def running_warnings(inputs: Inputs, jobs: tuple[SizedJob, ...]) -> Iterator[Note]:
    """Jobs that are said to hold other GPU counts today than the rules give them there."""
    sized = {job.name: job for job in jobs}
    told: dict[tuple[str, str, int, int], None] = {}
    nodes, pools = node_places(inputs.scenario), pool_places(inputs.scenario)
    for entry in inputs.scenario.running:
        node = inputs.catalog.nodes.get(place_of(entry, nodes, pools).node_type)
        for candidate in sized[entry.job].sizing.candidates:
            here = node is not None and candidate.gpu_type == node.gpu_type
            if here and entry.gpus is not None and entry.gpus != candidate.gpus:
                told[entry.job, candidate.gpu_type, entry.gpus, candidate.gpus] = None
    for job, gpu_type, held, planned in told:
        yield Note(
            text=f"a unit of {job} holds {count_of(held, 'GPU')} of {gpu_type} today, the plan "
            f"gives it {planned:,} there",
            origin=f"jobs.{job}",
        )
