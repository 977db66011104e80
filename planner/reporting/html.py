"""Draws a document as one HTML file: no network, no code from data, reproducible bytes.

The page may show pictures from files beside it, and may be printed as a PDF.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import date
from functools import cache, lru_cache
from importlib.resources import files
from types import MappingProxyType
from typing import NoReturn

from markupsafe import Markup, escape

from planner.errors import Finding, InputError
from planner.reporting.document import (
    Block,
    Bullets,
    Cell,
    Column,
    Document,
    Fields,
    Figure,
    Fold,
    Heading,
    Link,
    NodeMap,
    Paragraph,
    Picture,
    Table,
    Verbatim,
)
from planner.reporting.format import code_and_words, visible
from planner.reporting.pictures import drawn

_MARKED = re.compile(r"""[&<>"']""")
_OF_PAGE = re.compile(r":root|\bhtml\b|\bbody\b")
"""Selectors of a whole page."""
_SHORT, _LONG = 18, 80
"""Characters of a text that stays on one line, and of one that has a wide column."""
_LINE = Markup("\n")
Links = Mapping[str, str]
"""Addresses, by the anchors that they replace."""
_NO_LINKS: Links = MappingProxyType({})


def render(document: Document, title: str) -> str:
    """Return the document as a page that ends with a line feed."""
    content, contents = part(document, title, _NO_LINKS)
    page = Markup(_file("page.html")).format(
        title=visible(title),
        style=Markup(style()),
        style_digest=_digest(style()),
        script=Markup(script()),
        script_digest=_digest(script()),
        short=Markup("" if contents else ' class="short"'),
        contents=contents + _LINE if contents else "",
        content=content,
    )
    return str(page)


def fragment(document: Document, title: str) -> str:
    """Return the document as a part of another page; its style reaches nothing else there."""
    own = _OF_PAGE.sub(":scope", style())
    scoped = Markup(f"@scope (.gpu-fit-planner){{{own}}}")
    return str(
        _tag(
            "div",
            _tag("style", scoped),
            _blocks(document, title, _addresses(document)),
            class_="gpu-fit-planner short",
        )
    )


def part(document: Document, title: str, links: Links) -> tuple[Markup, Markup]:
    """Return the document, and a list of its sections, for a page that has `style` and `script`.

    What leads to an anchor that is in `links` leads to its address there.
    """
    blocks = tuple(
        replace(block, anchor=block.anchor or f"part-{place}")
        if isinstance(block, Heading) and block.level == 2
        else block
        for place, block in enumerate(document)
    )
    sections = [one for one in blocks if isinstance(one, Heading) and one.level == 2]
    content = _blocks(blocks, title, _addresses(blocks, links))
    return content, _contents(sections) if sections else Markup()


def style() -> str:
    """Return the style of every page."""
    return _file("page.css")


def script() -> str:
    """Return the script that sorts and filters tables, and shows the formula of a figure."""
    return _file("page.js")


@cache
def _file(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


def _digest(text: str) -> str:
    """Return a digest as a content security policy names what may run."""
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def _tag(name: str, *inner: str, **attributes: str) -> Markup:
    """Return an element; words are escaped, markup is not, empty attributes are left out.

    Names of attributes are written `aria_label` and `class_`.
    """
    told = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{_shown(value)}"'
        for key, value in attributes.items()
        if value
    )
    return Markup(f"<{name}{told}>{''.join(map(_shown, inner))}</{name}>")


def _shown(text: str) -> str:
    return text if isinstance(text, Markup) else _escaped(visible(text))


def _escaped(text: str) -> str:
    """Return plain text: pieces that are joined to Markup would be escaped once more."""
    return str(escape(text)) if _MARKED.search(text) else text


@lru_cache(maxsize=10_000)
def _prose(text: str) -> Markup:
    """Return words, with code marked as such."""
    parts = enumerate(map(_shown, code_and_words(text)))
    return Markup("".join(f"<code>{part}</code>" if place % 2 else part for place, part in parts))


def _addresses(document: Document, links: Links = _NO_LINKS) -> Links:
    """Return where each anchor of the document is, and those in `links`.

    What leads to any other anchor, which only another edition has, is drawn without a link.
    """
    found = {}
    for block in document:
        if isinstance(block, Heading | Fold) and block.anchor:
            found[block.anchor] = f"#{block.anchor}"
        if isinstance(block, Fold):
            found |= _addresses(block.blocks)
    return {**found, **links}


def _contents(sections: list[Heading]) -> Markup:
    links = (_tag("li", _tag("a", one.text, href=f"#{one.anchor}")) for one in sections)
    return _tag("nav", _tag("ol", *links), aria_label="Sections")


def _blocks(blocks: Document, title: str, links: Links) -> Markup:
    """Return blocks below a title, each on a line of its own."""
    pieces = []
    for block in blocks:
        if isinstance(block, Heading):
            title = block.text
        pieces.append(f"{_block(block, title, links)}\n")
    return Markup("".join(pieces))


