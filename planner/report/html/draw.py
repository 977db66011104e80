"""Draws a document as one HTML file: no network, no code from data, the same bytes every time."""

from __future__ import annotations

import base64
import hashlib
import re
from datetime import date
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, get_args

from jinja2 import BaseLoader, Environment, StrictUndefined, Template
from markupsafe import Markup, escape

from planner.report.document import (
    Bullets,
    Cell,
    Column,
    Document,
    Fields,
    Figure,
    Fold,
    Heading,
    Link,
    Paragraph,
    Picture,
    Table,
)
from planner.report.format import visible
from planner.report.html.pictures import drawn

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["draw"]

_KINDS: dict[str, type | tuple[type, ...]] = {
    "bullets": Bullets,
    "fields": Fields,
    "fold": Fold,
    "heading": Heading,
    "paragraph": Paragraph,
    "picture": get_args(Picture),
    "table": Table,
}


_CODE = re.compile(r"`([^`]+)`")
_MARKED = re.compile(r"""[&<>"']""")
_LOOKS = {
    ("left", False): "",
    ("left", True): ' class="w"',
    ("right", False): ' class="r"',
    ("right", True): ' class="r"',
}


def draw(document: Document, title: str) -> str:
    """The document as a page that ends with a line feed."""
    style, script = _part("page.css"), _part("page.js")
    return _page().render(document=document, title=title, style=style, script=script) + "\n"


@cache
def _page() -> Template:
    environment = Environment(
        loader=BaseLoader(), autoescape=True, undefined=StrictUndefined, auto_reload=False
    )
    environment.filters |= {
        "cell": _cell,
        "digest": _digest,
        "picture": _picture,
        "prose": _prose,
        "row": _row,
        "visible": visible,
    }
    environment.tests |= {name: _is(kind) for name, kind in _KINDS.items()}
    return environment.from_string(_part("page.html.j2"))


@cache
def _part(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


def _is(kind: type | tuple[type, ...]) -> Callable[[Any], bool]:
    return lambda one: isinstance(one, kind)


def _digest(text: str) -> str:
    """As a content security policy names what may run."""
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def _plain(figure: Figure) -> str:
    """The whole value, to sort by and to check: in the unit of plan.json."""
    value = figure.value
    if isinstance(value, date):
        return value.isoformat()
    return str(value.numerator) if value.denominator == 1 else repr(float(value))


def _prose(text: str) -> Markup:
    """Words, what stands between backticks as code."""
    return Markup(_CODE.sub(r"<code>\1</code>", _escaped(visible(text))))


def _escaped(text: str) -> str:
    """As plain text: pieces that are joined to Markup would be escaped once more."""
    return str(escape(text)) if _MARKED.search(text) else text


# There are ten thousands of cells: filled in by a template, they would take most of the time.


def _row(row: tuple[Cell, ...], columns: tuple[Column, ...]) -> Markup:
    """A row of a table."""
    cells = (
        f"<td{_LOOKS[column.align, column.wraps]}>{_cell(cell)}</td>"
        for cell, column in zip(row, columns, strict=False)
    )
    return Markup(f"<tr>{''.join(cells)}</tr>")


def _cell(cell: Cell) -> Markup:
    if isinstance(cell, str):
        return _prose(cell)
    text = _escaped(visible(cell.text))
    if isinstance(cell, Figure):
        trace, terms, plain = map(_escaped, (cell.trace, cell.sum, _plain(cell)))
        told = f'<a class="n" href="#{trace}" title="{terms}" data-v="{plain}">{text}</a>'
    elif isinstance(cell, Link):
        told = f'<a href="#{_escaped(cell.to)}">{text}</a>'
    else:
        told = f'<span class="blank">{_prose(cell.text)}</span>'
    return Markup(told)


def _picture(block: Picture) -> Markup:
    return Markup(drawn(block))
