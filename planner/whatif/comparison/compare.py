"""What differs between two plans: inputs first, then what is bought, cost, jobs, GPUs, warnings."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING

from planner.inputs.reading.document import settable
from planner.inputs.text.scalars import flow
from planner.inputs.text.words import count_of
from planner.whatif.comparison.actuals import outcomes
from planner.whatif.comparison.causes import TITLES, cause_of
from planner.whatif.comparison.comparison import (
    Amount,
    Comparison,
    InputChange,
    JobMove,
    PurchaseChange,
    ShortChange,
    SideFigures,
)
from planner.whatif.comparison.waterfall import Waterfall, waterfall

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from decimal import Decimal
    from typing import Any

    from pydantic import BaseModel

    from planner.inputs.reading.document import Path
    from planner.inputs.scenario.offer import OfferKind
    from planner.inputs.settled import Inputs
    from planner.planning.plan import Occupant, Plan, ShortJob
    from planner.whatif.comparison.actuals import Actual
    from planner.whatif.comparison.sides import Side

__all__ = ["compare"]


def compare(
    before: Side,
    after: Side,
    planner: Callable[[Inputs], Plan] | None,
    actuals: Sequence[Actual] = (),
) -> Comparison:
    """Compare two sides; `planner` makes the plans between them for the waterfall, if it is asked.

    `actuals` are held against the plan before.
    """
    one, other = before.plan, after.plan
    demand, deliveries = outcomes(one, actuals)
    return Comparison(
        before=_figures(before),
        after=_figures(after),
        inputs=tuple(_inputs(before, after)),
        unread=tuple(_unread(before, after)),
        purchases=_purchases(one, other),
        costs=_costs(one, other),
        waterfall=(
            waterfall(before, after, planner)
            if planner
            else Waterfall(steps=(), missing="the steps between the two plans were not planned")
        ),
        short=tuple(_short(one, other)),
        moves=tuple(_moves(one, other)),
        gpus=_changed("GPUs", _gpus(one, other), _gpus(other, one)),
        utilization=_changed("share", _utilization(one), _utilization(other)),
        power=_changed("W", _power(one), _power(other)),
        warnings_gone=_without(one, other),
        warnings_new=_without(other, one),
        demand=demand,
        deliveries=deliveries,
    )


def _figures(side: Side) -> SideFigures:
    proof = side.plan.proof
    return SideFigures(
        label=side.label,
        scenario=side.plan.scenario,
        status=proof.status,
        cost_cents=proof.cost_cents,
        bound_cents=proof.bound_cents,
        quarters=side.plan.quarters,
        short=len(_giving_way(side.plan)),
    )


def _inputs(before: Side, after: Side) -> Iterator[InputChange]:
    if before.question and after.question:
        found = _differences((), before.question.data, after.question.data)
        for path, old, new in found:
            if path[0] not in TITLES:
                yield InputChange(
                    cause=cause_of(str(path[0]), str(path[-1])),
                    path=settable(tuple(map(str, path))),
                    before=_stated(before, path, old),
                    after=_stated(after, path, new),
                )
    if before.source and after.source:
        one, other = before.source, after.source
        yield from _facts("prices", "price book", one.catalog.prices, other.catalog.prices)
        without = {"prices": None}
        yield from _facts(
            "catalog",
            "catalog",
            one.catalog.model_copy(update=without),
            other.catalog.model_copy(update=without),
        )
        yield from _facts("rules", "rule", one.rules, other.rules, skip=("rules",))


def _stated(side: Side, path: Path, value: object) -> str | None:
    """A value as written; a price that is not stated is that of the price book."""
    if value is not None:
        return flow(value)
    listed = _listed_price(side, path)
    return None if listed is None else f"{flow(listed)} (price book)"


def _listed_price(side: Side, path: Path) -> Decimal | None:
    if side.source is None or len(path) != 3 or path[0] != "offers":
        return None
    _, name, key = path
    offer = side.source.question.data.get("offers", {}).get(name, {})
    kinds: dict[object, OfferKind] = {"price_usd": "buy", "price_usd_per_gpu_hour": "rent"}
    if key not in kinds:
        return None
    listed = side.source.catalog.prices.listed(kinds[key], offer.get("node_type", ""))
    return listed.usd if listed else None


def _facts(
    cause: str, name: str, before: BaseModel, after: BaseModel, *, skip: tuple[str, ...] = ()
) -> Iterator[InputChange]:
    if before == after:
        return
    for path, old, new in _differences((), before.model_dump(), after.model_dump()):
        shown = path[len(skip) :] if path[: len(skip)] == skip else path
        yield InputChange(
            cause=cause,
            path=f"{name} {settable(tuple(map(str, shown)))}",
            before=None if old is None else flow(_plain(old)),
            after=None if new is None else flow(_plain(new)),
        )


def _plain(value: object) -> object:
    """A value in what a file can hold."""
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items() if item is not None}
    if isinstance(value, tuple | list):
        return tuple(map(_plain, value))
    return value


def _differences(
    outer: Path, before: Mapping[str, Any], after: Mapping[str, Any]
) -> Iterator[tuple[Path, Any, Any]]:
    """Paths with different values, at the outermost path that one side lacks."""
    for key in dict.fromkeys((*before, *after)):
        old, new = before.get(key), after.get(key)
        path = (*outer, key)
        if isinstance(old, dict) and isinstance(new, dict):
            yield from _differences(path, old, new)
        elif old != new:
            yield path, old, new


def _unread(before: Side, after: Side) -> Iterator[str]:
    for side in (before, after):
        if side.question is None:
            yield f"{side.label} does not record its scenario, so its inputs are not compared"
    if before.source and after.source:
        return
    one, other = (
        {(role, path): digest for role, path, digest in side.plan.provenance.files}
        for side in (before, after)
    )
    differ = sorted(
        path
        for role, path in one.keys() | other.keys()
        if role in ("catalog", "rules") and one.get((role, path)) != other.get((role, path))
    )
    if differ:
        yield f"these files of the catalog and the rules differ: {', '.join(differ)}"


def _purchases(before: Plan, after: Plan) -> tuple[PurchaseChange, ...]:
    counts: dict[tuple[str, str, str, str, str, int], list[int]]
    counts = defaultdict(lambda: [0, 0, 0, 0])
    for place, plan in enumerate((before, after)):
        for line in plan.acquisitions:
            term = line.term_quarters or 0
            key = (line.quarter, line.kind, line.offer, line.node_type, line.site, term)
            counts[key][place] += line.count
            counts[key][place + 2] += line.total_cents
    return tuple(
        PurchaseChange(
            quarter=quarter,
            kind=kind,
            offer=offer,
            node_type=node_type,
            site=site,
            before=old,
            after=new,
            before_cents=old_cents,
            after_cents=new_cents,
            term_quarters=term or None,
        )
        for (quarter, kind, offer, node_type, site, term), (
            old,
            new,
            old_cents,
            new_cents,
        ) in sorted(counts.items())
        if (old, old_cents) != (new, new_cents)
    )


_Figures = dict[tuple[str, str | None], int | float]
"""By name and quarter."""


def _changed(unit: str, before: _Figures, after: _Figures) -> tuple[Amount, ...]:
    return tuple(
        Amount(name=name, quarter=quarter, unit=unit, before=old, after=new)
        for name, quarter in sorted(before.keys() | after.keys(), key=lambda key: (key[0], key[1]))
        for old, new in [(before.get((name, quarter)), after.get((name, quarter)))]
        if old != new
    )


def _costs(before: Plan, after: Plan) -> tuple[Amount, ...]:
    def lines(plan: Plan) -> _Figures:
        return {(line.name, None): line.present_cents for line in plan.costs}

    whole = Amount(
        name="net present cost",
        quarter=None,
        unit="cents",
        before=before.proof.cost_cents,
        after=after.proof.cost_cents,
    )
    return (*_changed("cents", lines(before), lines(after)), whole)


def _giving_way(plan: Plan) -> dict[str, ShortJob]:
    return {job.name: job for job in plan.shortage.jobs} if plan.shortage else {}


def _short(before: Plan, after: Plan) -> Iterator[ShortChange]:
    """Jobs that do not give way alike, the most important first."""
    one, other = _giving_way(before), _giving_way(after)
    every = {**one, **other}
    for job in sorted(every.values(), key=lambda job: (-job.priority, job.name)):
        old, new = one.get(job.name), other.get(job.name)
        told = (
            old.how(before.quarters) if old else None,
            new.how(after.quarters) if new else None,
        )
        if told[0] != told[1]:
            yield ShortChange(job=job.name, before=told[0], after=told[1], cause=job.cause)


def _gpus(plan: Plan, beside: Plan) -> _Figures:
    """By GPU type; a type that only the other plan has is 0 in this plan's quarters."""
    types = {pool.gpu_type for pool in (*plan.pools, *beside.pools)}
    found = Counter({(name, quarter): 0 for name in types for quarter in plan.quarters})
    for pool in plan.pools:
        for quarter, gpus in zip(plan.quarters, pool.gpus, strict=True):
            found[pool.gpu_type, quarter] += gpus
    return dict(found.items())


