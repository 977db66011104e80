"""Teams in a scenario planned whole: quotas that bind, what each team is charged, and the check.

Two servers of 8 GPUs are owned, servers of 4 other GPUs may be bought or rented. Energy is the
whole cost of the owned ones.
"""

from collections import Counter
from itertools import pairwise

import pytest

from planner.errors import InfeasibleError
from planner.planning.checks import verify
from planner.planning.make import make_plan
from planner.planning.store import dumps, loads
from tests.plan.edits import noticed, pieces, refused
from tests.stated import asked, changed, load_inputs, own_nodes, table

CATALOG = own_nodes(
    eight={"gpu_type": "h100-80gb-sxm", "mean_power_kw": 10, "scale_out_fabric": "400 GbE"},
    four={"gpu_type": "l40s-48gb", "gpus": 4, "mean_power_kw": 4},
)

SCENARIO = """
format: 1
name: two teams
horizon: {first_quarter: 2027Q1, quarters: 2, as_of: 2026-11-01}
use: {catalog: [own.yaml]}
fleet:
  first: {node_type: eight, count: 2}
offers:
  more: {node_type: four, kind: buy, price_usd: 40000, quote: q}
  fast: {node_type: four, kind: rent, price_usd_per_gpu_hour: 2, quote: q}
finance: {discount_rate_per_year: 0, energy_usd_per_kwh: 0.1, pue: 1, support_share_per_year: 0}
jobs:
  chat: {fixed: {gpus: 4}, count: 2, team: red, gpu_types: [h100-80gb-sxm, l40s-48gb]}
  search: {fixed: {gpus: 2}, count: {2027Q2: 3}, team: blue, gpu_types: [h100-80gb-sxm]}
"""


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    """Inputs of the scenario with further lines, or with lines replaced."""

    folder = tmp_path_factory.mktemp("teams")
    (folder / "own.yaml").write_text(CATALOG, encoding="utf-8")

    def load(more="", **replaced):
        text = SCENARIO
        for line in replaced.values():
            key = line.partition(":")[0]
            old = next(one for one in text.splitlines() if one.startswith(f"{key}:"))
            text = text.replace(old, line)
        (folder / "scenario.yaml").write_text(f"{text}{more}", encoding="utf-8")
        return load_inputs(folder / "scenario.yaml")

    return load


def used(plan, team):
    return next(use for use in charged_by(plan).teams if use.team == team)


def held(plan, team):
    """GPUs by GPU type and quarter, counted from the placements."""
    jobs = {job.name for job in plan.jobs if job.team == team}
    gpu_types = {node.id: node.gpu_type for node in plan.nodes}
    return Counter(
        (gpu_types[use.node], label)
        for label, uses in zip(plan.quarters, plan.placements, strict=True)
        for use in uses
        for occupant in use.occupants
        if occupant.job in jobs
        for _ in occupant.gpus
    )


@table(__file__)
def test_a_quota_alone_decides_where_a_team_runs(inputs, quota, on_h100):
    plan = make_plan(inputs(f"teams: {{red: {{quota_gpus: {quota}}}, blue: {{}}}}\n"))
    gpus = held(plan, "red")
    assert tuple(gpus["h100-80gb-sxm", label] for label in plan.quarters) == tuple(on_h100)
    assert bool(plan.acquisitions) is (on_h100 != [8, 8])
    assert "no team holds more GPUs than its quota (1 team with one)" in plan.proof.checks
    assert used(plan, "red").quotas
    assert not used(plan, "blue").quotas


