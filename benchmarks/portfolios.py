"""Seeded portfolios: realistic packing problems of any size, the same on every machine.

Needs, node shapes and prices are synthetic and stand for no product's price: they only have to be
as varied, and as awkward to pack, as real portfolios are.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from math import ceil

from planner.inputs.scenario.quarter import RUN_HOURS, WEEK_HOURS
from planner.packing.problem import (
    JobClass,
    Limit,
    Mode,
    Pool,
    Problem,
    RunWindow,
    Shape,
    SpendLimit,
    Supply,
)

__all__ = ["catalogue", "quarterly", "runs_beside", "unique"]


@dataclass(frozen=True, slots=True)
class _Kind:
    """A node type with what it can do."""

    name: str
    gpu_type: str
    memory_gb: int
    node: Shape
    cost_cents: int
    eight_bit: bool
    tunes: bool


_KINDS = (
    _Kind("xe9680-a100", "a100-80gb", 80, Shape(8, 112, 2_000_000), 20_500_000, False, True),
    _Kind("xe9680-h100", "h100-80gb", 80, Shape(8, 112, 2_000_000), 28_500_000, True, True),
    _Kind("xe9680-h200", "h200-141gb", 141, Shape(8, 112, 3_000_000), 33_500_000, True, True),
    _Kind("r760xa-l40s", "l40s-48gb", 48, Shape(4, 64, 1_000_000), 7_800_000, True, False),
)
_SIZES_B = (3, 7, 8, 13, 20, 34, 70, 123, 405)
_WORK = (
    ("full", 16.0, 8, 220, False),
    ("full-offload", 8.0, 10, 450, False),
    ("lora", 2.6, 6, 110, False),
    ("qlora", 0.9, 6, 90, False),
    ("serve-16", 2.4, 4, 60, False),
    ("serve-8", 1.3, 4, 50, True),
)
"""Name, GB of GPU memory per billion parameters, cores per GPU, host GB per GPU, needs 8-bit."""

_SITES = ("east", "west")
_SPEED = {"a100-80gb": 1.0, "h100-80gb": 2.0, "h200-141gb": 2.2}
"""Of a tuning run, against an A100."""
_CAPEX_CENTS_PER_JOB = 6_000_000
"""To spend in one quarter: less than what would be bought at once if it could."""
_WATTS_PER_GPU, _WATTS_PER_JOB = 1_200, 2_400
"""What a node takes, and what the second site can feed."""

_GPU_COUNTS = (1, 2, 4, 8, 16)


@dataclass(frozen=True, slots=True)
class _Archetype:
    memory_gb: float
    cpus_per_gpu: int
    host_gb_per_gpu: int
    eight_bit: bool
    tuning: bool


def _archetypes() -> list[_Archetype]:
    return [
        _Archetype(
            size_b * per_b * (1.0 if small else 1.6),
            cpus if small else cpus + 2,
            host_gb if small else round(host_gb * 1.35),
            eight_bit,
            name.startswith(("full", "lora", "qlora")),
        )
        for size_b in _SIZES_B
        for name, per_b, cpus, host_gb, eight_bit in _WORK
        for small in (True, False)
    ]


def _modes(job: _Archetype, extra_cpus: int = 0, extra_host_gb: int = 0) -> tuple[Mode, ...]:
    """The smallest GPU count that fits, and its double, on every kind that may run it."""
    found = []
    for kind in _KINDS:
        if (job.eight_bit and not kind.eight_bit) or (job.tuning and not kind.tunes):
            continue
        least = ceil(job.memory_gb / kind.memory_gb)
        fitting = [count for count in _GPU_COUNTS if count >= least][:2]
        for gpus in fitting:
            shape = Shape(
                gpus,
                min(gpus * job.cpus_per_gpu + extra_cpus, max(1, gpus // 8) * kind.node.cpus),
                gpus * job.host_gb_per_gpu * 1000 + extra_host_gb * 1000,
            )
            if _runs(kind, shape):
                found.append(Mode(kind.gpu_type, shape))
    return tuple(sorted(found, key=lambda mode: (mode.gpu_type, mode.shape)))


def _runs(kind: _Kind, shape: Shape) -> bool:
    nodes = ceil(shape.gpus / kind.node.gpus)
    whole = nodes == 1 or shape.gpus % kind.node.gpus == 0
    return (
        whole
        and shape.cpus <= nodes * kind.node.cpus
        and shape.memory_mb <= nodes * kind.node.memory_mb
    )


def _pools() -> tuple[Pool, ...]:
    return tuple(Pool(kind.name, "main", kind.gpu_type, kind.node, 0, 0, True) for kind in _KINDS)


def _draw(jobs: int, rng: random.Random) -> list[_Archetype]:
    """Archetypes by a Zipf law, as portfolios have a few common jobs and a long tail."""
    known = [job for job in _archetypes() if _modes(job)]
    rng.shuffle(known)
    weights = [1 / (rank + 1) for rank in range(len(known))]
    return rng.choices(known, weights, k=jobs)


def _merged(units: list[tuple[tuple[Mode, ...], tuple[int, ...]]]) -> tuple[JobClass, ...]:
    counts: dict[tuple[tuple[Mode, ...], tuple[int, ...]], int] = {}
    for key in units:
        counts[key] = counts.get(key, 0) + 1
    ordered = sorted(counts, key=lambda key: (tuple((c.gpu_type, c.shape) for c in key[0]), key[1]))
    return tuple(JobClass(modes, quarters, counts[modes, quarters]) for modes, quarters in ordered)


def _one_quarter(units: list[tuple[Mode, ...]]) -> Problem:
    supplies = tuple(
        Supply(f"buy-{kind.name}", "buy", number, None, (kind.cost_cents,))
        for number, kind in enumerate(_KINDS)
    )
    return Problem(1, _pools(), supplies, _merged([(unit, (0,)) for unit in units]), 0)


def catalogue(jobs: int, seed: int) -> Problem:
    """Jobs drawn from a catalogue of archetypes: many alike, one quarter, buy only."""
    rng = random.Random(f"catalogue-{jobs}-{seed}")
    return _one_quarter([_modes(job) for job in _draw(jobs, rng)])


def unique(jobs: int, seed: int) -> Problem:
    """Every job unique in cores and host memory, and host memory binds: the hard regime."""
    rng = random.Random(f"unique-{jobs}-{seed}")
    units = []
    for job in _draw(jobs, rng):
        modes: tuple[Mode, ...] = ()
        while not modes:
            modes = _modes(job, rng.randrange(0, 4), rng.randrange(0, 32))
        units.append(modes)
    return _one_quarter(units)


def quarterly(jobs: int, seed: int) -> Problem:
    """Growing demand over four quarters, nodes owned, bought and rented."""
    quarters = 4
    rng = random.Random(f"quarterly-{jobs}-{seed}")
    units = []
    for position, job in enumerate(_draw(round(jobs * 1.18 ** (quarters - 1)), rng)):
        begins = next(q for q in range(quarters) if position < round(jobs * 1.18**q))
        units.append((_modes(job), tuple(range(begins, quarters))))
    supplies = [
        supply for number, kind in enumerate(_KINDS) for supply in _offers(kind, number, quarters)
    ]
    pools = tuple(
        replace(pool, owned=max(0, jobs // 60 - number)) for number, pool in enumerate(_pools())
    )
    return Problem(quarters, pools, tuple(supplies), _merged(units), 0)


def runs_beside(runs: int, seed: int, endpoints: int = 100) -> Problem:
    """Tuning runs of some hours beside endpoints, in two quarters, at two sites.

    No two runs are equally long; each has a quarter, a third a window and a third one site alone.
    The second site has little power, two node types keep a spare node, and money is limited by
    quarter.
    """
    quarters = 2
    rng = random.Random(f"runs-{runs}-{seed}")
    jobs = endpoints + runs // 20
    pools = tuple(
        replace(pool, site=site, owned=max(0, jobs // 120 - number), spare=int(number < 2))
        for site in _SITES
        for number, pool in enumerate(_pools())
    )
    supplies = tuple(
        supply
        for number in range(len(pools))
        for supply in _offers(_KINDS[number % len(_KINDS)], number, quarters)
    )
    units = []
    known = [one for one in _archetypes() if _modes(one)]
    serving, tuning = ([one for one in known if one.tuning is kind] for kind in (False, True))
    weights = [[1 / (rank + 1) for rank in range(len(kind))] for kind in (serving, tuning)]
    for number in range(endpoints + runs):
        is_run = number >= endpoints
        job = rng.choices((serving, tuning)[is_run], weights[is_run])[0]
        sites = (rng.choice(_SITES),) if rng.random() < 1 / 3 else ()
        modes = tuple(replace(mode, shape=mode.shape._replace(sites=sites)) for mode in _modes(job))
        active = (rng.randrange(quarters),) if is_run else tuple(range(quarters))
        units.append((_for_hours(modes, rng) if is_run else modes, active))
    watts = tuple(
        (number, pool.node.gpus * _WATTS_PER_GPU)
        for number, pool in enumerate(pools)
        if pool.site == _SITES[1]
    )
    power = Limit(f"power at {_SITES[1]}", watts, (jobs * _WATTS_PER_JOB,) * quarters, "W")
    return Problem(
        quarters,
        pools,
        supplies,
        _merged(units),
        0,
        limits=(power,),
        budgets=tuple(_capex(supplies, jobs, quarter) for quarter in range(quarters)),
    )


def _for_hours(modes: tuple[Mode, ...], rng: random.Random) -> tuple[Mode, ...]:
    """The choices whose run ends in time; the work is in hours of the fewest GPUs, if A100."""
    least = min(mode.shape.gpus for mode in modes)
    work, week = rng.uniform(2.0, 60.0), rng.randrange(13)
    first, until = (WEEK_HOURS * week, RUN_HOURS) if rng.random() < 1 / 3 else (0, RUN_HOURS)
    found = []
    for mode in modes:
        speed = _SPEED.get(mode.gpu_type, 1.0) * (mode.shape.gpus / least) ** 0.9
        hours = max(1, ceil(work / speed))
        if first + hours <= until:
            run = RunWindow(hours, first, until)
            found.append(replace(mode, shape=mode.shape._replace(run=run)))
    return tuple(sorted(found))


def _capex(supplies: tuple[Supply, ...], jobs: int, quarter: int) -> SpendLimit:
    prices = {kind.name: kind.cost_cents for kind in _KINDS}
    spent = tuple(
        tuple(
            prices[supply.name.removeprefix("buy-")]
            if supply.kind == "buy" and entry == quarter
            else 0
            for entry in range(len(supply.unit_cost_cents))
        )
        for supply in supplies
    )
    return SpendLimit(f"capex of quarter {quarter + 1}", jobs * _CAPEX_CENTS_PER_JOB, spent)


def _offers(kind: _Kind, pool: int, quarters: int) -> tuple[Supply, Supply]:
    """To buy and to rent; what is bought is worth less each quarter and costs its running."""
    net = tuple(
        round(kind.cost_cents * (1.02**-q - (1 - (quarters - q) / 20) * 1.02**-quarters))
        + round(kind.cost_cents * 0.012 * (quarters - q))
        for q in range(quarters)
    )
    rent = tuple(round(kind.cost_cents * 0.12 * 1.02**-q) for q in range(quarters))
    return (
        Supply(f"buy-{kind.name}", "buy", pool, None, net),
        Supply(f"rent-{kind.name}", "rent", pool, None, rent),
    )
