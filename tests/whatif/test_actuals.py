"""What came of a plan, from a table."""

import pytest

from planner.errors import InputError
from planner.whatif.comparison.actuals import outcomes, read_actuals

HEADER = "quarter,job,node_type,count\n"


@pytest.fixture
def read(planned, tmp_path):
    def read(rows, header=HEADER):
        file = tmp_path / "actuals.csv"
        file.write_text(header + rows, encoding="utf-8")
        return read_actuals(file, [planned("busy").plan])

    return read


def test_delivered_nodes_stand_beside_those_planned(planned, read):
    plan = planned("busy").plan
    bought = plan.acquisitions[0].node_type
    quarter = plan.acquisitions[0].quarter
    lines = [
        line for line in plan.acquisitions if (line.quarter, line.node_type) == (quarter, bought)
    ]
    planned_nodes = sum(line.count for line in lines)
    _, deliveries = outcomes(plan, read(f"{quarter},,{bought},1\n"))
    found = {(one.quarter, one.name): (one.planned, one.actual) for one in deliveries}
    assert found[quarter, bought] == (planned_nodes, 1)
    others = {line.node_type for line in plan.acquisitions if line.quarter == quarter} - {bought}
    assert {name for (_, name), (_, actual) in found.items() if actual is None} == others


def test_demand_that_is_not_told_is_said_to_be_so(planned, read):
    demand, deliveries = outcomes(planned("busy").plan, read("2027Q2,search,,17\n"))
    assert [(one.name, one.planned, one.actual) for one in demand] == [
        ("search", 20, 17),
        ("talk", 1, None),
    ]
    assert deliveries == ()


def test_of_a_quarter_that_the_plan_does_not_have_nothing_was_planned(planned, read):
    demand, _ = outcomes(planned("later").plan, read("2027Q2,search,,17\n"))
    assert [(one.planned, one.actual) for one in demand] == [(None, 17)]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ("2027Q2,serch,,1\n", "actuals.csv:2:2: job: no plan here knows 'serch'"),
        ("2027Q4,search,,1\n", "actuals.csv:2:1: quarter: no plan here knows '2027Q4'"),
        ("2027Q2,,xe9680,1\n", "no plan here knows 'xe9680'"),
        ("2027Q5,search,,1\n", "'2027Q5' is not a calendar quarter"),
        ("2027Q2,search,xe9680-h100,1\n", "name either a job or a node_type"),
        ("2027Q2,,,1\n", "name either a job or a node_type"),
        ("2027Q2,search,,\n", "count: is missing"),
        ("2027Q2,search,,-1\n", "-1 is too small"),
        ("2027Q2,search,,1\n2027Q2,search,,2\n", "actuals.csv:3: the same quarter and name"),
        ("2027Q2,search\n", "has 2 cells, the header has 4"),
        ("", "there is no row below the header"),
    ],
)
def test_mistakes_are_told_with_their_cell(read, rows, message):
    with pytest.raises(InputError) as refusal:
        read(rows)
    assert message in str(refusal.value)


def test_an_unknown_column_is_answered_with_the_nearest(read):
    with pytest.raises(InputError) as refusal:
        read("2027Q2,search,1\n", header="quarter,jobs,count\n")
    assert refusal.value.findings[0].hint == "did you mean 'job'?"