def test_a_quota_may_be_of_a_gpu_type_whose_name_begins_as_a_year(tmp_path):
    own = CATALOG.replace("gpu_type: l40s-48gb", "gpu_type: 4090-24gb")
    own += "gpus:\n  4090-24gb: {extends: l40s-48gb}\n"
    (tmp_path / "own.yaml").write_text(own, encoding="utf-8")
    scenario = SCENARIO.replace("l40s-48gb", "4090-24gb")
    scenario += "teams: {red: {quota_gpus: {4090-24gb: 8, h100-80gb-sxm: 0}}, blue: {}}\n"
    (tmp_path / "scenario.yaml").write_text(scenario, encoding="utf-8")
    plan = make_plan(load_inputs(tmp_path / "scenario.yaml"))
    assert held(plan, "red")["4090-24gb", "2027Q1"] == 8
    assert [quota.gpu_type for quota in used(plan, "red").quotas] == ["4090-24gb", "h100-80gb-sxm"]


def test_a_quota_by_quarter_holds_until_the_next(inputs):
    """The growth of the second quarter fits 6 from then on, not before."""
    plan = make_plan(inputs("teams: {blue: {quota_gpus: {2027Q1: 0, 2027Q2: 6}}, red: {}}\n"))
    (quota,) = used(plan, "blue").quotas
    assert (quota.limit_gpus, quota.gpus) == ((0, 6), (0, 6))
    with pytest.raises(InfeasibleError) as caught:
        make_plan(inputs("teams: {blue: {quota_gpus: {2027Q1: 5}}, red: {}}\n"))
    assert "the quota of blue is 5 GPUs, at least 6 GPUs are needed" in caught.value.headline
    assert caught.value.remedies == ("raise the quota of blue by 1 GPU, to 6 GPUs",)


@table(__file__)
def test_the_remedy_of_a_quota_by_quarter_names_the_quarters_that_are_short(inputs, stated, when):
    horizon = "horizon: {first_quarter: 2027Q1, quarters: 4, as_of: 2026-11-01}"
    with pytest.raises(InfeasibleError) as caught:
        make_plan(
            inputs(f"teams: {{blue: {{quota_gpus: {stated}}}, red: {{}}}}\n", horizon=horizon)
        )
    told = f"the quota of blue {when} is 5 GPUs, at least 6 GPUs are needed"
    assert told in caught.value.headline
    assert caught.value.remedies == (f"raise the quota of blue {when} by 1 GPU, to 6 GPUs",)


RUNS = "  sweep: {fixed: {gpus: 2}, count: 3, run: {hours: 600}, team: green, quarters: 2027Q1}\n"
GREEN = "teams: {green: {quota_gpus: 2}, red: {}, blue: {}}\n"


@pytest.fixture(scope="module")
def in_turn(inputs):
    given = inputs(RUNS + GREEN)
    return given, make_plan(given)


def test_runs_of_a_team_take_turns_within_the_quota_of_one(inputs, in_turn):
    """Three runs of 667 hours are 2,001 of 2,160; all quarter, they hold six GPUs at once."""
    _, plan = in_turn
    hours = sorted(one.hours for use in plan.placements[0] for one in use.occupants if one.hours)
    assert all(before[1] <= after[0] for before, after in pairwise(hours))
    green = used(plan, "green")
    assert (green.gpus, green.quotas[0].gpus) == ((2, 0), (2, 0))
    told = "no team holds more GPUs than its quota at any hour (1 team with one)"
    assert told in plan.proof.checks
    with pytest.raises(InfeasibleError, match="the quota of green is 2 GPUs, at least 6 GPUs"):
        make_plan(inputs(RUNS.replace("run: {hours: 600}, ", "") + GREEN))


@pytest.mark.parametrize("run", ["{hours: 700}", "{hours: 450, release: 2, deadline: 9}"])
def test_runs_that_must_overlap_name_the_quota_and_the_least_raise(inputs, run):
    """2,334 hours of 2,160; 1,500 hours of eight weeks."""
    with pytest.raises(InfeasibleError) as caught:
        make_plan(inputs(RUNS.replace("{hours: 600}", run) + GREEN))
    assert caught.value.headline == (
        "no plan exists: the quota of green is 2 GPUs, at least 4 GPUs are needed"
    )
    assert caught.value.remedies == ("raise the quota of green by 2 GPUs, to 4 GPUs",)


