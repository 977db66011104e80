"""What a plan says of the units that run today, beside where they go."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.inputs.scenario.places import node_places, place_of, pool_places
from planner.inputs.text.words import count_of
from planner.plan.plan import Note
from planner.plan.words import some_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from planner.inputs.settled import Inputs
    from planner.sizing.candidate import SizedJob

__all__ = ["running_assumptions", "running_warnings"]

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
