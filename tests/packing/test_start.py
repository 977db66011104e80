"""A first plan from a solution in fractions: sound whatever shares nodes, and there in no time."""

from contextlib import suppress

import pytest

from planner.errors import LimitError
from planner.packing.answer import answer
from planner.packing.incumbent import Infeasible, begin
from planner.packing.problem import Part, Pool, Shape
from planner.packing.search import Search, search
from planner.packing.shared_gpus import first_fit_with_parts
from planner.packing.solver import solve_linear
from planner.packing.work import spent
from tests.packing.draws import QUARTERED, draw
from tests.properties.questions import draws

DRAWN = ("", "quotas", "power racks growth", "runs", "mig", "shared", "runs mig", "runs quotas")


@pytest.mark.parametrize("features", DRAWN)
def test_a_first_plan_is_sound(features, faults):
    planned = 0
    for seed in range(draws(12, 30)):
        problem = draw(features, seed)
        try:
            found = Search(problem, 0.0, 10.0).cut_root()
        except Infeasible:
            continue
        relaxed = solve_linear(found.master.program)
        assert relaxed is not None
        if begin(found, relaxed.values, 10.0):
            planned += 1
            assert not faults(problem, answer(problem, found, 0.0)), f"problem {seed}"
    assert planned >= 3, "too few plans to mean anything"


@pytest.mark.parametrize("features", DRAWN)
def test_where_there_is_a_plan_one_is_found_within_the_bound_though_time_is_over_at_once(
    features, faults, least_cost
):
    below = 0
    for seed in range(draws(12, 100)):
        problem = draw(features, seed)
        try:
            found = search(problem, asked_gap=0.0, time_limit_s=1e-9)
        except Infeasible:
            continue
        except LimitError:
            assert least_cost(problem) is None, f"problem {seed} has a plan"
            continue
        assert found.cost_cents is not None
        assert found.bound_cents <= least_cost(problem) <= found.cost_cents, f"problem {seed}"
        assert not faults(problem, answer(problem, found, 0.0)), f"problem {seed}"
        below += found.bound_cents < found.cost_cents
    assert below or features, "too few gaps to mean anything"


def test_first_fit_of_parts_minds_the_memory_of_the_host():
    """Three small parts fit one GPU, and the host of a node holds one of them only."""
    small, large = (Shape(1, 0, 6, part=Part(name, 0)) for name in ("1g", "4g"))
    pool = Pool("n", "main", "a", Shape(4, 0, 10), 0, 0, fabric=True, divisions=QUARTERED)
    packed = first_fit_with_parts(pool, ((), ()), {small: 3, large: 1})
    assert sum(times for _, times in packed.patterns) == 4
    assert packed.opened() == 4
    light = small._replace(memory_mb=3)
    packed = first_fit_with_parts(pool, ((), ()), {light: 6, large: 1})
    assert sum(times for _, times in packed.patterns) == 3
    assert packed.opened() == 4


def test_no_search_works_long_beyond_its_limit_where_a_quota_leaves_no_room():
    """Nodes were added one by one, sixty times, to runs that only their quota kept from a plan."""
    for seed in range(12):
        before = spent()
        with suppress(LimitError, Infeasible):
            search(draw("runs quotas", seed), asked_gap=0.0, time_limit_s=1e-9)
        assert spent() - before < 2.0
