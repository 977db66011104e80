"""Risk: what many futures cost, and how purchase plans hold in them.

What is bought and reserved is chosen once; what is rented, and what runs where, adapts to each
future. The first purchase plan is that of the scenario; the others are searched.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from math import ceil, sqrt
from pathlib import Path

from planner.errors import InfeasibleError
from planner.inputs.base import Frozen
from planner.packing.incumbent import Infeasible
from planner.packing.scenario_program import Future, Hedged, Mean, Order, future_of, hedged
from planner.packing.solver import Outcome
from planner.whatif.results import Acquired, PlanSummary, StoredResult, question_of, summary_of
from planner.whatif.sweep import VariantRuns
from planner.whatif.uncertain import Futures
from planner.whatif.variants import Variant, VariantPlanner, commitments

_MOST = 24
"""Futures in one program. Of the others, what they cost at the least is counted."""
_GAP = 1e-3
"""The relative gap within which purchases are searched."""
_ANY = 1.0
"""The same where any purchases will do."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """Purchases that are the best in some futures, as far as fractional units tell."""

    purchased: tuple[Acquired, ...]
    futures: int
    """How many it was searched over."""
    bound_cents: int
    """No purchases that hold all futures have a lower mean of the worst cases."""


class Hedging:
    """A stochastic program of purchases, to which futures are added."""

    def __init__(
        self, planner: VariantPlanner, drawn: Sequence[Variant], known: Sequence[PlanSummary]
    ) -> None:
        """`known` are the futures as drawn, each with its best plan."""
        self.planner, self.drawn, self.known = planner, drawn, known
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
        inputs = self.planner.inputs(self.drawn[place])
        return future_of(self.planner.translation(inputs).problem, self.planner.config.time_limit_s)

    def _solved(self, means: Sequence[Mean], gap: float) -> Hedged:
        limit_s = self.planner.config.time_limit_s
        futures = tuple(self._futures.values())
        return hedged(futures, means, time_limit_s=limit_s, relative_gap=gap)

    def _mean(self, worst: Sequence[int]) -> Mean:
        places = {place: number for number, place in enumerate(self._futures)}
        others = (self.known[place].bound_cents or 0 for place in worst if place not in places)
        within = tuple(places[place] for place in worst if place in places)
        return Mean(within, sum(others), len(worst))


PURCHASES = "purchases-"
"""How the folders of the results with each purchase plan are called, before their numbers."""
WORST_PER_CENT = 5
"""Share of the futures that are the bad cases."""


class PurchasePlan(Frozen):
    """One purchase plan over all futures."""

    searched: int | None
    """Futures that it was searched for; None: it is that of the scenario as it stands."""
    purchased: tuple[Acquired, ...]
    """Nodes to buy and to reserve."""
    short: int
    """Futures in which it does not hold all jobs, whatever is rented, or was not shown to."""
    costs_cents: tuple[int, ...]
    """Net present cost in the other futures, the least first."""
    worst_cents: int | None
    """Mean of the worst `WORST_PER_CENT` of them; None where there are none."""
    not_proved: int
    """Futures for which a cheaper plan with these purchases may exist."""


class PurchasePlans(Frozen):
    """Purchase plans side by side, in the same futures."""

    plans: tuple[PurchasePlan, ...]
    """That of the scenario as it stands first."""
    best: int
    """Position of the one that falls short in the fewest futures; of several such, of the one with
    the least mean of the worst cases."""
    bound_cents: int
    """No purchases that hold all futures that have a plan have a lower mean of the worst cases."""
    none_holds_all: bool = False
    """Whether it is proved that no purchases hold all of these."""


def compare_purchases(
    search: Hedging, base: PlanSummary, most: int, out: Path, runs: VariantRuns
) -> PurchasePlans:
    """Hold at most so many purchase plans against the futures; at least one future has a plan.

    That of the scenario comes first; the others are searched, each with what those before it have
    shown. Results are kept in folders of their own, one for each purchase plan. Raises what a sweep
    raises.
    """
    planner, drawn, known = search.planner, search.drawn, search.known
    planned = [place for place, one in enumerate(known) if one.cost_cents is not None]
    bound_cents = mean_of_worst(sorted(known[place].bound_cents or 0 for place in planned))
    labels = planner.inputs(drawn[0]).scenario.horizon.labels
    plans: list[PurchasePlan] = []
    tried: dict[tuple[Acquired, ...], list[PlanSummary]] = {}

    def hold(purchased: tuple[Acquired, ...], searched: int | None) -> None:
        bought = tuple(
            Order(one.offer, one.site, labels.index(one.quarter), one.count) for one in purchased
        )
        given = VariantPlanner(replace(planner.config, committed=None, purchases=bought))
        folder = out / f"{PURCHASES}{len(plans)}"
        folder.mkdir(exist_ok=True)
        found = tried[purchased] = runs.figures(given, drawn, folder, force=True)
        plans.append(_purchase_plan(searched, purchased, found))

    hold(_purchases(base.acquired), None)
    worst, asked = _costliest(known, known, planned), set()
    while worst not in asked:
        asked.add(worst)
        proposal = search.propose(worst)
        if proposal is None:
            break
        bound_cents = max(bound_cents, proposal.bound_cents)
        purchased = _purchases(proposal.purchased)
        if purchased not in tried:
            if len(plans) >= most:
                break
            hold(purchased, proposal.futures)
        worst = _costliest(tried[purchased], known, planned)
    best = min(range(len(plans)), key=lambda place: _rank(plans[place], place))
    return PurchasePlans(
        plans=tuple(plans), best=best, bound_cents=bound_cents, none_holds_all=bool(search.apart)
    )


def _purchases(acquired: Iterable[Acquired]) -> tuple[Acquired, ...]:
    """What is not rented, in an order of its own."""
    bought = (one for one in acquired if one.kind not in ("rent", "hourly"))
    return tuple(sorted(bought, key=lambda one: (one.quarter, one.offer, one.site)))


def _purchase_plan(
    searched: int | None, purchased: tuple[Acquired, ...], found: Sequence[PlanSummary]
) -> PurchasePlan:
    costs = sorted(one.cost_cents for one in found if one.cost_cents is not None)
    return PurchasePlan(
        searched=searched,
        purchased=purchased,
        short=len(found) - len(costs),
        costs_cents=tuple(costs),
        worst_cents=mean_of_worst(costs) if costs else None,
        not_proved=sum(one.result in ("not proved", "no plan in time") for one in found),
    )


def _costliest(
    found: Sequence[PlanSummary], known: Sequence[PlanSummary], planned: Sequence[int]
) -> tuple[int, ...]:
    """Of the futures that have a plan, the bad cases: first those that it falls short in."""

    def rank(place: int) -> tuple[int, int, int]:
        cost = found[place].cost_cents
        return (cost is not None, -(cost or 0), -(known[place].cost_cents or 0))

    return tuple(sorted(sorted(planned, key=rank)[: _bad_cases(len(planned))]))


def mean_of_worst(costs: Sequence[int]) -> int:
    """Of sorted costs, the mean of the last `WORST_PER_CENT`, rounded down; at least of one."""
    worst = costs[-_bad_cases(len(costs)) :]
    return sum(worst) // len(worst)


def _bad_cases(futures: int) -> int:
    return max(1, ceil(futures * WORST_PER_CENT / 100))


def _rank(plan: PurchasePlan, place: int) -> tuple[int, int, int]:
    return plan.short, plan.worst_cents or 0, place


FORMAT = "3.0"
"""Minor: additive. Major: readers refuse."""

_PERCENTILES = (5, 25, 50, 75, 95)
_CONFIDENCE = 1.96
"""Standard deviations to either side that hold 95 % of a normal distribution."""


class Chance(Frozen):
    """How often the nodes of the plan do not hold all jobs of a quarter."""

    quarter: str
    short: int
    """Futures in which they do not."""
    of: int
    """Futures of which it is known."""

    @property
    def range(self) -> tuple[float, float]:
        """Within which the chance lies with 95 % confidence, by Wilson's score interval."""
        share, z2 = self.short / self.of, _CONFIDENCE**2
        middle = share + z2 / (2 * self.of)
        half = _CONFIDENCE * sqrt(share * (1 - share) / self.of + z2 / (4 * self.of**2))
        scale = 1 + z2 / self.of
        return max(0.0, (middle - half) / scale), min(1.0, (middle + half) / scale)


