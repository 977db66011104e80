"""What quotas leave of each week, while units take seats and leave them."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from planner.packing.problem import WEEKS

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from planner.packing.problem import Quota

__all__ = ["Shares"]

_Held = tuple[range, int]
"""Weeks, and GPUs in each of them."""


class Shares:
    """GPUs that units may still take, by quota, quarter and week."""

    def __init__(self, quotas: Sequence[Quota] = ()) -> None:
        """Before any unit has a seat."""
        self._left = [
            [None if most is None else [most] * WEEKS for most in quota.at_most] for quota in quotas
        ]
        """By quota, quarter and week; None: any number."""
        self._held: dict[tuple[int, int], dict[int, list[_Held]]] = defaultdict(dict)
        """By quota and quarter, and by unit: what its pieces hold."""

    def copy(self) -> Shares:
        """The same, to be changed apart."""
        other = Shares()
        other._left = [[weeks and list(weeks) for weeks in quota] for quota in self._left]
        for key, units in self._held.items():
            other._held[key] = {unit: list(held) for unit, held in units.items()}
        return other

    def allow(self, quotas: Iterable[int], quarter: int, gpus: int, weeks: range) -> bool:
        """Whether so many GPUs are left in these weeks."""
        return all(
            left is None or min(left[weeks.start : weeks.stop]) >= gpus
            for left in (self._left[quota][quarter] for quota in quotas)
        )

    def take(self, unit: int, quotas: Iterable[int], quarter: int, gpus: int, weeks: range) -> None:
        """Let a piece of a unit hold GPUs, allowed or not."""
        for quota in quotas:
            self._held[quota, quarter].setdefault(unit, []).append((weeks, gpus))
            self._change(quota, quarter, [(weeks, -gpus)])

    def leave(self, unit: int, quotas: Iterable[int], quarters: Sequence[int]) -> None:
        """Take off all that the pieces of a unit hold."""
        for quota in quotas:
            for quarter in quarters:
                self._change(quota, quarter, self._held[quota, quarter].pop(unit, ()))

    def _change(self, quota: int, quarter: int, held: Iterable[_Held]) -> None:
        left = self._left[quota][quarter]
        if left is not None:
            for weeks, gpus in held:
                for week in weeks:
                    left[week] += gpus

    def leavers(
        self,
        asking: int,
        quotas: Iterable[int],
        quarter: int,
        gpus: int,
        weeks: range,
        gone: Collection[int],
        trouble: Sequence[float],
    ) -> list[int] | None:
        """Units that leave one that is `asking` so many GPUs in these weeks, beside those `gone`.

        The least trouble first; None where not even all of them are enough.
        """
        out: list[int] = []
        for quota in quotas:
            left = self._left[quota][quarter]
            if left is None:
                continue
            units = self._held[quota, quarter]
            short = {week: gpus - left[week] for week in weeks}
            for unit in (*gone, *out):
                _release(short, units.get(unit, ()))
            others = units.keys() - {asking, *gone, *out}
            for unit in sorted(others, key=lambda one: (trouble[one], one)):
                if any(
                    short[week] > 0 for held, _ in units[unit] for week in held if week in short
                ):
                    _release(short, units[unit])
                    out.append(unit)
            if any(lacking > 0 for lacking in short.values()):
                return None
        return out


def _release(short: dict[int, int], held: Iterable[_Held]) -> None:
    for weeks, gpus in held:
        for week in weeks:
            if week in short:
                short[week] -= gpus
