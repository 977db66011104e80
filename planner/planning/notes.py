"""What a reader needs to know before trusting a plan: its warnings and its assumptions.

Assumptions are what the scenario leaves open, and what fills the gap.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import date
from decimal import Decimal
from fractions import Fraction
from itertools import count as naturals
from math import ceil, floor
from typing import NamedTuple

from planner.costs import in_cents, node_costs, present_cents, sale_usd
from planner.inputs.base import SourcedFigure
from planner.inputs.checks.consistency import cooled_by
from planner.inputs.checks.faults import entries
from planner.inputs.reading.document import Path, dotted
from planner.inputs.scenario.offer import OWN_FIGURES, FleetEntry, Offer
from planner.inputs.scenario.quarter import Quarter
from planner.inputs.scenario.scenario import node_places, place_of, pool_places
from planner.inputs.scenario.site import POWER, limits_told
from planner.inputs.settled import Inputs
from planner.inputs.text import amount, count_of, price, some_of, usd
from planner.packing.solution import Solution, Status
from planner.packing.supply import spare_nodes
from planner.planning.doubtful import unit_slips, unlikely_figures
from planner.planning.plan import Note, Occupant, Plan
from planner.planning.plan_costs import most_saved, price_stated
from planner.sizing.candidate import SizedJob, Sizing
from planner.sizing.sizer import LENGTH_UNKNOWN

_JOBS_NAMED = 3
_NAMED = 6
_HELD_NAMED = 12
_SPARE_NODES = "policies.spare_nodes"
_FAILURES = "failures_per_gpu_year"
_DAYS_A_YEAR = 365.25
_SUFFICE = 0.99
_LARGE = 1e200

_Pool = tuple[str, str]
"""The node type and the site."""


def warning_notes(
    inputs: Inputs, jobs: tuple[SizedJob, ...], solution: Solution, plan: Plan
) -> tuple[Note, ...]:
    """List the warnings for a plan, those that decide about money first."""
    return (
        *_not_proved(solution),
        *(Note(text=text, origin=origin) for text, origin in inputs.since_earlier),
        *_retiring(inputs, plan),
        *_idle(inputs, plan),
        *_dear_spares(inputs, plan),
        *_never_measured(plan),
        *_of_unknown_length(jobs, solution, plan),
        *_for_a_few_hours(inputs, plan),
        *_illustrative(inputs),
        *_on_apis(inputs, plan),
        *_at_all_hours(inputs),
        *_bases_of_their_own(inputs, jobs),
        *unit_slips(inputs, plan),
        *unlikely_figures(inputs),
        *_named_in_vain(inputs),
        *_silent_rules(inputs, plan),
        *_other_counts_today(inputs, jobs),
        *_no_spare(inputs, plan),
        *_not_on_sale(inputs, plan),
        *_failures(inputs, plan),
        *_of_sizing(jobs, plan),
    )


def _not_proved(solution: Solution) -> Iterator[Note]:
    if solution.status is Status.NOT_PROVED:
        left = solution.cost_cents - solution.bound_cents
        yield Note(
            text=(
                "not proved: the search ended before that; another plan may be cheaper, "
                f"by at most {usd(left)}"
            ),
            origin="solver",
        )


def _retiring(inputs: Inputs, plan: Plan) -> Iterator[Note]:
    horizon = inputs.scenario.horizon
    kept = Counter(one.entry for one in plan.nodes if one.origin == "owned" and not one.sold)
    for name, entry in sorted(inputs.scenario.fleet.items()):
        ends = entry.retires and entry.retires - horizon.first_quarter < horizon.quarters
        if ends and kept[name]:
            retire, are = ("retires", "it is") if kept[name] == 1 else ("retire", "they are")
            yield Note(
                text=f"{count_of(kept[name], 'owned node')} of {name} ({entry.node_type} @ "
                f"{entry.site}) {retire}: from {entry.retires} on {are} no longer in service",
                origin=f"fleet.{name}",
            )


def _idle(inputs: Inputs, plan: Plan) -> Iterator[Note]:
    """Warn of owned pools that run nothing at all while other nodes are paid for."""
    policies, sites = inputs.scenario.policies, inputs.scenario.sites
    for one in plan.pools if plan.acquisitions or plan.apis else ():
        site = sites.get(one.site)
        kept = one.gpu_type in policies.growth_reserve or any(
            one.node_type in group.node_types
            for group in (site.spare_groups.values() if site else ())
        )
        owned = [
            node
            for node in plan.nodes
            if (node.node_type, node.site, node.origin) == (one.node_type, one.site, "owned")
        ]
        spare = spare_nodes(inputs, one.node_type, one.site)
        if not kept and owned and not any(one.nodes_used) and max(one.nodes) > spare:
            entries_ = sorted({node.entry for node in owned})
            yield Note(
                text=f"nothing runs on {one.node_type} @ {one.site} in any quarter, though GPUs "
                f"or APIs are paid for elsewhere: {count_of(max(one.nodes), 'owned node')} "
                f"{'costs' if max(one.nodes) == 1 else 'cost'} energy there, unless "
                "`may_switch_off` is stated; `planner explain` says why each job runs elsewhere",
                origin=f"fleet.{entries_[0]}" if len(entries_) == 1 else "fleet",
            )


def _on_apis(inputs: Inputs, plan: Plan) -> Iterator[Note]:
    """Warn of API prices without a contract, and of latency targets that APIs do not promise."""
    priced = sorted({use.api for use in plan.apis if use.illustrative})
    if priced:
        yield Note(
            text=f"the prices by the token of {some_of(priced, _JOBS_NAMED)} name no `quote`: "
            "they are illustrative until one stands there",
            origin="apis",
        )
    stated = inputs.scenario.jobs
    waiting = [use.job for use in plan.apis if (serve := stated[use.job].serve) and serve.latency]
    if waiting:
        names = some_of(list(dict.fromkeys(waiting)), _JOBS_NAMED)
        yield Note(
            text=f"{names} may wait no longer than `latency` says, "
            "and nothing here holds an API to that: its contract must",
            origin="apis",
        )


def _at_all_hours(inputs: Inputs) -> Iterator[Note]:
    """Warn of traffic without a peak, where replicas or the price of an API rest on that alone."""
    names = [
        name
        for name, job in sorted(inputs.scenario.jobs.items())
        if job.load
        and "peak_to_mean" not in job.load.model_fields_set
        and (job.load.tokens_per_day is not None or inputs.scenario.apis_of(name))
    ]
    if names:
        yield Note(
            text=f"{some_of(names, _JOBS_NAMED)}: traffic is planned as if it came evenly at all "
            "hours, as `peak_to_mean` is left open; replicas for the busiest minutes may be "
            "several times as many, and an API is paid for the mean",
            origin="jobs",
        )


def _bases_of_their_own(inputs: Inputs, jobs: tuple[SizedJob, ...]) -> Iterator[Note]:
    """Warn of several tuned adapters that are each served beside a base model of its own."""
    for job in jobs:
        tune = inputs.scenario.jobs[job.derived_from].tune if job.derived_from else None
        tuned = inputs.scenario.jobs[job.root].counts(inputs.scenario.horizon)
        if tune is not None and tune.method != "full" and max(tuned) > 1 and any(job.units):
            yield Note(
                text=f"{job.name}: up to {max(tuned)} tuned adapters are each served beside a base "
                "model of their own; one replica can serve several, as a serving job with "
                "`adapters` in place of `deploy`",
                origin=f"jobs.{job.root}.tune.deploy",
            )


def _named_in_vain(inputs: Inputs) -> Iterator[Note]:
    """Warn of types that no node has, deliveries that may not arrive, prices without an order."""
    scenario = inputs.scenario
    nodes, gpus = set(scenario.node_types_in_play), set(inputs.gpu_types_in_play)
    spares, licences = scenario.policies.spare_nodes, scenario.finance.licence_usd_per_gpu_year
    named = [
        ("policies.spare_nodes", spares if isinstance(spares, dict) else (), nodes),
        ("policies.growth_reserve", scenario.policies.growth_reserve, gpus),
        ("finance.licence_usd_per_gpu_year", licences if isinstance(licences, dict) else (), gpus),
        *(
            (
                f"sites.{name}.spare_nodes.{group}",
                stated.node_types,
                {entry.node_type for _, entry in entries(scenario) if name in entry.sites},
            )
            for name, site in sorted(scenario.sites.items())
            for group, stated in site.spare_groups.items()
        ),
        *(
            (f"teams.{name}.quota_gpus", [gpu_type for gpu_type, _ in quotas if gpu_type], gpus)
            for name, team in sorted(scenario.teams.items())
            if (quotas := team.quotas(scenario.horizon))
        ),
    ]
    for origin, names, in_play in named:
        for name in sorted(set(names) - in_play):
            yield Note(
                text=f"{name} is named, and no node of it is owned or offered"
                f"{' there' * origin.startswith('sites.')}: that changes nothing here",
                origin=f"{origin}.{name}",
            )
    for name, offer in sorted(scenario.offers.items()):
        stated = offer.deliveries if isinstance(offer.deliveries, dict) else {}
        if offer.available and stated and not {*map(Quarter.parse, stated)} & {*offer.available}:
            text = "no quarter of it is one of `available`: no node may enter service"
            yield Note(text=text, origin=f"offers.{name}.deliveries")
        last = max((level.from_nodes for level in offer.price_breaks), default=0)
        if offer.maximum and offer.maximum < last:
            text = f"no order reaches the price from {last} nodes on: `maximum` is {offer.maximum}"
            yield Note(text=text, origin=f"offers.{name}.price_breaks")


class _Spares(NamedTuple):
    """Nodes that stay empty to replace those that fail."""

    place: str
    """The group of node types that share them, or the pool."""
    origin: str
    kept: int
    pools: list[_Pool]


def _dear_spares(inputs: Inputs, plan: Plan) -> Iterator[Note]:
    """Warn if spare nodes shut an owned pool, or outnumber the acquired nodes that work.

    Such a figure is seldom meant: it takes owned nodes out of use, or buys nodes to stand empty.
    """
    owned = {(node.node_type, node.site) for node in plan.nodes if node.origin == "owned"}
    most = {(one.node_type, one.site): max(one.nodes) for one in plan.pools if not one.offer}
    for pool in sorted(owned):
        kept = spare_nodes(inputs, *pool)
        if kept and most[pool] <= kept:
            yield Note(
                text=f"nothing can run on {pool[0]} @ {pool[1]}, as "
                f"{count_of(kept, 'spare node')} must stay empty in a pool that runs a job and it "
                "never has more nodes than that",
                origin=_asked_by(inputs, pool),
            )
    at_work = _most_at_work(plan)
    for one in _spares(inputs, plan, at_work) if plan.acquisitions else ():
        works = sum(at_work[pool] for pool in one.pools)
        if one.kept > works > 0:
            yield Note(
                text=f"{count_of(one.kept, 'node')} of {one.place} must stay empty as spare "
                f"beside {works:,} at work",
                origin=one.origin,
            )


def _spares(inputs: Inputs, plan: Plan, at_work: Counter[_Pool]) -> Iterator[_Spares]:
    """Yield the spares of each group, and of each other pool that runs anything.

    If racks may fail, a group needs as many as its fullest rack holds, in the quarter in which
    that is least.
    """
    shared: set[_Pool] = set()
    for site, stated in sorted(inputs.scenario.sites.items()):
        for name, group in sorted(stated.spare_groups.items()):
            pools = [(node_type, site) for node_type in group.node_types]
            racks = {label: Counter[int]() for label in plan.quarters}
            for node in plan.nodes:
                if (node.node_type, node.site) in pools:
                    for label, rack in zip(node.standing, node.racks, strict=False):
                        racks[label][rack] += label in node.in_service
            fullest = min((max(held.values()) for held in racks.values() if held), default=0)
            kept = group.nodes or (group.racks or 0) * fullest
            shared.update(pools)
            yield _Spares(name, f"sites.{site}.spare_nodes.{name}", kept, pools)
    for pool in sorted(at_work.keys() - shared):
        place, kept = f"{pool[0]} @ {pool[1]}", spare_nodes(inputs, *pool)
        yield _Spares(place, _asked_by(inputs, pool), kept, [pool])


def _most_at_work(plan: Plan) -> Counter[_Pool]:
    """Return the most nodes of each pool that run anything in a quarter."""
    most = {(one.node_type, one.site): max(one.nodes_used) for one in plan.pools if not one.offer}
    return +Counter(most)


def _asked_by(inputs: Inputs, pool: _Pool) -> str:
    """Return who asks for so many spares: the site, or the policies."""
    site = inputs.scenario.sites.get(pool[1])
    asked = spare_nodes(inputs, *pool)
    return f"sites.{pool[1]}.spare_nodes" if site and site.spare_nodes == asked else _SPARE_NODES


def _never_measured(plan: Plan) -> Iterator[Note]:
    """Warn of GPU types that are acquired though no measured run backs what they get done."""
    acquired = {one.gpu_type: one.offer for one in plan.acquisitions}
    found: dict[str, set[str]] = defaultdict(set)
    for job in plan.jobs:
        taken = {way for way, _ in job.ways}
        for one in plan.sizings[job.sizing].candidates:
            elsewhere = any(
                told.rests == "elsewhere" and told.figure != "memory" for told in one.evidence
            )
            if elsewhere and one.way in taken and one.gpu_type in acquired:
                found[one.gpu_type].add(job.name)
    for gpu_type, names in sorted(found.items()):
        yield Note(
            text=f"no run measured on {gpu_type} backs the throughput of "
            f"{some_of(sorted(names), _JOBS_NAMED)}, which rests on runs on other GPUs: have the "
            "vendor show it before you order",
            origin=f"offers.{acquired[gpu_type]}",
        )


def _of_unknown_length(
    jobs: tuple[SizedJob, ...], solution: Solution, plan: Plan
) -> Iterator[Note]:
    """Warn of tuning jobs that hold GPUs all quarter because their length is unknown.

    Say what a length could save.
    """
    held = {job.name for job in jobs if any(job.units) and LENGTH_UNKNOWN in job.sizing.warnings}
    if not held:
        return
    tags = sum(job.tag_cents for job in plan.jobs if job.name in held)
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


def _for_a_few_hours(inputs: Inputs, plan: Plan) -> Iterator[Note]:
    """Warn of acquired nodes whose runs would cost far less by the hour, which no offer allows."""
    if any(offer.step_hours for offer in inputs.offers):
        return
    horizon = inputs.scenario.horizon
    at_work: dict[str, list[Occupant]] = defaultdict(list)
    for use in (use for uses in plan.placements for use in uses):
        at_work[use.node] += use.occupants
    for offer in inputs.offers:
        nodes = [
            one
            for one in plan.nodes
            if one.entry == offer.name
            and one.origin != "owned"
            and at_work[one.id]
            and all(occupant.hours for occupant in at_work[one.id])
        ]
        rent = inputs.catalog.prices.rent.get(offer.node_type)
        if not nodes or rent is None:
            continue
        ordered = Counter[int]()
        for line in plan.acquisitions:
            if line.offer == offer.name:
                ordered[horizon.labels.index(line.quarter)] += line.count
        paid = Counter(
            horizon.labels.index(label)
            for one in nodes
            for label in (one.in_service if offer.kind == "rent" else one.in_service[:1])
        )
        cents = sum(
            count * present_cents(node_costs(inputs, offer, quarter, ordered[quarter]))
            for quarter, count in paid.items()
        )
        gpu_hours = ceil(
            sum(one.gpu_hours(Fraction(0)) for node in nodes for one in at_work[node.id])
        )
        by_hour = in_cents(gpu_hours * rent.usd)
        if by_hour * inputs.rules.figure("dear_hours_factor") < cents:
            yield Note(
                text=f"all that {count_of(len(nodes), 'node')} of {offer.name} "
                f"{'runs' if len(nodes) == 1 else 'run'} is {gpu_hours:,} GPU-hours of runs, for "
                f"{usd(round(cents, -2), short=True)} net present cost; by the hour they would "
                f"begin at {usd(round(by_hour, -2), short=True)}, at the price book's "
                f"${rent.usd:f} per GPU-hour: an offer of `kind: hourly` would be weighed",
                origin=f"offers.{offer.name}",
            )


def _illustrative(inputs: Inputs) -> Iterator[Note]:
    book, stated = inputs.catalog.prices.header, inputs.scenario.offers
    own = "no quote stands behind these prices, they are illustrative:"
    for is_own, told, origin in (
        (False, f"{book.notice} Offers concerned:", book.id),
        (True, own, "scenario"),
    ):
        offers = ", ".join(
            f"{offer.name} ({offer.price_text})"
            for offer in inputs.offers
            if offer.illustrative and (stated[offer.name].stated_price is not None) is is_own
        )
        if offers:
            yield Note(text=f"{told} {offers}", origin=origin)


def _silent_rules(inputs: Inputs, plan: Plan) -> Iterator[Note]:
    """Warn of the user's rules that matched nothing: each may contain a slip."""
    for rule in sorted(inputs.rules.own.keys() - {rule.id for rule in plan.rules}):
        yield Note(text=f"your rule {rule} applied to no job here", origin=f"rule {rule}")


