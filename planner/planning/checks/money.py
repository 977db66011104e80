"""Checks costs, budgets and break-evens by recomputing them in exact fractions."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from datetime import timedelta
from fractions import Fraction
from math import ceil
from operator import add

from planner.inputs.scenario.quarter import Quarter
from planner.inputs.settled import SettledOffer
from planner.inputs.text import count_of, usd
from planner.planning.checks.case import Findings, PlanCase, differences, in_force
from planner.planning.checks.demand import token_cents
from planner.planning.checks.placement import moves_cents
from planner.planning.plan import Node, NodeOrigin

Flow = tuple[str, int, int, Fraction]
"""The kind of cost, the quarter it is booked in, the quarters of discount, and US dollars."""
Amounts = dict[str, list[int]]
"""For each kind of cost, the cents of each quarter, followed by the present value."""


def expected_costs(case: PlanCase) -> Amounts:
    """Compute every kind of cost from the nodes in service and from the moves.

    The amounts of a node are rounded to cents by quarter, and its present value once, half to
    even.
    """
    totals = _nothing(case)
    for node in case.plan.nodes:
        for kind, amounts in node_costs(case, node).items():
            totals[kind] = list(map(add, totals[kind], amounts))
    if moves := sum(moves_cents(case).values()):
        totals["moves"][0] = totals["moves"][-1] = moves
    for _, quarter, (cents, present_cents) in costs_of_tokens(case):
        totals["tokens"][quarter] += cents
        totals["tokens"][-1] += present_cents
    return dict(totals)


def _prices(case: PlanCase) -> Findings:
    """Check what a node of each offer costs: as offered, or by the price book."""
    hours = Fraction(case.inputs.settings.hours_per_quarter.value)
    for name, stated in case.inputs.scenario.offers.items():
        listed = case.inputs.catalog.prices.listed(stated.kind, stated.node_type)
        price = listed.usd if stated.stated_price is None and listed else stated.stated_price
        paid_usd = Fraction(price or 0)
        if stated.kind != "buy":
            paid_usd *= case.inputs.catalog.nodes[stated.node_type].gpus.value
            paid_usd *= hours if stated.step_hours is None else stated.step_hours
        breaks = {level.from_nodes: round(level.price_usd * 100) for level in stated.price_breaks}
        settled = case.offers[name]
        levels = {level.from_nodes: round(level.unit_price_usd * 100) for level in settled.levels}
        yield from differences(
            f"the price of a node of {name}, by nodes ordered, in cents,",
            {1: round(settled.unit_price_usd * 100), **levels},
            {1: round(paid_usd * 100), **breaks},
        )
    return "each offer costs what the scenario or the price book says"


def _nothing(case: PlanCase) -> Amounts:
    return defaultdict(lambda: [0] * (len(case.labels) + 1))


def costs_of_tokens(case: PlanCase) -> Iterator[tuple[str, int, tuple[int, int]]]:
    """Yield the job, the quarter from 0, and what its units on an API pay.

    As paid, and in present value.
    """
    for job, there in case.on_apis.items():
        for api, units in there:
            for quarter, count in enumerate(units):
                if count:
                    cents, present_cents = token_cents(case, job, api, quarter)
                    yield job, quarter, (count * cents, count * present_cents)


def node_costs(case: PlanCase, node: Node) -> Amounts:
    """Return every kind of cost of one node, rounded.

    A rent covers one quarter, so the present value of each quarter is rounded by itself. The
    same holds for what is paid by the hour or the week (for each hour or term), and for owned
    nodes that may be sold or switched off (for each quarter).
    """
    key = (node.entry, node.origin, node.in_service, node.off, node.sold, node.steps)
    if key in case.node_costs:
        return case.node_costs[key]
    flows = list(_flows(case, node))
    entry = case.inputs.scenario.fleet.get(node.entry) if node.origin == "owned" else None
    may_go = entry is not None and (entry.may_switch_off or entry.sale is not None)
    apart = node.origin == "rent" or may_go
    found = _nothing(case)
    for spell in [[flow] for flow in flows] if apart else [flows]:
        exact: dict[str, list[Fraction]] = defaultdict(
            lambda: [Fraction(0)] * (len(case.labels) + 1)
        )
        for kind, quarter, delay, paid_usd in spell:
            exact[kind][quarter] += paid_usd * 100
            exact[kind][-1] += paid_usd * 100 * case.discount**delay
        for kind, amounts in exact.items():
            # The fourth root of a rate is off by far less than 10^-20.
            cents = (node.steps * round(round(amount, 20)) for amount in amounts)
            found[kind] = list(map(add, found[kind], cents))
    case.node_costs[key] = dict(found)
    return case.node_costs[key]


def present_cents(costs: Amounts) -> int:
    """Return the present value of all kinds of cost together."""
    return sum(amounts[-1] for amounts in costs.values())


def _flows(case: PlanCase, node: Node) -> Iterator[Flow]:
    """Yield the payments for a node."""
    served = [case.labels.index(label) for label in node.in_service]
    if node.origin == "buy":
        yield from _purchase_flows(case, case.offers[node.entry], served[0])
        ports = case.inputs.catalog.nodes[node.node_type].network_ports
        each = case.inputs.scenario.finance.network_usd_per_port
        if each:
            paid = Fraction(each) * (ports.value if ports else 0)
            yield "network", served[0], served[0], paid
    if node.origin in ("rent", "reserve", "hourly"):
        offer = case.offers[node.entry]
        name = "reservation" if node.origin == "reserve" else "rent"
        price = Fraction(offer.unit_price_usd)
        yield from ((name, quarter, quarter, price) for quarter in served)
        if node.origin == "reserve" and case.inputs.scenario.finance.commitments == "charged":
            end, quarters = served[0] + (offer.term_quarters or 0), len(case.labels)
            for later in range(quarters, end):
                yield "commitments", quarters - 1, later, price
    else:
        off = [case.labels.index(label) for label in node.off]
        for name, each_usd in _housing(case, node.node_type):
            there = served if name == "energy" else [*served, *off]
            yield from ((name, quarter, quarter, each_usd) for quarter in there)
        if node.origin == "owned":
            yield from _contract_flows(case, node, served, off)
        served = [*served, *off]
    licence = _licence_usd(case, node)
    if licence:
        yield from (("licence", quarter, quarter, licence) for quarter in served)


def _contract_flows(
    case: PlanCase, node: Node, served: list[int], off: list[int]
) -> Iterator[Flow]:
    """Yield the support of an owned node, and its sale with the value given up by selling it."""
    entry = case.inputs.scenario.fleet[node.entry]
    if entry.support_usd_per_year is not None:
        for quarter in [*served, *(off if entry.support_while_off == "charged" else ())]:
            yield "support", quarter, quarter, Fraction(entry.support_usd_per_year) / 4
    if node.sold:
        quarter, quarters = case.labels.index(node.sold), len(case.labels)
        yield "sale", quarter, quarter, -(sale_usd(case, node.entry, node.sold) or Fraction(0))
        after = str(case.quarters[-1] + 1)
        worth = sale_usd(case, node.entry, after, whenever=True)
        if worth:
            yield "residual value given up", quarters - 1, quarters, worth


def sale_usd(case: PlanCase, name: str, label: str, *, whenever: bool = False) -> Fraction | None:
    """Return what a node of a fleet entry brings in a quarter; None if it may not be sold then.

    With `whenever`, return its worth whether it may be sold then or not.
    """
    sale = case.inputs.scenario.fleet[name].sale
    if sale is None:
        return None
    when = Quarter.parse(label)
    if not whenever and sale.quarters is not None and when not in sale.quarters:
        return None
    if sale.bought is None:
        stated = in_force(sale.price_usd, label)
        return None if stated is None else Fraction(str(stated))
    life_quarters = 4 * Fraction(case.inputs.settings.useful_life_years.value)
    left = max(Fraction(0), 1 - Fraction(when - sale.bought) / life_quarters)
    cap = case.inputs.scenario.finance.residual_at_most
    return Fraction(sale.paid_usd or 0) * (left if cap is None else min(left, Fraction(cap)))


def released_cents(case: PlanCase, name: str, label: str, *, sold: bool) -> dict[str, int]:
    """Return what a released node of a fleet entry brings, saves and gives up."""
    entry, at = case.inputs.scenario.fleet[name], case.labels.index(label)
    there = tuple(
        str(quarter) for quarter in case.quarters if not entry.retires or quarter < entry.retires
    )
    kept = _compared("owned", name, entry.node_type, entry.site, there)
    without: dict[str, object] = {"in_service": there[:at], "sold": label}
    if not sold:
        without = {"in_service": there[:at] + there[at + 1 :], "off": (label,)}
    gone = kept.model_copy(update=without)
    before, after = node_costs(case, kept), node_costs(case, gone)
    brought, given_up = (sum(after.get(kind, [0])[:-1]) for kind in _OF_A_SALE)
    paid = [
        sum(sum(one[:-1]) for kind, one in costs.items() if kind not in _OF_A_SALE)
        for costs in (before, after)
    ]
    return {
        "total_cents": -brought,
        "saved_cents": paid[0] - paid[1],
        "given_up_cents": given_up,
        "present_cents": present_cents(before) - present_cents(after),
    }


_OF_A_SALE = ("sale", "residual value given up")


def _compared(
    origin: NodeOrigin, entry: str, node_type: str, site: str, labels: tuple[str, ...]
) -> Node:
    """Build a node that is in no plan, to compute the cost of one like it."""
    return Node(
        id="compared",
        node_type=node_type,
        gpu_type="",
        gpus=0,
        cpus=0,
        memory_mb=0,
        site=site,
        origin=origin,
        entry=entry,
        in_service=labels,
    )


def _purchase_flows(case: PlanCase, offer: SettledOffer, first: int) -> Iterator[Flow]:
    settings, quarters = case.inputs.settings, len(case.labels)
    price = Fraction(case.price_usd(offer, first))
    yield "purchase", first, first, price
    support = price * Fraction(settings.support_share_per_year.value) / 4
    for quarter in range(first, quarters):
        yield "support", quarter, quarter, support
    life_quarters = 4 * Fraction(settings.useful_life_years.value)
    left = max(Fraction(0), 1 - (quarters - first) / life_quarters)
    cap = case.inputs.scenario.finance.residual_at_most
    if cap is not None and left > cap:
        left = Fraction(cap)
    yield "residual value", quarters - 1, quarters, -price * left


def _housing(case: PlanCase, node_type: str) -> Iterator[tuple[str, Fraction]]:
    """Yield the cost of keeping a node on the buyer's own floor for a quarter."""
    node, settings = case.inputs.catalog.nodes[node_type], case.inputs.settings
    kwh = Fraction(node.mean_power_kw.value if node.mean_power_kw else 0) * case.quarter_hours
    yield "energy", kwh * Fraction(settings.pue.value) * Fraction(settings.energy_usd_per_kwh.value)
    price, nameplate = case.inputs.scenario.finance.colocation_usd_per_kw_month, node.max_power_kw
    if price:
        yield "colocation", 3 * Fraction(price) * Fraction(nameplate.value if nameplate else 0)


