"""Pictures of what-ifs as SVG: what moves the cost, how sure it is, what more of a thing costs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import isfinite
from xml.etree.ElementTree import Element

from planner.reporting.document import Bands, Frontier, Tornado
from planner.reporting.format import shortened
from planner.reporting.html.chart import TO, canvas, colour_class, put

_WIDTH, _LABELS, _VALUES, _TOP, _ROW = 860, 210, 110, 16, 28
_LEFT, _RIGHT, _BOTTOM = 76, _WIDTH - 50, 250
_NO_PLAN = 6
"""The colour of an end that has no value."""
_BEYOND = 40
_LONGEST = 32
"""Characters of a name, so that it ends before the bars; what they say has all of it."""
_NAMED, _WORDS = 12, 60
"""At so many places dots are named, in so many characters."""
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


def frontier(picture: Frontier) -> Element:
    """Dots with their words, those joined that nothing of no more cost has better."""
    svg = canvas(_WIDTH, _BOTTOM + 50)
    top = 44
    costs = [cost for cost, _, _ in picture.points]
    gains = [gain for _, gain, _ in picture.points]
    x = _scale([cost for cost, _ in costs], _LEFT + 20, _RIGHT)
    y = _scale([gain for gain, _ in gains], _BOTTOM, top)
    put(svg, "line", class_="axis", x1=_LEFT, x2=_RIGHT, y1=_BOTTOM + 10, y2=_BOTTOM + 10)
    put(svg, "line", class_="axis", x1=_LEFT, x2=_LEFT, y1=top, y2=_BOTTOM + 10)
    put(svg, "text", picture.axes[0], x=_RIGHT, y=_BOTTOM + 44, text_anchor="end")
    put(svg, "text", picture.axes[1], x=8, y=14)
    for gain, words in sorted({min(gains), max(gains)}):
        put(svg, "text", words, x=_LEFT - 6, y=y(gain) + 4, text_anchor="end")
    for cost, words in sorted({min(costs), max(costs)}):
        put(svg, "text", words, x=x(cost), y=_BOTTOM + 26, text_anchor="middle")
    best = _undominated(picture)
    path = " ".join(f"{x(cost):g},{y(gain):g}" for cost, gain in best)
    put(svg, "polyline", class_="curve0", points=path)
    for (cost, cost_words), (gain, gain_words), name in picture.points:
        dot = put(svg, "circle", class_=colour_class(1), cx=x(cost), cy=y(gain), r=5)
        put(dot, "title", f"{name}: {cost_words}, {gain_words}")
        dot.set(TO, picture.anchors.get(name, ""))
    _name_dots(svg, picture, x, y)
    return svg


def _name_dots(
    svg: Element, picture: Frontier, x: Callable[[float], float], y: Callable[[float], float]
) -> None:
    """Where they are few: plans at one place share their words, and words never overlap."""
    names: dict[tuple[float, float], list[str]] = {}
    for (cost, _), (gain, _), name in picture.points:
        names.setdefault((x(cost), y(gain)), []).append(name)
    if len(names) > _NAMED:
        return
    taken: list[tuple[float, float, float]] = []
    for (across, up), alike in sorted(names.items()):
        words = ", ".join(alike)
        words = shortened(words, _WORDS)
        right = across > _WIDTH / 2
        near, far = (
            (across - 9, across - 9 - len(words) * _WORD)
            if right
            else (
                across + 9,
                across + 9 + len(words) * _WORD,
            )
        )
        low, high = sorted((near, far))
        if any(low < end and start < high and abs(up - at) < 14 for start, end, at in taken):
            continue
        taken.append((low, high, up))
        put(svg, "text", words, x=near, y=up - 6, text_anchor="end" if right else "start")


def _undominated(picture: Frontier) -> list[tuple[float, float]]:
    sign = -1 if picture.least else 1
    best: list[tuple[float, float]] = []
    for (cost, _), (gain, _), _ in sorted(
        picture.points, key=lambda point: (point[0][0], -sign * point[1][0])
    ):
        if not best or sign * gain > sign * best[-1][1]:
            best.append((cost, gain))
    return best


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
