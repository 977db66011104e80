"""A cluster in use that no longer fits: who gives way stops, the others stay or move."""

from planner.planning.make import make_plan
from tests.plan.edits import put, refused
from tests.report.pages import told
from tests.stated import asked, edited

SCENARIO = """
format: 1
name: a cluster in use
horizon: {first_quarter: 2027Q1, quarters: 2, as_of: 2026-11-01}
policies: {shortage: drop, move_cost_usd: 500}
fleet: {old: {node_type: xe9680-h100, count: 2}}
jobs:
  claims: {fixed: {gpus: 8}, priority: 90}
  care: {fixed: {gpus: 4}, priority: 50}
  lab: {fixed: {gpus: 8}, priority: 20, may_slip_quarters: 0, count: {2027Q1: 1}}
running:
  - {job: care, node: xe9680-h100/main/01}
  - {job: lab, node: xe9680-h100/main/02}
"""


def test_who_gives_way_stops_and_its_node_takes_the_more_important():
    plan = make_plan(asked(SCENARIO))
    assert plan.shortage is not None
    assert [(job.name, job.outcome) for job in plan.shortage.jobs] == [("lab", "dropped")]
    assert plan.current is not None
    assert (plan.current.units, plan.current.stopped, plan.current.moves) == (2, 1, ())
    assert "2 units of this plan run today: 1 stays, 1 stops, as not everything fits." in told(plan)
    assert "to stop what runs today costs nothing" in told(plan)


def test_a_job_that_is_delayed_stops_first_and_pays_no_move():
    """Only the first quarter is full: it starts again in the second, on whatever node."""
    ends = ("priority: 90", "priority: 90, count: {2027Q1: 1, 2027Q2: 0}")
    waits = (
        "slip_quarters: 0, count: {2027Q1: 1}",
        "slip_quarters: 1, count: {2027Q1: 1, 2027Q2: 0}",
    )
    plan = make_plan(asked(edited(SCENARIO, ends, waits)))
    assert plan.shortage is not None
    assert [(job.name, job.delay_quarters) for job in plan.shortage.jobs] == [("lab", 1)]
    assert plan.current is not None
    assert (plan.current.stopped, plan.current.cost_cents) == (1, 0)


def test_the_check_counts_what_stops():
    inputs = asked(SCENARIO)
    assert "stopped" in refused(inputs, put(make_plan(inputs), "current > stopped", 0))
