"""How the cost answers to one figure at a time, and where the recommendation turns.

The recommendation is what is acquired: offer, quarter and number of nodes. A turn is closed in
between two plans: one that still acquires what the plan of the scenario does, or costs no less than
that would, and one that does not.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from planner.whatif.results import Sensitivity, Swing, SwitchingPoint
from planner.whatif.sensitivity.moves import Moves
from planner.whatif.sensitivity.pairs import pairs_of
from planner.whatif.stored_result import question_of
from planner.whatif.uncertain_figures import uncertain_figures

if TYPE_CHECKING:
    from collections.abc import Sequence

    from planner.whatif.uncertain_figures import UncertainFigure
    from planner.whatif.variants.cached_runner import CachedRunner

__all__ = ["sensitivity"]

_HAS_PLANS = 2.0
"""Beyond every part of a range."""


@dataclass(slots=True)
class _Search:
    """Where one figure turns, in one direction: between `kept` and `turned`."""

    figure: UncertainFigure
    kept: Fraction
    turned: Fraction
    least: Fraction
    """The bracket is closed where it is no wider."""

    @property
    def closed(self) -> bool:
        return abs(self.turned - self.kept) <= self.least

    @property
    def middle(self) -> Fraction:
        middle = (self.kept + self.turned) / 2
        return Fraction(round(middle)) if self.figure.unit == "weeks" else middle

    def narrow(self, *, turned: bool) -> None:
        if turned:
            self.turned = self.middle
        else:
            self.kept = self.middle


def sensitivity(
    runner: CachedRunner,
    *,
    swing: Fraction = Fraction(1, 5),
    weeks: int = 4,
    precision: Fraction = Fraction(1, 100),
    pairs: int = 0,
) -> Sensitivity:
    """Move every uncertain figure either way, and close in on where what is acquired turns.

    No plan counts as the widest swing. At most so many `pairs` of those that come first are then
    moved together.
    Raises InputError where a moved value is one that no scenario may have, LimitError where
    workers die.
    """
    moved = Moves(runner)
    found = list(uncertain_figures(runner.inputs))
    reach = {figure.name: Fraction(weeks) if figure.unit == "weeks" else swing for figure in found}
    ends = [(figure, by) for figure in found for by in (-reach[figure.name], reach[figure.name])]
    moved.plan((end,) for end in ends)
    base = moved.base()
    searches = [
        _Search(figure, Fraction(0), end, Fraction(1) if figure.unit == "weeks" else precision)
        for figure, end in ends
        if moved.turned(figure, end)
    ]
    _close_in(moved, searches)
    swings = [
        _swing(moved, figure, reach[figure.name], [one for one in searches if one.figure is figure])
        for figure in found
    ]
    swings.sort(key=lambda one: _rank(one, reach[one.name]))
    by_name = {figure.name: figure for figure in found}
    moving = [by_name[one.name] for one in swings if one.without_plan or one.spread_cents]
    return Sensitivity(
        question=question_of(runner.inputs),
        scenario=runner.inputs.scenario.name,
        swing=float(swing),
        weeks=weeks,
        precision=float(precision),
        base=base,
        swings=tuple(swings),
        pairs=pairs_of(moved, moving, reach, pairs),
    )


def _rank(one: Swing, reach: Fraction) -> tuple[float, int]:
    """First what leaves no plan, the sooner the sooner, in parts of the range; then the widest."""
    nearest = min((abs(end.by) for end in one.without_plan), default=None)
    if nearest is None:
        return _HAS_PLANS, -(one.spread_cents or 0)
    return nearest / float(reach), 0


def _close_in(moved: Moves, searches: Sequence[_Search]) -> None:
    """Narrow all brackets, those that are still too wide together."""
    while waiting := [search for search in searches if not search.closed]:
        moved.plan([((search.figure, search.middle),) for search in waiting])
        for search in waiting:
            search.narrow(turned=moved.turned(search.figure, search.middle))


def _swing(
    moved: Moves, figure: UncertainFigure, reach: Fraction, searches: Sequence[_Search]
) -> Swing:
    return Swing(
        name=figure.name,
        unit=figure.unit,
        stated=figure.stated,
        low=moved.at(figure, -reach),
        high=moved.at(figure, reach),
        turns=tuple(
            SwitchingPoint(before=moved.at(figure, one.kept), after=moved.at(figure, one.turned))
            for one in searches
        ),
    )
