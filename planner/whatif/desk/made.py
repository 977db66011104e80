"""Plans of a scenario with settings added, each made once, however often it is asked for."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from planner.whatif.desk.desk import Variant

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from planner.inputs.settled import Inputs
    from planner.whatif.desk.crew import Crew
    from planner.whatif.desk.desk import Desk
    from planner.whatif.desk.figures import Figures

__all__ = ["Made"]


class Made:
    """Plans of what is asked, with more settings."""

    def __init__(
        self, desk: Desk, crew: Crew, asked: Variant, progress: Callable[[str], None]
    ) -> None:
        self.desk = desk
        self.progress = progress
        self._crew = crew
        self._asked = asked
        self._figures: dict[str, Figures] = {}

    @cached_property
    def inputs(self) -> Inputs:
        """The inputs of what is asked; raises InputError."""
        return self.desk.inputs(self._asked)

    def inputs_with(self, settings: tuple[str, ...]) -> Inputs:
        """The same with more settings; raises InputError."""
        return self.desk.inputs(self._with(settings))

    def _with(self, settings: tuple[str, ...]) -> Variant:
        return Variant(self._asked.apply, (*self._asked.settings, *settings))

    def know(self, figures: Figures) -> None:
        """What is asked need not be planned: it comes to this."""
        self._figures[self.desk.key(self._asked)] = figures

    def one(self, settings: tuple[str, ...] = ()) -> Figures:
        """One plan; without settings that of what is asked."""
        (figures,) = self.all([settings])
        return figures

    def all(self, wanted: Iterable[tuple[str, ...]]) -> list[Figures]:
        """Several plans, in this order; those that there are not yet are made together."""
        variants = [self._with(one) for one in wanted]
        keys = [self.desk.key(variant) for variant in variants]
        fresh = {
            key: variant
            for key, variant in zip(keys, variants, strict=True)
            if key not in self._figures
        }
        number = len(self._figures) + len(fresh)

        def done(key: str, figures: Figures) -> None:
            self._figures[key] = figures
            self.progress(f"planning, {len(self._figures):,} of {number:,} or a few more")

        self._crew.plan(fresh, done)
        return [self._figures[key] for key in keys]
