"""How full the fleet is: nodes, GPUs, cores and host memory by pool and quarter."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from planner.reporting.document import Block, Column, Paragraph, Table
from planner.reporting.format import count_of, listed, memory, percent, quarter_span, range_of
from planner.reporting.parts import some_share
from planner.reporting.sites import spare_sentences

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from planner.planning.plan import Plan, PoolUse

__all__ = ["usage_section"]

_NO_NODES = "0/0"


def usage_section(plan: Plan) -> tuple[Block, ...]:
    """One row per pool and quarter, alike quarters in one row, and a sum per quarter."""
    peaks = some_share(plan)
    rows = tuple(row for pool in plan.pools for row in _pool_rows(plan, pool, peaks=peaks))
    table = Table(
        (
            Column("Pool", wraps=True),
            Column("Quarter"),
            Column("Nodes", "right"),
            Column("GPUs", "right"),
            Column("Used", "right"),
            *((Column("Peak", "right"),) if peaks else ()),
            Column("Stranded", "right"),
            Column("Cores", "right"),
            Column("Memory", "right"),
        ),
        (*rows, *_sum_rows(plan, peaks=peaks)),
    )
    return (Paragraph(" ".join(_reading_aid(peaks=peaks)), tone="faint"), table, *_asides(plan))


def _reading_aid(*, peaks: bool) -> Iterator[str]:
    yield "Nodes and GPUs are used / in service."
    if peaks:
        yield (
            "Used is the share of GPU-hours held over the quarter, Peak that of the GPUs held at "
            "its fullest hour; a part of a GPU counts by its share of the memory."
        )
    yield (
        "Stranded GPUs are free ones on nodes in use that no job of this plan could take for want "
        "of cores or host memory."
    )


def _pool_rows(plan: Plan, pool: PoolUse, *, peaks: bool) -> list[tuple[str, ...]]:
    by_quarter = [_figures([pool], place, peaks=peaks) for place in range(len(plan.quarters))]
    return _collapsed(plan, f"{pool.node_type} @ {pool.site}", by_quarter)


def _collapsed(plan: Plan, name: str, by_quarter: list[tuple[str, ...]]) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = []
    entries = list(zip(plan.quarters, by_quarter, strict=True))
    for figures, group in groupby(entries, key=lambda entry: entry[1]):
        labels = [label for label, _ in group]
        if figures[0] == _NO_NODES:
            continue
        rows.append(("" if rows else name, quarter_span(labels[0], labels[-1]), *figures))
    return rows


def _sum_rows(plan: Plan, *, peaks: bool) -> list[tuple[str, ...]]:
    if len(plan.pools) < 2:
        return []
    by_quarter = [_figures(plan.pools, place, peaks=peaks) for place in range(len(plan.quarters))]
    return _collapsed(plan, "All pools", by_quarter)


def _figures(pools: Sequence[PoolUse], place: int, *, peaks: bool) -> tuple[str, ...]:
    def total(name: str) -> float:
        return float(sum(getattr(pool, name)[place] for pool in pools))

    # The pools of a sum need not be fullest at the same hour.
    peak = _share(total("gpus_peak"), total("gpus")) if len(pools) == 1 else ""
    return (
        f"{total('nodes_used'):,.0f}/{total('nodes'):,.0f}",
        f"{total('gpus_used'):,.0f}/{total('gpus'):,.0f}",
        _share(total("gpu_hours_used"), total("gpu_hours")),
        *((peak,) if peaks else ()),
        f"{total('gpus_stranded'):,.0f}",
        _share(total("cpus_used"), total("cpus")),
        _share(total("memory_used_mb"), total("memory_mb")),
    )


def _share(used: float, capacity: float) -> str:
    return percent(used / capacity, 0) if capacity else "–"


def _asides(plan: Plan) -> tuple[Block, ...]:
    spare: dict[str, list[str]] = {}
    for pool in plan.pools:
        if any(pool.nodes_spare):
            spare.setdefault(_spares(pool), []).append(f"{pool.node_type} @ {pool.site}")
    sentences = [
        f"Kept empty as spare: {kept} of {'each of ' if len(pools) > 1 else ''}{listed(pools)}."
        for kept, pools in spare.items()
    ]
    sentences += spare_sentences(plan)
    held = (one for uses in plan.placements for use in uses for one in use.occupants)
    runs = plan.growth_reserve and any(one.hours for one in held)
    counted = ", each run counted by its share of the hours" if runs else ""
    sentences += [
        f"Kept free for growth: {percent(share)} of the GPUs of {gpu_type}, at the least{counted}."
        for gpu_type, share in plan.growth_reserve
    ]
    moved = [
        f"{units:,} at the start of {quarter}"
        for quarter, units in zip(plan.quarters, plan.moves, strict=True)
        if units
    ]
    if moved:
        sentences.append(f"Units that change node: {listed(moved)}.")
    if any(plan.storage_mb):
        grown = [
            f"{memory(stored)} by the end of {quarter}"
            for quarter, stored, before in zip(
                plan.quarters, plan.storage_mb, (0, *plan.storage_mb), strict=False
            )
            if stored != before
        ]
        sentences.append(f"Storage for tuned assets: {listed(grown)}.")
    return (Paragraph(" ".join(sentences)),) if sentences else ()


def _spares(pool: PoolUse) -> str:
    kept = sorted({spare for spare in pool.nodes_spare if spare})
    return count_of(kept[0], "node") if len(kept) == 1 else f"{range_of(kept)} nodes"
