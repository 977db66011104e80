"""Checks quotas, and that each team is charged its share of the cost to the cent."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from planner.inputs.scenario.quarter import moment
from planner.inputs.text import count_of, gpus_text
from planner.planning.checks.case import (
    Findings,
    PlanCase,
    at_once,
    differences,
    each_difference,
    gpu_hours,
    in_force,
    most_at_once,
    node_hours,
)
from planner.planning.checks.money import costs_of_tokens, node_costs, present_cents
from planner.planning.checks.placement import moves_cents
from planner.planning.plan import Chargeback, Occupant, TeamUse

_PoolQuarter = tuple[str, str, str, int]
"""The pool (node type, site, offer) and the quarter."""
_0 = Fraction(0)


def _team_of(case: PlanCase, job: str) -> str | None:
    """Return the team of a job; a deployment belongs to the team of its tuning job."""
    sized = case.sized.get(job)
    stated = case.inputs.scenario.jobs.get(sized.root if sized else job)
    return stated.team if stated else None


@dataclass(slots=True)
class _Held:
    """What the jobs of a team hold, counted from the placements."""

    occupants: dict[tuple[str, int], list[Occupant]] = field(
        default_factory=lambda: defaultdict(list)
    )
    """The occupants by GPU type and quarter."""
    gpus: dict[_PoolQuarter, Fraction] = field(default_factory=lambda: defaultdict(Fraction))
    """The GPUs held on average over the quarter; parts count by their share."""
    delivered: Fraction = Fraction(0)
    """GPU-hours of useful work."""
    unknown: Fraction = Fraction(0)
    """GPU-hours that tuning jobs of unknown run time hold."""

    def most(
        self, gpu_type: str | None, quarter: int, *, parts: bool = False
    ) -> tuple[int | float, int]:
        """Return the most GPUs held at one hour of a quarter, of one type or of all, and that hour.

        A partitioned GPU counts whole, or with `parts` by the share of its memory.
        """
        gpus, hour = most_at_once(
            (one, at_once(one) if parts else len(one.gpus))
            for (kind, at), occupants in self.occupants.items()
            if at == quarter and gpu_type in (None, kind)
            for one in occupants
        )
        return int(gpus) if gpus == int(gpus) else float(gpus), hour


def _held(case: PlanCase) -> dict[str | None, _Held]:
    """Return what each team holds."""
    found: dict[str | None, _Held] = defaultdict(_Held)
    hours = case.quarter_hours
    for quarter, _, (job, _, _), places in case.pieces():
        team, here, gpus = found[_team_of(case, job)], Fraction(0), 0
        for node, one in places:
            team.occupants[node.gpu_type, quarter].append(one)
            team.gpus[*node.pool, quarter] += gpu_hours(one, hours) / hours
            here += gpu_hours(one, hours)
            gpus += len(one.gpus)
        candidate = case.candidate(job, *places[0])
        if job not in case.sized or case.sized[job].kind != "tune":
            team.delivered += here
        elif candidate is None or candidate.hours is None:
            team.unknown += here
        else:
            team.delivered += min(here, gpus * Fraction(candidate.hours))
    return found


def _limits(case: PlanCase, team: str) -> dict[str | None, list[int | None]]:
    """Return the quota of a team in each quarter, by GPU type (None: over all types)."""
    stated = case.inputs.scenario.teams[team].quota_gpus
    if stated is None:
        return {}
    by_type: dict[str | None, object] = {None: stated}
    if isinstance(stated, dict) and not any(re.match(r"\d{4}Q", key) for key in stated):
        by_type = {None if key == "total" else key: figure for key, figure in stated.items()}
    return {
        key: [
            None if (most := in_force(figure, label)) is None else int(str(most))
            for label in case.labels
        ]
        for key, figure in by_type.items()
    }


def _quotas(case: PlanCase) -> Findings:
    held, parts = _held(case), case.inputs.scenario.policies.quota_of_part == "share"
    for team in sorted(case.inputs.scenario.teams):
        for gpu_type, limits in _limits(case, team).items():
            for quarter, (label, most) in enumerate(zip(case.labels, limits, strict=True)):
                gpus, hour = held[team].most(gpu_type, quarter, parts=parts)
                if most is not None and gpus > most:
                    on = f" on {gpu_type}" if gpu_type else ""
                    when = f" on {moment(case.quarters[quarter], hour)}" if hour else ""
                    taken = gpus_text(Fraction(gpus))
                    yield f"{label}: {team} holds {taken}{on}{when}, its quota is {most:,}"
    stated = [name for name in case.inputs.scenario.teams if _limits(case, name)]
    if not stated:
        return "no team has a quota"
    when = " at any hour" if any(one.hours for _, _, uses in case.uses() for one in uses) else ""
    told = count_of(len(stated), "team")
    return f"no team holds more GPUs than its quota{when} ({told} with one)"


def _listed(case: PlanCase) -> Findings:
    """Check the list of teams.

    By name, jobs without a team last, and no list if no team is named.
    """
    named = {_team_of(case, job.name) for job in case.jobs} | {*case.inputs.scenario.teams}
    teams = sorted(team for team in named if team is not None)
    expected = [*teams, *([None] if None in named else [])] if teams else None
    found = case.plan.chargeback
    listed = None if found is None else [use.team for use in found.teams]
    yield from differences("the list of teams", listed, expected)
    if found is not None:
        policy = case.inputs.scenario.policies.charge_idle
        yield from differences("the charge of idle GPUs", found.idle, policy)
    return "every team is listed"


def _hours(case: PlanCase) -> Findings:
    told, charged = "GPU-hours of the teams are counted from the placements", case.plan.chargeback
    if charged is None:
        return told
    held, quarters = _held(case), range(len(case.labels))
    parts = case.inputs.scenario.policies.quota_of_part == "share"
    offered = (node_hours(one, case.quarter_hours) * len(one.in_service) for one in case.plan.nodes)
    idle = sum(offered, _0)
    for use in charged.teams:
        mine = held[use.team]
        hours = sum(mine.gpus.values(), _0) * case.quarter_hours
        idle -= hours
        gpus = tuple(mine.most(None, quarter)[0] for quarter in quarters)
        yield from differences(f"{_told(use)}: GPUs by quarter", use.gpus, gpus)
        figures = {
            "gpu_hours": float(hours),
            "delivered_gpu_hours": float(mine.delivered),
            "open_gpu_hours": float(mine.unknown),
        }
        yield from each_difference(f"{_told(use)}:", use, figures)
        limits = _limits(case, use.team) if use.team in case.inputs.scenario.teams else {}
        expected = {
            key: (
                tuple(limit),
                tuple(mine.most(key, quarter, parts=parts)[0] for quarter in quarters),
            )
            for key, limit in limits.items()
        }
        listed = {quota.gpu_type: (quota.limit_gpus, quota.gpus) for quota in use.quotas}
        yield from differences(f"{_told(use)}: quotas and their use", listed, expected)
    yield from differences("idle GPU-hours", charged.idle_gpu_hours, float(idle))
    return told


def _charged(case: PlanCase) -> Findings:
    found = case.plan.chargeback
    if found is None:
        return "no team is named, so none is charged"
    cells = _cells(case, found)
    for use in found.teams:
        yield from differences(
            f"{_told(use)}: its cost, cents,", use.cost_cents, sum(use.charged_cents)
        )
        yield from _near(case, _told(use), use.charged_cents, cells[use.team])
    yield from _near(case, "idle GPUs", found.idle_cents, cells[""])
    total = sum(use.cost_cents for use in found.teams) + sum(found.idle_cents)
    cost = case.plan.proof.cost_cents
    yield from differences("the sum of what is charged, cents,", total, cost)
    return "what teams are charged is their share, and adds up to the cost to the cent"


def _near(
    case: PlanCase, what: str, cents: tuple[int, ...], exact: Mapping[int, Fraction]
) -> Iterator[str]:
    expected = [exact.get(quarter, Fraction(0)) for quarter in range(len(case.labels))]
    if len(cents) != len(expected):
        yield f"{what}: charged in {len(cents)} of {count_of(len(expected), 'quarter')}"
        return
    for label, share, charge in zip(case.labels, expected, cents, strict=True):
        if abs(share - charge) >= 1:  # each charge is rounded once
            yield f"{label}: {what} charged {charge} cents, the share is {float(share):.2f}"


def _cells(case: PlanCase, found: Chargeback) -> dict[str | None, dict[int, Fraction]]:
    """Return each team's exact share by quarter; idle cost stands under the empty name."""
    held = {team: one.gpus for team, one in _held(case).items()}
    costs, gpus = _pool_costs(case)
    cells: dict[str | None, dict[int, Fraction]] = defaultdict(lambda: defaultdict(Fraction))
    totals = {team: sum(counts.values(), Fraction(0)) for team, counts in held.items()}
    for slot, cents in costs.items():
        here = {team: counts[slot] for team, counts in held.items()}
        if found.idle == "spread":
            here = here if any(here.values()) else totals
        all_held = sum(here.values(), Fraction(0))
        whole = (all_held if found.idle == "spread" else Fraction(gpus[slot])) or Fraction(1)
        for team, number in here.items():
            cells[team][slot[3]] += number / whole * cents
        if found.idle == "separate" or not all_held:
            cells[""][slot[3]] += cents - all_held / whole * cents
    for quarter, nobodys in _let_go(case):
        cells[""][quarter] += nobodys
    for job, price in moves_cents(case).items():
        cells[_team_of(case, job)][0] += price
    for job, quarter, (_, present) in costs_of_tokens(case):
        cells[_team_of(case, job)][quarter] += present
    return cells


