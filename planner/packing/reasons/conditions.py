"""Everything that a scenario asks of a plan and could ask less of, by name and with its figure.

A condition is raised by so much of its own unit, or lifted. Either leaves the numbers of pools,
supplies and demands as they are, so that several can be lifted one after the other.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from math import floor
from typing import TYPE_CHECKING

from planner.inputs.text.words import amount_text, count_of
from planner.packing.counting.limits import rack_name, row_scale
from planner.packing.counting.procure import offers_of
from planner.packing.counting.stays import pinned_home, released
from planner.packing.reasons.figures import (
    by_quarter,
    counted,
    entries,
    per_cent,
    pinned_needs,
    the_one,
    units_named,
    usd,
)
from planner.packing.reasons.wider import by_quarter_wider, resupplied, widened

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from planner.packing.counting.counts import Counts
    from planner.packing.limits import Limit, RackSpace, Reserve, SpendLimit
    from planner.packing.problem import Problem, Quota, Supply
    from planner.packing.statement.translate import Translation

__all__ = ["Condition", "Elastic", "conditions_of"]

Elastic = dict[int, tuple[float, float]]
"""By row of the counting program: its exact right side, and what one unit of a raise adds to it."""


@dataclass(frozen=True, slots=True)
class Condition(ABC):
    """One thing that is asked of a plan, in the user's words."""

    name: str
    """`power at frankfurt`."""
    figure: str
    """As stated: `25 kW`."""
    most: int | None
    """By how much it can be raised, in its own unit; None: by any number."""

    procures = False
    """Whether it says which nodes can be had, and not what they may take."""

    @property
    def said(self) -> str:
        """`power at frankfurt (25 kW)`."""
        return f"{self.name} ({self.figure})"

    def reason(self) -> str:
        """What is to be known of it: `power at main: 25 kW, owned nodes take 10.2 kW`, or empty."""
        return ""

    @abstractmethod
    def raised(self, problem: Problem, more: int | None) -> Problem:
        """The problem in which it is so much wider; None: in which nothing is left of it."""

    @abstractmethod
    def mended(self, more: int) -> str:
        """What to do: `raise power at frankfurt by 15.8 kW, to 40.8 kW`."""

    def needed(self, more: int) -> str:
        """What is needed where it must rise by so much: `40.8 kW`; empty where none is told."""
        del more
        return ""

    def elastic(self, counts: Counts) -> Elastic:
        """The rows that state it; empty where a raise changes more of the program than rows."""
        del counts
        return {}


def conditions_of(translation: Translation) -> tuple[Condition, ...]:
    """All conditions of a portfolio: first which nodes can be had, last what money may be spent."""
    problem, labels = translation.problem, translation.quarters
    return (
        *_offers(translation),
        *_Spares.of(problem),
        *_pins(translation),
        *(_Growth.of(reserve) for reserve in problem.reserves),
        *(_Racks.of(space) for space in problem.racks),
        *(_Limit.of(problem, limit, labels) for limit in problem.limits),
        *(_Quota.of(problem, quota, labels) for quota in problem.quotas),
        *(_Budget.of(limit) for limit in problem.budgets),
    )


@dataclass(frozen=True, slots=True)
class _Rising(Condition):
    """A figure that can be raised without end, the same in every quarter or not."""

    stated: int | None
    """None where it differs by quarter."""

    @abstractmethod
    def _told(self, amount: int) -> str: ...

    def needed(self, more: int) -> str:
        return f"{self._told(more)} more" if self.stated is None else self._told(self.stated + more)

    def mended(self, more: int) -> str:
        to = "" if self.stated is None else f", to {self._told(self.stated + more)}"
        return f"raise {self.name} by {self._told(more)}{to or ' in every quarter'}"


@dataclass(frozen=True, slots=True)
class _Budget(_Rising):
    limit: SpendLimit

    @classmethod
    def of(cls, limit: SpendLimit) -> _Budget:
        stated = limit.at_most_cents + limit.fixed_cents
        return cls(limit.name, usd(stated), None, stated, limit)

    def _told(self, amount: int) -> str:
        return usd(amount)

    def reason(self) -> str:
        fixed = self.limit.fixed_cents
        return f"{self.name}: {self.figure}, owned nodes take {usd(fixed)}" if fixed else ""

    def raised(self, problem: Problem, more: int | None) -> Problem:
        def wider(limit: SpendLimit, more: int) -> SpendLimit:
            return replace(limit, at_most_cents=limit.at_most_cents + more)

        return widened(problem, "budgets", "name", self.limit.name, more, wider)

    def elastic(self, counts: Counts) -> Elastic:
        row, cent = counts.budget_rows[self.limit.name]
        (now,) = (one for one in counts.problem.budgets if one.name == self.limit.name)
        return {row: (now.at_most_cents * cent, cent)}


