"""Tokens per second by the rules against measured runs that are not in benchmarks/accuracy."""

from fractions import Fraction
from statistics import median
from typing import NamedTuple

import pytest

from planner.inputs.load import load_catalog, load_rules
from planner.inputs.scenario.job import Job
from planner.sizing.engine import Known, Reasoning
from planner.sizing.subject import gpu_facts, job_facts

CATALOG, _ = load_catalog(())
BOOK, _ = load_rules(())


class Run(NamedTuple):
    model: str
    method: str
    gpu_type: str
    gpus: int
    batch: int
    """Sequences per GPU and pass; per step over all GPUs where `megatron` shares sequences."""
    sequence: int
    measured: float
    """Tokens per second and GPU."""
    checkpointing: str = "on"
    kernels: str = "fused"
    sharding: str = "fsdp"
    known: tuple[tuple[str, object], ...] = ()
    """Facts of the run that a job does not state."""
    parallelism: dict[str, int] | None = None


def mlperf(gpu_type, gpus, measured, batch=8):
    """NVIDIA's configurations: as few GPUs split each layer as hold it, the rest its sequence."""
    share = max(1, gpus // batch)
    split = 1 if gpu_type.startswith(("b200", "gb200", "mi3")) else min(4, max(share, 2))
    split = 4 if gpu_type.startswith(("h100", "l40s")) else split
    batch = gpus // 8 if split == 4 and 8 < gpus < 64 else batch
    return megatron("llama-2-70b", "lora", gpu_type, gpus, batch, 8192, split, measured)


def megatron(model, method, gpu_type, gpus, batch, sequence, split, measured):
    ways = {"tensor": split, "context": max(1, gpus // (batch * split))}
    return Run(
        *(model, method, gpu_type, gpus, batch, sequence, measured, "off", "fused", "megatron"),
        known=(("products_bits", 8),),
        parallelism=ways,
    )


RUNS = {
    # pytorch/torchtitan@b5bcd76c66, benchmarks/llama3_h100_202412_torchtitan.md; held out.
    # These H100 have 2.4 TB/s and are held to 500 W, of which no rule knows.
    "torchtitan": [
        Run(
            *("llama-3.1-8b", "full", "h100-80gb-sxm", gpus, 2, 8192, measured, "selective"),
            kernels=kernels,
            known=(("gpu_bandwidth_gb_per_s", 2400),),
        )
        for gpus, kernels, measured in (
            (8, "fused", 6667),
            (8, "plain", 5762),
            (128, "fused", 6514),
            (128, "plain", 5605),
        )
    ],
    # mlcommons/training_results_v4.0@6fe95437, v4.1@b87b9e39, v5.0@0fdc28f0: Dell/results and
    # NVIDIA/results, llama2_70b_lora, median throughput of the logs
    "mlperf": [
        mlperf("h100-80gb-sxm", 4, 2087.7),
        mlperf("h100-80gb-sxm", 8, 2222.1),
        mlperf("h100-80gb-sxm", 16, 1872.2),
        mlperf("h100-80gb-sxm", 32, 1905.0),
        mlperf("h100-80gb-sxm", 64, 1853.1),
        mlperf("h100-80gb-sxm", 1024, 1878.6, batch=128),
        mlperf("h200-141gb-sxm", 8, 2617.4),
        mlperf("h200-141gb-sxm", 16, 2359.9),
        mlperf("h200-141gb-nvl", 4, 2375.5),
        mlperf("h200-141gb-nvl", 8, 2368.9),
        mlperf("b200-180gb-sxm", 8, 5408.5),
        mlperf("gb200-186gb", 8, 5513.6),
        mlperf("gb200-186gb", 16, 4919.8),
        mlperf("gb200-186gb", 64, 4255.8),
        mlperf("gb200-186gb", 512, 3974.1, batch=64),
        mlperf("l40s-48gb", 64, 348.0),
        mlperf("mi300x-192gb", 8, 2107.7),
    ],
    # NVIDIA/NeMo@2fca28a010, docs/source/performance/performance_summary.md
    "nemo": [
        megatron("llama-2-7b", "full", "h100-80gb-sxm", 8, 32, 4096, 1, 16891),
        megatron("llama-2-13b", "full", "h100-80gb-sxm", 8, 32, 4096, 1, 10176),
        megatron("llama-2-70b", "full", "h100-80gb-sxm", 16, 32, 4096, 4, 1816),
        megatron("llama-3-70b", "full", "h100-80gb-sxm", 64, 128, 8192, 4, 1524),
        megatron("llama-2-7b", "lora", "h100-80gb-sxm", 8, 32, 4096, 1, 24824),
        megatron("llama-2-13b", "lora", "h100-80gb-sxm", 8, 32, 4096, 1, 14629),
        megatron("llama-2-70b", "lora", "h100-80gb-sxm", 8, 32, 4096, 2, 2621),
    ],
}


def known(**facts):
    return {
        name: Known(
            value if isinstance(value, bool | str) else Fraction(str(value)), "", "measured run"
        )
        for name, value in facts.items()
    }


def situation(run, **facts):
    """What the rules know of a run on a given number of GPUs."""
    whole = run.batch if run.parallelism else run.batch * run.gpus
    job = Job.model_validate(
        {
            "tune": {
                "method": run.method,
                "batch": whole,
                "sequence": run.sequence,
                "gradient_checkpointing": run.checkpointing,
                "loss_kernel": run.kernels,
                "sharding": run.sharding,
                "parallelism": run.parallelism,
                "model": run.model,
            }
        }
    )
    stated = job_facts(job, CATALOG) | gpu_facts(run.gpu_type, CATALOG)
    stated |= known(gpus=run.gpus, gpus_tried=run.gpus, **dict(run.known) | facts)
    return Reasoning(BOOK, stated)


def predicted(run):
    return float(situation(run).number("tokens_per_s_per_gpu"))


def errors(origin):
    return [predicted(run) / run.measured - 1 for run in RUNS[origin]]


@pytest.mark.parametrize("origin", RUNS)
def test_half_of_the_runs_of_each_origin_are_met_within_nine_percent(origin):
    assert median(map(abs, errors(origin))) < 0.09


@pytest.mark.parametrize("origin", RUNS)
def test_no_run_is_missed_by_more_than_a_fifth(origin):
    assert max(map(abs, errors(origin))) < 0.2


def test_nine_of_ten_runs_are_within_the_error_that_the_rules_state():
    every = [abs(error) for origin in RUNS for error in errors(origin)]
    stated = float(situation(RUNS["mlperf"][0]).number("hours_error_share"))
    assert sum(error <= stated for error in every) >= 0.9 * len(every)


TO_TRAIN = {
    "XE8640, 4x H100": ("h100-80gb-sxm", 4, 3033.6, 55.634),
    "XE9680, 8x H100": ("h100-80gb-sxm", 8, 3148.8, 27.290),
    "XE9680, 8x H200": ("h200-141gb-sxm", 8, 3148.8, 22.937),
    "2x XE9680L, 16x H200": ("h200-141gb-sxm", 16, 3302.4, 13.355),
    "XE7745, 4x H200 NVL": ("h200-141gb-nvl", 4, 3225.6, 51.059),
    "XE7740, 8x H200 NVL": ("h200-141gb-nvl", 8, 3148.8, 25.458),
    "XE9680L, 8x B200": ("b200-180gb-sxm", 8, 3148.8, 11.116),
    "XE9680, 8x MI300X": ("mi300x-192gb", 8, 3110.4, 28.019),
    "4x XE9712, 16x GB200": ("gb200-186gb", 16, 3148.8, 6.122),
}
"""GPU type, GPUs, mean samples of 8,192 tokens to converge, and minutes, of Dell systems."""


def minutes_error(gpu_type, gpus, samples, minutes):
    run = situation(mlperf(gpu_type, gpus, 0), dataset_tokens=samples * 8192)
    return 60 * float(run.number("hours")) / minutes - 1


def test_half_of_the_times_to_train_of_mlperf_are_met_within_fifteen_percent():
    assert median(abs(minutes_error(*system)) for system in TO_TRAIN.values()) < 0.15


@pytest.mark.parametrize("system", ["XE9680, 8x H100", "XE9680, 8x H200", "XE7740, 8x H200 NVL"])
def test_the_time_to_train_of_one_node_is_met_within_an_eighth(system):
    assert abs(minutes_error(*TO_TRAIN[system])) < 0.125


def test_several_nodes_of_mlperf_take_longer_than_their_throughput_explains():
    """Two to eight XE9680 lost 19 to 26 % to evaluation and start-up, which no rule counts."""
    assert -0.3 < minutes_error("h100-80gb-sxm", 64, 3148.8, 5.035) < -0.15


@pytest.mark.parametrize(
    ("gpu_type", "measured"), [("mi350x-288gb", 4462.3), ("mi355x-288gb", 5358.6)]
)
def test_lora_on_eight_of_the_latest_amd_gpus_is_met_though_nothing_was_fitted(gpu_type, measured):
    """mlcommons/training_results_v5.1@441d65f4: AMD/results, llama2_70b_lora."""
    assert abs(predicted(mlperf(gpu_type, 8, measured)) / measured - 1) < 0.07


def test_small_steps_on_sharded_weights_are_slow():
    small, large = (
        predicted(Run("llama-3-8b", "lora", "h100-80gb-sxm", 8, batch, 512, 0)) for batch in (1, 32)
    )
    assert small < 0.25 * large


def test_small_models_reach_less_of_the_peak():
    shares = [
        float(situation(Run(model, "full", "h100-80gb-sxm", 8, 8, 2048, 0)).number("utilization"))
        for model in ("llama-3.2-1b", "llama-3.1-8b", "llama-3.1-70b")
    ]
    assert shares == sorted(set(shares))


def test_sharding_without_a_fabric_is_slower():
    run = Run("llama-3-8b", "full", "h100-80gb-sxm", 8, 1, 2048, 0)
    assert predicted(run._replace(known=(("gpu_nvlink", False),))) < 0.7 * predicted(run)


@pytest.mark.parametrize(("sharding", "gbs", "slower"), [("fsdp", 100, 1), ("zero-3", 100, 1.12)])
def test_zero_waits_for_the_network_behind_which_fsdp_computes(sharding, gbs, slower):
    run = Run("llama-3-8b", "full", "h100-80gb-sxm", 16, 4, 4096, 0, sharding=sharding)
    at = predicted(run._replace(known=(("fabric_gb_per_s", gbs),)))
    assert predicted(run) == pytest.approx(slower * at, rel=0.02)
