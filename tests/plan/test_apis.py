"""APIs by the token: one optimum with what is bought and rented, checked on its own."""

import random
from itertools import pairwise, product
from typing import Any

import pytest

import planner
from planner.errors import InfeasibleError
from planner.planning.make import make_plan
from planner.planning.plan import Plan
from planner.planning.store import loads
from planner.reporting.sections.sensitivity import then_acquired
from planner.whatif.results import summary_of
from tests.plan.edits import noticed, refused
from tests.stated import asked, question, table

MODEL = "llama-3.1-8b"


def endpoint(rate: object, *, api: bool = True, **more: Any) -> dict[str, Any]:
    tokens = {"input_tokens": 1000, "output_tokens": 500}
    serve = {"model": MODEL, "load": {"requests_per_second": rate, **tokens}}
    return {"serve": serve, "api": "allowed" if api else "forbidden", **more}


def hosted(**more: object) -> dict[str, Any]:
    prices = {"usd_per_million_input_tokens": 0.2, "usd_per_million_output_tokens": 0.6}
    return {"model": MODEL, **prices, **more}


def scenario(jobs: dict[str, Any], apis: dict[str, Any], **more: Any) -> dict[str, Any]:
    return question(2, as_of="2026-11-23") | {
        "offers": {"rent": {"node_type": "xe7740-l40s", "kind": "rent", "lead_time_weeks": 1}},
        "apis": apis,
        "jobs": jobs,
        **more,
    }


def plan_of(asked: dict[str, Any]) -> Plan:
    return planner.plan(asked)._plan


def cost_cents(asked: dict[str, Any]) -> int | None:
    """Of the best plan; None where there is none."""
    try:
        return plan_of(asked).proof.cost_cents
    except InfeasibleError:
        return None


def on_apis(plan: Plan) -> dict[str, dict[str, tuple[int, ...]]]:
    return {job.name: dict(job.on_apis) for job in plan.jobs if job.on_apis}


RARE = {"rare": endpoint(0.01)}


def test_a_report_without_a_node_has_no_table_without_rows():
    made = planner.plan(scenario(RARE, {"hosted": hosted()}, offers={}))
    lines = planner.report(made, what_if="none").to_markdown().splitlines()
    below = [after for line, after in pairwise(lines) if line.startswith("| --- ")]
    assert len(below) > 5
    assert all(line.startswith("|") for line in below)


def test_what_goes_to_an_api_is_told_where_plans_are_compared():
    apis = {"hosted": hosted()}
    before, after = scenario({"rare": endpoint(0.01, api=False)}, apis), scenario(RARE, apis)
    assert "| API: 1 on hosted |" in planner.compare(before, after).to_markdown()
    assert then_acquired(summary_of(plan_of(after))) == "nothing; an API for rare"


def test_one_replica_on_two_gpus_is_not_shown_as_two_replicas():
    job = endpoint(1, api=False)
    job["serve"]["gpus_per_replica"] = 2
    said = planner.plan(scenario({"pair": job}, {"hosted": hosted()})).to_markdown()
    assert [
        line for line in said.splitlines() if line.startswith("| pair | ") and "| 1 × 2 |" in line
    ]


def test_what_is_asked_seldom_goes_to_the_api():
    plan = plan_of(scenario(RARE, {"hosted": hosted()}))
    assert on_apis(plan) == {"rare": {"hosted": (1, 1)}}
    assert not plan.nodes
    # 0.01 requests/s × 2,190 h × 3,600 s × (1,000 × $0.2 + 500 × $0.6) per million tokens
    (use,) = plan.apis
    assert use.cents == (3942, 3942)
    assert use.million_tokens == (118.26, 118.26)
    tokens = next(line for line in plan.costs if line.name == "tokens")
    assert tokens.cents == (3942, 3942)
    without = plan_of(scenario({"rare": endpoint(0.01, api=False)}, {}))
    assert plan.api_saving_cents == without.proof.cost_cents - plan.proof.cost_cents


