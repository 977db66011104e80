"""Reads what a cluster reports: runs that held its GPUs, counted by quarter, and its servers.

Runs come from `sacct --parsable2` of Slurm and `kubectl get workloads -o json` of Kueue, and
become the actuals of a plan. Servers come from `kubectl get nodes -o json`, or from `nvidia-smi
-q -x` of each, and become node types of the catalog.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from functools import cache
from itertools import accumulate
from pathlib import Path
from typing import Annotated, Any, NamedTuple
from xml.etree import ElementTree
from xml.parsers import expat

from pydantic import AliasChoices, AwareDatetime, Field, NonNegativeInt

from planner.errors import Finding, InputError, refuse
from planner.exchange import Exported, of_export
from planner.inputs.base import Frozen, Name
from planner.inputs.catalog.catalog import Catalog, GpuType
from planner.inputs.reading.diagnostics import validate
from planner.inputs.reading.locate import PRODUCT_NAMES, shipped
from planner.inputs.reading.reader import read_document
from planner.inputs.scenario.quarter import Quarter
from planner.inputs.text import count_of, csv_text, did_you_mean, nearest, one_of, some_of


class _Mapping(Frozen):
    jobs: Annotated[dict[str, Name], Field(min_length=1)]
    """The cluster's name of a job, where `*` stands for anything, and the scenario's; several may
    become one."""


def read_names(path: Path) -> dict[str, str]:
    """Read what the jobs of a cluster are called in the scenario; raises InputError."""
    return validate(read_document(path), _Mapping).jobs


def scenario_name(name: str, names: Mapping[str, str]) -> str:
    """Return the scenario's name of a job: by its own name, else by the first pattern that fits.

    Without `names`, each name is taken as it is; empty if they do not include it.
    """
    if not names:
        return name
    fitting = (
        ours
        for theirs, ours in names.items()
        if re.fullmatch(".*".join(map(re.escape, theirs.split("*"))), name)
    )
    return names.get(name) or next(fitting, "")


class _Part(NamedTuple):
    """What a run held in a quarter, or one of its attempts or components."""

    run: str
    begins: datetime
    seconds: int
    gpus: int


class ClusterUsage:
    """What jobs of each name held, by quarter."""

    def __init__(self) -> None:
        self.held: defaultdict[tuple[str, str], list[_Part]] = defaultdict(list)
        """By quarter and name. A run that was queued again is one run of several parts, and so is
        one of several components."""
        self.left_out: defaultdict[str, list[int]] = defaultdict(list)
        """By reason, the GPU-seconds of each job that does not count."""
        self._days: set[date] = set()

    def count(self, run: str, name: str, begins: datetime, seconds: int, gpus: int) -> None:
        """Count a run in every quarter in which it lies, or record why it does not count."""
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
            self.held[str(quarter), name].append(_Part(run, begins, held, gpus))
            begins = over

    @property
    def notes(self) -> list[str]:
        """Say what is left out and why, and from when to when the others ran."""
        told = []
        for why, gpu_seconds in sorted(self.left_out.items()):
            hours = sum(gpu_seconds) / 3600
            lost = f" ({hours:,.1f} GPU-hours)" if hours else ""
            told.append(f"{count_of(len(gpu_seconds), 'job')} left out: {why}{lost}")
        if self._days:
            told.append(f"runs from {min(self._days)} to {max(self._days)}")
        return told


def actuals_csv(usage: ClusterUsage) -> str:
    """Return the runs of each job by quarter for `planner compare --actuals`, with notes."""
    rows: list[tuple[object, ...]] = [("quarter", "job", "count", "gpu_hours", "gpus")]
    for key, parts in sorted(usage.held.items()):
        hours = sum(one.seconds * one.gpus for one in parts) / 3600
        runs = {one.run for one in parts}
        rows.append((*key, len(runs), f"{hours:.1f}", _most_gpus(parts)))
    return "".join(f"# {note}\n" for note in usage.notes) + csv_text(rows)


def _most_gpus(parts: Iterable[_Part]) -> int:
    """Return the most GPUs that one run held at once."""
    changes: defaultdict[str, Counter[datetime]] = defaultdict(Counter)
    for one in parts:
        changes[one.run][one.begins] += one.gpus
        changes[one.run][one.begins + timedelta(seconds=one.seconds)] -= one.gpus
    return max(max(accumulate(held[at] for at in sorted(held))) for held in changes.values())


_SACCT = ("JobID", "JobName", "State", "Start", "ElapsedRaw", "AllocTRES")
_SACCT_FORMAT = "JobID,JobName,State,Start,End,ElapsedRaw,AllocTRES"
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
"""Times of a cluster may differ by so much when its clocks are put back."""
_PAUSES = timedelta(days=7)
"""A job that still runs is taken to have been suspended for at most so long."""


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
    """Return whether a text begins as `sacct` output; without `--parsable2` it is refused later."""
    return "JobID" in re.split(r"\||  +", text.partition("\n")[0])


def usage_of_slurm(text: str, shown_as: str, names: Mapping[str, str]) -> ClusterUsage:
    """Count allocations and their GPU-hours; `names` maps Slurm's job names to the scenario's.

    Steps are parts of their allocation, and typed GPUs parts of `gres/gpu`, so neither is
    counted again. Without `names`, each name is taken as it is. Raises InputError for missing
    columns, for lines and cells that cannot be read, and for impossible ones, each with its
    line.
    """
    lines = text.split("\n")
    header = lines[0].split("|")
    missing = [name for name in _SACCT if name not in header]
    if missing:
        told = "the column" if len(missing) == 1 else "the columns"
        hint = f"ask for all: `sacct --parsable2 --format {_SACCT_FORMAT}`"
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
    """Return a line as a run, and everything that is wrong with it."""
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
    """Yield impossible times.

    A suspended job has run for less than Start to End.
    """
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
    """Yield times after the table was written, as far as running jobs tell when that was."""
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
    """Yield repeated lines, as where two tables were joined: they would count twice."""
    met: dict[tuple[str, datetime], int] = {}
    for run in runs:
        first = met.setdefault((run.job, run.begins), run.line) if run.begins else run.line
        if first != run.line:
            yield run.line, f"job {run.job} from {run.begins} stands in line {first} already"


_KUEUE = "kueue.x-k8s.io/"
_PARTITION = "nvidia.com/mig-"
_YEARS = range(2000, 2100)


class _Condition(Exported):
    type: str
    status: str
    last_transition_time: AwareDatetime


class _Assignment(Exported):
    resource_usage: dict[str, str] = Field(default_factory=dict)
    """For all of its pods together."""


class _Admission(Exported):
    pod_set_assignments: tuple[_Assignment, ...] = ()


class _WorkloadStatus(Exported):
    conditions: tuple[_Condition, ...] = ()
    admission: _Admission = _Admission()
    past_seconds: NonNegativeInt = Field(
        default=0,
        validation_alias=AliasChoices(
            "accumulatedPastExecutionTimeSeconds", "accumulatedPastExexcutionTimeSeconds"
        ),
    )
    """Seconds of attempts before the last admission; v1beta1 uses the second spelling."""

    def since(self, condition: str) -> datetime | None:
        """Return when a condition that holds now came about, in UTC."""
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
    labels: dict[str, str] = Field(default_factory=dict)
    owner_references: tuple[_Owner, ...] = ()


class _Workload(Exported):
    metadata: _Metadata
    status: _WorkloadStatus = _WorkloadStatus()

    @property
    def id(self) -> str:
        return f"{self.metadata.namespace}/{self.metadata.name}"

    @property
    def name(self) -> str:
        """Return the name of its job, or its own: Kueue adds a digest to the job's."""
        owners = (one.name for one in self.metadata.owner_references if one.controller)
        return next(owners, self.metadata.name)


