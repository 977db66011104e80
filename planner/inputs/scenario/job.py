"""One thing to place: a job that tunes a model, serves one, or states its own needs."""

from __future__ import annotations

import re
from fractions import Fraction
from math import ceil
from typing import TYPE_CHECKING, Annotated, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from planner.inputs.base import (
    LARGEST_COUNT_PER_QUARTER,
    PRIORITIES,
    AsFact,
    Bits,
    Count,
    Different,
    Droppable,
    Frozen,
    KvBits,
    Name,
    Names,
    NotNegative,
    OneOrMoreWidths,
    ParametersB,
    PositiveCount,
    PositiveNumber,
    Priority,
    Share,
    SomeDifferent,
    Switch,
    exactly_one,
)
from planner.inputs.scenario.horizon import CountByQuarter, Quarters, Run, in_force
from planner.inputs.scenario.load import Disaggregated, Latency, Load, Speculative

if TYPE_CHECKING:
    from planner.inputs.scenario.horizon import Horizon

SERVING_SUFFIX = "-serving"
"""Follows the name of a tuning job in that of the job which serves its model."""

Method = Literal["full", "lora", "qlora", "p-tuning"]
Family = Literal["llama", "mistral", "qwen", "granite", "gemma"]
Precision = Literal["bf16", "bf16-mixed", "fp16", "fp16-mixed", "fp32", "fp8", "fp4"]
Engine = Literal["vllm", "sglang", "tensorrt-llm"]
Optimizer = Literal[
    "adamw",
    "adamw-fused",
    "adamw-8bit",
    "paged-adamw-8bit",
    "paged-adamw-32bit",
    "adafactor",
    "sgd",
]
LossKernel = Literal[
    "plain",
    "plain-kept-logits",
    "plain-fp32-logits",
    "plain-16bit",
    "chunked",
    "compiled",
    "fused",
    "fused-linear",
    "no-logits",
]
Sharding = Literal["none", "ddp", "zero-1", "zero-2", "zero-3", "fsdp", "fsdp2", "megatron"]

Replicas = Annotated[PositiveCount, Field(le=10_000)]
GpusOfUnit = Annotated[PositiveCount, Field(le=1024)]
"""GPUs of one run, one replica or one unit of a fixed job."""


class Adapters(Frozen):
    """LoRA or QLoRA adapters (or tuned prompts) served beside one base model."""

    count: Annotated[PositiveCount, AsFact("adapters", fact="adapters")]
    """Adapters served at once."""
    size_gb: Annotated[PositiveNumber, AsFact("GB", fact="adapter_gb")]
    """Size of one adapter."""


class Deploy(Frozen):
    """Serve the tuned model from the quarter after it is tuned."""

    replicas: Replicas = 1
    """Replicas for each unit tuned at once."""
    bits: Bits | None = None
    """Weight width of a deployed full fine-tune (LoRA keeps 16, QLoRA that of its base); rule
    `policies/deployed-bits` if left out."""
    adapter_gb: PositiveNumber | None = None
    """Size of the tuned adapter; rule `storage/tuned-asset` if left out."""


_Ways = Annotated[PositiveCount, Field(le=1024)]


class Parallelism(Frozen):
    """How several GPUs share each sequence; those that are left read sequences of their own."""

    tensor: Annotated[PositiveCount, Field(le=8), AsFact("GPUs", fact="tensor_gpus")] = 1
    """GPUs that split each layer (`tensor_model_parallel_size`)."""
    pipeline: Annotated[_Ways, AsFact("GPUs", fact="pipeline_gpus")] = 1
    """GPUs that hold the layers in turn (`pipeline_model_parallel_size`), by 1F1B."""
    virtual_pipeline: Annotated[_Ways, AsFact("stages", fact="virtual_stages")] = 1
    """Stages of the pipeline on each of its GPUs (`virtual_pipeline_model_parallel_size`)."""
    context: Annotated[_Ways, AsFact("GPUs", fact="context_gpus")] = 1
    """GPUs that share out the tokens of a sequence (`context_parallel_size`, Ulysses)."""
    expert: Annotated[_Ways, AsFact("GPUs", fact="expert_gpus")] = 1
    """GPUs that share out the routed experts of a mixture (`expert_model_parallel_size`), among
    those that `pipeline` leaves."""


