"""Which job has which partition or share of which GPU."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from planner.reporting.document import Block, Column, Heading, Paragraph, Table
from planner.reporting.format import code, count_of, memory, money, numbers, quarter_span
from planner.reporting.nodenames import range_of_ids

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from planner.planning.plan import GpuPart, Node, NodeUse, PartitionSaving, Plan

__all__ = ["shared_section"]

_Held = tuple[str, "GpuPart"]
_Row = tuple[str, str, str]
"""GPU numbers, who holds what, what is free."""


def shared_section(plan: Plan, most_lines: int) -> tuple[Block, ...]:
    """GPUs that jobs have parts of, by node; alike nodes and quarters once; nothing without any."""
    nodes = {node.id: node for node in plan.nodes}
    drawn = [
        (label, tuple(_rows(uses, nodes)))
        for label, uses in zip(plan.quarters, plan.placements, strict=True)
    ]
    blocks: list[Block] = []
    for rows, group in groupby(drawn, key=lambda entry: entry[1]):
        labels = [label for label, _ in group]
        if rows:
            blocks.append(Heading(quarter_span(labels[0], labels[-1]), 3))
            blocks.append(_table(rows[:most_lines]))
        if len(rows) > most_lines:
            more = count_of(len(rows) - most_lines, "more row")
            blocks.append(
                Paragraph(f"… {more}, all in {code('placements')} of plan.json", tone="faint")
            )
    if not blocks:
        return ()
    how = (
        "Partitions (MIG) with their first memory slices, or memory of GPUs that are shared "
        "without partitions; ×2 after a job: two units or replicas of it."
    )
    return (Paragraph(how, tone="faint"), *blocks, *_saving(plan.partition_saving))


def _saving(saving: PartitionSaving | None) -> Iterator[Paragraph]:
    if saving is None:
        return
    if saving.outcome == "no other plan":
        yield Paragraph("On whole GPUs alone no plan keeps all of these jobs.")
    elif saving.cents is None:
        yield Paragraph(
            "What parts of GPUs save is open: the plan or the one on whole GPUs was not proved."
        )
    elif saving.cents:
        cost = f"{money(saving.cents)} net present cost"
        yield Paragraph(
            f"Parts of GPUs save {cost}: the best plan on whole GPUs costs so much more."
        )
    else:
        yield Paragraph("Parts of GPUs save nothing: a plan on whole GPUs costs no more.")


def _table(rows: Sequence[tuple[str, ...]]) -> Table:
    return Table(
        (
            Column("Node", wraps=True),
            Column("GPUs", wraps=True),
            Column("Who holds what of each", wraps=True),
            Column("Free", wraps=True),
        ),
        tuple(rows),
    )


def _rows(uses: Sequence[NodeUse], nodes: dict[str, Node]) -> Iterator[tuple[str, ...]]:
    alike: dict[tuple[str, str, tuple[_Row, ...]], list[str]] = {}
    for use in uses:
        shown = tuple(_of_node(use))
        if shown:
            node = nodes[use.node]
            alike.setdefault((node.node_type, node.site, shown), []).append(use.node)
    for (_, _, shown), ids in alike.items():
        for place, row in enumerate(shown):
            yield ("" if place else range_of_ids(ids), *row)


def _of_node(use: NodeUse) -> Iterator[_Row]:
    held: dict[int, list[_Held]] = {}
    for one in use.occupants:
        if one.part:
            held.setdefault(one.gpus[0], []).append((one.job, one.part))
    alike: dict[tuple[str, str], list[int]] = {}
    for gpu, parts in sorted(held.items()):
        alike.setdefault(("; ".join(_who(parts)), _free(parts)), []).append(gpu)
    for (who, free), gpus in alike.items():
        yield numbers(gpus), who, free


def _who(parts: Sequence[_Held]) -> Iterator[str]:
    """`small: 1g.10gb at 0, 1`, or `memo ×2: 60 GB`."""
    ordered = sorted(parts, key=lambda held: (held[1].first or 0, held[0]))
    by_kind: dict[tuple[str, str | None], list[GpuPart]] = {}
    for job, part in ordered:
        by_kind.setdefault((job, part.profile), []).append(part)
    for (job, profile), alike in by_kind.items():
        if profile is None:
            times = f" ×{len(alike)}" if len(alike) > 1 else ""
            yield f"{job}{times}: {memory(sum(part.taken for part in alike))}"
        else:
            yield f"{job}: {profile} at {', '.join(str(part.first) for part in alike)}"


def _free(parts: Sequence[_Held]) -> str:
    of = min(part.of for _, part in parts)
    free = of - sum(part.taken for _, part in parts)
    if parts[0][1].profile is None:
        return f"{memory(free)} of {memory(of)}"
    return f"{free} of {count_of(of, 'slice')}"
