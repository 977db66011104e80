"""A small plan that has everything a report must show: three pools, three quarters, three kinds.

Figures are consistent with each other but made up; no room but `report` is tested with them.
"""

from __future__ import annotations

from typing import Any

import pytest

from planner.inputs.load import load_catalog
from planner.inputs.reading.reader import parse_document
from planner.planning.plan import (
    Acquisition,
    Alternative,
    CostLine,
    Node,
    NodeFacts,
    NodeUse,
    Note,
    Occupant,
    Plan,
    PlannedJob,
    PoolUse,
    PriorityUse,
    Proof,
    Provenance,
    RuleUse,
    SettingUse,
    Shortage,
    ShortJob,
    SpareCost,
)
from planner.reporting.sections.sizing import RentedCandidate, sizing_document
from planner.reporting.terminal import TerminalOptions, render
from planner.reporting.traced import RelatedResults
from planner.sizing.candidate import Candidate, DerivationStep, Quantity, Rejection, Sizing
from planner.whatif import results as options
from planner.whatif.actuals import PlannedAndActual
from planner.whatif.causes import CauseStep, Side, Waterfall
from planner.whatif.compare import Amount, InputChange, JobMove, compare
from planner.whatif.results import (
    Acquired,
    JobShort,
    Moved,
    PlanSummary,
    Sensitivity,
    Swing,
    SwitchingPoint,
)
from planner.whatif.risk import Chance, Risk

H100, H200, L40S = "h100-80gb-sxm", "h200-141gb-sxm", "l40s-48gb"
QUARTERS = ("2027Q1", "2027Q2", "2027Q3")
IBM = "Planning for foundation model tuning, table 2 (https://www.ibm.com/docs/tuning)"
GB = 1000
QUESTION = parse_document("format: 1\n", "scenario.yaml")


def step(rule, formula, value, inputs=()):
    return DerivationStep(
        rule=rule,
        title=f"Title of {rule}",
        formula=formula,
        inputs=tuple(
            Quantity(name=name, value=number, unit=unit, origin=origin)
            for name, number, unit, origin in inputs
        ),
        result=Quantity(name="memory_gb", value=value, unit="GB", origin=f"rule {rule}"),
        sources=(IBM,),
    )


PEFT = step(
    "serving/peft-16bit",
    "((parameters_b * 2) + adapters * adapter_gb) * 1.5",
    30.375,
    (
        ("parameters_b", 10.0, "billion", "job"),
        ("adapters", 2.0, "", "job"),
        ("adapter_gb", 0.125, "GB", "job"),
    ),
)


def candidate(gpu_type, gpus, need_gb, per_gpu_gb, *, decided_by="memory", hours=None, storage=0):
    return Candidate(
        gpu_type=gpu_type,
        gpus=gpus,
        gpu_memory_mb=int(need_gb * GB),
        gpu_capacity_mb=int(gpus * per_gpu_gb * GB),
        cpus=gpus + 1,
        memory_mb=int(need_gb * GB),
        storage_mb=storage,
        hours=hours,
        may_span=True,
        decided_by=decided_by,
        trace=(PEFT,),
    )


SIZINGS = {
    "5e21f0": Sizing(
        id="5e21f0",
        summary="Serving of a 10 B model at 16 bit with 2 adapters",
        candidates=(
            candidate(H100, 1, 30.375, 80),
            candidate(H200, 1, 30.375, 141),
            candidate(L40S, 1, 30.375, 48),
        ),
        rejections=(
            Rejection(
                gpu_type="gaudi3-128gb",
                rule="policies.excluded_gpu_types",
                message="the scenario excludes gaudi3-128gb",
            ),
        ),
        assumptions=(),
        warnings=(),
    ),
    "70b10a": Sizing(
        id="70b10a",
        summary="LoRA tuning of llama-3.1-70b, sequence 1,024, batch 32",
        candidates=(
            candidate(H100, 8, 640, 80, decided_by="floor", hours=41.25, storage=420),
            candidate(H200, 8, 640, 141, decided_by="floor", hours=40.5, storage=420),
        ),
        rejections=(
            Rejection(
                gpu_type="gaudi3-128gb",
                rule="exclusions/no-tuning-on-gaudi3",
                message="tuning does not run on Gaudi 3",
                sources=(IBM,),
            ),
            Rejection(
                gpu_type=L40S,
                rule="capacity/gpu-counts",
                message="needs 640 GB, more than 8 × 48 GB",
            ),
        ),
        assumptions=("adapter rank 16 (rule tuning/adapter-rank)",),
        warnings=("published rules have no activation term",),
    ),
    "f1xed0": Sizing(
        id="f1xed0",
        summary="16 GPUs, 24 cores and 256 GB as stated",
        candidates=(candidate(H100, 16, 0, 80, decided_by="stated"),),
        rejections=(),
        assumptions=(),
        warnings=(),
    ),
}