class _OneModel(Frozen):
    """What is tuned or served: a model of the catalog, or one of so many parameters."""

    model: str | None = None
    """Model id of the catalog; or give `parameters_b`."""
    parameters_b: ParametersB | None = None
    """Its parameters in billions, if the catalog does not know it."""
    family: Family | None = None
    """With `parameters_b`: the family whose shape it has."""

    _given_once = exactly_one(
        "model",
        "parameters_b",
        told="give either `model` (an id of the catalog) or `parameters_b`",
    )

    @model_validator(mode="after")
    def _shape_known_once(self) -> Self:
        if self.model is not None and self.family is not None:
            message = f"`family` goes with `parameters_b`; the shape of {self.model!r} is known"
            raise ValueError(message)
        return self


class Tune(_OneModel):
    """A tuning job."""

    method: Annotated[Method, AsFact()]
    """How the model is tuned."""
    objective: Annotated[Literal["sft", "dpo", "grpo", "ppo"], AsFact()] = "sft"
    """What is learned from. `sft`: samples; `dpo`: pairs of a better and a worse answer; `grpo`:
    rewards of the model's own answers (`sequence` holds prompt and answer); `ppo`: as `grpo`, with
    a trained value model and a frozen reward model."""
    reference_model: Annotated[bool | None, AsFact()] = None
    """Whether a frozen copy of the model is held beside it (full fine-tunes by `dpo`, `grpo` and
    `ppo`; adapters need none); `true` for `dpo`, unless `precompute_ref_log_probs` of TRL, and
    `ppo`, `false` for `grpo` (`beta` of 0), if left out."""
    reward_parameters_b: Annotated[
        Annotated[NotNegative, Field(le=100_000)] | None, AsFact("10^9 parameters")
    ] = None
    """Parameters of the reward model (`ppo`), 0 where rewards come from elsewhere; the tuned
    model's, by rule `tuning/reward-share-as-policy`, if left out."""
    value_parameters_b: Annotated[ParametersB | None, AsFact("10^9 parameters")] = None
    """Parameters of the value model, or critic (`ppo`); the reward model's, by rule
    `tuning/models-trained-as-reward`, if left out."""
    rollout_share: Annotated[Annotated[Share, Field(ge=0, lt=1)] | None, AsFact("share")] = None
    """Share of each GPU's memory that a rollout engine holds while training (`grpo` and `ppo`;
    `vllm_gpu_memory_utilization`), 0 where it sleeps or has GPUs of its own; rule
    `tuning/rollout-share` if left out."""
    rollout_tokens: Annotated[PositiveCount | None, AsFact("tokens")] = None
    """Tokens of a sequence that the model gives itself on the GPUs of the run (`grpo` and `ppo`),
    which adds to its hours; none if left out."""
    precision: Annotated[Precision | None, AsFact()] = None
    """Data type that is trained; `-mixed` keeps 32-bit master weights, `fp8` and `fp4` multiply in
    8 and 4 bit and keep weights as `bf16-mixed` (full fine-tunes) or `bf16`; `bf16-mixed` for full
    fine-tunes and QLoRA of a known shape, otherwise `bf16`, if left out."""
    base_bits: Annotated[Bits | None, AsFact("bit", fact="weight_bits")] = None
    """Width of the weights as loaded: 16 for LoRA and p-tuning, 8 or 4 for QLoRA; rules
    `tuning/base-*` if left out."""
    double_quantization: Annotated[bool, AsFact()] = True
    """Whether the scales of a 4-bit base are quantized, too (QLoRA)."""
    gpus: Annotated[GpusOfUnit | None, AsFact("GPUs", fact="stated_gpus")] = None
    """Number of GPUs of a run, if it is fixed; the fewest that hold it and meet its deadline if
    left out."""
    optimizer: Annotated[Optimizer, AsFact()] = "adamw"
    """Optimizer; `adamw` is the unfused one of PyTorch."""
    optimizer_in_backward: Annotated[bool, AsFact()] = False
    """Whether each parameter is stepped within the backward pass (`optimizer_in_bwd` of torchtune;
    full fine-tunes in one pass per step)."""
    batch: Annotated[PositiveCount | None, AsFact("sequences")] = None
    """Sequences per optimizer step, over all GPUs; a multiple of `micro_batch` ×
    `gradient_accumulation`."""
    sequence: Annotated[PositiveCount | None, AsFact("tokens")] = None
    """Maximum sequence length; not above what the model takes."""
    gradient_accumulation: Annotated[PositiveCount, AsFact("passes")] = Field(
        default=1, validate_default=True
    )
    """Gradient accumulation steps. Left out beside `batch`: as many as `micro_batch` takes, or
    the fewest with which the job takes the fewest GPUs."""
    micro_batch: Annotated[PositiveCount | None, AsFact("sequences")] = None
    """Sequences per GPU and pass; what batch, GPUs and accumulation leave if left out."""
    gradient_checkpointing: Annotated[Literal["on", "off", "selective", "offloaded"], AsFact()] = (
        "on"
    )
    """Gradient checkpointing. `on`: activations are computed again; `off`: all are kept;
    `selective`: attention and every second matrix product are kept; `offloaded`: as `on`, with the
    inputs of layers in host memory (Unsloth, `enable_activation_offloading` of torchtune)."""
    attention_kernel: Annotated[Literal["flash", "sdpa", "cudnn", "masked", "eager"], AsFact()] = (
        "sdpa"
    )
    """Attention kernel: `sdpa` (PyTorch), `flash` (FlashAttention 2) and `cudnn` (cuDNN,
    Transformer Engine, FlashAttention 3 and 4) skip what a token may not see; `masked` computes
    that, too (ALiBi, padding); `eager` keeps the whole matrix of scores."""
    loss_kernel: Annotated[LossKernel, AsFact()] = "plain"
    """Loss kernel: `plain` has the logits and their loss in 32 bit, `plain-16bit` in 16 bit,
    `plain-kept-logits` keeps the model's logits beside them, `plain-fp32-logits` keeps them
    widened; `chunked` widens 16-bit logits a part at a time, `compiled` not in memory; `fused` has
    logits and loss in one kernel; `fused-linear` (Liger, cut cross-entropy) never holds all logits;
    `no-logits` has none (embedding models, rerankers, classifiers)."""
    layer_kernels: Annotated[Literal["plain", "fused"], AsFact()] = "plain"
    """Kernels of norms and gates; `fused`: one each (Liger, Transformer Engine, Unsloth,
    torch.compile)."""
    expert_kernels: Annotated[Literal["plain", "fused"], AsFact()] = "plain"
    """Kernels around the experts of a mixture; `plain`: what each token looks up is summed up again
    row by row (transformers); `fused`: in kernels of their own (Megatron, NeMo Automodel)."""
    packing: Annotated[bool, AsFact()] = True
    """Whether all samples are as long as `sequence`; if not, the allocator's cache grows, not the
    need."""
    sharding: Annotated[Sharding, AsFact()] = "fsdp"
    """What data-parallel GPUs share; `none`: one GPU, `fsdp2`: `fully_shard` of PyTorch, `fsdp`:
    its predecessor, `megatron`: the distributed optimizer of Megatron."""
    parallelism: Parallelism | None = None
    """How several GPUs share each sequence, beside `sharding`; none if left out."""
    sync_each_batch: Annotated[bool | None, AsFact()] = None
    """Whether FSDP reduces gradients in every pass (with accumulation), so that only a shard of
    them stays; `fsdp2` does and `fsdp` does not if left out."""
    loading: Annotated[Literal["sharded", "whole"], AsFact()] = "sharded"
    """What of a sharded model each GPU holds at the start (with `fsdp`, `fsdp2` or `zero-3`): its
    shard, or the whole model (DeepSpeed without `zero.Init`)."""
    offload: Annotated[Literal["none", "optimizer", "all"], AsFact()] = "none"
    """What is kept in host memory: nothing, optimizer states, or these and the weights."""
    dataset_tokens: Annotated[Annotated[PositiveNumber, Field(ge=1)] | None, AsFact("tokens")] = (
        None
    )
    """Size of the data set; without it and without `run`, the job holds its GPUs all quarter."""
    epochs: Annotated[PositiveNumber, AsFact("passes")] = Field(default=1, validate_default=True)
    """Epochs (passes over the data set)."""
    deadline_hours: Annotated[PositiveNumber | None, AsFact("h", fact="hours_allowed")] = None
    """Hours that one run may take; one that would miss it takes more GPUs; a quarter, by rule
    `time/quarter`, if left out."""
    adapter_rank: Annotated[PositiveCount | None, AsFact("rank")] = None
    """Rank of the LoRA matrices (LoRA and QLoRA); rule `tuning/lora-parameters` if left out."""
    adapter_targets: Annotated[Literal["qv", "attention", "mlp", "all-linear"], AsFact()] = (
        "all-linear"
    )
    """Matrices that get an adapter: queries and values, all of attention, all of the feed-forward
    block, or both."""
    adapter_precision: Annotated[Literal["bf16", "fp32"], AsFact()] = "fp32"
    """Data type of the adapter's weights."""
    adapter_dropout: Annotated[bool, AsFact()] = True
    """Whether adapters have dropout (`lora_dropout` above 0), which keeps a copy of their input
    without checkpointing."""
    adapter_dora: Annotated[bool, AsFact()] = False
    """Whether adapters train the magnitude of each matrix apart (`use_dora` of PEFT; LoRA and
    QLoRA)."""
    adapter_units: Annotated[Literal["own", "shared"], AsFact()] = "own"
    """FSDP units of adapters and base: `own` (PEFT), or `shared` with gradients of both
    (LitGPT)."""
    embeddings_trained: Annotated[bool, AsFact()] = False
    """Whether embeddings and output head are trained in full beside adapters (`modules_to_save` of
    PEFT; LoRA and QLoRA)."""
    gpu_partition: Annotated[str | None, AsFact()] = None
    """MIG profile to run on; rule `exclusions/no-tuning-on-partitioned-gpu` refuses it."""
    deploy: Annotated[Deploy | None, Switch] = None
    """Derive the job `NAME-serving`, which serves the tuned model; `true` is enough."""

    @property
    def usual_precision(self) -> Precision:
        """What is trained where the job does not say.

        In 32 bit, unless a 16-bit base is frozen; published formulas, which decide where there is
        no shape, count everything twice then and are meant for 16 bit.
        """
        has_shape = self.model is not None or self.family is not None
        return "bf16-mixed" if has_shape and self.method in ("full", "qlora") else "bf16"

    @model_validator(mode="after")
    def _passes_make_the_batch(self) -> Tune:
        if self.batch is None:
            return self
        passes = (self.micro_batch or 1) * self.gradient_accumulation
        if self.batch % passes:
            odd = "less than" if passes > self.batch else "no multiple of what"
            raise ValueError(
                f"a batch of {self.batch} is {odd} one GPU takes in a step: micro-batch "
                f"{self.micro_batch or 1} × gradient accumulation {self.gradient_accumulation} "
                f"= {passes}"
            )
        split = self.parallelism or Parallelism()
        groups = (self.gpus or 1) // (split.tensor * split.pipeline * split.context)
        if self.micro_batch is not None and groups * passes > self.batch:
            raise ValueError(
                f"a batch of {self.batch} is less than {self.gpus} GPUs take in a step: each "
                f"micro-batch {self.micro_batch} × gradient accumulation "
                f"{self.gradient_accumulation}"
            )
        return self


