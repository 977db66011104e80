"""Flavors, queues and topology of Kueue (v1beta2) for a plan: who may hold how much of what.

Source of the fields: kubernetes-sigs/kueue, config/components/crd/bases, at commit ff69552e.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from planner.errors import Finding, InputError
from planner.exchange.kubernetes import documents
from planner.exchange.needs import (
    LABELS,
    NODE_TYPE_LABEL,
    RACK_LABEL,
    SITE_LABEL,
    Pods,
    PoolName,
    as_stated,
    cluster_names,
    held_at_once,
    pods_of,
    refuse_shares,
    renamed,
)
from planner.planning.plan import Plan

WITHOUT_TEAM = "without-team"
"""The queue of jobs that name no team."""

_API = "kueue.x-k8s.io/v1beta2"
_MOST_FLAVORS = 64
_HOST = ("cpu", "memory")

_Quotas = dict[tuple[str, str, str], int]
"""Team, flavor and resource: the most that the team holds of it at once; memory in MB."""


def kueue_files(plan: Plan, quarter: str) -> dict[str, str]:
    """A flavor for each pool in service, a queue for each team, and the topology of the nodes.

    Each queue names every flavor with every resource, 0 where the plan gives the team none: only
    what is named can be borrowed. A name that no cluster takes is written otherwise, and the first
    lines tell which. Raises what `pods_of` raises, and InputError for jobs that share a GPU by its
    memory and for more pools than a queue may name.
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
