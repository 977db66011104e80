"""What is bought, rented, reserved and let go: the ask, the bill, milestones, the buyer's file."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from typing import TypeVar

from planner.costs import NOT_PAID
from planner.inputs.scenario.quarter import WEEK_HOURS
from planner.planning.ledger.traced import TracedFigure
from planner.planning.plan import Acquisition, HourlyUse, NodeRelease, Plan
from planner.planning.words import nodes_text, some_of
from planner.reporting.document import (
    Blank,
    Block,
    Bullets,
    Cell,
    Fields,
    Link,
    Paragraph,
    Table,
    columns_for,
    table,
)
from planner.reporting.format import (
    Style,
    count_of,
    gap_percent,
    listed,
    money_short,
    quarter_runs,
    usd,
)
from planner.reporting.sections.jobs import rejections_section
from planner.reporting.traced import TracedPlan

Line = TypeVar("Line", Acquisition, NodeRelease)

_JOBS = 6
_MOST_NAMED = 4
ORDERS_ON_PAGE_1 = 7
_OF_SALE = "Days then left of the sale"
_FOR_PEOPLE = (
    "Route: competition, framework or single source, with the authority for it",
    "Market research, efforts to obtain other offers, and who else showed interest",
    "Why the price is fair and reasonable; why only this source, if it is the only one",
    "Certified by the technical and the contracting officer (name, date, signature)",
)
_LEAD = "Lead time, weeks"
_IN_FULL = ("Line", "Offer", "Price of", "Quote or price source", _LEAD)
"""Columns of the bill that a short page leaves to the lines below."""


def action_of(kind: str, term_quarters: int | None = None, step_hours: int | None = None) -> str:
    """`buy`, `rent`, `reserve for 3 years`, `rent by the hour`, `rent for 2 weeks`."""
    if kind == "hourly":
        return "rent by the hour"
    if step_hours is not None:
        return f"{kind} for {count_of(step_hours // WEEK_HOURS, 'week')}"
    if term_quarters is None:
        return kind
    return f"{kind} for {count_of(term_quarters // 4, 'year')}"


def nodes_of(line: Acquisition) -> str:
    """`3 × PowerEdge XE9680 (h100-80gb-sxm)`, `70 node-hours of …` of nodes that come and go."""
    times = " of" if line.step_hours else " ×"
    return f"{nodes_text(line.count, line.step_hours)}{times} {line.product} ({line.gpu_type})"


def price_source(line: Acquisition) -> str:
    """`price book shipped`, `quote 4711`: what a price is from, without the pages behind it."""
    return line.price_origin.partition(": ")[0]


def bill_section(
    traced: TracedPlan, *, full: bool = True, sources: bool = False
) -> Iterator[Block]:
    """Every line to buy, rent or reserve; `full` with offers, dates and what nodes take.

    What a short page leaves out of the table stands in the lines below it, with the pages that
    prices are from if `sources`.
    """
    if not traced.bill:
        yield Paragraph("Nothing to buy, to rent or to reserve.")
        return
    plan, lines = traced.plan, traced.plan.acquisitions
    numbers = {place: str(number) for number, (place, _) in enumerate(traced.bill, 1)}

    def action(place: int) -> str:
        line = lines[place]
        return action_of(line.kind, line.term_quarters, line.step_hours)

    def item(place: int) -> str:
        line = lines[place]
        where = f"{line.node_type} @ {line.site}"
        return f"{line.product}, {line.gpus_per_node}× {line.gpu_type} ({where})" if full else where

    def nodes(place: int) -> Cell:
        line = lines[place]
        if line.step_hours:
            return nodes_text(line.count, line.step_hours)
        return traced.at(f"acquisitions[{place}].count", "count", "how-bill")

    def dated(place: int) -> Cell:
        day = lines[place].price_date
        if day is None:
            return Blank("date of the price")
        return traced.day(day, f"acquisitions[{place}].price_date", f"how-bill-{place}")

    def priced(place: int, name: str, style: Style) -> Cell:
        return traced.at(f"acquisitions[{place}].{name}", style, f"how-bill-{place}")

    def source(place: int) -> str:
        line = lines[place]
        origin = price_source(line)
        trust = ", illustrative" if line.illustrative and "illustrative" not in origin else ""
        return f"{origin}{trust}"

    yield table(
        numbers,
        ("Line", "name", lambda place: numbers[place]),
        ("Offer", "text", lambda place: Link(lines[place].offer, f"how-bill-{place}")),
        ("Quarter", "name", lambda place: lines[place].quarter),
        ("Action", "text", action),
        ("Item" if full else "Node type", "text", item),
        ("Nodes", "number", nodes),
        ("Each, USD", "number", lambda place: priced(place, "unit_price_cents", "usd")),
        ("Total, USD", "number", traced.each("acquisitions[{}].total_cents", "usd", "how-bill")),
        ("Price of", "name", dated),
        ("Quote or price source", "text", source),
        (_LEAD, "number", lambda place: priced(place, "lead_time_weeks", "count")),
        ("Order by", "name", traced.order_by),
        sums={
            "Line" if full else "Quarter": "Sum",
            "Total, USD": traced.at("acquisitions[*].total_cents", "usd", "how-bill"),
        },
        without=("Order by",) if full else _IN_FULL,
    )
    told = [] if full else [_price_line(line, sources=sources) for _, line in traced.bill]
    told = [*dict.fromkeys(told), *orders_for_several_sites(line for _, line in traced.bill)]
    charged = any(line.name == "commitments" for line in plan.costs)
    told += [_committed_line(one, charged) for _, one in traced.bill if one.committed_cents]
    told += [_hourly_line(plan, one) for one in plan.hourly]
    if told:
        yield Bullets(tuple(told))
    if full:
        terms = "Part numbers, terms of licences, warranty and support"
        yield Fields(
            (
                (terms, Blank("from the quote")),
                ("Software licences over the horizon, USD", _licences(traced)),
                ("Switches, cables, optics", Blank("often the longest lead time")),
            )
        )


def _price_line(line: Acquisition, *, sources: bool) -> str:
    origin = line.price_origin if sources else price_source(line)
    trust = "illustrative, " if line.illustrative and "illustrative" not in origin else ""
    dated = f", {line.price_date}" if line.price_date else ""
    weeks = count_of(line.lead_time_weeks, "week")
    lead = f"; lead time {weeks}" if line.lead_time_weeks else ""
    held = "; each is paid by the quarter, the total is for those within the horizon"
    return (
        f"{line.offer} ({line.product}, {line.gpus_per_node}× {line.gpu_type}): "
        f"{line.price_text} ({trust}{origin}{dated}){lead}{held if line.kind == 'reserve' else ''}"
    )


def orders_for_several_sites(lines: Iterable[Acquisition]) -> tuple[str, ...]:
    """What must be ordered together to have its price, though it is delivered to several sites."""
    orders: dict[tuple[str, str], list[Acquisition]] = defaultdict(list)
    for line in lines:
        if line.kind == "buy":
            orders[line.offer, line.quarter].append(line)
    return tuple(
        f"{offer} for {quarter}: one order of {sum(line.count for line in order):,} nodes, "
        f"{listed([f'{line.count:,} for {line.site}' for line in order])}"
        for (offer, quarter), order in orders.items()
        if len(order) > 1
    )


def _hourly_line(plan: Plan, one: HourlyUse) -> str:
    """Which runs are on nodes by the hour, and at which price that turns."""
    line = next(line for line in plan.acquisitions if line.offer == one.offer)
    node = line.gpus_per_node * (line.step_hours or 1)
    each = line.unit_price_cents / node / 100
    told = {
        "proved": "",
        "not proved": "; at which price that turns is open, as not both plans are proved",
        "no other plan": "; there is no plan without it, at whatever price",
    }[one.without]
    if one.turns_at is not None:
        told = (
            f"; from ${each * one.turns_at:,.2f} per GPU-hour on, a plan without it is cheaper, as "
            "proved"
        )
    return (
        f"{one.offer}: {one.gpu_hours:,} GPU-hours for {count_of(len(one.jobs), 'job')}, "
        f"{_at_sites(plan, one)}, at ${each:,.2f}{told}"
    )


def _at_sites(plan: Plan, one: HourlyUse) -> str:
    """The jobs on nodes by the hour; of an offer at several sites, with the site of each."""
    sites = {node.id: node.site for node in plan.nodes if node.hours and node.entry == one.offer}
    jobs: dict[str, set[str]] = defaultdict(set)
    for use in (use for uses in plan.placements for use in uses if use.node in sites):
        jobs[sites[use.node]].update(occupant.job for occupant in use.occupants)
    if len(jobs) == 1:
        return some_of(one.jobs, _JOBS)
    return listed([f"{some_of(sorted(jobs[site]), _JOBS)} at {site}" for site in sorted(jobs)])


def _committed_line(line: Acquisition, charged: bool) -> str:
    """What a reservation costs after the horizon, which no cost holds unless it is charged."""
    years = count_of((line.term_quarters or 0) // 4, "year")
    where = "in the cost as commitments" if charged else "in no other figure of this plan"
    return (
        f"committed after the horizon: {usd(line.committed_cents)} for {line.offer} from "
        f"{line.quarter} ({years}), counted {where}"
    )


def _licences(traced: TracedPlan) -> Cell:
    for place, line in enumerate(traced.plan.costs):
        if line.name == "licence":
            return traced.at(f"costs[{place}].total_cents", "usd", f"how-cost-{place}")
    return Blank("the scenario states none")


def orders_table(traced: TracedPlan, most: int | None = None) -> Table:
    """Orders, the most urgent first, with the days left; of more than so many the first ones."""
    lines, orders = traced.plan.acquisitions, traced.orders[:most]
    left = len(traced.orders) - len(orders)
    more = f"; {count_of(left, 'later order')} in {traced.section('bill')}" if left else ""

    def days(place: int, of: Callable[[int], TracedFigure | None]) -> Cell:
        known = of(place)
        return "" if known is None else traced.figure(known, "count", "how-margins")

    def what(place: int) -> str:
        line = lines[place]
        act = action_of(line.kind, line.term_quarters, line.step_hours)
        return f"{act}: {nodes_of(line)}, offer {line.offer}"

    capacity = traced.capacity
    counted = (("Days left", capacity.days_to_order), (_OF_SALE, capacity.days_of_sale))
    whole: dict[str, Cell] = {
        "Order by": "Sum",
        "USD": traced.at("acquisitions[*].total_cents", "usd", "how-bill"),
    }
    return table(
        (place for place, _ in orders),
        ("Order by", "name", traced.order_by),
        ("What to sign", "text", what),
        ("Site", "name", lambda place: lines[place].site),
        ("For", "name", lambda place: lines[place].quarter),
        ("USD", "number", traced.each("acquisitions[{}].total_cents", "usd", "how-bill")),
        *columns_for(counted, days),
        sums=whole if not left and len(orders) > 1 else {},
        caption=f"Orders, the most urgent first{more}",
        without=() if any(line.end_of_sale for _, line in orders) else (_OF_SALE,),
    )


def later_orders(traced: TracedPlan) -> Iterator[Table]:
    """All orders, where page 1 has not all of them."""
    if len(traced.orders) > ORDERS_ON_PAGE_1:
        yield orders_table(traced)


def milestones_section(traced: TracedPlan) -> Iterator[Block]:
    """Orders that page 1 has not, and what acceptance still needs."""
    yield from later_orders(traced)
    if not traced.bill:
        yield Paragraph("There is nothing to order.")
    yield Fields(
        (
            ("Acceptance test", Blank("of each node, before it is paid")),
            ("Review after the purchase", Blank("date and owner")),
        )
    )


def procurement_section(traced: TracedPlan) -> Iterator[Block]:
    """What the plan knows for the buyer's file; what is a legal conclusion stays open."""
    bill = [line for _, line in traced.bill]
    value: Cell = "none"
    if bill:
        total = traced.read.sum("acquisitions[*].total_cents")
        if traced.committed:
            total += traced.read.sum("acquisitions[*].committed_cents")
        value = traced.figure(total, "usd", "how-bill")
    terms = ", whole terms of reservations counted" if traced.committed else ""
    quoted = sorted({line.price_origin for line in bill if not line.illustrative})
    why = traced.link("what other GPU types would add, job by job", "jobs")
    if rejections_section(traced.plan):
        why = traced.link("rejected GPU types with their rules", "options")
    action = traced.link("the bill of materials", "bill") if bill else "none"
    yield Fields(
        (
            ("Agency or company, and contracting activity", Blank()),
            ("Action and description", action),
            (f"Estimated value{terms}, USD", value),
            ("Quotes at hand", listed(quoted) or Blank("no price of this plan is a quote")),
            ("Other facts in support", why),
            *((asked, Blank()) for asked in _FOR_PEOPLE),
        )
    )


