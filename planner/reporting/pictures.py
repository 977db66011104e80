"""Every kind of picture as SVG: within a page, or in a file of its own with its words inside.

Names from a scenario are text nodes of an XML tree and so cannot open markup.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from itertools import groupby
from math import isfinite
from types import MappingProxyType
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from planner.reporting.document import (
    SPARE,
    Bands,
    Bar,
    Chart,
    Figure,
    Gantt,
    NodeMap,
    Picture,
    Series,
    Tornado,
)
from planner.reporting.format import Style, shortened, styled, visible

_HEAD = 34


TO = "data-to"
"""Attribute of what leads somewhere, where the page says whither."""

_WIDTH, _LEFT, _RIGHT, _TOP, _HEIGHT = 720, 78, 12, 26, 220
_LEGEND_ROW, _LEGEND_COLUMN, _MARK = 18, 170, 100
_TICKS, _STRIPES = 5, 4
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
    "stripe": {"stroke": "#ffffff", "stroke-width": "1.5"},
    "shared": {"fill": "#57606a"},
    **{f"k{number}": {"fill": colour} for number, colour in enumerate(_COLOURS)},
    **{
        f"curve{number}": {"fill": "none", "stroke": colour, "stroke-width": "2.5"}
        for number, colour in enumerate(_COLOURS[:3])
    },
}
"""How each class looks where no style sheet reaches into a picture; where one does, it decides."""
_TEXT = {"font-size": "12", "font-family": "system-ui, 'DejaVu Sans', sans-serif"}


def put(parent: Element, tag: str, text: str = "", **attributes: object) -> Element:
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
    """An empty picture, hidden from screen readers: its words stand in the caption."""
    size = {"viewBox": f"0 0 {across} {down}", "aria-hidden": "true"}
    return Element("svg", {**size, **_TEXT, **attributes})


def colour_class(number: int) -> str:
    """The class of a number's colour."""
    return f"k{number % len(_COLOURS)}"


