"""Draws a document as Markdown: for a forge and an editor, or as a pull-request comment."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache

from planner.reporting.document import (
    Block,
    Bullets,
    Document,
    Heading,
    Paragraph,
    Table,
    Verbatim,
    cell_text,
    in_words,
)
from planner.reporting.format import code_and_words, count_of, shortened, visible

_MARKED = re.compile(r"[\\`*\[\]|~_@#&<>]")
_SPECIAL = re.compile(r"([\\`*\[\]|~])")
_NO_CODE = re.compile(r"[\\`|]|^\s|\s$")
_EDGE_UNDERSCORE = re.compile(r"(?<![^\W_])_|_(?![^\W_])")
_MENTION = re.compile(r"(?<![\w.])@(?=\w)")
_REFERENCE = re.compile(r"#(?=\d)")
"""GitHub takes `#12` for an issue, and mentions this there."""
_BLOCK_START = re.compile(r"^(\s*\d*)([#>+=-]|(?<=\d)[.)])(?=\s|$|[#=-])")


def render(document: Iterable[Block]) -> str:
    """Return the document as Markdown text that ends with a line feed."""
    return "\n\n".join(_block(block) for block in in_words(document)) + "\n"


def _block(block: Block) -> str:
    match block:
        case Heading():
            return f"{'#' * block.level} {_text(block.text)}"
        case Paragraph():
            text = _opening(block.text)
            return f"**{text}**" if block.tone == "strong" else text
        case Bullets():
            return "\n".join(f"- {_opening(item)}" for item in block.items)
        case Table():
            marks = ("---:" if column.align == "right" else "---" for column in block.columns)
            rows = [
                [_text(column.title) for column in block.columns],
                marks,
                *([_text(cell_text(cell)) for cell in row] for row in block.rows),
            ]
            if block.footer:
                sums = [_text(cell_text(cell)) for cell in block.footer]
                rows.append([f"**{text}**" if text else "" for text in sums])
            return "\n".join(f"| {' | '.join(row)} |" for row in rows)
        case Verbatim():
            body = "\n".join(visible(line) for line in block.lines)
            longest = max((len(run) for run in re.findall(r"`+", body)), default=0)
            fence = "`" * max(3, longest + 1)
            return f"{fence}text\n{body}\n{fence}"
        case _:
            return ""


def _opening(raw: str) -> str:
    """Return text that begins a line, so that no name or sign opens a block of another kind."""
    return _BLOCK_START.sub(r"\1\\\2", _text(raw))


@lru_cache(maxsize=10_000)
def _text(raw: str) -> str:
    """Return words as they are, and code as such unless a name in it prevents that."""
    return "".join(
        f"`{part}`" if place % 2 and not _NO_CODE.search(part) else _words(part, place % 2 * "`")
        for place, part in enumerate(code_and_words(raw))
    )


def _words(raw: str, around: str) -> str:
    """Return the text as it is: no name can open markup, HTML, a table cell or a mention."""
    text = visible(f"{around}{raw}{around}")
    if not _MARKED.search(text):
        return text
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    text = _EDGE_UNDERSCORE.sub(r"\\_", _SPECIAL.sub(r"\\\1", text))
    return _MENTION.sub("&#64;", _REFERENCE.sub("&#35;", text))


MOST_BYTES = 65_000
"""GitHub takes 65,536 characters, of at least a byte each; the rest is left for additions."""
_ROWS = (1000, 300, 100, 30, 10, 3, 0)
"""The most rows of each table: the first of these with which everything fits."""
_LONGEST_TITLE = 200


def comment(document: Document, opened: Container[str], whole: str) -> str:
    """Return the document as Markdown of at most `MOST_BYTES`; sections in `opened` are open.

    `whole` says where the rows stand that are cut off.
    """
    sections: list[tuple[Heading, list[Block]]] = []
    for block in document:
        if isinstance(block, Heading) and block.level <= 2:
            sections.append((block, []))
        else:
            sections[-1][1].append(block)
    drawn = (_drawn(sections, opened, most, whole) for most in _ROWS)
    return next(text for text in drawn if len(text.encode()) <= MOST_BYTES)


def _drawn(
    sections: Sequence[tuple[Heading, list[Block]]], opened: Container[str], most: int, whole: str
) -> str:
    (title, opening), *rest = sections
    named = replace(title, text=shortened(title.text, _LONGEST_TITLE), level=3)
    shown, folded = [named, *opening], []
    for heading, blocks in rest:
        kept = [one for block in blocks for one in _cut(block, most, whole)]
        if heading.text in opened:
            shown += (replace(heading, level=4), *kept)
        else:
            summary = f"<details><summary>{heading.text}</summary>"
            folded.append(f"{summary}\n\n{render(kept)}\n</details>\n")
    return "\n".join((render(shown), *folded))


def _cut(block: Block, most: int, whole: str) -> Iterator[Block]:
    """Return the block with its first rows, and how many more there are."""
    left = 0
    if isinstance(block, Table):
        left, block = len(block.rows) - most, replace(block, rows=block.rows[:most])
    elif isinstance(block, Bullets):
        left, block = len(block.items) - most, replace(block, items=block.items[:most])
    yield block
    if left > 0:
        yield Paragraph(f"… {count_of(left, 'more row')}: {whole}", "faint")