def _other_counts_today(inputs: Inputs, jobs: tuple[SizedJob, ...]) -> Iterator[Note]:
    """Warn of jobs said to hold other GPU counts today than the rules give them there."""
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


def _not_on_sale(inputs: Inputs, plan: Plan) -> Iterator[Note]:
    """Warn of orders before a GPU can be ordered, or after it no longer can."""
    for line in plan.acquisitions:
        life = inputs.catalog.gpus[line.gpu_type].lifecycle
        if line.kind != "buy" or life is None:
            continue
        first, last, order = life.orderable, life.end_of_sale, date.fromisoformat(line.order_by)
        if first is None and (day := life.announced) is not None:
            what = f"was announced on {day.value}, and no source says from when it can be ordered"
        elif first is not None and order < first.value:
            day, what = first, f"can be ordered from {first.value} on"
        elif last is not None and order > last.value:
            day, what = last, f"can be ordered until {last.value}"
        else:
            continue
        noted = f" ({day.note})" if day.note else ""
        yield Note(
            text=f"{line.offer} for {line.quarter} is ordered by {line.order_by}: {line.gpu_type} "
            f"{what}{noted}; have the date confirmed by the seller",
            origin=f"offers.{line.offer}",
        )


def _no_spare(inputs: Inputs, plan: Plan) -> Iterator[Note]:
    """Warn if all depends on one node type without a spare, apart from runs by the hour."""
    used = {node_type for node_type, _ in _most_at_work(plan)}
    elsewhere = any(node.hours and node.node_type not in used for node in plan.nodes)
    by_site = any(site.spare_nodes for site in inputs.scenario.sites.values())
    if len(used) == 1 and not by_site and not spare_nodes(inputs, min(used), ""):
        yield Note(
            text=f"everything{' but runs by the hour' if elsewhere else ''} runs on one node type, "
            f"{min(used)}, and no spare node is kept: a failed node stops its jobs",
            origin=_SPARE_NODES,
        )


