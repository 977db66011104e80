"""Sensitivity: how the cost answers to one figure at a time, and where purchases change.

The recommendation is what is acquired: offer, quarter and number of nodes. A turn is closed in
between two plans: one that still acquires what the plan of the scenario does, or costs no less than
that would, and one that does not.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from planner.costs import CostStream, Entering, entry_quarters, portfolio_costs, spent_cents
from planner.inputs.override import Override
from planner.inputs.settled import Inputs
from planner.whatif.results import (
    Moved,
    PlanSummary,
    Sensitivity,
    Swing,
    SwitchingPoint,
    question_of,
)
from planner.whatif.uncertain import UncertainFigure, uncertain_figures
from planner.whatif.variants import CachedRunner

_Move = tuple[UncertainFigure, Fraction]


def _at(runner: CachedRunner, figure: UncertainFigure, by: Fraction) -> Moved:
    """A plan with one figure moved."""
    settings = _settings((figure, by))
    return Moved(by=float(by), settings=settings, figures=runner.one(settings))


def _turned(runner: CachedRunner, figure: UncertainFigure, by: Fraction) -> bool:
    """Whether something else is recommended then, or nothing at all; equals are no turn."""
    settings = _settings((figure, by))
    base, other = runner.one(), runner.one(settings)
    if (base.cost_cents is None, base.acquired) == (other.cost_cents is None, other.acquired):
        return False
    return not would_do(runner.inputs, runner.inputs_with(settings), base, other)


def _plan_together(runner: CachedRunner, asked: Iterable[_Move]) -> None:
    """Plan the scenario as it stands and with each move, those that are not planned yet."""
    runner.all([*map(_settings, asked), ()])


def _settings(move: _Move) -> tuple[Override, ...]:
    figure, by = move
    return tuple(figure.settings(by)) if by else ()


def would_do(stated: Inputs, moved: Inputs, base: PlanSummary, other: PlanSummary) -> bool:
    """Whether what the scenario's plan acquires would do as well as another plan, to the cent.

    `stated` and `moved` are the inputs of the two; nobody plans for this. Where another plan costs
    no less, the two are equal, and the recommendation has not turned, whichever of them the search
    has found. False where that is not known: where other jobs are asked for, or the plan has costs
    that are not those of its nodes.
    """
    if base.cost_cents is None or other.cost_cents is None:
        return False
    if (moved.scenario.jobs, other.giving_way) != (stated.scenario.jobs, base.giving_way):
        return False
    if _present(_streams(stated, base)) != base.cost_cents:
        return False
    streams = list(_streams(moved, base))
    if _present(streams) > other.cost_cents:
        return False
    labels, offers = moved.scenario.horizon.labels, {one.name: one for one in moved.offers}
    return all(
        labels.index(one.quarter) in entry_quarters(moved, offers[one.offer])
        for one in base.acquired
    ) and all(
        sum(count * spent_cents(moved, cap, (one,)) for count, one in streams) <= cap.cents
        for cap in moved.scenario.budget.caps()
    )


def _present(streams: Iterable[tuple[int, CostStream]]) -> int:
    return sum(count * stream.present_cents for count, stream in streams)


def _streams(inputs: Inputs, plan: PlanSummary) -> Iterator[tuple[int, CostStream]]:
    """Nodes, and what each of them costs: those that are owned, and those that are acquired."""
    offers = {offer.name: offer for offer in inputs.offers}
    labels = inputs.scenario.horizon.labels
    orders: Counter[tuple[str, str]] = Counter()
    for one in plan.acquired:
        orders[one.offer, one.quarter] += one.count
    acquired = (
        Entering(offers[name], labels.index(quarter), count, count)
        for (name, quarter), count in orders.items()
    )
    return portfolio_costs(inputs, acquired)


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


def analyze_sensitivity(
    runner: CachedRunner,
    *,
    swing: Fraction = Fraction(1, 5),
    weeks: int = 4,
    precision: Fraction = Fraction(1, 100),
) -> Sensitivity:
    """Move every uncertain figure either way, and close in on where what is acquired turns.

    No plan counts as the widest swing.
    Raises InputError where a moved value is one that no scenario may have, LimitError where
    workers die.
    """
    found = list(uncertain_figures(runner.inputs))
    reach = {figure.name: Fraction(weeks) if figure.unit == "weeks" else swing for figure in found}
    ends = [(figure, by) for figure in found for by in (-reach[figure.name], reach[figure.name])]
    _plan_together(runner, ends)
    searches = [
        _Search(figure, Fraction(0), end, Fraction(1) if figure.unit == "weeks" else precision)
        for figure, end in ends
        if _turned(runner, figure, end)
    ]
    while waiting := [one for one in searches if not one.closed]:  # all brackets together
        _plan_together(runner, ((one.figure, one.middle) for one in waiting))
        for one in waiting:
            one.narrow(turned=_turned(runner, one.figure, one.middle))
    swings = [
        _swing(
            runner, figure, reach[figure.name], [one for one in searches if one.figure is figure]
        )
        for figure in found
    ]
    swings.sort(key=lambda one: _rank(one, reach[one.name]))
    return Sensitivity(
        question=question_of(runner.inputs),
        scenario=runner.inputs.scenario.name,
        swing=float(swing),
        weeks=weeks,
        precision=float(precision),
        base=runner.one(),
        swings=tuple(swings),
    )


def _rank(one: Swing, reach: Fraction) -> tuple[float, int]:
    """First what leaves no plan, the sooner the sooner, in parts of the range; then the widest."""
    nearest = min((abs(end.by) for end in one.without_plan), default=None)
    if nearest is None:
        return _HAS_PLANS, -(one.spread_cents or 0)
    return nearest / float(reach), 0


def _swing(
    runner: CachedRunner, figure: UncertainFigure, reach: Fraction, searches: Sequence[_Search]
) -> Swing:
    return Swing(
        name=figure.name,
        unit=figure.unit,
        stated=figure.stated,
        low=_at(runner, figure, -reach),
        high=_at(runner, figure, reach),
        turns=tuple(
            SwitchingPoint(
                before=_at(runner, figure, one.kept), after=_at(runner, figure, one.turned)
            )
            for one in searches
        ),
    )