def ask_sentence(plan: Plan) -> str:
    """The whole ask, for a person who reads nothing else."""
    return (
        f"{_what(plan)}{_on_apis(plan)} {_for_how_much(plan)}{_gives_way(plan)}; "
        f"{proof_clause(plan)}, "
        "checked independently."
    )


def _on_apis(plan: Plan) -> str:
    """` and pay APIs $446 for rare`."""
    if not plan.apis:
        return ""
    paid = money_short(sum(sum(use.cents) for use in plan.apis))
    names = list(dict.fromkeys(use.job for use in plan.apis))
    told = listed(names) if len(names) <= _MOST_NAMED else count_of(len(names), "job")
    return f", and pay {paid} for the tokens of {told} on APIs,"


def _gives_way(plan: Plan) -> str:
    """Who is not served by that, so that nobody takes the sum for the price of everything."""
    if plan.shortage is None:
        return ""
    counts: Counter[str] = Counter(job.outcome for job in plan.shortage.jobs)
    parts = []
    ways = {"dropped": "dropped", "short": "short of units", "delayed": "delayed"}
    for outcome, told in ways.items():
        if count := counts[outcome]:
            parts.append(f"{count_of(count, 'job')} {'is' if count == 1 else 'are'} {told}")
    return f"; {listed(parts)}, as not everything fits"