def _licence_usd(case: PlanCase, node: Node) -> Fraction:
    """Return the licence cost of all GPUs of a node for a quarter.

    0 if it is shown to be included.
    """
    scenario = case.inputs.scenario
    entry = (scenario.fleet if node.origin == "owned" else scenario.offers).get(node.entry)
    stated = scenario.finance.licence_usd_per_gpu_year
    if entry is None or entry.licence_included is not None or stated is None:
        return Fraction(0)
    kind = case.inputs.catalog.nodes[node.node_type]
    by_type = stated if isinstance(stated, dict) else {kind.gpu_type: stated}
    quarter = Fraction(by_type.get(kind.gpu_type, 0)) * kind.gpus.value / 4
    if node.hours is None:
        return quarter
    return quarter * Fraction(node.hours[1] - node.hours[0], node.steps) / case.quarter_hours


def _lines(case: PlanCase) -> Findings:
    expected = expected_costs(case)
    listed = [line.name for line in case.plan.costs]
    if len(set(listed)) != len(listed):
        yield f"a kind of cost is listed twice: {', '.join(listed)}"
    for name in sorted(expected.keys() - set(listed)):
        yield f"{name} is missing from the costs"
    for line in case.plan.costs:
        *cents, present = expected.get(line.name) or _nothing(case)[line.name]
        yield from differences(f"{line.name} by quarter, cents,", line.cents, tuple(cents))
        yield from differences(f"{line.name} in total, cents,", line.total_cents, sum(cents))
        what = f"the present value of {line.name}, cents,"
        yield from differences(what, line.present_cents, present)
    return "every cost line agrees to the cent with prices and parameters"