def job(name, kind, sizing, units, gpu_types, tag, alternatives=(), **more):
    return PlannedJob(
        name=name,
        kind=kind,
        derived_from=more.get("derived_from"),
        derived_by=more.get("derived_by"),
        team=more.get("team"),
        sizing=sizing,
        units=units,
        gpu_types=gpu_types,
        ways=gpu_types,
        tag_cents=tag,
        alternatives=alternatives,
    )


JOBS = (
    job("batch-inference", "fixed", "f1xed0", (1, 0, 0), ((H100, 1),), 0),
    job(
        "claims-tune",
        "tune",
        "70b10a",
        (0, 1, 1),
        ((H200, 1),),
        31_000_000_00,
        (
            Alternative(gpu_type=H200, way=H200, extra_cents=0, reason="chosen"),
            Alternative(gpu_type=H100, way=H100, extra_cents=12_345_67, reason="costs more"),
        ),
        team="claims",
    ),
    job(
        "claims-tune-serving",
        "serve",
        "5e21f0",
        (0, 0, 0),
        (),
        0,
        derived_from="claims-tune",
        derived_by="policies/deploy-tuned-model",
    ),
    job("support|assistant <b>`x`", "serve", "5e21f0", (3, 4, 4), ((L40S, 3), (H100, 1)), 99_50),
)


def node(id_, node_type, gpu_type, gpus, origin, entry, in_service):
    return Node(
        id=id_,
        node_type=node_type,
        gpu_type=gpu_type,
        gpus=gpus,
        cpus=112,
        memory_mb=2048 * GB,
        site=id_.split("/")[1],
        origin=origin,
        entry=entry,
        in_service=in_service,
    )


OWNED = tuple(
    node(f"xe9680-h100/dc-east/0{n}", "xe9680-h100", H100, 8, "owned", "east", QUARTERS)
    for n in (1, 2, 3)
)
BOUGHT = (node("xe9680-h200/dc-east/01", "xe9680-h200", H200, 8, "buy", "h200-buy", QUARTERS[1:]),)
RENTED = (node("r760xa-l40s/cloud/r1", "r760xa-l40s", L40S, 4, "rent", "l40s-rent", QUARTERS),)


def held(job_name, unit, *gpus, memory_gb=31, way=None):
    return Occupant(
        job=job_name,
        unit=unit,
        gpus=gpus,
        cpus=len(gpus) + 1,
        memory_mb=memory_gb * GB,
        way=way or next(job.ways[0][0] for job in JOBS if job.name == job_name),
    )


SUPPORT = "support|assistant <b>`x`"
L40S_USE = NodeUse(
    node="r760xa-l40s/cloud/r1",
    occupants=(held(SUPPORT, 1, 0), held(SUPPORT, 2, 1), held(SUPPORT, 3, 2)),
)
LATER = (
    L40S_USE,
    NodeUse(node="xe9680-h100/dc-east/01", occupants=(held(SUPPORT, 4, 0, way=H100),)),
    NodeUse(
        node="xe9680-h200/dc-east/01", occupants=(held("claims-tune", 1, *range(8), memory_gb=640),)
    ),
)
PLACEMENTS = (
    (
        L40S_USE,
        NodeUse(node="xe9680-h100/dc-east/01", occupants=(held("batch-inference", 1, *range(8)),)),
        NodeUse(node="xe9680-h100/dc-east/02", occupants=(held("batch-inference", 1, *range(8)),)),
    ),
    LATER,
    LATER,
)


def acquisition(offer, kind, node_type, product, gpu_type, gpus, quarter, price, **more):
    return Acquisition(
        offer=offer,
        kind=kind,
        node_type=node_type,
        product=product,
        gpu_type=gpu_type,
        gpus_per_node=gpus,
        site=more["site"],
        quarter=quarter,
        count=1,
        unit_price_cents=price,
        total_cents=price,
        price_text=more["price_text"],
        price_origin=more["price_origin"],
        price_date="2026-11-21",
        illustrative=more.get("illustrative", False),
        lead_time_weeks=more.get("lead_time_weeks", 0),
        order_by=more["order_by"],
    )


