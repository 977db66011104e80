"""Writes a scenario of any number of jobs, drawn from some 80 specifications by a seed."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["write_scenario"]

_MODELS = (
    "llama-3.2-3b",
    "mistral-7b-v0.3",
    "llama-3.1-8b",
    "gemma-2-9b",
    "qwen2.5-14b",
    "gemma-3-27b",
    "qwen2.5-32b",
    "llama-3.1-70b",
    "qwen2.5-72b",
)
_OFFERS = (
    "xe9680-a100",
    "xe9680-h100",
    "xe9680-h200",
    "xe7740-l40s",
)
_SITES = ("east", "west")


def write_scenario(path: Path, jobs: int, quarters: int = 1) -> None:
    """Write a scenario file; offers are unlimited and priced by the shipped book."""
    rng = random.Random(f"scenario-{jobs}-0")
    specifications = _specifications(rng)
    weights = [1 / (rank + 1) for rank in range(len(specifications))]
    drawn = rng.choices(specifications, weights, k=jobs)
    lines = [
        "format: 1",
        f"name: {jobs} jobs drawn from {len(specifications)} specifications",
        f"horizon: {{first_quarter: 2027Q1, quarters: {quarters}, as_of: 2026-06-01}}",
        "offers:",
        *(f"  buy-{node}: {{node_type: {node}, kind: buy}}" for node in _OFFERS),
        "jobs:",
        *(f"  job-{number:05d}: {text}" for number, text in enumerate(drawn)),
    ]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _specifications(rng: random.Random) -> list[str]:
    """Flow mappings, the most common first."""
    found = [
        f"{{serve: {{model: {model}, bits: {bits}}}}}" for model in _MODELS for bits in (16, 8, 4)
    ]
    found += [
        f"{{serve: {{model: {model}, adapters: {{count: {count}, size_gb: 0.125}}}}}}"
        for model in _MODELS[:6]
        for count in (2, 8)
    ]
    found += [
        f"{{tune: {{model: {model}, method: {method}, sequence: {sequence}, batch: {batch}}}}}"
        for model in _MODELS
        for method, sequence, batch in (("lora", 1024, 32), ("lora", 4096, 8), ("qlora", 2048, 8))
    ]
    found += [
        f"{{fixed: {{gpus: {gpus}, cpus: {cpus * gpus}, memory_gb: {memory_gb * gpus}}}}}"
        for gpus in (1, 2, 4)
        for cpus, memory_gb in ((6, 48), (10, 96), (14, 220), (4, 300), (21, 120))
    ]
    rng.shuffle(found)
    return found
