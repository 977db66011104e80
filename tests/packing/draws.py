"""Problems with runs, with parts of GPUs and with both, for tests of other features."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from tests.packing import test_brute_force, test_parts, test_quotas
from tests.packing.test_runs import in_turns

if TYPE_CHECKING:
    import random

    from planner.packing.problem import Problem

__all__ = ["SHARING", "teams"]


def runs(rng: random.Random) -> Problem:
    return in_turns(test_brute_force.draw(rng), rng)


def parts(rng: random.Random) -> Problem:
    features = {*rng.choice((("mig",), ("shared",), ("mig", "shared"), ("mig", "own-node")))}
    features |= {also for also in ("quarters", "spares", "sites") if rng.random() < 0.2}
    return test_parts.draw(rng, features)


def parts_and_runs(rng: random.Random) -> Problem:
    features = rng.choice(({"mig"}, {"shared"}, {"mig", "shared"}, {"mig", "own-node"}))
    return test_parts.draw(rng, features | {"weeks"})


def teams(rng: random.Random) -> Problem:
    """Few units, nearly all of one owner, with quotas that bind where they run for some weeks."""
    problem = test_quotas.draw(rng)
    owners = ("red", "red", "red", "")
    demands = tuple(replace(one, owner=rng.choice(owners)) for one in problem.demands[:3])
    quotas = tuple(
        test_quotas.quota(
            *(rng.choice((None, 5, 6, 8, 12)) for _ in range(problem.quarters)),
            gpu_type=rng.choice((None, None, "a")),
        )
        for _ in range(rng.randrange(1, 3))
    )
    return in_turns(replace(problem, demands=demands, quotas=quotas), rng)


SHARING = [runs, parts, parts_and_runs, teams]
