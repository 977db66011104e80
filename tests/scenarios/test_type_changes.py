"""A price for changes of GPU type, from the scenario file to the checked plan and its report."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from planner.errors import CheckError
from planner.inputs.load import load_inputs
from planner.planning.ledger.accounts import Accounts
from planner.planning.ledger.traced import FigureReader
from planner.planning.make import make_plan
from planner.planning.placing.moves import type_changes
from planner.planning.store import dumps, loads
from planner.planning.verify import check
from planner.reporting.markdown import render
from planner.reporting.sections.placement import moves_section
from planner.sizing.sizers import Sizers
from tests.stated import stated

if TYPE_CHECKING:
    from pathlib import Path

    from planner.inputs.settled import Inputs
    from planner.planning.plan import CostLine, Plan

SCENARIO = """\
format: 1
name: One server retires, another comes late
horizon: {{first_quarter: 2027Q1, quarters: 3, as_of: 2026-11-21}}
finance: {{discount_rate_per_year: 21.550625%}}
fleet: {{old: {{node_type: xe9680-a100, count: 1, retires: 2027Q3}}}}
offers:
  new: {{node_type: xe9680-h100, kind: buy, price_usd: 300000, lead_time_weeks: 30}}
  rent: {{node_type: xe9680-h200, kind: rent, price_usd_per_gpu_hour: 5}}
policies: {{may_change_gpu_type: all{policies}}}
jobs:
  endpoint: {{fixed: {{gpus: 2}}, count: 2{endpoint}}}
  retune: {{tune: {{model: llama-3.1-8b, method: lora, sequence: 2048, deploy: {{}}}}{retune}}}
