"""How full the fleet is: nodes, GPUs, cores and host memory by pool and quarter."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from planner.report.document import Block, Column, Paragraph, Table
from planner.report.format import count_of, listed, memory, percent, quarter_span, range_of
from planner.report.sites import spare_sentences

if TYPE_CHECKING:
    from planner.plan.plan import Plan, PoolUse

__all__ = ["usage_section"]

_NO_NODES = "0/0"


def usage_section(plan: Plan) -> tuple[Block, ...]:
    """One row per pool and quarter, alike quarters in one row, and a sum per quarter."""
    rows = tuple(row for pool in plan.pools for row in _pool_rows(plan, pool))
    table = Table(
        (
            Column("Pool", wraps=True),
            Column("Quarter"),
            Column("Nodes", "right"),
            Column("GPUs", "right"),
            Column("Used", "right"),
            Column("Stranded", "right"),
            Column("Cores", "right"),
            Column("Memory", "right"),
        ),
        (*rows, *_sum_rows(plan)),
    )
    return (
        Paragraph(
            "Nodes and GPUs are used / in service. Stranded GPUs are free ones on nodes in use "
            "that no job of this plan could take for want of cores or host memory.",
            tone="faint",
        ),
        table,
        *_asides(plan),
    )


def _pool_rows(plan: Plan, pool: PoolUse) -> list[tuple[str, ...]]:
    by_quarter = [_figures(pool, place) for place in range(len(plan.quarters))]
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


def _figures(pool: PoolUse, place: int) -> tuple[str, ...]:
    return (
        f"{pool.nodes_used[place]:,}/{pool.nodes[place]:,}",
        f"{pool.gpus_used[place]:,}/{pool.gpus[place]:,}",
        _share(pool.gpus_used[place], pool.gpus[place]),
        f"{pool.gpus_stranded[place]:,}",
        _share(pool.cpus_used[place], pool.cpus[place]),
        _share(pool.memory_used_mb[place], pool.memory_mb[place]),
    )


def _sum_rows(plan: Plan) -> list[tuple[str, ...]]:
    if len(plan.pools) < 2:
        return []
    return _collapsed(
        plan, "All pools", [_summed(plan, place) for place in range(len(plan.quarters))]
    )


def _summed(plan: Plan, place: int) -> tuple[str, ...]:
    def total(name: str) -> int:
        return sum(getattr(pool, name)[place] for pool in plan.pools)

    return (
        f"{total('nodes_used'):,}/{total('nodes'):,}",
        f"{total('gpus_used'):,}/{total('gpus'):,}",
        _share(total("gpus_used"), total("gpus")),
        f"{total('gpus_stranded'):,}",
        _share(total("cpus_used"), total("cpus")),
        _share(total("memory_used_mb"), total("memory_mb")),
    )


def _share(used: int, capacity: int) -> str:
    return percent(used / capacity, 0) if capacity else "–"


def _asides(plan: Plan) -> tuple[Block, ...]:
    sentences = [
        f"Kept empty as spare: {_spares(pool)} of {pool.node_type} @ {pool.site}."
        for pool in plan.pools
        if any(pool.nodes_spare)
    ]
    sentences += spare_sentences(plan)
    sentences += [
        f"Kept free for growth: {percent(share)} of the GPUs of {gpu_type}, at the least."
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