@dataclass(frozen=True, slots=True)
class _Quota(_Rising):
    quota: Quota
    counts: str
    """What it counts for more than is held; empty: nothing."""

    @classmethod
    def of(cls, problem: Problem, quota: Quota, labels: Sequence[str]) -> _Quota:
        figure = by_quarter(quota.at_most, partial(count_of, singular="GPU"), labels)
        stated = the_one(quota.at_most)
        return cls(f"the {quota.name}", figure, None, stated, quota, counted(problem, quota))

    def reason(self) -> str:
        return f"{self.name} counts {self.counts}" if self.counts else ""

    def _told(self, amount: int) -> str:
        return count_of(amount, "GPU")

    def raised(self, problem: Problem, more: int | None) -> Problem:
        return widened(problem, "quotas", "name", self.quota.name, more, by_quarter_wider)

    def elastic(self, counts: Counts) -> Elastic:
        names = [quota.name for quota in counts.problem.quotas]
        rows = counts.quota_rows[names.index(self.quota.name)]
        return {row: (float(most), 1.0) for row, most in rows.items()}


@dataclass(frozen=True, slots=True)
class _Limit(_Rising):
    limit: Limit
    owned: int
    """What the owned nodes take of it."""

    @classmethod
    def of(cls, problem: Problem, limit: Limit, labels: Sequence[str]) -> _Limit:
        owned = max(
            sum(amount * problem.pools[pool].owned_in(quarter) for pool, amount in limit.terms)
            for quarter in range(problem.quarters)
        )
        figure = by_quarter(limit.at_most, partial(amount_text, unit=limit.unit), labels)
        return cls(limit.name, figure, None, the_one(limit.at_most), limit, owned)

    def _told(self, amount: int) -> str:
        return amount_text(amount, self.limit.unit)

    def reason(self) -> str:
        taken = f"{self.name}: {self.figure}, owned nodes take {self._told(self.owned)}"
        return taken if self.owned else ""

    def raised(self, problem: Problem, more: int | None) -> Problem:
        return widened(problem, "limits", "name", self.limit.name, more, by_quarter_wider)

    def elastic(self, counts: Counts) -> Elastic:
        rows = counts.limit_rows.get(self.limit.name, ())
        return {row: (counts.program.rows[row].right, row_scale(self.limit)) for row in rows}


@dataclass(frozen=True, slots=True)
class _Racks(_Rising):
    space: RackSpace

    @classmethod
    def of(cls, space: RackSpace) -> _Racks:
        fed = "" if space.power_w is None else f" and {amount_text(space.power_w, 'W')}"
        figure = f"{space.count}, of {space.units} U{fed} each"
        name = f"the number of {rack_name(space)}"
        return cls(name, figure, None, space.count, space)

    def _told(self, amount: int) -> str:
        return f"{amount:,}"

    def raised(self, problem: Problem, more: int | None) -> Problem:
        def wider(space: RackSpace, more: int) -> RackSpace:
            return replace(space, count=space.count + more)

        return widened(problem, "racks", "site", self.space.site, more, wider)

    def elastic(self, counts: Counts) -> Elastic:
        rows = counts.limit_rows.get(rack_name(self.space), ())
        return {row: (counts.program.rows[row].right, 1.0) for row in rows}


@dataclass(frozen=True, slots=True)
class _Growth(Condition):
    reserve: Reserve

    @classmethod
    def of(cls, reserve: Reserve) -> _Growth:
        name = f"the growth reserve of {reserve.gpu_type}"
        return cls(name, per_cent(reserve.free), floor(reserve.free * 100), reserve)

    def _free(self, more: int) -> Fraction:
        return max(Fraction(0), self.reserve.free - Fraction(more, 100))

    def raised(self, problem: Problem, more: int | None) -> Problem:
        def lower(reserve: Reserve, more: int) -> Reserve:
            return replace(reserve, free=self._free(more))

        return widened(problem, "reserves", "gpu_type", self.reserve.gpu_type, more, lower)

    def mended(self, more: int) -> str:
        return f"lower {self.name} to {per_cent(self._free(more))}"


