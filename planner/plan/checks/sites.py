"""What stands at a site keeps to its power, its racks and its cooling, and to the jobs' sites."""

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction
from math import ceil
from typing import TYPE_CHECKING

from planner.inputs.checks.sites import cooled_by
from planner.inputs.text.words import count_of
from planner.plan.checks.view import Check, View, differences

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from planner.inputs.scenario.site import Racks
    from planner.plan.plan import Node

__all__ = ["CHECKS"]


def _here(view: View, site: str) -> list[Node]:
    """Those that come and go within a quarter stand at their provider's."""
    return [node for node in view.plan.nodes if node.site == site and node.hours is None]


def _serving(nodes: Sequence[Node], label: str) -> list[Node]:
    return [node for node in nodes if label in node.in_service]


def _kilowatts(view: View, nodes: Sequence[Node]) -> Fraction | None:
    """Sum of the nameplates; None where the catalog lacks one."""
    figures = [view.inputs.catalog.nodes[node.node_type].max_power_kw for node in nodes]
    known = [Fraction(figure.value) for figure in figures if figure is not None]
    return sum(known, Fraction(0)) if len(known) == len(figures) else None


def _units(view: View, nodes: Sequence[Node]) -> int | None:
    """Sum of the rack units; None where the catalog lacks one."""
    figures = [view.inputs.catalog.nodes[node.node_type].rack_units for node in nodes]
    known = [figure.value for figure in figures if figure is not None]
    return sum(known) if len(known) == len(figures) else None


def _beyond(
    where: str, what: str, unit: str, taken: Fraction | int | None, most: Fraction | int | None
) -> Iterator[str]:
    if most is None:
        return
    if taken is None:
        yield f"{where}: {what} is limited, but the catalog lacks the figure of a node there"
    elif taken > most:
        yield f"{where}: the nodes take {float(taken):g} of {float(most):g} {unit} of {what}"


def _power(view: View) -> Iterator[str]:
    for name, site in view.inputs.scenario.sites.items():
        for quarter in view.quarters:
            stated = site.power_kw
            if isinstance(stated, dict):
                began = [key for key in stated if _ordinal(key) <= quarter.ordinal]
                stated = stated[max(began, key=_ordinal)] if began else None
            taken = _kilowatts(view, _serving(_here(view, name), str(quarter)))
            most = None if stated is None else Fraction(stated)
            yield from _beyond(f"{quarter}: {name}", "power", "kW", taken, most)


def _ordinal(label: str) -> int:
    year, number = label.split("Q")
    return 4 * int(year) + int(number) - 1


def _rack_units(view: View) -> Iterator[str]:
    for name, site in view.inputs.scenario.sites.items():
        for label in view.labels:
            taken = _units(view, _serving(_here(view, name), label))
            where = f"{label}: {name}"
            yield from _beyond(where, "rack units", "U", taken, site.rack_units)


def _racks(view: View) -> Iterator[str]:
    sites = view.inputs.scenario.sites
    for node in view.plan.nodes:
        site = sites.get(node.site)
        racks = site.racks if site and node.hours is None else None
        if racks is None:
            yield from differences(f"node {node.id}: the list of its racks", node.racks, ())
            continue
        if len(node.racks) != len(node.in_service):
            yield f"node {node.id} is not in a rack in every quarter in service"
        for rack in sorted({rack for rack in node.racks if not 1 <= rack <= racks.count}):
            yield f"node {node.id} stands in rack {rack}, {node.site} has {racks.count}"
    for name, site in sites.items():
        if site.racks is not None:
            yield from _each_rack(view, name, site.racks)


def _each_rack(view: View, name: str, racks: Racks) -> Iterator[str]:
    held: dict[tuple[str, int], list[Node]] = defaultdict(list)
    for node in _here(view, name):
        for label, rack in zip(node.in_service, node.racks, strict=False):
            held[label, rack].append(node)
    fed = None if racks.power_kw is None else Fraction(racks.power_kw)
    for (label, rack), nodes in sorted(held.items()):
        where = f"{label}: rack {rack} of {name}"
        yield from _beyond(where, "rack units", "U", _units(view, nodes), racks.units)
        yield from _beyond(where, "power", "kW", _kilowatts(view, nodes), fed)


