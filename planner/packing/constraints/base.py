"""One thing that is asked of a plan, in the user's words, and how less of it can be asked.

A condition is raised by an amount in its own unit, or lifted. Either keeps the numbers of pools,
supplies and job classes, so that several can be lifted one after another.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from planner.packing.problem import Limit, Problem, Quota, Supply

OWNED_NODES, LIMITED_OFFERS, SITES = "owned nodes", "limited offers", "limits of the sites"
"""The name in the bound for the shares of several kinds that concern owned nodes."""


Raised = Callable[["Problem", "int | None"], "Problem"]
"""The problem in which a condition is wider by an amount; None: in which it is lifted."""


@dataclass(frozen=True, slots=True)
class Condition:
    """One thing that is asked of a plan."""

    name: str
    """Such as `power at frankfurt`."""
    figure: str
    """As stated, such as `25 kW`."""
    raised: Raised = field(compare=False)
    mended: Callable[[int], str] = field(compare=False)
    """What to do if it must rise by an amount, such as `raise power at frankfurt by 15.8 kW, to
    40.8 kW`, or `lower the growth reserve of l40s to 10 %`."""
    most: int | None = None
    """The most by which it can be raised, in its own unit; None: by any amount."""
    needed: Callable[[int], str] | None = field(default=None, compare=False)
    """What is needed if it must rise by an amount, such as `40.8 kW`; None if nothing is said."""
    reason: str = ""
    """What to know of it, such as `power at main: 25 kW, owned nodes take 10.2 kW`."""
    procures: bool = False
    """Whether it says which nodes can be had, rather than what they may take."""

    @property
    def said(self) -> str:
        """Return the name and the figure: `power at frankfurt (25 kW)`."""
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
    """Return a condition whose figure can be raised without end."""

    def needed(more: int) -> str:
        return told(stated + more)

    def mended(more: int) -> str:
        return f"raise {name} by {told(more)}, to {told(stated + more)}"

    return Condition(name, figure, raised, mended, None, needed, reason, procures)


def widening(kind: str, key: str, mine: str, wider: Callable[..., object]) -> Raised:
    """Return how one of the limits of a kind is raised: it gets wider, or is left out."""

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
    """Return a limit by quarter with an amount added in each."""
    at_most = tuple(None if most is None else most + more for most in limit.at_most)
    return replace(limit, at_most=at_most)


def resupplying(numbers: Sequence[int], wider: Callable[[Supply, int | None], Supply]) -> Raised:
    """Return how these offers are raised: each gives more nodes, or any number."""

    def raised(problem: Problem, more: int | None) -> Problem:
        supplies = list(problem.supplies)
        for number in numbers:
            supplies[number] = wider(supplies[number], more)
        return replace(problem, supplies=tuple(supplies))

    return raised
