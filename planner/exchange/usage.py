"""Runs that held GPUs of a cluster, counted by quarter, as the actuals of a plan.

Read are `sacct --parsable2` of Slurm and `kubectl get workloads -o json` of Kueue.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Annotated, Any

from pydantic import AliasChoices, AwareDatetime, Field, NonNegativeInt

from planner.errors import Finding, InputError, refuse
from planner.exchange import Exported, of_export
from planner.inputs.base import Frozen, Name
from planner.inputs.reading.diagnostics import validate
from planner.inputs.reading.reader import read_document
from planner.inputs.scenario.quarter import Quarter
from planner.inputs.text import count_of, csv_text, did_you_mean


class _Mapping(Frozen):
    jobs: Annotated[dict[str, Name], Field(min_length=1)]
    """The cluster's name of a job, where `*` stands for anything, and the scenario's; several may
    become one."""


def read_names(path: Path) -> dict[str, str]:
    """Read what the jobs of a cluster are called in the scenario; raises InputError."""
    return validate(read_document(path), _Mapping).jobs


def scenario_name(name: str, names: Mapping[str, str]) -> str:
    """The scenario's name of a job: by its own name, else by the first pattern that fits it.

    Without `names`, each is taken as it is; empty where they do not name it.
    """
    if not names:
        return name
    fitting = (
        ours
        for theirs, ours in names.items()
        if re.fullmatch(".*".join(map(re.escape, theirs.split("*"))), name)
    )
    return names.get(name) or next(fitting, "")


class ClusterUsage:
    """What jobs of each name held, by quarter."""

    def __init__(self) -> None:
        self.held: defaultdict[tuple[str, str], list[tuple[str, int, int]]] = defaultdict(list)
        """By quarter and name: runs, each with its seconds there and its GPUs. One that was queued
        again is one run of several parts, and so is one of several components."""
        self.left_out: defaultdict[str, list[int]] = defaultdict(list)
        """By reason: GPU-seconds of each job that does not count."""
        self._days: set[date] = set()

    def count(self, run: str, name: str, begins: datetime, seconds: int, gpus: int) -> None:
        """Count a run in every quarter that it lies in, or why it does not count."""
        if not (seconds and gpus and name):
            why = "are not in the mapping" if seconds and gpus else "held no GPU"
            why = why if seconds else "ended in the second in which they began"
            self.left_out[why].append(gpus * seconds)
            return
        ends = begins + timedelta(seconds=seconds)
        self._days |= {begins.date(), ends.date()}
        while begins < ends:
            quarter = Quarter.of(begins)
            over = datetime.combine((quarter + 1).start, datetime.min.time())
            held = int((min(over, ends) - begins).total_seconds())
            self.held[str(quarter), name].append((run, held, gpus))
            begins = over

    @property
    def notes(self) -> list[str]:
        """What is left out and why, and from when to when the others ran."""
        told = []
        for why, gpu_seconds in sorted(self.left_out.items()):
            hours = sum(gpu_seconds) / 3600
            lost = f" ({hours:,.1f} GPU-hours)" if hours else ""
            told.append(f"{count_of(len(gpu_seconds), 'job')} left out: {why}{lost}")
        if self._days:
            told.append(f"runs from {min(self._days)} to {max(self._days)}")
        return told


def actuals_csv(usage: ClusterUsage) -> str:
    """Runs of each job by quarter as `planner compare --actuals` reads them, notes above them."""
    rows: list[tuple[object, ...]] = [("quarter", "job", "count", "gpu_hours", "gpus")]
    for key, parts in sorted(usage.held.items()):
        hours = sum(seconds * gpus for _, seconds, gpus in parts) / 3600
        runs, most_gpus = {run for run, _, _ in parts}, max(gpus for _, _, gpus in parts)
        rows.append((*key, len(runs), f"{hours:.1f}", most_gpus))
    return "".join(f"# {note}\n" for note in usage.notes) + csv_text(rows)


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


def usage_of_slurm(text: str, shown_as: str, names: Mapping[str, str]) -> ClusterUsage:
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
            told = f"has {len(cells)} cells, the header has {len(header)}"
            faults.append((number, f"{told}; a name with `|` in it cannot be read"))
            continue
        row = dict(zip(header, cells, strict=True))
        if "." not in row["JobID"]:
            run, found = _read(number, row)
            runs += [] if found else [run]
            faults += ((number, fault) for fault in found)
    faults += (*_later_than_now(runs), *_repeated_lines(runs))
    refuse(
        Finding(fault, shown_as, line, source_line=lines[line - 1])
        for line, fault in sorted(faults)
    )
    usage = ClusterUsage()
    for run in runs:
        job, name = run.job.partition("+")[0], scenario_name(run.name, names)
        if run.begins is None:
            why = "have no start" if run.seconds else "never started"
            usage.left_out[why].append(run.gpus * run.seconds)
        else:
            usage.count(job, name, run.begins, run.seconds, run.gpus)
    return usage


def _read(line: int, row: Mapping[str, str]) -> tuple[_Run, list[str]]:
    """A line as a run, and everything that is wrong with it."""
    faults: list[str] = []
    state = row["State"].partition(" ")[0]
    if state not in _STATES:
        near = did_you_mean(state, _STATES)
        faults.append(f"State {row['State']!r} is none of Slurm's{f'; {near}' if near else ''}")
    times: list[datetime | None] = []
    for column in ("Start", "End"):
        text = row.get(column, "")
        try:
            unknown = text.lower() in _NO_TIME
            times.append(None if unknown else datetime.fromisoformat(text).replace(tzinfo=None))
        except ValueError:
            times.append(None)
            faults.append(f"{column} {text!r} is not a time, as 2027-01-31T08:00:00")
    seconds = row["ElapsedRaw"]
    if not seconds.isdecimal():
        faults.append(f"ElapsedRaw {seconds!r} is not a number of seconds")
    # GPUs or partitions; their sum is stated beside the types that it is made of.
    whole, tres = _GPUS.search(row["AllocTRES"]), row["AllocTRES"]
    gpus = int(whole[1]) if whole else sum(map(int, _TYPED_GPUS.findall(tres)))
    lasted = 0 if faults else int(seconds)
    begins, ends = times
    run = _Run(line, row["JobID"], row["JobName"], state, begins, ends, lasted, gpus)
    return run, faults or list(_impossible(run))


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
    span = count_of(int(between.total_seconds()), "second")
    if between < timedelta(0):
        told = f"End {run.ends} is before Start {run.begins}"
        yield f"{told}; if clocks were put back between them, ask with `TZ=UTC sacct`"
    elif timedelta(seconds=run.seconds) > between + _CLOCKS:
        yield f"ElapsedRaw {run.seconds:,} is more than the {span} from Start to End"
    elif between and not run.seconds:
        yield f"ElapsedRaw is 0, and Start to End are {span}"


def _later_than_now(runs: Sequence[_Run]) -> Iterator[tuple[int, str]]:
    """Times after the table was written, as far as the jobs that still ran then tell when."""
    now, witness = max(
        (
            (run.begins + timedelta(seconds=run.seconds), run.line)
            for run in runs
            if run.state == "RUNNING" and run.begins
        ),
        default=(None, 0),
    )
    for run in runs if now else ():
        for column, time in (("Start", run.begins), ("End", run.ends)):
            if now and time and time > now + _PAUSES:
                told = f"{column} {time} is in the future: this was written about {now}"
                yield run.line, f"{told}, when the job of line {witness} still ran"
                break


def _repeated_lines(runs: Sequence[_Run]) -> Iterator[tuple[int, str]]:
    """Lines that stand there twice, as where two tables were joined: they would count twice."""
    met: dict[tuple[str, datetime], int] = {}
    for run in runs:
        first = met.setdefault((run.job, run.begins), run.line) if run.begins else run.line
        if first != run.line:
            yield run.line, f"job {run.job} from {run.begins} stands in line {first} already"


_API = "kueue.x-k8s.io/"
_PARTITION = "nvidia.com/mig-"
_YEARS = range(2000, 2100)


class _Condition(Exported):
    type: str
    status: str
    last_transition_time: AwareDatetime


class _Assignment(Exported):
    resource_usage: dict[str, str] = Field(default_factory=dict)
    """Of all its pods together."""


class _Admission(Exported):
    pod_set_assignments: tuple[_Assignment, ...] = ()


class _Status(Exported):
    conditions: tuple[_Condition, ...] = ()
    admission: _Admission = _Admission()
    past_seconds: NonNegativeInt = Field(
        default=0,
        validation_alias=AliasChoices(
            "accumulatedPastExecutionTimeSeconds", "accumulatedPastExexcutionTimeSeconds"
        ),
    )
    """Of attempts before the last admission; v1beta1 spells it in the second way."""

    def since(self, condition: str) -> datetime | None:
        """When a condition came about that holds now, in UTC."""
        for one in self.conditions:
            if (one.type, one.status) == (condition, "True"):
                return _naive(one.last_transition_time)
        return None


class _Owner(Exported):
    name: str
    controller: bool = False


class _Metadata(Exported):
    name: str
    namespace: str = ""
    owner_references: tuple[_Owner, ...] = ()


class _Workload(Exported):
    metadata: _Metadata
    status: _Status = _Status()

    @property
    def id(self) -> str:
        return f"{self.metadata.namespace}/{self.metadata.name}"

    @property
    def name(self) -> str:
        """Of the job that it stands for, or its own: Kueue adds a digest to the job's."""
        owners = (one.name for one in self.metadata.owner_references if one.controller)
        return next(owners, self.metadata.name)


