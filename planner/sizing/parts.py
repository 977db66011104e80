"""Sizes a serving job on parts of a GPU: on MIG partitions, and beside others by memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from operator import le

from planner.inputs.catalog.catalog import Catalog, MigProfile
from planner.inputs.scenario.scenario import Policies
from planner.sizing.candidate import Candidate, Rejection, way_of
from planner.sizing.count import Counter, Placement
from planner.sizing.engine import Known
from planner.sizing.subject import partition_facts, shared_facts
from planner.sizing.tries import Tries

Place = Callable[[str, Mapping[str, Known]], Placement | Rejection]
"""Sizes the job on what these facts tell of a GPU, under this name."""

_SMALLEST = "partitions"


class Parts:
    """The parts of one GPU type that the policies allow."""

    def __init__(self, gpu_type: str, catalog: Catalog, policies: Policies) -> None:
        self._gpu_type = gpu_type
        self._profiles: dict[str, MigProfile] = {}
        self._facts: dict[str, dict[str, Known]] = {}
        if policies.mig != "never":
            profiles = catalog.gpus[gpu_type].mig_profiles
            self._profiles = dict(sorted(profiles.items(), key=lambda item: _size(*item)))
            self._facts = {
                profile: partition_facts(gpu_type, profile, catalog) for profile in self._profiles
            }
        self._mixes = policies.mig == "same-node"
        self._all_slices = catalog.gpus[gpu_type].memory_slices
        self._shared = shared_facts(gpu_type, catalog) if policies.shared_gpus else None

    def place(
        self, counter: Counter, job: Tries, place: Place
    ) -> tuple[tuple[Placement, ...], tuple[Rejection, ...]]:
        """Candidates on parts, smallest first, and what speaks against the other parts.

        A partition is passed over where a smaller one does as well, and one of all slices where a
        whole GPU may stand beside partitioned ones.
        """
        placed: list[Placement] = []
        refused: list[Rejection] = []
        for profile, facts in self._facts.items():
            way = way_of(self._gpu_type, partition=profile)
            found = self._placed(way, facts, counter, job, place, {"partition": profile})
            if isinstance(found, Rejection):
                refused.append(found)
                continue
            better = self._better(profile, found.candidate, placed)
            if better is None:
                placed.append(found)
            else:
                message = f"{better} does as well wherever this one could be"
                refused.append(self._refusal(way, _SMALLEST, message))
        if self._shared is not None:
            way = way_of(self._gpu_type, shared=True)
            found = self._placed(way, self._shared, counter, job, place, {})
            if isinstance(found, Rejection):
                refused.append(found)
            else:
                placed.append(found)
        return tuple(placed), tuple(refused)

    def _placed(
        self,
        way: str,
        facts: Mapping[str, Known],
        counter: Counter,
        job: Tries,
        place: Place,
        update: Mapping[str, str],
    ) -> Placement | Rejection:
        barred = counter.refuse(way, job.job.within(facts))
        found = barred[0] if barred else place(way, facts)
        if isinstance(found, Rejection):
            return found.model_copy(update={"gpu_type": self._gpu_type, "way": way})
        candidate = found.candidate
        if candidate.shared_mb > candidate.gpu_capacity_mb:
            message = (
                f"needs {candidate.shared_mb:,} MB beside others, "
                f"of {candidate.gpu_capacity_mb:,} MB"
            )
            return self._refusal(way, _SMALLEST, message)
        of_part = {"gpu_type": self._gpu_type, **update}
        return found._replace(candidate=candidate.model_copy(update=of_part))

    def _better(self, profile: str, candidate: Candidate, smaller: list[Placement]) -> str | None:
        """What else would make a plan of every plan that has this partition, at no more cost."""
        here = self._profiles[profile]
        if self._mixes and here.memory_slices == self._all_slices:
            return "the whole GPU"
        for placed in smaller:
            other = placed.candidate
            there = self._profiles[other.partition or ""]
            if (
                there.compute_slices <= here.compute_slices
                and there.memory_slices <= here.memory_slices
                and set(here.placement_starts) <= set(there.placement_starts)
                and other.replicas <= candidate.replicas
                and all(map(le, other.replicas_by_quarter, candidate.replicas_by_quarter))
                and other.cpus <= candidate.cpus
                and other.memory_mb <= candidate.memory_mb
            ):
                return other.partition
        return None

    def _refusal(self, way: str, rule: str, message: str) -> Rejection:
        return Rejection(gpu_type=self._gpu_type, rule=rule, message=message, way=way)


def _size(name: str, profile: MigProfile) -> tuple[int, int, str]:
    return profile.memory_slices, profile.compute_slices, name