def _let_go(case: PlanCase) -> Iterator[tuple[int, int]]:
    """Yield the quarter and cost of owned nodes that are switched off or sold."""
    for node in case.plan.nodes:
        nowhere = node.model_copy(update={"in_service": (), "off": (), "sold": None})
        for label in node.off:
            off = node_costs(case, nowhere.model_copy(update={"off": (label,)}))
            yield case.labels.index(label), present_cents(off)
        if node.sold:
            sold = node_costs(case, nowhere.model_copy(update={"sold": node.sold}))
            for kind, one in sold.items():
                at = case.labels.index(node.sold) if kind == "sale" else len(case.labels) - 1
                yield at, one[-1]


def _pool_costs(
    case: PlanCase,
) -> tuple[dict[_PoolQuarter, Fraction], dict[_PoolQuarter, Fraction]]:
    """Return the cents and the mean GPUs in service, by pool and quarter.

    The cost of each node is spread evenly over its quarters in service.
    """
    costs: dict[_PoolQuarter, Fraction] = defaultdict(Fraction)
    gpus: dict[_PoolQuarter, Fraction] = defaultdict(Fraction)
    for node in case.plan.nodes:
        let_go = bool(node.off or node.sold)
        apart = let_go or node.origin == "rent"
        for labels in [(label,) for label in node.in_service] if apart else [node.in_service]:
            alone = node.model_copy(update={"in_service": labels, "off": (), "sold": None})
            cents = present_cents(node_costs(case, alone))
            for label in labels:
                slot = (*node.pool, case.labels.index(label))
                costs[slot] += Fraction(cents, len(labels))
                gpus[slot] += node_hours(node, case.quarter_hours) / case.quarter_hours
    return costs, gpus


