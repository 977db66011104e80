"""Quotas where runs take some weeks: each week decides."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from planner.errors import LimitError
from planner.packing.constraints.quotas import hold_by_hour
from planner.packing.formulation.build import build_master
from planner.packing.node_packing.list_schedule import Placed
from planner.packing.problem import Choice, Demand, RunWindow, Shape
from planner.packing.statement.nowhere import Claim
from planner.packing.triage import triage
from tests.packing.draws import quota
from tests.packing.meaning import SLOT, slots

if TYPE_CHECKING:
    from collections.abc import Iterable

    from planner.packing.problem import Problem, Quota

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


def test_whole_runs_decide_and_not_their_gpu_weeks(asked, plan):
    """Three runs of five GPUs and five weeks are 75 of 104 GPU-weeks, and only one fits at once."""
    three = runs(3, 5, slots(5, 0, 13))
    assert plan(asked([three], quota(8))) is None
    assert plan(asked([three], quota(10))) is not None


@pytest.mark.parametrize(("start", "kept"), [(6 * SLOT, True), (6 * SLOT - 1, False)])
def test_a_plan_in_which_runs_meet_beyond_their_quota_is_not_kept(asked, start, kept):
    problem = asked([runs(2, 4, slots(6, 0, 13))], quota(4))
    shape = problem.demands[0].choices[0].shape._replace(owner="red")
    master = build_master(problem)
    both = [Placed(0, shape, hour, ((0, 0),)) for hour in (0, start)]
    values = [0.0] * len(master.program.variables)
    assert hold_by_hour(master, values, {0: both}) is kept


def test_a_quota_that_keeps_runs_apart_may_take_a_node_more(asked, plan, solve):
    """Both runs of red fit the hours that blue leaves at once, and one after the other do not."""
    blue, red = runs(1, 8, slots(6, 0, 6), owner="blue"), runs(2, 4, slots(6, 0, 13))
    assert plan(asked([blue, red])).bought == ((1,),)
    assert solve(asked([blue, red], quota(4))).bought == ((2,),)


def test_a_quota_of_a_gpu_type_counts_the_weeks_there(build, plan):
    """On the dear type runs are short; the quota lets two of three take turns on the cheap one."""
    cheap, dear = Choice("a", Shape(8, 0, 0, run=slots(6, 0, 13))), Choice("b", Shape(8, 0, 0))
    pools = [build.pool("a"), build.pool("b")]
    supplies = [build.buy(BUY), build.buy(5 * BUY, pool=1)]
    problem = build.problem(pools, supplies, [Demand((cheap, dear), (0,), 3, "red")])
    assert plan(problem).assigned == ((3, 0),)
    assert plan(replace(problem, quotas=(quota(8, gpu_type="a"),))).assigned == ((2, 1),)


def test_runs_that_span_nodes_take_turns_under_a_quota(asked, plan, solve):
    two = runs(2, 16, slots(6, 0, 13))
    assert plan(asked([two], quota(15))) is None
    assert plan(asked([two], quota(16))).cost_cents == 2 * BUY
    with pytest.raises(LimitError):
        solve(asked([two, runs(1, 1, slots(2, 0, 13))], quota(16)), time_limit_s=0.3)
    assert plan(asked([runs(2, 16, slots(7, 0, 13))], quota(16))) is None
    assert plan(asked([runs(2, 16, slots(7, 0, 13))], quota(32))) is not None


def test_the_bound_is_what_the_terms_say_where_weeks_of_a_quota_cost_money(build, solve):
    """Two runs may not be beside each other on the cheap type."""
    cheap, dear = Choice("a", Shape(4, 0, 0, run=slots(7, 0, 13))), Choice("b", Shape(8, 0, 0))
    pools = [build.pool("a"), build.pool("b")]
    supplies = [build.buy(BUY), build.buy(5 * BUY, pool=1)]
    problem = build.problem(pools, supplies, [Demand((cheap, dear), (0,), 2, "red")])
    solution = solve(replace(problem, quotas=(quota(4, gpu_type="a"),)))
    assert solution.assigned == ((1, 1),)
    terms = dict(solution.bound_terms)
    assert terms["quotas of the teams"] < -1
    sums = 2 * solution.tags[0].cents + sum(terms.values())
    assert sums == pytest.approx(solution.bound_cents, abs=1)


def test_jobs_give_way_where_the_weeks_of_a_quota_are_used_up(asked):
    """Two of three runs of five weeks find room one after the other."""
    problem = asked([runs(1, 4, slots(5, 0, 13)) for _ in range(3)], quota(4))
    claims = [
        Claim(name, priority, False, (((number, 1),),))
        for number, (name, priority) in enumerate((("a", 50), ("b", 75), ("c", 50)))
    ]
    found = triage(problem, claims, asked_gap=0.0, time_limit_s=20.0)
    assert found.delays == {"a": 0, "b": 0, "c": None}
    assert all(level.proved for level in found.levels)
