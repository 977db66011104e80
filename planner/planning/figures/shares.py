"""What each job adds to the bound, what endpoints cost, and what each team holds and is charged.

The net present cost of each node is spread evenly over the quarters in which it serves. What a pool
costs in a quarter is shared by the GPUs held there, each for the hours and the part of its memory
that is held; what nobody holds is idle. Shares are exact fractions, rounded to whole cents once, so
that they add up to the plan's cost.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import floor
from typing import TypeVar

from planner.costs import OF_A_SALE, node_costs, owned_costs, present_cents, token_costs
from planner.inputs.scenario.load import HOUR_SECONDS, Load
from planner.inputs.settled import Inputs
from planner.packing import Translation
from planner.packing.solution import RUNNING_COST, TOKENS, WHOLE_NODES, Solution
from planner.planning.figures.use import at_peak
from planner.planning.plan import (
    ApiComparison,
    ApiUse,
    Chargeback,
    CurrentPlacement,
    EndpointUse,
    Node,
    NodeUse,
    Occupant,
    QuotaUse,
    TeamUse,
)
from planner.sizing.candidate import SizedJob

Key = TypeVar("Key")


def largest_remainder(
    amounts: Mapping[Key, Fraction] | Mapping[Key, float], total: int
) -> dict[Key, int]:
    """Round each amount down, and those cut most up again until all add up to the total.

    Of two cut alike the first is rounded up. A total that no rounding of these amounts has
    leaves all of them rounded down.
    """
    whole = {key: floor(amount) for key, amount in amounts.items()}
    missing = total - sum(whole.values())
    if not 0 <= missing <= len(whole):
        return whole
    for key in sorted(whole, key=lambda key: whole[key] - amounts[key])[:missing]:
        whole[key] += 1
    return whole


JOB_TAGS = "job price tags"
"""Name of the first bound term: the tags of all jobs in sum."""

_UNATTRIBUTED = "not attributed"

Bill = tuple[dict[str, int], tuple[tuple[str, int], ...]]
"""Cents by job, and the terms of the bound, the jobs' sum first."""


def bill(translation: Translation, solution: Solution, apis: Iterable[ApiUse]) -> Bill:
    """Tag each job and state the other terms, so that all of them add up to the bound.

    The tag of a job on an API is, or holds, what its tokens cost there.
    """
    exact: dict[str, float] = {}
    terms_of = dict(solution.bound_terms)
    for use in apis:
        exact[use.job] = exact.get(use.job, 0.0) + use.present_cents
        terms_of[TOKENS] -= use.present_cents
    if not round(terms_of.get(TOKENS, 1.0)):
        del terms_of[TOKENS]
    for members, tag in zip(translation.members, solution.tags, strict=True):
        for job, units in Counter(job for job, _ in members).items():
            exact[job] = exact.get(job, 0.0) + units * tag.cents
    jobs = sorted(exact)
    amounts = [exact[job] for job in jobs] + [*terms_of.values()]
    cents = [*largest_remainder(dict(enumerate(amounts)), solution.bound_cents).values()]
    tags = dict(zip(jobs, cents, strict=False))
    terms = [(JOB_TAGS, sum(tags.values()))]
    terms += zip(terms_of, cents[len(jobs) :], strict=True)
    if rest := solution.bound_cents - sum(cents):
        terms.append((_UNATTRIBUTED, rest))
    return tags, tuple(terms)


def most_saved(solution: Solution, tags_cents: int) -> int:
    """Cents by which the cost could fall at most if jobs with these tags in sum took less.

    Without them the duals of the relaxation still bound what is left, by the tags less. Beyond the
    relaxation, the cost holds what whole nodes add and what is not proved. What owned nodes cost in
    any case stays.
    """
    terms = dict(solution.bound_terms)
    beyond = solution.cost_cents - solution.bound_cents + terms[WHOLE_NODES]
    decided = solution.cost_cents - terms[RUNNING_COST]
    return max(0, round(min(tags_cents + beyond, decided)))


