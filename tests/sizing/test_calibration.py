"""A user's runs move predictions by as much as they are many, and no further."""

import json
from decimal import Decimal

import pytest

import planner
from planner.errors import InputError
from planner.inputs.measured import Measurement, ServingMeasurement
from planner.inputs.scenario.job import Tune
from planner.sizing.calibrate import calibrate, replica_of
from tests.stated import changed

KINDS = {"allocated": "allocator_peak_mb", "reserved": "reserved_mb", "nvidia-smi": "nvidia_smi_mb"}
ON_CARD = "lora,64,4096,1,h100-80gb-sxm,fit,nvidia-smi,76.968729\n"
OOM = "lora,8,2048,1,h100-80gb-sxm,oom,,\n"
WITHOUT_BATCH = "lora,,2048,1,,fit,allocated,24\n"


@pytest.fixture
def memory(tmp_path):
    """`memory("lora", row, …)`: peaks of a small model on an H100, by these measured runs."""

    def sized(method, *rows):
        runs = tmp_path / "runs.csv"
        head = "method,batch,sequence,gpus,gpu_type,outcome,kind,measured_gb,model\n"
        runs.write_text(head + "".join(row.replace("\n", ",llama-3.2-1b\n") for row in rows))
        tune = {"model": "llama-3.2-1b", "method": method, "batch": 8, "sequence": 2048, "gpus": 1}
        job = {"tune": tune, "gpu_types": ["h100-80gb-sxm"]}
        made = planner.size(job, measured=runs if rows else None)
        return made.to_dict()["candidates"][0]["memory"]

    def took(method, times, kind="allocated"):
        """A run that took so many times what is expected."""
        gb = sized(method)[KINDS[kind]] * times / 1000
        return f"{method},8,2048,1,,fit,{kind},{gb}\n"

    return lambda method, *runs: sized(
        method, *(one if isinstance(one, str) else took(*one) for one in runs)
    )


@pytest.mark.parametrize(
    ("runs", "factor"),
    [
        ([("lora", 1.2)], 1.04),  # the shipped model counts as four runs
        ([("lora", 1.2)] * 36, 1.18),
        ([("lora", 1), ("lora", 1)], 1),
        ([("lora", 0.5)], 0.9),
        ([("full", 1.2)], 1.04),
        ([("full", 1.2), ("lora", 1)], (4 * 1.04 + 1) / 5),
        ([("full", 1), ("lora", 1.2)], 1.04),
        ([("lora", 1.2, "reserved")], 1.04),
        ([("lora", 1.2, "nvidia-smi")], 1.04),
        ([ON_CARD], 0.98),  # nine tenths of the card, beyond which no cache is expected
        ([("lora", 1.2), OOM, WITHOUT_BATCH], 1.04),
    ],
)
def test_measured_runs_move_peaks_by_as_much_as_they_are_many(memory, runs, factor):
    found, plain = (memory("lora", *by)["allocator_peak_mb"] for by in (runs, ()))
    assert found == pytest.approx(factor * plain, rel=1e-4)


def test_runs_of_which_none_can_be_compared_are_refused(memory):
    with pytest.raises(InputError, match="no run can be compared"):
        memory("lora", OOM)


def test_a_measured_run_is_compared_over_the_network_that_it_had(shipped, rules, shipped_sizer):
    tune = Tune(model="llama-3.1-8b", method="full", sharding="fsdp", batch=16, sequence=1024)
    run = Measurement(
        line=2,
        tune=tune,
        gpus=16,
        gpu_type="h100-80gb-sxm",
        tokens_per_second_per_gpu=Decimal(500),
    )
    usual, slow = (
        calibrate((changed(run, fabric_gb_per_s=rate),), shipped_sizer, shipped, rules).factors[0]
        for rate in (None, Decimal("3.125"))
    )
    assert usual.groups[0].factor > slow.groups[0].factor


TUNED = """model,method,batch,sequence,gpus,gpu_type,kind,measured_gib,tokens_per_second_per_gpu
llama-3.1-8b,lora,8,4096,1,h100-80gb-sxm,allocated,{gib},{speed}
"""
SERVED = """model,bits,gpu_type,input_tokens,output_tokens,concurrency,tpot_ms
llama-3.1-8b,16,h100-80gb-sxm,1000,300,16,{tpot}
llama-3.1-8b,16,h100-80gb-sxm,1000,300,64,{tpot}
"""
JOBS = {
    "expert": {
        "tune": {
            "model": "llama-3.1-8b",
            "method": "lora",
            "sequence": 4096,
            "batch": 8,
            "micro_batch": 2,
        }
        | {"dataset_tokens": 1e9}
    },
    "chat": {
        "serve": {
            "model": "llama-3.1-8b",
            "load": {"requests_per_second": 24, "input_tokens": 1000, "output_tokens": 300},
        }
    },
}


@pytest.fixture(scope="module")
def planned(tmp_path_factory):
    """A plan of the two jobs on owned nodes, with tables of measured runs beside the scenario."""

    def plan(**tables):
        folder = tmp_path_factory.mktemp("measured")
        for name, text in tables.items():
            (folder / f"{name}.csv").write_text(text)
        scenario = {
            "format": 1,
            "name": "Measured",
            "horizon": {"first_quarter": "2027Q1", "quarters": 1},
            "use": {"measured": [f"{name}.csv" for name in tables]},
            "fleet": {"own": {"node_type": "xe9680-h100", "count": 1}},
            "jobs": JOBS,
        }
        path = folder / "scenario.yaml"
        path.write_text(json.dumps(scenario))
        return planner.plan(path)

    return plan


