"""Pictures that stand in files of their own: plain SVG with its words inside, no script, no font.

Names from a scenario are text nodes of an XML tree and so cannot open markup.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.etree.ElementTree import Element, indent, tostring

from planner.report.html.chart import put

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["bars_svg", "curve_svg", "frontier_svg"]

_WIDTH, _LABELS, _VALUES, _TOP, _ROW = 860, 210, 110, 46, 28
_LONGEST = 32
_STYLE = """
text { font: 12px system-ui, sans-serif; fill: #1c1c1c }
.title { font-size: 14px; font-weight: 600 }
.paper { fill: #ffffff } .low { fill: #3b7ea1 } .high { fill: #c8743a } .axis { stroke: #8a8a8a }
.curve { fill: none; stroke: #3b7ea1; stroke-width: 2.5 }
"""


def bars_svg(
    title: str,
    says: str,
    rows: Sequence[tuple[str, tuple[float, str], tuple[float, str]]],
    middle: tuple[float, str],
) -> str:
    """Bars to both sides of one value, row by row: each a name and two ends with their words.

    `says` is the picture in words, for who cannot see it.
    """
    height = _TOP + _ROW * len(rows) + 24
    svg = _canvas(title, says, height)
    values = [middle[0], *(end for _, *ends in rows for end, _ in ends)]
    low, span = min(values), (max(values) - min(values)) or 1.0

    def x(value: float) -> float:
        room = _WIDTH - _LABELS - 2 * _VALUES
        return round(_LABELS + _VALUES + (value - low) / span * room, 1)

    for place, (name, first, second) in enumerate(rows):
        y = _TOP + _ROW * place
        put(svg, "text", _shortened(name), x=8, y=y + 17)
        for kind, (value, words) in (("low", first), ("high", second)):
            left, right = sorted((x(value), x(middle[0])))
            bar = put(
                svg, "rect", class_=kind, x=left, y=y + 4, width=max(right - left, 0.5), height=18
            )
            put(bar, "title", f"{name}: {words}")
        _ends(svg, y + 17, sorted((first, second)), x)
    foot = _TOP + _ROW * len(rows)
    put(svg, "line", class_="axis", x1=x(middle[0]), x2=x(middle[0]), y1=_TOP - 6, y2=foot + 4)
    put(svg, "text", middle[1], x=x(middle[0]), y=foot + 18, text_anchor="middle")
    return _written(svg)


def curve_svg(
    title: str, says: str, values: Sequence[float], marks: Sequence[tuple[float, float, str]]
) -> str:
    """The share of cases at or below each value, from sorted values, as steps.

    `marks` are values with the share that lies at or below them, and their words.
    """
    height, left, right, top, bottom = 330, 60, _WIDTH - 40, 60, 280
    svg = _canvas(title, says, height)
    low, span = values[0], (values[-1] - values[0]) or 1.0

    def at(value: float, share: float) -> tuple[float, float]:
        x = left + (value - low) / span * (right - left)
        return round(x, 1), round(bottom - share * (bottom - top), 1)

    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        _, y = at(low, share)
        put(svg, "line", class_="axis", x1=left, x2=right, y1=y, y2=y)
        put(svg, "text", f"{share:.0%}", x=left - 8, y=y + 4, text_anchor="end")
    points = [at(low, 0.0)]
    for number, value in enumerate(values):
        points += [at(value, number / len(values)), at(value, (number + 1) / len(values))]
    drawn = " ".join(f"{x:g},{y:g}" for x, y in points)
    put(svg, "polyline", class_="curve", points=drawn)
    for number, (value, share, words) in enumerate(marks):
        x, y = at(value, share)
        put(svg, "circle", class_="high", cx=x, cy=y, r=4)
        foot = bottom + 18 + 15 * (number % 2)
        put(svg, "line", class_="axis", x1=x, x2=x, y1=y, y2=bottom)
        put(svg, "text", words, x=x, y=foot, text_anchor="middle")
    return _written(svg)


def frontier_svg(
    title: str, says: str, points: Sequence[tuple[float, float, str]], axes: tuple[str, str]
) -> str:
    """Points by what they cost and what they give, those joined that nothing cheaper equals."""
    height, left, right, top, bottom = 360, 60, _WIDTH - 40, 60, 310
    svg = _canvas(title, says, height)
    costs, gains = [cost for cost, _, _ in points], [gain for _, gain, _ in points]
    width = (max(costs) - min(costs)) or 1.0
    rise = (max(gains) - min(gains)) or 1.0

    def at(cost: float, gain: float) -> tuple[float, float]:
        x = left + (cost - min(costs)) / width * (right - left)
        return round(x, 1), round(bottom - (gain - min(gains)) / rise * (bottom - top), 1)

    put(svg, "line", class_="axis", x1=left, x2=right, y1=bottom + 10, y2=bottom + 10)
    put(svg, "line", class_="axis", x1=left - 10, x2=left - 10, y1=top, y2=bottom)
    put(svg, "text", axes[0], x=right, y=bottom + 42, text_anchor="end")
    put(svg, "text", axes[1], x=8, y=top - 14)
    for gain, y in ((max(gains), top + 4), (min(gains), bottom + 4)):
        put(svg, "text", f"{gain:.1%}", x=left - 14, y=y, text_anchor="end")
    for cost, x, anchor in ((min(costs), left, "start"), (max(costs), right, "end")):
        put(svg, "text", f"${cost:,.0f}", x=x, y=bottom + 26, text_anchor=anchor)
    best: list[tuple[float, float]] = []
    for cost, gain, _ in sorted(points, key=lambda point: (point[0], -point[1])):
        if not best or gain > best[-1][1]:
            best.append((cost, gain))
    path = " ".join(f"{x:g},{y:g}" for x, y in (at(*point) for point in best))
    put(svg, "polyline", class_="curve", points=path)
    for cost, gain, words in points:
        across, up = at(cost, gain)
        dot = put(svg, "circle", class_="high", cx=across, cy=up, r=4)
        put(dot, "title", words)
    return _written(svg)


def _ends(
    svg: Element, y: int, ends: Sequence[tuple[float, str]], x: Callable[[float], float]
) -> None:
    (low, low_words), (high, high_words) = ends
    put(svg, "text", low_words, x=x(low) - 5, y=y, text_anchor="end")
    put(svg, "text", high_words, x=x(high) + 5, y=y)


def _canvas(title: str, says: str, height: int) -> Element:
    svg = Element(
        "svg",
        {
            "xmlns": "http://www.w3.org/2000/svg",
            "viewBox": f"0 0 {_WIDTH} {height}",
            "role": "img",
            "aria-labelledby": "title words",
        },
    )
    put(svg, "title", title, id="title")
    put(svg, "desc", says, id="words")
    put(svg, "style").text = _STYLE
    put(svg, "rect", class_="paper", x=0, y=0, width=_WIDTH, height=height)
    put(svg, "text", title, class_="title", x=8, y=22)
    return svg


def _shortened(name: str) -> str:
    """So that it ends before the bars; the whole name stands in what they say."""
    return name if len(name) <= _LONGEST else f"{name[: _LONGEST - 1]}…"


def _written(svg: Element) -> str:
    indent(svg, " ")
    return tostring(svg, encoding="unicode") + "\n"
