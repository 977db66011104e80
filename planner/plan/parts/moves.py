"""The part of a plan that says what becomes of the units that run today."""

from __future__ import annotations

from planner.inputs.base import Frozen

__all__ = ["CurrentPlacement", "Move"]


class Move(Frozen):
    """One unit that does not stay where it runs today."""

    job: str
    unit: int
    """From 1."""
    origin: tuple[str, ...]
    """Nodes that it runs on today, or its pool, `xe9680-h100/frankfurt`, where no node is known."""
    nodes: tuple[str, ...]
    """Nodes that it runs on in the first quarter."""
    leaves_pool: bool
    """Only this has a price: within a pool, units change their node for nothing."""
    cost_cents: int
    reason: str


class CurrentPlacement(Frozen):
    """Units that run today and go on: those that stay, those that are pinned, those that move."""

    units: int
    pinned: int
    """Of them: those that may not move."""
    moves: tuple[Move, ...]
    """By job and unit."""
    cost_cents: int
    """Of all moves."""
