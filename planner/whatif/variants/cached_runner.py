"""Plans of a scenario with settings added, each made once, however often it is asked for."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from planner.whatif.variants.variant_planner import Variant

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from planner.inputs.layers.override import Override
    from planner.inputs.settled import Inputs
    from planner.whatif.variants.executor import Executor
    from planner.whatif.variants.plan_summary import PlanSummary
    from planner.whatif.variants.variant_planner import VariantPlanner

__all__ = ["CachedRunner"]


class CachedRunner:
    """Plans of what is asked, with more settings."""

    def __init__(
        self,
        planner: VariantPlanner,
        executor: Executor,
        asked: Variant,
        progress: Callable[[str], None],
    ) -> None:
        self.planner = planner
        self.progress = progress
        self._executor = executor
        self._asked = asked
        self._figures: dict[str, PlanSummary] = {}

    @cached_property
    def inputs(self) -> Inputs:
        """The inputs of what is asked; raises InputError."""
        return self.planner.inputs(self._asked)

    def inputs_with(self, settings: tuple[Override, ...]) -> Inputs:
        """The same with more settings; raises InputError."""
        return self.planner.inputs(self._with(settings))

    def _with(self, settings: tuple[Override, ...]) -> Variant:
        return Variant(self._asked.apply, (*self._asked.settings, *settings))

    def know(self, figures: PlanSummary) -> None:
        """What is asked need not be planned: it comes to this."""
        self._figures[self.planner.key(self._asked)] = figures

    def one(self, settings: tuple[Override, ...] = ()) -> PlanSummary:
        """One plan; without settings that of what is asked."""
        (figures,) = self.all([settings])
        return figures

    def all(self, wanted: Iterable[tuple[Override, ...]]) -> list[PlanSummary]:
        """Several plans, in this order; those that there are not yet are made together."""
        variants = [self._with(one) for one in wanted]
        keys = [self.planner.key(variant) for variant in variants]
        fresh = {
            key: variant
            for key, variant in zip(keys, variants, strict=True)
            if key not in self._figures
        }
        number = len(self._figures) + len(fresh)

        def done(key: str, figures: PlanSummary) -> None:
            self._figures[key] = figures
            self.progress(f"planning, {len(self._figures):,} of {number:,} or a few more")

        self._executor.plan(fresh, done)
        return [self._figures[key] for key in keys]
