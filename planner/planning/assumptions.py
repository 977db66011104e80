"""Lists the assumptions of a plan: what the scenario leaves open, and what fills the gap."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

from planner.costs import sale_usd
from planner.inputs.base import SourcedFigure
from planner.inputs.checks.faults import entries
from planner.inputs.checks.sites import cooled_by
from planner.inputs.reading.document import Path, dotted
from planner.inputs.scenario.offer import OWN_FIGURES, FleetEntry, Offer
from planner.inputs.scenario.site import POWER, limits_told
from planner.inputs.settled import Inputs
from planner.planning.plan import Note
from planner.planning.plan_costs import price_stated
from planner.planning.warnings import from_sizing
from planner.planning.words import amount, price, some_of
from planner.sizing.candidate import SizedJob

_NAMED = 6


def assumption_notes(inputs: Inputs, jobs: tuple[SizedJob, ...]) -> tuple[Note, ...]:
    """List everything that the scenario leaves open and something else fills in."""
    return (
        *_settings(inputs),
        *_lead_times(inputs),
        *_waived(inputs),
        *_catalog_figures(inputs),
        *_own_figures(inputs),
        *_uncooled(inputs),
        *_owned_support(inputs),
        *_sales(inputs),
        *_moves(inputs),
        *_beside_the_price(inputs),
        *from_sizing(jobs, lambda sizing: sizing.assumptions),
    )


def _settings(inputs: Inputs) -> Iterator[Note]:
    for name, setting in inputs.settings:
        if setting.assumed:
            text = f"{name} = {amount(setting.value, setting.unit)} ({setting.origin})"
            yield Note(text=text, origin=setting.origin)


def _lead_times(inputs: Inputs) -> Iterator[Note]:
    silent = sorted(
        name
        for name, offer in inputs.scenario.offers.items()
        if "lead_time_weeks" not in offer.model_fields_set
    )
    if silent:
        yield Note(
            text="no lead time is stated, so nodes count as in service on the day of the order: "
            f"{', '.join(silent)}",
            origin="offers",
        )


def _waived(inputs: Inputs) -> Iterator[Note]:
    for rule, reason in sorted(inputs.scenario.policies.waived_rules.items()):
        yield Note(text=f"rule {rule} is waived: {reason}", origin="policies.waived_rules")


def _catalog_figures(inputs: Inputs) -> Iterator[Note]:
    """Note catalog figures of nodes in play that were not published for exactly that node."""
    for node_type in inputs.scenario.node_types_in_play:
        for name, unit, figure in _figures_used(inputs, node_type):
            if figure is not None and figure.basis in ("estimate", "assumption"):
                article = "an" if figure.basis[0] in "ae" else "a"
                note = f": {figure.note}" if figure.note else ""
                yield Note(
                    text=f"{node_type}: {name} = {amount(figure.value, unit)} is {article} "
                    f"{figure.basis}{note}",
                    origin=f"catalog {node_type}",
                )


def _figures_used(
    inputs: Inputs, node_type: str
) -> Iterator[tuple[str, str, SourcedFigure[int] | SourcedFigure[Decimal] | None]]:
    node = inputs.catalog.nodes[node_type]
    yield "cpu_cores", "cores", node.cpu_cores
    yield "host_memory_gb", "GB", node.host_memory_gb
    yield "mean_power_kw", "kW", node.mean_power_kw
    sites = [
        inputs.scenario.sites[site]
        for _, entry in entries(inputs.scenario)
        for site in entry.sites
        if entry.node_type == node_type and site in inputs.scenario.sites
    ]
    told = limits_told({limit.need for site in sites for limit in site.limits}) if sites else ()
    if not sites and inputs.scenario.finance.colocation_usd_per_kw_month:
        told = (POWER,)
    for limit in told:
        yield limit.figure, limit.stated_in, getattr(node, limit.figure)


def _own_figures(inputs: Inputs) -> Iterator[Note]:
    """Note figures that one fleet entry states and that other nodes of its type take over."""
    asked = [(dotted(path), entry) for path, entry in _in_order(inputs)]
    for node_type in inputs.scenario.node_types_in_play:
        alike = [(origin, entry) for origin, entry in asked if entry.node_type == node_type]
        for key in OWN_FIGURES:
            stated = [(origin, own) for origin, e in alike if (own := getattr(e, key)) is not None]
            silent = sorted(origin for origin, e in alike if getattr(e, key) is None)
            if stated and silent:
                first, value = min(stated)
                yield Note(
                    text=f"{', '.join(silent)}: {key} = {value} as {first} states it, since all "
                    f"{node_type} are alike",
                    origin=first,
                )


def _in_order(inputs: Inputs) -> list[tuple[Path, FleetEntry | Offer]]:
    return sorted(entries(inputs.scenario), key=lambda one: one[0])


def _uncooled(inputs: Inputs) -> Iterator[Note]:
    """Note nodes that need liquid cooling at a site that does not say how it cools."""
    for path, entry in _in_order(inputs):
        if cooled_by(inputs.catalog.nodes[entry.node_type]) != frozenset({"liquid"}):
            continue
        for name in entry.sites:
            site = inputs.scenario.sites.get(name)
            if site is not None and site.cooling is None:
                yield Note(
                    text=f"{entry.node_type} needs liquid cooling, which {name} is taken to have",
                    origin=dotted(path),
                )


def _owned_support(inputs: Inputs) -> Iterator[Note]:
    finance, fleet = inputs.scenario.finance, inputs.scenario.fleet
    more = finance.licence_usd_per_gpu_year or finance.colocation_usd_per_kw_month
    cost = "no support" if more else "their energy alone"
    unknown = [name for name, entry in fleet.items() if entry.support_usd_per_year is None]
    if unknown and len(unknown) == len(fleet):
        yield Note(
            text=f"owned nodes cost {cost}: their support contracts are not known, and "
            "what was paid for them is spent",
            origin="fleet",
        )
    elif unknown:
        yield Note(
            text=f"the support of {', '.join(sorted(unknown))} is not known and not counted",
            origin="fleet",
        )


def _sales(inputs: Inputs) -> Iterator[Note]:
    for name, entry in sorted(inputs.scenario.fleet.items()):
        if entry.sale is not None:
            worth = sale_usd(inputs, entry, inputs.scenario.horizon.quarters)
            end = inputs.scenario.horizon.all_quarters[-1] + 1
            text = (
                f"a node of {name} that is not sold is worth {price(worth or Decimal(0))} in {end}"
            )
            if entry.sale.quote is None:
                text += ", and no quote stands behind what a sale brings before"
            yield Note(text=text, origin=f"fleet.{name}.sale")


def _moves(inputs: Inputs) -> Iterator[Note]:
    """Note what the plan assumes about moving jobs."""
    scenario = inputs.scenario
    free = sorted(
        {
            entry.job
            for entry in scenario.running
            if scenario.jobs[entry.job].move_cost_usd is None
            and not (entry.pinned or scenario.jobs[entry.job].pinned)
        }
    )
    if free and scenario.policies.move_cost_usd is None:
        yield Note(
            text=f"to move {some_of(free, _NAMED)} costs nothing: no price of a move is stated",
            origin="policies.move_cost_usd",
        )
    if scenario.running:
        yield Note(
            text="the time that a move takes is not planned, and a change of node within a pool "
            "has no price",
            origin="running",
        )
    if scenario.running and scenario.policies.shortage == "drop":
        yield Note(
            text="to stop what runs today costs nothing: a job that is dropped or delayed stops at "
            "the start of the horizon",
            origin="policies.shortage",
        )
    loaded = sorted(name for name, job in scenario.jobs.items() if job.load)
    if scenario.running and loaded:
        yield Note(
            text=f"{some_of(loaded, _NAMED)}: replicas that follow from a load cannot be told "
            "apart, so that none of them counts as running today",
            origin="running",
        )


def _beside_the_price(inputs: Inputs) -> Iterator[Note]:
    """Note what is paid on top of the price, that none is counted, or why it is included."""
    finance = inputs.scenario.finance
    licence = finance.licence_usd_per_gpu_year
    silent = []
    for key, what in (
        ("licence_usd_per_gpu_year", "a software licence"),
        ("colocation_usd_per_kw_month", "colocation"),
        ("network_usd_per_port", "network"),
    ):
        if getattr(finance, key) is not None:
            none_else = ", none for any other GPU type" if isinstance(licence, dict) else ""
            costs = price_stated(inputs, key) + none_else * (key == "licence_usd_per_gpu_year")
            text = f"{what} costs {costs}: stated in the scenario, which names no quote"
            yield Note(text=text, origin=f"finance.{key}")
        elif key != "network_usd_per_port":  # documents list that beside storage and staff
            silent.append(f"no {what.removeprefix('a ')} is counted ({key})")
    if silent:
        yield Note(text="; ".join(silent), origin="finance")
    for path, entry in _in_order(inputs) if licence is not None else ():
        if entry.licence_included is not None:
            text = f"the licence is included, as shown by: {entry.licence_included}"
            yield Note(text=text, origin=dotted(path))
