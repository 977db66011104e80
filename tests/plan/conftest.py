"""A portfolio small enough to plan in the head: two pools, three quarters, four jobs.

One server with 8 H100 is owned. `chat` grows from one to two units of 2 GPUs, `tune` takes 4 GPUs
in the first and the last quarter, `big` spans two whole servers from the second quarter on, `small`
takes one GPU of a bought L40S server. The second server for `big` is bought, the third rented.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any

import pytest

from planner.inputs.catalog.catalog import (
    Catalog,
    FactSource,
    GpuType,
    NodeType,
    PriceBook,
    PriceBookHeader,
)
from planner.inputs.reading.locate import InputFile
from planner.inputs.rules.book import RuleBook
from planner.inputs.rules.rule import Rule
from planner.inputs.scenario.horizon import Horizon
from planner.inputs.scenario.job import Fixed, Job
from planner.inputs.scenario.offer import FleetEntry, Offer
from planner.inputs.scenario.quarter import Quarter
from planner.inputs.scenario.scenario import ResolvedScenario
from planner.inputs.settled import Inputs, Setting, Settings, SettledOffer
from planner.packing.solution import Layout, PriceTag, Solution, Status
from planner.packing.statement.translate import Translation, translate
from planner.planning.assemble import SolvedPortfolio, assemble
from planner.sizing.candidate import (
    Candidate,
    DerivationStep,
    Quantity,
    Rejection,
    SizedJob,
    Sizing,
)

if TYPE_CHECKING:
    from planner.planning.plan import Plan

H100, L40S = "h100-80gb-sxm", "l40s-48gb"
EIGHT, FOUR = "eight-h100", "four-l40s"
SITE = "main"


def figure(value: Any, basis: str = "published", note: str | None = None) -> Any:
    return {"value": value, "source": "maker", "basis": basis, "note": note}


def gpu_type(family: str, memory_gb: int) -> GpuType:
    return GpuType(
        vendor="nvidia",
        family=family,
        form_factor="sxm",
        memory_gb=figure(Decimal(memory_gb)),
        kubernetes_resource="nvidia.com/gpu",
    )


def node_type(gpu: str, gpus: int, kw: str, *, fabric: str | None) -> NodeType:
    return NodeType(
        vendor="maker",
        product=f"Server with {gpus}",
        gpu_type=gpu,
        gpus=figure(gpus),
        cpu_cores=figure(8 * gpus),
        host_memory_gb=figure(Decimal(128 * gpus), "assumption", "as its sibling"),
        mean_power_kw=figure(Decimal(kw)),
        scale_out_fabric=figure(fabric) if fabric else None,
    )


CATALOG = Catalog(
    sources={"maker": FactSource(title="Data sheet")},
    gpus={H100: gpu_type("h100", 80), L40S: gpu_type("l40s", 48)},
    nodes={
        EIGHT: node_type(H100, 8, "7", fabric="400 Gb/s"),
        FOUR: node_type(L40S, 4, "2.5", fabric=None),
    },
    models={},
    prices=PriceBook(
        header=PriceBookHeader(
            id="book-1",
            date=date(2027, 1, 1),
            illustrative=True,
            notice="Prices are illustrative.",
        )
    ),
)


def setting(value: str, unit: str, *, assumed: bool = False) -> Setting:
    origin = "rule policies/x" if assumed else "scenario"
    return Setting(value=Decimal(value), unit=unit, origin=origin, assumed=assumed)


SETTINGS = Settings(
    headroom=setting("0", "share"),
    discount_rate_per_year=setting("0.08", "share"),
    useful_life_years=setting("5", "years"),
    support_share_per_year=setting("0.1", "share", assumed=True),
    energy_usd_per_kwh=setting("0.10", "USD/kWh"),
    pue=setting("1.5", "ratio"),
    hours_per_quarter=setting("2190", "hours"),
    run_utilization=setting("0.9", "share"),
)


def policy(name: str, unit: str, value: int) -> Rule:
    rule_id = f"policies/{name.replace('_', '-')}"
    return Rule(id=rule_id, title=name, kind="policy", sets=name, unit=unit, value=Decimal(value))


LIMITS = (
    ("far_off_price_factor", "times", 3),
    ("steep_discount_rate", "share", 1),
    ("steep_growth_per_quarter", "share", 2),
    ("stale_price_days", "days", 180),
    ("long_lead_time_weeks", "weeks", 104),
    ("far_off_need_factor", "times", 10),
    ("idle_budget_factor", "times", 50),
    ("odd_parameters_share", "share", 1),
    ("steep_share_kept_free", "share", 1),
    ("energy_usd_per_kwh", "USD/kWh", 1),
    ("useful_life_years", "years", 5),
    ("support_share_per_year", "share", 1),
    ("usual_colocation_usd_per_kw_month", "USD/kW/month", 184),
    ("usual_licence_usd_per_gpu_year", "USD/GPU/year", 4500),
)
"""Beyond which a figure is remarked on."""


def offer(name: str, node: str, kind: Any, price: str, **changes: Any) -> SettledOffer:
    figures: dict[str, Any] = {
        "name": name,
        "node_type": node,
        "sites": (SITE,),
        "kind": kind,
        "unit_price_usd": Decimal(price),
        "price_text": f"${price}",
        "price_origin": "quote 7",
        "price_date": "2026-12-01",
        "illustrative": False,
        "lead_time_weeks": 0,
        "maximum": None,
    }
    return SettledOffer(**{**figures, **changes})


OFFERS = (
    offer("buy-h100", EIGHT, "buy", "300000", lead_time_weeks=12, maximum=2),
    offer("buy-l40s", FOUR, "buy", "60000.50", illustrative=True),
    offer("rent-h100", EIGHT, "rent", "72532.80", maximum=1),
)

SCENARIO = ResolvedScenario(
    format=1,
    name="four jobs",
    horizon=Horizon(first_quarter=Quarter(2027, 1), quarters=3, as_of=date(2026, 12, 15)),
    fleet={"first": FleetEntry(node_type=EIGHT, count=1, site=SITE)},
    offers={
        "buy-h100": Offer(node_type=EIGHT, kind="buy", price_usd=Decimal(300000), quote="7"),
        "buy-l40s": Offer(node_type=FOUR, kind="buy"),
        "rent-h100": Offer(
            node_type=EIGHT, kind="rent", price_usd_per_gpu_hour=Decimal("4.14"), quote="7"
        ),
    },
    jobs={name: Job(fixed=Fixed(gpus=1)) for name in ("big", "chat", "small", "tune")},
)

INPUTS = Inputs(
    scenario=SCENARIO,
    catalog=CATALOG,
    catalog_of_files=CATALOG,
    rules=RuleBook.of(policy(*limit) for limit in LIMITS),
    settings=SETTINGS,
    offers=OFFERS,
    files=(InputFile(role="scenario", path="four.yaml", sha256="0" * 64),),
)


def step(rule: str, gpus: int) -> DerivationStep:
    return DerivationStep(
        rule=rule,
        title="As stated",
        formula="gpus",
        inputs=(Quantity(name="gpus", value=float(gpus), unit="GPUs", origin="job"),),
        result=Quantity(name="gpus", value=float(gpus), unit="GPUs", origin=f"rule {rule}"),
        sources=("The job itself",),
    )


def candidate(
    gpu: str, gpus: int, cpus: int, memory_gb: int, storage_mb: int = 0, replicas: int = 1
) -> Candidate:
    return Candidate(
        gpu_type=gpu,
        gpus=gpus,
        gpu_memory_mb=gpus * 40_000,
        gpu_capacity_mb=gpus * 48_000,
        cpus=cpus,
        memory_mb=memory_gb * 1000,
        storage_mb=storage_mb,
        replicas=replicas,
        hours=None,
        may_span=True,
        decided_by="stated",
        trace=(step("capacity/stated", gpus),),
    )


def sized(
    name: str,
    units: tuple[int, ...],
    *candidates: Candidate,
    kind: Any = "fixed",
    rejections: tuple[Rejection, ...] = (),
) -> SizedJob:
    return SizedJob(
        name=name,
        kind=kind,
        derived_from=None,
        derived_by=None,
        team=None,
        units=units,
        sizing=Sizing(
            id=f"id-{name}",
            summary=f"{name}, as stated",
            candidates=tuple(sorted(candidates, key=lambda item: item.gpu_type)),
            rejections=rejections,
            assumptions=("one adapter of rank 16",) if kind == "tune" else (),
            warnings=(),
        ),
    )


NO_L40S = Rejection(
    gpu_type=L40S, rule="exclusions/qlora", message="L40S is not supported", sources=("IBM",)
)
JOBS = (
    sized("big", (0, 1, 1), candidate(H100, 16, 17, 1001)),
    sized("chat", (1, 2, 2), candidate(H100, 2, 3, 160), candidate(L40S, 4, 5, 192)),
    sized("small", (0, 2, 2), candidate(L40S, 1, 2, 48)),
    sized("tune", (1, 0, 1), candidate(H100, 4, 5, 320, 500), kind="tune", rejections=(NO_L40S,)),
)


@dataclass(frozen=True)
class Case:
    """Inputs with their sizing, the problem and a solution of it."""

    inputs: Inputs
    jobs: tuple[SizedJob, ...]
    translation: Translation
    solution: Solution

    @property
    def plan(self) -> Plan:
        solved = SolvedPortfolio(self.inputs, self.jobs, self.translation, self.solution)
        return assemble(solved, asked_gap=0.01, solver="by hand")


def part(translation: Translation, job: str, unit: int, gpu: str, units: int = 1):
    """`units` of the demand that holds this unit, on a GPU type, as a part of a layout."""
    demand = next(
        index for index, members in enumerate(translation.members) if (job, unit) in members
    )
    choices = translation.problem.demands[demand].choices
    choice = next(index for index, item in enumerate(choices) if item.gpu_type == gpu)
    return demand, choice, units


def solution_of(translation: Translation, layouts, bought, rented) -> Solution:
    """Count, cost and tag given layouts; the bound is one dollar below the cost."""
    problem = translation.problem
    assigned = [[0] * len(demand.choices) for demand in problem.demands]
    seen: set[tuple[int, int]] = set()
    for quarter in layouts:
        here: dict[tuple[int, int], int] = {}
        for layout in (layout for pool in quarter for layout in pool):
            held = [*layout.parts]
            held += [(m.demand, m.choice, 1) for one in layout.bundles for m in one.members]
            for demand, choice, units in held:
                here[demand, choice] = here.get((demand, choice), 0) + units * layout.count
        for (demand, choice), pieces in here.items():
            if (demand, choice) not in seen:
                copies = problem.demands[demand].choices[choice].copies
                assigned[demand][choice] = pieces // copies
        seen |= here.keys()
    cost = problem.fixed_cost_cents + sum(
        count * (supply.unit_cost_cents[quarter] or 0)
        for counts in (bought, rented)
        for supply, row in zip(problem.supplies, counts, strict=True)
        for quarter, count in enumerate(row)
    )
    tags = tuple(
        PriceTag(1000.4, tuple(0.0 if index == 0 else 5000.6 for index in range(len(d.choices))))
        for d in problem.demands
    )
    units = sum(demand.count for demand in problem.demands)
    bound = cost - 100
    return Solution(
        status=Status.PROVED,
        cost_cents=cost,
        bound_cents=bound,
        bought=bought,
        rented=rented,
        assigned=tuple(tuple(row) for row in assigned),
        layouts=layouts,
        tags=tags,
        bound_terms=(("fixed cost", bound - units * 1000.4),),
        method="in the head",
    )


@pytest.fixture
def case() -> Case:
    translation = translate(INPUTS, JOBS)

    def on(job: str, unit: int, gpu: str = H100, units: int = 1):
        return part(translation, job, unit, gpu, units)

    big = Layout((on("big", 1),), 1, span=2)
    chats = (on("chat", 1), on("chat", 2))
    small = Layout((on("small", 1, L40S, 2),), 1)
    layouts = (
        ((Layout((on("chat", 1), on("tune", 1)), 1),), ()),
        ((Layout(chats, 1), big), (small,)),
        ((Layout((*chats, on("tune", 1)), 1), big), (small,)),
    )
    bought = ((0, 1, 0), (0, 1, 0), (0, 0, 0))
    rented = ((0, 0, 0), (0, 0, 0), (0, 1, 1))
    return Case(INPUTS, JOBS, translation, solution_of(translation, layouts, bought, rented))


@pytest.fixture
def plan(case: Case) -> Plan:
    return case.plan


def first_fit(needs: list[tuple[int, int, tuple[int, ...]]]) -> Case:
    """Jobs of (GPUs, replicas, units by quarter) on H100, packed first-fit, bought when needed."""
    jobs = tuple(
        sized(f"job-{number:02d}", units, candidate(H100, gpus, gpus + 1, 10 * gpus, 0, replicas))
        for number, (gpus, replicas, units) in enumerate(needs)
    )
    offers = tuple(
        item.model_copy(update={"lead_time_weeks": 0, "maximum": None}) for item in OFFERS
    )
    inputs = INPUTS.model_copy(update={"offers": offers})
    translation = translate(inputs, jobs)
    pools = translation.problem.pools
    layouts, wanted = [], []
    for quarter in range(3):
        packed = pack(translation, quarter)
        layouts.append((packed, ()))
        wanted.append(sum(layout.count * layout.span for layout in packed))
    owned = pools[0].owned
    to_the_end = (max(0, min(nodes, wanted[-1]) - owned) for nodes in wanted)
    kept = tuple(accumulate(to_the_end, max))
    bought = tuple(now - before for before, now in pairwise((0, *kept)))
    rented = tuple(max(0, nodes - owned - more) for nodes, more in zip(wanted, kept, strict=True))
    none = (0, 0, 0)
    solution = solution_of(translation, tuple(layouts), (bought, none, none), (none, none, rented))
    return Case(inputs, jobs, translation, solution)


def pack(translation: Translation, quarter: int) -> tuple[Layout, ...]:
    """Largest units first onto nodes of 8 GPUs; more than 8 span whole nodes."""
    nodes: list[dict[int, int]] = []
    free: list[int] = []
    spanning: list[Layout] = []
    shapes = [demand.choices[0].shape for demand in translation.problem.demands]
    for index in sorted(range(len(shapes)), key=lambda index: -shapes[index].gpus):
        demand, gpus = translation.problem.demands[index], shapes[index].gpus
        if quarter not in demand.quarters:
            continue
        pieces = demand.count * demand.choices[0].copies
        if gpus > 8:
            spanning.append(Layout(((index, 0, 1),), pieces, gpus // 8))
            continue
        for _ in range(pieces):
            node = next((at for at, left in enumerate(free) if left >= gpus), len(free))
            if node == len(free):
                free.append(8)
                nodes.append({})
            free[node] -= gpus
            nodes[node][index] = nodes[node].get(index, 0) + 1
    single = [Layout(tuple((i, 0, n) for i, n in sorted(node.items())), 1) for node in nodes]
    return (*single, *spanning)


@pytest.fixture(scope="session")
def packer() -> Any:
    return first_fit
