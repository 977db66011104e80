"""A serving job with a load: what a replica takes, on how many GPUs, and how many replicas.

With so many requests in flight, rules say how long a step takes, how many requests that makes per
second, and how long users wait. As all of these grow with the requests in flight, the most of them
that keeps to what is asked is found by bisection: it is what a replica is planned for.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from math import ceil
from typing import Final, NamedTuple

from planner.inputs.rules.expression import Exact
from planner.inputs.scenario.job import Serve
from planner.inputs.text import count_of
from planner.sizing.candidate import Candidate, MissedTarget, Rejection, ServingFigures
from planner.sizing.count import Counter, Placement
from planner.sizing.engine import Known, Reasoning
from planner.sizing.flight import (
    ALONE,
    BELOW,
    HIGH,
    PLANNED,
    RATE,
    TOLD,
    Varied,
    flight_of,
    in_flight_at,
    latency_at,
    most_held,
    most_in_flight,
    rate_with_room,
)
from planner.sizing.tries import Tries

_MANY: Final = 1000
"""Engines that never let a prompt wait."""
_TOO_SLOW: Final = "job.latency"


class _Split(NamedTuple):
    """Engines of one replica by what they do."""

    prefill: int
    decode: int


class Endpoint:
    """Sizes one serving job that has a load."""

    def __init__(
        self, counter: Counter, job: Reasoning, serve: Serve, peaks: tuple[Fraction, ...]
    ) -> None:
        """`job` is what is known before a GPU type is chosen.

        `peaks` are requests per second at the peak of each quarter, over all replicas.
        """
        self._counter, self._serve, self._peaks = counter, serve, peaks
        self._engine = self._alone = Tries(job)
        if serve.concurrency is None:
            self._alone = self._alone.choosing({"concurrency": _requests(1)})
        self._tries: dict[tuple[int, Exact | None, _Split | None], Tries] = {
            (self._least, None, None): self._alone
        }
        stated = serve.latency.targets_ms if serve.latency else {}
        self._targets = {name: float(ms) for name, ms in stated.items()}
        self._most = int(job.number("concurrency_at_most") or 1)

    def place(self, gpu_type: str, gpu: Mapping[str, Known]) -> tuple[Placement, ...] | Rejection:
        """Candidates on one GPU type by GPUs of a replica, none of them no better than another.

        One at least; with more GPUs, a replica holds and takes more requests, or answers sooner.
        """
        found: list[Placement] = []
        objection: Rejection | None = None
        for gpus, split in self._forms(gpu):
            all_gpus = gpus * sum(split or (1,))
            if any(one.candidate.gpus * one.candidate.replicas <= all_gpus for one in found):
                break  # a single replica of so many takes no fewer than all of these
            placed = self._on(gpu_type, gpu, gpus, split)
            if isinstance(placed, Rejection):
                objection = objection if found else _nearer(objection, placed)
            elif not any(self._as_good(other.candidate, placed.candidate) for other in found):
                if found and found[-1].candidate.gpus == placed.candidate.gpus:
                    placed = max(found.pop(), placed, key=_takes)
                found.append(placed)
            if self._settled and found:
                break
        if not found:
            return objection or self._first(gpu_type, gpu)
        slow = objection is not None and objection.rule == _TOO_SLOW
        smallest = _decided(found[0], "latency") if slow else found[0]
        placed_here = (smallest, *(_decided(one, "load") for one in found[1:]))
        return tuple(map(_one_replica, placed_here)) if self._serve.mixed else placed_here

    def _as_good(self, other: Candidate, candidate: Candidate) -> bool:
        return (_as_good_beside_others if self._serve.mixed else _as_good)(other, candidate)

    @property
    def _settled(self) -> bool:
        """Whether more GPUs than memory asks for are of no use: no target, concurrency stated."""
        return self._serve.concurrency is not None and not self._targets

    def _first(self, gpu_type: str, gpu: Mapping[str, Known]) -> Rejection:
        """Why there is no candidate at all, in the words of whatever refuses one request."""
        found = self._counter.place(gpu_type, gpu, self._at(self._least, None))
        if isinstance(found, Rejection):
            return found
        stated = self._serve.gpus_per_replica
        if self._serve.disaggregated is not None and stated is None:
            message = (
                f"a replica is of two engines or more, each of "
                f"{count_of(found.candidate.gpus, 'GPU')} or more, which no node of it holds"
            )
            return Rejection(gpu_type=gpu_type, rule="job.disaggregated", message=message)
        message = (
            "it is not known what requests take of its memory"
            if stated is None
            else f"a replica takes {count_of(found.candidate.gpus, 'GPU')} here, "
            f"{stated} are asked for"
        )
        rule = "rules" if stated is None else "job.gpus_per_replica"
        return Rejection(gpu_type=gpu_type, rule=rule, message=message)

    @property
    def _least(self) -> int:
        return self._serve.concurrency or 1

    def _counts(self, gpu: Mapping[str, Known]) -> Iterator[int]:
        """GPUs of a replica that may be tried: as many as share its layers within a node."""
        tries = self._at(self._least, None)
        if self._serve.gpus_per_replica is not None:
            yield self._serve.gpus_per_replica
            return
        if not tries.by_peak:
            yield 1
            return
        gpus = self._counter.fewest(gpu, tries) or tries.counted(1)
        while True:
            yield gpus
            larger = tries.counted(gpus + 1)
            at = tries.on(gpu, larger)
            shared, node = at.number("tensor_parallel"), at.number("gpus_per_node")
            if larger <= gpus or larger > (shared or 0) or larger > (node or larger):
                return
            gpus = larger

    def _forms(self, gpu: Mapping[str, Known]) -> Iterator[tuple[int, _Split | None]]:
        """GPUs of an engine, and engines of a replica, one that does all if None; fewest first."""
        counts = self._counts(gpu)
        if self._serve.disaggregated is None:
            yield from ((gpus, None) for gpus in counts)
            return
        forms = [(gpus, split) for gpus in counts for split in self._splits(gpu, gpus)]
        yield from sorted(forms, key=lambda form: (form[0] * sum(form[1]), form))

    def _splits(self, gpu: Mapping[str, Known], gpus: int) -> Iterator[_Split]:
        """Divisions of so many engines of a replica within a node: the one that takes the most."""
        stated = self._serve.disaggregated
        if stated is not None and stated.prefill_engines and stated.decode_engines:
            yield _Split(stated.prefill_engines, stated.decode_engines)
            return
        held = self._held(gpu, gpus)
        unbounded = flight_of(self._at(held or 1, None, _Split(_MANY, 1)).on(gpu, gpus))
        at = unbounded.situation.number
        node, prefill_s = int(at("gpus_per_node") or 0), at("prefill_s")
        taken = self._taken(unbounded, held) or 1
        decoded = unbounded.estimated(in_flight=taken)(RATE)
        if not prefill_s or not decoded:
            yield _Split(1, 1)
            return
        for engines in range(2, node // gpus + 1):
            splits = (_Split(engines - decode, decode) for decode in range(1, engines))
            yield max(splits, key=lambda one: min(one.prefill / prefill_s, one.decode * decoded))

    def _on(
        self, gpu_type: str, gpu: Mapping[str, Known], gpus: int, split: _Split | None
    ) -> Placement | Rejection:
        """The candidate on so many GPUs for each engine of a replica."""
        held = self._held(gpu, gpus)
        if not held:
            return self._first(gpu_type, gpu)
        flight = flight_of(self._at(held, None, split).on(gpu, gpus))
        taken = self._taken(flight, held)
        if not taken:
            return self._too_slow(gpu_type, gpus * sum(split or (1,)), flight)
        if self._serve.concurrency is None:
            high = flight.estimated(in_flight=taken)(HIGH)
            held = min(held, ceil((high or held) * (1 - BELOW)))
        chosen = self._at(held, taken if taken != held or self._targets else None, split)
        placed = self._counter.place_on(gpu_type, gpu, chosen, gpus)
        if placed is None:
            return self._first(gpu_type, gpu)
        if isinstance(placed, Rejection):
            return placed
        loaded = self._loaded(placed, flight, held, taken)
        return placed._replace(candidate=loaded if split is None else _grouped(loaded, split))

    def _held(self, gpu: Mapping[str, Known], gpus: int) -> int:
        """The most requests that a replica has memory for; 0: not for one."""
        if self._serve.concurrency is not None:
            return self._serve.concurrency
        alone = self._at(1, None).on(gpu, gpus)
        return most_held(self._engine.on(gpu, gpus), alone, self._most)

    def _taken(self, flight: Varied, held: int) -> Exact:
        """The most requests in flight with which a replica keeps to what is asked; 0: with none.

        Where a wait is asked for, no more than leave it a place among those that it holds.
        """
        if not self._targets:
            return held
        waits = {"ttft_ms", "e2e_ms"} & self._targets.keys()
        unqueued = rate_with_room(flight, held) if waits else None

        def keeps(mean: float) -> bool:
            planned = flight.estimated(in_flight=mean)(PLANNED) or 0
            if unqueued is not None and planned > unqueued:
                return False
            latency = latency_at(flight.estimated, mean)
            return all(
                (figure := latency[name]) is not None and figure <= target
                for name, target in self._targets.items()
            )

        return most_in_flight(held, keeps)

    def _too_slow(self, gpu_type: str, gpus: int, flight: Varied) -> Rejection:
        latency = latency_at(flight.exactly, ALONE)
        percentile = self._serve.latency.percentile if self._serve.latency else 0
        late = {
            name: (figure, target)
            for name, target in self._targets.items()
            if (figure := latency[name]) is not None and figure > target
        }
        said = [
            f"{_ms(figure, target)} ms {TOLD[name]} where {_ms(target)} ms are asked for"
            for name, (figure, target) in late.items()
        ]
        missed = tuple(
            MissedTarget(key=name, asked_ms=float(target), kept_ms=ceil(figure))
            for name, (figure, target) in late.items()
        )
        unknown = next((name for name in self._targets if latency[name] is None), None)
        if unknown is not None:
            cause = flight.situation.why_unknown(unknown)
            message = f"{unknown} cannot be told: nothing is known of {cause}"
            return Rejection(gpu_type=gpu_type, rule=_TOO_SLOW, message=message)
        return Rejection(
            gpu_type=gpu_type,
            rule=_TOO_SLOW,
            message=f"on {count_of(gpus, 'GPU')} a request that is alone takes "
            f"{' and '.join(said) or 'too long'}, at the {percentile}th percentile",
            missed=missed,
        )

    def _at(self, held: int, flight: Exact | None, split: _Split | None = None) -> Tries:
        """The job where a replica holds so many requests, and takes as many as are in flight."""
        key = (held, flight, split)
        if key not in self._tries:
            facts = {} if self._serve.concurrency is not None else {"concurrency": _requests(held)}
            if flight is not None:
                facts["in_flight"] = _requests(flight)
            stated = self._serve.disaggregated
            if split is not None and not (stated and stated.prefill_engines):
                facts["prefill_engines"] = Known(split.prefill, "engines", "tried")
                facts["decode_engines"] = Known(split.decode, "engines", "tried")
            self._tries[key] = self._alone.choosing(facts)
        return self._tries[key]

    def _loaded(self, placed: Placement, flight: Varied, held: int, taken: Exact) -> Candidate:
        """The candidate with its replicas by quarter, and what its users will see."""
        situation = placed.situation
        planned = situation.number("planned_requests_per_second")
        if planned is None:
            return placed.candidate
        replicas = tuple(ceil(peak / planned) for peak in self._peaks)
        most = max(replicas)
        busiest = planned  # of a replica that shares traffic with those on other GPU types
        if not self._serve.mixed:
            loads = zip(self._peaks, replicas, strict=True)
            busiest = max(peak / count for peak, count in loads if count)
        in_flight = in_flight_at(flight, busiest, taken)
        latency = latency_at(flight.estimated, in_flight)
        figures = ServingFigures(
            concurrency=held,
            in_flight=ceil(in_flight),
            planned_requests_per_second=float(planned),
            peaks=tuple(float(peak) for peak in self._peaks),
            percentile=int(situation.number("latency_percentile") or 0),
            **{
                name: None if figure is None else round(float(figure), 1)
                for name, figure in latency.items()
            },
        )
        told = {"replicas": most, "serving": figures}
        if len(set(replicas)) > 1:
            told["replicas_by_quarter"] = replicas
        return placed.candidate.model_copy(update=told)


def _grouped(candidate: Candidate, split: _Split) -> Candidate:
    """A replica of several engines, each of which needs what one does."""
    engines = sum(split)
    each = ("gpus", "gpu_memory_mb", "gpu_capacity_mb", "cpus", "memory_mb")
    told = {name: getattr(candidate, name) * engines for name in each}
    return candidate.model_copy(update=told | {"prefill_gpus": candidate.gpus * split.prefill})


def _nearer(objection: Rejection | None, placed: Rejection) -> Rejection:
    """The one that misses its targets by less; the later where it is not about these."""
    if objection is None or not objection.missed or not placed.missed:
        return placed
    return min(placed, objection, key=lambda one: one.times_as_long)


def _decided(placed: Placement, by: str) -> Placement:
    return placed._replace(candidate=placed.candidate.model_copy(update={"decided_by": by}))


def _requests(count: Exact) -> Known:
    return Known(count, "requests", "tried")


def _takes(placed: Placement) -> float:
    return _rate(placed.candidate)


def _rate(candidate: Candidate) -> float:
    """Requests per second that a replica is planned for."""
    serving = candidate.serving
    return 0 if serving is None else serving.planned_requests_per_second


def _one_replica(placed: Placement) -> Placement:
    """How many there are is decided beside those on other GPU types."""
    one = {"replicas": 1, "replicas_by_quarter": ()}
    return placed._replace(candidate=placed.candidate.model_copy(update=one))


def _as_good_beside_others(other: Candidate, candidate: Candidate) -> bool:
    """Whether as many of another as have its GPUs take as much, and no more of a host."""
    times = candidate.gpus // other.gpus
    return (
        times > 0
        and times * other.cpus <= candidate.cpus
        and times * other.memory_mb <= candidate.memory_mb
        and times * _rate(other) >= _rate(candidate)
    )


def _as_good(other: Candidate, candidate: Candidate) -> bool:
    """Whether another candidate takes no more of anything, in pieces that are no larger."""
    if other.gpus > candidate.gpus:
        return False
    quarters = range(len(candidate.serving.peaks if candidate.serving else (0,)))
    needs = (
        (other.gpus, candidate.gpus),
        (other.cpus, candidate.cpus),
        (other.memory_mb, candidate.memory_mb),
    )
    return all(
        mine * other.replicas_in(quarter) <= its * candidate.replicas_in(quarter)
        for quarter in quarters
        for mine, its in needs
    )


def _ms(figure: Exact | float, above: Exact | float = 0) -> str:
    """Without decimals from 10 ms on, rounded up where it would read as what it is above."""
    told = f"{float(figure):,.0f}" if figure >= 10 else f"{float(figure):.2g}"
    return f"{ceil(10 * figure) / 10:,.1f}" if above and told == _ms(above) else told
