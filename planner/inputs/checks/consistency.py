"""Checks of a whole scenario together with the catalog: its sites, and the table of all checks."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from datetime import timedelta
from typing import Any

from planner.errors import Finding
from planner.inputs.base import LARGEST_COUNT_PER_QUARTER, NotKnown
from planner.inputs.catalog.catalog import Catalog, NodeType
from planner.inputs.checks.faults import (
    Fault,
    Whole,
    entries,
    fault_of_name,
    held_figures,
    known,
    late_figures,
    unstated_figure,
)
from planner.inputs.checks.jobs import contradictions, nothing_to_keep, running
from planner.inputs.reading.document import Path, YamlDocument, dotted
from planner.inputs.scenario.horizon import Horizon
from planner.inputs.scenario.job import SERVING_SUFFIX, Job
from planner.inputs.scenario.load import TRAFFIC
from planner.inputs.scenario.offer import (
    LONGEST_LEAD_WEEKS,
    OWN_FIGURES,
    Api,
    FleetEntry,
    Offer,
    OfferKind,
)
from planner.inputs.scenario.quarter import Quarter
from planner.inputs.scenario.scenario import (
    ALL_GPU_TYPES,
    NO_SITE,
    TOTAL,
    ResolvedScenario,
    Team,
    kind_of_quota,
)
from planner.inputs.scenario.site import HEIGHT, POWER, SITE_LIMITS, Site
from planner.inputs.text import (
    described,
    did_you_mean,
    difference,
    flow,
    folded,
    listed,
    one_of,
)


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


def _nearest(name: str, known: Collection[str], most: int = 1) -> str:
    return did_you_mean(name, sorted(known), most) or f"known: {', '.join(sorted(known))}"


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
            f"state what a rack holds at sites.{name}.racks, or choose another site or node type",
        )


def taken_already(whole: Whole, path: Path, site: Site) -> Iterator[Fault]:
    """Find owned nodes that exceed a site's limit in some quarter, whatever a plan decides."""
    for limit in site.limits:
        for quarter in whole.scenario.horizon.all_quarters:
            nodes = _owned_at(whole, str(path[1]), quarter, drawn=limit.drawn)
            taken = sum(count * (limit.taken_by(node) or 0) for node, count in nodes)
            most = site.allows(limit, quarter)
            if most is not None and taken > most:
                yield Fault(
                    (*path, limit.key),
                    f"{limit.told(most)} in {quarter} are less than the {limit.told(taken)} that "
                    f"the nodes owned there take by their `{limit.figure}`",
                )
                break


def _owned_at(
    whole: Whole, site: str, quarter: Quarter, *, drawn: bool
) -> list[tuple[NodeType, int]]:
    """Return the nodes owned at a site that have neither retired by a quarter nor may be sold.

    Of what is `drawn`, those that may be switched off take nothing.
    """
    known_types = whole.catalog.nodes
    return [
        (known_types[entry.node_type], entry.count - _sold_by(entry, quarter))
        for entry in whole.scenario.fleet.values()
        if entry.site == site
        and entry.node_type in known_types
        and (entry.retires is None or quarter < entry.retires)
        and not (drawn and entry.may_switch_off)
    ]


def _sold_by(entry: FleetEntry, quarter: Quarter) -> int:
    """Return how many nodes of an entry may have been sold when a quarter begins."""
    sale = entry.sale
    if sale is None or (sale.quarters is not None and quarter < sale.quarters[0]):
        return 0
    return entry.count if sale.maximum is None else min(sale.maximum, entry.count)


def job_places(whole: Whole, path: Path, job: Job) -> Iterator[Fault]:
    """Find sites and labels of a job that do not exist, or not at one place."""
    scenario = whole.scenario
    unlike = [*known(_sites_of(scenario, path, job), _labels_of(scenario, path, job))]
    yield from unlike or known(_nowhere(scenario, path, job))


