"""A plan in which jobs share GPUs in time and in parts, and each thing that its check notices.

Three runs share four GPUs of one server: `first` for five weeks, `then` and `beside` for four after
it. `small` has four 1g.10gb, `half` one 3g.40gb, of one GPU; two units of `memo` share another.
"""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import pytest

from planner.inputs.catalog.catalog import MigProfile
from planner.inputs.scenario.horizon import Run
from planner.inputs.scenario.job import Fixed, Job, Serve
from planner.inputs.scenario.quarter import RUN_HOURS, WEEK_HOURS
from planner.inputs.scenario.scenario import Policies
from planner.inputs.scenario.team import Team
from planner.packing import solve
from planner.packing.solution import Bundle, Layout, Member
from planner.packing.statement.translate import translate
from planner.packing.work import spent
from planner.planning.assemble import SolvedPortfolio
from planner.planning.checks import gpus
from planner.planning.checks.view import View
from planner.planning.choices import ChoicePrices
from planner.planning.explain import explain
from planner.planning.plan import NodeUse, PartitionSaving
from planner.planning.store import dumps, loads
from planner.planning.verify import check
from tests.plan.edits import changed, pieces, refused

H100 = "h100-80gb-sxm"
NODE = "eight-h100/main/01"
PROFILES = {
    "1g.10gb": MigProfile(compute_slices=1, memory_slices=1, placement_starts=tuple(range(7))),
    "3g.40gb": MigProfile(compute_slices=3, memory_slices=4, placement_starts=(0, 4)),
    "7g.80gb": MigProfile(compute_slices=7, memory_slices=8, placement_starts=(0,)),
}
WINDOWS = {"first": (1, 6), "then": (1, 13), "beside": (5, 13)}
SHARED_MB = 72_000


def weeks(number):
    return number * WEEK_HOURS


def with_scenario(inputs, **changes):
    return changed(inputs, scenario=changed(inputs.scenario, **changes))


def sharing_inputs(inputs):
    gpu = changed(inputs.catalog.gpus[H100], mig_profiles=PROFILES)
    catalog = changed(inputs.catalog, gpus={**inputs.catalog.gpus, H100: gpu})
    jobs = {
        name: Job(fixed=Fixed(gpus=1), team="lab", run=Run(release=a, deadline=b, hours=Decimal(1)))
        for name, (a, b) in WINDOWS.items()
    }
    jobs |= {name: Job(serve=Serve(model="m"), team="desk") for name in ("half", "memo", "small")}
    teams = {"desk": Team(), "lab": Team()}
    policies = Policies(mig="same-node", shared_gpus=True)
    inputs = changed(inputs, catalog=catalog)
    return with_scenario(inputs, jobs=jobs, teams=teams, policies=policies)


def of_job(case, name, units, kind, team, **how):
    """A job on one H100 node, in one way."""
    whole = next(one for one in case.jobs if one.name == "chat").sizing.candidates[0]
    one = changed(whole, **{"gpu_type": H100, "gpus": 1, "cpus": 3, "memory_mb": 90_000, **how})
    known = case.jobs[0].sizing
    sizing = changed(known, id=f"id-{name}", summary=name, candidates=(one,), rejections=())
    release, deadline = WINDOWS.get(name, (1, 13))
    return changed(
        case.jobs[0],
        name=name,
        kind=kind,
        team=team,
        units=(units, 0, 0),
        sizing=sizing,
        release_hour=(release - 1) * WEEK_HOURS,
        deadline_hour=min(deadline * WEEK_HOURS, RUN_HOURS),
    )


