"""What must hold between the costs of two questions, whatever they are."""

from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from planner.planning.plan import Plan
from tests.properties.questions import JOBS, QUESTIONS, Question, cost_cents, drawing, written

ROUNDING_CENTS = 100
"""Each component of each node is rounded to the cent by itself: a cent for each, at most."""


def bought(plan: Plan) -> list[tuple[str, str, int]]:
    return [(line.offer, line.quarter, line.count) for line in plan.acquisitions]


@drawing(5)
@given(question=QUESTIONS, job=JOBS)
def test_another_job_never_lowers_the_cost(planned, question, job):
    assert cost_cents(planned, question.with_jobs(more=job)) >= cost_cents(planned, question)


def asking_more(job: dict[str, Any]) -> dict[str, Any]:
    """The same job with twice the traffic, runs of twice the length, or one unit more."""
    if "serve" in job:
        load = job["serve"]["load"]
        more = {**load, "requests_per_second": 2 * load["requests_per_second"]}
        return {**job, "serve": {**job["serve"], "load": more}}
    if "run" in job:
        return {**job, "run": {"hours": 2 * job["run"]["hours"]}}
    return {**job, "count": job["count"] + 1}


@drawing(6)
@given(question=QUESTIONS)
def test_a_job_that_asks_for_more_never_lowers_the_cost(planned, question):
    name, job = next(iter(question.jobs.items()))
    more = question.with_jobs(**{name: asking_more(job)})
    assert cost_cents(planned, more) >= cost_cents(planned, question)


@drawing(5)
@given(question=QUESTIONS, name=st.sampled_from(["alpha", "beta"]), rise=st.integers(1, 90_000))
def test_a_higher_price_costs_more_by_at_most_the_rise_for_each_node_bought(
    planned, question, name, rise
):
    before = cost_cents(planned, question)
    price = question.offers[name]["price_usd"]
    after = cost_cents(planned, question.with_offer(name, price_usd=price + rise))
    assert after >= before
    if before < float("inf"):
        plan = planned(written(question.parts()))
        nodes = sum(line.count for line in plan.acquisitions if line.offer == name)
        support = next(one.value for one in plan.settings if one.name == "support_share_per_year")
        # A bought node is worth the price that was paid: without its residual value, more.
        most = nodes * 100 * rise * (1 + support * question.quarters / 4)
        assert after - before <= most + ROUNDING_CENTS


@drawing(4)
@given(question=QUESTIONS, factor=st.sampled_from([2, 5]))
def test_all_prices_times_a_factor_leave_the_purchases(planned, question, factor):
    assume(cost_cents(planned, question) < float("inf"))
    before = planned(written(question.parts()))
    dearer = question
    for name, offer in question.offers.items():
        key = "price_usd" if offer["kind"] == "buy" else "price_usd_per_gpu_hour"
        dearer = dearer.with_offer(name, **{key: offer[key] * factor})
    energy = next(one.value for one in before.settings if one.name == "energy_usd_per_kwh")
    finance = {"energy_usd_per_kwh": energy * factor}
    after = planned(written({**dearer.parts(), "finance": finance}))
    assert bought(after) == bought(before)
    assert abs(after.proof.cost_cents - factor * before.proof.cost_cents) <= factor * ROUNDING_CENTS


@drawing(5)
@given(question=QUESTIONS)
def test_a_class_of_jobs_costs_the_same_in_parts(planned, question):
    name, job = next(iter(question.jobs.items()))
    first = {**job, "count": 1}
    rest = {**job, "count": job["count"] - 1}
    parts = {name: first} if job["count"] == 1 else {name: first, "rest": rest}
    assert cost_cents(planned, question.with_jobs(**parts)) == cost_cents(planned, question)


TIGHTER: dict[str, dict[str, Any]] = {
    "headroom": {"headroom": "10%"},
    "a spare node": {"spare_nodes": 1},
    "a reserve for growth": {"growth_reserve": {"h100-80gb-sxm": "20%"}},
    "a GPU type fewer": {"excluded_gpu_types": ["h200-141gb-sxm"]},
}


@pytest.mark.parametrize("tighter", TIGHTER)
@drawing(3)
@given(question=QUESTIONS)
def test_a_tighter_policy_is_never_cheaper(planned, tighter, question):
    held = question.with_policies(**TIGHTER[tighter])
    assert cost_cents(planned, held) >= cost_cents(planned, question)


@drawing(4)
@given(question=QUESTIONS, at_most=st.integers(0, 1))
def test_an_offer_with_a_lower_maximum_is_never_cheaper(planned, question, at_most):
    held = question.with_offer("alpha", maximum=at_most)
    assert cost_cents(planned, held) >= cost_cents(planned, question)


def test_the_questions_are_not_all_trivial(planned):
    """Guards the tests above: one of their questions needs both a purchase and owned nodes."""
    question = Question(
        quarters=1,
        owned=1,
        offers={"alpha": {"node_type": "xe9680-h200", "kind": "buy", "price_usd": 300_000}},
        jobs={"one": {"fixed": {"gpus": 8}, "count": 2}},
    )
    plan = planned(written(question.parts()))
    assert bought(plan) == [("alpha", "2027Q1", 1)]
