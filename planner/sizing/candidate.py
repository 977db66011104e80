"""What sizing hands to packing and to the report."""

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
Rests = Literal["measured", "interpolated", "extrapolated", "published", "estimated", "stated"]


class MemoryPart(Frozen):
    """A phase of a tuning run, or a part of what a serving job keeps."""

    name: str
    mb: int


class Memory(Frozen):
    """Peak memory of one GPU, MB of 10^6 bytes, rounded up; None where no rule speaks."""

    phases: tuple[MemoryPart, ...]
    """Tuning: what is live at once in each phase."""
    parts: tuple[MemoryPart, ...]
    """Tuning: what is beside any phase. Serving: what is live all the time."""
    allocator_peak_mb: int | None
    """What the framework allocates at its peak (`torch.cuda.max_memory_allocated`)."""
    context_mb: int | None
    """CUDA context and communication buffers, outside the allocator."""
    peak_mb: int
    """Allocator peak, context and paged states, as expected."""
    low_mb: int | None
    high_mb: int | None
    """Where measured runs with the same prediction mostly lie between."""
    needed_mb: int | None
    """What decides: the peak without paged states, with a margin."""
    reserved_mb: int | None
    """What the allocator typically holds, its cache included."""
    nvidia_smi_mb: int | None
    """What nvidia-smi will typically show; it holds cache that is not needed."""


def _stored(
    trace: Sequence[DerivationStep], store: SerializerFunctionWrapHandler, info: SerializationInfo
) -> object:
    """The list of the steps; with a `context` of pydantic that has `steps`, of their numbers there.

    Of many candidates, most steps are the same. A dictionary takes those that are stored.
    """
    if not info.context:
        return store(tuple(trace))
    numbers: dict[DerivationStep, int] = info.context["steps"]
    return [numbers.setdefault(step, len(numbers)) for step in trace]


def _read(stored: Any, read: ValidatorFunctionWrapHandler, info: ValidationInfo) -> object:  # noqa: ANN401
    """What `_stored` gives; `steps` of the context are those read."""
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
    """Requests that a replica, or each engine of it that decodes, must be allowed to hold at once
    (`max_num_seqs`)."""
    in_flight: int
    """Requests that it has at the peak on the average."""
    planned_requests_per_second: float
    """What a replica is planned to take; more would be beyond the latency asked for."""
    peaks: tuple[float, ...]
    """Requests per second over all replicas at the peak of each quarter."""
    ttft_ms: float | None
    tpot_ms: float | None
    e2e_ms: float | None
    """Expected at the percentile; None where a figure of the GPU is unknown."""
    percentile: int


class Evidence(Frozen):
    """What one figure of a candidate rests on."""

    figure: EvidenceOf
    """The need for GPUs by memory, the hours of a run, or the requests that a replica answers."""
    rests: Rests
    """`measured`: runs of a model of this size, method and load; `interpolated`: of smaller and
    larger ones; `extrapolated`: of the method, not around it, or of samples where a job learns from
    pairs or rewards; `published`: a vendor's formula or
    average; `estimated`: rules that no such run was held against; `stated`: by the job."""
    runs: int = 0
    """How many measured runs."""
    error: float | None = None
    """Their mean absolute error, a share; None without runs."""


