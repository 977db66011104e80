"""Two figures at a time: what both together do that neither does alone."""

from __future__ import annotations

from itertools import combinations, product
from typing import TYPE_CHECKING

from planner.whatif.results import Corner, Pair

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from fractions import Fraction

    from planner.whatif.sensitivity.moves import Moves
    from planner.whatif.uncertain_figures import UncertainFigure
    from planner.whatif.variants.plan_summary import PlanSummary

__all__ = ["pairs_of"]


def pairs_of(
    moves: Moves, ranked: Sequence[UncertainFigure], reach: Mapping[str, Fraction], most: int
) -> tuple[Pair, ...]:
    """At most so many pairs of figures, those first that move the cost most; plans are made."""
    ranks = sorted(combinations(range(len(ranked)), 2), key=lambda pair: (sum(pair), pair))
    chosen = [(ranked[one], ranked[other]) for one, other in ranks[:most]]
    ends = {figure.name: (-reach[figure.name], reach[figure.name]) for figure in ranked}
    moves.plan(
        ((first, one), (second, other))
        for first, second in chosen
        for one, other in product(ends[first.name], ends[second.name])
    )
    return tuple(
        Pair(
            first=first.name,
            second=second.name,
            corners=tuple(_corners(moves, (first, second), (ends[first.name], ends[second.name]))),
        )
        for first, second in chosen
    )


def _corners(
    moves: Moves,
    uncertain_figures: tuple[UncertainFigure, UncertainFigure],
    ends: tuple[tuple[Fraction, Fraction], tuple[Fraction, Fraction]],
) -> Iterator[Corner]:
    first, second = uncertain_figures
    for one, other in product(*ends):
        settings, figures = moves.together((first, one), (second, other))
        alone = (moves.at(first, one).figures, moves.at(second, other).figures)
        yield Corner(
            first_by=float(one),
            second_by=float(other),
            settings=settings,
            figures=figures,
            interplay_cents=_interplay(moves.base(), alone, figures),
        )


def _interplay(
    base: PlanSummary, alone: tuple[PlanSummary, PlanSummary], both: PlanSummary
) -> int | None:
    """(both - base) - (first - base) - (second - base), cents."""
    costs = [one.cost_cents for one in (both, base, *alone)]
    if None in costs:
        return None
    together, stated, first, second = (cents or 0 for cents in costs)
    return together + stated - first - second