@pytest.fixture
def shared(case):
    """The case described above, with its plan."""
    jobs = (
        of_job(case, "beside", 1, "fixed", "lab", gpus=2, planned_hours=weeks(4)),
        of_job(case, "first", 1, "tune", "lab", gpus=4, planned_hours=weeks(5), hours=600.0),
        of_job(case, "half", 1, "serve", "desk", partition="3g.40gb"),
        of_job(case, "memo", 2, "serve", "desk", shared_mb=30_000, gpu_capacity_mb=SHARED_MB),
        of_job(case, "small", 4, "serve", "desk", partition="1g.10gb"),
        of_job(case, "then", 1, "fixed", "lab", gpus=2, planned_hours=weeks(4)),
    )
    inputs = sharing_inputs(case.inputs)
    translation = translate(inputs, jobs)
    at = {
        name: index
        for index, members in enumerate(translation.members)
        for name, unit in members
        if unit == 1
    }

    def member(name, start=0, gpu=0, slot=0):
        return Member(at[name], 0, start, gpu, slot)

    bundles = (
        Bundle(4, (member("first"), member("then", weeks(5)), member("beside", weeks(6), 2))),
        Bundle(1, (*(member("small", slot=slot) for slot in range(4)), member("half", slot=4))),
        Bundle(1, (member("memo"), member("memo"))),
    )
    layout = Layout((), 1, 1, bundles)
    demands, supplies = translation.problem.demands, translation.problem.supplies
    assigned = tuple((demand.count,) for demand in demands)
    none = ((0, 0, 0),) * len(supplies)
    cost = translation.problem.fixed_cost_cents
    solution = replace(
        case.solution,
        cost_cents=cost,
        bound_cents=cost,
        bought=none,
        rented=none,
        assigned=assigned,
        layouts=(((layout,), ()), ((), ()), ((), ())),
        tags=tuple(
            replace(case.solution.tags[0], cents=0.0, extra_cents_by_choice=(0.0,)) for _ in demands
        ),
        bound_terms=(("fixed cost", float(cost)),),
    )
    return replace(case, inputs=inputs, jobs=jobs, translation=translation, solution=solution)


def held(plan):
    """(job, unit) -> GPUs, hours and first slice."""
    return {
        (one.job, one.unit): (one.gpus, one.hours, one.part and one.part.first)
        for use in plan.placements[0]
        for one in use.occupants
    }


def test_jobs_that_share_gpus_make_a_plan_that_passes_its_check(shared):
    plan = shared.plan
    said = check(shared.inputs, shared.jobs, plan)
    assert "no GPU is held twice at any hour, but in parts that do not overlap" in said
    assert any(sentence.startswith("3 runs: long enough") for sentence in said)
    assert held(plan) == {
        ("first", 1): ((0, 1, 2, 3), (0, weeks(5)), None),
        ("then", 1): ((0, 1), (weeks(5), weeks(9)), None),
        ("beside", 1): ((2, 3), (weeks(6), weeks(10)), None),
        **{("small", unit): ((4,), None, unit - 1) for unit in range(1, 5)},
        ("half", 1): ((4,), None, 4),
        **{("memo", unit): ((5,), None, None) for unit in (1, 2)},
    }
    assert loads(dumps(plan), "plan.json") == plan


def test_utilization_counts_hours_and_parts(shared):
    """20 + 8 + 8 GPU-weeks of runs; 8 of 8 slices and 60 of 72 GB all quarter."""
    (pool,) = (one for one in shared.plan.pools if one.gpu_type == H100)
    parts = 1 + Fraction(60, 72)
    assert pool.gpus_used[0] == 6
    assert pool.gpus_peak[0] == float(4 + parts)
    assert pool.gpu_hours[0] == 8 * 2190
    assert pool.gpu_hours_used[0] == float(36 * WEEK_HOURS + parts * 2190)
    assert pool.cpus_used[0] == 3 * (2 + 7)


def test_teams_pay_for_their_hours_and_parts(shared):
    plan = shared.plan
    desk, lab = plan.chargeback.teams
    parts = 1 + Fraction(60, 72)
    assert desk.gpu_hours == desk.delivered_gpu_hours == float(parts * 2190)
    assert lab.gpu_hours == float(weeks(36))
    assert lab.delivered_gpu_hours == float(weeks(16) + 4 * 600)
    cents = plan.proof.cost_cents
    assert abs(desk.cost_cents + lab.cost_cents + sum(plan.chargeback.idle_cents) - cents) == 0
    assert desk.cost_cents / lab.cost_cents == pytest.approx(float(parts * 2190 / weeks(36)), 1e-3)


def test_explain_says_which_hours_and_slices(shared):
    plan = shared.plan
    (then,) = explain(plan, "then").places
    assert (then.hours, then.gpus, then.parts) == ((weeks(5), weeks(9)), (0, 1), ())
    (small,) = explain(plan, "small").places
    assert small.way == f"{H100} 1g.10gb"
    assert [(gpu, part.first, part.share) for gpu, part in small.parts] == [
        (4, first, Fraction(1, 8)) for first in range(4)
    ]


