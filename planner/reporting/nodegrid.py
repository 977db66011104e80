"""The map of a fleet with few jobs: one line per node, its GPUs quarter by quarter."""

from __future__ import annotations

from collections import Counter
from itertools import groupby
from typing import TYPE_CHECKING

from planner.reporting.document import Block, Paragraph, Verbatim
from planner.reporting.format import cells_of, code, count_of, filled, quarter_span
from planner.reporting.nodecells import FREE, cell, holders_by_gpu, sharing_aid
from planner.reporting.nodenames import range_of_ids

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from planner.planning.plan import Node, Plan

__all__ = ["node_grid"]

_GAP = "  "
_IN_USE = "nodes in use"

_Row = tuple[str, ...]
"""What a node shows, by quarter; empty where it is not in service."""


def node_grid(
    plan: Plan, letters: Mapping[str, str], most_lines: int, page: int
) -> tuple[Block, ...]:
    """Lines of nodes under their quarters, then what each letter stands for.

    As many quarters stand side by side as a page of so many cells holds.
    """
    rows = _rows(plan, letters)
    shown = [(range_of_ids(ids), row) for row, ids in rows[:most_lines]]
    lines = _chunks(plan, shown, _columns(plan, [row for row, _ in rows]), page)
    hidden = sum(len(ids) for _, ids in rows[most_lines:])
    if hidden:
        more = count_of(hidden, "more node")
        lines.append(f"… {more}, all of them in {code('placements')} of plan.json")
    return (
        Paragraph(
            f"One cell per GPU, a letter for each job, {FREE} is a free GPU; blank: the node is "
            f"not in service. {code('planner explain')} tells which unit sits where."
            + sharing_aid(plan),
            tone="faint",
        ),
        Verbatim(tuple(lines)),
        Paragraph(_legend(plan, letters)),
    )


def _rows(plan: Plan, letters: Mapping[str, str]) -> list[tuple[_Row, list[str]]]:
    """Each distinct line with the nodes that show it, in the order of the fleet."""
    held: list[dict[str, str]] = []
    nodes = {node.id: node for node in plan.nodes}
    for uses in plan.placements:
        cells = {}
        for use in uses:
            holders = holders_by_gpu(use, nodes[use.node])
            cells[use.node] = f"[{''.join(cell(jobs, letters) for jobs in holders)}]"
        held.append(cells)
    alike: dict[tuple[tuple[str, str], _Row], list[str]] = {}
    for node in plan.nodes:
        row = tuple(
            _cell(node, label, cells) for label, cells in zip(plan.quarters, held, strict=True)
        )
        alike.setdefault(((node.node_type, node.site), row), []).append(node.id)
    return [(row, ids) for (_, row), ids in alike.items()]


def _cell(node: Node, quarter: str, held: Mapping[str, str]) -> str:
    if quarter not in node.in_service:
        return ""
    return held.get(node.id, f"[{FREE * node.gpus}]")


def _columns(plan: Plan, rows: Sequence[_Row]) -> list[tuple[str, int]]:
    """Runs of quarters that look alike: what to call a run, and its first quarter."""
    runs: list[tuple[str, int]] = []
    places = range(len(plan.quarters))
    for _, group in groupby(
        places, key=lambda place: (_in_use(plan, place), [row[place] for row in rows])
    ):
        run = list(group)
        runs.append((quarter_span(plan.quarters[run[0]], plan.quarters[run[-1]]), run[0]))
    return runs


def _chunks(
    plan: Plan, rows: Sequence[tuple[str, _Row]], columns: list[tuple[str, int]], page: int
) -> list[str]:
    """As many quarters side by side as a page holds, then the next ones below."""
    names = max(len(_IN_USE), *(cells_of(name) for name, _ in rows)) if rows else 0
    width = max((len(cell) for _, row in rows for cell in row), default=0)
    width = max(width, *(max(len(label), len(_in_use(plan, place))) for label, place in columns))
    abreast = max(1, (page - names) // (width + len(_GAP)))
    lines: list[str] = []
    for first in range(0, len(columns), abreast):
        labels, places = zip(*columns[first : first + abreast], strict=True)
        lines += [""] if lines else []
        lines.append(_line("", labels, names, width))
        lines += (
            _line(name, [row[place] for place in places], names, width)
            for name, row in rows
            if any(row[place] for place in places)
        )
        lines.append(_line(_IN_USE, [_in_use(plan, place) for place in places], names, width))
    return lines


def _line(name: str, cells: Sequence[str], name_width: int, width: int) -> str:
    padded = _GAP.join(f"{cell:<{width}}" for cell in cells)
    return f"{filled(name, name_width)}{_GAP}{padded}".rstrip()


def _in_use(plan: Plan, place: int) -> str:
    in_service = sum(pool.nodes[place] for pool in plan.pools)
    if not in_service:
        return "for hours alone"
    return f"{sum(pool.nodes_used[place] for pool in plan.pools):,} of {in_service:,}"


def _legend(plan: Plan, letters: Mapping[str, str]) -> str:
    spanning = _spanning(plan)
    named = (
        f"{letter}={job}{' (spans nodes)' if job in spanning else ''}"
        for job, letter in letters.items()
    )
    return f"{', '.join(named)}."


def _spanning(plan: Plan) -> set[str]:
    """Jobs of which a unit, or one replica of it, sits on several nodes at once."""
    seats = Counter(
        (place, held.piece)
        for place, uses in enumerate(plan.placements)
        for use in uses
        for held in use.occupants
    )
    return {piece[0] for (_, piece), nodes in seats.items() if nodes > 1}