RELEASE = re.compile(r"v?[0-9]+\.[0-9]+[\w.+-]{0,40}", re.ASCII)
"""A version of an engine: at least its first two numbers."""


def _release(version: str) -> str:
    if not RELEASE.fullmatch(version):
        raise ValueError(f"{version!r} is not a version of an engine, write it as 0.6.1")
    return version


_OF_LOAD = {
    "latency": "what arrives decides how long users wait",
    "mixed": "it is what GPU types share",
    "disaggregated": "it says how much each phase must take",
}
"""Keys that go with `load`, and why."""


class Serve(_OneModel):
    """A serving job: one model behind one endpoint, in replicas."""

    bits: Annotated[OneOrMoreWidths[Bits], AsFact("bit", fact="weight_bits")] = 16
    """Width of the weights as loaded; left out, the published width where it is known."""
    context: Annotated[PositiveCount | None, AsFact("tokens")] = None
    """Tokens that one request may hold, prompt and answer; what `load` says if left out."""
    concurrency: Annotated[PositiveCount | None, AsFact("requests")] = None
    """Requests that one replica holds at once; chosen on each GPU type, beside `load`, if left
    out."""
    kv_bits: Annotated[OneOrMoreWidths[KvBits], AsFact("bit")] = 16
    """Width of cached keys and values."""
    adapters: Adapters | None = None
    """Adapters beside the base model; none if left out."""
    load: Load | None = None
    """What arrives; the number of replicas follows from it."""
    latency: Latency | None = None
    """How long users will wait; goes with `load`."""
    engine: Annotated[Engine | None, AsFact()] = None
    """Engine that serves: its defaults decide what memory it fills; vLLM if left out."""
    engine_version: Annotated[str, AfterValidator(_release)] | None = None
    """Its version, such as 0.6.1; older ones are slower."""
    speculative: Speculative | None = None
    """How tokens are proposed and verified, several in a step; one at a time if left out."""
    disaggregated: Annotated[Disaggregated | None, Switch] = None
    """Prefill and decode on engines of their own (`true`: the planner says how many); goes with
    `load`."""
    gpus_per_replica: Annotated[GpusOfUnit | None, AsFact("GPUs", fact="stated_gpus")] = None
    """Number of GPUs of each replica (of each of its engines, if `disaggregated`), if it is fixed;
    chosen on each GPU type if left out."""
    replicas: Replicas | None = None
    """Replicas side by side; 1, without `load`, if left out."""
    mixed: bool = False
    """Whether replicas on several GPU types share its traffic; goes with `load`."""
    whole_gpu: bool = False
    """Whether each replica must have its GPUs to itself where policies let others share."""

    @model_validator(mode="after")
    def _version_of_an_engine(self) -> Serve:
        if self.engine_version is not None and self.engine is None:
            raise ValueError("`engine_version` goes with `engine`: say of which")
        return self

    @model_validator(mode="after")
    def _context_with_concurrency(self) -> Serve:
        if self.load is None and (self.context is None) != (self.concurrency is None):
            given, missing = ("context", "concurrency")
            if self.context is None:
                given, missing = missing, given
            raise ValueError(f"`{given}` needs `{missing}` beside it: both size the KV cache")
        return self

    @model_validator(mode="after")
    def _goes_with_load(self) -> Serve:
        if self.load is not None and self.replicas is not None:
            raise ValueError("give either `replicas` or `load`, from which the replicas follow")
        for key, why in _OF_LOAD.items():
            if self.load is None and getattr(self, key):
                raise ValueError(f"`{key}` needs `load`: {why}")
        return self

    @model_validator(mode="after")
    def _lengths_at_the_percentile(self) -> Serve:
        """No distribution is assumed: what the percentile of the latency asks for must stand."""
        asked = None if self.latency is None else self.latency.percentile
        for key in ("input_percentiles", "output_percentiles"):
            lengths = None if self.load is None else getattr(self.load, key)
            if lengths and lengths.stated and asked is not None and lengths.at(asked) is None:
                raise ValueError(
                    f"`latency` is asked for at the {asked}th percentile, of which `{key}` says "
                    f"nothing: add `p{asked}`, or ask at one of "
                    + ", ".join(name.removeprefix("p") for name in lengths.stated)
                )
        return self


