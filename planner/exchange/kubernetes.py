"""The resources that each job of a plan asks of a cluster, as pod templates."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import yaml

from planner.exchange.needs import (
    LABELS,
    NODE_TYPE_LABEL,
    SITE_LABEL,
    Pods,
    as_stated,
    cluster_names,
    pods_of,
    refuse_shares,
    renamed,
)
from planner.inputs.scenario.quarter import RUN_HOURS, Quarter
from planner.planning.plan import Plan

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
