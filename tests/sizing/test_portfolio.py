"""Whole scenarios: demand per quarter, shared sizings, and deployments that rules derive."""

from decimal import Decimal

import pytest

from planner.inputs.scenario.job import Job
from planner.sizing.sizers import size_portfolio


@pytest.fixture
def sized(shared_sizer, scenario):
    """`sized(name={…})`: jobs and deployments of four quarters by name."""
    return lambda **jobs: {job.name: job for job in size_portfolio(shared_sizer, scenario(jobs))}


@pytest.fixture
def served(sized):
    """`served(method="lora")`: the smallest way to serve what is tuned."""

    def deployed(**tune):
        jobs = sized(x={"tune": {"model": "llama-3.1-8b", "deploy": {}} | tune})
        return jobs["x-serving"].sizing.candidates[0]

    return deployed


def test_jobs_that_are_specified_alike_share_one_sizing(sized):
    jobs = sized(
        b={"serve": {"parameters_b": 8, "replicas": 2}, "team": "one"},
        a={"serve": {"parameters_b": 8}, "count": 5, "note": "later"},
        c={"serve": {"parameters_b": 9}},
    )
    assert list(jobs) == ["a", "b", "c"]
    assert jobs["a"].sizing is jobs["b"].sizing
    assert jobs["a"].sizing.id != jobs["c"].sizing.id
    assert (jobs["a"].units, jobs["b"].units) == ((5,) * 4, (2,) * 4)


def test_a_default_that_a_job_states_is_assumed_of_those_alone_that_leave_it_open(sized):
    tune = {"model": "llama-3.1-8b", "method": "lora", "sequence": 2048, "batch": 8}
    jobs = sized(open={"tune": tune}, stated={"tune": {**tune, "offload": "none"}})
    told = {name: " ".join(job.sizing.assumptions) for name, job in jobs.items()}
    assert jobs["open"].sizing.candidates == jobs["stated"].sizing.candidates
    assert "what is kept in host memory: none (the job leaves it open)" in told["open"]
    assert "what is kept in host memory" not in told["stated"]


def test_a_sizing_keeps_its_id_from_run_to_run(sizer):
    job = Job.model_validate({"serve": {"parameters_b": 8}})
    assert sizer().size(job).id == sizer().size(job).id
    assert sizer().size(job) == sizer().size(job)


def test_a_tuned_model_is_served_from_the_quarter_after(sized):
    tune = {"model": "llama-3.1-8b", "method": "lora", "deploy": {"replicas": 3}}
    jobs = sized(x={"tune": tune, "quarters": "2027Q2"})
    served = jobs["x-serving"]
    assert jobs["x"].units == (0, 1, 0, 0)
    assert served.units == (0, 0, 3, 3)
    assert (served.kind, served.derived_from) == ("serve", "x")
    assert served.derived_by == "policies/deploy-tuned-model"
    assert list(sized(x={"tune": tune, "quarters": "2027Q4"})) == ["x"]


def test_a_yearly_retune_keeps_serving_and_grows_with_what_is_tuned(sized):
    tune = {"model": "llama-3.1-8b", "method": "lora", "deploy": {}}
    counts = {"2027Q1": 1, "2027Q3": 3}
    assert sized(x={"tune": tune, "count": counts})["x-serving"].units == (0, 1, 1, 3)


def test_lora_is_deployed_as_base_and_adapter(served):
    first = served(method="lora", adapter_targets="attention").trace[0]
    adapter = next(q for q in first.inputs if q.name == "adapter_gb")
    assert first.rule == "serving/peft-16bit"
    assert (adapter.value, adapter.origin) == (0.027262976, "rule storage/tuned-asset")


@pytest.mark.parametrize(
    ("stated", "rule"), [({}, "serving/peft-4bit"), ({"base_bits": 8}, "serving/peft-8bit")]
)
def test_qlora_is_deployed_on_its_quantized_base(served, stated, rule):
    assert served(method="qlora", **stated).trace[0].rule == rule


@pytest.mark.parametrize(("deploy", "memory_mb"), [({}, 19_273), ({"bits": 8}, 9_637)])
def test_a_full_fine_tune_is_deployed_whole(served, deploy, memory_mb):
    found = served(method="full", deploy=deploy)
    assert found.trace[0].rule == "serving/plain"
    assert found.gpu_memory_mb == memory_mb


def test_a_stated_adapter_size_is_the_one_that_is_served(served):
    size = {"model": None, "parameters_b": 10}
    found = served(method="lora", deploy={"adapter_gb": Decimal("0.5")}, **size)
    assert found.gpu_memory_mb == 30_750
