"""Small random problems, with the features that are named.

All are solved by trying everything in a fraction of a second: one or two pools of few nodes, at
most five units, one to three quarters.
"""

import random
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

from planner.packing.problem import (
    ALL_TRAFFIC,
    WHOLE,
    Division,
    JobClass,
    Limit,
    Mode,
    Part,
    Pool,
    PriceTier,
    Problem,
    Quota,
    RackSpace,
    Reserve,
    Shape,
    SharedSpares,
    SpendLimit,
    Supply,
)
from tests.packing.meaning import slots

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
SHARED_MB = 80

_LATER = {"window", "reserve", "retire", "deliveries", "traffic", "changes"}
"""Features that need a second quarter."""


def draw(features: str, seed: object) -> Problem:
    """A problem with these features, named with blanks between; always the same for a seed."""
    names = set(features.split())
    assert names <= set(FEATURES), names - set(FEATURES)
    rng = random.Random(f"{features} {seed}")
    problem = _plain(rng, names)
    for name, change in FEATURES.items():
        problem = change(problem, rng) if name in names else problem
    return problem


def _plain(rng: random.Random, names: set[str]) -> Problem:
    """Units on one or two pools, with nodes to buy and perhaps to rent."""
    later = (2,) if names & {"runs", "changes"} else (2, 2, 3)
    quarters = rng.choice(later if names & _LATER else (1, 1, 2))
    alike = rng.random() < 0.3 and "changes" not in names
    pools, supplies = [], []
    sizes = (1, 2, 2, 4) if names & {"mig", "shared"} else (4, 8)
    few = 1 if "sites" in names else 2 if "changes" in names else rng.choice((1, 2, 2))
    for number in range(few):
        node = Shape(rng.choice(sizes), rng.choice((20, 40)), rng.choice((10, 23)))
        gpu_type = "a" if alike else "ab"[number]
        spare, fabric = rng.choice((0, 0, 0, 1)), rng.random() < 0.7
        owned = rng.choice((0, 0, 1))
        pools.append(Pool(f"n{number}", "main", gpu_type, node, owned, spare, fabric))
        supplies += _offers(number, quarters, rng)
    left, classes = rng.randrange(1, 6), []
    while left > 0:
        classes.append(_job_class(pools, quarters, rng, min(left, 2)))
        left -= classes[-1].count
    return Problem(quarters, tuple(pools), tuple(supplies), tuple(classes), 1234)