class _Workloads(Exported):
    items: tuple[_Workload, ...]


def is_workloads(data: Any) -> bool:  # noqa: ANN401 - whatever JSON can hold
    """Return whether this is a list of Kueue's workloads."""
    items = data.get("items") if isinstance(data, dict) else None
    first = items[0] if isinstance(items, list) and items else None
    return (
        isinstance(first, dict)
        and first.get("kind") == "Workload"
        and str(first.get("apiVersion")).startswith(_KUEUE)
    )


def usage_of_kueue(
    data: object, shown_as: str, names: Mapping[str, str], resources: Collection[str]
) -> ClusterUsage:
    """Count workloads and their GPU-hours, from their admission to their end, in UTC.

    `names` maps the names of their jobs to the scenario's; `resources` are what Kubernetes calls
    GPUs. A running one counts up to the latest time in the file. Raises InputError for what
    cannot be read and for what is impossible, each with its place.
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
    """Count one, or record why not; raises ValueError for what is impossible."""
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


# Servers


_PARTITIONED = re.compile(r"(?P<product>.+)-MIG-(?P<profile>[0-9]+g\.[0-9]+gb)(?:\..+)?", re.I)
"""What a cluster calls GPUs whose partitions all have one profile; it counts the partitions."""
_SHARED = "-SHARED"
_LETTERS = re.compile(r"[^a-z0-9]")
_NAMED, _LONGEST = 3, 60


@dataclass(frozen=True, slots=True)
class Server:
    """A machine and its GPUs, under the reported names."""

    name: str
    gpus: tuple[tuple[str, int], ...]
    """The number of each product, or of its partitions if the name says so."""
    machine: str = ""
    """The product name of the server; empty if nothing reports it."""
    cloud: str = ""
    """Who runs it; empty on premises."""


@dataclass(frozen=True, slots=True)
class KnownServers:
    """Servers of one node type."""

    node_type: str
    count: int
    doubt: str
    """Why it may be another node type; empty if it cannot."""


def recognized(
    servers: Iterable[Server], catalog: Catalog
) -> tuple[tuple[KnownServers, ...], tuple[str, ...]]:
    """Return servers by node type, and a sentence for each kind that the catalog does not know."""
    alike: defaultdict[Server, list[str]] = defaultdict(list)
    for server in servers:
        alike[replace(server, name="")].append(server.name)
    known, unknown = [], []
    for kind, names in alike.items():
        try:
            node_type, doubt = _node_type(kind, *_gpus_of(kind, catalog.gpus), catalog)
        except LookupError as error:
            shown = some_of([name[:_LONGEST] for name in names], _NAMED)
            unknown.append(_in_a_line(f"{shown}: {error.args[0]}"))
        else:
            known.append(KnownServers(node_type, len(names), _in_a_line(doubt)))
    return tuple(known), tuple(unknown)


def _in_a_line(text: str) -> str:
    """Return text without what could end the comment that it becomes, whatever is reported."""
    return "".join(letter for letter in " ".join(text.split()) if letter.isprintable())


def _gpus_of(server: Server, known: Mapping[str, GpuType]) -> tuple[str, int]:
    """Return a server's GPU type and count; raises LookupError in the user's words."""
    names, counted = gpu_types_by_name(), Counter[str]()
    for reported, count in server.gpus:
        product = reported.removesuffix(_SHARED)
        parted = _PARTITIONED.fullmatch(product)
        product = parted["product"] if parted else product
        if not product:
            raise LookupError(f"{count_of(count, 'GPU')} without the name of a product")
        gpu_type = names.get(plain_name(product))
        if gpu_type is None:
            near = list(dict.fromkeys(names[one] for one in nearest(plain_name(product), names)))
            hint = f"; nearest: {one_of(near)}" if near else ""
            told = f"{count} x {product[:_LONGEST]!r}, which is no GPU type of the catalog{hint}"
            raise LookupError(told)
        gpus = _whole(known[gpu_type], parted["profile"], count) if parted else count
        counted[gpu_type] += gpus
    if len(counted) > 1:
        held = " and ".join(f"{count} x {gpu_type}" for gpu_type, count in counted.items())
        raise LookupError(f"{held} in one server, and node types have GPUs of one type")
    return next(iter(counted.items()))


def _whole(gpu: GpuType, profile: str, partitions: int) -> int:
    """Return the GPUs that have so many partitions of one profile; raises LookupError."""
    known = gpu.mig_profiles.get(profile.lower())
    if known is None:
        raise LookupError(f"partitions of {profile}, which its GPUs do not have")
    end, of_gpu = 0, 0
    for start in sorted(known.placement_starts):
        if start >= end and (of_gpu + 1) * known.compute_slices <= gpu.compute_slices:
            of_gpu, end = of_gpu + 1, start + known.memory_slices
    if partitions % of_gpu:
        told = f"{partitions} partitions of {profile} are of no whole number of GPUs"
        raise LookupError(f"{told}, {of_gpu} on each")
    return partitions // of_gpu


def _node_type(server: Server, gpu_type: str, gpus: int, catalog: Catalog) -> tuple[str, str]:
    """Return the node type, and what makes it doubtful; raises LookupError if there is none."""
    of_type = {name: node for name, node in catalog.nodes.items() if node.gpu_type == gpu_type}
    fit = {name: node for name, node in of_type.items() if node.gpus.value == gpus}
    if not fit:
        near = [f"{name} with {node.gpus.value}" for name, node in of_type.items()]
        hint = f"; nearest: {one_of(near[:_NAMED])}" if near else ""
        raise LookupError(f"{gpus} x {gpu_type}, and no node type has so many{hint}")
    rented = [f"rented of {server.cloud} perhaps, and not owned"] if server.cloud else []
    for name, node in fit.items():
        # `DGXH100-920-23687` is a DGX H100, and no XE9680L an XE9680.
        machine, sold = (_LETTERS.sub("", n.casefold()) for n in (server.machine, node.product))
        rest = machine.removeprefix("nvidia").removeprefix(sold)
        if machine.removeprefix("nvidia").startswith(sold) and not rest[:1].isalpha():
            return name, "".join(rented)
    first, *others = fit
    reported = f" in {server.machine[:_LONGEST]!r}" if server.machine else ""
    told = f"known by its {gpus} x {gpu_type}{reported} alone"
    told += f"; perhaps {one_of(others[:_NAMED])}" if others else ""
    return first, "; ".join((told, *rented))


_MARKS = re.compile(r"[^a-z0-9.]+")
_MAKERS = re.compile(r"^(nvidia|amd|tesla)-")


class _ProductNames(Frozen):
    gpus: dict[str, tuple[str, ...]]
    """By GPU type."""


def plain_name(product: str) -> str:
    """Return a product's name without its maker, in lower case with dashes between its words."""
    return _MAKERS.sub("", _MARKS.sub("-", product.casefold()).strip("-"))


