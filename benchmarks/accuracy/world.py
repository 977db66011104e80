"""The planner as the scoreboard asks it: peaks, fit decisions, throughput and serving parts."""

from __future__ import annotations

from functools import cache, cached_property
from typing import TYPE_CHECKING, Final

from benchmarks.accuracy.origins import HERE, read_origins
from planner.inputs.load import load_catalog, load_rules
from planner.inputs.measured import Measurement, read_measured
from planner.inputs.scenario.scenario import Policies
from planner.inputs.settled import settled_settings
from planner.sizing import Sizer
from planner.sizing.calibrate import compare

if TYPE_CHECKING:
    from planner.inputs.measured import Measurement
    from planner.inputs.scenario.job import Job
    from planner.sizing.calibration import MeasuredPair
    from planner.sizing.engine import Reasoning

__all__ = ["World"]

_MB_PER_GB: Final = 1000


class World:
    """Shipped catalog and rules, the shapes that only measurements need, and the measurements."""

    def __init__(self) -> None:
        """Raises InputError where a file is wrong."""
        self.catalog, _ = load_catalog([HERE / "shapes.yaml"])
        self.rules, _ = load_rules()
        self.origins = read_origins()
        policies = Policies()
        settings = settled_settings(self.rules, policies)
        self.sizer = Sizer(self.catalog, self.rules, settings, policies)
        self._situation = cache(self.sizer.situation)

    @cached_property
    def runs(self) -> tuple[MeasuredPair, ...]:
        """Measured tuning runs, each with what is predicted of it."""
        return compare(self._read("runs.csv"), self.sizer, self.catalog)

    @cached_property
    def times(self) -> tuple[Measurement, ...]:
        """Tuning runs whose throughput was measured."""
        return self._read("times.csv")

    def _read(self, name: str) -> tuple[Measurement, ...]:
        shown_as = f"benchmarks/accuracy/{name}"
        runs = read_measured(HERE / name, self.catalog, shown_as=shown_as)
        return tuple(run for run in runs if isinstance(run, Measurement))

    def usable_gb(self, gpu_type: str, job: Job) -> float | None:
        """Memory of one GPU that a job may fill, GB of 10^9 bytes."""
        usable = self.situation(gpu_type, job, 1).number("usable_gb_per_gpu")
        return None if usable is None else float(usable)

    def says_it_fits(self, compared: MeasuredPair) -> bool | None:
        """The planner's decision on a run's own GPUs; None where it has none."""
        run, memory = compared.run, compared.memory
        if run.gpu_type is None or memory is None or memory.needed_mb is None:
            return None
        usable = self.usable_gb(run.gpu_type, run.job)
        return None if usable is None else memory.needed_mb <= usable * _MB_PER_GB

    def tokens_per_second_per_gpu(self, run: Measurement) -> float | None:
        """What the planner expects of a run on its own GPUs; None where it has no figure."""
        tokens = self._on_its_own(run).number("tokens_per_s_per_gpu")
        evaluation = self.origins[run.origin or ""].evaluation_share
        return None if tokens is None else float(tokens) / (1 + float(evaluation))

    def tokens_per_pass(self, run: Measurement) -> float:
        """Tokens that one GPU takes in one pass of a run whose throughput was measured."""
        return float(self._on_its_own(run).number("tokens_per_gpu_and_pass") or 0)

    def _on_its_own(self, run: Measurement) -> Reasoning:
        return self._situation(run.job, run.gpu_type or "", run.gpus, run.fabric_gb_per_s)

    def situation(self, gpu_type: str, job: Job, gpus: int) -> Reasoning:
        """The job on so many GPUs of a type, whatever counts the rules would choose."""
        return self._situation(job, gpu_type, gpus)
