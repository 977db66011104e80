from decimal import Decimal

import pytest

from planner.inputs.scenario.horizon import Horizon
from planner.inputs.scenario.job import Fixed, Job
from planner.inputs.scenario.quarter import Quarter

YEAR = Horizon(first_quarter=Quarter(2027, 1), quarters=4)


def job(**fields):
    return Job(fixed=Fixed(gpus=1), **fields)


def test_a_job_is_active_in_all_quarters_unless_it_says_otherwise():
    assert job(count=3).counts(YEAR) == (3, 3, 3, 3)
    assert job(count=3, quarters="all").counts(YEAR) == (3, 3, 3, 3)
    assert job(count=3, quarters=None).counts(YEAR) == (3, 3, 3, 3)


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


@pytest.mark.parametrize(
    "text", ["2027Q5", "2027Q0", "27Q1", "Q1 2027", "2027", "0000Q1", "9999Q1"]
)
def test_what_is_no_quarter_of_our_time_is_refused(text):
    with pytest.raises(ValueError, match=r"is not a calendar quarter|outside the years"):
        Quarter.parse(text)


@pytest.mark.parametrize("text", ["Q1 2027", "q1/2027", "2027 Q1", "2027-q1", "1Q2027 or Q1 2027"])
def test_a_quarter_that_is_written_otherwise_is_told_as_it_is_written_here(text):
    with pytest.raises(ValueError, match=r"write it as 2027Q1$"):
        Quarter.parse(text)


def test_quarters_count_across_years():
    assert str(Quarter(2027, 4) + 1) == "2028Q1"
    assert Quarter(2028, 1) - Quarter(2027, 1) == 4
    assert Quarter(2027, 4) < Quarter(2028, 1)
    assert Quarter(2027, 3).start.isoformat() == "2027-07-01"
