"""What other tools read of a plan is what the plan says, and in a form that they take."""

import csv
import io
import json
import re
from collections import Counter
from pathlib import Path

import jsonschema
import pytest
import yaml
from kubernetes.client import ApiClient

from planner.errors import InputError
from planner.exchange.exports import (
    USED_BY,
    WITHOUT_TEAM,
    cluster_names,
    kubernetes_files,
    kueue_files,
    pods_of,
    watsonx_files,
)
from tests.exchange.conftest import planned
from tests.stated import changed

Q1, Q2 = "2027Q1", "2027Q2"
SCHEMAS = Path(__file__).parent / "schemas"
KUEUE = json.loads((SCHEMAS / "kueue-v1beta2.json").read_text(encoding="utf-8"))
WATSONX = json.loads((SCHEMAS / "watsonx-metanames-1.8.1.json").read_text(encoding="utf-8"))


def objects(files):
    (text,) = files.values()
    return list(yaml.safe_load_all(text))


def of_kind(files, kind):
    return {one["metadata"]["name"]: one["spec"] for one in objects(files) if one["kind"] == kind}


def megabytes(quantity: str) -> int:
    return int(quantity.removesuffix("M"))


def test_every_occupant_of_the_plan_is_a_pod_and_nothing_else_is(plan):
    for place, quarter in enumerate(plan.quarters):
        occupants = [item for use in plan.placements[place] for item in use.occupants]
        pods = pods_of(plan, quarter)
        assert sum(one.count for one in pods) == len(occupants)
        assert sum(one.count * one.need.memory_mb for one in pods) == sum(
            item.memory_mb for item in occupants
        )
        whole = sum(len(item.gpus) for item in occupants if item.part is None)
        assert sum(one.count * one.need.amount for one in pods if not one.need.partition) == whole


def test_each_maker_and_each_partition_has_the_name_of_its_device_plugin(plan):
    named = {(one.need.gpu_type, one.need.resource) for one in pods_of(plan, Q2)}
    (profile,) = {one.need.partition for one in pods_of(plan, Q2)} - {""}
    assert named == {
        ("h100-80gb-sxm", "nvidia.com/gpu"),
        ("h100-80gb-sxm", f"nvidia.com/mig-{profile}"),
        ("gaudi3-128gb", "habana.ai/gaudi"),
        ("mi300x-192gb", "amd.com/gpu"),
    }


# watsonx


def test_a_specification_has_the_names_and_types_that_the_client_takes(plan):
    """As its `HwSpecMetaNames` declare them; the client itself would bring pandas and more."""
    names, example = WATSONX["names"], WATSONX["example"]
    files = {name: text for name, text in watsonx_files(plan, Q1).items() if name != USED_BY}
    assert files
    for text in files.values():
        body = json.loads(text)
        assert set(body) <= set(names)
        assert {name for name, one in names.items() if one["required"]} <= set(body)
        assert all(type(value).__name__ == names[name]["type"] for name, value in body.items())
        assert shape(body) == shape(example)
        assert re.fullmatch("[a-z0-9-]+", body["name"])


def shape(value):
    """Names and types, whatever the values are."""
    if isinstance(value, dict):
        return {key: shape(one) for key, one in value.items()}
    return type(value)


def test_each_tuning_and_serving_job_uses_the_smallest_whole_gib_that_hold_its_need(plan):
    files = watsonx_files(plan, Q1)
    rows = list(csv.DictReader(io.StringIO(files[USED_BY])))
    needs = {(one.job, one.need.partition): one for one in pods_of(plan, Q1) if one.kind != "fixed"}
    assert {job for job, _ in needs} == {"assistant", "chat"}
    assert len(rows) == len(needs)
    for row in rows:
        pods = needs[row["job"], row["partition"]]
        nodes = json.loads(files[f"{row['specification']}.json"])["nodes"]
        need = pods.need
        room = int(nodes["mem"]["size"].removesuffix("Gi")) * 2**30
        assert 0 <= room - need.memory_mb * 10**6 < 2**30
        assert (nodes["gpu"]["num_gpu"], nodes["cpu"]["units"]) == (need.amount, str(need.cpus))
        assert int(row["pods"]) == pods.count
    assert {row["specification"] for row in rows} == {
        name[:-5] for name in files if name != USED_BY
    }