"""
"""21.550625 % a year are 5 % a quarter."""


@pytest.fixture
def read(tmp_path: Path):
    def inputs(policies: str = "", endpoint: str = "", retune: str = "") -> Inputs:
        return stated(
            tmp_path, SCENARIO.format(policies=policies, endpoint=endpoint, retune=retune)
        )

    return inputs


@pytest.fixture
def planned(read):
    return lambda *stated: make_plan(read(*stated))


def changes(plan: Plan) -> dict[str, int]:
    """By job: changes of its units."""
    found: dict[str, int] = {}
    for one in type_changes(plan.placements, {node.id: node.gpu_type for node in plan.nodes}):
        found[one.job] = found.get(one.job, 0) + 1
    return found


def line(plan: Plan) -> CostLine | None:
    return next((line for line in plan.costs if line.name == "type changes"), None)


def test_the_price_alone_decides_whether_units_change(planned):
    """All year on rented H200 costs some $170,000 more than two changes of server."""
    assert changes(planned()) == {"endpoint": 2, "retune": 1, "retune-serving": 1}
    assert changes(planned(", gpu_type_change_cost_usd: 9000")) != {}

    kept = planned(", gpu_type_change_cost_usd: 90000")

    assert (changes(kept), line(kept)) == ({}, None)


def test_each_change_is_paid_at_the_price_of_its_job_in_its_quarter(planned):
    plan = planned(", gpu_type_change_cost_usd: 1000", "", ", gpu_type_change_cost_usd: 441")

    cost = line(plan)
    assert changes(plan) == {"endpoint": 2, "retune": 1, "retune-serving": 1}
    assert cost is not None
    assert cost.cents == (0, 0, 288_200)
    assert cost.present_cents == 2 * 90_703 + 2 * 40_000
    assert "$1,000, $441 (retune) for each unit that changes its GPU type" in cost.explanation


def test_a_price_that_changes_no_plan_is_added_to_its_cost(planned):
    free, priced = planned(), planned(", gpu_type_change_cost_usd: 1000")

    cost = line(priced)
    assert cost is not None
    assert priced.proof.cost_cents == free.proof.cost_cents + cost.present_cents
    assert priced.acquisitions == free.acquisitions
    assert line(free) is None
    assert planned(", gpu_type_change_cost_usd: 0").placements == free.placements


def test_a_job_that_may_not_change_pays_nothing_though_there_is_a_price(planned):
    plan = planned(", gpu_type_change_cost_usd: 1000", ", may_change_gpu_type: false")

    assert "endpoint" not in changes(plan)


def test_changes_are_charged_to_the_team_and_count_in_no_budget(planned):
    stated = ", gpu_type_change_cost_usd: 1000", ", team: shop", ", team: lab"
    plan, free = planned(*stated), planned("", *stated[1:])

    def charged(plan: Plan) -> dict[str | None, int]:
        assert plan.chargeback is not None
        return {team.team: team.charged_cents[2] for team in plan.chargeback.teams}

    added = {team: cents - charged(free)[team] for team, cents in charged(plan).items()}
    assert added == {"lab": 2 * 90_703, "shop": 2 * 90_703}


def test_documents_count_changes_and_nobody_pays_them(planned):
    plan = planned(", gpu_type_change_cost_usd: 1000")
    accounts = Accounts(plan, FigureReader(plan))

    cents = {line.name: sum(line.cents) for line in plan.costs}
    assert accounts.opex((0, 1, 2)).value == cents["support"] + cents["energy"]
    assert accounts.paid().value == sum(cents.values()) - accounts.unpaid((0, 1, 2)).value
    assert accounts.unpaid((0, 1, 2)).value == cents["residual value"] + cents["type changes"]


def test_priorities_decide_who_gives_way_and_not_the_price_of_changes(planned, read):
    """Eight GPUs for ten: without `retune`, nobody of higher priority is dropped."""
    short = ", gpu_type_change_cost_usd: 90000, shortage: drop"
    inputs = read(short, ", priority: high", ", gpu_type_change_cost_usd: 0")
    few = inputs.scenario.model_copy(
        update={
            "offers": {"new": inputs.scenario.offers["new"].model_copy(update={"maximum": 1})},
            "jobs": {
                **inputs.scenario.jobs,
                "endpoint": inputs.scenario.jobs["endpoint"].model_copy(update={"count": 4}),
            },
        }
    )
    offers = tuple(
        offer.model_copy(update={"maximum": 1}) for offer in inputs.offers if offer.name == "new"
    )

    plan = make_plan(inputs.model_copy(update={"scenario": few, "offers": offers}))

    assert plan.shortage is not None
    assert [(job.name, job.outcome) for job in plan.shortage.jobs] == [("retune", "dropped")]
    assert changes(plan) == {"endpoint": 4}


def test_of_equals_the_one_is_kept_whose_change_costs_less(tmp_path):
    """Eight GPUs, five for each: by name the first is kept, by cost the second."""

    def dropped(price: int) -> list[str]:
        text = SCENARIO.format(policies=", shortage: drop", endpoint="", retune="")
        text = text[: text.index("jobs:")].replace("_weeks: 30", "_weeks: 30, maximum: 1")
        text = text.replace("_hour: 5", "_hour: 5, maximum: 0") + (
            f"jobs:\n  first: {{fixed: {{gpus: 5}}, gpu_type_change_cost_usd: {price}}}\n"
            "  second: {fixed: {gpus: 5}}\n"
        )
        (tmp_path / "scenario.yaml").write_text(text)
        plan = make_plan(load_inputs(tmp_path / "scenario.yaml"))
        assert plan.shortage is not None
        assert plan.proof.status == "proved"
        return [job.name for job in plan.shortage.jobs]

    assert dropped(0) == ["second"]
    assert dropped(100) == ["first"]


def test_the_report_says_who_changes_and_at_what_price(planned):
    free, priced = planned(), planned(", gpu_type_change_cost_usd: 1000")

    text = render(moves_section(priced, 8))
    assert "4 changes of GPU type from quarter to quarter, priced at $3,628.12" in text
    assert "| 2027Q3 | endpoint | 2 | a100-80gb-sxm | h100-80gb-sxm |" in text
    assert "1 more row" in render(moves_section(priced, 2))
    assert not list(moves_section(free, 8))
    assert loads(dumps(priced), "plan.json") == priced


def test_the_independent_check_counts_the_changes_anew(read):
    inputs = read(", gpu_type_change_cost_usd: 1000", ", team: shop")
    jobs, plan = Sizers().portfolio(inputs), make_plan(inputs)
    check(inputs, jobs, plan)
    told = [
        one.model_copy(update={"present_cents": 0}) if one.name == "type changes" else one
        for one in plan.costs
    ]
    left_out = [one for one in plan.costs if one.name != "type changes"]
    broken = {
        "the present value of type changes": plan.model_copy(update={"costs": tuple(told)}),
        "type changes is missing": plan.model_copy(update={"costs": tuple(left_out)}),
    }
    for words, changed in broken.items():
        with pytest.raises(CheckError) as caught:
            check(inputs, jobs, changed)
        assert any(words in violation for violation in caught.value.violations), caught.value
