"""Every GPU type of a job has its verdict, and every number its way back."""

from __future__ import annotations

from planner.planning.explain import explain

H100, L40S = "h100-80gb-sxm", "l40s-48gb"


def verdicts(plan, job):
    return {item.gpu_type: item for item in explain(plan, job).verdicts}


def test_the_chosen_gpu_type_comes_first_with_its_whole_trace(plan):
    found = explain(plan, "chat")
    assert (found.verdicts[0].gpu_type, found.verdicts[0].outcome) == (H100, "chosen")
    assert found.verdicts[0].units == 2
    assert found.chosen[0].trace[0].rule == "capacity/stated"


def test_another_gpu_type_is_priced_or_names_rule_message_and_source(plan):
    other = verdicts(plan, "chat")[L40S]
    assert (other.outcome, other.extra_cents) == ("costs more", 5001)
    other = verdicts(plan, "tune")[L40S]
    assert other.outcome == "rejected"
    (reason,) = other.reasons
    assert (reason.rule, reason.text) == ("exclusions/qlora", "L40S is not supported")
    assert reason.sources == ("IBM",)


def test_a_gpu_type_that_nobody_offers_says_so(plan):
    chat = plan.sizings["id-chat"]
    h200 = chat.candidates[0].model_copy(update={"gpu_type": "h200-141gb-sxm"})
    sizing = chat.model_copy(update={"candidates": (*chat.candidates, h200)})
    plan = plan.model_copy(update={"sizings": {**plan.sizings, "id-chat": sizing}})
    other = verdicts(plan, "chat")["h200-141gb-sxm"]
    assert (other.outcome, other.extra_cents) == ("not available", None)
    assert other.reasons[0].text == "not owned and not offered"


def test_places_are_told_by_quarter_and_node(plan):
    places = explain(plan, "big").places
    assert [(place.quarter, place.nodes) for place in places] == [
        ("2027Q2", ("eight-h100/main/02", "eight-h100/main/r01")),
        ("2027Q3", ("eight-h100/main/02", "eight-h100/main/r01")),
    ]
    chat = explain(plan, "chat").places
    assert [(place.quarter, place.units, place.gpus) for place in chat] == [
        ("2027Q1", (1,), (0, 1)),
        ("2027Q2", (1, 2), (0, 1, 2, 3)),
        ("2027Q3", (1, 2), (0, 1, 2, 3)),
    ]
