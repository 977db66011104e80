"""Plans of a scenario with levers moved, each made once, however often it is asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.whatif.desk import Variant
from planner.whatif.found import Moved

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from fractions import Fraction

    from planner.whatif.crew import Crew
    from planner.whatif.desk import Desk
    from planner.whatif.figures import Figures
    from planner.whatif.levers import Lever

__all__ = ["Moves"]


class Moves:
    """Plans with moved levers."""

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
        settings, figures = self.together((lever, by))
        return Moved(by=float(by), settings=settings, figures=figures)

    def together(self, *moves: tuple[Lever, Fraction]) -> tuple[tuple[str, ...], Figures]:
        """A plan that was made with several moves at once, and its settings."""
        settings = _settings(moves)
        return settings, self._figures[self._desk.key(self._variant(settings))]

    def plan(self, asked: Iterable[tuple[tuple[Lever, Fraction], ...]]) -> None:
        """Make the plans that there are not yet, each with its moves, and that of the scenario."""
        every = [self._variant(_settings(moves)) for moves in asked]
        variants = {self._desk.key(one): one for one in (*every, self._asked)}
        fresh = {key: one for key, one in variants.items() if key not in self._figures}
        number = len(self._figures) + len(fresh)

        def done(key: str, figures: Figures) -> None:
            self._figures[key] = figures
            self._progress(f"planning, {len(self._figures):,} of {number:,} or a few more")

        self._crew.plan(fresh, done)

    def _variant(self, settings: tuple[str, ...]) -> Variant:
        return Variant(self._asked.apply, (*self._asked.settings, *settings))


def _settings(moves: Iterable[tuple[Lever, Fraction]]) -> tuple[str, ...]:
    return tuple(setting for lever, by in moves if by for setting in lever.settings(by))
