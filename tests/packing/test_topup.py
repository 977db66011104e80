"""One node more, the cheapest that helps, where runs found no room on those that were counted."""

from __future__ import annotations

from dataclasses import replace

from planner.packing.apart import kept_apart
from planner.packing.counts import build_counts
from planner.packing.layout import lay_out
from planner.packing.problem import WEEKS, Choice, Demand, Division, Part, Run, Shape
from planner.packing.stocks import cutting_stocks
from planner.packing.topup import with_a_node_more

QUARTERS = 3


def grown(build, supplies, stuck):
    """Offers of which one node more is taken."""
    demand = build.units(2, ("h100", 8, 0, 0), quarters=range(QUARTERS))
    counts = build_counts(build.problem([build.pool()], supplies, [demand], quarters=QUARTERS))
    before = (0.0,) * len(counts.program.variables)
    after = with_a_node_more(counts, before, stuck)
    if after is None:
        return None
    return [key for key, index in counts.acquire.items() if after[index]]


def test_a_node_is_rented_for_the_one_quarter_that_lacks_it(build):
    offers = [build.buy(100_000, 90_000, 80_000), build.rent(30_000, 30_000, 30_000)]
    assert grown(build, offers, {(0, 1)}) == [(1, 1)]


def test_a_node_is_bought_where_that_serves_more_quarters_for_the_money(build):
    offers = [build.buy(80_000, 75_000, 70_000), build.rent(30_000, 30_000, 30_000)]
    assert grown(build, offers, {(0, 0), (0, 1), (0, 2)}) == [(0, 0)]


def test_a_pool_that_borrows_gets_a_node_of_its_lender_and_pays_for_it(build):
    pool = replace(build.pool(spare=1), divisions=(Division((("1g", 0),)),), mixes=False)
    part = Choice("h100", Shape(1, 0, 0, part=Part("1g", 0)))
    demands = [Demand((part,), (0,), 1), build.units(1, ("h100", 1, 0, 0))]
    counts = build_counts(kept_apart(build.problem([pool], [build.rent(100)], demands)))
    before = (0.0,) * len(counts.program.variables)

    def changed(*stuck):
        after = with_a_node_more(counts, before, stuck) or before
        bought, usable, lent = counts.acquire[0, 0], counts.usable[0, 0], counts.lent[0, 0]
        return after[bought], after[usable], after[lent]

    assert changed((1, 0)) == (1, 1, 1)
    assert changed((0, 0), (1, 0)) == (1, 1, 0), "the lender's own units come first"


def test_no_node_is_added_beyond_what_is_offered(build):
    assert grown(build, [build.rent(30_000, None, None, maximum=1)], {(0, 0)}) == [(0, 0)]
    assert grown(build, [build.rent(30_000, None, None, maximum=0)], {(0, 0)}) is None
    assert grown(build, [build.rent(30_000, None, None)], {(0, 1)}) is None


def test_counts_that_leave_fewer_nodes_than_none_are_no_layout(build):
    whole = build.units(2, ("h100", 8, 0, 0))
    shape = Shape(2, 0, 0, run=Run(5, 0, WEEKS))
    runs = Demand((Choice("h100", shape),), (0,), 1)
    problem = build.problem([build.pool(owned=1)], [build.rent(100)], [whole, runs])
    counts = build_counts(problem)
    _, stocks = cutting_stocks(counts, lambda: True)
    values = tuple(
        float(index in counts.unit_variables) * 2 for index in range(len(counts.program.variables))
    )
    assert counts.shared_nodes(0, 0, values) < 0
    assert lay_out(counts, stocks[0], (0, 0), values, lambda: True) is None
