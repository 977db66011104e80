"""Custom hardware specifications of watsonx for the jobs of a plan.

The body of `POST /v2/hardware_specifications`; the service does not hold it against the installed
hardware, the plan has. Source: IBM, "Creating customized hardware specifications" for PEFT models.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Sequence

from planner.exchange.needs import Need, Pods, pods_of, refuse_shares
from planner.inputs.text.scalars import csv_text
from planner.inputs.text.words import count_of
from planner.planning.plan import Plan

USED_BY = "used-by.csv"
_GIB, _MB = 2**30, 10**6
_HEADS = ("specification", "job", "team", "pods", "node_type", "site", "gpu_type", "partition")

_Size = tuple[int, int, int, str]
"""GPUs, cores, GiB of host memory, partition."""


def watsonx_files(plan: Plan, quarter: str) -> dict[str, str]:
    """One body for each distinct need of tuning and serving jobs, and a table of who uses which.

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
