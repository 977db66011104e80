"""What other tools read of a plan: pod templates, queues of Kueue, specifications of watsonx.

All of them stand on what the jobs of a plan ask of a cluster in one quarter, pod by pod.
"""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import yaml

from planner.errors import Finding, InputError
from planner.inputs.scenario.quarter import RUN_HOURS, Quarter
from planner.inputs.text import count_of, csv_text, one_of
from planner.planning.plan import Node, Occupant, Plan

LABELS = "gpu-fit-planner"
"""Prefix of the labels that a plan goes by, and the name of what all its queues share."""
NODE_TYPE_LABEL, SITE_LABEL = f"{LABELS}/node-type", f"{LABELS}/site"
RACK_LABEL = f"{LABELS}/rack"
NAME_ANNOTATION = f"{LABELS}/name"
"""What the scenario calls something whose name no cluster takes."""

_LONGEST = 63
_NAME = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
"""A label of RFC 1123, which every kind of object takes as its name."""
_MARK = 8
"""Digits of the digest that tells apart what would be called alike."""


def cluster_names(names: Iterable[str]) -> dict[str, str]:
    """A name of at most 63 lower-case letters, digits and hyphens for each, no two alike.

    What is such a name stays; others lose their accents and become one by hyphens, and where that
    is not enough, by a digest of the whole name at their end. The same names give the same names.
    """
    wanted = {name: _slug(name) for name in names}
    taken = Counter(wanted.values())
    return {
        name: slug
        if slug == name or (slug and taken[slug] == 1 and len(slug) <= _LONGEST)
        else _marked(name, slug)
        for name, slug in wanted.items()
    }


def _slug(name: str) -> str:
    if len(name) <= _LONGEST and _NAME.fullmatch(name):
        return name
    plain = (one for one in unicodedata.normalize("NFKD", name) if not unicodedata.combining(one))
    return re.sub(r"[^a-z0-9]+", "-", "".join(plain).casefold()).strip("-")


def _marked(name: str, slug: str) -> str:
    mark = hashlib.sha256(name.encode()).hexdigest()[:_MARK]
    return f"{slug[: _LONGEST - _MARK - 1].strip('-')}-{mark}".lstrip("-")


def as_stated(name: str, names: Mapping[str, str]) -> dict[str, str]:
    """Annotations that tell the name in the scenario, where a cluster has another."""
    return {} if names.get(name, name) == name else {NAME_ANNOTATION: name}


def renamed(what: str, names: Mapping[str, str]) -> list[str]:
    """A line for each of these that a cluster calls otherwise."""
    return [f"The {what} {one!r} is {other} here." for one, other in names.items() if one != other]


_MIB, _MB = 2**20, 10**6

PoolName = tuple[str, str]
"""Node type and site."""


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
    """Host memory, MB of 10^6 bytes."""
    partition: str = ""
    """MIG profile; empty for whole GPUs."""
    share_mib: int = 0
    """Of the memory of one GPU, MiB of 2^20 bytes; 0 for whole GPUs and partitions."""


@dataclass(frozen=True, slots=True)
class Pods:
    """Pods of a job that are alike and run on one pool."""

    job: str
    kind: str
    team: str | None
    pool: PoolName
    need: Need
    hours: tuple[tuple[int, int], ...]
    """Of each: from when to when it holds all this, in hours of the quarter; those that hold it
    all quarter have all of it."""

    @property
    def count(self) -> int:
        """How many there are."""
        return len(self.hours)


def quarter_of(plan: Plan, asked: str | None) -> str:
    """The quarter of the plan that is asked for, the first if none; raises InputError."""
    if asked is None or asked in plan.quarters:
        return asked or plan.quarters[0]
    hint = f"it plans {one_of(plan.quarters)}"
    raise InputError(Finding(f"the plan has no quarter {asked!r}", path="quarter", hint=hint))


