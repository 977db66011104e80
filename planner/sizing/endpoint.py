"""A serving job with a load: what a replica takes, on how many GPUs, and how many replicas.

With so many requests in flight, rules say how long a step takes, how many requests that makes per
second, and how long users wait. As all of these grow with the requests in flight, the most of them
that keeps to what is asked is found by bisection: it is what a replica is planned for.

Searches ask the same dozen rules for hundreds of counts. Which rules these are, and what else they
rest on, is found once; then their formulas alone are computed, in floating point. The trace of the
count that was found is exact.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from functools import cached_property
from math import ceil, inf, isfinite
from typing import Final, NamedTuple

from planner.inputs.rules.expression import Exact, Expression, estimator, exact
from planner.inputs.scenario.job import Serve
from planner.inputs.text import count_of
from planner.sizing.candidate import Candidate, MissedTarget, Rejection, ServingFigures
from planner.sizing.count import Counter, Placement, Tries
from planner.sizing.engine import Known, Reasoning

Figures = Callable[[str], Exact | float | None]
"""Returns the figure of a name; None if it is unknown."""

_HIGH: Final = "in_flight_high"
_PLANNED: Final = "planned_requests_per_second"
_RATE: Final = "requests_per_second_per_replica"
_NEED: Final = "needed_gb_per_gpu"
_TOLD: Final = {
    "ttft_ms": "to the first token",
    "tpot_ms": "for each further token",
    "e2e_ms": "to the end of an answer",
}

_ALONE: Final = Fraction(1, 128)
"""The mean number of requests in flight at which each is alone; other means are multiples of it."""
_BELOW: Final = 1e-9
"""A share of a figure that exceeds any error of floating point."""
_MANY: Final = 1000
"""So many engines never let a prompt wait."""
_TOO_SLOW: Final = "job.latency"


class Replica:
    """One situation of a replica, in which the number of its requests varies."""

    def __init__(
        self,
        situation: Reasoning,
        results: tuple[str, ...] = (_RATE, _PLANNED, _HIGH, *_TOLD),
        varied: str = "in_flight",
    ) -> None:
        """`results` are what may be asked for once `varied` is given."""
        self.situation = situation
        self._results, self._varied = results, varied
        self._estimators: dict[tuple[str, ...], Callable[[dict[str, Exact | float]], None]] = {}
        self._estimated: dict[tuple[tuple[str, Exact | float], ...], Figures] = {}

    def exactly(self, **given: Exact | float) -> Figures:
        """Return what the rules say with these figures."""
        return self._with(given).number

    def estimated(self, **given: Exact | float) -> Figures:
        """Return the results alone, to a dozen digits."""
        key = tuple(given.items())
        if key not in self._estimated:
            self._estimated[key] = self._estimate(given)
        return self._estimated[key]

    def _estimate(self, given: Mapping[str, Exact | float]) -> Figures:
        if self._formulas is None:
            return self.exactly(**given)
        formulas, fixed = self._formulas
        figures: dict[str, Exact | float] = {**fixed, **given}
        names = tuple(given)
        if names not in self._estimators:
            self._estimators[names] = estimator(
                (name, formula) for name, formula in formulas.items() if name not in given
            )
        try:
            self._estimators[names](figures)
        except (ArithmeticError, ValueError):
            return self.exactly(**given)
        return figures.get

    def _with(self, given: Mapping[str, Exact | float]) -> Reasoning:
        return self.situation.within(
            {
                name: Known(exact(value), "ms" if name == "ttft_ms" else "requests", "tried")
                for name, value in given.items()
            }
        )

    @cached_property
    def _formulas(self) -> tuple[dict[str, Expression], dict[str, float]] | None:
        return self._with({self._varied: 1}).formulas(self._results)

    def in_flight_at(self, requests_per_second: Exact, most: Exact) -> Exact:
        """Return the requests in flight if it takes so many per second; `most` if it cannot."""
        asked = float(requests_per_second)

        def excess(mean: float) -> float:  # of as much as is asked, there is none too little
            return float((self.estimated(in_flight=mean)(_RATE) or 0) - asked) or inf

        return min(_most_in_flight(most, excess) + _ALONE, most)

    def rate_with_room(self, places: int) -> Exact | float:
        """Return the rate up to which requests hardly ever wait for one of so many places."""

        def excess(mean: float) -> float:
            high = self.estimated(in_flight=mean)(_HIGH)
            return -inf if high is None else float(high - places)

        return self.estimated(in_flight=max(_ALONE, _most_in_flight(places, excess)))(_RATE) or 0

    def latency_at(
        self, in_flight: Exact | float, *, exactly: bool = False
    ) -> dict[str, Exact | float | None]:
        """Return what users wait at the percentile, given the mean of requests in flight.

        Tokens come as slowly as with the requests that the percentile allows for.
        """
        at = self.exactly if exactly else self.estimated
        mean = at(in_flight=in_flight)
        first, high = mean("ttft_ms"), mean(_HIGH)
        if high is None:
            return dict.fromkeys(_TOLD)
        known = {} if first is None else {"ttft_ms": first}
        crowded = at(in_flight=max(high, 1), **known)
        return {
            "ttft_ms": first,
            "tpot_ms": crowded("tpot_ms"),
            "e2e_ms": None if first is None else crowded("e2e_ms"),
        }


def _most_held(engine: Reasoning, alone: Reasoning, most: int) -> int:
    """Return the requests that an engine's memory holds, at most `most`; `alone` it holds one."""
    offered = alone.number("usable_gb_per_gpu")
    if offered is None:
        return 1
    held, usable = Replica(engine, (_NEED,), "concurrency"), float(offered) * (1 - _BELOW)

    def excess(count: int) -> float:
        need = held.estimated(concurrency=count)(_NEED)
        return inf if need is None else float(need - usable)

    return _most_of(most, excess)


