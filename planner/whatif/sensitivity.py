"""How the cost answers to one figure at a time, and where the recommendation turns.

The recommendation is what is acquired: offer, quarter and number of nodes. A turn is closed in
between two plans: one that still acquires what the plan of the scenario does, one that does not.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Literal

from planner.inputs.base import Frozen
from planner.whatif.desk import Variant
from planner.whatif.figures import Figures
from planner.whatif.kept import Kept, question_of
from planner.whatif.levers import levers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from planner.whatif.crew import Crew
    from planner.whatif.desk import Desk
    from planner.whatif.levers import Lever

__all__ = ["Moved", "Sensitivity", "Swing", "Turn", "sensitivity"]


class Moved(Frozen):
    """A plan with one figure moved."""

    by: float
    """Share of the value, or weeks; negative: down."""
    settings: tuple[str, ...]
    """`path=value`, with which `planner plan` makes this plan."""
    figures: Figures


class Turn(Frozen):
    """Between these two the recommendation changes."""

    before: Moved
    """Nearer to the scenario; acquires what its plan does."""
    after: Moved


class Swing(Frozen):
    """One figure, moved down and up."""

    name: str
    unit: Literal["share", "weeks"]
    stated: str
    low: Moved
    high: Moved
    turns: tuple[Turn, ...]
    """At most one each way: the nearest that was found."""

    @property
    def spread_cents(self) -> int | None:
        """How far apart the costs are; None where an end has no plan."""
        ends = (self.low.figures.cost_cents, self.high.figures.cost_cents)
        return None if None in ends else abs((ends[1] or 0) - (ends[0] or 0))


class Sensitivity(Kept):
    """One scenario, figure by figure; the widest swing first, ends without a plan before it."""

    scenario: str
    swing: float
    """Share by which values are moved either way."""
    weeks: int
    """Weeks by which lead times are."""
    precision: float
    """Turns are closed in to this share of the value."""
    base: Figures
    swings: tuple[Swing, ...]


@dataclass(slots=True)
class _Search:
    """Where one figure turns, in one direction: between `kept` and `turned`."""

    lever: Lever
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
        return Fraction(round(middle)) if self.lever.unit == "weeks" else middle

    def narrow(self, *, turned: bool) -> None:
        if turned:
            self.turned = self.middle
        else:
            self.kept = self.middle


def sensitivity(
    desk: Desk,
    crew: Crew,
    asked: Variant,
    *,
    swing: Fraction = Fraction(1, 5),
    weeks: int = 4,
    precision: Fraction = Fraction(1, 100),
    progress: Callable[[str], None],
) -> Sensitivity:
    """Move every lever of a variant either way, and close in on where what is acquired changes.

    Raises InputError where a moved value is one that no scenario may have, LimitError where
    workers die.
    """
    inputs = desk.inputs(asked)
    moved = _Moves(desk, crew, asked, progress)
    found = list(levers(inputs))
    reach = {lever.name: Fraction(weeks) if lever.unit == "weeks" else swing for lever in found}
    nothing = Fraction(0)
    moved.plan([(lever, by) for lever in found for by in (-reach[lever.name], reach[lever.name])])
    base = moved.base()
    searches = [
        _Search(lever, nothing, end, Fraction(1) if lever.unit == "weeks" else precision)
        for lever in found
        for end in (-reach[lever.name], reach[lever.name])
        if _differs(base, moved.at(lever, end).figures)
    ]
    while waiting := [search for search in searches if not search.closed]:
        moved.plan([(search.lever, search.middle) for search in waiting])
        for search in waiting:
            figures = moved.at(search.lever, search.middle).figures
            search.narrow(turned=_differs(base, figures))
    swings = [
        Swing(
            name=lever.name,
            unit=lever.unit,
            stated=lever.stated,
            low=moved.at(lever, -reach[lever.name]),
            high=moved.at(lever, reach[lever.name]),
            turns=tuple(
                Turn(before=moved.at(lever, one.kept), after=moved.at(lever, one.turned))
                for one in searches
                if one.lever is lever
            ),
        )
        for lever in found
    ]
    swings.sort(key=lambda one: (one.spread_cents is not None, -(one.spread_cents or 0)))
    return Sensitivity(
        question=question_of(inputs),
        scenario=inputs.scenario.name,
        swing=float(swing),
        weeks=weeks,
        precision=float(precision),
        base=base,
        swings=tuple(swings),
    )


def _differs(one: Figures, other: Figures) -> bool:
    """Whether a plan recommends something else, or nothing at all."""
    return (one.cost_cents is None, one.acquired) != (other.cost_cents is None, other.acquired)


class _Moves:
    """Plans with moved levers, each made once."""

    def __init__(
        self, desk: Desk, crew: Crew, asked: Variant, progress: Callable[[str], None]
    ) -> None:
        self._desk = desk
        self._crew = crew
        self._asked = asked
        self._progress = progress
        self._figures: dict[str, Figures] = {}

    def base(self) -> Figures:
        """The plan of the scenario as it is asked for."""
        return self._figures[self._desk.key(self._asked)]

    def at(self, lever: Lever, by: Fraction) -> Moved:
        """A plan that was made."""
        settings = lever.settings(by) if by else ()
        return Moved(by=float(by), settings=settings, figures=self._figures[self._key(lever, by)])

    def plan(self, moves: Iterable[tuple[Lever, Fraction]]) -> None:
        """Make the plans that there are not yet, and that of the scenario."""
        variants = {self._desk.key(one): one for one in map(self._variant, moves)}
        variants.setdefault(self._desk.key(self._asked), self._asked)
        fresh = {key: one for key, one in variants.items() if key not in self._figures}
        every = len(self._figures) + len(fresh)

        def done(key: str, figures: Figures) -> None:
            self._figures[key] = figures
            self._progress(f"planning, {len(self._figures):,} of {every:,} or a few more")

        self._crew.plan(fresh, done)

    def _variant(self, move: tuple[Lever, Fraction]) -> Variant:
        lever, by = move
        settings = lever.settings(by) if by else ()
        return Variant(self._asked.apply, (*self._asked.settings, *settings))

    def _key(self, lever: Lever, by: Fraction) -> str:
        return self._desk.key(self._variant((lever, by)))
