"""Documents of a plan as their readers have them; a page as a browser reads it."""

import html
import re
from fractions import Fraction
from html.parser import HTMLParser
from typing import Any, NamedTuple

import pytest

from planner.planning.plan import Plan
from planner.reporting import markdown, terminal
from planner.reporting.documents import (
    justification_document,
    plan_document,
    quarterly_document,
)
from planner.reporting.traced import FULL, SCREEN
from tests.report.sums import again_in


def justification(plan: Plan, *beside: Any) -> str:
    """The justification in Markdown."""
    return markdown.render(justification_document(plan, *beside))


def quarterly(plan: Plan, *beside: Any) -> str:
    """The quarterly plan in Markdown."""
    return markdown.render(quarterly_document(plan, *beside))


def plan_page(plan: Plan) -> str:
    """plan.md, whole."""
    return markdown.render(plan_document(plan, FULL))


def told(plan: Plan) -> str:
    """Its words, whatever breaks their lines."""
    return " ".join(plan_page(plan).split())


def screen(plan: Plan, *options: Any, **more: Any) -> str:
    """What a terminal shows of it, of this width."""
    return terminal.render(plan_document(plan, SCREEN), terminal.TerminalOptions(*options, **more))


_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_IN_CELL = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?")
_POINTER = re.compile(r"(?:section|sections|line) \d+|^[AR]\d+$|\[\d+\]")


def _gather(value: Any, known: set[Fraction]) -> None:
    """Every number of a document, those within its texts too."""
    if isinstance(value, dict):
        for key, one in value.items():
            _gather(key, known)
            _gather(one, known)
    elif isinstance(value, list):
        for one in value:
            _gather(one, known)
    elif isinstance(value, str):
        known.update(Fraction(one) for one in re.findall(r"\d+(?:\.\d+)?", value.replace(",", "")))
    elif isinstance(value, int | float) and not isinstance(value, bool):
        known.add(abs(Fraction(repr(value))))


class Shown(NamedTuple):
    """A figure of a page: its sum over plan.json, its value, its words."""

    sum: str
    value: str
    text: str


class Page(HTMLParser):
    """Figures, anchors, links and running text of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.links: list[str] = []
        self.loads: list[str] = []
        self.figures: list[Shown] = []
        self.tags: list[str] = []
        self.words: list[str] = []
        self.cells: list[str] = []
        """Words of table cells and fields, without the figures in them."""
        self._cell: str | None = None
        self._figure: list[str] | None = None
        self._silent = ""
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        given = {key: html.unescape(value or "") for key, value in attrs}
        self.tags.append(tag)
        self.ids += [given["id"]] if "id" in given else []
        self.links += [given["href"]] if "href" in given else []
        self.loads += [given[key] for key in ("src", "srcset", "data", "action") if key in given]
        self.loads += [value for key, value in given.items() if key.startswith("on")]
        if tag in ("style", "script", "svg"):
            self._silent = self._silent or tag
        if tag in ("td", "dd"):
            self._cell = ""
        if given.get("class") == "n":
            self._figure = [given["title"], given["data-v"], ""]

    def handle_endtag(self, tag):
        if tag == self._silent:
            self._silent = ""
        if tag in ("td", "dd") and self._cell is not None:
            self.cells.append(self._cell)
            self._cell = None
        if tag == "span" and self._figure:
            self.figures.append(Shown(*self._figure))
            self._figure = None

    def handle_data(self, data):
        if self._figure:
            self._figure[2] += data
        elif not self._silent:
            self.words.append(data)
            if self._cell is not None:
                self._cell += data

    def come_out_again(self, files, *, of=""):
        """The figures whose sums begin so; each comes out of these files."""
        figures = [one for one in self.figures if one.sum.startswith(of)]
        for figure in figures:
            value = again_in(files, figure.sum)
            if isinstance(value, str):
                assert figure.text == figure.value == value
            else:
                assert float(figure.value) == pytest.approx(float(value), rel=1e-12), figure
        return figures

    def loose(self, *files):
        """Numbers in cells that stand nowhere in these files, as values or in their texts.

        They may be rounded, per cent, or in USD, kW or GB. What points to another place of the
        document, such as `section 10`, counts nothing.
        """
        known: set[Fraction] = set()
        for file in files:
            _gather(file, known)
        for per in (100, 1000, Fraction(1, 100)):
            known |= {value / per for value in known}
        rounded = {digits: {round(value, digits) for value in known} for digits in range(10)}
        for cell in self.cells:
            for number in _IN_CELL.findall(_POINTER.sub("", cell)):
                digits = len(number.partition(".")[2])
                value = Fraction(number.replace(",", ""))
                if value not in known and value not in rounded.get(digits, ()):
                    yield number, cell

    @property
    def numbers(self):
        """Every number of the running text, figures left out."""
        return _NUMBER.findall(" ".join(self.words))
