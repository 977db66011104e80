"""A portfolio small enough to plan in the head: two pools, three quarters, four jobs.

One server with 8 H100 is owned. `chat` grows from one to two units of 2 GPUs, `tune` takes 4 GPUs
in the first and the last quarter, `big` spans two whole servers from the second quarter on, `small`
takes one GPU of a bought L40S server. The second server for `big` is bought, the third rented.
"""

from contextlib import chdir
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from planner.inputs.settled import Inputs
from planner.packing.solution import Layout, PriceTag, Solution, Status
from planner.packing.translation import Translation, translate
from planner.planning.assemble import SolvedPortfolio, assemble
from planner.planning.plan import Plan
from planner.sizing import (
    Candidate,
    DerivationStep,
    Quantity,
    Rejection,
    SizedJob,
    Sizing,
)
from tests.stated import stated

H100, L40S = "h100-80gb-sxm", "l40s-48gb"
OWN = """\
price_book: {id: book-1, date: 2027-01-01, illustrative: true, notice: Prices are illustrative.}
sources: {maker: {title: Data sheet}}
nodes:
  eight-h100:
    vendor: maker
    product: Server with 8
    gpu_type: h100-80gb-sxm
    gpus: {value: 8, source: maker}
    cpu_cores: {value: 64, source: maker}
    host_memory_gb: {value: 1024, source: maker, basis: assumption, note: as its sibling}
    mean_power_kw: {value: 7, source: maker}
    scale_out_fabric: {value: 400 Gb/s, source: maker}
  four-l40s:
    vendor: maker
    product: Server with 4
    gpu_type: l40s-48gb
    gpus: {value: 4, source: maker}
    cpu_cores: {value: 32, source: maker}
    host_memory_gb: {value: 512, source: maker}
    mean_power_kw: {value: 2.5, source: maker}
purchase:
  four-l40s: {price_usd: 60000.50, date: 2026-12-01, source: maker, basis: published}
"""
SCENARIO = """\
format: 1
name: four jobs
use: {catalog: [own.yaml]}
horizon: {first_quarter: 2027Q1, quarters: 3, as_of: 2026-12-15}
fleet: {first: {node_type: eight-h100, count: 1}}
offers:
  buy-h100: {node_type: eight-h100, kind: buy, price_usd: 300000, quote: 7,
             price_date: 2026-12-01, lead_time_weeks: 12, maximum: 2}
  buy-l40s: {node_type: four-l40s, kind: buy}
  rent-h100: {node_type: eight-h100, kind: rent, price_usd_per_gpu_hour: 4.14, quote: 7,
              price_date: 2026-12-01, maximum: 1}
finance: {discount_rate_per_year: 8%, useful_life_years: 5, energy_usd_per_kwh: 0.1, pue: 1.5}
policies: {headroom: 0, run_utilization: 90%}
jobs: {big: {fixed: {gpus: 1}}, chat: {fixed: {gpus: 1}}, small: {fixed: {gpus: 1}},
       tune: {fixed: {gpus: 1}}}
"""


@cache
def four_jobs() -> Inputs:
    """What the scenario says; how its jobs are sized is stated below, in round figures."""
    with TemporaryDirectory() as folder, chdir(folder):
        Path("own.yaml").write_text(OWN, encoding="utf-8")
        return stated(Path(), SCENARIO)


def step(rule: str, gpus: int) -> DerivationStep:
    return DerivationStep(
        rule=rule,
        title="As stated",
        formula="gpus",
        inputs=(Quantity(name="gpus", value=float(gpus), unit="GPUs", origin="job"),),
        result=Quantity(name="gpus", value=float(gpus), unit="GPUs", origin=f"rule {rule}"),
        sources=("The job itself",),
    )


def candidate(gpu: str, gpus: int, cpus: int, memory_gb: int, storage_mb: int = 0) -> Candidate:
    return Candidate(
        gpu_type=gpu,
        gpus=gpus,
        gpu_memory_mb=gpus * 40_000,
        gpu_capacity_mb=gpus * 48_000,
        cpus=cpus,
        memory_mb=memory_gb * 1000,
        storage_mb=storage_mb,
        replicas=1,
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
    job_class = next(
        index for index, members in enumerate(translation.members) if (job, unit) in members
    )
    modes = translation.problem.classes[job_class].modes
    mode = next(index for index, item in enumerate(modes) if item.gpu_type == gpu)
    return job_class, mode, units


def solution_of(translation: Translation, layouts, acquired) -> Solution:
    """Cost and tag given layouts, of first choices; the bound is one dollar below the cost."""
    problem = translation.problem
    cost = problem.fixed_cost_cents + sum(
        count * (supply.unit_cost_cents[quarter] or 0)
        for supply, row in zip(problem.supplies, acquired, strict=True)
        for quarter, count in enumerate(row)
    )
    tags = tuple(
        PriceTag(1000.4, tuple(0.0 if index == 0 else 5000.6 for index in range(len(d.modes))))
        for d in problem.classes
    )
    units = sum(job_class.count for job_class in problem.classes)
    bound = cost - 100
    return Solution(
        status=Status.PROVED,
        cost_cents=cost,
        bound_cents=bound,
        acquired=acquired,
        assigned=tuple((one.count, *(0 for _ in one.modes[1:])) for one in problem.classes),
        layouts=layouts,
        tags=tags,
        bound_terms=(("fixed cost", bound - units * 1000.4),),
        method="in the head",
    )


@pytest.fixture
def case() -> Case:
    translation = translate(four_jobs(), JOBS)

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
    acquired = ((0, 1, 0), (0, 1, 0), (0, 1, 1))
    return Case(four_jobs(), JOBS, translation, solution_of(translation, layouts, acquired))


@pytest.fixture
def plan(case: Case) -> Plan:
    return case.plan
