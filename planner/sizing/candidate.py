"""The results of sizing, for packing and for reports."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from fractions import Fraction
from math import ceil
from typing import Annotated, Any, Literal

from pydantic import (
    SerializationInfo,
    SerializerFunctionWrapHandler,
    ValidationInfo,
    ValidatorFunctionWrapHandler,
    WrapSerializer,
    WrapValidator,
)

from planner.inputs.base import Frozen
from planner.inputs.scenario.quarter import RUN_HOURS
from planner.sizing.engine import DerivationStep, Trace

EvidenceOf = Literal["memory", "hours", "rate"]
Rests = Literal[
    "measured", "interpolated", "extrapolated", "elsewhere", "published", "estimated", "stated"
]


class MemoryPart(Frozen):
    """A phase of a tuning run, or a part of what a serving job keeps."""

    name: str
    mb: int


class Memory(Frozen):
    """The peak memory of one GPU in MB of 10^6 bytes, rounded up; None if no rule speaks."""

    phases: tuple[MemoryPart, ...]
    """Tuning: what is live at once in each phase."""
    parts: tuple[MemoryPart, ...]
    """Tuning: what is live in every phase. Serving: what is live all the time."""
    allocator_peak_mb: int | None
    """What the framework allocates at its peak (`torch.cuda.max_memory_allocated`)."""
    context_mb: int | None
    """The CUDA context and communication buffers, outside the allocator."""
    peak_mb: int
    """The expected allocator peak, context and paged states together."""
    low_mb: int | None
    high_mb: int | None
    """The range in which most measured runs with the same prediction lie."""
    needed_mb: int | None
    """What decides: the peak without paged states, with a margin."""
    reserved_mb: int | None
    """What the allocator typically holds, its cache included."""
    nvidia_smi_mb: int | None
    """What nvidia-smi will typically show; it includes cache that is not needed."""


def _stored(
    trace: Sequence[DerivationStep], store: SerializerFunctionWrapHandler, info: SerializationInfo
) -> object:
    """Serialize steps: as a list, or with `steps` in pydantic's context by number.

    Many candidates share most of their steps. A dictionary collects those that are stored.
    """
    if not info.context:
        return store(tuple(trace))
    numbers: dict[DerivationStep, int] = info.context["steps"]
    return [numbers.setdefault(step, len(numbers)) for step in trace]


def _read(stored: Any, read: ValidatorFunctionWrapHandler, info: ValidationInfo) -> object:  # noqa: ANN401
    """Read what `_stored` writes; the context's `steps` are those that were read."""
    if isinstance(stored, Trace):
        return stored
    if not info.context:
        return read(stored)
    steps: Sequence[DerivationStep] = info.context["steps"]
    if not all(type(one) is int and 0 <= one < len(steps) for one in stored):
        raise ValueError("is not a number of a step")
    return tuple(steps[number] for number in stored)


class ServingFigures(Frozen):
    """What one replica is expected to do for its users, at the peak of its busiest quarter."""

    concurrency: int
    """The most requests that a replica, or each of its decoding engines, must be allowed to hold
    at once (`max_num_seqs`)."""
    in_flight: int
    """The mean number of requests that it holds at the peak."""
    planned_requests_per_second: float
    """What a replica is planned to take; more would miss the latency asked for."""
    peaks: tuple[float, ...]
    """Requests per second over all replicas, at the peak of each quarter."""
    ttft_ms: float | None
    tpot_ms: float | None
    e2e_ms: float | None
    """Expected at the percentile; None if a figure of the GPU is unknown."""
    percentile: int


class Evidence(Frozen):
    """What one figure of a candidate rests on."""

    figure: EvidenceOf
    """The GPUs needed by memory, the hours of a run, or the requests that a replica answers."""
    rests: Rests
    """`measured`: runs of a model of this size, method and load; `interpolated`: runs of smaller
    and larger ones; `extrapolated`: runs of the method, but not around it, or of plain samples
    if a job learns from pairs or rewards; `elsewhere`: runs on other GPUs alone; `published`: a
    vendor's formula or average; `estimated`: rules without such runs; `stated`: by the job."""
    runs: int = 0
    """The number of measured runs."""
    error: float | None = None
    """Their mean absolute error as a share; None without runs."""