PoolQuarter = tuple[tuple[str, str, str], int]
"""Pool and quarter."""
Line = str | None
"""A team, or None for the jobs without one; or a job."""
_IDLE = object()
ChargeCell = tuple[object, int]
"""A line, or `_IDLE`, and a quarter."""


@dataclass(slots=True)
class _Held:
    """What the jobs of one line hold."""

    gpus: dict[PoolQuarter, Fraction] = field(default_factory=lambda: defaultdict(Fraction))
    """On the average of the quarter."""
    occupants: dict[tuple[str, int], list[Occupant]] = field(
        default_factory=lambda: defaultdict(list)
    )
    """By GPU type and quarter: its units."""
    delivered: Fraction = Fraction(0)
    """GPU-hours; likewise `open`."""
    open: Fraction = Fraction(0)

    @property
    def total(self) -> Fraction:
        return sum(self.gpus.values(), Fraction(0))

    def most(
        self, quarters: int, gpu_type: str | None = None, *, parts: bool = False
    ) -> tuple[int | float, ...]:
        """GPUs, of a type or of all, on which it is at the hour of each quarter of which most.

        Of parts their share, if asked.
        """
        found = []
        for at in range(quarters):
            here = [
                one
                for (kind, quarter), occupants in self.occupants.items()
                if quarter == at and gpu_type in (None, kind)
                for one in occupants
            ]
            peak = at_peak(here, lambda one: one.gpus_at_once if parts else len(one.gpus))
            found.append(int(peak) if peak == int(peak) else float(peak))
        return tuple(found)


def chargeback(
    inputs: Inputs,
    jobs: tuple[SizedJob, ...],
    nodes: Sequence[Node],
    placements: Sequence[Sequence[NodeUse]],
    current: CurrentPlacement | None,
) -> Chargeback | None:
    """Share the cost of a plan among its teams; None where neither a job nor a list names any.

    Moves are charged to the teams of the jobs that move, in the first quarter; tokens of APIs to
    those of their jobs.
    """
    named = {job.team for job in jobs} | set(inputs.scenario.teams)
    lines: list[Line] = [*sorted(team for team in named if team is not None)]
    if not lines:
        return None
    if None in named:
        lines.append(None)
    hours = Fraction(inputs.settings.hours_per_quarter.value)
    held = _held(jobs, nodes, placements, hours, lambda job: job.team)
    there = _there(inputs, nodes)
    spread = inputs.scenario.policies.charge_idle == "spread"
    shares = _shares(inputs, nodes, held, there, spread=spread)
    team_of = {job.name: job.team for job in jobs}
    for move in current.moves if current else ():
        shares[team_of[move.job], 0] += move.cost_cents
    for job in jobs:
        for quarter, present in _token_cents(inputs, job):
            shares[job.team, quarter] += present
    cents = largest_remainder(shares, int(sum(shares.values())))
    quarters = range(len(placements))
    idle = sum(there.values(), Fraction(0)) - sum(held[line].total for line in lines)
    return Chargeback(
        idle=inputs.scenario.policies.charge_idle,
        teams=tuple(
            _team_use(inputs, line, held[line], tuple(cents.get((line, q), 0) for q in quarters))
            for line in lines
        ),
        idle_gpu_hours=float(idle * hours),
        idle_cents=tuple(cents.get((_IDLE, quarter), 0) for quarter in quarters),
    )


def _token_cents(inputs: Inputs, job: SizedJob) -> Iterator[tuple[int, int]]:
    """Quarter, and the net present cost of the tokens of a job on an API in it."""
    for api, units in job.on_apis:
        costs = token_costs(inputs, job.name, api)
        for quarter, (count, cost) in enumerate(zip(units, costs, strict=True)):
            yield quarter, count * cost.present_cents