@pytest.fixture(scope="module")
def as_shipped(planned):
    return planned()


def figures(plan):
    """Hours and memory of the tuning run on one GPU, and replicas of the endpoint."""
    sizings = json.loads(plan.to_json())["sizings"].values()
    found = {one["summary"].split()[0]: one["candidates"][0] for one in sizings}
    tuned, served = found["LoRA"], found["serving"]
    return tuned["hours"], tuned["memory"]["needed_mb"], served["replicas"]


def test_measured_runs_move_the_plan_that_names_their_tables(planned, as_shipped):
    hours, needed_mb, replicas = figures(as_shipped)
    slow = figures(planned(own=TUNED.format(gib=79, speed=2000), served=SERVED.format(tpot=60)))
    assert slow[0] > 1.1 * hours
    assert slow[1] > 1.01 * needed_mb
    assert slow[2] > replicas
    fast = figures(planned(own=TUNED.format(gib=20, speed=9000), served=SERVED.format(tpot=5)))
    assert fast[0] < hours
    assert fast[1] < needed_mb
    assert fast[2] < replicas


def test_one_serving_run_far_off_moves_little(planned):
    """By the median of the runs and of the shipped model."""
    slow = SERVED.format(tpot=20)
    row = "llama-3.1-8b,16,h100-80gb-sxm,1000,300,32,{tpot}\n"
    one, other = (
        planned(served=slow + row.format(tpot=tpot)).to_json().split("by 3 measured runs")[0][-6:]
        for tpot in (25, 250)
    )
    assert one == other


LATE = """model,bits,gpu_type,input_tokens,output_tokens,concurrency,tpot_ms,ttft_ms
llama-3.1-8b,16,h100-80gb-sxm,1000,300,16,{tpot},{first}
llama-3.1-8b,16,h100-80gb-sxm,1000,300,32,{tpot},{second}
llama-3.1-8b,16,h100-80gb-sxm,1000,300,64,{tpot},9000
"""


def test_first_tokens_come_as_late_as_most_measured_runs_say(planned, as_shipped):
    """By the median of the runs and of the shipped model, which an outlier does not move."""

    def first_token_ms(plan):
        sizings = json.loads(plan.to_json())["sizings"].values()
        (served,) = (one for one in sizings if one["summary"].startswith("serving"))
        return served["candidates"][0]["serving"]["ttft_ms"]

    as_expected = planned(runs=LATE.format(tpot=12, first=60, second=60))
    late = planned(runs=LATE.format(tpot=12, first=500, second=600))
    assert first_token_ms(as_expected) < first_token_ms(as_shipped) * 1.3
    assert 300 < first_token_ms(late) - first_token_ms(as_shipped) < 900
    assert "decoding steps, by 3 measured runs of llama-3.1-8b" in late.to_json()


SERVING_RUN = {
    **{"line": 2, "model": "llama-3.1-70b", "bits": 8, "gpu_type": "h100-80gb-sxm", "gpus": 4},
    **{"input_tokens": 1000, "output_tokens": 500, "concurrency": 64, "tpot_ms": 30},
}


@pytest.fixture
def replica_like(shipped_sizer):
    """`replica_like(lengths="varied")`: what is expected of such a measured run."""
    return lambda **more: replica_of(
        ServingMeasurement.model_validate(SERVING_RUN | more), shipped_sizer
    )


def test_clients_whose_requests_differ_are_expected_to_wait_for_more_passes(replica_like):
    """Those whose requests are alike keep in step, so that their prompts share passes."""
    alike, varied = (replica_like(lengths=lengths) for lengths in ("alike", "varied"))
    assert varied.number("tpot_ms") > 1.1 * float(alike.number("tpot_ms"))
    assert varied.number("ttft_ms") == alike.number("ttft_ms")


def test_the_engine_of_a_measured_run_is_known_by_its_words(replica_like):
    """Two milliseconds a step before vLLM 0.8, and 0.05 ms for each of 64 requests."""

    def step(engine):
        return float(replica_like(engine=engine).number("decode_step_s"))

    now = step("vLLM 0.8.0")
    assert step("vLLM 0.6.3.post1") == pytest.approx(now + 0.0052)
    assert step("vLLM 0.10") == step("vLLM") == step("a fork 0.6") == now


def test_a_plan_tells_what_was_moved_and_is_made_again_from_the_same_tables(planned, tmp_path):
    plan = planned(served=SERVED.format(tpot=60))
    plan.write(tmp_path / "out")
    assert ", by 2 measured runs of llama-3.1-8b" in (tmp_path / "out/plan.md").read_text()
    made = tmp_path / "out/plan.json"
    assert planner.replay(made).identical
    (table,) = (path for path in plan.read_from if path.suffix == ".csv")
    table.write_text(SERVED.format(tpot=61))
    assert not planner.replay(made).identical


def test_mistakes_of_a_table_are_told_in_its_lines(planned):
    with pytest.raises(InputError) as refusal:
        planned(
            served=SERVED.format(tpot=60).replace(",16,h100", ",no,h100", 1) + "gpt-x,16,a,1,1,1,1"
        )
    said = [one.headline() for one in refusal.value.findings]
    assert any("served.csv:2:2: bits" in one for one in said)
    assert any("served.csv:4:1: model" in one for one in said)
    assert any("served.csv:4:3: gpu_type" in one for one in said)
