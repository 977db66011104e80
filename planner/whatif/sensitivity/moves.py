"""Plans of a scenario with levers moved."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.whatif.found import Moved
from planner.whatif.sensitivity.unmoved import would_do

if TYPE_CHECKING:
    from collections.abc import Iterable
    from fractions import Fraction

    from planner.whatif.desk.figures import Figures
    from planner.whatif.desk.made import Made
    from planner.whatif.levers import Lever

__all__ = ["Moves"]


class Moves:
    """Plans with moved levers."""

    def __init__(self, made: Made) -> None:
        self._made = made

    def base(self) -> Figures:
        """The plan of the scenario as it is asked for."""
        return self._made.one()

    def at(self, lever: Lever, by: Fraction) -> Moved:
        """One plan."""
        settings, figures = self.together((lever, by))
        return Moved(by=float(by), settings=settings, figures=figures)

    def turned(self, lever: Lever, by: Fraction) -> bool:
        """Whether something else is recommended then, or nothing at all; equals are no turn."""
        base, other = self.base(), self.at(lever, by).figures
        if (base.cost_cents is None, base.acquired) == (other.cost_cents is None, other.acquired):
            return False
        moved = self._made.inputs_with(_settings([(lever, by)]))
        return not would_do(self._made.inputs, moved, base, other)

    def together(self, *moves: tuple[Lever, Fraction]) -> tuple[tuple[str, ...], Figures]:
        """A plan with several moves at once, and its settings."""
        settings = _settings(moves)
        return settings, self._made.one(settings)

    def plan(self, asked: Iterable[tuple[tuple[Lever, Fraction], ...]]) -> None:
        """Make the plans that there are not yet, each with its moves, and that of the scenario."""
        self._made.all([*map(_settings, asked), ()])


def _settings(moves: Iterable[tuple[Lever, Fraction]]) -> tuple[str, ...]:
    return tuple(setting for lever, by in moves if by for setting in lever.settings(by))
