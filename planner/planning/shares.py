"""Computes the use of nodes and sites, the costs of endpoints and APIs, and each team's charge.

The net present cost of each node is spread evenly over the quarters in which it serves. The cost
of a pool in a quarter is shared among the GPUs held there, each weighted by its hours and its
part of the memory; the rest is idle. Shares are exact fractions, rounded to cents once, so that
they add up to the cost of the plan.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache
from itertools import accumulate
from typing import Any, NamedTuple

from planner.costs import OF_A_SALE, CostStream, node_costs, owned_costs, present_cents, token_costs
from planner.inputs.scenario.load import HOUR_SECONDS, Load
from planner.inputs.scenario.site import SITE_LIMITS, SiteLimit
from planner.inputs.settled import Inputs
from planner.packing.problem import Pool
from planner.planning.plan import (
    ApiComparison,
    ApiUse,
    Chargeback,
    CurrentPlacement,
    EndpointUse,
    Node,
    NodeUse,
    Occupant,
    PoolUse,
    QuotaUse,
    SiteUse,
    TeamUse,
)
from planner.planning.plan_costs import largest_remainder
from planner.sizing.candidate import SizedJob


class Occupancy(NamedTuple):
    """Which jobs hold which nodes of a plan."""

    inputs: Inputs
    jobs: tuple[SizedJob, ...]
    nodes: Sequence[Node]
    placements: Sequence[Sequence[NodeUse]]
    """One entry for each quarter."""

    @property
    def hours(self) -> Fraction:
        """The hours of a quarter."""
        return Fraction(self.inputs.settings.hours_per_quarter.value)

    def served(self, node: Node) -> tuple[int, ...]:
        """For each node, the quarters in service, from 0."""
        labels = self.inputs.scenario.horizon.labels
        return tuple(place for place, label in enumerate(labels) if label in node.in_service)

    def there(self) -> dict[PoolQuarter, Fraction]:
        """The mean number of GPUs in service in each quarter."""
        there: dict[PoolQuarter, Fraction] = defaultdict(Fraction)
        hours = self.hours
        for node in self.nodes:
            for quarter in self.served(node):
                there[node.pool, quarter] += node.gpu_hours(hours) / hours
        return there


PoolQuarter = tuple[tuple[str, str, str], int]
"""The pool and the quarter."""
Payer = str | None
"""Who is charged: a team (None: jobs without one), or a job."""
_IDLE = object()
ChargeCell = tuple[object, int]
"""A payer, or `_IDLE`, and a quarter."""


@dataclass(slots=True)
class _Held:
    """What the jobs of one line hold."""

    gpus: dict[PoolQuarter, Fraction] = field(default_factory=lambda: defaultdict(Fraction))
    """The mean over the quarter."""
    occupants: list[tuple[str, int, Occupant]] = field(default_factory=list)
    """The GPU type, the quarter and the occupant."""
    delivered: Fraction = Fraction(0)
    """In GPU-hours, like `open`."""
    open: Fraction = Fraction(0)

    @property
    def total(self) -> Fraction:
        return sum(self.gpus.values(), Fraction(0))

    def most(
        self, quarters: int, gpu_type: str | None = None, *, parts: bool = False
    ) -> tuple[int | float, ...]:
        """Return, for each quarter, the GPUs held at its fullest hour, of one type or of all.

        Partitioned GPUs count whole, or on request by their share.
        """
        here: dict[int, list[Occupant]] = defaultdict(list)
        for kind, quarter, one in self.occupants:
            if gpu_type in (None, kind):
                here[quarter].append(one)
        peaks = (
            at_peak(here[at], lambda one: one.gpus_at_once if parts else len(one.gpus))
            for at in range(quarters)
        )
        return tuple(int(peak) if peak == int(peak) else float(peak) for peak in peaks)


def chargeback(placed: Occupancy, current: CurrentPlacement | None) -> Chargeback | None:
    """Share the cost of a plan among its teams; None if neither a job nor a list names any.

    Moves are charged in the first quarter to the teams of the jobs that move, and tokens of APIs
    to the teams of the jobs that use them.
    """
    inputs, jobs, _, placements = placed
    named = {job.team for job in jobs} | set(inputs.scenario.teams)
    if not named - {None}:
        return None
    lines = sorted(named, key=lambda team: (team is None, team or ""))
    held = _held(placed, lambda job: job.team)
    spread = inputs.scenario.policies.charge_idle == "spread"
    shares = _shares(placed, held, spread=spread)
    team_of = {job.name: job.team for job in jobs}
    for move in current.moves if current else ():
        shares[team_of[move.job], 0] += move.cost_cents
    for job in jobs:
        for api, units in job.on_apis:
            for quarter, cost in enumerate(token_costs(inputs, job.name, api)):
                shares[job.team, quarter] += units[quarter] * cost.present_cents
    cents = largest_remainder(shares, int(sum(shares.values())))
    quarters = range(len(placements))
    idle = sum(placed.there().values(), Fraction(0)) - sum(held[line].total for line in lines)
    return Chargeback(
        idle=inputs.scenario.policies.charge_idle,
        teams=tuple(
            _team_use(placed, line, held[line], tuple(cents.get((line, q), 0) for q in quarters))
            for line in lines
        ),
        idle_gpu_hours=float(idle * placed.hours),
        idle_cents=tuple(cents.get((_IDLE, quarter), 0) for quarter in quarters),
    )


def endpoint_uses(placed: Occupancy) -> tuple[EndpointUse, ...]:
    """Return the tokens of each serving job with a load, and the cost of its GPUs, by quarter."""
    inputs, jobs, _, placements = placed
    stated = inputs.scenario.jobs
    loads = [(job, load) for job in jobs if job.name in stated and (load := stated[job.name].load)]
    if not loads:
        return ()
    shares = _shares(placed, _held(placed, lambda job: job.name), spread=False)
    found = []
    for job, load in loads:
        rates = {
            one.way: Fraction(one.serving.planned_requests_per_second)
            if one.serving
            else Fraction()
            for one in job.sizing.candidates
        }
        planned = []
        for uses in placements:
            mine = (one for use in uses for one in use.occupants if one.job == job.name)
            ways = {one.piece: one.way for one in mine}
            planned.append(sum((rates[way] for way in ways.values()), Fraction()))
        found.append(
            EndpointUse(
                job=job.name,
                million_tokens=_mean_million_tokens(inputs, job.name, job.endpoints()),
                full_million_tokens=_million_tokens(inputs, load, planned),
                cost_cents=tuple(round(shares[job.name, at]) for at in range(len(placements))),
            )
        )
    return tuple(found)


def api_uses(inputs: Inputs, jobs: Sequence[SizedJob]) -> Iterator[ApiUse]:
    """Return the use of each API by each job."""
    for job in jobs:
        for api, units in job.on_apis:
            costs = token_costs(inputs, job.name, api)
            each = list(zip(units, costs, strict=True))
            yield ApiUse(
                job=job.name,
                api=api,
                illustrative=inputs.scenario.apis[api].quote is None,
                million_tokens=_mean_million_tokens(inputs, job.name, units),
                cents=tuple(count * cost.cents[at] for at, (count, cost) in enumerate(each)),
                present_cents=sum(count * cost.present_cents for count, cost in each),
            )


def api_comparisons(
    inputs: Inputs, jobs: Sequence[SizedJob], endpoints: Sequence[EndpointUse]
) -> Iterator[ApiComparison]:
    """Compare each endpoint on GPUs with each API that serves its model in all of its quarters."""
    units = {job.name: job.endpoints() for job in jobs}
    quarters = inputs.scenario.horizon.all_quarters
    for use in endpoints:
        stated = inputs.scenario.jobs[use.job]
        for name, api in sorted(inputs.scenario.apis.items()):
            if stated.serve is None or stated.serve.adapters or api.model != stated.serve.model:
                continue
            active = [at for at, count in enumerate(units[use.job]) if count]
            if active and all(not api.available or quarters[at] in api.available for at in active):
                costs = token_costs(inputs, use.job, name)
                yield ApiComparison(
                    job=use.job,
                    api=name,
                    allowed=name in inputs.scenario.apis_of(use.job),
                    gpus_cents=sum(use.cost_cents),
                    api_cents=sum(units[use.job][at] * costs[at].present_cents for at in active),
                )


def _mean_million_tokens(inputs: Inputs, job: str, units: Sequence[int]) -> tuple[float, ...]:
    """Return the prompt and answer tokens of so many units in each quarter, at mean traffic."""
    stated = inputs.scenario.jobs[job]
    if stated.load is None:
        return ()
    rates = zip(units, stated.peaks(inputs.scenario.horizon), strict=True)
    mean = 1 / Fraction(stated.load.peak_to_mean)
    return _million_tokens(inputs, stated.load, (count * peak * mean for count, peak in rates))


def _million_tokens(inputs: Inputs, load: Load, rates: Iterable[Fraction]) -> tuple[float, ...]:
    """Return the tokens of so many requests per second over a quarter, in millions."""
    seconds = Fraction(inputs.settings.hours_per_quarter.value) * HOUR_SECONDS
    each = (load.input_tokens + load.output_tokens) * seconds / 10**6
    return tuple(float(round(rate * each, 6)) for rate in rates)


def _team_use(
    placed: Occupancy, team: Payer, held: _Held, charged_cents: tuple[int, ...]
) -> TeamUse:
    scenario, quarters = placed.inputs.scenario, len(charged_cents)
    listed = scenario.teams.get(team) if team else None
    parts = scenario.policies.quota_of_part == "share"
    return TeamUse(
        team=team,
        gpus=tuple(map(int, held.most(quarters))),
        gpu_hours=float(held.total * placed.hours),
        delivered_gpu_hours=float(held.delivered),
        open_gpu_hours=float(held.open),
        charged_cents=charged_cents,
        cost_cents=sum(charged_cents),
        quotas=tuple(
            QuotaUse(gpu_type=kind, limit_gpus=limits, gpus=held.most(quarters, kind, parts=parts))
            for kind, limits in (listed.quotas(scenario.horizon) if listed else ())
        ),
    )


def _held(placed: Occupancy, line_of: Callable[[SizedJob], Payer]) -> dict[Payer, _Held]:
    """Return what each line holds.

    Of the hours held, a tuning job delivers its run time, and any other job all.
    """
    found: dict[Payer, _Held] = defaultdict(_Held)
    quarter_hours = placed.hours
    of_job = {job.name: job for job in placed.jobs}
    of_id = {node.id: node for node in placed.nodes}
    run_hours = {
        (job.name, candidate.way): candidate.hours
        for job in placed.jobs
        for candidate in job.sizing.candidates
    }
    for quarter, uses in enumerate(placed.placements):
        for node, one in ((of_id[use.node], one) for use in uses for one in use.occupants):
            job = of_job[one.job]
            team, hours = found[line_of(job)], one.gpu_hours(quarter_hours)
            team.gpus[node.pool, quarter] += hours / quarter_hours
            team.occupants.append((node.gpu_type, quarter, one))
            run = run_hours[one.job, one.way]
            if job.kind != "tune":
                team.delivered += hours
            elif run is None:
                team.open += hours
            else:
                team.delivered += min(len(one.gpus) * Fraction(run), hours)
    return found


def _shares(
    placed: Occupancy, held: Mapping[Payer, _Held], *, spread: bool
) -> dict[ChargeCell, Fraction]:
    """Return the exact cents by line and quarter.

    Idle cost is spread over those who hold GPUs if `idle` is `spread`; otherwise it is a line of
    its own.
    """
    cells: dict[ChargeCell, Fraction] = defaultdict(Fraction)
    charges, nobodys = _charges(placed)
    there = placed.there()
    for slot, cents in charges.items():
        here = {line: use.gpus[slot] for line, use in held.items()}
        if spread and not any(here.values()):
            here = {line: use.total for line, use in held.items()}
        taken = sum(here.values(), Fraction(0))
        by = taken if spread and taken else there[slot]
        for line, number in here.items():
            cells[line, slot[1]] += cents * (number / by)
        cells[_IDLE, slot[1]] += cents * ((by - taken) / by)
    for quarter, brought in nobodys.items():
        cells[_IDLE, quarter] += brought
    return cells


def _charges(placed: Occupancy) -> tuple[dict[PoolQuarter, Fraction], Counter[int]]:
    """Return the cost of each pool in each quarter, and the cost by quarter that belongs to nobody.

    The latter is what sold nodes bring and what owned nodes cost while they are off.
    """
    inputs, at = placed.inputs, placed.inputs.scenario.horizon.labels.index
    offers = {offer.name: offer for offer in inputs.offers}
    orders: Counter[tuple[str, int]] = Counter()
    for node in placed.nodes:
        if node.origin == "owned":  # whose fleet entry may have the name of an offer
            continue
        served = placed.served(node)
        orders.update((node.entry, q) for q in (served if node.origin == "rent" else served[:1]))

    @cache
    def acquired_cents(entry: str, quarter: int) -> int:
        ordered = orders[entry, quarter]
        return present_cents(node_costs(inputs, offers[entry], quarter, ordered))

    @cache
    def owned(entry: str, gone: int | None, off: tuple[int, ...]) -> tuple[CostStream, ...]:
        return owned_costs(inputs, inputs.scenario.fleet[entry], gone, off)

    charges: dict[PoolQuarter, Fraction] = defaultdict(Fraction)
    nobodys: Counter[int] = Counter()
    for node in placed.nodes:
        served = placed.served(node)
        if node.origin == "owned" and (node.off or node.sold):
            gone = at(node.sold) if node.sold else None
            for stream in owned(node.entry, gone, tuple(map(at, node.off))):
                quarter = next((place for place, cents in enumerate(stream.cents) if cents), 0)
                if quarter in served and stream.name not in OF_A_SALE:
                    charges[node.pool, quarter] += stream.present_cents
                else:
                    nobodys[quarter] += stream.present_cents
            continue
        for quarter in served:
            if node.origin == "rent":
                cents = Fraction(acquired_cents(node.entry, quarter))
            elif node.origin == "owned":
                cents = Fraction(present_cents(owned(node.entry, None, ())), len(served))
            else:
                cents = Fraction(acquired_cents(node.entry, served[0]), len(served))
            charges[node.pool, quarter] += node.steps * cents
    return charges, nobodys


def pool_uses(
    placed: Occupancy, pools: Sequence[Pool], shared_spares: Sequence[Sequence[int]] = ()
) -> tuple[PoolUse, ...]:
    """Return the capacity and use of each pool by quarter.

    Pools that never have a node are left out.

    `shared_spares` are the nodes that stand in for others, by quarter and pool.
    """
    nodes: dict[tuple[str, str, str], list[Node]] = defaultdict(list)
    for node in placed.nodes:
        nodes[node.pool].append(node)
    used = [{use.node: use for use in uses} for uses in placed.placements]
    found = []
    for number, pool in enumerate(pools):
        mine = nodes.get((pool.node_type, pool.site, pool.offer))
        if pool.held or not mine:
            continue
        rows = []
        for quarter, label in enumerate(placed.inputs.scenario.horizon.labels):
            serving = [node for node in mine if label in node.in_service]
            uses = [used[quarter][node.id] for node in mine if node.id in used[quarter]]
            spare = shared_spares[quarter][number] if shared_spares else 0
            rows.append(_figures(pool, serving, uses, placed.hours, spare))
        columns: dict[str, Any] = {name: tuple(row[name] for row in rows) for name in rows[0]}
        found.append(
            PoolUse(
                node_type=pool.node_type,
                site=pool.site,
                gpu_type=pool.gpu_type,
                offer=pool.offer,
                **columns,
            )
        )
    return tuple(found)


def _figures(
    pool: Pool,
    serving: Sequence[Node],
    uses: list[NodeUse],
    hours: Fraction,
    shared_spare: int,
) -> dict[str, float]:
    """Return the figures of one pool in one quarter.

    Of nodes that are had for hours or weeks, the GPU-hours alone.
    """
    everybody = [occupant for use in uses for occupant in use.occupants]
    gpu_hours = float(sum((node.gpu_hours(hours) for node in serving), Fraction(0)))
    held_hours = float(sum((one.gpu_hours(hours) for one in everybody), Fraction(0)))
    spare = max(shared_spare, pool.spare if uses else 0)
    if pool.hire:
        serving, uses, everybody = [], [], []
    gpus_used = cpus_used = memory_used_mb = 0
    for use in uses:
        gpus_used += len({gpu for occupant in use.occupants for gpu in occupant.gpus})
        cpus_used += int(at_peak(use.occupants, lambda occupant: occupant.cpus))
        memory_used_mb += int(at_peak(use.occupants, lambda occupant: occupant.memory_mb))
    return {
        "nodes": len(serving),
        "nodes_used": len(uses),
        "nodes_spare": spare,
        "gpus": len(serving) * pool.node.gpus,
        "gpus_used": gpus_used,
        "gpus_peak": float(at_peak(everybody, lambda one: one.gpus_at_once)),
        "gpu_hours": gpu_hours,
        "gpu_hours_used": held_hours,
        "cpus": len(serving) * pool.node.cpus,
        "cpus_used": cpus_used,
        "memory_mb": len(serving) * pool.node.memory_mb,
        "memory_used_mb": memory_used_mb,
    }


def at_peak(
    occupants: Sequence[Occupant], amount: Callable[[Occupant], int | Fraction]
) -> int | Fraction:
    """Return the total held at the hour at which it is largest."""
    changes: dict[int, int | Fraction] = defaultdict(int)
    for occupant in occupants:
        start, end = occupant.held_hours
        changes[start] += amount(occupant)
        changes[end] -= amount(occupant)
    return max(accumulate(changes[hour] for hour in sorted(changes)), default=0)


def site_uses(inputs: Inputs, nodes: Sequence[Node]) -> tuple[SiteUse, ...]:
    """Return the use of every site that the scenario lists, by name."""
    horizon, found = inputs.scenario.horizon, []
    for name, site in sorted(inputs.scenario.sites.items()):
        here, racks = [one for one in nodes if one.site == name and not one.hours], site.racks
        serving = [[node for node in here if at in node.in_service] for at in horizon.labels]
        standing = [[node for node in here if at in node.standing] for at in horizon.labels]
        in_racks = [
            {node.racks[node.standing.index(label)] for node in there if node.racks}
            for label, there in zip(horizon.labels, standing, strict=True)
        ]
        found.append(
            SiteUse(
                site=name,
                cooling=tuple(sorted(site.cooling or ())),
                labels=tuple(sorted(site.labels)),
                nodes=tuple(map(len, serving)),
                taken={
                    limit.need: _taken(inputs, serving if limit.drawn else standing, limit)
                    for limit in SITE_LIMITS
                },
                allowed={
                    limit.need: tuple(
                        site.allows(limit, quarter) for quarter in horizon.all_quarters
                    )
                    for limit in site.limits
                },
                racks=racks.count if racks else None,
                racks_used=tuple(map(len, in_racks)),
                units_per_rack=racks.units if racks else None,
                power_per_rack_w=int(racks.power_kw * 1000) if racks and racks.power_kw else None,
                spare_nodes=site.spare_nodes_in_order,
            )
        )
    return tuple(found)


def _taken(
    inputs: Inputs, serving: Sequence[Sequence[Node]], limit: SiteLimit
) -> tuple[int, ...] | None:
    """Return what the nodes in service take by quarter; None if the catalog lacks a figure."""
    types = {node.node_type for there in serving for node in there}
    each = {name: limit.taken_by(inputs.catalog.nodes[name]) for name in types}
    known = {name: taken for name, taken in each.items() if taken is not None}
    if len(known) < len(each):
        return None
    return tuple(sum(known[node.node_type] for node in there) for there in serving)
