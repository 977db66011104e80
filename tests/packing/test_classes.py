"""Sizes that differ a little become classes."""

from __future__ import annotations

from planner.packing.node_packing.size_classes import classified


def test_classes_part_where_the_gap_is():
    points = [(0.1,), (0.5,), (0.11,), (0.52,)]
    assert classified([[0, 1, 2, 3]], points, [1, 1, 1, 1], 2) == [[0, 2], [1, 3]]


def test_what_is_alike_is_not_parted():
    assert classified([[0, 1], [2]], [(0.5,), (0.5,), (0.5,)], [1, 1, 1], 9) == [[0, 1], [2]]