def _block(block: Block, title: str, links: Links) -> Markup:
    match block:
        case Heading():
            return _tag(f"h{block.level}", block.text, id=block.anchor)
        case Paragraph():
            return _tag("p", _prose(block.text), class_=_tone(block))
        case Bullets():
            items = (_tag("li", _prose(item)) for item in block.items)
            return _tag("ul", *items, class_=_tone(block))
        case Fields():
            rows = (
                _tag("div", _tag("dt", name), _tag("dd", _cell(said, links)))
                for name, said in block.rows
            )
            return _tag("dl", *rows)
        case Table():
            return _table(block, block.caption or title, links)
        case Fold():
            inner = _tag("div", _LINE, _blocks(block.blocks, block.title, links), id=block.anchor)
            return _tag("details", _tag("summary", block.title), inner)
        case Verbatim():
            return _tag("pre", *(Markup(f"{_shown(line)}\n") for line in block.lines), tabindex="0")
        case _:
            return _picture(block, links)


def _tone(block: Paragraph | Bullets) -> str:
    return "" if block.tone == "plain" else block.tone


def _picture(block: Picture, links: Links) -> Markup:
    shown = _tag(
        *("div", Markup(drawn(block, links))),
        class_="wide",
        tabindex="0",
        role="group",
        aria_label=block.title,
    )
    words = _tag("figcaption", _tag("b", f"{block.title}."), " ", _prose(block.says))
    drawn_figure = _tag("figure", shown, words)
    if isinstance(block, NodeMap):
        return drawn_figure + _LINE + _table(block.key, block.key.caption, links)
    return drawn_figure


def _table(table: Table, title: str, links: Links) -> Markup:
    columns = table.columns
    heads = (
        _tag("th", column.title, scope="col", class_="r" * (column.align == "right"))
        for column in columns
    )
    rows = (part for row in table.rows for part in (_row(row, columns, links), _LINE))
    foot = (_tag("tfoot", _row(table.footer, columns, links)), _LINE) if table.footer else ()
    parts = (
        _tag("caption", title, class_="" if table.caption else "unseen"),
        _LINE,
        _tag("thead", _tag("tr", *heads)),
        _LINE,
        _tag("tbody", _LINE, *rows),
        _LINE,
        *foot,
    )
    drawn_table = _tag("table", _LINE, *parts, class_="many" if len(columns) > 10 else "")
    is_key = len(columns) == 2 and columns[0].align == "right" and len(table.rows) > 12
    return _tag(
        *("div", _LINE, drawn_table, _LINE),
        class_="wide key" if is_key else "wide",
        role="region",
        aria_label=title,
        tabindex="0",
    )


# There are ten thousands of cells: as elements one by one, they would take most of the time.


def _row(row: tuple[Cell, ...], columns: tuple[Column, ...], links: Links) -> Markup:
    """Return a row of a table."""
    cells = (
        f"<td{_look(cell, column)}>{_cell(cell, links)}</td>"
        for cell, column in zip(row, columns, strict=False)
    )
    return Markup(f"<tr>{''.join(cells)}</tr>")


def _look(cell: Cell, column: Column) -> str:
    """Say how a cell is drawn: at the right, or as text that may wrap, with room for its length."""
    if column.align == "right":
        return ' class="r"'
    length = len(cell if isinstance(cell, str) else cell.text)
    if not column.wraps or length <= _SHORT:
        return ""
    return ' class="w l"' if length > _LONG else ' class="w"'


def _cell(cell: Cell, links: Links) -> Markup:
    if isinstance(cell, str):
        return _prose(cell)
    text = _escaped(visible(cell.text))
    if isinstance(cell, Figure):
        terms, plain = _escaped(cell.sum), _escaped(_plain(cell))
        told = f'<span class="n" tabindex="0" title="{terms}" data-v="{plain}">{text}</span>'
    elif isinstance(cell, Link):
        to = links.get(cell.to)
        told = f'<a href="{_escaped(to)}">{text}</a>' if to else _prose(cell.text)
    else:
        told = f'<span class="blank">{_prose(cell.text)}</span>'
    return Markup(told)


def _plain(figure: Figure) -> str:
    """Return the whole value, for sorting and checking: in the unit of plan.json."""
    value = figure.value
    if isinstance(value, date):
        return value.isoformat()
    return str(value.numerator) if value.denominator == 1 else repr(float(value))


def printer() -> Callable[[str], bytes]:
    """Return a function that prints a page as a PDF.

    Raises InputError if WeasyPrint or its libraries are missing.
    """
    try:
        from weasyprint import HTML  # noqa: PLC0415 - an extra, and slow to load
    except (ImportError, OSError):
        raise InputError(
            Finding(
                "`--pdf` needs WeasyPrint, which is not installed here",
                hint="pip install 'gpu-fit-planner[pdf]', or print the HTML file from a browser",
            )
        ) from None

    def print_page(html: str) -> bytes:
        printed: bytes = HTML(string=html, url_fetcher=_fetch).write_pdf()
        return printed

    return print_page


def _fetch(url: str) -> NoReturn:
    """Refuse: a page needs nothing that is not in it."""
    raise ValueError(url)
