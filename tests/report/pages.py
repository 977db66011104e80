"""Reads a page as a browser would, and finds what it claims."""

from __future__ import annotations

import html
import re
from html.parser import HTMLParser
from typing import NamedTuple

_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")


class Shown(NamedTuple):
    """A figure of a page: its anchor, its sum over plan.json, its value, its words."""

    to: str
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
        if given.get("class") == "n":
            self._figure = [given["href"].removeprefix("#"), given["title"], given["data-v"], ""]

    def handle_endtag(self, tag):
        if tag == self._silent:
            self._silent = ""
        if tag == "a" and self._figure:
            self.figures.append(Shown(*self._figure))
            self._figure = None

    def handle_data(self, data):
        if self._figure:
            self._figure[3] += data
        elif not self._silent:
            self.words.append(data)

    @property
    def numbers(self):
        """Every number of the running text, figures left out."""
        return _NUMBER.findall(" ".join(self.words))
