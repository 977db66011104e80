"""What people and other tools write in place of our keys, values and figures, for hints."""

from __future__ import annotations

import re
from collections.abc import Collection
from decimal import ROUND_CEILING, Decimal
from unicodedata import normalize

from planner.inputs.text import UNIT_WORDS, pieces

_ELSEWHERE = {
    "adapter_dora": "use_dora",
    "adapter_dropout": "lora_dropout",
    "adapter_rank": "adapter_r lora_r lora_rank r rank",
    "adapter_targets": "lora_target target_modules",
    "adapters": "max_loras",
    "attention_kernel": "attn_implementation",
    "attention_kernel: cudnn": "flash_attention_3",
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
    "dataset_tokens": "dataset_size num_samples samples",
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
    "gpu_memory_gb": "memory vram",
    "gpu_types": "gpu gpu_type",
    "gpus": "gpu gpu_count gres num_gpus nvidia.com/gpu",
    "gpus_per_replica": "gpu gpu_count num_gpus num_shard tensor_parallel tensor_parallel_size tp",
    "gradient_accumulation": "gradient_accumulation_steps",
    "growth_per_quarter": "annual_growth",
    "heads": "num_attention_heads",
    "hidden": "hidden_size",
    "hours": "duration walltime",
    "input_tokens": "input max_input_length prompt prompt_length prompt_tokens",
    "jobs": "workloads",
    "kind": "type",
    "kv_bits": "kv_cache_dtype",
    "kv_heads": "num_key_value_heads",
    "labels": "node_selector tags",
    "layers": "num_hidden_layers",
    "loss_kernel: fused-linear": "use_liger_kernel",
    "max_context": "max_position_embeddings",
    "max_power_kw": "power",
    "maximum": "qty quantity",
    "memory_gb": "mem memory ram",
    "method": "finetuning_type",
    "method: qlora": "load_in_4bit",
    "micro_batch": "per_device_train_batch_size train_micro_batch_size_per_gpu",
    "model": "base_model model_name_or_path",
    "name": "title",
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
    "quarters": "last_quarter months years",
    "read": "date retrieved",
    "release": "start",
    "requests_per_second": "qps rps",
    "retrieved": "date read",
    "sequence": "cutoff_len max_length max_seq_length model_max_length seq_len seq_length",
    "serve": "embed inference kind type",
    "sharding": "deepspeed zero_stage",
    "sharding: fsdp": "fsdp",
    "site": "location region",
    "sites": "location region",
    "team": "account department",
    "tensor": "tensor_model_parallel_size tensor_parallel tensor_parallel_size tp",
    "term_weeks": "term_months",
    "term_years": "term_months",
    "tpot_ms": "itl_ms",
    "tune": "finetune kind train training type",
    "usd_per_million_input_tokens": "price",
    "useful_life_years": "depreciation_years",
    "users": "concurrent_users",
    "vocab": "vocab_size",
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
    *("block_size", "enforce_eager", "load_format", "max_lora_rank", "namespace", "port"),
    *("served_model_name", "tokenizer", "tolerations", "weight_decay"),
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
    **dict.fromkeys(
        ("true", "yes", "on", "allow"), ("on", "allowed", "same-node", "own-node", "drop")
    ),
    **dict.fromkeys(("false", "no", "none", "off"), ("off", "forbidden", "never", "refuse")),
    **dict.fromkeys(("water", "dlc"), ("liquid",)),
    **dict.fromkeys(("trtllm", "trt-llm", "tensorrt"), ("tensorrt-llm",)),
    "nim": ("tensorrt-llm", "vllm"),
    "rlhf": ("ppo", "grpo", "dpo"),
    **dict.fromkeys(("ipo", "kto", "orpo", "simpo"), ("dpo",)),
    **dict.fromkeys(("dapo", "reinforce", "rloo"), ("grpo",)),
}
"""Values as other tools call them."""


