"""What is sized once serves many plans, and lets no edit of one through."""

import pytest

from planner.errors import CheckError
from planner.planning.make import make_plan
from planner.planning.store import dumps
from planner.planning.verify import verify
from planner.sizing.sizers import Sizers, size_portfolio
from tests.stated import asked, changed

SCENARIO = """
format: 1
name: two quarters
horizon: {first_quarter: 2027Q1, quarters: 2, as_of: 2026-11-21}
fleet:
  first: {node_type: xe9680-h100, count: 1}
offers:
  buy-h100: {node_type: xe9680-h100, kind: buy, price_usd: 325000, quote: Q-1, lead_time_weeks: 14}
  rent-h100: {node_type: xe9680-h100, kind: rent, price_usd_per_gpu_hour: 4.14}
  buy-l40s: {node_type: r760xa-l40s, kind: buy, price_usd: 70000}
jobs:
  assistant:
    serve: {model: llama-3.1-70b}
    count: 1
    growth_per_quarter: 100%
  tuner:
    tune: {model: llama-3.1-8b, method: qlora, base_bits: 4, deploy: {replicas: 2}}
    quarters: 2027Q1
  notebooks:
    fixed: {gpus: 1, cpus: 4, memory_gb: 32}
    count: 3
"""


@pytest.fixture(scope="module")
def inputs():
    return asked(SCENARIO)


@pytest.fixture(scope="module")
def made(inputs):
    return make_plan(inputs)


def test_what_is_sized_once_for_many_plans_hides_no_edit(inputs, made):
    sizers = Sizers()
    plan = make_plan(inputs, sizers=sizers)
    assert dumps(plan) == dumps(made)
    first, *others = plan.jobs
    fewer = changed(first, units=(1, 1))
    edited = changed(plan, jobs=(fewer, *others))
    with pytest.raises(CheckError, match="units by quarter"):
        verify(inputs, edited, sizers)
    sizings = {
        key: changed(sizing, candidates=sizing.candidates[:1])
        for key, sizing in plan.sizings.items()
    }
    with pytest.raises(CheckError, match="its sizing is not what the rules give"):
        verify(inputs, changed(plan, sizings=sizings), sizers)


def test_the_rules_of_a_candidate_are_those_of_its_trace(inputs):
    sizer = Sizers().sizer(inputs, None)
    for job in size_portfolio(sizer, inputs.scenario):
        for candidate in job.sizing.candidates:
            told = candidate.rules
            stored = changed(candidate, trace=tuple(candidate.trace))
            assert told == stored.rules == {step.rule for step in candidate.trace} != set()