def test_what_is_busy_or_may_not_leave_stays_on_gpus_and_is_told_what_the_api_would_cost():
    plan = plan_of(scenario({"busy": endpoint(300)}, {"hosted": hosted()}))
    assert on_apis(plan) == {}
    (comparison,) = plan.api_comparisons
    assert (comparison.job, comparison.allowed) == ("busy", True)
    assert comparison.api_cents > comparison.gpus_cents
    kept = plan_of(scenario({"rare": endpoint(0.01, api=False)}, {"hosted": hosted()}))
    assert on_apis(kept) == {}
    assert [use.allowed for use in kept.api_comparisons] == [False]


def test_cached_prompts_have_a_price_of_their_own():
    job = endpoint(0.01)
    job["serve"]["load"]["cached_input"] = "50%"
    plan = plan_of(scenario({"rare": job}, {"a": hosted(usd_per_million_cached_tokens=0.02)}))
    # 78,840 requests × (500 × $0.2 + 500 × $0.02 + 500 × $0.6) per million tokens
    assert plan.apis[0].cents == (3232, 3232)


def test_where_every_way_is_closed_the_rate_limit_is_named_with_the_raise_that_helps():
    jobs = {"a": endpoint(0.02), "b": endpoint(0.02)}
    asked = scenario(jobs, {"hosted": hosted(requests_per_second=0.03)})
    asked["offers"]["rent"]["maximum"] = 0
    with pytest.raises(InfeasibleError) as failed:
        plan_of(asked)
    told = "\n".join((failed.value.headline, *failed.value.reasons, *failed.value.remedies))
    assert "requests per second on hosted in 2027Q1" in told
    assert "raise requests per second on hosted in 2027Q1 by 0.01 requests/s" in told
    asked["apis"]["hosted"]["requests_per_second"] = 0.04
    assert set(on_apis(plan_of(asked))) == {"a", "b"}


@pytest.mark.parametrize(
    ("load", "most"),
    [
        ({"requests_per_second": 0.3333}, 0.9999),
        ({"tokens_per_day": 43_200_000}, 1),  # a third of a request of 1,500 tokens each second
    ],
)
def test_an_api_is_full_at_its_rate_limit_and_not_below(load, most):
    job = endpoint(1, count=3)
    job["serve"]["load"] = {"input_tokens": 1000, "output_tokens": 500, **load}
    asked = scenario({"chat": job}, {"hosted": hosted(requests_per_second=most)})
    asked["offers"]["rent"] |= {"price_usd_per_gpu_hour": 1000, "quote": "a"}
    assert on_apis(plan_of(asked)) == {"chat": {"hosted": (3, 3)}}
    asked["apis"]["hosted"]["requests_per_second"] = most - 0.0001
    assert on_apis(plan_of(asked)) == {}  # the node that one of them needs has room for all


def test_an_api_takes_a_unit_only_where_it_is_to_be_had_in_all_of_its_quarters():
    later = {"hosted": hosted(available="2027Q2")}
    assert on_apis(plan_of(scenario(RARE, later))) == {}
    late = {"late": endpoint(0.01, quarters="2027Q2")}
    assert on_apis(plan_of(scenario(late, later))) == {"late": {"hosted": (0, 1)}}


def test_tokens_are_operating_expenditure_that_a_budget_holds():
    budget = {"opex_usd": {"2027Q1": 39, "2027Q2": 100_000}}
    asked = scenario(RARE, {"hosted": hosted()}, budget=budget)
    with pytest.raises(InfeasibleError) as failed:
        plan_of(asked)
    assert any("to $39.42" in remedy for remedy in failed.value.remedies)
    plan = plan_of({**asked, "budget": {"opex_usd": {"2027Q1": 39.42, "2027Q2": 100_000}}})
    assert on_apis(plan) == {"rare": {"hosted": (1, 1)}}
    assert [use.spent_cents for use in plan.budgets] == [3942, 3942]


def test_a_job_that_no_node_holds_runs_on_an_api_and_is_dropped_only_where_none_may_take_it():
    jobs = {"kept": endpoint(0.01), "gone": endpoint(0.01, api=False)}
    asked = scenario(jobs, {"hosted": hosted()}, policies={"shortage": "drop"})
    asked["offers"]["rent"]["maximum"] = 0
    plan = plan_of(asked)
    assert on_apis(plan) == {"kept": {"hosted": (1, 1)}}
    assert plan.shortage is not None
    assert [job.name for job in plan.shortage.jobs] == ["gone"]


