"""Units short one by one: triage agrees with trying every way to give way, quarter by quarter."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from functools import partial
from itertools import chain, combinations, combinations_with_replacement, product
from typing import TYPE_CHECKING

import pytest

from planner.packing.crosscheck import second_opinions
from planner.packing.incumbent import Infeasible
from planner.packing.limits import Reserve
from planner.packing.problem import Choice, Demand, Problem, Quota, Shape
from planner.packing.solution import Verdict
from planner.packing.statement.nowhere import Claim
from planner.packing.triage import Level, triage
from tests.packing.draws import SHARING
from tests.packing.meaning import slots
from tests.packing.test_triage import in_use, limited
from tests.properties.questions import draws

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from planner.packing.triage import Triage

    Short = dict[tuple[int, int], frozenset[int]]
    """(demand, unit of it) -> quarters in which it is short."""
    Way = dict[str, tuple[int, Short] | None]
    """By claim: its delay, and which units are short when; None: it is dropped."""
    Order = tuple[tuple[tuple[int, int], ...], tuple[int, ...], int]


MOST_WAYS = 100
"""Beyond so many ways to give way, trying every one takes too long."""


def decide(problem: Problem, claims: list[Claim]) -> Triage:
    return triage(problem, claims, asked_gap=0.0, time_limit_s=20.0)


def some(quarters: tuple[int, ...]) -> list[tuple[int, ...]]:
    """Every subset."""
    sizes = range(len(quarters) + 1)
    return list(chain.from_iterable(combinations(quarters, size) for size in sizes))


def shortages(problem: Problem, claim: Claim, delay: int) -> Iterator[Short]:
    """Every way in which units of a claim are short, those of a demand being alike."""
    options = []
    for number, units in claim.starts[delay]:
        asked = some(problem.demands[number].quarters) if claim.droppable else [()]
        options.append([*combinations_with_replacement(asked, units)])
    for picked in product(*options):
        short = {
            (number, unit): frozenset(quarters)
            for (number, _), every in zip(claim.starts[delay], picked, strict=True)
            for unit, quarters in enumerate(every)
        }
        by_quarter = Counter(chain.from_iterable(short.values()))
        if all(units <= claim.droppable for units in by_quarter.values()):
            yield short


def ways(problem: Problem, claims: list[Claim]) -> Iterator[Way]:
    options: list[list[tuple[int, Short] | None]] = []
    for claim in claims:
        mine: list[tuple[int, Short] | None] = [
            (delay, short)
            for delay in range(len(claim.starts))
            for short in shortages(problem, claim, delay)
        ]
        options.append(mine if claim.required else [*mine, None])
    for picked in product(*options):
        yield dict(zip((claim.name for claim in claims), picked, strict=True))


def running(problem: Problem, way: Way) -> Problem:
    """The problem of what is kept, unit by unit; those that are alike together."""
    asked: Counter[Demand] = Counter()
    for kept in way.values():
        for (number, _), short in kept[1].items() if kept else ():
            demand = problem.demands[number]
            quarters = tuple(q for q in demand.quarters if q not in short)
            if quarters:
                here = "" if 0 in short else demand.origin
                asked[replace(demand, quarters=quarters, count=1, origin=here)] += 1
    demands = tuple(replace(demand, count=units) for demand, units in asked.items())
    return replace(problem, demands=demands)


def order(claims: list[Claim], way: Way) -> tuple[tuple[tuple[int, int], ...], tuple[int, ...]]:
    """(jobs dropped, units short) by priority, then jobs delayed by priority."""
    ranks = sorted({claim.priority for claim in claims}, reverse=True)
    given = {priority: [0, 0, 0] for priority in ranks}
    for claim in claims:
        kept = way[claim.name]
        if kept is None:
            given[claim.priority][0] += 1
        else:
            given[claim.priority][1] += sum(map(len, kept[1].values()))
            given[claim.priority][2] += kept[0] > 0
    whole = tuple((given[rank][0], given[rank][1]) for rank in ranks)
    return whole, tuple(given[rank][2] for rank in ranks)


@pytest.fixture
def agree(least_cost) -> Callable[[Problem, list[Claim]], Triage | None]:
    """What triage finds, held against the best of all ways to give way."""

    def best(problem: Problem, claims: list[Claim]) -> Order | None:
        least: Order | None = None
        tried: set[tuple[Demand, ...]] = set()
        ranked = sorted(
            ((order(claims, way), way) for way in ways(problem, claims)), key=lambda one: one[0]
        )
        for (whole, delayed), way in ranked:
            if least is not None and (whole, delayed) > least[:2]:
                break
            kept = running(problem, way)
            if kept.demands in tried:
                continue
            tried.add(kept.demands)
            cost = least_cost(kept)
            if cost is not None and (least is None or cost < least[2]):
                least = whole, delayed, cost
        return least

    def compared(problem: Problem, claims: list[Claim]) -> Triage | None:
        expected = best(problem, claims)
        try:
            found = decide(problem, claims)
        except Infeasible:
            assert expected is None, f"there is a plan: {expected}"
            return None
        assert expected is not None, "there is no plan"
        assert all(level.proved for level in found.levels)
        levels = {level.priority: level for level in found.levels}
        ranks = sorted({claim.priority for claim in claims}, reverse=True)
        mine = [levels.get(rank, Level(rank, 0, 0, proved=True)) for rank in ranks]
        whole = tuple((level.dropped, level.short) for level in mine)
        assert (whole, tuple(level.delayed for level in mine), found.cost_cents) == expected
        assert found.bound_cents <= found.cost_cents
        as_told(problem, claims, found)
        return found

    def as_told(problem: Problem, claims: list[Claim], found: Triage) -> None:
        """The plan of the jobs and units that are named as kept is there, and costs as much."""
        told: Way = {}
        for claim in claims:
            delay = found.delays.get(claim.name, 0)
            if delay is None:
                told[claim.name] = None
                continue
            absent = found.short.get(claim.name, ((),) * problem.quarters)
            assert all(len(units) <= claim.droppable for units in absent)
            short: Short = {}
            place = 0
            for number, units in claim.starts[delay]:
                for unit in range(units):
                    name = claim.numbers[delay][place] if claim.droppable else 0
                    place += 1
                    short[number, unit] = frozenset(
                        q for q in problem.demands[number].quarters if name in absent[q]
                    )
            told[claim.name] = delay, short
        assert order(claims, told) == (
            tuple((one.dropped, one.short) for one in found.levels),
            tuple(one.delayed for one in found.levels),
        ) or len(found.levels) < len({claim.priority for claim in claims})
        assert least_cost(running(problem, told)) == found.cost_cents

    return compared


def droppable(name: str, units: int, most: int, priority: int = 50, demand: int = 0) -> Claim:
    numbers = (tuple(range(1, units + 1)),)
    return Claim(name, priority, False, (((demand, units),),), most, numbers)


def test_units_are_short_while_the_others_of_their_job_run(build):
    problem = build.problem([build.pool(owned=1)], [], [build.units(10, ("h100", 1, 0, 0))])
    found = decide(problem, [droppable("chat", 10, 3)])
    assert found.delays == {"chat": 0}
    assert found.short == {"chat": ((9, 10),)}
    assert found.levels == (Level(50, 0, 0, proved=True, short=2),)


def test_units_are_short_in_the_quarters_without_room_alone(build):
    """Two servers; one retires before the last of three quarters."""
    pool = replace(build.pool(owned=2), retired=(0, 0, 1))
    units = build.units(4, ("h100", 4, 0, 0), quarters=range(3))
    found = decide(build.problem([pool], [], [units], 3), [droppable("chat", 4, 2)])
    assert found.short == {"chat": ((), (), (3, 4))}


def test_a_unit_keeps_its_gpu_type_around_the_quarters_in_which_it_is_short(build):
    """The only L40S is there first and last, the only H100 in between."""
    pools = [
        replace(build.pool("h100", owned=1), retired=(1, 0, 1)),
        replace(build.pool("l40s", owned=1), retired=(0, 1, 0)),
    ]
    units = build.units(1, ("h100", 8, 0, 0), ("l40s", 8, 0, 0), quarters=range(3))
    found = decide(build.problem(pools, [], [units], 3), [droppable("chat", 1, 1)])
    assert found.short == {"chat": ((), (1,), ())}
    two = replace(units, count=2)
    found = decide(build.problem(pools, [], [two], 3), [droppable("chat", 2, 1)])
    assert found.delays == {"chat": 0}, "one unit on each"
    assert [len(short) for short in found.short["chat"]] == [1, 1, 1]


def test_a_unit_that_is_short_holds_nothing_of_a_quota_or_a_reserve(build):
    units = replace(build.units(6, ("h100", 2, 0, 0)), owner="team")
    problem = build.problem([build.pool(owned=2)], [], [units])
    quota = replace(problem, quotas=(Quota("quota of team", "team", None, (8,)),))
    assert decide(quota, [droppable("chat", 6, 6)]).levels[0].short == 2
    reserve = replace(problem, reserves=(Reserve("h100", Fraction(1, 2)),))
    assert decide(reserve, [droppable("chat", 6, 6)]).levels[0].short == 2


def test_a_running_unit_that_is_short_at_first_pays_no_move(build):
    pools = [build.pool(owned=1), build.pool(owned=0, site="other")]
    asked = replace(build.units(3, ("h100", 4, 0, 0)), origin=pools[0].home, move_cents=700)
    problem = build.problem(pools, [build.rent(500, pool=1, maximum=0)], [asked])
    found = decide(problem, [droppable("chat", 3, 3)])
    assert (found.cost_cents, found.bound_cents) == (0, 0)
    assert found.short == {"chat": ((3,),)}


def test_runs_of_a_unit_that_is_short_are_none(build):
    """Each unit runs twice for 7 of 13 weeks, which leaves room for one run after none."""
    shape = Shape(8, 0, 0, run=slots(7, 0, 13))
    units = Demand((Choice("h100", shape, 2),), (0,), 3)
    problem = build.problem([build.pool(owned=4)], [], [units])
    found = decide(problem, [droppable("tunes", 3, 3)])
    assert found.levels[0].short == 1
    assert found.short == {"tunes": ((3,),)}


def test_replicas_of_an_endpoint_are_short_one_by_one(build):
    """It takes four in the first quarter and six in the second; there is room for four and five."""
    choice = Choice("h100", Shape(2, 0, 0), 6, by_quarter=(4, 6))
    pool = replace(build.pool(node=(2, 80, 800_000), owned=5), retired=(1, 0))
    problem = build.problem([pool], [], [Demand((choice,), (0, 1), 1)], 2)
    found = decide(problem, [droppable("chat", 1, 2)])
    assert found.delays == {"chat": 0}
    assert found.short == {"chat": ((), (1,))}


def drawn(rng: random.Random, build) -> tuple[Problem, list[Claim]]:
    """Few nodes, one to three quarters, two or three jobs; units of the first two may be short."""
    quarters = rng.choice((1, 2, 2, 3))
    pools = [build.pool("a", owned=1), build.pool("b", spare=rng.choice((0, 0, 1)))]
    first = rng.randrange(quarters)
    bought = [None if q < first else 1000 - 100 * q for q in range(quarters)]
    supplies = [
        build.buy(*bought, pool=0, maximum=rng.choice((0, 1))),
        build.rent(*(300 + 50 * q for q in range(quarters)), pool=1, maximum=1),
    ]
    demands: list[Demand] = []
    claims: list[Claim] = []
    for number in range(rng.randrange(2, 4)):
        asked = [(gpu, rng.choice((3, 4, 5, 8)), 0, 0) for gpu in rng.choice(("a", "b", "ab"))]
        active = sorted(rng.sample(range(quarters), rng.randrange(1, quarters + 1)))
        units, staged = rng.choice((1, 2, 2, 3)[: 5 - quarters]), rng.random() < 0.3
        most = (rng.randrange(1, units + 1), rng.choice((0, 1, 1, units)), 0)[number]
        starts, numbers = [], []
        for delay in range(rng.choice((0, 0, 0, 1)) + 1):
            later = [quarter + delay for quarter in active if quarter + delay < quarters]
            if not later:
                continue
            whole = build.units(units, *asked, quarters=later)
            parts = [whole]
            if staged:
                parts = [replace(whole, quarters=(q,), stage=True) for q in later]
            starts.append(tuple((len(demands) + place, units) for place in range(len(parts))))
            numbers.append(tuple(range(1, units + 1)) * len(parts))
            demands += [replace(part, owner="team" if number < 2 else "") for part in parts]
        priority, required = rng.choice((25, 50, 50, 75)), rng.random() < 0.15
        claim = Claim(f"job-{number}", priority, required, tuple(starts), most, tuple(numbers))
        claims.append(claim)
    return limited(build.problem(pools, supplies, demands, quarters), rng), claims


@pytest.mark.parametrize("batch", range(draws(3, 6)))
def test_triage_of_units_agrees_with_trying_every_way(batch, build, agree):
    seen: Counter[str] = Counter()
    for seed in range(batch * 11, batch * 11 + 11):
        rng = random.Random(f"units {seed}")
        problem, claims = drawn(rng, build)
        if sum(1 for _ in ways(problem, claims)) > MOST_WAYS:
            continue
        found = agree(in_use(problem, rng) if seed % 3 == 0 else problem, claims)
        if found:
            seen["short"] += bool(found.short)
            seen["dropped"] += None in found.delays.values()
    assert seen["short"] >= 2, "too little is short to mean anything"


def of_units(problem: Problem, rng: random.Random) -> tuple[Problem, list[Claim]]:
    """Few nodes of each offer; the first units are jobs of which some units may be short."""
    few = (replace(supply, maximum=rng.choice((0, 0, 1))) for supply in problem.supplies)
    demands = tuple(
        replace(
            demand,
            count=min(demand.count, 2),
            choices=tuple(
                one if one.shape.is_run else replace(one, copies=1, by_quarter=())
                for one in demand.choices
            ),
        )
        for demand in problem.demands[:3]
    )
    claims = []
    for number, demand in enumerate(demands):
        priority, most = rng.choice((25, 50, 50, 75)), rng.choice((1, 1, demand.count))
        claim = droppable(f"job-{number}", demand.count, most, priority, number)
        claims.append(replace(claim, required=rng.random() < 0.15))
    return replace(problem, supplies=tuple(few), demands=demands), claims


@pytest.mark.parametrize("draw", SHARING)
def test_so_it_does_where_units_run_for_some_weeks_or_share_gpus(draw, agree):
    seen: Counter[str] = Counter()
    for number in range(5):
        rng = random.Random(f"units {draw.__name__} {number}")
        found = agree(*of_units(draw(rng), rng))
        seen["short"] += bool(found and found.short)
    assert seen["short"], "too little is short to mean anything"


def test_other_solvers_confirm_how_few_units_are_short(build):
    ask = partial(second_opinions, time_limit_s=20.0)
    units = build.units(10, ("h100", 1, 0, 0))
    problem = build.problem([build.pool(owned=1)], [], [units])
    claims = [droppable("chat", 10, 3)]
    found = triage(problem, claims, asked_gap=0.0, time_limit_s=20.0, ask=ask)
    told = {step.counted: step.least for step in found.confirmed}
    assert told == {"units, by quarter, of priority 50 that are short": 2, "": 0}
    for step in found.confirmed:
        assert [one.verdict for one in step.opinions] == [Verdict.CONFIRMED] * 2
