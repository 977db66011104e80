"""GPUs of a plan quarter by quarter, what sites and racks hold, and what is left under limits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date
from fractions import Fraction
from typing import NamedTuple

from planner.inputs.scenario.site import SITE_LIMITS
from planner.planning.ledger.traced import FigureReader, TracedFigure, total, where
from planner.planning.plan import Acquisition, Plan, PoolUse

_STANDING = frozenset(limit.need for limit in SITE_LIMITS if not limit.drawn)
"""What a node takes that is switched off, too."""


class LimitMargin(NamedTuple):
    """A limit in the quarter in which the least is left."""

    what: str
    """What a site limits, as `power_w`, or `rack power`, `racks`, `quota` or `maximum`."""
    of: tuple[str, ...]
    """Site, and number of the rack; team, and GPU type if it is for one; or offer."""
    quarter: int
    taken: TracedFigure
    allowed: TracedFigure
    one: TracedFigure | None = None
    """What one node takes, the least of those that stand there."""

    @property
    def left(self) -> TracedFigure:
        """Allowed and not taken."""
        return self.allowed - self.taken


class FirstOrder(NamedTuple):
    """The first order of an offer."""

    line: int
    """Place of `acquisitions`."""
    days: TracedFigure
    """From the day of the plan."""
    days_of_sale: TracedFigure | None
    """From then to the last day of an order; None: there is none."""


class Capacity:
    """GPUs and nodes, what they take of sites, and what is left under limits that are no money.

    A quarter is its place in the horizon; a need is a key of `NodeFacts.takes`. Nothing is planned
    anew.
    """

    def __init__(self, plan: Plan, read: FigureReader) -> None:
        self._plan = plan
        self._read = read
        self._facts = {facts.node_type: facts for facts in plan.node_types}
        self._spares = [place for place, pool in enumerate(plan.pools) if any(pool.nodes_spare)]

    def needed(self, quarter: int) -> TracedFigure:
        """GPUs of which jobs hold anything at any hour."""
        return self._read.sum(f"pools[*].gpus_used[{quarter}]")

    def in_service(self, quarter: int) -> TracedFigure:
        """GPUs of all nodes in service."""
        return self._read.sum(f"pools[*].gpus[{quarter}]")

    def owned(self, quarter: int) -> TracedFigure:
        """GPUs of nodes that were owned before."""
        return self.added(quarter, "owned")

    def added(self, quarter: int, origin: str) -> TracedFigure:
        """GPUs of nodes of an origin: those that the plan buys, rents or reserves."""
        nodes = where(origin=origin, in_service=self._plan.quarters[quarter])
        return self._read.sum(f"nodes{nodes}.gpus")

    def short(self, quarter: int) -> TracedFigure:
        """GPUs held beyond those owned; negative where some would be left."""
        return self.needed(quarter) - self.owned(quarter)

    def short_hours(self, quarter: int) -> TracedFigure:
        """GPU-hours held beyond those of the GPUs owned; negative where some would be left."""
        hours = self._read.at("settings[name=hours_per_quarter].value")
        held = self._read.sum(f"pools[*].gpu_hours_used[{quarter}]")
        return held - self.owned(quarter) * hours

    def usable(self, quarter: int) -> TracedFigure:
        """GPUs in service, without the nodes that are kept empty as spare."""
        kept = (
            self._read.at(f"pools[{place}].nodes_spare[{quarter}]")
            * self.fact(self._plan.pools[place], "gpus")
            for place in self._spares
        )
        return self.in_service(quarter) - total(kept)

    def fact(self, pool: PoolUse, name: str) -> TracedFigure:
        """What the catalog says of one node of a pool."""
        return self._read.at(f"node_types{where(node_type=pool.node_type)}.{name}")

    def held(self, job: str, quarter: int) -> TracedFigure:
        """GPUs that a job holds, wholly or in part."""
        return self._read.count(f"placements[{quarter}][*].occupants{where(job=job)}.gpus[*]")

    def exhausted(self) -> int | None:
        """The first quarter in which jobs hold more GPUs than are owned; None if there is none."""
        quarters = range(len(self._plan.quarters))
        return next((place for place in quarters if self.short(place).value > 0), None)

    def exhausted_of(self, gpu_type: str) -> int | None:
        """The first quarter in which jobs and spare nodes take more of a GPU type than is owned."""
        plan = self._plan
        each = {facts.node_type: facts.gpus for facts in plan.node_types}
        pools = [pool for pool in plan.pools if pool.gpu_type == gpu_type]
        nodes = [node for node in plan.nodes if (node.gpu_type, node.origin) == (gpu_type, "owned")]
        for place, label in enumerate(plan.quarters):
            taken = sum(
                pool.gpus_used[place] + pool.nodes_spare[place] * each[pool.node_type]
                for pool in pools
            )
            if taken > sum(node.gpus for node in nodes if label in node.in_service):
                return place
        return None

    @property
    def sites(self) -> tuple[str, ...]:
        """Sites with nodes, sorted."""
        return tuple(sorted({pool.site for pool in self._plan.pools}))

    def each(self, node_type: str, need: str) -> TracedFigure | None:
        """What one node takes; None where the catalog does not say."""
        facts = self._facts.get(node_type)
        if facts is None or need not in facts.takes:
            return None
        return self._read.at(f"node_types{where(node_type=node_type)}.takes[{need}]")

    def before(self, site: str, quarter: int, need: str) -> TracedFigure | None:
        """What the nodes owned before take; None where the catalog lacks one of them."""
        return self._taken(site, quarter, need, owned=True)

    def after(self, site: str, quarter: int, need: str) -> TracedFigure | None:
        """What all nodes take that are there; None where the catalog lacks one of them."""
        return self._taken(site, quarter, need, owned=False)

    def _taken(self, site: str, quarter: int, need: str, *, owned: bool) -> TracedFigure | None:
        """With nodes that are switched off, where what is taken is no draw."""
        label, terms = self._plan.quarters[quarter], []
        for place, pool in self._pools(site):
            here = {"site": site, "node_type": pool.node_type}
            nodes = self._read.at(f"pools[{place}].nodes[{quarter}]")
            if owned:
                nodes = self._read.count("nodes" + where(origin="owned", **here, in_service=label))
            if need in _STANDING:
                nodes = self._plus_off(nodes, label, **here)
            each = self.each(pool.node_type, need)
            if each is None and nodes.value:
                return None
            if each is not None and nodes.value:
                terms.append(nodes * each)
        return total(terms)

    def _plus_off(self, on: TracedFigure, label: str, **here: str) -> TracedFigure:
        """Nodes in service with those that are switched off there, if there are any."""
        off = self._read.count("nodes" + where(**here, off=label))
        return on + off if off.value else on

    def without_nameplate(self, site: str) -> tuple[str, ...]:
        """Node types of a site of which the catalog does not say what power they take."""
        return tuple(
            pool.node_type
            for _, pool in self._pools(site)
            if self.each(pool.node_type, "power_w") is None
        )

    def racks(self, site: str, quarter: int) -> dict[int, TracedFigure] | None:
        """What the nodes in each rack take by their nameplates, W, by the rack's number.

        Those that are switched off keep their feed. None where a node changes its rack, or the
        catalog lacks one of them; empty without racks.
        """
        label = self._plan.quarters[quarter]
        nodes = [one for one in self._plan.nodes if one.site == site and label in one.standing]
        stood: dict[int, set[str]] = {}
        for node in nodes:
            if len(set(node.racks)) > 1 or self.each(node.node_type, "power_w") is None:
                return None
            for rack in set(node.racks):
                stood.setdefault(rack, set()).add(node.node_type)
        return {
            rack: total(
                self._in_rack(site, name, rack, label)
                * self._read.at(f"node_types{where(node_type=name)}.takes[power_w]")
                for name in sorted(stood[rack])
            )
            for rack in sorted(stood)
        }

    def _in_rack(self, site: str, node_type: str, rack: int, label: str) -> TracedFigure:
        """Nodes of a type that stand in a rack, in service or switched off."""
        here = {"site": site, "node_type": node_type, "racks": str(rack)}
        on = self._read.count("nodes" + where(**here, in_service=label))
        return self._plus_off(on, label, **here)

    def _pools(self, site: str) -> Iterator[tuple[int, PoolUse]]:
        return ((place, pool) for place, pool in enumerate(self._plan.pools) if pool.site == site)

    def limit_margins(self) -> Iterator[LimitMargin]:
        """Limits of sites, teams and offers that are not money."""
        for place, site in enumerate(self._plan.sites):
            yield from self._site(f"sites[{place}]", site.site, place)
        charged = self._plan.chargeback
        for place, team in enumerate(charged.teams if charged else ()):
            for number, quota in enumerate(team.quotas):
                stem = f"chargeback.teams[{place}].quotas[{number}]"
                which = (team.team or "", *([quota.gpu_type] if quota.gpu_type else []))
                limits = quota.limit_gpus
                yield from self._least("quota", which, stem, limits, ("gpus", "limit_gpus"))
        for offer, (place, line) in self._first_lines().items():
            if line.maximum is not None and not line.step_hours:
                yield self._maximum(offer, place, line)

    def _site(self, stem: str, name: str, place: int) -> Iterator[LimitMargin]:
        site = self._plan.sites[place]
        for need, limits in site.allowed.items():
            if site.taken[need] is not None:
                one, fields = self._smallest(name, need), (f"taken[{need}]", f"allowed[{need}]")
                for room in self._least(need, (name,), stem, limits, fields):
                    yield room._replace(one=one)
        if site.power_per_rack_w is not None:
            yield from self._fullest_rack(stem, name)
        quarters = range(len(self._plan.quarters))
        if site.racks is not None:
            most = max(quarters, key=lambda quarter: site.racks_used[quarter])
            taken = self._read.at(f"{stem}.racks_used[{most}]")
            yield LimitMargin("racks", (name,), most, taken, self._read.at(f"{stem}.racks"))

    def _least(
        self,
        what: str,
        of: tuple[str, ...],
        stem: str,
        limits: Sequence[int | None],
        fields: tuple[str, str],
    ) -> Iterator[LimitMargin]:
        """The quarter in which the least is left, of those that have a limit."""
        rooms = []
        for at, limit in enumerate(limits):
            if limit is not None:
                taken, allowed = (self._read.at(f"{stem}.{one}[{at}]") for one in fields)
                rooms.append(LimitMargin(what, of, at, taken, allowed))
        if rooms:
            yield min(rooms, key=lambda room: room.left.value)

    def rack_peaks(self, site: str) -> dict[int, tuple[int, TracedFigure]]:
        """The quarter in which each rack takes the most, and how much; without those not known."""
        peaks: dict[int, tuple[int, TracedFigure]] = {}
        for quarter in range(len(self._plan.quarters)):
            for rack, taken in (self.racks(site, quarter) or {}).items():
                if rack not in peaks or taken.value > peaks[rack][1].value:
                    peaks[rack] = quarter, taken
        return dict(sorted(peaks.items()))

    def _fullest_rack(self, stem: str, site: str) -> Iterator[LimitMargin]:
        allowed = self._read.at(f"{stem}.power_per_rack_w")
        rooms = [
            LimitMargin("rack power", (site, str(rack)), quarter, taken, allowed)
            for rack, (quarter, taken) in self.rack_peaks(site).items()
        ]
        if rooms:
            yield min(rooms, key=lambda room: room.left.value)

    def _smallest(self, site: str, need: str) -> TracedFigure | None:
        """What the node type of a site that takes the least takes."""
        types = {pool.node_type for pool in self._plan.pools if pool.site == site}
        needs = (self.each(name, need) for name in sorted(types))
        return min(filter(None, needs), key=lambda one: one.value, default=None)

    def _maximum(self, offer: str, place: int, line: Acquisition) -> LimitMargin:
        """Nodes at any one time; those that are bought stay."""
        counts = [
            self._read.count(f"nodes{where(entry=offer, origin=line.kind, in_service=label)}")
            for label in self._plan.quarters
        ]
        most = max(range(len(counts)), key=lambda quarter: counts[quarter].value)
        allowed = self._read.at(f"acquisitions[{place}].maximum")
        return LimitMargin("maximum", (offer,), most, counts[most], allowed)

    def first_orders(self) -> Iterator[FirstOrder]:
        """The first order of each offer, the most urgent first."""
        found = []
        for place, line in self._first_lines().values():
            order_by, stem = date.fromisoformat(line.order_by), f"acquisitions[{place}]"
            days = (order_by - date.fromisoformat(self._plan.as_of)).days
            sale = None
            if line.end_of_sale is not None:
                left = (date.fromisoformat(line.end_of_sale) - order_by).days
                sale = _days(left, f"{stem}.end_of_sale", f"{stem}.order_by")
            found.append(FirstOrder(place, _days(days, f"{stem}.order_by", "as_of"), sale))
        yield from sorted(found, key=lambda order: order.days.value)

    def _first_lines(self) -> dict[str, tuple[int, Acquisition]]:
        """By offer, its line with the first order."""
        lines = sorted(
            enumerate(self._plan.acquisitions), key=lambda one: (one[1].order_by, one[0])
        )
        found: dict[str, tuple[int, Acquisition]] = {}
        for place, line in lines:
            found.setdefault(line.offer, (place, line))
        return found


def _days(value: int, later: str, earlier: str) -> TracedFigure:
    """From one day to another."""
    return TracedFigure(Fraction(value), later) - TracedFigure(Fraction(0), earlier)
