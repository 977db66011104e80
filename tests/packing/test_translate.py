"""From settled inputs to integers: classes, pools, lead times, and costs worked out by hand."""

from __future__ import annotations

import random
from datetime import date
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest

from planner.inputs.catalog.catalog import (
    Catalog,
    GpuType,
    MigProfile,
    NodeType,
    PriceBook,
    PriceBookHeader,
    Source,
)
from planner.inputs.rules.book import RuleBook
from planner.inputs.scenario.horizon import Horizon
from planner.inputs.scenario.job import Fixed, Job
from planner.inputs.scenario.offer import FleetEntry
from planner.inputs.scenario.quarter import Quarter
from planner.inputs.scenario.scenario import Policies, ResolvedScenario
from planner.inputs.settled import Inputs, Setting, Settings, SettledOffer
from planner.packing import solve, translate
from planner.packing.problem import ALWAYS, WHOLE, Part, Pool, RunWindow, Shape
from planner.packing.statement.translate import divisions_of
from planner.sizing.candidate import Candidate, SizedJob, Sizing

if TYPE_CHECKING:
    from planner.packing.statement.translate import Translation

EIGHT, FOUR = "eight-a", "four-b"


def figure(value: Any) -> Any:
    return {"value": value, "source": "maker", "basis": "published"}


def gpu(memory_gb: int) -> GpuType:
    return GpuType(
        vendor="amd",
        family="f",
        form_factor="card",
        memory_gb=figure(Decimal(memory_gb)),
        kubernetes_resource="maker.com/gpu",
    )


def node(gpu_type: str, gpus: int, *, fabric: bool) -> NodeType:
    return NodeType(
        vendor="maker",
        product="Server",
        gpu_type=gpu_type,
        gpus=figure(gpus),
        cpu_cores=figure(10 * gpus),
        host_memory_gb=figure(Decimal("100.5") * gpus),
        mean_power_kw=figure(Decimal("2.5")),
        scale_out_fabric=figure("a switch") if fabric else None,
    )


CATALOG = Catalog(
    sources={"maker": Source(title="Data sheet")},
    gpus={"a": gpu(80), "b": gpu(48)},
    nodes={EIGHT: node("a", 8, fabric=True), FOUR: node("b", 4, fabric=False)},
    models={},
    prices=PriceBook(
        header=PriceBookHeader(id="p", date=date(2027, 1, 1), illustrative=True, notice="No.")
    ),
)


def setting(value: str, unit: str) -> Setting:
    return Setting(value=Decimal(value), unit=unit, origin="scenario", assumed=False)


SETTINGS = Settings(
    headroom=setting("0", "share"),
    discount_rate_per_year=setting("0.21550625", "share"),
    useful_life_years=setting("2.5", "years"),
    support_share_per_year=setting("0.08", "share"),
    energy_usd_per_kwh=setting("0.10", "USD/kWh"),
    pue=setting("1.2", "ratio"),
    hours_per_quarter=setting("2000", "hours"),
    run_utilization=setting("0.9", "share"),
)
"""At 21.550625 % a year a quarter is discounted by exactly 1.05."""


def offer(name: str, node_type: str, kind: Any, usd: str, **changes: Any) -> SettledOffer:
    figures: dict[str, Any] = {
        "name": name,
        "node_type": node_type,
        "sites": ("main",),
        "kind": kind,
        "unit_price_usd": Decimal(usd),
        "price_text": usd,
        "price_origin": "quote",
        "price_date": None,
        "illustrative": False,
        "lead_time_weeks": 0,
        "maximum": None,
    }
    return SettledOffer(**{**figures, **changes})


def inputs_of(
    *offers: SettledOffer, quarters: int = 2, as_of: date | None = None, **scenario: Any
) -> Inputs:
    question = ResolvedScenario(
        format=1,
        name="question",
        horizon=Horizon(first_quarter=Quarter(2027, 1), quarters=quarters, as_of=as_of),
        jobs={"job": Job(fixed=Fixed(gpus=1))},
        **scenario,
    )
    return Inputs(
        scenario=question,
        catalog=CATALOG,
        catalog_of_files=CATALOG,
        rules=RuleBook(rules={}),
        settings=SETTINGS,
        offers=offers,
        files=(),
    )


def candidate(gpu_type: str, gpus: int, memory_mb: int = 1000) -> Candidate:
    return Candidate(
        gpu_type=gpu_type,
        gpus=gpus,
        gpu_memory_mb=1,
        gpu_capacity_mb=1,
        cpus=gpus + 1,
        memory_mb=memory_mb,
        storage_mb=0,
        hours=None,
        decided_by="stated",
        may_span=True,
        trace=(),
    )


