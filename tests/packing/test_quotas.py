"""Quotas of teams: what they cost, and what is told where no plan keeps them."""

import random
from dataclasses import replace

import pytest

from planner.packing.problem import Problem, Quota
from tests.packing.draws import quota

BUY = 10_000_000


@pytest.fixture
def few_or_many(build):
    """Six units on 4 GPUs of cheap type a, or on 2 of dear type b."""

    def problem(*quotas: Quota, copies: tuple[int, int] = (1, 1)) -> Problem:
        pools = [build.pool("a"), build.pool("b")]
        supplies = [build.buy(BUY), build.buy(5 * BUY, pool=1)]
        units = build.units(6, ("a", 4, 0, 0), ("b", 2, 0, 0), copies=copies)
        stated = build.problem(pools, supplies, [replace(units, owner="red")])
        limited: Problem = replace(stated, quotas=quotas)
        return limited

    return problem


def test_the_bound_is_what_the_terms_say_where_a_quota_costs_money(few_or_many, plan):
    solution = plan(few_or_many(quota(20)))
    terms = dict(solution.bound_terms)
    tags = 6 * solution.tags[0].cents
    assert terms["quotas of the teams"] < -1
    assert tags + sum(terms.values()) == pytest.approx(solution.bound_cents, abs=1)


def test_very_many_unlike_units_are_levelled_within_their_quotas(build, solve, faults):
    rng = random.Random(5)
    demands = []
    for number in range(330):
        small, large = rng.choice((1, 2)), rng.choice((2, 3, 4))
        units = build.units(
            1,
            ("a", large, rng.randrange(20), rng.randrange(1, 150_000)),
            ("b", small, rng.randrange(20), rng.randrange(1, 150_000)),
        )
        demands.append(replace(units, owner=("red", "blue")[number % 2]))
    pools = [build.pool("a"), build.pool("b", node=(8, 90, 900_000))]
    supplies = [build.buy(BUY), build.buy(3 * BUY, pool=1)]
    stated = build.problem(pools, supplies, demands)
    free = solve(stated, asked_gap=0.01)
    quotas = (quota(330), quota(440, owner="blue"), quota(60, owner="blue", gpu_type="b"))
    problem = replace(stated, quotas=quotas)
    assert faults(problem, free), "the quotas do not bind"
    solution = solve(problem, asked_gap=0.01)
    assert not faults(problem, solution)
    assert free.cost_cents < solution.cost_cents
    assert solution.gap < 0.02


def test_the_raise_is_the_least_that_whole_units_need(build, refused):
    """Four units of 3 GPUs: 8 is two short of a third unit, and four need 12."""
    units = replace(build.units(4, ("h100", 3, 0, 0)), owner="red")
    problem = build.problem([build.pool()], [build.buy(BUY)], [units])
    error = refused(replace(problem, quotas=(quota(8),)))
    assert error.remedies == ("raise the quota of red by 4 GPUs, to 12 GPUs",)


def test_two_quotas_too_low_are_raised_together(build, refused):
    red = replace(build.units(2, ("h100", 8, 0, 0)), owner="red")
    blue = replace(red, owner="blue")
    problem = build.problem([build.pool()], [build.buy(BUY)], [red, blue])
    error = refused(replace(problem, quotas=(quota(8), quota(10, owner="blue"))))
    assert error.headline.endswith("the quota of red is 8 GPUs, at least 16 GPUs are needed")
    assert error.remedies == (
        "together: raise the quota of red by 8 GPUs, to 16 GPUs, "
        "raise the quota of blue by 6 GPUs, to 16 GPUs",
    )


def test_quotas_that_hold_singly_and_not_together_say_so(few_or_many, refused):
    """18 in all allow three units on type a; 4 of type b allow two units there."""
    error = refused(few_or_many(quota(18), quota(4, gpu_type="b")))
    assert error.headline == (
        "no plan exists: no plan for all jobs keeps the quota of red (18 GPUs) and "
        "the quota of red on b (4 GPUs) together"
    )
    assert error.remedies == (
        "raise the quota of red by 2 GPUs, to 20 GPUs",
        "raise the quota of red on b by 2 GPUs, to 6 GPUs",
    )


def test_where_nodes_are_short_too_the_quota_is_not_blamed(build, refused):
    units = replace(build.units(2, ("h100", 8, 0, 0)), owner="red")
    problem = build.problem([build.pool(owned=1)], [], [units])
    error = refused(replace(problem, quotas=(quota(8),)))
    assert "at least 8 GPUs more are needed than can be in service" in error.headline
    assert not any("quota" in line for line in (*error.reasons, *error.remedies))
