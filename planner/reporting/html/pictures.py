"""Every kind of picture as SVG: within a page, or in a file of its own with its words inside.

Names from a scenario are text nodes of an XML tree and so cannot open markup.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from xml.etree.ElementTree import Element, indent, tostring

from planner.reporting.document import (
    Bands,
    Chart,
    Gantt,
    NodeMap,
    Picture,
    Tornado,
)
from planner.reporting.html.chart import TO, chart_svg, put
from planner.reporting.html.grids import gantt, node_map_svg
from planner.reporting.html.plots import bands, tornado

_HEAD = 34


_DRAW: dict[type[Picture], Callable[..., Element]] = {
    Bands: bands,
    Chart: chart_svg,
    Gantt: gantt,
    NodeMap: node_map_svg,
    Tornado: tornado,
}


def drawn(picture: Picture, links: Mapping[str, str] = MappingProxyType({})) -> str:
    """For a page: its words stand in the caption there.

    `links` are addresses by what parts of it may lead to. They are for a mouse alone: what a
    picture shows stands in a table, too, with links for the keyboard.
    """
    return tostring(_linked(_DRAW[type(picture)](picture), links), encoding="unicode")


def _linked(tree: Element, links: Mapping[str, str]) -> Element:
    for parent in list(tree.iter()):
        for place, child in enumerate(list(parent)):
            address = links.get(child.attrib.pop(TO, ""))
            if address is not None:
                link = Element("a", {"href": address, "tabindex": "-1"})
                link.append(child)
                parent[place] = link
    return tree


def picture_file(picture: Picture) -> str:
    """For a file: no script, no font, its title and words inside, on white paper."""
    inner = _linked(_DRAW[type(picture)](picture), {})
    _, _, across, down = map(float, inner.attrib["viewBox"].split())
    svg = Element(
        "svg",
        {
            "xmlns": "http://www.w3.org/2000/svg",
            "viewBox": f"0 0 {across:g} {down + _HEAD:g}",
            "role": "img",
            "aria-labelledby": "title words",
            "fill": "#1c1c1c",
            "font-family": inner.attrib["font-family"],
        },
    )
    put(svg, "title", picture.title, id="title")
    put(svg, "desc", picture.says, id="words")
    put(svg, "rect", fill="#ffffff", x=0, y=0, width=across, height=down + _HEAD)
    put(svg, "text", picture.title, font_size=14, font_weight=600, x=8, y=22)
    inner.attrib |= {"y": str(_HEAD), "width": f"{across:g}", "height": f"{down:g}"}
    svg.append(inner)
    indent(svg, " ")
    return tostring(svg, encoding="unicode") + "\n"
