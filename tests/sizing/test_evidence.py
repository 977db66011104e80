"""What a figure rests on: measured runs near it, around it or away from it, or none."""

import pytest

import planner

NEIGHBOURS = """\
neighbours:
  small: {figure: memory, method: p-tuning, parameters_b: 8.030261248, mixture: false,
    several_gpus: true, gpu_vendor: nvidia, least: 1000, most: 8192, runs: 3, error: 0.02}
  large: {figure: memory, method: p-tuning, parameters_b: 70.553706496, mixture: false,
    several_gpus: true, gpu_vendor: nvidia, least: 1000, most: 4096, runs: 1, error: 0.06}
"""


@pytest.fixture
def rests(tmp_path):
    """`rests("llama-3.1-8b", sequence=2048)`: of p-tuning on two GPUs, kind, runs and error."""
    own = tmp_path / "neighbours.yaml"
    own.write_text(NEIGHBOURS)

    def told(model, *, catalog=own, **more):
        tune = {"model": model, "method": "p-tuning", "batch": 2, "sequence": 2048, "gpus": 2}
        sized = planner.size(
            {"tune": tune | more, "gpu_types": ["h200-141gb-sxm"]},
            catalog=[] if catalog is None else [catalog],
        )
        (candidate,) = sized.to_dict()["candidates"]
        told = candidate["evidence"]
        return {one["figure"]: (one["rests"], one["runs"], one["error"]) for one in told}

    return told


def test_runs_of_the_same_size_and_load_are_what_a_figure_rests_on(rests):
    assert rests("llama-3.1-8b")["memory"] == ("measured", 3, pytest.approx(0.02))


def test_between_smaller_and_larger_models_errors_are_weighed_by_runs(rests):
    kind, runs, error = rests("llama-2-13b", sequence=4096)["memory"]
    assert (kind, runs) == ("interpolated", 4)
    assert error == pytest.approx((3 * 0.02 + 0.06) / 4)


def test_a_load_beyond_all_runs_is_extrapolated_though_the_model_was_measured(rests):
    assert rests("llama-3.1-8b", sequence=16384)["memory"][0] == "extrapolated"


def test_a_model_smaller_than_all_is_extrapolated_from_the_nearest(rests):
    assert rests("llama-3.2-1b")["memory"] == ("extrapolated", 3, pytest.approx(0.02))


def test_a_method_that_nobody_measured_so_is_an_estimate_and_says_no_error(rests):
    assert rests("llama-3.1-8b", catalog=None)["memory"] == ("estimated", 0, None)


def test_runs_on_the_gpus_of_one_maker_are_away_from_those_of_another():
    def kind(gpu_type):
        serve = {"model": "llama-3.1-8b", "context": 4096, "concurrency": 8}
        return planner.size({"serve": serve, "gpu_types": [gpu_type]}).rows()[0]["rests_on"]

    assert kind("h100-80gb-sxm") == "measured"
    assert kind("mi300x-192gb") == "elsewhere"


def test_pairs_are_away_from_runs_of_samples(rests):
    assert rests("llama-3.1-8b", objective="dpo", sequence=1024)["memory"][0] == "extrapolated"


def test_hours_tell_apart_what_they_rest_on(rests):
    told = rests("llama-3.1-8b", dataset_tokens=1_000_000)
    assert told["memory"][0] == "measured"
    assert told["hours"] == ("estimated", 0, None)


def test_what_a_job_states_and_what_is_published_is_said_as_such():
    def kind(job):
        return planner.size(job).rows()[0]["rests_on"]

    assert kind({"fixed": {"gpus": 2}}) == "stated"
    assert kind({"tune": {"model": "llama-3.1-8b", "method": "lora"}}) == "published"


def test_the_page_tells_it_of_each_gpu_type():
    tune = {"model": "llama-3-8b", "method": "lora", "batch": 4, "sequence": 4096}
    told = planner.size({"tune": tune}).to_text()
    assert "What these figures rest on" in told
    assert "measured runs of this" in told


@pytest.mark.parametrize(
    ("node_type", "warned"), [("xe9680-gaudi3", True), ("xe9680-mi300x", False)]
)
def test_gpus_whose_throughput_nobody_measured_are_not_bought_without_a_word(node_type, warned):
    plan = planner.plan(
        {
            "format": 1,
            "name": "one replica",
            "horizon": {"first_quarter": "2027Q1", "quarters": 1, "as_of": "2026-09-01"},
            "offers": {"buy": {"node_type": node_type, "kind": "buy", "lead_time_weeks": 8}},
            "jobs": {
                "chat": {
                    "serve": {
                        "model": "llama-3.1-8b",
                        "load": {
                            "requests_per_second": 2,
                            "input_tokens": 900,
                            "output_tokens": 300,
                        },
                    }
                }
            },
        }
    )
    said = [one["text"] for one in plan.to_dict()["warnings"]]
    assert any("backs the throughput of chat" in text for text in said) == warned
