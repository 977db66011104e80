"""Page 1: what to sign by when, what it costs, what else there is, and what would flip it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.planning.ledger.traced import total, where
from planner.reporting.document import Blank, Block, Fields, Paragraph, Table, columns_for, table
from planner.reporting.format import code, count_of, listed
from planner.reporting.sections.cost import money_rows
from planner.reporting.sections.margins import flips_table
from planner.reporting.sections.options import cheaper_warnings, options_brief, why_recommended
from planner.reporting.sections.purchases import ask_sentence, orders_table
from planner.reporting.sections.releases import unquoted_sales

if TYPE_CHECKING:
    from collections.abc import Iterator

    from planner.planning.ledger.traced import TracedFigure
    from planner.reporting.document import Cell
    from planner.reporting.traced import TracedPlan

_ORDERS = 7
_QUARTERS = 8
"""A table of more of them counts years."""


def decision_section(traced: TracedPlan) -> Iterator[Block]:
    """All that a decision needs, on one sheet of paper."""
    yield Paragraph(ask_sentence(traced.plan), tone="strong")
    yield Paragraph(why_recommended(traced))
    yield from cheaper_warnings(traced)
    illustrative = [line.offer for _, line in traced.bill if line.illustrative]
    illustrative += unquoted_sales(traced.plan)
    if illustrative:
        names = listed(list(dict.fromkeys(illustrative)))
        yield Paragraph(
            f"Prices of {names} are illustrative and no quotes: put quotes into the scenario "
            "and plan again before this is approved.",
            tone="warning",
        )
    yield _sites(traced)
    if traced.bill:
        yield orders_table(traced, _ORDERS)
    yield _paid(traced)
    yield options_brief(traced)
    yield from flips_table(traced)
    yield Fields((*money_rows(traced), *_case(traced)))


def _sites(traced: TracedPlan) -> Table:
    """Nodes by site: owned, added, rented, retired, and what stands there at the end."""
    last = traced.plan.quarters[-1]

    def nodes(site: str, *origins: str, **more: str) -> TracedFigure:
        return total(
            traced.read.count(f"nodes{where(origin=origin, site=site, **more)}")
            for origin in origins
        )

    def end(site: str) -> TracedFigure:
        return traced.read.count(f"nodes{where(site=site, in_service=last)}")

    def retired(site: str) -> TracedFigure:
        return nodes(site, "owned") - nodes(site, "owned", in_service=last)

    columns = (
        ("Owned", lambda site: nodes(site, "owned")),
        ("Add", lambda site: nodes(site, "buy", "reserve")),
        ("Rent for a time", lambda site: nodes(site, "rent")),
        ("Retire", retired),
        (f"In service in {last}", end),
    )
    return table(
        traced.capacity.sites,
        ("Site", "name", lambda site: site),
        *columns_for(columns, lambda site, of: traced.figure(of(site), "count", "how-use")),
        sums={
            "Site": "All",
            **{
                title: traced.figure(total(map(of, traced.capacity.sites)), "count", "how-use")
                for title, of in columns
            },
        },
        caption="Nodes by site: what is added is bought or reserved",
    )


def _paid(traced: TracedPlan) -> Table:
    """Money by quarter, or by year where there are many."""
    accounts = traced.accounts
    when: list[tuple[str, tuple[int, ...]]] = [
        (label, (place,)) for place, label in enumerate(traced.plan.quarters)
    ]
    if len(when) > _QUARTERS:
        when = [(year.label, year.quarters) for year in accounts.years]
    kinds = (
        ("Capital", accounts.capex),
        ("Running cost, rents included", accounts.opex),
        ("Both", accounts.paid),
    )
    return table(
        kinds,
        ("Paid, USD", "text", lambda kind: kind[0]),
        *columns_for(
            (*when, ("Sum", tuple(traced.quarters))),
            lambda kind, chosen: traced.figure(kind[1](chosen), "usd", "how-cost"),
        ),
        caption="Money paid, not discounted: purchases are capital, all else is running cost",
    )


def _case(traced: TracedPlan) -> Iterator[tuple[str, Cell]]:
    """Who asks for what, and why, as the scenario says."""
    plan, risk = traced.plan, traced.beside.risk
    running = [job for job in plan.jobs if job.ways or job.on_apis]
    teams = {job.team for job in running if job.team}
    of_teams = f" of {count_of(len(teams), 'team')}" if teams else ""
    yield "In support of", traced.link(f"{count_of(len(running), 'job')}{of_teams}", "need")
    if risk is None or not risk.chances:
        likely = Blank(f"{code('planner risk FUTURES --out DIR')}, then report again")
        yield "Share of futures in which what is bought now falls short", likely
    for title, key in (
        ("Requested by", "owner"),
        ("Objective", "objective"),
        ("Benefit", "benefit"),
        ("If the need is not met", "if_not_met"),
    ):
        said: str | None = getattr(plan, key)
        yield title, " ".join(said.split()) if said else Blank(f"{code(f'{key}:')} of the scenario")
    decided: Cell = "nothing is ordered, so no order sets a day"
    if traced.orders:
        decided = traced.order_by(traced.orders[0][0])
    yield "Decision needed by", decided