def _failures(inputs: Inputs, plan: Plan) -> Iterator[Note]:
    """Return, by pool, the share of the time in which spares replace all nodes under repair.

    Nodes at work fail at random and are repaired side by side.
    """
    days = inputs.scenario.policies.repair_days
    if days is None:
        return
    (rule,) = inputs.rules.by_result[_FAILURES]
    at_work = _most_at_work(plan)
    for place, _, kept, pools in sorted(_spares(inputs, plan, at_work)):
        nodes = sum(at_work[pool] for pool in pools)
        if not nodes:
            continue
        gpus = sum(at_work[pool] * inputs.catalog.nodes[pool[0]].gpus.value for pool in pools)
        each = float(rule.value or 0) * gpus / nodes * float(days) / _DAYS_A_YEAR
        enough = next(most for most in naturals() if _out(nodes, each, most)[1] >= _SUFFICE)
        out, sure = _out(nodes, each, kept)
        suffice = f"with {kept or 'no'} spare, all are replaced in {floor(1000 * sure) / 10} %"
        need = "" if kept == enough else f"; {count_of(enough, 'spare node')} would in 99 %"
        yield Note(
            text=f"{place}: of {count_of(nodes, 'node')} at work, {out:.2f} are out "
            f"for repair on the average; {suffice} of the time{need} ({rule.id})",
            origin="policies.repair_days",
        )


