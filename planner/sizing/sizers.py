"""Sizers that variants of one scenario share, so that a job specified alike is sized once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.sizing.portfolio import size_portfolio
from planner.sizing.sizer import Sizer

if TYPE_CHECKING:
    from planner.inputs.scenario.scenario import Policies
    from planner.inputs.settled import Inputs
    from planner.sizing.candidate import SizedJob

__all__ = ["Sizers"]

_MOST = 8
"""Sizers that are kept: variants that follow each other differ in few settings at a time."""

_APART = {"shortage": "refuse"}
"""Policies that size no job, alike for all."""
_OF_PARTS = {"mig": "never", "shared_gpus": False}
"""Policies that size serving jobs alone, as if there were none."""


class Sizers:
    """Gives the same sizer wherever catalog, rules, policies, GPU types and settings are the same.

    Of the settings, only those count that some rule asks for: the price of energy sizes no job. Nor
    does it count who gives way. Where GPUs are divided otherwise, only serving jobs are sized anew.
    """

    def __init__(self) -> None:
        self._kept: list[tuple[tuple[object, ...], Policies, Sizer]] = []

    def sizer(self, inputs: Inputs, gpu_types: tuple[str, ...] | None) -> Sizer:
        """The sizer for these inputs and GPU types, all of the catalog if None."""
        settings, rules = inputs.settings, inputs.rules
        policies = inputs.scenario.policies.model_copy(update=_APART)
        counting = tuple(value for name, value in settings if name in rules.asked)
        whole = policies.model_copy(update=_OF_PARTS)
        key = (inputs.catalog, rules, counting, whole, gpu_types)
        alike = None
        for place, (known, divided, sizer) in enumerate(self._kept):
            if known == key:
                alike = sizer
                if divided == policies:
                    self._kept.append(self._kept.pop(place))
                    return sizer
        made = Sizer(inputs.catalog, rules, settings, policies, gpu_types, known=alike)
        self._kept = [*self._kept[1 - _MOST :], (key, policies, made)]
        return made

    def portfolio(self, inputs: Inputs) -> tuple[SizedJob, ...]:
        """All jobs of these inputs, sized on the GPU types that their plan may use."""
        return size_portfolio(self.sizer(inputs, inputs.gpu_types_in_play), inputs.scenario)