@cache
def gpu_types_by_name() -> dict[str, str]:
    """Return the GPU types by the plain names of their products."""
    name = f"catalog/{PRODUCT_NAMES}"
    read = read_document(shipped("catalog") / PRODUCT_NAMES, shown_as=name)
    return {
        plain_name(product): gpu_type
        for gpu_type, products in validate(read, _ProductNames).gpus.items()
        for product in products
    }


_REPORT = "nvidia_smi_log"
_PROGRAM, _BEGINNING = b"NVIDIA-SMI", 400
_STARTS = (b"<", b"\xff\xfe<", b"\xfe\xff\0<")


def is_report(content: bytes) -> bool:
    """Return whether this is XML, as it should be, or other output of nvidia-smi."""
    xml = content.removeprefix(b"\xef\xbb\xbf").lstrip().startswith(_STARTS)
    return xml or _PROGRAM in content[:_BEGINNING]


def server_of(content: bytes, name: str, shown_as: str) -> tuple[Server, frozenset[str]]:
    """Return a server and the UUIDs of its GPUs; raises InputError for any other report.

    nvidia-smi names the file of its document type, which is never opened; a report that declares
    entities itself is refused.
    """
    line = None
    gpus: list[ElementTree.Element] = []
    if b"!ENTITY" in content.replace(b"\0", b""):
        fault = "declares a document type of its own, which is not read"
    else:
        try:
            root = ElementTree.fromstring(content)
            gpus = root.findall("gpu") if root.tag == _REPORT else []
            other = f"is XML of another kind: <{root.tag[:40]}>"
            fault = "has no GPU" if root.tag == _REPORT else other
        except ElementTree.ParseError as error:
            fault, (line, _) = f"is no XML: {expat.errors.messages[error.code]}", error.position
    if not gpus:
        hint = "write one file for each server: `nvidia-smi -q -x > SERVER.xml`"
        raise InputError(Finding(fault, file=shown_as, line=line, hint=hint))
    products, uuids = (
        [(gpu.findtext(key) or "").strip() for gpu in gpus] for key in ("product_name", "uuid")
    )
    return Server(name, tuple(sorted(Counter(products).items()))), frozenset(filter(None, uuids))


