"""Every kind of picture as SVG within a page.

Names from a scenario are text nodes of an XML tree, and so cannot open markup.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from itertools import groupby
from math import floor, isfinite, log10
from types import MappingProxyType
from xml.etree.ElementTree import Element, SubElement, tostring

from planner.reporting.document import (
    SPARE,
    Chart,
    Figure,
    Gantt,
    HeldGpus,
    NodeMap,
    Picture,
    Tornado,
)
from planner.reporting.format import shortened, visible

_TO = "data-to"
"""The attribute of what leads somewhere, if the page says where."""

_WIDTH, _LEFT, _RIGHT, _TOP, _HEIGHT = 720, 78, 12, 26, 220
_LEGEND_ROW, _LEGEND_COLUMN, _MARK = 18, 170, 100
_TICKS, _LABELLED = 5, 10
_COLOURS = (
    *("#0b62a8", "#d97400", "#00805a", "#a83e8d", "#6d5bd0", "#8a6d00"),
    *("#c2382e", "#2f7f8f", "#5d6b78", "#7a8f00", "#b3590f", "#3f51b5"),
)
_LOOKS = {
    "axis": {"stroke": "#d0d7de"},
    "edge": {"stroke": "#57606a"},
    "free": {"fill": "none", "stroke": "#d0d7de"},
    "kept": {"fill": "#f6f8fa", "stroke": "#57606a", "stroke-dasharray": "3 2"},
    "mark": {"stroke": "#8a3b00", "stroke-width": "1.5", "stroke-dasharray": "4 3"},
    "on": {"fill": "#fff"},
    "over": {"fill": "none", "stroke": "#1b1f24", "stroke-width": "2.5"},
    "shared": {"fill": "#57606a"},
    **{f"k{number}": {"fill": colour} for number, colour in enumerate(_COLOURS)},
}
"""How each class looks if no style sheet reaches into a picture; if one does, it decides."""
_TEXT = {"font-size": "12", "font-family": "system-ui, 'DejaVu Sans', sans-serif"}


def put(parent: Element, tag: str, text: str = "", /, **attributes: object) -> Element:
    """Add an element; `_` in a name stands for `-`, a final one is dropped."""
    named = {
        name.rstrip("_").replace("_", "-"): f"{value:g}" if isinstance(value, float) else str(value)
        for name, value in attributes.items()
    }
    element = SubElement(parent, tag, {**_LOOKS.get(named.get("class", ""), {}), **named})
    if text:
        element.text = visible(text)
    return element


def canvas(across: int, down: int, **attributes: str) -> Element:
    """Return an empty picture, hidden from screen readers: its words are in the caption."""
    size = {"viewBox": f"0 0 {across} {down}", "aria-hidden": "true"}
    return Element("svg", {**size, **_TEXT, **attributes})


def chart_svg(chart: Chart) -> Element:
    """Draw stacked bars by category under lines, with a legend; no value is below zero."""
    places = range(len(chart.categories))
    bars = [series for series in chart.series if series.form == "bar"]
    lines = [series for series in chart.series if series.form == "line"]
    tops = [sum(_amount(series.values[place]) for series in bars) for place in places]
    high = max([*tops, *(_amount(one) for series in lines for one in series.values), 1.0])
    svg = canvas(_WIDTH, _TOP + _HEIGHT + 30 + _LEGEND_ROW)
    step = (_WIDTH - _LEFT - _RIGHT) / len(places)

    def y_of(value: float) -> float:
        return round(_TOP + _HEIGHT * (1 - value / high), 1)

    def x_of(place: float) -> float:
        return round(_LEFT + step * place, 1)

    for value in range(0, int(high) + 1, _tick(high)):
        y = y_of(value)
        put(svg, "line", class_="axis", x1=_LEFT, x2=_WIDTH - _RIGHT, y1=y, y2=y)
        put(svg, "text", f"{value:,}", x=_LEFT - 6, y=y + 4, text_anchor="end")
    put(svg, "text", chart.unit, x=4, y=14)
    ends = [*(x_of(place) for place, _ in chart.marks), _WIDTH][1:]
    for (place, event), end in zip(chart.marks, ends, strict=False):
        x = x_of(place) + 2
        line = put(svg, "line", class_="mark", x1=x, x2=x, y1=_TOP - 10, y2=_TOP + _HEIGHT)
        words = "▼ orders arrive" if end - x > _MARK else "▼"
        for one in (line, put(svg, "text", words, x=x + 3, y=_TOP - 8)):
            put(one, "title", event)
    for place, category in enumerate(chart.categories):
        reached = 0.0
        for number, series in enumerate(bars):
            figure = series.values[place]
            before, reached = reached, reached + _amount(figure)
            if reached > before:
                top, width = y_of(reached), round(step * 0.7, 1)
                box = {"y": top, "width": width, "height": round(y_of(before) - top, 1)}
                bar = put(svg, "rect", class_=_colour(number), x=x_of(place + 0.15), **box)
                put(bar, "title", f"{category}, {series.name}: {figure.text}")
    for series in lines:  # a step for each category: what holds for all of it
        points = [
            f"{x_of(at):g},{y_of(_amount(series.values[place])):g}"
            for place in places
            for at in (place, place + 1)
        ]
        put(svg, "polyline", class_="over", points=" ".join(points))
    for place in places[:: -(-len(places) // _LABELLED)]:
        x = x_of(place + 0.5)
        words = chart.categories[place]
        put(svg, "text", words, x=x, y=_TOP + _HEIGHT + 18, text_anchor="middle")
    for number, series in enumerate((*bars, *lines)):
        x, y = 10 + _LEGEND_COLUMN * number, _TOP + _HEIGHT + 34
        if series.form == "bar":
            put(svg, "rect", class_=_colour(number), x=x, y=y - 4, width=12, height=12)
        else:
            put(svg, "line", class_="over", x1=x, x2=x + 12, y1=y + 2, y2=y + 2)
        put(svg, "text", series.name, x=x + 18, y=y + 6)
    return svg


def _colour(number: int) -> str:
    """Return the class of a number's colour."""
    return f"k{number % len(_COLOURS)}"


