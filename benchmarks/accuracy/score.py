"""What a set of predictions is worth: errors, shares of under-predictions, right decisions."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import fmean, median
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["Decisions", "Score", "decided", "scored"]

UNDER: Final = 0.02
"""A prediction that is lower by more than this is one that runs out of memory."""

FAR_UNDER: Final = 0.05
"""A prediction that is lower by more than this no usual margin makes good."""


@dataclass(frozen=True, slots=True)
class Score:
    """Relative errors of predictions, predicted over measured less one."""

    errors: tuple[float, ...]

    @property
    def runs(self) -> int:
        """How many predictions were scored."""
        return len(self.errors)

    @property
    def error(self) -> float:
        """Mean absolute error, a share."""
        return fmean(map(abs, self.errors)) if self.errors else float("nan")

    @property
    def median_error(self) -> float:
        """Median absolute error, a share."""
        return median(map(abs, self.errors)) if self.errors else float("nan")

    @property
    def bias(self) -> float:
        """Mean error with its sign: above 0 says too much."""
        return fmean(self.errors) if self.errors else float("nan")

    @property
    def under(self) -> float:
        """Share that says more than 2 % too little."""
        if not self.errors:
            return float("nan")
        return sum(error < -UNDER for error in self.errors) / len(self.errors)

    @property
    def far_under(self) -> float:
        """Share that says more than 5 % too little."""
        if not self.errors:
            return float("nan")
        return sum(error < -FAR_UNDER for error in self.errors) / len(self.errors)

    @property
    def worst(self) -> float:
        """The error that is largest either way, with its sign."""
        return max(self.errors, key=abs) if self.errors else float("nan")


@dataclass(frozen=True, slots=True)
class Decisions:
    """Fit or out of memory: what was said against what happened."""

    oom_flagged: int
    oom: int
    fits_refused: int
    """False alarms."""
    fits: int

    @property
    def flagged(self) -> float:
        """Share of runs that ran out of memory of which this was said."""
        return self.oom_flagged / self.oom if self.oom else float("nan")

    @property
    def false_alarms(self) -> float:
        """Share of runs that fitted and were said not to."""
        return self.fits_refused / self.fits if self.fits else float("nan")

    @property
    def right(self) -> float:
        """Share of all decisions that are right."""
        decisions = self.oom + self.fits
        right = self.oom_flagged + self.fits - self.fits_refused
        return right / decisions if decisions else float("nan")


def scored(pairs: Iterable[tuple[float | None, float]]) -> Score:
    """Score pairs of predicted and measured; those without a prediction are left out."""
    return Score(tuple(said / was - 1 for said, was in pairs if said is not None))


def decided(pairs: Iterable[tuple[bool | None, bool]]) -> Decisions:
    """Count pairs of said to fit and fitted; those without a decision are left out."""
    known = [(said, fitted) for said, fitted in pairs if said is not None]
    return Decisions(
        oom_flagged=sum(not said for said, fitted in known if not fitted),
        oom=sum(not fitted for _, fitted in known),
        fits_refused=sum(not said for said, fitted in known if fitted),
        fits=sum(fitted for _, fitted in known),
    )
