"""The map of the fleet: every node in use, its GPUs as cells, and who holds them."""

from __future__ import annotations

from collections import Counter
from itertools import groupby
from string import ascii_letters
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeVar

from planner.reporting.document import (
    SPARE,
    Block,
    Heading,
    Link,
    NodeMap,
    Paragraph,
    Verbatim,
    rest,
    table,
)
from planner.reporting.format import cells_of, code, count_of, filled, quarter_span

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence

    from planner.planning.plan import Node, NodeUse, Plan
    from planner.reporting.traced import TracedPlan

    Shown = TypeVar("Shown", bound=Hashable)

_FREE, _SEVERAL, _KEPT = "·", "+", "-"
_OTHER = "#"
"""A job for which no letter is left on one line."""
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


def _cells(held: _Held, marks: Mapping[str, str]) -> str:
    """`[AAB·]`: free, the mark of its job, or that several share it."""
    return "[" + "".join(
        _SEVERAL if len(jobs) > 1 else marks.get(jobs[0], _OTHER) if jobs else _FREE
        for jobs in held
    ) + "]"  # fmt: skip


def node_map_picture(
    traced: TracedPlan, why: Mapping[str, str] = MappingProxyType({})
) -> Iterator[Block]:
    """Nodes that look alike in one row; then which number is which job.

    `why` is what is said of each job where its GPUs are pointed at.
    """
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
        "is free, a frame marked spare a node that is kept empty. Numbers are those of the jobs "
        f"below; which unit sits where is in {code('placements')} of plan.json.",
        columns=tuple(plan.quarters[place] for place in traced.columns),
        rows=tuple((range_of_ids(ids), row) for row, ids in shown),
        numbers=numbers,
        why=why,
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
    """A grid where letters suffice for all jobs; else quarter by quarter, alike ones drawn once.

    As many quarters stand side by side as a page of so many cells holds.
    """
    first_seen = list(
        dict.fromkeys(
            held.job
            for uses in plan.placements
            for use in uses
            for held in sorted(use.occupants, key=lambda held: held.gpus)
        )
    )
    gpus = {node.id: node.gpus for node in plan.nodes}
    shared = any(
        len(jobs) > 1
        for uses in plan.placements
        for use in uses
        for jobs in _holders(use, gpus[use.node])
    )
    if len(first_seen) <= len(_LETTERS):
        letters = dict(zip(first_seen, _LETTERS, strict=False)) | {SPARE: _KEPT}
        return _grid(plan, letters, most_lines, page, shared=shared)
    aid = f" {_SEVERAL} is one that several jobs share, in time or in parts." if shared else ""
    return _by_quarter(plan, most_lines, aid)


def _grid(
    plan: Plan, letters: Mapping[str, str], most_lines: int, page: int, *, shared: bool
) -> tuple[Block, ...]:
    """Lines of nodes under their quarters, then what each sign and letter stands for."""
    signs = [f"{_FREE}=free"]
    if shared:
        signs.append(f"{_SEVERAL}=shared by jobs, in time or in parts")
    if any(any(pool.nodes_spare) for pool in plan.pools):
        signs.append(f"{_KEPT}=spare, kept empty")
    places = range(len(plan.quarters))
    rows = _alike(
        plan, places, lambda held: held if isinstance(held, str) else _cells(held, letters)
    )
    lines = _chunks(plan, [(range_of_ids(ids), row) for row, ids in rows], most_lines, page)
    lines += _hidden(rows[most_lines:])
    spanning = {job for job, _, _ in _spanning(plan, places)}
    named = (
        f"{letter}={job}{' (spans nodes)' if job in spanning else ''}"
        for job, letter in letters.items()
        if job != SPARE
    )
    return (
        Paragraph(
            "One cell per GPU, a letter for each job; blank: the node is not in service. "
            f"{code('planner explain')} tells which unit sits where.{_told_of_let_go(plan)}",
            tone="faint",
        ),
        Verbatim(tuple(lines)),
        Paragraph(f"{', '.join((*signs, *named))}."),
    )


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


