"""Section 6: how far each figure may move, at the latest, before this plan meets a limit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.inputs.scenario.site import SITE_LIMITS
from planner.reporting.document import Block, Cell, Column, Heading, Link, Paragraph, Table
from planner.reporting.elsewhere import Elsewhere
from planner.reporting.format import listed, signed_percent
from planner.reporting.justification.desk import Desk, figure
from planner.reporting.sites import limit_style, limit_title
from planner.reporting.variants import NO_PLAN, acquired_short, moved_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from planner.planning.ledger.accounts import Meets, Price
    from planner.planning.ledger.capacity import FirstOrder, LimitMargin
    from planner.reporting.format import Style
    from planner.whatif.results import Sensitivity, Swing, SwitchingPoint

__all__ = ["margin_blocks"]

_FILE, _TRACE = "sensitivity.json", "how-sensitivity"
_KINDS = {"buy": "bought", "rent": "rented", "reserve": "reserved", "hourly": "rented by the hour"}
_LEVERS = {"energy": "price of energy", "support": "support"}
"""Costs whose price the sensitivity moves, by its name there."""
_SPENDS = {
    "capex": "capital",
    "opex": "running cost",
    "spending": "capital and running cost together",
}
_NOT_ASKED = "another plan, or none: not planned"
_ROOMS: dict[str, tuple[str, Style]] = {
    **{one.need: (limit_title(one, " at {0}"), limit_style(one)) for one in SITE_LIMITS},
    "rack power": ("Power of the fullest rack at {0}, rack {1}, kW", "kw"),
    "racks": ("Racks at {0}", "count"),
    "quota": ("Quota of {0}, GPUs", "count"),
    "maximum": ("Nodes that {0} gives at a time", "count"),
}


def margin_blocks(desk: Desk, found: Sensitivity | None) -> Iterator[Block]:
    """Prices until a budget is exhausted; then what is left under limits, and until orders."""
    yield Heading("What ends this plan first", 3)
    rows = sorted(_prices(desk, found), key=lambda row: (row[0] < 0, abs(row[0])))
    if rows:
        yield Paragraph(
            "How far each price may move by itself, at the latest, before this plan breaks a "
            "budget or is no longer the cheaper way. Worked out from the plan as it is, every job "
            "and every node kept; the plan may turn sooner, to other nodes."
        )
        columns = (
            Column("Price of", wraps=True),
            Column("At the latest", "right"),
            Column("Then", wraps=True),
            Column("Left until then, USD", "right"),
            Column("Beyond that", wraps=True),
        )
        cells = tuple(row for _, row in rows)
        yield Table(columns, cells, caption="Prices, the nearest limit first; below zero is down")
    else:
        yield Paragraph(
            "No budget stands against a price, and nothing that is bought could be rented: no "
            "price ends this plan by a limit. Where another plan is cheaper, only planning anew "
            "tells."
        )
    yield from _rooms(desk)
    yield from _orders(desk, found)


def _prices(desk: Desk, found: Sensitivity | None) -> Iterator[tuple[float, tuple[Cell, ...]]]:
    accounts = desk.accounts
    for price in accounts.prices():
        swing = _swing(desk, price, found)
        for meets, sign in ((accounts.met_by_rise(price), 1), (accounts.met_by_fall(price), -1)):
            row = _row(desk, price, meets, sign, swing, found)
            if row is not None:
                yield row


def _row(
    desk: Desk,
    price: Price,
    meets: Meets | None,
    sign: int,
    swing: tuple[int, Swing] | None,
    found: Sensitivity | None,
) -> tuple[float, tuple[Cell, ...]] | None:
    """What is met first: a limit, or what planning anew has found before it."""
    turn = _turn(swing, sign)
    name = _name(desk, price)
    if turn is not None and found is not None and swing is not None:
        place, number, one = swing[0], *turn
        by = one.after.by
        if meets is None or abs(by) < abs(meets.by.value):
            known = Elsewhere(found, _FILE, _TRACE)
            at = known.at(f"swings[{place}].turns[{number}].after.by", "margin")
            return by, (name, at, "planned anew, the plan turns", "–", _after(one))
    if meets is None:
        return None
    at = figure(meets.by, "margin", "how-margins")
    left: Cell = "–" if meets.left is None else figure(meets.left, "usd", "how-margins")
    then, beyond = _then(desk, price, meets), _beyond(meets, swing, turn)
    return float(meets.by.value), (name, at, then, left, beyond)


def _then(desk: Desk, price: Price, meets: Meets) -> str:
    if meets.budget is not None:
        return f"breaks the {_budget(desk, meets.budget)}"
    if price.kind == "buy":
        return "one node, used in all hours, is cheaper rented"
    return "one node, used in all hours, is cheaper rented than bought"


def _beyond(
    meets: Meets, swing: tuple[int, Swing] | None, turn: tuple[int, SwitchingPoint] | None
) -> str:
    """What is known of the other side of a limit."""
    if turn is not None:
        return f"{_after(turn[1])}, planned anew at {signed_percent(turn[1].after.by)}"
    if swing is not None and abs(meets.by.value) > abs(swing[1].high.by):
        end = swing[1].high if meets.by.value > 0 else swing[1].low
        return f"not planned; as here up to {signed_percent(end.by)}, planned anew"
    return _NOT_ASKED if meets.budget is not None else "not planned"


def _after(turn: SwitchingPoint) -> str:
    figures = turn.after.figures
    if figures.cost_cents is None:
        return NO_PLAN if figures.result == "infeasible" else f"{NO_PLAN} found in time"
    return f"another plan ({acquired_short(figures.acquired)})"


def _budget(desk: Desk, place: int) -> str:
    """`capital of 2027Q3`."""
    budget = desk.plan.budgets[place]
    return f"{_SPENDS[budget.spend]} of {budget.quarter or 'the horizon'}"


def _name(desk: Desk, price: Price) -> str:
    """`xe9680-h200, bought (buy-h200-dublin)`."""
    if price.cost is not None:
        return price.kind.capitalize()
    how = _KINDS[price.kind]
    if price.node_type is None:
        return f"everything that is {how}, together"
    offers = sorted({desk.plan.acquisitions[place].offer for place in price.lines})
    return f"{price.node_type}, {how} ({listed(offers)})"


def _swing(desk: Desk, price: Price, found: Sensitivity | None) -> tuple[int, Swing] | None:
    """Where the sensitivity moves this price and nothing else."""
    offers = {desk.plan.acquisitions[place].offer for place in price.lines}
    name = _LEVERS.get(price.kind)
    if len(offers) == 1 and price.node_type is not None:
        name = f"price of {offers.pop()}"
    swings = enumerate(found.swings if found else ())
    return next(((place, one) for place, one in swings if one.name == name), None)


def _turn(swing: tuple[int, Swing] | None, sign: int) -> tuple[int, SwitchingPoint] | None:
    turns = enumerate(swing[1].turns if swing else ())
    return next(((place, one) for place, one in turns if one.after.by * sign > 0), None)


def _rooms(desk: Desk) -> Iterator[Table]:
    rows = tuple(_room(desk, room) for room in desk.capacity.limit_margins())
    if rows:
        columns = (
            Column("Limit", wraps=True),
            Column("Tightest in"),
            Column("Taken", "right"),
            Column("Allowed", "right"),
            Column("Left", "right"),
            Column("One node takes", "right"),
        )
        caption = (
            "Limits that are no money, in the quarter in which the least is left; where a further "
            "node takes more than that, this plan has no room for one. Power is by nameplates, "
            "which count as they are"
        )
        yield Table(columns, rows, caption=caption)


def _room(desk: Desk, room: LimitMargin) -> tuple[Cell, ...]:
    title, style = _ROOMS[room.what]
    of = room.of if room.what != "quota" else (" on ".join(room.of),)
    return (
        title.format(*of),
        desk.plan.quarters[room.quarter],
        figure(room.taken, style, "how-margins"),
        figure(room.allowed, style, "how-margins"),
        figure(room.left, style, "how-margins"),
        "–" if room.one is None else figure(room.one, style, "how-margins"),
    )


def _orders(desk: Desk, found: Sensitivity | None) -> Iterator[Block]:
    orders = list(desk.capacity.first_orders())
    if not orders:
        return
    on_sale = any(order.days_of_sale is not None for order in orders)
    columns = (
        Column("Offer", wraps=True),
        Column("First for"),
        Column("Order by"),
        Column("Days left", "right"),
        *((Column("Days then left of the sale", "right", wraps=True),) if on_sale else ()),
    )
    rows = tuple(_order(desk, order, on_sale=on_sale) for order in orders)
    caption = (
        "Days from that of the plan to the first order of each offer: by more, neither the "
        "approval may be late nor the lead time longer, or its nodes miss their quarter"
    )
    yield Table(columns, rows, caption=caption)
    late = next((one for one in found.swings if one.name == "lead times"), None) if found else None
    turn = next((one for one in late.turns if one.after.by > 0), None) if late else None
    if late is not None and turn is not None:
        words = f"All lead times {moved_text(late.unit, turn.after.by)}, planned anew"
        yield Paragraph(f"{words}: {_after(turn)}.")


def _order(desk: Desk, order: FirstOrder, *, on_sale: bool) -> tuple[Cell, ...]:
    line = desk.plan.acquisitions[order.line]
    sale: Cell = "–"
    if order.days_of_sale is not None:
        sale = figure(order.days_of_sale, "count", "how-margins")
    return (
        Link(line.offer, f"how-price-{order.line}"),
        line.quarter,
        desk.day(line.order_by, f"acquisitions[{order.line}].order_by", "how-bill"),
        figure(order.days, "count", "how-margins"),
        *((sale,) if on_sale else ()),
    )
