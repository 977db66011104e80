"""The cheapest whole nodes within inequalities, against trying every point."""

from __future__ import annotations

import random
import tracemalloc
from itertools import product

import numpy as np
import pytest

from planner.packing.families import cheapest as room
from planner.packing.families.cheapest import Cheapest, Offer
from planner.packing.families.nodecuts import Bundle, NodeCut, NodeCuts

POOLS, MOST = 3, 6
BUNDLES = (Bundle(0, 2), Bundle(2, 3))


def drawn(seed: int) -> tuple[NodeCuts, list[int], list[list[Offer]]]:
    """Cuts with and without bundles, counts, and offers of which some end."""
    rng = random.Random(seed)
    cuts = NodeCuts([rng.choice((0, 0, 1)) for _ in range(POOLS)], BUNDLES, 2)
    cuts.divided = frozenset({0, 1})
    for _ in range(rng.randint(1, 5)):
        nodes = [rng.choice((0.0, 1.0, 1.5, 4.0)) for _ in range(POOLS)]
        bundles = [rng.choice((0.0, -1.0, 2.0)) for _ in BUNDLES]
        cuts.add(
            NodeCut(np.array(nodes), np.array(bundles), np.array([1.0, 0.5]), rng.uniform(-1, 1))
        )
    cuts.add(NodeCut(np.array([-1.0, -2.0, -1.0]), np.zeros(2), np.zeros(2), -12.0))
    offers = [
        [Offer(cents, rng.choice((1, 3))), Offer(cents + rng.randint(1, 30), MOST)]
        for cents in (rng.randint(20, 90) for _ in range(POOLS))
    ]
    asked = [[rng.randint(1, 5), rng.randint(0, 6)] for _ in range(3)]
    if seed % 2:
        cuts.sum_up(asked[1:], [known[0].cents for known in offers])
        cuts.add(NodeCut(np.array([0.5, 1.0, 0.25]), np.zeros(2), np.array([0.5, 0.5]), 0.3))
    return cuts, asked[0], offers


def cost(offers: list[list[Offer]], nodes: tuple[int, ...]) -> int | None:
    """Of these nodes from the cheapest supplies on; None where there are not so many."""
    each = [
        sorted(offer.cents for offer in known for _ in range(offer.most or 0)) for known in offers
    ]
    if any(number > len(cents) for cents, number in zip(each, nodes, strict=True)):
        return None
    return sum(sum(cents[:number]) for cents, number in zip(each, nodes, strict=True))


def tried(
    cuts: NodeCuts, asked: list[int], offers: list[list[Offer]]
) -> dict[tuple[int, ...], int]:
    """Every point that obeys all cuts with some bundles, and what it costs; sums add nothing."""
    stacked = cuts.stacked
    need = stacked.asked @ asked + stacked.least
    need = np.where(stacked.asked.any(axis=1) | (stacked.least != 0), need, -np.inf)
    found = {}
    for nodes in product(range(MOST + 4), repeat=POOLS):
        cents = cost(offers, nodes)
        if cents is None:
            continue
        total = [owned + number for owned, number in zip(cuts.owned, nodes, strict=True)]
        ways = product(*(range(total[one.pool] // one.size + 1) for one in BUNDLES))
        left = need - stacked.nodes @ nodes
        if any((stacked.bundles @ way >= left - 1e-7).all() for way in ways):
            found[nodes] = cents
    return found


@pytest.mark.parametrize("seed", range(40))
def test_points_come_cheapest_first_and_none_is_left_out(seed):
    """Far beyond the first there is no end of points: there the list may stop."""
    cuts, asked, offers = drawn(seed)
    cheapest, known = Cheapest(cuts, asked, offers), tried(cuts, asked, offers)
    for number in range(6):
        point = cheapest.next()
        if point is None:
            assert number or not known
            break
        assert point.cents == cost(offers, point.nodes) == min(known.values())
        assert point.nodes in known
        del known[point.nodes]
        cheapest.refuse(point)


@pytest.mark.parametrize("seed", range(10))
def test_the_first_point_is_the_same_where_they_are_too_many_to_be_listed(seed, monkeypatch):
    cuts, asked, offers = drawn(seed)
    known = tried(cuts, asked, offers)
    monkeypatch.setattr(room, "_MOST_STATES", 0)
    cheapest = Cheapest(cuts, asked, offers)
    point = cheapest.next()
    assert (point is None) == (not known)
    if point is not None:
        assert point.cents == known[point.nodes] == min(known.values())
        cheapest.refuse(point)
        assert cheapest.next() is None


def test_bundles_that_no_cut_tells_apart_are_no_hindrance():
    cuts = NodeCuts([0, 0, 0], BUNDLES, 1)
    cuts.divided = frozenset({0, 1})
    cuts.add(NodeCut(np.array([1.0, 1.0, 1.0]), np.zeros(2), np.array([1.0]), 0.0))
    point = Cheapest(cuts, [4], [[Offer(cents, None)] for cents in (30, 20, 10)]).next()
    assert point is not None
    assert (point.cents, point.nodes) == (40, (0, 0, 4))


def test_bundles_of_too_many_ways_are_left_open_and_bound_all_the_same(monkeypatch):
    left_open = 0
    for seed in range(20):
        cuts, asked, offers = drawn(seed)
        known = tried(cuts, asked, offers)
        monkeypatch.setattr(room, "_MOST_STATES", 2_000_000)
        cheapest = Cheapest(cuts, asked, offers)
        cheapest._list()
        monkeypatch.setattr(room, "_MOST_STATES", 8)
        point = cheapest.next()
        assert point is not None or not known
        if point is not None:
            left_open += None in point.bundles
            assert not known or point.cents <= min(known.values())
    assert left_open > 3


def test_points_that_are_far_too_many_take_no_memory():
    """Nodes of which each is worth just what it costs: millions of points cost the same."""
    cuts = NodeCuts([0, 0, 0], (), 1)
    cuts.add(NodeCut(np.array([3.0, 2.0, 1.0]), np.zeros(0), np.array([1.0]), 0.0))
    offers = [[Offer(cents, None)] for cents in (30, 20, 10)]
    tracemalloc.start()
    point = Cheapest(cuts, [9_001], offers).next()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert point is not None
    assert point.cents == 90_010
    assert peak < 64 * 2**20


def test_a_cut_that_is_added_later_is_obeyed_and_may_be_forgotten():
    cuts = NodeCuts([0, 0, 0], (), 1)
    one = NodeCut(np.array([1.0, 1.0, 1.0]), np.zeros(0), np.array([1.0]), 0.0)
    cuts.add(one)
    cuts.settle()
    offers = [[Offer(cents, None)] for cents in (30, 20, 10)]
    cheapest = Cheapest(cuts, [4], offers)
    first = cheapest.next()
    assert first is not None
    assert (first.cents, first.nodes) == (40, (0, 0, 4))
    cuts.add(NodeCut(np.array([1.0, 0.5, 0.0]), np.zeros(0), np.array([0.5]), 0.0))
    second = cheapest.next()
    assert second is not None
    assert second.cents == 80
    assert second.nodes in {(0, 4, 0), (1, 2, 1), (2, 0, 2)}
    cuts.forget()
    assert Cheapest(cuts, [4], offers).next() == first