def edited(job, unit=1, **changes):
    """One occupant of the plan changed."""
    return pieces(0, lambda one: changed(one, **changes) if _is(one, job, unit) else one)


def part(job, unit=1, **changes):
    """The part that it takes of a GPU; of each unit if no number is given."""
    return pieces(
        0,
        lambda one: changed(one, part=changed(one.part, **changes)) if _is(one, job, unit) else one,
    )


def _is(one, job, unit):
    return one.job == job and unit in (None, one.unit)


BROKEN = [
    ("4 Feb 23:00: GPU 0 of", edited("then", hours=(839, 1511))),
    ("runs for 671 h, it needs 672", edited("then", hours=(840, 1511))),
    ("runs for 673 h, it needs", edited("then", hours=(840, 1513))),
    ("runs for 2,160 h, it needs 672", edited("beside", hours=None)),
    ("on 28 Jan 23:00, its release is 29 Jan 00:00", edited("beside", hours=(671, 1343))),
    ("on 12 Feb 01:00, its deadline is 12 Feb 00:00", edited("first", hours=(169, 1009))),
    ("holds hours 1500 to 2172 of 2,160", edited("then", hours=(1500, 2172))),
    ("GPU 4 of eight-h100/main/01 is held", edited("then", gpus=(0, 4))),
    ("slice 5 is of the 1g.10gb of small and of the 3g.40gb of half", part("small", first=5)),
    ("begins at memory slice 3, it may at 0, 4", part("half", first=3)),
    ("states memory slices (3, 8)", part("half", taken=3)),
    ("is on 1g.10gb, its way to run takes 3g.40gb", part("half", profile="1g.10gb", taken=1)),
    ("the 5g.60gb of half on eight-h100/main/01 is no partition", part("half", profile="5g.60gb")),
    ("is held 5 times", edited("half", part=None)),
    ("parts are held all quarter", edited("small", hours=(1, 4))),
    ("is partitioned for small, and memo shares it", edited("memo", gpus=(4,))),
    ("takes 9,000 MB of a GPU", part("memo", taken=9_000)),
    ("holds 30000 of 0", part("memo", of=0)),
    ("counts on 90,000 MB", part("memo", of=90_000)),
    ("has 50,000 MB to share, 60,000 are taken", part("memo", unit=None, of=50_000)),
    (f"may not use {H100} 1g.10gb", edited("memo", way=f"{H100} 1g.10gb")),
]


@pytest.mark.parametrize(("told", "broken"), BROKEN)
def test_the_check_notices_when(shared, told, broken):
    assert told in refused(shared.inputs, broken(shared.plan), shared.jobs)


def test_host_memory_is_counted_by_the_hour(shared):
    """The runs follow one another: half of the node's memory each is enough, but not at once."""
    half_mb = shared.plan.nodes[0].memory_mb // 2 - 100_000
    jobs = tuple(
        with_memory(job, half_mb if job.name in ("first", "then") else 1000) for job in shared.jobs
    )
    sized = replace(shared, jobs=jobs, translation=translate(shared.inputs, jobs))
    check(sized.inputs, jobs, sized.plan)
    assert sized.plan.pools[0].memory_used_mb[0] == half_mb + 7 * 1000 + 1000
    greedy = edited("small", memory_mb=2 * half_mb)(sized.plan)
    assert f"2027Q1, 1 Jan 00:00: {NODE} has" in refused(sized.inputs, greedy, jobs)


def with_memory(job, memory_mb):
    (one,) = job.sizing.candidates
    candidates = (changed(one, memory_mb=memory_mb),)
    return changed(job, sizing=changed(job.sizing, candidates=candidates))


@pytest.mark.parametrize(
    ("policy", "told"),
    [
        ({"mig": "never"}, "is on a partition, which policies.mig forbids"),
        ({"shared_gpus": False}, "shares a GPU, which policies.shared_gpus forbids"),
        ({"mig": "own-node"}, "is partitioned for small and holds first, which has no partition"),
    ],
)
def test_policies_on_parts_are_kept(shared, policy, told):
    inputs = with_scenario(
        shared.inputs, policies=changed(shared.inputs.scenario.policies, **policy)
    )
    assert told in refused(inputs, shared.plan, shared.jobs)


