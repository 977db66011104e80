"""From a scenario to integers: classes of units, pools and lead times."""

from typing import Any

import pytest

from planner.packing import translate
from planner.sizing.sizers import Sizers
from tests.stated import asked

SCENARIO: dict[str, Any] = {
    "format": 1,
    "name": "question",
    "horizon": {"first_quarter": "2027Q1", "quarters": 3, "as_of": "2027-01-01"},
    "offers": {"buy": {"node_type": "xe9680-h100", "kind": "buy", "price_usd": 200000}},
    "jobs": {"any": {"fixed": {"gpus": 1}}},
}


def stated(**changes):
    inputs = asked({**SCENARIO, **changes})
    return translate(inputs, Sizers().portfolio(inputs))


def test_jobs_that_need_the_same_become_one_class_whatever_their_names():
    two = {"fixed": {"gpus": 2}}
    translation = stated(jobs={"x": {**two, "count": 2}, "y": two})
    (job_class,) = translation.problem.classes
    assert (job_class.count, job_class.quarters) == (3, (0, 1, 2))
    assert translation.members == ((("x", 1), ("x", 2), ("y", 1)),)


@pytest.mark.parametrize(
    ("weeks", "as_of", "first"),
    [
        (0, "2027-01-01", 0),
        (12, "2027-01-01", 1),
        (13, "2027-01-01", 2),
        (25, "2027-01-01", 2),
        (12, "2026-10-01", 0),
    ],
)
def test_a_node_enters_service_in_the_first_quarter_that_begins_after_its_lead_time(
    weeks, as_of, first
):
    """From 1 January 2027, 12 weeks end on 26 March and 13 on 2 April, when Q2 has begun."""
    rent = {"node_type": "xe9680-h100", "kind": "rent", "lead_time_weeks": weeks}
    horizon = {**SCENARIO["horizon"], "as_of": as_of}
    (supply,) = stated(offers={"rent": rent}, horizon=horizon).problem.supplies
    ready = [quarter for quarter, cents in enumerate(supply.unit_cost_cents) if cents is not None]
    assert ready == list(range(first, 3))
