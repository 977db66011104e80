"""What other tools read of a plan: pod templates, queues of Kueue, specifications of watsonx.

All of them stand on what the jobs of a plan ask of a cluster in one quarter, pod by pod.
"""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, Final

import yaml

from planner.errors import Finding, InputError
from planner.inputs.scenario.quarter import RUN_HOURS, Quarter
from planner.inputs.text import count_of, csv_text, one_of
from planner.planning.plan import Occupant, Plan

LABELS = "gpu-fit-planner"
"""The prefix of the labels that a plan uses, and the name that all its queues share."""
NODE_TYPE_LABEL, SITE_LABEL = f"{LABELS}/node-type", f"{LABELS}/site"
RACK_LABEL = f"{LABELS}/rack"

_LONGEST = 63
_NAME = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
"""A label of RFC 1123, which every kind of object takes as its name."""


def cluster_names(names: Iterable[str]) -> dict[str, str]:
    """Return a unique name of at most 63 lower-case letters, digits and hyphens for each.

    A name of that form stays; others lose their accents and get hyphens and, if necessary, a
    digest of the whole name at their end. The same names always give the same result.
    """
    found = {}
    for name in names:
        found[name] = name
        if len(name) > _LONGEST or not _NAME.fullmatch(name):
            letters = unicodedata.normalize("NFKD", name)
            plain = "".join(one for one in letters if not unicodedata.combining(one)).casefold()
            found[name] = re.sub(r"[^a-z0-9]+", "-", plain).strip("-")
    taken = Counter(found.values())
    for name, slug in found.items():
        if slug != name and (not slug or taken[slug] > 1 or len(slug) > _LONGEST):
            mark = hashlib.sha256(name.encode()).hexdigest()[:8]
            found[name] = f"{slug[: _LONGEST - 9].strip('-')}-{mark}".lstrip("-")
    return found


def _as_stated(name: str, names: Mapping[str, str]) -> dict[str, str]:
    """Return annotations that tell the name in the scenario, if a cluster uses another."""
    return {} if names[name] == name else {f"{LABELS}/name": name}


def _renamed(**of_kind: Mapping[str, str]) -> list[str]:
    """Yield a line for each name of a kind that differs in the cluster."""
    return [
        f"The {kind.replace('_', ' ')} {one!r} is {other} here."
        for kind, names in of_kind.items()
        for one, other in names.items()
        if one != other
    ]


def _of_pools(plan: Plan) -> tuple[dict[str, str], dict[str, str]]:
    """Return the names of all node types and sites of a plan.

    Each has one name in all quarters and exports, however many of them are used there.
    """
    node_types = cluster_names(sorted({node.node_type for node in plan.nodes}))
    return node_types, cluster_names(sorted({node.site for node in plan.nodes}))


_MIB, _MB = 2**20, 10**6

PoolName = tuple[str, str]
"""The node type and the site."""


@dataclass(frozen=True, slots=True, order=True)
class Need:
    """What one pod takes of its node: a unit of a job, or its part on one of several nodes."""

    gpu_type: str
    resource: str
    """As the cluster names it: `nvidia.com/gpu`, `nvidia.com/mig-1g.10gb`."""
    amount: int
    """GPUs or partitions."""
    cpus: int
    memory_mb: int
    """Host memory, in MB of 10^6 bytes."""
    partition: str = ""
    """The MIG profile; empty for whole GPUs."""
    share_mib: int = 0
    """A share of one GPU's memory, in MiB of 2^20 bytes; 0 for whole GPUs and partitions."""


@dataclass(frozen=True, slots=True)
class Pods:
    """Pods of a job that are alike and run on one pool."""

    job: str
    kind: str
    team: str | None
    pool: PoolName
    need: Need
    hours: tuple[tuple[int, int], ...]
    """For each pod, start and end of the time for which it holds all this, in hours of the
    quarter."""

    @property
    def count(self) -> int:
        """How many there are."""
        return len(self.hours)