def sized(name: str, units: tuple[int, ...], *candidates: Candidate) -> SizedJob:
    identity = "-".join(f"{c.gpu_type}{c.gpus}x{c.memory_mb}" for c in candidates)
    sizing = Sizing(
        id=identity, summary=name, candidates=candidates, rejections=(), assumptions=(), warnings=()
    )
    return SizedJob(
        name=name,
        kind="fixed",
        derived_from=None,
        derived_by=None,
        team=None,
        units=units,
        sizing=sizing,
    )


BUY_A = offer("buy-a", EIGHT, "buy", "200000")
RENT_A = offer("rent-a", EIGHT, "rent", "21000")
BUY_B = offer("buy-b", FOUR, "buy", "60000")


def test_jobs_that_need_the_same_become_one_demand_whatever_their_names():
    jobs = (sized("x", (2, 2), candidate("a", 2)), sized("y", (1, 1), candidate("a", 2)))
    translation = translate(inputs_of(BUY_A), jobs)
    (demand,) = translation.problem.demands
    assert (demand.count, demand.quarters) == (3, (0, 1))
    assert translation.members == ((("x", 1), ("x", 2), ("y", 1)),)


def test_a_growing_job_becomes_a_demand_for_each_run_of_quarters():
    """1, 3 and 2 units: one stays for three quarters, one for two, one for one."""
    inputs = inputs_of(BUY_A, quarters=3)
    translation = translate(inputs, (sized("x", (1, 3, 2), candidate("a", 2)),))
    runs = {demand.quarters: demand.count for demand in translation.problem.demands}
    assert runs == {(0, 1, 2): 1, (1, 2): 1, (1,): 1}
    by_unit = {
        unit: demand.quarters
        for demand, units in zip(translation.problem.demands, translation.members, strict=True)
        for unit in units
    }
    assert by_unit == {("x", 1): (0, 1, 2), ("x", 2): (1, 2), ("x", 3): (1,)}


@pytest.mark.parametrize("may_span", [True, False])
def test_a_candidate_that_may_not_span_becomes_a_shape_that_does_not(may_span):
    one = candidate("a", 8).model_copy(update={"may_span": may_span})
    (demand,) = translate(inputs_of(BUY_A), (sized("x", (1, 1), one),)).problem.demands
    assert demand.choices[0].shape.spans is may_span


def test_a_job_that_is_never_active_makes_no_demand():
    translation = translate(inputs_of(BUY_A), (sized("x", (0, 0), candidate("a", 2)),))
    assert translation.problem.demands == ()


@pytest.mark.parametrize("seed", range(5))
def test_jobs_in_another_order_are_the_same_problem_and_the_same_plan(seed):
    jobs = [
        sized(f"job-{number}", (number % 2, 1 + number % 3), *choices)
        for number, choices in enumerate(
            (candidate("a", gpus, 1000 * gpus), candidate("b", min(4, 2 * gpus), 900))
            for gpus in (1, 2, 4, 1, 2, 8, 1)
        )
    ]
    inputs = inputs_of(BUY_A, BUY_B, RENT_A)
    first = translate(inputs, tuple(jobs))
    random.Random(seed).shuffle(jobs)
    again = translate(inputs, tuple(jobs))
    assert again == first
    assert solve(again) == solve(first)


def test_nodes_of_one_type_at_one_site_are_one_pool():
    fleet = {
        "old": FleetEntry(node_type=EIGHT, count=2),
        "older": FleetEntry(node_type=EIGHT, count=3),
        "far": FleetEntry(node_type=EIGHT, count=1, site="far"),
    }
    policies = Policies(spare_nodes={EIGHT: 1})
    problem = translate(inputs_of(BUY_B, fleet=fleet, policies=policies), ()).problem
    found = [(pool.name, pool.owned, pool.spare, pool.fabric) for pool in problem.pools]
    assert found == [
        ("eight-a@far", 1, 1, True),
        ("eight-a@main", 5, 1, True),
        ("four-b@main", 0, 0, False),
    ]
    assert problem.pools[1].node == Shape(8, 80, 804_000)
    assert problem.supplies[0].pool == 2


def test_a_node_enters_service_in_the_first_quarter_that_begins_after_its_lead_time():
    """From 1 January 2027, 12 weeks end on 26 March and 13 on 2 April, when Q2 has begun."""
    offers = [
        offer(f"in-{weeks}", EIGHT, "rent", "1", lead_time_weeks=weeks) for weeks in (0, 12, 13, 25)
    ]
    supplies = translate(inputs_of(*offers, quarters=3), ()).problem.supplies
    ready = [
        next((q for q, cents in enumerate(supply.unit_cost_cents) if cents is not None), None)
        for supply in supplies
    ]
    assert ready == [0, 1, 2, 2]