def _utilization(plan: Plan) -> _Figures:
    found: _Figures = {}
    for place, quarter in enumerate(plan.quarters):
        hours = sum(pool.gpu_hours[place] for pool in plan.pools)
        used = sum(pool.gpu_hours_used[place] for pool in plan.pools)
        found["GPU-hours in use", quarter] = round(used / hours, 4) if hours else 0.0
    return found


def _power(plan: Plan) -> _Figures:
    return {
        (site.site, quarter): power
        for site in plan.sites
        for quarter, power in zip(plan.quarters, site.taken["power_w"] or (), strict=False)
    }


def _moves(before: Plan, after: Plan) -> Iterator[JobMove]:
    """Quarters in which a job has the same places before and the same after share a line."""
    one, other = _places(before), _places(after)
    quarters = dict.fromkeys((*before.quarters, *after.quarters))
    for job in dict.fromkeys(name for name, _ in (*one, *other)):
        runs: dict[tuple[str | None, str | None], list[str]] = {}
        for quarter in sorted(quarters):
            there = quarter in before.quarters and quarter in after.quarters
            pair = one.get((job, quarter)), other.get((job, quarter))
            if there and pair[0] != pair[1]:
                runs.setdefault(pair, []).append(quarter)
        for (old, new), found in runs.items():
            yield JobMove(job=job, quarters=tuple(found), before=old, after=new)


