"""What cannot stand where it is said to stand, and jobs that no site takes."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from planner.inputs.quarter import Quarter
from planner.inputs.words import did_you_mean, own_figure

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from planner.inputs.catalog import Catalog, NodeType
    from planner.inputs.document import Path
    from planner.inputs.scenario import FleetEntry, Offer, Scenario
    from planner.inputs.site import Site

__all__ = ["Misfit", "cooled_by", "misplaced"]


class Misfit(NamedTuple):
    """One of them: where in the scenario, what, and what would mend it."""

    path: Path
    message: str
    hint: str | None = None
    at_key: bool = False


def misplaced(scenario: Scenario, catalog: Catalog) -> Iterator[Misfit]:
    """Find them all; names that the catalog does not know are passed over."""
    for name, site in scenario.sites.items():
        yield from _power_by_quarter(scenario, name, site)
    for path, entry in _entries(scenario):
        yield from _entry(scenario, catalog, path, entry)
    for name, site in scenario.sites.items():
        yield from _owned_alone(scenario, catalog, name, site)
    yield from _jobs(scenario)


def cooled_by(node: NodeType) -> frozenset[str] | None:
    """What can cool a node, `air`, `liquid` or either; None where the catalog does not say.

    Liquid-assisted air is air to the building: the liquid stays inside the server.
    """
    if node.cooling is None:
        return None
    text = node.cooling.value
    ways = {way for way in ("air", "liquid") if way in text}
    return frozenset({"air"}) if "liquid-assisted" in text else frozenset(ways) or None


def _entries(scenario: Scenario) -> Iterator[tuple[Path, FleetEntry | Offer]]:
    for name, owned in scenario.fleet.items():
        yield ("fleet", name), owned
    for name, offer in scenario.offers.items():
        yield ("offers", name), offer


def _power_by_quarter(scenario: Scenario, name: str, site: Site) -> Iterator[Misfit]:
    if not isinstance(site.power_kw, dict):
        return
    horizon, path = scenario.horizon, ("sites", name, "power_kw")
    steps = [Quarter.parse(key) - horizon.first_quarter for key in site.power_kw]
    for key, step in zip(site.power_kw, steps, strict=True):
        if step >= horizon.quarters:
            yield Misfit((*path, key), f"{key} lies after the horizon", at_key=True)
    if min(steps) > 0:
        yield Misfit(
            path,
            f"says nothing of {horizon.first_quarter}: a figure holds from its quarter on",
            f"state one for {horizon.first_quarter}",
        )


def _entry(
    scenario: Scenario, catalog: Catalog, path: Path, entry: FleetEntry | Offer
) -> Iterator[Misfit]:
    node = catalog.nodes.get(entry.node_type)
    for name in entry.sites:
        site = scenario.sites.get(name)
        if scenario.sites and site is None:
            yield _unknown_site(path, entry, name, scenario.sites)
        if site is None or node is None:
            continue
        yield from _cooling(path, entry, name, site, node)
        yield from _figures(path, entry, name, site, node)


def _unknown_site(
    path: Path, entry: FleetEntry | Offer, name: str, known: Collection[str]
) -> Misfit:
    hint = _nearest(name, known)
    if "site" not in entry.model_fields_set:
        return Misfit(path, "names no site, though the scenario lists `sites`", hint, at_key=True)
    at = () if isinstance(entry.site, str) else (entry.site.index(name),)
    return Misfit((*path, "site", *at), f"unknown site {name!r}", hint)


def _nearest(name: str, known: Collection[str]) -> str:
    return did_you_mean(name, sorted(known)) or f"known: {', '.join(sorted(known))}"


def _cooling(
    path: Path, entry: FleetEntry | Offer, name: str, site: Site, node: NodeType
) -> Iterator[Misfit]:
    if site.cooling is None or {"air", "liquid"} <= set(site.cooling):
        return
    ways = cooled_by(node)
    if ways is None:
        yield _unstated(path, entry, "cooling", f"`cooling` of site {name!r}")
    elif not ways & set(site.cooling):
        needed, given = " or ".join(sorted(ways)), " and ".join(site.cooling)
        yield Misfit(
            (*path, "node_type"),
            f"{entry.node_type!r} needs {needed} cooling, site {name!r} has {given} alone",
            f"add {min(ways)!r} to sites.{name}.cooling, or choose another site or node type",
        )


def _figures(
    path: Path, entry: FleetEntry | Offer, name: str, site: Site, node: NodeType
) -> Iterator[Misfit]:
    """Figures of the catalog that a limit needs, and nodes that no rack of the site holds."""
    racks = site.racks
    fed = racks.power_kw if racks else None
    if node.max_power_kw is None and (site.power_kw is not None or fed is not None):
        yield _unstated(path, entry, "max_power_kw", f"the power of site {name!r}")
    if node.rack_units is None and (site.rack_units is not None or racks):
        yield _unstated(path, entry, "rack_units", f"the racks of site {name!r}")
    beyond = []
    if racks and node.rack_units and node.rack_units.value > racks.units:
        beyond.append(f"{node.rack_units.value} U of {racks.units}")
    if fed is not None and node.max_power_kw and node.max_power_kw.value > fed:
        beyond.append(f"{_plain(node.max_power_kw.value)} kW of {_plain(fed)}")
    if beyond:
        yield Misfit(
            (*path, "node_type"),
            f"no rack of site {name!r} holds a {entry.node_type!r}, "
            f"it takes {' and '.join(beyond)}",
        )


def _unstated(path: Path, entry: FleetEntry | Offer, key: str, what: str) -> Misfit:
    return Misfit(
        (*path, "node_type"),
        f"{entry.node_type!r} has no {key} in the catalog, which {what} needs",
        own_figure(entry.node_type, key),
    )


def _owned_alone(scenario: Scenario, catalog: Catalog, name: str, site: Site) -> Iterator[Misfit]:
    """Owned nodes that exceed the site before anything is bought."""
    nodes = _owned_at(scenario, catalog, name, scenario.horizon.first_quarter)
    units = sum(count * node.rack_units.value for node, count in nodes if node.rack_units)
    most = site.rack_units
    if most is not None and units > most:
        message = f"{most} U are fewer than the {units} U of the nodes owned there"
        yield Misfit(("sites", name, "rack_units"), message)
    horizon = scenario.horizon
    for step in range(horizon.quarters):
        power_w = site.power_w(horizon.first_quarter + step)
        nodes = _owned_at(scenario, catalog, name, horizon.first_quarter + step)
        kilowatts = sum(
            count * node.max_power_kw.value for node, count in nodes if node.max_power_kw
        )
        if power_w is not None and kilowatts * 1000 > power_w:
            quarter, fed = horizon.first_quarter + step, _plain(power_w / 1000)
            yield Misfit(
                ("sites", name, "power_kw"),
                f"{fed} kW in {quarter} are less than the {_plain(kilowatts)} kW "
                "that the nodes owned there may draw, by their nameplates",
            )
            return


def _owned_at(
    scenario: Scenario, catalog: Catalog, site: str, quarter: Quarter
) -> list[tuple[NodeType, int]]:
    """Nodes owned at a site that have not retired by a quarter."""
    return [
        (catalog.nodes[entry.node_type], entry.count)
        for entry in scenario.fleet.values()
        if entry.site == site
        and entry.node_type in catalog.nodes
        and (entry.retires is None or quarter < entry.retires)
    ]


def _jobs(scenario: Scenario) -> Iterator[Misfit]:
    sites = scenario.sites or dict.fromkeys(scenario.sites_in_play)
    labels = sorted({label for site in scenario.sites.values() for label in site.labels})
    for name, job in scenario.jobs.items():
        path, known = ("jobs", name), True
        for position, site in enumerate(job.sites or ()):
            if site not in sites:
                known = False
                message = f"unknown site {site!r}"
                yield Misfit((*path, "sites", position), message, _nearest(site, sites))
        for position, label in enumerate(job.labels):
            if label not in labels:
                known = False
                message = f"no site carries the label {label!r}"
                hint = _nearest(label, labels) if labels else "give it one under `sites:`"
                yield Misfit((*path, "labels", position), message, hint)
        if known and (job.sites or job.labels) and not scenario.sites_of(job):
            asked = ", ".join(job.labels)
            among = " among those it names" if job.sites else ""
            message = f"no site{among} carries all of its labels: {asked}"
            yield Misfit((*path, "labels"), message)


def _plain(value: object) -> str:
    return f"{float(str(value)):,g}"
