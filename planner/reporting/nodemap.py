"""The map of the fleet: every node in use, its GPUs as cells, and who holds them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import groupby
from string import ascii_letters
from typing import TYPE_CHECKING

from planner.reporting.document import Block, Heading, Paragraph, Verbatim
from planner.reporting.format import cells_of, code, count_of, filled, quarter_span
from planner.reporting.nodecells import FREE, OTHER, cell, holders_by_gpu, sharing_aid
from planner.reporting.nodegrid import node_grid
from planner.reporting.nodenames import range_of_ids

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from planner.planning.plan import Node, NodeUse, Plan

__all__ = ["node_map"]

_READING_AID = (
    f"One cell per GPU, letters are given anew on each line, {FREE} is a free GPU; ×2 after a "
    "job: two units or replicas of it."
)


@dataclass(frozen=True, slots=True)
class _Picture:
    """What a node shows: who holds each GPU, and how many units of each job there are."""

    node_type: str
    site: str
    origin: str
    holders: tuple[tuple[str, ...], ...]
    """Jobs by GPU number; none where the GPU is free, several where they share it."""
    units: tuple[tuple[str, int, bool], ...]
    """Job, units of it on this node, and whether a unit spans nodes."""


def node_map(plan: Plan, most_lines: int, page: int) -> tuple[Block, ...]:
    """A grid where letters suffice for all jobs; else quarter by quarter, alike ones drawn once.

    A line of the grid takes at most `page` cells, if one quarter does.
    """
    letters = _letters(plan)
    if letters:
        return node_grid(plan, letters, most_lines, page)
    nodes = {node.id: node for node in plan.nodes}
    quarters = [
        (label, (_summary(plan, place), _pictures(plan.placements[place], nodes)))
        for place, label in enumerate(plan.quarters)
    ]
    blocks: list[Block] = [Paragraph(_READING_AID + sharing_aid(plan), tone="faint")]
    for (summary, pictures), group in groupby(quarters, key=lambda entry: entry[1]):
        labels = [label for label, _ in group]
        blocks.append(Heading(f"{quarter_span(labels[0], labels[-1])}: {summary}", 3))
        blocks.append(Verbatim(_lines(pictures, most_lines)))
    return tuple(blocks)


def _letters(plan: Plan) -> dict[str, str] | None:
    """One letter per job of the whole map, or None where there are more jobs than letters."""
    first_seen: dict[str, None] = {}
    for uses in plan.placements:
        for use in uses:
            for occupant in sorted(use.occupants, key=lambda held: held.gpus):
                first_seen.setdefault(occupant.job)
                if len(first_seen) > len(ascii_letters):
                    return None
    upper_first = ascii_letters[26:] + ascii_letters[:26]
    return dict(zip(first_seen, upper_first, strict=False))


def _pictures(
    uses: Sequence[NodeUse], nodes: Mapping[str, Node]
) -> tuple[tuple[_Picture, tuple[str, ...]], ...]:
    """Each distinct picture with the ids of the nodes that show it, in the order of the fleet."""
    where = Counter(held.piece for use in uses for held in use.occupants)
    alike: dict[_Picture, list[str]] = {}
    for use in uses:
        alike.setdefault(_picture(use, nodes[use.node], where), []).append(use.node)
    return tuple((picture, tuple(ids)) for picture, ids in alike.items())


def _picture(use: NodeUse, node: Node, where: Mapping[tuple[str, int, int], int]) -> _Picture:
    in_order = sorted(use.occupants, key=lambda held: held.gpus)
    units = Counter(held.job for held in in_order)
    spanning = {held.job for held in in_order if where[held.piece] > 1}
    return _Picture(
        node.node_type,
        node.site,
        node.origin,
        holders_by_gpu(use, node),
        tuple((job, number, job in spanning) for job, number in units.items()),
    )


def _lines(
    pictures: Sequence[tuple[_Picture, tuple[str, ...]]],
    most_lines: int,
) -> tuple[str, ...]:
    if not pictures:
        return ("no node runs a job",)
    shown = pictures[:most_lines]
    names = [range_of_ids(ids) for _, ids in shown]
    name_width = max(map(cells_of, names))
    cells_width = max(len(picture.holders) for picture, _ in shown) + 2
    lines = [
        f"{filled(name, name_width)}  {_cells(picture, marks):<{cells_width}}  "
        f"{_held(picture, marks)}"
        for name, (picture, _) in zip(names, shown, strict=True)
        for marks in [_own_letters(picture)]
    ]
    hidden = sum(len(ids) for _, ids in pictures[most_lines:])
    if hidden:
        more = count_of(hidden, "more node")
        lines.append(f"… {more}, all of them in {code('placements')} of plan.json")
    return tuple(line.rstrip() for line in lines)


def _own_letters(picture: _Picture) -> dict[str, str]:
    jobs = [job for job, _, _ in picture.units]
    return dict(zip(jobs, ascii_letters[26:] + ascii_letters[:26], strict=False))


def _cells(picture: _Picture, marks: Mapping[str, str]) -> str:
    return f"[{''.join(cell(jobs, marks) for jobs in picture.holders)}]"


def _held(picture: _Picture, marks: Mapping[str, str]) -> str:
    parts = []
    for job, units, spans in picture.units:
        times = f" ×{units}" if units > 1 else ""
        whole = " (spans nodes)" if spans else ""
        parts.append(f"{marks.get(job, OTHER)} {job}{times}{whole}")
    return ", ".join(parts)


def _summary(plan: Plan, place: int) -> str:
    in_service = sum(pool.nodes[place] for pool in plan.pools)
    if not in_service:
        return "no node in service all quarter"
    used = sum(pool.nodes_used[place] for pool in plan.pools)
    spare = sum(pool.nodes_spare[place] for pool in plan.pools)
    kept = f", {spare:,} kept as spare" if spare else ""
    return f"{used:,} of {count_of(in_service, 'node')} in use{kept}"