def _sites_of(scenario: ResolvedScenario, path: Path, job: Job) -> Iterator[Fault]:
    sites = scenario.sites or dict.fromkeys(scenario.sites_in_play)
    for position, site in enumerate(job.sites or ()):
        if site not in sites:
            message, hint = f"unknown site {site!r}", _nearest(site, sites)
            if site in scenario.labels:
                hint = f"{site!r} is a label: write it under `labels`"
            yield Fault((*path, "sites", position), message, hint)


def _labels_of(scenario: ResolvedScenario, path: Path, job: Job) -> Iterator[Fault]:
    if scenario.may_give_way(job):
        return  # it is dropped, and a warning tells why
    labels = scenario.labels
    for position, label in enumerate(job.labels):
        if label not in labels:
            message = f"no site carries the label {label!r}"
            hint = _nearest(label, labels) if labels else _labelled(label, scenario)
            if label in (scenario.sites or scenario.sites_in_play):
                hint = f"{label!r} is a site: write it under `sites`"
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


_Check = Callable[[Whole], Iterator[Fault]]
_CheckOfEntry = Callable[[Whole, Path, Any], Iterator[Fault]]


def inconsistencies(
    document: YamlDocument, scenario: ResolvedScenario, catalog: Catalog
) -> Iterator[Finding]:
    """Find everything that contradicts itself, the horizon or the catalog.

    Unknown names are passed over.
    """
    whole = Whole(scenario, catalog)
    faults = [*_faults(whole)]
    with suppress(NotKnown):
        faults = _of_another_horizon(document, whole, faults) or faults
    for fault in faults:
        yield fault.finding(document)


def _faults(whole: Whole) -> Iterator[Fault]:
    of_entries = (_of_entries(whole, section, checks) for section, checks in _OF_ENTRIES.items())
    yield from known(*(check(whole) for check in _OF_ALL), *of_entries)


_MOST_ASTRAY = 2
"""More faults than this are told as one, if a horizon that begins elsewhere mends them."""


def _of_another_horizon(
    document: YamlDocument, whole: Whole, faults: list[Fault]
) -> list[Fault] | None:
    """Return the faults with `first_quarter` as the one that mends most; None if it mends few.

    That is only where the horizon has none of the quarters that the file names, and that one has
    most.
    """
    horizon = whole.scenario.horizon
    named = {*map(Quarter.parse, _quarters_named(document.data))} - {horizon.first_quarter}
    if len(faults) <= _MOST_ASTRAY or not named or any(map(horizon.includes, named)):
        return None

    def beginning(first: Quarter) -> list[Fault]:
        moved = horizon.model_copy(update={"first_quarter": first})
        scenario = whole.scenario.model_copy(update={"horizon": moved})
        return [*_faults(whole._replace(scenario=scenario))]

    others = {first: beginning(first) for first in sorted(named)}
    best = min(others, key=lambda first: len(others[first]))
    moved = horizon.model_copy(update={"first_quarter": best})
    within = sum(map(moved.includes, named))
    if len(faults) - len(others[best]) < _MOST_ASTRAY or 2 * within <= len(named):
        return None
    span = listed([str(one) for one in sorted(named)], most=4)
    message = f"the horizon ({_horizon_text(horizon)}) has none of the quarters named here: {span}"
    hint = f"write {best}"
    return [Fault(("horizon", "first_quarter"), message, hint), *others[best]]


def _quarters_named(stated: object) -> Iterator[str]:
    """Yield the quarters in all keys and values of a file."""
    if isinstance(stated, dict):
        stated = (*stated.keys(), *stated.values())
    if isinstance(stated, tuple | list):
        for one in stated:
            yield from _quarters_named(one)
    elif isinstance(stated, str):
        yield from _QUARTER.findall(stated)


_QUARTER = re.compile(r"\b20[0-9]{2}Q[1-4]\b")


