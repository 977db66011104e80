"""Draws a document as one HTML file: no network, no code from data, the same bytes every time."""

from __future__ import annotations

import base64
import hashlib
import re
from datetime import date
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, get_args

from jinja2 import BaseLoader, Environment, StrictUndefined
from markupsafe import Markup, escape

from planner.report.document import (
    Bullets,
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
    "figure": Figure,
    "fold": Fold,
    "heading": Heading,
    "link": Link,
    "paragraph": Paragraph,
    "picture": get_args(Picture),
    "table": Table,
}


_CODE = re.compile(r"`([^`]+)`")


def draw(document: Document, title: str) -> str:
    """The document as a page that ends with a line feed."""
    style, script = _part("page.css"), _part("page.js")
    page = _environment().from_string(_part("page.html.j2"))
    return page.render(document=document, title=title, style=style, script=script) + "\n"


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=BaseLoader(), autoescape=True, undefined=StrictUndefined, auto_reload=False
    )
    environment.filters |= {
        "digest": _digest,
        "picture": _picture,
        "plain": _plain,
        "prose": _prose,
        "visible": visible,
    }
    environment.tests |= {name: _is(kind) for name, kind in _KINDS.items()}
    return environment


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
    # As plain text: pieces that are joined to Markup would be escaped once more.
    escaped = str(escape(visible(text)))
    return Markup(_CODE.sub(r"<code>\1</code>", escaped))


def _picture(block: Picture) -> Markup:
    return Markup(drawn(block))
