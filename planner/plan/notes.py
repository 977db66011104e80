"""What a reader must know before trusting a plan: warnings, and everything that was assumed."""

from __future__ import annotations

from collections import defaultdict
from datetime import date
from typing import TYPE_CHECKING

from planner.packing.problem import Status
from planner.plan.plan import Note
from planner.plan.words import amount, some, some_of, usd

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from decimal import Decimal

    from planner.inputs.base import Figure
    from planner.inputs.catalog import NodeType
    from planner.inputs.settled import Inputs, SettledOffer
    from planner.packing.problem import Solution
    from planner.plan.plan import Node, NodeUse
    from planner.sizing.candidate import SizedJob, Sizing

__all__ = ["assumption_notes", "warning_notes"]

STALE_DAYS = 180
"""A price older than this on the day of the plan is called stale; it changes no figure."""

_JOBS_NAMED = 3


def warning_notes(
    inputs: Inputs,
    jobs: tuple[SizedJob, ...],
    solution: Solution,
    nodes: tuple[Node, ...],
    placements: tuple[tuple[NodeUse, ...], ...],
) -> tuple[Note, ...]:
    """Warnings, those that decide about money first."""
    return (
        *_not_proved(solution),
        *_illustrative(inputs),
        *_stale(inputs),
        *_no_spare(inputs, nodes, placements),
        *_from_sizing(jobs, lambda sizing: sizing.warnings),
    )


def assumption_notes(inputs: Inputs, jobs: tuple[SizedJob, ...]) -> tuple[Note, ...]:
    """Everything that the scenario leaves open and a rule, a figure or the method fills in."""
    return (
        *_settings(inputs),
        *_lead_times(inputs),
        *_waived(inputs),
        *_catalog_figures(inputs),
        *_owned_support(inputs),
        *_from_sizing(jobs, lambda sizing: sizing.assumptions),
    )


def _not_proved(solution: Solution) -> Iterator[Note]:
    if solution.status is Status.NOT_PROVED:
        left = solution.cost_cents - solution.bound_cents
        yield Note(
            text=(
                "not proved: a limit was hit; a cheaper plan may exist, cheaper by at most "
                f"{usd(left)} ({solution.gap:.3%})"
            ),
            origin="solver",
        )


def _illustrative(inputs: Inputs) -> Iterator[Note]:
    book = inputs.catalog.prices.header
    concerned = [offer for offer in inputs.offers if offer.illustrative]
    from_book = [offer for offer in concerned if _from_book(inputs, offer)]
    own = [offer for offer in concerned if not _from_book(inputs, offer)]
    if from_book:
        yield Note(text=f"{book.notice} Offers concerned: {_prices(from_book)}", origin=book.id)
    if own:
        yield Note(
            text=f"no quote stands behind these prices, they are illustrative: {_prices(own)}",
            origin="scenario",
        )


def _from_book(inputs: Inputs, offer: SettledOffer) -> bool:
    asked = inputs.scenario.offers[offer.name]
    return asked.price_usd is None and asked.price_usd_per_gpu_hour is None


def _prices(offers: Iterable[SettledOffer]) -> str:
    return ", ".join(f"{offer.name} ({offer.price_text})" for offer in offers)


def _stale(inputs: Inputs) -> Iterator[Note]:
    horizon = inputs.scenario.horizon
    as_of = horizon.as_of or horizon.first_quarter.start
    for offer in inputs.offers:
        if offer.price_date is None:
            continue
        days = (as_of - date.fromisoformat(offer.price_date)).days
        if days > STALE_DAYS:
            yield Note(
                text=f"the price of {offer.name} is of {offer.price_date}, {some(days, 'day')} "
                f"before the plan's first order on {as_of}",
                origin=f"offers.{offer.name}",
            )


def _no_spare(
    inputs: Inputs, nodes: tuple[Node, ...], placements: tuple[tuple[NodeUse, ...], ...]
) -> Iterator[Note]:
    node_type_of = {node.id: node.node_type for node in nodes}
    used = {node_type_of[use.node] for uses in placements for use in uses}
    spare = inputs.scenario.policies.spare_nodes
    if len(used) == 1:
        node_type = used.pop()
        kept = spare if isinstance(spare, int) else spare.get(node_type, 0)
        if not kept:
            yield Note(
                text=f"everything runs on one node type, {node_type}, and no spare node is kept: "
                "a failed node stops its jobs",
                origin="policies.spare_nodes",
            )


def _settings(inputs: Inputs) -> Iterator[Note]:
    for name in type(inputs.settings).model_fields:
        setting = getattr(inputs.settings, name)
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
    """Figures of nodes in play that no one published for that node."""
    in_play = {entry.node_type for entry in inputs.scenario.fleet.values()}
    in_play |= {offer.node_type for offer in inputs.offers}
    for node_type in sorted(in_play):
        node = inputs.catalog.nodes[node_type]
        for name, unit, figure in _figures_used(node):
            if figure is not None and figure.basis in ("estimate", "assumption"):
                article = "an" if figure.basis[0] in "ae" else "a"
                note = f": {figure.note}" if figure.note else ""
                yield Note(
                    text=f"{node_type}: {name} = {amount(figure.value, unit)} is {article} "
                    f"{figure.basis}{note}",
                    origin=f"catalog {node_type}",
                )


def _figures_used(
    node: NodeType,
) -> tuple[tuple[str, str, Figure[int] | Figure[Decimal] | None], ...]:
    return (
        ("cpu_cores", "cores", node.cpu_cores),
        ("host_memory_gb", "GB", node.host_memory_gb),
        ("mean_power_kw", "kW", node.mean_power_kw),
    )


def _owned_support(inputs: Inputs) -> Iterator[Note]:
    if inputs.scenario.fleet:
        yield Note(
            text="owned nodes cost their energy alone: their support contracts are not known, and "
            "what was paid for them is spent",
            origin="fleet",
        )


def _from_sizing(
    jobs: tuple[SizedJob, ...], texts: Callable[[Sizing], tuple[str, ...]]
) -> Iterator[Note]:
    """Each text once, with the jobs that it concerns."""
    concerned: dict[str, list[str]] = defaultdict(list)
    for job in jobs:
        for text in dict.fromkeys(texts(job.sizing)):
            concerned[text].append(job.name)
    for text, names in sorted(concerned.items()):
        yield Note(text=text, origin=_names(names))


def _names(names: list[str]) -> str:
    kind = "job" if len(names) == 1 else "jobs"
    return f"{kind} {some_of(names, _JOBS_NAMED)}"