class Candidate(Frozen):
    """A feasible way to run one unit of a job: GPU type × count, with its needs."""

    gpu_type: str
    gpus: int
    gpu_memory_mb: int
    """Need over all its GPUs, MB of 10^6 bytes, rounded up."""
    gpu_capacity_mb: int
    """What its GPUs offer after headroom, MB, rounded down."""
    memory: Memory | None = None
    """Peak of each GPU; None where the job says too little and a published formula decided."""
    cpus: int
    memory_mb: int
    """Host memory, MB, rounded up."""
    storage_mb: int
    """For the tuned asset; 0 for other jobs."""
    hours: float | None
    """Run time of one tuning run; None where the job names no dataset."""
    planned_hours: int | None = None
    """Hours for which a run holds its GPUs; None: it holds them all quarter."""
    partition: str | None = None
    """MIG profile of which it takes one partition; None: it takes no partition."""
    shared_mb: int = 0
    """What it takes of the memory of a GPU that it shares, MB; 0: its GPUs are its own."""
    prefill_gpus: int = 0
    """Of its GPUs, those that only take prompts in; 0: all do both."""
    replicas: int = 1
    """Copies of all this that one unit needs here to keep up with its load; 1 without a load."""
    replicas_by_quarter: tuple[int, ...] = ()
    """The same in each quarter, where traffic differs; `replicas` is then the most of any."""
    serving: ServingFigures | None = None
    """What a replica does for its users; None without a load."""
    may_span: bool
    """Whether a copy may take several whole nodes where one does not hold its GPUs."""
    weight_bits: int | None = None
    """Width of the weights that is served here, where the job leaves several open."""
    kv_bits: int | None = None
    """Width of cached keys and values here, where the job leaves several open."""
    gradient_accumulation: int | None = None
    """Passes that one optimizer step sums up, where the job leaves them open and takes several."""
    decided_by: str
    """What set the count: `memory`, `baseline`, `floor`, `deadline`, `parallelism` or `stated`;
    `time` where fewer GPUs would do and more of them are free again earlier; `latency` where a
    replica on fewer is too slow, `load` where it would do, and takes fewer requests or answers
    later."""
    evidence: tuple[Evidence, ...] = ()
    """What its memory, and its hours or its rate, rest on."""
    trace: Annotated[Sequence[DerivationStep], WrapValidator(_read), WrapSerializer(_stored)]

    @property
    def rules(self) -> frozenset[str]:
        """Ids of the rules that its figures follow from."""
        if isinstance(self.trace, Trace):
            return self.trace.rules
        return frozenset(step.rule for step in self.trace)

    def replicas_in(self, quarter: int) -> int:
        """Copies that one unit needs in a quarter of the horizon, from 0."""
        return self.replicas_by_quarter[quarter] if self.replicas_by_quarter else self.replicas

    def takes_no_more(self, other: Candidate, *needs: str) -> bool:
        """Whether all its replicas take no more than those of another in any quarter."""
        quarters = len(self.replicas_by_quarter or other.replicas_by_quarter) or 1
        return all(
            getattr(self, need) * self.replicas_in(quarter)
            <= getattr(other, need) * other.replicas_in(quarter)
            for need in needs
            for quarter in range(quarters)
        )

    @property
    def rate(self) -> float:
        """Requests per second that a replica is planned for; 0 without a load."""
        return self.serving.planned_requests_per_second if self.serving else 0.0

    @property
    def widths(self) -> str:
        """`8 bit`, `4 bit, cache 8 bit`; empty where the job leaves no width open."""
        told = (("", self.weight_bits), ("cache ", self.kv_bits))
        return ", ".join(f"{what}{bits} bit" for what, bits in told if bits is not None)

    @property
    def part(self) -> str:
        """The GPU type, and which part of a GPU it takes: `h100-80gb-sxm 1g.10gb`, `… shared`."""
        return way_of(self.gpu_type, partition=self.partition, shared=bool(self.shared_mb))

    @property
    def way(self) -> str:
        """Its name among the candidates of the job: the GPU type, and what sets it apart there."""
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
    """`h100-80gb-sxm`, `h100-80gb-sxm 1g.10gb`, `… shared`, `… × 8`, `… at 8 bit × 8`."""
    apart = (partition, "shared" * shared, widths and f"at {widths}", f"× {gpus}" if gpus else None)
    return " ".join(filter(None, (gpu_type, *apart)))


class MissedTarget(Frozen):
    """A latency that is asked for, and what a GPU type would keep instead."""

    key: str
    """Of `latency`, such as `tpot_ms`."""
    asked_ms: float
    kept_ms: int
    """For a request that is alone, rounded up."""


class Rejection(Frozen):
    """A GPU type that a job may not or cannot use, and what says so."""

    gpu_type: str
    rule: str
    """Rule id, or `policies.excluded_gpu_types` and the like for the scenario's own."""
    message: str
    sources: tuple[str, ...] = ()
    way: str = ""
    """Which part of this GPU type it is that it cannot use; empty: none at all."""
    missed: tuple[MissedTarget, ...] = ()
    """Where it is too slow: the targets that it misses; empty where one of them is unknown."""
    short_gb: float = 0
    """Where it is too small: the memory that each GPU lacks."""

    @property
    def times_as_long(self) -> float:
        """By how much the target is missed that is missed the most; 0 where it is not slow."""
        return max((one.kept_ms / one.asked_ms for one in self.missed), default=0)

    @property
    def kept(self) -> str:
        """The targets that it would keep: `latency: {tpot_ms: 11}`."""
        return f"latency: {{{', '.join(f'{one.key}: {one.kept_ms}' for one in self.missed)}}}"