def _cooling(view: View) -> Iterator[str]:
    for node in view.plan.nodes:
        site = view.inputs.scenario.sites.get(node.site)
        if (
            site is None
            or node.hours is not None
            or site.cooling is None
            or set(site.cooling) == {"air", "liquid"}
        ):
            continue
        ways = cooled_by(view.inputs.catalog.nodes[node.node_type]) or frozenset()
        if not ways & set(site.cooling):
            yield f"node {node.id} cannot be cooled at {node.site}, which has {site.cooling[0]}"


def _sites_of_jobs(view: View) -> Iterator[str]:
    allowed = {job.name: _allowed(view, job.derived_from or job.name) for job in view.jobs}
    for planned in view.plan.jobs:
        expected = tuple(sorted(allowed.get(planned.name) or ()))
        yield from differences(f"job {planned.name}: its sites", planned.sites, expected)
    for label, seats in zip(view.labels, view.seats, strict=True):
        for (job, unit, _), places in seats.items():
            sites = {node.site for node, _ in places}
            may = allowed.get(job)
            if may is not None and not sites <= may:
                yield (
                    f"{label}: unit {unit} of {job} is at {', '.join(sorted(sites - may))}, "
                    f"it may run at {', '.join(sorted(may))} alone"
                )


def _allowed(view: View, name: str) -> set[str] | None:
    """Sites that a job names and that carry its labels; None where it asks for neither."""
    job = view.inputs.scenario.jobs.get(name)
    if job is None or (job.sites is None and not job.labels):
        return None
    listed = view.inputs.scenario.sites
    named = set(listed) if job.sites is None else set(job.sites)
    if not job.labels:
        return named
    return {
        site for site in named if site in listed and not set(job.labels) - {*listed[site].labels}
    }


def _figures(view: View) -> Iterator[str]:
    sites = view.inputs.scenario.sites
    names = [use.site for use in view.plan.sites]
    yield from differences("the list of sites", names, sorted(sites))
    for use in view.plan.sites:
        site, nodes = sites.get(use.site), _here(view, use.site)
        if site is None:
            continue
        each = [_serving(nodes, label) for label in view.labels]
        power = [_kilowatts(view, serving) for serving in each]
        expected = {
            "nodes": tuple(map(len, each)),
            "power_w": _in_watts(power),
            "rack_units": _whole([_units(view, serving) for serving in each]),
            "rack_units_limit": site.rack_units,
            "racks": site.racks.count if site.racks else None,
            "racks_used": tuple(_racks_used(nodes, label) for label in view.labels),
            "spare_nodes": site.spare_nodes,
            "labels": tuple(sorted(site.labels)),
            "cooling": tuple(sorted(site.cooling or ())),
        }
        for name, value in expected.items():
            yield from differences(f"site {use.site}: {name}", getattr(use, name), value)


def _racks_used(nodes: Sequence[Node], label: str) -> int:
    standing = ((node.in_service, node.racks) for node in nodes if label in node.in_service)
    return len(
        {racks[at] for labels, racks in standing if (at := labels.index(label)) < len(racks)}
    )


def _whole(sums: Sequence[int | None]) -> tuple[int, ...] | None:
    known = tuple(amount for amount in sums if amount is not None)
    return known if len(known) == len(sums) else None


def _in_watts(power: Sequence[Fraction | None]) -> tuple[int, ...] | None:
    return _whole([None if kw is None else ceil(kw * 1000) for kw in power])


def _confirm_power(view: View) -> str:
    limited = sum(site.power_kw is not None for site in view.inputs.scenario.sites.values())
    return f"no site draws more than it is fed, by nameplates ({count_of(limited, 'site')} limited)"


CHECKS = (
    Check(_power, _confirm_power),
    Check(_rack_units, lambda _: "no site takes more rack units than it has"),
    Check(_racks, lambda _: "every node at a site with racks stands in one that holds it"),
    Check(_cooling, lambda _: "every node can be cooled where it stands"),
    Check(_sites_of_jobs, lambda _: "each unit runs at a site that its job may use"),
    Check(_figures, lambda _: "power, rack units and racks of the sites are counted rightly"),
)
