"""Sizing: one job that was never seen before, on every GPU type of the catalog."""

from __future__ import annotations

import gc
import time
from statistics import median
from typing import TYPE_CHECKING, Any

from benchmarks.table import Row
from planner.cli import OBJECTS_BETWEEN_SCANS
from planner.inputs.load import load_catalog, load_rules
from planner.inputs.scenario.job import Job
from planner.inputs.scenario.scenario import Policies
from planner.inputs.settled import settled_settings
from planner.sizing import Sizer

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["one_job"]

_JOBS: dict[str, tuple[str, dict[str, Any]]] = {
    "LoRA of llama-3.1-70b": ("tune", {"model": "llama-3.1-70b", "method": "lora", "batch": 8}),
    "full tuning of llama-3.1-8b": ("tune", {"model": "llama-3.1-8b", "method": "full"}),
    "QLoRA of llama-3.1-70b": ("tune", {"model": "llama-3.1-70b", "method": "qlora", "batch": 8}),
    "serving llama-3.1-70b": ("serve", {"model": "llama-3.1-70b", "concurrency": 32}),
    "serving mixtral-8x7b": ("serve", {"model": "mixtral-8x7b", "concurrency": 32}),
    "serving llama-3.1-70b by traffic and latency": (
        "serve",
        {
            "model": "llama-3.1-70b",
            "load": {"requests_per_second": 4, "input_tokens": 1200, "output_tokens": 350},
            "latency": {"ttft_ms": 1000, "tpot_ms": 40},
        },
    ),
}
_LENGTH = {"tune": "sequence", "serve": "context"}
_REPEATS = 21
_MOST_MS, _MOST_MS_BY_LOAD = 5.0, 25.0


def one_job() -> Iterator[Row]:
    """Size each sort of job at lengths of its own, so that nothing is known from before."""
    catalog, book = load_catalog(())[0], load_rules(())[0]
    policies = Policies()
    sizer = Sizer(catalog, book, settled_settings(book, policies), policies)
    gc.set_threshold(OBJECTS_BETWEEN_SCANS)  # as the commands do
    for what, (kind, said) in _JOBS.items():
        stated = {"batch": 1, "dataset_tokens": 50_000_000} if kind == "tune" else {}
        taken_ms = []
        for length in range(2000, 2000 + _REPEATS + 1):
            job = Job.model_validate({kind: {**stated, **said, _LENGTH[kind]: length}})
            started = time.process_time()
            sizer.size(job)
            taken_ms.append((time.process_time() - started) * 1000)
        usual, most = median(taken_ms[1:]), _MOST_MS_BY_LOAD if "load" in said else _MOST_MS
        yield Row(
            f"{what}, {len(catalog.gpus)} GPU types",
            f"{usual:.1f} ms",
            f"≤ {most:g} ms",
            usual <= most,
        )
