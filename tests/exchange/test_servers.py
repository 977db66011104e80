"""Owned servers, as a cluster or a driver tells of them, and the node types that they are."""

import json
import warnings

import pytest

import planner
from planner.errors import InputError, PlannerWarning
from planner.exchange.cluster import gpu_types_by_name, plain_name
from planner.inputs.load import load_catalog

XE9680 = {"nvidia.com/gpu.machine": "PowerEdge-XE9680"}
DOCTYPE = '<!DOCTYPE nvidia_smi_log SYSTEM "nvsmi_device_v12.dtd">'


def node(name, product=None, count=None, capacity=None, provider="", **labels):
    if product:
        labels["nvidia.com/gpu.product"] = product
    if count:
        labels["nvidia.com/gpu.count"] = str(count)
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "spec": {"providerID": provider},
        "status": {"capacity": {"cpu": "224", "memory": "2113Gi", **(capacity or {})}},
    }


def report(*products, doctype=DOCTYPE, apart=""):
    gpus = "".join(
        f'<gpu id="0000:{place}"><product_name>{product}</product_name>'
        f"<uuid>GPU-{apart}-{place}</uuid></gpu>"
        for place, product in enumerate(products)
    )
    return f'<?xml version="1.0" ?>\n{doctype}\n<nvidia_smi_log>{gpus}</nvidia_smi_log>'


@pytest.fixture
def init(tmp_path):
    """`init(nodes or text, …)`: what the scenario owns by node type, and what was left out."""

    def found(*files):
        paths = []
        for place, content in enumerate(files):
            paths.append(tmp_path / f"server-{place}")
            text = json.dumps(content) if isinstance(content, dict | list) else content
            paths[-1].write_bytes(text if isinstance(text, bytes) else text.encode())
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always", PlannerWarning)
            made = planner.init(sources=paths, as_of="2026-11-23")
        fleet = planner.load(made.text)._inputs.scenario.fleet
        owned = [(entry.node_type, entry.count) for entry in fleet.values()]
        return made, owned, [str(one.message) for one in told]

    return found


def listed(*nodes):
    return {"apiVersion": "v1", "kind": "List", "items": list(nodes)}


def refused(init, *files):
    with pytest.raises(InputError) as error:
        init(*files)
    return [f"{one.path or ''} {one.message}".strip() for one in error.value.findings]


def test_the_nodes_of_a_cluster_are_owned_by_node_type(init):
    h100 = ("NVIDIA-H100-80GB-HBM3", 8)
    made, owned, left_out = init(
        listed(node("cpu-1"), node("a", *h100, **XE9680), node("b", *h100, **XE9680))
    )
    assert (owned, left_out) == ([("xe9680-h100", 2)], [])
    assert not any(row["key"].startswith("fleet.") for row in made.rows())


def test_the_make_of_a_server_decides_between_node_types_with_the_same_gpus(init):
    machine = {"nvidia.com/gpu.machine": "DGXH100-920-23687-2530-000"}
    assert init(node("a", "NVIDIA-H100-80GB-HBM3", 8, **machine))[1] == [("dgx-h100", 1)]


def test_a_server_known_by_its_gpus_alone_is_an_assumption_that_names_the_others(init):
    made, owned, _ = init(node("a", "NVIDIA-H100-80GB-HBM3", 8))
    assert owned == [("xe9680-h100", 1)]
    (doubt,) = [row["why"] for row in made.rows() if row["key"].startswith("fleet.")]
    assert doubt == "known by its 8 x h100-80gb-sxm alone; perhaps dgx-h100"


def test_a_larger_sibling_is_not_taken_for_the_product_whose_name_it_begins_with(init):
    machine = {"nvidia.com/gpu.machine": "PowerEdge-XE9680L"}
    made, owned, _ = init(node("a", "NVIDIA-H100-80GB-HBM3", 8, **machine))
    assert owned == [("xe9680-h100", 1)]
    assert "in 'PowerEdge-XE9680L' alone" in made.text


