"""Draws a document as a comment on a pull request: what matters is open, the rest opens on a click.

A comment has a limit, so long tables are cut to what fits, and say so.
"""

from __future__ import annotations

from collections.abc import Container, Iterator
from dataclasses import replace

from planner.reporting import markdown
from planner.reporting.document import Block, Bullets, Document, Heading, Paragraph, Table
from planner.reporting.format import count_of, shortened

MOST_BYTES = 65_000
"""GitHub takes 65,536 characters, of at least a byte each; the rest is left for who adds a line."""
_ROWS = (1000, 300, 100, 30, 10, 3, 0)
"""Of each table, at most: the first with which all fits."""
_LONGEST_TITLE = 200


def render(document: Document, opened: Container[str], whole: str) -> str:
    """The document as Markdown of at most `MOST_BYTES`; sections titled as in `opened` are open.

    `whole` says where the rows stand that are cut off.
    """
    drawn = (_drawn(document, opened, most, whole) for most in _ROWS)
    return next(text for text in drawn if len(text.encode()) <= MOST_BYTES)


def _drawn(document: Document, opened: Container[str], most: int, whole: str) -> str:
    (title, opening), *sections = _sections(document)
    named = replace(title, text=shortened(title.text, _LONGEST_TITLE), level=3)
    shown, folded = [named, *opening], []
    for heading, blocks in sections:
        kept = [one for block in blocks for one in _cut(block, most, whole)]
        if heading.text in opened:
            shown += (replace(heading, level=4), *kept)
        else:
            summary = f"<details><summary>{heading.text}</summary>"
            folded.append(f"{summary}\n\n{markdown.render(kept)}\n</details>\n")
    return "\n".join((markdown.render(shown), *folded))


def _sections(document: Document) -> list[tuple[Heading, list[Block]]]:
    """Each heading of the first two levels, and what stands below it."""
    found: list[tuple[Heading, list[Block]]] = []
    for block in document:
        if isinstance(block, Heading) and block.level <= 2:
            found.append((block, []))
        else:
            found[-1][1].append(block)
    return found


def _cut(block: Block, most: int, whole: str) -> Iterator[Block]:
    """The block with its first rows, and how many more there are."""
    if isinstance(block, Table):
        yield replace(block, rows=block.rows[:most])
        left = len(block.rows) - most
    elif isinstance(block, Bullets):
        yield replace(block, items=block.items[:most])
        left = len(block.items) - most
    else:
        yield block
        left = 0
    if left > 0:
        yield Paragraph(f"… {count_of(left, 'more row')}: {whole}", "faint")
