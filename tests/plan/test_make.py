"""What is sized once serves many plans, and lets no edit of one through."""

from pathlib import Path

import pytest

from planner.errors import CheckError
from planner.planning.checks import verify
from planner.planning.make import make_plan
from planner.planning.store import dumps
from planner.sizing.sizers import Sizers
from tests.stated import changed, load_inputs


@pytest.fixture(scope="module")
def inputs():
    return load_inputs(Path(__file__).parents[2] / "scenarios" / "quickstart.yaml")


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
