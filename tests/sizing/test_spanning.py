"""Which jobs may take several whole nodes, and that only GPU types in play are sized if asked."""

from decimal import Decimal

import pytest

from planner.inputs.base import SourcedFigure
from planner.inputs.load import load_catalog
from planner.inputs.scenario.job import Job
from planner.inputs.scenario.scenario import Policies
from planner.sizing import Sizer
from tests.stated import changed


@pytest.mark.parametrize(("billions", "gpus", "spans"), [(70, 4, False), (400, 16, True)])
def test_a_serving_job_spans_nodes_only_where_eight_gpus_do_not_hold_it(
    candidate, billions, gpus, spans
):
    served = candidate("h100-80gb-sxm", serve={"parameters_b": billions, "bits": 16})
    assert (served.gpus, served.may_span) == (gpus, spans)


def test_a_tuning_job_of_several_gpus_may_span_nodes(candidate):
    tuned = candidate("l40s-48gb", tune={"parameters_b": 13, "method": "full"})
    assert tuned.gpus > 4
    assert tuned.may_span


def test_a_fixed_job_of_several_gpus_may_span_nodes_and_one_of_a_single_gpu_has_nothing_to_span(
    candidate,
):
    assert candidate("h100-80gb-sxm", fixed={"gpus": 16}).may_span
    assert not candidate("h100-80gb-sxm", fixed={"gpus": 1}).may_span


def test_the_trace_names_the_rule_that_keeps_a_job_within_one_node(candidate):
    served = candidate("h100-80gb-sxm", serve={"parameters_b": 70, "bits": 16})
    step = next(step for step in served.trace if step.result.name == "nodes_at_most")
    assert step.rule == "capacity/serving-within-one-node"
    assert step.worked == "1 if 4 ≤ 8 else 4"
    assert "vllm" in step.sources[0].lower()


FULL = {"model": "llama-3.1-70b", "method": "full", "batch": 32, "sequence": 4096}
SPANNING = FULL | {"dataset_tokens": 10**8}


def _with_fabric(catalog, **figures):
    nodes = {
        name: changed(node, **figures) if node.gpu_type == "h100-80gb-sxm" else node
        for name, node in catalog.nodes.items()
    }
    return changed(catalog, nodes=nodes)


def test_a_run_over_nodes_is_as_fast_as_the_network_between_them(rules, settings):
    catalog, _ = load_catalog(())
    job = Job.model_validate({"tune": SPANNING, "gpu_types": ("h100-80gb-sxm",)})

    def sized(**figures):
        there = _with_fabric(catalog, **figures)
        sizing = Sizer(there, rules, settings(), Policies()).size(job)
        return sizing.candidates[0], sizing.warnings

    def rate(gb_per_s):
        return SourcedFigure[Decimal](value=Decimal(gb_per_s), source="https://example.com")

    fast, told = sized()
    same, _ = sized(fabric_gb_per_s=rate("1000"))
    slow, _ = sized(fabric_gb_per_s=rate("3.125"))
    _, warned = sized(fabric_gb_per_s=None)
    assert fast.gpus > 8
    assert fast.hours == same.hours
    gathered_gb = 6 * 70.553706496 * (slow.gpus - 1) / slow.gpus
    passes = 10**8 * 1.05 / (32 * 4096)
    assert slow.gpus == fast.gpus
    assert slow.hours == pytest.approx(passes * gathered_gb / 3.125 / 3600, rel=0.01)
    assert not any("time/fabric-unknown" in one for one in told)
    assert any("time/fabric-unknown" in one for one in warned)


def test_only_the_gpu_types_in_play_are_sized_and_spoken_of(catalog, rules, settings):
    sizer = Sizer(catalog, rules, settings(), Policies(), ("l40s-48gb", "h100-80gb-sxm"))
    job = Job.model_validate({"tune": {"parameters_b": 8, "method": "qlora"}})
    sizing = sizer.size(job)
    assert [one.gpu_type for one in sizing.candidates] == ["h100-80gb-sxm"]
    assert [one.gpu_type for one in sizing.rejections] == ["l40s-48gb"]
    assert not any("as-marketed" in text for text in sizing.assumptions)