def _cost(case: PlanCase) -> Findings:
    total = present_cents(expected_costs(case))
    yield from differences("the net present cost, cents,", case.plan.proof.cost_cents, total)
    return "the net present cost is the sum of its lines"


_OPEX = ("support", "energy", "rent", "reservation", "licence", "colocation", "tokens")
_CAPEX = ("purchase", "network")
_PAID = {"capex": _CAPEX, "opex": _OPEX, "spending": (*_CAPEX, *_OPEX)}


def _budgets(case: PlanCase) -> Findings:
    costs = expected_costs(case)
    listed = {(use.spend, use.quarter): use for use in case.plan.budgets}
    caps = list(case.inputs.scenario.budget.caps())
    asked = [(cap.spend, cap.quarter) for cap in caps]
    yield from differences(
        "the list of budgets", [(use.spend, use.quarter) for use in case.plan.budgets], asked
    )
    for cap in caps:
        lines = [costs[name] for name in _PAID[cap.spend] if name in costs]
        within = [at for at, label in enumerate(case.labels) if cap.quarter in (None, label)]
        spent = sum(cents[at] for cents in lines for at in within)
        if spent > cap.cents:
            yield f"{cap.name} is {usd(spent)}, the budget is {usd(cap.cents)}"
        use = listed.get((cap.spend, cap.quarter))
        if use is not None:
            found = (use.limit_cents, use.spent_cents)
            yield from differences(
                f"{cap.name}: (budget, spent), cents,", found, (cap.cents, spent)
            )
    budgets = len(case.plan.budgets)
    return f"{count_of(budgets, 'budget')} kept" if budgets else "no budget is stated"


