"""Plans that differ where people care: each proved for its own objective, side by side.

Every one is a plan of the scenario with a few settings, so that anybody can make it again. What is
said to be fewest, or most, is so because every plan that would have less, or more, was shown to
cost more than the tolerance allows, or not to exist.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from math import floor
from typing import TYPE_CHECKING, Literal

from planner.errors import CheckError, InputError, LimitError
from planner.inputs.layers.override import Override
from planner.packing.incumbent import Infeasible
from planner.whatif.results import AlternativePlan, Alternatives, Best
from planner.whatif.stored_result import question_of
from planner.whatif.variants.plan_summary import require_plan, summary_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from planner.inputs.settled import Inputs
    from planner.planning.constrained import Goal
    from planner.whatif.variants.cached_runner import CachedRunner
    from planner.whatif.variants.plan_summary import PlanSummary

__all__ = ["alternatives", "standard_alternatives"]

NOTHING = "do nothing"
_MOST_TRIES = 64
"""Plans that are made for one alternative."""


def alternatives(runner: CachedRunner, *, within: Fraction = Fraction(3, 100)) -> Alternatives:
    """Plan what is asked and what stands beside it; near-optimal ones cost at most `within` more.

    Where what is asked has no plan, raises what planning it would.
    """
    cheapest = runner.one()
    require_plan(cheapest, "no plan to stand beside")
    near = _Near(runner, cheapest, floor((cheapest.cost_cents or 0) * (1 + within)))
    others = (
        *_always(runner),
        near.fewest_node_types(),
        near.single_vendor(),
        near.most_headroom(),
        near.no_moves(),
        near.fewest_moves(),
        near.lowest_power(),
        near.earliest(),
    )
    return _beside(runner, others, float(within))


def standard_alternatives(runner: CachedRunner) -> Alternatives:
    """Beside what is asked, what a board asks for in any case, and no more."""
    return _beside(runner, tuple(_always(runner)), None)


def _beside(
    runner: CachedRunner, others: tuple[AlternativePlan, ...], within: float | None
) -> Alternatives:
    return Alternatives(
        question=question_of(runner.inputs),
        scenario=runner.inputs.scenario.name,
        within=within,
        quarters=runner.inputs.scenario.horizon.labels,
        cheapest=runner.one(),
        others=others,
    )


def _without(inputs: Inputs, barred: Callable[[str], bool]) -> tuple[Override, ...]:
    """Settings that take offers away."""
    return tuple(Override.of(("offers", name, "maximum"), 0) for name in _offers(inputs, barred))


def _keeping(inputs: Inputs) -> Iterator[Override]:
    """Settings under which every owned node is kept, and on."""
    for name, entry in inputs.scenario.fleet.items():
        if entry.sale is not None:
            yield Override.of(("fleet", name, "sale", "maximum"), 0)
        if entry.may_switch_off:
            yield Override.of(("fleet", name, "may_switch_off"), False)
            yield Override.of(("fleet", name, "support_while_off"), "charged")


def _without_apis(inputs: Inputs) -> tuple[Override, ...]:
    """Settings that keep every job off APIs."""
    allowed = (name for name, job in inputs.scenario.jobs.items() if job.api == "allowed")
    return tuple(Override.of(("jobs", name, "api"), "forbidden") for name in allowed)


def _offers(inputs: Inputs, wanted: Callable[[str], bool]) -> Iterator[str]:
    return (offer.name for offer in inputs.offers if wanted(offer.name))


def _always(runner: CachedRunner) -> Iterator[AlternativePlan]:
    """What a board asks for in any case, whatever it costs."""
    inputs = runner.inputs
    drop: tuple[Override, ...] = (Override.of(("policies", "shortage"), "drop"),)
    wherever = ""
    if inputs.scenario.running:  # of which nothing may be dropped
        pinned = [name for name, job in inputs.scenario.jobs.items() if job.pinned]
        drop += (
            Override.of(("running",), ()),
            *(Override.of(("jobs", name, "pinned"), False) for name in pinned),
        )
        wherever = ", wherever they run today"
    keeping = tuple(_keeping(inputs))
    kept = ", and every owned node is kept, and on" if keeping else ""
    shared = (Override.of(("policies", "mig"), "same-node"),)
    buys = {offer.name for offer in inputs.offers if offer.kind == "buy"}
    asked = (
        (
            NOTHING,
            f"nothing is acquired{kept}; the fewest jobs are dropped, each for the whole horizon, "
            f"then delayed{wherever}",
            (
                *_without(inputs, lambda _: True),
                *keeping,
                *drop,
                *_without_apis(inputs),
            ),
        ),
        (
            "reclaim first",
            "serving jobs may take MIG partitions of GPUs, so that fewer stand idle",
            shared,
        ),
        (
            "rent only",
            "nothing is bought; where that is not enough, the fewest jobs are dropped or delayed"
            f"{wherever}",
            (*_without(inputs, buys.__contains__), *drop),
        ),
    )
    plans = runner.all([settings for _, _, settings in asked])
    runner.progress("what would be short, quarter by quarter")
    short = runner.planner.units_short(inputs)
    for (name, objective, settings), figures in zip(asked, plans, strict=True):
        yield AlternativePlan(
            name=name,
            objective=objective,
            settings=settings,
            figures=figures,
            units_short=short if name == NOTHING else None,
        )


@dataclass(frozen=True, slots=True)
class _Near:
    """Plans that cost little more than the cheapest."""

    runner: CachedRunner
    cheapest: PlanSummary
    most_cents: int

    @property
    def inputs(self) -> Inputs:
        return self.runner.inputs

    def _affordable(self, figures: PlanSummary) -> bool:
        cost = figures.cost_cents
        return cost is not None and cost <= self.most_cents and not self._drops_more(figures)

    def _drops_more(self, figures: PlanSummary) -> bool:
        """Whether it is cheap because it keeps fewer jobs."""
        return figures.given_way > self.cheapest.given_way

    def _ruled_out(self, figures: PlanSummary) -> bool:
        """Whether it is proved that there is no such plan at a cost within the tolerance."""
        if figures.bound_cents is None:
            return figures.result == "infeasible"
        dropped = figures.result == "proved" and self._drops_more(figures)
        return figures.bound_cents > self.most_cents or dropped

    def fewest_node_types(self) -> AlternativePlan:
        """The cheapest of the plans with the fewest node types in service."""
        name, objective = "fewest node types", "as few different servers as the tolerance allows"
        owned = {entry.node_type for entry in self.inputs.scenario.fleet.values()}
        offered = sorted({offer.node_type for offer in self.inputs.offers} - owned)
        tries = 0
        for size in range(len(offered) + 1):
            sets = [frozenset(chosen) for chosen in combinations(offered, size)]
            tries += len(sets)
            if tries > _MOST_TRIES:
                words = f"more than {_MOST_TRIES} sets of node types would have to be tried"
                return AlternativePlan(name=name, objective=objective, left_out=words)
            settings = [self._only(chosen | owned) for chosen in sets]
            plans = self.runner.all(settings)
            fitting = [place for place, one in enumerate(plans) if self._affordable(one)]
            if fitting:
                best = min(fitting, key=lambda place: (plans[place].cost_cents or 0, place))
                least = plans[best].node_types or 0
                return AlternativePlan(
                    name=name,
                    objective=objective,
                    settings=settings[best],
                    figures=plans[best],
                    best=Best(value=least, bound=least, unit="node types"),
                )
            if not all(map(self._ruled_out, plans)):
                return AlternativePlan(name=name, objective=objective, left_out=_OPEN)
        return AlternativePlan(name=name, objective=objective, left_out=_OPEN)

    def _only(self, node_types: frozenset[str] | set[str]) -> tuple[Override, ...]:
        other = {o.name for o in self.inputs.offers if o.node_type not in node_types}
        return _without(self.inputs, other.__contains__)

    def single_vendor(self) -> AlternativePlan:
        """The cheapest of the plans that acquire from one maker of servers."""
        name, objective = "single vendor", "all that is acquired is made by one vendor"
        nodes = self.inputs.catalog.nodes
        makers = {offer.name: nodes[offer.node_type].vendor for offer in self.inputs.offers}
        vendors = sorted(set(makers.values()))
        settings = [
            _without(
                self.inputs, {name for name, by in makers.items() if by != vendor}.__contains__
            )
            for vendor in vendors
        ]
        plans = self.runner.all(settings)
        planned = [place for place, one in enumerate(plans) if one.cost_cents is not None]
        if not planned:
            words = "no vendor alone offers what is needed" if vendors else "nothing is on offer"
            return AlternativePlan(name=name, objective=objective, left_out=words)
        best = min(
            planned,
            key=lambda place: (plans[place].given_way, plans[place].cost_cents or 0, place),
        )
        words = f"{objective}: {vendors[best]}"
        return AlternativePlan(
            name=name, objective=words, settings=settings[best], figures=plans[best]
        )

    def most_headroom(self) -> AlternativePlan:
        """The plan with the largest share of free GPUs, the same of every type on offer."""
        name = "most headroom"
        objective = "the largest share of GPUs that no job holds, alike for every type on offer"
        if self.inputs.scenario.policies.growth_reserve:
            words = "the scenario states a growth reserve of its own"
            return AlternativePlan(name=name, objective=objective, left_out=words)
        nodes = self.inputs.catalog.nodes
        types = sorted({nodes[offer.node_type].gpu_type for offer in self.inputs.offers})
        fits, fails = 0, 100
        while fails - fits > 1:
            middle = (fits + fails) // 2
            if self._affordable(self.runner.one(_reserve(types, middle))):
                fits = middle
            else:
                fails = middle
        if fails == 100:  # of GPUs that there are none of, any share is free
            words = "jobs hold next to no GPU of the types on offer"
            return AlternativePlan(name=name, objective=objective, left_out=words)
        figures = self.runner.one(_reserve(types, fits))
        if not self._ruled_out(self.runner.one(_reserve(types, fails))):
            return AlternativePlan(name=name, objective=objective, left_out=_OPEN)
        return AlternativePlan(
            name=name,
            objective=objective,
            settings=_reserve(types, fits),
            figures=figures,
            best=Best(value=fits, bound=fits, unit="% free"),
        )

    def no_moves(self) -> AlternativePlan:
        """The cheapest plan in which nothing that runs today moves."""
        name, objective = "no moves", "whatever runs today stays where it is"
        running = sorted({entry.job for entry in self.inputs.scenario.running})
        if not running:
            return AlternativePlan(name=name, objective=objective, left_out=_NOTHING_RUNS)
        settings = tuple(Override.of(("jobs", job, "pinned"), True) for job in running)
        try:
            figures = self.runner.one(settings)
        except InputError as error:  # what runs where it may not stay
            words = "; ".join(mistake.message for mistake in error.findings)
            return AlternativePlan(name=name, objective=objective, left_out=words)
        return AlternativePlan(name=name, objective=objective, settings=settings, figures=figures)

    def fewest_moves(self) -> AlternativePlan:
        """The plan that takes the fewest units out of the pool in which they run today."""
        name = "fewest moves"
        objective = "as few units that run today leave their servers' pool as the tolerance allows"
        if not self.inputs.scenario.running:
            return AlternativePlan(name=name, objective=objective, left_out=_NOTHING_RUNS)
        return self._aimed(name, objective, "moves")

    def lowest_power(self) -> AlternativePlan:
        """The plan whose nodes in service draw the least power, on average over the quarters."""
        objective = "the least power that the servers in service draw, mean over the quarters"
        return self._aimed("lowest power", objective, "power")

    def earliest(self) -> AlternativePlan:
        """The plan whose nodes enter service the earliest."""
        objective = (
            "the fewest quarters until each server that is acquired enters service, "
            "in all; one that is rented counts anew in each quarter"
        )
        return self._aimed("earliest", objective, "quarters waited")

    def _aimed(self, name: str, objective: str, goal: Goal) -> AlternativePlan:
        def without(why: str) -> AlternativePlan:
            return AlternativePlan(name=name, objective=objective, left_out=why)

        if self.cheapest.short:
            return without("not all jobs are kept, and who is kept is decided before all else")
        self.runner.progress(
            f"planning for the fewest {goal}" if goal != "power" else "saving power"
        )
        try:
            near = self.runner.planner.near(self.inputs, goal, self.most_cents)
        except (CheckError, LimitError, ValueError) as error:
            return without(str(error))
        except Infeasible:
            return without("the solver found no plan that costs so little: a solver is wrong")
        share = len(near.plan.quarters) if goal == "power" else 1
        unit: Literal["W", "quarters waited", "moves"] = "W" if goal == "power" else goal
        best = Best(value=near.value / share, bound=near.bound / share, unit=unit)
        return AlternativePlan(
            name=name, objective=objective, figures=summary_of(near.plan), best=best
        )


_NOTHING_RUNS = "the scenario does not say what runs where today (key running)"
_OPEN = "within the time, it was not proved which plans the tolerance leaves"


def _reserve(gpu_types: Sequence[str], per_cent: int) -> tuple[Override, ...]:
    if not per_cent:
        return ()
    share = dict.fromkeys(gpu_types, f"{per_cent}%")
    return (Override.of(("policies", "growth_reserve"), share),)
