"""What many futures cost, and how often what is bought now falls short in them."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from math import ceil, sqrt
from typing import TYPE_CHECKING

from planner.errors import InfeasibleError
from planner.inputs.base import Frozen
from planner.whatif.risk.choices import PurchasePlans, compared_choices
from planner.whatif.stored_result import StoredResult, question_of
from planner.whatif.sweep import all_figures
from planner.whatif.variants.fixed_purchases import commitments
from planner.whatif.variants.plan_summary import PlanSummary, summary_of
from planner.whatif.variants.variant_planner import VariantPlanner

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from planner.whatif.risk.futures import Futures
    from planner.whatif.sweep import Hire

__all__ = ["AcquiredAcrossFutures", "Chance", "Risk", "at_percentile", "risk"]

FORMAT = "2.1"
"""Minor: additive. Major: readers refuse."""

_PERCENTILES = (5, 25, 50, 75, 95)
_CONFIDENCE = 1.96
"""Standard deviations to either side that hold 95 % of a normal distribution."""


class Chance(Frozen):
    """How often the nodes of the plan do not hold all jobs of a quarter."""

    quarter: str
    short: int
    """Futures in which they do not."""
    of: int
    """Futures of which it is known."""

    @property
    def range(self) -> tuple[float, float]:
        """Within which the chance lies with 95 % confidence, by Wilson's score interval."""
        share, z2 = self.short / self.of, _CONFIDENCE**2
        middle = share + z2 / (2 * self.of)
        half = _CONFIDENCE * sqrt(share * (1 - share) / self.of + z2 / (4 * self.of**2))
        scale = 1 + z2 / self.of
        return max(0.0, (middle - half) / scale), min(1.0, (middle + half) / scale)


class AcquiredAcrossFutures(Frozen):
    """How many nodes of an offer the best plan of each future acquires, over all quarters."""

    offer: str
    planned: int
    """By the plan of the scenario as it stands."""
    never: int
    """Futures in which none is."""
    percentiles: tuple[int, ...]


class Risk(StoredResult):
    """Futures of one scenario."""

    format: str = FORMAT
    scenario: str
    seed: int
    futures: int
    base: PlanSummary
    """The plan of the scenario as it stands: what is bought now."""
    without_plan: int
    """Futures for which no plan exists, or none was found in time."""
    not_proved: int
    giving_way: int = 0
    """Futures in which jobs give way: their cost is that of the others."""
    percentiles: tuple[int, ...] = _PERCENTILES
    cost_cents: tuple[int, ...]
    """Net present cost of the best plan of a future, by percentile, of those that have a plan."""
    costs_cents: tuple[int, ...]
    """All of them, the cheapest first."""
    chances: tuple[Chance, ...]
    acquisitions: tuple[AcquiredAcrossFutures, ...]
    choices: PurchasePlans | None = None
    """Purchase plans side by side in these futures; None where nobody asks."""


def risk(
    planner: VariantPlanner,
    futures: Futures,
    samples: int,
    out: Path,
    *,
    plans: int = 0,
    force: bool = False,
    hire: Hire,
    progress: Callable[[int, int, int], None],
) -> Risk:
    """Plan each of so many futures, and ask of each whether the nodes of the plan now would do.

    Of at most so many purchase plans, the best in the bad cases is looked for. Results are kept in
    the folder like those of a sweep. Raises InfeasibleError where the scenario as it stands has no
    plan, and what a sweep raises.
    """
    inputs = planner.inputs(futures.base(planner))
    plan = planner.plan(inputs)
    knowing = VariantPlanner(replace(planner.config, committed=commitments(plan)))
    drawn = futures.drawn(knowing, samples)
    every = all_figures(knowing, drawn, out, force=force, hire=hire, progress=progress)
    planned = [one for one in every if one.cost_cents is not None]
    if not planned:
        raise InfeasibleError("no future has a plan", tuple(sorted({one.reason for one in every})))
    costs = sorted(one.cost_cents or 0 for one in planned)
    base = summary_of(plan)
    choices = None
    if plans:
        choices = compared_choices(
            planner, drawn, every, base, plans, out, hire=hire, progress=progress
        )
    return Risk(
        question=question_of(inputs),
        scenario=inputs.scenario.name,
        seed=futures.file.seed,
        futures=samples,
        base=base,
        without_plan=len(every) - len(planned),
        not_proved=sum(one.result == "not proved" for one in every),
        giving_way=sum(bool(one.short) for one in planned),
        cost_cents=_at_percentiles(costs),
        costs_cents=tuple(costs),
        chances=_chances(plan.quarters, every),
        acquisitions=_acquisitions(base, planned),
        choices=choices,
    )


def _at_percentiles(values: Sequence[int]) -> tuple[int, ...]:
    """By nearest rank, of sorted values: each is one that occurs."""
    return tuple(at_percentile(values, share) for share in _PERCENTILES)


def at_percentile(values: Sequence[int], share: int) -> int:
    """Of sorted values, the one at so many per cent, by nearest rank."""
    return values[ceil(len(values) * share / 100) - 1]


def _chances(quarters: Sequence[str], every: Sequence[PlanSummary]) -> tuple[Chance, ...]:
    known = [one.short_quarters for one in every if one.short_quarters is not None]
    return tuple(
        Chance(quarter=quarter, short=sum(quarter in one for one in known), of=len(known))
        for quarter in quarters
        if known
    )


def _acquisitions(
    base: PlanSummary, planned: Sequence[PlanSummary]
) -> tuple[AcquiredAcrossFutures, ...]:
    now, each = _nodes(base), [_nodes(one) for one in planned]
    offers = sorted({offer for nodes in (now, *each) for offer in nodes})
    return tuple(
        AcquiredAcrossFutures(
            offer=offer,
            planned=now[offer],
            never=sum(not nodes[offer] for nodes in each),
            percentiles=_at_percentiles(sorted(nodes[offer] for nodes in each)),
        )
        for offer in offers
    )


def _nodes(figures: PlanSummary) -> Counter[str]:
    nodes: Counter[str] = Counter()
    for one in figures.acquired:
        nodes[one.offer] += one.count
    return nodes