def test_tokens_are_charged_to_the_team_that_asks():
    plan = plan_of(scenario({"rare": endpoint(0.01, team="web")}, {"hosted": hosted()}))
    assert plan.chargeback is not None
    charged = {use.team: use.cost_cents for use in plan.chargeback.teams}
    assert charged["web"] == plan.apis[0].present_cents


@pytest.mark.parametrize("seed", [1, 2, 4, 6, 8])
def test_the_plan_costs_as_much_as_the_best_of_all_ways_to_divide_jobs_among_gpus_and_apis(seed):
    rng = random.Random(seed)
    names = "abc"[: rng.randint(2, 3)]
    jobs = {
        name: endpoint(
            {"2027Q1": rng.choice((0.01, 1, 40)), "2027Q2": rng.choice((0.5, 60))},
            quarters="2027Q2" if rng.random() < 0.3 else "all",
        )
        for name in names
    }
    apis = {
        api: hosted(
            usd_per_million_output_tokens=rng.choice((0.1, 0.6, 3)),
            **({"requests_per_second": rng.choice((1, 45))} if rng.random() < 0.5 else {}),
        )
        for api in ("one", "two")[: rng.randint(1, 2)]
    }
    found = plan_of(scenario(jobs, apis))
    best: int | None = None
    for ways in product((None, *apis), repeat=len(names)):
        tokens = _tokens_cents(jobs, apis, dict(zip(names, ways, strict=True)))
        here = {name: jobs[name] for name, way in zip(names, ways, strict=True) if way is None}
        rest = _on_gpus(here)
        if tokens is not None and rest is not None:
            best = min(best or 10**12, tokens + rest)
    assert found.proof.status == "proved"
    assert found.proof.cost_cents == best


KNOWN: dict[str, int | None] = {}


def _on_gpus(jobs: dict[str, Any]) -> int | None:
    """The least cost of these alone, without any API."""
    alone = {name: {**job, "api": "forbidden"} for name, job in jobs.items()}
    key = repr(alone)
    if key not in KNOWN:
        KNOWN[key] = cost_cents(scenario(alone, {})) if alone else 0
    return KNOWN[key]


def _tokens_cents(
    jobs: dict[str, Any], apis: dict[str, Any], ways: dict[str, str | None]
) -> int | None:
    """Net present cost of tokens, in cents; None where a rate limit is broken."""
    total = 0
    for quarter, label in enumerate(("2027Q1", "2027Q2")):
        asked = dict.fromkeys(apis, 0.0)
        for name, api in ways.items():
            if api is None or (quarter == 0 and jobs[name]["quarters"] != "all"):
                continue
            rate = jobs[name]["serve"]["load"]["requests_per_second"][label]
            asked[api] += rate
            prices = apis[api]
            each = 1000 * prices["usd_per_million_input_tokens"]
            each += 500 * prices["usd_per_million_output_tokens"]
            usd = rate * 2190 * 3600 * each / 1e6 * 1.08 ** (-quarter / 4)
            total += round(usd * 100)
        if any(asked[api] > apis[api].get("requests_per_second", 1e9) for api in apis):
            return None
    return total


@noticed("GPUs or tokens")
def test_the_check_finds_a_unit_that_may_not_be_there_and_another_price(told, edit):
    inputs = asked(scenario(RARE, {"hosted": hosted()}))
    assert told in refused(inputs, edit(make_plan(inputs)))


@table(__file__)
def test_the_check_holds_a_plan_to_what_the_scenario_says_of_jobs_and_apis(told, api, limits):
    plan = plan_of(scenario(RARE, {"hosted": hosted()}))
    inputs = asked(scenario({"rare": endpoint(0.01, api=api)}, {"hosted": hosted(**limits)}))
    assert told in refused(inputs, plan)