class Candidate(Frozen):
    """A feasible way to run one unit of a job: GPU type × count, with its needs."""

    gpu_type: str
    gpus: int
    gpu_memory_mb: int
    """The need over all its GPUs, in MB of 10^6 bytes, rounded up."""
    gpu_capacity_mb: int
    """What its GPUs offer after headroom, in MB, rounded down."""
    memory: Memory | None = None
    """The peak of each GPU; None if the job says too little and a published formula decided."""
    cpus: int
    memory_mb: int
    """Host memory in MB, rounded up."""
    storage_mb: int
    """Storage for the tuned asset; 0 for other jobs."""
    hours: float | None
    """The run time of one tuning run; None if the job names no dataset."""
    planned_hours: int | None = None
    """The hours for which a run holds its GPUs; None: it holds them all quarter."""
    partition: str | None = None
    """The MIG profile of its one partition; None: it takes no partition."""
    shared_mb: int = 0
    """What it takes of a shared GPU's memory, in MB; 0: its GPUs are its own."""
    prefill_gpus: int = 0
    """Those of its GPUs that only process prompts; 0: all do both."""
    replicas: int = 1
    """Copies of all this that one unit needs to keep up with its load; 1 without a load."""
    replicas_by_quarter: tuple[int, ...] = ()
    """The copies in each quarter, if traffic differs; `replicas` is then the most."""
    serving: ServingFigures | None = None
    """What a replica does for its users; None without a load."""
    may_span: bool
    """Whether a copy may take several whole nodes if one does not hold its GPUs."""
    weight_bits: int | None = None
    """The width of the weights that is served here, if the job leaves several open."""
    kv_bits: int | None = None
    """The width of cached keys and values here, if the job leaves several open."""
    gradient_accumulation: int | None = None
    """The passes summed in one optimizer step, if the job leaves them open and several are
    taken."""
    decided_by: str
    """What set the count: `memory`, `baseline`, `floor`, `deadline`, `parallelism` or `stated`;
    `time` if fewer GPUs would do but more are free again earlier; `latency` if a replica on
    fewer is too slow; `load` if it would do, but takes fewer requests or answers later."""
    evidence: tuple[Evidence, ...] = ()
    """What its memory, and its hours or its rate, rest on."""
    trace: Annotated[Sequence[DerivationStep], WrapValidator(_read), WrapSerializer(_stored)]

    @property
    def rules(self) -> frozenset[str]:
        """The ids of the rules from which its figures follow."""
        if isinstance(self.trace, Trace):
            return self.trace.rules
        return frozenset(step.rule for step in self.trace)

    def replicas_in(self, quarter: int) -> int:
        """Return the copies that one unit needs in a quarter of the horizon, from 0."""
        return self.replicas_by_quarter[quarter] if self.replicas_by_quarter else self.replicas

    def takes_no_more(self, other: Candidate, *needs: str) -> bool:
        """Return whether its replicas take no more than those of another in any quarter."""
        quarters = len(self.replicas_by_quarter or other.replicas_by_quarter) or 1
        return all(
            getattr(self, need) * self.replicas_in(quarter)
            <= getattr(other, need) * other.replicas_in(quarter)
            for need in needs
            for quarter in range(quarters)
        )

    @property
    def rate(self) -> float:
        """Return the requests per second that a replica is planned for; 0 without a load."""
        return self.serving.planned_requests_per_second if self.serving else 0.0

    @property
    def widths(self) -> str:
        """Return `8 bit` or `4 bit, cache 8 bit`; empty if the job leaves no width open."""
        told = (("", self.weight_bits), ("cache ", self.kv_bits))
        return ", ".join(f"{what}{bits} bit" for what, bits in told if bits is not None)

    @property
    def part(self) -> str:
        """Return the GPU type and the part of a GPU: `h100-80gb-sxm 1g.10gb`, `… shared`."""
        return way_of(self.gpu_type, partition=self.partition, shared=bool(self.shared_mb))

    @property
    def way(self) -> str:
        """Return its name among the candidates of the job: the GPU type, and what sets it apart."""
        return way_of(
            self.gpu_type,
            partition=self.partition,
            shared=bool(self.shared_mb),
            widths=self.widths,
            gpus=self.gpus if self.decided_by in ("time", "load") else None,
        )


