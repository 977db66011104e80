"""From settled inputs and sized jobs to the integer problem, and back to the user's names."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from planner.packing.economics import node_costs, owned_costs
from planner.packing.problem import Choice, Demand, Pool, Problem, Shape, Supply

if TYPE_CHECKING:
    from collections.abc import Iterator

    from planner.inputs.settled import Inputs, SettledOffer
    from planner.sizing.candidate import SizedJob, Sizing

__all__ = ["Translation", "translate"]

Unit = tuple[str, int]
"""Job name and unit number, from 1."""


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
    pools = _pools(inputs)
    supplies = tuple(_supply(inputs, offer, pools) for offer in inputs.offers)
    demands, members = _demands(jobs)
    horizon = inputs.scenario.horizon
    owned = sum(
        pool.owned * stream.present_cents
        for pool in pools
        if pool.owned
        for stream in owned_costs(inputs, pool.node_type)
    )
    problem = Problem(horizon.quarters, pools, supplies, demands, owned)
    labels = tuple(str(horizon.first_quarter + step) for step in range(horizon.quarters))
    return Translation(problem, members, tuple(offer.name for offer in inputs.offers), labels)


def _pools(inputs: Inputs) -> tuple[Pool, ...]:
    scenario, catalog = inputs.scenario, inputs.catalog
    owned: dict[tuple[str, str], int] = defaultdict(int)
    for entry in scenario.fleet.values():
        owned[entry.node_type, entry.site] += entry.count
    for offer in inputs.offers:
        owned[offer.node_type, offer.site] += 0
    spare = scenario.policies.spare_nodes
    pools = []
    for (node_type, site), count in sorted(owned.items()):
        node = catalog.nodes[node_type]
        offered = Shape(
            node.gpus.value, node.cpu_cores.value, int(node.host_memory_gb.value * 1000)
        )
        kept = spare if isinstance(spare, int) else spare.get(node_type, 0)
        fabric = node.scale_out_fabric is not None
        pools.append(Pool(node_type, site, node.gpu_type, offered, count, kept, fabric))
    return tuple(pools)


def _supply(inputs: Inputs, offer: SettledOffer, pools: tuple[Pool, ...]) -> Supply:
    index = next(
        number
        for number, pool in enumerate(pools)
        if (pool.node_type, pool.site) == (offer.node_type, offer.site)
    )
    horizon = inputs.scenario.horizon
    as_of = horizon.as_of or horizon.first_quarter.start
    ready = as_of + timedelta(weeks=offer.lead_time_weeks)
    costs = tuple(
        sum(stream.present_cents for stream in node_costs(inputs, offer, quarter))
        if (horizon.first_quarter + quarter).start >= ready
        else None
        for quarter in range(horizon.quarters)
    )
    return Supply(offer.name, offer.kind, index, offer.maximum, costs)


def _demands(jobs: tuple[SizedJob, ...]) -> tuple[tuple[Demand, ...], tuple[tuple[Unit, ...], ...]]:
    """Group units by (choices, active quarters), in an order of their own, not the input's."""
    groups: dict[tuple[tuple[Choice, ...], tuple[int, ...]], list[Unit]] = defaultdict(list)
    choices: dict[str, tuple[Choice, ...]] = {}
    for job in jobs:
        sizing = job.sizing
        if sizing.id not in choices:
            choices[sizing.id] = _choices(sizing)
        for quarters, units in _activity(job.units):
            groups[choices[sizing.id], quarters].extend((job.name, unit) for unit in units)
    ordered = sorted(
        ((tuple((choice.gpu_type, choice.shape) for choice in key[0]), key[1]), key, sorted(units))
        for key, units in groups.items()
    )
    demands = tuple(Demand(key[0], key[1], len(units)) for _, key, units in ordered)
    return demands, tuple(tuple(units) for _, _, units in ordered)


def _choices(sizing: Sizing) -> tuple[Choice, ...]:
    return tuple(
        Choice(
            candidate.gpu_type,
            Shape(candidate.gpus, candidate.cpus, candidate.memory_mb, candidate.may_span),
        )
        for candidate in sorted(sizing.candidates, key=lambda candidate: candidate.gpu_type)
    )


def _activity(counts: tuple[int, ...]) -> Iterator[tuple[tuple[int, ...], range]]:
    """Runs of unit numbers that are active in the same quarters."""
    done = 0
    for level in sorted({count for count in counts if count}):
        active = tuple(quarter for quarter, count in enumerate(counts) if count >= level)
        yield active, range(done + 1, level + 1)
        done = level