ACQUISITIONS = (
    acquisition(
        "h200-buy",
        "buy",
        "xe9680-h200",
        "PowerEdge XE9680",
        H200,
        8,
        "2027Q2",
        357_000_00,
        site="dc-east",
        price_text="$357,000 per node",
        price_origin="price book illustrative-2026-11",
        illustrative=True,
        lead_time_weeks=12,
        order_by="2027-01-07",
    ),
    *(
        acquisition(
            "l40s-rent",
            "rent",
            "r760xa-l40s",
            "PowerEdge R760xa",
            L40S,
            4,
            quarter,
            19_858_92,
            site="cloud",
            price_text="$2.267 per GPU-hour",
            price_origin="quote Q-17",
            order_by=f"{quarter[:4]}-{3 * int(quarter[-1]) - 2:02}-01",
        )
        for quarter in QUARTERS
    ),
)


def pool(node_type, site, gpu_type, nodes, used, gpus, gpus_used, *, spare=0):
    return PoolUse(
        node_type=node_type,
        site=site,
        gpu_type=gpu_type,
        nodes=nodes,
        nodes_used=used,
        nodes_spare=(spare,) * 3,
        gpus=gpus,
        gpus_used=gpus_used,
        gpus_peak=tuple(map(float, gpus_used)),
        gpu_hours=tuple(2190.0 * n for n in gpus),
        gpu_hours_used=tuple(2190.0 * n for n in gpus_used),
        cpus=tuple(112 * n for n in nodes),
        cpus_used=tuple(2 * n for n in gpus_used),
        memory_mb=tuple(2048 * GB * n for n in nodes),
        memory_used_mb=tuple(31 * GB * n for n in gpus_used),
    )


POOLS = (
    pool("r760xa-l40s", "cloud", L40S, (1, 1, 1), (1, 1, 1), (4, 4, 4), (3, 3, 3)),
    pool("xe9680-h100", "dc-east", H100, (3, 3, 3), (2, 1, 1), (24, 24, 24), (16, 1, 1), spare=1),
    pool("xe9680-h200", "dc-east", H200, (0, 1, 1), (0, 1, 1), (0, 8, 8), (0, 8, 8)),
)


def facts(node_type, product, gpu_type, gpus, rack_units, power_w):
    return NodeFacts(
        node_type=node_type,
        vendor="Dell",
        product=product,
        gpu_type=gpu_type,
        gpus=gpus,
        takes={"rack_units": rack_units}
        | ({"power_w": power_w, "mean_power_w": 7105} if power_w else {}),
        cooling="air",
        sources=("rack_units (published): technical guide",),
    )


NODE_TYPES = (
    facts("r760xa-l40s", "PowerEdge R760xa", L40S, 4, 2, None),
    facts("xe9680-h100", "PowerEdge XE9680", H100, 8, 6, 10200),
    facts("xe9680-h200", "PowerEdge XE9680", H200, 8, 6, 10200),
)
SETTINGS = tuple(
    SettingUse(name=name, value=value, unit=unit, origin=origin, assumed=origin != "scenario")
    for name, value, unit, origin in (
        ("headroom", 0.1, "share", "scenario"),
        ("discount_rate_per_year", 0.08, "share", "rule policies/discount-rate"),
        ("useful_life_years", 5.0, "years", "rule policies/useful-life"),
        ("hours_per_quarter", 2190.0, "h", "rule policies/hours-per-quarter"),
    )
)


def cost(name, cents, present, explanation):
    return CostLine(
        name=name,
        cents=cents,
        total_cents=sum(cents),
        present_cents=present,
        explanation=explanation,
    )


COSTS = (
    cost("purchase", (0, 357_000_00, 0), 350_201_12, "price in the quarter of entry"),
    cost("residual value", (0, 0, -321_300_00), -303_269_03, "5 years, straight line"),
    cost("support", (0, 8_925_00, 8_925_00), 17_342_51, "10 % a year of the price"),
    cost("energy", (1_000_10, 1_350_20, 1_350_20), 3_630_77, "mean power × PUE × hours × price"),
    cost("rent", (19_858_92,) * 3, 58_451_23, "4 GPUs × 2,190 h × $2.267"),
)
TOTAL = sum(line.present_cents for line in COSTS)


