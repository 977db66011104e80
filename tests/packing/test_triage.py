"""Which jobs are kept where not all fit: triage agrees with trying every way to give way."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from functools import partial
from itertools import combinations, permutations, product
from typing import TYPE_CHECKING

import pytest

from planner.errors import DisagreementError, LimitError
from planner.packing.crosscheck import second_opinions
from planner.packing.incumbent import Infeasible
from planner.packing.limits import Limit, SpendLimit
from planner.packing.master import CENTS_PER_UNIT
from planner.packing.problem import Choice, Demand, Part, Problem, Quota, Shape
from planner.packing.search import search
from planner.packing.searches import Searches
from planner.packing.solution import Opinion, Verdict
from planner.packing.statement.nowhere import Claim
from planner.packing.triage import triage
from tests.packing.draws import SHARING
from tests.packing.meaning import slots
from tests.properties.questions import draws

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from planner.packing.triage import Triage

    Delays = dict[str, int | None]
    Order = tuple[tuple[int, ...], tuple[int, ...], int]


def ways(claims: list[Claim]) -> Iterator[Delays]:
    """Every way to give way: each job on time, later or not at all."""
    options = [[*range(len(claim.starts)), *([] if claim.required else [None])] for claim in claims]
    for picked in product(*options):
        yield dict(zip((claim.name for claim in claims), picked, strict=True))


def running(problem: Problem, claims: list[Claim], delays: Delays) -> Problem:
    """The problem of the jobs that are kept, as they start."""
    units: Counter[int] = Counter()
    for claim in claims:
        delay = delays[claim.name]
        if delay is not None:
            units.update(dict(claim.starts[delay]))
    demands = tuple(
        replace(demand, count=units[number])
        for number, demand in enumerate(problem.demands)
        if units[number]
    )
    return replace(problem, demands=demands)


def dropped_and_delayed(claims: list[Claim], delays: Delays) -> tuple[list[int], list[int]]:
    """How many, by priority, the highest first."""
    ranks = sorted({claim.priority for claim in claims}, reverse=True)
    found = ([0] * len(ranks), [0] * len(ranks))
    for claim in claims:
        delay = delays[claim.name]
        if delay is None:
            found[0][ranks.index(claim.priority)] += 1
        elif delay:
            found[1][ranks.index(claim.priority)] += 1
    return found


def every(claims: list[Claim]) -> Iterator[tuple[tuple[int, ...], tuple[int, ...], Delays]]:
    for delays in ways(claims):
        dropped, delayed = dropped_and_delayed(claims, delays)
        yield tuple(dropped), tuple(delayed), delays


def decide(problem: Problem, claims: list[Claim]) -> Triage:
    return triage(problem, claims, asked_gap=0.0, time_limit_s=20.0)


@pytest.fixture
def one_server(build) -> Callable[..., tuple[Problem, list[Claim]]]:
    """One server of 8 GPUs; jobs of (GPUs, priority), on one unit in the only quarter."""

    def stated(*jobs: tuple[int, int], **changes: bool) -> tuple[Problem, list[Claim]]:
        demands = [build.units(1, ("h100", gpus, 0, 0)) for gpus, _ in jobs]
        claims = [
            Claim("abcdef"[number], priority, False, (((number, 1),),))
            for number, (_, priority) in enumerate(jobs)
        ]
        return build.problem([build.pool(owned=1)], [], demands), claims

    return stated


def test_a_job_that_waits_for_its_server_waits_no_longer_than_it_must(build):
    """The server that is bought arrives in the second quarter of three."""
    demands = [build.units(1, ("h100", 8, 0, 0), quarters=(quarter,)) for quarter in range(3)]
    problem = build.problem([build.pool()], [build.buy(None, 300, 200)], demands, 3)
    claim = Claim("waits", 50, True, tuple(((quarter, 1),) for quarter in range(3)))
    assert decide(problem, [claim]).delays == {"waits": 2}, "the later, the cheaper"
    steady = replace(problem, supplies=(build.buy(None, 200, 200),))
    assert decide(steady, [claim]).delays == {"waits": 1}, "no cost speaks for more delay"


def test_jobs_that_are_alike_are_decided_together_and_named_apart(build):
    problem = build.problem([build.pool(owned=2)], [], [build.units(9, ("h100", 4, 0, 0))])
    claims = [Claim(f"job-{number}", 50, False, (((0, 1),),)) for number in range(9)]
    found = decide(problem, claims)
    assert list(found.delays) == [f"job-{number}" for number in range(9)]
    assert list(found.delays.values()) == [0] * 4 + [None] * 5


@pytest.fixture
def too_few_cores(build) -> tuple[Problem, list[Claim]]:
    """By weeks the cores would do: the run takes 5 of 14 for four of thirteen."""
    pool = replace(build.pool("b", node=(2, 14, 10)), shared_mb=80)
    share, run = Part("", 20), slots(4, 0, 13)
    shapes = (Shape(1, 2, 1, part=share), Shape(1, 5, 0, run=run), Shape(1, 7, 5, part=share))
    demands = [
        Demand((Choice("b", shape),), (0,), count)
        for shape, count in zip(shapes, (2, 1, 1), strict=True)
    ]
    problem = build.problem([pool], [build.buy(900, maximum=1)], demands)
    claims = [
        Claim(name, priority, False, (((number, demands[number].count),),))
        for number, (name, priority) in enumerate((("a", 75), ("b", 75), ("c", 50)))
    ]
    return problem, claims


def test_a_part_that_lacks_cores_beside_a_run_is_dropped(too_few_cores):
    found = decide(*too_few_cores)
    assert found.delays == {"a": 0, "b": 0, "c": None}
    assert [(level.dropped, level.delayed) for level in found.levels] == [(0, 0), (1, 0)]
    assert found.cost_cents == 900


def test_a_question_that_finds_no_plan_keeps_the_one_before_and_is_not_proved(
    too_few_cores, monkeypatch
):
    asked = []
    first = Searches.search

    def once(searches, problem, **limits):
        asked.append(limits)
        if len(asked) > 1:
            raise LimitError("no plan was found")
        return first(searches, problem, **limits)

    monkeypatch.setattr(Searches, "search", once)
    found = decide(*too_few_cores)
    assert found.levels[0].proved
    assert not found.levels[1].proved
    assert found.levels[1].dropped == 1


def drawn(rng: random.Random, build) -> tuple[Problem, list[Claim]]:
    """Two pools, few nodes to be had, two or three quarters, three to five jobs; some limits."""
    quarters = rng.choice((1, 2, 2, 3))
    pools = [build.pool("a", owned=1), build.pool("b", spare=rng.choice((0, 0, 1)))]
    first = rng.randrange(quarters)
    bought = [None if q < first else 1000 - 100 * q for q in range(quarters)]
    supplies = [
        build.buy(*bought, pool=0, maximum=1),
        build.rent(*(300 + 50 * q for q in range(quarters)), pool=1, maximum=rng.choice((1, 2))),
    ]
    demands: list[Demand] = []
    claims: list[Claim] = []
    for number in range(rng.randrange(3, 6)):
        asked = [(gpu, rng.choice((2, 4, 5, 8)), 0, 0) for gpu in rng.choice(("a", "b", "ab"))]
        active = sorted(rng.sample(range(quarters), rng.randrange(1, quarters + 1)))
        slip = rng.choice((0, 0, 1, 2))
        starts = []
        for delay in range(slip + 1):
            later = [quarter + delay for quarter in active if quarter + delay < quarters]
            if later:
                starts.append(((len(demands), 1),))
                owner = "team" if number < 2 else ""
                demand = replace(build.units(1, *asked, quarters=later), owner=owner)
                demands.append(demand)
        priority, required = rng.choice((25, 50, 50, 75)), rng.random() < 0.15
        claims.append(Claim(f"job-{number}", priority, required, tuple(starts)))
    problem = build.problem(pools, supplies, demands, quarters)
    return limited(problem, rng), claims


def limited(problem: Problem, rng: random.Random) -> Problem:
    """With a budget, a limit of power or a quota, or none of them."""
    kind = rng.choice(("none", "budget", "power", "quota"))
    if kind == "budget":
        cents = tuple(
            tuple(cost or 0 for cost in supply.unit_cost_cents) for supply in problem.supplies
        )
        limit = SpendLimit("spending in total", rng.choice((300, 700, 1200)), cents)
        return replace(problem, budgets=(limit,))
    if kind == "power":
        at_most = tuple(rng.choice((10, 20, None)) for _ in range(problem.quarters))
        return replace(problem, limits=(Limit("power", ((0, 10), (1, 10)), at_most, "W"),))
    if kind == "quota":
        at_most = tuple(rng.choice((4, 8, None)) for _ in range(problem.quarters))
        return replace(problem, quotas=(Quota("quota", "team", None, at_most),))
    return problem


def in_use(problem: Problem, rng: random.Random) -> Problem:
    """The same, where some of those that are active at first run on a pool today, or may not leave.

    Of alike pools one holds them; to leave it costs nothing, little, or more than any node.
    """
    homes = [pool.home for pool in problem.pools]
    demands = []
    for demand in problem.demands:
        home, kind = rng.choice(homes), rng.choice(("new", "moves", "moves", "pinned"))
        if kind == "moves" and 0 in demand.quarters:
            demands.append(replace(demand, origin=home, move_cents=rng.choice((0, 30, 5000))))
        elif kind == "pinned":
            choices = tuple(
                replace(choice, shape=choice.shape._replace(stays=home))
                for choice in demand.choices
            )
            demands.append(replace(demand, choices=choices))
        else:
            demands.append(demand)
    return replace(problem, demands=tuple(demands))


@pytest.fixture
def agree(least_cost) -> Callable[..., Counter[str]]:
    """Compare triage with trying every way to give way, from the best on; what was seen."""

    def best(problem: Problem, claims: list[Claim]) -> Order | None:
        least: Order | None = None
        for dropped, delayed, delays in sorted(every(claims), key=lambda way: way[:2]):
            if least is not None and (dropped, delayed) > least[:2]:
                break
            cost = least_cost(running(problem, claims, delays))
            if cost is not None and (least is None or cost < least[2]):
                least = dropped, delayed, cost
        return least

    def compared(asked: Iterable[tuple[Problem, list[Claim]]]) -> Counter[str]:
        seen: Counter[str] = Counter()
        for number, (problem, claims) in enumerate(asked):
            expected = best(problem, claims)
            try:
                found = decide(problem, claims)
            except Infeasible:
                assert expected is None, f"problem {number} has a plan: {expected}"
                continue
            assert expected is not None, f"problem {number} has no plan"
            everyone = {claim.name: 0 for claim in claims} | found.delays
            dropped, delayed = map(tuple, dropped_and_delayed(claims, everyone))
            assert (dropped, delayed, found.cost_cents) == expected, f"problem {number}"
            assert found.bound_cents <= found.cost_cents
            kept = running(
                problem, claims, everyone
            )  # its plan is the first one of the last search
            begun = search(kept, asked_gap=0.0, time_limit_s=1e-9, nodes=found.nodes)
            assert begun.cost_cents == found.cost_cents, f"problem {number}"
            assert all(level.proved for level in found.levels), f"problem {number}"
            seen["dropped"] += any(dropped)
            seen["delayed"] += any(delayed)
        return seen

    return compared


@pytest.mark.parametrize("batch", range(3))
def test_so_it_does_where_jobs_run_today(batch, build, agree):
    def asked() -> Iterator[tuple[Problem, list[Claim]]]:
        for seed in range(10):
            rng = random.Random(f"in use {batch} {seed}")
            problem, claims = drawn(rng, build)
            yield in_use(problem, rng), claims

    seen = agree(asked())
    assert seen["dropped"] >= 3


@pytest.mark.parametrize("batch", range(draws(3, 6)))
def test_triage_agrees_with_trying_every_way(batch, build, agree):
    seeds = range(batch * 10, batch * 10 + 10)
    seen = agree(drawn(random.Random(seed), build) for seed in seeds)
    assert seen["dropped"], "too little is dropped to mean anything"


def test_other_solvers_confirm_each_step_that_has_somebody_give_way(build):
    """As drawn above: claims are in jobs while jobs are counted, then in cents."""
    ask = partial(second_opinions, time_limit_s=20.0)
    for seed in range(10):
        problem, claims = drawn(random.Random(seed), build)
        try:
            found = triage(problem, claims, asked_gap=0.0, time_limit_s=20.0, ask=ask)
        except Infeasible:
            continue
        said = {step.counted: step.least for step in found.confirmed}
        expected = {"": found.bound_cents}
        for level in found.levels:
            counts = {"dropped": level.dropped, "delayed": level.delayed}
            for way, jobs in counts.items():
                if jobs:
                    expected[f"jobs of priority {level.priority} that are {way}"] = jobs
        assert said == expected, f"problem {seed}"
        for step in found.confirmed:
            assert [one.verdict for one in step.opinions] == [Verdict.CONFIRMED] * 2


def test_a_step_that_another_solver_refutes_leaves_no_answer(one_server):
    def refute(claim):
        verdict = Verdict.REFUTED if claim.counted else Verdict.CONFIRMED
        return (Opinion("another", verdict, claim.bound_cents - CENTS_PER_UNIT),)

    with pytest.raises(DisagreementError) as raised:
        triage(*one_server((8, 75), (4, 50), (4, 50)), asked_gap=0, time_limit_s=20, ask=refute)
    told = str(raised.value)
    assert "proved that no plan has fewer than 2 jobs of priority 50 that are dropped" in told
    assert "another has a solution at 1 jobs of priority 50 that are dropped" in told


def scarce(problem: Problem, rng: random.Random) -> Problem:
    """The same with one node of each offer, or none."""
    few = (replace(supply, maximum=rng.choice((0, 1, 1))) for supply in problem.supplies)
    return replace(problem, supplies=tuple(few))


def claimed(problem: Problem, rng: random.Random) -> tuple[Problem, list[Claim]]:
    """The same, where the first units are jobs that may be dropped and some may be delayed."""
    demands: list[Demand] = []
    claims: list[Claim] = []
    for number, demand in enumerate(problem.demands[:4]):
        starts = []
        for delay in range(rng.choice((1, 1, 2, 3))):
            later = [quarter + delay for quarter in demand.quarters]
            within = tuple(quarter for quarter in later if quarter < problem.quarters)
            if within:
                starts.append(((len(demands), demand.count),))
                demands.append(replace(demand, quarters=within))
        priority, required = rng.choice((25, 50, 50, 75)), rng.random() < 0.15
        claims.append(Claim(f"job-{number}", priority, required, tuple(starts)))
    return replace(problem, demands=tuple(demands)), claims


@pytest.mark.parametrize("draw", SHARING)
def test_so_it_does_where_jobs_run_for_some_weeks_or_share_gpus(draw, agree):
    seeds = (random.Random(f"triage {draw.__name__} {number}") for number in range(10))
    seen = agree(claimed(scarce(draw(rng), rng), rng) for rng in seeds)
    assert seen["dropped"] >= 2, "too little is dropped to mean anything"


@pytest.mark.parametrize("names", list(permutations("abcd")), ids="".join)
def test_where_cost_leaves_a_choice_whoever_comes_first_by_name_is_kept(one_server, names):
    problem, claims = one_server((2, 50), (3, 50), (4, 50), (5, 50))
    renamed = [replace(claim, name=name) for claim, name in zip(claims, names, strict=True)]
    gpus = dict(zip(names, (2, 3, 4, 5), strict=True))
    pairs = [pair for pair in combinations("abcd", 2) if sum(gpus[one] for one in pair) <= 8]
    kept = min(pairs)
    assert decide(problem, renamed).delays == {name: 0 if name in kept else None for name in names}


def test_whoever_comes_first_by_name_starts_first_where_one_must_wait(build):
    """Both want the only server in both quarters, for one of them."""
    demands = [
        build.units(1, ("h100", 8, cpus, 0), quarters=(quarter,))
        for cpus in (1, 2)
        for quarter in (0, 1)
    ]
    problem = build.problem([build.pool(owned=1)], [], demands, 2)
    for names in (("early", "late"), ("late", "early")):
        claims = [
            Claim(name, 50, False, (((2 * place, 1),), ((2 * place + 1, 1),)))
            for place, name in enumerate(names)
        ]
        assert decide(problem, claims).delays == {"early": 0, "late": 1}