WIDE = """\
format: 1
name: jobs over several nodes
horizon: {first_quarter: 2027Q1, quarters: 1, as_of: 2026-07-01}
fleet: {a: {node_type: xe9680-h100, count: 8}}
jobs:
  served: {serve: {parameters_b: 400, bits: 16}}
  tuned: {tune: {parameters_b: 70, method: full}}
  wider: {tune: {parameters_b: 110, method: full}}
  small: {tune: {parameters_b: 8, method: lora}}
"""


@pytest.fixture(scope="module")
def wide():
    """Two jobs over two nodes each, one over three, whose cores and memory do not divide evenly."""
    found = planned(WIDE)
    nodes: Counter[str] = Counter()
    for use in found.placements[0]:
        nodes.update(item.job for item in use.occupants)
    assert nodes == {"served": 2, "tuned": 2, "wider": 3, "small": 1}
    return found


def test_the_pods_of_one_unit_on_several_nodes_are_alike_and_hold_it_whole(wide):
    pods = {one.job: one for one in pods_of(wide, Q1)}
    assert {job: one.count for job, one in pods.items()} == {
        "served": 2,
        "tuned": 2,
        "wider": 3,
        "small": 1,
    }
    nodes = {node.node_type: node for node in wide.nodes}
    for job in wide.jobs:
        pod = pods[job.name]
        taken = [i for use in wide.placements[0] for i in use.occupants if i.job == job.name]
        for asked, there, parts in (
            (pod.need.cpus, nodes[pod.pool[0]].cpus, [item.cpus for item in taken]),
            (pod.need.memory_mb, nodes[pod.pool[0]].memory_mb, [one.memory_mb for one in taken]),
        ):
            assert asked == max(parts) <= there
            assert 0 <= asked * pod.count - sum(parts) < pod.count
    templates = objects(kubernetes_files(wide, Q1))
    assert sorted(one["metadata"]["name"] for one in templates) == sorted(pods)
    quotas = kueue_files(wide, Q1)
    assert quota(quotas, WITHOUT_TEAM, "xe9680-h100-main", "cpu") == str(9 * 7 + 3)


def test_jobs_that_need_the_same_share_one_specification():
    both = planned(ALIKE)
    files = watsonx_files(both, Q1)
    assert len(files) == 2
    assert [row["job"] for row in csv.DictReader(io.StringIO(files[USED_BY]))] == ["'=one", "two"]


ALIKE = """\
format: 1
name: alike
horizon: {first_quarter: 2027Q1, quarters: 1}
fleet: {a: {node_type: xe9680-h100, count: 1}}
jobs:
  "=one": {serve: {parameters_b: 10}}
  two: {serve: {parameters_b: 10}}
"""


# Kubernetes


def test_every_template_is_what_the_kubernetes_client_reads_and_nothing_is_lost(plan):
    client = ApiClient()

    class Answer:
        data = ""

    templates = objects(kubernetes_files(plan, Q2))
    assert len(templates) == len(pods_of(plan, Q2))
    for one in templates:
        answer = Answer()
        answer.data = json.dumps(one)
        read = client.deserialize(answer.data, "V1PodTemplate", "application/json")
        assert client.sanitize_for_serialization(read) == one


_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_SUBDOMAIN = re.compile(rf"{_LABEL.pattern}(\.{_LABEL.pattern})*")
_VALUE = re.compile(r"([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?")
_KEY = re.compile(rf"({_SUBDOMAIN.pattern}/)?[A-Za-z0-9]([-A-Za-z0-9_.]{{0,61}}[A-Za-z0-9])?")
_IMAGE = re.compile(r"([\w.-]+(:[0-9]+)?/)?[a-z0-9]+([._/-]+[a-z0-9]+)*:[\w][\w.-]{0,127}")
_QUANTITY = re.compile(r"[1-9][0-9]*(M|Mi|G|Gi)?")


def refusals(template):
    """What an API server has against a PodTemplate that the models of its client let pass.

    As `ValidatePodTemplate` in kubernetes/kubernetes, pkg/apis/core/validation.
    """
    meta, spec = template["metadata"], template["template"]["spec"]
    if not _SUBDOMAIN.fullmatch(meta["name"]) or len(meta["name"]) > 253:
        yield f"name {meta['name']}"
    labels = {**meta.get("labels", {}), **spec.get("nodeSelector", {})}
    for key, value in labels.items():
        if not (_KEY.fullmatch(key) and _VALUE.fullmatch(value)):
            yield f"label {key}: {value}"
    for key, value in meta.get("annotations", {}).items():
        if not (_KEY.fullmatch(key) and isinstance(value, str)):
            yield f"annotation {key}: {value}"
    if not spec.get("containers"):
        yield "no container"
    for one in spec.get("containers", ()):
        if not _LABEL.fullmatch(one.get("name", "")):
            yield "name of a container"
        if not _IMAGE.fullmatch(one.get("image", "")):
            yield f"image {one.get('image')}"
        yield from refused_resources(**one["resources"])


