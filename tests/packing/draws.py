"""Problems with runs, with parts of GPUs and with both, for tests of other features."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.packing import test_brute_force, test_parts
from tests.packing.test_weeks import in_weeks

if TYPE_CHECKING:
    import random

    from planner.packing.problem import Problem

__all__ = ["SHARING"]


def runs(rng: random.Random) -> Problem:
    return in_weeks(test_brute_force.draw(rng), rng)


def parts(rng: random.Random) -> Problem:
    features = {*rng.choice((("mig",), ("shared",), ("mig", "shared"), ("mig", "own-node")))}
    features |= {also for also in ("quarters", "spares", "sites") if rng.random() < 0.2}
    return test_parts.draw(rng, features)


def parts_and_runs(rng: random.Random) -> Problem:
    features = rng.choice(({"mig"}, {"shared"}, {"mig", "shared"}, {"mig", "own-node"}))
    return test_parts.draw(rng, features | {"weeks"})


SHARING = [runs, parts, parts_and_runs]
