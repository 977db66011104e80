"""What may not run where, with the rule that says so."""

import pytest

from planner.inputs.scenario.job import Job
from planner.inputs.scenario.scenario import Policies

TUNING = [{"parameters_b": 8, "method": method} for method in ("full", "lora", "qlora", "p-tuning")]


@pytest.mark.parametrize(
    ("method", "gpu_type", "spoken"),
    [
        ("qlora", "l40s-48gb", ["exclusions/qlora-not-on-l40s"]),
        ("lora", "l40s-48gb", []),
        ("full", "l40s-48gb", []),
        ("full", "b200-180gb-sxm", ["exclusions/supported-gpus-full"]),
        ("lora", "mi300x-192gb", ["exclusions/supported-gpus-lora"]),
        ("qlora", "l4-24gb", ["exclusions/supported-gpus-qlora"]),
        ("qlora", "h200-141gb-sxm", []),
    ],
)
def test_a_method_runs_on_the_supported_gpu_types_only(rejections, method, gpu_type, spoken):
    assert rejections(gpu_type, tune={"parameters_b": 8, "method": method}) == spoken


def test_every_rule_that_speaks_is_given(rejections):
    job = {"parameters_b": 8, "method": "qlora", "base_bits": 16, "gpu_partition": "1g.10gb"}
    assert rejections("l40s-48gb", tune=job) == [
        "exclusions/no-tuning-on-partitioned-gpu",
        "exclusions/qlora-needs-quantized-base",
        "exclusions/qlora-not-on-l40s",
    ]


def test_a_rejection_names_its_source(size):
    sizing = size(tune={"parameters_b": 8, "method": "lora"})
    gaudi = next(one for one in sizing.rejections if one.gpu_type == "gaudi3-128gb")
    assert "install-planning-foundation-model-tuning" in gaudi.sources[0]


def test_a_waived_rule_no_longer_speaks(sizer):
    policies = Policies(waived_rules={"exclusions/supported-gpus-lora": "tested with NeMo"})
    sizing = sizer(policies).size(Job.model_validate({"tune": TUNING[1]}))
    assert "b200-180gb-sxm" in {one.gpu_type for one in sizing.candidates}
    assert "gaudi3-128gb" not in {one.gpu_type for one in sizing.candidates}


def test_the_scenario_can_allow_and_exclude_gpu_types(sizer):
    policies = Policies(
        allowed_gpu_types=("h100-80gb-sxm", "l40s-48gb"), excluded_gpu_types=("l40s-48gb",)
    )
    sizing = sizer(policies).size(Job.model_validate({"serve": {"parameters_b": 8}}))
    assert [one.gpu_type for one in sizing.candidates] == ["h100-80gb-sxm"]
    spoken = {(one.gpu_type, one.rule) for one in sizing.rejections}
    assert ("l40s-48gb", "policies.excluded_gpu_types") in spoken
    assert ("a100-80gb-sxm", "policies.allowed_gpu_types") in spoken


def test_a_fixed_job_that_states_its_gpus_is_not_held_to_the_tested_count(candidate):
    assert candidate("h100-80gb-sxm", fixed={"gpus": 128}).gpus == 128