_NVIDIA = "nvidia.com/gpu"
_PRODUCT, _COUNT, _REPLICAS = (f"{_NVIDIA}.{part}" for part in ("product", "count", "replicas"))
_MACHINE = f"{_NVIDIA}.machine"
_AMD_PRODUCTS = ("amd.com/gpu.product-name", "beta.amd.com/gpu.product-name")
_LISTS = {"List", "NodeList"}
_CLOUDS = {"aws": "AWS", "azure": "Azure", "gce": "Google Cloud", "oci": "Oracle Cloud"}
"""By the scheme of `providerID`, as their cloud controllers write it."""


class _Spec(Exported):
    provider_id: str = Field(default="", alias="providerID")


class _Status(Exported):
    capacity: dict[str, str] = Field(default_factory=dict)


class _Node(Exported):
    metadata: _Metadata
    spec: _Spec = _Spec()
    status: _Status = _Status()


class _Nodes(Exported):
    items: tuple[_Node, ...]


def is_nodes(data: Any) -> bool:  # noqa: ANN401 - whatever JSON can hold
    """Return whether this is a node, or a list of nodes; an empty list is not recognized."""
    if not isinstance(data, dict):
        return False
    items = data.get("items")
    if data.get("kind") not in _LISTS or not isinstance(items, list):
        return data.get("kind") == "Node"
    first = items[0] if items else {"kind": "Node"}
    return data["kind"] == "NodeList" or (isinstance(first, dict) and first.get("kind") == "Node")