class Risk(StoredResult):
    """Futures of one scenario."""

    format: str = FORMAT
    seed: int
    futures: int
    base: PlanSummary
    """The plan of the scenario as it stands: what is bought now."""
    without_plan: int
    """Futures for which no plan exists, or none was found in time."""
    not_proved: int
    giving_way: int = 0
    """Futures in which jobs give way: their cost is that of the others."""
    percentiles: tuple[int, ...] = _PERCENTILES
    cost_cents: tuple[int, ...]
    """Net present cost of the best plan of a future, by percentile, of those that have a plan."""
    costs_cents: tuple[int, ...]
    """All of them, the cheapest first."""
    chances: tuple[Chance, ...]
    choices: PurchasePlans | None = None
    """Purchase plans side by side in these futures; None where nobody asks."""


def assess_risk(
    planner: VariantPlanner,
    futures: Futures,
    samples: int,
    out: Path,
    *,
    plans: int = 0,
    force: bool = False,
    runs: VariantRuns,
) -> Risk:
    """Plan each of so many futures, and ask of each whether the nodes of the plan now would do.

    Of at most so many purchase plans, the best in the bad cases is looked for. Results are kept in
    the folder like those of a sweep. Raises InfeasibleError where the scenario as it stands has no
    plan, and what a sweep raises.
    """
    inputs = planner.inputs(futures.base(planner))
    plan = planner.plan(inputs)
    knowing = VariantPlanner(replace(planner.config, committed=commitments(plan)))
    drawn = futures.drawn(knowing, samples)
    every = runs.figures(knowing, drawn, out, force=force)
    planned = [one for one in every if one.cost_cents is not None]
    if not planned:
        raise InfeasibleError("no future has a plan", tuple(sorted({one.reason for one in every})))
    costs = sorted(one.cost_cents or 0 for one in planned)
    base = summary_of(plan)
    choices = None
    if plans:
        choices = compare_purchases(Hedging(planner, drawn, every), base, plans, out, runs)
    return Risk(
        question=question_of(inputs),
        scenario=inputs.scenario.name,
        seed=futures.file.seed,
        futures=samples,
        base=base,
        without_plan=len(every) - len(planned),
        not_proved=sum(one.result == "not proved" for one in every),
        giving_way=sum(bool(one.short) for one in planned),
        cost_cents=tuple(at_percentile(costs, share) for share in _PERCENTILES),
        costs_cents=tuple(costs),
        chances=_chances(plan.quarters, every),
        choices=choices,
    )


def at_percentile(values: Sequence[int], share: int) -> int:
    """Of sorted values, the one at so many per cent, by nearest rank."""
    return values[ceil(len(values) * share / 100) - 1]


def _chances(quarters: Sequence[str], every: Sequence[PlanSummary]) -> tuple[Chance, ...]:
    known = [one.short_quarters for one in every if one.short_quarters is not None]
    return tuple(
        Chance(quarter=quarter, short=sum(quarter in one for one in known), of=len(known))
        for quarter in quarters
        if known
    )