def _of_entries(whole: Whole, section: str, checks: tuple[_CheckOfEntry, ...]) -> Iterator[Fault]:
    for name, entry in getattr(whole.scenario, section).items():
        yield from known(*(check(whole, (section, name), entry) for check in checks))


def _horizon_text(horizon: Horizon) -> str:
    return " to ".join(dict.fromkeys((horizon.labels[0], horizon.labels[-1])))


def _horizon(whole: Whole) -> Iterator[Fault]:
    horizon = whole.scenario.horizon
    begins, end = horizon.first_quarter.start, horizon.first_quarter + horizon.quarters
    path = ("horizon", "as_of")
    if horizon.as_of is not None and horizon.as_of >= end.start:
        message = f"{horizon.as_of} lies after the horizon ({_horizon_text(horizon)})"
        yield Fault(path, message, "begin the horizon with a later `first_quarter`")
    if horizon.as_of is not None and begins - horizon.as_of > timedelta(weeks=LONGEST_LEAD_WEEKS):
        message = (
            f"{horizon.as_of} lies more than {LONGEST_LEAD_WEEKS} weeks, the longest lead time, "
            f"before {horizon.first_quarter}"
        )
        yield Fault(path, message)


def _both_allowed_and_excluded(whole: Whole) -> Iterator[Fault]:
    policies = whole.scenario.policies
    for position, gpu_type in enumerate(policies.excluded_gpu_types):
        if gpu_type in (policies.allowed_gpu_types or ()):
            path = ("policies", "excluded_gpu_types", position)
            yield Fault(path, f"{gpu_type!r} is both allowed and excluded", "keep one of them")


def _budget(whole: Whole) -> Iterator[Fault]:
    for key in ("capex_usd", "opex_usd", "total_usd"):
        with suppress(NotKnown):
            figures = getattr(whole.scenario.budget, key)
            for quarter in figures if isinstance(figures, dict) else ():
                if quarter != TOTAL and not whole.scenario.horizon.includes(Quarter.parse(quarter)):
                    message = f"{quarter} lies outside the horizon"
                    yield Fault(("budget", key, quarter), message, "leave it out", at_key=True)


def _unstated(whole: Whole, path: Path, entry: FleetEntry | Offer) -> Iterator[Fault]:
    """Find figures that a node type lacks and that a cost of its nodes depends on."""
    node, finance = whole.catalog.nodes.get(entry.node_type), whole.scenario.finance
    if node is None:
        return
    bought = isinstance(entry, Offer) and entry.kind == "buy"
    on_own_floor = bought or isinstance(entry, FleetEntry)
    if node.mean_power_kw is None:
        yield unstated_figure(path, entry.node_type, "mean_power_kw", "the cost of energy")
    if node.max_power_kw is None and on_own_floor and finance.colocation_usd_per_kw_month:
        yield unstated_figure(path, entry.node_type, "max_power_kw", "colocation")
    if node.network_ports is None and bought and finance.network_usd_per_port:
        yield unstated_figure(path, entry.node_type, "network_ports", "what the network costs")


_OF_KINDS: dict[str, tuple[OfferKind, ...]] = {
    "price_usd": ("buy",),
    "price_usd_per_gpu_hour": ("rent", "reserve", "hourly"),
    "price_breaks": ("buy",),
    "term_years": ("reserve",),
    "term_weeks": ("rent",),
    "minimum_hours": ("hourly",),
    "maximum_gpus": ("hourly",),
    "deliveries": ("buy", "reserve"),
}
"""Keys that only offers of some kinds have."""


