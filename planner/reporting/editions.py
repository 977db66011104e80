"""A document as a selection of sections: numbered, and drawn short or in full."""

from __future__ import annotations

from dataclasses import replace
from string import ascii_uppercase
from typing import TYPE_CHECKING, Literal

from planner.reporting.document import (
    Fields,
    Figure,
    Fold,
    Heading,
    Link,
    Paragraph,
    Table,
    cell_text,
)
from planner.reporting.traced import anchor_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from planner.reporting.document import Block, Cell

__all__ = ["Edition", "numbered", "numbered_document"]

Edition = Literal["short", "full"]
"""About six pages on paper, or with every table behind them."""


def numbered(titles: Mapping[str, str], appendices: Collection[str] = ()) -> dict[str, str]:
    """Titles of sections by key with their numbers, those of appendices with letters."""
    letters, numbers = iter(ascii_uppercase), iter(range(1, len(titles) + 1))
    return {
        key: f"{next(letters) if key in appendices else next(numbers)}. {title}"
        for key, title in titles.items()
    }


def numbered_document(
    titles: Mapping[str, str], sections: Mapping[str, Iterable[Block]], *, alone: bool = True
) -> tuple[Block, ...]:
    """Sections under their titles, each with an anchor; those without content are left out.

    What a figure or a link leads to may stand in another edition alone: then it leads nowhere, and
    a figure tells its sum all the same. Not `alone`, other pages may hold it.
    """
    blocks: list[Block] = []
    for place, (key, title) in enumerate(titles.items()):
        if content := tuple(sections[key]):
            blocks += (Heading(title, 2, anchor_of(place)), *content)
    if not alone:
        return tuple(blocks)
    there = frozenset(_anchors(blocks))
    return tuple(_within(block, there) for block in blocks)


def _anchors(blocks: Iterable[Block]) -> Iterator[str]:
    for block in blocks:
        if isinstance(block, Heading | Paragraph | Fold):
            yield block.anchor
        if isinstance(block, Fold):
            yield from _anchors(block.blocks)


def _within(block: Block, there: frozenset[str]) -> Block:
    def cell(one: Cell) -> Cell:
        if isinstance(one, Figure) and one.trace not in there:
            return replace(one, trace="")
        return cell_text(one) if isinstance(one, Link) and one.to not in there else one

    if isinstance(block, Fields):
        return Fields(tuple((name, cell(said)) for name, said in block.rows))
    if isinstance(block, Fold):
        return replace(block, blocks=tuple(_within(one, there) for one in block.blocks))
    if isinstance(block, Table):
        rows = tuple(tuple(map(cell, row)) for row in block.rows)
        return replace(block, rows=rows, footer=tuple(map(cell, block.footer)))
    return block
