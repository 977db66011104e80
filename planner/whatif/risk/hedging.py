"""Purchases for the bad cases, searched: those that would be best in the futures known to be bad.

Held against all futures, they may show others to be worse; these are taken in, and purchases are
searched anew, until nothing is left to gain or to learn. Each search bounds what any purchases
could reach, since the mean of the worst cases is no less than that of any as many futures.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from planner.packing.incumbent import Infeasible
from planner.packing.scenario_program import Mean, future_of, hedged
from planner.packing.solvers.solver import Outcome
from planner.whatif.variants.plan_summary import Acquired

if TYPE_CHECKING:
    from collections.abc import Sequence

    from planner.packing.scenario_program import Future, Hedged
    from planner.packing.statement.hold import Order
    from planner.whatif.variants.plan_summary import PlanSummary
    from planner.whatif.variants.variant_planner import Variant, VariantPlanner

__all__ = ["Hedging", "Proposal"]

_MOST = 24
"""Futures in one program. Of the others, what they cost at the least is counted."""
_GAP = 1e-3
"""How far purchases are searched."""
_ANY = 1.0
"""Where any will do."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """Purchases that are the best in some futures, as far as fractional units tell."""

    purchased: tuple[Acquired, ...]
    futures: int
    """How many it was searched over."""
    bound_cents: int
    """No purchases that hold all futures have a lower mean of the worst cases."""


class Hedging:
    """A program that grows by futures."""

    def __init__(
        self, planner: VariantPlanner, drawn: Sequence[Variant], known: Sequence[PlanSummary]
    ) -> None:
        """`known` are the futures as drawn, each with its best plan."""
        self._planner, self._drawn, self._known = planner, drawn, known
        inputs = planner.inputs(drawn[0])
        self._offers = {offer.name: offer for offer in inputs.offers}
        self._first = inputs.scenario.horizon.first_quarter
        self._futures: dict[int, Future] = {}
        self._worst: list[Sequence[int]] = []
        self.apart = 0
        """Futures that no purchases hold beside all those that were taken in before."""

    def propose(self, worst: Sequence[int]) -> Proposal | None:
        """The best purchases once these futures count as bad, too.

        None where time ends before, or no purchases hold any of them. `worst` are places of futures
        that have a plan, as many each time.
        """
        self._worst.append(worst)
        new = [place for place in worst if place not in self._futures]
        self._take_in(new[: _MOST - len(self._futures)])
        if not self._futures:
            return None
        found = self._solved(tuple(map(self._mean, self._worst)), _GAP)
        if found.orders is None:
            return None
        purchased = tuple(self._acquired(order) for order in found.orders)
        return Proposal(purchased, len(self._futures), found.bound_cents)

    def _acquired(self, order: Order) -> Acquired:
        offer = self._offers[order.offer]
        return Acquired(
            quarter=str(self._first + order.quarter),
            kind=offer.kind,
            offer=offer.name,
            node_type=offer.node_type,
            site=order.site,
            count=order.nodes,
            chosen=len(offer.sites) > 1,
        )

    def _take_in(self, new: Sequence[int]) -> None:
        """Take these futures in, but for those that no purchases hold beside the others."""
        if not new:
            return
        before = dict(self._futures)
        try:
            self._futures |= {place: self._future(place) for place in new}
            held = self._solved((), _ANY).outcome is not Outcome.INFEASIBLE
        except Infeasible:
            held = False
        if held:
            return
        self._futures = before
        if len(new) == 1:
            self.apart += 1
            return
        half = len(new) // 2
        self._take_in(new[:half])
        self._take_in(new[half:])

    def _future(self, place: int) -> Future:
        inputs = self._planner.inputs(self._drawn[place])
        return future_of(
            self._planner.translation(inputs).problem, self._planner.config.time_limit_s
        )

    def _solved(self, means: Sequence[Mean], gap: float) -> Hedged:
        limit_s = self._planner.config.time_limit_s
        futures = tuple(self._futures.values())
        return hedged(futures, means, time_limit_s=limit_s, relative_gap=gap)

    def _mean(self, worst: Sequence[int]) -> Mean:
        places = {place: number for number, place in enumerate(self._futures)}
        others = (self._known[place].bound_cents or 0 for place in worst if place not in places)
        within = tuple(places[place] for place in worst if place in places)
        return Mean(within, sum(others), len(worst))
