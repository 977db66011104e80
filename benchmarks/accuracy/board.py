"""The scoreboard: every comparison, as tables for a reader and as figures that have bars."""

from __future__ import annotations

from dataclasses import dataclass, field
from statistics import median
from typing import TYPE_CHECKING, Final

from benchmarks.accuracy.installed import installed
from benchmarks.accuracy.peers import PEERS, Peer
from benchmarks.accuracy.score import Decisions, Score, decided, scored
from benchmarks.accuracy.serving import kept_up_with, serving_pairs
from benchmarks.accuracy.startups import startup_scores
from benchmarks.accuracy.tables import percent, table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from benchmarks.accuracy.serving import ServingPair
    from benchmarks.accuracy.startups import StartupScore
    from benchmarks.accuracy.world import World
    from planner.inputs.measured import Measurement
    from planner.sizing.calibration import MeasuredPair

__all__ = ["METHODS", "Board", "board"]

METHODS: Final = ("full", "lora", "qlora", "p-tuning")
_KINDS: Final = ("allocated", "reserved", "nvidia-smi")
_HEAD: Final = ("runs", "mean error", "bias", "> 2 % under", "worst")


@dataclass
class Board:
    """What is printed, and the figures that bars are set for, by name."""

    tables: list[str] = field(default_factory=list)
    brief: list[str] = field(default_factory=list)
    """The tables of the documentation, without rows of one origin, GPU type or kind of peak."""
    figures: dict[str, float] = field(default_factory=dict)

    def add(
        self,
        title: str,
        header: Sequence[str],
        rows: Sequence[Sequence[str]],
        told: Callable[[str], bool] = bool,
    ) -> None:
        """Add a table; the documentation has the rows whose names are told."""
        self.tables.append(table(title, header, rows))
        self.brief.append(table(title, header, [row for row in rows if told(row[0])]))


def board(world: World) -> Board:
    """Score everything that was measured."""
    made = Board()
    measured = [run for run in world.runs if run.run.peak_gb is not None]
    _methods(made, measured)
    _origins(made, world, measured)
    with installed() as others:
        peers = (*PEERS, *others)
        _peers(made, world, measured, peers)
        _decisions(made, world, peers)
    _startups(made, world)
    _serving(made, world)
    _overloads(made, world)
    _times(made, world)
    return made


def _score(runs: Sequence[MeasuredPair]) -> Score:
    return scored(
        (None if run.predicted_gb is None else float(run.predicted_gb), float(run.run.peak_gb))
        for run in runs
        if run.run.peak_gb is not None
    )


def _cells(score: Score) -> tuple[str, ...]:
    return (
        str(score.runs),
        percent(score.error),
        f"{100 * score.bias:+.1f} %",
        percent(score.under, 0),
        f"{100 * score.worst:+.0f} %",
    )


def _slug(name: str) -> str:
    return name.lower().replace(" ", "-")


def _methods(made: Board, runs: Sequence[MeasuredPair]) -> None:
    rows = []
    for method in METHODS:
        own = [run for run in runs if run.run.tune.method == method]
        logged = [run for run in own if run.run.quality == "A"]
        for kind in _KINDS:
            for quality, part in (("A", logged), ("B", [r for r in own if r not in logged])):
                score = _score([run for run in part if run.run.kind == kind])
                if score.runs:
                    rows.append((f"{method}, {kind}, quality {quality}", *_cells(score)))
                    made.figures[f"tuning/{method}/{kind}/{quality}"] = score.error
        if logged:
            score = _score(logged)
            rows.append((f"{method}, all of quality A", *_cells(score)))
            made.figures[f"tuning/{method}/error"] = score.error
            made.figures[f"tuning/{method}/under"] = score.under
    title = "Peak memory of tuning runs, by method"
    made.add(title, ("", *_HEAD), rows, lambda name: ", all of" in name)


def _origins(made: Board, world: World, runs: Sequence[MeasuredPair]) -> None:
    """What constants were fitted on, apart from the rest."""
    origins = world.origins
    rows = []
    for fitted, title in ((True, "fitted on"), (False, "not fitted")):
        part = [run for run in runs if origins[run.run.origin or ""].fitted == fitted]
        for origin in (name for name, one in origins.items() if one.fitted == fitted):
            own = [run for run in part if run.run.origin == origin]
            if not own:
                continue
            rows.append((f"{origin} ({title})", *_cells(_score(own))))
        score = _score(part)
        rows.append((f"all origins {title}", *_cells(score)))
        made.figures["origins/fitted/error" if fitted else "origins/not-fitted/error"] = score.error
        if not fitted:
            made.figures["origins/not-fitted/far-under"] = score.far_under
        for method in () if fitted else METHODS[:3]:
            score = _score([run for run in part if run.run.tune.method == method])
            rows.append((f"… {method}", *_cells(score)))
            made.figures[f"origins/not-fitted/{method}"] = score.error
    title = "Peak memory of tuning runs, by origin"
    made.add(title, ("", *_HEAD), rows, lambda name: name.startswith(("all origins", "…")))