def proof_clause(plan: Plan) -> str:
    """What is proved, so that nobody can take a found plan for a proved one."""
    proof = plan.proof
    off = usd(proof.cost_cents - proof.bound_cents)
    gap = gap_percent(proof.gap)
    if proof.status == "proved":
        return f"proved optimal for these inputs to within {off} (gap {gap})"
    return (
        f"NOT proved: the best plan found, at most {off} dearer than the best there is (gap {gap})"
    )


def _for_how_much(plan: Plan) -> str:
    illustrative = (
        *(line.illustrative for line in plan.acquisitions),
        *(use.illustrative for use in plan.apis),
        bool(unquoted_sales(plan)),
    )
    priced = ", at illustrative prices" if any(illustrative) else ""
    span = f"over {count_of(len(plan.quarters), 'quarter')}"
    cents = plan.proof.cost_cents
    if cents < 0:
        return f"with {money_short(-cents)} more received than paid in present value {span}{priced}"
    paid = sum(line.total_cents for line in plan.costs if line.name not in NOT_PAID)
    told = f" ({money_short(paid)} to pay)" if paid != cents else ""
    return f"for {money_short(cents)} net present cost {span}{told}{priced}"


def _what(plan: Plan) -> str:
    let_go = let_go_parts(plan)
    if not plan.acquisitions:
        return _nothing_acquired(plan, let_go)
    first = min(line.order_by for line in plan.acquisitions)
    if any(line.kind == "buy" and line.order_by == first for line in plan.acquisitions):
        first = ""  # it is said there already
    parts = []
    for kind in ("buy", "rent", "reserve", "hourly"):
        machines = _by_machine([line for line in plan.acquisitions if line.kind == kind])
        if machines:
            told = [_machines_told(plan, kind, lines, first) for lines in machines]
            parts.append(f"{action_of(kind)} {_named(told)}")
    return _sentence([*parts, *let_go])