def _of_its_kind(_: Whole, path: Path, offer: Offer) -> Iterator[Fault]:
    """Find keys that offers of this kind do not have, and a missing term of a reservation."""
    for key, kinds in _OF_KINDS.items():
        with suppress(NotKnown):
            if getattr(offer, key) not in (None, ()) and offer.kind not in kinds:
                price = key in ("price_usd", "price_usd_per_gpu_hour")
                hint = f"state `{offer.price_key}` in its place" if price else "leave it out"
                meant = one_of([f"`kind: {kind}`" for kind in kinds])
                message = f"goes with {meant}, not with `{offer.kind}`"
                yield Fault((*path, key), message, hint, at_key=True)
    if offer.kind == "reserve" and offer.term_years is None:
        yield Fault(path, "an offer to reserve needs `term_years`, 1 or 3", at_key=True)


def _unpriced(whole: Whole, path: Path, offer: Offer) -> Iterator[Fault]:
    book = whole.catalog.prices
    if offer.node_type not in whole.catalog.nodes or offer.stated_price is not None:
        return
    if book.listed(offer.kind, offer.node_type) is None:
        yield Fault(
            path,
            f"price book {book.header.id!r} has no price to {offer.kind} {offer.node_type!r}",
            f"state `{offer.price_key}` here",
            at_key=True,
        )


def _for_nothing(whole: Whole, path: Path, offer: Offer) -> Iterator[Fault]:
    """Find a price by the hour or the week of which a node's step would be rounded to nothing."""
    node = whole.catalog.nodes.get(offer.node_type)
    price = offer.stated_price
    if price is None and (found := whole.catalog.prices.listed(offer.kind, offer.node_type)):
        price = found.usd
    if node is None or price is None or offer.step_hours is None:
        return
    step_usd = price * node.gpus.value * offer.step_hours
    if 100 * step_usd < 1:
        step = "an hour" if offer.step_hours == 1 else f"{offer.step_hours} hours"
        yield Fault(
            (*path, offer.price_key) if offer.stated_price else path,
            f"{step} of a node would cost {step_usd.normalize():f} USD, less than a cent",
        )


def _dated(whole: Whole, path: Path, offer: Offer) -> Iterator[Fault]:
    yield from _priced_later(whole, path, offer)
    book, horizon = whole.catalog.prices, whole.scenario.horizon
    listed_price = None if offer.stated_price else book.listed(offer.kind, offer.node_type)
    end = (horizon.first_quarter + horizon.quarters).start
    if listed_price is not None and listed_price.date >= end:
        message = f"price book {book.header.id!r} dates its price {listed_price.date}, after the "
        message += f"horizon ({_horizon_text(horizon)})"
        yield Fault(path, message, "write the day on which the price was asked", at_key=True)
    if offer.price_date is not None and offer.stated_price is None:
        yield Fault(
            (*path, "price_date"),
            "dates a price that is not stated here",
            f"state `{offer.price_key}` too, or leave the date to the price book",
        )


def _priced_later(whole: Whole, path: Path, priced: Offer | Api) -> Iterator[Fault]:
    horizon = whole.scenario.horizon
    if priced.price_date and priced.price_date >= (horizon.first_quarter + horizon.quarters).start:
        message = f"{priced.price_date} lies after the horizon ({_horizon_text(horizon)})"
        yield Fault((*path, "price_date"), message, "write the day on which the price was asked")


def _no_node(whole: Whole, path: Path, offer: Offer) -> Iterator[Fault]:
    node = whole.catalog.nodes.get(offer.node_type)
    if node is None or offer.maximum_gpus is None:
        return
    if 0 < offer.maximum_gpus < node.gpus.value:
        yield Fault(
            (*path, "maximum_gpus"),
            f"{offer.maximum_gpus} GPUs are no whole node: one of {offer.node_type} has "
            f"{node.gpus.value}",
            f"write {node.gpus.value}, or a multiple of it",
        )


def _available(whole: Whole, path: Path, one: Offer | Api) -> Iterator[Fault]:
    includes = whole.scenario.horizon.includes
    if one.available is not None and not any(map(includes, one.available)):
        hint = f"leave the {'offer' if isinstance(one, Offer) else 'entry'} out"
        yield Fault((*path, "available"), "lies wholly outside the horizon", hint)


