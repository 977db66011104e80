"""What differs between two plans, as data: only figures and names, in the order of the report."""

from __future__ import annotations

from planner.inputs.base import Frozen
from planner.whatif.comparison.actuals import PlannedAndActual
from planner.whatif.comparison.waterfall import Waterfall

__all__ = [
    "FORMAT",
    "Amount",
    "Comparison",
    "InputChange",
    "JobMove",
    "PurchaseChange",
    "ShortChange",
    "SideFigures",
]

FORMAT = "1.0"
"""Minor: additive. Major: readers refuse."""


class SideFigures(Frozen):
    """One side in short."""

    label: str
    scenario: str
    status: str
    cost_cents: int
    bound_cents: int
    quarters: tuple[str, ...]
    short: int = 0
    """Jobs that give way: dropped, delayed or short of units."""


class InputChange(Frozen):
    """One value of the inputs that differs."""

    cause: str
    path: str
    before: str | None
    """As a file would say it, or as the price book does; None where neither says anything."""
    after: str | None


class PurchaseChange(Frozen):
    """Nodes of one offer that enter service in one quarter."""

    quarter: str
    kind: str
    offer: str
    node_type: str
    site: str
    before: int
    after: int
    before_cents: int
    """Not discounted."""
    after_cents: int
    term_quarters: int | None = None
    """Reserve: quarters that each node is held."""


class Amount(Frozen):
    """One figure on both sides."""

    name: str
    quarter: str | None
    """None: over the whole horizon."""
    unit: str
    """`cents`, `GPUs`, `share` or `W`."""
    before: int | float | None
    """None where that side does not have it."""
    after: int | float | None


class JobMove(Frozen):
    """A job that runs elsewhere, on other GPUs or parts of them, or in another number."""

    job: str
    quarters: tuple[str, ...]
    before: str | None
    """`2 × 4 GPUs on xe9680-h200 @ main`; None where it does not run."""
    after: str | None


class ShortChange(Frozen):
    """A job that gives way on one side, or otherwise than on the other."""

    job: str
    before: str | None
    """`dropped`, `delayed by 2 quarters`, `short of 6 of 40 units (2027Q3)`; None where it is kept
    as asked, or is no job."""
    after: str | None
    cause: str
    """Why it gives way on the side after, else before."""


class Comparison(Frozen):
    """Two plans side by side; only what differs is listed, except for sums."""

    format: str = FORMAT
    before: SideFigures
    after: SideFigures
    inputs: tuple[InputChange, ...]
    unread: tuple[str, ...]
    """Sentences on inputs that could not be compared."""
    purchases: tuple[PurchaseChange, ...]
    costs: tuple[Amount, ...]
    """Present value by kind of cost, cents; the last is the whole."""
    waterfall: Waterfall
    short: tuple[ShortChange, ...] = ()
    """Jobs that give way: what they add to the cost is missing on that side."""
    moves: tuple[JobMove, ...]
    gpus: tuple[Amount, ...]
    """In service, by GPU type and quarter."""
    utilization: tuple[Amount, ...]
    """GPU-hours held of those in service, by quarter."""
    power: tuple[Amount, ...]
    """By the nameplates of all nodes in service, by site and quarter; where sites are stated."""
    warnings_gone: tuple[str, ...]
    warnings_new: tuple[str, ...]
    demand: tuple[PlannedAndActual, ...] = ()
    """Units of the jobs of the plan before, beside those that came; where actuals are given."""
    deliveries: tuple[PlannedAndActual, ...] = ()
    """Nodes that were to enter service by the plan before, beside those that did."""

    @property
    def same(self) -> bool:
        """Whether the plans are the same in all that is compared here."""
        lists = (self.inputs, self.purchases, self.costs[:-1], self.moves, self.gpus, self.power)
        figures = (self.short, self.utilization, self.warnings_gone, self.warnings_new)
        return not any((*lists, *figures)) and self.before.cost_cents == self.after.cost_cents