def _nothing_acquired(plan: Plan, let_go: Sequence[str]) -> str:
    if not plan.jobs:
        what = _sentence(let_go) if let_go else "Buy and rent nothing"
        return f"{what}, as the scenario has no jobs,"
    if not any(any(job.units) for job in plan.jobs):
        what = _sentence([*let_go, "buy and rent nothing"])
        return what if plan.apis else f"{what}, as no job is kept,"
    which = "every job" if plan.shortage is None else "what is kept"
    if plan.apis:
        which = "all others"
    if let_go:
        return f"{_sentence(let_go)}, buy and rent nothing: the rest of the fleet runs {which}"
    return f"Buy and rent nothing: the owned fleet runs {which}"


def _machines_told(plan: Plan, kind: str, lines: Sequence[Acquisition], first: str) -> str:
    if kind == "buy":
        return _buy(lines)
    told = _reserve(lines) if kind == "reserve" else _rent(plan.quarters, lines)
    days = {line.order_by for line in lines}
    if first not in days:
        return told
    return f"{told} ({'order' if len(days) == 1 else 'first order'} by {first})"


def _sentence(parts: Sequence[str]) -> str:
    words = listed(parts)
    return words[0].upper() + words[1:]


def _named(machines: Sequence[str]) -> str:
    if len(machines) <= _MOST_NAMED:
        return listed(machines)
    rest = count_of(len(machines) - _MOST_NAMED, "more kind of node", "more kinds of node")
    return listed([*machines[:_MOST_NAMED], rest])


