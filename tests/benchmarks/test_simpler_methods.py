"""What the planner is held against counts the nodes that it pays for."""

from benchmarks.greedy import first_fit_decreasing
from benchmarks.naive import solve_naive
from planner.packing.problem import JobClass, Mode, Pool, Problem, Shape, Supply


def test_the_textbook_program_and_first_fit_count_the_nodes_that_they_pay_for():
    pool = Pool("box", "main", "gpu", Shape(8, 80, 800), 0, 0, True)
    classes = tuple(JobClass((Mode("gpu", Shape(gpus, 1, 1)),), (0,), 1) for gpus in (4, 5, 16))
    problem = Problem(1, (pool,), (Supply("buy", "buy", 0, None, (100,)),), classes, 0)
    naive = solve_naive(problem, 60.0, 1e-4)
    assert (naive.cost_cents, naive.nodes) == first_fit_decreasing(problem) == (400, 4)