def _spanning(plan: Plan, quarters: Sequence[int]) -> set[tuple[str, int, int]]:
    """Units, or replicas of them, that sit on several nodes at once."""
    seats = Counter(
        (place, held.piece)
        for place in quarters
        for use in plan.placements[place]
        for held in use.occupants
    )
    return {piece for (_, piece), nodes in seats.items() if nodes > 1}


def _by_quarter(plan: Plan, most_lines: int, aid: str) -> tuple[Block, ...]:
    nodes = {node.id: node for node in plan.nodes}
    blocks: list[Block] = [
        Paragraph(
            f"One cell per GPU, letters are given anew on each line, {_FREE} is a free GPU; ×2 "
            f"after a job: two units or replicas of it.{aid}",
            tone="faint",
        )
    ]
    drawn = [(_summary(plan, place), _contents(plan, place, nodes)) for place in
             range(len(plan.quarters))]  # fmt: skip
    for _, group in groupby(range(len(drawn)), key=lambda place: drawn[place]):
        places = list(group)
        summary, contents = drawn[places[0]]
        span = quarter_span(plan.quarters[places[0]], plan.quarters[places[-1]])
        blocks.append(Heading(f"{span}: {summary}", 3))
        blocks.append(Verbatim(_lines(contents, most_lines)))
    return tuple(blocks)


_Contents = list[tuple[tuple[str, ...], list[str]]]
"""What nodes show, cells and the jobs in them last, each with the nodes that show it."""


def _contents(plan: Plan, place: int, nodes: Mapping[str, Node]) -> _Contents:
    """Each distinct content with the ids of the nodes that show it, in the order of the fleet."""
    spanning = _spanning(plan, (place,))
    alike: dict[tuple[str, ...], list[str]] = {}
    for use in plan.placements[place]:
        node = nodes[use.node]
        units = Counter(held.job for held in sorted(use.occupants, key=lambda held: held.gpus))
        spans = {held.job for held in use.occupants if held.piece in spanning}
        marks = dict(zip(units, _LETTERS, strict=False))
        told = ", ".join(
            f"{marks.get(job, _OTHER)} {job}{f' ×{number}' if number > 1 else ''}"
            f"{' (spans nodes)' if job in spans else ''}"
            for job, number in units.items()
        )
        cells = _cells(_holders(use, node.gpus), marks)
        alike.setdefault((node.node_type, node.site, node.origin, cells, told), []).append(node.id)
    return list(alike.items())


def _lines(contents: _Contents, most: int) -> tuple[str, ...]:
    if not contents:
        return ("no node runs a job",)
    shown = [(range_of_ids(ids), *content[-2:]) for content, ids in contents[:most]]
    names, width = (max(cells_of(line[column]) for line in shown) for column in (0, 1))
    lines = [
        f"{filled(name, names)}{_GAP}{cells:<{width}}{_GAP}{told}".rstrip()
        for name, cells, told in shown
    ]
    return (*lines, *_hidden(contents[most:]))


def _hidden(rows: Sequence[tuple[object, list[str]]]) -> Iterator[str]:
    if hidden := sum(len(ids) for _, ids in rows):
        more = count_of(hidden, "more node")
        yield f"… {more}, all of them in {code('placements')} of plan.json"


def _summary(plan: Plan, place: int) -> str:
    in_service = sum(pool.nodes[place] for pool in plan.pools)
    if not in_service:
        return "no node in service all quarter"
    used = sum(pool.nodes_used[place] for pool in plan.pools)
    spare = sum(pool.nodes_spare[place] for pool in plan.pools)
    kept = f", {spare:,} kept as spare" if spare else ""
    off = sum(plan.quarters[place] in node.off for node in plan.nodes)
    switched = f", {off:,} switched off" if off else ""
    return f"{used:,} of {count_of(in_service, 'node')} in use{kept}{switched}"