_NOTHING = {
    *("", "?", "any", "auto", "default", "inf", "infinite", "infinity", "n/a", "na", "no limit"),
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


def values_for(value: object, choices: Collection[str] | None = None) -> list[str]:
    """Return those of the choices, or of all words, that a value of other tools may mean."""
    said = ("false", "true")[value] if isinstance(value, bool) else str(value).strip().casefold()
    return [one for one in _SAME_AS.get(said, ()) if choices is None or one in choices]


_FIGURE = r"[-+]?[0-9][0-9,_' ]*(?:\.[0-9]+)?(?:[eE][-+]?[0-9]{1,2})?|[-+]?[0-9.]+,[0-9]+"
_FIGURE_WITH_MORE = re.compile(
    r"(?:(?:~|≈|ca\.?|circa|about|around|approx\.?)\s*)?"
    rf"(?P<currency>[$€£]|[A-Z]{{3}}|)\s*(?P<figure>{_FIGURE})\s*"
    r"(?P<unit>[A-Za-z%/$€£.]*(?:[\s/]+[A-Za-z%$€£.]+)*)"
)
_BETWEEN = re.compile(
    rf"(?P<least>{_FIGURE})\s*(?:-|to|bis|\.\.\.?)\s*(?P<most>{_FIGURE})[\sA-Za-z]*"
)
EXPONENT = re.compile(r"[-+]?[0-9.]+[eE][-+]?[0-9]{3,}")
"""A number with an exponent that is too large to be read."""
_THOUSANDS = re.compile(r"[-+]?[0-9]{1,3}([,_' ][0-9]{3})+(\.[0-9]+)?")
_DECIMAL_COMMA = re.compile(r"[-+]?([0-9]+|[0-9]{1,3}(\.[0-9]{3})+),[0-9]+")
_DASHES = str.maketrans("−–", "--")
_OTHER_MONEY = {"€", "£", "eur", "chf", "gbp", "jpy", "cny", "inr"}
_LONGEST = 12
_WORDS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")

_TIMES = {
    **dict.fromkeys(("k", "thousand"), 10**3),
    **dict.fromkeys(("m", "mio", "million", "millions"), 10**6),
    **dict.fromkeys(("b", "bn", "billion", "billions"), 10**9),
    **dict.fromkeys(("t", "trillion"), 10**12),
}
_LENGTHS = ("context", "sequence")
"""Keys of token counts in which `8k` usually means 8,192."""
_SCALED_KEYS = ("_b", "_gb", "_hours", "_kw", "_weeks", "_years", "_ms")
"""Endings of keys whose unit is a multiple itself, so that `500M` is ambiguous there."""
_NAMES = {
    **dict.fromkeys(("h", "hr", "hrs", "std"), "hour"),
    **dict.fromkeys(("d", "tage"), "day"),
    **dict.fromkeys(("w", "wk", "wks", "wochen"), "week"),
    **dict.fromkeys(("mo", "monate"), "month"),
    **dict.fromkeys(("y", "yr", "yrs", "jahre"), "year"),
    **dict.fromkeys(("s", "sec", "secs"), "second"),
    "min": "minute",
    **dict.fromkeys(("$", "dollar"), "usd"),
    "core": "cpu",
    **dict.fromkeys(("rps", "qps"), "request"),
    "u": "unit",
    **{f"{letter}{more}": f"{letter}{more}b" for letter in "kmgt" for more in ("i", "")},
}
"""Other spellings of units; all are compared in lower case and without a plural."""
_COUNTED = {"token", "sequence", "request", "gpu", "node", "cpu", "server", "sample"}
"""What figures count, whatever their key is called."""
_SIZES = tuple(
    {unit: Decimal(size) for unit, size in sizes.items()}
    for sizes in (
        {"ms": 1, "second": 1000, "minute": 60_000, "hour": 3_600_000, "day": 86_400_000}
        | {"week": 604_800_000, "month": 2_620_800_000, "quarter": 7_862_400_000}
        | {"year": 31_449_600_000},
        {"mb": 10**6, "gb": 10**9, "tb": 10**12, "mib": 2**20, "gib": 2**30, "tib": 2**40},
        {"w": 1, "kw": 10**3, "mw": 10**6},
    )
)
"""Units of a kind in multiples of the smallest; a quarter has 13 weeks, a year 52."""


def figure_hint(value: str, key: str, *, whole: bool) -> str | None:
    """Return a hint on what a text that holds a figure should have been, under this key."""
    usual = normalize("NFKC", value).translate(_DASHES).strip()
    word = usual.casefold()
    if "#" in word[1:]:
        return "a remark begins with a blank before its `#`"
    if word in _WORDS:
        return f"write {_WORDS.index(word) + 1}"
    if span := _BETWEEN.fullmatch(usual):
        return f"one figure stands here: write {span['least'].strip()} or {span['most'].strip()}"
    if not (match := _FIGURE_WITH_MORE.fullmatch(usual)):
        return "write a plain number, such as 12"
    written = match["figure"].strip()
    if _DECIMAL_COMMA.fullmatch(written) and not _THOUSANDS.fullmatch(written):
        if whole:
            return "one whole number stands here, without a comma"
        return f"write {written.replace('.', '').replace(',', '.')}, with a decimal point"
    figure = re.sub(r"[,_' ]", "", written)
    if figure == value.strip():
        stripped = re.sub(r"^0+(?=[0-9])", "", figure)
        return f"write it without {'quotes' if stripped == figure else 'leading zeros'}: {stripped}"
    units = [one for one in re.split(r"[\s/]+", match["unit"]) if one not in ("", "per")]
    return _in_units(figure, [match["currency"].casefold(), *units], key, whole=whole)


def _in_units(figure: str, stated: list[str], key: str, *, whole: bool) -> str | None:
    """Return a hint on a figure stated in a currency and some units, in the unit of its key."""
    currency, *units = stated
    if whole and units == ["%"]:
        return "a whole number stands here, no share"
    if units in (["%"], ["percent"]):
        return _for_a_share(figure, key)
    if "usd" in pieces(key) and {currency, *map(str.casefold, units)} & _OTHER_MONEY:
        return "all money is in USD: write a number alone, converted at your rate"
    if len(figure) <= _LONGEST and units:
        if converted := _converted(Decimal(figure), units, key, whole=whole):
            return converted
        if units[0].casefold() in _TIMES and all(_is_unit_of(key, unit) for unit in units[1:]):
            return _scaled(Decimal(figure), units[0].casefold(), key)
    if not all(_is_unit_of(key, unit) for unit in stated if unit):
        return "write a number alone, in the unit of the key"
    alone = " alone, the unit stands in the key's name" if units else ""
    return f"write {figure}{alone}"


def _for_a_share(figure: str, key: str) -> str:
    """Return a hint on a share where another figure belongs."""
    part = Decimal(figure) / 100
    if key == "times":
        return f"write the factor, {1 + part:f}"
    if not pieces(key) - {"per", "year"} & UNIT_WORDS:
        return f"write {part:f}"
    return f"one figure stands here; an override moves it by a share with a sign: {part:+%}"


def _unit(word: str) -> str:
    """Return a unit as the names of keys have it: `hrs` is `hour`."""
    one = word.strip(".").casefold()
    alone = one if len(one) < 3 else one.removesuffix("s")
    return _NAMES.get(one) or _NAMES.get(alone, alone)


def _converted(figure: Decimal, units: list[str], key: str, *, whole: bool) -> str | None:
    """Convert a figure into the key's unit if both are of one kind; a rate has no such unit."""
    of_key = _unit(key.rpartition("_")[2])
    sizes: dict[str, Decimal] = next((one for one in _SIZES if of_key in one), {})
    stated = next((one for one in (units[0].casefold(), _unit(units[0])) if one in sizes), of_key)
    if len(units) > 1 or of_key == stated or "per" in pieces(key):
        return None
    there = figure * sizes[stated] / sizes[of_key]
    rounded = there.quantize(Decimal(1 if whole else "0.000001"), ROUND_CEILING)
    shown = f"{rounded.normalize():f}"
    if of_key == "gb" and "i" in stated:
        return f"memory is in GB of 10^9 bytes: {figure:f} {units[0]} is {there.normalize():f}"
    return f"write {shown}, in the unit of the key"


def _scaled(figure: Decimal, times: str, key: str) -> str | None:
    """Return what `300M` is, and both that `8k` may be; `3M` hours are ambiguous."""
    if key == "parameters_b" and times == "b":
        return f"write {figure:f} alone, the unit stands in the key's name"
    if key.endswith(_SCALED_KEYS):
        return None
    several, binary = (f"{(figure * one).normalize():f}" for one in (_TIMES[times], 1024))
    if key in _LENGTHS and times == "k":
        return f"write {binary}, or {several} if so many are meant"
    return f"write {several}"


def _is_unit_of(key: str, unit: str) -> bool:
    """Return whether a unit is one of the words of a key, or what its figures count."""
    meant = _unit(unit)
    of_key = key.split("_")
    if "usd" in of_key and meant in ("node", "server"):
        return "gpu" not in of_key
    counted = meant in _COUNTED and "usd" not in of_key
    return counted or any(word.startswith(meant) for word in of_key if len(meant) > 1)
