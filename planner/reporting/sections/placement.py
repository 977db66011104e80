"""Who holds which GPUs: the node map, the schedule of runs, parts of GPUs, and moves."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from planner.inputs.scenario.quarter import RUN_HOURS, WEEK_HOURS
from planner.planning.plan import CurrentPlacement, GpuPart, Node, NodeUse, Plan
from planner.reporting.document import (
    SPARE,
    Bar,
    Block,
    Gantt,
    Heading,
    HeldGpus,
    Link,
    NodeMap,
    Paragraph,
    columns_for,
    rest,
    table,
)
from planner.reporting.format import (
    code,
    count_of,
    dollars,
    duration,
    memory,
    moments,
    numbers,
    percent,
    quarter_span,
    usd,
)
from planner.reporting.sections.sizing import part_text
from planner.reporting.traced import TracedPlan

_OF_POOLS = ("nodes_used", "nodes")
_DAY_HOURS, _MOST_DAYS = 24, 28
"""Days are drawn if all runs of a quarter end within so many hours."""


@dataclass(frozen=True, slots=True)
class _Turn:
    """Runs of a job on the same GPUs, one right after another, all of the same length."""

    node: str
    gpus: tuple[int, ...]
    job: str
    name: str
    start: int
    """The hour of the quarter in which the first begins; `end` likewise."""
    end: int
    runs: int

    def bar(self, number: int, label: str, hours: int) -> Bar:
        """Return a bar over cells of so many hours from 1, with its times and each run's length."""
        each = f", {duration((self.end - self.start) // self.runs)} each" if self.runs > 1 else ""
        return Bar(
            numbers(self.gpus),
            self.start // hours + 1,
            -(-self.end // hours),
            self.name if self.runs == 1 else f"{self.job}, {self.runs} runs",
            number,
            f"{moments(label, (self.start, self.end))}{each}",
        )


def schedule_section(traced: TracedPlan) -> Iterator[Block]:
    """Show which run holds which GPUs when, by week or day, alike quarters once."""
    plan, most_lines = traced.plan, traced.detail.lines
    numbers_of = {job.name: place for place, job in enumerate(plan.jobs, 1)}
    drawn = False
    for turns, alike in groupby(plan.quarters, key=lambda label: _turns(plan, label)):
        quarters = list(alike)
        if not turns:
            continue
        if not drawn:
            yield Paragraph(
                "No run moves before it ends. Jobs that hold their GPUs all quarter are left out. "
                "Dates are those of the first quarter.",
                tone="faint",
            )
        drawn = True
        label, ends = quarters[0], max(one.end for one in turns)
        by_day = ends <= _DAY_HOURS * _MOST_DAYS
        cell = _DAY_HOURS if by_day else WEEK_HOURS
        yield Gantt(
            title=f"Runs of {quarter_span(label, quarters[-1])}",
            says=f"A cell is a {'day' if by_day else 'week'}; at the left the numbers of the GPUs, "
            "as in 0–3, under their node.",
            cells=-(-(ends if by_day else RUN_HOURS) // cell),
            groups=tuple(
                (node, tuple(one.bar(numbers_of[one.job], label, cell) for one in group))
                for node, group in groupby(turns[:most_lines], key=lambda one: one.node)
            ),
        )
        left = sum(one.runs for one in turns[most_lines:])
        yield from rest(left, "run", f", all of them in {code('placements')} of plan.json")
    share = next((one.value for one in plan.settings if one.name == "run_utilization"), 1.0)
    if drawn and plan.utilization_cents is not None:
        yield Paragraph(
            f"Runs make progress in {percent(share)} of the hours in which they hold their GPUs "
            "(policies.run_utilization). If they did in all of them, the plan would cost "
            f"{f'{usd(plan.utilization_cents)} less' if plan.utilization_cents else 'as much'}, as "
            "proved."
        )


def _turns(plan: Plan, label: str) -> list[_Turn]:
    """Return who takes turns on which GPUs of a node, by node, GPUs and time."""
    several = {job.name for job in plan.jobs if max(job.units, default=0) > 1}
    found: list[_Turn] = []
    for use in plan.placements[plan.quarters.index(label)]:
        runs = [one for one in use.occupants if one.hours]
        for run in sorted(runs, key=lambda one: (one.gpus[0], one.held_hours, one.job)):
            start, end = run.held_hours
            name = f"{run.job} {run.unit}" if run.job in several else run.job
            name = f"{name}/{run.replica}" if run.replica > 1 else name
            turn = _Turn(use.node, run.gpus, run.job, name, start, end, 1)
            before = found[-1] if found else turn
            alike = (before.node, before.gpus, before.job) == (turn.node, turn.gpus, turn.job)
            as_long = before.end - before.start == before.runs * (end - start)
            if found and alike and as_long and before.end == start:
                found[-1] = replace(before, end=end, runs=before.runs + 1)
            else:
                found.append(turn)
    return found


def shared_section(traced: TracedPlan) -> Iterator[Block]:
    """Show GPUs that are shared in parts, by node, alike nodes and quarters once."""
    plan, most_lines = traced.plan, traced.detail.lines
    nodes = {node.id: node for node in plan.nodes}

    def rows_of(uses: Sequence[NodeUse]) -> list[tuple[str, str, str, str]]:
        """Yield nodes, GPU numbers, who holds what, and what is free."""
        alike: dict[tuple[str, str, tuple[tuple[str, str, str], ...]], list[str]] = {}
        for use in uses:
            if shown := tuple(_parts_of(use)):
                node = nodes[use.node]
                alike.setdefault((node.node_type, node.site, shown), []).append(use.node)
        return [
            ("" if place else range_of_ids(ids), *row)
            for (_, _, shown), ids in alike.items()
            for place, row in enumerate(shown)
        ]

    drawn = list(zip(plan.quarters, map(rows_of, plan.placements), strict=True))
    if not any(rows for _, rows in drawn):
        return
    yield Paragraph(
        "Partitions (MIG) with their first memory slices, or memory of GPUs that are shared "
        "without partitions; ×2 after a job: two units or replicas of it.",
        tone="faint",
    )
    titles = ("Node", "GPUs", "Who holds what of each", "Free")
    for rows, group in groupby(drawn, key=lambda entry: entry[1]):
        labels = [label for label, _ in group]
        if rows:
            yield Heading(quarter_span(labels[0], labels[-1]), 3)
            yield table(
                rows[:most_lines],
                *columns_for(
                    ((title, place) for place, title in enumerate(titles)),
                    lambda row, place: row[place],
                    "text",
                ),
            )
        there = f", all in {code('placements')} of plan.json"
        yield from rest(len(rows) - most_lines, "row", there)


def _parts_of(use: NodeUse) -> Iterator[tuple[str, str, str]]:
    """Return GPU numbers, who holds what of each, as `small: 1g.10gb at 0, 1`, and what is free."""
    held: dict[int, list[tuple[str, GpuPart]]] = defaultdict(list)
    for one in use.occupants:
        if one.part:
            held[one.gpus[0]].append((one.job, one.part))
    alike: dict[tuple[str, str], list[int]] = defaultdict(list)
    for gpu, parts in sorted(held.items()):
        by_kind: dict[tuple[str, str | None], list[GpuPart]] = defaultdict(list)
        for job, part in sorted(parts, key=lambda held: (held[1].first or 0, held[0])):
            by_kind[job, part.profile].append(part)
        who = "; ".join(
            f"{job}{f' ×{len(of)}' * (len(of) > 1 and not profile)}: {part_text(profile, of)}"
            for (job, profile), of in by_kind.items()
        )
        of = min(part.of for _, part in parts)
        free = of - sum(part.taken for _, part in parts)
        told = f"{free} of {count_of(of, 'slice')}"
        if parts[0][1].profile is None:
            told = f"{memory(free)} of {memory(of)}"
        alike[who, told].append(gpu)
    for (who, free_of), gpus in alike.items():
        yield numbers(gpus), who, free_of


def moves_section(traced: TracedPlan) -> Iterator[Block]:
    """Say what becomes of what runs today, with one row for units that move alike."""
    current, most = traced.plan.current, traced.detail.lines
    if current is None:
        return
    pinned = f"{count_of(current.pinned, 'unit')} may not move." if current.pinned else ""
    yield Paragraph(f"{_sentence(current)} {pinned}".strip())
    alike = groupby(
        current.moves, key=lambda move: (move.job, move.origin, move.nodes, move.reason)
    )
    rows = [list(group) for _, group in alike]
    if not rows:
        return
    yield table(
        rows[:most],
        ("Job", "text", lambda moves: moves[0].job),
        ("Units", "number", lambda moves: numbers(move.unit for move in moves)),
        ("From", "text", lambda moves: range_of_ids(moves[0].origin)),
        ("To", "text", lambda moves: range_of_ids(moves[0].nodes)),
        ("Cost, USD", "number", lambda moves: dollars(sum(move.cost_cents for move in moves))),
        ("Why", "text", lambda moves: moves[0].reason),
        sums={
            "Job": "Sum",
            "Units": f"{len(current.moves):,}",
            "Cost, USD": dollars(current.cost_cents),
        },
    )
    yield from rest(len(rows) - most, "move", f", each in {code('current')} of plan.json")


def _sentence(current: CurrentPlacement) -> str:
    leaving = sum(move.leaves_pool for move in current.moves)
    within = len(current.moves) - leaving
    stay = current.units - len(current.moves) - current.stopped
    running = count_of(current.units, "unit")
    if not current.moves and not current.stopped:
        return f"{running} of this plan run today, and all stay where they are."
    cost, unfit = usd(current.cost_cents), ", as not everything fits"
    no_price = "within the pool, which has no price"
    parts = (
        (stay, "stays", "stay"),
        (current.stopped, f"stops{unfit}", f"stop{unfit}"),
        (leaving, f"leaves its pool for {cost}", f"leave their pools for {cost}"),
        (within, f"changes its node {no_price}", f"change their nodes {no_price}"),
    )
    told = [
        f"{number:,} {one if number == 1 else several}"
        for number, one, several in parts
        if number or several == "stay"
    ]
    return f"{running} of this plan run today: {', '.join(told)}."


def range_of_ids(ids: Sequence[str]) -> str:
    """Format ids: `type/site/01–38 (×38)` for successive nodes, `01… (×5)` for others."""
    if len(ids) == 1:
        return ids[0]
    stem, _, first = ids[0].rpartition("/")
    last = ids[-1].rpartition("/")[2]
    low, high = (
        int("".join(char for char in name if char.isdigit()) or 0) for name in (first, last)
    )
    return f"{stem}/{first}{'–' + last if high - low == len(ids) - 1 else '…'} (×{len(ids):,})"


def _alike(plan: Plan) -> list[tuple[tuple[HeldGpus | str, ...], list[str]]]:
    """Group nodes by who holds each of their GPUs in each quarter, in fleet order."""
    gpus = {node.id: node.gpus for node in plan.nodes}
    held: list[dict[str, HeldGpus]] = []
    for place, uses in enumerate(plan.placements):
        cells: dict[str, HeldGpus] = {}
        for use in uses:
            on: list[dict[str, None]] = [{} for _ in range(gpus[use.node])]
            for occupant in use.occupants:
                for gpu in occupant.gpus:
                    on[gpu].setdefault(occupant.job)
            cells[use.node] = tuple(map(tuple, on))
        held.append(cells | {name: ((SPARE,),) * gpus[name] for name in _spares(plan, place)})

    def cell(node: Node, quarter: int) -> HeldGpus | str:
        """A node that is switched off, or that leaves, shows one of `NODE_WORDS`."""
        label = plan.quarters[quarter]
        if label in node.in_service:
            return held[quarter].get(node.id, ((),) * node.gpus)
        return "off" if label in node.off else "sold" if label == node.sold else ""

    alike: dict[tuple[str, str, tuple[HeldGpus | str, ...]], list[str]] = defaultdict(list)
    for node in plan.nodes:
        row = tuple(cell(node, quarter) for quarter in range(len(plan.quarters)))
        alike[node.node_type, node.site, row].append(node.id)
    return [(row, ids) for (_, _, row), ids in alike.items() if any(row)]


def _spares(plan: Plan, quarter: int) -> Iterator[str]:
    """Return the nodes that are kept empty; if a pool has more empty ones, the last by name."""
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


def node_map(traced: TracedPlan) -> Iterator[Block]:
    """Return the node map, with nodes and quarters that look alike once; None without nodes."""
    plan, alike, most = traced.plan, _alike(traced.plan), traced.detail.lines
    if not alike:
        return
    in_use = []
    for at in traced.quarters:
        used, nodes = (sum(getattr(pool, of)[at] for pool in plan.pools) for of in _OF_POOLS)
        none = "for hours alone" if any(node.hours for node in plan.nodes) else "none"
        in_use.append(f"{used:,} of {nodes:,}" if nodes else none)
    quarters = groupby(traced.quarters, key=lambda at: (in_use[at], [row[at] for row, _ in alike]))
    runs = [list(group) for _, group in quarters]
    # Units, or replicas of them, that sit on several nodes at once.
    seats = Counter(
        (place, held.piece)
        for place, uses in enumerate(plan.placements)
        for use in uses
        for held in use.occupants
    )
    spanning = frozenset(piece[0] for (_, piece), nodes in seats.items() if nodes > 1)
    numbers_of = {job.name: place for place, job in enumerate(plan.jobs, 1)}
    shown = alike[:most]
    held = {job for row, _ in shown for cells in row for jobs in cells for job in jobs}
    yield NodeMap(
        title="Who holds which GPU",
        says="A row is a node, or several that look alike; a square is a GPU, a band the GPUs of "
        "one job side by side, + a GPU that several share in time or in parts, an empty square "
        "is free, spare a node that is kept empty. Numbers are those of the jobs below; which unit "
        f"sits where is in {code('placements')} of plan.json.",
        columns=tuple(quarter_span(plan.quarters[run[0]], plan.quarters[run[-1]]) for run in runs),
        in_use=tuple(in_use[run[0]] for run in runs),
        rows=tuple((range_of_ids(ids), tuple(row[run[0]] for run in runs)) for row, ids in shown),
        numbers=numbers_of,
        told={job.name: plan.sizings[job.sizing].summary for job in plan.jobs},
        spanning=spanning,
        key=table(
            [(number, job) for job, number in numbers_of.items() if job in held],
            ("Number", "number", lambda row: str(row[0])),
            ("Job", "text", lambda row: Link(row[1], traced.job_anchor[row[1]])),
            caption="Numbers of the node map",
        ),
    )
    hidden = sum(len(ids) for _, ids in alike[most:])
    yield from rest(hidden, "node", f", all of them in {code('placements')} of plan.json")
