"""The resources that each job of a plan asks of a cluster, as pod templates."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import yaml

from planner.exchange.names import LABELS, NODE_TYPE_LABEL, SITE_LABEL, require_cluster_names
from planner.exchange.needs import pods_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from planner.exchange.needs import Pods
    from planner.plan.plan import Plan

__all__ = ["documents", "kubernetes_files"]


def kubernetes_files(plan: Plan, quarter: str) -> dict[str, str]:
    """A PodTemplate (v1) for each job, several where its pods differ.

    Raises what `pods_of` raises, and InputError for names that no cluster takes.
    """
    pods = pods_of(plan, quarter)
    names = [("the job", one.job) for one in pods]
    require_cluster_names(dict.fromkeys([*names, *(("the site", one.pool[1]) for one in pods)]))
    said = (
        f"# {' '.join(plan.scenario.split())}, {quarter}: what the pods of each job ask for.\n"
        f"# Label the nodes with {NODE_TYPE_LABEL} and {SITE_LABEL}; the images are yours.\n"
    )
    return {"pods.yaml": said + documents(_templates(pods, quarter))}


def documents(items: Iterable[dict[str, Any]]) -> str:
    """Objects as YAML documents, keys in their order."""
    return "".join(f"---\n{yaml.safe_dump(item, sort_keys=False)}" for item in items)


def _templates(pods: Sequence[Pods], quarter: str) -> Iterable[dict[str, Any]]:
    of_job = Counter(one.job for one in pods)
    seen: Counter[str] = Counter()
    for one in pods:
        seen[one.job] += 1
        name = one.job if of_job[one.job] == 1 else f"{one.job}.{seen[one.job]}"
        yield _template(one, name, quarter)


def _template(pods: Pods, name: str, quarter: str) -> dict[str, Any]:
    need = pods.need
    host = {"cpu": str(need.cpus), "memory": f"{need.memory_mb}M"}
    gpus = {need.resource: str(need.amount)}
    asked = {key: amount for key, amount in host.items() if amount.rstrip("M") != "0"} | gpus
    node_type, site = pods.pool
    return {
        "apiVersion": "v1",
        "kind": "PodTemplate",
        "metadata": {
            "name": name,
            "labels": {f"{LABELS}/job": pods.job},
            "annotations": {
                f"{LABELS}/quarter": quarter,
                f"{LABELS}/pods": str(pods.count),
                f"{LABELS}/weeks": f"{pods.weeks[0]}-{pods.weeks[-1]}",
            },
        },
        "template": {
            "spec": {
                "nodeSelector": {NODE_TYPE_LABEL: node_type, SITE_LABEL: site},
                "containers": [{"name": "main", "resources": {"requests": asked, "limits": gpus}}],
            }
        },
    }
