"""Warnings, assumptions, alternatives, use and storage of a plan."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from fractions import Fraction

import pytest

from planner.packing.solution import PriceTag, Status
from planner.packing.statement.translate import translate
from planner.planning.figures.use import pool_uses, stranded_gpus
from planner.planning.placing.fleet import build_fleet
from planner.planning.placing.place import place


def texts(notes):
    return [note.text for note in notes]


def with_horizon(case, **changes):
    scenario = case.inputs.scenario
    horizon = scenario.horizon.model_copy(update=changes)
    scenario = scenario.model_copy(update={"horizon": horizon})
    return replace(case, inputs=case.inputs.model_copy(update={"scenario": scenario}))


def test_illustrative_prices_are_warned_of_once_with_the_offers_concerned(plan):
    warnings = [note for note in plan.warnings if "illustrative" in note.text]
    assert texts(warnings) == ["Prices are illustrative. Offers concerned: buy-l40s ($60000.50)"]
    assert warnings[0].origin == "book-1"


def test_a_price_without_a_quote_is_told_apart_from_the_price_book(case):
    offers = tuple(offer.model_copy(update={"illustrative": True}) for offer in case.inputs.offers)
    inputs = case.inputs.model_copy(update={"offers": offers})
    warnings = texts(replace(case, inputs=inputs).plan.warnings)
    assert any(text.startswith("no quote stands behind these prices") for text in warnings)


def test_a_stale_price_is_warned_of(case, plan):
    assert not any("days before" in text for text in texts(plan.warnings))
    later = with_horizon(case, as_of=date(2027, 5, 31)).plan
    assert any(
        "buy-h100 is of 2026-12-01, 181 days before" in text for text in texts(later.warnings)
    )
    same = with_horizon(case, as_of=date(2027, 5, 30)).plan
    assert not any("days before" in text for text in texts(same.warnings))


def test_an_unproved_plan_says_how_far_it_can_be_off(case):
    solution = replace(case.solution, status=Status.NOT_PROVED)
    warnings = texts(replace(case, solution=solution).plan.warnings)
    assert warnings[0].startswith("not proved: a limit was hit")
    assert "$1.00" in warnings[0]


def test_assumed_settings_are_listed_with_value_unit_and_rule(plan):
    assert "support_share_per_year = 10 % (rule policies/x)" in texts(plan.assumptions)
    assert not any(text.startswith("pue") for text in texts(plan.assumptions))


def test_offers_without_a_lead_time_are_listed_as_delivered_on_the_day_of_the_order(plan):
    note = next(note for note in plan.assumptions if note.origin == "offers")
    assert note.text == (
        "no lead time is stated, so nodes count as in service on the day of the order: "
        "buy-h100, buy-l40s, rent-h100"
    )


def test_estimated_node_figures_are_listed_with_their_note(plan):
    assert "eight-h100: host_memory_gb = 1,024 GB is an assumption: as its sibling" in texts(
        plan.assumptions
    )


def test_sizing_assumptions_name_the_jobs_they_concern(plan):
    note = next(note for note in plan.assumptions if note.text == "one adapter of rank 16")
    assert note.origin == "job tune"


def test_a_waived_rule_is_listed_with_its_reason(case):
    scenario = case.inputs.scenario
    policies = scenario.policies.model_copy(update={"waived_rules": {"exclusions/x": "tried it"}})
    scenario = scenario.model_copy(update={"policies": policies})
    inputs = case.inputs.model_copy(update={"scenario": scenario})
    assumptions = texts(replace(case, inputs=inputs).plan.assumptions)
    assert "rule exclusions/x is waived: tried it" in assumptions


def test_storage_grows_with_each_tuned_unit_and_stays(plan):
    assert plan.storage_mb == (500, 500, 500), "tuned again in the third quarter, it is replaced"


def test_use_is_counted_by_pool_and_quarter(plan):
    eight = plan.pools[0]
    assert (eight.nodes, eight.nodes_used) == ((1, 3, 3), (1, 3, 3))
    assert eight.gpus_used == (6, 20, 24)
    assert eight.cpus_used == (8, 6 + 17, 11 + 17)


def test_free_gpus_without_cores_for_any_unit_are_stranded(case, plan):
    """Of 9 cores `chat` and `tune` leave 1, too few for any unit; later 3 are left, enough."""
    pools = list(case.translation.problem.pools)
    pools[0] = replace(pools[0], node=pools[0].node._replace(cpus=9))
    problem = replace(case.translation.problem, pools=tuple(pools))
    translation = replace(case.translation, problem=problem)
    fleet = build_fleet(case.inputs, translation, case.solution)
    placement = place(translation, case.solution, fleet, {})
    assert pool_uses(translation, fleet, placement, Fraction(2190))[0].gpus_stranded == (2, 0, 0)
    assert plan.pools[0].gpus_stranded == (0, 0, 0)


def test_free_gpus_too_few_for_any_unit_are_not_called_stranded(case, plan):
    """Two GPUs are free in the first quarter, and `chat` wants no more than two."""
    jobs = tuple(job for job in case.jobs if job.name == "tune")
    translation = translate(case.inputs, jobs)
    assert translation.problem.demands[0].choices[0].shape.gpus == 4
    assert stranded_gpus((2, 0, 0), [translation.problem.demands[0].choices[0].shape]) == 0
    assert stranded_gpus((4, 0, 0), [translation.problem.demands[0].choices[0].shape]) == 4


def alternatives(plan, job):
    found = next(item for item in plan.jobs if item.name == job)
    return {item.gpu_type: (item.extra_cents, item.reason) for item in found.alternatives}


def test_the_chosen_gpu_type_costs_nothing_extra(plan):
    assert alternatives(plan, "chat")["h100-80gb-sxm"] == (
        0,
        "no other GPU type adds less to the bound",
    )


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
    tags = tuple(
        PriceTag(1000.4, (0.0, extra) if len(tag.extra_cents_by_choice) == 2 else (0.0,))
        for tag in case.solution.tags
    )
    plan = replace(case, solution=replace(case.solution, tags=tags)).plan
    assert alternatives(plan, "chat")["l40s-48gb"] == expected


def test_a_chosen_gpu_type_that_the_bound_finds_dearer_says_why_it_is_chosen(case):
    tags = tuple(
        PriceTag(1000.4, (70.0, 0.0) if len(tag.extra_cents_by_choice) == 2 else (0.0,))
        for tag in case.solution.tags
    )
    plan = replace(case, solution=replace(case.solution, tags=tags)).plan
    assert alternatives(plan, "chat")["h100-80gb-sxm"][0] == 0
    assert "whole nodes fill better" in alternatives(plan, "chat")["h100-80gb-sxm"][1]


def with_pool(case, index, **changes):
    pools = list(case.translation.problem.pools)
    pools[index] = replace(pools[index], **changes)
    problem = replace(case.translation.problem, pools=tuple(pools))
    return replace(case, translation=replace(case.translation, problem=problem))


def test_a_gpu_type_whose_nodes_are_too_small_is_not_available_whatever_the_bound_says(case):
    node = case.translation.problem.pools[1].node._replace(memory_mb=191_999)
    told = alternatives(with_pool(case, 1, node=node).plan, "chat")["l40s-48gb"]
    assert told == (None, "on four-l40s@main it needs 192,000 MB of host memory of 191,999")


def test_a_gpu_type_of_which_too_few_nodes_can_be_had_is_not_available(case):
    supplies = tuple(
        replace(supply, maximum=0) if supply.pool == 1 else supply
        for supply in case.translation.problem.supplies
    )
    problem = replace(case.translation.problem, supplies=supplies)
    plan = replace(case, translation=replace(case.translation, problem=problem)).plan
    assert alternatives(plan, "chat")["l40s-48gb"] == (
        None,
        "it needs 1 whole node of four-l40s@main, which can have 0 at most",
    )


def test_a_gpu_type_that_is_missing_in_some_quarters_alone_says_in_which(case):
    """Nodes of the offer come one quarter later than the job, whose units keep their GPU type."""
    problem = case.translation.problem
    supplies = tuple(
        replace(supply, unit_cost_cents=(None, *supply.unit_cost_cents[1:]))
        if supply.pool == 1
        else supply
        for supply in problem.supplies
    )
    late = replace(case.translation, problem=replace(problem, supplies=supplies))
    assert alternatives(replace(case, translation=late).plan, "chat")["l40s-48gb"] == (
        None,
        "not in 2027Q1: it needs 1 whole node of four-l40s@main, which can have 0 at most",
    )


def test_the_only_gpu_type_that_a_job_may_use_says_so(plan):
    assert alternatives(plan, "big")["h100-80gb-sxm"] == (
        0,
        "the only GPU type in play that the job may use",
    )