class _Workloads(Exported):
    items: tuple[_Workload, ...]


def is_workloads(data: Any) -> bool:  # noqa: ANN401 - whatever JSON can hold
    """Whether this is a list of Kueue's workloads."""
    items = data.get("items") if isinstance(data, dict) else None
    first = items[0] if isinstance(items, list) and items else None
    return (
        isinstance(first, dict)
        and first.get("kind") == "Workload"
        and str(first.get("apiVersion")).startswith(_API)
    )


def usage_of_kueue(
    data: object, shown_as: str, names: Mapping[str, str], resources: Collection[str]
) -> ClusterUsage:
    """Count workloads and their GPU-hours, from their admission to their end, in UTC.

    `names` are those of the jobs that they stand for, and the scenario's; `resources` what
    Kubernetes calls GPUs. One that runs still counts up to the latest time in the file. Raises
    InputError for what does not read and for what cannot have been, each with its place.
    """
    workloads = of_export(_Workloads, data, shown_as).items
    times = [one.last_transition_time for each in workloads for one in each.status.conditions]
    written = _naive(max(times)) if times else None
    usage, findings = ClusterUsage(), []
    met: dict[str, int] = {}
    for place, one in enumerate(workloads):
        path = f"items[{place}]"
        try:
            if met.setdefault(one.id, place) != place:  # it would count twice
                raise ValueError(f"{one.id} stands at items[{met[one.id]}] already")
            _count(usage, one, scenario_name(one.name, names), resources, written)
        except ValueError as error:
            findings.append(Finding(str(error), file=shown_as, path=path))
    refuse(findings)
    return usage


