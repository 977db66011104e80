"""Who gives way where not all fit: triage agrees with trying every way, unit by unit."""

import random
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import chain, combinations, combinations_with_replacement, permutations, product

import pytest

from planner.errors import LimitError
from planner.packing.incumbent import Infeasible
from planner.packing.nowhere import Claim
from planner.packing.problem import JobClass, Mode, Part, Problem, Shape
from planner.packing.search import Search
from planner.packing.triage import Level, Triage, triage
from tests.packing.draws import draw, stages
from tests.packing.meaning import slots
from tests.properties.questions import draws

Short = dict[tuple[int, int], frozenset[int]]
"""(job class, unit of it) -> quarters in which it is short."""
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
    """Every way in which units of a claim are short, those of a job class being alike."""
    options = []
    for number, units in claim.starts[delay]:
        asked = some(problem.classes[number].quarters) if claim.droppable else [()]
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
    asked: Counter[JobClass] = Counter()
    for kept in way.values():
        for (number, _), short in kept[1].items() if kept else ():
            job_class = problem.classes[number]
            quarters = tuple(q for q in job_class.quarters if q not in short)
            if quarters:
                here = "" if 0 in short else job_class.origin
                asked[replace(job_class, quarters=quarters, count=1, origin=here)] += 1
    classes = tuple(replace(job_class, count=units) for job_class, units in asked.items())
    return replace(problem, classes=classes)


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
        tried: set[tuple[JobClass, ...]] = set()
        ranked = sorted(
            ((order(claims, way), way) for way in ways(problem, claims)), key=lambda one: one[0]
        )
        for (whole, delayed), way in ranked:
            if least is not None and (whole, delayed) > least[:2]:
                break
            kept = running(problem, way)
            if kept.classes in tried:
                continue
            tried.add(kept.classes)
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
                        q for q in problem.classes[number].quarters if name in absent[q]
                    )
            told[claim.name] = delay, short
        assert order(claims, told) == (
            tuple((one.dropped, one.short) for one in found.levels),
            tuple(one.delayed for one in found.levels),
        ) or len(found.levels) < len({claim.priority for claim in claims})
        kept = running(problem, told)
        assert least_cost(kept) == found.cost_cents

    return compared


@pytest.fixture
def one_server(build) -> Callable[..., tuple[Problem, list[Claim]]]:
    """One server of 8 GPUs; jobs of (GPUs, priority), on one unit in the only quarter."""

    def stated(*jobs: tuple[int, int], **changes: bool) -> tuple[Problem, list[Claim]]:
        classes = [build.units(1, ("h100", gpus, 0, 0)) for gpus, _ in jobs]
        claims = [
            Claim("abcdef"[number], priority, False, (((number, 1),),))
            for number, (_, priority) in enumerate(jobs)
        ]
        return build.problem([build.pool(owned=1)], [], classes), claims

    return stated


@pytest.fixture
def too_few_cores(build) -> tuple[Problem, list[Claim]]:
    """By weeks the cores would do: the run takes 5 of 14 for four of thirteen."""
    pool = replace(build.pool("b", node=(2, 14, 10)), shared_mb=80)
    share, run = Part("", 20), slots(4, 0, 13)
    shapes = (Shape(1, 2, 1, part=share), Shape(1, 5, 0, run=run), Shape(1, 7, 5, part=share))
    classes = [
        JobClass((Mode("b", shape),), (0,), count)
        for shape, count in zip(shapes, (2, 1, 1), strict=True)
    ]
    problem = build.problem([pool], [build.buy(900, maximum=1)], classes)
    claims = [
        Claim(name, priority, False, (((number, classes[number].count),),))
        for number, (name, priority) in enumerate((("a", 75), ("b", 75), ("c", 50)))
    ]
    return problem, claims


def test_a_question_that_finds_no_plan_keeps_the_one_before_and_is_not_proved(
    too_few_cores, monkeypatch
):
    asked = []
    first = Search.run

    def once(self):
        asked.append(self)
        if len(asked) > 1:
            raise LimitError("no plan was found")
        return first(self)

    monkeypatch.setattr(Search, "run", once)
    found = decide(*too_few_cores)
    assert found.levels[0].proved
    assert not found.levels[1].proved
    assert found.levels[1].dropped == 1


