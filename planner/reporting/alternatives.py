"""The cheapest plan and those beside it, with what each costs, takes and leaves undone."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from planner.reporting.document import Block, Bullets, Column, Document, Heading, Paragraph, Table
from planner.reporting.format import (
    code,
    count_of,
    dollars,
    listed,
    money,
    money_short,
    percent,
    signed_percent,
)
from planner.reporting.variants import acquired_short

if TYPE_CHECKING:
    from collections.abc import Iterator

    from planner.whatif.results import AlternativePlan, Alternatives, Best
    from planner.whatif.variants.plan_summary import PlanSummary

__all__ = [
    "NO_UNIT_SHORT",
    "UNITS_SHORT",
    "aim_text",
    "alternatives_document",
    "are_equal",
    "cheaper_ones",
    "cheaper_text",
    "is_cheaper",
    "is_nothing_but_equal",
    "near_ones",
    "rows_of",
    "same_nodes",
    "settings_text",
    "short_text",
    "weighed_text",
]

_CHEAPEST = "cheapest"
_COLUMNS = (
    Column("Plan", wraps=True),
    Column("Cost", "right"),
    Column("More", "right"),
    Column("Acquired", wraps=True),
    Column("Nodes", "right"),
    Column("Idle", "right"),
    Column("kW", "right"),
    Column("Short", "right"),
    Column("Status", wraps=True),
)


UNITS_SHORT = (
    "Units without room on what is owned: each quarter and each unit by itself, where the plan of "
    "doing nothing drops whole jobs. The fewest there can be, the highest priority first; where "
    "that is open, those of the first jobs by name run. A model that is not tuned leaves its "
    "deployment short."
)
NO_UNIT_SHORT = "What is owned holds every unit in every quarter."
"""What is said where doing nothing leaves nobody short."""


def alternatives_document(found: Alternatives) -> Document:
    """Side by side, then what each is best in, who is short, and what is left out and why."""
    cheapest = found.cheapest
    rows = [_cells(_CHEAPEST, cheapest, cheapest)]
    rows += [
        _cells(name, one.figures, cheapest)
        for name, _, one in rows_of(found, f"the {_CHEAPEST}")
        if one.figures
    ]
    opening: tuple[Block, ...] = (
        Heading(f"Alternatives for {found.scenario}", 1),
        Paragraph(
            f"The cheapest plan of the scenario as it stands costs "
            f"{money(cheapest.cost_cents or 0)}, {cheapest.result}; near it are plans that cost at "
            f"most {percent(found.within or 0)} more.",
            tone="strong",
        ),
        *(Paragraph(cheaper_text(one, cheapest), tone="warning") for _, one in cheaper_ones(found)),
        Paragraph(
            "Cost is net present cost in USD. Acquired: nodes that enter service, a rented one "
            "anew in each quarter. Idle: GPU-hours in service that no job holds. kW: drawn by the "
            "servers in service, mean over the quarters. Short: jobs dropped or delayed"
            f"{', told apart below' if _short(found) else ''}.",
            tone="faint",
        ),
        Table(_COLUMNS, tuple(rows)),
        Heading("What each is"),
        Bullets(
            tuple(
                f"{one.name}: {aim_text(one, found, f'the {_CHEAPEST}')}"
                for one in found.others
                if one.figures
            )
        ),
    )
    return (*opening, *_short(found), *_units_short(found), *_left_out(found))


def rows_of(found: Alternatives, named: str) -> Iterator[tuple[str, int, AlternativePlan]]:
    """Those with figures, each with the name of its row and its place.

    One that is no better than the cheapest in what it is about, and costs the same to the cent, is
    called that and nothing else; of several that acquire the same, there is one row.
    """
    seen: list[PlanSummary] = []
    for place, one in enumerate(found.others):
        if one.figures is None:
            continue
        name = one.name
        if is_nothing_but_equal(one, found):
            if any(same_nodes(one.figures, other) for other in seen):
                continue
            seen.append(one.figures)
            name = f"costs the same as {named}"
        yield name, place, one


def are_equal(one: PlanSummary, other: PlanSummary) -> bool:
    """Whether two plans cost the same to the cent and keep the same jobs."""
    ends = [(figures.cost_cents, figures.short, figures.dropped) for figures in (one, other)]
    return one.cost_cents is not None and ends[0] == ends[1]


def same_nodes(one: PlanSummary, other: PlanSummary) -> bool:
    """Whether they acquire the same as well."""
    return are_equal(one, other) and one.acquired == other.acquired


def is_nothing_but_equal(one: AlternativePlan, found: Alternatives) -> bool:
    """Whether it costs the same to the cent, acquires otherwise, and is no better in its aim."""
    figures, cheapest, best = one.figures, found.cheapest, one.best
    if figures is None or best is None or not are_equal(figures, cheapest):
        return False
    if same_nodes(figures, cheapest):
        return False
    if best.unit == "W":
        return figures.drawn_w == cheapest.drawn_w
    if best.unit == "node types":
        return figures.node_types == cheapest.node_types
    if best.unit == "quarters waited":
        return _waited(figures, found.quarters) == _waited(cheapest, found.quarters)
    return False


def _waited(figures: PlanSummary, quarters: tuple[str, ...]) -> int:
    """Quarters until the nodes enter service, in all."""
    whole = (one for one in figures.acquired if not one.step_hours)
    return sum(quarters.index(one.quarter) * one.count for one in whole)


def cheaper_ones(found: Alternatives) -> list[tuple[int, AlternativePlan]]:
    """Those that cost less than the cheapest and keep as many jobs, with their places.

    They may do what the scenario does not allow; or, without settings, the cheapest is not proved.
    """
    every = enumerate(found.others)
    return [(place, one) for place, one in every if is_cheaper(one.figures, found.cheapest)]


def cheaper_text(one: AlternativePlan, plan: PlanSummary) -> str:
    """By how much, and what the scenario would have to allow."""
    costs = (one.figures.cost_cents or 0) if one.figures else 0
    less = money_short((plan.cost_cents or 0) - costs)
    told = f"There is a cheaper way to keep as many jobs: {one.name}, for {less} less"
    if not one.settings:
        why = "is proved to a gap" if plan.result == "proved" else "is not proved"
        return f"{told}. It takes nothing that the scenario does not allow: the cheapest {why}."
    return (
        f"{told}, with what the scenario does not allow: {settings_text(one)} ({one.objective}). "
        "Allow that, if you can, and plan again."
    )


def short_text(figures: PlanSummary) -> str:
    """`dropped: a, b; delayed: c`: who gives way and how; empty where nobody does."""
    delayed = [name for name in figures.short if name not in set(figures.dropped)]
    parts = (("dropped", figures.dropped), ("delayed", delayed))
    return "; ".join(f"{how}: {', '.join(names)}" for how, names in parts if names)


def is_cheaper(one: PlanSummary | None, plan: PlanSummary) -> bool:
    """Whether a plan costs less than another and keeps as many jobs, the important ones first."""
    if one is None or one.cost_cents is None or plan.cost_cents is None:
        return False
    keeps = len(one.short) <= len(plan.short) and _what_comes_first(one, plan)[0] <= 0
    return keeps and one.cost_cents < plan.cost_cents


def _what_comes_first(one: PlanSummary, other: PlanSummary) -> tuple[int, str]:
    """How many more of the jobs that come first give way in `one`, and which those are.

    Dropped ones come before delayed ones, then higher priorities before lower ones.
    """
    more: Counter[tuple[int, int]] = Counter()
    for sign, figures in ((1, one), (-1, other)):
        for priority, dropped, delayed in figures.short_by_priority:
            more[0, -priority] += sign * dropped
            more[1, -priority] += sign * delayed
    first = min((step for step, count in more.items() if count), default=(0, 0))
    return more[first], f"of priority {-first[1]} {'delayed' if first[0] else 'dropped'}"


def weighed_text(one: PlanSummary, other: PlanSummary, named: str) -> str:
    """What the number of jobs that give way does not say beside another's; empty where it does."""
    first, which = _what_comes_first(one, other)
    more = len(one.short) - len(other.short)
    if first * more > 0 or not first:
        return ""
    in_all = f"{abs(more)} {_compared(more)}" if more else "as many"
    return (
        f"{abs(first)} {_compared(first)} {which} than in {named}, which comes first, and {in_all} "
        "dropped or delayed in all"
    )


