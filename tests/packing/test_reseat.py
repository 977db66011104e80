"""Units that were counted and found no seat: nodes are added, the cheapest that can run them."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from planner.packing.counting.build import build_counts
from planner.packing.counting.layout import cutting_stocks
from planner.packing.heuristics.reseat import seat_by_counts, seat_the_rest
from planner.packing.layouts.cutting import CuttingStock
from planner.packing.problem import Shape


@pytest.fixture
def seated():
    """`seated(problem, more_nodes=True)` seats all units on one node of each offer and pool.

    Gives the nodes acquired by offer, and the units by choice; None where somebody has no seat.
    """

    def seat(problem, *, more_nodes):
        counts = build_counts(problem)
        _, stocks = cutting_stocks(counts, lambda: True)
        values = [0.0] * len(counts.program.variables)
        for index in counts.acquire.values():
            values[index] = 1.0
        for (number, position), index in counts.choice.items():
            values[index] = 0.0 if position else float(problem.demands[number].count)
        known = seat_by_counts(counts, stocks, tuple(values))
        assert known.left_over, "nobody is left over"
        done = seat_the_rest(counts, stocks, known, lambda: True, more_nodes=more_nodes)
        if done is None:
            return None
        changed, packings = done
        held: Counter[int] = Counter()
        for (pool, _), packed in packings.items():
            for pattern, times in packed.patterns:
                for shape, units in pattern:
                    held[stocks[pool].shapes[shape].gpus] += units * times
        asked = Counter(demand.choices[0].shape.gpus for demand in problem.demands)
        assert held == {
            gpus: sum(d.count for d in problem.demands if d.choices[0].shape.gpus == gpus)
            for gpus in asked
        }
        return [round(changed[index]) for index in counts.acquire.values()]

    return seat


def test_the_cheapest_node_that_can_run_a_unit_is_added_while_its_offer_lasts(build, seated):
    """Three units of 5 GPUs count as two nodes and need three; the cheap offer ends at one."""
    units = build.units(3, ("h100", 5, 0, 0), spans=False)
    offers = [build.buy(300), build.buy(200, maximum=2), build.buy(100, maximum=1)]
    problem = build.problem([build.pool()], offers[:2], [units])
    assert seated(replace(problem, demands=(replace(units, count=4),)), more_nodes=True) == [2, 2]
    dear = replace(problem, supplies=(offers[0], offers[2]))
    assert seated(replace(dear, demands=(replace(units, count=4),)), more_nodes=True) == [3, 1]


def test_without_leave_to_add_nodes_or_any_on_offer_there_is_no_plan(build, seated):
    units = build.units(3, ("h100", 5, 0, 0), spans=False)
    ends = build.problem([build.pool()], [build.buy(300, maximum=1)], [units])
    assert seated(ends, more_nodes=True) is None
    open_ended = replace(ends, supplies=(build.buy(300),))
    assert seated(open_ended, more_nodes=False) is None
    assert seated(open_ended, more_nodes=True) == [3]


@pytest.mark.parametrize("nodes", [13, 14, 15, 16])
def test_what_time_leaves_unpacked_is_told_and_the_nodes_hold_the_rest(nodes):
    """The search for patterns is stopped at once; first-fit alone takes more nodes than these."""
    sizes = ((2, 8, 3), (8, 14, 15), (7, 6, 3), (8, 0, 12), (7, 0, 14), (5, 7, 3), (6, 0, 0))
    counts = (1, 6, 5, 1, 4, 6, 2)
    stock = CuttingStock(Shape(16, 16, 16), [Shape(*size) for size in sizes], lambda: False)
    assert stock.pack(counts, nodes) is None
    packed, left = stock.most(counts, nodes)
    assert any(left)
    assert sum(times for _, times in packed.patterns) <= nodes
    held: Counter[int] = Counter()
    for pattern, times in packed.patterns:
        held.update({index: units * times for index, units in pattern})
        for resource in range(3):
            assert sum(sizes[index][resource] * units for index, units in pattern) <= 16
    assert tuple(held[index] + left[index] for index in range(len(sizes))) == counts
