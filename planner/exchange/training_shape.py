"""What of a tuning job can be measured on one GPU, and its model in Hugging Face's words."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from planner.errors import Finding, InputError
from planner.inputs.catalog.catalog import Model
from planner.inputs.scenario.job import Job

_MEASURED: Final[Mapping[str, tuple[object, ...]]] = {
    "method": ("full", "lora", "qlora"),
    "objective": ("sft",),
    "optimizer": (
        *("adamw", "adamw-fused", "sgd"),
        *("adamw-8bit", "paged-adamw-8bit", "paged-adamw-32bit"),
    ),
    "optimizer_in_backward": (False,),
    "gradient_checkpointing": ("on", "off"),
    "attention_kernel": ("flash", "sdpa", "eager"),
    "loss_kernel": ("plain",),
    "layer_kernels": ("plain",),
    "packing": (True,),
    "sharding": ("none", "fsdp", "fsdp2"),
    "loading": ("sharded",),
    "offload": ("none",),
    "embeddings_trained": (False,),
    "base_bits": (None, 4, 16),
    "precision": (None, "bf16", "bf16-mixed", "fp16", "fp16-mixed", "fp32"),
    "gpus": (None, 1),
}
"""What plain PyTorch, transformers and PEFT do on one GPU."""


def not_measured(job: Job) -> Iterator[Finding]:
    """What the job has that is not measured here, and what it lacks."""
    tune = job.tune
    if tune is None:
        yield Finding("only tuning jobs are measured", hint="describe one with `tune`")
        return
    for key, words in _MEASURED.items():
        value = getattr(tune, key)
        if value not in words:
            told = ", ".join("left out" if word is None else f"{word}".lower() for word in words)
            yield Finding(
                f"{str(value).lower()!r} is not measured here, on one GPU without other packages",
                path=f"tune.{key}",
                hint=f"measured is: {told}",
            )
    for key in ("batch", "sequence"):
        if getattr(tune, key) is None:
            yield Finding("is needed to measure", path=f"tune.{key}")
    if tune.model is None:
        yield Finding("a size alone cannot be measured", path="tune.model", hint="name a model")


def configuration(file: Path | None, model: Model) -> dict[str, Any]:
    """The configuration in a file that was read before, or that of a dense decoder of the catalog.

    Raises InputError of an encoder, and where the catalog does not hold enough of a model to build.
    """
    if model.encoder:
        hint = "its needs are computed: `planner size`"
        raise InputError(Finding("only models that write text are measured", hint=hint))
    if file is not None:
        path = file / "config.json" if file.is_dir() else file
        read: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        decoder: dict[str, Any] = read.get("text_config", read)
        return decoder
    dense = model.experts is None and model.attention == "gqa" and not model.sliding_layers
    if not dense or not model.gated_mlp or model.intermediate is None:
        message = f"the catalog does not hold all that {model.name} is built of"
        raise InputError(Finding(message, hint="give its config.json: `--config PATH`"))
    return {
        "model_type": "llama",
        "hidden_size": model.hidden,
        "intermediate_size": model.intermediate,
        "num_hidden_layers": model.layers,
        "num_attention_heads": model.heads,
        "num_key_value_heads": model.kv_heads,
        "head_dim": model.head_dim,
        "vocab_size": model.vocab,
        "tie_word_embeddings": bool(model.tied_embeddings),
        "max_position_embeddings": model.max_context,
    }
