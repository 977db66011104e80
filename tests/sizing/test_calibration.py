"""A user's runs move predictions by as much as they are many, and no further."""

import json
from decimal import Decimal
from fractions import Fraction
from typing import Any, cast

import pytest

import planner
from planner.errors import InputError
from planner.inputs.load import load_catalog, load_rules
from planner.inputs.measured import Measurement, ServingMeasurement
from planner.inputs.scenario.job import Tune
from planner.inputs.scenario.scenario import Policies
from planner.inputs.settled import settled_settings
from planner.sizing import Sizer
from planner.sizing.calibrate import calibrate, compare, replica_of
from planner.sizing.candidate import Memory

PREDICTED_GB = {"allocated": 20, "reserved": 30, "nvidia-smi": 100}
"""What the sizer below says of any run."""


class SaysTheSame:
    """A sizer that predicts one peak, whatever the run."""

    def memory(self, job, gpus):
        if job.tune.batch is None:
            return None
        figures = {f"{kind.replace('-', '_')}_mb": gb * 1000 for kind, gb in PREDICTED_GB.items()}
        return Memory(
            phases=(),
            parts=(),
            allocator_peak_mb=figures["allocated_mb"],
            context_mb=None,
            peak_mb=figures["allocated_mb"],
            low_mb=None,
            high_mb=None,
            needed_mb=None,
            reserved_mb=figures["reserved_mb"],
            nvidia_smi_mb=figures["nvidia_smi_mb"],
        )


SIZER = cast("Sizer", SaysTheSame())


@pytest.fixture(scope="module")
def world():
    return load_catalog()[0], load_rules()[0]


@pytest.fixture
def calibrated(world):
    """The factors for peaks by what these runs say."""

    def factors(*runs):
        (found,) = calibrate(runs, SIZER, *world).factors
        return found

    return factors


def measured(gb, method="lora", kind="allocated", gpu_type=None, batch=8):
    tune = Tune(parameters_b=Decimal(8), method=method, batch=batch, sequence=4096)
    figures: Any = {} if gb is None else {"measured_gb": Decimal(str(gb)), "kind": kind}
    outcome: Any = "oom" if gb is None else "fit"
    gpu_type = gpu_type or ("h100-80gb-sxm" if gb is None else None)
    return Measurement(line=2, tune=tune, gpu_type=gpu_type, outcome=outcome, **figures)


def test_one_run_moves_its_method_a_fifth_of_the_way(calibrated):
    found = calibrated(measured(24))
    assert found.prior_runs == 4
    (method,) = found.groups
    assert (method.name, method.runs, method.ratio) == ("lora", 1, Fraction("1.2"))
    assert method.factor == Fraction("1.04")


@pytest.mark.parametrize(("peaks", "factor"), [([24] * 36, "1.18"), ([20, 20], "1"), ([10], "0.9")])
def test_many_runs_move_it_most_of_the_way_and_also_down(calibrated, peaks, factor):
    assert calibrated(*map(measured, peaks)).group("lora").factor == Fraction(factor)


def test_runs_of_another_method_move_it_less_than_its_own(calibrated):
    found = calibrated(measured(24, method="full"))
    assert found.group("full").factor == found.elsewhere == Fraction("1.04")
    assert found.group("lora") is None
    both = calibrated(measured(24, method="full"), measured(20))
    assert 1 < both.group("lora").factor < both.group("full").factor


@pytest.mark.parametrize("kind", PREDICTED_GB)
def test_a_figure_is_compared_with_its_like(world, kind):
    (compared,) = compare([measured(45, kind=kind)], SIZER, world[0])
    assert compared.predicted_gb == PREDICTED_GB[kind]
    assert compared.ratio == Fraction(45, PREDICTED_GB[kind])


def test_cache_is_never_predicted_beyond_the_card(world):
    run = measured(80, kind="nvidia-smi", gpu_type="h100-80gb-sxm")
    (compared,) = compare([run], SIZER, world[0])
    assert compared.predicted_gb == compared.card_gb
    assert compared.card_gb is not None
    assert 85 < compared.card_gb < 86


def test_runs_without_a_peak_or_a_prediction_are_not_counted(calibrated):
    found = calibrated(measured(24), measured(None), measured(24, batch=None))
    assert [one.runs for one in found.groups] == [1]


def test_runs_of_which_none_can_be_compared_are_refused(calibrated):
    with pytest.raises(InputError, match="no run can be compared"):
        calibrated(measured(None))


def test_a_measured_run_is_compared_over_the_network_that_it_had(world, shipped_sizer):
    tune = Tune(model="llama-3.1-8b", method="full", sharding="fsdp", batch=16, sequence=1024)
    told = [
        Measurement(
            line=2,
            tune=tune,
            gpus=16,
            gpu_type="h100-80gb-sxm",
            tokens_per_second_per_gpu=Decimal(500),
            fabric_gb_per_s=fabric,
        )
        for fabric in (None, Decimal("3.125"))
    ]
    usual, slow = (calibrate((run,), shipped_sizer, *world).factors[0] for run in told)
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


def test_clients_whose_requests_differ_are_expected_to_wait_for_more_passes(world):
    """Those whose requests are alike keep in step, so that their prompts share passes."""
    catalog, rules = world
    sizer = Sizer(catalog, rules, settled_settings(rules, Policies()), Policies())
    run = {
        "line": 2,
        "model": "llama-3.1-70b",
        "bits": 8,
        "gpu_type": "h100-80gb-sxm",
        "gpus": 4,
        "input_tokens": 1000,
        "output_tokens": 500,
        "concurrency": 64,
        "tpot_ms": 30,
    }
    alike, varied = (
        replica_of(ServingMeasurement.model_validate(run | {"lengths": lengths}), sizer)
        for lengths in ("alike", "varied")
    )
    assert (varied.number("tpot_ms") or 0) > 1.1 * float(alike.number("tpot_ms") or 1)
    assert varied.number("ttft_ms") == alike.number("ttft_ms")


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