@pytest.fixture(scope="session")
def plan() -> Plan:
    """Buys one node, rents one, owns three; every kind of job; a job name that attacks Markdown."""
    return Plan(
        format="2.0",
        scenario="Claims and support, 2027",
        description="A small\nportfolio.",
        as_of="2027-01-01",
        quarters=QUARTERS,
        proof=Proof(
            status="proved",
            cost_cents=TOTAL,
            bound_cents=TOTAL - 5_00,
            gap=5_00 / TOTAL,
            asked_gap=0.0001,
            method="Counting program over classes and layouts, then cutting stock per pool.",
            checks=("every unit is placed exactly once in each quarter", "no GPU is held twice"),
            bound_terms=(
                ("job price tags", 100_000_00),
                ("whole nodes", TOTAL - 5_00 - 103_630_77),
                ("fixed cost", 3_630_77),
            ),
        ),
        acquisitions=ACQUISITIONS,
        nodes=(*OWNED, *BOUGHT, *RENTED),
        placements=PLACEMENTS,
        moves=(0, 1, 0),
        jobs=JOBS,
        sizings=SIZINGS,
        pools=POOLS,
        costs=COSTS,
        spare_cost=SpareCost(cents=60_000_00),
        storage_mb=(0, 420, 840),
        warnings=(
            Note(
                text="Purchase prices are illustrative figures, not quotes",
                origin="price book illustrative-2026-11",
            ),
            Note(text="claims-tune has no spare node in pool xe9680-h200 @ dc-east", origin="jobs"),
        ),
        assumptions=(
            Note(
                text="discount_rate_per_year = 0.08 (rule policies/discount-rate)",
                origin="rule policies/discount-rate",
            ),
            Note(text="adapter rank 16: claims-tune", origin="rule tuning/adapter-rank"),
        ),
        rules=(
            RuleUse(
                id="floors/70b-lora",
                title="70 B LoRA takes 8 GPUs",
                kind="floor",
                sources=(IBM,),
                errata=(),
                used=1,
            ),
            RuleUse(
                id="serving/peft-16bit",
                title="Serving with adapters at 16 bit",
                kind="formula",
                sources=(IBM, "A second source"),
                errata=("the source writes 0.128 beside 15.375, which gives 15.384",),
                used=2,
            ),
        ),
        settings=SETTINGS,
        node_types=NODE_TYPES,
        provenance=Provenance(
            planner_version="0.1.0",
            solver="HiGHS 1.15.1 through PuLP 3.3.2",
            files=(
                ("scenario", "claims.yaml", "9f" * 32),
                ("catalog", "gpus.yaml", "1c" * 32),
            ),
        ),
        question="format: 1\n",
    )


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


def changed(model: Any, **changes: Any) -> Any:
    """A copy in which some figures differ."""
    return model.model_copy(update=changes)


def never(_):
    raise AssertionError("nothing is planned for a picture")


@pytest.fixture(scope="session")
def compared(plan):
    """A plan beside one that lacks its last purchase and a warning, with made-up causes."""
    *kept, _ = plan.acquisitions
    cost = plan.proof.cost_cents
    proof = plan.proof.model_copy(update={"cost_cents": cost - 4_000_000})
    changes = {"acquisitions": tuple(kept), "warnings": plan.warnings[1:], "proof": proof}
    other = plan.model_copy(update=changes)
    found = compare(
        Side("last.json", plan, QUESTION, None, "old"),
        Side("now.yaml:busy", other, QUESTION, None, "old"),
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
    return found.model_copy(
        update={
            "waterfall": Waterfall(steps=steps),
            "unread": (),
            "inputs": (
                InputChange(cause="demand", path="jobs.chat.count", before="2", after="3"),
                InputChange(cause="offers", path="offers.old", before="{kind: buy}", after=None),
                InputChange(cause="prices", path="finance.pue", before=None, after="1.5"),
            ),
            "moves": (
                JobMove(job="chat", quarters=plan.quarters, before=None, after="2 on a @ b"),
            ),
            "gpus": (
                Amount(name="h100-80gb-sxm", quarter=quarter, unit="GPUs", before=8, after=16),
            ),
            "utilization": (
                Amount(
                    name="GPU-hours in use", quarter=quarter, unit="share", before=0.9, after=0.456
                ),
            ),
            "power": (Amount(name="east", quarter=quarter, unit="W", before=61200, after=51000),),
            "demand": (PlannedAndActual(quarter=quarter, name="chat", planned=2, actual=None),),
            "deliveries": (
                PlannedAndActual(quarter=quarter, name="xe9680-h200", planned=3, actual=1),
            ),
        }
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
    return plan.model_copy(update={"shortage": told})


def sizing_page(sizing, *, sums=False, width=100) -> str:
    """A sizing as the terminal shows it, where no price is known."""
    unpriced = [RentedCandidate(one, None, None) for one in sizing.candidates]
    book = load_catalog()[0].prices.header
    return render(sizing_document(sizing, unpriced, book, sums=sums), TerminalOptions(width))
