"""Every kind of picture as SVG: within a page, or in a file of its own with its words inside.

Names from a scenario are text nodes of an XML tree, and so cannot open markup.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import groupby
from math import floor, isfinite, log10
from types import MappingProxyType
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from planner.reporting.document import (
    SPARE,
    Bands,
    Chart,
    Figure,
    Gantt,
    HeldGpus,
    NodeMap,
    Picture,
    Tornado,
)
from planner.reporting.format import Style, shortened, styled, visible

_HEAD = 34


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
    "curve": {"fill": "none", "stroke": _COLOURS[0], "stroke-width": "2.5"},
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


def colour_class(number: int) -> str:
    """Return the class of a number's colour."""
    return f"k{number % len(_COLOURS)}"


@dataclass(frozen=True, slots=True)
class _Drawn:
    """A bar of a chart, from one value to another."""

    place: int
    colour: int
    start: Fraction
    end: Fraction
    says: str
    label: str = ""
    """The label above it."""


def _bars_of(chart: Chart) -> Iterator[_Drawn]:
    """Yield bars stacked from zero both ways, or each from where the last one ended."""
    bars = [series for series in chart.series if series.form == "bar"]
    totals = {place for place, _ in chart.marks}
    running = Fraction(0)
    for place, category in enumerate(chart.categories):
        reached = {True: Fraction(0), False: Fraction(0)}
        for number, series in enumerate(bars):
            figure = series.values[place]
            value, says = _value(figure), f"{category}, {series.name}: {figure.text}"
            if not chart.waterfall:
                start = reached[value >= 0]
                reached[value >= 0] += value
                yield _Drawn(place, number, start, start + value, says)
            elif place in totals:
                running = value
                yield _Drawn(place, 0, Fraction(0), running, says, figure.text)
            else:
                running += value
                sign, colour = ("+", 6) if value > 0 else ("", 2)
                yield _Drawn(place, colour, running - value, running, says, f"{sign}{figure.text}")