def _by_machine(lines: Sequence[Line]) -> list[list[Line]]:
    def machine(line: Line) -> tuple[str, str, int, int]:
        term = 0
        if isinstance(line, Acquisition):
            term = line.term_quarters or line.step_hours or 0
        return (line.product, line.gpu_type, line.gpus_per_node, term)

    ordered = sorted(lines, key=lambda line: (machine(line), line.quarter))
    return [list(group) for _, group in groupby(ordered, key=machine)]


def _machine(count: str, line: Acquisition | NodeRelease) -> str:
    return f"{count} × {_model(line)}"


def _model(line: Acquisition | NodeRelease) -> str:
    return f"{line.product} ({line.gpus_per_node}× {line.gpu_type})"


def _buy(lines: Sequence[Acquisition]) -> str:
    first, last = lines[0], lines[-1]
    what = _machine(f"{sum(line.count for line in lines):,}", first)
    order_by = min(line.order_by for line in lines)
    if first.quarter == last.quarter:
        return f"{what} by {first.quarter} (order by {order_by})"
    return f"{what} from {first.quarter} to {last.quarter} (first order by {order_by})"


def _reserve(lines: Sequence[Acquisition]) -> str:
    count = sum(line.count for line in lines)
    what = _machine(f"{count:,}", lines[0])
    years = count_of((lines[0].term_quarters or 0) // 4, "year")
    held = f"for {years}{' each' if count > 1 else ''}"
    begin = sorted({line.quarter for line in lines})
    since = f"from {listed(begin)}{' on' if len(begin) > 1 else ''}"
    return f"{what} {held} {since}"


def _rent(quarters: Sequence[str], lines: Sequence[Acquisition]) -> str:
    """Nodes at any one time, or all that is had for hours or weeks over the horizon."""
    in_quarter: Counter[str] = Counter()
    for line in lines:
        in_quarter[line.quarter] += line.count
    when, step = quarter_runs(quarters, in_quarter), lines[0].step_hours
    if step is not None:
        return f"{nodes_text(in_quarter.total(), step)} of {_model(lines[0])} in {when}"
    most = max(in_quarter.values())
    upto = "up to " if min(in_quarter.values()) < most else ""
    return f"{_machine(f'{upto}{most:,}', lines[0])} in {when}"


def releases_section(traced: TracedPlan) -> Iterator[Block]:
    """Owned nodes that are sold or switched off, with what each line brings and saves."""
    lines = traced.plan.releases
    if not lines:
        return

    def proceeds(place: int, name: str) -> Cell:
        sold = lines[place].action == "sell"
        return traced.at(f"releases[{place}].{name}", "usd", "how-let-go") if sold else "–"

    yield table(
        range(len(lines)),
        ("Quarter", "name", lambda place: lines[place].quarter),
        ("Action", "text", lambda place: lines[place].action),
        ("Node type", "text", lambda place: f"{lines[place].node_type} @ {lines[place].site}"),
        ("Nodes", "number", traced.each("releases[{}].count", "count", "how-let-go")),
        *columns_for((("Each, USD", "unit_price_cents"), ("Brings, USD", "total_cents")), proceeds),
        ("Saves, USD", "number", traced.each("releases[{}].saved_cents", "usd", "how-let-go")),
        (
            "Lowers NPC by, USD",
            "number",
            traced.each("releases[{}].present_cents", "usd", "how-let-go"),
        ),
        sums={
            "Quarter": "Sum",
            "Brings, USD": traced.at("releases[*].total_cents", "usd", "how-let-go"),
            "Saves, USD": traced.at("releases[*].saved_cents", "usd", "how-let-go"),
            "Lowers NPC by, USD": traced.at("releases[*].present_cents", "usd", "how-let-go"),
        },
        caption="Owned nodes let go; saved is what is not paid for them within the horizon, and "
        "NPC the net present cost, against keeping these nodes",
    )
    yield Bullets(tuple(dict.fromkeys(_told(traced.plan, line) for line in lines)))


def _told(plan: Plan, line: NodeRelease) -> str:
    """Which servers, and where what they bring is from."""
    off = line.action == "switch off"
    ids = [
        node.id
        for node in plan.nodes
        if node.entry == line.entry
        and node.origin == "owned"
        and (line.quarter in node.off if off else node.sold == line.quarter)
    ]
    if off:
        return f"off in {line.quarter}: {', '.join(ids)} ({line.entry})"
    source = line.quote or "illustrative, no quote of a buyer"
    up = f"; each would be worth {usd(line.given_up_cents // line.count)} at the end of the horizon"
    return (
        f"sold in {line.quarter}: {', '.join(ids)} ({line.entry}), {line.price_text} ({source})"
        f"{up if line.given_up_cents else ''}"
    )


def unquoted_sales(plan: Plan) -> list[str]:
    """Fleet entries that are sold from at prices that no quote stands behind."""
    lines = (line for line in plan.releases if line.action == "sell" and line.quote is None)
    return list(dict.fromkeys(line.entry for line in lines))


def let_go_parts(plan: Plan) -> list[str]:
    """`sell 2 × PowerEdge XE8545 (4× a100-80gb-sxm) in 2027Q2`, `switch off 1 × … in 2027Q1`."""
    parts = []
    for action in ("sell", "switch off"):
        lines = [line for line in plan.releases if line.action == action]
        if lines:
            told = " and ".join(_let_go(plan, group) for group in _by_machine(lines))
            brings = sum(line.total_cents for line in lines)
            parts.append(f"{action} {told}{f' for {money_short(brings)}' if brings else ''}")
    return parts


def _let_go(plan: Plan, lines: Sequence[NodeRelease]) -> str:
    by_quarter: Counter[str] = Counter()
    for line in lines:
        by_quarter[line.quarter] += line.count
    counts = set(by_quarter.values())
    if lines[0].action == "sell":
        number = f"{sum(by_quarter.values()):,}"
    else:
        number = f"{'up to ' if len(counts) > 1 else ''}{max(counts):,}"
    return f"{_machine(number, lines[0])} in {quarter_runs(plan.quarters, by_quarter)}"
