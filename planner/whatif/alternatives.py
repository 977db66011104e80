"""Alternatives: plans that differ where people care, each proved for its own objective.

Every one is a plan of the scenario with a few settings, so that anybody can make it again. A
plan is called the one with the fewest, or most, of something only if every plan with less, or
more, was shown to cost more than the tolerance allows, or not to exist.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from itertools import combinations
from math import floor
from typing import Literal

from planner.inputs.base import Frozen
from planner.inputs.override import Override
from planner.inputs.scenario.offer import FleetEntry
from planner.inputs.settled import Inputs
from planner.whatif.results import (
    JobShort,
    PlanSummary,
    StoredResult,
    question_of,
    require_plan,
)
from planner.whatif.shortfall import units_short
from planner.whatif.variants import CachedRunner


class Best(Frozen):
    """What was reached, and what is proved of all plans within the tolerance."""

    value: float
    bound: float
    """No plan has less; for headroom: none has more."""
    unit: Literal["node types", "% free"]


class AlternativePlan(Frozen):
    """One plan beside the cheapest."""

    name: str
    objective: str
    """What it is best in, or what it asks for."""
    settings: tuple[Override, ...] = ()
    """The settings with which `planner plan` makes it."""
    figures: PlanSummary | None = None
    best: Best | None = None
    """How good it is in its objective, if that is a number, and how good any plan could be."""
    left_out: str | None = None
    """Why there is no such plan."""
    units_short: tuple[JobShort, ...] | None = None
    """Doing nothing: for each job, the fewest units that the owned nodes do not hold, each
    quarter by itself. None for other alternatives, and if time ended before it was known."""


class Alternatives(StoredResult):
    """A scenario's cheapest plan, and others."""

    within: float | None
    """The share by which near-optimal plans may cost more than the cheapest; None: not asked."""
    quarters: tuple[str, ...] = ()
    """The labels of the quarters."""
    cheapest: PlanSummary
    others: tuple[AlternativePlan, ...]


DO_NOTHING = "do nothing"
_MOST_TRIES = 64
"""The most plans that are made for one alternative."""


def find_alternatives(
    runner: CachedRunner, *, within: Fraction | None = Fraction(3, 100)
) -> Alternatives:
    """Plan what is asked, what a board asks for beside it, and plans that are near the cheapest.

    Those cost at most the share `within` more; with None there are none of them, else what is asked
    must have a plan: where it has none, raises what planning it would.
    """
    cheapest = runner.one()
    if within is not None:
        require_plan(cheapest, "no plan to stand beside")
    others = tuple(_standard(runner))
    if within is not None:
        cost = cheapest.cost_cents or 0  # negative where sales bring more than all else costs
        near = _Near(runner, cheapest, cost + floor(abs(cost) * within))
        others += near.fewest_node_types(), near.single_vendor(), near.most_headroom()
    return Alternatives(
        question=question_of(runner.inputs),
        scenario=runner.inputs.scenario.name,
        within=None if within is None else float(within),
        quarters=runner.inputs.scenario.horizon.labels,
        cheapest=cheapest,
        others=others,
    )


def _without(inputs: Inputs, barred: Container[str]) -> tuple[Override, ...]:
    """Return settings that remove offers."""
    names = (offer.name for offer in inputs.offers if offer.name in barred)
    return tuple(Override.of(("offers", name, "maximum"), 0) for name in names)


def keeping_owned_nodes(inputs: Inputs) -> Iterator[Override]:
    """Return settings with which every owned node is kept, and on."""
    for name, entry in inputs.scenario.fleet.items():
        if entry.sale is not None:
            yield Override.of(("fleet", name, "sale", "maximum"), 0)
        if entry.may_switch_off:
            yield Override.of(("fleet", name, "may_switch_off"), False)
            yield Override.of(("fleet", name, "support_while_off"), "charged")


def _stays(entry: FleetEntry) -> bool:
    """Return whether owned nodes are in service whatever is planned."""
    return entry.sale is None and not entry.may_switch_off


def _dropping(inputs: Inputs) -> tuple[tuple[Override, ...], str]:
    """Return settings with which jobs may give way, and what else they change, in words."""
    drop = Override.of(("policies", "shortage"), "drop")
    if not inputs.scenario.running:  # of which nothing may be dropped
        return (drop,), ""
    pinned = [name for name, job in inputs.scenario.jobs.items() if job.pinned]
    loose = (Override.of(("jobs", name, "pinned"), False) for name in pinned)
    return (drop, Override.of(("running",), ()), *loose), ", wherever they run today"


def _standard(runner: CachedRunner) -> Iterator[AlternativePlan]:
    """Return what a board asks for in any case, whatever it costs."""
    inputs = runner.inputs
    drop, wherever = _dropping(inputs)
    keeping = tuple(keeping_owned_nodes(inputs))
    kept = ", and every owned node is kept, and on" if keeping else ""
    allowed = [name for name, job in inputs.scenario.jobs.items() if job.api == "allowed"]
    no_apis = (Override.of(("jobs", name, "api"), "forbidden") for name in allowed)
    nothing = (*_without(inputs, {*inputs.scenario.offers}), *keeping, *drop)
    on_apis = {
        "APIs only": (
            f"nothing is acquired{kept}, and APIs answer the jobs that allow it; the fewest others "
            f"are dropped or delayed{wherever}",
            nothing,
        )
    }
    asked = {
        DO_NOTHING: (
            f"nothing is acquired{kept}; the fewest jobs are dropped, each for the whole horizon, "
            f"then delayed{wherever}",
            (*nothing, *no_apis),
        ),
        **(on_apis if allowed else {}),
        "reclaim first": (
            "serving jobs may take MIG partitions of GPUs, so that fewer stand idle",
            (Override.of(("policies", "mig"), "same-node"),),
        ),
        "rent only": (
            "nothing is bought; where that is not enough, the fewest jobs are dropped or delayed"
            f"{wherever}",
            (*_without(inputs, {one.name for one in inputs.offers if one.kind == "buy"}), *drop),
        ),
    }
    plans = runner.all([settings for _, settings in asked.values()])
    runner.progress("what would be short, quarter by quarter")
    short = units_short(runner.planner.request(inputs))
    for (name, (objective, settings)), figures in zip(asked.items(), plans, strict=True):
        yield AlternativePlan(
            name=name,
            objective=objective,
            settings=settings,
            figures=figures,
            units_short=short if name == DO_NOTHING else None,
        )