def _amount(figure: Figure) -> float:
    assert isinstance(figure.value, Fraction)
    return float(figure.value)


def _tick(high: float) -> int:
    """Return a round distance between grid lines, in whole numbers."""
    raw = high / _TICKS
    power = int(10 ** max(0, floor(log10(raw))))
    return next(power * step for step in (1, 2, 5, 10) if power * step >= raw)


_GRID_ROW, _GRID_TOP, _CHARACTER = 24, 24, 7.2
_GAP = 18
_CELL, _GPU = 34, 18
_WIDEST = 1000


def gantt(picture: Gantt) -> Element:
    """Draw a bar for each thing under the head of its group, its name beside it or inside."""
    rows = sum(1 + len(bars) for _, bars in picture.groups)
    labels = _width(bar.label for _, bars in picture.groups for bar in bars) + 12
    right = labels + _CELL * picture.cells
    names = _width(bar.name for _, bars in picture.groups for bar in bars)
    heads = _width(head for head, _ in picture.groups)
    width = max(right + 8 + names, heads)
    foot = _GRID_TOP + _GRID_ROW * rows
    svg = canvas(width, foot, **{"class": "map", "width": str(width)})
    for cell in range(picture.cells + 1):
        x = labels + _CELL * cell
        put(svg, "line", class_="axis", x1=x, x2=x, y1=_GRID_TOP - 4, y2=foot)
        if cell < picture.cells:
            middle = x + _CELL / 2
            put(svg, "text", str(cell + 1), x=middle, y=14, text_anchor="middle")
    y = _GRID_TOP
    for head, bars in picture.groups:
        put(svg, "text", head, x=0, y=y + 14, font_weight=600)
        y += _GRID_ROW
        for bar in bars:
            put(svg, "text", bar.label, x=12, y=y + 13)
            left, across = labels + _CELL * (bar.first - 1), _CELL * (bar.last - bar.first + 1)
            looks = _colour(bar.number)
            drawn = put(svg, "rect", class_=looks, x=left + 1, y=y, width=across - 2, height=18)
            put(drawn, "title", f"{bar.name}: {bar.when}")
            middle = left + across / 2
            put(svg, "text", str(bar.number), class_="on", x=middle, y=y + 13, text_anchor="middle")
            put(svg, "text", bar.name, x=right + 8, y=y + 13)
            y += _GRID_ROW
    return svg


def _width(names: Iterable[str]) -> int:
    return round(max(map(len, names), default=0) * _CHARACTER) + 12


