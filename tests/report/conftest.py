"""A small plan that has what a report must show: three pools, three quarters, three kinds of job.

What is found beside a plan (options, turns, futures) is made up, as some of it is rare.
"""

import json
from typing import Any

import pytest

import planner
from planner.inputs.load import load_catalog
from planner.inputs.reading.reader import parse_document
from planner.planning.plan import Note, Plan, PriorityUse, Shortage, ShortJob
from planner.planning.store import Saved, dumps
from planner.reporting.sections.sizing import RentedCandidate, sizing_document
from planner.reporting.terminal import TerminalOptions, render
from planner.reporting.traced import RelatedResults
from planner.whatif import alternatives as options
from planner.whatif.actuals import PlannedAndActual
from planner.whatif.compare import Amount, CauseStep, InputChange, JobMove, Waterfall, compare_plans
from planner.whatif.results import Acquired, JobShort, PlanSummary
from planner.whatif.risk import Chance, Risk
from planner.whatif.sensitivity import Moved, Sensitivity, Swing, SwitchingPoint
from tests.stated import changed

SCENARIO = """\
format: 1
name: Claims and support, 2027
description: |
  A small
  portfolio.
horizon: {first_quarter: 2027Q1, quarters: 3, as_of: 2027-01-01}
fleet:
  east: {node_type: xe9680-h100, count: 3, site: dc-east, max_power_kw: 10.2,
         mean_power_kw: 7}
offers:
  h200-buy: {node_type: xe9680-h200, kind: buy, price_usd: 357000, site: dc-east,
             lead_time_weeks: 12, max_power_kw: 10.2, mean_power_kw: 7}
  a100-buy: {node_type: xe9680-a100, kind: buy, price_usd: 900000, site: dc-east}
  gaudi-buy: {node_type: xe9680-gaudi3, kind: buy, price_usd: 900000, site: dc-east}
  l40s-rent: {node_type: r760xa-l40s, kind: rent, price_usd_per_gpu_hour: 2.267, quote: Q-17,
              site: cloud}
policies: {headroom: 0}
finance: {energy_usd_per_kwh: 0.1, pue: 1.5, discount_rate_per_year: 8%, useful_life_years: 5,
          support_share_per_year: 10%}
jobs:
  batch-inference:
    fixed: {gpus: 16, cpus: 24, memory_gb: 256}
    gpu_types: [h100-80gb-sxm]
    count: {2027Q1: 1, 2027Q2: 0}
  claims-tune:
    team: claims
    tune: {model: llama-3.1-70b, method: lora, gpus: 8, deploy: true}
    gpu_types: [h200-141gb-sxm, a100-80gb-sxm, gaudi3-128gb]
    count: {2027Q2: 1}
  "support|assistant <b>`x`":
    serve: {parameters_b: 10, adapters: {count: 2, size_gb: 0.125}}
    gpu_types: [l40s-48gb]
    count: {2027Q1: 3, 2027Q2: 4}
"""
"""Buys one node, rents one, owns three; a job name that attacks Markdown and HTML."""
QUARTERS = ("2027Q1", "2027Q2", "2027Q3")
TOTAL = 126_356_60
"""Of the plans beside, cents."""
QUESTION = parse_document("format: 1\n", "scenario.yaml")


@pytest.fixture(scope="session")
def plan() -> Plan:
    """As planned, without the teams that it is charged to."""
    made: Plan = changed(planner.plan(SCENARIO)._plan, chargeback=None)
    return made


def came(cost: int, **more: Any) -> PlanSummary:
    """Figures of a plan that acquires a node, in short."""
    bought = Acquired(
        quarter="2027Q2",
        kind="buy",
        offer="h200-buy",
        node_type="xe9680-h200",
        site="dc-east",
        count=1,
    )
    given: dict[str, Any] = {
        "acquired": (bought,),
        "capex_cents": 357_000_00,
        "rent_cents": 0,
        "gpus": 32,
        "gpus_held": 25,
        "order_by": "2027-01-07",
        "power_w": 40_800,
    }
    return PlanSummary(result="proved", cost_cents=cost, bound_cents=cost, **{**given, **more})


IDLE: dict[str, int | None] = {"capex_cents": 0, "gpus": 24, "gpus_held": 17, "power_w": None}


@pytest.fixture(scope="session")
def beside() -> RelatedResults:
    """Results of every kind: a plan, one that leaves a job short, none, and one left out."""
    gone = {"short": ("claims-tune",), "dropped": ("claims-tune",)}
    idle = came(9_000_00, acquired=(), order_by=None, **gone, **IDLE)
    found = options.Alternatives(
        question="",
        scenario="Claims and support, 2027",
        within=0.03,
        quarters=QUARTERS,
        cheapest=came(TOTAL),
        others=(
            options.AlternativePlan(
                name="do nothing",
                objective="nothing is acquired",
                figures=idle,
                units_short=(
                    JobShort(job="claims-tune", asked=(0, 1, 1), short=(0, 1, 1)),
                    JobShort(job="support", asked=(3, 4, 4), short=(0, 2, 0)),
                ),
            ),
            options.AlternativePlan(
                name="reclaim first",
                objective="partitions",
                figures=PlanSummary(result="infeasible", reason="what runs may not be dropped"),
            ),
            options.AlternativePlan(
                name="rent only", objective="nothing bought", figures=came(8_00)
            ),
            options.AlternativePlan(
                name="single vendor",
                objective="one vendor",
                left_out="no vendor alone offers what is needed",
            ),
        ),
    )

    def moved(by, cost):
        figures = came(cost) if cost else PlanSummary(result="infeasible", reason="too late")
        return Moved(by=by, settings=(), figures=figures)

    def turn(before, after, cost):
        return SwitchingPoint(before=moved(before, TOTAL), after=moved(after, cost))

    price = Swing(
        name="price of h200-buy",
        unit="share",
        stated="$357,000 per node",
        low=moved(-0.2, TOTAL - 30_000_00),
        high=moved(0.2, TOTAL + 25_000_00),
        turns=(turn(0.09, 0.095, TOTAL + 20_000_00),),
    )
    late = Swing(
        name="lead times",
        unit="weeks",
        stated="",
        low=moved(-4, TOTAL),
        high=moved(4, None),
        turns=(turn(-1, -2, TOTAL), turn(2, 3, None)),
    )
    moves = Sensitivity(
        question="",
        scenario="Claims and support, 2027",
        swing=0.2,
        weeks=4,
        precision=0.01,
        base=came(TOTAL),
        swings=(late, price),
    )
    return RelatedResults(alternatives=found, sensitivity=moves)