def _out(nodes: int, each: float, kept: int) -> tuple[float, float]:
    """Return the mean number of nodes out, and the share of time in which spares replace all.

    This is the machine repair model. `each` is how often a node at work fails within the time of
    a repair; nodes without a replacement do not fail again.
    """
    weight, all_weights, out, replaced = 1.0, 0.0, 0.0, 0.0
    for number in range(nodes + kept + 1):
        all_weights += weight
        out += number * weight
        if number <= kept:
            replaced += weight
        weight *= each * min(nodes, nodes + kept - number) / (number + 1)
        if weight > _LARGE:
            weight, all_weights, out, replaced = (
                one / _LARGE for one in (weight, all_weights, out, replaced)
            )
    return out / all_weights, replaced / all_weights


def _of_sizing(jobs: tuple[SizedJob, ...], plan: Plan) -> Iterator[Note]:
    """Return the warnings of sizing, for the ways in which the plan runs its jobs."""
    taken: dict[str, set[str]] = defaultdict(set)
    for job in plan.jobs:
        taken[job.sizing].update(way for way, _ in job.ways)

    def of_plan(sizing: Sizing) -> Iterator[str]:
        ways = {one.way for one in sizing.candidates}
        for text in sizing.warnings:
            where, _, said = text.removeprefix("on ").partition(": ")
            named = where.split(", ")
            if text == LENGTH_UNKNOWN:
                continue
            if not (text.startswith("on ") and ways.issuperset(named)):
                yield text
            elif here := [way for way in named if way in taken[sizing.id]]:
                yield f"on {', '.join(here)}: {said}"

    yield from _from_sizing(jobs, of_plan)


