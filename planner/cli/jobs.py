"""A job described by options, in the words of a scenario."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import click

from planner.errors import Finding, InputError
from planner.inputs.text.scalars import ScalarError, plain_value

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


__all__ = ["described_job", "flag", "job_options", "option_of", "plain"]


class _Option(NamedTuple):
    """An option and the key of `tune:` or `serve:` that it fills; empty where it fills none."""

    name: str
    tune: str
    serve: str
    metavar: str
    help: str


_OPTIONS = (
    _Option("model", "model", "model", "ID", "Model of the catalog, such as `llama-3.1-8b`."),
    _Option("parameters_b", "parameters_b", "parameters_b", "NUMBER", "Or its size, in billions."),
    _Option("family", "family", "family", "NAME", "With a bare size: whose shape it has."),
    _Option("method", "method", "", "full|lora|qlora|p-tuning", "Tune it by this method."),
    _Option("batch", "batch", "", "NUMBER", "Tuning: sequences per optimizer step."),
    _Option("sequence", "sequence", "", "TOKENS", "Tuning: maximum sequence length."),
    _Option("micro_batch", "micro_batch", "", "NUMBER", "Tuning: sequences per GPU and pass."),
    _Option(
        "gradient_accumulation", "gradient_accumulation", "", "NUMBER", "Tuning: passes per step."
    ),
    _Option("precision", "precision", "", "bf16|bf16-mixed|…", "Tuning: number format."),
    _Option("optimizer", "optimizer", "", "adamw|adamw-8bit|…", "Tuning: optimizer."),
    _Option(
        "gradient_checkpointing",
        "gradient_checkpointing",
        "",
        "on|off|selective",
        "Tuning: compute activations again rather than keep them.",
    ),
    _Option("attention_kernel", "attention_kernel", "", "flash|sdpa|eager", "Tuning: attention."),
    _Option(
        "loss_kernel",
        "loss_kernel",
        "",
        "plain|plain-fp32-logits|fused|fused-linear",
        "Tuning: loss.",
    ),
    _Option("layer_kernels", "layer_kernels", "", "plain|fused", "Tuning: norms and gates."),
    _Option("packing", "packing", "", "true|false", "Tuning: whether all samples are full."),
    _Option("sharding", "sharding", "", "fsdp|zero-3|ddp|…", "Tuning: how GPUs share the work."),
    _Option("offload", "offload", "", "none|optimizer|all", "Tuning: what the host holds."),
    _Option("base_bits", "base_bits", "", "16|8|4", "Tuning: weight width of the frozen base."),
    _Option(
        "double_quantization",
        "double_quantization",
        "",
        "true|false",
        "QLoRA: whether the scales are quantized, too.",
    ),
    _Option("rank", "adapter_rank", "", "NUMBER", "Tuning: rank of the adapter."),
    _Option(
        "adapter_targets", "adapter_targets", "", "qv|attention|all-linear", "Tuning: its matrices."
    ),
    _Option(
        "adapter_precision", "adapter_precision", "", "bf16|fp32", "Tuning: its number format."
    ),
    _Option("adapter_dropout", "adapter_dropout", "", "true|false", "Tuning: inputs dropped out."),
    _Option("adapter_units", "adapter_units", "", "own|shared", "Tuning: its units under FSDP."),
    _Option("dataset_tokens", "dataset_tokens", "", "NUMBER", "Tuning: tokens in one epoch."),
    _Option("epochs", "epochs", "", "NUMBER", "Tuning: passes over the dataset."),
    _Option("deadline_hours", "deadline_hours", "", "HOURS", "Tuning: hours that a run may take."),
    _Option("bits", "", "bits", "16|8|4", "Serving: weight width."),
    _Option("context", "", "context", "TOKENS", "Serving: tokens that one request may hold."),
    _Option("concurrency", "", "concurrency", "NUMBER", "Serving: requests at once."),
    _Option("kv_bits", "", "kv_bits", "16|8", "Serving: width of cached keys and values."),
    _Option("adapters", "", "adapters.count", "NUMBER", "Serving: adapters beside the model."),
    _Option("adapter_gb", "", "adapters.size_gb", "GB", "Serving: size of one adapter."),
    _Option(
        "requests_per_second",
        "",
        "load.requests_per_second",
        "NUMBER",
        "Serving: requests that arrive; the replicas follow.",
    ),
    _Option("input_tokens", "", "load.input_tokens", "TOKENS", "Serving: tokens of one request."),
    _Option("output_tokens", "", "load.output_tokens", "TOKENS", "Serving: tokens of an answer."),
    _Option(
        "cached_input", "", "load.cached_input", "SHARE", "Serving: share of prompts in the cache."
    ),
    _Option(
        "arrivals_cv", "", "load.arrivals_cv", "NUMBER", "Serving: 1 is Poisson, more is bursts."
    ),
    _Option("ttft_ms", "", "latency.ttft_ms", "MS", "Serving: time to the first token."),
    _Option("tpot_ms", "", "latency.tpot_ms", "MS", "Serving: time per further token."),
    _Option("e2e_ms", "", "latency.e2e_ms", "MS", "Serving: time to the end of an answer."),
    _Option(
        "percentile", "", "latency.percentile", "50|90|95|99", "Serving: of these three times."
    ),
    _Option("gpus_per_replica", "", "gpus_per_replica", "NUMBER", "Serving: GPUs of each replica."),
)


def job_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add every option that describes a job, and `--serve`."""
    for option in reversed(_OPTIONS):
        command = click.option(flag(option.name), metavar=option.metavar, help=option.help)(command)
        if option.name == "bits":
            command = click.option("--serve", is_flag=True, help="Or serve it.")(command)
    return command