def test_an_order_placed_earlier_arrives_earlier():
    late = offer("late", EIGHT, "rent", "1", lead_time_weeks=12)
    early = inputs_of(late, as_of=date(2026, 10, 1))
    assert translate(early, ()).problem.supplies[0].unit_cost_cents[0] is not None


MIG = {
    "small": MigProfile(compute_slices=1, memory_slices=1, placement_starts=(0, 1, 2)),
    "half": MigProfile(compute_slices=1, memory_slices=2, placement_starts=(0, 2)),
    "all": MigProfile(compute_slices=3, memory_slices=4, placement_starts=(0,)),
}
"""Made up: three small partitions, two halves, or a half and two small ones."""


def on_part(gpu_type: str, **part: Any) -> Candidate:
    return candidate(gpu_type, 1).model_copy(update={"gpu_capacity_mb": 80_000, **part})


def with_partitions(inputs: Inputs) -> Inputs:
    parted = CATALOG.gpus["a"].model_copy(update={"mig_profiles": MIG})
    catalog = CATALOG.model_copy(update={"gpus": {**CATALOG.gpus, "a": parted}})
    return inputs.model_copy(update={"catalog": catalog})


def pools_by_type(translation: Translation) -> dict[str, Pool]:
    return {pool.gpu_type: pool for pool in translation.problem.pools}


def test_a_pool_has_the_divisions_of_the_profiles_that_some_job_can_use():
    inputs = with_partitions(inputs_of(BUY_A, BUY_B))
    jobs = (
        sized("x", (1, 1), on_part("a", partition="small"), candidate("b", 1)),
        sized("y", (1, 1), on_part("a", partition="half", cpus=1)),
    )
    pools = pools_by_type(translate(inputs, jobs))
    assert pools["a"].divisions == divisions_of(inputs.catalog.gpus["a"], ("small", "half"))
    assert pools["b"].divisions == ()


@pytest.mark.parametrize(("policy", "mixes"), [("same-node", True), ("own-node", False)])
def test_the_policy_says_whether_partitioned_gpus_stand_beside_whole_ones(policy, mixes):
    inputs = with_partitions(inputs_of(BUY_A, policies=Policies(mig=policy)))
    job = sized("x", (1, 1), on_part("a", partition="small"))
    (pool,) = translate(inputs, (job,)).problem.pools
    assert pool.mixes is mixes


def test_the_memory_that_is_shared_is_the_least_that_any_job_may_fill():
    modest = on_part("a", shared_mb=10_000)
    bold = on_part("a", shared_mb=30_000, gpu_capacity_mb=85_500)
    jobs = (sized("x", (1, 1), bold), sized("y", (1, 1), modest, candidate("b", 1)))
    pools = pools_by_type(translate(inputs_of(BUY_A, BUY_B), jobs))
    assert pools["a"].shared_mb == 80_000
    assert pools["b"].shared_mb == 0


def test_parts_become_shapes_of_one_gpu_whose_choices_have_names():
    inputs = with_partitions(inputs_of(BUY_A))
    job = sized(
        "x",
        (1, 1),
        candidate("a", 1),
        on_part("a", partition="small", replicas=3),
        on_part("a", shared_mb=7_470),
    )
    (demand,) = translate(inputs, (job,)).problem.demands
    parts = {choice.way: (choice.shape.part, choice.copies) for choice in demand.choices}
    assert parts == {
        "a": (WHOLE, 1),
        "a small": (Part("small", 0), 3),
        "a shared": (Part("", 7_470), 1),
    }
    assert [choice.shape.bundles for choice in demand.choices] == [False, True, True]


def run_of(hours: int | None, name: str = "x", **window: int) -> SizedJob:
    one = candidate("a", 2).model_copy(update={"planned_hours": hours})
    return sized(name, (1, 1), one).model_copy(update=window)


def test_a_run_becomes_hours_and_a_window_and_as_many_pieces_as_it_runs():
    job = run_of(30, release_hour=504, deadline_hour=1512, runs=6)
    (demand,) = translate(inputs_of(BUY_A), (job,)).problem.demands
    assert demand.choices[0].shape.run == RunWindow(30, 504, 1512)
    assert demand.choices[0].copies == 6


def test_a_job_without_hours_holds_its_gpus_always():
    (demand,) = translate(inputs_of(BUY_A), (run_of(None),)).problem.demands
    assert demand.choices[0].shape.run == ALWAYS
    assert not demand.choices[0].shape.bundles


def test_jobs_alike_but_for_their_windows_are_different_demands():
    early = run_of(30, "x", deadline_hour=600)
    late, again = (run_of(30, name, release_hour=700) for name in ("y", "z"))
    demands = translate(inputs_of(BUY_A), (early, late, again)).problem.demands
    assert sorted((one.count, one.choices[0].shape.run.earliest) for one in demands) == [
        (1, 0),
        (2, 700),
    ]