def _most_in_flight(most: Exact, excess: Callable[[float], float]) -> Fraction:
    """Return the largest mean up to `most` without an excess, as `_most_of`."""
    return _most_of(int(most / _ALONE), lambda parts: excess(parts * float(_ALONE))) * _ALONE


def _most_of(most: int, excess: Callable[[int], float]) -> int:
    """Return the largest figure up to `most` without an excess, which grows with it; 0: none.

    By regula falsi (Illinois), with a bisection in each third step.
    """
    above, below = excess(most), -inf
    if above <= 0:
        return most
    low, high, step, was_low = 0, most, 0, False
    while high - low > 1:
        step, middle = step + 1, (low + high) // 2
        if step % 3 and isfinite(below) and isfinite(above):
            crossing = low + int((high - low) * below / (below - above))
            middle = min(max(crossing, low + 1), high - 1)
        found = excess(middle)
        is_low = found <= 0
        if is_low:
            low, below, above = middle, found, above / 2 if was_low else above
        else:
            high, above, below = middle, found, below if was_low else below / 2
        was_low = is_low
    return low


class _Split(NamedTuple):
    """The engines of one replica by what they do."""

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
        self._job, self._engine, least = job, Tries(job), serve.concurrency or 1
        one = {"concurrency": _requests(1)} if serve.concurrency is None else None
        self._alone = Tries(job, one)
        self._tries: dict[tuple[int, Exact | None, _Split | None], Tries] = {
            (least, None, None): self._alone
        }
        stated = serve.latency.targets_ms if serve.latency else {}
        self._targets = {name: float(ms) for name, ms in stated.items()}
        self._most = int(job.number("concurrency_at_most") or 1)

    def place(self, gpu_type: str, gpu: Mapping[str, Known]) -> tuple[Placement, ...] | Rejection:
        """Return the candidates on one GPU type by GPUs of a replica, without dominated ones.

        At least one; with more GPUs, a replica holds and takes more requests, or answers sooner.
        """
        found: list[Placement] = []
        objection: Rejection | None = None
        as_good = _as_good_beside_others if self._serve.mixed else _as_good
        # more GPUs than memory asks for are of no use: no target, concurrency stated
        settled = self._serve.concurrency is not None and not self._targets
        for gpus, split in self._forms(gpu):
            all_gpus = gpus * sum(split or (1,))
            if any(one.candidate.gpus * one.candidate.replicas <= all_gpus for one in found):
                break  # a single replica of so many takes no fewer than all of these
            placed = self._on(gpu_type, gpu, gpus, split)
            if isinstance(placed, Rejection):
                objection = objection if found else _nearer(objection, placed)
            elif not any(as_good(other.candidate, placed.candidate) for other in found):
                if found and found[-1].candidate.gpus == placed.candidate.gpus:
                    placed = max(found.pop(), placed, key=lambda one: one.candidate.rate)
                found.append(placed)
            if settled and found:
                break
        if not found:
            return objection or self._first(gpu_type, gpu)
        slow = objection is not None and objection.rule == _TOO_SLOW
        decided = ("latency" if slow else found[0].candidate.decided_by, *("load",) * len(found))
        # how many mixed replicas there are is decided beside those on other GPU types
        one = {"replicas": 1, "replicas_by_quarter": ()} if self._serve.mixed else {}
        return tuple(
            placed.updated(decided_by=by, **one) for placed, by in zip(found, decided, strict=False)
        )

    def _first(self, gpu_type: str, gpu: Mapping[str, Known]) -> Rejection:
        """Say why there is no candidate at all, in the words of whatever refuses one request."""
        found = self._counter.place(gpu_type, gpu, self._alone)
        if isinstance(found, Rejection):
            return found
        stated, takes = self._serve.gpus_per_replica, count_of(found.candidate.gpus, "GPU")
        if stated is not None:
            rule = "job.gpus_per_replica"
            message = f"a replica takes {takes} here, {stated} are asked for"
        elif self._serve.disaggregated is not None:
            rule = "job.disaggregated"
            message = (
                f"a replica is of two engines or more, each of {takes} or more, which no node of "
                "it holds"
            )
        else:
            rule, message = "rules", "it is not known what requests take of its memory"
        return Rejection(gpu_type=gpu_type, rule=rule, message=message)

    def _counts(self, gpu: Mapping[str, Known]) -> Iterator[int]:
        """Return the GPU counts to try: as many as can share a replica's layers within a node."""
        tries = self._alone
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
        """Yield GPUs of an engine and engines of a replica, fewest first.

        None: one that does all.
        """
        counts = self._counts(gpu)
        if self._serve.disaggregated is None:
            yield from ((gpus, None) for gpus in counts)
            return
        forms = [(gpus, split) for gpus in counts for split in self._splits(gpu, gpus)]
        yield from sorted(forms, key=lambda form: (form[0] * sum(form[1]), form))

    def _splits(self, gpu: Mapping[str, Known], gpus: int) -> Iterator[_Split]:
        """Return divisions of so many engines within a node: the one that takes most."""
        stated = self._serve.disaggregated
        if stated is not None and stated.prefill_engines and stated.decode_engines:
            yield _Split(stated.prefill_engines, stated.decode_engines)
            return
        held = self._held(gpu, gpus)
        unbounded = Replica(self._at(held or 1, None, _Split(_MANY, 1)).on(gpu, gpus))
        at = unbounded.situation.number
        node, prefill_s = int(at("gpus_per_node") or 0), at("prefill_s")
        taken = self._taken(unbounded, held) or 1
        decoded = unbounded.estimated(in_flight=taken)(_RATE)
        if not prefill_s or not decoded:
            yield _Split(1, 1)
            return
        for engines in range(2, node // gpus + 1):
            splits = (_Split(engines - decode, decode) for decode in range(1, engines))
            yield max(splits, key=lambda one: min(one.prefill / prefill_s, one.decode * decoded))

    def _on(
        self, gpu_type: str, gpu: Mapping[str, Known], gpus: int, split: _Split | None
    ) -> Placement | Rejection:
        """Return the candidate on so many GPUs for each engine of a replica."""
        held = self._held(gpu, gpus)
        if not held:
            return self._first(gpu_type, gpu)
        replica = Replica(self._at(held, None, split).on(gpu, gpus))
        taken = self._taken(replica, held)
        if not taken:
            return self._too_slow(gpu_type, gpus * sum(split or (1,)), replica)
        if self._serve.concurrency is None:
            high = replica.estimated(in_flight=taken)(_HIGH)
            held = min(held, ceil((high or held) * (1 - _BELOW)))
        chosen = self._at(held, taken if taken != held or self._targets else None, split)
        placed = self._counter.place_on(gpu_type, gpu, chosen, gpus)
        if placed is None:
            return self._first(gpu_type, gpu)
        if isinstance(placed, Rejection):
            return placed
        placed = self._loaded(placed, replica, held, taken)
        if split is None:
            return placed
        # several engines, each of which needs what one does
        each = ("gpus", "gpu_memory_mb", "gpu_capacity_mb", "cpus", "memory_mb")
        told = {name: getattr(placed.candidate, name) * sum(split) for name in each}
        return placed.updated(**told, prefill_gpus=gpus * split.prefill)

    def _held(self, gpu: Mapping[str, Known], gpus: int) -> int:
        """Return the most requests for which a replica has memory; 0: not even one."""
        if self._serve.concurrency is not None:
            return self._serve.concurrency
        return _most_held(self._engine.on(gpu, gpus), self._alone.on(gpu, gpus), self._most)

    def _taken(self, replica: Replica, held: int) -> Exact:
        """Return the most requests in flight with which a replica keeps its targets; 0: none.

        If a wait is limited, no more than leave it a free place among those that it holds.
        """
        if not self._targets:
            return held
        waits = {"ttft_ms", "e2e_ms"} & self._targets.keys()
        unqueued = replica.rate_with_room(held) if waits else None

        def excess(mean: float) -> float:
            planned = replica.estimated(in_flight=mean)(_PLANNED) or 0
            if unqueued is not None and planned > unqueued:
                return inf
            latency = replica.latency_at(mean)
            return max(
                inf if (figure := latency[name]) is None else float(figure - target) / target
                for name, target in self._targets.items()
            )

        return _most_in_flight(held, excess)

    def _too_slow(self, gpu_type: str, gpus: int, replica: Replica) -> Rejection:
        latency = replica.latency_at(_ALONE)
        late: dict[str, tuple[Exact | float, float]] = {}
        for name, target in self._targets.items():
            figure = latency[name]
            if figure is None:
                cause = replica.situation.why_unknown(name)
                message = f"{name} cannot be told: nothing is known of {cause}"
                return Rejection(gpu_type=gpu_type, rule=_TOO_SLOW, message=message)
            if figure > target:
                late[name] = (figure, target)
        said = [
            f"{_ms(figure, target)} ms {_TOLD[name]} where {_ms(target)} ms are asked for"
            for name, (figure, target) in late.items()
        ]
        percentile = self._serve.latency.percentile if self._serve.latency else 0
        return Rejection(
            gpu_type=gpu_type,
            rule=_TOO_SLOW,
            message=f"on {count_of(gpus, 'GPU')} a request that is alone takes "
            f"{' and '.join(said) or 'too long'}, at the {percentile}th percentile",
            missed=tuple(
                MissedTarget(key=name, asked_ms=target, kept_ms=ceil(figure * (1 - _BELOW)))
                for name, (figure, target) in late.items()
            ),
        )

    def _at(self, held: int, in_flight: Exact | None, split: _Split | None) -> Tries:
        """Return the job with so many requests held, and so many in flight."""
        key = (held, in_flight, split)
        if key not in self._tries:
            facts = {} if self._serve.concurrency is not None else {"concurrency": _requests(held)}
            if in_flight is not None:
                facts["in_flight"] = _requests(in_flight)
            stated = self._serve.disaggregated
            if split is not None and not (stated and stated.prefill_engines):
                facts["prefill_engines"] = Known(split.prefill, "engines", "tried")
                facts["decode_engines"] = Known(split.decode, "engines", "tried")
            self._tries[key] = Tries(self._job, facts, self._alone)
        return self._tries[key]

    def _loaded(self, placed: Placement, replica: Replica, held: int, taken: Exact) -> Placement:
        """Return the candidate with its replicas by quarter, and what its users will see."""
        situation = placed.situation
        planned = situation.number(_PLANNED)
        if planned is None:
            return placed
        replicas = tuple(ceil(peak / planned) for peak in self._peaks)
        busiest = planned  # of a replica that shares traffic with those on other GPU types
        if not self._serve.mixed:
            loads = zip(self._peaks, replicas, strict=True)
            busiest = max(peak / count for peak, count in loads if count)
        in_flight = replica.in_flight_at(busiest, taken)
        figures = ServingFigures(
            concurrency=held,
            in_flight=ceil(in_flight),
            planned_requests_per_second=float(planned),
            peaks=tuple(float(peak) for peak in self._peaks),
            percentile=int(situation.number("latency_percentile") or 0),
            **{
                name: None if figure is None else round(float(figure), 1)
                for name, figure in replica.latency_at(in_flight).items()
            },
        )
        by_quarter = replicas if len(set(replicas)) > 1 else ()
        return placed.updated(
            replicas=max(replicas), replicas_by_quarter=by_quarter, serving=figures
        )


def _nearer(objection: Rejection | None, placed: Rejection) -> Rejection:
    """Return the one that misses its targets by less; the later if it is not about these."""
    if objection is None or not objection.missed or not placed.missed:
        return placed
    return min(placed, objection, key=lambda one: one.times_as_long)


def _requests(count: Exact) -> Known:
    return Known(exact(count), "requests", "tried")


def _as_good_beside_others(other: Candidate, candidate: Candidate) -> bool:
    """Return whether as many of another as have its GPUs take as much, and no more of a host."""
    times = candidate.gpus // other.gpus
    return (
        times > 0
        and times * other.cpus <= candidate.cpus
        and times * other.memory_mb <= candidate.memory_mb
        and times * other.rate >= candidate.rate
    )


def _as_good(other: Candidate, candidate: Candidate) -> bool:
    """Return whether another candidate takes no more of anything, in pieces that are no larger."""
    return other.gpus <= candidate.gpus and other.takes_no_more(
        candidate, "gpus", "cpus", "memory_mb"
    )


def _ms(figure: Exact | float, above: Exact | float = 0) -> str:
    """Format ms: without decimals from 10 ms on, rounded up if it would read as its limit."""
    told = f"{float(figure):,.0f}" if figure >= 10 else f"{float(figure):.2g}"
    return f"{ceil(10 * figure) / 10:,.1f}" if above and told == _ms(above) else told
