"""What is bought now, held against many futures: which purchase plan is best in the bad cases.

What is bought and reserved is chosen once; what is rented, and what runs where, adapts to each
future. The first is what the plan of the scenario buys; the others are searched.
"""

from __future__ import annotations

from dataclasses import replace
from math import ceil
from typing import TYPE_CHECKING

from planner.inputs.base import Frozen
from planner.planning.constrained import Purchase
from planner.whatif.risk.hedging import Hedging
from planner.whatif.sweep import all_figures
from planner.whatif.variants.plan_summary import Acquired, PlanSummary
from planner.whatif.variants.variant_planner import VariantPlanner

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    from planner.whatif.sweep import Hire
    from planner.whatif.variants.variant_planner import Variant, WorkerConfig

__all__ = [
    "PURCHASES",
    "WORST_PER_CENT",
    "PurchasePlan",
    "PurchasePlans",
    "compared_choices",
    "mean_of_worst",
]

PURCHASES = "purchases-"
"""How the folders of the results with each purchase plan are called, before their numbers."""
WORST_PER_CENT = 5
"""Share of the futures that are the bad cases."""


class PurchasePlan(Frozen):
    """One purchase plan over all futures."""

    searched: int | None
    """Futures that it was searched for; None: it is that of the scenario as it stands."""
    purchased: tuple[Acquired, ...]
    """Nodes to buy and to reserve."""
    short: int
    """Futures in which it does not hold all jobs, whatever is rented, or was not shown to."""
    costs_cents: tuple[int, ...]
    """Net present cost in the other futures, the least first."""
    worst_cents: int | None
    """Mean of the worst `WORST_PER_CENT` of them; None where there are none."""
    not_proved: int
    """Futures for which a cheaper plan with these purchases may exist."""


class PurchasePlans(Frozen):
    """Purchase plans side by side, in the same futures."""

    plans: tuple[PurchasePlan, ...]
    """That of the scenario as it stands first."""
    best: int
    """Position of the one that falls short in the fewest futures; of several such, of the one with
    the least mean of the worst cases."""
    bound_cents: int
    """No purchases that hold all futures that have a plan have a lower mean of the worst cases."""
    none_holds_all: bool = False
    """Whether it is proved that no purchases hold all of these."""


def compared_choices(
    planner: VariantPlanner,
    drawn: Sequence[Variant],
    known: Sequence[PlanSummary],
    base: PlanSummary,
    most: int,
    out: Path,
    *,
    hire: Hire,
    progress: Callable[[int, int, int], None],
) -> PurchasePlans:
    """Hold at most so many purchase plans against the futures; at least one future has a plan.

    That of the scenario comes first; the others are searched, each with what those before it have
    shown. `known` are the futures as drawn, each with its best plan. Results are kept in folders of
    their own, one for each purchase plan. Raises what a sweep raises.
    """
    planned = [place for place, one in enumerate(known) if one.cost_cents is not None]
    bound_cents = mean_of_worst(sorted(known[place].bound_cents or 0 for place in planned))
    search = Hedging(planner, drawn, known)
    plans: list[PurchasePlan] = []
    tried: dict[tuple[Acquired, ...], list[PlanSummary]] = {}

    def hold(purchased: tuple[Acquired, ...], searched: int | None) -> None:
        folder = out / f"{PURCHASES}{len(plans)}"
        found = _held(planner.config, drawn, purchased, folder, hire, progress)
        tried[purchased] = found
        plans.append(_choice(searched, purchased, found))

    hold(_purchases(base.acquired), None)
    worst, asked = _costliest(known, known, planned), set()
    while worst not in asked:
        asked.add(worst)
        proposal = search.propose(worst)
        if proposal is None:
            break
        bound_cents = max(bound_cents, proposal.bound_cents)
        purchased = _purchases(proposal.purchased)
        if purchased not in tried:
            if len(plans) >= most:
                break
            hold(purchased, proposal.futures)
        worst = _costliest(tried[purchased], known, planned)
    best = min(range(len(plans)), key=lambda place: _rank(plans[place], place))
    return PurchasePlans(
        plans=tuple(plans), best=best, bound_cents=bound_cents, none_holds_all=bool(search.apart)
    )


def _purchases(acquired: Iterable[Acquired]) -> tuple[Acquired, ...]:
    """What is not rented, in an order of its own."""
    bought = (one for one in acquired if one.kind not in ("rent", "hourly"))
    return tuple(sorted(bought, key=lambda one: (one.quarter, one.offer, one.site)))


def _held(
    config: WorkerConfig,
    drawn: Sequence[Variant],
    purchased: tuple[Acquired, ...],
    folder: Path,
    hire: Hire,
    progress: Callable[[int, int, int], None],
) -> list[PlanSummary]:
    """What the futures come to with these purchases."""
    bought = tuple(Purchase(one.offer, one.site, one.quarter, one.count) for one in purchased)
    planner = VariantPlanner(replace(config, committed=None, purchases=bought))
    folder.mkdir(exist_ok=True)
    return all_figures(planner, drawn, folder, force=True, hire=hire, progress=progress)


def _choice(
    searched: int | None, purchased: tuple[Acquired, ...], found: Sequence[PlanSummary]
) -> PurchasePlan:
    costs = sorted(one.cost_cents for one in found if one.cost_cents is not None)
    return PurchasePlan(
        searched=searched,
        purchased=purchased,
        short=len(found) - len(costs),
        costs_cents=tuple(costs),
        worst_cents=mean_of_worst(costs) if costs else None,
        not_proved=sum(one.result in ("not proved", "no plan in time") for one in found),
    )


def _costliest(
    found: Sequence[PlanSummary], known: Sequence[PlanSummary], planned: Sequence[int]
) -> tuple[int, ...]:
    """Of the futures that have a plan, the bad cases: first those that it falls short in."""

    def rank(place: int) -> tuple[int, int, int]:
        cost = found[place].cost_cents
        return (cost is not None, -(cost or 0), -(known[place].cost_cents or 0))

    return tuple(sorted(sorted(planned, key=rank)[: _bad_cases(len(planned))]))


def mean_of_worst(costs: Sequence[int]) -> int:
    """Of sorted costs, the mean of the last `WORST_PER_CENT`, rounded down; at least of one."""
    worst = costs[-_bad_cases(len(costs)) :]
    return sum(worst) // len(worst)


def _bad_cases(futures: int) -> int:
    return max(1, ceil(futures * WORST_PER_CENT / 100))


def _rank(plan: PurchasePlan, place: int) -> tuple[int, int, int]:
    return plan.short, plan.worst_cents or 0, place
