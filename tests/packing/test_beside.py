"""Work on a thread of its own: its results, its failure, or nothing yet."""

from __future__ import annotations

from threading import Event

import pytest

from planner.packing.solvers.beside import Beside


def test_all_that_comes_until_the_end_is_waited_for():
    assert list(Beside(iter((7, 8))).given(10.0)) == [7, 8]


def test_what_takes_too_long_is_given_later_and_nothing_twice():
    free = Event()

    def results():
        yield 1
        free.wait(10.0)
        yield 2

    work = Beside(results())
    assert next(work.given(10.0)) == 1
    assert list(work.given()) == []
    free.set()
    assert list(work.given(10.0)) == [2]
    assert list(work.given(10.0)) == []


def test_a_failure_is_told_to_who_asks():
    def fails():
        yield 1
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        list(Beside(fails()).given(10.0))
