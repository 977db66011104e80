"""What other tools, and common speech, call the keys and values of a scenario.

Kubernetes, Slurm, vLLM, Hugging Face (Trainer, PEFT, bitsandbytes), DeepSpeed, Megatron, Axolotl
and LLaMA-Factory have words of their own for much that stands here. A hint names ours.
"""

from __future__ import annotations

from collections.abc import Collection

_GPUS = ("gpus", "gpus_per_replica")
_JOBS = ("tune", "serve", "fixed")
_BATCH = ("micro_batch",)

CALLED = {
    "adapter_r": ("adapter_rank",),
    "annual_growth": ("growth_per_quarter",),
    "attn_implementation": ("attention_kernel",),
    "base_model": ("model",),
    "batch_size": ("batch",),
    "bf16": ("precision: bf16",),
    "bnb_4bit_use_double_quant": ("double_quantization",),
    "comment": ("note",),
    "completion_tokens": ("output_tokens",),
    "concurrent_users": ("users",),
    "context_length": ("context",),
    "context_parallel_size": ("context",),
    "cores": ("cpus",),
    "cost": ("price_usd", "price_usd_per_gpu_hour"),
    "cp": ("context",),
    "cpu": ("cpus",),
    "cpus_per_task": ("cpus",),
    "cutoff_len": ("sequence",),
    "dataset_size": ("dataset_tokens",),
    "deepspeed": ("sharding",),
    "department": ("team",),
    "depreciation_years": ("useful_life_years",),
    "description": ("note",),
    "dtype": ("precision", "bits"),
    "electricity_price": ("energy_usd_per_kwh",),
    "embed": ("serve",),
    "enable_prefix_caching": ("cached_input",),
    "end": ("deadline",),
    "ep": ("expert",),
    "expert_model_parallel_size": ("expert",),
    "finetune": ("tune",),
    "finetuning_type": ("method",),
    "flash_attention": ("attention_kernel: flash",),
    "fp16": ("precision: fp16-mixed",),
    "from": ("first_quarter",),
    "fsdp": ("sharding: fsdp",),
    "generated_tokens": ("output_tokens",),
    "generation": ("output_tokens",),
    "global_batch_size": ("batch",),
    "gpu": ("gpu_types", *_GPUS),
    "gpu_count": _GPUS,
    "gpu_type": ("gpu_types", "node_type"),
    "gradient_accumulation_steps": ("gradient_accumulation",),
    "gres": ("gpus",),
    "hourly_price": ("price_usd_per_gpu_hour",),
    "inference": ("serve",),
    "input": ("input_tokens",),
    "instance_type": ("node_type",),
    "itl_ms": ("tpot_ms",),
    "kind": _JOBS,
    "kv_cache_dtype": ("kv_bits",),
    "last_quarter": ("quarters",),
    "load_in_4bit": ("method: qlora",),
    "load_in_8bit": ("base_bits: 8",),
    "location": ("site", "sites"),
    "lora_dropout": ("adapter_dropout",),
    "lora_r": ("adapter_rank",),
    "lora_rank": ("adapter_rank",),
    "lora_target": ("adapter_targets",),
    "machine_type": ("node_type",),
    "max_input_length": ("input_tokens",),
    "max_length": ("sequence",),
    "max_loras": ("adapters",),
    "max_model_len": ("context",),
    "max_new_tokens": ("output_tokens",),
    "max_num_seqs": ("concurrency",),
    "max_seq_length": ("sequence",),
    "max_tokens": ("output_tokens",),
    "max_total_tokens": ("context",),
    "mem": ("memory_gb",),
    "model_max_length": ("sequence",),
    "model_name_or_path": ("model",),
    "nodes": ("count",),
    "num_gpus": _GPUS,
    "num_shard": ("gpus_per_replica",),
    "num_speculative_tokens": ("draft_tokens",),
    "num_train_epochs": ("epochs",),
    "number": ("count",),
    "nvidia.com/gpu": ("gpus",),
    "offload_optimizer": ("offload: optimizer",),
    "offload_param": ("offload: all",),
    "optim": ("optimizer",),
    "output": ("output_tokens",),
    "peak_factor": ("peak_to_mean",),
    "per_device_train_batch_size": _BATCH,
    "pipeline_model_parallel_size": ("pipeline",),
    "pipeline_parallel_size": ("pipeline",),
    "power": ("power_kw", "max_power_kw"),
    "pp": ("pipeline",),
    "price": ("price_usd", "price_usd_per_gpu_hour", "usd_per_million_input_tokens"),
    "price_per_gpu_hour": ("price_usd_per_gpu_hour",),
    "price_per_node": ("price_usd",),
    "price_usd_per_node": ("price_usd",),
    "prompt": ("input_tokens",),
    "prompt_length": ("input_tokens",),
    "prompt_tokens": ("input_tokens",),
    "qps": ("requests_per_second",),
    "qty": ("count", "maximum"),
    "quant": ("bits", "base_bits"),
    "quantity": ("count", "maximum"),
    "quantization": ("bits", "base_bits"),
    "quantize": ("bits", "base_bits"),
    "quarters": ("available",),
    "r": ("adapter_rank",),
    "ram": ("memory_gb",),
    "rank": ("adapter_rank",),
    "region": ("site", "sites"),
    "rps": ("requests_per_second",),
    "seq_len": ("sequence",),
    "seq_length": ("sequence",),
    "start": ("first_quarter", "release"),
    "stop": ("deadline",),
    "tags": ("labels",),
    "target_modules": ("adapter_targets",),
    "tensor_model_parallel_size": ("tensor",),
    "tensor_parallel": ("tensor", "gpus_per_replica"),
    "tensor_parallel_size": ("tensor", "gpus_per_replica"),
    "term_months": ("term_years", "term_weeks"),
    "tp": ("tensor", "gpus_per_replica"),
    "train": ("tune",),
    "train_batch_size": ("batch",),
    "train_micro_batch_size_per_gpu": _BATCH,
    "training": ("tune",),
    "type": (*_JOBS, "kind", "node_type"),
    "units": ("count",),
    "use_dora": ("adapter_dora",),
    "use_flash_attn": ("attention_kernel: flash",),
    "use_liger_kernel": ("loss_kernel: fused-linear",),
    "version": ("format",),
    "virtual_pipeline_model_parallel_size": ("virtual_pipeline",),
    "vram": ("gpu_memory_gb",),
    "wacc": ("discount_rate_per_year",),
    "workloads": ("jobs",),
    "zero_stage": ("sharding",),
}
"""Keys elsewhere, with what they may be called here; `key: value` of what is a switch there."""