def _offers(pool: int, quarters: int, rng: random.Random) -> list[Supply]:
    price = rng.randrange(1_000_000, 9_000_000)
    first = rng.choice((0, 0, 0, 1)) if quarters > 1 else 0
    bought = [None if q < first else price - q * price // 4 for q in range(quarters)]
    offers = [Supply(f"buy{pool}", "buy", pool, rng.choice((1, 2, 3, None)), tuple(bought))]
    if rng.random() < 0.4:
        rented = tuple(price * rng.randrange(30, 80) // 100 for _ in range(quarters))
        offers.append(Supply(f"rent{pool}", "rent", pool, rng.choice((0, 1, 2)), rented))
    return offers


def _job_class(pools: list[Pool], quarters: int, rng: random.Random, most: int) -> JobClass:
    modes = {_mode(rng.choice(pools), rng) for _ in range(rng.choice((1, 2, 3)))}
    active = tuple(sorted(rng.sample(range(quarters), rng.randrange(1, quarters + 1))))
    return JobClass(tuple(sorted(modes)), active, rng.choice((1, most)))


def _mode(pool: Pool, rng: random.Random) -> Mode:
    most = 2 * pool.node.gpus
    gpus = rng.choice([one for one in (1, 1, 2, 2, 3, 4, 4, 5, 8, 16) if one <= most])
    cpus = rng.randrange(0, pool.node.cpus * min(gpus, 6) // 5 + 1)
    memory_mb = rng.randrange(0, pool.node.memory_mb * min(gpus, 6) // 5 + 1)
    return Mode(pool.gpu_type, Shape(gpus, cpus, memory_mb, rng.random() < 0.8))


def changed(problem: Problem, change: Callable[[Mode], Mode]) -> Problem:
    """The same with other modes; those that become alike are one."""
    classes = (
        replace(one, modes=tuple(sorted(set(map(change, one.modes)), key=repr)))
        for one in problem.classes
    )
    return replace(problem, classes=tuple(classes))


def reshaped(mode: Mode, **changes: Any) -> Mode:
    """The same where a piece takes something else."""
    return replace(mode, shape=mode.shape._replace(**changes))


# How nodes are had


def _window(problem: Problem, rng: random.Random) -> Problem:
    """Each offer can enter service in some quarters alone."""

    def windowed(supply: Supply) -> Supply:
        quarters = range(problem.quarters)
        open_in = rng.sample(quarters, rng.randrange(1, problem.quarters))
        cents = (supply.unit_cost_cents[q] if q in open_in else None for q in quarters)
        return replace(supply, unit_cost_cents=tuple(cents))

    return replace(problem, supplies=tuple(map(windowed, problem.supplies)))


def _retire(problem: Problem, rng: random.Random) -> Problem:
    """Owned nodes, some of which retire."""
    pools = []
    for pool in problem.pools:
        owned, end = rng.choice((0, 1, 2)), rng.randrange(1, problem.quarters)
        gone = rng.randrange(1, owned + 1) if owned else 0
        retired = tuple(gone if quarter >= end else 0 for quarter in range(problem.quarters))
        pools.append(replace(pool, owned=owned, retired=retired))
    return replace(problem, pools=tuple(pools))


def _reserve(problem: Problem, rng: random.Random) -> Problem:
    """Nodes that are held for a term in place of those that are rented."""
    supplies = [one for one in problem.supplies if one.kind != "rent"]
    for pool in range(len(problem.pools)):
        term, cents = rng.choice((1, 2, 2, 5)), rng.randrange(300_000, 3_000_000)
        held = (min(term, problem.quarters - q) * cents for q in range(problem.quarters))
        most = rng.choice((1, 2))
        supplies.append(Supply(f"hold{pool}", "reserve", pool, most, tuple(held), term))
    return replace(problem, supplies=tuple(supplies))


def _lots(problem: Problem, rng: random.Random) -> Problem:
    """What is bought costs less from the second or third node of an order on."""
    supplies = []
    for supply in problem.supplies:
        if supply.kind != "buy":
            supplies.append(supply)
            continue
        second = rng.choice((2, 2, 3))
        less = tuple(cents and cents * 7 // 10 for cents in supply.unit_cost_cents)
        first = replace(supply, lot=PriceTier(1, second - 1), offer=supply.pool)
        more = replace(first, unit_cost_cents=less, lot=PriceTier(second, None))
        supplies += [first, more]
    return replace(problem, supplies=tuple(supplies))


def _deliveries(problem: Problem, rng: random.Random) -> Problem:
    """Of what is bought, few nodes arrive in each quarter."""
    arriving = [
        tuple(rng.choice((0, 1, 1, 2)) for _ in range(problem.quarters)) for _ in problem.pools
    ]
    supplies = (
        replace(one, deliveries=arriving[one.pool]) if one.kind == "buy" else one
        for one in problem.supplies
    )
    return replace(problem, supplies=tuple(supplies))


def _sites(problem: Problem, rng: random.Random) -> Problem:
    """Each offer for a site in the east and one in the west; some units run at one alone."""
    (east,) = (replace(pool, site="east") for pool in problem.pools)
    west = replace(east, site="west", owned=0, retired=(), spare=rng.choice((0, 1)))
    supplies = tuple(
        replace(supply, pool=pool, offer=100 + number if supply.offer is None else supply.offer)
        for number, supply in enumerate(problem.supplies)
        for pool in (0, 1)
    )
    room = tuple(
        Limit(f"room {pool}", ((pool, 1),), (max(east.owned, 1),) * problem.quarters, "nodes")
        for pool in (0, 1)
        if rng.random() < 0.4
    )
    problem = replace(problem, pools=(east, west), supplies=supplies, limits=room)
    return changed(
        problem, lambda one: reshaped(one, sites=rng.choice(((), (), ("east",), ("west",))))
    )


def _let_go(problem: Problem, rng: random.Random, *, sell: bool, off: bool) -> Problem:
    """Up to two owned nodes in each pool, some of which may be sold or switched off; few units.

    Very many ways to let nodes go are tried with each of these.
    """
    last = {one.pool: one for one in problem.supplies}
    supplies = [replace(one, maximum=min(2, one.maximum or 2)) for one in last.values()]
    pools = []
    quarters = range(problem.quarters)
    for number, pool in enumerate(problem.pools):
        owned = rng.choice((1, 2, 2))
        ends = rng.choice((None, None, 1)) if problem.quarters > 1 else None
        retired = () if ends is None else tuple(owned * (q >= ends) for q in quarters)
        pools.append(replace(pool, owned=owned, retired=retired))
        nodes, name = rng.randrange(1, owned + 1), f"fleet-{number}"
        if sell and rng.random() < 0.8:
            price = rng.randrange(100_000, 6_000_000)
            cents = tuple(
                rng.choice((None, -price + q * price // 4, -price, price // 9)) for q in quarters
            )
            most = rng.randrange(1, nodes + 1)
            supplies.append(Supply(name, "sell", number, most, cents, until=ends))
        if off and rng.random() < 0.8:
            cents = tuple(
                -rng.randrange(1, 900_000) if ends is None or q < ends else None for q in quarters
            )
            supplies.append(Supply(name, "switch off", number, nodes, cents))
    few = problem.classes[:2]
    return replace(problem, pools=tuple(pools), supplies=tuple(supplies), classes=few)


def _sell(problem: Problem, rng: random.Random) -> Problem:
    return _let_go(problem, rng, sell=True, off=False)


def _release(problem: Problem, rng: random.Random) -> Problem:
    return _let_go(problem, rng, sell=True, off=True)


def _dear(problem: Problem, rng: random.Random) -> Problem:
    """Owned nodes bring so much that more is received than is paid."""
    del rng
    supplies = (
        replace(one, unit_cost_cents=tuple(cents and 10 * cents for cents in one.unit_cost_cents))
        if one.kind == "sell"
        else one
        for one in problem.supplies
    )
    return replace(problem, supplies=tuple(supplies))


# What units take


def _wide(problem: Problem, rng: random.Random) -> Problem:
    """Some modes take two nodes."""
    pools = tuple(replace(pool, fabric=True) for pool in problem.pools)
    gpus = 2 * problem.pools[0].node.gpus
    return changed(
        replace(problem, pools=pools),
        lambda one: reshaped(one, gpus=gpus, spans=True) if rng.random() < 0.35 else one,
    )


def _runs(problem: Problem, rng: random.Random) -> Problem:
    """Most modes run for some weeks within some window."""

    def run(mode: Mode) -> Mode:
        if rng.random() < 0.3:
            return mode
        weeks = rng.randrange(2, 12)
        earliest = rng.randrange(0, 14 - weeks)
        until = min(13, earliest + weeks + rng.choice((0, 1, 2, 5)))
        return reshaped(mode, run=slots(weeks, earliest, until))

    return changed(problem, run)


def _mig(problem: Problem, rng: random.Random) -> Problem:
    """Most modes take a partition of a GPU."""
    divisions = rng.choice((QUARTERED, SEVENTHS))
    pools = tuple(replace(pool, divisions=divisions) for pool in problem.pools)
    profiles = sorted({profile for one in divisions for profile, _ in one.slots})
    return _in_parts(replace(problem, pools=pools), rng, lambda: Part(rng.choice(profiles), 0))


def _shared(problem: Problem, rng: random.Random) -> Problem:
    """Most modes take a share of a GPU's memory."""
    pools = tuple(replace(pool, shared_mb=SHARED_MB) for pool in problem.pools)
    sizes = (11, 20, 27, 35, 41, 80)
    return _in_parts(replace(problem, pools=pools), rng, lambda: Part("", rng.choice(sizes)))


def _in_parts(problem: Problem, rng: random.Random, part: Callable[[], Part]) -> Problem:
    def parted(mode: Mode) -> Mode:
        if mode.shape.bundles or rng.random() < 0.3:
            return mode
        cpus, memory_mb = mode.shape.cpus // 2, mode.shape.memory_mb // 2
        return reshaped(mode, gpus=1, cpus=cpus, memory_mb=memory_mb, part=part())

    return changed(problem, parted)


def _own_node(problem: Problem, rng: random.Random) -> Problem:
    """Partitioned GPUs have nodes of their own."""
    del rng
    return replace(problem, pools=tuple(replace(pool, mixes=False) for pool in problem.pools))


def _copies(problem: Problem, rng: random.Random) -> Problem:
    """Most modes ask for two or three pieces, at most eight in all."""
    few, left = [], 8
    for job_class in problem.classes:
        most = max(1, min(3, left // job_class.count))
        copies = {mode: rng.randrange(1, most + 1) for mode in job_class.modes}
        modes = sorted(replace(mode, copies=many) for mode, many in copies.items())
        few.append(replace(job_class, modes=tuple(modes)))
        left -= job_class.count * max(copies.values())
        if left < 2:
            break
    return replace(problem, classes=tuple(few))


def _traffic(problem: Problem, rng: random.Random) -> Problem:
    """Most modes ask for another number of pieces in each quarter; at most three units."""

    def followed(mode: Mode) -> Mode:
        pieces = tuple(rng.choice((1, 1, 2)) for _ in range(problem.quarters))
        return replace(mode, copies=max(pieces), by_quarter=pieces)

    few = tuple(replace(one, count=1) for one in problem.classes[:3])
    return changed(replace(problem, classes=few), followed)


def _quotas(problem: Problem, rng: random.Random) -> Problem:
    """Units of two owners and of nobody, and one to three quotas."""
    classes = (
        replace(one, owner=rng.choice(("red", "red", "blue", ""))) for one in problem.classes
    )
    quotas = {}
    for _ in range(rng.randrange(1, 4)):
        owner, gpu_type = rng.choice(("red", "red", "blue")), rng.choice((None, None, "a"))
        most = (rng.choice((None, *range(1, 13))) for _ in range(problem.quarters))
        quotas[owner, gpu_type] = quota(*most, owner=owner, gpu_type=gpu_type)
    return replace(problem, classes=tuple(classes), quotas=tuple(quotas.values()))


def quota(*gpus: int | None, owner: str = "red", gpu_type: str | None = None) -> Quota:
    """At most so many GPUs by quarter."""
    name = f"quota of {owner}" + (f" on {gpu_type}" if gpu_type else "")
    return Quota(name, owner, gpu_type, gpus)


def _portions(problem: Problem, rng: random.Random) -> Problem:
    """Parts of GPUs count against low quotas as portions of them."""

    def portion(mode: Mode) -> Mode:
        part = mode.shape.part
        slices = Fraction(int(part.profile[0]), 8) if part.profile else None
        share = slices or Fraction(part.memory_mb, SHARED_MB)
        return replace(mode, share=share if part != WHOLE else Fraction(1))

    quotas = (
        replace(one, at_most=tuple(rng.randrange(1, 4) for _ in one.at_most))
        for one in problem.quotas
    )
    return changed(replace(problem, quotas=tuple(quotas)), portion)


# What runs today, and what may change


def running(job_class: JobClass, origin: str, cents: int = 0) -> JobClass:
    """Units that run somewhere today, and what it costs to move one."""
    return replace(job_class, origin=origin, move_cents=cents)


def pinned(job_class: JobClass, stays: str) -> JobClass:
    """Units that may not leave."""
    modes = tuple(reshaped(mode, stays=stays) for mode in job_class.modes)
    return replace(job_class, modes=modes)


def _today(problem: Problem, rng: random.Random) -> Problem:
    """Most units run somewhere today, and some may not leave."""
    pools = list(problem.pools)
    for number, pool in enumerate(problem.pools):
        if pool.owned and rng.random() < 0.6:
            pools[number] = replace(pool, owned=pool.owned - 1)
            pools.append(replace(pool, owned=1, spare=0, held=f"{pool.home}/1"))
    classes = []
    for job_class in problem.classes:
        pool, drawn = rng.choice(pools), rng.random()
        if drawn < 0.25:
            classes.append(pinned(job_class, pool.held or pool.home))
        elif drawn < 0.9 and 0 in job_class.quarters:
            classes.append(running(job_class, pool.home, rng.choice((0, 1000, 800_000, 5_000_000))))
        else:
            classes.append(job_class)
    return replace(problem, pools=tuple(pools), classes=tuple(classes))


def stages(job_class: JobClass) -> list[JobClass]:
    """The job class quarter by quarter: its units may take another mode in each."""
    return [
        replace(
            job_class, quarters=(quarter,), stage=True, origin=job_class.origin if not place else ""
        )
        for place, quarter in enumerate(job_class.quarters)
    ]


def _changes(problem: Problem, rng: random.Random) -> Problem:
    """Few units that may change their GPU type from quarter to quarter; rents go up and down."""
    supplies = [replace(one, maximum=2) for one in problem.supplies if one.kind != "rent"]
    first = rng.randrange(2)
    for number in range(len(problem.pools)):
        cheap = ((first + number + quarter) % 2 for quarter in range(problem.quarters))
        rents = tuple(300_000 if one else 2_000_000 for one in cheap)
        supplies.append(Supply(f"rent{number}", "rent", number, 2, rents))
    classes: list[JobClass] = []
    for job_class in problem.classes[:2]:
        every = tuple(range(problem.quarters))
        staged = stages(replace(job_class, quarters=every))
        classes += staged if rng.random() < 0.8 else [job_class]
    return replace(problem, supplies=tuple(supplies), classes=tuple(classes))


def sharing(job_class: JobClass, *takes: int, count: int, name: str = "chat") -> JobClass:
    """At most so many units, which share the traffic of an endpoint; what each mode takes."""
    return replace(job_class, endpoint=name, takes=takes, count=count, at_most=True)


def _mixed(problem: Problem, rng: random.Random) -> Problem:
    """Most classes are endpoints, each quarter by itself; some ask for so many units exactly."""
    classes: list[JobClass] = []
    for number, job_class in enumerate(problem.classes):
        if rng.random() < 0.25:
            classes.append(job_class)
            continue
        for quarter in job_class.quarters:
            shares = (200_000, 333_334, 500_000, 666_667, ALL_TRAFFIC)
            takes = tuple(rng.choice(shares) for _ in job_class.modes)
            count = min(3, -(-ALL_TRAFFIC // min(takes)))
            chat = sharing(job_class, *takes, count=count, name=f"chat {number}")
            open_ = rng.random() < 0.8
            classes.append(replace(chat, quarters=(quarter,), stage=True, at_most=open_))
    return replace(problem, classes=tuple(classes[:4]))


# What all nodes keep to together


def _limit(name: str, unit: str, most: tuple[int | None, ...]) -> Callable[..., Problem]:
    def limited(problem: Problem, rng: random.Random) -> Problem:
        limits = list(problem.limits)
        for site, here in _by_site(problem).items():
            terms = tuple((number, rng.choice((3, 5, 6, 11))) for number in here)
            at_most = tuple(rng.choice(most) for _ in range(problem.quarters))
            drawn = name == "power" and rng.random() < 0.5
            limits.append(Limit(f"{name} at {site}", terms, at_most, unit, drawn))
        return replace(problem, limits=tuple(limits))

    return limited


def _by_site(problem: Problem) -> dict[str, list[int]]:
    sites = sorted({pool.site for pool in problem.pools})
    return {
        site: [n for n, pool in enumerate(problem.pools) if pool.site == site] for site in sites
    }


def _racks(problem: Problem, rng: random.Random) -> Problem:
    racks = []
    for site, here in _by_site(problem).items():
        power = rng.choice((None, 12, 17))
        held = tuple(
            (number, rng.choice((3, 4, 7)), rng.choice((5, 6, 11)) if power else 0)
            for number in here
        )
        racks.append(RackSpace(site, rng.choice((1, 2)), rng.choice((7, 10)), power, held))
    return replace(problem, racks=tuple(racks))


def _growth(problem: Problem, rng: random.Random) -> Problem:
    shares = tuple(Reserve(name, Fraction(rng.randrange(10, 50), 100)) for name in "ab")
    return replace(problem, reserves=shares, classes=problem.classes[:3])


def _spares(problem: Problem, rng: random.Random) -> Problem:
    """All pools share empty nodes for those that fail."""
    nodes = rng.choice((1, 1, 2))
    return replace(problem, spare_groups=(spare_group(*range(len(problem.pools)), nodes=nodes),))


def _rack_spares(problem: Problem, rng: random.Random) -> Problem:
    """They share empty nodes for those in a rack that fails."""
    every, power = range(len(problem.pools)), rng.choice((None, 12, 17))
    held = tuple(
        (number, rng.choice((3, 4)), rng.choice((5, 6)) if power else 0) for number in every
    )
    space = RackSpace("main", rng.choice((2, 3, 4)), rng.choice((4, 8)), power, held)
    group = spare_group(*every, racks=rng.choice((1, 1, 1, 2)))
    return replace(problem, racks=(space,), spare_groups=(group,))


def spare_group(*pools: int, nodes: int = 0, racks: int = 0) -> SharedSpares:
    """Pools that share their spare nodes."""
    return SharedSpares("g at main", pools, nodes, racks, "main")


def _budget(problem: Problem, rng: random.Random) -> Problem:
    """On some or all of what is acquired, in odd cents, so that nothing divides anything."""
    share, odd = rng.choice(((1.0, 0), (0.7, 99)))

    def spent(supply: Supply, cents: int | None) -> int:
        if supply.releases:
            return -abs(cents or 0) // 3
        counts = cents is not None and rng.random() < share
        return abs(cents or 0) + rng.randrange(-odd, odd + 1) if counts else 0

    cents = tuple(
        tuple(spent(supply, one) for one in supply.unit_cost_cents) for supply in problem.supplies
    )
    amounts = sorted(abs(one) for by_quarter in cents for one in by_quarter if one) or [1]
    most = rng.choice(amounts) * rng.choice((1, 2, 3)) + rng.choice((-1, 0, 0, 700_000))
    return replace(problem, budgets=(SpendLimit("money", most, cents),))


FEATURES: dict[str, Callable[[Problem, random.Random], Problem]] = {
    "window": _window,
    "retire": _retire,
    "reserve": _reserve,
    "lots": _lots,
    "deliveries": _deliveries,
    "sites": _sites,
    "wide": _wide,
    "runs": _runs,
    "mig": _mig,
    "shared": _shared,
    "own-node": _own_node,
    "copies": _copies,
    "traffic": _traffic,
    "quotas": _quotas,
    "portions": _portions,
    "today": _today,
    "changes": _changes,
    "mixed": _mixed,
    "sell": _sell,
    "release": _release,
    "dear": _dear,
    "power": _limit("power", "W", (6, 11, 17, None)),
    "units": _limit("rack units", "U", (6, 9, 12, 16)),
    "ports": _limit("network ports", "ports", (6, 9, 14, None)),
    "racks": _racks,
    "growth": _growth,
    "spares": _spares,
    "rack-spares": _rack_spares,
    "budget": _budget,
}
"""In the order in which they come into a problem."""


def lifted(problem: Problem) -> Problem:
    """The same without what limits a plan beside its offers."""
    return replace(
        problem, limits=(), racks=(), reserves=(), budgets=(), quotas=(), spare_groups=()
    )
