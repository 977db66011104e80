"""One thing that is asked of a plan, in the user's words, and how it can be asked less.

A condition is raised by so much of its own unit, or lifted. Either leaves the numbers of pools,
supplies and demands as they are, so that several can be lifted one after the other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from planner.packing.problem import Limit, Problem, Quota, Supply

OWNED_NODES, LIMITED_OFFERS, SITES = "owned nodes", "limited offers", "limits of the sites"
"""What shares of several kinds in the bound are called."""


Raised = Callable[["Problem", "int | None"], "Problem"]
"""The problem in which a condition is so much wider; None: in which nothing is left of it."""


@dataclass(frozen=True, slots=True)
class Condition:
    """One thing that is asked of a plan."""

    name: str
    """`power at frankfurt`."""
    figure: str
    """As stated: `25 kW`."""
    raised: Raised = field(compare=False)
    mended: Callable[[int], str] = field(compare=False)
    """What to do where it must rise by so much: `raise power at frankfurt by 15.8 kW, to 40.8 kW`,
    or `lower the growth reserve of l40s to 10 %`."""
    most: int | None = None
    """By how much it can be raised, in its own unit; None: by any number."""
    needed: Callable[[int], str] | None = field(default=None, compare=False)
    """What is needed where it must rise by so much: `40.8 kW`; None where none is told."""
    reason: str = ""
    """What is to be known of it: `power at main: 25 kW, owned nodes take 10.2 kW`."""
    procures: bool = False
    """Whether it says which nodes can be had, and not what they may take."""

    @property
    def said(self) -> str:
        """`power at frankfurt (25 kW)`."""
        return f"{self.name} ({self.figure})"


def rising(
    name: str,
    figure: str,
    stated: int,
    told: Callable[[int], str],
    raised: Raised,
    *,
    reason: str = "",
    procures: bool = False,
) -> Condition:
    """A figure that can be raised without end."""

    def needed(more: int) -> str:
        return told(stated + more)

    def mended(more: int) -> str:
        return f"raise {name} by {told(more)}, to {told(stated + more)}"

    return Condition(name, figure, raised, mended, None, needed, reason, procures)


def widening(kind: str, key: str, mine: str, wider: Callable[..., object]) -> Raised:
    """How one of the limits of a kind is raised: it gets wider by so much, or is left out."""

    def raised(problem: Problem, more: int | None) -> Problem:
        changed = (
            wider(one, more) if getattr(one, key) == mine else one
            for one in getattr(problem, kind)
            if more is not None or getattr(one, key) != mine
        )
        kept: dict[str, Any] = {kind: tuple(changed)}
        return replace(problem, **kept)

    return raised


def by_quarter_wider(limit: Limit | Quota, more: int) -> Limit | Quota:
    """What is limited by quarter, with so much more in each."""
    at_most = tuple(None if most is None else most + more for most in limit.at_most)
    return replace(limit, at_most=at_most)


def resupplying(numbers: Sequence[int], wider: Callable[[Supply, int | None], Supply]) -> Raised:
    """How these offers are raised: each gives more by so much, or without end."""

    def raised(problem: Problem, more: int | None) -> Problem:
        supplies = list(problem.supplies)
        for number in numbers:
            supplies[number] = wider(supplies[number], more)
        return replace(problem, supplies=tuple(supplies))

    return raised
