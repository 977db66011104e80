"""What is known of a job, its model and a GPU type before any rule has spoken, and in one line."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from decimal import Decimal
from fractions import Fraction

from planner.errors import Finding, InputError
from planner.inputs.base import AsFact, Frozen
from planner.inputs.catalog.catalog import Catalog, Model
from planner.inputs.rules.book import RuleBook
from planner.inputs.rules.expression import Exact, exact, figure_text
from planner.inputs.rules.facts import FACTS
from planner.inputs.scenario.horizon import Run
from planner.inputs.scenario.job import Fixed, Job, Serve, Tune
from planner.inputs.settled import Settings
from planner.inputs.text import count_of, did_you_mean
from planner.sizing.engine import ASSUMED, Known

Plain = Decimal | int | str | bool | None

_DIVIDED = {
    "gpu_bf16_tflops": "whole_gpu_bf16_tflops",
    "gpu_bandwidth_gb_per_s": "whole_gpu_bandwidth_gb_per_s",
}
"""Facts of a GPU that its partitions share, and what they are called there."""

_PERCENTILE = 95
"""The percentile of latency that is reported if none is asked for."""

_ENGINE = "vllm"
"""The engine that serves if none is stated."""

GPU_FACTS = frozenset(name for name, fact in FACTS.items() if fact.origin == "gpu")


def job_facts(job: Job, catalog: Catalog) -> dict[str, Known]:
    """Return what a job states and what the catalog knows of its model.

    Raises InputError if the model is unknown.
    """
    left, tune, serve, fixed = left_open(job), job.tune, job.serve, job.fixed
    facts = {}
    if tune is not None:
        facts = _tuning_facts(tune)
    elif serve is not None:
        facts = _serving_facts(serve)
    elif fixed is not None:
        stated = {"kind": "fixed", "stated_gpus": fixed.gpus, "gpu_partitioned": False}
        facts = _known(_stated(fixed) | stated, "job")
    facts |= {name: facts[name]._replace(origin=ASSUMED) for name in left & facts.keys()}
    about = tune or serve
    if about is not None and about.model is not None:
        facts |= _model_facts(about.model, catalog)
        if serve is not None and "weight_bits" in left and "native_bits" in facts:
            facts["weight_bits"] = facts["native_bits"]
        if "encoder" in facts and "loss_kernel" in left:
            facts["loss_kernel"] = Known("no-logits", "text", ASSUMED)
    elif about is not None:
        size, family = about.parameters_b, about.family
        facts |= _known(
            {"parameters_b": size, "active_parameters_b": size, "family": family}, "job"
        )
        if about.family is not None:
            facts |= _known({"attention": "gqa", "gated_mlp": True}, f"family {about.family}")
    if serve is not None and serve.speculative and serve.speculative.draft_model is not None:
        draft = _known_model(serve.speculative.draft_model, catalog)
        shape: dict[str, Plain] = {
            "draft_parameters_b": draft.parameters_b,
            "draft_layers": draft.whole_context_layers,
            "draft_kv_heads": draft.kv_heads,
            "draft_head_dim": draft.head_dim,
        }
        facts |= _known(shape, f"catalog {serve.speculative.draft_model}")
    return facts


def left_open(job: Job) -> set[str]:
    """Return facts that have the usual value because the job does not state another."""
    stated = (job.tune or job.serve, job.load, job.serve.latency if job.serve else None)
    by_method = {"precision"} if job.tune and job.tune.precision is None else set()
    return by_method | {
        marker.fact
        for about in stated
        if about is not None
        for name, marker in AsFact.of(type(about)).items()
        if not type(about).model_fields[name].is_required()
        and type(about).model_fields[name].default is not None
        and name not in about.model_fields_set
    }


def gpu_facts(gpu_type: str, catalog: Catalog) -> dict[str, Known]:
    """Return what the catalog knows of a GPU type."""
    gpu = catalog.gpus[gpu_type]
    nodes = [node for node in catalog.nodes.values() if node.gpu_type == gpu_type]
    most = max((node.gpus.value for node in nodes), default=None)
    largest = [node for node in nodes if node.gpus.value == most]
    rates = [node.fabric_gb_per_s.value for node in largest if node.fabric_gb_per_s is not None]
    driver, bf16 = gpu.driver_memory_mib, gpu.dense_tflops.bf16
    bandwidth = gpu.bandwidth_gb_per_s
    figures: dict[str, Plain] = {
        "gpu_type": gpu_type,
        "gpu_family": gpu.family,
        "gpu_vendor": gpu.vendor,
        "gpu_memory_gb": gpu.memory_gb.value,
        "gpu_driver_memory_mib": driver.value if driver else None,
        "gpu_bf16_tflops": bf16.value if bf16 else None,
        "gpu_bandwidth_gb_per_s": bandwidth.value if bandwidth else None,
        "gpu_nvlink": gpu.nvlink,
        "gpus_per_node": most,
        "nodes_joined": any(node.scale_out_fabric is not None for node in largest),
        "fabric_gb_per_s": max(rates, default=None),
    }
    return _known(figures, f"catalog {gpu_type}")


def partition_facts(gpu_type: str, profile: str, catalog: Catalog) -> dict[str, Known]:
    """Return what the catalog knows of a MIG partition; rules say what its share is worth.

    Memory and throughput are the partition's: those of the whole GPU are not known of it.
    """
    gpu = catalog.gpus[gpu_type]
    whole = gpu_facts(gpu_type, catalog)
    of_whole = ("gpu_memory_gb", "gpu_driver_memory_mib", *_DIVIDED)
    facts = {name: known for name, known in whole.items() if name not in of_whole}
    facts |= {whole_name: whole[name] for name, whole_name in _DIVIDED.items() if name in whole}
    partition = gpu.mig_profiles[profile]
    return facts | _known(
        {
            "mig_profile": profile,
            "partition_memory_gib": partition.reported_gib,
            "partition_compute_slices": partition.compute_slices,
            "partition_memory_slices": partition.memory_slices,
            "gpu_compute_slices": gpu.compute_slices,
            "gpu_memory_slices": gpu.memory_slices,
        },
        f"catalog {gpu_type}",
    )


def run_facts(job: Job) -> dict[str, Known]:
    """Return what a job says of the hours of its runs; nothing for a serving job, always on."""
    if job.serve is not None or (job.fixed is not None and job.run is None):
        return {}
    run = job.run or Run()
    release, deadline = run.window
    return _known({"window_hours": deadline - release, "run_hours_stated": run.hours}, "job")


def setting_facts(settings: Settings, rules: RuleBook) -> dict[str, Known]:
    """Return settled settings; those that a scenario cannot set come from their policy rules."""
    facts = {}
    for name, fact in FACTS.items():
        if fact.origin != "setting":
            continue
        setting = getattr(settings, name, None)
        if setting is not None:
            facts[name] = Known(exact(setting.value), fact.unit, setting.origin)
        elif name in rules.by_result:
            origin = f"rule {rules.setting(name).id}"
            facts[name] = Known(exact(rules.figure(name)), fact.unit, origin)
    return facts


def _tuning_facts(tune: Tune) -> dict[str, Known]:
    stated = _stated(tune, tune.parallelism)
    follows = tune.batch is not None and tune.micro_batch is not None
    if follows and "gradient_accumulation" not in tune.model_fields_set:
        del stated["gradient_accumulation"]
    stated |= {
        "kind": "tune",
        "precision": tune.precision or tune.usual_precision,
        "batch_and_sequence_stated": tune.batch is not None and tune.sequence is not None,
        "gpu_partitioned": tune.gpu_partition is not None,
    }
    return _known(stated, "job")


def _serving_facts(serve: Serve) -> dict[str, Known]:
    load, latency, context = serve.load, serve.latency, serve.context
    stated = _stated(serve, serve.adapters, load, latency, serve.speculative, serve.disaggregated)
    # a version as a number: 0.0601 is 0.6.1, and 1.02 is 1.2
    release = re.match(r"v?(\d+)\.(\d+)(?:\.(\d+))?", serve.engine_version or "")
    stated |= {
        "kind": "serve",
        "context_and_concurrency_stated": context is not None or load is not None,
        "has_adapters": serve.adapters is not None,
        "gpu_partitioned": False,
        "engine_release": release
        and Decimal(f"{release[1]}.{release[2]:0>2}{release[3] or '':0>2}"),
    }
    assumed: dict[str, Plain] = {"engine": None if serve.engine else _ENGINE}
    if load is not None:
        percentile = _PERCENTILE if latency is None else latency.percentile
        prompts, answers = load.input_percentiles, load.output_percentiles
        tokens = load.input_tokens + load.output_tokens
        assumed |= {
            "context": tokens if context is None else None,
            "held_cv": load.input_cv * load.input_tokens / tokens if context is None else None,
            "latency_percentile": percentile if latency is None else None,
            "long_input_tokens": None if prompts is None else prompts.at(percentile),
            "long_output_tokens": None if answers is None else answers.at(percentile),
        }
    return _known(stated, "job") | _known(assumed, ASSUMED)


def _stated(*sections: Frozen | None) -> dict[str, Plain]:
    """Return what fields say that are marked as facts."""
    return {
        marker.fact: figure
        for section in sections
        if section is not None
        for name, marker in AsFact.of(type(section)).items()
        if not isinstance(figure := getattr(section, name), dict | tuple)
    }


def _model_facts(model_id: str, catalog: Catalog) -> dict[str, Known]:
    """Return what a model states; nothing of what its kind does not have."""
    model = _known_model(model_id, catalog)
    figures = _stated(model) | {
        "model": model_id,
        "active_parameters_b": model.active_parameters_b or model.parameters_b,
        "encoder": model.encoder or None,
        "max_context": model.longest_context,
        "kv_layers": model.whole_context_layers,
    }
    if model.experts is None:
        figures |= {"shared_expert_intermediate": None, "dense_layers": None}
    if model.attention != "hybrid":
        figures["state_mb_per_sequence"] = 0
    return _known(figures, f"catalog {model_id}")


def _known_model(model_id: str, catalog: Catalog) -> Model:
    model = catalog.models.get(model_id)
    if model is None:
        unknown = "give `parameters_b` for a model that the catalog does not know"
        hint = did_you_mean(model_id, sorted(catalog.models), 3) or unknown
        raise InputError(Finding(f"{model_id!r} is not a model of the catalog", hint=hint))
    return model


def _known(figures: Mapping[str, Plain], origin: str) -> dict[str, Known]:
    return {
        name: Known(
            value if isinstance(value, str | bool) else exact(value), FACTS[name].unit, origin
        )
        for name, value in figures.items()
        if value is not None
    }


_METHODS = {
    "full": "full fine-tuning",
    "lora": "LoRA tuning",
    "qlora": "QLoRA tuning",
    "p-tuning": "p-tuning",
}

_ENGINES = {"vllm": "vLLM", "sglang": "SGLang", "tensorrt-llm": "TensorRT-LLM"}

_STATED = {
    "micro_batch": "micro-batch {}",
    "gradient_accumulation": "gradient accumulation {}",
    "gradient_checkpointing": "checkpointing {}",
    "attention_kernel": "{} attention",
    "loss_kernel": "{} loss",
    "layer_kernels": "{} layer kernels",
    "expert_kernels": "{} expert kernels",
    "value_parameters_b": "value model of {} B",
    "sharding": "sharding {}",
    "offload": "offload {}",
}
"""What else is said of a run, as far as the job states it."""


def summary(
    job: Job, weight_bits: Exact | None = None, peaks: tuple[Fraction, ...] | None = None
) -> str:
    """Return one readable line: `LoRA tuning of llama-3.1-8b, sequence 4,096, batch 8`.

    `weight_bits` is the width that is served, if the job leaves it to the model; `peaks` are
    requests per second by quarter, by default as the job states them.
    """
    if job.tune is not None:
        return ", ".join(_tuning(job.tune))
    if job.serve is not None:
        arriving = job.peaks(None) if peaks is None else peaks
        return ", ".join(_serving(job.serve, weight_bits, arriving))
    fixed = job.fixed or Fixed(gpus=1)
    need = f"{figure_text(fixed.gpu_memory_gb or 0)} GB of GPU memory"
    if fixed.gpus is not None:
        need = count_of(fixed.gpus, "GPU")
    return f"fixed need of {need}, {fixed.cpus} CPUs, {figure_text(fixed.memory_gb)} GB host memory"


def _tuning(tune: Tune) -> Iterator[str]:
    by = "" if tune.objective == "sft" else f" by {tune.objective.upper()}"
    yield f"{_METHODS[tune.method]} of {_subject(tune)}{by}"
    if tune.base_bits is not None:
        yield f"base at {tune.base_bits} bit"
    if tune.precision not in (None, tune.usual_precision):
        yield tune.precision
    if tune.optimizer != "adamw":
        yield tune.optimizer
    for key in ("sequence", "batch"):
        if (figure := getattr(tune, key)) is not None:
            yield f"{key} {figure:,}"
    if (size := tune.reward_parameters_b) is not None:
        yield f"reward model of {size} B" if size else "no reward model"
    for key, told in _STATED.items():
        if key in tune.model_fields_set and getattr(tune, key) is not None:
            yield told.format(getattr(tune, key))
    ways = [(name.replace("_", " "), count) for name, count in tune.parallelism or () if count > 1]
    if ways:
        yield "parallelism " + " × ".join(f"{name} {count}" for name, count in ways)


def _serving(serve: Serve, weight_bits: Exact | None, peaks: tuple[Fraction, ...]) -> Iterator[str]:
    bits = serve.bits
    widths = (
        " or ".join(map(str, bits)) if isinstance(bits, tuple) else figure_text(weight_bits or bits)
    )
    text = f"serving of {_subject(serve)} at {widths} bit"
    if serve.adapters is not None:
        size = format(serve.adapters.size_gb, ".3g")
        text += f" with {count_of(serve.adapters.count, 'adapter')} of {size} GB"
    if serve.engine is not None:
        text += f" on {' '.join(filter(None, (_ENGINES[serve.engine], serve.engine_version)))}"
    yield text
    if serve.disaggregated is not None:
        yield "prefill on GPUs of its own"
    if serve.speculative is not None:
        yield f"{serve.speculative.draft_tokens:,} tokens drafted"
    if serve.context is not None and serve.concurrency is not None:
        yield f"{serve.concurrency:,} × {serve.context:,} tokens"
    if serve.load is not None:
        most, highest = "up to " if len({*peaks} - {0}) > 1 else "", max(peaks)
        requests = "request" if highest == 1 else "requests"
        shared = " shared by GPU types" if serve.mixed else ""
        yield f"{most}{float(highest):,.4g} {requests} a second{shared}"
    if serve.latency is not None:
        called = {"ttft_ms": "TTFT", "tpot_ms": "TPOT", "e2e_ms": "end to end"}
        asked = (
            f"{called[key]} {float(figure):,.10g} ms"
            for key, figure in serve.latency.targets_ms.items()
        )
        yield f"{', '.join(asked)} at p{serve.latency.percentile}"


def _subject(about: Tune | Serve) -> str:
    return about.model or f"{figure_text(about.parameters_b or 0)} B parameters"
