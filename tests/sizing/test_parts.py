"""Serving jobs on MIG partitions, and beside others on one GPU."""

import pytest

from planner.inputs.scenario.job import Job
from planner.inputs.scenario.scenario import Policies
from planner.sizing import Sizer

A100, B200, H100 = "a100-80gb-sxm", "b200-180gb-sxm", "h100-80gb-sxm"
GIB_IN_MB = 1073.741824
LOAD = {"requests_per_second": 10, "input_tokens": 500, "output_tokens": 200}


@pytest.fixture(scope="module")
def sized(shipped, rules, settings):
    """`sized(policies, serve={...})` gives the sizing on three GPU types."""

    def size(policies, *, headroom=None, **job):
        stated = {} if headroom is None else {"headroom": headroom}
        sizer = Sizer(shipped, rules, settings(**stated), policies, (A100, B200, H100, "l40s-48gb"))
        return sizer.size(Job.model_validate(job))

    return size


def ways(sizing):
    return {one.way: one for one in sizing.candidates}


def refusals(sizing):
    return {one.way: one for one in sizing.refused_parts}


MIG = Policies(mig="same-node")
SHARED = Policies(shared_gpus=True)
BOTH = Policies(mig="own-node", shared_gpus=True)


def test_without_the_policies_a_job_has_whole_gpus_only(sized):
    sizing = sized(Policies(), serve={"parameters_b": 3})
    assert set(ways(sizing)) == {A100, B200, H100, "l40s-48gb"}
    assert sizing.refused_parts == ()


def test_a_small_model_takes_the_smallest_partition_that_holds_it(sized):
    sizing = sized(MIG, serve={"parameters_b": 3})
    on_slice = ways(sizing)[f"{H100} 1g.10gb"]
    assert (on_slice.gpus, on_slice.partition, on_slice.shared_mb) == (1, "1g.10gb", 0)
    assert [way for way in ways(sizing) if way.startswith(f"{H100} ")] == [f"{H100} 1g.10gb"]
    assert "1g.10gb does as well" in refusals(sizing)[f"{H100} 3g.40gb"].message


def test_a_partition_offers_what_its_driver_reports_and_not_what_its_name_says(sized):
    on_slice = ways(sized(MIG, serve={"parameters_b": 3}))[f"{H100} 1g.10gb"]
    assert on_slice.gpu_capacity_mb == int(9.75 * GIB_IN_MB)
    kept_free = sized(MIG, headroom="0.1", serve={"parameters_b": 3})
    assert ways(kept_free)[f"{H100} 1g.10gb"].gpu_capacity_mb == int(9.75 * GIB_IN_MB * 0.9)


def test_a_model_between_the_reported_memory_and_the_name_takes_the_next_partition(sized):
    """10.5 GB are in 9.75 GiB: 4.4 B parameters need 10.56 GB by the published formula."""
    assert f"{H100} 1g.10gb" in ways(sized(MIG, serve={"parameters_b": 4.36}))
    sizing = sized(MIG, serve={"parameters_b": 4.4})
    assert f"{H100} 1g.20gb" in ways(sizing)
    assert refusals(sizing)[f"{H100} 1g.10gb"].rule == "partitions/one-each"


def test_no_replica_spans_partitions_and_no_model_larger_than_a_gpu_looks_at_them(sized):
    sizing = sized(MIG, serve={"model": "llama-3.1-70b"})
    assert {one.partition for one in sizing.candidates if one.gpu_type == H100} == {None}
    assert all(one.gpus > 1 for one in sizing.candidates if one.gpu_type == H100)
    assert [way for way in refusals(sizing) if way.startswith(H100)] == []


def test_a_partition_whose_memory_no_page_states_is_refused_by_name(sized):
    found = refusals(sized(MIG, serve={"parameters_b": 3}))[f"{B200} 1g.23gb"]
    assert found.rule == "partitions/memory-known"
    assert found.gpu_type == B200


def test_throughput_follows_the_slices_so_that_smaller_partitions_take_more_replicas(sized):
    load = {**LOAD, "requests_per_second": 300}
    serve = {"model": "llama-3.1-8b", "context": 4096, "concurrency": 8, "load": load}
    found = ways(sized(MIG, serve=serve))
    half, more, whole = (found[f"{H100}{part}"].replicas for part in (" 3g.40gb", " 4g.40gb", ""))
    assert half > more > whole


def test_a_partition_of_all_slices_is_of_use_only_on_nodes_without_whole_gpus(sized):
    serve = {"model": "llama-3.1-8b", "context": 4096, "concurrency": 8, "load": LOAD}
    beside, apart = (sized(Policies(mig=mig), serve=serve) for mig in ("same-node", "own-node"))
    assert f"{H100} 7g.80gb" in ways(apart)
    assert refusals(beside)[f"{H100} 7g.80gb"].message.startswith("the whole GPU does as well")


