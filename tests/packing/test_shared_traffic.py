"""Replicas of several GPU types that share the traffic of an endpoint."""

import pytest

from planner.packing.search import bound_cents
from tests.packing.draws import sharing

TEN = 10_000_000
HALF, THIRD, TWO_THIRDS = 500_000, 333_334, 666_667


def test_the_bound_counts_whole_replicas_of_each_endpoint(build):
    """Seven endpoints need two replicas each, fourteen in all: parts of them would fit one node."""
    pools = [build.pool("h100"), build.pool("l40s")]
    supplies = [build.buy(TEN), build.buy(3 * TEN, pool=1)]
    unit = build.units(1, ("h100", 1, 0, 0), ("l40s", 1, 0, 0))
    chats = [sharing(unit, 900_000, 950_000, count=2, name=f"chat {n}") for n in range(7)]

    problem = build.problem(pools, supplies, chats)

    assert bound_cents(problem, asked_gap=0.0, time_limit_s=10.0) == 2 * TEN


def test_the_price_of_traffic_is_on_the_tags_of_its_units(build, plan):
    unit = build.units(1, ("h100", 2, 0, 0), ("l40s", 1, 0, 0))
    supplies = [build.buy(TEN), build.buy(TEN // 2, pool=1)]
    pools = [build.pool("h100"), build.pool("l40s")]
    chat = sharing(unit, TWO_THIRDS, THIRD, count=3)
    other = build.units(2, ("h100", 1, 0, 0))

    solution = plan(build.problem(pools, supplies, [chat, other]))

    tags = zip(solution.tags, (chat, other), strict=True)
    tagged = sum(tag.cents * demand.count for tag, demand in tags)
    terms = dict(solution.bound_terms)
    assert solution.tags[0].cents > 0
    assert "traffic that GPU types share" not in terms
    assert tagged + sum(terms.values()) == pytest.approx(solution.bound_cents, abs=1)