def way_of(
    gpu_type: str,
    *,
    partition: str | None = None,
    shared: bool = False,
    widths: str = "",
    gpus: int | None = None,
) -> str:
    """Build a way: `h100-80gb-sxm`, `… 1g.10gb`, `… shared`, `… × 8`, `… at 8 bit × 8`."""
    apart = (partition, "shared" * shared, widths and f"at {widths}", f"× {gpus}" if gpus else None)
    return " ".join(filter(None, (gpu_type, *apart)))


class MissedTarget(Frozen):
    """A latency that is asked for, and what a GPU type would keep instead."""

    key: str
    """The key of `latency`, such as `tpot_ms`."""
    asked_ms: float
    kept_ms: int
    """For a request that is alone, rounded up."""


class Rejection(Frozen):
    """A GPU type that a job may not or cannot use, and what says so."""

    gpu_type: str
    rule: str
    """The rule id, or `policies.excluded_gpu_types` and the like for the scenario's own."""
    message: str
    sources: tuple[str, ...] = ()
    way: str = ""
    """The part of this GPU type that it cannot use; empty: none at all."""
    missed: tuple[MissedTarget, ...] = ()
    """If it is too slow, the targets that it misses; empty if one of them is unknown."""
    short_gb: float = 0
    """If it is too small, the memory that each GPU lacks."""

    @property
    def times_as_long(self) -> float:
        """The largest factor by which a target is missed; 0 if it is not slow."""
        return max((one.kept_ms / one.asked_ms for one in self.missed), default=0)

    @property
    def kept(self) -> str:
        """Return the targets that it would keep: `latency: {tpot_ms: 11}`."""
        return f"latency: {{{', '.join(f'{one.key}: {one.kept_ms}' for one in self.missed)}}}"


class Sizing(Frozen):
    """The sizing of one specification; jobs that are specified alike share it."""

    id: str
    """A short hash of the specification."""
    summary: str
    """Such as `LoRA tuning of llama-3.1-8b, sequence 4,096, batch 8`."""
    candidates: tuple[Candidate, ...]
    """By GPU type, sorted; of several of a type, the one on whole GPUs first."""
    rejections: tuple[Rejection, ...]
    """By GPU type, sorted; several if several rules speak."""
    refused_parts: tuple[Rejection, ...] = ()
    """Parts of a GPU type that it can use only whole, or in other parts."""
    assumptions: tuple[str, ...]
    """What the job leaves open and a rule filled in."""
    warnings: tuple[str, ...]

    @property
    def most_replicas(self) -> int:
        """Return the replicas that take the highest peak of a load; 1 without a load."""
        serving = (one.serving for one in self.candidates)
        counts = (
            ceil(Fraction(max(one.peaks)) / Fraction(one.planned_requests_per_second))
            for one in serving
            if one is not None
        )
        return max(counts, default=1)

    def nearest(self, among: Collection[str] | None = None) -> Rejection | None:
        """Return, of these GPU types that are too slow, the one that misses least.

        None if none is.
        """
        slow = (
            one
            for one in self.rejections
            if one.missed and (among is None or one.gpu_type in among)
        )
        return min(slow, key=lambda one: one.times_as_long, default=None)