@dataclass(frozen=True, slots=True)
class _Near:
    """Plans that cost little more than the cheapest."""

    runner: CachedRunner
    cheapest: PlanSummary
    most_cents: int

    def _drops_more(self, figures: PlanSummary) -> bool:
        """Return whether it is cheap because it keeps fewer jobs."""
        return figures.given_way > self.cheapest.given_way

    def _affordable(self, figures: PlanSummary) -> bool:
        cost = figures.cost_cents
        return cost is not None and cost <= self.most_cents and not self._drops_more(figures)

    def _ruled_out(self, figures: PlanSummary) -> bool:
        """Return whether it is proved that no such plan exists within the tolerance."""
        if figures.bound_cents is None:
            return figures.result == "infeasible"
        dropped = figures.result == "proved" and self._drops_more(figures)
        return figures.bound_cents > self.most_cents or dropped

    def fewest_node_types(self) -> AlternativePlan:
        """Return the cheapest of the plans with the fewest node types in service.

        Only sets of offered types are tried, so owned ones that may go are no part of the bound.
        """
        objective = "as few different servers as the tolerance allows"
        made = partial(AlternativePlan, name="fewest node types", objective=objective)
        inputs = self.runner.inputs
        owned = {entry.node_type for entry in inputs.scenario.fleet.values()}
        offered = sorted({offer.node_type for offer in inputs.offers} - owned)
        tries = 0
        for size in range(len(offered) + 1):
            sets = [owned.union(chosen) for chosen in combinations(offered, size)]
            tries += len(sets)
            if tries > _MOST_TRIES:
                words = f"more than {_MOST_TRIES} sets of node types would have to be tried"
                return made(left_out=words)
            settings = [
                _without(inputs, {o.name for o in inputs.offers if o.node_type not in one})
                for one in sets
            ]
            plans = self.runner.all(settings)
            fitting = [place for place, one in enumerate(plans) if self._affordable(one)]
            if fitting:
                best = min(fitting, key=lambda place: (plans[place].cost_cents or 0, place))
                kept = {one.node_type for one in inputs.scenario.fleet.values() if _stays(one)}
                value = plans[best].node_types or 0
                reached = Best(value=value, bound=size + len(kept), unit="node types")
                return made(settings=settings[best], figures=plans[best], best=reached)
            if not all(map(self._ruled_out, plans)):
                break
        return made(left_out=_OPEN)

    def single_vendor(self) -> AlternativePlan:
        """Return the cheapest of the plans that acquire from one maker of servers."""
        objective = "all that is acquired is made by one vendor"
        made = partial(AlternativePlan, name="single vendor")
        inputs = self.runner.inputs
        nodes = inputs.catalog.nodes
        makers = {offer.name: nodes[offer.node_type].vendor for offer in inputs.offers}
        vendors = sorted(set(makers.values()))
        settings = [
            _without(inputs, {name for name, by in makers.items() if by != vendor})
            for vendor in vendors
        ]
        plans = self.runner.all(settings)
        planned = [place for place, one in enumerate(plans) if one.cost_cents is not None]
        if not planned:
            words = "no vendor alone offers what is needed" if vendors else "nothing is on offer"
            return made(objective=objective, left_out=words)
        best = min(
            planned,
            key=lambda place: (plans[place].given_way, plans[place].cost_cents or 0, place),
        )
        objective = f"{objective}: {vendors[best]}"
        return made(objective=objective, settings=settings[best], figures=plans[best])

    def most_headroom(self) -> AlternativePlan:
        """Return the plan with the largest share of free GPUs, the same for every type on offer."""
        objective = "the largest share of GPUs that no job holds, alike for every type on offer"
        made = partial(AlternativePlan, name="most headroom", objective=objective)
        inputs = self.runner.inputs
        if inputs.scenario.policies.growth_reserve:
            return made(left_out="the scenario states a growth reserve of its own")
        nodes = inputs.catalog.nodes
        types = sorted({nodes[offer.node_type].gpu_type for offer in inputs.offers})
        if not types:
            return made(left_out="nothing is on offer")
        fits, fails = 0, 100
        while fails - fits > 1:
            middle = (fits + fails) // 2
            if self._affordable(self.runner.one(_reserve(types, middle))):
                fits = middle
            else:
                fails = middle
        if fails == 100:  # of GPUs that there are none of, any share is free
            return made(left_out="jobs hold next to no GPU of the types on offer")
        settings = _reserve(types, fits)
        figures = self.runner.one(settings)
        if not self._ruled_out(self.runner.one(_reserve(types, fails))):
            return made(left_out=_OPEN)
        reached = Best(value=fits, bound=fits, unit="% free")
        return made(settings=settings, figures=figures, best=reached)


_OPEN = "within the time, it was not proved which plans the tolerance leaves"


def _reserve(gpu_types: Sequence[str], per_cent: int) -> tuple[Override, ...]:
    if not per_cent:
        return ()
    share = dict.fromkeys(gpu_types, f"{per_cent}%")
    return (Override.of(("policies", "growth_reserve"), share),)
