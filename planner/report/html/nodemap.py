"""The node map as SVG: one square per GPU, one band per job."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from planner.report.html.chart import canvas, colour_class, put, strips

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

    from planner.report.document import NodeMap

__all__ = ["node_map_svg"]

_CELL, _ROW, _NAME_CHARACTER = 18, 24, 7.2


def node_map_svg(picture: NodeMap) -> Element:
    """Rows of nodes under their quarters; jobs are numbered as in the list of jobs."""
    gpus = max((len(held) for _, cells in picture.rows for held in cells if held), default=1)
    names = round(max((len(name) for name, _ in picture.rows), default=0) * _NAME_CHARACTER) + 12
    column, down = gpus * _CELL + 18, 24 + _ROW * len(picture.rows)
    columns = strips(len(picture.columns), names, column)
    width = names + column * max(map(len, columns))
    svg = canvas(width, down * len(columns), **{"class": "map", "width": str(width)})
    for strip, places in enumerate(columns):
        top = down * strip
        for at, place in enumerate(places):
            put(svg, "text", picture.columns[place], x=names + column * at, y=top + 14)
        for line, (name, cells) in enumerate(picture.rows):
            y = top + 22 + _ROW * line
            put(svg, "text", name, x=0, y=y + 13)
            for at, place in enumerate(places):
                held = cells[place]
                if held is not None:
                    _node(svg, held, names + column * at, y, picture)
    return svg


def _node(
    svg: Element, held: tuple[tuple[str, ...], ...], x: int, y: int, picture: NodeMap
) -> None:
    first = 0
    for jobs, group in groupby(held):
        gpus = len(list(group))
        left, width = x + first * _CELL, gpus * _CELL - 2
        first += gpus
        if not jobs:
            for gpu in range(gpus):
                put(
                    svg,
                    "rect",
                    class_="free",
                    x=left + gpu * _CELL + 0.5,
                    y=y + 0.5,
                    width=_CELL - 3,
                    height=_CELL - 1,
                )
            continue
        alone = len(jobs) == 1
        label = str(picture.numbers[jobs[0]]) if alone else "+"
        colour = colour_class(picture.numbers[jobs[0]]) if alone else "shared"
        band = put(svg, "rect", class_=colour, x=left, y=y, width=width, height=_CELL)
        put(band, "title", f"{', '.join(jobs)}: {gpus}")
        middle = left + width / 2
        put(svg, "text", label, class_="on", x=middle, y=y + 13, text_anchor="middle")
