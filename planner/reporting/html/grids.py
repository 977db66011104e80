"""Pictures in rows and columns as SVG: who holds which GPU, and when."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby
from xml.etree.ElementTree import Element

from planner.reporting.document import SPARE, Bar, Gantt, NodeMap
from planner.reporting.html.chart import TO, canvas, coloured, put

_ROW, _TOP, _CHARACTER = 24, 24, 7.2
_GAP = 18
_CELL, _GPU = 34, 18
_WIDEST = 1000


def _strips(count: int, left: int, each: int) -> list[range]:
    """Which columns stand beside each other, where all of them are too wide to be read on a page.

    `left` is what stands before them and `each` the width of one, both in pixels.
    """
    abreast = max(1, (_WIDEST - left) // each)
    shown = -(-count // -(-count // abreast))
    return [range(first, min(first + shown, count)) for first in range(0, count, shown)]


def gantt(picture: Gantt) -> Element:
    """A bar for each thing under the head of its group, its name beside it or inside."""
    rows = sum(1 + len(bars) for _, bars in picture.groups)
    labels = _width(bar.label for _, bars in picture.groups for bar in bars) + 12
    right = labels + _CELL * picture.cells
    names = _width(bar.name for _, bars in picture.groups for bar in bars)
    heads = _width(head for head, _ in picture.groups)
    width = max(right + 8 + names, heads)
    foot = _TOP + _ROW * rows
    svg = canvas(width, foot, **{"class": "map", "width": str(width)})
    for cell in range(picture.cells + 1):
        x = labels + _CELL * cell
        put(svg, "line", class_="axis", x1=x, x2=x, y1=_TOP - 4, y2=foot)
        if cell < picture.cells:
            middle = x + _CELL / 2
            put(svg, "text", str(cell + 1), x=middle, y=14, text_anchor="middle")
    y = _TOP
    for head, bars in picture.groups:
        put(svg, "text", head, x=0, y=y + 14, font_weight=600)
        y += _ROW
        for bar in bars:
            _bar(svg, bar, labels, y)
            put(svg, "text", bar.name, x=right + 8, y=y + 13)
            y += _ROW
    return svg


def _bar(svg: Element, bar: Bar, labels: int, y: int) -> None:
    put(svg, "text", bar.label, x=12, y=y + 13)
    left, width = labels + _CELL * (bar.first - 1), _CELL * (bar.last - bar.first + 1)
    drawn = coloured(svg, bar.number, left + 1, y, width - 2, 18)
    put(drawn, "title", f"{bar.name}: {bar.when}")
    middle = left + width / 2
    put(svg, "text", str(bar.number), class_="on", x=middle, y=y + 13, text_anchor="middle")


def _width(names: Iterable[str]) -> int:
    return round(max(map(len, names), default=0) * _CHARACTER) + 12


def node_map_svg(picture: NodeMap) -> Element:
    """Rows of nodes under their quarters; jobs are numbered as in the list of jobs."""
    gpus = max((len(held) for _, cells in picture.rows for held in cells if held), default=1)
    names, each = _width(name for name, _ in picture.rows), gpus * _GPU + _GAP
    strips = _strips(len(picture.columns), names, each)
    width, down = names + each * max(map(len, strips)), _TOP + _ROW * len(picture.rows)
    svg = canvas(width, down * len(strips), **{"class": "map", "width": str(width)})
    for strip, places in enumerate(strips):
        top = down * strip
        for at, place in enumerate(places):
            put(svg, "text", picture.columns[place], x=names + each * at, y=top + 14)
        for row, (name, cells) in enumerate(picture.rows):
            y = top + _TOP + _ROW * row
            put(svg, "text", name, x=0, y=y + 13)
            for at, place in enumerate(places):
                if (held := cells[place]) is not None:
                    _node(svg, held, names + each * at, y, picture)
    return svg


def _node(
    svg: Element, held: tuple[tuple[str, ...], ...], x: int, y: int, picture: NodeMap
) -> None:
    first = 0
    for jobs, group in groupby(held):
        gpus = len(list(group))
        left, width = x + first * _GPU, gpus * _GPU - 2
        first += gpus
        if not jobs:
            for gpu in range(gpus):
                put(
                    svg,
                    "rect",
                    class_="free",
                    x=left + gpu * _GPU + 0.5,
                    y=y + 0.5,
                    width=_GPU - 3,
                    height=_GPU - 1,
                )
            continue
        if jobs == (SPARE,):
            frame = put(svg, "rect", class_="kept", x=left, y=y, width=width, height=_GPU)
            put(frame, "title", f"kept empty as spare: {gpus}")
            put(svg, "text", "spare", x=left + width / 2, y=y + 13, text_anchor="middle")
            continue
        alone = len(jobs) == 1
        label = str(picture.numbers[jobs[0]]) if alone else "+"
        if alone:
            band = coloured(svg, picture.numbers[jobs[0]], left, y, width, _GPU)
        else:
            band = put(svg, "rect", class_="shared", x=left, y=y, width=width, height=_GPU)
        told = f"; {picture.told[jobs[0]]}" if alone else ""
        put(band, "title", f"{', '.join(jobs)}: {gpus} of {len(held)} GPUs here{told}")
        if alone:
            band.set(TO, f"job-{picture.numbers[jobs[0]]}")
        middle = left + width / 2
        put(svg, "text", label, class_="on", x=middle, y=y + 13, text_anchor="middle")