def test_partitions_beyond_the_smallest_stay_only_where_they_save_replicas(sized, shipped):
    serve = {"model": "llama-3.2-3b", "context": 4096, "concurrency": 8, "load": LOAD}
    sizing = sized(MIG, serve=serve)
    profiles = shipped.gpus[H100].mig_profiles

    def stands_in(small, large):
        """Whether the one can be wherever the other can, and takes no more of the GPU."""
        one, other = profiles[small.partition], profiles[large.partition]
        return (
            one.compute_slices <= other.compute_slices
            and one.memory_slices <= other.memory_slices
            and set(other.placement_starts) <= set(one.placement_starts)
        )

    kept = [one for one in sizing.candidates if one.gpu_type == H100 and one.partition]
    pairs = [(a, b) for a in kept for b in kept if a is not b and stands_in(a, b)]
    assert pairs
    assert all(small.replicas > large.replicas for small, large in pairs)


def test_a_job_beside_others_takes_its_memory_and_a_context_of_its_own(sized):
    whole = sized(SHARED, serve={"parameters_b": 3})
    assert ways(whole)[f"{H100} shared"].shared_mb == 7200 + 270
    peak = sized(SHARED, serve={"model": "llama-3.1-8b", "context": 4096, "concurrency": 8})
    beside = ways(peak)[f"{H100} shared"]
    assert beside.shared_mb == beside.gpu_memory_mb == ways(peak)[H100].gpu_memory_mb


def test_a_job_that_states_a_load_shares_no_gpu(sized):
    serve = {"model": "llama-3.1-8b", "context": 4096, "concurrency": 8, "load": LOAD}
    sizing = sized(SHARED, serve=serve)
    assert f"{H100} shared" not in ways(sizing)
    assert refusals(sizing)[f"{H100} shared"].rule == "partitions/no-load-on-shared-gpu"


def test_a_waived_rule_lets_a_job_with_a_load_share(sized):
    waived = {"partitions/no-load-on-shared-gpu": "our engines are limited by MPS"}
    serve = {"model": "llama-3.1-8b", "context": 4096, "concurrency": 8, "load": LOAD}
    policies = Policies(shared_gpus=True, waived_rules=waived)
    assert f"{H100} shared" in ways(sized(policies, serve=serve))


def test_what_fills_a_gpu_alone_cannot_stand_beside_others(sized):
    """79.9 GB of weights fit a GPU of 80 GB; with a context of their own they do not."""
    sizing = sized(SHARED, serve={"parameters_b": 33.3})
    assert H100 in ways(sizing)
    assert "80,190 MB beside others, of 80,000 MB" in refusals(sizing)[f"{H100} shared"].message


def test_no_gaudi_is_shared(shipped, rules, settings):
    sizer = Sizer(shipped, rules, settings(), SHARED, ("gaudi3-128gb",))
    sizing = sizer.size(Job.model_validate({"serve": {"parameters_b": 3}}))
    assert [one.way for one in sizing.candidates] == ["gaudi3-128gb"]
    assert sizing.refused_parts[0].rule == "partitions/gaudi-not-shared"


def test_a_job_that_must_have_whole_gpus_has_no_parts_and_the_same_needs(sized):
    whole = sized(BOTH, serve={"parameters_b": 3, "whole_gpu": True})
    either = sized(BOTH, serve={"parameters_b": 3})
    assert set(ways(whole)) == {A100, B200, H100, "l40s-48gb"}
    assert whole.candidates == tuple(one for one in either.candidates if one.way == one.gpu_type)
    assert whole.id != either.id


@pytest.mark.parametrize(
    "job",
    [
        {"tune": {"model": "llama-3.1-8b", "method": "qlora", "batch": 1, "sequence": 512}},
        {"fixed": {"gpus": 1}},
    ],
)
def test_tuning_and_fixed_jobs_have_whole_gpus_whatever_the_policies(sized, job):
    sizing = sized(BOTH, **job)
    assert sizing.candidates
    assert all(one.way == one.gpu_type for one in sizing.candidates)


def test_the_sums_of_a_partition_name_the_rules_that_make_it_small(sized):
    serve = {"model": "llama-3.1-8b", "context": 4096, "concurrency": 8, "load": LOAD}
    sizing = sized(MIG, serve=serve)
    rules = {step.rule for step in ways(sizing)[f"{H100} 3g.40gb"].trace}
    assert {"partitions/memory", "partitions/compute", "partitions/bandwidth"} <= rules
    assert any("partitions/compute" in told for told in sizing.assumptions)
