"""From settled inputs and sized jobs to the integer problem, and back to the user's names."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from planner.packing.economics import owned_costs
from planner.packing.facility import growth_reserves, rack_spaces, site_limits, spare_nodes
from planner.packing.offers import spend_limits, supplies_of
from planner.packing.problem import (
    Choice,
    Demand,
    Part,
    Pool,
    Problem,
    Quota,
    Run,
    Shape,
)
from planner.packing.sharing import shareable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from planner.inputs.scenario import Scenario
    from planner.inputs.settled import Inputs
    from planner.sizing.candidate import Candidate, SizedJob

__all__ = ["Translation", "translate"]

Unit = tuple[str, int]
"""Job name and unit number, from 1."""


_Alike = tuple[tuple[Choice, ...], tuple[int, ...], str]
"""Choices, active quarters and owner."""


@dataclass(frozen=True, slots=True)
class Translation:
    """A problem with the names behind its indices."""

    problem: Problem
    members: tuple[tuple[Unit, ...], ...]
    """By demand: its units, sorted."""
    offers: tuple[str, ...]
    """By supply: the offer's name."""
    quarters: tuple[str, ...]
    """Labels such as `2027Q1`."""


def translate(inputs: Inputs, jobs: tuple[SizedJob, ...]) -> Translation:
    """State a sized portfolio as an integer problem; units that are alike become one demand."""
    pools = shareable(_pools(inputs), inputs, jobs)
    supplies = supplies_of(inputs, pools)
    quotas = _quotas(inputs.scenario)
    owners = frozenset(quota.owner for quota in quotas)
    demands, members = _demands(jobs, frozenset(pool.site for pool in pools), owners)
    horizon = inputs.scenario.horizon
    owned = sum(
        entry.count * stream.present_cents
        for entry in inputs.scenario.fleet.values()
        for stream in owned_costs(inputs, entry)
    )
    problem = Problem(
        horizon.quarters,
        pools,
        supplies,
        demands,
        owned,
        limits=site_limits(inputs, pools),
        racks=rack_spaces(inputs, pools),
        reserves=growth_reserves(inputs),
        budgets=spend_limits(inputs, supplies),
        quotas=quotas,
    )
    labels = tuple(str(horizon.first_quarter + step) for step in range(horizon.quarters))
    return Translation(problem, members, tuple(supply.name for supply in supplies), labels)


def _pools(inputs: Inputs) -> tuple[Pool, ...]:
    scenario, catalog = inputs.scenario, inputs.catalog
    owned: dict[tuple[str, str], int] = defaultdict(int)
    for entry in scenario.fleet.values():
        owned[entry.node_type, entry.site] += entry.count
    for offer in inputs.offers:
        owned[offer.node_type, offer.site] += 0
    pools = []
    for (node_type, site), count in sorted(owned.items()):
        node = catalog.nodes[node_type]
        offered = Shape(
            node.gpus.value, node.cpu_cores.value, int(node.host_memory_gb.value * 1000)
        )
        kept = spare_nodes(inputs, node_type, site)
        fabric = node.scale_out_fabric is not None
        retired = _retired(scenario, node_type, site)
        pools.append(Pool(node_type, site, node.gpu_type, offered, count, kept, fabric, retired))
    return tuple(pools)


def _retired(scenario: Scenario, node_type: str, site: str) -> tuple[int, ...]:
    """Owned nodes out of service by quarter; empty where none retires within the horizon."""
    first = scenario.horizon.first_quarter
    ends = [
        (entry.retires - first, entry.count)
        for entry in scenario.fleet.values()
        if (entry.node_type, entry.site) == (node_type, site) and entry.retires is not None
    ]
    gone = tuple(
        sum(count for end, count in ends if end <= quarter)
        for quarter in range(scenario.horizon.quarters)
    )
    return gone if any(gone) else ()


def _demands(
    jobs: tuple[SizedJob, ...], in_play: frozenset[str], owners: frozenset[str]
) -> tuple[tuple[Demand, ...], tuple[tuple[Unit, ...], ...]]:
    """Group units by choices, active quarters and owner, in an order of their own, not the input's.

    `owners` are the teams with a quota: their units are counted apart.
    """
    groups: dict[_Alike, list[Unit]] = defaultdict(list)
    choices: dict[tuple[str, tuple[str, ...], int, int], tuple[Choice, ...]] = {}
    for job in jobs:
        sites = () if in_play <= set(job.sites) else job.sites
        kind = (job.sizing.id, sites, job.release_week, job.deadline_week)
        if kind not in choices:
            choices[kind] = tuple(
                _choice(candidate, job, sites)
                for candidate in sorted(job.sizing.candidates, key=lambda one: one.way)
            )
        for quarters, units in _activity(job.units):
            owner = job.team if job.team in owners else ""
            key = (choices[kind], quarters, owner or "")
            groups[key].extend((job.name, unit) for unit in units)
    ordered = sorted((key, sorted(units)) for key, units in groups.items())
    demands = tuple(
        Demand(ways, quarters, len(units), owner) for (ways, quarters, owner), units in ordered
    )
    return demands, tuple(tuple(units) for _, units in ordered)


def _quotas(scenario: Scenario) -> tuple[Quota, ...]:
    return tuple(
        Quota(_quota_name(team, gpu_type), team, gpu_type, at_most)
        for team, stated in sorted(scenario.teams.items())
        for gpu_type, at_most in stated.quotas(scenario.horizon)
    )


def _quota_name(team: str, gpu_type: str | None) -> str:
    return f"quota of {team}" if gpu_type is None else f"quota of {team} on {gpu_type}"


def _choice(candidate: Candidate, job: SizedJob, sites: tuple[str, ...]) -> Choice:
    shape = Shape(candidate.gpus, candidate.cpus, candidate.memory_mb, candidate.may_span, sites)
    if candidate.weeks is not None:
        run = Run(candidate.weeks, job.release_week - 1, job.deadline_week)
        shape = replace(shape, run=run)
    if candidate.partition is not None or candidate.shared_mb:
        part = Part(candidate.partition or "", candidate.shared_mb)
        shape = replace(shape, part=part)
    return Choice(candidate.gpu_type, shape, candidate.replicas, candidate.way)


def _activity(counts: tuple[int, ...]) -> Iterator[tuple[tuple[int, ...], range]]:
    """Runs of unit numbers that are active in the same quarters."""
    done = 0
    for level in sorted({count for count in counts if count}):
        active = tuple(quarter for quarter, count in enumerate(counts) if count >= level)
        yield active, range(done + 1, level + 1)
        done = level