def test_the_check_notices_runs_that_overlap_beyond_the_quota(in_turn):
    """The last run goes to free GPUs of its node, into the hours of the one before it."""
    given, plan = in_turn
    runs = sorted(one.hours for use in plan.placements[0] for one in use.occupants if one.hours)
    (at,) = (
        use for use in plan.placements[0] if any(one.hours == runs[2] for one in use.occupants)
    )
    free = tuple(sorted({*range(8)} - {gpu for one in at.occupants for gpu in one.gpus})[:2])
    early = (runs[1][0] + 1, runs[1][1] + 1)
    moved = pieces(
        0, lambda one: changed(one, hours=early, gpus=free) if one.hours == runs[2] else one
    )
    told = "2027Q1: green holds 4 GPUs on 28 Jan 20:00, its quota is 2"
    assert told in refused(given, moved(plan))


def test_a_gpu_type_of_which_no_unit_fits_the_quota_says_so(inputs):
    plan = make_plan(inputs("teams: {red: {quota_gpus: {h100-80gb-sxm: 2}}, blue: {}}\n"))
    chat = next(job for job in plan.jobs if job.name == "chat")
    told = {one.gpu_type: (one.extra_cents, one.reason) for one in chat.alternatives}
    assert told["h100-80gb-sxm"] == (
        None,
        "one unit takes 4 GPUs, quota of red on h100-80gb-sxm is 2",
    )


def test_what_a_deployment_holds_counts_for_the_team_of_its_tuning_job(inputs):
    job = (
        "  expert: {tune: {model: llama-3.1-8b, method: lora, deploy: {replicas: 3}}, "
        "quarters: 2027Q1, team: green, gpu_types: [h100-80gb-sxm]}\n"
    )
    free = used(make_plan(inputs(job)), "green")
    assert free.gpus[1] >= 3
    assert free.open_gpu_hours == free.gpus[0] * 2190
    assert free.delivered_gpu_hours == free.gpus[1] * 2190
    quota = f"teams: {{green: {{quota_gpus: {free.gpus[1] - 1}}}, red: {{}}, blue: {{}}}}\n"
    with pytest.raises(InfeasibleError, match="quota of green"):
        make_plan(inputs(job + quota))


def charged_by(plan):
    assert plan.chargeback is not None
    return plan.chargeback


def test_energy_of_owned_nodes_is_shared_by_the_gpus_held(inputs):
    """2 servers × 10 kW × 2,190 h × $0.10 = $4,380 a quarter for 16 GPUs: $273.75 each."""
    plan = make_plan(inputs())
    assert not plan.acquisitions, "without quotas all jobs run on what is owned"
    charged = charged_by(plan)
    cents = {use.team: use.charged_cents for use in charged.teams}
    assert {use.team: use.gpus for use in charged.teams} == {"blue": (0, 6), "red": (8, 8)}
    assert cents == {"blue": (0, 6 * 27_375), "red": (8 * 27_375, 8 * 27_375)}
    assert charged.idle_cents == (8 * 27_375, 2 * 27_375)
    assert charged.idle_gpu_hours == 10 * 2190
    assert [use.gpu_hours for use in charged.teams] == [6 * 2190, 16 * 2190]


def test_a_pool_that_nobody_uses_is_spread_over_all_by_what_they_hold(inputs):
    """In the first quarter nobody runs on what is owned; over both red holds 16 GPUs, blue 6."""
    chat = "  chat: {fixed: {gpus: 4}, count: 2, team: red, gpu_types: [l40s-48gb]}"
    plan = make_plan(inputs("policies: {charge_idle: spread}\n", chat=chat))
    charged = charged_by(plan)
    assert used(plan, "blue").charged_cents == (round(438_000 * 6 / 22), 438_000)
    assert sum(charged.idle_cents) == 0
    assert sum(use.cost_cents for use in charged.teams) == plan.proof.cost_cents
    assert used(plan, "red").charged_cents[0] > 438_000


