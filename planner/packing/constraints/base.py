"""One thing that is asked of a plan, in the user's words, and how it can be asked less.

A condition is raised by so much of its own unit, or lifted. Either leaves the numbers of pools,
supplies and demands as they are, so that several can be lifted one after the other.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from planner.packing.limits import Limit
    from planner.packing.problem import Problem, Quota, Supply

__all__ = [
    "LIMITED_OFFERS",
    "OWNED_NODES",
    "SITES",
    "Condition",
    "Rising",
    "by_quarter",
    "by_quarter_wider",
    "resupplied",
    "the_one",
    "widened",
]


OWNED_NODES, LIMITED_OFFERS, SITES = "owned nodes", "limited offers", "limits of the sites"
"""What shares of several kinds in the bound are called."""


@dataclass(frozen=True, slots=True)
class Condition(ABC):
    """One thing that is asked of a plan."""

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


@dataclass(frozen=True, slots=True)
class Rising(Condition):
    """A figure that can be raised without end, the same in every quarter or not."""

    stated: int | None
    """None where it differs by quarter."""

    @abstractmethod
    def _told(self, amount: int) -> str: ...

    def needed(self, more: int) -> str:
        """What is needed where it must rise by so much: `40.8 kW`."""
        return f"{self._told(more)} more" if self.stated is None else self._told(self.stated + more)

    def mended(self, more: int) -> str:
        """What to do: `raise power at frankfurt by 15.8 kW, to 40.8 kW`."""
        to = "" if self.stated is None else f", to {self._told(self.stated + more)}"
        return f"raise {self.name} by {self._told(more)}{to or ' in every quarter'}"


def the_one(at_most: Sequence[int | None]) -> int | None:
    """The figure that holds wherever one does; None where there are several."""
    known = {most for most in at_most if most is not None}
    return known.pop() if len(known) == 1 else None


def by_quarter(
    at_most: Sequence[int | None], told: Callable[[int], str], labels: Sequence[str]
) -> str:
    """`120 kW`, or the figures with the quarters from which they hold."""
    figures = [None if most is None else told(most) for most in at_most]
    if len(set(figures)) == 1:
        return figures[0] or "not limited"
    return ", ".join(
        f"{figure or 'no limit'} from {labels[quarter]} on"
        for quarter, figure in enumerate(figures)
        if quarter == 0 or figure != figures[quarter - 1]
    )


def widened(
    problem: Problem, kind: str, key: str, mine: str, more: int | None, wider: Callable[..., object]
) -> Problem:
    """The problem in which one of its limits of a kind is wider; None leaves it out."""
    changed = (
        wider(one, more) if getattr(one, key) == mine else one
        for one in getattr(problem, kind)
        if more is not None or getattr(one, key) != mine
    )
    kept: dict[str, Any] = {kind: tuple(changed)}
    return replace(problem, **kept)


def by_quarter_wider(limit: Limit | Quota, more: int) -> Limit | Quota:
    """What is limited by quarter, with so much more in each."""
    at_most = tuple(None if most is None else most + more for most in limit.at_most)
    return replace(limit, at_most=at_most)


def resupplied(
    problem: Problem, numbers: Sequence[int], change: Callable[[Supply], Supply]
) -> Problem:
    """The problem in which these offers are changed."""
    supplies = list(problem.supplies)
    for number in numbers:
        supplies[number] = change(supplies[number])
    return replace(problem, supplies=tuple(supplies))
