"""The node map as SVG: one square per GPU, one band per job."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from planner.reporting.html.chart import colour_class, put
from planner.reporting.html.grids import grid

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

    from planner.reporting.document import NodeMap

__all__ = ["node_map_svg"]

_CELL = 18


def node_map_svg(picture: NodeMap) -> Element:
    """Rows of nodes under their quarters; jobs are numbered as in the list of jobs."""
    gpus = max((len(held) for _, cells in picture.rows for held in cells if held), default=1)

    def node(svg: Element, row: int, place: int, x: int, y: int) -> None:
        held = picture.rows[row][1][place]
        if held is not None:
            _node(svg, held, x, y, picture)

    return grid(picture.columns, [name for name, _ in picture.rows], gpus * _CELL + 18, node)


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
