"""The vocabulary of rules: every fact that a rule may ask for, with its unit and meaning.

A fact is known from the job, the model, the GPU type or a setting before any rule has spoken. What
a field of a job or a model means to rules stands at the field (`AsFact`); here are the others.
What rules compute carries a name of its own (`result`) and may stand in for a fact that is unknown.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal, get_args

from pydantic import BaseModel

from planner.inputs.base import AsFact, plain_types
from planner.inputs.catalog.catalog import Model
from planner.inputs.scenario.job import Adapters, Family, Fixed, Parallelism, Serve, Tune
from planner.inputs.scenario.load import Disaggregated, Latency, Load, Speculative

FactKind = Literal["number", "text", "truth"]


@dataclass(frozen=True, slots=True)
class Fact:
    """One named fact: where it comes from, its unit and what it means."""

    name: str
    origin: Literal["job", "model", "gpu", "count", "setting"]
    unit: str
    told: str | AsFact
    """What it means, or the field that says so."""
    choices: tuple[str, ...] = ()
    """Values that a text fact can take; empty where any text can stand."""

    @property
    def kind(self) -> FactKind:
        """What it is to a formula, by its unit."""
        return _KINDS.get(self.unit, "number")

    @property
    def meaning(self) -> str:
        """What it means, in a few words."""
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


def _stated(model: type[BaseModel], origin: Literal["job", "model"] = "job") -> Iterator[Fact]:
    """What a section of a job states of itself, or the catalog of a model, as fields are marked."""
    for name, marker in AsFact.of(model).items():
        types = plain_types(model.model_fields[name].annotation)
        choices = tuple(choice for choice in types if isinstance(choice, str))
        text, truth = bool(choices) or str in types, bool in types
        unit = "text" if text else "true/false" if truth else marker.unit
        yield Fact(marker.fact, origin, unit, marker, choices)


_FACTS = (
    Fact("kind", "job", "text", "what the job does", ("tune", "serve", "fixed")),
    *(fact for section in _SECTIONS for fact in _stated(section)),
    Fact(
        "batch_and_sequence_stated",
        "job",
        "true/false",
        "whether a tuning job states both batch and sequence",
    ),
    Fact("window_hours", "job", "h", "hours from release to deadline within a quarter"),
    Fact("run_hours_stated", "job", "h", "hours that one run takes, if the job states them"),
    Fact(
        "memory_calibration",
        "job",
        "ratio",
        "what measured runs of your own multiply expected peaks by, if there are any",
    ),
    Fact(
        "hours_calibration",
        "job",
        "ratio",
        "what measured runs of your own multiply the hours of a tuning run by, if there are any",
    ),
    Fact(
        "serving_calibration",
        "job",
        "ratio",
        "what measured runs of your own multiply times of steps and prompts by, if there are any",
    ),
    Fact(
        "first_token_delay_steps",
        "job",
        "steps",
        "decoding steps that first tokens of your own measured runs came later than expected",
    ),
    Fact(
        "context_and_concurrency_stated",
        "job",
        "true/false",
        "whether it is known how many requests of which length a replica holds",
    ),
    Fact(
        "engine_release",
        "job",
        "release",
        "version of the engine that serves: its first number, and its second in hundredths",
    ),
    Fact(
        "closed_loop_clients",
        "job",
        "requests",
        "clients that each ask anew when they are answered, of a measured run that had such",
    ),
    Fact(
        "clients_in_step",
        "job",
        "requests",
        "those of them that ask anew together, as their requests are alike",
    ),
    Fact("has_adapters", "job", "true/false", "whether adapters are served"),
    Fact("gpu_partitioned", "job", "true/false", "whether a GPU partition is asked for"),
    Fact("stated_gpus", "job", "GPUs", "number of GPUs that a job states"),
    Fact("model", "model", "text", "model id of the catalog"),
    Fact(
        "family",
        "model",
        "text",
        "family whose shape a bare parameter count takes",
        get_args(Family),
    ),
    *_stated(Model, "model"),
    Fact("long_input_tokens", "job", "tokens", "tokens of a request at the latency's percentile"),
    Fact("long_output_tokens", "job", "tokens", "tokens of an answer at the latency's percentile"),
    Fact(
        "held_cv",
        "job",
        "ratio",
        "variation of the tokens of requests with their answers, where no context is stated",
    ),
    Fact("draft_parameters_b", "model", "10^9 parameters", "parameters of the draft model"),
    Fact("draft_layers", "model", "layers", "layers of the draft model that keep keys and values"),
    Fact("draft_kv_heads", "model", "heads", "key and value heads of the draft model"),
    Fact("draft_head_dim", "model", "elements", "width of one key head of the draft model"),
    Fact("gpu_type", "gpu", "text", "GPU type id of the catalog"),
    Fact("gpu_family", "gpu", "text", "family that support lists name, such as h100"),
    Fact("gpu_vendor", "gpu", "text", "maker of the GPU", ("nvidia", "amd", "intel")),
    Fact("gpu_memory_gb", "gpu", "GB", "memory of one GPU as marketed, GB of 10^9 bytes"),
    Fact("gpu_driver_memory_mib", "gpu", "MiB", "memory of one GPU as its driver reports it"),
    Fact("gpu_bf16_tflops", "gpu", "TFLOPS", "peak dense bf16 throughput of one GPU"),
    Fact("gpu_bandwidth_gb_per_s", "gpu", "GB/s", "memory bandwidth of one GPU"),
    Fact("gpu_nvlink", "gpu", "true/false", "whether a switched fabric joins the GPUs"),
    Fact("gpus_per_node", "gpu", "GPUs", "GPUs in the largest catalogued node of this GPU type"),
    Fact(
        "nodes_joined",
        "gpu",
        "true/false",
        "whether a network joins the largest catalogued nodes of this GPU type",
    ),
    Fact(
        "fabric_gb_per_s",
        "gpu",
        "GB/s",
        "what the largest catalogued node of this GPU type moves to other nodes one way, if known",
    ),
    Fact("mig_profile", "gpu", "text", "MIG profile, where the GPU is a partition of one"),
    Fact("partition_memory_gib", "gpu", "GiB", "memory of the partition as its driver reports it"),
    Fact("partition_compute_slices", "gpu", "slices", "compute slices of the partition"),
    Fact("partition_memory_slices", "gpu", "slices", "memory slices of the partition"),
    Fact("gpu_compute_slices", "gpu", "slices", "compute slices of the whole GPU"),
    Fact("gpu_memory_slices", "gpu", "slices", "memory slices of the whole GPU"),
    Fact("whole_gpu_bf16_tflops", "gpu", "TFLOPS", "bf16 throughput of the GPU that is divided"),
    Fact(
        "whole_gpu_bandwidth_gb_per_s", "gpu", "GB/s", "memory bandwidth of the GPU that is divided"
    ),
    Fact("gpu_shared", "gpu", "true/false", "whether others share the GPU by memory"),
    Fact("gpus_tried", "count", "GPUs", "the number of GPUs that is being tried"),
    Fact("headroom", "setting", "share", "share of each GPU's memory kept free"),
    Fact("run_utilization", "setting", "share", "share of its hours in which a run makes progress"),
    Fact("memory_margin", "setting", "share", "share added to an expected peak of memory"),
    Fact("discount_rate_per_year", "setting", "share", "rate at which later money counts less"),
    Fact("useful_life_years", "setting", "years", "straight-line life of a node"),
    Fact("support_share_per_year", "setting", "share", "support as a share of the purchase price"),
    Fact("energy_usd_per_kwh", "setting", "USD/kWh", "price of electricity"),
    Fact("pue", "setting", "ratio", "facility power over computer power"),
    Fact("hours_per_quarter", "setting", "h", "hours in a quarter"),
    Fact("deployed_bits", "setting", "bit", "weight width of a deployed full fine-tune"),
    Fact("deployment_delay_quarters", "setting", "quarters", "quarters from tuning to serving"),
    Fact("far_off_price_factor", "setting", "times", "how far from the price book is remarked on"),
    Fact("steep_discount_rate", "setting", "share", "yearly discount rate above which is asked"),
    Fact("steep_optimism_bias", "setting", "share", "optimism bias above which is asked"),
    Fact("steep_growth_per_quarter", "setting", "share", "growth above which a plan asks"),
    Fact("stale_price_days", "setting", "days", "age above which a price is called old"),
    Fact("long_lead_time_weeks", "setting", "weeks", "lead time above which days are asked about"),
    Fact(
        "far_off_need_factor", "setting", "times", "how far above the need a limit is asked about"
    ),
    Fact(
        "dear_hours_factor",
        "setting",
        "times",
        "how many times what its runs cost by the hour a node may cost before it is asked about",
    ),
    Fact(
        "cramped_concurrency_factor",
        "setting",
        "times",
        "how many times the GPUs a stated concurrency may take before it is asked about",
    ),
    Fact(
        "idle_budget_factor", "setting", "times", "how far above the cost a budget is asked about"
    ),
    Fact(
        "odd_parameters_share", "setting", "share", "how far from its shape a model is asked about"
    ),
    Fact("steep_share_kept_free", "setting", "share", "share kept free above which a plan asks"),
    Fact(
        "usual_colocation_usd_per_kw_month",
        "setting",
        "USD/kW/month",
        "price of colocation, far from which is asked",
    ),
    Fact(
        "usual_licence_usd_per_gpu_year",
        "setting",
        "USD/GPU/year",
        "price of a software licence, far from which is asked",
    ),
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
