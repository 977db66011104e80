"""Everything that is wrong with a solution, derived again from its layouts."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, cast

from planner.packing.problem import (
    WHOLE,
    HourlyTerms,
    Mode,
    Part,
    Pool,
    PriceTier,
    Problem,
    Quota,
    Shape,
    SharedSpares,
)
from planner.packing.solution import Layout, Member, Solution
from tests.packing.meaning import (
    SLOT,
    SLOTS,
    counts,
    holds,
    mixes,
    pieces_in,
    stands,
    stands_in,
    takes_all,
)


@dataclass
class Checker:
    """Re-derives from a solution's layouts that it is feasible and costs what it says."""

    problem: Problem
    solution: Solution

    def faults(self) -> Iterator[str]:
        yield from self._bounds()
        yield from self._assignment()
        yield from self._sites()
        yield from self._stays()
        for quarter in range(self.problem.quarters):
            yield from self._placed(quarter)
            for group in self.problem.spare_groups:
                yield from self._shared(quarter, group)
            for number in range(len(self.problem.pools)):
                yield from self._nodes(quarter, number)
                yield from self._capacity(quarter, number)

    def _bounds(self) -> Iterator[str]:
        cost = self.problem.fixed_cost_cents
        for number, supply in enumerate(self.problem.supplies):
            own = self.solution.acquired[number]
            if min(own) < 0:
                yield f"{supply.name}: fewer than none are acquired"
            for nodes, cents in zip(own, supply.unit_cost_cents, strict=True):
                if nodes and cents is None:
                    yield f"{supply.name}: in service when it cannot be"
                cost += nodes * (cents or 0)
        yield from self._maxima()
        for limit in self.problem.budgets:
            spent = sum(
                self.solution.acquired[number][quarter] * cents
                for number, by_quarter in enumerate(limit.cents)
                for quarter, cents in enumerate(by_quarter)
            )
            if spent > limit.at_most_cents:
                yield f"{limit.name}: {spent} of {limit.at_most_cents}"
        cost += sum(
            moved * job_class.move_cents
            for moved, job_class in zip(self.solution.moved, self.problem.classes, strict=False)
        )
        if cost != self.solution.cost_cents:
            yield f"costs {cost}, says {self.solution.cost_cents}"
        if self.solution.bound_cents > self.solution.cost_cents:
            yield "bound above cost"

    def _hire(self, supply: int) -> HourlyTerms | None:
        return self.problem.pools[self.problem.supplies[supply].pool].hire

    def _maxima(self) -> Iterator[str]:
        held: defaultdict[object, Counter[int]] = defaultdict(Counter)
        orders: defaultdict[tuple[object, int], Counter[PriceTier | None]] = defaultdict(Counter)
        most = {}
        for number, supply in enumerate(self.problem.supplies):
            if self._hire(number):
                continue
            offer = number if supply.offer is None else ("offer", supply.offer)
            most[offer] = supply.maximum
            for entry in range(self.problem.quarters):
                nodes = self.solution.acquired[number][entry]
                orders[offer, entry] += Counter({supply.lot: nodes})
                for quarter in supply.served(entry):
                    held[offer][quarter] += nodes
        arriving = {
            number if supply.offer is None else ("offer", supply.offer): supply.deliveries
            for number, supply in enumerate(self.problem.supplies)
        }
        for (which, entry), order in orders.items():
            delivered = arriving[cast("Any", which)]
            if delivered is not None and sum(order.values()) > delivered[entry]:
                yield f"{which}: {order} arrive in {entry}, not {delivered[entry]}"
        for offer, maximum in most.items():
            if maximum is not None and max(held[offer].values(), default=0) > maximum:
                yield f"{offer}: more than {maximum}"
        for order in orders.values():
            if len(order) > 1:
                yield "an order at two prices"
            for lot, nodes in order.items():
                if lot and not lot.fewest <= nodes <= (lot.most or nodes):
                    yield f"{nodes} nodes at the price of another number"

    def _assignment(self) -> Iterator[str]:
        for number, (job_class, taken) in enumerate(
            zip(self.problem.classes, self.solution.assigned, strict=True)
        ):
            enough = sum(taken) == job_class.count or (
                job_class.at_most and sum(taken) < job_class.count
            )
            if not enough or min(taken) < 0:
                yield f"job class {number}: {taken} assigned of {job_class.count}"
        way = [
            [
                mode
                for mode, units in zip(job_class.modes, taken, strict=False)
                for _ in range(units)
            ]
            for job_class, taken in zip(self.problem.classes, self.solution.assigned, strict=True)
        ]
        if not takes_all(self.problem, way):
            yield "traffic of an endpoint that nobody takes"
        for quota in self.problem.quotas:
            for quarter, most in enumerate(quota.at_most):
                weeks = self._held(quota, quarter)
                if most is not None and max(weeks) > most:
                    yield f"{quota.name}: {weeks} by week in {quarter}, {most} allowed"

    def _held(self, quota: Quota, quarter: int) -> list[Fraction]:
        """GPUs by week that units hold of a quota, parts as the mode says."""
        weeks = [Fraction(0)] * SLOTS
        for pool, layouts in zip(self.problem.pools, self.solution.layouts[quarter], strict=True):
            for layout in layouts:
                pieces = [
                    (number, range(SLOTS), units * self._counted(number, mode))
                    for number, mode, units in layout.parts
                ]
                for bundle in layout.bundles:
                    for one in bundle.members:
                        shape = self._shape(one.job_class, one.mode)
                        first = one.start // SLOT
                        held = range(first, first + shape.run.hours // SLOT)
                        share = self._counted(one.job_class, one.mode)
                        pieces.append((one.job_class, held, min(share, Fraction(pool.node.gpus))))
                for number, held, gpus in pieces:
                    if counts(quota, self.problem.classes[number].owner, pool.gpu_type):
                        for week in held:
                            weeks[week] += gpus * layout.count
        return weeks

    def _counted(self, job_class: int, mode: int) -> Fraction:
        return self._shape(job_class, mode).gpus * self.problem.classes[job_class].modes[mode].share

    def _stays(self) -> Iterator[str]:
        home: Counter[tuple[int, str]] = Counter()
        for pool, layouts in zip(self.problem.pools, self.solution.layouts[0], strict=True):
            for (owner, _), units in self._pieces(pool, layouts).items():
                home[owner, pool.home] += units
        for number, job_class in enumerate(self.problem.classes):
            moved = job_class.count - home[number, job_class.origin] if job_class.origin else 0
            said = self.solution.moved[number] if self.solution.moved else 0
            if moved != said:
                yield f"job class {number}: {moved} units move, says {said}"

    def _placed(self, quarter: int) -> Iterator[str]:
        placed: Counter[tuple[int, int]] = Counter()
        for pool, layouts in zip(self.problem.pools, self.solution.layouts[quarter], strict=True):
            placed += self._pieces(pool, layouts)
            for (owner, mode, week), nodes in self._begun(layouts).items():
                if nodes % self._times(pool, owner, mode):
                    yield f"job class {owner}.{mode}: starts on {nodes} nodes in week {week}"
        for number, (job_class, taken) in enumerate(
            zip(self.problem.classes, self.solution.assigned, strict=True)
        ):
            for position, units in enumerate(taken):
                due = 0
                if units and quarter in job_class.quarters:
                    due = units * pieces_in(job_class.modes[position], quarter)
                if placed[number, position] != due:
                    yield f"class {number}.{position}: {placed[number, position]} placed of {due}"

    def _pieces(self, pool: Pool, layouts: Iterable[Layout]) -> Counter[tuple[int, int]]:
        """Pieces by job class and mode; one that is on several nodes is one."""
        found: Counter[tuple[int, int]] = Counter()
        for layout in layouts:
            for owner, mode, units in layout.parts:
                found[owner, mode] += units * layout.count
        for (owner, mode, _), nodes in self._begun(layouts).items():
            found[owner, mode] += nodes // self._times(pool, owner, mode)
        return found

    def _begun(self, layouts: Iterable[Layout]) -> Counter[tuple[int, int, int]]:
        """By job class, mode and week: on how many nodes one starts that shares its GPUs."""
        return Counter(
            (member.job_class, member.mode, member.start)
            for layout in layouts
            for bundle in layout.bundles
            for member in bundle.members
            for _ in range(layout.count)
        )

    def _times(self, pool: Pool, job_class: int, mode: int) -> int:
        """On how many nodes a piece is."""
        return max(1, self._shape(job_class, mode).gpus // pool.node.gpus)

    def _shape(self, job_class: int, mode: int) -> Shape:
        return self.problem.classes[job_class].modes[mode].shape

    def _opened(self, pool: Pool, layout: Layout, free: int) -> Iterator[str]:
        """What is wrong with the GPUs of a node that pieces take parts of."""
        opened = []
        for bundle in layout.bundles:
            parts = tuple(self._part(member) for member in bundle.members)
            if set(parts) == {WHOLE}:
                continue
            opened.append(parts)
            pairs = zip(parts, bundle.members, strict=True)
            slots = Counter((part.profile, member.slot) for part, member in pairs if part.profile)
            placed = any(slots <= Counter(division.slots) for division in pool.divisions)
            if bundle.gpus != 1 or not holds(pool, parts) or (slots and not placed):
                yield f"{pool.name}: no GPU can be divided into {parts} at {slots}"
        runs = sum(bundle.gpus for bundle in layout.bundles) - len(opened)
        if not mixes(pool, free - runs - len(opened), tuple(opened)):
            yield f"{pool.name}: partitioned GPUs beside others"

    def _part(self, member: Member) -> Part:
        return self._shape(member.job_class, member.mode).part

    def _service(self, quarter: int, number: int) -> int:
        """Nodes of a pool in service."""
        return self.problem.pools[number].owned_in(quarter) + sum(
            self.solution.acquired[index][entry]
            for index, supply in enumerate(self.problem.supplies)
            if supply.pool == number
            for entry in supply.entries(quarter)
        )

    def _sites(self) -> Iterator[str]:
        quarters, pools = range(self.problem.quarters), range(len(self.problem.pools))
        nodes = tuple(tuple(self._service(q, number) for q in quarters) for number in pools)
        if not stands(self.problem, nodes):
            yield f"nodes in service break a limit: {nodes}"
        for quarter, spaces in enumerate(self.solution.racks):
            for space, filled in zip(self.problem.racks, spaces, strict=True):
                held: Counter[int] = Counter()
                for rack in filled:
                    sizes = {pool: (units, watts) for pool, units, watts in space.nodes}
                    units = sum(sizes[pool][0] * count for pool, count in rack.nodes)
                    watts = sum(sizes[pool][1] * count for pool, count in rack.nodes)
                    if units > space.units or (space.power_w is not None and watts > space.power_w):
                        yield f"a rack at {space.site} holds too much"
                    held.update({pool: count * rack.count for pool, count in rack.nodes})
                if sum(rack.count for rack in filled) > space.count:
                    yield f"more racks than there are at {space.site}"
                if any(held[pool] != nodes[pool][quarter] for pool, _, _ in space.nodes):
                    yield f"racks at {space.site} hold other nodes than those in service"
        if len(self.solution.racks) != (self.problem.quarters if self.problem.racks else 0):
            yield "racks are not told in every quarter"

    def _nodes(self, quarter: int, number: int) -> Iterator[str]:
        pool = self.problem.pools[number]
        if pool.hire:
            yield from self._hired(quarter, number, pool.hire)
            return
        service = self._service(quarter, number)
        used = sum(layout.count * layout.span for layout in self.solution.layouts[quarter][number])
        if used and used + pool.spare > service:
            yield f"{pool.name}: {used} in use and {pool.spare} spare of {service} in {quarter}"
        for index, main in enumerate(self.problem.pools):
            whole = not main.held and main.home == pool.home
            if used and whole and self._service(quarter, index) < main.spare:
                yield f"{pool.name}: in use without the spare nodes of {main.name} in {quarter}"

    def _shared(self, quarter: int, group: SharedSpares) -> Iterator[str]:
        """Pools of a group that run a unit without enough empty nodes that could take it in."""
        pools, layouts = self.problem.pools, self.solution.layouts[quarter]
        kept = self.solution.spare[quarter]
        needed = group.nodes
        if group.racks:
            mine = {pools[pool].home for pool in group.pools}
            sites = [space.site for space in self.problem.racks]
            racks = self.solution.racks[quarter][sites.index(group.site)]
            held = (sum(n for pool, n in one.nodes if pools[pool].home in mine) for one in racks)
            needed = group.racks * max(held, default=0)
        for pool in group.pools:
            parts = [one for one, kind in enumerate(pools) if kind.home == pools[pool].home]
            units = {
                unit
                for part in parts
                for layout in layouts[part]
                for unit in (
                    *((job_class, mode) for job_class, mode, _ in layout.parts),
                    *((one.job_class, one.mode) for own in layout.bundles for one in own.members),
                )
            }
            used = sum(layout.count * layout.span for layout in layouts[pool])
            if kept[pool] > self._service(quarter, pool) - used:
                yield f"{pools[pool].name}: {kept[pool]} are not empty in {quarter}"
            there = sum(
                kept[other]
                for other in group.pools
                if all(
                    stands_in(job_class, job_class.modes[mode], pools[pool], pools[other])
                    for number, mode in units
                    for job_class in [self.problem.classes[number]]
                )
            )
            if units and there < needed:
                yield f"{pools[pool].name}: {there} of {needed} stand in for it in {quarter}"

    def _hired(self, quarter: int, number: int, hire: HourlyTerms) -> Iterator[str]:
        """What is wrong with nodes that come and go within a quarter."""
        layouts = self.solution.layouts[quarter][number]
        spells = [layout.hours or (0, 0) for layout in layouts]
        for layout, (start, end) in zip(layouts, spells, strict=True):
            if layout.parts or (end - start) % hire.step_hours or layout.count != 1:
                yield f"{layout} is not paid by {hire.step_hours} h"
            if end - start < hire.minimum_hours:
                yield f"{end - start} h are paid of at least {hire.minimum_hours}"
            for one in (member for bundle in layout.bundles for member in bundle.members):
                ends = one.start + self._shape(one.job_class, one.mode).run.hours
                if not start <= one.start < ends <= end:
                    yield f"{one} runs from {start} to {end}"
        steps = sum(end - start for start, end in spells) // hire.step_hours
        for index, supply in enumerate(self.problem.supplies):
            if supply.pool == number:
                most = [sum(a <= start < b for a, b in spells) for start, _ in spells]
                if supply.maximum is not None and max(most, default=0) > supply.maximum:
                    yield f"{max(most)} nodes at once of {supply.maximum}"
                if steps != self.solution.acquired[index][quarter]:
                    yield f"{steps} steps, {self.solution.acquired[index][quarter]} are paid"

    def _capacity(self, quarter: int, number: int) -> Iterator[str]:
        pool = self.problem.pools[number]
        for layout in self.solution.layouts[quarter][number]:
            load: defaultdict[str, int] = defaultdict(int)
            for job_class, mode, units in layout.parts:
                taken = self.problem.classes[job_class].modes[mode]
                load["gpus"] += units * taken.shape.gpus
                load["cpus"] += units * taken.shape.cpus
                load["memory_mb"] += units * taken.shape.memory_mb
                if taken.shape.bundles:
                    yield f"{pool.name}: a piece of a bundle has GPUs to itself"
                yield from self._belongs(pool, taken)
            yield from self._weekly(pool, layout, load)
            yield from self._opened(pool, layout, pool.node.gpus - load["gpus"])
            for name, amount in load.items():
                if amount > layout.span * getattr(pool.node, name):
                    yield f"{pool.name}: {amount} {name} on {layout.span} nodes"
            if layout.span > 1:
                alone = sum(units for _, _, units in layout.parts) == 1
                if not alone or not pool.fabric or load["gpus"] != layout.span * pool.node.gpus:
                    yield f"{pool.name}: a span of {layout.span} nodes is not one unit's"

    def _belongs(self, pool: Pool, mode: Mode) -> Iterator[str]:
        """What is wrong with the pool that a piece is on."""
        if mode.gpu_type != pool.gpu_type:
            yield f"{pool.name} holds a unit for {mode.gpu_type}"
        if mode.shape.sites and pool.site not in mode.shape.sites:
            yield f"{pool.name} holds a unit for {mode.shape.sites}"
        if mode.shape.gpus > pool.node.gpus and not (pool.fabric and mode.shape.spans):
            yield f"{pool.name}: a unit spans that may not"
        if mode.shape.stays not in ("", pool.home, pool.held):
            yield f"{pool.name} holds a unit that must stay on {mode.shape.stays}"

    def _weekly(self, pool: Pool, layout: Layout, always: dict[str, int]) -> Iterator[str]:
        """What is wrong with pieces that share GPUs with others, slot by slot."""
        if layout.bundles and layout.span > 1:
            yield f"{pool.name}: GPUs are shared across nodes"
        bundled = sum(bundle.gpus for bundle in layout.bundles)
        if layout.bundles and always["gpus"] + bundled > pool.node.gpus:
            yield f"{pool.name}: bundles and pieces with GPUs to themselves take too many"
        busy: Counter[tuple[int, int, int]] = Counter()
        weeks = [Counter(always) for _ in range(SLOTS)]
        for number, bundle in enumerate(layout.bundles):
            for member in bundle.members:
                mode = self.problem.classes[member.job_class].modes[member.mode]
                shape, run = mode.shape, mode.shape.run
                if shape.gpus > pool.node.gpus:
                    shape = pool.node._replace(run=run)
                ends = member.start + run.hours
                yield from self._belongs(pool, mode)
                if not shape.bundles:
                    yield f"{pool.name}: a bundle holds a piece that has GPUs to itself"
                if not run.earliest <= member.start <= ends <= run.until:
                    yield f"{pool.name}: {run} in week {member.start}"
                if not 0 <= member.gpu <= bundle.gpus - shape.gpus:
                    yield f"{pool.name}: {shape.gpus} GPUs from {member.gpu} of {bundle.gpus}"
                for week in range(member.start // SLOT, ends // SLOT):
                    for gpu in range(member.gpu, member.gpu + shape.whole_gpus):
                        busy[number, gpu, week] += 1
                    weeks[week].update({"cpus": shape.cpus, "memory_mb": shape.memory_mb})
        if max(busy.values(), default=0) > 1:
            yield f"{pool.name}: two pieces on one GPU in one week"
        for week, load in enumerate(weeks):
            if load["cpus"] > layout.span * pool.node.cpus:
                yield f"{pool.name}: {load['cpus']} cores in week {week}"
            if load["memory_mb"] > layout.span * pool.node.memory_mb:
                yield f"{pool.name}: {load['memory_mb']} MB in week {week}"
