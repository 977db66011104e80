"""Money of a plan by year and kind, and what a GPU-hour costs."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

from planner.plan.figures.budgets import NOT_PAID_LINES
from planner.plan.ledger.reader import Reader, where
from planner.plan.ledger.traced import NOTHING, Traced, total

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from planner.plan.plan import Plan

__all__ = ["Accounts", "Year"]

_CAPEX = "purchase"
_FIRST_YEAR = 4


class Year(NamedTuple):
    """A calendar year of the horizon, whole or in part."""

    label: str
    quarters: tuple[int, ...]
    """Places in the horizon."""


class Accounts:
    """Sums of a plan's cost lines, all in cents."""

    def __init__(self, plan: Plan, read: Reader) -> None:
        self._plan = plan
        self._read = read
        self._all = tuple(range(len(plan.quarters)))
        self.years = tuple(
            Year(label, tuple(places))
            for label, places in groupby(self._all, key=lambda place: plan.quarters[place][:4])
        )

    def line(self, line: int, quarters: Iterable[int]) -> Traced:
        """One kind of cost in these quarters, not discounted."""
        return total(self._read.at(f"costs[{line}].cents[{place}]") for place in quarters)

    def capex(self, quarters: Iterable[int]) -> Traced:
        """Purchases in these quarters."""
        return self._lines(tuple(quarters), lambda name: name == _CAPEX)

    def opex(self, quarters: Iterable[int]) -> Traced:
        """All else that is paid in these quarters."""
        return self._lines(tuple(quarters), lambda name: name not in (_CAPEX, *NOT_PAID_LINES))

    def paid(self, quarters: Iterable[int] | None = None) -> Traced:
        """Everything that is paid in these quarters, or over the horizon."""
        chosen = self._all if quarters is None else tuple(quarters)
        return self._lines(chosen, lambda name: name not in NOT_PAID_LINES)

    def unpaid(self, quarters: Iterable[int]) -> Traced:
        """What is counted in these quarters and paid by nobody: the value left, and weights."""
        return self._lines(tuple(quarters), lambda name: name in NOT_PAID_LINES)

    @property
    def first_year(self) -> tuple[int, ...]:
        """The first four quarters, or all where there are fewer."""
        return self._all[:_FIRST_YEAR]

    def acquired(self, kind: str) -> Traced:
        """What the bill says of one kind of acquisition, within the horizon."""
        return self._read.sum(f"acquisitions{where(kind=kind)}.total_cents")

    @property
    def net_present(self) -> Traced:
        """The figure that the plan minimizes."""
        return self._read.at("proof.cost_cents")

    @property
    def residual(self) -> Traced | None:
        """What servers are still worth at the end, in present value; None where none is bought."""
        lines = self._line_of("residual value")
        return None if lines is None else NOTHING - self._read.at(f"{lines}.present_cents")

    @property
    def residual_share(self) -> Traced | None:
        """The same of what they cost, neither of them discounted."""
        left, paid = self._line_of("residual value"), self._line_of("purchase")
        if left is None or paid is None:
            return None
        price = self._read.at(f"{paid}.total_cents")
        return (NOTHING - self._read.at(f"{left}.total_cents")) / price if price.value else None

    def _line_of(self, name: str) -> str | None:
        """Where a kind of cost stands."""
        names = [line.name for line in self._plan.costs]
        return f"costs[{names.index(name)}]" if name in names else None

    @property
    def per_gpu_hour(self) -> Traced | None:
        """Net present cost of each GPU-hour that jobs hold, cents; None where no job runs."""
        held = self._read.sum("pools[*].gpu_hours_used[*]")
        return self.net_present / held if held.value else None

    @property
    def delivered(self) -> Traced | None:
        """GPU-hours that jobs deliver; None without teams, or where the time of a run is open."""
        charged = self._plan.chargeback
        if charged is None or any(use.open_gpu_hours for use in charged.teams):
            return None
        return self._read.sum("chargeback.teams[*].delivered_gpu_hours")

    def _lines(self, quarters: tuple[int, ...], chosen: Callable[[str], bool]) -> Traced:
        return total(
            self.line(place, quarters)
            for place, line in enumerate(self._plan.costs)
            if chosen(line.name)
        )