_IDLE = {
    *("adam_beta1", "adam_beta2", "alpha", "bnb_4bit_compute_dtype", "bnb_4bit_quant_type"),
    *("data_parallel_size", "dp", "enable_lora", "eval_steps", "eval_strategy", "image"),
    *("gpu_memory_utilization", "learning_rate", "logging_steps", "lora_alpha", "lr"),
    *(
        "lr_scheduler_type",
        "max_grad_norm",
        "max_num_batched_tokens",
        "max_steps",
        "min",
        "minimum",
    ),
    *("nnodes", "nproc_per_node", "num_workers", "output_dir", "report_to", "save_steps"),
    *("save_strategy", "seed", "swap_space", "trust_remote_code", "warmup_ratio", "warmup_steps"),
    *("weight_decay",),
}
"""Keys elsewhere that have no counterpart, as no figure of a plan depends on them."""
NO_COUNTERPART = "nothing here is like it: delete the line"

_SAME_AS = {
    **dict.fromkeys(("purchase", "capex"), ("buy",)),
    **dict.fromkeys(("lease", "cloud"), ("rent", "reserve", "hourly")),
    **dict.fromkeys(("on-demand", "ondemand", "on_demand", "hour", "spot"), ("hourly",)),
    **dict.fromkeys(("reserved", "commitment"), ("reserve",)),
    "subscription": ("rent", "reserve"),
    **dict.fromkeys(("finetune", "fine-tune", "fft", "full-ft", "full_finetune"), ("full",)),
    "pretraining": ("full",),
    "peft": ("lora", "qlora"),
    "prompt-tuning": ("p-tuning",),
    **dict.fromkeys(("fa2", "flash_attention_2", "flash-attention-2", "flash_attn"), ("flash",)),
    "bfloat16": ("bf16",),
    "float16": ("fp16",),
    "half": ("fp16", "16"),
    "float32": ("fp32",),
    "mixed": ("bf16-mixed", "fp16-mixed"),
    **dict.fromkeys(("awq", "gptq", "nf4"), ("4",)),
    **dict.fromkeys(("full_shard", "hybrid_shard"), ("fsdp",)),
    "deepspeed": ("zero-1", "zero-2", "zero-3"),
    **{stage: (f"zero-{stage}",) for stage in "123"},
    "cpu": ("optimizer", "all"),
    "all": ("all-linear",),
    "unsloth": ("offloaded",),
    **dict.fromkeys(("true", "yes", "allow"), ("on", "allowed", "same-node", "own-node", "drop")),
    **dict.fromkeys(("false", "no"), ("off", "forbidden", "never", "refuse")),
    **dict.fromkeys(("water", "dlc"), ("liquid",)),
    **dict.fromkeys(("trtllm", "trt-llm", "tensorrt"), ("tensorrt-llm",)),
    "nim": ("tensorrt-llm", "vllm"),
    "rlhf": ("ppo", "grpo", "dpo"),
}
"""What values are called elsewhere."""


_NOTHING = {
    *("?", "any", "auto", "default", "inf", "infinite", "infinity", "n/a", "na", "no limit"),
    *("none", "null", "open", "pending", "tba", "tbc", "tbd", "unknown", "unlimited"),
}
"""Words for a value that nobody has stated, or that there is none."""


def is_nothing(word: str) -> bool:
    """Whether a word says that no value is known, or that there is none."""
    return word.strip().casefold() in _NOTHING or word.casefold().startswith("quote ")


def _plain(word: str) -> str:
    """A key as most tools write theirs: `--max-num-seqs` is `max_num_seqs`."""
    return word.strip("-").casefold().replace("-", "_")


def keys_for(key: str, known: Collection[str] | None = None) -> list[str]:
    """What a key of other tools, or of common speech, is called: all, or those that are known."""
    names = CALLED.get(_plain(key), ())
    return [name for name in names if known is None or name.partition(":")[0] in known]


def is_idle(key: str) -> bool:
    """Whether it is a key elsewhere, and no figure of a plan depends on it."""
    return _plain(key) in _IDLE


def values_for(value: object, choices: Collection[str]) -> list[str]:
    """Those of the choices that a value elsewhere may mean."""
    said = ("false", "true")[value] if isinstance(value, bool) else str(value).strip().casefold()
    return [one for one in _SAME_AS.get(said, ()) if one in choices]