def _peers(made: Board, world: World, runs: Sequence[MeasuredPair], peers: Sequence[Peer]) -> None:
    """Only the allocator's peak: it is what the others mean, too."""
    peaks = [run for run in runs if run.run.kind == "allocated"]
    rows = []

    def by_method(name: str, said: Sequence[float | None]) -> None:
        cells = []
        for method in METHODS[:3]:
            score = scored(
                (gigabytes, float(run.run.peak_gb))
                for gigabytes, run in zip(said, peaks, strict=True)
                if run.run.tune.method == method and run.run.peak_gb is not None
            )
            cells.append(f"{percent(score.error, 1)} ({percent(score.under, 0)})")
        rows.append((name, *cells))

    own = [None if run.predicted_gb is None else float(run.predicted_gb) for run in peaks]
    by_method("this planner", own)
    for peer in peers:
        models = world.catalog.models
        by_method(peer.name, [peer.predicted_gb(run.run, models) for run in peaks])
    counts = [sum(run.run.tune.method == method for run in peaks) for method in METHODS[:3]]
    header = [f"{m} ({n})" for m, n in zip(METHODS[:3], counts, strict=True)]
    title = "Beside rules of thumb and other estimators: mean error (share > 2 % under), torch peak"
    made.add(title, ("", *header), rows)


def _decisions(made: Board, world: World, peers: Sequence[Peer]) -> None:
    judged = [run for run in world.runs if run.run.gpu_type is not None]

    def fitted(run: MeasuredPair) -> bool:
        return run.run.outcome == "fit"

    def peer_says(run: MeasuredPair, peer: Peer) -> bool | None:
        said = peer.predicted_gb(run.run, world.catalog.models)
        usable = world.usable_gb(run.run.gpu_type or "", run.run.job)
        return None if said is None or usable is None else said <= usable

    own = decided((world.says_it_fits(run), fitted(run)) for run in judged)
    made.figures["decisions/oom-flagged"] = own.flagged
    made.figures["decisions/false-alarms"] = own.false_alarms
    rows = [_decision_row("this planner", own)]
    for peer in peers:
        others = decided((peer_says(run, peer), fitted(run)) for run in judged)
        rows.append(_decision_row(peer.name, others))
    header = ("", "OOM runs", "flagged", "runs that fit", "false alarms", "all right")
    made.add("Will it fit: decisions against what happened", header, rows)


def _decision_row(name: str, made: Decisions) -> tuple[str, ...]:
    return (
        name,
        str(made.oom),
        f"{made.oom_flagged} ({percent(made.flagged, 0)})",
        str(made.fits),
        f"{made.fits_refused} ({percent(made.false_alarms, 0)})",
        percent(made.right, 0),
    )


def _startups(made: Board, world: World) -> None:
    scores = startup_scores(world)
    rows = []
    for part, unit in (
        ("weights", "GiB"),
        ("activations", "GiB"),
        ("CUDA graphs", "GiB"),
        ("KV tokens", "tokens"),
    ):
        own: list[StartupScore] = [score for score in scores if score.part == part]
        score = scored((one.predicted, one.measured) for one in own)
        off = max((abs(one.predicted - one.measured) for one in own), default=float("nan"))
        figure = off if unit == "GiB" and part != "weights" else abs(score.worst)
        made.figures[f"serving/{_slug(part)}"] = figure
        furthest = f"{off:.2f} GiB" if unit == "GiB" else f"{off:,.0f} tokens"
        rows.append((part, *_cells(score)[:3], f"{100 * score.worst:+.1f} %", furthest))
    header = ("", "starts", "mean error", "bias", "worst", "furthest off")
    made.add("Serving: vLLM 0.19 starts on H100 80 GB", header, rows)


