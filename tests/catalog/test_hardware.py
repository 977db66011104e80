"""GPU types and node types are complete, consistent and as their sources state."""

import re
from decimal import Decimal

import pytest

from planner.inputs.catalog.catalog import Catalog, GpuType, NodeType
from planner.inputs.scenario.offer import OWN_FIGURES


def test_a_gpu_id_names_the_marketing_memory(catalog: Catalog) -> None:
    for key, gpu in catalog.gpus.items():
        named = f"{gpu.memory_gb.value}gb"
        assert named in key.split("-"), f"{key}: the id does not say {named}"


def test_the_driver_reports_at_least_the_marketing_memory_and_at_most_that_many_gib(
    catalog: Catalog,
) -> None:
    for key, gpu in catalog.gpus.items():
        if gpu.driver_memory_mib is None:
            continue
        reported_bytes = gpu.driver_memory_mib.value * 2**20
        least, most = gpu.memory_gb.value * 10**9, gpu.memory_gb.value * 2**30
        assert least <= reported_bytes <= most, f"{key}: driver_memory_mib and memory_gb disagree"


@pytest.mark.parametrize(
    "gpu",
    [
        *("h100-80gb-pcie", "gaudi3-128gb"),
        *("mi300x-192gb", "mi325x-256gb", "mi350x-288gb", "mi355x-288gb"),
    ],
)
def test_memory_that_no_page_shows_is_left_out_and_not_guessed(catalog: Catalog, gpu: str) -> None:
    assert catalog.gpus[gpu].driver_memory_mib is None


def test_each_vendor_has_its_own_kubernetes_resource(catalog: Catalog) -> None:
    by_vendor = {(gpu.vendor, gpu.kubernetes_resource) for gpu in catalog.gpus.values()}
    assert by_vendor == {
        ("nvidia", "nvidia.com/gpu"),
        ("amd", "amd.com/gpu"),
        ("intel", "habana.ai/gaudi"),
    }


def placements(gpu: GpuType) -> list[tuple[str, range]]:
    return [
        (name, range(start, start + profile.memory_slices))
        for name, profile in gpu.mig_profiles.items()
        for start in profile.placement_starts
    ]


def test_every_partition_fits_in_eight_memory_slices_and_seven_compute_slices(
    catalog: Catalog,
) -> None:
    for key, gpu in catalog.gpus.items():
        for name, slices in placements(gpu):
            assert slices.stop <= 8, f"{key}: a placement of {name} ends beyond the last slice"
        for name, profile in gpu.mig_profiles.items():
            compute, starts = profile.compute_slices, len(profile.placement_starts)
            assert compute <= profile.memory_slices, f"{key}: {name} has more compute than memory"
            assert starts * compute <= 7, f"{key}: {starts} of {name} are more than 7 slices"


def test_placements_of_one_partition_size_never_overlap(catalog: Catalog) -> None:
    for key, gpu in catalog.gpus.items():
        for name in gpu.mig_profiles:
            taken = [
                piece for other, slices in placements(gpu) if other == name for piece in slices
            ]
            assert len(taken) == len(set(taken)), f"{key}: placements of {name} overlap"


def test_a_partition_reports_no_more_memory_than_its_name_says_and_its_share_allows(
    catalog: Catalog,
) -> None:
    for gpu in catalog.gpus.values():
        for name, profile in gpu.mig_profiles.items():
            named_gb = re.fullmatch(rf"{profile.compute_slices}g\.(\d+)gb", name)
            assert named_gb is not None, name
            if profile.reported_gib is not None:
                assert profile.reported_gib <= int(named_gb[1])
                assert profile.reported_gib * 2**30 >= int(named_gb[1]) * 10**9 * Decimal("0.9")


def test_every_node_type_says_what_it_takes_of_a_site(catalog: Catalog) -> None:
    for key, node in catalog.nodes.items():
        for figure in OWN_FIGURES:
            assert getattr(node, figure) is not None, f"{key}: state {figure}"


def test_no_node_draws_more_than_its_nameplate_or_less_than_its_gpus_and_a_host(
    catalog: Catalog,
) -> None:
    """GPUs run a tenth below their limit on average; an XE8545 draws 0.48 kW beside its own."""
    for key, node in catalog.nodes.items():
        assert node.mean_power_kw is not None
        assert node.max_power_kw is not None
        limit = gpu_limit_kw(catalog, node)
        mean, most = node.mean_power_kw.value, node.max_power_kw.value
        host = Decimal("0.48")
        assert mean < most, f"{key}: mean_power_kw is not below max_power_kw"
        assert mean >= limit * Decimal("0.9") + host, f"{key}: mean_power_kw is below GPUs and host"
        assert most >= limit + host, f"{key}: max_power_kw is below the limit of GPUs and host"


def gpu_limit_kw(catalog: Catalog, node: NodeType) -> Decimal:
    """What all its GPUs draw at their limit, by the note of its mean power where that says so."""
    noted = re.match(r"(\d) x ([\d.]+) kW", (node.mean_power_kw and node.mean_power_kw.note) or "")
    if noted is not None:
        return Decimal(noted[1]) * Decimal(noted[2])
    tdp = catalog.gpus[node.gpu_type].tdp_w
    assert tdp is not None
    return node.gpus.value * tdp.value / 1000


def test_estimated_power_is_the_sum_that_its_note_states(catalog: Catalog) -> None:
    sums = 0
    for key, node in catalog.nodes.items():
        for figure in (node.mean_power_kw, node.max_power_kw):
            assert figure is not None
            stated = re.match(r"(\d) x ([\d.]+) kW(?: ([x+]) ([\d.]+))?", figure.note or "")
            if stated is None:
                continue
            count, each_kw = Decimal(stated[1]), Decimal(stated[2])
            more = Decimal(stated[4] or 0)
            total = count * each_kw * more if stated[3] == "x" else count * each_kw + more
            if "/ 18 trays" in (figure.note or ""):
                total /= 18
            wrong = abs(total - figure.value) > Decimal("0.0007")
            assert not wrong, f"{key}: the sum in the note is {total} kW, not {figure.value}"
            sums += 1
    assert sums >= 28


def test_every_host_has_a_core_more_than_gpus_and_the_memory_is_never_bare(
    catalog: Catalog,
) -> None:
    for key, node in catalog.nodes.items():
        assert node.cpu_cores.value > node.gpus.value, f"{key}: it has a core for each GPU and more"
        assert node.cpu_cores.note, f"{key}: say in a note of which configuration cpu_cores are"
        assert node.host_memory_gb.note, f"{key}: say so of host_memory_gb, too"
