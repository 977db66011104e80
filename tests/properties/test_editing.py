"""A scenario that is varied, planned and compared in any order tells one story."""

from copy import deepcopy
from functools import reduce
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from planner.errors import InfeasibleError
from planner.inputs.load import Question as Asked
from planner.planning.checks import verify
from planner.planning.make import make_plan
from planner.planning.store import checked, dumps, loads, read_saved
from planner.sizing.sizers import Sizers
from planner.whatif.compare import compare_plans, planned_side
from tests.properties.questions import JOBS, QUESTIONS, drawing, written

SIZERS = Sizers()
"""One for all plans: what a variant leaves behind may change no other."""

CHANGES = st.fixed_dictionaries(
    {},
    optional={
        "offers.alpha.price_usd": st.integers(60_000, 400_000),
        "offers.gamma.maximum": st.integers(0, 3),
        "fleet.own.count": st.integers(1, 3),
        "policies.headroom": st.sampled_from(["5%", "10%"]),
        "jobs.kept.count": st.integers(1, 4),
    },
)


def planned(inputs: Any) -> Any:
    """The plan, made with what earlier plans have left behind."""
    return make_plan(inputs, asked_gap=0.0, sizers=SIZERS, price_choices=False)


def inputs_of(path: Path, parts: dict[str, Any], *names: str) -> Any:
    """What a file says with overrides of these names applied."""
    path.write_text(written(parts), encoding="utf-8")
    return Asked(path).inputs(names)


def told(inputs: Any) -> str:
    """plan.json, or why there is no plan."""
    try:
        return dumps(planned(inputs))
    except InfeasibleError as error:
        return error.headline


def figures(text: str) -> object:
    """What a plan decides and costs, without where its inputs were written."""
    if not text.startswith("{"):
        return text
    plan = loads(text, "plan.json")
    return plan.proof, plan.acquisitions, plan.nodes, plan.placements, plan.jobs, plan.costs


def written_out(parts: dict[str, Any], overrides: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """The scenario with all overrides where they belong, in the order of their names."""
    whole = deepcopy(parts)
    for _, changes in sorted(overrides.items()):
        for path, value in changes.items():
            *outer, last = path.split(".")
            reduce(lambda place, key: place.setdefault(key, {}), outer, whole)[last] = value
    return whole


@drawing(12)
@given(question=QUESTIONS, job=JOBS, first=CHANGES, second=CHANGES)
def test_overrides_are_one_plan_in_every_way_and_have_never_been_once_taken_back(
    tmp_path_factory, question, job, first, second
):
    """Applied by the file, by the command line, or written out."""
    path = tmp_path_factory.mktemp("editing") / "scenario.yaml"
    parts = question.with_jobs(kept=job).parts()
    overrides = {name: one for name, one in (("first", first), ("second", second)) if one}
    before = told(inputs_of(path, parts))
    varied = parts | ({"overrides": overrides} if overrides else {})
    applied = varied | ({"apply": [*overrides]} if overrides else {})
    by_file = told(inputs_of(path, applied))
    ways = (inputs_of(path, varied, *overrides), inputs_of(path, written_out(parts, overrides)))
    assert [figures(told(one)) for one in ways] == [figures(by_file)] * 2
    assert told(inputs_of(path, applied)) == by_file
    assert told(inputs_of(path, parts)) == before


@drawing(6)
@given(question=QUESTIONS, changes=CHANGES)
def test_a_plan_is_the_same_as_itself_saved_or_planned_and_passes_its_check_again(
    tmp_path_factory, question, changes
):
    path = tmp_path_factory.mktemp("editing") / "scenario.yaml"
    changes.pop("jobs.kept.count", None)
    inputs = inputs_of(path, written_out(question.parts(), {"only": changes}))
    try:
        side = planned_side("now", inputs, planned)
    except InfeasibleError:
        return
    text = dumps(side.plan)
    assert loads(text, "plan.json") == side.plan
    assert verify(inputs, side.plan) == side.plan.proof.checks
    for other in (side, checked(read_saved(text, "then"))):
        assert compare_plans(other, side, planned).same
