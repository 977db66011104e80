"""The vocabulary of rules: every fact that a rule may ask for, with its unit and meaning.

A fact is known from the job, the model, the GPU type or a setting before any rule has spoken. What
a field of a job or a model means to rules stands at the field (`AsFact`); here are the others.
What rules compute carries a name of its own (`result`) and may stand in for a fact that is unknown.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, Literal, get_args

from pydantic import BaseModel

from planner.inputs.base import AsFact, plain_types
from planner.inputs.catalog.catalog import Model
from planner.inputs.scenario.job import Adapters, Family, Fixed, Parallelism, Serve, Tune
from planner.inputs.scenario.load import Disaggregated, Latency, Load, Speculative

FactKind = Literal["number", "text", "truth"]
FactOrigin = Literal["job", "model", "gpu", "count", "setting"]


@dataclass(frozen=True, slots=True)
class Fact:
    """One named fact: where it comes from, its unit and what it means."""

    name: str
    origin: FactOrigin
    unit: str
    told: str | AsFact
    """What it means, or the field that says so."""
    choices: tuple[str, ...] = ()
    """Values that a text fact can take; empty where any text can stand."""

    @property
    def kind(self) -> FactKind:
        """Return what it is to a formula, by its unit."""
        return _KINDS.get(self.unit, "number")

    @property
    def meaning(self) -> str:
        """Return what it means, in a few words."""
        return self.told if isinstance(self.told, str) else self.told.meaning


_KINDS: Final[dict[str, FactKind]] = {"text": "text", "true/false": "truth"}
"""Units of facts that nobody calculates with."""


_SECTIONS: tuple[type[BaseModel], ...] = (
    Tune,
    Parallelism,
    Serve,
    Adapters,
    Load,
    Latency,
    Speculative,
    Disaggregated,
    Fixed,
)
"""Sections of a job whose fields are marked as facts."""


def _stated(model: type[BaseModel], origin: FactOrigin = "job") -> Iterator[Fact]:
    """Return the marked facts of a job's section, or of a model."""
    for name, marker in AsFact.of(model).items():
        types = plain_types(model.model_fields[name].annotation)
        choices = tuple(choice for choice in types if isinstance(choice, str))
        text, truth = bool(choices) or str in types, bool in types
        unit = "text" if text else "true/false" if truth else marker.unit
        yield Fact(marker.fact, origin, unit, marker, choices)


