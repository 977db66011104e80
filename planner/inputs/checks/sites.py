"""Checks of sites, and of the nodes that they hold."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from planner.inputs.catalog.catalog import Catalog, NodeType
from planner.inputs.checks.faults import Fault, Whole, entries, held_figures, known, unstated_figure
from planner.inputs.reading.document import Path, dotted
from planner.inputs.scenario.job import Job
from planner.inputs.scenario.offer import OWN_FIGURES, FleetEntry, Offer
from planner.inputs.scenario.quarter import Quarter
from planner.inputs.scenario.scenario import NO_SITE, ResolvedScenario
from planner.inputs.scenario.site import HEIGHT, POWER, SITE_LIMITS, Site
from planner.inputs.text import described, did_you_mean, flow


def figures_by_quarter(whole: Whole, path: Path, site: Site) -> Iterator[Fault]:
    """Find limits that begin too late, or never."""
    for limit in SITE_LIMITS:
        stated = getattr(site, limit.key)
        if isinstance(stated, dict):
            yield from held_figures((*path, limit.key), stated, whole.scenario.horizon)


def spare_groups(_: Whole, path: Path, site: Site) -> Iterator[Fault]:
    """Find node types of two groups, and racks to lose that are not stated or would not be left."""
    name = path[1]
    first: dict[str, str] = {}
    for group, stated in site.spare_groups.items():
        at = (*path, "spare_nodes", group)
        for position, node_type in enumerate(stated.node_types):
            earlier = first.setdefault(node_type, group)
            if earlier != group:
                message = f"{node_type!r} is in group {earlier!r} already"
                hint = "name it in one of them: a spare node stands in for one group"
                yield Fault((*at, "node_types", position), message, hint)
        if stated.racks is None:
            continue
        if site.racks is None:
            hint = f"state sites.{name}.racks, or the `nodes` that may fail at once"
            yield Fault((*at, "racks"), f"site {name!r} states no racks", hint)
        elif stated.racks >= site.racks.count:
            message = f"of {site.racks.count} racks, none would be left to take over"
            most = site.racks.count - 1
            fewer = f"write {most}, or give the site more racks" if most else None
            yield Fault((*at, "racks"), message, fewer)


def cooled_by(node: NodeType) -> frozenset[str] | None:
    """Return what can cool a node: `air`, `liquid` or either; None if the catalog does not say.

    Liquid-assisted air is air to the building: the liquid stays inside the server.
    """
    if node.cooling is None:
        return None
    text = node.cooling.value
    ways = {way for way in ("air", "liquid") if way in text}
    return frozenset({"air"}) if "liquid-assisted" in text else frozenset(ways) or None


def node_sites(whole: Whole, path: Path, entry: FleetEntry | Offer) -> Iterator[Fault]:
    """Find sites of nodes that `sites` does not list."""
    sites = whole.scenario.sites
    for name in entry.sites:
        if sites and name not in sites:
            yield _unknown_site(path, entry, name, sites)


def site_needs(whole: Whole, path: Path, entry: FleetEntry | Offer) -> Iterator[Fault]:
    """Find nodes that a site cannot cool or hold, or for which the catalog lacks the figures."""
    node = whole.catalog.nodes.get(entry.node_type)
    if isinstance(entry, Offer) and entry.step_hours:
        return  # its nodes stand at the provider's
    for name in entry.sites:
        site = whole.scenario.sites.get(name)
        if site is not None and node is not None:
            yield from known(
                _cooling(path, entry, name, site, node), _figures(path, entry, name, site, node)
            )


def _unknown_site(
    path: Path, entry: FleetEntry | Offer, name: str, known: Collection[str]
) -> Fault:
    if "site" not in entry.model_fields_set:
        names = sorted(known)
        hint = f"state `site`: one of {', '.join(names)}"
        if isinstance(entry, Offer) and entry.kind != "buy":
            hint += "; a provider's is listed as well, such as `sites: {cloud: {}}`"
        return Fault(path, "names no site, though the scenario lists `sites`", hint, at_key=True)
    hint = _nearest(name, known)
    at = () if isinstance(entry.site, str) else (entry.site.index(name),)
    return Fault((*path, "site", *at), f"unknown site {name!r}", hint)


def _nearest(name: str, known: Collection[str]) -> str:
    return did_you_mean(name, sorted(known)) or f"known: {', '.join(sorted(known))}"


def _cooling(
    path: Path, entry: FleetEntry | Offer, name: str, site: Site, node: NodeType
) -> Iterator[Fault]:
    if site.cooling is None or {"air", "liquid"} <= set(site.cooling):
        return
    ways = cooled_by(node)
    if ways is None:
        yield unstated_figure(path, entry.node_type, "cooling", f"`cooling` of site {name!r}")
    elif not ways & set(site.cooling):
        needed, given = " or ".join(sorted(ways)), " and ".join(site.cooling)
        yield Fault(
            (*path, "node_type"),
            f"{entry.node_type!r} needs {needed} cooling, site {name!r} has {given} alone",
            f"add {min(ways)!r} to sites.{name}.cooling, or choose another site or node type",
        )


def _figures(
    path: Path, entry: FleetEntry | Offer, name: str, site: Site, node: NodeType
) -> Iterator[Fault]:
    """Find missing catalog figures that a limit needs, and nodes that no rack of the site holds."""
    racks = site.racks
    of_rack = {HEIGHT: racks.units, POWER: racks.power_kw} if racks else {}
    beyond = []
    for limit in SITE_LIMITS:
        most, taken = of_rack.get(limit), limit.taken_by(node)
        if taken is None and (limit in site.limits or most is not None):
            what = f"the {limit.name} of site {name!r}"
            yield unstated_figure(path, entry.node_type, limit.figure, what)
        elif most is not None and taken is not None and taken > most * limit.per:
            beyond.append(f"{limit.told(taken)} of {described(most)}")
    if beyond:
        yield Fault(
            (*path, "node_type"),
            f"no rack of site {name!r} holds a {entry.node_type!r}, "
            f"it takes {' and '.join(beyond)}",
        )


def taken_already(whole: Whole, path: Path, site: Site) -> Iterator[Fault]:
    """Find owned nodes that exceed a site's limit in the first quarter, before any purchase."""
    for limit in site.limits:
        for quarter in whole.scenario.horizon.all_quarters:
            nodes = _owned_at(whole, str(path[1]), quarter)
            taken = sum(count * (limit.taken_by(node) or 0) for node, count in nodes)
            most = site.allows(limit, quarter)
            if most is not None and taken > most:
                yield Fault(
                    (*path, limit.key),
                    f"{limit.told(most)} in {quarter} are less than the {limit.told(taken)} that "
                    f"the nodes owned there take by their `{limit.figure}`",
                )
                break


