"""Owned nodes that are sold or switched off: what trying everything finds is found."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import product

import pytest

from planner.packing.limits import RackSpace
from planner.packing.problem import Pool, Problem, Shape, Supply
from planner.packing.solution import Status
from tests.packing.exhaustive import Exhaustive
from tests.packing.test_sites import draw_demand, draw_offers, with_limits
from tests.properties.questions import draws


def sell(*cents, pool=0, maximum=1, until=None):
    return Supply(f"fleet-{pool}", "sell", pool, maximum, cents, until=until)


def switch_off(*cents, pool=0, maximum=1):
    return Supply(f"fleet-{pool}", "switch off", pool, maximum, cents)


def groups(problem):
    """Numbers of the supplies that let go of nodes of the same entry."""
    found: dict[tuple[str, int], list[int]] = {}
    for number, supply in enumerate(problem.supplies):
        if supply.kind in ("sell", "switch off"):
            found.setdefault((supply.name, supply.pool), []).append(number)
    return list(found.values())


def ways(problem, group):
    """Every way to let nodes of an entry go: by supply and quarter."""
    per_quarter = [
        [
            range(supply.maximum + 1 if supply.unit_cost_cents[quarter] is not None else 1)
            for quarter in range(problem.quarters)
        ]
        for supply in (problem.supplies[number] for number in group)
    ]
    for counts in product(*(product(*ranges) for ranges in per_quarter)):
        way = dict(zip(group, counts, strict=True))
        sold, off = (0,) * problem.quarters, (0,) * problem.quarters
        nodes = 0
        for number, count in way.items():
            supply = problem.supplies[number]
            nodes = max(nodes, supply.maximum)
            if supply.kind == "sell":
                sold, most = count, supply.maximum
                if sum(count) > most:
                    break
            else:
                off, nodes = count, supply.maximum
        else:
            if all(sum(sold[: q + 1]) + off[q] <= nodes for q in range(problem.quarters)):
                yield way


def without(problem, way):
    """The problem in which these nodes are let go and no others: nothing is left to let go."""
    quarters = range(problem.quarters)
    off, gone = ({n: [0] * problem.quarters for n in range(len(problem.pools))} for _ in "ab")
    cents, spent = 0, [0] * len(problem.budgets)
    for number, counts in way.items():
        supply = problem.supplies[number]
        for quarter, count in enumerate(counts):
            cents += count * (supply.unit_cost_cents[quarter] or 0)
            for place, budget in enumerate(problem.budgets):
                spent[place] += count * budget.cents[number][quarter]
            if supply.kind == "switch off":
                off[supply.pool][quarter] += count
            else:
                for later in range(quarter, problem.quarters):
                    gone[supply.pool][later] += count * (
                        supply.until is None or later < supply.until
                    )
    pools = tuple(
        replace(
            pool,
            retired=tuple(
                (pool.retired[q] if pool.retired else 0) + off[n][q] + gone[n][q] for q in quarters
            ),
        )
        for n, pool in enumerate(problem.pools)
    )
    limits = tuple(
        replace(
            limit,
            at_most=tuple(
                most
                if most is None or limit.drawn
                else most - sum(amount * off[pool][q] for pool, amount in limit.terms)
                for q, most in enumerate(limit.at_most)
            ),
        )
        for limit in problem.limits
    )
    budgets = tuple(
        replace(budget, at_most_cents=budget.at_most_cents - paid)
        for budget, paid in zip(problem.budgets, spent, strict=True)
    )
    never = (None,) * problem.quarters
    supplies = tuple(
        Supply(one.name, "rent", one.pool, 0, never) if one.kind in ("sell", "switch off") else one
        for one in problem.supplies
    )
    return replace(
        problem,
        pools=pools,
        limits=limits,
        budgets=budgets,
        supplies=supplies,
        fixed_cost_cents=problem.fixed_cost_cents + cents,
    )


def least_cost_of(problem):
    """By trying every way to let nodes go, and everything else that may be decided with it.

    Fewer nodes make nothing else cheaper but by what they take of limits and budgets: what costs
    more even without these than the best known is left out.
    """
    free = replace(without(problem, {}), limits=(), racks=(), budgets=())
    least, best = Exhaustive(free).least_cost(), None
    if least is None:
        return None
    tried = (
        without(problem, {n: counts for way in chosen for n, counts in way.items()})
        for chosen in product(*(ways(problem, group) for group in groups(problem)))
    )
    for rest in sorted(tried, key=lambda rest: rest.fixed_cost_cents):
        beside = rest.fixed_cost_cents - problem.fixed_cost_cents
        if best is not None and least + beside >= best:
            break
        if any(most is not None and most < 0 for one in rest.limits for most in one.at_most):
            continue
        cost = Exhaustive(rest).least_cost()
        best = cost if best is None or (cost is not None and cost < best) else best
    return best


def with_releases(problem, rng, kinds=("sell", "off", "both", "both", "none")):
    """Up to two owned nodes in each pool, some of which may be sold, switched off, or both."""
    pools, supplies = [], list(problem.supplies)
    for number, pool in enumerate(problem.pools):
        owned = rng.choice((1, 2, 2))
        retires = rng.choice((None, None, 1)) if problem.quarters > 1 else None
        retired = (
            () if retires is None else (0,) * retires + (owned,) * (problem.quarters - retires)
        )
        pools.append(replace(pool, owned=owned, retired=retired))
        nodes = rng.randrange(1, owned + 1) if owned else 0
        served = problem.quarters if retires is None else retires
        which = rng.choice(kinds) if nodes else "none"
        if which in ("sell", "both"):
            price = rng.randrange(100_000, 6_000_000)
            cents = tuple(
                rng.choice((None, -price + q * price // 4, -price, price // 9))
                for q in range(problem.quarters)
            )
            most = rng.randrange(1, nodes + 1)
            supplies.append(sell(*cents, pool=number, maximum=most, until=retires))
        if which in ("off", "both"):
            cents = tuple(
                -rng.randrange(1, 900_000) if q < served else None for q in range(problem.quarters)
            )
            supplies.append(switch_off(*cents, pool=number, maximum=nodes))
    return replace(problem, pools=tuple(pools), supplies=tuple(supplies))


def draw(rng):
    """One or two pools and few units, as very many ways to let nodes go are tried with each."""
    quarters = rng.choice((1, 2, 2))
    pools = tuple(
        Pool(
            f"n{number}",
            site,
            rng.choice("ab"),
            Shape(rng.choice((4, 8)), 20, 10),
            0,
            rng.choice((0, 0, 0, 1)),
            fabric=True,
        )
        for number, site in enumerate(rng.choice(("x", "xx", "xy")))
    )
    supplies = tuple(one for n in range(len(pools)) for one in draw_offers(n, quarters, rng)[-1:])
    supplies = tuple(replace(one, maximum=min(2, one.maximum or 2)) for one in supplies)
    demands = tuple(draw_demand(pools, quarters, rng) for _ in range(rng.randrange(1, 3)))
    return Problem(quarters, pools, supplies, demands, 77)


def with_drawn(problem, rng):
    limits = tuple(replace(one, drawn=one.name.startswith("power")) for one in problem.limits)
    budgets = tuple(
        replace(
            budget,
            cents=tuple(
                tuple(
                    -abs(cost or 0) // 3
                    if supply.kind in ("sell", "switch off")
                    else abs(cost or 0)
                    for cost in supply.unit_cost_cents
                )
                for supply in problem.supplies
            ),
        )
        for budget in problem.budgets
    )
    return replace(problem, limits=limits, budgets=budgets)


def dearer(problem):
    """Owned nodes bring so much that more is received than is paid."""
    supplies = (
        replace(one, unit_cost_cents=tuple(cents and 10 * cents for cents in one.unit_cost_cents))
        if one.kind == "sell"
        else one
        for one in problem.supplies
    )
    return replace(problem, supplies=tuple(supplies))


@pytest.fixture
def plan_of(solve):
    """The proved plan, as cheap as trying everything finds; None if there is none."""

    def planned(problem):
        solution = solve(problem)
        assert (solution and solution.cost_cents) == least_cost_of(problem)
        assert solution is None or solution.status is Status.PROVED
        return solution

    return planned


@pytest.mark.parametrize(
    "which",
    [
        set(),
        {"dear"},
        {"power", "units"},
        {"growth"},
        {"budget"},
        {"ports", "budget"},
        {"racks"},
    ],
    ids=lambda which: "+".join(sorted(which)) or "alone",
)
def test_the_search_agrees_with_trying_every_combination(which, solve, faults):
    rng = random.Random(f"let go {sorted(which)}")
    let_go = infeasible = 0
    kinds = {"kinds": ("sell",)} if "racks" in which else {}  # what is off stays in its rack
    for number in range(draws(15, 30)):
        problem = with_releases(draw(rng), rng, **kinds)
        problem = with_drawn(with_limits(problem, rng, which=which), rng)
        problem = dearer(problem) if "dear" in which else problem
        solution, best = solve(problem), least_cost_of(problem)
        assert (solution and solution.cost_cents) == best, f"problem {number}"
        if solution is None:
            infeasible += 1
            continue
        assert best - 1 <= solution.bound_cents <= best  # solvers round in the last digit
        chosen = {n: solution.released[n] for group in groups(problem) for n in group}
        rest = without(problem, chosen)
        kept = replace(solution, released=())
        assert not faults(rest, kept), f"problem {number}"
        let_go += any(map(any, chosen.values()))
    assert let_go >= 2
    assert infeasible < draws(14, 24)


def test_a_pool_that_runs_nothing_keeps_no_spare(build, plan_of):
    problem = build.problem([build.pool(owned=3, spare=1)], [sell(-9, maximum=3)], [])
    assert plan_of(problem).released == ((3,),)


@pytest.mark.parametrize(("let_go", "cost"), [(switch_off(0), 9000), (sell(0), 1000)])
def test_a_rack_is_free_for_others_where_a_node_is_sold_and_not_where_it_is_off(
    build, solve, let_go, cost
):
    pools = [build.pool("a", owned=1), build.pool("b"), build.pool("b", site="far")]
    supplies = [let_go, build.buy(1000, pool=1), build.buy(9000, pool=2)]
    problem = build.problem(pools, supplies, [build.units(1, ("b", 8, 0, 0))])
    racks = RackSpace("main", 1, 10, None, ((0, 10, 0), (1, 10, 0)))
    assert solve(replace(problem, racks=(racks,))).cost_cents == cost