class SizedJob(Frozen):
    """A job of the scenario, or one derived from it, with its demand and sizing."""

    name: str
    kind: Literal["tune", "serve", "fixed"]
    derived_from: str | None
    """The tuning job whose deployment this is."""
    derived_by: str | None
    """The rule that derived it."""
    team: str | None
    units: tuple[int, ...]
    """The units to place in each quarter: count × replicas."""
    absent: tuple[tuple[int, ...], ...] = ()
    """By quarter, the numbers of units that are short, beside those to place; empty: none ever
    is."""
    sites: tuple[str, ...] = ()
    """The sites at which it may run, sorted; empty: any."""
    release_hour: int = 0
    """The hour of each of its quarters from which a run may start."""
    deadline_hour: int = RUN_HOURS
    """The hour by which a run must have ended."""
    runs: int = 1
    """The runs of each unit in each quarter; more than one only for tuning jobs."""
    keeps_gpu_type: bool = True
    """Whether a unit runs in one way over all of its quarters."""
    on_apis: tuple[tuple[str, tuple[int, ...]], ...] = ()
    """For each API, the units whose requests it answers in each quarter, beside `units`, which
    are placed."""
    shares_traffic: bool = False
    """Whether its units are replicas, on several GPU types, that share the traffic of one endpoint.
    On an API, all of that traffic is one unit."""
    units_open: bool = False
    """If so, whether `units` is a maximum, and as many run as take the traffic."""
    sizing: Sizing

    @property
    def root(self) -> str:
        """Return the name of the scenario's job that this is, or whose deployment it is."""
        return self.derived_from or self.name

    @property
    def scenario_name(self) -> str:
        """Return the name without the suffix for a start that a delay leaves open."""
        return self.name.partition("\n")[0]

    def later(self, quarters: int) -> SizedJob:
        """Return the job starting so many quarters later.

        What ends after the horizon is cut off.
        """
        kept = len(self.units) - min(quarters, len(self.units))
        units = (0,) * (len(self.units) - kept) + self.units[:kept]
        return self.model_copy(update={"units": units})

    def numbers(self, quarter: int) -> Sequence[int]:
        """Return the numbers of the units to place in a quarter, from 1, in order."""
        absent = self.absent[quarter] if self.absent else ()
        every = range(1, self.units[quarter] + len(absent) + 1)
        return [unit for unit in every if unit not in set(absent)] if absent else every

    def without(self, absent: tuple[tuple[int, ...], ...]) -> SizedJob:
        """Return the job without these units in each quarter."""
        units = tuple(count - len(short) for count, short in zip(self.units, absent, strict=True))
        return self.model_copy(update={"units": units, "absent": absent})

    def absentees(self) -> SizedJob:
        """Return only the units that are short, in the quarters in which they are."""
        units = tuple(map(len, self.absent))
        placed = tuple(tuple(self.numbers(quarter)) for quarter in range(len(self.units)))
        return self.model_copy(update={"units": units, "absent": placed})

    def endpoints(self) -> tuple[int, ...]:
        """Return, by quarter, how often the traffic of its load arrives at what is placed."""
        return tuple(min(1, count) for count in self.units) if self.shares_traffic else self.units

    def lacking(self, kept: Sequence[int]) -> tuple[int, ...]:
        """Return the units without room by quarter; one if an endpoint has none."""
        counts = (count - here for count, here in zip(self.units, kept, strict=True))
        return tuple(min(1, count) if self.shares_traffic else count for count in counts)

    def reopened(self) -> SizedJob:
        """Return the job with the number of its replicas open again, if they share traffic."""
        if not self.shares_traffic:
            return self
        units = tuple(self.sizing.most_replicas if count else 0 for count in self.units)
        return self.model_copy(update={"units": units, "units_open": True})

    def dropped(self) -> SizedJob:
        """Return the job without a unit in any quarter."""
        return self.model_copy(update={"units": (0,) * len(self.units)})
