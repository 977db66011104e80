"""What other tools, and common speech, call the keys and values of a scenario.

Kubernetes, Slurm, vLLM, Hugging Face (Trainer, PEFT, bitsandbytes), DeepSpeed, Megatron, Axolotl
and LLaMA-Factory have words of their own for many keys. A hint names ours.
"""

from __future__ import annotations

from collections.abc import Collection

_ELSEWHERE = {
    "adapter_dora": "use_dora",
    "adapter_dropout": "lora_dropout",
    "adapter_rank": "adapter_r lora_r lora_rank r rank",
    "adapter_targets": "lora_target target_modules",
    "adapters": "max_loras",
    "attention_kernel": "attn_implementation",
    "attention_kernel: flash": "flash_attention use_flash_attn",
    "available": "quarters",
    "base_bits": "quant quantization quantize",
    "base_bits: 8": "load_in_8bit",
    "batch": "batch_size global_batch_size train_batch_size",
    "bits": "dtype quant quantization quantize",
    "cached_input": "enable_prefix_caching",
    "concurrency": "max_num_seqs",
    "context": "context_length context_parallel_size cp max_model_len max_total_tokens",
    "count": "nodes number qty quantity units",
    "cpus": "cores cpu cpus_per_task",
    "dataset_tokens": "dataset_size",
    "deadline": "end stop",
    "discount_rate_per_year": "wacc",
    "double_quantization": "bnb_4bit_use_double_quant",
    "draft_tokens": "num_speculative_tokens",
    "energy_usd_per_kwh": "electricity_price",
    "epochs": "num_train_epochs",
    "expert": "ep expert_model_parallel_size",
    "first_quarter": "from start",
    "fixed": "kind type",
    "format": "version",
    "gpu_memory_gb": "vram",
    "gpu_types": "gpu gpu_type",
    "gpus": "gpu gpu_count gres num_gpus nvidia.com/gpu",
    "gpus_per_replica": "gpu gpu_count num_gpus num_shard tensor_parallel tensor_parallel_size tp",
    "gradient_accumulation": "gradient_accumulation_steps",
    "growth_per_quarter": "annual_growth",
    "input_tokens": "input max_input_length prompt prompt_length prompt_tokens",
    "jobs": "workloads",
    "kind": "type",
    "kv_bits": "kv_cache_dtype",
    "labels": "tags",
    "loss_kernel: fused-linear": "use_liger_kernel",
    "max_power_kw": "power",
    "maximum": "qty quantity",
    "memory_gb": "mem ram",
    "method": "finetuning_type",
    "method: qlora": "load_in_4bit",
    "micro_batch": "per_device_train_batch_size train_micro_batch_size_per_gpu",
    "model": "base_model model_name_or_path",
    "node_type": "gpu_type instance_type machine_type type",
    "note": "comment description",
    "offload: all": "offload_param",
    "offload: optimizer": "offload_optimizer",
    "optimizer": "optim",
    "output_tokens": (
        "completion_tokens generated_tokens generation max_new_tokens max_tokens output"
    ),
    "peak_to_mean": "peak_factor",
    "pipeline": "pipeline_model_parallel_size pipeline_parallel_size pp",
    "power_kw": "power",
    "precision": "dtype",
    "precision: bf16": "bf16",
    "precision: fp16-mixed": "fp16",
    "price_usd": "cost price price_per_node price_usd_per_node",
    "price_usd_per_gpu_hour": "cost hourly_price price price_per_gpu_hour",
    "quarters": "last_quarter",
    "release": "start",
    "requests_per_second": "qps rps",
    "sequence": "cutoff_len max_length max_seq_length model_max_length seq_len seq_length",
    "serve": "embed inference kind type",
    "sharding": "deepspeed zero_stage",
    "sharding: fsdp": "fsdp",
    "site": "location region",
    "sites": "location region",
    "team": "department",
    "tensor": "tensor_model_parallel_size tensor_parallel tensor_parallel_size tp",
    "term_weeks": "term_months",
    "term_years": "term_months",
    "tpot_ms": "itl_ms",
    "tune": "finetune kind train training type",
    "usd_per_million_input_tokens": "price",
    "useful_life_years": "depreciation_years",
    "users": "concurrent_users",
    "virtual_pipeline": "virtual_pipeline_model_parallel_size",
}
"""Our keys, or `key: value` for what is a switch elsewhere, with what other tools call them."""
CALLED: dict[str, list[str]] = {}
"""Keys of other tools, each with its possible names here."""
for _ours, _theirs in _ELSEWHERE.items():
    for _word in _theirs.split():
        CALLED.setdefault(_word, []).append(_ours)

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
"""Keys of other tools that have no counterpart, because no figure of a plan depends on them."""
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
"""Values as other tools call them."""


_NOTHING = {
    *("?", "any", "auto", "default", "inf", "infinite", "infinity", "n/a", "na", "no limit"),
    *("none", "null", "open", "pending", "tba", "tbc", "tbd", "unknown", "unlimited"),
}
"""Words for a value that nobody has stated, or for none."""


def is_nothing(word: str) -> bool:
    """Return whether a word says that no value is known, or that there is none."""
    return word.strip().casefold() in _NOTHING or word.casefold().startswith("quote ")


def _plain(word: str) -> str:
    """Normalize a key to the form of most tools: `--max-num-seqs` is `max_num_seqs`."""
    return word.strip("-").casefold().replace("-", "_")


def keys_for(key: str, known: Collection[str] | None = None) -> list[str]:
    """Return our names for a key of other tools: all, or those that are `known`."""
    names = CALLED.get(_plain(key), [])
    if known is None:
        return names
    order = list(known)
    return sorted(
        (name for name in names if name.partition(":")[0] in order),
        key=lambda name: order.index(name.partition(":")[0]),
    )


def is_idle(key: str) -> bool:
    """Return whether it is a key of other tools on which no figure of a plan depends."""
    return _plain(key) in _IDLE


def values_for(value: object, choices: Collection[str]) -> list[str]:
    """Return those of the choices that a value of other tools may mean."""
    said = ("false", "true")[value] if isinstance(value, bool) else str(value).strip().casefold()
    return [one for one in _SAME_AS.get(said, ()) if one in choices]