def _places(plan: Plan) -> dict[tuple[str, str], str]:
    """`2 × 4 GPUs on xe9680-h100 @ main` by job and quarter; alike pieces of a job are counted."""
    pools = {node.id: f"{node.node_type} @ {node.site}" for node in plan.nodes}
    found: dict[tuple[str, str], str] = {}
    for quarter, uses in zip(plan.quarters, plan.placements, strict=True):
        held: dict[str, dict[tuple[str, int, int], tuple[str, list[Occupant]]]] = {}
        for use in uses:
            for item in use.occupants:
                pieces = held.setdefault(item.job, {})
                pieces.setdefault(item.piece, (pools[use.node], []))[1].append(item)
        for job, pieces in held.items():
            alike = Counter(f"{_holding(items)} on {pool}" for pool, items in pieces.values())
            told = (f"{count:,} × {what}" for what, count in sorted(alike.items()))
            found[job, quarter] = ", ".join(told)
    return found


def _holding(items: Sequence[Occupant]) -> str:
    """What one piece holds: whole GPUs, over all its nodes, or a part of one."""
    part = items[0].part
    if part is None:
        return count_of(sum(len(item.gpus) for item in items), "GPU")
    return part.profile or f"{part.taken:,} MB of a GPU"


def _without(plan: Plan, other: Plan) -> tuple[str, ...]:
    """Warnings of one plan that the other does not have."""
    known = {(note.text, note.origin) for note in other.warnings}
    return tuple(
        f"{note.text} ({note.origin})" if note.origin not in note.text else note.text
        for note in plan.warnings
        if (note.text, note.origin) not in known
    )
