"""Sentences about a job's specification."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.inputs.rules.expression import figure_text

if TYPE_CHECKING:
    from planner.inputs.rules.expression import Exact
    from planner.inputs.scenario.job import Fixed, Job, Serve, Tune

__all__ = ["summary"]

_METHODS = {
    "full": "full fine-tuning",
    "lora": "LoRA tuning",
    "qlora": "QLoRA tuning",
    "p-tuning": "p-tuning",
}


_STATED = {
    "micro_batch": "micro-batch {}",
    "gradient_accumulation": "gradient accumulation {}",
    "gradient_checkpointing": "checkpointing {}",
    "attention_kernel": "{} attention",
    "loss_kernel": "{} loss",
    "layer_kernels": "{} layer kernels",
    "sharding": "sharding {}",
    "offload": "offload {}",
}
"""How a run is described further, as far as the job says so."""


def summary(job: Job, weight_bits: Exact | None = None) -> str:
    """One readable line: `LoRA tuning of llama-3.1-8b, sequence 4,096, batch 8`.

    `weight_bits` is the width that is served, where the job leaves it to the model.
    """
    if job.tune is not None:
        return _tune(job.tune)
    if job.serve is not None:
        return _serve(job.serve, weight_bits or job.serve.bits)
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
    parts += [told.format(getattr(tune, key)) for key, told in _STATED.items() if _says(tune, key)]
    return ", ".join(parts)


def _says(tune: Tune, key: str) -> bool:
    return key in tune.model_fields_set and getattr(tune, key) is not None


def _serve(serve: Serve, weight_bits: Exact) -> str:
    text = f"serving of {_subject(serve)} at {figure_text(weight_bits)} bit"
    if serve.adapters is not None:
        count, size = serve.adapters.count, format(serve.adapters.size_gb, ".3g")
        text += f" with {count} adapter{'s' if count > 1 else ''} of {size} GB"
    if serve.context is not None and serve.concurrency is not None:
        text += f", {serve.concurrency:,} × {serve.context:,} tokens"
    if serve.load is not None:
        text += f", {figure_text(serve.load.requests_per_second)} requests a second"
    return text


def _fixed(fixed: Fixed) -> str:
    if fixed.gpus is not None:
        need = f"{fixed.gpus} GPU{'s' if fixed.gpus > 1 else ''}"
    else:
        need = f"{figure_text(fixed.gpu_memory_gb or 0)} GB of GPU memory"
    return f"fixed need of {need}, {fixed.cpus} CPUs, {figure_text(fixed.memory_gb)} GB host memory"


def _subject(about: Tune | Serve) -> str:
    return about.model or f"{figure_text(about.parameters_b or 0)} B parameters"