def droppable(name: str, units: int, most: int, priority: int = 50, job_class: int = 0) -> Claim:
    numbers = (tuple(range(1, units + 1)),)
    return Claim(name, priority, False, (((job_class, units),),), most, numbers)


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


def test_replicas_of_an_endpoint_are_short_one_by_one(build):
    """It takes four in the first quarter and six in the second; there is room for four and five."""
    mode = Mode("h100", Shape(2, 0, 0), 6, by_quarter=(4, 6))
    pool = replace(build.pool(node=(2, 80, 800_000), owned=5), retired=(1, 0))
    problem = build.problem([pool], [], [JobClass((mode,), (0, 1), 1)], 2)
    found = decide(problem, [droppable("chat", 1, 2)])
    assert found.delays == {"chat": 0}
    assert found.short == {"chat": ((), (1,))}


def claimed(features: str, seed: int) -> tuple[Problem, list[Claim]]:
    """A problem with one node of each offer, or none; its first units are jobs that may give way.

    They may be dropped, start later, or have some of their units short.
    """
    rng = random.Random(f"claims {features} {seed}")
    problem = draw(features, seed)
    few = tuple(replace(supply, maximum=rng.choice((0, 0, 1))) for supply in problem.supplies)
    classes: list[JobClass] = []
    claims: list[Claim] = []
    for number, asked in enumerate(problem.classes[:4]):
        job_class = replace(asked, count=min(asked.count, 2))
        most, staged = rng.choice((0, 0, 1, job_class.count)), rng.random() < 0.2
        starts, numbers = [], []
        for delay in range(rng.choice((1, 1, 2, 3))):
            later = tuple(q + delay for q in job_class.quarters if q + delay < problem.quarters)
            if not later:
                continue
            whole = replace(job_class, quarters=later)
            whole = replace(whole, origin="", move_cents=0) if delay else whole
            parts = stages(whole) if staged else [whole]
            first = len(classes)
            classes += parts
            starts.append(tuple((place, job_class.count) for place in range(first, len(classes))))
            numbers.append(tuple(range(1, job_class.count + 1)) * len(parts))
        priority, required = rng.choice((25, 50, 50, 75)), rng.random() < 0.15
        claims.append(
            Claim(f"job-{number}", priority, required, tuple(starts), most, tuple(numbers))
        )
    return replace(problem, supplies=few, classes=tuple(classes)), claims


@pytest.mark.parametrize(
    "features",
    [
        *("window", "window quotas", "window budget", "window power", "window growth"),
        *("window today", "runs", "mig", "shared", "runs mig", "runs quotas"),
    ],
)
def test_triage_agrees_with_trying_every_way(features, agree):
    seen: Counter[str] = Counter()
    for seed in range(draws(8, 20)):
        problem, claims = claimed(features, seed)
        if sum(1 for _ in ways(problem, claims)) <= MOST_WAYS:
            found = agree(problem, claims)
            seen["short"] += bool(found and found.short)
            seen["dropped"] += bool(found and None in found.delays.values())
            seen["delayed"] += bool(found and any(found.delays.values()))
    assert seen["dropped"], f"too little is dropped to mean anything: {seen}"
    assert seen["short"], f"too little is short to mean anything: {seen}"
    assert seen["delayed"] or features != "window", f"nobody starts later: {seen}"


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
    classes = [
        build.units(1, ("h100", 8, cpus, 0), quarters=(quarter,))
        for cpus in (1, 2)
        for quarter in (0, 1)
    ]
    problem = build.problem([build.pool(owned=1)], [], classes, 2)
    for names in (("early", "late"), ("late", "early")):
        claims = [
            Claim(name, 50, False, (((2 * place, 1),), ((2 * place + 1, 1),)))
            for place, name in enumerate(names)
        ]
        assert decide(problem, claims).delays == {"early": 0, "late": 1}
