"""Sizers that variants of one scenario share, so that a job specified alike is sized once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.sizing.sizer import Sizer

if TYPE_CHECKING:
    from planner.inputs.settled import Inputs

__all__ = ["Sizers"]

_MOST = 8
"""Sizers that are kept: variants that follow each other differ in few settings at a time."""


class Sizers:
    """Gives the same sizer wherever catalog, rules, policies, GPU types and settings are the same.

    Of the settings, only those count that some rule asks for: the price of energy sizes no job.
    """

    def __init__(self) -> None:
        self._kept: list[tuple[tuple[object, ...], Sizer]] = []

    def sizer(self, inputs: Inputs, gpu_types: tuple[str, ...] | None) -> Sizer:
        """The sizer for these inputs and GPU types, all of the catalog if None."""
        policies, settings, rules = inputs.scenario.policies, inputs.settings, inputs.rules
        counting = tuple(value for name, value in settings if name in rules.asked)
        key = (inputs.catalog, rules, counting, policies, gpu_types)
        for place, (known, sizer) in enumerate(self._kept):
            if known == key:
                self._kept.append(self._kept.pop(place))
                return sizer
        made = Sizer(inputs.catalog, rules, settings, policies, gpu_types)
        self._kept = [*self._kept[1 - _MOST :], (key, made)]
        return made