def _compared(more: int) -> str:
    return "more" if more > 0 else "fewer"


def settings_text(one: AlternativePlan) -> str:
    """The settings with which `planner plan` makes it."""
    return listed([code(setting) for setting in one.settings])


def near_ones(found: Alternatives) -> list[tuple[str, PlanSummary]]:
    """Plans by name that keep the same jobs as the cheapest: only these compare with it."""
    every = [(_CHEAPEST, found.cheapest)]
    rows = rows_of(found, f"the {_CHEAPEST}")
    every += [(name, one.figures) for name, _, one in rows if one.figures]
    return [(name, one) for name, one in every if one.short == found.cheapest.short]


def aim_text(one: AlternativePlan, found: Alternatives, named: str) -> str:
    """What it is best in, what is proved of the others, and whether it is a tie with the plan."""
    return f"{_aim(one)}{_tie(one, found, named)}"


def _tie(one: AlternativePlan, found: Alternatives, named: str) -> str:
    figures = one.figures
    if figures is None or not are_equal(figures, found.cheapest):
        return ""
    if same_nodes(figures, found.cheapest):
        return f"; {named} acquires the same for as much"
    acquires = f"costs the same as {named} to the cent, and acquires"
    told = f"{acquires} {acquired_short(figures.acquired)}"
    if one.best is None or not is_nothing_but_equal(one, found):
        return f"; it {told}"
    return f"; {named} {_AS_GOOD[one.best.unit]}, and this {told}: the two are equal, take either"