def test_where_tokens_are_all_that_is_paid_the_cost_moves_as_their_price_and_number_do():
    load = {"input_percentiles": {"p50": 900}}
    jobs = {"rare": endpoint({"2027Q1": 0.01, "2027Q2": 0.02})}
    jobs["rare"]["serve"]["load"] |= load
    apis = {"hosted": hosted(usd_per_million_cached_tokens=0.1)}
    found = planner.sensitivity(scenario(jobs, apis), swing=0.2, precision=0.5).to_dict()
    moved = {
        one["name"]: [
            one[end]["figures"]["cost_cents"] / found["base"]["cost_cents"]
            for end in ("low", "high")
        ]
        for one in found["swings"]
    }
    for name in ("prices by the token", "traffic", "length of prompts and answers"):
        assert moved[name] == pytest.approx([0.8, 1.2], rel=0.001), name


def test_where_everything_goes_to_apis_nothing_is_said_to_be_left_out():
    asked = scenario({"rare": endpoint(0.01)}, {"hosted": hosted()})
    asked["fleet"] = {}
    asked["offers"] = {"h100": {"node_type": "xe9680-h100", "kind": "rent", "lead_time_weeks": 1}}
    made = planner.plan(asked)
    text = made.to_markdown()
    saved = loads(made.to_json(), "plan.json")
    (job,), (use,) = saved.jobs, saved.apis
    assert job.tag_cents == use.present_cents == saved.proof.cost_cents
    assert "units on APIs" not in dict(saved.proof.bound_terms)
    assert "**Buy and rent nothing, and pay $" in text
    assert "for the tokens of rare on APIs, for $" in text
    assert "Node map" not in text
    told = planner.explain(made, "rare").to_markdown()
    assert "an API answers all its requests, which costs less than GPUs" in told
    assert "has no unit" not in told


def test_a_person_reads_what_goes_to_apis_and_what_they_would_cost_for_the_others():
    jobs = {
        "rare": endpoint(0.01, gpu_types=["h100-80gb-sxm"]),
        "busy": endpoint(300, api=False, gpu_types=["l40s-48gb"]),
    }
    asked = scenario(jobs, {"hosted": hosted()})
    asked["offers"]["h100"] = {"node_type": "xe9680-h100", "kind": "rent", "lead_time_weeks": 1}
    text = planner.plan(asked).to_markdown()
    assert "for the tokens of rare on APIs" in text
    assert "API: 1 on hosted" in text
    assert "Without any API, the best plan costs" in text
    assert "the token of hosted name no" in text


@pytest.mark.parametrize(
    ("traffic", "warned"),
    [
        ({"tokens_per_day": 5e6}, True),
        ({"requests_per_second": 0.01}, True),
        ({"users": 3, "requests_per_user_hour": 12}, True),
        ({"tokens_per_day": 5e6, "peak_to_mean": 1}, False),
        ({"requests_per_second": 0.01, "peak_to_mean": 3}, False),
    ],
)
def test_traffic_that_is_said_to_have_no_peak_only_by_leaving_it_open_is_told(traffic, warned):
    job = endpoint(1, latency={"ttft_ms": 2000})
    job["serve"]["latency"] = job.pop("latency")
    job["serve"]["load"] = {"input_tokens": 1000, "output_tokens": 500, **traffic}
    made = planner.plan(scenario({"asked": job}, {"hosted": hosted()}))
    told = "asked: traffic is planned as if it came evenly at all hours, as `peak_to_mean` is left"
    assert any(told in one for one in made.warnings) == warned
    peak = "traffic of the busiest minutes over the figure stated: 1 (the job leaves it open)"
    assert (peak in made.assumptions) == ("peak_to_mean" not in traffic)
    assert "percentile of the latency: 95 (the job leaves it open)" in made.assumptions


def test_alternatives_beside_an_api_are_planned_and_one_of_them_acquires_nothing_else():
    jobs = {"rare": endpoint(0.01), "busy": endpoint(300)}
    asked = scenario(jobs, {"hosted": hosted()})
    found = {one["plan"]: one for one in planner.alternatives(asked).rows()}
    assert (
        found["APIs only"]["cost_usd"]
        == planner.plan(asked, set=["offers.rent.maximum=0"]).cost_usd
    )
    assert found["do nothing"]["cost_usd"] == 0
    alone = planner.alternatives(scenario({"busy": endpoint(300, api=False)}, {}))
    assert "APIs only" not in [one["plan"] for one in alone.rows()]
