"""A user's runs move predictions by as much as they are many, and no further."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any, cast

import pytest

from planner.errors import InputError
from planner.inputs.load import load_catalog, load_rules
from planner.inputs.measured import Measurement
from planner.inputs.scenario.job import Tune
from planner.sizing.calibrate import calibrate, compare, prior_runs
from planner.sizing.memory import Memory

if TYPE_CHECKING:
    from planner.sizing.sizer import Sizer

PREDICTED_GB = {"allocated": 20, "reserved": 30, "nvidia-smi": 100}
"""What the sizer below says of any run."""


class SaysTheSame:
    """A sizer that predicts one peak, whatever the run."""

    def memory(self, job, gpus):
        if job.tune.batch is None:
            return None
        figures = {f"{kind.replace('-', '_')}_mb": gb * 1000 for kind, gb in PREDICTED_GB.items()}
        return Memory(
            phases=(),
            parts=(),
            allocator_peak_mb=figures["allocated_mb"],
            context_mb=None,
            peak_mb=figures["allocated_mb"],
            low_mb=None,
            high_mb=None,
            needed_mb=None,
            reserved_mb=figures["reserved_mb"],
            nvidia_smi_mb=figures["nvidia_smi_mb"],
        )


SIZER = cast("Sizer", SaysTheSame())


@pytest.fixture(scope="module")
def world():
    return load_catalog()[0], load_rules()[0]


@pytest.fixture
def calibrated(world):
    return lambda *runs: calibrate(runs, SIZER, *world)


def measured(gb, method="lora", kind="allocated", gpu_type=None, batch=8):
    tune = Tune(parameters_b=Decimal(8), method=method, batch=batch, sequence=4096)
    figures: Any = {} if gb is None else {"measured_gb": Decimal(str(gb)), "kind": kind}
    outcome: Any = "oom" if gb is None else "fit"
    gpu_type = gpu_type or ("h100-80gb-sxm" if gb is None else None)
    return Measurement(line=2, tune=tune, gpu_type=gpu_type, outcome=outcome, **figures)


def test_the_model_weighs_as_much_as_the_rule_says(world):
    assert prior_runs(world[1]) == 4


def test_one_run_moves_its_method_a_fifth_of_the_way(calibrated):
    found = calibrated(measured(24))
    assert found.factor("lora") == Fraction("1.04")
    (method,) = found.methods
    assert (method.runs, method.mean_ratio) == (1, Fraction("1.2"))


def test_many_runs_move_it_most_of_the_way(calibrated):
    found = calibrated(*[measured(24)] * 36)
    assert found.factor("lora") == Fraction("1.18")


def test_runs_as_predicted_move_nothing(calibrated):
    assert calibrated(measured(20), measured(20)).factor("lora") == 1


def test_runs_that_took_less_move_it_down(calibrated):
    assert calibrated(measured(10)).factor("lora") == Fraction("0.9")


def test_runs_of_another_method_move_it_less_than_its_own(calibrated):
    found = calibrated(measured(24, method="full"))
    assert found.factor("full") == found.factor("lora") == found.elsewhere == Fraction("1.04")
    both = calibrated(measured(24, method="full"), measured(20))
    assert 1 < both.factor("lora") < both.factor("full")


@pytest.mark.parametrize("kind", PREDICTED_GB)
def test_a_figure_is_compared_with_its_like(world, kind):
    (compared,) = compare([measured(45, kind=kind)], SIZER, world[0])
    assert compared.predicted_gb == PREDICTED_GB[kind]
    assert compared.ratio == Fraction(45, PREDICTED_GB[kind])


def test_cache_is_never_predicted_beyond_the_card(world):
    run = measured(80, kind="nvidia-smi", gpu_type="h100-80gb-sxm")
    (compared,) = compare([run], SIZER, world[0])
    assert compared.predicted_gb == compared.card_gb
    assert compared.card_gb is not None
    assert 85 < compared.card_gb < 86


def test_runs_without_a_peak_or_a_prediction_are_shown_and_not_counted(calibrated):
    found = calibrated(measured(24), measured(None), measured(24, batch=None))
    assert len(found.comparisons) == 3
    assert [one.ratio is None for one in found.comparisons] == [False, True, True]
    assert found.methods[0].runs == 1


def test_runs_of_which_none_can_be_compared_are_refused(calibrated):
    with pytest.raises(InputError, match="no run can be compared"):
        calibrated(measured(None))
