"""What a plan says that sites give is what it needs of them, whatever is asked."""

import re

from hypothesis import assume, given
from hypothesis import strategies as st

from planner.errors import InfeasibleError
from planner.inputs.scenario.site import SITE_LIMITS
from tests.properties.questions import QUESTIONS, drawing, written

TO = re.compile(r"raise [a-z ]+ at main by [0-9.]+ \w+, to ([0-9.]+) \w+")


@drawing(4)
@given(question=QUESTIONS, limit=st.sampled_from(SITE_LIMITS))
def test_a_limit_of_all_that_is_taken_costs_nothing_and_one_less_is_kept_or_told(
    planned, question, limit
):
    def limited(most):
        return {**question.parts(), "sites": {"main": {limit.key: most / limit.per}}}

    try:
        free = planned(written(question.parts()))
    except InfeasibleError:
        assume(False)
    needed = planned(written({**question.parts(), "sites": {"main": {}}})).sites[0]
    most = max(needed.taken[limit.need])
    assert planned(written(limited(most))).proof.cost_cents == free.proof.cost_cents
    owned = question.owned * next(
        facts.takes[limit.need] for facts in free.node_types if facts.node_type == "xe9680-h100"
    )
    assume(most > owned)
    try:
        less = planned(written(limited(most - 1)))
    except InfeasibleError as found:
        remedies = found.remedies
    else:
        remedies = ()
        assert less.proof.cost_cents >= free.proof.cost_cents
        assert max(less.sites[0].taken[limit.need]) < most
    for amount in filter(None, map(TO.fullmatch, remedies)):
        planned(written(limited(round(float(amount[1]) * limit.per))))
