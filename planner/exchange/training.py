"""Measures some optimizer steps of a tuning job on the GPU at hand: memory and time.

It also says what of a job can be measured in this way, and gives its model in Hugging Face's
words. Only this module knows PyTorch. Weights are random: neither peak nor speed depends on
them.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any, Final, Literal

from planner.errors import Finding, InputError
from planner.inputs.catalog.catalog import Model
from planner.inputs.scenario.job import Job, Tune

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
    "expert_kernels": ("plain",),
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
    """Say what the job has that is not measured here, and what it lacks."""
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
    """Return the configuration that was read from a file, or that of a dense catalog decoder.

    Raises InputError for an encoder, and if the catalog does not know enough of a model to build
    it.
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


_TARGETS: Final[Mapping[str, str | list[str]]] = {
    "qv": ["q_proj", "v_proj"],
    "attention": ["q_proj", "k_proj", "v_proj", "o_proj"],
    "mlp": ["gate_proj", "up_proj", "down_proj"],
    "all-linear": "all-linear",
}
_DROPOUT: Final = 0.05
_SPREAD: Final = 0.02
"""The standard deviation of random weights."""


@dataclass(frozen=True, slots=True)
class TrainingRun:
    """What was observed."""

    gpu: str
    """The product, as its driver calls it; empty on a CPU."""
    framework: str
    """The packages that trained, with versions."""
    allocated_bytes: int | None
    """The allocator's peak; None if the run did not fit, and on a CPU."""
    seconds_per_step: float | None
    """The median of all steps but the first; None if the run did not fit."""


def observe(
    config: Mapping[str, Any],
    tune: Tune,
    rank: int,
    steps: int,
    *,
    device: Literal["cuda", "cpu"] = "cuda",
) -> TrainingRun:
    """Take `steps` optimizer steps, and one before them, of a model of this configuration.

    `config` is a Hugging Face configuration, `rank` that of an adapter. Raises InputError if
    packages or a GPU are missing, or if they do not know the configuration.
    """
    try:
        import peft  # noqa: PLC0415 - an extra
        import torch  # noqa: PLC0415
        import transformers  # noqa: PLC0415

        if tune.method == "qlora" or "8bit" in tune.optimizer or "paged" in tune.optimizer:
            import bitsandbytes  # noqa: F401, PLC0415
    except ImportError as missing:
        hint = "install it with `pip install 'gpu-fit-planner[measure]'`"
        message = f"`planner measure` needs the package `{missing.name}`, which is not installed"
        raise InputError(Finding(message, hint=hint)) from None
    if device == "cuda" and not torch.cuda.is_available():
        hint = "run it on the machine whose GPU is to be measured; `nvidia-smi` must show one"
        raise InputError(Finding("PyTorch finds no GPU here to measure on", hint=hint))
    packages = (torch, transformers) if tune.method == "full" else (torch, transformers, peft)
    versions = ", ".join(f"{one.__name__} {one.__version__}" for one in packages)
    gpu = torch.cuda.get_device_name() if device == "cuda" else ""
    try:
        model = _model(config, tune, rank, device)
        return TrainingRun(gpu, versions, *_train(model, tune, steps, device))
    except torch.OutOfMemoryError:
        return TrainingRun(gpu, versions, None, None)


def _model(config: Mapping[str, Any], tune: Tune, rank: int, device: str) -> Any:  # noqa: ANN401
    import torch  # noqa: PLC0415
    from peft import (  # noqa: PLC0415
        LoraConfig,
        get_peft_model,
        prepare_model_for_kbit_training,
    )
    from transformers import AutoConfig, AutoModelForCausalLM  # noqa: PLC0415

    kinds = {"bf16": torch.bfloat16, "fp16": torch.float16, "fp32": torch.float32}
    narrow = tune.method != "full" or tune.precision in ("bf16", "fp16")
    kind = kinds[str(tune.precision or "bf16").removesuffix("-mixed")] if narrow else torch.float32
    longest = max(int(config.get("max_position_embeddings") or 0), int(tune.sequence or 0))
    stated = {**config, "max_position_embeddings": longest, "use_cache": False}
    try:
        settings = AutoConfig.for_model(**stated)
    except (KeyError, ValueError, TypeError) as error:
        told, _, _ = str(error).partition(". ")
        raise InputError(Finding(f"transformers refuses the configuration: {told}")) from None
    attention = "eager" if tune.attention_kernel == "eager" else "sdpa"
    with torch.device("meta"):
        model = AutoModelForCausalLM.from_config(
            settings, dtype=kind, attn_implementation=attention
        )
    if tune.method == "qlora":
        _quantize(model, tune, device)
    _materialize(model, device)
    checkpointing = tune.gradient_checkpointing == "on"
    if tune.method == "qlora" and tune.precision != "bf16":
        model = prepare_model_for_kbit_training(model, use_gradient_checkpointing=checkpointing)
    if checkpointing:
        model.gradient_checkpointing_enable({"use_reentrant": False})
        model.enable_input_require_grads()
    if tune.method == "full":
        return model.train()
    adapter = LoraConfig(
        r=rank,
        target_modules=_TARGETS[tune.adapter_targets],
        lora_dropout=_DROPOUT if tune.adapter_dropout else 0,
        use_dora=tune.adapter_dora,
        task_type="CAUSAL_LM",
    )
    wide = tune.adapter_precision != "bf16"
    return get_peft_model(model, adapter, autocast_adapter_dtype=wide).train()


