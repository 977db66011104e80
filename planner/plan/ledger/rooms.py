"""What is left under limits that are no money: of sites, teams and offers, and until orders."""

from __future__ import annotations

from datetime import date
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

from planner.plan.ledger.reader import where
from planner.plan.ledger.traced import Traced

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from planner.plan.ledger.facility import Facility
    from planner.plan.ledger.reader import Reader
    from planner.plan.plan import Acquisition, Plan

__all__ = ["Order", "Room", "Rooms"]


class Room(NamedTuple):
    """A limit in the quarter in which the least is left."""

    what: str
    """What a site limits, as `power_w`, or `rack power`, `racks`, `quota` or `maximum`."""
    of: tuple[str, ...]
    """Site, and number of the rack; team, and GPU type if it is for one; or offer."""
    quarter: int
    taken: Traced
    allowed: Traced
    one: Traced | None = None
    """What one node takes, the least of those that stand there."""

    @property
    def left(self) -> Traced:
        """Allowed and not taken."""
        return self.allowed - self.taken


class Order(NamedTuple):
    """The first order of an offer."""

    line: int
    """Place of `acquisitions`."""
    days: Traced
    """From the day of the plan."""
    days_of_sale: Traced | None
    """From then to the last day of an order; None: there is none."""


class Rooms:
    """Worked out from a plan as it is; nothing is planned anew."""

    def __init__(self, plan: Plan, read: Reader, facility: Facility) -> None:
        self._plan = plan
        self._read = read
        self._facility = facility

    def rooms(self) -> Iterator[Room]:
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

    def _site(self, stem: str, name: str, place: int) -> Iterator[Room]:
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
            yield Room("racks", (name,), most, taken, self._read.at(f"{stem}.racks"))

    def _least(
        self,
        what: str,
        of: tuple[str, ...],
        stem: str,
        limits: Sequence[int | None],
        fields: tuple[str, str],
    ) -> Iterator[Room]:
        """The quarter in which the least is left, of those that have a limit."""
        taken, allowed = fields
        rooms = [
            Room(
                what,
                of,
                quarter,
                self._read.at(f"{stem}.{taken}[{quarter}]"),
                self._read.at(f"{stem}.{allowed}[{quarter}]"),
            )
            for quarter, limit in enumerate(limits)
            if limit is not None
        ]
        if rooms:
            yield min(rooms, key=lambda room: room.left.value)

    def _fullest_rack(self, stem: str, site: str) -> Iterator[Room]:
        allowed = self._read.at(f"{stem}.power_per_rack_w")
        rooms = [
            Room("rack power", (site, str(rack)), quarter, taken, allowed)
            for quarter in range(len(self._plan.quarters))
            for rack, taken in (self._facility.racks(site, quarter) or {}).items()
        ]
        if rooms:
            yield min(rooms, key=lambda room: room.left.value)

    def _smallest(self, site: str, need: str) -> Traced | None:
        """What the node type of a site that takes the least takes."""
        types = {pool.node_type for pool in self._plan.pools if pool.site == site}
        needs = (self._facility.each(name, need) for name in sorted(types))
        return min(filter(None, needs), key=lambda one: one.value, default=None)

    def _maximum(self, offer: str, place: int, line: Acquisition) -> Room:
        """Nodes at any one time; those that are bought stay."""
        counts = [
            self._read.count(f"nodes{where(entry=offer, origin=line.kind, in_service=label)}")
            for label in self._plan.quarters
        ]
        most = max(range(len(counts)), key=lambda quarter: counts[quarter].value)
        allowed = self._read.at(f"acquisitions[{place}].maximum")
        return Room("maximum", (offer,), most, counts[most], allowed)

    def orders(self) -> Iterator[Order]:
        """The first order of each offer, the most urgent first."""
        found = []
        for place, line in self._first_lines().values():
            order_by, stem = date.fromisoformat(line.order_by), f"acquisitions[{place}]"
            days = (order_by - date.fromisoformat(self._plan.as_of)).days
            sale = None
            if line.end_of_sale is not None:
                left = (date.fromisoformat(line.end_of_sale) - order_by).days
                sale = _days(left, f"{stem}.end_of_sale", f"{stem}.order_by")
            found.append(Order(place, _days(days, f"{stem}.order_by", "as_of"), sale))
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


def _days(value: int, later: str, earlier: str) -> Traced:
    """From one day to another."""
    return Traced(Fraction(value), later) - Traced(Fraction(0), earlier)
