"""What is bought, rented, reserved and released: the ask, the bill, milestones, orders."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import TypeVar

from planner.costs import NOT_PAID
from planner.inputs.scenario.quarter import WEEK_HOURS, nodes_text
from planner.inputs.text import some_of
from planner.planning.plan import Acquisition, HourlyUse, NodeRelease, Plan
from planner.reporting.document import (
    Blank,
    Block,
    Bullets,
    Cell,
    Fields,
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
    quarter_words,
    usd,
)
from planner.reporting.sections.jobs import rejections_section
from planner.reporting.traced import TracedPlan

_Line = TypeVar("_Line", Acquisition, NodeRelease)

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


def action_of(kind: str, term_quarters: int | None = None, step_hours: int | None = None) -> str:
    """Say `buy`, `rent`, `reserve for 3 years`, `rent by the hour`, `rent for 2 weeks`."""
    if kind == "hourly":
        return "rent by the hour"
    if step_hours is not None:
        return f"{kind} for {count_of(step_hours // WEEK_HOURS, 'week')}"
    if term_quarters is None:
        return kind
    return f"{kind} for {count_of(term_quarters // 4, 'year')}"


def _action(line: Acquisition) -> str:
    return action_of(line.kind, line.term_quarters, line.step_hours)


def bill_section(traced: TracedPlan) -> Iterator[Block]:
    """Show every line to buy, rent or reserve, and below it what each offer says."""
    if not traced.bill:
        yield Paragraph("Nothing to buy, to rent or to reserve.")
        return
    plan, lines = traced.plan, traced.plan.acquisitions

    def nodes(place: int) -> Cell:
        line = lines[place]
        if line.step_hours:
            return nodes_text(line.count, line.step_hours)
        return traced.at(f"acquisitions[{place}].count")

    def each(place: int) -> Cell:
        style: Style = "cents" if lines[place].step_hours else "usd"
        return traced.at(f"acquisitions[{place}].unit_price_cents", style)

    yield table(
        (place for place, _ in traced.bill),
        ("Offer", "text", lambda place: lines[place].offer),
        ("Quarter", "name", lambda place: lines[place].quarter),
        ("Action", "text", lambda place: _action(lines[place])),
        ("Node type", "text", lambda place: f"{lines[place].node_type} @ {lines[place].site}"),
        ("Nodes", "number", nodes),
        ("Each, USD", "number", each),
        ("Total, USD", "number", traced.each("acquisitions[{}].total_cents")),
        ("Order by", "name", traced.order_by),
        sums={"Offer": "Sum", "Total, USD": traced.at("acquisitions[*].total_cents")},
    )
    bill = [line for _, line in traced.bill]
    often = Counter(line.offer for line in bill)
    told = [*dict.fromkeys(_price_line(line, often[line.offer] > 1) for line in bill)]
    told += orders_for_several_sites(bill)
    charged = any(line.name == "commitments" for line in plan.costs)
    where = "in the cost as commitments" if charged else "in no other figure of this plan"
    told += [
        f"committed after the horizon: {usd(line.committed_cents)} for {line.offer} from "
        f"{line.quarter} ({count_of((line.term_quarters or 0) // 4, 'year')}), counted {where}"
        for line in bill
        if line.committed_cents
    ]
    yield Bullets((*told, *(_hourly_line(plan, one) for one in plan.hourly)))


def licences_section(traced: TracedPlan) -> Iterator[Block]:
    """Show what a bill of materials still needs of others."""
    licences: Cell = Blank("the scenario states none")
    for place, cost in enumerate(traced.plan.costs):
        if cost.name == "licence":
            licences = traced.at(f"costs[{place}].total_cents")
    if traced.bill:
        yield Fields(
            (
                (
                    "Part numbers, terms of licences, warranty and support",
                    Blank("from the quote"),
                ),
                ("Software licences over the horizon, USD", licences),
                ("Switches, cables, optics", Blank("often the longest lead time")),
            )
        )


def _price_line(line: Acquisition, in_several: bool) -> str:
    dated = f", {line.price_date or Blank('date of the price').text}"
    weeks = count_of(line.lead_time_weeks, "week")
    lead = f"; lead time {weeks}" if line.lead_time_weeks else ""
    origin = line.price_origin
    origin += ", illustrative" * (line.illustrative and "illustrative" not in origin)
    held = ""
    if line.kind == "reserve":
        held = "; each is paid by the quarter, the total is for those within the horizon"
    elif line.kind == "rent" and in_several:
        held = "; rented by the quarter: a row for the next quarter renews what is there"
    return f"{line.offer}: {_model(line)}, {line.price_text} ({origin}{dated}){lead}{held}"


def orders_for_several_sites(lines: Iterable[Acquisition]) -> tuple[str, ...]:
    """Say what must be ordered together for its price, though it goes to several sites."""
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
    """Say which runs are on nodes by the hour, and at which price that changes."""
    line = next(line for line in plan.acquisitions if line.offer == one.offer)
    each = line.unit_price_cents / (line.gpus_per_node * (line.step_hours or 1)) / 100
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
    sites = {node.id: node.site for node in plan.nodes if node.hours and node.entry == one.offer}
    jobs: dict[str, set[str]] = defaultdict(set)
    for use in (use for uses in plan.placements for use in uses if use.node in sites):
        jobs[sites[use.node]].update(occupant.job for occupant in use.occupants)
    who = [f"{some_of(sorted(jobs[site]), _JOBS)} at {site}" for site in sorted(jobs)]
    if len(jobs) == 1:
        who = [some_of(one.jobs, _JOBS)]
    return (
        f"{one.offer}: {one.gpu_hours:,} GPU-hours for {count_of(len(one.jobs), 'job')}, "
        f"{listed(who)}, at ${each:,.2f}{told}"
    )


def orders_table(traced: TracedPlan, most: int | None = None) -> Table:
    """Show orders, the most urgent first, with the days left; at most so many."""
    lines, orders = traced.plan.acquisitions, traced.orders[:most]
    left = len(traced.orders) - len(orders)
    more = f"; {count_of(left, 'later order')} in {traced.section('bill')}" if left else ""
    days_of = {"Days left": traced.capacity.days_to_order, _OF_SALE: traced.capacity.days_of_sale}

    def days(place: int, title: str) -> Cell:
        known = days_of[title](place)
        return "" if known is None else traced.figure(known, "count")

    def what(place: int) -> str:
        line = lines[place]
        times = " of" if line.step_hours else " ×"
        nodes = f"{nodes_text(line.count, line.step_hours)}{times} {line.product}"
        return f"{_action(line)}: {nodes} ({line.gpu_type}), offer {line.offer}"

    within = "; of reservations what is paid within the horizon" if traced.committed else ""
    whole: dict[str, Cell] = {"Order by": "Sum", "USD": traced.at("acquisitions[*].total_cents")}
    return table(
        (place for place, _ in orders),
        ("Order by", "name", traced.order_by),
        ("What to sign", "text", what),
        ("Site", "name", lambda place: lines[place].site),
        ("For", "name", lambda place: lines[place].quarter),
        ("USD", "number", traced.each("acquisitions[{}].total_cents")),
        *columns_for(((title, title) for title in days_of), days),
        sums=whole if not left and len(orders) > 1 else {},
        caption=f"Orders, the most urgent first{within}{more}",
        without=() if any(line.end_of_sale for _, line in orders) else (_OF_SALE,),
    )


def milestones_section(traced: TracedPlan) -> Iterator[Block]:
    """Orders, where page 1 has not all of them, and what acceptance still needs."""
    if len(traced.orders) > ORDERS_ON_PAGE_1:
        yield orders_table(traced)
    if not traced.bill:
        yield Paragraph("There is nothing to order.")
    yield Fields(
        (
            ("Acceptance test", Blank("of each node, before it is paid")),
            ("Review after the purchase", Blank("date and owner")),
        )
    )


def procurement_section(traced: TracedPlan) -> Iterator[Block]:
    """Show what the plan knows for the buyer's file; legal conclusions stay open."""
    bill = [line for _, line in traced.bill]
    total = traced.read.sum("acquisitions[*].total_cents")
    if traced.committed:
        total += traced.read.sum("acquisitions[*].committed_cents")
    terms = ", whole terms of reservations counted" if traced.committed else ""
    quoted = sorted({line.price_origin for line in bill if not line.illustrative})
    why = traced.link("what other GPU types would add, job by job", "decisions")
    if any(rejections_section(traced)):
        why = traced.link("rejected GPU types with their rules", "options")
    yield Fields(
        (
            ("Agency or company, and contracting activity", Blank()),
            (
                "Action and description",
                traced.link("the bill of materials", "bill") if bill else "none",
            ),
            (f"Estimated value{terms}, USD", traced.figure(total, "usd") if bill else "none"),
            ("Quotes at hand", listed(quoted) or Blank("no price of this plan is a quote")),
            ("Other facts in support", why),
            *((asked, Blank()) for asked in _FOR_PEOPLE),
        )
    )


