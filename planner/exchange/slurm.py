"""What ran on a Slurm cluster, from `sacct --parsable2`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from planner.errors import Finding, InputError
from planner.exchange.usage import ClusterUsage, scenario_name
from planner.inputs.scenario.quarter import Quarter
from planner.inputs.text.words import count_of, did_you_mean

_COLUMNS = ("JobID", "JobName", "State", "Start", "ElapsedRaw", "AllocTRES")
_FORMAT = "JobID,JobName,State,Start,End,ElapsedRaw,AllocTRES"
"""All, and the End, against which the others are held where it is there."""
_GPUS = re.compile(r"(?:^|,)gres/gpu=(\d+)")
_TYPED_GPUS = re.compile(r"(?:^|,)gres/gpu:[^=,]+=(\d+)")
_NO_TIME = ("", "unknown", "none", "n/a")
_STATES = (
    *("BOOT_FAIL", "CANCELLED", "COMPLETED", "DEADLINE", "FAILED", "NODE_FAIL", "OUT_OF_MEMORY"),
    *("PENDING", "PREEMPTED", "RUNNING", "SUSPENDED", "TIMEOUT", "COMPLETING", "CONFIGURING"),
    *("EXPEDITING", "LAUNCH_FAILED", "POWER_UP_NODE", "RECONFIG_FAIL", "REQUEUED", "REQUEUE_FED"),
    *("REQUEUE_HOLD", "RESIZING", "RESV_DEL_HOLD", "REVOKED", "SIGNALING", "SPECIAL_EXIT"),
    *("STAGE_OUT", "STOPPED", "UPDATE_DB"),
)
"""Source: Slurm, "Job State Codes": states, then flags, of which one may stand in their place."""
_CLOCKS = timedelta(hours=1)
"""By so much, times of a cluster may be apart where its clocks are put back."""
_PAUSES = timedelta(days=7)
"""For so long at the most a job that still runs is taken to have been suspended."""


@dataclass(frozen=True, slots=True)
class _Run:
    """One line: an allocation, or one attempt at it."""

    line: int
    job: str
    name: str
    state: str
    begins: datetime | None
    ends: datetime | None
    seconds: int
    gpus: int


def is_sacct(text: str) -> bool:
    """Whether a text begins as `sacct` does; without `--parsable2` it is refused later."""
    return "JobID" in re.split(r"\||  +", text.partition("\n")[0])


def usage_of(text: str, shown_as: str, names: Mapping[str, str]) -> ClusterUsage:
    """Count allocations and their GPU-hours; `names` are Slurm's job names and the scenario's.

    Steps are parts of their allocation, and typed GPUs parts of `gres/gpu`, so neither is counted
    again. Without `names`, each is taken as it is. Raises InputError for missing columns, for lines
    and cells that do not read, and for what cannot have been, each with its line.
    """
    lines = text.split("\n")
    header = lines[0].split("|")
    missing = [name for name in _COLUMNS if name not in header]
    if missing:
        told = "the column" if len(missing) == 1 else "the columns"
        hint = f"ask for all: `sacct --parsable2 --format {_FORMAT}`"
        raise InputError(
            Finding(f"lacks {told} {', '.join(missing)}", file=shown_as, line=1, hint=hint)
        )
    runs: list[_Run] = []
    faults: list[tuple[int, str]] = []
    for number, line in enumerate(lines[1:], 2):
        cells = line.split("|")
        if not line.strip():
            continue
        if len(cells) != len(header):
            faults.append((number, _unequal(cells, header)))
            continue
        row = dict(zip(header, cells, strict=True))
        if "." not in row["JobID"]:
            run, found = _read(number, row)
            runs += [run] if run else []
            faults += ((number, fault) for fault in found)
    faults += (*_later_than_now(runs), *_repeated(runs))
    if faults:
        raise InputError(
            *(
                Finding(fault, shown_as, line, source_line=lines[line - 1])
                for line, fault in sorted(faults)
            )
        )
    return _counted(runs, names)


def _unequal(cells: Sequence[str], header: Sequence[str]) -> str:
    told = f"has {len(cells)} cells, the header has {len(header)}"
    return f"{told}; a name with `|` in it cannot be read"


def _read(line: int, row: Mapping[str, str]) -> tuple[_Run | None, list[str]]:
    """A line as a run, and everything that is wrong with it."""
    faults: list[str] = []
    state = row["State"].partition(" ")[0]
    if state not in _STATES:
        near = did_you_mean(state, _STATES)
        faults.append(f"State {row['State']!r} is none of Slurm's{f'; {near}' if near else ''}")
    times: list[datetime | None] = []
    for column in ("Start", "End"):
        try:
            times.append(_time(column, row.get(column, "")))
        except ValueError as error:
            faults.append(str(error))
    seconds = row["ElapsedRaw"]
    if not seconds.isdecimal():
        faults.append(f"ElapsedRaw {seconds!r} is not a number of seconds")
    if faults:
        return None, faults
    begins, ends = times
    gpus = _gpus(row["AllocTRES"])
    run = _Run(line, row["JobID"], row["JobName"], state, begins, ends, int(seconds), gpus)
    faults = list(_impossible(run))
    return (None if faults else run), faults


def _impossible(run: _Run) -> Iterator[str]:
    """What cannot have been. Of a job that was suspended, less has elapsed than Start to End."""
    if run.begins is None:
        return
    try:
        Quarter.of(run.begins + timedelta(seconds=run.seconds))
        Quarter.of(run.begins)
    except (OverflowError, ValueError):
        told = f"Start {run.begins} and ElapsedRaw {run.seconds:,}"
        yield f"{told} lie outside the years 2000 to 2100"
        return
    if run.ends is None:
        return
    between = run.ends - run.begins
    if between < timedelta(0):
        told = f"End {run.ends} is before Start {run.begins}"
        yield f"{told}; if clocks were put back between them, ask with `TZ=UTC sacct`"
    elif timedelta(seconds=run.seconds) > between + _CLOCKS:
        yield f"ElapsedRaw {run.seconds:,} is more than the {_seconds(between)} from Start to End"
    elif between and not run.seconds:
        yield f"ElapsedRaw is 0, and Start to End are {_seconds(between)}"


def _seconds(span: timedelta) -> str:
    return count_of(int(span.total_seconds()), "second")


def _later_than_now(runs: Sequence[_Run]) -> Iterator[tuple[int, str]]:
    """Times after the table was written, as far as the jobs that still ran then tell when."""
    running = [
        (run.begins + timedelta(seconds=run.seconds), run.line)
        for run in runs
        if run.state == "RUNNING" and run.begins
    ]
    if not running:
        return
    now, line = max(running)
    for run in runs:
        for column, time in (("Start", run.begins), ("End", run.ends)):
            if time and time > now + _PAUSES:
                yield (
                    run.line,
                    f"{column} {time} is in the future: this was written about {now}, when the job "
                    f"of line {line} still ran",
                )
                break


def _repeated(runs: Sequence[_Run]) -> Iterator[tuple[int, str]]:
    """Lines that stand there twice, as where two tables were joined: they would count twice."""
    met: dict[tuple[str, datetime], int] = {}
    for run in runs:
        if run.begins:
            first = met.setdefault((run.job, run.begins), run.line)
            if first != run.line:
                yield run.line, f"job {run.job} from {run.begins} stands in line {first} already"


def _counted(runs: Iterable[_Run], names: Mapping[str, str]) -> ClusterUsage:
    usage = ClusterUsage()
    for run in runs:
        job, name = run.job.partition("+")[0], scenario_name(run.name, names)
        if run.begins is None:
            why = "have no start" if run.seconds else "never started"
            usage.leave_out(why, run.gpus * run.seconds)
        else:
            usage.count(job, name, run.begins, run.seconds, run.gpus)
    return usage


def _gpus(tres: str) -> int:
    """GPUs or partitions; the sum is stated beside the types that it is made of."""
    whole = _GPUS.search(tres)
    return int(whole[1]) if whole else sum(map(int, _TYPED_GPUS.findall(tres)))


def _time(column: str, text: str) -> datetime | None:
    if text.lower() in _NO_TIME:
        return None
    try:
        return datetime.fromisoformat(text).replace(tzinfo=None)
    except ValueError:
        raise ValueError(f"{column} {text!r} is not a time, as 2027-01-31T08:00:00") from None