def test_a_bought_node_is_charged_evenly_over_its_quarters(inputs):
    """$40,000 of 5 years: 2 of 20 quarters, $4,000, and 4 kW: $876 a quarter, over two quarters."""
    plan = make_plan(
        inputs(
            chat="  chat: {fixed: {gpus: 4}, team: red, gpu_types: [l40s-48gb]}",
            finance=(
                "finance: {discount_rate_per_year: 0, energy_usd_per_kwh: 0.1, pue: 1, "
                "support_share_per_year: 0, useful_life_years: 5}"
            ),
        )
    )
    assert [line.offer for line in plan.acquisitions] == ["more"]
    assert used(plan, "red").charged_cents == (200_000 + 87_600, 200_000 + 87_600)


def test_owned_nodes_are_no_part_of_the_order_that_price_breaks_count():
    """The fleet entry has the name of the offer; one node is ordered, at the price of one."""
    plan = make_plan(
        asked(
            """
format: 1
name: breaks
horizon: {first_quarter: 2027Q1, quarters: 2, as_of: 2026-10-01}
fleet: {h200: {node_type: xe9680-h200, count: 2}}
offers:
  h200: {node_type: xe9680-h200, kind: buy, price_usd: 341000,
         price_breaks: [{from_nodes: 2, price_usd: 300000}]}
teams: {red: {}}
jobs: {job: {fixed: {gpus: 8}, count: 3, team: red}}
"""
        )
    )
    assert [line.count for line in plan.acquisitions] == [1]
    assert sum(use.cost_cents for use in charged_by(plan).teams) == plan.proof.cost_cents


def test_jobs_without_a_team_stand_last_and_a_team_without_a_job_holds_nothing(inputs):
    odd = "  odd: {fixed: {gpus: 1}, gpu_types: [h100-80gb-sxm]}\n"
    plan = make_plan(inputs(f"{odd}teams: {{red: {{}}, blue: {{}}, green: {{quota_gpus: 0}}}}\n"))
    assert [use.team for use in charged_by(plan).teams] == ["blue", "green", "red", None]
    assert charged_by(plan).teams[-1].gpus == (1, 1)
    green = used(plan, "green")
    assert (green.gpus, green.cost_cents) == ((0, 0), 0)


TEAMS = "teams: {red: {quota_gpus: {2027Q1: 8, 2027Q2: 9}}, blue: {quota_gpus: {total: 7}}}\n"


@pytest.fixture(scope="module")
def planned(inputs):
    given = inputs(TEAMS)
    return given, make_plan(given)


def test_the_plan_as_it_is_passes(planned):
    given, plan = planned
    sentences = verify(given, plan)
    assert "no team holds more GPUs than its quota (2 teams with one)" in sentences
    assert loads(dumps(plan), "plan.json") == plan


@noticed("two teams")
def test_the_check_notices_a_wrong_figure_of_a_team(planned, told, edit):
    given, plan = planned
    assert told in refused(given, edit(plan))


@table(__file__)
def test_the_check_notices_a_quota_that_is_exceeded(inputs, planned, quota, told):
    """The plan was made for other quotas than those it is checked against."""
    _, plan = planned
    tighter = inputs(f"teams: {{red: {{quota_gpus: {quota}}}, blue: {{}}}}\n")
    assert told in refused(tighter, plan)


@pytest.mark.parametrize("hours", [54, 2159])
def test_a_run_is_charged_its_hours_of_the_2190_that_a_node_is_paid_for(inputs, hours):
    """A server costs $2,190 in 2,190 h, a dollar an hour."""
    run = f"run: {{hours: {hours}}}, quarters: 2027Q1, gpu_types: [h100-80gb-sxm]"
    job = f"  train: {{fixed: {{gpus: 8}}, {run}, team: green}}\n"
    plan = make_plan(inputs(job + "policies: {run_utilization: 1}\n"))
    cents = {use.team: use.charged_cents for use in charged_by(plan).teams}
    assert cents["green"] == (hours * 100, 0)