def coloured(
    parent: Element, number: int, left: float, top: float, width: float, height: float
) -> Element:
    """A band in a number's colour; one stripe at its foot for each time that colour was taken."""
    band = put(
        parent, "rect", class_=colour_class(number), x=left, y=top, width=width, height=height
    )
    for turn in range(min(number // len(_COLOURS), _STRIPES)):
        y = top + height - 2.5 - 3 * turn
        put(parent, "line", class_="stripe", x1=left, x2=left + width, y1=y, y2=y)
    return band


def chart_svg(chart: Chart) -> Element:
    """The picture."""
    return _Drawing(chart).svg


class _Drawing:
    """One chart on its way to paper."""

    def __init__(self, chart: Chart) -> None:
        self._chart = chart
        self._bars = [series for series in chart.series if series.form == "bar"]
        self._lines = [series for series in chart.series if series.form == "line"]
        self._step = (_WIDTH - _LEFT - _RIGHT) / max(len(chart.categories), 1)
        self._low, self._high = self._range()
        legend_rows = -(-len(chart.series) // (_WIDTH // _LEGEND_COLUMN))
        height = _TOP + _HEIGHT + 30 + _LEGEND_ROW * legend_rows
        self.svg = canvas(_WIDTH, height)
        self._axis()
        self._marks()
        if chart.waterfall:
            self._waterfall()
        else:
            self._stacks()
            for series in self._lines:
                self._line(series)
        self._categories()
        self._legend()

    def _range(self) -> tuple[Fraction, Fraction]:
        """Of a waterfall far above zero only the upper part, or its steps could not be seen."""
        reached = [Fraction(0)]
        running = Fraction(0)
        for place in range(len(self._chart.categories)):
            values = [_value(series.values[place]) for series in self._bars]
            if self._chart.waterfall:
                running = values[0] if self._is_total(place) else running + values[0]
                reached.append(running)
            else:
                reached.append(sum((value for value in values if value > 0), Fraction(0)))
                reached.append(sum((value for value in values if value < 0), Fraction(0)))
            reached += [_value(series.values[place]) for series in self._lines]
        if self._chart.waterfall and (least := min(reached[1:])) > (most := max(reached)) / 2:
            room = (most - least) or least / _TICKS
            return max(Fraction(0), least - room), most
        return min(reached), max(reached) or Fraction(1)

    def _is_total(self, place: int) -> bool:
        return any(marked == place for marked, _ in self._chart.marks)

    def _y(self, value: Fraction) -> float:
        share = (value - self._low) / (self._high - self._low)
        return round(_TOP + _HEIGHT * float(1 - share), 1)

    def _x(self, place: int) -> float:
        return round(_LEFT + self._step * place, 1)

    def _style(self) -> Style:
        return self._chart.series[0].values[0].style

    def _axis(self) -> None:
        tick = _tick(self._high - self._low)
        value = -(-self._low // tick) * tick
        while value <= self._high:
            y = self._y(value)
            put(self.svg, "line", class_="axis", x1=_LEFT, x2=_WIDTH - _RIGHT, y1=y, y2=y)
            label = styled(value, self._style())
            put(self.svg, "text", label, x=_LEFT - 6, y=y + 4, text_anchor="end")
            value += tick
        cut = f", axis from {styled(self._low, self._style())}" if self._low > 0 else ""
        put(self.svg, "text", f"{self._chart.unit}{cut}", x=4, y=14)

    def _marks(self) -> None:
        if self._chart.waterfall:
            return
        ends = (*(self._x(place) for place, _ in self._chart.marks), _WIDTH)[1:]
        for (place, event), end in zip(self._chart.marks, ends, strict=True):
            x = self._x(place) + 2
            line = put(self.svg, "line", class_="mark", x1=x, x2=x, y1=_TOP - 10, y2=_TOP + _HEIGHT)
            put(line, "title", event)
            words = "▼ orders arrive" if end - x > _MARK else "▼"
            label = put(self.svg, "text", words, x=x + 3, y=_TOP - 8)
            put(label, "title", event)

    def _stacks(self) -> None:
        for place, category in enumerate(self._chart.categories):
            above = below = Fraction(0)
            for number, series in enumerate(self._bars):
                value = _value(series.values[place])
                if value >= 0:
                    self._bar(place, number, above, above + value, series, category)
                    above += value
                else:
                    self._bar(place, number, below, below + value, series, category)
                    below += value

    def _waterfall(self) -> None:
        (series,) = self._bars
        running = Fraction(0)
        for place, category in enumerate(self._chart.categories):
            value = _value(series.values[place])
            start, running = running, value if self._is_total(place) else running + value
            if self._is_total(place):
                start = max(self._low, Fraction(0))
            colour = 0 if self._is_total(place) else 6 if value > 0 else 2
            self._bar(place, colour, start, running, series, category)
            x = self._x(place) + self._step / 2
            top = self._y(max(start, running)) - 4
            sign = "+" if value > 0 and not self._is_total(place) else ""
            words = f"{sign}{series.values[place].text}"
            put(self.svg, "text", words, x=x, y=top, text_anchor="middle")

    def _bar(
        self,
        place: int,
        colour: int,
        start: Fraction,
        end: Fraction,
        series: Series,
        category: str,
    ) -> None:
        if start == end:
            return
        top, bottom = self._y(max(start, end)), self._y(min(start, end))
        bar = put(
            self.svg,
            "rect",
            class_=colour_class(colour),
            x=round(self._x(place) + self._step * 0.15, 1),
            y=top,
            width=round(self._step * 0.7, 1),
            height=round(max(bottom - top, 0.5), 1),
        )
        put(bar, "title", f"{category}, {series.name}: {series.values[place].text}")

    def _line(self, series: Series) -> None:
        """A step for each category: what holds for all of it."""
        points = []
        for place in range(len(self._chart.categories)):
            y = self._y(_value(series.values[place]))
            points += [f"{self._x(place):g},{y:g}", f"{self._x(place + 1):g},{y:g}"]
        put(self.svg, "polyline", class_="over", points=" ".join(points))

    def _categories(self) -> None:
        every = max(1, -(-len(self._chart.categories) // max(int(720 / 70), 1)))
        for place, category in enumerate(self._chart.categories):
            if place % every == 0:
                x = round(self._x(place) + self._step / 2, 1)
                put(self.svg, "text", category, x=x, y=_TOP + _HEIGHT + 18, text_anchor="middle")

    def _legend(self) -> None:
        if self._chart.waterfall:
            return
        abreast = _WIDTH // _LEGEND_COLUMN
        for number, series in enumerate((*self._bars, *self._lines)):
            x = 10 + _LEGEND_COLUMN * (number % abreast)
            y = _TOP + _HEIGHT + 34 + _LEGEND_ROW * (number // abreast)
            if series.form == "bar":
                colour = colour_class(number)
                put(self.svg, "rect", class_=colour, x=x, y=y - 4, width=12, height=12)
            else:
                put(self.svg, "line", class_="over", x1=x, x2=x + 12, y1=y + 2, y2=y + 2)
            put(self.svg, "text", series.name, x=x + 18, y=y + 6)


def _value(figure: Figure) -> Fraction:
    assert isinstance(figure.value, Fraction)
    return figure.value


def _tick(span: Fraction) -> Fraction:
    """A round distance between the lines of the grid."""
    raw = span / _TICKS
    power = Fraction(1)
    while power * 10 <= raw:
        power *= 10
    while power > raw:
        power /= 10
    return next(power * step for step in (1, 2, 5, 10) if power * step >= raw)


_GRID_ROW, _GRID_TOP, _CHARACTER = 24, 24, 7.2
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
            _bar(svg, bar, labels, y)
            put(svg, "text", bar.name, x=right + 8, y=y + 13)
            y += _GRID_ROW
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
    gpus = max(
        (len(held) for _, cells in picture.rows for held in cells if isinstance(held, tuple)),
        default=1,
    )
    names, each = _width(name for name, _ in picture.rows), gpus * _GPU + _GAP
    strips = _strips(len(picture.columns), names, each)
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


_PLOT_WIDTH, _LABELS, _VALUES, _PLOT_TOP, _PLOT_ROW = 860, 210, 110, 16, 28
_PLOT_LEFT, _PLOT_RIGHT, _PLOT_BOTTOM = 76, _PLOT_WIDTH - 50, 250
_NO_PLAN = 6
"""The colour of an end that has no value."""
_BEYOND = 40
_LONGEST = 32
"""Characters of a name, so that it ends before the bars; what they say has all of it."""
_WORD = 6.6
"""Width of a character, for what must not overlap."""


def tornado(picture: Tornado) -> Element:
    """Bars to both sides of one value, row by row; none for what moves nothing."""
    moving = [
        (number, row)
        for number, row in enumerate(picture.rows, 1)
        if any(end[0] != picture.middle[0] for end in row[1:])
    ]
    foot = _PLOT_TOP + _PLOT_ROW * len(moving)
    svg = canvas(_PLOT_WIDTH, foot + 24)
    values = [picture.middle[0], *(end for _, *ends in picture.rows for end, _ in ends)]
    x = _scale_to_edge(values, _LABELS + _VALUES, _PLOT_WIDTH - _VALUES)
    middle = x(picture.middle[0])
    for place, (number, (name, *ends)) in enumerate(moving):
        y = _PLOT_TOP + _PLOT_ROW * place
        put(svg, "text", shortened(name, _LONGEST), x=8, y=y + 17)
        for colour, (value, words) in sorted(enumerate(ends), key=lambda one: isfinite(one[1][0])):
            left, right = sorted((x(value), middle))
            across = max(right - left, 0.5)
            looks = colour_class(colour if isfinite(value) else _NO_PLAN)
            bar = put(svg, "rect", class_=looks, x=left, y=y + 4, width=across, height=18)
            put(bar, "title", f"{name}: {words}")
            bar.set(TO, f"{('low', 'high')[colour]}-{number}")
        (low, low_words), (high, high_words) = sorted(ends)
        put(svg, "text", low_words, x=min(x(low), middle) - 5, y=y + 17, text_anchor="end")
        put(svg, "text", high_words, x=max(x(high), middle) + 5, y=y + 17)
    put(svg, "line", class_="edge", x1=middle, x2=middle, y1=_PLOT_TOP - 6, y2=foot + 4)
    put(svg, "text", picture.middle[1], x=middle, y=foot + 18, text_anchor="middle")
    return svg


def bands(picture: Bands) -> Element:
    """Curves that rise from no case to all cases, the values of interest marked on the first."""
    svg = canvas(_PLOT_WIDTH, _PLOT_BOTTOM + 46)
    x = _scale([value for _, values in picture.curves for value in values], _PLOT_LEFT, _PLOT_RIGHT)
    top = 26

    def y(share: float) -> float:
        return round(_PLOT_BOTTOM - share * (_PLOT_BOTTOM - top), 1)

    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        put(svg, "line", class_="axis", x1=_PLOT_LEFT, x2=_PLOT_RIGHT, y1=y(share), y2=y(share))
        put(svg, "text", f"{share:.0%}", x=_PLOT_LEFT - 8, y=y(share) + 4, text_anchor="end")
    for number, (name, values) in enumerate(picture.curves):
        points = [(x(values[0]), y(0.0))]
        for place, value in enumerate(values):
            points += [(x(value), y((place + step) / len(values))) for step in (0, 1)]
        drawn = " ".join(f"{across:g},{up:g}" for across, up in points)
        curve = put(svg, "polyline", class_=f"curve{number}", points=drawn)
        put(curve, "title", name)
        if len(picture.curves) > 1:
            across = _PLOT_LEFT + 240 * number
            put(svg, "rect", class_=colour_class(number), x=across, y=4, width=12, height=12)
            put(svg, "text", name, x=across + 18, y=14)
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


def _scale_to_edge(values: Sequence[float], first: float, last: float) -> Callable[[float], float]:
    """The same, what is infinite beyond all else, at the last place."""
    known = [value for value in values if isfinite(value)]
    room = _BEYOND if len(known) < len(values) else 0
    finite = _scale(known, first, last - room)
    return lambda value: finite(value) if isfinite(value) else last


def _scale(values: Sequence[float], first: float, last: float) -> Callable[[float], float]:
    """From the least value at the first place to the greatest at the last."""
    low, span = min(values), (max(values) - min(values)) or 1.0
    return lambda value: round(first + (value - low) / span * (last - first), 1)


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
