"""What stands beside the net present cost: residual value, spare nodes, and what costs less."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.reporting.alternatives import cheaper_ones, cheaper_text, is_cheaper
from planner.reporting.document import Blank, Cell, Paragraph
from planner.reporting.elsewhere import Elsewhere
from planner.reporting.format import money_short
from planner.reporting.justification.desk import figure
from planner.reporting.justification.options import FILE, TRACE
from planner.whatif.variants.plan_summary import summary_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from planner.planning.plan import SparePrice
    from planner.reporting.justification.beside import Beside
    from planner.reporting.justification.desk import Desk

__all__ = ["cheaper_warnings", "residual_share", "spare_rows", "weighty_rows"]

Row = tuple[str, Cell]


def cheaper_warnings(desk: Desk, beside: Beside) -> Iterator[Paragraph]:
    """For page 1: each option that keeps as many jobs for less, and what it would take."""
    found = beside.alternatives
    if found is not None:
        for _, one in cheaper_ones(found):
            yield Paragraph(cheaper_text(one, found.cheapest), "warning")
    here = summary_of(desk.plan)
    for name, plan in beside.plans.items():
        other = summary_of(plan)
        if is_cheaper(other, here):
            less = money_short((here.cost_cents or 0) - (other.cost_cents or 0))
            yield Paragraph(
                f"There is a cheaper way to keep as many jobs: {name}, for {less} less, with what "
                "was asked there and not here. Adopt that, if you can.",
                "warning",
            )


def weighty_rows(desk: Desk, beside: Beside) -> Iterator[Row]:
    """A row for each, for a summary; nothing where there is none."""
    residual = desk.accounts.residual
    if residual is not None:
        title = "Residual value, which the net present cost counts off, in present value, USD"
        yield title, figure(residual, "usd", _how_residual(desk))
    if desk.plan.spare_cost is not None:
        yield "Of the net present cost, for all spare nodes together, USD", _together(desk)
    if beside.alternatives is None:
        return
    known = Elsewhere(beside.alternatives, FILE, TRACE)
    for place, one in cheaper_ones(beside.alternatives):
        costs = known.read.at(f"others[{place}].figures.cost_cents")
        less = known.read.at("cheapest.cost_cents") - costs
        yield f"Less under {one.name}, with as many jobs, USD", known.figure(less, "usd")


def residual_share(desk: Desk) -> Iterator[Row]:
    """The residual value beside what was paid for the servers."""
    share = desk.accounts.residual_share
    if share is not None:
        yield "Residual value, of the purchases", figure(share, "share", _how_residual(desk))


def _how_residual(desk: Desk) -> str:
    names = [line.name for line in desk.plan.costs]
    return f"how-cost-{names.index('residual value')}"


def spare_rows(desk: Desk) -> Iterator[Row]:
    """What all spare nodes cost together, then the last one of each place."""
    known = desk.plan.spare_cost
    if known is None:
        return
    yield "All spare nodes together, USD", _together(desk)
    if known.cents is not None and desk.plan.proof.cost_cents > 0:
        share = desk.read.at("spare_cost.cents") / desk.accounts.net_present
        yield "The same, of the net present cost", figure(share, "share", "how-spare")
    prices = desk.plan.spare_prices
    if len(prices) == 1 and prices[0].kept == 1:
        return  # it is all of them
    for place, price in enumerate(prices):
        yield _alone(price), _cell(desk, f"spare_prices[{place}].cents", price.cents)


def _together(desk: Desk) -> Cell:
    cost = desk.plan.spare_cost
    return _cell(desk, "spare_cost.cents", cost.cents if cost else None)


def _alone(price: SparePrice) -> str:
    """The last spare node of a pool, or of each pool of a site; it is no part of a sum."""
    what = "the spare node" if price.kept == 1 else f"the last of {price.kept} spare nodes"
    each = " in each pool" if price.place.startswith("site ") else ""
    return f"Saved without {what}{each} of {price.place}, the others kept, USD"


def _cell(desk: Desk, place: str, cents: int | None) -> Cell:
    if cents is None:
        return Blank("a plan without was not proved")
    return desk.at(place, "usd", "how-spare")