def test_nodes_of_a_cloud_are_perhaps_rented(init):
    made, *_ = init(node("a", "NVIDIA-H100-80GB-HBM3", 8, provider="aws:///eu-1/i-0", **XE9680))
    assert "# assumed: rented of AWS perhaps, and not owned" in made.text


def test_partitions_of_one_profile_count_as_the_gpus_that_they_are_made_of(init):
    a100 = "NVIDIA-A100-SXM4-80GB-MIG"
    assert init(node("a", f"{a100}-1g.10gb", 56))[1] == [("xe9680-a100", 1)]
    assert init(node("a", f"{a100}-3g.40gb", 8))[1] == [("xe8545-a100", 1)]
    assert init(node("a", f"{a100}-2g.20gb", 24))[1] == [("xe9680-a100", 1)]
    _, owned, (told,) = init(node("a", f"{a100}-3g.40gb", 7))
    assert owned == []
    assert "7 partitions of 3g.40gb are of no whole number of GPUs, 2 on each" in told
    assert "9g.99gb, which its GPUs do not have" in init(node("a", f"{a100}-9g.99gb", 7))[2][0]


def test_gpus_with_mixed_partitions_and_shared_gpus_count_once(init):
    mixed = {"nvidia.com/gpu": "0", "nvidia.com/mig-1g.10gb": "56"}
    assert init(node("a", "NVIDIA-A100-SXM4-80GB", 8, mixed))[1] == [("xe9680-a100", 1)]
    shared = {"nvidia.com/gpu.replicas": "4"}
    parts = {"nvidia.com/gpu": "16"}
    assert init(node("a", "NVIDIA-L40S-SHARED", 4, parts, **shared))[1] == [("r760xa-l40s", 1)]
    assert init(node("a", "NVIDIA-L40S-SHARED", None, parts, **shared))[1] == [("r760xa-l40s", 1)]


def test_gpus_of_amd_are_known_by_their_own_labels(init):
    labels = {"amd.com/gpu.product-name": "AMD_Instinct_MI300X_OAM"}
    assert init(node("a", None, None, {"amd.com/gpu": "8"}, **labels))[1] == [("xe9680-mi300x", 1)]


@pytest.mark.parametrize(
    ("server", "said"),
    [
        (node("a", "Tesla-T4", 4), "4 x 'Tesla-T4', which is no GPU type of the catalog"),
        (node("a", "NVIDIA-H200-NVL2", 8), "nearest: h200-141gb-nvl"),
        (node("a", "NVIDIA-L4", 2), "2 x l4-24gb, and no node type has so many"),
        (node("a", None, None, {"nvidia.com/gpu": "1"}), "1 GPU without the name of a product"),
        (node("a", None, None, {"habana.ai/gaudi": "8"}), "8 x 'habana.ai/gaudi'"),
    ],
)
def test_what_the_catalog_does_not_know_is_told_and_stands_as_a_remark(init, server, said):
    made, owned, (told,) = init(listed(server, node("b", "NVIDIA-L40S", 8)))
    assert owned == [("xe7740-l40s", 1)]
    assert told.startswith("left out: a: ")
    assert said in told
    assert f"  #   {told.removeprefix('left out: ')}" in made.text.splitlines()


def test_a_server_with_gpus_of_two_kinds_is_no_node_type(init):
    capacity = {"nvidia.com/gpu": "8", "amd.com/gpu": "2"}
    labels = {"amd.com/gpu.product-name": "AMD_Instinct_MI300X_OAM"}
    _, owned, (told,) = init(node("a", "NVIDIA-L4", 8, capacity, **labels))
    assert owned == []
    assert "8 x l4-24gb and 2 x mi300x-192gb in one server" in told


