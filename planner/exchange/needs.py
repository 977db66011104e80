"""What the jobs of a plan ask of a cluster in one quarter, pod by pod, and what it calls them."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import accumulate

from planner.errors import Finding, InputError
from planner.inputs.text.words import one_of
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
