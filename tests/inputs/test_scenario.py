from decimal import Decimal

import pytest

from planner.inputs.scenario.horizon import Horizon
from planner.inputs.scenario.job import Fixed, Job
from planner.inputs.scenario.quarter import Quarter

YEAR = Horizon(first_quarter=Quarter(2027, 1), quarters=4)


def job(**fields):
    return Job(fixed=Fixed(gpus=1), **fields)


@pytest.mark.parametrize(
    ("quarters", "counts"),
    [
        ("2027Q2", (0, 1, 0, 0)),
        ("2027Q2 .. 2027Q3", (0, 1, 1, 0)),
        (("2027Q4", "2027Q1", "2027Q1"), (1, 0, 0, 1)),
        (("2027Q1..2027Q2", "2027Q4"), (1, 1, 0, 1)),
    ],
)
def test_quarters_are_written_one_by_one_or_as_ranges(quarters, counts):
    assert job(quarters=quarters).counts(YEAR) == counts


def test_growth_starts_in_the_first_active_quarter_and_rounds_up():
    assert job(count=10, growth_per_quarter=Decimal("0.1")).counts(YEAR) == (10, 11, 13, 14)
    later = job(count=10, growth_per_quarter=Decimal("0.1"), quarters="2027Q2..2027Q4")
    assert later.counts(YEAR) == (0, 10, 11, 13)


def test_growth_is_exact_where_binary_fractions_would_round_one_up():
    # 10 × 1.1 is 11.000000000000002 in binary floating point
    assert job(count=100, growth_per_quarter="10%").counts(YEAR) == (100, 110, 121, 134)


@pytest.mark.parametrize(
    ("count", "counts"),
    [
        ({"2027Q1": 2, "2027Q3": 5}, (2, 2, 5, 5)),
        ({"2027Q3": 5, "2027Q1": 2}, (2, 2, 5, 5)),
        ({"2027Q2": 1}, (0, 1, 1, 1)),
        ({"2027Q1": 3, "2027Q2": 0}, (3, 0, 0, 0)),
        ({"2027Q1": 3, "2027Q2": 0, "2027Q4": 1}, (3, 0, 0, 1)),
        ({"2026Q2": 9, "2026Q4": 4, "2027Q3": 6}, (4, 4, 6, 6)),
    ],
)
def test_a_count_by_quarter_holds_until_the_next(count, counts):
    assert job(count=count).counts(YEAR) == counts