def test_no_name_that_is_reported_writes_into_the_scenario(init):
    evil = node("x\nname: evil\nfleet:", "Tesla\nT4: {", 4)
    evil["metadata"]["labels"]["nvidia.com/gpu.machine"] = "A\njobs: {}\n\u202e"
    known = json.loads(json.dumps(evil))
    known["metadata"]["labels"]["nvidia.com/gpu.product"] = "NVIDIA-L40S"
    made, owned, _ = init(listed(evil, known))
    assert owned == [("r760xa-l40s", 1)]
    assert planner.load(made.text).title == "A first scenario"
    assert "\u202e" not in made.text


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (listed(), "lists nothing"),
        (listed(node("a"), node("b")), "has no node with GPUs, of 2"),
        (listed(node("a", "NVIDIA-L4", "-8")), "no number of GPUs"),
        (listed(node("a", None, None, {"nvidia.com/gpu": "1e3"})), "no number of GPUs"),
        (listed(node("a", "NVIDIA-L4", "9" * 5000)), "no number of GPUs"),
        ({"kind": "List", "items": [{"kind": "Node", "metadata": {}}]}, "name field required"),
        ({"kind": "NodeList", "items": [7]}, "items[0]"),
        ({"kind": "List", "items": [{"kind": "Pod"}]}, "is JSON of another kind"),
        ('{"kind": "List", "items": [', "is no JSON"),
        ("{" * 100_000, "is no JSON"),
        (b'{"kind": "\xff"}', "UTF-8"),
    ],
)
def test_what_is_no_list_of_nodes_with_gpus_is_refused_with_its_place(init, content, said):
    (told,) = refused(init, content)
    assert said in told


def test_a_server_is_known_by_what_nvidia_smi_reports(init):
    reports = [report(*["NVIDIA L40S"] * 8, apart=name) for name in "ab"]
    assert init(*reports)[1] == [("xe7740-l40s", 2)]
    assert init(reports[0].encode("utf-16"))[1] == [("xe7740-l40s", 1)]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (report("&c;", doctype='<!DOCTYPE x [<!ENTITY c "lol">]>'), "declares a document type"),
        (
            report("&c;", doctype='<!DOCTYPE x [<!ENTITY c SYSTEM "file:///etc/passwd">]>'),
            "declares a document type",
        ),
        (report("&c;"), "is no XML: undefined entity"),
        (report("&c;", doctype=""), "is no XML"),
        (report("NVIDIA L4") * 2, "is no XML"),
        (report(), "has no GPU"),
        ("<html/>", "is XML of another kind: <html>"),
        ("<nvidia_smi_log>" + "<a>" * 100_000, "is no XML"),
        ("NVIDIA-SMI has failed because it couldn't communicate with the driver", "is no XML"),
        ("Thu\n+---+\n| NVIDIA-SMI 535.129.03 |\n", "is no XML"),
        (b"<nvidia_smi_log>\xff</nvidia_smi_log>", "is no XML"),
        (report("x" * 17_000_000), "is too large"),
    ],
)
def test_what_is_no_report_of_nvidia_smi_is_refused_and_opens_no_other_file(init, content, said):
    (told,) = refused(init, content)
    assert said in told


def test_a_server_that_stands_in_two_files_is_refused(init):
    same = report(*["NVIDIA L40S"] * 8)
    assert "stands in" in refused(init, same, same)[0]
    assert (
        "node a stands in" in refused(init, node("a", "NVIDIA-L4", 8), node("a", "NVIDIA-L4", 8))[0]
    )


def test_the_mistakes_of_all_files_are_told_at_once(init):
    assert len(refused(init, listed(), report(), "nothing,of,jobs\n1,2,3\n")) >= 3


def test_every_named_product_is_of_a_gpu_type_of_the_catalog():
    catalog, _ = load_catalog()
    assert set(gpu_types_by_name().values()) <= set(catalog.gpus)
    nameless = set(catalog.gpus) - set(gpu_types_by_name().values())
    assert nameless == {"gaudi3-128gb", "rubin-288gb"}
    assert plain_name("NVIDIA A100-SXM4-80GB") == plain_name("nvidia-a100_sxm4_80gb")
