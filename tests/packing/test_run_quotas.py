"""Quotas where runs take some weeks: each week decides."""

from collections.abc import Iterable
from dataclasses import replace

import pytest

from planner.packing.build import build_master
from planner.packing.constraints.quotas import hold_by_hour
from planner.packing.list_schedule import Placed
from planner.packing.problem import Choice, Demand, Problem, Quota, RunWindow, Shape
from tests.packing.draws import quota
from tests.packing.meaning import SLOT, slots

BUY = 10_000_000


def runs(
    count: int, gpus: int, run: RunWindow, *, owner: str = "red", quarters: tuple[int, ...] = (0,)
) -> Demand:
    return Demand((Choice("h100", Shape(gpus, 0, 0, run=run)),), quarters, count, owner)


@pytest.fixture
def asked(build):
    """Units and quotas, with nodes of 8 GPUs to buy."""

    def problem(demands: Iterable[Demand], *quotas: Quota, quarters: int = 1) -> Problem:
        pools, supplies = [build.pool()], [build.buy(*[BUY] * quarters)]
        stated: Problem = build.problem(pools, supplies, tuple(demands), quarters)
        return replace(stated, quotas=quotas)

    return problem


@pytest.mark.parametrize(("start", "kept"), [(6 * SLOT, True), (6 * SLOT - 1, False)])
def test_a_plan_in_which_runs_meet_beyond_their_quota_is_not_kept(asked, start, kept):
    problem = asked([runs(2, 4, slots(6, 0, 13))], quota(4))
    shape = problem.demands[0].choices[0].shape._replace(owner="red")
    master = build_master(problem)
    both = [Placed(0, shape, hour, ((0, 0),)) for hour in (0, start)]
    values = [0.0] * len(master.program.variables)
    assert hold_by_hour(master, values, {0: both}) is kept


def test_runs_that_span_nodes_take_turns_under_a_quota(asked, plan):
    two = runs(2, 16, slots(6, 0, 13))
    assert plan(asked([two], quota(15))) is None
    assert plan(asked([two], quota(16))).cost_cents == 2 * BUY
    assert plan(asked([two, runs(1, 1, slots(2, 0, 13))], quota(16))) is None, "14 of 13 slots"
    assert plan(asked([two, runs(1, 1, slots(1, 0, 13))], quota(16))) is not None
    assert plan(asked([runs(2, 16, slots(7, 0, 13))], quota(16))) is None
    assert plan(asked([runs(2, 16, slots(7, 0, 13))], quota(32))) is not None
