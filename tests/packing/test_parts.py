"""Parts of GPUs: partitions and shares of memory, alone and against trying everything."""

from __future__ import annotations

import random
from dataclasses import replace
from fractions import Fraction

import pytest

from planner.packing.limits import Limit, RackSpace, Reserve, SpendLimit
from planner.packing.problem import (
    ALWAYS,
    WHOLE,
    Choice,
    Demand,
    Division,
    Part,
    Pool,
    Problem,
    Quota,
    Shape,
    Supply,
)
from planner.packing.solution import Status
from tests.packing.meaning import slots
from tests.packing.test_runs import ROUNDING
from tests.properties.questions import draws

QUARTERED = (
    Division((("1g", 0), ("1g", 1), ("1g", 2), ("1g", 3))),
    Division((("1g", 0), ("1g", 1), ("2g", 2))),
    Division((("2g", 0), ("1g", 2), ("1g", 3))),
    Division((("2g", 0), ("2g", 2))),
    Division((("4g", 0),)),
)
"""A GPU of four slices."""
SEVENTHS = (
    Division(tuple(("1g", start) for start in range(7))),
    Division((("2g", 0), ("2g", 2), ("2g", 4), ("1g", 6))),
    Division((("3g", 0), ("3g", 4))),
    Division((("4g", 0), ("3g", 4))),
    Division((("4g", 0), ("2g", 4), ("1g", 6))),
    Division((("3g", 0), ("2g", 4), ("1g", 6))),
)
"""Some divisions of a GPU with seven slices of compute and eight of memory."""


SIZE = draws(12, 30)


def draw(rng: random.Random, features: set[str]) -> Problem:
    """Two pools, few nodes, up to seven pieces, most of them parts of GPUs."""
    quarters = 2 if "quarters" in features else 1
    pools = tuple(draw_pool(number, rng, features) for number in range(rng.choice((1, 2))))
    supplies = [supply for number in range(len(pools)) for supply in offers(number, quarters, rng)]
    left, demands = rng.randrange(2, 6 if "weeks" in features else 8), []
    while left > 0:
        most = min(left, 2 if "weeks" in features else 4)
        demand = draw_demand(pools, quarters, most, rng, weeks="weeks" in features)
        demands.append(demand)
        left -= demand.count * max(choice.copies for choice in demand.choices)
    return Problem(quarters, pools, tuple(supplies), tuple(demands), 1234)


def draw_pool(number: int, rng: random.Random, features: set[str]) -> Pool:
    node = Shape(rng.choice((1, 2, 2, 4)), rng.choice((14, 20, 40)), rng.choice((10, 23, 40)))
    return Pool(
        f"n{number}",
        "xy"[number] if "sites" in features else "main",
        "a" if "sites" in features else "ab"[number],
        node,
        rng.choice((0, 0, 1)),
        rng.choice((0, 1)) if "spares" in features else 0,
        True,
        divisions=rng.choice((QUARTERED, SEVENTHS)) if "mig" in features else (),
        shared_mb=80 if "shared" in features else 0,
        mixes="own-node" not in features,
    )