def _quantize(model: Any, tune: Tune, device: str) -> None:  # noqa: ANN401
    """Replace matrices by quantized ones, each filled as soon as it exists."""
    import bitsandbytes as bnb  # noqa: PLC0415
    import torch  # noqa: PLC0415

    head = model.get_output_embeddings()
    places = [
        (module, name, child)
        for module in model.modules()
        for name, child in module.named_children()
        if isinstance(child, torch.nn.Linear) and child is not head
    ]
    how = {"compress_statistics": tune.double_quantization, "quant_type": "nf4"}
    for module, name, linear in places:
        kind, shape = linear.weight.dtype, linear.weight.shape
        sizes = (linear.in_features, linear.out_features, linear.bias is not None)
        made = bnb.nn.Linear4bit(*sizes, compute_dtype=kind, device="meta", **how)
        filled = torch.randn(shape, dtype=kind) * _SPREAD
        weight = bnb.nn.Params4bit(filled, requires_grad=False, module=made, **how)
        made.weight = weight.to(device)
        setattr(module, name, made)
    model.is_loaded_in_4bit = True


def _materialize(model: Any, device: str) -> None:  # noqa: ANN401
    """Fill what is still without memory; tied weights stay one."""
    import torch  # noqa: PLC0415

    made: dict[int, Any] = {}
    for module in model.modules():
        for name, weight in list(module.named_parameters(recurse=False)):
            if weight.is_meta:
                if id(weight) not in made:
                    filled = torch.empty(weight.shape, dtype=weight.dtype, device=device)
                    made[id(weight)] = torch.nn.Parameter(filled.normal_(std=_SPREAD))
                setattr(module, name, made[id(weight)])
        for name, buffer in list(module.named_buffers(recurse=False)):
            if buffer.is_meta:
                setattr(module, name, torch.ones(buffer.shape, dtype=buffer.dtype, device=device))


def _train(
    model: Any,  # noqa: ANN401
    tune: Tune,
    steps: int,
    device: str,
) -> tuple[int | None, float]:
    """Return the peak bytes and median seconds of a step."""
    import torch  # noqa: PLC0415

    trained = [one for one in model.parameters() if one.requires_grad]
    fused = tune.optimizer == "adamw-fused"
    if fused or tune.optimizer == "adamw":
        optimizer = torch.optim.AdamW(trained, fused=fused or None, foreach=None if fused else True)
    elif tune.optimizer == "sgd":
        optimizer = torch.optim.SGD(trained, lr=1e-4, momentum=0.9)
    else:
        import bitsandbytes as bnb  # noqa: PLC0415

        kinds = {
            "adamw-8bit": bnb.optim.AdamW8bit,
            "paged-adamw-8bit": bnb.optim.PagedAdamW8bit,
            "paged-adamw-32bit": bnb.optim.PagedAdamW32bit,
        }
        optimizer = kinds[tune.optimizer](trained)
    batch, passes = int(tune.batch or 1), int(tune.gradient_accumulation)
    vocabulary = model.get_input_embeddings().weight.shape[0]
    shape = (batch // passes, int(tune.sequence or 1))
    mixed = tune.precision in ("bf16-mixed", "fp16-mixed") or tune.method != "full"
    kind = torch.float16 if str(tune.precision).startswith("fp16") else torch.bfloat16
    settle: Callable[[], None] = torch.cuda.synchronize if device == "cuda" else lambda: None

    def timed() -> Iterator[float]:
        for _ in range(steps + 1):
            settle()
            started = time.perf_counter()
            for _ in range(passes):
                tokens = torch.randint(vocabulary, shape, device=device)
                with torch.autocast(device, kind, enabled=mixed):
                    loss = model(input_ids=tokens, labels=tokens).loss
                loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            settle()
            yield time.perf_counter() - started

    if device == "cuda":
        torch.cuda.reset_peak_memory_stats()
    seconds = median(list(timed())[1:])
    return (torch.cuda.max_memory_allocated() if device == "cuda" else None), seconds
