"""Sentences about a job's specification."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.inputs.expression import figure_text

if TYPE_CHECKING:
    from planner.inputs.job import Fixed, Job, Serve, Tune

__all__ = ["summary"]

_METHODS = {
    "full": "full fine-tuning",
    "lora": "LoRA tuning",
    "qlora": "QLoRA tuning",
    "p-tuning": "p-tuning",
}


def summary(job: Job) -> str:
    """One readable line: `LoRA tuning of llama-3.1-8b, sequence 4,096, batch 8`."""
    if job.tune is not None:
        return _tune(job.tune)
    if job.serve is not None:
        return _serve(job.serve)
    return _fixed(job.fixed) if job.fixed is not None else ""


def _tune(tune: Tune) -> str:
    parts = [f"{_METHODS[tune.method]} of {_subject(tune)}"]
    if tune.base_bits is not None:
        parts.append(f"base at {tune.base_bits} bit")
    if tune.precision != "bf16":
        parts.append(tune.precision)
    if tune.optimizer != "adamw":
        parts.append(tune.optimizer)
    if tune.sequence is not None:
        parts.append(f"sequence {tune.sequence:,}")
    if tune.batch is not None:
        parts.append(f"batch {tune.batch:,}")
    return ", ".join(parts)


def _serve(serve: Serve) -> str:
    text = f"serving of {_subject(serve)} at {serve.bits} bit"
    if serve.adapters is None:
        return text
    count, size = serve.adapters.count, format(serve.adapters.size_gb, ".3g")
    return f"{text} with {count} adapter{'s' if count > 1 else ''} of {size} GB"


def _fixed(fixed: Fixed) -> str:
    if fixed.gpus is not None:
        need = f"{fixed.gpus} GPU{'s' if fixed.gpus > 1 else ''}"
    else:
        need = f"{figure_text(fixed.gpu_memory_gb or 0)} GB of GPU memory"
    return f"fixed need of {need}, {fixed.cpus} CPUs, {figure_text(fixed.memory_gb)} GB host memory"


def _subject(about: Tune | Serve) -> str:
    return about.model or f"{figure_text(about.parameters_b or 0)} B parameters"
