"""Whatever is packed soundly, however it changes over the quarters, comes out sound."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from planner.planning.store import dumps, loads
from planner.planning.verify import check
from tests.properties.questions import drawing

NEEDS = st.lists(
    st.tuples(
        st.sampled_from([1, 1, 2, 3, 4, 5, 8, 16, 24]),
        st.sampled_from([1, 1, 1, 2, 3]),
        st.tuples(*[st.integers(0, 3)] * 3),
    ),
    min_size=1,
    max_size=8,
)


@drawing(16)
@given(needs=NEEDS)
def test_every_sound_packing_becomes_a_plan_that_passes(packer, needs):
    case = packer(needs)
    plan = case.plan
    check(case.inputs, case.jobs, plan)
    assert loads(dumps(plan), "plan.json") == plan


@drawing(8)
@given(needs=NEEDS)
def test_nobody_moves_when_nothing_changes(packer, needs):
    constant = [(gpus, replicas, (units[0],) * 3) for gpus, replicas, units in needs]
    case = packer(constant)
    backwards = tuple(
        tuple(tuple(reversed(pool)) if quarter == 1 else pool for pool in pools)
        for quarter, pools in enumerate(case.solution.layouts)
    )
    case = replace(case, solution=replace(case.solution, layouts=backwards))
    assert case.plan.moves == (0, 0, 0)
