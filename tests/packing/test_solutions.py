"""Whole portfolios: sound, bounded, tagged, and the same whenever they are solved."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache

import pytest

from benchmarks.portfolios import catalogue, quarterly, unique
from planner.packing.problem import Problem
from planner.packing.solution import Layout, Solution, Status

ASKED_GAP = 1e-4
PROVED = [(catalogue, 20, 0), (catalogue, 100, 0), (catalogue, 500, 1), (unique, 50, 0)]
SOUND = [(unique, 100, 0), (quarterly, 50, 0)]


@pytest.fixture(scope="module")
def solved(solve):
    """Each portfolio's problem and solution, solved once."""

    @cache
    def get(
        generator: Callable[[int, int], Problem], jobs: int, seed: int
    ) -> tuple[Problem, Solution]:
        problem = generator(jobs, seed)
        return problem, solve(problem, asked_gap=ASKED_GAP)

    return get


def tagged(problem: Problem, solution: Solution) -> float:
    """What all units add to the bound."""
    pairs = zip(solution.tags, problem.classes, strict=True)
    return sum(tag.cents * job_class.count for tag, job_class in pairs)


@pytest.mark.parametrize(("generator", "jobs", "seed"), PROVED + SOUND)
def test_a_portfolio_is_laid_out_soundly_and_tagged(solved, faults, generator, jobs, seed):
    problem, solution = solved(generator, jobs, seed)
    assert not faults(problem, solution)
    assert solution.bound_cents <= solution.cost_cents
    if (generator, jobs, seed) in PROVED:
        assert solution.status is Status.PROVED
        assert solution.gap <= ASKED_GAP
    terms = sum(cents for _, cents in solution.bound_terms)
    assert tagged(problem, solution) + terms == pytest.approx(solution.bound_cents, rel=1e-6)
    for tag in solution.tags:
        assert tag.cents >= -1e-6
        assert all(extra is None or extra >= 0 for extra in tag.extra_cents_by_mode)


def test_where_nothing_is_limited_and_nothing_owned_the_units_carry_the_whole_price(solved):
    problem, solution = solved(catalogue, 100, 0)
    terms = dict(solution.bound_terms)
    assert terms["limited offers"] == pytest.approx(0, abs=1)
    assert terms["owned nodes"] == 0
    assert tagged(problem, solution) > 0.9 * solution.bound_cents


def test_a_mode_that_no_pool_can_run_has_no_reduced_cost(build, solve):
    job_class = build.units(1, ("h100", 1, 0, 0), ("mi300x", 1, 0, 0))
    solution = solve(build.problem([build.pool()], [build.buy(100)], [job_class]))
    assert solution.tags[0].extra_cents_by_mode == (0.0, None)


def test_what_a_limited_offer_and_owned_nodes_take_off_the_bound_is_a_term_of_its_own(build, solve):
    """One node is owned, one is cheap but the only one, one is dear and sets the price: 100."""
    offers = [build.buy(40_00000, maximum=1), build.rent(100_00000)]
    job_class = build.units(3, ("h100", 8, 0, 0))
    solution = solve(build.problem([build.pool(owned=1)], offers, [job_class]))
    terms = dict(solution.bound_terms)
    assert solution.tags[0].cents == pytest.approx(100_00000)
    assert terms["owned nodes"] == pytest.approx(-100_00000)
    assert terms["limited offers"] == pytest.approx(-60_00000)
    assert solution.bound_cents == 140_00000


@pytest.mark.parametrize("seen", [(catalogue, 100, 0), (unique, 50, 0)])
def test_the_same_problem_has_the_same_solution(solved, solve, seen):
    generator, jobs, seed = seen
    assert solve(generator(jobs, seed), asked_gap=ASKED_GAP) == solved(*seen)[1]


def spoilt(problem: Problem, solution: Solution) -> Iterator[tuple[str, Solution]]:
    """Solutions with one fault each."""
    layouts = solution.layouts[0]
    pool = next(number for number, held in enumerate(layouts) if held)
    first, *rest = layouts[pool]
    doubled = replace(first, parts=tuple((d, c, 9 * units) for d, c, units in first.parts))

    def with_layouts(*held: Layout) -> Solution:
        return replace(solution, layouts=((*layouts[:pool], tuple(held), *layouts[pool + 1 :]),))

    none = tuple((0,) * problem.quarters for _ in problem.supplies)
    yield "placed", with_layouts(*rest)
    yield "on 1 nodes", with_layouts(Layout(doubled.parts, 1), *rest)
    yield "in use", replace(solution, acquired=none)
    yield "costs", replace(solution, cost_cents=solution.cost_cents + 1)
    yield "bound above cost", replace(solution, bound_cents=solution.cost_cents + 1)
    yield "assigned", replace(solution, assigned=((0,) * 9, *solution.assigned[1:]))
    fewer = tuple((-1,) * problem.quarters for _ in problem.supplies)
    yield "acquired", replace(solution, acquired=fewer)
    yield "span", with_layouts(replace(first, span=2), *rest)


def test_the_checker_of_these_tests_notices_every_kind_of_fault(solved, faults):
    problem, solution = solved(catalogue, 20, 0)
    for word, wrong in spoilt(problem, solution):
        assert any(word in fault for fault in faults(problem, wrong)), word
