"""Computes purchases, rents, releases, costs, budgets, break-evens and price tags of a plan."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from itertools import chain
from math import ceil, floor
from typing import TypeVar

from planner.costs import (
    OF_A_SALE,
    PRICED,
    CostStream,
    Entering,
    Released,
    entry_quarters,
    in_cents,
    node_costs,
    portfolio_costs,
    present_cents,
    released_costs,
    sale_usd,
    spent_cents,
)
from planner.inputs.settled import Inputs, Setting, SettledOffer
from planner.inputs.text import amount, price
from planner.packing import Translation
from planner.packing.solution import RUNNING_COST, TOKENS, WHOLE_NODES, Solution
from planner.planning.plan import (
    Acquisition,
    ApiUse,
    BreakEven,
    BudgetUse,
    CostLine,
    CostName,
    CurrentPlacement,
    NodeRelease,
)

_Key = TypeVar("_Key")


def acquisitions(inputs: Inputs, acquired: Iterable[Entering]) -> tuple[Acquisition, ...]:
    """Return one line for each offer, site and entry quarter.

    Sorted by quarter, kind (buy before rent) and offer.
    """
    quarters = inputs.scenario.horizon.all_quarters
    lines = []
    for offer, quarter, count, ordered, site in acquired:
        node = inputs.catalog.nodes[offer.node_type]
        level = offer.level(ordered)
        price = in_cents(level.unit_price_usd)
        term, left = offer.term_quarters or 1, len(quarters) - quarter
        order_by = inputs.scenario.horizon.order_day(
            quarters[quarter], offer.lead_time_weeks, offer.end_of_sale
        )
        lines.append(
            Acquisition(
                offer=offer.name,
                kind=offer.kind,
                node_type=offer.node_type,
                product=node.product,
                gpu_type=node.gpu_type,
                gpus_per_node=node.gpus.value,
                site=site,
                quarter=str(quarters[quarter]),
                count=count,
                unit_price_cents=price,
                total_cents=count * price * min(term, left),
                price_text=level.price_text,
                price_origin=offer.price_origin,
                price_date=offer.price_date,
                illustrative=offer.illustrative,
                lead_time_weeks=offer.lead_time_weeks,
                order_by=str(order_by),
                term_quarters=offer.term_quarters,
                step_hours=offer.step_hours,
                committed_cents=count * price * max(0, term - left),
                sites=offer.sites if len(offer.sites) > 1 else (),
                maximum=offer.maximum,
                end_of_sale=offer.end_of_sale.isoformat() if offer.end_of_sale else None,
            )
        )
    return tuple(lines)


def cost_lines(
    inputs: Inputs,
    acquired: Iterable[Entering],
    gone: Iterable[Released],
    current: CurrentPlacement | None,
    others: Iterable[tuple[int, CostStream]],
) -> tuple[CostLine, ...]:
    """Return every kind of cost that occurs, in the order of `_explanations`.

    `others` are costs that belong to no node, each with the number of times it occurs.
    """
    quarters = inputs.scenario.horizon.quarters
    cents: dict[str, list[int]] = defaultdict(lambda: [0] * quarters)
    present: Counter[str] = Counter()
    for count, stream in chain(portfolio_costs(inputs, acquired, gone), others):
        present[stream.name] += count * stream.present_cents
        for quarter, each_cents in enumerate(stream.cents):
            cents[stream.name][quarter] += count * each_cents
    if current is not None and current.cost_cents:
        cents["moves"][0] = present["moves"] = current.cost_cents
    return tuple(
        CostLine(
            name=name,
            cents=tuple(cents[name]),
            total_cents=sum(cents[name]),
            present_cents=present[name],
            explanation=explanation,
        )
        for name, explanation in _explanations(inputs).items()
        if name in cents
    )


def released_nodes(
    inputs: Inputs, translation: Translation, solution: Solution
) -> Iterator[Released]:
    """Yield the released owned nodes: by quarter, sold before switched off, by entry."""
    supplies = translation.problem.supplies
    order = sorted(
        (supply.kind, supply.name, number)
        for number, supply in enumerate(supplies)
        if supply.releases
    )
    for quarter in range(translation.problem.quarters):
        for kind, name, number in order:
            if nodes := solution.acquired[number][quarter]:
                yield Released(inputs.scenario.fleet[name], quarter, nodes, kind == "sell", name)


def node_releases(inputs: Inputs, released: Iterable[Released]) -> tuple[NodeRelease, ...]:
    """Return one line for each entry and quarter: by quarter, sold before switched off."""
    lines = []
    for gone in released:
        entry, node = gone.entry, inputs.catalog.nodes[gone.entry.node_type]
        streams = released_costs(inputs, gone)
        saved = sum(sum(one.cents) for one in streams if one.name not in OF_A_SALE)
        up = sum(sum(one.cents) for one in streams if one.name == OF_A_SALE[1])
        sale = entry.sale if gone.sold else None
        each = in_cents(sale_usd(inputs, entry, gone.quarter) or Decimal(0)) if sale else 0
        stated = "as stated" if sale else ""
        if sale and sale.paid_usd is not None:
            life = amount(inputs.settings.useful_life_years.value, "years")
            stated = f"what {life} leave of {price(sale.paid_usd)} paid in {sale.bought}"
        lines.append(
            NodeRelease(
                action="sell" if gone.sold else "switch off",
                entry=gone.name,
                node_type=entry.node_type,
                product=node.product,
                gpu_type=node.gpu_type,
                gpus_per_node=node.gpus.value,
                site=entry.site,
                quarter=inputs.scenario.horizon.labels[gone.quarter],
                count=gone.nodes,
                unit_price_cents=each,
                total_cents=gone.nodes * each,
                saved_cents=-gone.nodes * saved,
                given_up_cents=gone.nodes * up,
                present_cents=-gone.nodes * present_cents(streams),
                price_text=stated,
                quote=sale.quote if sale else None,
            )
        )
    return tuple(lines)


def entering_nodes(
    inputs: Inputs, translation: Translation, solution: Solution
) -> Iterator[Entering]:
    """Yield the nodes that are acquired, sorted by quarter, kind (buy before rent) and offer."""
    offers, problem = {offer.name: offer for offer in inputs.offers}, translation.problem
    order = [
        (offers[supply.name], number, problem.pools[supply.pool].site)
        for number, supply in enumerate(problem.supplies)
        if not supply.releases
    ]
    order.sort(key=lambda one: (one[0].kind, one[0].name))
    for quarter in range(problem.quarters):
        ordered: Counter[str] = Counter()
        for offer, number, _ in order:
            ordered[offer.name] += solution.acquired[number][quarter]
        for offer, number, site in order:
            if nodes := solution.acquired[number][quarter]:
                yield Entering(offer, quarter, nodes, ordered[offer.name], site)


def _explanations(inputs: Inputs) -> dict[CostName, str]:
    settings = inputs.settings
    rate = f"discounted at {amount(settings.discount_rate_per_year.value, 'share')} a year"
    support = amount(settings.support_share_per_year.value, "share")
    fleet = inputs.scenario.fleet.values()
    licence, colocation, network = (price_stated(inputs, key) for key in _PER)
    contracts = any(entry.support_usd_per_year for entry in fleet)
    cap = inputs.scenario.finance.residual_at_most
    capped = "" if cap is None else f", at most {amount(cap, 'share')} of it"
    off = " or switched off" if any(entry.may_switch_off for entry in fleet) else ""
    return {
        "purchase": f"price of each node in the quarter it enters service, {rate}",
        "network": (
            f"network ports of each bought node × {network} in the quarter it enters "
            f"service, {rate}"
        ),
        "residual value": (
            "what is left of each price at the end of the horizon, straight line over "
            f"{_plain(settings.useful_life_years)} years{capped}, {rate}"
        ),
        "sale": f"what owned nodes that are sold bring, in the quarter of the sale, {rate}",
        "residual value given up": (
            f"what they would have brought right after the horizon if they were kept, {rate}"
        ),
        "support": (
            f"{support} of the price a year from entry into service, {rate}; owned nodes "
            f"{'by their contracts, where these are stated' if contracts else 'not counted'}"
        ),
        "energy": (
            f"mean power × PUE {_plain(settings.pue)} × {_plain(settings.hours_per_quarter)} h a "
            f"quarter × ${_plain(settings.energy_usd_per_kwh)}/kWh for each owned or bought node "
            f"in service, {rate}"
        ),
        "rent": (
            "rent of each node for each quarter, hour or term of weeks, energy and support "
            f"included, {rate}"
        ),
        "reservation": (
            "price of each reserved node in each quarter that it is held within the horizon, "
            f"energy and support included, {rate}"
        ),
        "commitments": (
            "price of each reserved node in each quarter of its term after the horizon, as "
            f"finance.commitments asks, {rate}"
        ),
        "licence": (
            f"{licence} for each node in service{off} whose licence is not included, {rate}"
        ),
        "colocation": (
            f"nameplate power × {colocation} × 3 months a quarter for each owned or "
            f"bought node in service{off}, {rate}"
        ),
        "moves": "what it costs to move each running unit that leaves its pool, no payment",
        "tokens": (
            "prompts and answers of units on APIs at mean traffic, each at its price by the token, "
            f"{rate}"
        ),
    }


_PER = {
    "licence_usd_per_gpu_year": "per GPU and year",
    "colocation_usd_per_kw_month": "per kW and month",
    "network_usd_per_port": "per network port",
}


def price_stated(inputs: Inputs, key: str) -> str:
    """Say what `finance` states under a key, by GPU type if it differs.

    Such as `$4,500 per GPU and year`.
    """
    stated = getattr(inputs.scenario.finance, key)
    if not isinstance(stated, dict):
        return f"{price(stated or Decimal(0))} {_PER[key]}"
    each = (f"{price(usd)} ({gpu_type})" for gpu_type, usd in sorted(stated.items()))
    return f"{', '.join(each)} {_PER[key]}"


def _plain(setting: Setting) -> str:
    return f"{setting.value.normalize():,f}"


def budget_uses(inputs: Inputs, costs: Sequence[CostLine]) -> tuple[BudgetUse, ...]:
    """Return each budget of the scenario with what the plan spends of it, not discounted."""
    streams = [CostStream(line.name, line.cents, line.present_cents) for line in costs]
    return tuple(
        BudgetUse(
            spend=cap.spend,
            quarter=cap.quarter,
            limit_cents=cap.cents,
            spent_cents=spent_cents(inputs, cap, streams),
        )
        for cap in inputs.scenario.budget.caps()
    )


def break_evens(inputs: Inputs, acquisitions: Sequence[Acquisition]) -> tuple[BreakEven, ...]:
    """Compare each purchase of the plan, and each purchase offer that it leaves, with renting.

    The comparison is with the rent of the same node type at any site that costs least in all
    these quarters, with its licence; node types without a rent are left out.
    """
    labels, found = inputs.scenario.horizon.labels, []
    for offer in inputs.offers:
        rents = [
            other
            for other in inputs.offers
            if (other.kind, other.node_type) == ("rent", offer.node_type) and not other.step_hours
        ]
        if offer.kind != "buy" or not rents:
            continue
        ordered: Counter[int] = Counter()
        for line in acquisitions:
            if line.offer == offer.name:
                ordered[labels.index(line.quarter)] += line.count
        # A single node at the earliest where the plan orders none.
        orders = ordered or dict.fromkeys(entry_quarters(inputs, offer)[:1], 1)
        found += [_break_even(inputs, offer, rents, *order) for order in orders.items()]
    return tuple(found)


def _break_even(
    inputs: Inputs, offer: SettledOffer, rents: Iterable[SettledOffer], entry: int, nodes: int
) -> BreakEven:
    buying = node_costs(inputs, offer, entry, nodes)
    steps = range(entry, inputs.scenario.horizon.quarters)
    each_renting = {
        rent.name: [stream for step in steps for stream in node_costs(inputs, rent, step)]
        for rent in rents
    }
    rented, cheapest = min((present_cents(each), name) for name, each in each_renting.items())
    buy, renting = present_cents(buying), each_renting[cheapest]
    buy_price, rent_price = (
        present_cents(one for one in each if one.name in PRICED) for each in (buying, renting)
    )
    hours = Fraction(inputs.settings.hours_per_quarter.value)
    return BreakEven(
        offer=offer.name,
        rent=cheapest,
        node_type=offer.node_type,
        quarter=inputs.scenario.horizon.labels[entry],
        nodes=nodes,
        buy_cents=buy,
        rent_cents=rented,
        buy_price_cents=buy_price,
        rent_price_cents=rent_price,
        hours=ceil(hours * buy / rented),
        quarter_hours=ceil(hours),
    )


def largest_remainder(
    amounts: Mapping[_Key, Fraction] | Mapping[_Key, float], total: int
) -> dict[_Key, int]:
    """Round the amounts to integers that add up to `total`.

    All are rounded down first; then those that lost most are rounded up, ties in order. If no
    rounding gives the total, all stay rounded down.
    """
    whole = {key: floor(amount) for key, amount in amounts.items()}
    missing = total - sum(whole.values())
    if not 0 <= missing <= len(whole):
        return whole
    for key in sorted(whole, key=lambda key: whole[key] - amounts[key])[:missing]:
        whole[key] += 1
    return whole


def price_tags(
    translation: Translation, solution: Solution, apis: Iterable[ApiUse]
) -> tuple[dict[str, int], tuple[tuple[str, int], ...]]:
    """Return the cents of each job, and the terms of the bound, which add up to it.

    The first term is the sum over the jobs. The tag of a job on an API includes what its tokens
    cost there.
    """
    exact: dict[str, float] = {}
    terms_of = dict(solution.bound_terms)
    for use in apis:
        exact[use.job] = exact.get(use.job, 0.0) + use.present_cents
        terms_of[TOKENS] -= use.present_cents
    if not round(terms_of.get(TOKENS, 1.0)):
        del terms_of[TOKENS]
    for members, tag in zip(translation.members, solution.tags, strict=True):
        for job, units in Counter(job for job, _ in members).items():
            exact[job] = exact.get(job, 0.0) + units * tag.cents
    jobs = sorted(exact)
    amounts = [exact[job] for job in jobs] + [*terms_of.values()]
    cents = [*largest_remainder(dict(enumerate(amounts)), solution.bound_cents).values()]
    tags = dict(zip(jobs, cents, strict=False))
    terms = [("job price tags", sum(tags.values()))]
    terms += zip(terms_of, cents[len(jobs) :], strict=True)
    if rest := solution.bound_cents - sum(cents):
        terms.append(("not attributed", rest))
    return tags, tuple(terms)


def most_saved(solution: Solution, tags_cents: int) -> int:
    """Return the most by which the cost could fall if jobs with these tags took less, in cents.

    Without these jobs, the duals of the relaxation still bound the rest from below. The cost
    above the relaxation also holds what whole nodes add and what is not proved. The cost of
    owned nodes that remains in any case is not counted.
    """
    terms = dict(solution.bound_terms)
    beyond = solution.cost_cents - solution.bound_cents + terms[WHOLE_NODES]
    decided = solution.cost_cents - terms[RUNNING_COST]
    return max(0, round(min(tags_cents + beyond, decided)))
