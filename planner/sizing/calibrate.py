"""Compares predicted with measured peaks, and learns from a user's own runs by how much to move.

The shipped model is not thrown away for a handful of runs: it counts as so many runs that came
out exactly as predicted, and measured runs are averaged with these.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Final

from planner.errors import Finding, InputError
from planner.sizing.calibration import Calibration, MeasuredPair, MethodCalibration
from planner.sizing.engine import Reasoning

if TYPE_CHECKING:
    from collections.abc import Iterable

    from planner.inputs.catalog.catalog import Catalog
    from planner.inputs.measured import Measurement
    from planner.inputs.rules.book import RuleBook
    from planner.sizing.sizer import Sizer

__all__ = ["calibrate", "compare", "prior_runs"]

_BYTES_PER_MIB: Final = 2**20
_PRIOR_RUNS: Final = "calibration_prior_runs"


def compare(
    runs: Iterable[Measurement], sizer: Sizer, catalog: Catalog
) -> tuple[MeasuredPair, ...]:
    """Predict each run, in the order given."""
    return tuple(
        MeasuredPair(run, sizer.memory(run.job, run.gpus), _card_gb(run, catalog)) for run in runs
    )


def _card_gb(run: Measurement, catalog: Catalog) -> Fraction | None:
    gpu = catalog.gpus.get(run.gpu_type or "")
    reported = gpu.driver_memory_mib if gpu else None
    return None if reported is None else Fraction(reported.value * _BYTES_PER_MIB, 10**9)


def prior_runs(rules: RuleBook) -> Fraction:
    """How many runs the shipped model counts as; raises InputError where no rule says so."""
    weight = Reasoning(rules, {}).number(_PRIOR_RUNS)
    if weight is None:
        raise InputError(Finding(f"no rule gives {_PRIOR_RUNS}, which calibration needs"))
    return Fraction(weight)


def calibrate(
    runs: Iterable[Measurement], sizer: Sizer, catalog: Catalog, rules: RuleBook
) -> Calibration:
    """Average measured runs with the shipped model, by method.

    Where the model counts as k runs, n runs of a method with mean ratio r give the factor
    `(k × p + n × r) / (k + n)`; p is what the runs of the other methods say in the same way.
    Raises InputError where no run can be compared.
    """
    comparisons = compare(runs, sizer, catalog)
    ratios = [(one.run.tune.method, one.ratio) for one in comparisons if one.ratio is not None]
    if not ratios:
        raise InputError(
            Finding(
                "no run can be compared with a prediction",
                hint="give `batch`, `sequence`, `kind` and a measured peak for at least one",
            )
        )
    weight = prior_runs(rules)
    methods = []
    for method in sorted({method for method, _ in ratios}):
        own = [ratio for other, ratio in ratios if other == method]
        rest = [ratio for other, ratio in ratios if other != method]
        methods.append(
            MethodCalibration(
                method=method,
                runs=len(own),
                mean_ratio=sum(own, Fraction(0)) / len(own),
                factor=_averaged(_averaged(Fraction(1), weight, rest), weight, own),
            )
        )
    everything = [ratio for _, ratio in ratios]
    return Calibration(
        comparisons=comparisons,
        prior_runs=weight,
        methods=tuple(methods),
        elsewhere=_averaged(Fraction(1), weight, everything),
    )


def _averaged(before: Fraction, weight: Fraction, ratios: list[Fraction]) -> Fraction:
    """What was believed before, counted as `weight` runs, together with the runs."""
    return (before * weight + sum(ratios, Fraction(0))) / (weight + len(ratios))