# The ask


def ask_sentence(plan: Plan) -> str:
    """Return the whole ask, for a person who reads nothing else."""
    on_apis = gives_way = ""
    if plan.apis:
        paid = money_short(sum(sum(use.cents) for use in plan.apis))
        names = list(dict.fromkeys(use.job for use in plan.apis))
        jobs = listed(names) if len(names) <= _MOST_NAMED else count_of(len(names), "job")
        on_apis = f", and pay {paid} for the tokens of {jobs} on APIs,"
    if plan.shortage is not None:
        counts: Counter[str] = Counter(job.outcome for job in plan.shortage.jobs)
        ways = {"dropped": "dropped", "short": "short of units", "delayed": "delayed"}
        parts = [
            f"{count_of(count, 'job')} {'is' if count == 1 else 'are'} {told}"
            for outcome, told in ways.items()
            if (count := counts[outcome])
        ]
        gives_way = f"; {listed(parts)}, as not everything fits"
    proof = plan.proof
    off, gap = usd(proof.cost_cents - proof.bound_cents), gap_percent(proof.gap)
    proved = f"proved optimal for these inputs to within {off} (gap {gap})"
    if proof.status != "proved":
        proved = f"NOT proved: the best plan found, at most {off} dearer than the best there is "
        proved += f"(gap {gap})"
    return (
        f"{_what(plan)}{on_apis} {_for_how_much(plan)}{gives_way}; {proved}, checked independently."
    )


