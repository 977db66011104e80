from decimal import Decimal

import pytest

from planner.reporting.format import (
    cells_of,
    count_of,
    dollars,
    figure,
    filled,
    gap_percent,
    hours,
    listed,
    memory,
    money_short,
    percent,
    quarter_runs,
    quarter_span,
    range_of,
    shortened,
    signed_percent,
    usd,
    with_unit,
)


@pytest.mark.parametrize(
    ("cents", "text"),
    [(0, "$0.00"), (5, "$0.05"), (123456789, "$1,234,567.89"), (-101, "-$1.01")],
)
def test_money_shows_every_cent(cents, text):
    assert usd(cents) == text


@pytest.mark.parametrize(
    ("cents", "text"),
    [
        (99_999_999, "$1,000,000"),
        (241_000_000, "$2.41 M"),
        (-241_499_999, "-$2.41 M"),
        (123_456_789_012, "$1.23 B"),
        (50, "$0"),
        (-12_345_00, "-$12,345"),
    ],
)
def test_money_in_a_sentence_is_short(cents, text):
    assert money_short(cents) == text


def test_dollars_round_half_to_even():
    assert [dollars(c) for c in (50, 150, 250, -150)] == ["0", "2", "2", "-2"]


@pytest.mark.parametrize(
    ("gap", "text"),
    [
        (0.0, "0 %"),
        (1e-9, "< 0.0001 %"),
        (0.000042, "0.0042 %"),
        (0.0132, "1.32 %"),
        (1.0, "100 %"),
    ],
)
def test_a_gap_is_never_rounded_to_zero(gap, text):
    assert gap_percent(gap) == text


@pytest.mark.parametrize(
    ("megabytes", "text"),
    [
        (53, "53 MB"),
        (0, "0 GB"),
        (30375, "30.4 GB"),
        (640_000, "640 GB"),
        (9_999_900, "9,999.9 GB"),
        (12_500_000, "12.5 TB"),
    ],
)
def test_memory_is_told_in_the_unit_that_fits(megabytes, text):
    assert memory(megabytes) == text


@pytest.mark.parametrize(
    ("value", "text"), [(None, "–"), (0.01, "< 0.1 h"), (41.25, "41.2 h"), (1204.4, "1,204 h")]
)
def test_hours_are_as_fine_as_they_need_to_be(value, text):
    assert hours(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (30.375, "30.375"),
        (8.0, "8"),
        (70553.706496, "70,553.706496"),
        (Decimal("0.1"), "0.1"),
        (1e-7, "1e-7"),
        (1e21, "1,000,000,000,000,000,000,000"),
        (1e40, "10" + ",000" * 13),
        (True, "yes"),
        ("lora", "lora"),
    ],
)
def test_figures_of_a_sum_are_shown_as_a_person_writes_them(value, text):
    assert figure(value) == text


def test_quarters_in_a_row_are_drawn_together():
    year = tuple(f"2027Q{n}" for n in (1, 2, 3, 4))
    assert quarter_runs(year, {"2027Q1", "2027Q2", "2027Q4"}) == "2027Q1–Q2, 2027Q4"
    assert quarter_runs(year, set(year)) == "2027Q1–Q4"
    assert quarter_span("2027Q4", "2028Q1") == "2027Q4–2028Q1"


def test_small_words():
    assert count_of(1, "node") == "1 node"
    assert count_of(1200, "entry", "entries") == "1,200 entries"
    assert range_of([3, 1, 2]) == "1–3"
    assert range_of([2, 2]) == "2"
    assert listed(["a", "b", "c"]) == "a, b and c"
    assert percent(Decimal("0.9375")) == "93.8 %"
    assert [signed_percent(share) for share in (0.2, -0.031)] == ["+20.0 %", "-3.1 %"]
    assert [shortened("abcd", most) for most in (4, 3)] == ["abcd", "ab…"]


@pytest.mark.parametrize(
    ("value", "unit", "expected"),
    [
        (1, "GPUs", "1 GPU"),
        (1.0, "GPUs of 80 GB", "1 GPU of 80 GB"),
        (2, "GPUs of 80 GB", "2 GPUs of 80 GB"),
        (1, "GB", "1 GB"),
        (1, "10^9 parameters", "1 10^9 parameters"),
        (True, "true/false", "yes true/false"),
        ("lora", "", "lora"),
    ],
)
def test_a_unit_is_in_the_number_of_its_figure(value, unit, expected):
    assert with_unit(value, unit) == expected


def test_wide_letters_and_accents_are_filled_up_by_the_cells_that_they_take():
    assert [cells_of(name) for name in ("abc", "北京", "e\u0301")] == [3, 4, 1]
    assert filled("北京", 6) == "北京  "
