"""What measured runs say of predicted peaks, and by how much they move them."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from planner.inputs.measured import Measurement
    from planner.inputs.scenario.job import Method
    from planner.sizing.memory import Memory

__all__ = ["Calibration", "MeasuredPair", "MethodCalibration"]

_MB_PER_GB: Final = 1000


@dataclass(frozen=True, slots=True)
class MeasuredPair:
    """One measured run beside what is predicted of it, like against like."""

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
class MethodCalibration:
    """By how much the runs of one method move its predictions."""

    method: Method
    runs: int
    """Runs with a figure that could be compared."""
    mean_ratio: Fraction
    """Mean of measured over predicted."""
    factor: Fraction
    """What predictions of this method are multiplied by."""


@dataclass(frozen=True, slots=True)
class Calibration:
    """What a table of measured runs says about the predictions."""

    comparisons: tuple[MeasuredPair, ...]
    prior_runs: Fraction
    """How many runs the shipped model counts as."""
    methods: tuple[MethodCalibration, ...]
    """By method, sorted; only those with runs."""
    elsewhere: Fraction
    """The factor for a method of which no run was measured."""

    def factor(self, method: Method) -> Fraction:
        """What a predicted peak of this method is multiplied by."""
        return next((one.factor for one in self.methods if one.method == method), self.elsewhere)
