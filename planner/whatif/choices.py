"""What is bought now, held against many futures: which purchase plan is best in the bad cases.

What is bought and reserved is chosen once; what is rented, and what runs where, adapts to each
future. Compared are what the plan of the scenario buys, and what the best plans of some futures do.
"""

from __future__ import annotations

from dataclasses import replace
from math import ceil
from typing import TYPE_CHECKING

from planner.inputs.base import Frozen
from planner.plan.committed import Purchase
from planner.whatif.desk import Desk
from planner.whatif.figures import Acquired, Figures
from planner.whatif.sweep import sweep

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from contextlib import AbstractContextManager
    from pathlib import Path

    from planner.whatif.crew import Crew
    from planner.whatif.desk import Station, Variant

__all__ = ["WORST_PER_CENT", "Choice", "Choices", "compared_choices", "mean_of_worst"]

WORST_PER_CENT = 5
"""Share of the futures that are the bad cases."""

_FUTURES = (95, 100, 75, 50, 90, 25, 99, 5)
"""By cost percentile, the futures whose purchases are tried, in this order."""


class Choice(Frozen):
    """One purchase plan over all futures."""

    name: str
    """`as the scenario stands`, or the future that it is best in."""
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


class Choices(Frozen):
    """Purchase plans side by side, in the same futures."""

    plans: tuple[Choice, ...]
    """That of the scenario as it stands first."""
    best: int
    """Position of the one that falls short in the fewest futures; of several such, of the one with
    the least mean of the worst cases."""
    bound_cents: int
    """No purchases that hold all these futures have a lower mean of the worst cases: it is that of
    the proved bounds of the futures, each known beforehand."""


def compared_choices(
    station: Station,
    drawn: Sequence[Variant],
    known: Sequence[Figures],
    base: Figures,
    most: int,
    out: Path,
    *,
    hire: Callable[[Desk], AbstractContextManager[Crew]],
    progress: Callable[[int, int, int], None],
) -> Choices:
    """Hold at most so many purchase plans against the futures; at least one future has a plan.

    `known` are the futures as drawn, each with its best plan. Results are kept in folders of
    their own, one for each purchase plan. Raises what a sweep raises.
    """
    plans = []
    for number, (name, purchased) in enumerate(_candidates(known, base, most)):
        bought = tuple(Purchase(one.offer, one.site, one.quarter, one.count) for one in purchased)
        desk = Desk(replace(station, committed=None, purchases=bought))
        variants = {desk.key(one): one for one in drawn}
        folder = out / f"purchases-{number}"
        folder.mkdir(exist_ok=True)
        with hire(desk) as crew:
            rows = sweep(crew, variants, folder, progress=progress)
        by_key = {row.key: row.figures for row in rows}
        found = [by_key[desk.key(one)] for one in drawn]
        costs = sorted(one.cost_cents for one in found if one.cost_cents is not None)
        plans.append(
            Choice(
                name=name,
                purchased=purchased,
                short=len(found) - len(costs),
                costs_cents=tuple(costs),
                worst_cents=mean_of_worst(costs) if costs else None,
                not_proved=sum(one.result in ("not proved", "no plan in time") for one in found),
            )
        )
    bounds = sorted(one.bound_cents or 0 for one in known if one.cost_cents is not None)
    best = min(range(len(plans)), key=lambda place: _rank(plans[place], place))
    return Choices(plans=tuple(plans), best=best, bound_cents=mean_of_worst(bounds))


def mean_of_worst(costs: Sequence[int]) -> int:
    """Of sorted costs, the mean of the last `WORST_PER_CENT`, rounded down; at least of one."""
    worst = costs[-max(1, ceil(len(costs) * WORST_PER_CENT / 100)) :]
    return sum(worst) // len(worst)


def _rank(plan: Choice, place: int) -> tuple[int, int, int]:
    return plan.short, plan.worst_cents or 0, place


def _candidates(
    known: Sequence[Figures], base: Figures, most: int
) -> Iterator[tuple[str, tuple[Acquired, ...]]]:
    """Different purchases, each with its name."""
    planned = sorted(
        (one for one in known if one.cost_cents is not None), key=lambda one: one.cost_cents or 0
    )
    named = [("as the scenario stands", base)]
    for share in _FUTURES:
        future = planned[max(0, ceil(len(planned) * share / 100) - 1)]
        named.append((f"best in the future at {share} % of cost", future))
    seen: set[tuple[Acquired, ...]] = set()
    for name, figures in named:
        purchased = tuple(one for one in figures.acquired if one.kind != "rent")
        if purchased not in seen and len(seen) < most:
            seen.add(purchased)
            yield name, purchased
