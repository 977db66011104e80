"""Charts as SVG: stacked bars with lines over them, or a waterfall."""

from __future__ import annotations

from fractions import Fraction
from xml.etree.ElementTree import Element, SubElement

from planner.reporting.document import Chart, Figure, Series
from planner.reporting.format import Style, styled, visible

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
