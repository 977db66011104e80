"""Figures and small words as a reader sees them."""

from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest

from planner.reporting.format import (
    cells_of,
    figure,
    filled,
    gap_percent,
    hours,
    memory,
    money_short,
    shortened,
    styled,
    usd,
    with_unit,
)

WRITTEN: dict[str, tuple[Callable[..., object], dict[Any, object]]] = {
    "money shows every cent": (
        usd,
        {0: "$0.00", 5: "$0.05", 123456789: "$1,234,567.89", -101: "-$1.01"},
    ),
    "money in a sentence is short": (
        money_short,
        {
            99_999_999: "$1,000,000",
            241_000_000: "$2.41 M",
            -241_499_999: "-$2.41 M",
            123_456_789_012: "$1.23 B",
            50: "$0",
            -12_345_00: "-$12,345",
        },
    ),
    "a gap is never rounded to zero": (
        gap_percent,
        {0.0: "0 %", 1e-9: "< 0.0001 %", 0.000042: "0.0042 %", 0.0132: "1.32 %", 1.0: "100 %"},
    ),
    "memory is told in the unit that fits": (
        memory,
        {
            53: "53 MB",
            0: "0 GB",
            30375: "30.4 GB",
            640_000: "640 GB",
            9_999_900: "9,999.9 GB",
            12_500_000: "12.5 TB",
        },
    ),
    "hours are as fine as they need to be": (
        hours,
        {None: "–", 0.01: "< 0.1 h", 41.25: "41.2 h", 1204.4: "1,204 h"},
    ),
    "figures of a sum are shown as a person writes them": (
        figure,
        {
            30.375: "30.375",
            8.0: "8",
            70553.706496: "70,553.706496",
            Decimal("0.1"): "0.1",
            1e-7: "1e-7",
            1e21: "1,000,000,000,000,000,000,000",
            1e40: "10" + ",000" * 13,
            True: "yes",
            "lora": "lora",
        },
    ),
    "a unit is in the number of its figure": (
        lambda one: with_unit(*one),
        {
            (1, "GPUs"): "1 GPU",
            (1.5, "GPUs of 80 GB"): "1.5 GPUs of 80 GB",
            (1.0, "GPUs of 80 GB"): "1 GPU of 80 GB",
            (2, "GPUs of 80 GB"): "2 GPUs of 80 GB",
            (1, "stages"): "1 stage",
            (1, "matrices"): "1 matrix",
            (1, "bytes per token"): "1 byte per token",
            (1, "ms"): "1 ms",
            (1, "tokens/s"): "1 tokens/s",
            (1, "GB"): "1 GB",
            (1, "10^9 parameters"): "1 10^9 parameters",
            ("lora", ""): "lora",
            (True, "true/false"): "yes true/false",
        },
    ),
    "seconds are as fine as they need to be": (
        lambda milliseconds: styled(Fraction(milliseconds), "seconds"),
        {24_900: "24.9", 24: "0.024", 120: "0.1"},
    ),
    "wide letters and accents take the cells that they take": (
        cells_of,
        {"abc": 3, "北京": 4, "e\u0301": 1},
    ),
    "words are filled up by cells, and cut by characters": (
        lambda one: one[0](*one[1:]),
        {
            (filled, "北京", 6): "北京  ",
            (shortened, "abcd", 4): "abcd",
            (shortened, "abcd", 3): "ab…",
        },
    ),
}


@pytest.mark.parametrize("what", WRITTEN)
def test_figures_and_words_are_written_as(what):
    write, expected = WRITTEN[what]
    assert {value: write(value) for value in expected} == expected