def endpoint_uses(
    inputs: Inputs,
    jobs: tuple[SizedJob, ...],
    nodes: Sequence[Node],
    placements: Sequence[Sequence[NodeUse]],
) -> tuple[EndpointUse, ...]:
    """Tokens of each serving job with a load, and what the GPUs that it holds cost, by quarter."""
    stated = inputs.scenario.jobs
    loads = [(job, load) for job in jobs if job.name in stated and (load := stated[job.name].load)]
    if not loads:
        return ()
    hours = Fraction(inputs.settings.hours_per_quarter.value)
    held = _held(jobs, nodes, placements, hours, lambda job: job.name)
    shares = _shares(inputs, nodes, held, _there(inputs, nodes), spread=False)
    return tuple(
        EndpointUse(
            job=job.name,
            million_tokens=_mean_million_tokens(inputs, job.name, job.endpoints()),
            full_million_tokens=_million_tokens(
                inputs, load, (_taken(job, uses) for uses in placements)
            ),
            cost_cents=tuple(round(shares[job.name, at]) for at in range(len(placements))),
        )
        for job, load in loads
    )


def api_uses(inputs: Inputs, jobs: Sequence[SizedJob]) -> Iterator[ApiUse]:
    """Each job with each API that answers requests of it."""
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
    """Each endpoint on GPUs with each API that serves its model in all of its quarters."""
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
    """Of prompts and answers of so many units in each quarter, at their mean traffic."""
    stated = inputs.scenario.jobs[job]
    if stated.load is None:
        return ()
    rates = zip(units, stated.peaks(inputs.scenario.horizon), strict=True)
    mean = 1 / Fraction(stated.load.peak_to_mean)
    return _million_tokens(inputs, stated.load, (count * peak * mean for count, peak in rates))


def _million_tokens(inputs: Inputs, load: Load, rates: Iterable[Fraction]) -> tuple[float, ...]:
    """The same of so many requests per second all quarter."""
    seconds = Fraction(inputs.settings.hours_per_quarter.value) * HOUR_SECONDS
    each = (load.input_tokens + load.output_tokens) * seconds / 10**6
    return tuple(float(round(rate * each, 6)) for rate in rates)


def _there(inputs: Inputs, nodes: Sequence[Node]) -> dict[PoolQuarter, Fraction]:
    """GPUs in service, on the average of each quarter."""
    hours = Fraction(inputs.settings.hours_per_quarter.value)
    there: dict[PoolQuarter, Fraction] = defaultdict(Fraction)
    for node in nodes:
        for quarter in _quarters(inputs, node):
            there[node.pool, quarter] += node.gpu_hours(hours) / hours
    return there


def _quarters(inputs: Inputs, node: Node) -> tuple[int, ...]:
    """In service, from 0."""
    labels = inputs.scenario.horizon.labels
    return tuple(place for place, label in enumerate(labels) if label in node.in_service)


def _team_use(inputs: Inputs, team: Line, held: _Held, cents: tuple[int, ...]) -> TeamUse:
    hours, quarters = Fraction(inputs.settings.hours_per_quarter.value), len(cents)
    listed = inputs.scenario.teams.get(team) if team else None
    quotas = listed.quotas(inputs.scenario.horizon) if listed else ()
    parts = inputs.scenario.policies.quota_of_part == "share"
    return TeamUse(
        team=team,
        gpus=tuple(map(int, held.most(quarters))),
        gpu_hours=float(held.total * hours),
        delivered_gpu_hours=float(held.delivered),
        open_gpu_hours=float(held.open),
        charged_cents=cents,
        cost_cents=sum(cents),
        quotas=tuple(
            QuotaUse(gpu_type=kind, limit_gpus=limits, gpus=held.most(quarters, kind, parts=parts))
            for kind, limits in quotas
        ),
    )


def _taken(job: SizedJob, uses: Sequence[NodeUse]) -> Fraction:
    """Requests per second that the replicas placed in a quarter are planned to take."""
    serving = {one.way: one.serving for one in job.sizing.candidates}
    ways = {
        (one.unit, one.replica): one.way
        for use in uses
        for one in use.occupants
        if one.job == job.name
    }
    rates = (serving[way] for way in ways.values())
    return sum((Fraction(one.planned_requests_per_second) for one in rates if one), Fraction())