def _deliveries(whole: Whole, path: Path, offer: Offer) -> Iterator[Fault]:
    deliveries, includes = offer.deliveries, whole.scenario.horizon.includes
    if isinstance(deliveries, dict) and not any(map(includes, map(Quarter.parse, deliveries))):
        message = "names no quarter of the horizon"
        yield Fault((*path, "deliveries"), message, "leave the offer out")


def _end_of_sale(whole: Whole, path: Path, offer: Offer) -> Iterator[Fault]:
    as_of = whole.scenario.horizon.earliest_order
    if offer.end_of_sale is not None and offer.end_of_sale < as_of:
        message = f"{offer.end_of_sale} has passed on the day of the plan, {as_of}"
        yield Fault((*path, "end_of_sale"), message, "leave the offer out")


def _retired(whole: Whole, path: Path, entry: FleetEntry) -> Iterator[Fault]:
    if entry.retires is not None and entry.retires <= whole.scenario.horizon.first_quarter:
        yield Fault(
            (*path, "retires"),
            f"nodes that retire in {entry.retires} never serve in this horizon",
            "leave the entry out",
        )


def _sold(whole: Whole, path: Path, entry: FleetEntry) -> Iterator[Fault]:
    """Find sales in no quarter, and nodes that were bought after they are there."""
    sale, horizon = entry.sale, whole.scenario.horizon
    if sale is None:
        return
    path = (*path, "sale")
    first = horizon.first_quarter
    after = first + horizon.quarters  # by its price goes what is given up
    chosen = horizon.all_quarters if sale.quarters is None else sale.quarters
    within = [quarter for quarter in chosen if horizon.includes(quarter)]
    if not within:
        message = "lies wholly outside the horizon"
        yield Fault((*path, "quarters"), message, "leave it out to sell in any quarter")
    elif isinstance(sale.price_usd, dict):
        late = [key for key in sale.price_usd if Quarter.parse(key) > after]
        yield from late_figures((*path, "price_usd"), late, horizon)
        begin = min(map(Quarter.parse, sale.price_usd))
        if max(within) < begin <= after:
            message = f"says nothing of {max(within)}: a price holds from its quarter on"
            hint = f"state a price for {min(within)} as well"
            yield Fault((*path, "price_usd"), message, hint)
    elif entry.retires is not None and first < entry.retires <= min(within):
        message = f"lies after the nodes have gone: they retire in {entry.retires}"
        yield Fault((*path, "quarters"), message, "leave it out to sell in any quarter")
    if sale.bought is not None and sale.bought > first:
        message = f"{sale.bought} lies after {first}, from which on the nodes are owned"
        yield Fault((*path, "bought"), message, "write the quarter in which they entered service")


def _traffic(whole: Whole, path: Path, job: Job) -> Iterator[Fault]:
    """Find traffic of quarters that never come, or none in any quarter."""
    load, horizon = job.load, whole.scenario.horizon
    if load is None:
        return
    for key in TRAFFIC:
        stated = getattr(load, key)
        if not isinstance(stated, dict):
            continue
        at = (*path, "serve", "load", key)
        late = [*late_figures(at, stated, horizon)]
        yield from late
        if late:
            continue
        if not any(load.peaks(horizon)):
            message = "is no traffic in any quarter of the horizon"
            yield Fault(at, message, "leave the job out, or state what traffic it has")
        elif any(job.counts(horizon)) and not any(job.units(horizon)):
            yield Fault(at, "is no traffic in any quarter in which the job is active")


_MOST_PER_SECOND = 1_000_000
"""The most requests of one endpoint per second: more were counted by another unit of time."""


