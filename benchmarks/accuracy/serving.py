"""Measured runs of serving engines, and the planner's figures for them beside what was measured."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Final

from benchmarks.accuracy.origins import HERE
from planner.inputs.measured import ServingMeasurement, read_measured
from planner.sizing.calibrate import expected_of, replica_of
from planner.sizing.endpoint import Replica

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks.accuracy.world import World
    from planner.inputs.rules.expression import Exact

__all__ = ["ServingPair", "kept_up_with", "read_serving", "serving_pairs"]

_LATE: Final = 5
"""Times that of a lone request after which a first token has waited in a queue that grows."""


@dataclass(frozen=True, slots=True)
class ServingPair:
    """One run with what is expected of it; None where nothing is."""

    run: ServingMeasurement
    requests_per_second: float | None
    planned_requests_per_second: float | None
    tpot_ms: float | None
    ttft_ms: float | None
    """Mean; the median of loads that are `open`."""
    ttft_p99_ms: float | None

    @property
    def kept_up(self) -> bool | None:
        """Whether the run answered what the planner would have planned for it."""
        measured, planned = self.run.answered_per_second, self.planned_requests_per_second
        return None if measured is None or planned is None else planned <= measured


@cache
def read_serving(world: World) -> tuple[ServingMeasurement, ...]:
    """Read the table that ships; raises InputError for a row that is wrong."""
    file = HERE / "serving.csv"
    runs = read_measured(file, world.catalog, shown_as=file.name)
    return tuple(run for run in runs if isinstance(run, ServingMeasurement))


@cache
def serving_pairs(world: World) -> tuple[ServingPair, ...]:
    """Compare every run that a replica would be planned for.

    That is, whose requests fit its GPUs at once, or arrive no faster than a replica is to take.
    """
    pairs = []
    for run in read_serving(world):
        replica = replica_of(run, world.sizer)
        need, usable = replica.number("needed_gb_per_gpu"), replica.number("usable_gb_per_gpu")
        planned = replica.number("planned_requests_per_second")
        late: Exact | float | None = None
        if run.load == "open":
            if planned is None or (run.requests_per_second or 0) > planned:
                continue
            late = expected_of(run, replica_of(run, world.sizer, 99))("ttft_ms")
        elif need is None or usable is None or need > usable:
            continue
        expected = expected_of(run, replica)
        pairs.append(
            ServingPair(
                run,
                _float(replica.number("requests_per_second_per_replica")),
                _float(planned),
                _float(expected("tpot_ms")),
                _float(expected("ttft_ms")),
                _float(late),
            )
        )
    return tuple(pairs)


def kept_up_with(world: World) -> Iterator[tuple[bool | None, bool]]:
    """Of open loads: whether a replica is said to answer as many as come, and whether it did.

    It did not where half of the first tokens came later than five times what is planned for a
    lone request. Where none did, but all requests had come before the first was answered, nobody
    knows.
    """
    for run in read_serving(world):
        if run.load == "open" and run.requests_per_second and run.ttft_ms:
            replica = Replica(replica_of(run, world.sizer))
            most = replica.situation.number("requests_per_second_per_replica")
            lone_ms = replica.exactly(in_flight=1)("ttft_ms")
            if most and lone_ms:
                in_time = run.ttft_ms <= _LATE * lone_ms
                if not (in_time and run.sent_before_answered):
                    yield run.requests_per_second <= most, in_time


def _float(figure: Exact | float | None) -> float | None:
    return None if figure is None else float(figure)
