"""Whole scenarios: demand per quarter, shared sizings, and deployments that rules derive."""

from decimal import Decimal

import pytest

from planner.errors import InputError
from planner.inputs.scenario.job import Job
from planner.sizing.sizers import size_portfolio


def by_name(jobs):
    return {job.name: job for job in jobs}


def test_jobs_that_are_specified_alike_share_one_sizing(shared_sizer, scenario):
    jobs = by_name(
        size_portfolio(
            shared_sizer,
            scenario(
                {
                    "b": {"serve": {"parameters_b": 8, "replicas": 2}, "team": "one"},
                    "a": {"serve": {"parameters_b": 8}, "count": 5, "note": "later"},
                    "c": {"serve": {"parameters_b": 9}},
                }
            ),
        )
    )
    assert list(jobs) == ["a", "b", "c"]
    assert jobs["a"].sizing is jobs["b"].sizing
    assert jobs["a"].sizing.id != jobs["c"].sizing.id
    assert (jobs["a"].units, jobs["b"].units) == ((5,) * 4, (2,) * 4)


def test_a_default_that_a_job_states_is_assumed_of_those_alone_that_leave_it_open(
    shared_sizer, scenario
):
    tune = {"model": "llama-3.1-8b", "method": "lora", "sequence": 2048, "batch": 8}
    jobs = by_name(
        size_portfolio(
            shared_sizer,
            scenario({"open": {"tune": tune}, "stated": {"tune": {**tune, "offload": "none"}}}),
        )
    )
    told = {name: " ".join(job.sizing.assumptions) for name, job in jobs.items()}
    assert jobs["open"].sizing.candidates == jobs["stated"].sizing.candidates
    assert "what is kept in host memory: none (the job leaves it open)" in told["open"]
    assert "what is kept in host memory" not in told["stated"]


def test_a_sizing_keeps_its_id_from_run_to_run(sizer):
    job = Job.model_validate({"serve": {"parameters_b": 8}})
    assert sizer().size(job).id == sizer().size(job).id
    assert sizer().size(job) == sizer().size(job)


def test_a_tuned_model_is_served_from_the_quarter_after(shared_sizer, scenario):
    tune = {"model": "llama-3.1-8b", "method": "lora", "deploy": {"replicas": 3}}
    jobs = by_name(
        size_portfolio(shared_sizer, scenario({"x": {"tune": tune, "quarters": "2027Q2"}}))
    )
    served = jobs["x-serving"]
    assert jobs["x"].units == (0, 1, 0, 0)
    assert served.units == (0, 0, 3, 3)
    assert (served.kind, served.derived_from) == ("serve", "x")
    assert served.derived_by == "policies/deploy-tuned-model"


def test_a_yearly_retune_keeps_serving_and_grows_with_what_is_tuned(shared_sizer, scenario):
    tune = {"model": "llama-3.1-8b", "method": "lora", "deploy": {}}
    counts = {"2027Q1": 1, "2027Q3": 3}
    jobs = by_name(size_portfolio(shared_sizer, scenario({"x": {"tune": tune, "count": counts}})))
    assert jobs["x-serving"].units == (0, 1, 1, 3)


def test_lora_is_deployed_as_base_and_adapter(shared_sizer, scenario):
    attention = {"method": "lora", "adapter_targets": "attention"}
    tune = {"model": "llama-3.1-8b", "deploy": {}, **attention}
    sizing = by_name(size_portfolio(shared_sizer, scenario({"x": {"tune": tune}})))[
        "x-serving"
    ].sizing
    first = sizing.candidates[0].trace[0]
    adapter = next(q for q in first.inputs if q.name == "adapter_gb")
    assert first.rule == "serving/peft-16bit"
    assert (adapter.value, adapter.origin) == (0.027262976, "rule storage/tuned-asset")


@pytest.mark.parametrize(
    ("stated", "rule"), [(None, "serving/peft-4bit"), (8, "serving/peft-8bit")]
)
def test_qlora_is_deployed_on_its_quantized_base(shared_sizer, scenario, stated, rule):
    tune = {"model": "llama-3.1-8b", "method": "qlora", "deploy": {}}
    if stated:
        tune["base_bits"] = stated
    sizing = by_name(size_portfolio(shared_sizer, scenario({"x": {"tune": tune}})))[
        "x-serving"
    ].sizing
    assert sizing.candidates[0].trace[0].rule == rule


@pytest.mark.parametrize(("bits", "memory_mb"), [(None, 19_273), (8, 9_637)])
def test_a_full_fine_tune_is_deployed_whole(shared_sizer, scenario, bits, memory_mb):
    deploy = {"bits": bits} if bits else {}
    tune = {"model": "llama-3.1-8b", "method": "full", "deploy": deploy}
    sizing = by_name(size_portfolio(shared_sizer, scenario({"x": {"tune": tune}})))[
        "x-serving"
    ].sizing
    assert sizing.candidates[0].trace[0].rule == "serving/plain"
    assert sizing.candidates[0].gpu_memory_mb == memory_mb


def test_a_stated_adapter_size_is_the_one_that_is_served(shared_sizer, scenario):
    deploy = {"adapter_gb": Decimal("0.5")}
    tune = {"parameters_b": 10, "method": "lora", "deploy": deploy}
    sizing = by_name(size_portfolio(shared_sizer, scenario({"x": {"tune": tune}})))[
        "x-serving"
    ].sizing
    assert sizing.candidates[0].gpu_memory_mb == 30_750


def test_a_model_tuned_in_the_last_quarter_is_not_served_within_the_horizon(shared_sizer, scenario):
    tune = {"model": "llama-3.1-8b", "method": "lora", "deploy": {}}
    jobs = by_name(
        size_portfolio(shared_sizer, scenario({"x": {"tune": tune, "quarters": "2027Q4"}}))
    )
    assert list(jobs) == ["x"]


def test_an_unknown_model_is_refused_with_the_nearest_names(shared_sizer):
    with pytest.raises(InputError) as error:
        shared_sizer.size(Job.model_validate({"serve": {"model": "llama-3.1-8"}}))
    assert "llama-3.1-8b" in (error.value.findings[0].hint or "")