class Fixed(Frozen):
    """A job that states its own needs."""

    gpus: Annotated[GpusOfUnit | None, AsFact("GPUs")] = None
    """GPUs; or give `gpu_memory_gb`."""
    gpu_memory_gb: Annotated[PositiveNumber | None, AsFact("GB", fact="memory_gb")] = None
    """Memory over all its GPUs; their number follows as for serving."""
    cpus: Annotated[Count, AsFact("cores")] = 0
    """Host CPU cores."""
    memory_gb: Annotated[NotNegative, AsFact("GB", fact="host_memory_gb")] = Field(
        default=0, validate_default=True
    )
    """Host memory."""

    _some_need = exactly_one("gpus", "gpu_memory_gb", told="give either `gpus` or `gpu_memory_gb`")


class Job(Frozen):
    """One thing to place, or many alike."""

    tune: Tune | None = None
    """Tune a model."""
    serve: Serve | None = None
    """Serve a model."""
    fixed: Fixed | None = None
    """Anything else that states its own needs."""
    quarters: Quarters = None
    """When it is active; all if left out."""
    count: CountByQuarter = 1
    """How many alike; by quarter, none before the first, and `0` ends them."""
    growth_per_quarter: Annotated[Share, Field(gt=-1, le=LARGEST_COUNT_PER_QUARTER)] | None = None
    """Growth of `count` from its first active quarter on, rounded up; none if left out."""
    runs_per_quarter: Annotated[PositiveCount, Field(le=10_000)] = 1
    """How often each unit of a tuning job of known length runs in a quarter."""
    api: Literal["forbidden", "allowed"] = "forbidden"
    """Whether one of `apis` may answer a serving job with a load; prompts and answers then leave
    the house."""
    run: Run | None = None
    """How long a run takes, and when it may run; all quarter, except for a tuning job of known
    length, if left out."""
    gpu_types: SomeDifferent[str] | None = None
    """GPU types it may use; all that the rules allow if left out."""
    sites: Names | None = None
    """Sites it may run at; all if left out."""
    labels: Different[Name] = ()
    """Labels that a site must all carry."""
    team: Name | None = None
    """Who asks for it and pays for it."""
    priority: Priority = PRIORITIES["normal"]
    """Who is kept where not everything fits, highest first; `low` is 25, `normal` 50, `high` 75."""
    required: bool = False
    """Whether it may never be dropped, though it may slip."""
    may_slip_quarters: Annotated[Count, Field(le=39)] = 0
    """By how many quarters it may start later where not everything fits."""
    droppable: Droppable | None = None
    """How many of its units may not run in a quarter where not everything fits; kept whole or
    dropped if left out."""
    may_change_gpu_type: bool | None = None
    """Whether a unit may change its GPU type between quarters; as `policies` say if left out."""
    pinned: bool = False
    """Whether its units that run today must stay where they are."""
    move_cost_usd: NotNegative | None = None
    """Cost of moving one of its running units to another pool; as `policies` say if left out."""
    owner: str | None = None
    """Who answers for it; for the documents, as are the next two."""
    benefit: str | None = None
    """What it is worth, and how that is measured."""
    if_not_met: str | None = None
    """What happens if it does not run."""
    note: str | None = None
    """For readers; nothing is computed from it."""

    _one_kind = exactly_one(
        "tune",
        "serve",
        "fixed",
        told="a job has exactly one of `tune:`, `serve:` and `fixed:`",
    )

    @model_validator(mode="after")
    def _tokens_that_an_api_counts(self) -> Job:
        if self.api == "allowed" and self.load is None:
            raise ValueError("`api: allowed` goes with `serve: {load: …}`, whose tokens are paid")
        if self.api == "allowed" and self.serve and self.serve.adapters is not None:
            raise ValueError(
                "`api: allowed` goes with a model as it is published: leave out `adapters`, or "
                "`api`"
            )
        return self

    @model_validator(mode="after")
    def _replicas_that_come_and_go(self) -> Job:
        """Which of them run follows from the traffic of a quarter, so that none is told apart."""
        if not (self.serve and self.serve.mixed):
            return self
        if self.gpu_types and len(self.gpu_types) == 1:
            raise ValueError(
                f"`mixed` shares the load among GPU types, and only {self.gpu_types[0]} may be "
                "used: leave out `mixed`, or name more under `gpu_types`"
            )
        most = max(self.count.values()) if isinstance(self.count, dict) else self.count
        if most > 1 or self.growth_per_quarter is not None:
            raise ValueError(
                "`mixed` goes with one endpoint: state growth in `load`, and each endpoint as a "
                "job of its own, in place of `count`"
            )
        for key in ("droppable", "may_change_gpu_type"):
            if getattr(self, key) is not None:
                raise ValueError(
                    f"`{key}` is about units that are told apart; of `mixed` replicas, as many run "
                    "in each quarter as its traffic takes: leave one of them out"
                )
        return self

    @model_validator(mode="after")
    def _count_says_when(self) -> Job:
        if isinstance(self.count, dict) and (self.growth_per_quarter is not None or self.quarters):
            raise ValueError(
                "`count` by quarter already says when and how many; "
                "leave out `quarters` and `growth_per_quarter`"
            )
        return self

    @model_validator(mode="after")
    def _run_of_known_length(self) -> Job:
        if self.tune is None and self.runs_per_quarter != 1:
            more = "; `count` says how many times a fixed job runs" if self.fixed else ""
            raise ValueError(f"`runs_per_quarter` goes with `tune:`{more}")
        if self.run is None:
            if self.tune and self.tune.dataset_tokens is None and self.runs_per_quarter != 1:
                raise ValueError(
                    "`runs_per_quarter` needs `run: {hours: …}`, or `tune.dataset_tokens` to work "
                    "the hours out from: a run of unknown length holds its GPUs all quarter"
                )
            return self
        if self.serve is not None:
            raise ValueError("`run` goes with `tune:` and `fixed:`; a serving job is always on")
        if self.run.hours is None and self.fixed is not None:
            raise ValueError("`run` of a fixed job needs `hours`: nothing else says how long it is")
        if self.run.hours is None and self.tune is not None and self.tune.dataset_tokens is None:
            raise ValueError("`run` needs `hours`, or `tune.dataset_tokens` to work them out from")
        return self

    @property
    def kind(self) -> Literal["tune", "serve", "fixed"]:
        """Which of the three it is."""
        return "tune" if self.tune else "serve" if self.serve else "fixed"

    @property
    def load(self) -> Load | None:
        """What its replicas follow from; None where nothing says it."""
        return self.serve.load if self.serve else None

    def units(self, horizon: Horizon) -> tuple[int, ...]:
        """Units to place in each quarter: how many alike, times the replicas; of `mixed` endpoints.

        None in quarters without traffic.
        """
        replicas = (self.serve.replicas or 1) if self.serve else 1
        peaks = self.peaks(horizon)
        return tuple(
            count * replicas if not peaks or peaks[quarter] else 0
            for quarter, count in enumerate(self.counts(horizon))
        )

    def peaks(self, horizon: Horizon | None) -> tuple[Fraction, ...]:
        """Requests per second of a unit at the peak of each quarter; empty without a load.

        None in quarters in which it is not active, however late it starts.
        """
        if self.load is None:
            return ()
        if horizon is None:
            return self.load.peaks()
        counts, late = self.counts(horizon), self.may_slip_quarters
        begins = next((quarter for quarter, count in enumerate(counts) if count), 0)
        return tuple(
            peak if any(counts[max(0, quarter - late) : quarter + 1]) else Fraction()
            for quarter, peak in enumerate(self.load.peaks(horizon, begins))
        )

    def counts(self, horizon: Horizon) -> tuple[int, ...]:
        """How many alike in each quarter of the horizon; growth is exact and rounds up."""
        every = horizon.all_quarters
        if isinstance(self.count, dict):
            return tuple(in_force(self.count, quarter) or 0 for quarter in every)
        active = set(every if self.quarters is None else self.quarters)
        growth = 1 + Fraction(self.growth_per_quarter or 0)
        if growth == 1:
            return tuple(self.count if quarter in active else 0 for quarter in every)
        first = min(active & set(every), default=every[0])
        return tuple(
            ceil(self.count * growth ** (quarter - first)) if quarter in active else 0
            for quarter in every
        )
