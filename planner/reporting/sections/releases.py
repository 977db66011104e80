"""Owned nodes that the plan lets go: what leaves or goes off when, and what that brings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from planner.planning.plan import NodeRelease, Plan
from planner.reporting.document import Block, Bullets, Cell, columns_for, table
from planner.reporting.format import money_short, quarter_runs, usd
from planner.reporting.traced import TracedPlan


def releases_section(traced: TracedPlan) -> Iterator[Block]:
    """Owned nodes that are sold or switched off, with what each line brings and saves."""
    lines = traced.plan.releases
    if not lines:
        return

    def proceeds(place: int, name: str) -> Cell:
        sold = lines[place].action == "sell"
        return traced.at(f"releases[{place}].{name}", "usd", "how-let-go") if sold else "–"

    yield table(
        range(len(lines)),
        ("Quarter", "name", lambda place: lines[place].quarter),
        ("Action", "text", lambda place: lines[place].action),
        ("Node type", "text", lambda place: f"{lines[place].node_type} @ {lines[place].site}"),
        ("Nodes", "number", traced.each("releases[{}].count", "count", "how-let-go")),
        *columns_for((("Each, USD", "unit_price_cents"), ("Brings, USD", "total_cents")), proceeds),
        ("Saves, USD", "number", traced.each("releases[{}].saved_cents", "usd", "how-let-go")),
        (
            "Lowers NPC by, USD",
            "number",
            traced.each("releases[{}].present_cents", "usd", "how-let-go"),
        ),
        sums={
            "Quarter": "Sum",
            "Brings, USD": traced.at("releases[*].total_cents", "usd", "how-let-go"),
            "Saves, USD": traced.at("releases[*].saved_cents", "usd", "how-let-go"),
            "Lowers NPC by, USD": traced.at("releases[*].present_cents", "usd", "how-let-go"),
        },
        caption="Owned nodes let go; saved is what is not paid for them within the horizon, and "
        "NPC the net present cost, against keeping these nodes",
    )
    yield Bullets(tuple(dict.fromkeys(_told(traced.plan, line) for line in lines)))


def _told(plan: Plan, line: NodeRelease) -> str:
    """Which servers, and where what they bring is from."""
    off = line.action == "switch off"
    ids = [
        node.id
        for node in plan.nodes
        if node.entry == line.entry
        and node.origin == "owned"
        and (line.quarter in node.off if off else node.sold == line.quarter)
    ]
    if off:
        return f"off in {line.quarter}: {', '.join(ids)} ({line.entry})"
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
        machines: dict[tuple[str, str, int], list[NodeRelease]] = {}
        for line in sorted(plan.releases, key=lambda line: (*_machine(line), line.quarter)):
            if line.action == action:
                machines.setdefault(_machine(line), []).append(line)
        if machines:
            told = " and ".join(_machines(plan, lines) for lines in machines.values())
            brings = sum(line.total_cents for lines in machines.values() for line in lines)
            parts.append(f"{action} {told}{f' for {money_short(brings)}' if brings else ''}")
    return parts


def _machine(line: NodeRelease) -> tuple[str, str, int]:
    return line.product, line.gpu_type, line.gpus_per_node


def _machines(plan: Plan, lines: list[NodeRelease]) -> str:
    by_quarter: Counter[str] = Counter()
    for line in lines:
        by_quarter[line.quarter] += line.count
    counts = set(by_quarter.values())
    if lines[0].action == "sell":
        number = f"{sum(by_quarter.values()):,}"
    else:
        number = f"{'up to ' if len(counts) > 1 else ''}{max(counts):,}"
    machine = f"{number} × {lines[0].product} ({lines[0].gpus_per_node}× {lines[0].gpu_type})"
    return f"{machine} in {quarter_runs(plan.quarters, by_quarter)}"
