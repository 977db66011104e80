"""Into which partitions a GPU may be divided, against a plain search over all placements."""

from itertools import chain, combinations

import pytest

from planner.inputs.load import load_catalog
from planner.packing.translation import divisions_of

A100, H100, RTX = "a100-80gb-sxm", "h100-80gb-sxm", "rtx-pro-6000-server-96gb"


@pytest.fixture(scope="module")
def gpus():
    return load_catalog()[0].gpus


def fits(gpu, slots):
    """Whether these partitions stand side by side, by what the driver lists: the plain check."""
    taken: list[int] = []
    for name, start in slots:
        profile = gpu.mig_profiles[name]
        if start not in profile.placement_starts:
            return False
        taken += range(start, start + profile.memory_slices)
    compute = sum(gpu.mig_profiles[name].compute_slices for name, _ in slots)
    return len(taken) == len(set(taken)) and compute <= gpu.compute_slices


def every_division(gpu, profiles):
    """All sets of placed partitions that fit, found by trying every set there is."""
    places = [
        (name, start) for name in profiles for start in gpu.mig_profiles[name].placement_starts
    ]
    sizes = range(gpu.compute_slices + 1)
    tried = chain.from_iterable(combinations(places, size) for size in sizes)
    return [slots for slots in tried if fits(gpu, slots)]


def names(slots):
    return tuple(sorted(name for name, _ in slots))


@pytest.mark.parametrize(
    ("gpu_type", "profiles"),
    [
        (H100, ("1g.10gb", "3g.40gb")),
        (H100, ("1g.20gb", "2g.20gb", "4g.40gb")),
        (H100, ("2g.20gb", "3g.40gb", "7g.80gb")),
        (A100, ("1g.10gb", "2g.20gb")),
        (RTX, ("1g.24gb", "2g.48gb", "4g.96gb")),
    ],
)
def test_divisions_are_valid_and_hold_whatever_set_of_partitions_a_gpu_can_hold(
    gpus, gpu_type, profiles
):
    gpu = gpus[gpu_type]
    found = divisions_of(gpu, profiles)
    assert all(fits(gpu, division.slots) for division in found)
    held = {names(part) for one in found for part in subsets(one.slots)}
    assert held == {names(slots) for slots in every_division(gpu, profiles)}


def subsets(slots):
    return chain.from_iterable(combinations(slots, size) for size in range(len(slots) + 1))


def test_no_division_holds_less_than_another(gpus):
    every = [names(one.slots) for one in divisions_of(gpus[H100], sorted(gpus[H100].mig_profiles))]
    assert len(every) == len(set(every))
    for one in every:
        for other in every:
            assert one == other or any(one.count(name) > other.count(name) for name in one)
