"""One node more, the cheapest that helps, where runs found no room on those that were counted."""

from __future__ import annotations

from planner.packing.counts import build_counts
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


def test_no_node_is_added_beyond_what_is_offered(build):
    assert grown(build, [build.rent(30_000, None, None, maximum=1)], {(0, 0)}) == [(0, 0)]
    assert grown(build, [build.rent(30_000, None, None, maximum=0)], {(0, 0)}) is None
    assert grown(build, [build.rent(30_000, None, None)], {(0, 1)}) is None