def illustrative(plan: Plan) -> list[str]:
    """Return offers, APIs, and fleet entries for sale, whose prices no quote supports."""
    bill = sorted(plan.acquisitions, key=lambda line: (line.quarter, line.kind, line.offer))
    names = [line.offer for line in bill if line.illustrative]
    names += [use.api for use in plan.apis if use.illustrative]
    sold = [line for line in plan.releases if line.action == "sell"]
    return list(dict.fromkeys([*names, *(line.entry for line in sold if line.quote is None)]))


def _for_how_much(plan: Plan) -> str:
    priced = ", at illustrative prices" if illustrative(plan) else ""
    span = f"over {count_of(len(plan.quarters), 'quarter')}"
    cents = plan.proof.cost_cents
    if cents < 0:
        return f"with {money_short(-cents)} more received than paid in present value {span}{priced}"
    paid = sum(line.total_cents for line in plan.costs if line.name not in NOT_PAID)
    later = sum(line.committed_cents for line in plan.acquisitions)
    parts = [f"{money_short(paid)} to pay"] if paid != cents or later else []
    parts += [f"{money_short(later)} for reservations afterwards"] if later else []
    told = f" ({', and '.join(parts)})" if parts else ""
    return f"for {money_short(cents)} net present cost {span}{told}{priced}"


def _what(plan: Plan) -> str:
    parts = []
    for kind in ("buy", "rent", "reserve", "hourly"):
        alike = _by_machine([line for line in plan.acquisitions if line.kind == kind])
        told = [_acquired(plan, lines) for lines in alike]
        if len(told) > _MOST_NAMED:
            more = count_of(len(told) - _MOST_NAMED, "more kind of node", "more kinds of node")
            told = [*told[:_MOST_NAMED], more]
        if told:
            parts.append(f"{action_of(kind)} {listed(told)}")
    let_go = _let_go(plan)
    if parts:
        words = listed([*parts, *let_go])
    elif not plan.jobs:
        words = f"{listed(let_go) or 'buy and rent nothing'}, as the scenario has no jobs,"
    elif not any(any(job.units) for job in plan.jobs):
        words = listed([*let_go, "buy and rent nothing"])
        words += "" if plan.apis else ", as no job is kept,"
    else:
        which = "every job" if plan.shortage is None else "what is kept"
        fleet = "the rest of the fleet" if let_go else "the owned fleet"
        words = f"{listed(let_go)}, " if let_go else ""
        words += f"buy and rent nothing: {fleet} runs "
        words += "all others" if plan.apis else which
    return words[0].upper() + words[1:]


def _by_machine(lines: Sequence[_Line]) -> list[list[_Line]]:
    """Group lines of the same nodes for the same term."""

    def machine(line: _Line) -> tuple[str, str, int, int]:
        term = 0
        if isinstance(line, Acquisition):
            term = line.term_quarters or line.step_hours or 0
        return (line.product, line.gpu_type, line.gpus_per_node, term)

    ordered = sorted(lines, key=lambda line: (machine(line), line.quarter))
    return [list(group) for _, group in groupby(ordered, key=machine)]


def _model(line: Acquisition | NodeRelease) -> str:
    return f"{line.product} ({line.gpus_per_node}× {line.gpu_type})"


