"""Plans in which jobs share GPUs in time and in parts, and each thing that their check notices.

Three runs share four GPUs of one server: `first` for five weeks, `then` and `beside` for four after
it. `small` and `half` share another, in partitions or by memory; `whole` has the last three.
"""

from fractions import Fraction

import pytest

from planner.inputs.scenario.quarter import WEEK_HOURS
from planner.planning.checks import verify
from planner.planning.jobs import explain_job
from planner.planning.make import make_plan
from planner.planning.store import dumps, loads
from planner.sizing.sizers import Sizers
from tests.plan.edits import noticed, pieces, refused
from tests.stated import asked, changed

H100 = "h100-80gb-sxm"
SCENARIO = """\
format: 1
name: shared
horizon: {first_quarter: 2027Q1, quarters: 1}
fleet: {own: {node_type: xe9680-h100, count: 1}}
policies: {POLICIES, run_utilization: 100%}
teams: {desk: {}, lab: {}}
jobs:
  first: {fixed: {gpus: 4, memory_gb: 1100}, run: {hours: 840, deadline: 6}, team: lab}
  then: {fixed: {gpus: 2, memory_gb: 1100}, run: {hours: 672}, team: lab}
  beside: {fixed: {gpus: 2}, run: {hours: 672, release: 5}, team: lab}
  small: {serve: {model: llama-3.1-8b, bits: 4, context: 2048, concurrency: 1}, count: 4,
          team: desk}
  half: {serve: {model: llama-3.1-8b, context: 8192, concurrency: 8}, team: desk}
  whole: {fixed: {gpus: 3}, team: desk}
"""


def read(policies="mig: same-node", change=("", "")):
    return asked(SCENARIO.replace("POLICIES", policies).replace(*change))


@pytest.fixture(scope="module")
def parted():
    """Inputs and plan with partitions."""
    inputs = read()
    return inputs, make_plan(inputs)


@pytest.fixture(scope="module")
def by_memory():
    """Inputs and plan where a GPU is shared without partitions."""
    inputs = read("shared_gpus: true")
    return inputs, make_plan(inputs)


def weeks(number):
    return number * WEEK_HOURS


def test_jobs_that_share_gpus_make_a_plan_that_passes_its_check(parted):
    inputs, plan = parted
    said = verify(inputs, plan)
    assert "no GPU is held twice at any hour, but in parts that do not overlap" in said
    assert any(sentence.startswith("3 runs: long enough") for sentence in said)
    held = {
        (one.job, one.unit): (one.gpus, one.hours, one.part and one.part.first)
        for use in plan.placements[0]
        for one in use.occupants
    }
    assert held == {
        **{("small", unit): ((0,), None, unit - 1) for unit in range(1, 5)},
        ("half", 1): ((0,), None, 4),
        ("first", 1): ((1, 2, 3, 4), (0, weeks(5)), None),
        ("then", 1): ((3, 4), (weeks(5), weeks(9)), None),
        ("beside", 1): ((1, 2), (weeks(5), weeks(9)), None),
        ("whole", 1): ((5, 6, 7), None, None),
    }
    assert loads(dumps(plan), "plan.json") == plan


def test_explain_says_which_hours_and_slices(parted):
    _, plan = parted
    (then,) = explain_job(plan, "then").places
    assert (then.hours, then.gpus, then.parts) == ((weeks(5), weeks(9)), (3, 4), ())
    (small,) = explain_job(plan, "small").places
    assert small.way == f"{H100} 1g.10gb"
    assert [(gpu, part.first, part.share) for gpu, part in small.parts] == [
        (0, first, Fraction(1, 8)) for first in range(4)
    ]


@noticed("GPUs in parts and in turn")
def test_the_check_notices_when(parted, told, edit):
    inputs, plan = parted
    assert told in refused(inputs, edit(plan))


@noticed("GPUs shared by memory")
def test_the_check_notices_of_memory_that_is_shared_when(by_memory, told, edit):
    inputs, plan = by_memory
    assert told in refused(inputs, edit(plan))


def test_the_check_notices_parts_that_are_more_than_all_of_them_say_there_is(by_memory):
    inputs, plan = by_memory
    less = pieces(
        0, lambda one: changed(one, part=changed(one.part, of=40_000)) if one.part else one
    )
    assert "has 40,000 MB to share, 67,292 are taken" in refused(inputs, less(plan))


def test_policies_on_parts_are_kept(parted, by_memory):
    def told(plan, change):
        policies = changed(inputs.scenario.policies, **change)
        scenario = changed(inputs.scenario, policies=policies)
        return refused(changed(inputs, scenario=scenario), plan, jobs)

    inputs, plan = parted
    jobs = Sizers().portfolio(inputs)
    assert "is on a partition, which policies.mig forbids" in told(plan, {"mig": "never"})
    own = told(plan, {"mig": "own-node"})
    assert "is partitioned for small and holds first, which has no partition" in own
    tuning = tuple(changed(job, kind="tune") if job.name == "half" else job for job in jobs)
    assert "which only serving jobs may" in refused(inputs, plan, tuning)
    inputs, plan = by_memory
    jobs = Sizers().portfolio(inputs)
    assert "shares a GPU, which policies.shared_gpus forbids" in told(plan, {"shared_gpus": False})
    others = read("shared_gpus: true", ("context: 8192,", "context: 8192, whole_gpu: true,"))
    assert "but asks for whole ones" in refused(others, plan, jobs)