def refused_resources(requests, limits):
    for name, amount in (*requests.items(), *limits.items()):
        extended = "/" in name
        if not _QUANTITY.fullmatch(amount) or (extended and not amount.isdecimal()):
            yield f"{name} {amount}"
        if extended and requests.get(name) != limits.get(name):
            yield f"{name} is asked for otherwise than it is limited to"


def test_every_template_is_one_that_an_api_server_takes(plan, wide):
    for one in (*objects(kubernetes_files(plan, Q2)), *objects(kubernetes_files(wide, Q1))):
        assert list(refusals(one)) == []


def test_the_image_is_a_placeholder_and_says_so(plan):
    text = kubernetes_files(plan, Q1)["pods.yaml"]
    assert "registry.example.com/replace-me:latest is a placeholder" in text.partition("---")[0]
    for one in yaml.safe_load_all(text):
        (container,) = one["template"]["spec"]["containers"]
        assert container["image"] == "registry.example.com/replace-me:latest"
        told = one["metadata"]["annotations"]["gpu-fit-planner/image"]
        assert told.startswith(f"{container['image']} is a placeholder: ")


def test_the_templates_ask_for_all_that_the_plan_places_and_fit_their_nodes(plan):
    asked: Counter[str] = Counter()
    nodes = {node.node_type: node for node in plan.nodes}
    for one in objects(kubernetes_files(plan, Q2)):
        (container,) = one["template"]["spec"]["containers"]
        requests = container["resources"]["requests"]
        node = nodes[one["template"]["spec"]["nodeSelector"]["gpu-fit-planner/node-type"]]
        assert int(requests.get("cpu", "0")) <= node.cpus
        assert megabytes(requests.get("memory", "0")) <= node.memory_mb
        (resource,) = container["resources"]["limits"]
        assert container["resources"]["limits"][resource] == requests[resource]
        pods = int(one["metadata"]["annotations"]["gpu-fit-planner/pods"])
        asked[resource] += pods * int(requests[resource])
    held: Counter[str] = Counter()
    for alike in pods_of(plan, Q2):
        held[alike.need.resource] += alike.need.amount * alike.count
    assert asked == held


def test_a_template_says_when_its_runs_are_planned(plan):
    """`first` and `second` follow one another for 1,000 hours each on the same GPUs."""
    told = {
        one["metadata"]["name"]: one["metadata"]["annotations"].get("gpu-fit-planner/hours")
        for one in objects(kubernetes_files(plan, Q1))
    }
    runs = sorted(told[name].split("/") for name in ("first", "second"))
    assert runs[0][0] == "2027-01-01T00:00"
    assert runs[0][1] == "2027-02-11T16:00" <= runs[1][0]
    assert told["ranker"] is None


def test_a_job_that_states_no_host_need_asks_for_none():
    text = ALIKE.replace('"=one": {serve: {parameters_b: 10}}', "one: {fixed: {gpus: 1}}")
    one, _ = objects(kubernetes_files(planned(text), Q1))
    (container,) = one["template"]["spec"]["containers"]
    assert container["resources"]["requests"] == {"nvidia.com/gpu": "1"}


# Kueue


@pytest.mark.parametrize("quarter", [Q1, Q2])
def test_every_object_is_valid_by_the_published_schema(plan, quarter):
    written = objects(kueue_files(plan, quarter))
    assert {one["kind"] for one in written} == set(KUEUE) - {"$comment"}
    for one in written:
        assert one["apiVersion"] == "kueue.x-k8s.io/v1beta2"
        jsonschema.validate(one, KUEUE[one["kind"]])


