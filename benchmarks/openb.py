"""Reads a GPU cluster in production as a portfolio: its node types, and what was submitted to it.

The files are `openb_node_list_gpu_node.csv` and `openb_pod_list_*.csv` in
`cluster-trace-gpu-v2023/csv` of https://github.com/alibaba/clusterdata. A line of a node list is
`sn,cpu_milli,memory_mib,gpu,model`; of a pod list, as far as it is read here,
`name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec`: thousandths of cores and of one GPU, MiB,
and where only some GPU types will do, their names with bars between them.

All pods are placed at once, as the trace's own simulator does. Nodes have no prices there: these
are synthetic, by GPU, core and memory.
"""

from __future__ import annotations

import csv
from collections import Counter
from typing import TYPE_CHECKING

from planner.packing.problem import WHOLE, JobClass, Mode, Part, Pool, Problem, Shape, Supply

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["read_openb"]

_MILLI = 1000
_GPU_CENTS = {
    "P100": 400_000,
    "T4": 220_000,
    "V100M16": 800_000,
    "V100M32": 1_000_000,
    "A10": 350_000,
    "G1": 500_000,
    "G2": 600_000,
    "G3": 1_400_000,
}
_HOST = ("cpu_milli", "memory_mib")
_CORE_CENTS, _GIB_CENTS, _NODE_CENTS = 6_000, 700, 250_000


def read_openb(nodes: Path, pods: Path, *, first: int | None = None, shares: bool) -> Problem:
    """Pods that ask for GPUs, of the first lines or of all: with shares of GPUs or without.

    Pods that no node holds are left out. Raises ValueError with the place of a mistake.
    """
    kinds = sorted(
        {
            (row["model"], node)
            for line, row in _rows(nodes, ("model", "gpu", *_HOST))
            if (node := _shape(nodes, line, row, "gpu")).gpus
        }
    )
    pools = tuple(
        Pool(f"{model}-{number}", "main", model, node, 0, 0, False, shared_mb=_MILLI)
        for number, (model, node) in enumerate(kinds)
    )
    asked = Counter(
        (pod, row.get("gpu_spec") or "")
        for line, row in _rows(pods, ("num_gpu", "gpu_milli", *_HOST))
        if (first is None or line <= first + 1)
        and (pod := _pod(pods, line, row)).gpus
        and (shares or pod.part == WHOLE)
    )
    classes = tuple(
        JobClass(modes, (0,), count)
        for (pod, models), count in sorted(asked.items())
        if (modes := _modes(pools, pod, models))
    )
    supplies = tuple(
        Supply(pool.name, "buy", number, None, (_price(nodes, pool),))
        for number, pool in enumerate(pools)
    )
    return Problem(1, pools, supplies, classes, 0)


def _pod(path: Path, line: int, row: dict[str, str]) -> Shape:
    pod = _shape(path, line, row, "num_gpu")
    milli = _whole(path, line, row, "gpu_milli")
    if not pod.gpus or milli == _MILLI:
        return pod
    if pod.gpus > 1 or not 0 < milli < _MILLI:
        raise ValueError(
            f"{path.name}, line {line}: {milli} thousandths of {pod.gpus} GPUs; shares are of one"
        )
    return pod._replace(part=Part("", milli))


def _shape(path: Path, line: int, row: dict[str, str], gpus: str) -> Shape:
    cpus, memory = (_whole(path, line, row, name) for name in _HOST)
    return Shape(_whole(path, line, row, gpus), cpus, memory)


def _modes(pools: tuple[Pool, ...], pod: Shape, models: str) -> tuple[Mode, ...]:
    hosts = {pool.gpu_type for pool in pools if pool.nodes_taken(pod) is not None}
    allowed = hosts & set(models.split("|")) if models else hosts
    return tuple(Mode(model, pod) for model in sorted(allowed))


def _price(path: Path, pool: Pool) -> int:
    if pool.gpu_type not in _GPU_CENTS:
        raise ValueError(f"{path.name}: GPU model {pool.gpu_type}, for which no price is known")
    return (
        _NODE_CENTS
        + pool.node.gpus * _GPU_CENTS[pool.gpu_type]
        + pool.node.cpus * _CORE_CENTS // _MILLI
        + pool.node.memory_mb * _GIB_CENTS // 1024
    )


def _rows(path: Path, columns: tuple[str, ...]) -> list[tuple[int, dict[str, str]]]:
    """Lines of a table, numbered as an editor does; the header is the first."""
    with path.open(encoding="utf-8", newline="") as file:
        table = csv.DictReader(file)
        missing = [name for name in columns if name not in (table.fieldnames or ())]
        if missing:
            raise ValueError(f"{path.name}: no column {', '.join(missing)}")
        return list(enumerate(table, 2))


def _whole(path: Path, line: int, row: dict[str, str], column: str) -> int:
    text = row[column] or ""
    if not text.isdecimal():
        raise ValueError(f"{path.name}, line {line}: {column} is no whole number: {text!r}")
    return int(text)