def _told(use: TeamUse) -> str:
    return "jobs without a team" if use.team is None else f"team {use.team}"


def _endpoints(case: PlanCase) -> Findings:
    """Check the tokens and the cost of each serving job with a load."""
    hours = case.quarter_hours
    costs, gpus = _pool_costs(case)
    held: dict[tuple[str, int], Fraction] = defaultdict(Fraction)
    for quarter, _, (job, _, _), places in case.pieces():
        for node, one in places:
            slot = (*node.pool, quarter)
            share = gpu_hours(one, hours) / hours / (gpus[slot] or 1)
            held[job, quarter] += share * costs[slot]
    stated = {name: load for name, job in case.inputs.scenario.jobs.items() if (load := job.load)}
    found = {use.job: use for use in case.plan.endpoints}
    yield from differences("the list of endpoints", sorted(found), sorted(stated))
    units = {job.name: case.arriving(job) for job in case.jobs}
    for name, load in stated.items():
        if name not in found:
            continue
        use, stated_job = found[name], case.inputs.scenario.jobs[name]
        peaks = stated_job.peaks(case.inputs.scenario.horizon)
        cost = {at: held[name, at] for at in range(len(case.labels))}
        yield from _near(case, name, use.cost_cents, cost)
        for quarter, label in enumerate(case.labels):
            a_request = (load.input_tokens + load.output_tokens) / Fraction(load.peak_to_mean)
            tokens = units[name][quarter] * peaks[quarter] * a_request * hours * 3600
            given, could = use.million_tokens[quarter], use.full_million_tokens[quarter]
            if abs(Fraction(given) * 10**6 - tokens) > 1:
                yield f"{label}: {name} has {given} million tokens, not {float(tokens) / 10**6}"
            full = _planned(case, name, quarter) * a_request * Fraction(load.peak_to_mean)
            full *= hours * 3600
            if abs(Fraction(could) * 10**6 - full) > 1:
                told = f"could take {float(full) / 10**6} million tokens, not {could}"
                yield f"{label}: {name} {told}"
    return "tokens of endpoints follow from their traffic, and their cost from the GPUs they hold"


def _planned(case: PlanCase, name: str, quarter: int) -> Fraction:
    """Return the requests per second that the replicas of a job are planned to take."""
    rate = Fraction()
    for (job, _, _), ((node, one), *_) in case.seats[quarter].items():
        candidate = case.candidate(job, node, one) if job == name else None
        if candidate is not None and candidate.serving is not None:
            rate += Fraction(candidate.serving.planned_requests_per_second)
    return rate


CHECKS = (_quotas, _listed, _hours, _charged, _endpoints)
