"""Warnings, assumptions, alternatives, use and storage of a plan."""

from dataclasses import replace

import pytest

from planner.packing.solution import PriceTag
from planner.planning.jobs import explain_job
from tests.stated import changed

H100 = "h100-80gb-sxm"


def texts(notes):
    return [note.text for note in notes]


def with_scenario(case, part, **changes):
    scenario = case.inputs.scenario
    stated = changed(scenario, **{part: changed(getattr(scenario, part), **changes)})
    return replace(case, inputs=changed(case.inputs, scenario=stated))


def test_illustrative_prices_are_warned_of_once_from_the_book_and_from_the_scenario(case, plan):
    warnings = [note for note in plan.warnings if "illustrative" in note.text]
    (told,) = texts(warnings)
    assert told == "Prices are illustrative. Offers concerned: buy-l40s ($60,000.50 per node)"
    assert warnings[0].origin == "book-1"
    offers = tuple(changed(offer, illustrative=True) for offer in case.inputs.offers)
    own = replace(case, inputs=changed(case.inputs, offers=offers)).plan
    assert any(one.startswith("no quote stands behind these prices") for one in texts(own.warnings))


def test_whatever_is_taken_for_granted_is_listed_with_who_says_so(case):
    plan = with_scenario(case, "policies", waived_rules={"exclusions/x": "tried it"}).plan
    told = {note.text: note.origin for note in plan.assumptions}
    assert told["support_share_per_year = 10 % (rule policies/support)"] == "rule policies/support"
    assert not any(text.startswith("pue") for text in told)
    silent = "no lead time is stated, so nodes count as in service on the day of the order: "
    assert told[f"{silent}buy-l40s, rent-h100"] == "offers"
    assert "eight-h100: host_memory_gb = 1,024 GB is an assumption: as its sibling" in told
    assert told["one adapter of rank 16"] == "job tune"
    assert "rule exclusions/x is waived: tried it" in told


def alternatives(plan, job):
    found = next(item for item in plan.jobs if item.name == job)
    return {item.gpu_type: (item.extra_cents, item.reason) for item in found.alternatives}


def with_tags(case, *extra):
    """Other prices of the GPU types of `chat` in the bound."""
    tags = tuple(
        PriceTag(1000.4, extra if len(tag.extra_cents_by_mode) == 2 else (0.0,))
        for tag in case.solution.tags
    )
    return replace(case, solution=replace(case.solution, tags=tags)).plan


def test_the_chosen_gpu_type_says_why_it_is(case, plan):
    assert alternatives(plan, "chat")[H100] == (0, "no other GPU type adds less to the bound")
    only = "the only GPU type in play that the job may use"
    assert alternatives(plan, "big")[H100] == (0, only)
    extra, reason = alternatives(with_tags(case, 70.0, 0.0), "chat")[H100]
    assert extra == 0
    assert "whole nodes fill better" in reason


@pytest.mark.parametrize(
    ("extra", "expected"),
    [
        (5000.6, (5001, "one unit on it would raise the proved bound by $50.01")),
        (
            0.2,
            (
                0,
                "costs no more by the bound, which fills nodes in fractions; on whole nodes no "
                "plan with it is cheaper than this one by more than $1.00",
            ),
        ),
        (None, (None, "its nodes are not to be had in the quarters of the job")),
    ],
    ids=["dearer", "a tie", "no nodes"],
)
def test_another_gpu_type_says_why_not(case, extra, expected):
    assert alternatives(with_tags(case, 0.0, extra), "chat")["l40s-48gb"] == expected


def with_pool(case, index, **changes):
    pools = list(case.translation.problem.pools)
    pools[index] = replace(pools[index], **changes)
    problem = replace(case.translation.problem, pools=tuple(pools))
    return replace(case, translation=replace(case.translation, problem=problem))


def test_a_gpu_type_whose_nodes_are_too_small_is_not_available_whatever_the_bound_says(case):
    node = case.translation.problem.pools[1].node._replace(memory_mb=191_999)
    told = alternatives(with_pool(case, 1, node=node).plan, "chat")["l40s-48gb"]
    assert told == (None, "on four-l40s@main it needs 192 GB of host memory of 191.999")


NONE_THERE = "no node of four-l40s@main can be had"


@pytest.mark.parametrize(
    ("supplied", "expected"),
    [
        (lambda one: replace(one, maximum=0), NONE_THERE),
        (
            lambda one: replace(one, unit_cost_cents=(None, *one.unit_cost_cents[1:])),
            f"not in 2027Q1: {NONE_THERE}, and its units keep one GPU type over all quarters "
            "(`may_change_gpu_type`)",
        ),
    ],
    ids=["never", "a quarter late"],
)
def test_a_gpu_type_of_which_too_few_nodes_can_be_had_is_not_available(case, supplied, expected):
    problem = case.translation.problem
    supplies = tuple(supplied(one) if one.pool == 1 else one for one in problem.supplies)
    scarce = replace(case.translation, problem=replace(problem, supplies=supplies))
    assert alternatives(replace(case, translation=scarce).plan, "chat")["l40s-48gb"] == (
        None,
        expected,
    )


def test_a_gpu_type_that_nobody_offers_says_so(plan):
    chat = plan.sizings["id-chat"]
    h200 = changed(chat.candidates[0], gpu_type="h200-141gb-sxm")
    sizing = changed(chat, candidates=(*chat.candidates, h200))
    plan = changed(plan, sizings={**plan.sizings, "id-chat": sizing})
    other = next(one for one in explain_job(plan, "chat").verdicts if one.gpu_type == h200.gpu_type)
    assert (other.outcome, other.extra_cents) == ("not available", None)
    assert other.reasons[0].text == "not owned and not offered"
