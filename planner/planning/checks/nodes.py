"""Checks that every node is owned as the fleet says, or acquired through an offer in time."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from datetime import timedelta

from planner.inputs.scenario.quarter import RUN_HOURS
from planner.inputs.scenario.scenario import plain
from planner.inputs.settled import SettledOffer
from planner.inputs.text import count_of
from planner.planning.checks.case import (
    Findings,
    PlanCase,
    differences,
    each_difference,
    most_at_once,
)
from planner.planning.checks.money import released_cents, sale_usd
from planner.planning.plan import Acquisition, Node


def _horizon(case: PlanCase) -> Findings:
    plan = case.plan
    yield from differences("the horizon", plan.quarters, case.labels)
    as_of = case.earliest_order
    yield from differences("the earliest day of an order", plan.as_of, as_of.isoformat())
    yield from differences("the number of quarters placed", len(plan.placements), len(case.labels))
    return f"{count_of(len(case.labels), 'quarter')} as asked"


def _figures(case: PlanCase) -> Findings:
    for node_id, count in Counter(node.id for node in case.plan.nodes).items():
        if count > 1:
            yield f"node {node_id} is listed {count} times"
    for node in case.plan.nodes:
        known = case.inputs.catalog.nodes.get(node.node_type)
        if known is None:
            yield f"node {node.id}: the catalog has no node type {node.node_type}"
            continue
        memory_mb = int(known.host_memory_gb.value * 1000)
        expected = (known.gpu_type, known.gpus.value, known.cpu_cores.value, memory_mb)
        found = (node.gpu_type, node.gpus, node.cpus, node.memory_mb)
        yield from differences(f"node {node.id}: (GPU type, GPUs, cores, MB)", found, expected)
        inside = tuple(label for label in case.labels if label in node.in_service)
        idle = not (node.in_service or node.off or node.sold)
        if idle or node.in_service != inside:
            told = f"is in service in {node.in_service}, not in quarters of the horizon"
            yield f"node {node.id} {told}"
    return "every node has the GPUs, cores and host memory of its type"


def _owned(case: PlanCase) -> Findings:
    owned = [node for node in case.plan.nodes if node.origin == "owned"]
    counts = Counter((node.entry, node.node_type, node.site) for node in owned)
    expected = {
        (name, entry.node_type, entry.site): entry.count
        for name, entry in case.inputs.scenario.fleet.items()
    }
    for key in sorted({*counts, *expected}):
        name, node_type, site = key
        what = f"owned {node_type} nodes at {site} of fleet entry {name}"
        yield from differences(f"the number of {what}", counts[key], expected.get(key, 0))
    for node in owned:
        entry = case.inputs.scenario.fleet.get(node.entry)
        retires = entry.retires if entry else None
        kept = [str(quarter) for quarter in case.quarters if retires is None or quarter < retires]
        there = [label for label in kept if node.sold is None or label < node.sold]
        if [*node.gone] != kept[len(there) :]:
            yield f"node {node.id} would be kept in other quarters than {node.gone}"
        served = tuple(label for label in there if label not in node.off)
        if node.in_service != served:
            until = f"quarter before {retires}" if retires else "quarter"
            yield f"node {node.id} is owned but not in service in every {until}"
        if [label for label in there if label in node.off] != [*node.off]:
            yield f"node {node.id} is off in {node.off}, in which it is not there"
    yield from _let_go(case)
    origins = Counter(node.origin for node in case.plan.nodes)
    ways = [f"{origins['buy']:,} bought", f"{origins['rent']:,} rented"]
    ways += [f"{origins['reserve']:,} reserved"] if origins["reserve"] else []
    ways += [f"{origins['hourly']:,} had for hours"] if origins["hourly"] else []
    sold = sum(node.sold is not None for node in case.plan.nodes)
    off = sum(bool(node.off) for node in case.plan.nodes)
    let_go = f", {sold:,} sold and {off:,} switched off as it allows" if sold or off else ""
    fleet = f"{count_of(origins['owned'], 'node')} owned as in the fleet{let_go}"
    got = f"{', '.join(ways[:-1])} and {ways[-1]}"
    return f"{fleet}, {got}, each through an offer and not before its lead time"


def _let_go(case: PlanCase) -> Iterator[str]:
    """Check that owned nodes are sold or switched off only where, when and as often as allowed."""
    pinned = set[str]()
    for one in case.inputs.scenario.running:
        if one.pinned or case.inputs.scenario.jobs[one.job].pinned:
            pinned |= set(map(plain, one.nodes))
    sold: Counter[str] = Counter()
    for node in (node for node in case.plan.nodes if node.off or node.sold):
        entry = case.inputs.scenario.fleet.get(node.entry) if node.origin == "owned" else None
        if entry is None:
            yield f"node {node.id} is let go and not of the fleet"
            continue
        if node.off and not entry.may_switch_off:
            yield f"node {node.id} is switched off, fleet entry {node.entry} does not allow it"
        if plain(node.id) in pinned:
            yield f"node {node.id} is let go, and a unit is pinned to it"
        if node.sold:
            sold[node.entry] += 1
            if node.sold not in case.labels or sale_usd(case, node.entry, node.sold) is None:
                yield f"node {node.id} is sold in {node.sold}, in which nobody buys it"
    for name, count in sold.items():
        sale = case.inputs.scenario.fleet[name].sale
        if sale is not None and sale.maximum is not None and count > sale.maximum:
            yield f"{count} nodes of fleet entry {name} are sold, at most {sale.maximum} may be"


def _releases(case: PlanCase) -> Iterator[str]:
    """Check the list of released nodes against the nodes themselves."""
    expected: dict[tuple[str, str, str], int] = Counter(
        (label, action, node.entry)
        for node in case.plan.nodes
        for action, labels in (("sell", (node.sold,)), ("switch off", node.off))
        for label in labels
        if label
    )
    found = {(line.quarter, line.action, line.entry): line for line in case.plan.releases}
    listed = [(line.quarter, line.action, line.entry) for line in case.plan.releases]
    yield from differences("the list of nodes let go", listed, sorted(expected))
    for key, line in found.items():
        entry = case.inputs.scenario.fleet.get(line.entry)
        if entry is None or key not in expected or line.quarter not in case.labels:
            continue
        figures = released_cents(case, line.entry, line.quarter, sold=line.action == "sell")
        each = {name: expected[key] * cents for name, cents in figures.items()}
        due = {
            "count": expected[key],
            "node_type": entry.node_type,
            "site": entry.site,
            "unit_price_cents": figures["total_cents"],
            "quote": entry.sale.quote if entry.sale and line.action == "sell" else None,
            **each,
        }
        yield from each_difference(f"{line.quarter}:", line, due, f" of {line.action} {line.entry}")


def _acquired(case: PlanCase) -> Findings:
    for node in case.plan.nodes:
        if node.origin == "owned":
            continue
        offer = case.offers.get(node.entry)
        if offer is None:
            yield f"node {node.id}: there is no offer {node.entry}"
            continue
        expected = ("hourly" if offer.step_hours else offer.kind, offer.node_type)
        found = (node.origin, node.node_type)
        yield from differences(f"node {node.id}: (kind, node type)", found, expected)
        if node.site not in offer.sites:
            yield (
                f"node {node.id} stands at {node.site}, offer {offer.name} delivers to "
                f"{', '.join(offer.sites)}"
            )
        first = case.labels.index(node.in_service[0])
        if offer.kind == "buy" and node.in_service != case.labels[first:]:
            yield f"node {node.id} is bought but does not stay in service to the end"
        term = offer.term_quarters
        if offer.kind == "reserve" and node.in_service != case.labels[first:][:term]:
            yield f"node {node.id} is reserved but not in service for its {term} quarters"
        yield from _hours(node, offer)
        for label in node.in_service if offer.kind == "rent" else node.in_service[:1]:
            yield from _in_time(case, node, offer, case.labels.index(label))
    return "bought nodes stay to the end, reserved ones for their term"


def _hours(node: Node, offer: SettledOffer) -> Iterator[str]:
    """Check that nodes by the hour or week exist within one quarter and are paid accordingly."""
    step = offer.step_hours
    if step is None or node.hours is None:
        if (step is None) != (node.hours is None) or node.steps != 1:
            yield f"node {node.id} is had for {node.hours or 'whole quarters'}, not as offered"
        return
    start, end = node.hours
    if len(node.in_service) != 1 or not 0 <= start < RUN_HOURS:
        yield f"node {node.id} is had from hour {start} of {node.in_service}, not of one quarter"
    if start and end > RUN_HOURS:
        yield f"node {node.id} is had to hour {end:,} of a quarter of {RUN_HOURS:,} h"
    if end - start != node.steps * step:
        yield f"node {node.id} is had for {end - start} h, {node.steps} × {step} h are paid"
    if end - start < offer.minimum_hours:
        yield f"node {node.id} is had for {end - start} h, offer {offer.name} has a minimum"


def _while_there(case: PlanCase) -> Findings:
    for label, node, occupants in case.uses():
        for one in occupants if node.hours else ():
            start, end = one.held_hours
            if node.hours and not node.hours[0] <= start < end <= node.hours[1]:
                yield f"{label}: {one.job} is on node {node.id} in hours in which that is not there"
    return "runs are on nodes while these are there"


def _in_time(case: PlanCase, node: Node, offer: SettledOffer, entry: int) -> Iterator[str]:
    as_of = case.earliest_order
    start = case.quarters[entry].start
    latest = start - timedelta(weeks=offer.lead_time_weeks)
    if latest < as_of:
        yield (
            f"node {node.id} enters service on {start}, but ordered on {as_of} offer {offer.name} "
            f"delivers {(as_of - latest).days} days later than that"
        )
    if offer.available is not None and case.quarters[entry] not in offer.available:
        yield f"node {node.id}: offer {offer.name} is not available in {case.labels[entry]}"
    if case.sold_too_early(offer, entry):
        yield (
            f"node {node.id} enters service on {start}, a quarter or more after it is delivered: "
            f"the end of sale of offer {offer.name} is {offer.end_of_sale}"
        )


def _maxima(case: PlanCase) -> Findings:
    held: dict[str, Counter[str]] = defaultdict(Counter)
    for node in case.plan.nodes:
        if node.origin != "owned":
            held[node.entry].update(node.in_service)
    for offer in case.inputs.offers:
        most = max(held[offer.name].values(), default=0)
        if offer.step_hours:
            had = [node for node in case.plan.nodes if node.entry == offer.name]
            there = [[node for node in had if label in node.in_service] for label in case.labels]
            most = int(max(most_at_once((node, 1) for node in nodes)[0] for nodes in there))
        if offer.maximum is not None and most > offer.maximum:
            yield f"offer {offer.name} gives at most {offer.maximum} nodes, the plan takes {most}"
        stated = case.inputs.scenario.offers[offer.name].deliveries
        for quarter, label in enumerate(case.labels if stated is not None else ()):
            nodes = case.entering[offer.name, quarter]
            delivered = stated.get(label, 0) if isinstance(stated, dict) else stated
            if nodes > (delivered or 0):
                yield f"{label}: offer {offer.name} delivers {delivered} nodes, {nodes} arrive"
    parts = any(offer.deliveries is not None for offer in case.inputs.offers)
    return "no offer is taken beyond its maximum" + (" or its deliveries" if parts else "")


def _acquisitions(case: PlanCase) -> Findings:
    for line in case.plan.acquisitions:
        offer = case.offers.get(line.offer)
        if offer is None or line.quarter not in case.labels:
            yield f"{line.quarter}: there is no offer {line.offer} in that quarter"
        else:
            yield from _line(case, line, offer, case.labels.index(line.quarter))
    yield from _entering(case)
    yield from _releases(case)
    return "purchases and rents agree with the nodes and the offers"


def _entering(case: PlanCase) -> Iterator[str]:
    """Check that the listed acquisitions are the nodes that enter service."""
    listed: Counter[tuple[str, str, str]] = Counter()
    for line in case.plan.acquisitions:
        listed[line.offer, line.site, line.quarter] += line.count
    for key in sorted({*case.entering_at_sites, *listed}):
        (offer, site, label), enter = key, case.entering_at_sites[key]
        if listed[key] != enter:
            what = f"the number of nodes listed for offer {offer} at {site}"
            yield f"{label}: {what} is {listed[key]}, in service enter {enter}"


def _line(case: PlanCase, line: Acquisition, offer: SettledOffer, quarter: int) -> Iterator[str]:
    price = round(case.price_usd(offer, quarter) * 100)
    left = len(case.labels) - quarter
    term = offer.term_quarters if offer.term_quarters is not None else 1
    expected = {
        "kind": offer.kind,
        "node_type": offer.node_type,
        "unit_price_cents": price,
        "total_cents": price * line.count * min(term, left),
        "committed_cents": price * line.count * max(0, term - left),
        "term_quarters": offer.term_quarters,
        "step_hours": offer.step_hours,
        "illustrative": offer.illustrative,
        "order_by": case.order_day(offer, quarter).isoformat(),
    }
    yield from each_difference(f"{line.quarter}:", line, expected, f" of offer {line.offer}")


FIRST = (_horizon, _figures)
"""Checks that the others rely on."""

CHECKS = (_owned, _acquired, _while_there, _maxima, _acquisitions)
