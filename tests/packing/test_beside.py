"""Work on a thread of its own: its result, its failure, or neither yet."""

from __future__ import annotations

from threading import Event

import pytest

from planner.packing.solvers.beside import beside


def test_the_result_is_waited_for():
    assert beside(lambda: 7)(10.0) == 7


def test_what_takes_too_long_has_no_result_yet():
    free = Event()
    result = beside(lambda: free.wait(10.0))
    assert result(0.0) is None
    free.set()
    assert result(10.0) is True


def test_a_failure_is_told_to_who_asks():
    def fails():
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        beside(fails)(10.0)