def servers_of(data: Any, shown_as: str, resources: Collection[str]) -> tuple[Server, ...]:  # noqa: ANN401
    """Return nodes with GPUs, by the labels of GPU feature discovery and their `resources`.

    Raises InputError for what cannot be read, with its place, and if no node has GPUs.
    """
    listed = data if data.get("kind") in _LISTS else {"items": [data]}
    nodes = of_export(_Nodes, listed, shown_as).items
    findings: list[Finding] = []
    servers = []
    for place, node in enumerate(nodes):
        try:
            if gpus := tuple(_gpus_of_node(node, resources)):
                machine = node.metadata.labels.get(_MACHINE, "")
                cloud = _CLOUDS.get(node.spec.provider_id.partition(":")[0], "")
                servers.append(Server(node.metadata.name, gpus, machine, cloud))
        except ValueError as error:
            findings.append(Finding(str(error), file=shown_as, path=f"items[{place}]"))
    if not findings and not servers:
        message = f"has no node with GPUs, of {len(nodes)}" if nodes else "lists nothing"
        hint = "`kubectl get nodes -o json` of whom may see all nodes, with their device plugins"
        findings.append(Finding(message, file=shown_as, hint=hint))
    refuse(findings)
    return tuple(servers)


def _gpus_of_node(node: _Node, resources: Collection[str]) -> Iterator[tuple[str, int]]:
    """Return products and counts; raises ValueError for a quantity that is no whole number."""
    labels, capacity = node.metadata.labels, node.status.capacity
    product = labels.get(_PRODUCT, "")
    if _COUNT in labels:  # of GPUs, or of partitions; where GPUs are shared, capacity counts parts
        nvidia = _quantity(labels[_COUNT], _COUNT, node)
    else:
        parts = _quantity(capacity.get(_NVIDIA, "0"), _NVIDIA, node)
        nvidia = parts // max(1, _quantity(labels.get(_REPLICAS, "1"), _REPLICAS, node))
    if nvidia:
        yield product, nvidia
    amd = next((labels[name] for name in _AMD_PRODUCTS if name in labels), "")
    for resource in sorted(set(resources) - {_NVIDIA}):
        if count := _quantity(capacity.get(resource, "0"), resource, node):
            yield amd if resource.startswith("amd.") else resource, count


def _quantity(quantity: str, name: str, node: _Node) -> int:
    if not quantity.isascii() or not quantity.isdecimal() or len(quantity) > 9:
        raise ValueError(f"{node.metadata.name}: {quantity[:20]!r} of {name} is no number of GPUs")
    return int(quantity)
