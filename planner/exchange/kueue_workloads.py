"""What ran under Kueue, from `kubectl get workloads -o json`."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from pydantic import AliasChoices, AwareDatetime, Field, NonNegativeInt

from planner.errors import Finding, InputError
from planner.exchange.exported import Exported, of_export
from planner.exchange.usage import ClusterUsage, scenario_name

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
                return one.last_transition_time.astimezone(UTC).replace(tzinfo=None)
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


class _List(Exported):
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


def usage_of(
    data: object, shown_as: str, names: Mapping[str, str], resources: Collection[str]
) -> ClusterUsage:
    """Count workloads and their GPU-hours, from their admission to their end, in UTC.

    `names` are those of the jobs that they stand for, and the scenario's; `resources` what
    Kubernetes calls GPUs. One that runs still counts up to the latest time in the file. Raises
    InputError for what does not read and for what cannot have been, each with its place.
    """
    workloads = of_export(_List, data, shown_as).items
    times = [one.last_transition_time for each in workloads for one in each.status.conditions]
    written = max(times).astimezone(UTC).replace(tzinfo=None) if times else None
    usage, findings = ClusterUsage(), list(_repeated(workloads, shown_as))
    for place, one in enumerate(workloads):
        try:
            _count(usage, one, scenario_name(one.name, names), resources, written)
        except ValueError as error:
            path = f"items[{place}]"
            findings.append(Finding(f"{one.id}: {error}", file=shown_as, path=path))
    if findings:
        raise InputError(*findings)
    return usage


def _repeated(workloads: tuple[_Workload, ...], shown_as: str) -> Iterator[Finding]:
    """Workloads that stand there twice: they would count twice."""
    met: dict[str, int] = {}
    for place, one in enumerate(workloads):
        first = met.setdefault(one.id, place)
        if first != place:
            message = f"{one.id} stands at items[{first}] already"
            yield Finding(message, file=shown_as, path=f"items[{place}]")


def _count(
    usage: ClusterUsage,
    workload: _Workload,
    name: str,
    resources: Collection[str],
    written: datetime | None,
) -> None:
    """Count one, or say why not; raises ValueError for what cannot have been."""
    status = workload.status
    begins, ended = status.since("Admitted"), status.since("Finished")
    gpus = _gpus(status.admission, resources)
    if begins is None or written is None:
        gone = "have ended, and Kueue has cleared when they began"
        waiting = "were evicted and wait" if status.past_seconds else "were not admitted"
        usage.leave_out(gone if ended else waiting, gpus * status.past_seconds)
        return
    ends = ended or written
    if ends < begins:
        raise ValueError(f"Finished {ends} is before Admitted {begins}")
    if begins.year not in _YEARS or ends.year not in _YEARS:
        raise ValueError(f"Admitted {begins} to {ends} lies outside the years 2000 to 2099")
    past = timedelta(seconds=status.past_seconds)
    seconds = int((ends - begins + past).total_seconds())
    usage.count(workload.id, name, begins - past, seconds, gpus)


def _gpus(admission: _Admission, resources: Collection[str]) -> int:
    """GPUs, or partitions of them; raises ValueError for a quantity that is no whole number."""
    found = 0
    for assignment in admission.pod_set_assignments:
        for resource, quantity in assignment.resource_usage.items():
            if resource in resources or resource.startswith(_PARTITION):
                if not quantity.isdecimal():
                    raise ValueError(f"{quantity!r} of {resource} is no whole number")
                found += int(quantity)
    return found