@pytest.fixture(scope="session")
def files(plan, beside, compared, risk) -> dict[str, Any]:
    """All that a figure may lead to, by the name of its file; plan.json has none."""
    results = {
        "alternatives.json": beside.alternatives,
        "sensitivity.json": beside.sensitivity,
        "compare.json": compared,
        "risk.json": risk,
    }
    texts = {"": dumps(plan)} | {name: one.model_dump_json() for name, one in results.items()}
    return {name: json.loads(text) for name, text in texts.items()}


@pytest.fixture(scope="session")
def risk() -> Risk:
    """Ten futures, all proved; in four of them the last quarter lacks nodes."""
    costs = tuple(TOTAL + 1_000_00 * number for number in range(10))
    return Risk(
        question="",
        scenario="Claims",
        seed=7,
        futures=10,
        base=came(TOTAL),
        without_plan=0,
        not_proved=0,
        cost_cents=tuple(costs[place] for place in (0, 2, 4, 7, 9)),
        costs_cents=costs,
        chances=(
            Chance(quarter="2027Q2", short=0, of=10),
            Chance(quarter="2027Q3", short=4, of=10),
        ),
    )


def never(_):
    raise AssertionError("nothing is planned for a picture")


@pytest.fixture(scope="session")
def compared(plan):
    """A plan beside one that lacks its last purchase and a warning, with made-up causes."""
    plan = changed(plan, warnings=(Note(text="prices are no quotes", origin="price book"),))
    *kept, _ = plan.acquisitions
    cost = plan.proof.cost_cents
    proof = changed(plan.proof, cost_cents=cost - 4_000_000)
    changes = {"acquisitions": tuple(kept), "warnings": (), "proof": proof}
    other = changed(plan, **changes)
    found = compare_plans(
        Saved("last.json", plan, QUESTION, None, "old"),
        Saved("now.yaml:busy", other, QUESTION, None, "old"),
        never,
    )
    steps = (
        CauseStep(causes=("demand",), added_cents=9, cost_cents=cost + 9, status="proved"),
        CauseStep(
            causes=("offers", "prices"),
            added_cents=-4_000_009,
            cost_cents=cost - 4_000_000,
            status="not proved",
        ),
    )
    quarter = plan.quarters[1]
    return changed(
        found,
        waterfall=Waterfall(steps=steps),
        unread=(),
        inputs=(
            InputChange(cause="demand", path="jobs.chat.count", before="2", after="3"),
            InputChange(cause="offers", path="offers.old", before="{kind: buy}", after=None),
            InputChange(cause="prices", path="finance.pue", before=None, after="1.5"),
        ),
        moves=(JobMove(job="chat", quarters=plan.quarters, before=None, after="2 on a @ b"),),
        gpus=(Amount(name="h100-80gb-sxm", quarter=quarter, unit="GPUs", before=8, after=16),),
        utilization=(
            Amount(name="GPU-hours in use", quarter=quarter, unit="share", before=0.9, after=0.456),
        ),
        power=(Amount(name="east", quarter=quarter, unit="W", before=61200, after=51000),),
        demand=(PlannedAndActual(quarter=quarter, name="chat", planned=2, actual=None),),
        deliveries=(PlannedAndActual(quarter=quarter, name="xe9680-h200", planned=3, actual=1),),
    )


@pytest.fixture(scope="session")
def short(plan):
    """A plan that drops a job of low priority and delays another."""

    def given(outcome, delay):
        return ShortJob(
            name="claims-tune" if outcome == "delayed" else "batch-inference",
            deployment=None,
            priority=50 if outcome == "delayed" else 25,
            outcome=outcome,
            delay_quarters=delay,
            asked=(1, 1, 1),
            cause="too few GPUs",
            remedies=(),
        )

    uses = tuple(
        PriorityUse(priority=rank, jobs=1, dropped=dropped, delayed=1 - dropped, proved=True)
        for rank, dropped in ((50, 0), (25, 1))
    )
    jobs = (given("delayed", 1), given("dropped", 0))
    told = Shortage(priorities=uses, jobs=jobs, bound_cents=plan.proof.cost_cents)
    return changed(plan, shortage=told)


def sizing_page(sizing, *, sums=False, width=100) -> str:
    """A sizing as the terminal shows it, where no price is known."""
    unpriced = [RentedCandidate(one, None, None) for one in sizing.candidates]
    book = load_catalog()[0].prices.header
    return render(sizing_document(sizing, unpriced, book, sums=sums), TerminalOptions(width))