def test_every_queue_names_every_flavor_with_every_resource_in_one_order(plan):
    files = kueue_files(plan, Q1)
    flavors = list(of_kind(files, "ResourceFlavor"))
    queues = of_kind(files, "ClusterQueue")
    assert sorted(queues) == ["ml", "search", WITHOUT_TEAM]
    assert flavors == [
        "xe9680-gaudi3-east",
        "xe9680-h100-east",
        "xe9680-h100-west",
        "xe9680-mi300x-east",
    ]
    for queue in queues.values():
        (group,) = queue["resourceGroups"]
        assert [one["name"] for one in group["flavors"]] == flavors
        for flavor in group["flavors"]:
            assert [one["name"] for one in flavor["resources"]] == group["coveredResources"]
        assert queue["cohortName"] == "gpu-fit-planner"


def quota(files, team, flavor, resource):
    (group,) = of_kind(files, "ClusterQueue")[team]["resourceGroups"]
    (found,) = [one for one in group["flavors"] if one["name"] == flavor]
    (amount,) = [one["nominalQuota"] for one in found["resources"] if one["name"] == resource]
    return amount


def test_a_quota_is_the_sum_over_all_nodes_of_the_flavor(plan):
    files = kueue_files(plan, Q1)
    assert quota(files, "search", "xe9680-h100-east", "nvidia.com/gpu") == "4"
    assert quota(files, "search", "xe9680-h100-east", "cpu") == "16"
    assert quota(files, "search", "xe9680-h100-east", "memory") == "200000M"
    assert quota(files, "ml", "xe9680-mi300x-east", "amd.com/gpu") == "0", "nothing runs yet"
    assert quota(kueue_files(plan, Q2), "ml", "xe9680-mi300x-east", "amd.com/gpu") == "2"


def test_runs_that_share_gpus_one_after_the_other_count_once(plan):
    files = kueue_files(plan, Q1)
    assert quota(files, "ml", "xe9680-h100-east", "nvidia.com/gpu") == "8"


def test_the_levels_of_the_topology_end_with_the_host(plan):
    (topology,) = of_kind(kueue_files(plan, Q1), "Topology").values()
    assert [one["nodeLabel"] for one in topology["levels"]] == [
        "gpu-fit-planner/site",
        "kubernetes.io/hostname",
    ]


# What cannot be exported


def test_names_that_no_cluster_takes_are_written_otherwise_and_told():
    text = ALIKE.replace("count: 1", "count: 1, site: Main Hall").replace("two:", "Two_b:")
    text = text.replace("10}}", "10}, team: Customer care}")
    plan = planned(text)
    pods = kubernetes_files(plan, Q1)["pods.yaml"]
    for line in ("The job 'Two_b' is two-b here.", "The site 'Main Hall' is main-hall here."):
        assert f"# {line}\n" in pods
    templates = {one["metadata"]["name"]: one for one in yaml.safe_load_all(pods)}
    assert templates["two-b"]["metadata"]["annotations"]["gpu-fit-planner/name"] == "Two_b"
    selector = templates["two-b"]["template"]["spec"]["nodeSelector"]
    assert selector["gpu-fit-planner/site"] == "main-hall"
    files = kueue_files(plan, Q1)
    assert "# The team 'Customer care' is customer-care here.\n" in files["kueue.yaml"]
    (queue,) = [one for one in objects(files) if one["metadata"]["name"] == "customer-care"]
    assert queue["metadata"]["annotations"] == {"gpu-fit-planner/name": "Customer care"}
    (flavor,) = of_kind(files, "ResourceFlavor")
    assert flavor.endswith("-main-hall")


def test_names_in_a_cluster_are_valid_and_no_two_alike():
    long, other = "x" * 63 + " a", "x" * 63 + " b"
    names = cluster_names(("ml", "ML", "m l", "M.L", "漢字", long, other))
    assert names["ml"] == "ml"
    assert len(set(names.values())) == len(names)
    for name in names.values():
        assert len(name) <= 63
        assert re.fullmatch("[a-z0-9]([-a-z0-9]*[a-z0-9])?", name)
    assert cluster_names(["Customer care"]) == {"Customer care": "customer-care"}
    assert cluster_names(["Zürich-Größe"]) == {"Zürich-Größe": "zurich-grosse"}


def test_two_pools_of_one_name_are_no_flavors(plan):
    first, *others = plan.nodes
    alike = changed(first, node_type="a-b", site="c")
    twin = changed(first, id="x", node_type="a", site="b-c")
    facts = [changed(plan.node_types[0], node_type=one) for one in ("a-b", "a")]
    other = {"nodes": (alike, twin, *others), "node_types": (*plan.node_types, *facts)}
    with pytest.raises(InputError, match="both called 'a-b-c' in a cluster"):
        kueue_files(changed(plan, **other), Q1)


