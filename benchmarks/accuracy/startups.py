"""Measured starts of serving engines, and the planner's figures beside them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks.accuracy.origins import HERE
from planner.inputs.base import Bits, Frozen, Name, PositiveCount, PositiveNumber
from planner.inputs.reading.grid import table_rows
from planner.inputs.reading.reader import read_text
from planner.inputs.scenario.job import Job, Serve

if TYPE_CHECKING:
    from benchmarks.accuracy.world import World
    from planner.sizing.candidate import Memory

__all__ = ["Startup", "StartupScore", "read_startups", "startup_scores"]

_GB_PER_GIB = 2**30 / 1e9
_TEXT = frozenset({"origin", "framework", "model", "published", "source"})
_CONCURRENCY = 16
"""Any figure does: the cache of so many requests is scaled to the tokens that were measured."""


class Startup(Frozen):
    """What a serving engine said of its memory when it started, GiB per GPU."""

    origin: Name
    framework: Name
    model: str
    """Model id of the catalog."""
    published: Name
    """The checkpoint as published."""
    bits: Bits
    gpus: PositiveCount
    context: PositiveCount
    weights_gib: PositiveNumber | None = None
    activation_gib: PositiveNumber | None = None
    non_torch_gib: PositiveNumber | None = None
    graphs_gib: PositiveNumber | None = None
    kv_gib: PositiveNumber | None = None
    kv_tokens: PositiveCount | None = None
    """Tokens that all GPUs together can cache."""
    source: str

    @property
    def job(self) -> Job:
        """The start as a job of a scenario."""
        serve = Serve(
            model=self.model, bits=self.bits, context=self.context, concurrency=_CONCURRENCY
        )
        return Job(serve=serve)


class StartupScore(Frozen):
    """One part of one start: measured and predicted, in the unit of the part."""

    startup: Startup
    part: str
    measured: float
    predicted: float


def read_startups() -> tuple[Startup, ...]:
    """Read the table that ships; raises InputError for a row that is wrong."""
    file, columns = "startups.csv", tuple(Startup.model_fields)
    return tuple(
        row.build(
            Startup,
            {
                name: cell.text if name in _TEXT else row.value(name)
                for name, cell in row.cells.items()
            },
        )
        for row in table_rows(read_text(HERE / file, file), file, columns)
    )


def startup_scores(world: World) -> tuple[StartupScore, ...]:
    """Compare weights, activations and KV tokens of every start that the planner can size."""
    scores = []
    for startup in read_startups():
        memory = world.sizer.memory(startup.job, startup.gpus)
        if memory is not None:
            windows = world.catalog.models[startup.model].sliding_layers > 0
            scores += _parts(startup, memory, windows=windows)
    return tuple(scores)


def _parts(startup: Startup, memory: Memory, *, windows: bool) -> list[StartupScore]:
    """Compare part by part; where layers slide, vLLM counts tokens as though none did."""
    gib = {part.name: part.mb / 1000 / _GB_PER_GIB for part in memory.parts}
    found = []
    for part, measured in (
        ("weights", startup.weights_gib),
        ("activations", startup.activation_gib),
        ("CUDA graphs", startup.graphs_gib),
    ):
        if measured is not None and part in gib:
            found.append(
                StartupScore(
                    startup=startup, part=part, measured=float(measured), predicted=gib[part]
                )
            )
    if startup.kv_tokens and startup.kv_gib and gib.get("KV cache") and not windows:
        per_token = gib["KV cache"] / (startup.context * _CONCURRENCY)
        found.append(
            StartupScore(
                startup=startup,
                part="KV tokens",
                measured=float(startup.kv_tokens),
                predicted=float(startup.kv_gib) / per_token,
            )
        )
    return found
