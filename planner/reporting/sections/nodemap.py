"""The map of the fleet: every node in use, its GPUs as cells, and who holds them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from itertools import groupby, islice, product
from string import ascii_letters, ascii_lowercase
from typing import TypeVar

from planner.planning.plan import Node, NodeUse, Plan
from planner.reporting.document import (
    SPARE,
    Block,
    Link,
    NodeMap,
    Paragraph,
    Verbatim,
    rest,
    table,
)
from planner.reporting.format import cells_of, code, count_of, filled, quarter_span
from planner.reporting.traced import TracedPlan

Shown = TypeVar("Shown", bound=Hashable)

_FREE, _SEVERAL, _KEPT = "·", "+", "-"
_LETTERS = ascii_letters[26:] + ascii_letters[:26]
_GAP, _IN_USE = "  ", "nodes in use"
_OFF, _SOLD = "off", "sold"
_ROWS = 120

_Held = tuple[tuple[str, ...], ...]
"""Jobs on each GPU of a node at some hour; several where they share it in time or in parts, and
`SPARE` on those of a node that is kept empty."""


def range_of_ids(ids: Sequence[str]) -> str:
    """`type/site/01`, `type/site/01–38 (×38)` for nodes in a row, `01… (×5)` for others."""
    if len(ids) == 1:
        return ids[0]
    stem, _, first = ids[0].rpartition("/")
    last = ids[-1].rpartition("/")[2]
    low, high = (
        int("".join(char for char in name if char.isdigit()) or 0) for name in (first, last)
    )
    return f"{stem}/{first}{'–' + last if high - low == len(ids) - 1 else '…'} (×{len(ids):,})"


def _holders(use: NodeUse, gpus: int) -> _Held:
    held: list[dict[str, None]] = [{} for _ in range(gpus)]
    for occupant in use.occupants:
        for gpu in occupant.gpus:
            held[gpu].setdefault(occupant.job)
    return tuple(tuple(jobs) for jobs in held)


def _alike(
    plan: Plan, quarters: Sequence[int], show: Callable[[_Held | str], Shown]
) -> list[tuple[tuple[Shown, ...], list[str]]]:
    """Each distinct row with the nodes that show it, in the order of the fleet.

    `show` is given who holds each GPU of a node in a quarter; `off` or `sold` where it is let go,
    empty where it is not in service otherwise.
    """
    gpus = {node.id: node.gpus for node in plan.nodes}
    held = [
        {use.node: show(_holders(use, gpus[use.node])) for use in plan.placements[place]}
        | {name: show(((SPARE,),) * gpus[name]) for name in _spares(plan, place)}
        for place in quarters
    ]
    alike: dict[tuple[str, str, tuple[Shown, ...]], list[str]] = {}
    for node in plan.nodes:
        row = tuple(
            (cells[node.id] if node.id in cells else show(((),) * node.gpus))
            if plan.quarters[place] in node.in_service
            else show(_let_go(node, plan.quarters[place]))
            for place, cells in zip(quarters, held, strict=True)
        )
        alike.setdefault((node.node_type, node.site, row), []).append(node.id)
    return [(row, ids) for (_, _, row), ids in alike.items()]


def _spares(plan: Plan, quarter: int) -> Iterator[str]:
    """Nodes that are kept empty; where a pool has more empty ones, the last of them by name."""
    used = {use.node for use in plan.placements[quarter]}
    for pool in plan.pools:
        if kept := pool.nodes_spare[quarter]:
            empty = [
                node.id
                for node in plan.nodes
                if (node.node_type, node.site) == (pool.node_type, pool.site)
                and plan.quarters[quarter] in node.in_service
                and node.id not in used
                and not node.hours
            ]
            yield from empty[-kept:]


def _let_go(node: Node, quarter: str) -> str:
    """What stands where a node is switched off, and where it leaves."""
    if quarter in node.off:
        return _OFF
    return _SOLD if quarter == node.sold else ""


def _cells(held: _Held, marks: Mapping[str, str], width: int) -> str:
    """`[AAB·]`: the mark of its job, free, or that several share it."""

    def cell(jobs: tuple[str, ...]) -> str:
        if len(jobs) == 1 and jobs[0] != SPARE:
            return marks[jobs[0]]
        return (_SEVERAL if len(jobs) > 1 else _KEPT if jobs else _FREE) * width

    return f"[{''.join(map(cell, held))}]"


def node_map_picture(traced: TracedPlan) -> Iterator[Block]:
    """Nodes that look alike in one row; then which number is which job."""
    plan = traced.plan
    alike = _alike(plan, traced.columns, lambda held: None if isinstance(held, str) else held)
    gone = {node.id for node in plan.nodes if not node.in_service}
    alike = [(row, ids) for row, ids in alike if ids[0] not in gone]
    if not alike:
        return
    numbers = {job.name: place for place, job in enumerate(plan.jobs, 1)}
    shown = alike[:_ROWS]
    yield NodeMap(
        title="Who holds which GPU",
        says="A row is a node, or several that look alike; a square is a GPU, a band the GPUs of "
        "one job side by side, + a GPU that several share in time or in parts, an empty square "
        "(or ·) is free, spare a node that is kept empty. Numbers are those of the jobs "
        f"below; which unit sits where is in {code('placements')} of plan.json.",
        columns=tuple(plan.quarters[place] for place in traced.columns),
        rows=tuple((range_of_ids(ids), row) for row, ids in shown),
        numbers=numbers,
        told={job.name: plan.sizings[job.sizing].summary for job in plan.jobs},
    )
    hidden = sum(len(ids) for _, ids in alike[_ROWS:])
    yield from rest(hidden, "node", ", all of them in plan.json")
    held = {job for row, _ in shown for cells in row if cells for jobs in cells for job in jobs}
    yield table(
        [(number, job) for job, number in numbers.items() if job in held],
        ("Number", "number", lambda row: str(row[0])),
        ("Job", "text", lambda row: Link(row[1], traced.job_anchor[row[1]])),
        caption="Numbers of the node map",
    )


def node_map(plan: Plan, most_lines: int, page: int) -> tuple[Block, ...]:
    """Lines of nodes under their quarters, then what each sign and mark stands for.

    As many quarters stand side by side as a page of so many cells holds; nothing without a node.
    """
    if not plan.nodes:
        return ()
    gpus = {node.id: node.gpus for node in plan.nodes}
    first_seen = dict.fromkeys(
        held.job
        for uses in plan.placements
        for use in uses
        for held in sorted(use.occupants, key=lambda held: held.gpus)
    )
    marks = dict(zip(first_seen, _marks(len(first_seen)), strict=True))
    width = max(map(len, marks.values()), default=1)
    places = range(len(plan.quarters))
    rows = _alike(
        plan, places, lambda held: held if isinstance(held, str) else _cells(held, marks, width)
    )
    shown = {name for _, ids in rows[:most_lines] for name in ids}
    drawn = [use for uses in plan.placements for use in uses if use.node in shown]
    signs = [f"{_FREE}=free"]
    if any(len(jobs) > 1 for use in drawn for jobs in _holders(use, gpus[use.node])):
        signs.append(f"{_SEVERAL}=shared by jobs, in time or in parts")
    if any(any(pool.nodes_spare) for pool in plan.pools):
        signs.append(f"{_KEPT}=spare, kept empty")
    spanning = _spanning(plan)
    named = {held.job for use in drawn for held in use.occupants}
    signs += (
        f"{mark}={job}{' (spans nodes)' if job in spanning else ''}"
        for job, mark in marks.items()
        if job in named
    )
    lines = _chunks(plan, [(range_of_ids(ids), row) for row, ids in rows], most_lines, page)
    if hidden := sum(len(ids) for _, ids in rows[most_lines:]):
        more = count_of(hidden, "more node")
        lines.append(f"… {more}, all of them in {code('placements')} of plan.json")
    return (
        Paragraph(
            f"One cell per GPU, {'letters' if width > 1 else 'a letter'} for each job; blank: the "
            f"node is not in service. {code('planner explain')} tells which unit sits where."
            f"{_told_of_let_go(plan)}",
            tone="faint",
        ),
        Verbatim(tuple(lines)),
        Paragraph(f"{', '.join(signs)}."),
    )


def _marks(count: int) -> list[str]:
    """`A` to `Z` and `a` to `z`; of more jobs than that `Aa`, `Ab` to `Zz`, and so on."""
    if count <= len(_LETTERS):
        return list(_LETTERS[:count])
    width = next(width for width in range(2, count) if len(ascii_lowercase) ** width >= count)
    every = product(ascii_lowercase, repeat=width)
    return ["".join(letters).capitalize() for letters in islice(every, count)]


def _told_of_let_go(plan: Plan) -> str:
    """What the words in the map mean, where there are any."""
    off = f" {_OFF}: switched off for the quarter." if any(one.off for one in plan.nodes) else ""
    sold = f" {_SOLD}: gone from then on." if any(one.sold for one in plan.nodes) else ""
    return off + sold


def _chunks(
    plan: Plan, rows: Sequence[tuple[str, tuple[str, ...]]], most: int, page: int
) -> list[str]:
    """As many quarters side by side as a page holds, alike ones once; the next ones below."""
    in_use = []
    for place in range(len(plan.quarters)):
        in_service = sum(pool.nodes[place] for pool in plan.pools)
        used = sum(pool.nodes_used[place] for pool in plan.pools)
        in_use.append(f"{used:,} of {in_service:,}" if in_service else _none_all_quarter(plan))
    columns = []
    for _, group in groupby(
        range(len(in_use)), key=lambda place: (in_use[place], [row[place] for _, row in rows])
    ):
        run = list(group)
        columns.append((quarter_span(plan.quarters[run[0]], plan.quarters[run[-1]]), run[0]))
    shown = rows[:most]
    names = max(len(_IN_USE), *(cells_of(name) for name, _ in shown)) if shown else 0
    width = max((len(cell) for _, row in shown for cell in row), default=0)
    width = max(width, *(max(len(label), len(in_use[place])) for label, place in columns))
    abreast = max(1, (page - names) // (width + len(_GAP)))

    def line(name: str, cells: Sequence[str]) -> str:
        padded = _GAP.join(f"{cell:<{width}}" for cell in cells)
        return f"{filled(name, names)}{_GAP}{padded}".rstrip()

    lines: list[str] = []
    for start in range(0, len(columns), abreast):
        labels, places = zip(*columns[start : start + abreast], strict=True)
        lines += ["", line("", labels)] if lines else [line("", labels)]
        lines += (
            line(name, [row[place] for place in places])
            for name, row in shown
            if any(row[place] for place in places)
        )
        lines.append(line(_IN_USE, [in_use[place] for place in places]))
    return lines


def _none_all_quarter(plan: Plan) -> str:
    return "for hours alone" if any(node.hours for node in plan.nodes) else "none"


def _spanning(plan: Plan) -> set[str]:
    """Jobs with units, or replicas of them, that sit on several nodes at once."""
    seats = Counter(
        (place, held.piece)
        for place, uses in enumerate(plan.placements)
        for use in uses
        for held in use.occupants
    )
    return {piece[0] for (_, piece), nodes in seats.items() if nodes > 1}
