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
    """Gives the same sizer wherever catalog, rules, settings, policies and GPU types are."""

    def __init__(self) -> None:
        self._kept: list[tuple[tuple[object, ...], Sizer]] = []

    def sizer(self, inputs: Inputs, gpu_types: tuple[str, ...] | None) -> Sizer:
        """The sizer for these inputs and GPU types, all of the catalog if None."""
        policies, settings = inputs.scenario.policies, inputs.settings
        key = (inputs.catalog, inputs.rules, settings, policies, gpu_types)
        for place, (known, sizer) in enumerate(self._kept):
            if known == key:
                self._kept.append(self._kept.pop(place))
                return sizer
        made = Sizer(inputs.catalog, inputs.rules, settings, policies, gpu_types)
        self._kept = [*self._kept[1 - _MOST :], (key, made)]
        return made