def pods_of(plan: Plan, quarter: str) -> tuple[Pods, ...]:
    """All pods of one quarter, by job; those of a unit on several nodes ask alike.

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
    found: defaultdict[tuple[str, PoolName, Need], list[tuple[int, int]]] = defaultdict(list)
    for node, item, most in _occupants(plan, quarter, nodes):
        need = _need(node, item, facts[node.node_type].kubernetes_resource, most)
        found[item.job, (node.node_type, node.site), need].append(item.held_hours)
    return tuple(
        Pods(job, jobs[job].kind, jobs[job].team, pool, need, tuple(sorted(hours)))
        for (job, pool, need), hours in sorted(found.items())
    )


_Host = tuple[int, int]
"""Cores, and MB of host memory."""


def _occupants(
    plan: Plan, quarter: str, nodes: dict[str, Node]
) -> Iterator[tuple[Node, Occupant, _Host]]:
    """Each with the most that any part of its unit takes of a host.

    The plan divides what a unit takes over its nodes to the last core and MB: nine cores on one,
    eight on the other. Pods of one kind ask alike, and each node has room for the largest.
    """
    uses = plan.placements[plan.quarters.index(quarter)]
    most: defaultdict[tuple[object, ...], _Host] = defaultdict(lambda: (0, 0))
    for item in (item for use in uses for item in use.occupants):
        cpus, memory_mb = most[_unit(item)]
        most[_unit(item)] = max(cpus, item.cpus), max(memory_mb, item.memory_mb)
    for use in uses:
        for item in use.occupants:
            yield nodes[use.node], item, most[_unit(item)]


def _unit(item: Occupant) -> tuple[object, ...]:
    return item.job, item.unit, item.replica, item.held_hours, len(item.gpus)


def _need(node: Node, item: Occupant, resource: str, most: _Host) -> Need:
    profile, share_mib = "", 0
    if item.part is not None and item.part.profile is not None:
        profile = item.part.profile
        resource = _of_partition(resource, profile)
    elif item.part is not None:
        share_mib = -(-item.part.taken * _MB // _MIB)
    amount = 1 if profile else len(item.gpus)
    return Need(node.gpu_type, resource, amount, *most, profile, share_mib)


def _of_partition(resource: str, profile: str) -> str:
    """The name under NVIDIA's `mixed` MIG strategy, where `+` of a profile is written `.`.

    Source: NVIDIA/k8s-device-plugin, README, "The different MIG strategies".
    """
    domain = resource.partition("/")[0]
    return f"{domain}/mig-{profile.replace('+', '.')}"


def refuse_shares(pods: Iterable[Pods], why: str, resources: Collection[str] = ()) -> None:
    """Raise InputError for jobs that share a GPU by its memory, but for those of `resources`."""
    sharing = {one.job for one in pods if one.need.share_mib and one.need.resource not in resources}
    hint = "plan with `policies.shared_gpus: false`; with `policies.mig`, GPUs are still shared"
    if sharing:
        raise InputError(
            *(
                Finding(f"shares a GPU by its memory, and {why}", path=f"jobs.{job}", hint=hint)
                for job in sorted(sharing)
            )
        )


def held_at_once(held: Iterable[tuple[tuple[int, int], int]]) -> int:
    """The most that is held at any hour, of amounts that are each held for some hours."""
    changes: Counter[int] = Counter()
    for (start, end), amount in held:
        changes[start] += amount
        changes[end] -= amount
    return max(accumulate(changes[hour] for hour in sorted(changes)), default=0)


_SHARES = {"nvidia.com/gpu": "nvidia.com/gpumem"}
"""By resource, how HAMi calls MiB of the memory of one.