def _serving(made: Board, world: World) -> None:
    pairs = serving_pairs(world)
    models = world.catalog.models

    def group(pair: ServingPair) -> Iterator[str]:
        """The rows that a run is counted in."""
        run, model = pair.run, models[pair.run.model]
        engine = (run.engine or "").partition(" ")[0]
        yield f"{run.origin}, {engine}, {run.load}"
        if run.load == "open":
            yield "all open loads"
            return
        kind = "latent attention" if model.attention == "mla" else "mixtures"
        yield f"{engine}, {kind if model.experts else 'dense models'}"
        yield f"on {run.gpu_type}"
        most = run.concurrency or 0
        yield f"{'up to 8' if most <= 8 else '9 to 64' if most <= 64 else 'more than 64'} at once"

    groups: dict[str, list[ServingPair]] = {}
    for pair in pairs:
        for name in group(pair):
            groups.setdefault(name, []).append(pair)
    rows = []
    for name, own in sorted(groups.items(), key=lambda item: ("," not in item[0], item[0])):
        throughput = scored(
            (one.requests_per_second, one.run.answered_per_second)
            for one in own
            if one.run.answered_per_second is not None
        )
        kept = [one.kept_up for one in own if one.kept_up is not None]
        tpot = _latency_score(own, "tpot_ms")
        first, late = _latency_score(own, "ttft_ms"), _latency_score(own, "ttft_p99_ms")
        bias = median(throughput.errors) if throughput.errors else float("nan")
        rows.append(
            (
                name,
                str(len(own)),
                percent(throughput.median_error, 0),
                "–" if not throughput.errors else f"{100 * bias:+.0f} %",
                percent(sum(kept) / len(kept) if kept else float("nan"), 0),
                percent(tpot.median_error, 0),
                percent(first.median_error, 0),
                percent(late.median_error, 0),
            )
        )
        slug = _slug(name).replace(",", "")
        made.figures[f"served/{slug}/throughput"] = throughput.median_error
        made.figures[f"served/{slug}/tpot"] = tpot.median_error
        made.figures[f"served/{slug}/ttft"] = first.median_error
    every = [one.kept_up for one in pairs if one.kept_up is not None]
    made.figures["served/kept-up"] = sum(every) / len(every)
    header = ("", "runs", "rate", "bias", "kept up", "TPOT", "TTFT", "p99")
    title = "Serving under load: median errors of rate (requests per second), TPOT and TTFT"
    made.add(title, header, rows, lambda name: name.count(",") <= 1 and name[:3] != "on ")


def _overloads(made: Board, world: World) -> None:
    own = decided(kept_up_with(world))
    made.figures["served/overloads-flagged"] = own.flagged
    made.figures["served/false-alarms"] = own.false_alarms
    header = ("", "overloaded", "flagged", "kept up", "false alarms", "all right")
    title = "Open loads that a replica cannot keep up with: what was said against what happened"
    made.add(title, header, [_decision_row("this planner", own)])


def _latency_score(pairs: Sequence[ServingPair], name: str) -> Score:
    return scored(
        (getattr(pair, name), float(measured))
        for pair in pairs
        if (measured := getattr(pair.run, name)) is not None
    )


_PASSES: Final = {
    1024: "up to 1,024 tokens a pass",
    4096: "up to 4,096 tokens a pass",
    16384: "up to 16,384 tokens a pass",
    10**9: "longer passes",
}


_BY_GPU_TYPE: Final = 10**11
"""The order of these rows, the last."""


def _times(made: Board, world: World) -> None:
    def groups(run: Measurement) -> Iterator[tuple[int, str]]:
        """The rows that a run is counted in: their order, and their names."""
        yield 1, "all origins"
        if world.catalog.models[run.tune.model or ""].experts is not None:
            yield 2, "mixtures of experts"
            return
        yield 0, run.origin or ""
        most = min(most for most in _PASSES if world.tokens_per_pass(run) <= most)
        yield 3 + most, _PASSES[most]
        nodes = "one GPU" if run.gpus == 1 else "one node" if run.gpus <= 8 else "several nodes"
        yield 10**10, f"on {nodes}"
        yield _BY_GPU_TYPE, f"on {run.gpu_type}"

    pairs: dict[tuple[int, str], list[tuple[float | None, float]]] = {}
    for run in world.times:
        pair = (world.tokens_per_second_per_gpu(run), float(run.tokens_per_second_per_gpu or 0))
        for group in groups(run):
            pairs.setdefault(group, []).append(pair)
    rows, worst = [], 0.0
    for (order, name), own in sorted(pairs.items()):
        score = scored(own)
        worst = max(worst, score.median_error)
        cells = (str(score.runs), percent(score.median_error), *_cells(score)[1:3])
        within = sum(abs(error) <= 0.15 for error in score.errors) / max(1, score.runs)
        rows.append((name, *cells, percent(within, 0), _cells(score)[4]))
        if order <= 1:
            made.figures[f"time/{_slug('all' if order else name)}"] = score.median_error
    made.figures["time/worst-class"] = worst
    header = ("", "runs", "median error", "mean error", "bias", "within 15 %", "worst")
    brief = {name for order, name in pairs if 0 < order < _BY_GPU_TYPE}
    made.add("Time: tokens per second of one GPU", header, rows, brief.__contains__)