def _naive(moment: datetime) -> datetime:
    return moment.astimezone(UTC).replace(tzinfo=None)


def _count(
    usage: ClusterUsage,
    workload: _Workload,
    name: str,
    resources: Collection[str],
    written: datetime | None,
) -> None:
    """Count one, or say why not; raises ValueError for what cannot have been."""
    status, gpus = workload.status, 0
    for assignment in status.admission.pod_set_assignments:
        for resource, quantity in assignment.resource_usage.items():
            if resource in resources or resource.startswith(_PARTITION):
                if not quantity.isdecimal():
                    told = f"{quantity!r} of {resource} is no whole number"
                    raise ValueError(f"{workload.id}: {told}")
                gpus += int(quantity)
    begins, ended = status.since("Admitted"), status.since("Finished")
    if begins is None or written is None:
        gone = "have ended, and Kueue has cleared when they began"
        waiting = "were evicted and wait" if status.past_seconds else "were not admitted"
        usage.left_out[gone if ended else waiting].append(gpus * status.past_seconds)
        return
    ends = ended or written
    if ends < begins:
        raise ValueError(f"{workload.id}: Finished {ends} is before Admitted {begins}")
    if begins.year not in _YEARS or ends.year not in _YEARS:
        told = f"Admitted {begins} to {ends} lies outside the years 2000 to 2099"
        raise ValueError(f"{workload.id}: {told}")
    past = timedelta(seconds=status.past_seconds)
    seconds = int((ends - begins + past).total_seconds())
    usage.count(workload.id, name, begins - past, seconds, gpus)