def _acquired(plan: Plan, lines: Sequence[Acquisition]) -> str:
    """Say how many nodes of a kind, from when on or in which quarters, and when to order.

    Rented nodes: as many as exist at any one time. For hours or weeks: all that is had.
    """
    first, last = lines[0], lines[-1]
    in_quarter: Counter[str] = Counter()
    for line in lines:
        in_quarter[line.quarter] += line.count
    count, model = in_quarter.total(), _model(first)
    if first.kind == "buy":
        when = f"by {first.quarter}"
        if first.quarter != last.quarter:
            when = f"from {first.quarter} to {last.quarter}"
        told = f"{count:,} × {model} {when}"
    elif first.kind == "reserve":
        years = count_of((first.term_quarters or 0) // 4, "year")
        begin = sorted(in_quarter)
        told = f"{count:,} × {model} for {years}{' each' if count > 1 else ''} from {listed(begin)}"
        told += " on" if len(begin) > 1 else ""
    elif first.step_hours is not None:
        when = quarter_words(plan.quarters, in_quarter)
        told = f"{nodes_text(count, first.step_hours)} of {model} in {when}"
    else:
        told = _at_a_time(plan, in_quarter, model)
    days = {line.order_by for line in lines}
    return f"{told} ({'order' if len(days) == 1 else 'first order'} by {min(days)})"


def _at_a_time(plan: Plan, in_quarter: Counter[str], model: str) -> str:
    """Say `up to 3 × PowerEdge XE9680 (8× h100-80gb-sxm) in 2027Q1–Q3`."""
    most = max(in_quarter.values())
    upto = "up to " if min(in_quarter.values()) < most else ""
    return f"{upto}{most:,} × {model} in {quarter_words(plan.quarters, in_quarter)}"


# Owned nodes let go


def releases_section(traced: TracedPlan) -> Iterator[Block]:
    """Show owned nodes that are sold or switched off, with what each line brings and saves."""
    lines = traced.plan.releases
    if not lines:
        return

    def proceeds(place: int, name: str) -> Cell:
        sold = lines[place].action == "sell"
        return traced.at(f"releases[{place}].{name}", "usd") if sold else "–"

    added = {
        "Brings, USD": "total_cents",
        "Saves, USD": "saved_cents",
        "Lowers NPC by, USD": "present_cents",
    }
    sums = {title: traced.at(f"releases[*].{name}", "usd") for title, name in added.items()}
    yield table(
        range(len(lines)),
        ("Quarter", "name", lambda place: lines[place].quarter),
        ("Action", "text", lambda place: lines[place].action),
        ("Node type", "text", lambda place: f"{lines[place].node_type} @ {lines[place].site}"),
        ("Nodes", "number", traced.each("releases[{}].count")),
        *columns_for((("Each, USD", "unit_price_cents"), ("Brings, USD", "total_cents")), proceeds),
        *traced.figures(
            "releases[{}]", ("Saves, USD", "saved_cents"), ("Lowers NPC by, USD", "present_cents")
        ),
        sums={"Quarter": "Sum", **sums},
        caption="Owned nodes let go; saved is what is not paid for them within the horizon, and "
        "NPC the net present cost, against keeping these nodes",
    )
    yield Bullets(tuple(dict.fromkeys(_released(traced.plan, line) for line in lines)))


def _released(plan: Plan, line: NodeRelease) -> str:
    """Say which servers, and where the price is from."""
    off = line.action == "switch off"
    names = ", ".join(
        node.id
        for node in plan.nodes
        if node.entry == line.entry
        and node.origin == "owned"
        and (line.quarter in node.off if off else node.sold == line.quarter)
    )
    if off:
        return f"off in {line.quarter}: {names} ({line.entry})"
    source = line.quote or "illustrative, no quote of a buyer"
    up = f"; each would be worth {usd(line.given_up_cents // line.count)} at the end of the horizon"
    return (
        f"sold in {line.quarter}: {names} ({line.entry}), {line.price_text} ({source})"
        f"{up if line.given_up_cents else ''}"
    )


def _let_go(plan: Plan) -> list[str]:
    """Say `sell 2 × PowerEdge XE8545 (4× a100-80gb-sxm) in 2027Q2`, `switch off 1 × …`."""
    parts = []
    for action in ("sell", "switch off"):
        lines = [line for line in plan.releases if line.action == action]
        told = []
        for alike in _by_machine(lines):
            in_quarter: Counter[str] = Counter()
            for line in alike:
                in_quarter[line.quarter] += line.count
            words = _at_a_time(plan, in_quarter, _model(alike[0]))
            if action == "sell":
                when = quarter_words(plan.quarters, in_quarter)
                words = f"{in_quarter.total():,} × {_model(alike[0])} in {when}"
            told.append(words)
        brings = sum(line.total_cents for line in lines)
        if told:
            parts.append(
                f"{action} {' and '.join(told)}{f' ({money_short(brings)})' if brings else ''}"
            )
    return parts