def doubts_of_jobs(jobs: Sequence[SizedJob]) -> Iterator[Note]:
    """Return what sizing doubts of what these jobs state, whatever they run on."""
    yield from _from_sizing(
        tuple(jobs), lambda one: (text for text in one.warnings if not text.startswith("on "))
    )


def _from_sizing(
    jobs: tuple[SizedJob, ...], texts: Callable[[Sizing], Iterable[str]]
) -> Iterator[Note]:
    """Return each text once, with the jobs that it concerns."""
    concerned: dict[str, list[str]] = defaultdict(list)
    for job in jobs:
        for text in dict.fromkeys(texts(job.sizing)):
            concerned[text].append(job.name)
    for text, names in sorted(concerned.items()):
        kind = "job" if len(names) == 1 else "jobs"
        yield Note(text=text, origin=f"{kind} {some_of(names, _JOBS_NAMED)}")


def assumption_notes(inputs: Inputs, jobs: tuple[SizedJob, ...]) -> tuple[Note, ...]:
    """List everything that the scenario leaves open and something else fills in."""
    return (
        *_defaults(inputs),
        *_catalog_figures(inputs),
        *_own_figures(inputs),
        *_uncooled(inputs),
        *_owned_support(inputs),
        *_sales(inputs),
        *_moves(inputs),
        *_beside_the_price(inputs),
        *_from_sizing(jobs, lambda sizing: sizing.assumptions),
        *_flat_traffic(inputs),
        *_without_traffic(inputs, jobs),
    )