def chart_svg(chart: Chart) -> Element:
    """Draw bars by category under lines, with a legend; of a waterfall far from zero, the top."""
    bars, places = list(_bars_of(chart)), range(len(chart.categories))
    lines = [series for series in chart.series if series.form == "line"]
    reached = [Fraction(0), *(bar.end for bar in bars)]
    reached += [_value(series.values[place]) for series in lines for place in places]
    low, high = min(reached), max(reached) or Fraction(1)
    if chart.waterfall and (least := min(reached[1:])) > high / 2:  # or no step could be seen
        low = max(Fraction(0), least - ((high - least) or least / _TICKS))
    abreast = _WIDTH // _LEGEND_COLUMN
    legend_rows = -(-len(chart.series) // abreast)
    svg = canvas(_WIDTH, _TOP + _HEIGHT + 30 + _LEGEND_ROW * legend_rows)
    step = (_WIDTH - _LEFT - _RIGHT) / max(len(places), 1)
    style = chart.series[0].values[0].style

    def y_of(value: Fraction) -> float:
        return round(_TOP + _HEIGHT * float(1 - (value - low) / (high - low)), 1)

    def x_of(place: float) -> float:
        return round(_LEFT + step * place, 1)

    tick = max(_tick(high - low), _FINEST.get(style, Fraction(0)))
    value = -(-low // tick) * tick
    while value <= high:
        y = y_of(value)
        put(svg, "line", class_="axis", x1=_LEFT, x2=_WIDTH - _RIGHT, y1=y, y2=y)
        put(svg, "text", styled(value, style), x=_LEFT - 6, y=y + 4, text_anchor="end")
        value += tick
    cut = f", axis from {styled(low, style)}" if low > 0 else ""
    put(svg, "text", f"{chart.unit}{cut}", x=4, y=14)
    marks = () if chart.waterfall else chart.marks
    ends = [*(x_of(place) for place, _ in marks), _WIDTH][1:]
    for (place, event), end in zip(marks, ends, strict=False):
        x = x_of(place) + 2
        line = put(svg, "line", class_="mark", x1=x, x2=x, y1=_TOP - 10, y2=_TOP + _HEIGHT)
        words = "▼ orders arrive" if end - x > _MARK else "▼"
        for one in (line, put(svg, "text", words, x=x + 3, y=_TOP - 8)):
            put(one, "title", event)
    for bar in bars:
        start, end = sorted((y_of(max(bar.start, low)), y_of(max(bar.end, low))))
        if bar.start != bar.end:
            drawn = put(
                svg,
                "rect",
                class_=colour_class(bar.colour),
                x=x_of(bar.place + 0.15),
                y=start,
                width=round(step * 0.7, 1),
                height=round(max(end - start, 0.5), 1),
            )
            put(drawn, "title", bar.says)
        if bar.label:
            x = x_of(bar.place + 0.5)
            put(svg, "text", bar.label, x=x, y=start - 4, text_anchor="middle")
    for series in lines:  # a step for each category: what holds for all of it
        points = [
            f"{x_of(at):g},{y_of(_value(series.values[place])):g}"
            for place in places
            for at in (place, place + 1)
        ]
        put(svg, "polyline", class_="over", points=" ".join(points))
    for place in places[:: -(-len(places) // _LABELLED) or 1]:
        x = x_of(place + 0.5)
        words = chart.categories[place]
        put(svg, "text", words, x=x, y=_TOP + _HEIGHT + 18, text_anchor="middle")
    known = sorted(chart.series, key=lambda series: series.form == "line")
    for number, series in enumerate(() if chart.waterfall else known):
        x = 10 + _LEGEND_COLUMN * (number % abreast)
        y = _TOP + _HEIGHT + 34 + _LEGEND_ROW * (number // abreast)
        if series.form == "bar":
            put(svg, "rect", class_=colour_class(number), x=x, y=y - 4, width=12, height=12)
        else:
            put(svg, "line", class_="over", x1=x, x2=x + 12, y1=y + 2, y2=y + 2)
        put(svg, "text", series.name, x=x + 18, y=y + 6)
    return svg


def _value(figure: Figure) -> Fraction:
    assert isinstance(figure.value, Fraction)
    return figure.value


_FINEST: Mapping[Style, Fraction] = {"count": Fraction(1), "usd": Fraction(100)}
"""The least distance between grid lines whose labels differ, where these are rounded."""


def _tick(span: Fraction) -> Fraction:
    """Return a round distance between grid lines."""
    raw = span / _TICKS
    power = Fraction(10) ** floor(log10(raw))
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
            looks = colour_class(bar.number)
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
            label, colour, to = str(number), colour_class(number), f"job-{number}"
            told = f"{told}; {picture.told[jobs[0]]}"
        band = put(svg, "rect", class_=colour, **box, data_to=to)
        put(band, "title", told)
        put(svg, "text", label, **looks, x=left + width / 2, y=y + 13, text_anchor="middle")


_PLOT_WIDTH, _LABELS, _VALUES, _PLOT_TOP, _PLOT_ROW = 860, 210, 110, 16, 28
_PLOT_LEFT, _PLOT_RIGHT, _PLOT_BOTTOM = 76, _PLOT_WIDTH - 50, 250
_NO_PLAN = 6
"""The colour of an end that has no value."""
_BEYOND = 40
_LONGEST = 32
"""The most characters of a name, so that it ends before the bars; the tooltip has all of it."""
_WORD = 6.6
"""The width of a character, for what must not overlap."""


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
            looks = colour_class(colour if isfinite(value) else _NO_PLAN)
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


def bands(picture: Bands) -> Element:
    """Draw a curve that rises from no case to all cases, with values of interest on it."""
    svg = canvas(_PLOT_WIDTH, _PLOT_BOTTOM + 46)
    x, top = _scale(picture.values, _PLOT_LEFT, _PLOT_RIGHT), 26

    def y(share: float) -> float:
        return round(_PLOT_BOTTOM - share * (_PLOT_BOTTOM - top), 1)

    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        put(svg, "line", class_="axis", x1=_PLOT_LEFT, x2=_PLOT_RIGHT, y1=y(share), y2=y(share))
        put(svg, "text", f"{share:.0%}", x=_PLOT_LEFT - 8, y=y(share) + 4, text_anchor="end")
    points = [(x(picture.values[0]), y(0.0))]
    for place, value in enumerate(picture.values):
        points += [(x(value), y((place + step) / len(picture.values))) for step in (0, 1)]
    put(svg, "polyline", class_="curve", points=" ".join(f"{at:g},{up:g}" for at, up in points))
    ends = [-1.0, -1.0]
    for value, share, words in picture.marks:
        put(svg, "line", class_="axis", x1=x(value), x2=x(value), y1=y(share), y2=_PLOT_BOTTOM)
        put(svg, "circle", class_=colour_class(0), cx=x(value), cy=y(share), r=4)
        half = (len(words) + 2) * _WORD / 2  # and a space at either side
        row = next((row for row, end in enumerate(ends) if end < x(value) - half), None)
        if row is not None:
            ends[row] = x(value) + half
            put(
                svg, "text", words, x=x(value), y=_PLOT_BOTTOM + 18 + 16 * row, text_anchor="middle"
            )
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
    Bands: bands,
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
    return tostring(_linked(_DRAW[type(picture)](picture), links), encoding="unicode")


def _linked(tree: Element, links: Mapping[str, str]) -> Element:
    for parent in list(tree.iter()):
        for place, child in enumerate(list(parent)):
            address = links.get(child.attrib.pop(_TO, ""))
            if address is not None:
                link = Element("a", {"href": address, "tabindex": "-1"})
                link.append(child)
                parent[place] = link
    return tree


def picture_file(picture: Picture) -> str:
    """Return the picture for a file: no script, no font, its title and words inside, on white."""
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