def described_job(given: Mapping[str, Any]) -> dict[str, Any]:
    """What a scenario would say of the job that the options describe; raises InputError."""
    if (given["method"] is None) == (not given["serve"]):
        raise InputError(
            Finding(
                "say what to do with the model",
                hint="give either `--method` to tune it or `--serve` to serve it",
            )
        )
    named = [name for name in ("model", "parameters_b", "family") if given[name] is not None]
    if given["config"] is None and not {"model", "parameters_b"} & set(named):
        hint = "give `--model ID`, `--config PATH` or `--parameters-b NUMBER`"
        raise InputError(Finding("say which model", hint=hint))
    if given["config"] is not None and named:
        message = f"the model is given twice, by --config and by {flag(named[0])}"
        hint = "leave one of them out"
        raise InputError(Finding(message, path=flag(named[0]), hint=hint))
    kind = "serve" if given["serve"] else "tune"
    keys = {option.name: option.serve if given["serve"] else option.tune for option in _OPTIONS}
    _require_fitting(given, kind, keys)
    values: dict[str, Any] = {}
    for name, key in keys.items():
        if given[name] is not None:
            _put(values, key, plain(name, given[name]))
    types = {"gpu_types": tuple(given["gpu_type"])} if given["gpu_type"] else {}
    return {kind: values, **types}


def option_of(path: str, *, serves: bool) -> str:
    """The option that fills a place in a job, such as `--rank` for `tune.adapter_rank`."""
    kind = "serve" if serves else "tune"
    names = {kind: "", "gpu_types": "--gpu-type"}
    for option in _OPTIONS:
        key = option.serve if serves else option.tune
        names[f"{kind}.{key}"] = flag(option.name)
        names.setdefault(f"{kind}.{key.partition('.')[0]}", flag(option.name))
    return names.get(path, path)


def plain(name: str, text: str) -> object:
    """Read a value as a scenario would; raises InputError that names the option."""
    try:
        return plain_value(text)
    except ScalarError as error:
        raise InputError(Finding(str(error), path=flag(name))) from None


def flag(name: str) -> str:
    """How an option is written on the command line."""
    return f"--{name.replace('_', '-')}"


def _require_fitting(given: Mapping[str, Any], kind: str, keys: Mapping[str, str]) -> None:
    foreign = [name for name, key in keys.items() if not key and given[name] is not None]
    if foreign:
        other = "`--method`" if kind == "serve" else "`--serve`"
        raise InputError(*(Finding(f"goes with {other} only", path=flag(name)) for name in foreign))


def _put(values: dict[str, Any], key: str, value: object) -> None:
    outer, dot, inner = key.partition(".")
    if dot:
        values.setdefault(outer, {})[inner] = value
    else:
        values[outer] = value
