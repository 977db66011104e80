"""Two figures at a time: a grid of what both add to the cost, and its corners in words."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

from planner.reporting.document import Block, Column, Heading, Paragraph, Table
from planner.reporting.format import dollars
from planner.reporting.variants import acquired_text, added_text, moved_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from planner.whatif.results import Corner, Pair, Sensitivity, Swing

__all__ = ["pairs_section"]

_NONE = "–"


def pairs_section(found: Sensitivity) -> tuple[Block, ...]:
    """Nothing where no pairs were asked for."""
    if not found.pairs:
        return ()
    words = (
        "The figures that come first above, two moved together. A star: other nodes are acquired "
        "than as the scenario stands. Interplay is what both together add beyond what each adds "
        "alone; where it is 0, the two can be thought of one by one."
    )
    swings = {one.name: one for one in found.swings}
    return (
        Heading("Two at a time"),
        Paragraph(words),
        *(
            block
            for pair in found.pairs
            for block in _pair(found, pair, swings[pair.first], swings[pair.second])
        ),
    )


def _pair(found: Sensitivity, pair: Pair, first: Swing, second: Swing) -> Iterator[Block]:
    yield Heading(f"{pair.first} and {pair.second}", 3)
    base = found.base
    corners = {(one.first_by, one.second_by): one for one in pair.corners}
    plans = {key: one.figures for key, one in corners.items()}
    plans |= {(0.0, one.by): one.figures for one in (second.low, second.high)}
    plans |= {(one.by, 0.0): one.figures for one in (first.low, first.high)}
    plans[0.0, 0.0] = base
    moves = [(one.low.by, 0.0, one.high.by) for one in (first, second)]
    rows = []
    for down in moves[0]:
        cells = []
        for across in moves[1]:
            figures = plans[down, across]
            planned = figures.cost_cents is not None
            other = "*" if planned and figures.acquired != base.acquired else ""
            cells.append(f"{added_text(figures, base)}{other}")
        rows.append((moved_text(first.unit, down), *cells))
    heads = [
        Column(f"{pair.second}: {moved_text(second.unit, by)}", "right", wraps=True)
        for by in moves[1]
    ]
    yield Table((Column(pair.first, wraps=True), *heads), tuple(rows))
    keys = product((first.low.by, first.high.by), (second.low.by, second.high.by))
    columns = (
        Column(pair.first, wraps=True),
        Column(pair.second, wraps=True),
        Column("Interplay", "right"),
        Column("Acquired", wraps=True),
    )
    yield Table(columns, tuple(_corner(found, corners[key], first, second) for key in keys))


def _corner(found: Sensitivity, one: Corner, first: Swing, second: Swing) -> tuple[str, ...]:
    figures = one.figures
    if figures.cost_cents is None:
        acquired = f"{figures.result}: {figures.reason}"
    elif figures.acquired == found.base.acquired:
        acquired = "as the scenario stands"
    else:
        acquired = acquired_text(figures.acquired)
    cents = one.interplay_cents
    interplay = _NONE if cents is None else f"+{dollars(cents)}" if cents > 0 else dollars(cents)
    return (
        moved_text(first.unit, one.first_by),
        moved_text(second.unit, one.second_by),
        interplay,
        acquired,
    )