TWO_HALLS = """\
format: 1
name: two halls
horizon: {first_quarter: 2027Q1, quarters: 2}
fleet:
  spaced: {node_type: xe9680-h100, count: 1, site: A 1}
  hyphened: {node_type: xe9680-h100, count: 1, site: A-1}
jobs:
  chat b: {fixed: {gpus: 1}, sites: [A 1], quarters: 2027Q1}
  chat-b: {fixed: {gpus: 1}, sites: [A-1], quarters: 2027Q2}
"""


def test_a_site_and_a_job_have_one_name_in_every_quarter_and_export():
    """Each is the only one of its kind that is used in its quarter."""
    two = planned(TWO_HALLS)
    flavors = of_kind(kueue_files(two, Q1), "ResourceFlavor")
    assert flavors == of_kind(kueue_files(two, Q2), "ResourceFlavor")
    label = "gpu-fit-planner/site"
    (first,), (second,) = (objects(kubernetes_files(two, quarter)) for quarter in (Q1, Q2))
    assert first["metadata"]["name"] != second["metadata"]["name"]
    selected = {one["template"]["spec"]["nodeSelector"][label] for one in (first, second)}
    assert selected == {one["nodeLabels"][label] for one in flavors.values()}
    assert len(selected) == 2


def test_a_flavor_keeps_its_name_when_its_like_leaves_service():
    retired = TWO_HALLS.replace("count: 1, site: A 1", "count: 1, site: A 1, retires: 2027Q2")
    before, after = (
        set(of_kind(kueue_files(planned(retired), quarter), "ResourceFlavor"))
        for quarter in (Q1, Q2)
    )
    assert after < before


def test_a_team_does_not_share_the_queue_of_jobs_without_one():
    text = ALIKE.replace("two: {", "two: {team: without-team, ")
    with pytest.raises(InputError, match="a team is called 'without-team'"):
        kueue_files(planned(text), Q1)
    everybody = text.replace('"=one": {', '"=one": {team: ml, ')
    assert set(of_kind(kueue_files(planned(everybody), Q1), "ClusterQueue")) == {
        "ml",
        "without-team",
    }


@pytest.fixture(scope="module")
def shared():
    text = ALIKE.replace("jobs:", "policies: {shared_gpus: true}\njobs:")
    return planned(text.replace("10}}", "1}, count: 12}"))


def test_a_share_of_the_memory_of_a_gpu_is_asked_for_in_the_words_of_hami(shared):
    files = kubernetes_files(shared, Q1)
    assert "needs HAMi on the nodes" in files["pods.yaml"].partition("---")[0]
    shares = [
        (item.part.taken, item.part.of)
        for use in shared.placements[0]
        for item in use.occupants
        if item.part
    ]
    assert len(shares) == 24, "each replica has a share, or this test says nothing"
    asked: Counter[int] = Counter()
    for one in objects(files):
        limits = one["template"]["spec"]["containers"][0]["resources"]["limits"]
        assert limits["nvidia.com/gpu"] == "1"
        pods = int(one["metadata"]["annotations"]["gpu-fit-planner/pods"])
        asked[int(limits["nvidia.com/gpumem"])] += pods
    assert asked == Counter(-(-taken * 10**6 // 2**20) for taken, _ in shares)
    assert all(mib * 2**20 < of * 10**6 for mib in asked for _, of in shares)


def test_kueue_and_watsonx_have_no_words_for_a_share_of_a_gpu(shared):
    for exporter, why in ((kueue_files, "no node tells Kueue"), (watsonx_files, "whole GPUs")):
        with pytest.raises(InputError, match=rf"jobs\.two: shares a GPU by .*, and .*{why}"):
            exporter(shared, Q1)


def test_hami_shares_gpus_of_nvidia_alone(shared):
    facts = [changed(one, kubernetes_resource="amd.com/gpu") for one in shared.node_types]
    with pytest.raises(InputError, match=r"HAMi shares GPUs of NVIDIA alone"):
        kubernetes_files(changed(shared, node_types=tuple(facts)), Q1)


def test_a_plan_that_does_not_name_its_resources_is_asked_to_be_made_again(plan):
    bare = tuple(changed(one, kubernetes_resource="") for one in plan.node_types)
    with pytest.raises(InputError, match="does not say what a cluster calls the GPUs of"):
        pods_of(changed(plan, node_types=bare), Q1)
