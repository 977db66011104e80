"""Serving jobs by traffic and latency, from the scenario to the plan, its sums and what-if."""

import pytest

import planner
from planner import InfeasibleError
from planner.planning.store import loads
from tests.plan.edits import noticed, refused
from tests.report.pages import plan_page
from tests.stated import asked, question

LOAD = {
    "requests_per_second": {"2027Q1": 4, "2027Q3": 12},
    "peak_to_mean": 2,
    "input_tokens": 1000,
    "output_tokens": 400,
}
LATENCY = {"ttft_ms": 800, "tpot_ms": 40}


def scenario(load=LOAD, latency=LATENCY, **serve):
    chat = {"model": "llama-3.1-70b", "load": load, **serve}
    return question(4) | {
        "offers": {
            "h100": {"node_type": "xe9680-h100", "kind": "buy"},
            "l40s": {"node_type": "xe7740-l40s", "kind": "buy"},
        },
        "jobs": {"chat": {"serve": chat if latency is None else {**chat, "latency": latency}}},
    }


def planned(stated, **changes):
    return loads(planner.plan(stated, **changes).to_json(), "plan.json")


@pytest.fixture(scope="module")
def made():
    return planned(scenario())


@pytest.fixture(scope="module")
def document(made):
    return plan_page(made)


def chosen(plan):
    (job,) = plan.jobs
    ((way, _),) = job.ways
    return next(one for one in plan.sizings[job.sizing].candidates if one.way == way)


def test_tokens_and_their_cost_follow_from_traffic_and_from_the_gpus_held(made):
    (use,) = made.endpoints
    seconds = 2190 * 3600
    assert use.million_tokens[0] == pytest.approx(4 * 1400 * seconds / 1e6)
    assert use.million_tokens[3] == pytest.approx(12 * 1400 * seconds / 1e6)
    assert 0 < sum(use.cost_cents) <= made.proof.cost_cents


@noticed("one endpoint")
def test_the_check_works_tokens_and_cost_out_again(made, told, edit):
    assert told in refused(asked(scenario()), edit(made))


def test_the_plan_tells_traffic_replicas_latency_and_cost_of_tokens(document):
    (section,) = [part for part in document.split("\n## ") if part.startswith("Traffic and")]
    assert "| chat | 2027Q1–Q2 | 8 |" in section
    assert "|  | 2027Q3–Q4 | 24 |" in section
    assert "95th percentile" in section
    assert "an estimate by the rules under serving/" in section
    assert "USD/M tokens" in section
    assert "planned for 70 % of the rate that it takes at the most, and a target" in section


def test_traffic_is_moved_by_a_relative_change_in_every_quarter(made):
    busier = planned(scenario(), set={"jobs.chat.serve.load.requests_per_second": "+200%"})
    assert chosen(busier).serving.peaks == pytest.approx((24, 24, 72, 72))
    assert busier.proof.cost_cents > made.proof.cost_cents


def test_what_if_moves_traffic_lengths_and_latency():
    found = planner.sensitivity(scenario(), precision=0.5)
    names = {row["figure"] for row in found.rows()}
    assert {"traffic", "length of prompts and answers", "latency asked for"} <= names


def test_the_best_of_the_widths_that_a_job_lists_is_taken():
    alone = {
        (bits, cache): planner.plan(scenario(bits=bits, kv_bits=cache)).cost_usd
        for bits in (16, 8)
        for cache in (16, 8)
    }
    chosen = planner.plan(scenario(bits=[8, 16], kv_bits=[16, 8]))
    assert chosen.cost_usd == min(alone.values()) < alone[16, 16]
    text = plan_page(loads(chosen.to_json(), "plan.json"))
    assert "× h100-80gb-sxm at 8 bit" in text
    (sizing,) = loads(chosen.to_json(), "plan.json").sizings.values()
    assert sizing.summary.startswith("serving of llama-3.1-70b at 16 or 8 bit")


@pytest.mark.parametrize(
    ("bits", "said"),
    [
        ([16, 12], r"bits\[1\]: 12 is not one of 4, 8, 16"),
        ([], "bits: is empty"),
        ([8, 8], "bits: names 8 twice"),
        ({"a": 8}, "bits: a mapping is not one of 4, 8, 16"),
    ],
)
def test_widths_that_are_none_are_told(bits, said):
    with pytest.raises(planner.InputError, match=said):
        planner.plan(scenario(bits=bits))


def test_a_list_with_a_width_beyond_the_published_one_is_told():
    with pytest.raises(planner.InputError, match="is published at 4 bit, so 16 bit would only"):
        planner.plan(scenario(model="gpt-oss-120b", bits=[16, 4]))


def test_what_is_short_of_a_growing_endpoint_is_told_without_a_figure_of_its_last_quarter():
    short = scenario()
    short["horizon"]["as_of"] = "2026-12-01"
    short["fleet"] = {"own": {"node_type": "xe9680-h100", "count": 1}}
    short["offers"] = {"h200": {"node_type": "xe9680-h200", "kind": "buy", "lead_time_weeks": 10}}
    short["jobs"]["beside"] = {"fixed": {"gpus": 8}}
    with pytest.raises(InfeasibleError) as refusal:
        planner.plan(short)
    assert refusal.value.headline == (
        "no plan exists: in 2027Q1 to 2027Q4 more GPUs are needed than can be in service"
    )
    (remedy,) = (one for one in refusal.value.remedies if "xe9680-h200@main" in one)
    assert remedy == "have 2 nodes more of xe9680-h200@main in service from 2027Q1"


def test_traffic_of_quarters_in_which_a_job_is_not_active_does_not_count():
    load = {**LOAD, "requests_per_second": 2, "growth_per_quarter": "100000%"}
    stated = scenario(load, latency=None)
    stated["jobs"]["chat"]["quarters"] = "2027Q2"
    job = asked(stated).scenario.jobs["chat"]
    horizon = asked(stated).scenario.horizon
    assert [*map(int, job.peaks(horizon))] == [0, 4, 0, 0]
    made = planned(stated)
    assert made.sizings[made.jobs[0].sizing].summary.endswith(", 4 requests a second")
    assert made.jobs[0].units == (0, 1, 0, 0)


def test_a_job_that_may_slip_meets_the_traffic_of_the_quarters_to_which_it_slips():
    stated = scenario({**LOAD, "requests_per_second": 2, "growth_per_quarter": "100%"}, None)
    stated["jobs"]["chat"] |= {"quarters": "2027Q1", "may_slip_quarters": 2}
    inputs = asked(stated)
    peaks = inputs.scenario.jobs["chat"].peaks(inputs.scenario.horizon)
    assert [*map(int, peaks)] == [4, 8, 16, 0]