def _defaults(inputs: Inputs) -> Iterator[Note]:
    """Note settings and lead times that nobody stated, and rules that are waived."""
    for name, setting in inputs.settings:
        if setting.assumed:
            text = f"{name} = {amount(setting.value, setting.unit)} ({setting.origin})"
            yield Note(text=text, origin=setting.origin)
    offers = sorted(inputs.scenario.offers.items())
    silent = [name for name, one in offers if "lead_time_weeks" not in one.model_fields_set]
    if silent:
        yield Note(
            text="no lead time is stated, so nodes count as in service on the day of the order: "
            f"{', '.join(silent)}",
            origin="offers",
        )
    policies, sites = inputs.scenario.policies, inputs.scenario.sites.values()
    if "spare_nodes" not in policies.model_fields_set and not any(one.spare_nodes for one in sites):
        yield Note(text="no spare node is kept", origin=_SPARE_NODES)
    reserved = any(offer.kind == "reserve" for _, offer in offers)
    if reserved and "commitments" not in inputs.scenario.finance.model_fields_set:
        yield Note(
            text="what reservations cost after the horizon is shown and not charged, so that the "
            "plan takes it for nothing",
            origin="finance.commitments",
        )
    for rule, reason in sorted(policies.waived_rules.items()):
        yield Note(text=f"rule {rule} is waived: {reason}", origin="policies.waived_rules")


