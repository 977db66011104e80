"""Units that may change their GPU type from one quarter to the next, and those that keep it."""

from collections import Counter
from typing import Any

from hypothesis import given

from planner.planning.jobs import explain_job
from planner.planning.plan import Plan
from planner.reporting.markdown import render
from planner.reporting.sections.sizing import explanation_document
from tests.properties.questions import QUESTIONS, cost_cents, drawing
from tests.stated import table

RETIRING = """\
format: 1
name: One server retires, another comes late
horizon: {{first_quarter: 2027Q1, quarters: 3, as_of: 2026-11-21}}
fleet: {{old: {{node_type: xe9680-a100, count: 1, retires: 2027Q3}}}}
offers:
  new: {{node_type: xe9680-h100, kind: buy, price_usd: 300000, lead_time_weeks: 30}}
  rent: {{node_type: xe9680-h200, kind: rent, price_usd_per_gpu_hour: 5}}
policies: {policies}
jobs:
  endpoint: {{fixed: {{gpu_memory_gb: 60}}, count: {{2027Q1: 2, 2027Q2: 3, 2027Q3: 3}}{endpoint}}}
  retune: {{tune: {{model: llama-3.1-8b, method: lora, sequence: 2048, batch: 4}}{retune}}}
"""


def retiring(policies: str = "{}", endpoint: str = "", retune: str = "") -> str:
    return RETIRING.format(policies=policies, endpoint=endpoint, retune=retune)


def gpu_types_of(plan: Plan) -> dict[tuple[str, int], list[str]]:
    """By unit: its GPU type in each of its quarters."""
    gpu_type = {node.id: node.gpu_type for node in plan.nodes}
    found: dict[tuple[str, int], list[str]] = {}
    for uses in plan.placements:
        for use in uses:
            for one in use.occupants:
                found.setdefault((one.job, one.unit), []).append(gpu_type[use.node])
    return found


def by_quarter(question: Any) -> Any:
    """Each job as one job for each of its quarters."""
    jobs = {}
    for name, job in question.jobs.items():
        for number in range(1, question.quarters + 1):
            label = f"2027Q{number}"
            if job.get("quarters", label) == label:
                jobs[f"{name}-{number}"] = {**job, "quarters": label}
    return type(question)(
        question.quarters, question.owned, question.offers, jobs, question.policies
    )


@drawing(6)
@given(question=QUESTIONS)
def test_a_job_that_may_change_costs_what_a_job_for_each_quarter_would(planned, question):
    free = cost_cents(planned, question.with_policies(may_change_gpu_type="all"))

    assert free == cost_cents(planned, by_quarter(question))
    assert free <= cost_cents(planned, question.with_policies(may_change_gpu_type="none"))


@table(__file__)
def test_tuning_runs_change_unless_told_otherwise_and_endpoints_where_told(
    planned, policies, endpoint, retune, changing
):
    # The endpoint keeps its A100 where it may not change, and ends with it.
    text = retiring(policies, endpoint, retune)
    if not endpoint and "all" not in policies:
        text = text.replace("2027Q2: 3, 2027Q3: 3}", "2027Q2: 0}")

    found = gpu_types_of(planned(text))

    assert {job for (job, _), types in found.items() if len(set(types)) > 1} == set(changing)


def test_a_unit_changes_once_and_the_plan_says_when_and_why(planned):
    plan = planned(retiring("{may_change_gpu_type: all}"))

    types = gpu_types_of(plan)
    assert types["endpoint", 1] == ["a100-80gb-sxm", "a100-80gb-sxm", "h100-80gb-sxm"]
    assert types["endpoint", 3] == ["a100-80gb-sxm", "h100-80gb-sxm"]
    held = [
        {(one.job, one.unit): (use.node, one.gpus) for use in uses for one in use.occupants}
        for uses in plan.placements
    ]
    assert held[0].items() <= held[1].items()
    assert plan.moves == (0, 0, 4)
    job = next(job for job in plan.jobs if job.name == "endpoint")
    assert dict(job.gpu_types) == {"a100-80gb-sxm": 3, "h100-80gb-sxm": 3}
    text = render(explanation_document(explain_job(plan, "endpoint")))
    assert "(3 units, 2027Q1–Q2)" in text
    assert "(3 units, 2027Q3)" in text
    offered = {one.gpu_type: one.reason for one in job.alternatives}
    assert offered["h200-141gb-sxm"]
    assert "but for those of 2 jobs that may change it" in " ".join(plan.proof.checks)


def test_an_asset_that_is_tuned_again_elsewhere_is_stored_once(planned):
    kept = planned(retiring("{may_change_gpu_type: none}")).storage_mb
    changed = planned(retiring()).storage_mb

    assert changed == kept
    assert len(set(changed)) == 1
    assert changed[0] > 0


def test_a_job_that_gives_way_does_so_in_all_of_its_quarters(planned):
    text = (
        retiring("{may_change_gpu_type: all, shortage: drop}")
        .replace(
            "rent: {node_type: xe9680-h200, kind: rent, price_usd_per_gpu_hour: 5}",
            "rent: {node_type: xe9680-h200, kind: rent, price_usd_per_gpu_hour: 5, maximum: 0}",
        )
        .replace("count: {2027Q1: 2, 2027Q2: 3, 2027Q3: 3}", "count: {2027Q1: 2, 2027Q2: 9}")
    )

    plan = planned(text)

    placed = Counter(job for job, _ in gpu_types_of(plan))
    assert plan.shortage is not None
    assert [(job.name, job.outcome) for job in plan.shortage.jobs] == [("endpoint", "dropped")]
    assert set(placed) == {"retune"}