def offers(pool: int, quarters: int, rng: random.Random) -> list[Supply]:
    price = rng.randrange(1_000_000, 9_000_000)
    bought = tuple(price - q * price // 3 for q in range(quarters))
    made = [Supply(f"buy{pool}", "buy", pool, rng.choice((1, 3, None, None)), bought)]
    if rng.random() < 0.3:
        rented = tuple(price * rng.randrange(30, 80) // 100 for _ in range(quarters))
        made.append(Supply(f"rent{pool}", "rent", pool, 2, rented))
    return made


def draw_demand(
    pools: tuple[Pool, ...], quarters: int, most: int, rng: random.Random, *, weeks: bool
) -> Demand:
    choices = {
        draw_choice(rng.choice(pools), most, rng, weeks=weeks) for _ in range(rng.choice((1, 1, 2)))
    }
    copies = max(choice.copies for choice in choices)
    active = tuple(sorted(rng.sample(range(quarters), rng.randrange(1, quarters + 1))))
    ordered = tuple(sorted(choices, key=repr))
    return Demand(ordered, active, rng.randrange(1, most // copies + 1))


def draw_choice(pool: Pool, most: int, rng: random.Random, *, weeks: bool) -> Choice:
    profiles = sorted({profile for one in pool.divisions for profile, _ in one.slots})
    parts = [Part(rng.choice(profiles), 0)] if profiles else []
    parts += [Part("", rng.choice((11, 20, 27, 35, 41, 80)))] if pool.shared_mb else []
    sites = rng.choice(((), (pool.site,))) if pool.site != "main" else ()
    cpus = rng.randrange(0, pool.node.cpus // rng.choice((2, 4, 8)) + 1)
    memory_mb = rng.randrange(0, pool.node.memory_mb // rng.choice((2, 4, 8)) + 1)
    if rng.random() < (0.4 if weeks else 0.2):
        run = slots(rng.choice((4, 7))) if weeks else ALWAYS
        shape = Shape(rng.choice((1, 1, 2)), cpus, memory_mb, sites=sites, run=run)
        return Choice(pool.gpu_type, shape)
    shape = Shape(1, cpus, memory_mb, sites=sites, part=rng.choice(parts))
    return Choice(pool.gpu_type, shape, rng.choice((1, 1, min(most, 3))))


def with_limits(problem: Problem, rng: random.Random, features: set[str]) -> Problem:
    """The same, where racks, budgets, quotas or a reserve bind as well."""
    if "racks" in features:
        sizes = [(n, rng.choice((3, 4, 7)), 0) for n in range(len(problem.pools))]
        space = RackSpace("main", rng.choice((1, 2)), 8, None, tuple(sizes))
        problem = replace(problem, racks=(space,))
    if "power" in features:
        watts = [(n, rng.choice((5, 6, 11))) for n in range(len(problem.pools))]
        most = (rng.choice((11, 17, 22)),) * problem.quarters
        problem = replace(problem, limits=(Limit("power", tuple(watts), most, "W"),))
    if "growth" in features:
        shares = tuple(Reserve(name, Fraction(rng.randrange(60), 100)) for name in "ab")
        problem = replace(problem, reserves=shares, demands=problem.demands[:2])
    if "budget" in features:
        cents = tuple(
            tuple(cost or 0 for cost in supply.unit_cost_cents) for supply in problem.supplies
        )
        problem = replace(
            problem, budgets=(SpendLimit("all", rng.randrange(1, 20) * 10**6, cents),)
        )
    if "quotas" in features:
        demands = tuple(replace(one, owner=rng.choice("pq")) for one in problem.demands)
        below = 3 if "portions" in features else 6
        quotas = tuple(
            Quota(f"quota of {owner}", owner, None, (rng.randrange(1, below),) * problem.quarters)
            for owner in "pq"
        )
        problem = replace(problem, demands=demands, quotas=quotas)
    if "portions" in features:
        demands = tuple(
            replace(one, choices=tuple(map(in_portions, one.choices))) for one in problem.demands
        )
        problem = replace(problem, demands=demands)
    return problem


def in_portions(choice: Choice) -> Choice:
    """The same, its part counted against quotas as a portion of a GPU."""
    part = choice.shape.part
    slices = Fraction(int(part.profile[0]), 8) if part.profile else Fraction(part.memory_mb, 80)
    return replace(choice, share=slices if part != WHOLE else Fraction(1))


FEATURES = [
    {"mig"},
    {"shared"},
    {"mig", "shared"},
    {"mig", "shared", "quarters"},
    {"mig", "spares"},
    {"shared", "spares"},
    {"mig", "sites"},
    {"shared", "sites"},
    {"mig", "quotas"},
    {"shared", "quotas"},
    {"mig", "weeks", "quotas"},
    {"mig", "quotas", "portions"},
    {"shared", "quotas", "portions", "quarters"},
    {"mig", "weeks", "quotas", "portions"},
    {"mig", "budget"},
    {"shared", "budget"},
    {"mig", "racks"},
    {"shared", "racks"},
    {"mig", "power"},
    {"mig", "growth"},
    {"shared", "growth"},
    {"mig", "own-node"},
    {"mig", "shared", "own-node"},
    {"mig", "own-node", "spares"},
    {"mig", "own-node", "quarters"},
    {"mig", "own-node", "sites"},
    {"mig", "own-node", "growth"},
    {"mig", "own-node", "racks"},
    {"mig", "weeks"},
    {"shared", "weeks"},
    {"mig", "own-node", "weeks"},
    {"mig", "shared", "weeks"},
    {"mig", "shared", "power", "quarters"},
    {"mig", "shared", "own-node", "budget"},
]


@pytest.mark.parametrize("features", FEATURES, ids=lambda features: "+".join(sorted(features)))
def test_the_search_agrees_with_trying_everything(features, agree):
    rng = random.Random(f"parts {sorted(features)}")
    size = SIZE // 2 if "weeks" in features else SIZE
    drawn = (with_limits(draw(rng, features), rng, features) for _ in range(size))
    seen = agree(drawn, asked_gap=ROUNDING)
    assert seen[Status.PROVED] >= size // 4, "too few plans to mean anything"
    assert features & {"growth", "weeks"} or not seen[Status.NOT_PROVED]
    assert seen[Status.NOT_PROVED] <= 1


@pytest.fixture
def nodes_for(build, solve, faults):
    """Nodes bought for pieces of one pool: (what of a GPU, cores, pieces, pieces of a unit)."""

    def bought(
        *pieces: tuple[Part, int, int],
        node: tuple[int, int, int] = (1, 80, 800),
        mixes: bool = True,
    ) -> int | None:
        pool = replace(build.pool(node=node), divisions=SEVENTHS, shared_mb=80_000, mixes=mixes)
        demands = [
            Demand((Choice("h100", Shape(1, cpus, 0, part=part)),), (0,), count)
            for part, cpus, count in pieces
        ]
        problem = build.problem([pool], [build.buy(1_000)], demands)
        solution = solve(problem)
        if solution is None:
            return None
        assert not faults(problem, solution)
        assert solution.status is Status.PROVED
        nodes: int = solution.bought[0][0]
        return nodes

    return bought


ONE_G, TWO_G, THREE_G = Part("1g", 0), Part("2g", 0), Part("3g", 0)


def test_a_part_that_no_gpu_has_cannot_run(nodes_for):
    assert nodes_for((Part("5g", 0), 0, 1)) is None
    assert nodes_for((Part("", 80_001), 0, 1)) is None


def test_shares_of_a_hundred_sizes_are_told_apart_when_they_are_laid_out(nodes_for):
    """Too many fillings to list: the bound counts in cells, the layout in MB."""
    pieces = [(Part("", 20_000 + 37 * number), 0, 1) for number in range(50)]
    pieces += [(Part("", 20_000 - 37 * number), 0, 1) for number in range(50)]
    assert nodes_for(*pieces, node=(8, 80, 800)) == 4


def test_hosts_that_decide_which_parts_share_a_node_are_in_the_bound(nodes_for):
    """Two GPUs would do for the memory of four halves; a node has cores for two of them alone."""
    half = Part("", 40_000)
    assert nodes_for((half, 30, 4), (WHOLE, 20, 1), node=(3, 80, 9)) == 2
    assert nodes_for((half, 50, 2), (half, 30, 2), node=(2, 80, 9)) == 2
    assert nodes_for((half, 50, 3), (half, 29, 3), node=(2, 80, 9)) == 3


def test_shares_that_fill_no_gpu_are_told_by_a_cut_as_pieces_that_fill_no_node_are(nodes_for):
    """Their memory is that of four GPUs less a bit; beside 31 GB only one of 25 finds room."""
    assert nodes_for((Part("", 31_000), 0, 5), (Part("", 25_000), 0, 6), node=(1, 80, 9)) == 5


def test_unlike_shares_over_quarters_have_a_plan_at_once(build, solve, faults):
    rng = random.Random(5)
    pool = replace(build.pool(), shared_mb=72_000)
    demands = [
        Demand(
            (Choice("h100", Shape(1, 0, 0, part=Part("", rng.randrange(20_000, 40_000)))),),
            tuple(range(rng.randrange(3), 3)),
            1,
        )
        for _ in range(80)
    ]
    problem = build.problem([pool], [build.buy(900_000, 800_000, 700_000)], demands, 3)
    solution = solve(problem, asked_gap=0.5)
    assert not faults(problem, solution)


def test_partitions_are_told_with_a_real_place_for_each(build, solve):
    pool = replace(build.pool(node=(1, 80, 800)), divisions=SEVENTHS)
    demands = [
        Demand((Choice("h100", Shape(1, 0, 0, part=part)),), (0,), 1)
        for part in (Part("4g", 0), TWO_G, ONE_G)
    ]
    solution = solve(build.problem([pool], [build.buy(1_000)], demands))
    (layout,) = solution.layouts[0][0]
    slots = {member.demand: member.slot for member in layout.bundles[0].members}
    assert slots == {0: 0, 1: 4, 2: 6}