def _flat_traffic(inputs: Inputs) -> Iterator[Note]:
    """Note endpoints whose traffic nobody said to have a peak."""
    silent = sorted(
        name
        for name, job in inputs.scenario.jobs.items()
        if job.load and "peak_to_mean" not in job.load.model_fields_set
    )
    if silent:
        yield Note(
            text="traffic of the busiest minutes over the figure stated: 1 (the job leaves it "
            "open)",
            origin=f"job{'s' * (len(silent) > 1)} {some_of(silent, _JOBS_NAMED)}",
        )


def _without_traffic(inputs: Inputs, jobs: tuple[SizedJob, ...]) -> Iterator[Note]:
    """Note endpoints of which nothing says how much they must answer."""
    silent = [
        job.name
        for job in jobs
        if job.kind == "serve"
        and (
            (serve := inputs.scenario.jobs[job.root].serve) is None
            or (serve.load is None and serve.concurrency is None)
        )
    ]
    if silent:
        yield Note(
            text="no traffic is stated: one replica, or those stated, without KV cache",
            origin=f"job{'s' * (len(silent) > 1)} {some_of(silent, _JOBS_NAMED)}",
        )


def _catalog_figures(inputs: Inputs) -> Iterator[Note]:
    """Note catalog figures of nodes in play that were not published for exactly that node."""
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


def _figures_used(
    inputs: Inputs, node_type: str
) -> Iterator[tuple[str, str, SourcedFigure[int] | SourcedFigure[Decimal] | None]]:
    node = inputs.catalog.nodes[node_type]
    yield "cpu_cores", "cores", node.cpu_cores
    yield "host_memory_gb", "GB", node.host_memory_gb
    yield "mean_power_kw", "kW", node.mean_power_kw
    sites = [
        inputs.scenario.sites[site]
        for _, entry in entries(inputs.scenario)
        for site in entry.sites
        if entry.node_type == node_type and site in inputs.scenario.sites
    ]
    told = limits_told({limit.need for site in sites for limit in site.limits}) if sites else ()
    if not sites and inputs.scenario.finance.colocation_usd_per_kw_month:
        told = (POWER,)
    for limit in told:
        yield limit.figure, limit.stated_in, getattr(node, limit.figure)


def _own_figures(inputs: Inputs) -> Iterator[Note]:
    """Note figures that one fleet entry states and that other nodes of its type take over."""
    asked = [(dotted(path), entry) for path, entry in _in_order(inputs)]
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


