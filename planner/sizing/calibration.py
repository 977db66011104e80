"""What measured runs say of predictions, and by how much they move them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from planner.inputs.measured import Measurement
from planner.inputs.scenario.job import Job
from planner.inputs.text import count_of
from planner.sizing.candidate import Memory
from planner.sizing.engine import Known

_MB_PER_GB: Final = 1000


@dataclass(frozen=True, slots=True)
class MeasuredPair:
    """One tuning run beside the peak that is predicted of it, like against like."""

    run: Measurement
    memory: Memory | None
    """All that is predicted of it; None where the run says too little."""
    card_gb: Fraction | None = None
    """Memory of the run's GPU as its driver reports it, GB of 10^9 bytes, where it is known."""

    @property
    def predicted_gb(self) -> Fraction | None:
        """The predicted figure of the kind that was measured, GB of 10^9 bytes per GPU.

        What is held as cache never exceeds the card: the allocator gives it back before it fails.
        """
        if self.memory is None or self.run.kind is None:
            return None
        figures = {
            "allocated": self.memory.allocator_peak_mb,
            "reserved": self.memory.reserved_mb,
            "nvidia-smi": self.memory.nvidia_smi_mb,
        }
        megabytes = figures[self.run.kind]
        if megabytes is None:
            return None
        predicted = Fraction(megabytes, _MB_PER_GB)
        if self.card_gb is None or self.run.kind == "allocated":
            return predicted
        return min(predicted, self.card_gb)

    @property
    def ratio(self) -> Fraction | None:
        """Measured over predicted; None where either is missing."""
        if self.run.peak_gb is None or not self.predicted_gb:
            return None
        return self.run.peak_gb / self.predicted_gb


@dataclass(frozen=True, slots=True)
class MeasuredGroup:
    """By how much the runs of one method or model move its predictions."""

    name: str
    runs: int
    """Runs with a figure that could be compared."""
    ratio: Fraction
    """Measured over predicted: the mean, of serving runs the median."""
    factor: Fraction
    """What predictions are multiplied by."""


PEAKS: Final = "memory_calibration"
HOURS: Final = "hours_calibration"
SERVING_TIMES: Final = "serving_calibration"
_DELAY: Final = "first_token_delay_steps"
_MOVED: Final = {
    PEAKS: "expected peak memory",
    HOURS: "expected hours",
    SERVING_TIMES: "expected times of steps and prompts",
}
"""What each factor multiplies, in words."""


@dataclass(frozen=True, slots=True)
class Factors:
    """What measured runs multiply one predicted figure by."""

    fact: str
    """The figure of rules that holds the factor."""
    prior_runs: Fraction
    """How many runs the shipped model counts as."""
    groups: tuple[MeasuredGroup, ...]
    """By method or model, sorted; only those with runs."""
    elsewhere: Fraction
    """The factor for a group of which no run was measured."""

    @property
    def what(self) -> str:
        """What is multiplied, in words."""
        return _MOVED[self.fact]

    def group(self, name: str | None) -> MeasuredGroup | None:
        """The runs of a method or model; None where there are none."""
        return next((one for one in self.groups if one.name == name), None)


@dataclass(frozen=True, slots=True)
class FirstTokens:
    """How much later than expected the first tokens of one model's runs came."""

    name: str
    runs: int
    """Runs with a time to the first token."""
    delay_steps: Fraction
    """Decoding steps: the median of the runs, and of the shipped model, which expects none."""


@dataclass(frozen=True, slots=True)
class Calibration:
    """What measured runs say about the predictions."""

    factors: tuple[Factors, ...]
    """Of each figure that some run tells."""
    first_tokens: tuple[FirstTokens, ...] = ()
    """By model, sorted; other models are as expected, as it is the engine's settings that delay."""

    def facts(self, job: Job) -> dict[str, Known]:
        """What rules know of the measured runs that speak for a job."""
        known = {
            factors.fact: Known(group.factor if group else factors.elsewhere, "ratio", "measured")
            for factors, group in self._for(job)
        }
        delayed = self._delayed(job)
        if delayed is not None:
            known[_DELAY] = Known(delayed.delay_steps, "steps", "measured")
        return known

    def told(self, job: Job) -> tuple[str, ...]:
        """By how much measured runs move what is expected of a job, in sentences."""
        said = []
        for factors, group in self._for(job):
            factor = group.factor if group else factors.elsewhere
            runs = "measured runs of other jobs"
            if group:
                runs = f"{count_of(group.runs, 'measured run')} of {group.name}"
            said.append(f"{factors.what} × {float(factor):.3f}, by {runs}")
        delayed = self._delayed(job)
        if delayed is not None:
            said.append(
                f"first tokens {float(delayed.delay_steps):+.1f} decoding steps, by "
                f"{count_of(delayed.runs, 'measured run')} of {delayed.name}"
            )
        return tuple(said)

    def _delayed(self, job: Job) -> FirstTokens | None:
        model = None if job.serve is None else job.serve.model
        return next((one for one in self.first_tokens if one.name == model), None)

    def _for(self, job: Job) -> Iterator[tuple[Factors, MeasuredGroup | None]]:
        for factors in self.factors:
            if job.tune is not None and factors.fact != SERVING_TIMES:
                yield factors, factors.group(job.tune.method)
            elif job.serve is not None and factors.fact == SERVING_TIMES:
                yield factors, factors.group(job.serve.model)
