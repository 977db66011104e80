"""What a scenario asks of a plan: one module for each kind of constraint.

A module states its rows, tests a decision in exact integers, and lists what is asked, how much
less could be asked, and what would mend it. Only this registry knows which kinds there are.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from planner.packing.constraints import (
    budgets,
    growth,
    moves,
    offers,
    quotas,
    racks,
    site_limits,
    spares,
    traffic,
)
from planner.packing.constraints.base import Condition
from planner.packing.list_schedule import Placed
from planner.packing.master import MasterProgram
from planner.packing.translation import Translation


class Kind(Protocol):
    """What each module of this package offers."""

    @property
    def BILL(self) -> str:  # noqa: N802 - a constant of the module
        """The name of its rows' share in the bound."""

    def add_rows(self, master: MasterProgram) -> None:
        """State its rows, after all other variables exist."""

    def holds(self, master: MasterProgram, values: Sequence[float]) -> bool:
        """Return whether a plan in whole numbers satisfies it, whichever hours its runs take."""

    def conditions(self, translation: Translation) -> Iterable[Condition]:
        """Return what is asked, one by one, in the user's words."""


_ON_NODES: tuple[Kind, ...] = (offers, racks, site_limits, budgets)
"""The kinds that restrict only which nodes are acquired."""
_KINDS: tuple[Kind, ...] = (
    traffic,
    offers,
    spares,
    moves,
    growth,
    racks,
    site_limits,
    quotas,
    budgets,
)
"""First what must run, then which nodes can be had, last what money may be spent."""


def add_rows(master: MasterProgram) -> None:
    """State the rows of every constraint."""
    for kind in _KINDS:
        master.program.owner = kind.BILL
        kind.add_rows(master)
    master.program.owner = ""


def holds(
    master: MasterProgram, values: Sequence[float], schedule: Mapping[int, Iterable[Placed]]
) -> bool:
    """Return whether a whole plan, with its runs by quarter, satisfies every constraint."""
    every = all(kind.holds(master, values) for kind in _KINDS)
    return every and quotas.hold_by_hour(master, values, schedule)


def nodes_allowed(master: MasterProgram, values: Sequence[float]) -> bool:
    """Return whether a solution's nodes are allowed, whatever runs on them."""
    return all(kind.holds(master, values) for kind in _ON_NODES)


def conditions_of(translation: Translation) -> tuple[Condition, ...]:
    """Return everything that a scenario asks of a plan and could ask less of."""
    return tuple(one for kind in _KINDS for one in kind.conditions(translation))
