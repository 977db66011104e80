"""What came of a plan, from a table."""

import pytest

from planner.errors import InputError
from planner.planning.make import make_plan
from planner.whatif.actuals import outcomes, read_actuals
from tests.stated import asked

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


RUNS = """
format: 1
name: runs
horizon: {first_quarter: 2027Q1, quarters: 2}
fleet: {own: {node_type: xe9680-h100, count: 1}}
jobs:
  tuner:
    tune: {model: llama-3.1-8b, method: lora, dataset_tokens: 50000000}
    count: 2
    runs_per_quarter: 5
    quarters: 2027Q2
"""


def test_of_a_tuning_job_each_run_counts(tmp_path):
    """Two units that run five times each are ten runs, as an accounting lists them."""
    plan = make_plan(asked(RUNS))
    file = tmp_path / "actuals.csv"
    file.write_text(HEADER + "2027Q2,tuner,,12\n", encoding="utf-8")
    demand, _ = outcomes(plan, read_actuals(file, [plan]))
    assert ("tuner", 10, 12) in {(one.name, one.planned, one.actual) for one in demand}


def test_of_a_quarter_that_the_plan_does_not_have_nothing_was_planned(planned, read):
    demand, _ = outcomes(planned("later").plan, read("2027Q2,search,,17\n"))
    assert [(one.planned, one.actual) for one in demand] == [(None, 17)]


@pytest.mark.parametrize(
    ("rows", "message", "hint"),
    [
        ("2027Q2,serch,,1", "2:2: job: no plan here knows 'serch'", "did you mean 'search'?"),
        ("2026Q4,search,,1", "2:1: quarter: no plan here", "they have 2027Q1 to 2027Q2"),
        ("2027Q2,,xe9680,1", "2:3: node_type: no plan here knows 'xe9680'", None),
        ("2027Q5,search,,1", "2:1: quarter: '2027Q5' is not a calendar quarter", None),
        ("2027Q2,search,xe9680-h100,1", "2: name either a job or a node_type", None),
        ("2027Q2,,,1", "2: name either a job or a node_type", None),
        ("2027Q2,search,,", "2: count: is missing", None),
        ("2027Q2,search,,-1", "2:4: count: -1 is too small", None),
        ("2027Q2,search,,1\n2027Q2,search,,2", "3: the same quarter and name", None),
    ],
)
def test_a_name_or_a_count_that_cannot_be_is_told_with_its_cell(read, rows, message, hint):
    with pytest.raises(InputError) as refusal:
        read(f"{rows}\n")
    (told,) = refusal.value.findings
    assert message in told.headline()
    assert told.hint == hint or hint is None


def test_all_that_is_wrong_in_a_table_is_told_at_once(read):
    with pytest.raises(InputError) as refusal:
        read("2027Q4,serch,,1\n2027Q2,talk,,-1\n")
    assert [one.line for one in refusal.value.findings] == [2, 2, 3]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("quarter,jobs,count\n2027Q2,search,1\n", "did you mean 'job'?"),
        (HEADER, "there is no row below the header"),
    ],
)
def test_a_table_of_other_columns_or_none_is_refused(read, text, says):
    with pytest.raises(InputError) as refusal:
        read("", header=text)
    (told,) = refusal.value.findings
    assert says in f"{told.headline()} {told.hint}"


APIS = """
format: 1
name: apis
horizon: {first_quarter: 2027Q1, quarters: 1, as_of: 2026-10-01}
offers: {rent: {node_type: xe9680-h100, kind: rent}}
apis:
  api: {model: llama-3.1-8b, usd_per_million_input_tokens: 0.1,
        usd_per_million_output_tokens: 0.1}
jobs:
  asked:
    serve: {model: llama-3.1-8b,
            load: {requests_per_second: 0.3, input_tokens: 500, output_tokens: 100}}
    count: 3
    api: allowed
"""
MIXED = """
format: 1
name: mixed
horizon: {first_quarter: 2027Q1, quarters: 1, as_of: 2026-10-01}
offers: {rent: {node_type: xe9680-h100, kind: rent}}
jobs:
  asked:
    serve: {model: llama-3.1-8b, mixed: true,
            load: {requests_per_second: 90, input_tokens: 500, output_tokens: 100}}
"""
DROPPED = """
format: 1
name: dropped
horizon: {first_quarter: 2027Q1, quarters: 1, as_of: 2026-10-01}
fleet: {own: {node_type: xe9680-h100, count: 1}}
policies: {shortage: drop}
jobs:
  first: {fixed: {gpus: 8}}
  asked: {fixed: {gpus: 8}, priority: low}
"""


@pytest.mark.parametrize(("text", "units"), [(APIS, 3), (MIXED, 1), (DROPPED, 1)])
def test_the_forecast_is_what_was_asked_for_wherever_it_is_placed(tmp_path, text, units):
    plan = make_plan(asked(text))
    placed = next(job.units for job in plan.jobs if job.name == "asked")
    assert placed != (units,)
    file = tmp_path / "actuals.csv"
    file.write_text(HEADER + "2027Q1,asked,,2\n", encoding="utf-8")
    demand, _ = outcomes(plan, read_actuals(file, [plan]))
    assert ("asked", units, 2) in {(one.name, one.planned, one.actual) for one in demand}
