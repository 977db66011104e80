"""A queue starts what comes first, and lets others pass only where nobody first has to wait."""

import pytest

from benchmarks.backfill import Job, Node, fewest_nodes, first_in_first_out, hours_of_starts
from benchmarks.greedy import first_fit_decreasing
from benchmarks.naive import solve_naive
from benchmarks.portfolios import runs_beside
from benchmarks.side_by_side import bought_in_one_quarter
from planner.inputs.scenario.quarter import RUN_HOURS
from planner.packing.answer import answer
from planner.packing.problem import JobClass, Mode, Pool, Problem, RunWindow, Shape, Supply
from planner.packing.search import search

NODE = Node(8, 80, 800)


def job(gpus, hours, released=0, until=RUN_HOURS, nodes=1, cpus=0):
    return Job(Node(gpus, cpus, 0), hours, released, until, nodes)


QUEUES = {
    "jobs start in the order in which they were submitted": (
        [job(8, 10), job(8, 5), job(8, 1)],
        [0, 10, 15],
    ),
    "a job passes the first where it ends before that can start": (
        [job(4, 10), job(8, 5), job(4, 10)],
        [0, 10, 0],
    ),
    "the first is not delayed by a job that would run an hour too long": (
        [job(4, 10), job(8, 5), job(4, 11)],
        [0, 10, 15],
    ),
    "a long job passes the first where it leaves it what it will take": (
        [job(4, 10), job(6, 5), job(2, 99), job(2, 99)],
        [0, 10, 0, 15],
    ),
    "what passes counts for those that pass after it": (
        [job(5, 10), job(7, 5), job(1, 99), job(1, 99)],
        [0, 10, 0, 15],
    ),
    "jobs wait for their release, and later ones have the later place": (
        [job(8, 5, released=3), job(8, 5)],
        [5, 0],
    ),
    "cores and memory count as GPUs do": ([job(1, 4, cpus=50), job(1, 4, cpus=31)], [0, 4]),
}


@pytest.mark.parametrize("case", QUEUES)
def test_a_queue_starts_its_jobs_at_these_hours(case):
    jobs, starts = QUEUES[case]
    assert hours_of_starts(jobs, NODE, 1) == starts


def test_a_job_on_several_nodes_waits_for_whole_ones():
    starts = hours_of_starts([job(1, 4), job(8, 5, nodes=2), job(7, 4), job(7, 5)], NODE, 2)
    assert starts == [0, 4, 0, 9]


def test_a_job_that_ends_too_late_needs_another_node():
    both = [job(8, 10, until=10), job(8, 10, until=19)]
    assert hours_of_starts(both, NODE, 1) is None
    assert fewest_nodes(both, NODE) == 2
    assert fewest_nodes([job(9, 1)], NODE) is None, "no node holds it"


def portfolio(*classes):
    pool = Pool("box", "main", "gpu", Shape(8, 80, 800), 0, 0, True)
    supply = Supply("buy", "buy", 0, None, (100,))
    return Problem(1, (pool,), (supply,), tuple(classes), 0)


def asks(gpus, count=1, run=None):
    shape = Shape(gpus, 1, 1) if run is None else Shape(gpus, 1, 1, run=run)
    return JobClass((Mode("gpu", shape),), (0,), count)


def test_what_serves_holds_its_gpus_all_quarter_and_runs_follow_each_other_beside_it():
    runs = asks(4, 10, RunWindow(RUN_HOURS // 10, 0, RUN_HOURS))
    assert first_in_first_out(portfolio(asks(4), runs)) == (100, 1)
    assert first_in_first_out(portfolio(asks(5), runs)) == (200, 2)


def test_what_spans_nodes_takes_whole_ones():
    assert first_in_first_out(portfolio(asks(16), asks(1))) == (300, 3)


def test_the_textbook_program_and_first_fit_count_the_nodes_that_they_pay_for():
    problem = portfolio(asks(4), asks(5), asks(16))
    naive = solve_naive(problem, 60.0, 1e-4)
    assert (naive.cost_cents, naive.nodes) == first_fit_decreasing(problem) == (400, 4)


def test_a_portfolio_that_no_node_holds_in_time_is_not_run():
    short = asks(8, 1, RunWindow(10, 0, 9))
    assert first_in_first_out(portfolio(short)) is None


def test_a_plan_is_never_dearer_than_the_queue_with_the_same_modes():
    problem = bought_in_one_quarter(runs_beside(30, 0, 10))
    plan = answer(problem, search(problem, asked_gap=1e-4, time_limit_s=60.0), 1e-4)
    queued = first_in_first_out(problem, plan.assigned)
    assert queued is not None
    assert queued.cost_cents >= plan.cost_cents