def _aim(one: AlternativePlan) -> str:
    told, best = one.objective, one.best
    if best is None:
        return told
    more = "more" if best.unit == "% free" else "less" if best.unit == "W" else "fewer"
    value, bound = _valued(best.value, best), _valued(best.bound, best)
    if value == bound:
        return f"{told}: {value}, and no plan within the tolerance has {more}"
    return f"{told}: {value}, and no plan within the tolerance has {more} than {bound}"


def _valued(value: float, best: Best) -> str:
    if best.unit == "W":
        return f"{value / 1000:,.2f} kW"
    if best.unit == "% free":
        return f"{value:g} %"
    return count_of(round(value), *_COUNTED[best.unit])


_AS_GOOD = {"W": "draws as little", "node types": "has as few", "quarters waited": "waits as few"}
"""Of those that the figures of a plan tell."""
_COUNTED = {
    "node types": ("node type", "node types"),
    "quarters waited": ("quarter", "quarters"),
    "moves": ("unit", "units"),
}


def _cells(name: str, figures: PlanSummary, cheapest: PlanSummary) -> tuple[str, ...]:
    if figures.cost_cents is None:
        return (name, *["–"] * 7, f"{figures.result}: {figures.reason}")
    return (
        name,
        dollars(figures.cost_cents),
        "0 %" if name == _CHEAPEST else _more(figures.cost_cents, cheapest.cost_cents or 0),
        "as the cheapest" if _alike(name, figures, cheapest) else acquired_short(figures.acquired),
        f"{figures.nodes or 0:,}",
        percent(figures.gpus_idle or 0.0),
        "–" if figures.drawn_w is None else f"{figures.drawn_w / 1000:,.1f}",
        f"{len(figures.short):,}",
        figures.result,
    )


def _alike(name: str, figures: PlanSummary, cheapest: PlanSummary) -> bool:
    return name != _CHEAPEST and figures.acquired == cheapest.acquired


def _more(cost: int, cheapest: int) -> str:
    if cost == cheapest or not cheapest:
        return "equal" if cost == cheapest else "–"
    return signed_percent((cost - cheapest) / abs(cheapest))


def _short(found: Alternatives) -> tuple[Block, ...]:
    lines = tuple(
        f"{one.name}, {short_text(one.figures)}{_weighed(one.figures, found.cheapest)}"
        for one in found.others
        if one.figures and one.figures.short
    )
    return (Heading("Jobs dropped or delayed"), Bullets(lines, "warning")) if lines else ()


def _weighed(one: PlanSummary, cheapest: PlanSummary) -> str:
    told = weighed_text(one, cheapest, "the cheapest plan")
    return told and f"; {told}"


def _units_short(found: Alternatives) -> tuple[Block, ...]:
    """What doing nothing leaves without room, unit by unit."""
    known = next((one.units_short for one in found.others if one.units_short is not None), None)
    if known is None:
        return ()
    columns = (Column("Job", wraps=True), *(Column(label, "right") for label in found.quarters))
    rows = tuple(
        (one.job, *(_of(short, asked) for short, asked in zip(one.short, one.asked, strict=True)))
        for one in known
    )
    return (
        Heading("Doing nothing, quarter by quarter"),
        Paragraph(UNITS_SHORT, tone="faint"),
        *((Table(columns, rows),) if rows else (Paragraph(NO_UNIT_SHORT),)),
    )


def _of(short: int, asked: int) -> str:
    return f"{short:,} of {asked:,}" if short else "–" if not asked else "0"


def _left_out(found: Alternatives) -> tuple[Block, ...]:
    lines = tuple(f"{one.name}: {one.left_out}" for one in found.others if one.left_out)
    return (Heading("Left out"), Bullets(lines)) if lines else ()