Source: Project-HAMi/HAMi at commit f4099f50, README, Device Resources Isolation.
"""
_HAMI = (
    "# nvidia.com/gpumem, MiB of a GPU, needs HAMi on the nodes: it holds each pod to its share.\n"
)


IMAGE = "registry.example.com/replace-me:latest"
"""An API server takes no container without an image, and which it is no plan knows."""
_IMAGE_NOTE = f"{IMAGE} is a placeholder: put the image of this job in its place"

_MOST_RUNS = 20
"""Runs whose hours an annotation lists."""


def kubernetes_files(plan: Plan, quarter: str) -> dict[str, str]:
    """A PodTemplate (v1) for each job, several where its pods differ.

    A name that no cluster takes is written otherwise, which the first lines tell. A share of a GPU
    is asked for in the words of HAMi. Raises what `pods_of` raises, and InputError for shares that
    HAMi has no words for.
    """
    pods = pods_of(plan, quarter)
    refuse_shares(pods, "HAMi shares GPUs of NVIDIA alone in this way", _SHARES)
    jobs = cluster_names(dict.fromkeys(one.job for one in pods))
    types, sites = (cluster_names(sorted({one.pool[part] for one in pods})) for part in (0, 1))
    other = [*renamed("job", jobs), *renamed("node type", types), *renamed("site", sites)]
    said = (
        f"# {' '.join(plan.scenario.split())}, {quarter}: what the pods of each job ask for.\n"
        f"# Label the nodes with {NODE_TYPE_LABEL} and {SITE_LABEL}.\n"
        f"# {IMAGE} is a placeholder: put your images in its place.\n"
        + (_HAMI if any(one.need.share_mib for one in pods) else "")
        + "".join(f"# {line}\n" for line in other)
    )
    templates = _templates(pods, quarter, jobs, types, sites)
    return {"pods.yaml": said + documents(templates)}


def documents(items: Iterable[dict[str, Any]]) -> str:
    """Objects as YAML documents, keys in their order."""
    return "".join(f"---\n{yaml.safe_dump(item, sort_keys=False)}" for item in items)


def _templates(
    pods: Sequence[Pods],
    quarter: str,
    jobs: Mapping[str, str],
    types: Mapping[str, str],
    sites: Mapping[str, str],
) -> Iterable[dict[str, Any]]:
    of_job = Counter(one.job for one in pods)
    seen: Counter[str] = Counter()
    for one in pods:
        seen[one.job] += 1
        job, (node_type, site), need = jobs[one.job], one.pool, one.need
        host = {"cpu": str(need.cpus), "memory": f"{need.memory_mb}M"}
        gpus = {need.resource: str(need.amount)}
        if need.share_mib:
            gpus[_SHARES[need.resource]] = str(need.share_mib)
        asked = {key: amount for key, amount in host.items() if amount.rstrip("M") != "0"} | gpus
        container = {
            "name": "main",
            "image": IMAGE,
            "resources": {"requests": asked, "limits": gpus},
        }
        yield {
            "apiVersion": "v1",
            "kind": "PodTemplate",
            "metadata": {
                "name": job if of_job[one.job] == 1 else f"{job}.{seen[one.job]}",
                "labels": {f"{LABELS}/job": job},
                "annotations": {
                    **as_stated(one.job, jobs),
                    f"{LABELS}/quarter": quarter,
                    f"{LABELS}/pods": str(one.count),
                    **_runs(one, quarter),
                    f"{LABELS}/image": _IMAGE_NOTE,
                },
            },
            "template": {
                "spec": {
                    "nodeSelector": {NODE_TYPE_LABEL: types[node_type], SITE_LABEL: sites[site]},
                    "containers": [container],
                }
            },
        }


def _runs(pods: Pods, quarter: str) -> dict[str, str]:
    """When the pods run, as ISO 8601 intervals; nothing for those that hold GPUs all quarter."""
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
_HOST = ("cpu", "memory")

_Quotas = dict[tuple[str, str, str], int]
"""Team, flavor and resource: the most that the team holds of it at once; memory in MB."""


def kueue_files(plan: Plan, quarter: str) -> dict[str, str]:
    """Flavors of Kueue (v1beta2) for pools in service, queues for teams, topology of the nodes.

    Each queue names every flavor with every resource, 0 where the plan gives the team none: only
    what is named can be borrowed. A name that no cluster takes is written otherwise, and the first
    lines tell which. Raises what `pods_of` raises, and InputError for jobs that share a GPU by its
    memory and for more pools than a queue may name.

    Source of the fields: kubernetes-sigs/kueue, config/components/crd/bases, at commit ff69552e.
    """
    pods = pods_of(plan, quarter)
    refuse_shares(pods, "no node tells Kueue how much memory its GPUs have left")
    nodes: defaultdict[PoolName, int] = defaultdict(int)
    for node in plan.nodes:
        nodes[node.node_type, node.site] += quarter in node.in_service
    pools = sorted(pool for pool, count in nodes.items() if count)
    teams = cluster_names(sorted({job.team or WITHOUT_TEAM for job in plan.jobs}))
    types, sites = (
        cluster_names(sorted(set(part))) for part in (*zip(*pools, strict=True),) or ((), ())
    )
    flavors = _flavors(pools)
    there = _in_service(plan, quarter, flavors)
    gpus = {resource for _, resource in there}.union(one.need.resource for one in pods)
    resources = (*_HOST, *sorted(gpus.difference(_HOST)))
    quotas = _quotas(pods, flavors)
    objects = [
        _topology(plan),
        *(
            _flavor(types[node_type], sites[site], name)
            for (node_type, site), name in flavors.items()
        ),
        *(
            _object(
                "ClusterQueue",
                name,
                _queue(team, list(flavors.values()), resources, quotas),
                as_stated(team, teams),
            )
            for team, name in teams.items()
        ),
    ]
    other = [*renamed("team", teams), *renamed("node type", types), *renamed("site", sites)]
    return {"kueue.yaml": _sums(plan, quarter, there, quotas, other) + documents(objects)}


def _flavors(pools: Sequence[PoolName]) -> dict[PoolName, str]:
    """What each pool is called, node type before site."""
    joined = {pool: "-".join(pool) for pool in pools}
    names = cluster_names(joined.values())
    flavors = {pool: names[name] for pool, name in joined.items()}
    if len(set(flavors.values())) < len(flavors):
        alike = Counter(flavors.values()).most_common(1)[0][0]
        raise InputError(
            Finding(
                f"two pairs of node type and site are both called {alike!r} in a cluster",
                hint="rename one of the sites in the scenario",
            )
        )
    if len(flavors) > _MOST_FLAVORS:
        raise InputError(
            Finding(
                f"{len(flavors)} node types and sites are in service, and a queue names at most "
                f"{_MOST_FLAVORS} flavors"
            )
        )
    return flavors


def _in_service(
    plan: Plan, quarter: str, flavors: Mapping[PoolName, str]
) -> dict[tuple[str, str], int]:
    """By flavor and resource, all that its nodes have."""
    found: defaultdict[tuple[str, str], int] = defaultdict(int)
    facts = {one.node_type: one.kubernetes_resource for one in plan.node_types}
    for node in plan.nodes:
        if quarter in node.in_service:
            flavor = flavors[node.node_type, node.site]
            found[flavor, facts[node.node_type]] += node.gpus
            found[flavor, "cpu"] += node.cpus
            found[flavor, "memory"] += node.memory_mb
    return dict(found)


def _quotas(pods: Sequence[Pods], flavors: Mapping[PoolName, str]) -> _Quotas:
    held: defaultdict[tuple[str, str, str], list[tuple[tuple[int, int], int]]] = defaultdict(list)
    for one in pods:
        amounts = {
            one.need.resource: one.need.amount,
            "cpu": one.need.cpus,
            "memory": one.need.memory_mb,
        }
        for resource, amount in amounts.items():
            key = (one.team or WITHOUT_TEAM, flavors[one.pool], resource)
            held[key] += ((hours, amount) for hours in one.hours)
    return {key: held_at_once(amounts) for key, amounts in held.items()}


def _amount(resource: str, amount: int) -> str:
    return f"{amount}M" if resource == "memory" and amount else str(amount)


def _unracked(plan: Plan, quarter: str) -> Iterator[str]:
    """Sites without racks beside others with them: Kueue passes over a node that lacks a level."""
    there = [node for node in plan.nodes if quarter in node.in_service]
    without = sorted({node.site for node in there if not node.racks})
    if without and any(node.racks for node in plan.nodes):
        yield (
            f"Label the nodes of {', '.join(without)} with a {RACK_LABEL}, too: the plan has none, "
            "and Kueue places no pod on a node that lacks a label of the topology."
        )


def _topology(plan: Plan) -> dict[str, Any]:
    racks = any(node.racks for node in plan.nodes)
    labels = (SITE_LABEL, *([RACK_LABEL] if racks else []), "kubernetes.io/hostname")
    levels = [{"nodeLabel": label} for label in labels]
    return _object("Topology", LABELS, {"levels": levels})


def _flavor(node_type: str, site: str, name: str) -> dict[str, Any]:
    labels = {NODE_TYPE_LABEL: node_type, SITE_LABEL: site}
    return _object("ResourceFlavor", name, {"nodeLabels": labels, "topologyName": LABELS})


def _queue(
    team: str, flavors: Sequence[str], resources: Sequence[str], quotas: _Quotas
) -> dict[str, Any]:
    named = [
        {
            "name": flavor,
            "resources": [
                {"name": one, "nominalQuota": _amount(one, quotas.get((team, flavor, one), 0))}
                for one in resources
            ],
        }
        for flavor in flavors
    ]
    group = {"coveredResources": list(resources), "flavors": named}
    return {"cohortName": LABELS, "namespaceSelector": {}, "resourceGroups": [group]}


def _object(
    kind: str, name: str, spec: dict[str, Any], annotations: dict[str, str] | None = None
) -> dict[str, Any]:
    told = {"annotations": annotations} if annotations else {}
    return {"apiVersion": _API, "kind": kind, "metadata": {"name": name, **told}, "spec": spec}


def _sums(
    plan: Plan,
    quarter: str,
    in_service: Mapping[tuple[str, str], int],
    quotas: _Quotas,
    renamed: Sequence[str],
) -> str:
    """Per flavor, what is in service beside the quotas that the queues give out of it."""
    lines = [
        f"{plan.scenario}, {quarter}. Quotas are sums over all nodes of a flavor: what the team",
        "holds at the hour at which it holds most. What no quota gives out stays free.",
        *_unracked(plan, quarter),
        *renamed,
    ]
    given: defaultdict[tuple[str, str], list[tuple[str, int]]] = defaultdict(list)
    for (team, flavor, resource), amount in sorted(quotas.items()):
        given[flavor, resource].append((team, amount))
    for flavor, resource in sorted({*in_service, *given}):
        there = in_service.get((flavor, resource))
        parts = given[flavor, resource]
        total = _amount(resource, sum(amount for _, amount in parts))
        each = ", ".join(f"{team} {_amount(resource, amount)}" for team, amount in parts)
        of = f" of {_amount(resource, there)} in service" if there is not None else " as planned"
        lines.append(f"{flavor}: {resource} {total}{of}{f' ({each})' if each else ''}")
    return "".join(f"# {' '.join(line.split())}\n" for line in lines)


USED_BY = "used-by.csv"
_GIB = 2**30
_HEADS = ("specification", "job", "team", "pods", "node_type", "site", "gpu_type", "partition")

_Size = tuple[int, int, int, str]
"""GPUs, cores, GiB of host memory, partition."""


def watsonx_files(plan: Plan, quarter: str) -> dict[str, str]:
    """One body for each distinct need of tuning and serving jobs, and a table of who uses which.

    A body of `POST /v2/hardware_specifications`; the service does not hold it against the installed
    hardware, the plan has. Source: IBM, "Creating customized hardware specifications" for PEFT.

    Raises what `pods_of` raises, and InputError for jobs that share a GPU by its memory.
    """
    users: defaultdict[_Size, list[Pods]] = defaultdict(list)
    all_pods = pods_of(plan, quarter)
    refuse_shares(all_pods, "a hardware specification asks for whole GPUs")
    for pods in all_pods:
        if pods.kind != "fixed":
            users[_size(pods.need)].append(pods)
    rows: list[Sequence[object]] = [_HEADS]
    files = {}
    for size, group in sorted(users.items()):
        name = _name(size)
        files[f"{name}.json"] = _body(size, group)
        rows += [
            (name, one.job, one.team, one.count, *one.pool, one.need.gpu_type, one.need.partition)
            for one in group
        ]
    return {**files, USED_BY: csv_text(rows)}


def left_out(plan: Plan, quarter: str) -> list[str]:
    """Fixed jobs that run in a quarter, for which the service has no specification."""
    return sorted({pods.job for pods in pods_of(plan, quarter) if pods.kind == "fixed"})


def _size(need: Need) -> _Size:
    return need.amount, need.cpus, -(-need.memory_mb * _MB // _GIB), need.partition


def _name(size: _Size) -> str:
    """Letters, digits and hyphens alone, which every release of the service takes."""
    gpus, cpus, gib, partition = size
    part = f"-mig-{partition.replace('.', '-').replace('+', '-')}" if partition else ""
    return f"gpu-{gpus}-cpu-{cpus}-mem-{gib}gi{part}"


def _body(size: _Size, group: Sequence[Pods]) -> str:
    gpus, cpus, gib, partition = size
    types = " or ".join(sorted({one.need.gpu_type for one in group}))
    what = f"{gpus} × MIG partition {partition}" if partition else count_of(gpus, "GPU")
    body = {
        "name": _name(size),
        "description": f"{what} ({types}), {count_of(cpus, 'core')}, {gib} GiB of host memory",
        "nodes": {
            "cpu": {"units": str(cpus)},
            "mem": {"size": f"{gib}Gi"},
            "gpu": {"num_gpu": gpus},
        },
    }
    return json.dumps(body, indent=2, ensure_ascii=False) + "\n"