def test_only_serving_jobs_take_parts_and_none_that_asks_for_whole_gpus(shared):
    tuning = tuple(changed(job, kind="tune") if job.name == "half" else job for job in shared.jobs)
    plan = replace(shared, jobs=tuning).plan
    assert "which only serving jobs may" in refused(shared.inputs, plan, tuning)
    memo = Job(serve=Serve(model="m", whole_gpu=True), team="desk")
    inputs = with_scenario(shared.inputs, jobs={**shared.inputs.scenario.jobs, "memo": memo})
    assert "but asks for whole ones" in refused(inputs, shared.plan, shared.jobs)


@pytest.mark.parametrize(
    ("ways", "left_s", "outcome"),
    [
        (("whole", "part"), 20, "proved"),
        (("whole", "part"), 0, "not proved"),
        (("part",), 20, "no other plan"),
        (("whole",), 20, None),
    ],
    ids=["a node", "open without time", "only parts do", "nothing on whole GPUs"],
)
def test_what_parts_save_is_the_node_that_whole_gpus_would_need(case, ways, left_s, outcome):
    """Ten replicas that fit a 1g.10gb or a whole GPU; one server with 8 GPUs is owned."""
    inputs = sharing_inputs(case.inputs)
    job = of_job(case, "small", 10, "serve", "desk", partition="1g.10gb")
    (part,) = job.sizing.candidates
    how = {"part": part, "whole": changed(part, partition=None)}
    sizing = changed(job.sizing, candidates=tuple(how[way] for way in ways))
    jobs = (changed(job, sizing=sizing),)
    translation = translate(inputs, jobs)
    solution = solve(translation)
    asked = SolvedPortfolio(inputs, jobs, translation, solution)
    saving = ChoicePrices(asked, 1e-4, spent() + left_s).partition_saving()
    node_cents = min(
        supply.unit_cost_cents[0]
        for supply in translation.problem.supplies
        if translation.problem.pools[supply.pool].gpu_type == H100 and supply.unit_cost_cents[0]
    )
    if outcome is None:
        assert saving is None
    else:
        assert solution.cost_cents == translation.problem.fixed_cost_cents
        cents = node_cents if outcome == "proved" else None
        assert saving == PartitionSaving(outcome=outcome, cents=cents)


def test_a_run_is_on_both_of_its_nodes_at_the_same_hours(shared):
    plan = shared.plan
    other = changed(plan.nodes[0], id="eight-h100/main/02")
    (use,) = plan.placements[0]
    run = next(one for one in use.occupants if one.job == "first")
    there = NodeUse(node=other.id, occupants=(changed(run, hours=(1, 841)),))
    placements = ((use, there), *plan.placements[1:])
    moved = changed(plan, nodes=(*plan.nodes, other), placements=placements)
    view = View(shared.inputs, shared.jobs, moved)
    found = [told for one in gpus.CHECKS for told in one(view)]
    assert "2027Q1: unit 1 of first is not on all of its nodes at the same hours" in found


def test_each_run_of_a_quarter_is_there(shared):
    """`then` runs twice: at first on GPUs that nobody else has."""
    jobs = tuple(
        changed(job, kind="tune", runs=2) if job.name == "then" else job for job in shared.jobs
    )
    translation = translate(shared.inputs, jobs)
    (layout,) = shared.solution.layouts[0][0]
    runs, *parts = layout.bundles
    first = next(one for one in runs.members if (one.start, one.gpu) == (weeks(5), 0))
    alone = Bundle(2, (replace(first, start=0),))
    layouts = (((replace(layout, bundles=(runs, alone, *parts)),), ()), ((), ()), ((), ()))
    twice = replace(
        shared,
        jobs=jobs,
        translation=translation,
        solution=replace(shared.solution, layouts=layouts),
    )
    plan = twice.plan
    check(shared.inputs, jobs, plan)
    (use,) = plan.placements[0]
    held = {one.replica: one.hours for one in use.occupants if one.job == "then"}
    assert held == {1: (0, weeks(4)), 2: (weeks(5), weeks(9))}
    gone = pieces(0, lambda one: one if one.replica == 1 else None)(plan)
    told = "2027Q1: runs of unit 1 of then is [1], the inputs give [1, 2]"
    assert told in refused(shared.inputs, gone, jobs)