def quarter_of(plan: Plan, asked: str | None) -> str:
    """Return the quarter of the plan that is asked for, by default the first; raises InputError."""
    if asked is None or asked in plan.quarters:
        return asked or plan.quarters[0]
    hint = f"it plans {one_of(plan.quarters)}"
    raise InputError(Finding(f"the plan has no quarter {asked!r}", path="quarter", hint=hint))


def pods_of(plan: Plan, quarter: str) -> tuple[Pods, ...]:
    """Return all pods of one quarter, by job; those of a unit on several nodes are alike.

    Raises InputError for a plan of an earlier version that does not name its resources.
    """
    facts = {one.node_type: one for one in plan.node_types}
    nodes = {node.id: node for node in plan.nodes}
    named = {name for name, one in facts.items() if one.kubernetes_resource}
    unnamed = sorted({node.node_type for node in plan.nodes} - named)
    if unnamed:
        raise InputError(
            Finding(
                f"the plan does not say what a cluster calls the GPUs of {one_of(unnamed)}",
                hint="make the plan again with this version of the planner",
            )
        )
    jobs = {job.name: job for job in plan.jobs}
    uses = plan.placements[plan.quarters.index(quarter)]
    items = [(nodes[use.node], item) for use in uses for item in use.occupants]
    # The plan divides what a unit takes over its nodes to the last core and MB: nine cores on one,
    # eight on the other. Pods of one kind ask alike, and each node has room for the largest.
    most: defaultdict[tuple[object, ...], tuple[int, int]] = defaultdict(lambda: (0, 0))
    for _, item in items:
        cpus, memory_mb = most[_unit(item)]
        most[_unit(item)] = max(cpus, item.cpus), max(memory_mb, item.memory_mb)
    found: defaultdict[tuple[str, PoolName, Need], list[tuple[int, int]]] = defaultdict(list)
    for node, item in items:
        resource, profile, share_mib = facts[node.node_type].kubernetes_resource, "", 0
        if item.part is not None and item.part.profile is not None:
            # Under NVIDIA's `mixed` MIG strategy `+` of a profile is written `.`.
            # Source: NVIDIA/k8s-device-plugin, README, "The different MIG strategies".
            profile = item.part.profile
            resource = f"{resource.partition('/')[0]}/mig-{profile.replace('+', '.')}"
        elif item.part is not None:
            share_mib = -(-item.part.taken * _MB // _MIB)
        amount = 1 if profile else len(item.gpus)
        need = Need(node.gpu_type, resource, amount, *most[_unit(item)], profile, share_mib)
        found[item.job, (node.node_type, node.site), need].append(item.held_hours)
    return tuple(
        Pods(job, jobs[job].kind, jobs[job].team, pool, need, tuple(sorted(hours)))
        for (job, pool, need), hours in sorted(found.items())
    )


def _unit(item: Occupant) -> tuple[object, ...]:
    return item.job, item.unit, item.replica, item.held_hours, len(item.gpus)


def _refuse_shares(pods: Iterable[Pods], why: str, resources: Collection[str] = ()) -> None:
    """Raise InputError for jobs that share a GPU by its memory, except for those of `resources`."""
    sharing = {one.job for one in pods if one.need.share_mib and one.need.resource not in resources}
    hint = "plan with `policies.shared_gpus: false`; with `policies.mig`, GPUs are still shared"
    if sharing:
        raise InputError(
            *(
                Finding(f"shares a GPU by its memory, and {why}", path=f"jobs.{job}", hint=hint)
                for job in sorted(sharing)
            )
        )


_SHARES = {"nvidia.com/gpu": "nvidia.com/gpumem"}
"""By resource, how HAMi calls MiB of the memory of one.

Source: Project-HAMi/HAMi at commit f4099f50, README, Device Resources Isolation.
"""
_HAMI = "nvidia.com/gpumem, MiB of a GPU, needs HAMi on the nodes: it holds each pod to its share."

IMAGE = "registry.example.com/replace-me:latest"
"""An API server takes no container without an image, and which it is no plan knows."""
_MOST_RUNS = 20
"""The most runs whose hours an annotation lists."""


def kubernetes_files(plan: Plan, quarter: str) -> dict[str, str]:
    """Return a PodTemplate (v1) for each job, several if its pods differ.

    A name that no cluster accepts is written in another way, which the first lines tell. A share
    of a GPU is asked for in the words of HAMi. Raises what `pods_of` raises, and InputError for
    shares that HAMi has no words for.
    """
    pods = pods_of(plan, quarter)
    _refuse_shares(pods, "HAMi shares GPUs of NVIDIA alone in this way", _SHARES)
    jobs = cluster_names(job.name for job in plan.jobs)
    types, sites = _of_pools(plan)
    said = (
        f"{plan.scenario}, {quarter}: what the pods of each job ask for.",
        f"Label the nodes with {NODE_TYPE_LABEL} and {SITE_LABEL}.",
        f"{IMAGE} is a placeholder: put your images in its place.",
        *[_HAMI] * any(one.need.share_mib for one in pods),
        *_renamed(job=jobs, node_type=types, site=sites),
    )
    of_job = Counter(one.job for one in pods)
    seen: Counter[str] = Counter()
    templates = []
    for one in pods:
        seen[one.job] += 1
        job, (node_type, site), need = jobs[one.job], one.pool, one.need
        host = {"cpu": str(need.cpus), "memory": f"{need.memory_mb}M"}
        gpus = {need.resource: str(need.amount)}
        if need.share_mib:
            gpus[_SHARES[need.resource]] = str(need.share_mib)
        asked = {key: amount for key, amount in host.items() if amount.rstrip("M") != "0"} | gpus
        annotations = {
            **_as_stated(one.job, jobs),
            f"{LABELS}/quarter": quarter,
            f"{LABELS}/pods": str(one.count),
            **_runs(one, quarter),
            f"{LABELS}/image": f"{IMAGE} is a placeholder: put the image of this job in its place",
        }
        metadata = {
            "name": job if of_job[one.job] == 1 else f"{job}.{seen[one.job]}",
            "labels": {f"{LABELS}/job": job},
            "annotations": annotations,
        }
        resources = {"requests": asked, "limits": gpus}
        spec = {
            "nodeSelector": {NODE_TYPE_LABEL: types[node_type], SITE_LABEL: sites[site]},
            "containers": [{"name": "main", "image": IMAGE, "resources": resources}],
        }
        templates.append(_object("v1", "PodTemplate", metadata, template={"spec": spec}))
    return {"pods.yaml": _documents(said, templates)}


def _object(api: str, kind: str, metadata: Mapping[str, Any], **body: Any) -> dict[str, Any]:  # noqa: ANN401
    return {"apiVersion": api, "kind": kind, "metadata": metadata, **body}


def _documents(said: Iterable[str], objects: Iterable[dict[str, Any]]) -> str:
    """Return comments, then objects as YAML documents, with keys in order."""
    remarks = (f"# {' '.join(line.split())}\n" for line in said)
    texts = (f"---\n{yaml.safe_dump(one, sort_keys=False)}" for one in objects)
    return "".join((*remarks, *texts))


def _runs(pods: Pods, quarter: str) -> dict[str, str]:
    """Return when the pods run, as ISO 8601 intervals.

    Nothing for those that hold GPUs all quarter.
    """
    start = Quarter.parse(quarter)
    times = [
        "/".join(f"{start.at(hour):%Y-%m-%dT%H:%M}" for hour in hours)
        for hours in dict.fromkeys(pods.hours)
        if hours != (0, RUN_HOURS)
    ]
    told = times[:_MOST_RUNS] + ([f"… {len(times) - _MOST_RUNS} more"] * (len(times) > _MOST_RUNS))
    return {f"{LABELS}/hours": ", ".join(told)} if told else {}


WITHOUT_TEAM = "without-team"
"""The queue of jobs that name no team."""

_API = "kueue.x-k8s.io/v1beta2"
_MOST_FLAVORS = 64

_Quotas = dict[tuple[str, str, str], int]
"""Flavor, resource and team: the most that the team holds of it at once; memory in MB."""


def kueue_files(plan: Plan, quarter: str) -> dict[str, str]:
    """Return Kueue flavors (v1beta2) for pools in service, queues for teams, and the topology.

    Each queue names every flavor with every resource, 0 if the plan gives the team none: only what
    is named can be borrowed. A name that no cluster accepts is written in another way, and the
    first lines tell which. Raises what `pods_of` raises, and InputError for jobs that share a GPU
    by its memory and for more pools than a queue may name.

    Source of the fields: kubernetes-sigs/kueue, config/components/crd/bases, at commit ff69552e.
    """
    pods = pods_of(plan, quarter)
    _refuse_shares(pods, "no node tells Kueue how much memory its GPUs have left")
    nodes = [node for node in plan.nodes if quarter in node.in_service]
    pools = sorted({(node.node_type, node.site) for node in nodes})
    teams = cluster_names(sorted({job.team or WITHOUT_TEAM for job in plan.jobs}))
    if {WITHOUT_TEAM, None} <= {job.team for job in plan.jobs}:
        message = f"a team is called {WITHOUT_TEAM!r}, as the queue of jobs that name no team is"
        raise InputError(Finding(message, hint="rename the team in the scenario"))
    types, sites = _of_pools(plan)
    flavor_of = _flavors(sorted({(node.node_type, node.site) for node in plan.nodes}))
    flavors = {pool: flavor_of[pool] for pool in pools}
    if len(flavors) > _MOST_FLAVORS:
        message = f"{len(flavors)} node types and sites are in service, and a queue names at most "
        raise InputError(Finding(f"{message}{_MOST_FLAVORS} flavors"))
    facts = {one.node_type: one.kubernetes_resource for one in plan.node_types}
    gpus = {facts[node.node_type] for node in nodes} | {one.need.resource for one in pods}
    resources = ("cpu", "memory", *sorted(gpus))
    quotas = _quotas(pods, flavors)
    racks = [RACK_LABEL] * any(node.racks for node in plan.nodes)
    levels = [{"nodeLabel": one} for one in (SITE_LABEL, *racks, "kubernetes.io/hostname")]
    objects = [_object(_API, "Topology", {"name": LABELS}, spec={"levels": levels})]
    for (node_type, site), flavor in flavors.items():
        labels = {NODE_TYPE_LABEL: types[node_type], SITE_LABEL: sites[site]}
        spec: dict[str, Any] = {"nodeLabels": labels, "topologyName": LABELS}
        objects.append(_object(_API, "ResourceFlavor", {"name": flavor}, spec=spec))
    for team, name in teams.items():
        named = []
        for flavor in flavors.values():
            held = [(one, quotas.get((flavor, one, team), 0)) for one in resources]
            own = [
                {"name": one, "nominalQuota": f"{amount}{'M' * (one == 'memory' and amount > 0)}"}
                for one, amount in held
            ]
            named.append({"name": flavor, "resources": own})
        groups = [{"coveredResources": list(resources), "flavors": named}]
        spec = {"cohortName": LABELS, "namespaceSelector": {}, "resourceGroups": groups}
        annotations = _as_stated(team, teams)
        metadata = {"name": name, **({"annotations": annotations} if annotations else {})}
        objects.append(_object(_API, "ClusterQueue", metadata, spec=spec))
    said = [
        f"{plan.scenario}, {quarter}. Quotas are sums over all nodes of a flavor: what the team",
        "holds at the hour at which it holds most. What no quota gives out stays free.",
    ]
    said += _renamed(team=teams, node_type=types, site=sites)
    return {"kueue.yaml": _documents(said, objects)}


def _flavors(pools: Sequence[PoolName]) -> dict[PoolName, str]:
    """Return the name of each pool, node type before site; raises InputError for two of one."""
    names = cluster_names("-".join(pool) for pool in pools)
    flavors = {pool: names["-".join(pool)] for pool in pools}
    alike, count = next(iter(Counter(flavors.values()).most_common(1)), ("", 0))
    if count > 1:
        message = f"two pairs of node type and site are both called {alike!r} in a cluster"
        raise InputError(Finding(message, hint="rename one of the sites in the scenario"))
    return flavors


def _quotas(pods: Sequence[Pods], flavors: Mapping[PoolName, str]) -> _Quotas:
    changes: defaultdict[tuple[str, str, str], Counter[int]] = defaultdict(Counter)
    for one in pods:
        need = one.need
        amounts = {need.resource: need.amount, "cpu": need.cpus, "memory": need.memory_mb}
        for resource, amount in amounts.items():
            held = changes[flavors[one.pool], resource, one.team or WITHOUT_TEAM]
            for start, end in one.hours:
                held[start] += amount
                held[end] -= amount
    return {
        key: max(accumulate(held[hour] for hour in sorted(held))) for key, held in changes.items()
    }


USED_BY = "used-by.csv"
_GIB = 2**30
_HEADS = ("specification", "job", "team", "pods", "node_type", "site", "gpu_type", "partition")


def watsonx_files(plan: Plan, quarter: str) -> dict[str, str]:
    """Return a body for each distinct need of tuning and serving jobs, and a table of users.

    A body of `POST /v2/hardware_specifications`; the service does not compare it with the installed
    hardware, but the plan has. Source: IBM, "Creating customized hardware specifications" for PEFT.

    Raises what `pods_of` raises, and InputError for jobs that share a GPU by its memory.
    """
    all_pods = pods_of(plan, quarter)
    _refuse_shares(all_pods, "a hardware specification asks for whole GPUs")
    users: defaultdict[tuple[int, int, int, str], list[Pods]] = defaultdict(list)
    for pods in all_pods:
        if pods.kind != "fixed":
            need = pods.need
            gib = -(-need.memory_mb * _MB // _GIB)
            users[need.amount, need.cpus, gib, need.partition].append(pods)
    rows: list[Sequence[object]] = [_HEADS]
    files = {}
    for (gpus, cpus, gib, partition), group in sorted(users.items()):
        # Letters, digits and hyphens alone, which every release of the service takes.
        part = f"-mig-{partition.replace('.', '-').replace('+', '-')}" if partition else ""
        name = f"gpu-{gpus}-cpu-{cpus}-mem-{gib}gi{part}"
        types = " or ".join(sorted({one.need.gpu_type for one in group}))
        what = f"{gpus} × MIG partition {partition}" if partition else count_of(gpus, "GPU")
        body = {
            "name": name,
            "description": f"{what} ({types}), {count_of(cpus, 'core')}, {gib} GiB of host memory",
            "nodes": {
                "cpu": {"units": str(cpus)},
                "mem": {"size": f"{gib}Gi"},
                "gpu": {"num_gpu": gpus},
            },
        }
        files[f"{name}.json"] = json.dumps(body, indent=2, ensure_ascii=False) + "\n"
        rows += [
            (name, one.job, one.team, one.count, *one.pool, one.need.gpu_type, one.need.partition)
            for one in group
        ]
    return {**files, USED_BY: csv_text(rows)}


def left_out(plan: Plan, quarter: str) -> list[str]:
    """Return fixed jobs that run in a quarter, for which the service has no specification."""
    return sorted({pods.job for pods in pods_of(plan, quarter) if pods.kind == "fixed"})


EXPORTERS: Final[Mapping[str, Callable[[Plan, str], dict[str, str]]]] = {
    "watsonx": watsonx_files,
    "kueue": kueue_files,
    "kubernetes": kubernetes_files,
}
"""What gives the files of each format for one quarter of a plan, by name."""