def _too_much(whole: Whole, path: Path, job: Job) -> Iterator[Fault]:
    load, horizon = job.load, whole.scenario.horizon
    peaks = job.peaks(horizon)
    most = max(peaks, default=0)
    if load is not None and most > _MOST_PER_SECOND:
        begun = next(filter(None, peaks))
        grown = begun <= _MOST_PER_SECOND and load.growth_per_quarter is not None
        stated = (key for key in TRAFFIC if getattr(load, key) is not None)
        yield Fault(
            (*path, "serve", "load", "growth_per_quarter" if grown else next(stated)),
            f"makes {float(most):,.0f} requests a second in {horizon.labels[peaks.index(most)]} "
            f"at the peak, at most {_MOST_PER_SECOND:,} are planned for",
        )


def _activity(whole: Whole, path: Path, job: Job) -> Iterator[Fault]:
    horizon = whole.scenario.horizon
    counts_by_quarter = job.count if isinstance(job.count, dict) else {}
    after = [*late_figures((*path, "count"), counts_by_quarter, horizon)]
    yield from after
    yield from _traffic(whole, path, job)
    outside = [str(quarter) for quarter in job.quarters or () if not horizon.includes(quarter)]
    if outside:
        verb = "lies" if len(outside) == 1 else "lie"
        message = f"{listed(outside, most=4)} {verb} outside the horizon ({_horizon_text(horizon)})"
        yield Fault((*path, "quarters"), message, _what_is_left(job, horizon))
    dated = job.run.quarter if job.run else None
    if dated and not horizon.includes(dated):
        message = f"has dates in {dated}, outside the horizon ({_horizon_text(horizon)})"
        hint = "leave the job out, or write weeks of the quarter in place of dates"
        yield Fault((*path, "run"), message, hint)
    if after or outside:
        return
    counts = job.counts(horizon)
    if not any(counts):
        yield Fault(path, "is active in no quarter", "delete it, or give it a count")
    active = [q for q, count in zip(horizon.all_quarters, counts, strict=True) if count]
    if dated and horizon.includes(dated) and active and active != [dated]:
        others = ", ".join(str(quarter) for quarter in active if quarter != dated)
        yield Fault(
            (*path, "run"),
            f"has dates in {dated}, and the job is active in {others or 'no such quarter'}",
            f"write `quarters: {dated}` beside it, or weeks of the quarter in place of dates",
        )
    for quarter, count in zip(horizon.labels, counts, strict=True):
        if count > LARGEST_COUNT_PER_QUARTER:
            message = f"grows to {count:,} in {quarter}, at most {LARGEST_COUNT_PER_QUARTER:,}"
            yield Fault((*path, "growth_per_quarter"), message)
            break


def _what_is_left(job: Job, horizon: Horizon) -> str:
    """Say what to write for a job of which some quarters lie outside the horizon."""
    inside = [str(quarter) for quarter in job.quarters or () if horizon.includes(quarter)]
    hint = f"write {flow(inside)}" if inside else "leave the job out"
    with suppress(NotKnown):
        if job.tune and job.tune.deploy and min(job.quarters or ()) < horizon.first_quarter:
            hint += ", and serve what it has tuned so far as a job of its own"
    return hint


def _derived(whole: Whole) -> Iterator[Fault]:
    """Find jobs that serve a tuned model under another job's name, or one that looks like it."""
    names = {folded(name): name for name in whole.scenario.jobs}
    for name, job in whole.scenario.jobs.items():
        with suppress(NotKnown):
            derived = f"{name}{SERVING_SUFFIX}" if job.tune and job.tune.deploy else ""
            if derived and (taken := names.get(folded(derived))):
                message = f"derives the job {derived!r}, whose name is taken"
                if taken != derived:
                    message += f" by {taken!r}, which differs in {difference(derived, taken)}"
                yield Fault(("jobs", name, "tune", "deploy"), message, "rename one of the two jobs")