def node_map_svg(picture: NodeMap) -> Element:
    """Draw rows of nodes under their quarters; jobs are numbered as in the list of jobs."""
    gpus = max(
        (len(held) for _, cells in picture.rows for held in cells if isinstance(held, tuple)),
        default=1,
    )
    names, each = _width(name for name, _ in picture.rows), gpus * _GPU + _GAP
    # As many quarters side by side as can be read, and as many in each strip as in the others.
    count = len(picture.columns)
    shown = -(-count // -(-count // max(1, (_WIDEST - names) // each)))
    strips = [range(first, min(first + shown, count)) for first in range(0, count, shown)]
    width, down = names + each * max(map(len, strips)), _GRID_TOP + _GRID_ROW * len(picture.rows)
    svg = canvas(width, down * len(strips), **{"class": "map", "width": str(width)})
    for strip, places in enumerate(strips):
        top = down * strip
        for at, place in enumerate(places):
            put(svg, "text", picture.columns[place], x=names + each * at, y=top + 14)
        for row, (name, cells) in enumerate(picture.rows):
            y = top + _GRID_TOP + _GRID_ROW * row
            put(svg, "text", name, x=0, y=y + 13)
            for at, place in enumerate(places):
                if isinstance(held := cells[place], tuple):
                    _node(svg, held, names + each * at, y, picture)
                elif held:
                    put(svg, "text", held, x=names + each * at, y=y + 13)
    return svg


def _node(svg: Element, held: HeldGpus, x: int, y: int, picture: NodeMap) -> None:
    first = 0
    for jobs, group in groupby(held):
        gpus = len(list(group))
        left, width = x + first * _GPU, gpus * _GPU - 2
        first += gpus
        box: dict[str, object] = {"x": left, "y": y, "width": width, "height": _GPU}
        if not jobs:
            for gpu in range(gpus):
                box = {"x": left + gpu * _GPU + 0.5, "y": y + 0.5}
                put(svg, "rect", class_="free", **box, width=_GPU - 3, height=_GPU - 1)
            continue
        label, looks, colour, to = "+", {"class_": "on"}, "shared", ""
        told = f"{', '.join(jobs)}: {gpus} of {len(held)} GPUs here"
        if jobs == (SPARE,):
            label, looks, colour, told = "spare", {}, "kept", f"kept empty as spare: {gpus}"
        elif len(jobs) == 1:
            number = picture.numbers[jobs[0]]
            label, colour, to = str(number), _colour(number), f"job-{number}"
            told = f"{told}; {picture.told[jobs[0]]}"
        band = put(svg, "rect", class_=colour, **box, data_to=to)
        put(band, "title", told)
        put(svg, "text", label, **looks, x=left + width / 2, y=y + 13, text_anchor="middle")


_PLOT_WIDTH, _LABELS, _VALUES, _PLOT_TOP, _PLOT_ROW = 860, 210, 110, 16, 28
_NO_PLAN = 6
"""The colour of an end that has no value."""
_BEYOND = 40
_LONGEST = 32
"""The most characters of a name, so that it ends before the bars; the tooltip has all of it."""


def tornado(picture: Tornado) -> Element:
    """Draw bars to both sides of one value, row by row; none for what moves nothing."""
    moving = [
        (number, row)
        for number, row in enumerate(picture.rows, 1)
        if any(end[0] != picture.middle[0] for end in row[1:])
    ]
    foot = _PLOT_TOP + _PLOT_ROW * len(moving)
    svg = canvas(_PLOT_WIDTH, foot + 24)
    values = [picture.middle[0], *(end for _, *ends in picture.rows for end, _ in ends)]
    x = _scale(values, _LABELS + _VALUES, _PLOT_WIDTH - _VALUES)
    middle = x(picture.middle[0])
    for place, (number, (name, *ends)) in enumerate(moving):
        y = _PLOT_TOP + _PLOT_ROW * place
        put(svg, "text", shortened(name, _LONGEST), x=8, y=y + 17)
        for colour, (value, words) in sorted(enumerate(ends), key=lambda one: isfinite(one[1][0])):
            left, right = sorted((x(value), middle))
            across = max(right - left, 0.5)
            looks = _colour(colour if isfinite(value) else _NO_PLAN)
            to = f"{('low', 'high')[colour]}-{number}"
            place_of = {"x": left, "y": y + 4, "width": across, "height": 18}
            bar = put(svg, "rect", class_=looks, **place_of, data_to=to)
            put(bar, "title", f"{name}: {words}")
        (low, low_words), (high, high_words) = sorted(ends)
        put(svg, "text", low_words, x=min(x(low), middle) - 5, y=y + 17, text_anchor="end")
        put(svg, "text", high_words, x=max(x(high), middle) + 5, y=y + 17)
    put(svg, "line", class_="edge", x1=middle, x2=middle, y1=_PLOT_TOP - 6, y2=foot + 4)
    put(svg, "text", picture.middle[1], x=middle, y=foot + 18, text_anchor="middle")
    return svg


def _scale(values: Iterable[float], first: float, last: float) -> Callable[[float], float]:
    """Map values from the least at the first place to the greatest; infinite ones to the last."""
    every = list(values)
    known = [value for value in every if isfinite(value)]
    end = last - _BEYOND * (len(known) < len(every))
    low, span = min(known), (max(known) - min(known)) or 1.0

    def place(value: float) -> float:
        return round(first + (value - low) / span * (end - first), 1) if isfinite(value) else last

    return place


_DRAW: dict[type[Picture], Callable[..., Element]] = {
    Chart: chart_svg,
    Gantt: gantt,
    NodeMap: node_map_svg,
    Tornado: tornado,
}


def drawn(picture: Picture, links: Mapping[str, str] = MappingProxyType({})) -> str:
    """Return the picture for a page, whose caption has its words.

    `links` are addresses by what parts of it may lead to. They are for a mouse only: what a
    picture shows stands in a table, too, with links for the keyboard.
    """
    tree = _DRAW[type(picture)](picture)
    for parent in list(tree.iter()):
        for place, child in enumerate(list(parent)):
            address = links.get(child.attrib.pop(_TO, ""))
            if address is not None:
                link = Element("a", {"href": address, "tabindex": "-1"})
                link.append(child)
                parent[place] = link
    return tostring(tree, encoding="unicode")
