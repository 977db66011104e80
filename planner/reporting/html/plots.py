"""Pictures of what-ifs as SVG: what moves the cost, and how sure it is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import isfinite
from xml.etree.ElementTree import Element

from planner.reporting.document import Bands, Tornado
from planner.reporting.format import shortened
from planner.reporting.html.chart import TO, canvas, colour_class, put

_WIDTH, _LABELS, _VALUES, _TOP, _ROW = 860, 210, 110, 16, 28
_LEFT, _RIGHT, _BOTTOM = 76, _WIDTH - 50, 250
_NO_PLAN = 6
"""The colour of an end that has no value."""
_BEYOND = 40
_LONGEST = 32
"""Characters of a name, so that it ends before the bars; what they say has all of it."""
_WORD = 6.6
"""Width of a character, for what must not overlap."""


def tornado(picture: Tornado) -> Element:
    """Bars to both sides of one value, row by row."""
    foot = _TOP + _ROW * len(picture.rows)
    svg = canvas(_WIDTH, foot + 24)
    values = [picture.middle[0], *(end for _, *ends in picture.rows for end, _ in ends)]
    x = _scale_to_edge(values, _LABELS + _VALUES, _WIDTH - _VALUES)
    middle = x(picture.middle[0])
    for place, (name, *ends) in enumerate(picture.rows):
        y = _TOP + _ROW * place
        put(svg, "text", shortened(name, _LONGEST), x=8, y=y + 17)
        for colour, (value, words) in sorted(enumerate(ends), key=lambda one: isfinite(one[1][0])):
            left, right = sorted((x(value), middle))
            across = max(right - left, 0.5)
            looks = colour_class(colour if isfinite(value) else _NO_PLAN)
            bar = put(svg, "rect", class_=looks, x=left, y=y + 4, width=across, height=18)
            put(bar, "title", f"{name}: {words}")
            bar.set(TO, f"{('low', 'high')[colour]}-{place + 1}")
        (low, low_words), (high, high_words) = sorted(ends)
        put(svg, "text", low_words, x=min(x(low), middle) - 5, y=y + 17, text_anchor="end")
        put(svg, "text", high_words, x=max(x(high), middle) + 5, y=y + 17)
    put(svg, "line", class_="edge", x1=middle, x2=middle, y1=_TOP - 6, y2=foot + 4)
    put(svg, "text", picture.middle[1], x=middle, y=foot + 18, text_anchor="middle")
    return svg


def bands(picture: Bands) -> Element:
    """Curves that rise from no case to all cases, the values of interest marked on the first."""
    svg = canvas(_WIDTH, _BOTTOM + 46)
    x = _scale([value for _, values in picture.curves for value in values], _LEFT, _RIGHT)
    top = 26

    def y(share: float) -> float:
        return round(_BOTTOM - share * (_BOTTOM - top), 1)

    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        put(svg, "line", class_="axis", x1=_LEFT, x2=_RIGHT, y1=y(share), y2=y(share))
        put(svg, "text", f"{share:.0%}", x=_LEFT - 8, y=y(share) + 4, text_anchor="end")
    for number, (name, values) in enumerate(picture.curves):
        points = [(x(values[0]), y(0.0))]
        for place, value in enumerate(values):
            points += [(x(value), y((place + step) / len(values))) for step in (0, 1)]
        drawn = " ".join(f"{across:g},{up:g}" for across, up in points)
        curve = put(svg, "polyline", class_=f"curve{number}", points=drawn)
        put(curve, "title", name)
        if len(picture.curves) > 1:
            across = _LEFT + 240 * number
            put(svg, "rect", class_=colour_class(number), x=across, y=4, width=12, height=12)
            put(svg, "text", name, x=across + 18, y=14)
    ends = [-1.0, -1.0]
    for value, share, words in picture.marks:
        put(svg, "line", class_="axis", x1=x(value), x2=x(value), y1=y(share), y2=_BOTTOM)
        put(svg, "circle", class_=colour_class(0), cx=x(value), cy=y(share), r=4)
        half = (len(words) + 2) * _WORD / 2  # and a space at either side
        row = next((row for row, end in enumerate(ends) if end < x(value) - half), None)
        if row is not None:
            ends[row] = x(value) + half
            put(svg, "text", words, x=x(value), y=_BOTTOM + 18 + 16 * row, text_anchor="middle")
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