def _owned_at(whole: Whole, site: str, quarter: Quarter) -> list[tuple[NodeType, int]]:
    """Return the nodes owned at a site that have not retired by a quarter."""
    known_types = whole.catalog.nodes
    return [
        (known_types[entry.node_type], entry.count)
        for entry in whole.scenario.fleet.values()
        if entry.site == site
        and entry.node_type in known_types
        and (entry.retires is None or quarter < entry.retires)
    ]


def job_places(whole: Whole, path: Path, job: Job) -> Iterator[Fault]:
    """Find sites and labels of a job that do not exist, or not at one place."""
    scenario = whole.scenario
    unlike = [*known(_sites_of(scenario, path, job), _labels_of(scenario, path, job))]
    yield from unlike or known(_nowhere(scenario, path, job))


def _sites_of(scenario: ResolvedScenario, path: Path, job: Job) -> Iterator[Fault]:
    sites = scenario.sites or dict.fromkeys(scenario.sites_in_play)
    for position, site in enumerate(job.sites or ()):
        if site not in sites:
            message = f"unknown site {site!r}"
            yield Fault((*path, "sites", position), message, _nearest(site, sites))


def _labels_of(scenario: ResolvedScenario, path: Path, job: Job) -> Iterator[Fault]:
    if scenario.may_give_way(job):
        return  # it is dropped, and a warning tells why
    labels = sorted({label for site in scenario.sites.values() for label in site.labels})
    for position, label in enumerate(job.labels):
        if label not in labels:
            message = f"no site carries the label {label!r}"
            hint = _nearest(label, labels) if labels else _labelled(label, scenario)
            yield Fault((*path, "labels", position), message, hint)