def _break_evens(case: PlanCase) -> Findings:
    hours = case.quarter_hours
    expected = []
    for offer, rents, entry, nodes in _comparisons(case):
        labels = case.labels[entry:]
        buying, *each_renting = (
            node_costs(case, _compared(one.kind, one.name, one.node_type, one.sites[0], labels))
            for one in (offer, *rents)
        )
        bought = present_cents(buying)
        rented, rent, renting = min(
            (present_cents(costs), one.name, costs)
            for one, costs in zip(rents, each_renting, strict=True)
        )
        expected.append(
            {
                "offer": offer.name,
                "rent": rent,
                "node_type": offer.node_type,
                "quarter": case.labels[entry],
                "nodes": nodes,
                "buy_cents": bought,
                "rent_cents": rented,
                "buy_price_cents": sum(
                    buying[name][-1] for name in ("purchase", "residual value", "support")
                ),
                "rent_price_cents": renting["rent"][-1],
                "hours": ceil(hours * bought / rented),
                "quarter_hours": ceil(hours),
            }
        )
    found = [line.model_dump() for line in case.plan.break_evens]
    yield from differences("the list of break-evens", len(found), len(expected))
    for given, due in zip(found, expected, strict=False):
        yield from differences(f"the break-even of {given['offer']}", given, due)
    return f"{len(case.plan.break_evens)} break-evens of buying against renting agree"


def _comparisons(case: PlanCase) -> Iterator[tuple[SettledOffer, list[SettledOffer], int, int]]:
    """Yield the purchase offer, rents of its type, the entry quarter and the order's nodes."""
    entering = case.entering
    for offer in case.inputs.offers:
        rents = [
            other
            for other in case.inputs.offers
            if (other.kind, other.node_type, other.step_hours) == ("rent", offer.node_type, None)
        ]
        if offer.kind != "buy" or not rents:
            continue
        orders = [(q, entering[offer.name, q]) for q in range(len(case.labels))]
        orders = [order for order in orders if order[1]] or _first(case, offer)
        for entry, nodes in orders:
            yield offer, rents, entry, nodes


def _first(case: PlanCase, offer: SettledOffer) -> list[tuple[int, int]]:
    """Yield the earliest entry of a single node; nothing if the offer allows none."""
    for entry, quarter in enumerate(case.quarters):
        latest = quarter.start - timedelta(weeks=offer.lead_time_weeks)
        early = case.sold_too_early(offer, entry)
        shut = offer.available is not None and quarter not in offer.available
        if latest >= case.earliest_order and not early and not shut:
            return [(entry, 1)]
    return []


FIRST = (_prices,)
CHECKS = (_lines, _cost, _budgets, _break_evens)
