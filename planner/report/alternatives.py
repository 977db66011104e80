"""The cheapest plan and those beside it, with what each costs, takes and leaves undone."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from planner.report.document import Block, Bullets, Column, Document, Heading, Paragraph, Table
from planner.report.format import code, count_of, dollars, listed, money, percent, signed_percent
from planner.report.variants import acquired_short

if TYPE_CHECKING:
    from planner.whatif.desk.figures import Figures
    from planner.whatif.found import Alternative, Alternatives, Best

__all__ = [
    "aim_text",
    "alternatives_document",
    "cheaper_ones",
    "near_ones",
    "settings_text",
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


def alternatives_document(found: Alternatives) -> Document:
    """Side by side, then what each is best in, who is short, and what is left out and why."""
    cheapest = found.cheapest
    rows = [_cells(_CHEAPEST, cheapest, cheapest)]
    rows += [_cells(one.name, one.figures, cheapest) for one in found.others if one.figures]
    opening: tuple[Block, ...] = (
        Heading(f"Alternatives for {found.scenario}", 1),
        Paragraph(
            f"The cheapest plan of the scenario as it stands costs "
            f"{money(cheapest.cost_cents or 0)}, {cheapest.result}; near it are plans that cost at "
            f"most {percent(found.within or 0)} more.",
            tone="strong",
        ),
        *(
            Paragraph(
                f"{one.name} keeps as many jobs for less, with what the scenario does not allow: "
                f"{settings_text(one)}. Allow that, if you can, and plan again.",
                tone="warning",
            )
            for one in cheaper_ones(found, cheapest)
        ),
        Paragraph(
            "Cost is net present cost in USD. Acquired: nodes that enter service, a rented one "
            "anew in each quarter. Idle: GPU-hours in service that no job holds. kW: drawn by the "
            "servers in service, mean over the quarters. Short: jobs dropped or delayed.",
            tone="faint",
        ),
        Table(_COLUMNS, tuple(rows)),
        Heading("What each is"),
        Bullets(tuple(f"{one.name}: {aim_text(one)}" for one in found.others if one.figures)),
    )
    return (*opening, *_short(found), *_left_out(found))


def cheaper_ones(found: Alternatives, plan: Figures) -> list[Alternative]:
    """Those that cost less than a plan and keep as many jobs: they may do what it may not."""
    return [one for one in found.others if one.settings and _is_cheaper(one.figures, plan)]


def _is_cheaper(one: Figures | None, plan: Figures) -> bool:
    if one is None or one.cost_cents is None or plan.cost_cents is None:
        return False
    keeps = len(one.short) <= len(plan.short) and _what_comes_first(one, plan)[0] <= 0
    return keeps and one.cost_cents < plan.cost_cents


def _what_comes_first(one: Figures, other: Figures) -> tuple[int, str]:
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


def weighed_text(one: Figures, other: Figures, named: str) -> str:
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


def settings_text(one: Alternative) -> str:
    """The settings with which `planner plan` makes it."""
    return listed([code(setting) for setting in one.settings])


def near_ones(found: Alternatives) -> list[tuple[str, Figures]]:
    """Plans by name that keep the same jobs as the cheapest: only these compare with it."""
    every = [(_CHEAPEST, found.cheapest)]
    every += [(one.name, one.figures) for one in found.others if one.figures]
    return [(name, one) for name, one in every if one.short == found.cheapest.short]


def aim_text(one: Alternative) -> str:
    """What it is best in, how good it is, and what is proved of the others."""
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


_COUNTED = {
    "node types": ("node type", "node types"),
    "quarters waited": ("quarter", "quarters"),
    "moves": ("unit", "units"),
}


def _cells(name: str, figures: Figures, cheapest: Figures) -> tuple[str, ...]:
    if figures.cost_cents is None:
        return (name, *["–"] * 7, f"{figures.result}: {figures.reason}")
    return (
        name,
        dollars(figures.cost_cents),
        _more(figures.cost_cents, cheapest.cost_cents or 0),
        "as the cheapest" if _alike(name, figures, cheapest) else acquired_short(figures.acquired),
        f"{figures.nodes or 0:,}",
        percent(figures.gpus_idle or 0.0),
        "–" if figures.drawn_w is None else f"{figures.drawn_w / 1000:,.1f}",
        f"{len(figures.short):,}",
        figures.result,
    )


def _alike(name: str, figures: Figures, cheapest: Figures) -> bool:
    return name != _CHEAPEST and figures.acquired == cheapest.acquired


def _more(cost: int, cheapest: int) -> str:
    if cost == cheapest or not cheapest:
        return "0 %" if cost == cheapest else "–"
    return signed_percent((cost - cheapest) / abs(cheapest))


def _short(found: Alternatives) -> tuple[Block, ...]:
    lines = tuple(
        f"{one.name}: {', '.join(one.figures.short)}{_weighed(one.figures, found.cheapest)}"
        for one in found.others
        if one.figures and one.figures.short
    )
    return (Heading("Jobs dropped or delayed"), Bullets(lines, "warning")) if lines else ()


def _weighed(one: Figures, cheapest: Figures) -> str:
    told = weighed_text(one, cheapest, "the cheapest plan")
    return told and f"; {told}"


def _left_out(found: Alternatives) -> tuple[Block, ...]:
    lines = tuple(f"{one.name}: {one.left_out}" for one in found.others if one.left_out)
    return (Heading("Left out"), Bullets(lines)) if lines else ()
