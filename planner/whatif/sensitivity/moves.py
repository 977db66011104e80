"""Plans of a scenario with uncertain figures moved."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.whatif.results import Moved
from planner.whatif.sensitivity.unmoved import would_do

if TYPE_CHECKING:
    from collections.abc import Iterable
    from fractions import Fraction

    from planner.inputs.layers.override import Override
    from planner.whatif.uncertain_figures import UncertainFigure
    from planner.whatif.variants.cached_runner import CachedRunner
    from planner.whatif.variants.plan_summary import PlanSummary

__all__ = ["Moves"]


class Moves:
    """Plans with moved figures."""

    def __init__(self, runner: CachedRunner) -> None:
        self._runner = runner

    def base(self) -> PlanSummary:
        """The plan of the scenario as it is asked for."""
        return self._runner.one()

    def at(self, figure: UncertainFigure, by: Fraction) -> Moved:
        """One plan."""
        settings, figures = self.together((figure, by))
        return Moved(by=float(by), settings=settings, figures=figures)

    def turned(self, figure: UncertainFigure, by: Fraction) -> bool:
        """Whether something else is recommended then, or nothing at all; equals are no turn."""
        base, other = self.base(), self.at(figure, by).figures
        if (base.cost_cents is None, base.acquired) == (other.cost_cents is None, other.acquired):
            return False
        moved = self._runner.inputs_with(_settings([(figure, by)]))
        return not would_do(self._runner.inputs, moved, base, other)

    def together(
        self, *moves: tuple[UncertainFigure, Fraction]
    ) -> tuple[tuple[Override, ...], PlanSummary]:
        """A plan with several moves at once, and its settings."""
        settings = _settings(moves)
        return settings, self._runner.one(settings)

    def plan(self, asked: Iterable[tuple[tuple[UncertainFigure, Fraction], ...]]) -> None:
        """Make the plans that there are not yet, each with its moves, and that of the scenario."""
        self._runner.all([*map(_settings, asked), ()])


def _settings(moves: Iterable[tuple[UncertainFigure, Fraction]]) -> tuple[Override, ...]:
    return tuple(setting for figure, by in moves if by for setting in figure.settings(by))