def _nowhere(scenario: ResolvedScenario, path: Path, job: Job) -> Iterator[Fault]:
    if scenario.sites_of(job) == (NO_SITE,) and not scenario.may_give_way(job):
        asked = ", ".join(job.labels)
        among = " among those it names" if job.sites else ""
        message = f"no site{among} carries all of its labels: {asked}"
        yield Fault((*path, "labels"), message)


def _labelled(label: str, scenario: ResolvedScenario) -> str:
    """Say how a site is given a label; once one site is listed, all of them must be."""
    labels = {"labels": (label,)}
    if scenario.sites:
        return f"let one carry it: `labels: {flow(labels['labels'])}` in an entry of `sites:`"
    first, *others = scenario.sites_in_play
    return f"let one carry it: `sites: {flow({first: labels, **{name: {} for name in others}})}`"


def misstated(whole: Whole) -> Iterator[Fault]:
    """Find figures of one node type that differ from the first stated, or cannot go together."""
    scenario, catalog = whole.scenario, whole.catalog
    first: dict[tuple[str, str], tuple[Path, object]] = {}
    for path, entry in entries(scenario):
        for key in OWN_FIGURES:
            stated = getattr(entry, key)
            if stated is None or entry.node_type not in catalog.nodes:
                continue
            earlier, figure = first.setdefault((entry.node_type, key), (path, stated))
            if figure != stated:
                yield Fault(
                    (*path, key),
                    f"{described(stated)} is not the {described(figure)} that {dotted(earlier)} "
                    f"states: nodes of one type, here {entry.node_type!r}, are alike",
                    f"state the same at {dotted(earlier)}, or give nodes that differ a node type "
                    "of their own in a catalog file (docs/catalog.md, `extends`)",
                )
    places = {of: path for of, (path, _) in first.items()}
    for node_type in sorted({node_type for node_type, _ in first}):
        yield from _impossible(node_type, places, catalog)


def _impossible(
    node_type: str, first: dict[tuple[str, str], Path], catalog: Catalog
) -> Iterator[Fault]:
    """Find a nameplate below what the GPUs draw at their limit, or below the mean draw."""
    node = catalog.nodes[node_type]
    plate, mean = first.get((node_type, "max_power_kw")), first.get((node_type, "mean_power_kw"))
    gpu = catalog.gpus.get(node.gpu_type)
    if plate and gpu is not None and (fault := node.overdrawn(gpu)):
        path = (*plate, "max_power_kw")
        yield Fault(path, fault, "state the nameplate of the whole node, in kW")
        return
    limit, drawn = node.max_power_kw, node.mean_power_kw
    if limit is None or drawn is None or drawn.value <= limit.value:
        return
    if mean:
        told = (
            f"{described(drawn.value)} kW on average are more than the {described(limit.value)} kW "
            "of its nameplate"
        )
        yield Fault((*mean, "mean_power_kw"), told, "state both figures of the same node, in kW")
    elif plate:
        yield Fault(
            (*plate, "max_power_kw"),
            f"{described(limit.value)} kW are less than the {described(drawn.value)} kW that it "
            "draws on average, by the catalog",
            "state its `mean_power_kw` here, too",
        )
