"""Money and capacity of a plan by quarter, and the margins under its limits."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import date
from fractions import Fraction
from itertools import groupby
from typing import NamedTuple

from planner.costs import CAPEX, NOT_PAID
from planner.inputs.scenario.site import SITE_LIMITS
from planner.planning.plan import Acquisition, Plan, PoolUse
from planner.planning.traced_figures import NOTHING, FigureReader, TracedFigure, total, where

_STANDING = frozenset(limit.need for limit in SITE_LIMITS if not limit.drawn)
"""What a node takes even while it is switched off."""


class Accounts:
    """Sums of a plan's cost lines in cents, and how far its prices may move.

    They follow from the plan as it is; nothing is planned again.
    """

    def __init__(self, plan: Plan, read: FigureReader) -> None:
        self._plan = plan
        self._read = read
        self._place = {label: place for place, label in enumerate(plan.quarters)}
        self.years = tuple(
            (label, tuple(places))
            for label, places in groupby(self._place.values(), lambda at: plan.quarters[at][:4])
        )
        """The calendar years, in whole or in part, with the indices of their quarters."""

    def line(self, line: int, quarters: Iterable[int]) -> TracedFigure:
        """Return one kind of cost in these quarters, not discounted."""
        return total(self._read.at(f"costs[{line}].cents[{place}]") for place in quarters)

    def counted(self, quarters: Sequence[int]) -> TracedFigure:
        """Return what counts in these quarters: what is paid, then residual value and weights."""
        names = [line.name for line in self._plan.costs]
        ordered = sorted(range(len(names)), key=lambda line: names[line] in NOT_PAID)
        return total(self.line(line, quarters) for line in ordered)

    def acquired(self, kind: str) -> TracedFigure:
        """Return the total of one kind of acquisition within the horizon."""
        return self._read.sum(f"acquisitions{where(kind=kind)}.total_cents")

    @property
    def net_present(self) -> TracedFigure:
        """The figure that the plan minimizes: the present values of all kinds of cost."""
        return self._read.sum("costs[*].present_cents")

    @property
    def adjusted(self) -> TracedFigure | None:
        """Net present cost with purchases dearer by the optimism bias.

        They are worth no more at the end. None if the scenario states no optimism bias.
        """
        if self._plan.optimism_bias is None:
            return None
        bought = total(
            self._read.at(f"costs[{place}].present_cents")
            for place, line in enumerate(self._plan.costs)
            if line.name in CAPEX
        )
        return self.net_present + bought * self._read.at("optimism_bias")

    @property
    def residual_share(self) -> TracedFigure | None:
        """The residual value as a share of the purchases, neither of them discounted."""
        names = [line.name for line in self._plan.costs]
        if not {"residual value", "purchase"} <= set(names):
            return None
        left, price = (
            self._read.at(f"costs[{names.index(name)}].total_cents")
            for name in ("residual value", "purchase")
        )
        return (NOTHING - left) / price if price.value else None

    @property
    def per_gpu_hour(self) -> TracedFigure | None:
        """Net present cost per GPU-hour that jobs hold, in cents; None if no job runs."""
        held = self._read.sum("pools[*].gpu_hours_used[*]")
        return self.net_present / held if held.value else None

    @property
    def idle_share(self) -> TracedFigure | None:
        """The share of the GPU-hours in service that no job holds; None without nodes."""
        every = self._read.sum("pools[*].gpu_hours[*]")
        held = self._read.sum("pools[*].gpu_hours_used[*]")
        return (every - held) / every if every.value else None

    @property
    def delivered(self) -> TracedFigure | None:
        """GPU-hours that jobs deliver; None without teams, or if the time of a run is unknown."""
        charged = self._plan.chargeback
        if charged is None or any(use.open_gpu_hours for use in charged.teams):
            return None
        return self._read.sum("chargeback.teams[*].delivered_gpu_hours")

    def price_turns(self) -> dict[str, TracedFigure]:
        """Return how far the price of an offer may move until a node is cheaper rented than bought.

        As a share of the price, by offer: up for what is bought, down for the cheapest rent of such
        a node.
        """
        plan, found = self._plan, dict[str, TracedFigure]()
        bought = {line.offer for line in plan.acquisitions if line.kind == "buy"}
        for place, one in enumerate(plan.break_evens):
            if one.offer not in bought or one.buy_cents > one.rent_cents:
                continue
            for offer, of in ((one.offer, "buy"), (one.rent, "rent")):
                buy, rent, part = (
                    self._read.at(f"break_evens[{place}].{key}_cents")
                    for key in ("buy", "rent", f"{of}_price")
                )
                if part.value:
                    more = (rent - buy) / part
                    by = more if of == "buy" else NOTHING - more
                    found[offer] = min(found.get(offer, by), by, key=lambda one: abs(one.value))
        return found


class LimitMargin(NamedTuple):
    """A limit, in the quarter in which least of it is left."""

    what: str
    """What is limited: a need of a site such as `power_w`, `rack power`, `racks`, `quota` or
    `maximum`."""
    of: tuple[str, ...]
    """The site and the number of the rack; the team and, if it is for one, the GPU type; or the
    offer."""
    quarter: int
    taken: TracedFigure
    allowed: TracedFigure
    one: TracedFigure | None = None
    """What one node takes, of the nodes there the one that takes least."""

    @property
    def left(self) -> TracedFigure:
        """What is allowed and not taken."""
        return self.allowed - self.taken


class Capacity:
    """GPUs and nodes, what they take at sites, and the margins under limits other than money.

    A quarter is an index into the horizon; a need is a key of `NodeFacts.takes`. Nothing is
    planned again.
    """

    def __init__(self, plan: Plan, read: FigureReader) -> None:
        self._plan = plan
        self._read = read
        self._facts = {facts.node_type: facts for facts in plan.node_types}

    def needed(self, quarter: int) -> TracedFigure:
        """Return the GPUs of which jobs hold anything at any hour."""
        return self._read.sum(f"pools[*].gpus_used[{quarter}]")

    def in_service(self, quarter: int) -> TracedFigure:
        """Return the GPUs of all nodes in service."""
        return self._read.sum(f"pools[*].gpus[{quarter}]")

    def owned(self, quarter: int) -> TracedFigure:
        """Return the GPUs that would be in service if nothing were acquired, sold or off."""
        return total(
            self._read.sum(f"nodes{where(origin='owned', **quarters)}.gpus")
            for quarters in self._kept(self._plan.quarters[quarter])
        )

    def _kept(self, label: str) -> Iterator[dict[str, str]]:
        """Yield what selects the nodes that are there, off, or sold by this quarter."""
        nodes = self._plan.nodes
        yield {"in_service": label}
        if any(label in node.off for node in nodes):
            yield {"off": label}
        if any(label in node.gone for node in nodes):
            yield {"gone": label}

    def short(self, quarter: int) -> TracedFigure:
        """Return the GPUs held beyond those owned; negative if some are left."""
        return self.needed(quarter) - self.owned(quarter)

    def short_hours(self, quarter: int) -> TracedFigure:
        """Return the GPU-hours held beyond those of the owned GPUs; negative if some are left."""
        hours = self._read.at("settings[name=hours_per_quarter].value")
        held = self._read.sum(f"pools[*].gpu_hours_used[{quarter}]")
        return held - self.owned(quarter) * hours

    def usable(self, quarter: int) -> TracedFigure:
        """Return the GPUs in service, without nodes that are kept empty as spares."""
        kept = (
            self._read.at(f"pools[{place}].nodes_spare[{quarter}]")
            * self._read.at(f"node_types{where(node_type=pool.node_type)}.gpus")
            for place, pool in enumerate(self._plan.pools)
            if any(pool.nodes_spare)
        )
        return self.in_service(quarter) - total(kept)

    def held(self, job: str, quarter: int) -> TracedFigure:
        """Return the GPUs that a job holds, wholly or in part."""
        return self._read.count(f"placements[{quarter}][*].occupants{where(job=job)}.gpus[*]")

    def exhausted(self) -> int | None:
        """The first quarter in which jobs hold more GPUs than are owned; None if there is none."""
        quarters = range(len(self._plan.quarters))
        return next((place for place in quarters if self.short(place).value > 0), None)

    def exhausted_of(self, gpu_type: str) -> int | None:
        """Return the first quarter in which a GPU type that is owned no longer suffices.

        For what jobs and spare nodes take.
        """
        plan = self._plan
        pools = [pool for pool in plan.pools if pool.gpu_type == gpu_type]
        nodes = [node for node in plan.nodes if (node.gpu_type, node.origin) == (gpu_type, "owned")]
        kept = [(node.gpus, {*node.standing, *node.gone}) for node in nodes]
        for place, label in enumerate(plan.quarters):
            taken = sum(
                pool.gpus_used[place] + pool.nodes_spare[place] * self._facts[pool.node_type].gpus
                for pool in pools
            )
            if taken > sum(gpus for gpus, quarters in kept if label in quarters):
                return place
        return None

    @property
    def sites(self) -> tuple[str, ...]:
        """The sites with nodes, sorted."""
        return tuple(sorted({pool.site for pool in self._plan.pools}))

    def each(self, node_type: str, need: str) -> TracedFigure | None:
        """Return what one node takes; None if the catalog does not say."""
        facts = self._facts.get(node_type)
        if facts is None or need not in facts.takes:
            return None
        return self._read.at(f"node_types{where(node_type=node_type)}.takes[{need}]")

    def taken(
        self, site: str, quarter: int, need: str, *, owned: bool = False
    ) -> TracedFigure | None:
        """Return what all nodes there take; None if a figure is unknown.

        Nodes that are switched off count unless the need is a draw. With `owned`, it is what owned
        nodes would take if none were sold or off.
        """
        label, terms = self._plan.quarters[quarter], []
        for place, pool in self._pools(site):
            here = {"site": site, "node_type": pool.node_type}
            nodes = self._read.at(f"pools[{place}].nodes[{quarter}]")
            if owned:
                nodes = total(
                    self._read.count("nodes" + where(origin="owned", **here, **quarters))
                    for quarters in self._kept(label)
                )
            elif need in _STANDING:
                nodes = self._plus_off(nodes, label, **here)
            each = self.each(pool.node_type, need)
            if each is None and nodes.value:
                return None
            if each is not None and nodes.value:
                terms.append(nodes * each)
        return total(terms)

    def _plus_off(self, on: TracedFigure, label: str, **here: str) -> TracedFigure:
        """Add the nodes that are switched off to those in service, if there are any."""
        off = self._read.count("nodes" + where(**here, off=label))
        return on + off if off.value else on

    def without_nameplate(self, site: str) -> tuple[str, ...]:
        """Return the node types of a site for which the catalog states no power."""
        return tuple(
            pool.node_type
            for _, pool in self._pools(site)
            if self.each(pool.node_type, "power_w") is None
        )

    def racks(self, site: str, quarter: int) -> dict[int, TracedFigure] | None:
        """Return the nameplate power in each rack, in W, by the rack's number.

        Nodes that are switched off keep their feed. None if a node changes its rack or the
        catalog lacks a figure; empty without racks.
        """
        label = self._plan.quarters[quarter]
        nodes = [one for one in self._plan.nodes if one.site == site and label in one.standing]
        stood = {(rack, node.node_type) for node in nodes for rack in node.racks}
        found: dict[int, TracedFigure] = {}
        if any(len(set(node.racks)) > 1 for node in nodes):
            return None
        for rack, name in sorted(stood):
            here = {"site": site, "node_type": name, "racks": str(rack)}
            on = self._read.count("nodes" + where(**here, in_service=label))
            each = self.each(name, "power_w")
            if each is None:
                return None
            found[rack] = found.get(rack, NOTHING) + self._plus_off(on, label, **here) * each
        return found

    def _pools(self, site: str) -> Iterator[tuple[int, PoolUse]]:
        return ((place, pool) for place, pool in enumerate(self._plan.pools) if pool.site == site)

    def limit_margins(self) -> Iterator[LimitMargin]:
        """The margins under the limits of sites, teams and offers."""
        for place, site in enumerate(self._plan.sites):
            yield from self._site(f"sites[{place}]", site.site, place)
        charged = self._plan.chargeback
        for place, team in enumerate(charged.teams if charged else ()):
            for number, quota in enumerate(team.quotas):
                stem = f"chargeback.teams[{place}].quotas[{number}]"
                which = (team.team or "", *([quota.gpu_type] if quota.gpu_type else []))
                limits = quota.limit_gpus
                yield from self._least("quota", which, stem, limits, ("gpus", "limit_gpus"))
        lines = list(enumerate(self._plan.acquisitions))
        first_orders: dict[str, tuple[int, Acquisition]] = {}
        for place, line in sorted(lines, key=lambda one: (one[1].order_by, one[0])):
            first_orders.setdefault(line.offer, (place, line))
        for offer, (place, line) in first_orders.items():
            if line.maximum is not None and not line.step_hours:
                # At any one time; what is bought stays.
                counts = [
                    self._read.count(f"nodes{where(entry=offer, origin=line.kind, in_service=at)}")
                    for at in self._plan.quarters
                ]
                most = max(range(len(counts)), key=lambda quarter: counts[quarter].value)
                allowed = self._read.at(f"acquisitions[{place}].maximum")
                yield LimitMargin("maximum", (offer,), most, counts[most], allowed)

    def _site(self, stem: str, name: str, place: int) -> Iterator[LimitMargin]:
        site = self._plan.sites[place]
        for need, limits in site.allowed.items():
            if site.taken[need] is not None:
                types = sorted({pool.node_type for _, pool in self._pools(name)})
                needs = filter(None, (self.each(node_type, need) for node_type in types))
                one = min(needs, key=lambda each: each.value, default=None)
                fields = f"taken[{need}]", f"allowed[{need}]"
                for room in self._least(need, (name,), stem, limits, fields):
                    yield room._replace(one=one)
        if site.power_per_rack_w is not None:
            fed = self._read.at(f"{stem}.power_per_rack_w")
            rooms = [
                LimitMargin("rack power", (name, str(rack)), quarter, taken, fed)
                for rack, (quarter, taken) in self.rack_peaks(name).items()
            ]
            yield from sorted(rooms, key=lambda room: room.left.value)[:1]
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
        """Return the quarter in which least is left, among those that have a limit."""
        rooms = []
        for at, limit in enumerate(limits):
            if limit is not None:
                taken, allowed = (self._read.at(f"{stem}.{one}[{at}]") for one in fields)
                rooms.append(LimitMargin(what, of, at, taken, allowed))
        if rooms:
            yield min(rooms, key=lambda room: room.left.value)

    def rack_peaks(self, site: str) -> dict[int, tuple[int, TracedFigure]]:
        """Return the quarter in which each rack takes most, and how much.

        Racks of unknown power are left out.
        """
        peaks: dict[int, tuple[int, TracedFigure]] = {}
        for quarter in range(len(self._plan.quarters)):
            for rack, taken in (self.racks(site, quarter) or {}).items():
                if rack not in peaks or taken.value > peaks[rack][1].value:
                    peaks[rack] = quarter, taken
        return dict(sorted(peaks.items()))

    def days_to_order(self, line: int) -> TracedFigure:
        """Return the days from the day of the plan to the last day for ordering an acquisition."""
        stem, order_by = f"acquisitions[{line}]", self._plan.acquisitions[line].order_by
        return _days((f"{stem}.order_by", order_by), ("as_of", self._plan.as_of))

    def days_of_sale(self, line: int) -> TracedFigure | None:
        """Return the days from the last order to the end of sale; None if there is none."""
        bought, stem = self._plan.acquisitions[line], f"acquisitions[{line}]"
        if bought.end_of_sale is None:
            return None
        end = f"{stem}.end_of_sale", bought.end_of_sale
        return _days(end, (f"{stem}.order_by", bought.order_by))


def _days(later: tuple[str, str], earlier: tuple[str, str]) -> TracedFigure:
    """Return the days between two dates, each given by its place in plan.json and in ISO form."""
    days = (date.fromisoformat(later[1]) - date.fromisoformat(earlier[1])).days
    return TracedFigure(Fraction(days), later[0]) - TracedFigure(Fraction(0), earlier[0])
