"""Draws predicted over measured peaks: one dot for each run, log-log, with the band of ±10 %."""

from __future__ import annotations

from math import log10
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["Dot", "picture"]

_LEAST_GB: Final = 3.0
_MOST_GB: Final = 130.0
_TICKS: Final = (4, 8, 16, 32, 64, 128)
_SIDE: Final = 250
_GAP: Final = 26
_LEFT, _TOP, _BOTTOM, _RIGHT = 62, 76, 62, 18
_COLOURS: Final = {"full": "#b5442e", "lora": "#2a6fb0", "qlora": "#2f8554"}
_INK, _GRID, _BAND = "#222222", "#dddddd", "#eeeeee"
_TOLERANCE: Final = 1.1


class Dot(NamedTuple):
    """One run."""

    method: str
    measured_gb: float
    predicted_gb: float
    fitted: bool
    """Whether constants were fitted on runs of its origin."""


def picture(dots: Iterable[Dot]) -> str:
    """One panel for each method, as SVG; the same dots give the same bytes."""
    kept = sorted(dot for dot in dots if dot.method in _COLOURS)
    panels = [_panel(method, index, kept) for index, method in enumerate(_COLOURS)]
    width = _LEFT + len(panels) * _SIDE + (len(panels) - 1) * _GAP + _RIGHT
    height = _TOP + _SIDE + _BOTTOM
    return "\n".join(
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
            f'width="{width}" height="{height}" font-family="sans-serif" font-size="12" '
            f'fill="{_INK}">',
            "<title>Peak GPU memory of tuning runs: predicted over measured</title>",
            f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
            f'<text x="{_LEFT}" y="24" font-size="15">'
            "Peak GPU memory of tuning runs: predicted over measured, GB per GPU</text>",
            _legend(),
            *panels,
            f'<text x="{(_LEFT + width - _RIGHT) / 2:.0f}" y="{height - 14}" '
            'text-anchor="middle">measured, GB</text>',
            f'<text transform="translate(16 {_TOP + _SIDE / 2:.0f}) rotate(-90)" '
            'text-anchor="middle">predicted, GB</text>',
            "</svg>",
            "",
        )
    )


def _legend() -> str:
    x, y = _LEFT, 44
    return (
        f'<circle cx="{x + 5}" cy="{y - 4}" r="3.5" fill="{_INK}"/>'
        f'<text x="{x + 14}" y="{y}">origin that constants were fitted on</text>'
        f'<circle cx="{x + 235}" cy="{y - 4}" r="3.5" fill="none" stroke="{_INK}"/>'
        f'<text x="{x + 244}" y="{y}">origin that nothing was fitted to</text>'
        f'<rect x="{x + 440}" y="{y - 10}" width="18" height="12" fill="{_BAND}" '
        f'stroke="{_GRID}"/><text x="{x + 464}" y="{y}">within 10 %</text>'
    )


def _panel(method: str, index: int, dots: Sequence[Dot]) -> str:
    left = _LEFT + index * (_SIDE + _GAP)
    own = [dot for dot in dots if dot.method == method]
    drawn = [_ground(left), *_grid(left, labelled=index == 0)]
    drawn += (_dot(left, dot) for dot in own)
    drawn.append(
        f'<text x="{left + 8}" y="{_TOP + 18}" fill="{_COLOURS[method]}" font-weight="bold">'
        f"{method}, {len(own)} runs</text>"
    )
    return "\n".join(drawn)


def _ground(left: float) -> str:
    """The frame, the band and the line on which a prediction is exact."""
    corners = (
        (_LEAST_GB, _LEAST_GB * _TOLERANCE),
        (_MOST_GB / _TOLERANCE, _MOST_GB),
        (_MOST_GB, _MOST_GB),
        (_MOST_GB, _MOST_GB / _TOLERANCE),
        (_LEAST_GB * _TOLERANCE, _LEAST_GB),
        (_LEAST_GB, _LEAST_GB),
    )
    band = " ".join(f"{_x(left, was):.1f},{_y(said):.1f}" for was, said in corners)
    return (
        f'<polygon points="{band}" fill="{_BAND}"/>'
        f'<line x1="{left}" y1="{_TOP + _SIDE}" x2="{left + _SIDE}" y2="{_TOP}" stroke="#999999"/>'
        f'<rect x="{left}" y="{_TOP}" width="{_SIDE}" height="{_SIDE}" fill="none" '
        f'stroke="{_INK}"/>'
    )


def _grid(left: float, *, labelled: bool) -> Iterable[str]:
    for tick in _TICKS:
        x, y = _x(left, tick), _y(tick)
        yield (
            f'<path d="M{x:.1f} {_TOP + _SIDE}v5M{x:.1f} {_TOP}v{_SIDE}M{left} {y:.1f}h{_SIDE}" '
            f'stroke="{_GRID}" fill="none" stroke-width="0.6"/>'
            f'<text x="{x:.1f}" y="{_TOP + _SIDE + 18}" text-anchor="middle">{tick}</text>'
        )
        if labelled:
            yield f'<text x="{left - 8}" y="{y + 4:.1f}" text-anchor="end">{tick}</text>'


def _dot(left: float, dot: Dot) -> str:
    colour = _COLOURS[dot.method]
    fill = f'fill="{colour}" fill-opacity="0.75"' if dot.fitted else 'fill="none"'
    return (
        f'<circle cx="{_x(left, dot.measured_gb):.1f}" cy="{_y(dot.predicted_gb):.1f}" r="3.2" '
        f'{fill} stroke="{colour}"/>'
    )


def _along(gigabytes: float) -> float:
    """Where a figure lies between the ends of an axis; what is beyond an end lies on it."""
    within = min(max(gigabytes, _LEAST_GB), _MOST_GB)
    return log10(within / _LEAST_GB) / log10(_MOST_GB / _LEAST_GB)


def _x(left: float, gigabytes: float) -> float:
    return left + _SIDE * _along(gigabytes)


def _y(gigabytes: float) -> float:
    return _TOP + _SIDE * (1 - _along(gigabytes))
