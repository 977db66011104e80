"""Small random problems: the search and trying everything agree on every one, whatever meets."""

from collections import Counter
from itertools import combinations

import pytest

from planner.errors import LimitError
from planner.packing.solution import Status
from tests.packing.draws import draw, lifted
from tests.properties.questions import draws

ROUNDING = 1e-6
"""Prices of layouts are floats: a bound may be a cent too low."""

OFFERS = ("window", "retire", "reserve", "lots", "deliveries", "sites", "budget")
"""Each alone, with each other, and all at once."""
MEETING = """
quotas | quotas power | quotas budget | quotas copies
power | units racks | racks | ports power units | racks copies | traffic | traffic racks
growth | growth power | growth copies | power budget | racks budget
runs | wide runs | runs power | runs racks | runs growth | runs copies | runs quotas | runs lots
runs reserve | runs retire | runs sites
mig | shared | mig shared copies | mig traffic | shared quotas | mig quotas portions | mig racks
shared quotas portions | mig budget | shared growth | mig sites | runs mig | runs shared
mig own-node | mig shared own-node | mig own-node growth | mig own-node racks | runs mig own-node
runs mig quotas portions
today | today budget | today power | today quotas | runs today | mig today
changes | changes window | changes lots | changes budget | changes today | changes quotas
runs changes | shared changes
mixed | mixed quotas | mixed budget | mixed racks | mixed growth | mixed spares | mixed mig shared
mixed lots
release | release dear | release power units | release growth | release budget | sell racks
spares | rack-spares | spares window | spares copies
"""
LIMITS = ("quotas", "power", "units", "racks", "ports", "growth", "spares", "rack-spares", "budget")
"""Where one of these stands first, it must decide some answer."""
ROWS = {"": 40, "copies": 20, "wide": 12}
ROWS |= dict.fromkeys((*OFFERS, *map(" ".join, combinations(OFFERS, 2)), " ".join(OFFERS)), 6)
ROWS |= {row.strip(): 10 for row in MEETING.replace("\n", "|").split("|") if row.strip()}


@pytest.mark.parametrize("features", ROWS, ids=lambda features: features or "plain")
def test_the_search_agrees_with_trying_everything(features, solve, least_cost, faults):
    """Which hours runs may start in is a question of its own, asked by the bound on the average."""
    seen: Counter[str] = Counter()
    size = draws(ROWS[features], 3 * ROWS[features])
    inexact = not {"runs", "mig", "shared", "mixed", "release", "sell"}.isdisjoint(features.split())
    for seed in range(size):
        problem = draw(features, seed)
        best = least_cost(problem)
        try:
            solution = solve(problem, asked_gap=ROUNDING if inexact else 0.0)
        except LimitError:  # neither a plan nor a proof that there is none
            assert best is None, f"problem {seed} has a plan that costs {best}"
            seen["undecided"] += 1
            continue
        seen["decided"] += best != least_cost(lifted(problem))
        if solution is None:
            assert best is None, f"problem {seed} has a plan that costs {best}"
            seen["infeasible"] += 1
            continue
        assert not faults(problem, solution), f"problem {seed}"
        assert best is not None, f"problem {seed} has no plan"
        assert solution.bound_cents <= best <= solution.cost_cents, f"problem {seed}"
        if solution.status is Status.PROVED:
            assert solution.cost_cents == best, f"problem {seed}"
        tags = zip(solution.tags, problem.classes, strict=True)
        shares = sum(tag.cents * job_class.count for tag, job_class in tags)
        shares += sum(cents for _, cents in solution.bound_terms)
        assert shares == pytest.approx(solution.bound_cents, rel=1e-6, abs=1), f"problem {seed}"
        seen[solution.status] += 1
        seen["moves"] += any(solution.moved)
        supplies = zip(problem.supplies, solution.acquired, strict=True)
        seen["released"] += any(any(nodes) for supply, nodes in supplies if supply.releases)
    assert seen[Status.PROVED] >= size // 5, f"too few plans to mean anything: {seen}"
    assert seen[Status.NOT_PROVED] + seen["undecided"] <= (size // 5 if inexact else size // 20)
    assert seen["decided"] or features.split(" ")[0] not in LIMITS, "no limit decides anything"
    assert seen["moves"] or features != "runs today", "nothing moves"
    assert seen["released"] or not features.startswith(("release", "sell")), "nothing is let go"
