"""What ran on a Slurm cluster, from `sacct --parsable2`, as the actuals of a plan."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from planner.errors import Finding, InputError
from planner.inputs.base import Frozen, Name
from planner.inputs.reading.diagnostics import validate
from planner.inputs.reading.document import shown_line
from planner.inputs.reading.reader import read_document
from planner.inputs.scenario.quarter import Quarter
from planner.inputs.text.cells import csv_text
from planner.inputs.text.words import count_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

__all__ = ["Usage", "actuals_csv", "is_sacct", "read_names", "usage_of"]

_COLUMNS = ("JobID", "JobName", "State", "Start", "ElapsedRaw", "AllocTRES")
_GPUS = re.compile(r"(?:^|,)gres/gpu=(\d+)")
_TYPED_GPUS = re.compile(r"(?:^|,)gres/gpu:[^=,]+=(\d+)")
_NO_TIME = ("", "unknown", "none", "n/a")


@dataclass(slots=True)
class Usage:
    """What jobs of each name held, by quarter."""

    runs: defaultdict[tuple[str, str], set[str]] = field(default_factory=lambda: defaultdict(set))
    """By quarter and name, the jobs that ran; a job that was requeued is one, and so is one of
    several components."""
    gpu_seconds: Counter[tuple[str, str]] = field(default_factory=Counter)
    left_out: Counter[str] = field(default_factory=Counter)
    """Why, and how many jobs."""
    seconds_left_out: Counter[str] = field(default_factory=Counter)
    """Why, and GPU-seconds."""

    def leave_out(self, why: str, gpus: int, seconds: str) -> None:
        """Count a job that does not count, with what it held."""
        self.left_out[why] += 1
        self.seconds_left_out[why] += gpus * int(seconds)


def is_sacct(text: str) -> bool:
    """Whether a text begins as `sacct` does; without `--parsable2` it is refused later."""
    return "JobID" in re.split(r"\||  +", text.partition("\n")[0])


class _Mapping(Frozen):
    jobs: Annotated[dict[str, Name], Field(min_length=1)]
    """Slurm's name of a job, and the scenario's; several may become one."""


def read_names(path: Path) -> dict[str, str]:
    """Read what the jobs of Slurm are called in the scenario; raises InputError."""
    return validate(read_document(path), _Mapping).jobs


def usage_of(text: str, shown_as: str, names: Mapping[str, str]) -> Usage:
    """Count allocations and their GPU-hours; `names` are Slurm's job names and the scenario's.

    Steps are parts of their allocation, and typed GPUs parts of `gres/gpu`, so neither is counted
    again. Without `names`, each is taken as it is. Raises InputError for missing columns and for
    lines and cells that do not read.
    """
    lines = text.split("\n")
    header = lines[0].split("|")
    missing = [name for name in _COLUMNS if name not in header]
    if missing:
        told = "the column" if len(missing) == 1 else "the columns"
        hint = f"ask for all: `sacct --parsable2 --format {','.join(_COLUMNS)}`"
        raise InputError(
            Finding(f"lacks {told} {', '.join(missing)}", file=shown_as, line=1, hint=hint)
        )
    usage = Usage()
    findings: list[Finding] = []
    for number, line in enumerate(lines[1:], 2):
        if not line.strip():
            continue
        cells = line.split("|")
        try:
            _require_cells(cells, header)
            _count(usage, dict(zip(header, cells, strict=True)), names)
        except (ValueError, OverflowError) as error:
            findings.append(
                Finding(str(error), file=shown_as, line=number, source_line=shown_line(line))
            )
    if findings:
        raise InputError(*findings)
    return usage


def _require_cells(cells: Sequence[str], header: Sequence[str]) -> None:
    if len(cells) != len(header):
        raise ValueError(
            f"has {len(cells)} cells, the header has {len(header)}; a name with `|` in it cannot "
            "be read"
        )


def _count(usage: Usage, row: Mapping[str, str], names: Mapping[str, str]) -> None:
    job = row["JobID"]
    if "." in job:
        return
    gpus, begins, seconds = _gpus(row["AllocTRES"]), _time(row["Start"]), row["ElapsedRaw"]
    if not seconds.isdecimal():
        raise ValueError(f"ElapsedRaw {seconds!r} is not a number of seconds")
    name = names.get(row["JobName"], "" if names else row["JobName"])
    if begins is None or seconds == "0":
        usage.leave_out("never started" if seconds == "0" else "have no start", gpus, seconds)
    elif not gpus:
        usage.leave_out("held no GPU", gpus, seconds)
    elif not name:
        usage.leave_out("are not in the mapping", gpus, seconds)
    else:
        for quarter, held in _by_quarter(begins, int(seconds)):
            usage.runs[quarter, name].add(job.partition("+")[0])
            usage.gpu_seconds[quarter, name] += held * gpus


def _gpus(tres: str) -> int:
    """GPUs or partitions; the sum is stated beside the types that it is made of."""
    whole = _GPUS.search(tres)
    return int(whole[1]) if whole else sum(map(int, _TYPED_GPUS.findall(tres)))


def _time(text: str) -> datetime | None:
    if text.lower() in _NO_TIME:
        return None
    try:
        return datetime.fromisoformat(text).replace(tzinfo=None)
    except ValueError:
        raise ValueError(f"Start {text!r} is not a time, as 2027-01-31T08:00:00") from None


def _by_quarter(begins: datetime, seconds: int) -> Iterator[tuple[str, int]]:
    """The quarters that a run lies in, with its seconds in each."""
    ends = begins + timedelta(seconds=seconds)
    while begins < ends:
        quarter = Quarter.parse(f"{begins.year}Q{(begins.month + 2) // 3}")
        over = datetime.combine((quarter + 1).start, datetime.min.time())
        yield str(quarter), int((min(over, ends) - begins).total_seconds())
        begins = over


def actuals_csv(usage: Usage) -> str:
    """Runs of each job by quarter as `planner compare --actuals` reads them, notes above them."""
    notes = [
        f"# {count_of(count, 'job')} left out: {why}{_gpu_hours(usage.seconds_left_out[why])}\n"
        for why, count in sorted(usage.left_out.items())
    ]
    notes += [
        f"# {quarter} {_on_one_line(name)}: {seconds / 3600:,.1f} GPU-hours\n"
        for (quarter, name), seconds in sorted(usage.gpu_seconds.items())
    ]
    return "".join(notes) + csv_text(_rows(usage))


def _gpu_hours(seconds: int) -> str:
    return f" ({seconds / 3600:,.1f} GPU-hours)" if seconds else ""


def _on_one_line(text: str) -> str:
    return " ".join(text.split())


def _rows(usage: Usage) -> Iterable[tuple[object, ...]]:
    yield ("quarter", "job", "count")
    for (quarter, name), jobs in sorted(usage.runs.items()):
        yield quarter, name, len(jobs)
