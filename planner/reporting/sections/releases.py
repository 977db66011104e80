"""Owned nodes that the plan lets go: what leaves or goes off when, and what that brings."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from planner.reporting.document import Block, Bullets, Cell, table
from planner.reporting.format import money_short, quarter_runs, usd

if TYPE_CHECKING:
    from collections.abc import Iterator

    from planner.planning.plan import NodeRelease, Plan
    from planner.reporting.traced import TracedPlan


def releases_section(traced: TracedPlan) -> Iterator[Block]:
    """Owned nodes that are sold or switched off, with what each line brings and saves."""
    lines = traced.plan.releases
    if not lines:
        return

    def at(place: int, name: str, style: str = "usd") -> Cell:
        return traced.at(f"releases[{place}].{name}", style, "how-let-go")  # type: ignore[arg-type]

    def proceeds(place: int, name: str) -> Cell:
        return at(place, name) if lines[place].action == "sell" else "–"

    yield table(
        range(len(lines)),
        ("Quarter", "name", lambda place: lines[place].quarter),
        ("Action", "name", lambda place: lines[place].action),
        ("Node type", "name", lambda place: f"{lines[place].node_type} @ {lines[place].site}"),
        ("Nodes", "number", lambda place: at(place, "count", "count")),
        ("Each, USD", "number", lambda place: proceeds(place, "unit_price_cents")),
        ("Brings, USD", "number", lambda place: proceeds(place, "total_cents")),
        ("Saves, USD", "number", lambda place: at(place, "saved_cents")),
        ("Lowers NPC by, USD", "number", lambda place: at(place, "present_cents")),
        sums={
            "Quarter": "Sum",
            **{
                title: traced.figure(traced.read.sum(f"releases[*].{name}"), "usd", "how-let-go")
                for title, name in (
                    ("Brings, USD", "total_cents"),
                    ("Saves, USD", "saved_cents"),
                    ("Lowers NPC by, USD", "present_cents"),
                )
            },
        },
        caption="Owned nodes let go; saved is what is not paid for them within the horizon, and "
        "NPC the net present cost, against keeping these nodes",
    )
    yield Bullets(tuple(dict.fromkeys(_told(traced.plan, line) for line in lines)))


def _told(plan: Plan, line: NodeRelease) -> str:
    """Which servers, and where what they bring is from."""
    if line.action == "switch off":
        ids = [
            node.id
            for node in plan.nodes
            if node.entry == line.entry and node.origin == "owned" and line.quarter in node.off
        ]
        return f"off in {line.quarter}: {', '.join(ids)} ({line.entry})"
    ids = [
        node.id
        for node in plan.nodes
        if node.entry == line.entry and node.origin == "owned" and node.sold == line.quarter
    ]
    source = line.quote or "illustrative, no quote of a buyer"
    up = f"; each would be worth {usd(line.given_up_cents // line.count)} at the end of the horizon"
    return (
        f"sold in {line.quarter}: {', '.join(ids)} ({line.entry}), {line.price_text} ({source})"
        f"{up if line.given_up_cents else ''}"
    )


def unquoted_sales(plan: Plan) -> list[str]:
    """Fleet entries that are sold from at prices that no quote stands behind."""
    lines = (line for line in plan.releases if line.action == "sell" and line.quote is None)
    return list(dict.fromkeys(line.entry for line in lines))


def let_go_parts(plan: Plan) -> list[str]:
    """`sell 2 × PowerEdge XE8545 (4× a100-80gb-sxm) in 2027Q2`, `switch off 1 × … in 2027Q1`."""
    parts = []
    for action in ("sell", "switch off"):
        lines = sorted(
            (line for line in plan.releases if line.action == action),
            key=lambda line: (line.product, line.gpu_type, line.gpus_per_node, line.quarter),
        )
        told = [
            _machines(plan, list(group))
            for _, group in groupby(
                lines, key=lambda line: (line.product, line.gpu_type, line.gpus_per_node)
            )
        ]
        if told:
            brings = sum(line.total_cents for line in lines)
            parts.append(
                f"{action} {' and '.join(told)}{f' for {money_short(brings)}' if brings else ''}"
            )
    return parts


def _machines(plan: Plan, lines: list[NodeRelease]) -> str:
    by_quarter = {
        label: sum(line.count for line in lines if line.quarter == label)
        for label in plan.quarters
        if any(line.quarter == label for line in lines)
    }
    counts = set(by_quarter.values())
    if lines[0].action == "sell":
        number = f"{sum(by_quarter.values()):,}"
    else:
        number = f"{'up to ' if len(counts) > 1 else ''}{max(counts):,}"
    machine = f"{number} × {lines[0].product} ({lines[0].gpus_per_node}× {lines[0].gpu_type})"
    return f"{machine} in {quarter_runs(plan.quarters, by_quarter)}"
