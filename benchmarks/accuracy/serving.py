"""Measured runs of serving engines, and the planner's figures for them beside what was measured."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Final, Literal

from benchmarks.accuracy.origins import HERE
from planner.inputs.base import Frozen, Name, PositiveCount, PositiveNumber
from planner.inputs.reading.grid import table_rows
from planner.inputs.reading.reader import read_text
from planner.inputs.scenario.job import Job
from planner.inputs.scenario.spelling import Bits
from planner.sizing.flight import Flight, in_flight_at, latency_at

if TYPE_CHECKING:
    from benchmarks.accuracy.world import World
    from planner.inputs.rules.expression import Exact

__all__ = ["ServingPair", "ServingRun", "read_serving", "serving_pairs"]

_MOST: Final = 256
"""Requests at once where the run does not say: as many as vLLM holds unless it is told."""
_TEXT: Final = frozenset(
    {"origin", "engine", "model", "gpu_type", "load", "quality", "source", "note"}
)


class ServingRun(Frozen):
    """One run of an engine under a load."""

    origin: Name
    engine: Name
    model: str
    """Model id of the catalog."""
    bits: Bits
    gpu_type: str
    gpus: PositiveCount
    input_tokens: PositiveCount
    output_tokens: PositiveCount
    load: Literal["closed", "open", "batch"]
    """`closed`: as many clients as `concurrency`, each asks anew when it is answered; `open`:
    requests come at `requests_per_second`; `batch`: all requests at once."""
    concurrency: PositiveCount | None = None
    requests_per_second: PositiveNumber | None = None
    ttft_ms: PositiveNumber | None = None
    """Mean; the median of loads that are `open`."""
    ttft_p99_ms: PositiveNumber | None = None
    tpot_ms: PositiveNumber | None = None
    e2e_ms: PositiveNumber | None = None
    quality: Literal["A", "B"]
    source: str
    note: str | None = None

    def job(self, percentile: int) -> Job:
        """The run as a job of a scenario that asks for its latency at a percentile."""
        serve = {
            "model": self.model,
            "bits": self.bits,
            "concurrency": self.concurrency or _MOST,
            "gpus_per_replica": self.gpus,
            "load": {
                "requests_per_second": self.requests_per_second or 1,
                "input_tokens": self.input_tokens,
                "output_tokens": self.output_tokens,
            },
            "latency": {"ttft_ms": 1000, "percentile": percentile},
        }
        return Job.model_validate({"serve": serve})

    @property
    def measured_per_second(self) -> float | None:
        """Requests per second that were answered, where load and answers tell them."""
        if self.concurrency is None or self.load == "open":
            return None
        if self.e2e_ms is not None:
            return self.concurrency * 1000 / float(self.e2e_ms)
        if self.ttft_ms is None or self.tpot_ms is None:
            return None
        answered_ms = float(self.ttft_ms) + (self.output_tokens - 1) * float(self.tpot_ms)
        return self.concurrency * 1000 / answered_ms


@dataclass(frozen=True, slots=True)
class ServingPair:
    """One run with what is expected of it; None where nothing is."""

    run: ServingRun
    requests_per_second: float | None
    planned_requests_per_second: float | None
    tpot_ms: float | None
    ttft_ms: float | None
    """Of loads that are `open`, at the median."""
    ttft_p99_ms: float | None

    @property
    def kept_up(self) -> bool | None:
        """Whether the run answered what the planner would have planned for it."""
        measured, planned = self.run.measured_per_second, self.planned_requests_per_second
        return None if measured is None or planned is None else planned <= measured


def read_serving() -> tuple[ServingRun, ...]:
    """Read the table that ships; raises InputError for a row that is wrong."""
    file, columns = "serving.csv", tuple(ServingRun.model_fields)
    return tuple(
        row.build(
            ServingRun,
            {
                name: cell.text if name in _TEXT else row.value(name)
                for name, cell in row.cells.items()
            },
        )
        for row in table_rows(read_text(HERE / file, file), file, columns)
    )


def serving_pairs(world: World) -> tuple[ServingPair, ...]:
    """Compare every run that a replica would be planned for.

    That is, whose requests fit its GPUs at once, or arrive no faster than a replica is to take.
    """
    pairs = []
    for run in read_serving():
        situation = world.situation(run.gpu_type, run.job(50), run.gpus)
        need, usable = situation.number("needed_gb_per_gpu"), situation.number("usable_gb_per_gpu")
        if run.load != "open" and (need is None or usable is None or need > usable):
            continue
        latency: dict[str, Exact | float | None] = {"tpot_ms": situation.number("tpot_ms")}
        late = latency
        planned = situation.number("planned_requests_per_second")
        if run.requests_per_second is not None:
            if planned is None or run.requests_per_second > planned:
                continue
            replica = Flight(situation)
            flying = in_flight_at(replica, Fraction(run.requests_per_second), _MOST)
            latency = latency_at(replica.exactly, flying)
            crowded = Flight(world.situation(run.gpu_type, run.job(99), run.gpus))
            late = latency_at(crowded.exactly, flying)
        pairs.append(
            ServingPair(
                run,
                _float(situation.number("requests_per_second_per_replica")),
                _float(planned),
                _float(latency.get("tpot_ms")),
                _float(latency.get("ttft_ms")),
                _float(late.get("ttft_ms")),
            )
        )
    return tuple(pairs)


def _float(figure: Exact | float | None) -> float | None:
    return None if figure is None else float(figure)