class Sizing(Frozen):
    """The sizing of one specification; jobs that are specified alike share it."""

    id: str
    """Short hash of the specification."""
    summary: str
    """`LoRA tuning of llama-3.1-8b, sequence 4,096, batch 8`."""
    candidates: tuple[Candidate, ...]
    """By GPU type, sorted; where there are several of a type, the one on whole GPUs first."""
    rejections: tuple[Rejection, ...]
    """By GPU type, sorted; several where several rules speak."""
    refused_parts: tuple[Rejection, ...] = ()
    """Parts of a GPU type that it can use whole only, or in other parts."""
    assumptions: tuple[str, ...]
    """What the job leaves open and a rule filled in."""
    warnings: tuple[str, ...]

    @property
    def most_replicas(self) -> int:
        """Replicas that take the highest peak of a load, whichever they are; 1 without a load."""
        serving = (one.serving for one in self.candidates)
        counts = (
            ceil(Fraction(max(one.peaks)) / Fraction(one.planned_requests_per_second))
            for one in serving
            if one is not None
        )
        return max(counts, default=1)

    def nearest(self, among: Collection[str] | None = None) -> Rejection | None:
        """Of these GPU types that are too slow, the one that misses the least; None if none is."""
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
    """Tuning job whose deployment this is."""
    derived_by: str | None
    """Rule that derived it."""
    team: str | None
    units: tuple[int, ...]
    """Units to place in each quarter: count × replicas."""
    absent: tuple[tuple[int, ...], ...] = ()
    """By quarter: numbers of units that are short, beside those to place; empty: none ever is."""
    sites: tuple[str, ...] = ()
    """Sites at which it may run, sorted; empty: any."""
    release_hour: int = 0
    """Hour of each of its quarters from which on a run may start."""
    deadline_hour: int = RUN_HOURS
    """Hour by which it must have ended."""
    runs: int = 1
    """Of each unit in each quarter; more than one only of tuning jobs."""
    keeps_gpu_type: bool = True
    """Whether a unit runs in one way over all of its quarters."""
    on_apis: tuple[tuple[str, tuple[int, ...]], ...] = ()
    """By API: units in each quarter whose requests it answers, beside `units`, which are placed."""
    shares_traffic: bool = False
    """Whether its units are replicas, on several GPU types, that share the traffic of one endpoint.
    On an API, all of that traffic is one unit."""
    units_open: bool = False
    """Of these: whether `units` are the most that may run, and as many do as take the traffic."""
    sizing: Sizing

    @property
    def root(self) -> str:
        """Name of the job of the scenario that this is, or whose deployment it is."""
        return self.derived_from or self.name

    @property
    def scenario_name(self) -> str:
        """The name without what tells apart the starts that a delay leaves open."""
        return self.name.partition("\n")[0]

    def later(self, quarters: int) -> SizedJob:
        """The same, starting so many quarters later; what ends after the horizon is cut off."""
        kept = len(self.units) - min(quarters, len(self.units))
        units = (0,) * (len(self.units) - kept) + self.units[:kept]
        return self.model_copy(update={"units": units})

    def numbers(self, quarter: int) -> Sequence[int]:
        """Of the units to place in a quarter, from 1, in their order."""
        absent = self.absent[quarter] if self.absent else ()
        every = range(1, self.units[quarter] + len(absent) + 1)
        return [unit for unit in every if unit not in set(absent)] if absent else every

    def without(self, absent: tuple[tuple[int, ...], ...]) -> SizedJob:
        """The same without these units in each quarter."""
        units = tuple(count - len(short) for count, short in zip(self.units, absent, strict=True))
        return self.model_copy(update={"units": units, "absent": absent})

    def absentees(self) -> SizedJob:
        """Nothing but the units that are short, in the quarters in which they are."""
        units = tuple(map(len, self.absent))
        placed = tuple(tuple(self.numbers(quarter)) for quarter in range(len(self.units)))
        return self.model_copy(update={"units": units, "absent": placed})

    def endpoints(self) -> tuple[int, ...]:
        """By quarter: how often the traffic of its load arrives at what is placed."""
        return tuple(min(1, count) for count in self.units) if self.shares_traffic else self.units

    def lacking(self, kept: Sequence[int]) -> tuple[int, ...]:
        """By quarter: units without room where so many have it; one where an endpoint has none."""
        counts = (count - here for count, here in zip(self.units, kept, strict=True))
        return tuple(min(1, count) if self.shares_traffic else count for count in counts)

    def reopened(self) -> SizedJob:
        """The same where it is open again how many of its replicas run, if they share traffic."""
        if not self.shares_traffic:
            return self
        units = tuple(self.sizing.most_replicas if count else 0 for count in self.units)
        return self.model_copy(update={"units": units, "units_open": True})

    def dropped(self) -> SizedJob:
        """The same without a unit in any quarter."""
        return self.model_copy(update={"units": (0,) * len(self.units)})