def _api(whole: Whole, path: Path, job: Job) -> Iterator[Fault]:
    """Find jobs that may use an API although none serves the model.

    Unknown ones are passed over.
    """
    serve = job.serve if job.api == "allowed" and job.load else None
    models = {serve and serve.model, *(api.model for api in whole.scenario.apis.values())} - {None}
    if serve is None or models - whole.catalog.models.keys():
        return
    if not whole.scenario.apis_of(str(path[1])):
        named = serve.model or "a model that is stated by its size"
        message = f"no API under `apis:` serves {named}"
        yield Fault((*path, "api"), message, "add one, or leave `api` out")


def _undroppable(whole: Whole, path: Path, job: Job) -> Iterator[Fault]:
    """Find what contradicts `droppable`, one thing at a time."""
    if job.droppable is None:
        return
    path = (*path, "droppable")
    most = max(job.units(whole.scenario.horizon), default=0)
    if whole.scenario.policies.shortage == "refuse":
        told = "nothing is dropped: `policies.shortage` is `refuse`"
        yield Fault(path, told, "leave it out, or write `policies: {shortage: drop}`")
    elif job.required:
        told = "a required job is kept whole"
        yield Fault(path, told, "leave it out, or require what must run as a job of its own")
    elif job.tune is not None and job.tune.deploy is not None:
        told = "the job is kept whole with the deployment that is derived from it"
        yield Fault(path, told, "leave it out, or serve the model by a job of its own")
    elif job.load:
        told = "replicas that follow from a load depend on the GPU type, so they are not counted"
        yield Fault(path, told, "leave it out, or state `replicas` in place of `load`")
    elif job.droppable != "all" and job.droppable > most > 0:
        told = f"{job.droppable:,} are more than the job has in any quarter ({most:,})"
        yield Fault(path, told, f"write {most}, or `all`")


def _contradictions(whole: Whole, path: Path, job: Job) -> Iterator[Fault]:
    yield from (one.below(*path) for one in contradictions(job, whole.catalog))


def _unlisted(whole: Whole, path: Path, job: Job) -> Iterator[Fault]:
    """Find teams that are not listed; without `teams`, any name will do."""
    teams = sorted(whole.scenario.teams)
    if teams and job.team is not None and job.team not in teams:
        yield Fault((*path, "team"), f"unknown team {job.team!r}", _nearest(job.team, teams, 3))


def _quota(whole: Whole, path: Path, team: Team) -> Iterator[Fault]:
    stated, path = team.quota_gpus, (*path, "quota_gpus")
    if not isinstance(stated, dict):
        return
    if kind_of_quota(stated) == "by quarter":
        yield from held_figures(path, stated, whole.scenario.horizon)
        return
    for key, figure in stated.items():
        with suppress(NotKnown):
            if key != ALL_GPU_TYPES and (fault := fault_of_name("GPU type", key, whole.catalog)):
                message, hint = fault
                hint = did_you_mean(key, (ALL_GPU_TYPES,)) or hint
                yield Fault((*path, key), message, hint, at_key=True)
        if isinstance(figure, dict):
            yield from held_figures((*path, key), figure, whole.scenario.horizon)


_OF_ALL: tuple[_Check, ...] = (
    *(_horizon, _both_allowed_and_excluded, _budget, misstated),
    *(_derived, running, nothing_to_keep),
)
_OF_NODES: tuple[_CheckOfEntry, ...] = (_unstated, node_sites, site_needs)
_OF_ENTRIES: dict[str, tuple[_CheckOfEntry, ...]] = {
    "fleet": (*_OF_NODES, _retired, _sold),
    "offers": (
        *(*_OF_NODES, _of_its_kind, _unpriced, _for_nothing, _dated, _no_node),
        *(_available, _deliveries, _end_of_sale),
    ),
    "jobs": (_activity, _too_much, _api, _undroppable, _contradictions, job_places, _unlisted),
    "apis": (_priced_later, _available),
    "teams": (_quota,),
    "sites": (figures_by_quarter, taken_already, spare_groups),
}
"""Checks of each entry of a section."""
