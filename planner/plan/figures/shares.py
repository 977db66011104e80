"""What each job adds to the bound, and what of the cost each team holds and is charged.

The net present cost of each node is spread evenly over the quarters in which it serves. What a pool
costs in a quarter is shared by the GPUs held there, each for the hours and the part of its memory
that is held; what nobody holds is idle. Shares are exact fractions, rounded to whole cents once, so
that they add up to the plan's cost.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from fractions import Fraction
from math import floor
from typing import TYPE_CHECKING, TypeVar

from planner.packing.solution import RUNNING_COST, WHOLE_NODES
from planner.packing.statement.economics import node_costs, owned_costs
from planner.plan.figures.use import at_peak
from planner.plan.parts import Chargeback, QuotaUse, TeamUse

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from planner.inputs.settled import Inputs
    from planner.packing import Translation
    from planner.packing.solution import Solution
    from planner.packing.statement.economics import CostStream
    from planner.plan.parts import CurrentPlacement
    from planner.plan.placing.fleet import Fleet
    from planner.plan.placing.moves import TypeChange
    from planner.plan.placing.place import Placement
    from planner.plan.plan import Occupant
    from planner.sizing.candidate import SizedJob

__all__ = ["JOB_TAGS", "Bill", "bill", "chargeback", "largest_remainder", "most_saved"]

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


def bill(translation: Translation, solution: Solution) -> Bill:
    """Tag each job and state the other terms, so that all of them add up to the bound."""
    exact: dict[str, float] = {}
    for members, tag in zip(translation.members, solution.tags, strict=True):
        for job, units in Counter(job for job, _ in members).items():
            exact[job] = exact.get(job, 0.0) + units * tag.cents
    jobs = sorted(exact)
    amounts = [exact[job] for job in jobs] + [cents for _, cents in solution.bound_terms]
    cents = [*largest_remainder(dict(enumerate(amounts)), solution.bound_cents).values()]
    tags = dict(zip(jobs, cents, strict=False))
    terms = [(JOB_TAGS, sum(tags.values()))]
    terms += zip((name for name, _ in solution.bound_terms), cents[len(jobs) :], strict=True)
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


Slot = tuple[int, int]
"""Pool and quarter."""
Line = str | None
"""A team, or None for the jobs without one."""
_IDLE = object()
Cell = tuple[object, int]
"""A line, or `_IDLE`, and a quarter."""


@dataclass(slots=True)
class _Use:
    """What the jobs of one line hold."""

    gpus: dict[Slot, Fraction] = field(default_factory=lambda: defaultdict(Fraction))
    """Held on the average of the quarter."""
    occupants: dict[tuple[str, int], list[Occupant]] = field(
        default_factory=lambda: defaultdict(list)
    )
    """By GPU type and quarter: its units, each with all GPUs on which it is, for quotas."""
    delivered: Fraction = Fraction(0)
    """GPU-hours; likewise `open`."""
    open: Fraction = Fraction(0)

    @property
    def total(self) -> Fraction:
        return sum(self.gpus.values(), Fraction(0))

    def in_quarter(self, quarter: int, gpu_type: str | None = None) -> int:
        """At the hour at which most are held."""
        held = [
            occupant
            for (kind, at), occupants in self.occupants.items()
            if at == quarter and gpu_type in (None, kind)
            for occupant in occupants
        ]
        return int(at_peak(held, lambda occupant: len(occupant.gpus)))


def chargeback(
    inputs: Inputs,
    jobs: tuple[SizedJob, ...],
    fleet: Fleet,
    placement: Placement,
    current: CurrentPlacement | None,
    changes: Iterable[tuple[TypeChange, CostStream]] = (),
) -> Chargeback | None:
    """Share the cost of a plan among its teams; None where neither a job nor a list names any.

    Moves are charged to the teams of the jobs that move, in the first quarter, and so are changes
    of the GPU type, in the quarter at whose start they are.
    """
    named = {job.team for job in jobs} | set(inputs.scenario.teams)
    lines: list[Line] = [*sorted(team for team in named if team is not None)]
    if not lines:
        return None
    if None in named:
        lines.append(None)
    uses = _uses(inputs, jobs, fleet, placement)
    spread = inputs.scenario.policies.charge_idle == "spread"
    shares = _shares(inputs, fleet, uses, spread=spread)
    team_of = {job.name: job.team for job in jobs}
    for move in current.moves if current else ():
        shares[team_of[move.job], 0] += move.cost_cents
    for change, cost in changes:
        shares[team_of[change.job], change.quarter] += cost.present_cents
    cents = largest_remainder(shares, int(sum(shares.values())))
    quarters = range(len(fleet.in_service))
    hours = Fraction(inputs.settings.hours_per_quarter.value)
    there = _in_service(fleet, hours)
    idle = sum(there.values(), Fraction(0)) - sum(uses[line].total for line in lines)
    return Chargeback(
        idle=inputs.scenario.policies.charge_idle,
        teams=tuple(
            _team_use(inputs, line, uses[line], tuple(cents.get((line, q), 0) for q in quarters))
            for line in lines
        ),
        idle_gpu_hours=float(idle * hours),
        idle_cents=tuple(cents.get((_IDLE, quarter), 0) for quarter in quarters),
    )


def _team_use(inputs: Inputs, team: Line, use: _Use, cents: tuple[int, ...]) -> TeamUse:
    hours = use.total * Fraction(inputs.settings.hours_per_quarter.value)
    return TeamUse(
        team=team,
        gpus=tuple(use.in_quarter(quarter) for quarter in range(len(cents))),
        gpu_hours=float(hours),
        delivered_gpu_hours=float(use.delivered),
        open_gpu_hours=float(use.open),
        charged_cents=cents,
        cost_cents=sum(cents),
        usd_per_gpu_hour=_usd_per_hour(sum(cents), hours),
        usd_per_delivered_gpu_hour=None if use.open else _usd_per_hour(sum(cents), use.delivered),
        quotas=tuple(_quota_uses(inputs, team, use)),
    )


def _usd_per_hour(cents: int, hours: Fraction) -> float | None:
    return float(round(Fraction(cents, 100) / hours, 6)) if hours else None


def _quota_uses(inputs: Inputs, team: Line, use: _Use) -> Iterator[QuotaUse]:
    if team is None or team not in inputs.scenario.teams:
        return
    for gpu_type, limits in inputs.scenario.teams[team].quotas(inputs.scenario.horizon):
        held = tuple(use.in_quarter(quarter, gpu_type) for quarter in range(len(limits)))
        yield QuotaUse(gpu_type=gpu_type, limit_gpus=limits, gpus=held)


def _uses(
    inputs: Inputs, jobs: tuple[SizedJob, ...], fleet: Fleet, placement: Placement
) -> dict[Line, _Use]:
    found: dict[Line, _Use] = defaultdict(_Use)
    of_job = {job.name: job for job in jobs}
    pool_of = {node.id: pool for node, pool in zip(fleet.nodes, fleet.pool, strict=True)}
    gpu_type_of = {node.id: node.gpu_type for node in fleet.nodes}
    quarter_hours = Fraction(inputs.settings.hours_per_quarter.value)
    run_hours = {
        (job.name, candidate.way): candidate.hours
        for job in jobs
        for candidate in job.sizing.candidates
    }
    for quarter, uses in enumerate(placement.uses):
        for use in uses:
            gpu_type = gpu_type_of[use.node]
            for occupant in use.occupants:
                job = of_job[occupant.job]
                team = found[job.team]
                average = occupant.gpu_hours(quarter_hours) / quarter_hours
                team.gpus[pool_of[use.node], quarter] += average
                team.occupants[gpu_type, quarter].append(occupant)
                _count_hours(team, job, occupant, run_hours[job.name, occupant.way], quarter_hours)
    return found


def _count_hours(
    team: _Use, job: SizedJob, occupant: Occupant, run_hours: float | None, quarter_hours: Fraction
) -> None:
    """A tuning job delivers its run, in whatever part of its hours; others all that they hold."""
    held = occupant.gpu_hours(quarter_hours)
    if job.kind != "tune":
        team.delivered += held
    elif run_hours is None:
        team.open += held
    else:
        team.delivered += min(len(occupant.gpus) * Fraction(run_hours), held)


def _shares(
    inputs: Inputs, fleet: Fleet, uses: Mapping[Line, _Use], *, spread: bool
) -> dict[Cell, Fraction]:
    """Cents by line and quarter, exactly."""
    cells: dict[Cell, Fraction] = defaultdict(Fraction)
    gpus = _in_service(fleet, Fraction(inputs.settings.hours_per_quarter.value))
    for (pool, quarter), cents in _charges(inputs, fleet).items():
        here = {line: use.gpus[pool, quarter] for line, use in uses.items()}
        if spread and not any(here.values()):
            here = {line: use.total for line, use in uses.items()}
        held = sum(here.values(), Fraction(0))
        by = held if spread and held else gpus[pool, quarter]
        for line, number in here.items():
            cells[line, quarter] += cents * (number / by)
        cells[_IDLE, quarter] += cents * ((by - held) / by)
    return cells


def _in_service(fleet: Fleet, hours: Fraction) -> dict[Slot, Fraction]:
    """GPUs by pool and quarter, on the average of its hours."""
    found: dict[Slot, Fraction] = defaultdict(Fraction)
    for quarter, pools in enumerate(fleet.in_service):
        for node in (node for nodes in pools for node in nodes):
            found[fleet.pool[node], quarter] += fleet.nodes[node].gpu_hours(hours) / hours
    return found


def _charges(inputs: Inputs, fleet: Fleet) -> dict[Slot, Fraction]:
    """What each pool costs in each quarter, net present cents."""
    labels = {label: place for place, label in enumerate(inputs.scenario.horizon.labels)}
    alike: Counter[tuple[int, str, str, tuple[int, ...]]] = Counter()
    orders: Counter[tuple[str, int]] = Counter()
    for pool, node in zip(fleet.pool, fleet.nodes, strict=True):
        served = tuple(labels[label] for label in node.in_service)
        alike[pool, node.origin, node.entry, served] += node.steps
        orders.update((node.entry, q) for q in (served if node.origin == "rent" else served[:1]))
    charges: dict[Slot, Fraction] = defaultdict(Fraction)
    for (pool, origin, entry, served), nodes in alike.items():
        for quarters, cents in _spells(inputs, origin, entry, served, orders):
            for quarter in quarters:
                charges[pool, quarter] += Fraction(nodes * cents, len(quarters))
    return charges


def _spells(
    inputs: Inputs,
    origin: str,
    entry: str,
    served: tuple[int, ...],
    orders: Mapping[tuple[str, int], int],
) -> Iterator[tuple[tuple[int, ...], int]]:
    """Quarters for which one node is paid together, and its net present cost for them."""
    if origin == "owned":
        streams = owned_costs(inputs, inputs.scenario.fleet[entry])
        yield served, sum(stream.present_cents for stream in streams)
        return
    offer = next(offer for offer in inputs.offers if offer.name == entry)
    for quarters in [(quarter,) for quarter in served] if origin == "rent" else [served]:
        streams = node_costs(inputs, offer, quarters[0], orders[entry, quarters[0]])
        yield quarters, sum(stream.present_cents for stream in streams)
