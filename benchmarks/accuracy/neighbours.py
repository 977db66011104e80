"""Groups of measured runs with the error that the rules have there, as a file of the catalog."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING, Final

from benchmarks.accuracy.serving import serving_pairs
from benchmarks.accuracy.startups import startup_scores
from planner.sizing.count import Tries

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from benchmarks.accuracy.world import World
    from planner.inputs.scenario.job import Tune

__all__ = ["neighbours_file", "write_neighbours"]

_HEAD: Final = """\
# Measured runs in groups that are alike, with the mean error that the rules have there: by these a
# figure says what it rests on. Written by `make accuracy` from benchmarks/accuracy.
neighbours:
"""


@dataclass(frozen=True, slots=True, order=True)
class _Group:
    figure: str
    method: str
    parameters_b: float
    mixture: bool
    several_gpus: bool
    gpu_family: str
    gpu_vendor: str


def neighbours_file(world: World) -> str:
    """The file as text: a line for each group."""
    groups: dict[_Group, list[tuple[float, float]]] = defaultdict(list)
    for group, load, error in (*_tuning(world), *_serving(world)):
        groups[group].append((load, error))
    lines = []
    for group, runs in sorted(groups.items()):
        size = f"{group.parameters_b:g}b"
        several = "several" if group.several_gpus else "one"
        family = f", gpu_family: {group.gpu_family}" if group.gpu_family else ""
        key = "-".join(filter(None, (group.figure, group.method, size, several, group.gpu_family)))
        lines.append(
            f"  {key}: {{figure: {group.figure}, method: {group.method}, "
            f"parameters_b: {group.parameters_b!r}, mixture: {str(group.mixture).lower()}, "
            f"several_gpus: {str(group.several_gpus).lower()}, "
            f"gpu_vendor: {group.gpu_vendor}{family}, "
            f"least: {min(load for load, _ in runs):g}, most: {max(load for load, _ in runs):g}, "
            f"runs: {len(runs)}, error: {fmean(abs(error) for _, error in runs):.3f}}}\n"
        )
    return _HEAD + "".join(lines)


def write_neighbours(path: Path, world: World) -> None:
    """Write the file anew."""
    path.write_text(neighbours_file(world), encoding="utf-8", newline="\n")


def _tuning(world: World) -> Iterator[tuple[_Group, float, float]]:
    for one in world.runs:
        run = one.run
        samples = run.tune.objective == "sft"
        if samples and run.peak_gb is not None and one.predicted_gb is not None:
            tokens = Tries(world.sizer.reasoning(run.job)).at(run.gpus).number("tokens_on_gpu")
            group = _group(world, "memory", run.tune, run.gpus, "", "nvidia")
            yield group, float(tokens or 1), float(one.predicted_gb) / float(run.peak_gb) - 1
    for run in world.times:
        said, was = world.tokens_per_second_per_gpu(run), run.tokens_per_second_per_gpu
        if said is not None and was and run.gpu_type:
            gpu = world.catalog.gpus[run.gpu_type]
            tokens = world.situation(run.gpu_type, run.job, run.gpus).number("tokens_on_gpu")
            group = _group(world, "hours", run.tune, run.gpus, gpu.family, gpu.vendor)
            yield group, float(tokens or 1), said / float(was) - 1


def _group(world: World, figure: str, tune: Tune, gpus: int, family: str, vendor: str) -> _Group:
    model = world.catalog.models[tune.model or ""]
    size, mixture = float(model.parameters_b), model.experts is not None
    return _Group(figure, tune.method, size, mixture, gpus > 1, family, vendor)


def _serving(world: World) -> Iterator[tuple[_Group, float, float]]:
    models = world.catalog.models
    parts: dict[object, list[tuple[_Group, float, float]]] = defaultdict(list)
    for score in startup_scores(world):
        model, started = models[score.startup.model], score.startup
        if score.part in ("weights", "activations"):
            size, mixture = float(model.parameters_b), model.experts is not None
            group = _Group("memory", "serve", size, mixture, started.gpus > 1, "", "nvidia")
            parts[id(started)].append((group, score.predicted, score.measured))
    for start in parts.values():
        whole, was = sum(one[1] for one in start), sum(one[2] for one in start)
        yield start[0][0], 1, whole / was - 1
    for pair in serving_pairs(world):
        said, measured = pair.requests_per_second, pair.run.answered_per_second
        if said is not None and measured is not None and pair.run.concurrency:
            model = models[pair.run.model]
            size, mixture = float(model.parameters_b), model.experts is not None
            gpu = world.catalog.gpus[pair.run.gpu_type]
            several = pair.run.gpus > 1
            group = _Group("rate", "serve", size, mixture, several, gpu.family, gpu.vendor)
            yield group, pair.run.concurrency, said / measured - 1
