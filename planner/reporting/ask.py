"""The ask in one sentence: what, how many, by when, for how much, how well proved."""

from __future__ import annotations

from collections import Counter
from itertools import groupby
from typing import TYPE_CHECKING

from planner.planning.words import nodes_text
from planner.reporting.format import (
    count_of,
    gap_percent,
    listed,
    money,
    money_short,
    quarter_runs,
)
from planner.reporting.money import action_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from planner.planning.plan import Acquisition, Plan

__all__ = ["ask_sentence", "proof_clause"]

_MOST_NAMED = 4


def ask_sentence(plan: Plan) -> str:
    """The whole ask, for a person who reads nothing else."""
    return (
        f"{_what(plan)} {_for_how_much(plan)}{_gives_way(plan)}; {proof_clause(plan)}, "
        "checked independently."
    )


def _gives_way(plan: Plan) -> str:
    """Who is not served by that, so that nobody takes the sum for the price of everything."""
    if plan.shortage is None:
        return ""
    counts = Counter(job.outcome for job in plan.shortage.jobs)
    parts = []
    for outcome in ("dropped", "delayed"):
        if count := counts[outcome]:
            parts.append(f"{count_of(count, 'job')} {'is' if count == 1 else 'are'} {outcome}")
    return f"; {listed(parts)}, as not everything fits"


def proof_clause(plan: Plan) -> str:
    """What is proved, so that nobody can take a found plan for a proved one."""
    proof = plan.proof
    off = money(proof.cost_cents - proof.bound_cents)
    gap = gap_percent(proof.gap)
    if proof.status == "proved":
        return f"proved optimal for these inputs to within {off} (gap {gap})"
    return (
        f"NOT proved: the best plan found, at most {off} dearer than the best there is (gap {gap})"
    )


def _for_how_much(plan: Plan) -> str:
    priced = ", at illustrative prices" if any(a.illustrative for a in plan.acquisitions) else ""
    span = f"over {count_of(len(plan.quarters), 'quarter')}"
    return f"for {money_short(plan.proof.cost_cents)} net present cost {span}{priced}"


def _what(plan: Plan) -> str:
    if not plan.acquisitions:
        if not plan.jobs:
            return "Buy and rent nothing, as the scenario has no jobs,"
        if not any(any(job.units) for job in plan.jobs):
            return "Buy and rent nothing, as no job is kept,"
        which = "every job" if plan.shortage is None else "what is kept"
        return f"Buy and rent nothing: the owned fleet runs {which}"
    first = min(line.order_by for line in plan.acquisitions)
    if any(line.kind == "buy" and line.order_by == first for line in plan.acquisitions):
        first = ""  # it is said there already
    tell: dict[str, Callable[[Sequence[Acquisition]], str]] = {
        "buy": _buy,
        "rent": lambda lines: _rent(plan.quarters, lines, first),
        "reserve": lambda lines: _reserve(lines, first),
        "hourly": lambda lines: _rent(plan.quarters, lines, first),
    }
    parts = []
    for kind, told in tell.items():
        machines = _by_machine([line for line in plan.acquisitions if line.kind == kind])
        if machines:
            parts.append(f"{action_of(kind, None)} {_named([told(lines) for lines in machines])}")
    words = listed(parts)
    return words[0].upper() + words[1:]


def _named(machines: Sequence[str]) -> str:
    if len(machines) <= _MOST_NAMED:
        return listed(machines)
    rest = count_of(len(machines) - _MOST_NAMED, "more kind of node", "more kinds of node")
    return listed([*machines[:_MOST_NAMED], rest])


def _by_machine(lines: Sequence[Acquisition]) -> list[list[Acquisition]]:
    def machine(line: Acquisition) -> tuple[str, str, int, int]:
        term = line.term_quarters or line.step_hours or 0
        return (line.product, line.gpu_type, line.gpus_per_node, term)

    ordered = sorted(lines, key=lambda line: (machine(line), line.quarter, line.offer))
    return [list(group) for _, group in groupby(ordered, key=machine)]


def _machine(count: str, line: Acquisition) -> str:
    return f"{count} × {line.product} ({line.gpus_per_node}× {line.gpu_type})"


def _buy(lines: Sequence[Acquisition]) -> str:
    first, last = lines[0], lines[-1]
    what = _machine(f"{sum(line.count for line in lines):,}", first)
    order_by = min(line.order_by for line in lines)
    if first.quarter == last.quarter:
        return f"{what} by {first.quarter} (order by {order_by})"
    return f"{what} from {first.quarter} to {last.quarter} (first order by {order_by})"


def _if_first(lines: Sequence[Acquisition], first_order: str) -> str:
    """` (order by 2026-12-18)` where that is the first order of the plan."""
    days = {line.order_by for line in lines}
    if first_order not in days:
        return ""
    return f" ({'order' if len(days) == 1 else 'first order'} by {first_order})"


def _reserve(lines: Sequence[Acquisition], first_order: str) -> str:
    count = sum(line.count for line in lines)
    what = _machine(f"{count:,}", lines[0])
    years = count_of((lines[0].term_quarters or 0) // 4, "year")
    held = f"for {years}{' each' if count > 1 else ''}"
    begin = sorted({line.quarter for line in lines})
    since = f"from {listed(begin)}{' on' if len(begin) > 1 else ''}"
    return f"{what} {held} {since}{_if_first(lines, first_order)}"


def _rent(quarters: Sequence[str], lines: Sequence[Acquisition], first_order: str) -> str:
    in_quarter = {
        quarter: sum(line.count for line in lines if line.quarter == quarter)
        for quarter in {line.quarter for line in lines}
    }
    most = max(in_quarter.values())
    upto = "up to " if min(in_quarter.values()) < most else ""
    step = lines[0].step_hours
    if step is None:
        what = _machine(f"{upto}{most:,}", lines[0])
    else:
        what = f"{upto}{nodes_text(most, step)} of {_machine('1', lines[0])}"
    return f"{what} in {quarter_runs(quarters, in_quarter)}{_if_first(lines, first_order)}"
