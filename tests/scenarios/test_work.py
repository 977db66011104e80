"""The same work comes to the same end: load and clocks change nothing but how long that takes."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest

from benchmarks.portfolios import quarterly, runs_beside, unique
from planner.errors import LimitError
from planner.packing import work
from planner.packing.problem import Problem
from planner.packing.search import Search
from planner.planning.make import make_plan
from planner.planning.store import dumps
from tests.stated import load_inputs

HARD = {
    "many that are unlike": (lambda: unique(400, 0), 0.5),
    "runs beside endpoints": (lambda: runs_beside(40, 1), 0.3),
    "four quarters": (lambda: quarterly(60, 0), 0.2),
}
"""Portfolios, and seconds of work that end the search before its proof."""


@pytest.fixture
def busy() -> Iterator[None]:
    """Others want the same cores."""
    others = [
        subprocess.Popen([sys.executable, "-c", "while True: pass"])
        for _ in range(os.cpu_count() or 2)
    ]
    yield
    for other in others:
        other.kill()
        other.wait()


def reached(problem: Problem, limit_s: float) -> object:
    """How far a search gets, and the work that it counts."""
    before = work.spent()
    search = Search(problem, 1e-9, limit_s)
    try:
        found = search.run()
    except LimitError as error:
        return str(error), pytest.approx(work.spent() - before)
    return (
        found.cost_cents,
        found.bound_cents,
        found.values,
        found.packings,
        found.schedule,
        pytest.approx(work.spent() - before),
    )


@pytest.mark.parametrize("name", HARD)
def test_a_search_that_its_limit_ends_gets_as_far_under_load(name, request):
    make, limit_s = HARD[name]
    alone = reached(make(), limit_s)
    request.getfixturevalue("busy")
    assert reached(make(), limit_s) == alone


@pytest.mark.parametrize("name", ["quickstart"])
def test_a_plan_is_the_same_bytes_where_the_clock_runs_five_times_as_fast(root, monkeypatch, name):
    path = root / "scenarios" / f"{name}.yaml"
    alone = dumps(make_plan(load_inputs(path)))
    clock = time.monotonic
    monkeypatch.setattr(time, "monotonic", lambda: 5 * clock())
    assert dumps(make_plan(load_inputs(path))) == alone


def test_the_guard_ends_all_work_and_is_told(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    with work.guarded(1.0) as clock:
        before = work.spent()
        now[0] = 9.9
        assert work.spent() == before
        assert not clock.ended
        now[0] = 10.1
        assert work.spent() > before + 1e6
        assert clock.ended


def test_a_plan_whose_prices_the_guard_cut_off_says_so(root, monkeypatch):
    path, clock, late = root / "scenarios" / "quickstart.yaml", time.monotonic, []

    def watched(step: str) -> None:
        if step == "pricing spare nodes":
            late.append(1e6)

    monkeypatch.setattr(time, "monotonic", lambda: clock() + sum(late))
    spare = ("policies.spare_nodes={xe9680-h200: 1}", "offers.rent-h200.maximum=3")
    inputs = load_inputs(path, settings=spare)
    plan = make_plan(inputs, progress=watched)
    assert plan.provenance.guard_ended
    assert plan.spare_cost is not None
    assert plan.spare_cost.cents is None
    assert any("ended by the clock" in note.text for note in plan.warnings)


def test_work_is_counted_by_what_the_solver_does():
    before = work.spent()
    Search(unique(20, 0), 1e-4, 10.0).run()
    small = work.spent() - before
    Search(unique(80, 0), 1e-4, 10.0).run()
    assert 0 < small < work.spent() - before - small