def _held(
    jobs: tuple[SizedJob, ...],
    nodes: Sequence[Node],
    placements: Sequence[Sequence[NodeUse]],
    quarter_hours: Fraction,
    line_of: Callable[[SizedJob], Line],
) -> dict[Line, _Held]:
    """By line; of the hours that it holds, a tuning job delivers its run, any other job all."""
    found: dict[Line, _Held] = defaultdict(_Held)
    of_job, of_id = {job.name: job for job in jobs}, {node.id: node for node in nodes}
    run_hours = {
        (job.name, candidate.way): candidate.hours
        for job in jobs
        for candidate in job.sizing.candidates
    }
    for quarter, uses in enumerate(placements):
        for node, one in ((of_id[use.node], one) for use in uses for one in use.occupants):
            job = of_job[one.job]
            team, hours = found[line_of(job)], one.gpu_hours(quarter_hours)
            team.gpus[node.pool, quarter] += hours / quarter_hours
            team.occupants[node.gpu_type, quarter].append(one)
            run = run_hours[one.job, one.way]
            if job.kind != "tune":
                team.delivered += hours
            elif run is None:
                team.open += hours
            else:
                team.delivered += min(len(one.gpus) * Fraction(run), hours)
    return found


def _shares(
    inputs: Inputs,
    nodes: Sequence[Node],
    held: Mapping[Line, _Held],
    there: Mapping[PoolQuarter, Fraction],
    *,
    spread: bool,
) -> dict[ChargeCell, Fraction]:
    """Cents by line and quarter, exactly; `there` are all GPUs, on the average of the quarter.

    What is idle is shared by those who hold GPUs if it is `spread`, and stands apart else.
    """
    cells: dict[ChargeCell, Fraction] = defaultdict(Fraction)
    charges, nobodys = _charges(inputs, nodes)
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


def _charges(
    inputs: Inputs, nodes: Sequence[Node]
) -> tuple[dict[PoolQuarter, Fraction], Counter[int]]:
    """What each pool costs in each quarter, net present cents, and by quarter what is nobody's.

    The latter is what owned nodes bring that are sold, and cost while they are off.
    """
    alike: Counter[tuple[tuple[str, str, str], _Alike]] = Counter()
    orders: Counter[tuple[str, int]] = Counter()
    for node in nodes:
        served = _quarters(inputs, node)
        alike[node.pool, (node.origin, node.entry, served, node.off, node.sold)] += node.steps
        orders.update((node.entry, q) for q in (served if node.origin == "rent" else served[:1]))
    charges: dict[PoolQuarter, Fraction] = defaultdict(Fraction)
    nobodys: Counter[int] = Counter()
    for (pool, one), count in alike.items():
        for quarters, cents, is_on in _spells(inputs, one, orders):
            for quarter in quarters:
                if is_on:
                    charges[pool, quarter] += Fraction(count * cents, len(quarters))
                else:
                    nobodys[quarter] += count * cents
    return charges, nobodys


_Alike = tuple[str, str, tuple[int, ...], tuple[str, ...], str | None]
"""Origin, entry, quarters in service, quarters in which it is off, and that in which it is sold."""


def _spells(
    inputs: Inputs, one: _Alike, orders: Mapping[tuple[str, int], int]
) -> Iterator[tuple[tuple[int, ...], int, bool]]:
    """Quarters for which a node is paid together, its net present cost, and whether it is on."""
    origin, entry, served, off, sold = one
    if origin != "owned":
        offer = next(offer for offer in inputs.offers if offer.name == entry)
        for quarters in [(quarter,) for quarter in served] if origin == "rent" else [served]:
            ordered = orders[entry, quarters[0]]
            yield quarters, present_cents(node_costs(inputs, offer, quarters[0], ordered)), True
    elif not (off or sold):
        yield served, present_cents(owned_costs(inputs, inputs.scenario.fleet[entry])), True
    else:
        at = inputs.scenario.horizon.labels.index
        gone = at(sold) if sold else None
        for stream in owned_costs(inputs, inputs.scenario.fleet[entry], gone, list(map(at, off))):
            quarter = next((place for place, cents in enumerate(stream.cents) if cents), 0)
            is_on = quarter in served and stream.name not in OF_A_SALE
            yield (quarter,), stream.present_cents, is_on