@dataclass(frozen=True, slots=True)
class _Spares(Condition):
    """Of all pools together: they are one policy."""

    procures = True

    @classmethod
    def of(cls, problem: Problem) -> Iterator[_Spares]:
        kept = sorted({pool.spare for pool in problem.pools if pool.spare})
        if kept:
            figure = " to ".join(str(one) for one in dict.fromkeys((kept[0], kept[-1])))
            yield cls("the spare nodes of each pool", figure, kept[-1])

    def raised(self, problem: Problem, more: int | None) -> Problem:
        fewer = self.most if more is None else more
        pools = (replace(pool, spare=max(0, pool.spare - (fewer or 0))) for pool in problem.pools)
        return replace(problem, pools=tuple(pools))

    def mended(self, more: int) -> str:
        if not self.figure.isdecimal() and more != self.most:
            return f"keep {count_of(more, 'spare node')} fewer in each pool"
        left = "no" if more == self.most else str((self.most or 0) - more)
        return f"keep {left} spare node{'' if left == '1' else 's'}, not {self.figure}"


@dataclass(frozen=True, slots=True)
class _Maximum(Condition):
    supplies: tuple[int, ...]
    """Those of one offer."""
    stated: int

    procures = True

    def raised(self, problem: Problem, more: int | None) -> Problem:
        def wider(supply: Supply) -> Supply:
            return replace(supply, maximum=None if more is None else self.stated + more)

        return resupplied(problem, self.supplies, wider)

    def mended(self, more: int) -> str:
        return f"raise {self.name} by {more:,}, to {count_of(self.stated + more, 'node')}"


@dataclass(frozen=True, slots=True)
class _Dates(Condition):
    """Quarters in which nodes of an offer can enter service; raised by some at either end."""

    supplies: tuple[int, ...]
    offer: str
    opens: range
    labels: tuple[str, ...]

    procures = True

    @classmethod
    def of(cls, translation: Translation, supplies: Sequence[int]) -> _Dates | None:
        """None where they can enter in every quarter."""
        costs = translation.problem.supplies[supplies[0]].unit_cost_cents
        known = [quarter for quarter, cents in enumerate(costs) if cents is not None]
        if len(known) == len(costs):
            return None
        opens = range(known[0], known[-1] + 1) if known else range(len(costs), len(costs))
        name, labels = translation.offers[supplies[0]], translation.quarters
        figure = entries(opens, labels) if known else "after the horizon"
        most = max(opens.start, len(costs) - opens.stop)
        return cls(f"the dates of offer {name}", figure, most, tuple(supplies), name, opens, labels)

    def _open(self, more: int | None) -> range:
        every = range(len(self.labels))
        if more is None:
            return every
        return every[max(0, self.opens.start - more) : self.opens.stop + more]

    def raised(self, problem: Problem, more: int | None) -> Problem:
        opened = self._open(more)

        def wider(supply: Supply) -> Supply:
            costs = (
                0 if cents is None and quarter in opened else cents
                for quarter, cents in enumerate(supply.unit_cost_cents)
            )
            return replace(supply, unit_cost_cents=tuple(costs))

        return resupplied(problem, self.supplies, wider)

    def mended(self, more: int) -> str:
        return f"have offer {self.offer} enter service {entries(self._open(more), self.labels)}"


@dataclass(frozen=True, slots=True)
class _Pin(Condition):
    demand: int
    units: str

    def raised(self, problem: Problem, more: int | None) -> Problem:
        return released(problem, self.demand) if more != 0 else problem

    def mended(self, more: int) -> str:
        del more
        return f"let {self.units} move"


def _pins(translation: Translation) -> Iterator[_Pin]:
    for number, demand in enumerate(translation.problem.demands):
        home = pinned_home(demand)
        if home:
            units = units_named(translation, number)
            figure = pinned_needs(translation.problem, demand, home)
            yield _Pin(f"the pin of {units} to {home}", figure, 1, number, units)


def _offers(translation: Translation) -> Iterator[Condition]:
    for supplies in offers_of(translation.problem):
        maximum = translation.problem.supplies[supplies[0]].maximum
        if maximum is not None:
            name = f"the maximum of offer {translation.offers[supplies[0]]}"
            yield _Maximum(name, count_of(maximum, "node"), None, tuple(supplies), maximum)
        dates = _Dates.of(translation, supplies)
        if dates:
            yield dates