_JOB = {
    "batch_and_sequence_stated": (
        "true/false",
        "whether a tuning job states both batch and sequence",
    ),
    "window_hours": ("h", "hours from release to deadline within a quarter"),
    "run_hours_stated": ("h", "hours that one run takes, if the job states them"),
    "memory_calibration": ("ratio", "factor on expected peaks, by your own measured runs"),
    "hours_calibration": ("ratio", "factor on the hours of a run, by your own measured runs"),
    "serving_calibration": (
        "ratio",
        "factor on times of steps and prompts, by your own measured runs",
    ),
    "first_token_delay_steps": (
        "steps",
        "decoding steps by which first tokens come later, by your own measured runs",
    ),
    "context_and_concurrency_stated": (
        "true/false",
        "whether it is known how many requests of which length a replica holds",
    ),
    "engine_release": (
        "release",
        "version of the engine that serves: 0.0601 is 0.6.1, and 1.02 is 1.2",
    ),
    "closed_loop_clients": (
        "requests",
        "clients of a measured run that each ask anew when they are answered",
    ),
    "clients_in_step": (
        "requests",
        "those of them that ask anew together",
    ),
    "requests_per_client": ("requests", "requests that each of them sends in all"),
    "equal_lengths": (
        "true/false",
        "whether all prompts of a measured run, and all answers, are of one length",
    ),
    "poll_steps": (
        "steps",
        "decoding steps from one look for new requests to the next",
    ),
    "has_adapters": ("true/false", "whether adapters are served"),
    "gpu_partitioned": ("true/false", "whether a GPU partition is asked for"),
    "stated_gpus": ("GPUs", "number of GPUs that a job states"),
    "long_input_tokens": ("tokens", "tokens of a request at the latency's percentile"),
    "long_output_tokens": ("tokens", "tokens of an answer at the latency's percentile"),
    "held_cv": (
        "ratio",
        "variation of the tokens of requests with their answers, where no context is stated",
    ),
}
"""Facts of a job that no field states, with unit and meaning; further tables follow below."""
_NAMED = {
    "model": ("text", "model id of the catalog"),
    "family": ("text", "family whose shape a bare parameter count takes"),
}
_MODEL = {
    "draft_parameters_b": ("10^9 parameters", "parameters of the draft model"),
    "draft_layers": ("layers", "layers of the draft model that keep keys and values"),
    "draft_kv_heads": ("heads", "key and value heads of the draft model"),
    "draft_head_dim": ("elements", "width of one key head of the draft model"),
}
_GPU = {
    "gpu_type": ("text", "GPU type id of the catalog"),
    "gpu_family": ("text", "family that support lists name, such as h100"),
    "gpu_vendor": ("text", "maker of the GPU"),
    "gpu_memory_gb": ("GB", "memory of one GPU as marketed, GB of 10^9 bytes"),
    "gpu_driver_memory_mib": ("MiB", "memory of one GPU as its driver reports it"),
    "gpu_bf16_tflops": ("TFLOPS", "peak dense bf16 throughput of one GPU"),
    "gpu_bandwidth_gb_per_s": ("GB/s", "memory bandwidth of one GPU"),
    "gpu_nvlink": ("true/false", "whether a switched fabric joins the GPUs"),
    "gpus_per_node": ("GPUs", "GPUs in the largest catalogued node of this GPU type"),
    "nodes_joined": (
        "true/false",
        "whether a network joins the largest catalogued nodes of this GPU type",
    ),
    "fabric_gb_per_s": (
        "GB/s",
        "what the largest catalogued node of this GPU type moves to other nodes one way, if known",
    ),
    "mig_profile": ("text", "MIG profile, where the GPU is a partition of one"),
    "partition_memory_gib": ("GiB", "memory of the partition as its driver reports it"),
    "partition_compute_slices": ("slices", "compute slices of the partition"),
    "partition_memory_slices": ("slices", "memory slices of the partition"),
    "gpu_compute_slices": ("slices", "compute slices of the whole GPU"),
    "gpu_memory_slices": ("slices", "memory slices of the whole GPU"),
    "whole_gpu_bf16_tflops": ("TFLOPS", "bf16 throughput of the GPU that is divided"),
    "whole_gpu_bandwidth_gb_per_s": ("GB/s", "memory bandwidth of the GPU that is divided"),
    "gpu_shared": ("true/false", "whether others share the GPU by memory"),
}
_SETTINGS = {
    "headroom": ("share", "share of each GPU's memory kept free"),
    "run_utilization": ("share", "share of its hours in which a run makes progress"),
    "memory_margin": ("share", "share added to an expected peak of memory"),
    "discount_rate_per_year": ("share", "rate at which later money counts less"),
    "useful_life_years": ("years", "straight-line life of a node"),
    "support_share_per_year": ("share", "support as a share of the purchase price"),
    "energy_usd_per_kwh": ("USD/kWh", "price of electricity"),
    "pue": ("ratio", "facility power over computer power"),
    "hours_per_quarter": ("h", "hours in a quarter"),
    "deployed_bits": ("bit", "weight width of a deployed full fine-tune"),
    "deployment_delay_quarters": ("quarters", "quarters from tuning to serving"),
    "far_off_price_factor": ("times", "how far from the price book is remarked on"),
    "steep_discount_rate": ("share", "yearly discount rate above which is asked"),
    "steep_optimism_bias": ("share", "optimism bias above which is asked"),
    "steep_growth_per_quarter": ("share", "growth above which a plan asks"),
    "stale_price_days": ("days", "age above which a price is called old"),
    "long_lead_time_weeks": ("weeks", "lead time above which days are asked about"),
    "far_off_need_factor": ("times", "how far above the need a limit is asked about"),
    "dear_hours_factor": (
        "times",
        "how many times what its runs cost by the hour a node may cost before it is asked about",
    ),
    "cramped_concurrency_factor": (
        "times",
        "how many times the GPUs a stated concurrency may take before it is asked about",
    ),
    "idle_budget_factor": ("times", "how far above the cost a budget is asked about"),
    "odd_parameters_share": ("share", "how far from its shape a model is asked about"),
    "steep_share_kept_free": ("share", "share kept free above which a plan asks"),
    "usual_colocation_usd_per_kw_month": (
        "USD/kW/month",
        "price of colocation, far from which is asked",
    ),
    "usual_licence_usd_per_gpu_year": (
        "USD/GPU/year",
        "price of a software licence, far from which is asked",
    ),
    "usual_network_usd_per_port": ("USD/port", "price of a network port, far from which is asked"),
    "usual_move_cost_usd": ("USD/move", "cost of a move, far above which is asked"),
    "usual_usd_per_million_tokens": (
        "USD/10^6 tokens",
        "price of an API, far from which is asked",
    ),
    "wide_price_factor": ("times", "how far from a usual price that differs widely is asked"),
}


def _listed(
    origin: FactOrigin, table: Mapping[str, tuple[str, str]], **choices: tuple[str, ...]
) -> Iterator[Fact]:
    """Return the facts of one table; some can only be these words."""
    for name, (unit, meaning) in table.items():
        yield Fact(name, origin, unit, meaning, choices.get(name, ()))


_FACTS = (
    *_listed("job", {"kind": ("text", "what the job does")}, kind=("tune", "serve", "fixed")),
    *(fact for section in _SECTIONS for fact in _stated(section)),
    *_listed("job", _JOB),
    *_listed("model", _NAMED, family=get_args(Family)),
    *_stated(Model, "model"),
    *_listed("model", _MODEL),
    *_listed("gpu", _GPU, gpu_vendor=("nvidia", "amd", "intel")),
    *_listed("count", {"gpus_tried": ("GPUs", "the number of GPUs that is being tried")}),
    *_listed("setting", _SETTINGS),
)

FACTS: Final[dict[str, Fact]] = {fact.name: fact for fact in _FACTS}
"""Every fact by name, in the order in which the documentation lists them."""

SETTINGS: Final[dict[str, Fact]] = {
    name: fact for name, fact in FACTS.items() if fact.origin == "setting"
}
"""What a policy rule may set."""

UNITS: Final = frozenset(fact.unit for fact in FACTS.values()).union(
    ("GPUs of 80 GB", "copies", "matrices", "nodes", "parts", "replicas", "runs"),
    ("B/element", "B/parameter", "B/token", "bytes per token", "MB/token", "GB/pass"),
    ("10^6 elements/token", "GFLOP/token", "ms/layer", "s", "s/pass", "us/token"),
    ("tokens/pass", "tokens/s", "deviations"),
)
"""Every unit that a rule may give its result in: those of the facts, and of results alone."""