def _in_order(inputs: Inputs) -> list[tuple[Path, FleetEntry | Offer]]:
    return sorted(entries(inputs.scenario), key=lambda one: one[0])


def _uncooled(inputs: Inputs) -> Iterator[Note]:
    """Note nodes that need liquid cooling at a site that does not say how it cools."""
    for path, entry in _in_order(inputs):
        if cooled_by(inputs.catalog.nodes[entry.node_type]) != frozenset({"liquid"}):
            continue
        for name in entry.sites:
            site = inputs.scenario.sites.get(name)
            if site is not None and site.cooling is None:
                yield Note(
                    text=f"{entry.node_type} needs liquid cooling, which {name} is taken to have",
                    origin=dotted(path),
                )


def _owned_support(inputs: Inputs) -> Iterator[Note]:
    finance, fleet = inputs.scenario.finance, inputs.scenario.fleet
    more = finance.licence_usd_per_gpu_year or finance.colocation_usd_per_kw_month
    cost = "no support" if more else "their energy alone"
    unknown = [name for name, entry in fleet.items() if entry.support_usd_per_year is None]
    if unknown and len(unknown) == len(fleet):
        yield Note(
            text=f"owned nodes cost {cost}: no support contract is known, and their price is spent",
            origin="fleet",
        )
    elif unknown:
        yield Note(
            text=f"the support of {', '.join(sorted(unknown))} is not known and not counted",
            origin="fleet",
        )


def _sales(inputs: Inputs) -> Iterator[Note]:
    for name, entry in sorted(inputs.scenario.fleet.items()):
        if entry.sale is not None:
            worth = sale_usd(inputs, entry, inputs.scenario.horizon.quarters)
            end = inputs.scenario.horizon.all_quarters[-1] + 1
            text = (
                f"a node of {name} that is not sold is worth {price(worth or Decimal(0))} in {end}"
            )
            if entry.sale.quote is None:
                text += ", and no quote stands behind what a sale brings before"
            yield Note(text=text, origin=f"fleet.{name}.sale")


def _moves(inputs: Inputs) -> Iterator[Note]:
    """Note what the plan assumes about moving jobs."""
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
    if scenario.running and scenario.policies.shortage == "drop":
        yield Note(
            text="to stop what runs today costs nothing: a job that is dropped or delayed stops at "
            "the start of the horizon",
            origin="policies.shortage",
        )
    loaded = sorted(name for name, job in scenario.jobs.items() if job.load)
    if scenario.running and loaded:
        yield Note(
            text=f"{some_of(loaded, _NAMED)}: replicas that follow from a load cannot be told "
            "apart, so that none of them counts as running today",
            origin="running",
        )


def _beside_the_price(inputs: Inputs) -> Iterator[Note]:
    """Note what is paid on top of the price, that none is counted, or why it is included."""
    finance = inputs.scenario.finance
    licence = finance.licence_usd_per_gpu_year
    silent = []
    for key, what in (
        ("licence_usd_per_gpu_year", "a software licence"),
        ("colocation_usd_per_kw_month", "colocation"),
        ("network_usd_per_port", "network"),
    ):
        if getattr(finance, key) is not None:
            none_else = ", none for any other GPU type" if isinstance(licence, dict) else ""
            costs = price_stated(inputs, key) + none_else * (key == "licence_usd_per_gpu_year")
            text = f"{what} costs {costs}: stated in the scenario, which names no quote"
            yield Note(text=text, origin=f"finance.{key}")
        elif key != "network_usd_per_port":  # documents list that beside storage and staff
            silent.append(f"no {what.removeprefix('a ')} is counted ({key})")
    if silent:
        yield Note(text="; ".join(silent), origin="finance")
    for path, entry in _in_order(inputs) if licence is not None else ():
        if entry.licence_included is not None:
            text = f"the licence is included, as shown by: {entry.licence_included}"
            yield Note(text=text, origin=dotted(path))
