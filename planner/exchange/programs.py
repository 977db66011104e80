"""Files that other programs export: which of them are known, and what each becomes.

A format is a row of `_JSON` or `_TEXT`: what it is, how its content is recognized, what reads it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from planner.errors import Finding, InputError
from planner.exchange import cluster, parsed, traffic
from planner.exchange.portfolio import scenario_part
from planner.inputs.catalog.catalog import Catalog
from planner.inputs.load import load_catalog
from planner.inputs.text import listed


class ProgramExport(NamedTuple):
    """Where a file is, and what is known beside it."""

    path: Path
    mapping: Path | None
    """What the jobs of a cluster are called here."""
    catalog: Catalog

    @property
    def shown_as(self) -> str:
        """What findings call the file."""
        return str(self.path)

    @property
    def names(self) -> Mapping[str, str]:
        """The names of jobs in the scenario by those in the cluster; raises InputError."""
        return cluster.read_names(self.mapping) if self.mapping else {}


class Imported(NamedTuple):
    """Jobs as a scenario states them (None of actuals), the file to write, and remarks."""

    jobs: dict[str, dict[str, Any]] | None
    text: str
    notes: Sequence[str]


def imported(path: Path, text: str | None, mapping: Path | None) -> Imported | None:
    """Read a file of a known program, `text` None where it is none; None: it is a table.

    Raises InputError with every mistake, and for JSON of an unknown kind.
    """
    source = ProgramExport(path, mapping, load_catalog([])[0])
    if text is None:
        return _of_trace(source) if traffic.is_trace(path) else None
    if not text.lstrip().startswith(("{", "[")):
        return next((read(text, source) for holds, read in _TEXT.values() if holds(text)), None)
    data = parsed(text, source.shown_as)
    for holds, read in _JSON.values():
        if holds(data):
            return read(data, source)
    hint = f"read are {listed([*_JSON])}, and by `planner init` `kubectl get nodes -o json`"
    raise InputError(
        Finding("is JSON of another kind than is read", file=source.shown_as, hint=hint)
    )


def _of_trace(source: ProgramExport) -> Imported:
    jobs, notes = traffic.loads_of(source.path, source.catalog)
    return _traffic(source, jobs, notes)


def _traffic(
    source: ProgramExport, jobs: dict[str, dict[str, Any]], notes: Sequence[str]
) -> Imported:
    if source.mapping is not None:
        message = f"{source.path} holds traffic, which has neither columns nor jobs to map"
        raise InputError(Finding(message, path="mapping"))
    return Imported(jobs, scenario_part(jobs, f"Traffic of {source.path.name}"), notes)


def _of_series(series: list[traffic.MetricSeries], source: ProgramExport) -> Imported:
    """Gauges of GPUs are actuals, counters of requests are traffic."""
    if traffic.watched(series):
        actuals, notes = traffic.held_by(series, source.names, source.shown_as)
        return Imported(None, actuals, [f"{source.path}: {note}" for note in notes])
    found = traffic.served(series, source.path.stem, source.shown_as, source.catalog)
    return _traffic(source, *found)


def _of_usage(usage: cluster.ClusterUsage, source: ProgramExport) -> Imported:
    notes = [f"{source.path}: {note}" for note in usage.notes]
    return Imported(None, cluster.actuals_csv(usage), notes)


def _of_prometheus(data: Any, source: ProgramExport) -> Imported:  # noqa: ANN401 - any JSON
    return _of_series(traffic.of_matrix(data, source.shown_as), source)


def _of_kueue(data: Any, source: ProgramExport) -> Imported:  # noqa: ANN401 - any JSON
    resources = {gpu.kubernetes_resource for gpu in source.catalog.gpus.values()}
    return _of_usage(cluster.usage_of_kueue(data, source.shown_as, source.names, resources), source)


def _of_grafana(text: str, source: ProgramExport) -> Imported:
    return _of_series(traffic.of_csv(text, source.shown_as), source)


def _of_slurm(text: str, source: ProgramExport) -> Imported:
    return _of_usage(cluster.usage_of_slurm(text, source.shown_as, source.names), source)


_Reader = tuple[Callable[[Any], bool], Callable[[Any, ProgramExport], Imported]]
_JSON: Final[dict[str, _Reader]] = {
    "answers of Prometheus to `query_range`": (traffic.is_matrix, _of_prometheus),
    "`kubectl get workloads -o json`": (cluster.is_workloads, _of_kueue),
}
_TEXT: Final[dict[str, _Reader]] = {
    "metrics as Grafana exports them": (traffic.is_csv, _of_grafana),
    "`sacct --parsable2`": (cluster.is_sacct, _of_slurm),
}
