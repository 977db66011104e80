"""Sweeps, sensitivity, alternatives and risk: many plans of one scenario."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from decimal import Decimal
from fractions import Fraction
from functools import partial
from os import PathLike
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Self, TypeAlias, TypeVar, Unpack, cast

from planner.api.planning import (
    PlanResult,
    Work,
    effort_of,
    require_work,
)
from planner.api.result import FilePath, Progress, Result, Row, paths, require, warn
from planner.api.scenario import (
    Changes,
    Source,
    as_text,
    asked_changes,
    load,
    placed,
    require_known_keys,
)
from planner.errors import ExitCode, InputError, PlannerError
from planner.inputs.load import Question
from planner.inputs.override import Override
from planner.planning.files import Folder, plan_text
from planner.reporting.document import Document
from planner.reporting.format import in_usd, record
from planner.reporting.sections.options import alternatives_document
from planner.reporting.sections.sensitivity import sensitivity_document
from planner.reporting.sections.variants import (
    PLAN_COLUMNS,
    risk_document,
    sweep_csv,
    sweep_document,
    sweep_rows,
)
from planner.sizing.sizers import Sizers
from planner.whatif.alternatives import Alternatives, find_alternatives
from planner.whatif.results import PlanSummary, StoredResult, dumps, loads, question_behind
from planner.whatif.risk import Futures, Risk, assess_risk, read_futures
from planner.whatif.sensitivity import Sensitivity, analyze_sensitivity
from planner.whatif.sweep import RESULTS, SweepGrid, SweepRow, VariantRuns, read_grid, require_rows
from planner.whatif.variants import (
    AS_STATED,
    CachedRunner,
    DaskExecutor,
    Executor,
    ProcessExecutor,
    Variant,
    VariantPlanner,
    WorkerConfig,
)

K = TypeVar("K", bound=StoredResult)
A = TypeVar("A", bound="StoredAnswer")
F = TypeVar("F", SweepGrid, Futures)

ShareValue: TypeAlias = "float | Decimal | Fraction"
Asked: TypeAlias = str | PathLike[str] | Mapping[str, Any]
"""A path, YAML text of several lines, or the same as a dict."""

_NO_FIGURES = PlanSummary(result="infeasible")
_FUTURES_AT_MOST = 100_000


class VariantOptions(Changes, Work):
    """What is asked beside the scenario's own file, and how many plans are made at a time."""


def _parted(options: VariantOptions) -> tuple[Changes, Work]:
    """Which scenario, and how it is planned; raises TypeError for what is neither."""
    require_known_keys(options, VariantOptions)
    changes = {key: value for key, value in options.items() if key in Changes.__annotations__}
    work = cast("Work", {key: value for key, value in options.items() if key not in changes})
    require_work(work)
    return cast("Changes", changes), work


def usable_cores() -> int:
    """Cores that this process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _executor(work: Work, planner: VariantPlanner) -> AbstractContextManager[Executor]:
    """What plans variants, here or on a cluster; raises InputError where no cluster answers."""
    if cluster := work.get("cluster"):
        return DaskExecutor(planner, cluster)
    return ProcessExecutor(planner, work.get("workers", 1) or usable_cores())


def _variant_planner(
    question: Question, work: Work, sizers: Sizers | None = None
) -> VariantPlanner:
    effort = effort_of(work)
    config = WorkerConfig(
        question.path,
        catalog=tuple(question.given["catalog"]),
        rules=tuple(question.given["rules"]),
        gap=effort["gap"],
        time_limit_s=effort["time_limit_seconds"],
        text=question.text,
        whole=question.whole,
    )
    return VariantPlanner(config, question, sizers)


@contextmanager
def variant_runner(
    question: Question,
    work: Work,
    progress: Progress,
    asked: Variant = AS_STATED,
    sizers: Sizers | None = None,
) -> Iterator[CachedRunner]:
    """Plans a variant of a question, and that with more settings; raises InputError."""
    planner = _variant_planner(question, work, sizers)
    with _executor(work, planner) as executor:
        yield CachedRunner(planner, executor, asked, progress or (lambda _: None))


def _answer(
    kind: Callable[[K, tuple[Path, ...]], A],
    ask: Callable[[CachedRunner], K],
    source: Source,
    options: VariantOptions,
    progress: Progress,
) -> A:
    """What is found by planning a scenario with more settings."""
    changes, work = _parted(options)
    scenario = load(source, **changes)
    asked = Variant(scenario._apply, scenario._set)
    with variant_runner(scenario._question, work, progress, asked) as runner:
        return kind(ask(runner), scenario.read_from)


def _exact(share: ShareValue, name: str) -> Fraction:
    """A share in the figures in which it was written: 0.2 is a fifth."""
    found = Fraction(str(share))
    require(0 < found < 1, name, share, "a share above 0 and below 1")
    return found


class StoredAnswer(Result):
    """A result that is kept beside a plan, sealed, and read again."""

    _kind: type[StoredResult]
    _of: str
    """What its title says before the scenario's name."""

    def __init__(self, found: StoredResult, read_from: tuple[Path, ...] = ()) -> None:
        """Private: functions of `planner` give these."""
        super().__init__(f"{self._of} {found.scenario}", found, read_from)

    @classmethod
    def read(cls, path: FilePath) -> Self:
        """Read its JSON file, as it was written beside a plan.

        Raises InputError for what is none, or was changed since.
        """
        return cls(loads(cls._kind, plan_text(Path(path)), str(path)), (Path(path),))

    @classmethod
    def beside(cls, plan: PlanResult, *folders: FilePath) -> Self | None:
        """Read its JSON file in the first of these folders where it answers the plan's question.

        Files that do not, or are none, are told as a PlannerWarning and left out.
        """
        for folder in dict.fromkeys(map(Path, folders)):
            path = folder / f"{cls._name}.json"
            if not path.is_file():
                continue
            try:
                found = cls.read(path)
            except InputError as error:
                warn(f"left out: {error}")
                continue
            if found.answers(plan):
                return found
            warn(f"left out: {path} is of another scenario than the plan")
        return None

    def answers(self, plan: PlanResult) -> bool:
        """Whether it is of the question that a plan was asked."""
        question: str = self._found.question
        return question == question_behind(plan._plan)

    def to_json(self) -> str:
        """The whole result as its file has it, sealed."""
        return dumps(self._found)


class SensitivityResult(StoredAnswer):
    """Which figures the cost depends on, and at which values the recommendation changes."""

    _name = "sensitivity"
    _kind = Sensitivity
    _found: Sensitivity
    _of = "Sensitivity of"

    @property
    def exit_code(self) -> ExitCode:
        """How the command ends: as planning the scenario as it stands does."""
        return self._found.base.exit_code

    def rows(self) -> list[Row]:
        """A row for each figure, the widest swing first: its value, the cost at both ends."""
        return [
            {
                "figure": one.name,
                "stated": one.stated,
                "unit": one.unit,
                "low_by": one.low.by,
                "low_cost_usd": in_usd(one.low.figures.cost_cents),
                "high_by": one.high.by,
                "high_cost_usd": in_usd(one.high.figures.cost_cents),
                "spread_usd": in_usd(one.spread_cents),
                "turns_at": ", ".join(f"{turn.after.by:+.4g}" for turn in one.turns),
            }
            for one in self._found.swings
        ]

    def _document(self) -> Document:
        return sensitivity_document(self._found)


def sensitivity(
    source: Source,
    *,
    swing: ShareValue = 0.2,
    weeks: int = 4,
    precision: ShareValue = 0.01,
    progress: Progress = None,
    **options: Unpack[VariantOptions],
) -> SensitivityResult:
    """Show which figures the cost depends on, and at which values the recommendation changes.

    Prices of offers, growth, lead times, discount, energy, support and useful life are moved one at
    a time: by the share `swing` of their values, lead times by so many `weeks`. Where another
    purchase results, the value is closed in on to the share `precision`.

    `workers` is how many plans are made at the same time, each in a process of its own: 1 unless
    told otherwise; None: as many as there are cores. `cluster` is the address of a Dask scheduler
    to plan on instead. `gap`, `time_limit_seconds` and `progress` are as for `plan`.

    >>> import planner
    >>> found = planner.sensitivity("scenarios/quickstart.yaml", precision=0.5)
    >>> found.rows()[0]["figure"]
    'lead times'

    Raises InputError as `load` does, and for a moved value that no scenario may have.
    """
    require(1 <= weeks <= 52, "weeks", weeks, "a number of weeks from 1 to 52")
    exact, closed = _exact(swing, "swing"), _exact(precision, "precision")
    ask = partial(analyze_sensitivity, swing=exact, weeks=weeks, precision=closed)
    return _answer(SensitivityResult, ask, source, options, progress)


class AlternativesResult(StoredAnswer):
    """Plans that differ where people care, beside the cheapest."""

    _name = "alternatives"
    _kind = Alternatives
    _found: Alternatives
    _of = "Alternatives for"

    @property
    def exit_code(self) -> ExitCode:
        """How the command ends: as planning the scenario as it stands does."""
        return self._found.cheapest.exit_code

    @property
    def whole(self) -> bool:
        """Whether plans near the cheapest were looked for as well."""
        return self._found.within is not None

    def rows(self) -> list[Row]:
        """A row for each plan, the cheapest first; one that there is not says why."""
        every: list[tuple[str, str, tuple[Override, ...], PlanSummary | None, str | None]] = [
            ("cheapest", "least net present cost", (), self._found.cheapest, None)
        ]
        every += [
            (one.name, one.objective, one.settings, one.figures, one.left_out)
            for one in self._found.others
        ]
        return [
            {
                "plan": name,
                "objective": objective,
                "settings": "; ".join(map(str, settings)),
                "result": "left out" if figures is None else figures.result,
                **record(figures or _NO_FIGURES, PLAN_COLUMNS),
                "reason": left_out or (figures.reason if figures else ""),
            }
            for name, objective, settings, figures, left_out in every
        ]

    def _document(self) -> Document:
        return alternatives_document(self._found)


def alternatives(
    source: Source,
    *,
    within: ShareValue = 0.03,
    progress: Progress = None,
    **options: Unpack[VariantOptions],
) -> AlternativesResult:
    """Show plans that differ where people care, beside the cheapest.

    Do nothing, reclaim first and rent only are always among them, APIs only if a job allows one,
    with their shortfall. Of the plans that cost at most the share `within` more than the cheapest:
    fewest node types, a single vendor, most headroom; each proved for its own objective, or left
    out with the reason. Options are as for `sensitivity`.

    >>> import planner
    >>> found = planner.alternatives("scenarios/quickstart.yaml")
    >>> [row["plan"] for row in found.rows()][:4]
    ['cheapest', 'do nothing', 'reclaim first', 'rent only']

    Raises what planning the scenario raises.
    """
    exact = Fraction(str(within))
    require(0 <= exact < 1, "within", within, "a share from 0 to below 1")
    ask = partial(find_alternatives, within=exact)
    return _answer(AlternativesResult, ask, source, options, progress)


class SweepResult(Result):
    """Variants of a scenario, planned, a row each."""

    _name = "sweep"

    _found: Sequence[SweepRow]

    def __init__(
        self, name: str, found: Sequence[SweepRow], left_out: int, results: Path | None
    ) -> None:
        """Private: `planner.sweep` gives these."""
        super().__init__(f"Sweep of {name}", found)
        self._scenario, self.left_out, self.results = name, left_out, results

    left_out: int
    """Rows that ask what others ask already."""
    results: Path | None
    """The file in which the rows are kept; None where they are not."""

    @property
    def exit_code(self) -> ExitCode:
        """How the command ends: 5 where a plan failed its check, 4 where one is not proved."""
        codes = {row.figures.exit_code for row in self._found}
        found = (one for one in (ExitCode.UNVERIFIED, ExitCode.LIMIT) if one in codes)
        return next(found, ExitCode.PROVED)

    def rows(self) -> list[Row]:
        """The rows of `sweep.csv`, with the same columns; numbers that are set are numbers."""
        return sweep_rows(self._found)

    def files(self) -> dict[str, str | bytes]:
        """`sweep.csv`, the page in Markdown and HTML."""
        files = super().files()
        del files["sweep.json"]
        return {"sweep.csv": sweep_csv(self._found), **files}

    def _document(self) -> Document:
        return sweep_document(self._scenario, self._found)


def sweep(
    grid: Asked,
    scenario: Source | None = None,
    *,
    out: FilePath | None = None,
    overwrite: bool = False,
    progress: Progress = None,
    **options: Unpack[VariantOptions],
) -> SweepResult:
    """Plan many variants of a scenario, a row each.

    `grid` says what is changed, as a path, a dict, or YAML text. It names the scenario, or
    `scenario` takes the place of that; a dict then needs no `format` and no `scenario`. Rows that
    the folder `out` has already are not planned again, and its files are written at the end;
    without one nothing is kept. What `apply` and `set` change holds in every row, before what the
    row changes. Options are as for `sensitivity`.

    >>> import planner
    >>> prices = {"grid": {"set": {"offers.buy-l40s.price_usd": [90_000, 150_000]}}}
    >>> found = planner.sweep(prices, "scenarios/quickstart.yaml")
    >>> [(row["offers.buy-l40s.price_usd"], row["result"]) for row in found.rows()]
    [(90000, 'proved'), (150000, 'proved')]

    Raises InputError for mistakes of the grid and the scenario, and, without `overwrite`, for files
    in `out` that would be lost.
    """
    changes, work = _parted(options)
    path, asked, planner = _asked_of(read_grid, grid, scenario, changes, work)
    variants = placed(lambda: asked.variants(planner, Variant(*asked_changes(changes))))
    first, *_ = variants.values()
    names = ("sweep.csv", "sweep.md", "sweep.html")
    with _kept_in(out, overwrite, names, (path, *planner.inputs(first).read_from)) as folder:
        runs = VariantRuns(partial(_executor, work), time_left(progress))
        figures = runs.figures(planner, [*variants.values()], folder.path, force=overwrite)
        found = SweepResult(
            planner.name,
            [SweepRow(*one) for one in zip(variants.values(), figures, strict=True)],
            left_out=len(asked.rows) - len(variants),
            results=None if out is None else folder.path / RESULTS,
        )
        if out is not None:
            folder.write(found.files())
    return found


def _asked_of(
    read: Callable[[Path, str | None, Path | None], F],
    given: Asked,
    scenario: Source | None,
    changes: Changes,
    work: Work,
) -> tuple[Path, F, VariantPlanner]:
    """The path of what is asked of a scenario, that as it was read, and what plans variants."""
    own: Changes = {"catalog": changes.get("catalog", ()), "rules": changes.get("rules", ())}
    base = None
    if scenario is not None:
        base = load(scenario, **own)._whole()
        if isinstance(given, Mapping):
            given = {"format": 1, "scenario": str(base.path), **given}
    path, text = as_text(given)
    asked = placed(lambda: read(path, text, base.path if base else None))
    catalog, rules = paths(own.get("catalog", ())), paths(own.get("rules", ()))
    question = base or Question(asked.scenario, catalog=catalog, rules=rules)
    return path, asked, _variant_planner(question, work)


@contextmanager
def _kept_in(
    out: FilePath | None, overwrite: bool, files: Sequence[str], read: Sequence[Path]
) -> Iterator[Folder]:
    """The folder for results, a temporary one where none is named; raises InputError."""
    if out is None:
        with TemporaryDirectory(prefix="planner-") as name:
            yield Folder(Path(name), overwrite=True)
        return
    folder = Folder(Path(out), overwrite)
    folder.require_free(files, read, kept=(RESULTS,))
    require_rows(folder.path, force=overwrite)
    folder.make()
    try:
        yield folder
    except PlannerError:
        if not any(folder.path.iterdir()):
            folder.path.rmdir()
        raise


class RiskResult(StoredAnswer):
    """What many futures cost, and how often what is bought now falls short in them."""

    _name = "risk"
    _kind = Risk
    _found: Risk
    _of = "Risk of"

    @property
    def proved(self) -> bool:
        """Whether the plan as it stands and those of all futures are proved."""
        return not self._found.not_proved and self._found.base.result == "proved"

    @property
    def exit_code(self) -> ExitCode:
        """How the command ends: 4 where a plan is not proved."""
        return ExitCode.PROVED if self.proved else ExitCode.LIMIT

    @property
    def chances(self) -> list[Row]:
        """By quarter: in how many futures the nodes of the plan do not hold all jobs."""
        return [one.model_dump() for one in self._found.chances]

    @property
    def costs_usd(self) -> list[float]:
        """Net present cost of the best plan of each future, the cheapest first."""
        return [cents / 100 for cents in self._found.costs_cents]

    def rows(self) -> list[Row]:
        """A row for each percentile of the futures: what the best plan of one costs."""
        pairs = zip(self._found.percentiles, self._found.cost_cents, strict=True)
        return [{"percentile": share, "cost_usd": in_usd(cents)} for share, cents in pairs]

    def _document(self) -> Document:
        return risk_document(self._found)


def risk(
    futures: Asked,
    scenario: Source | None = None,
    *,
    samples: int = 200,
    out: FilePath | None = None,
    overwrite: bool = False,
    progress: Progress = None,
    **options: Unpack[VariantOptions],
) -> RiskResult:
    """Plan many futures: costs by percentile, and the chance that the plan falls short.

    `futures` says what is uncertain, as a path, a dict, or YAML text; the same and `samples` give
    the same futures on any machine. `scenario`, `out`, `overwrite` and the options are as for
    `sweep`.

    >>> import planner
    >>> jobs = {"growth": {"of": ["jobs.support-assistant.count"], "times": [0.8, 1, 1.5]}}
    >>> found = planner.risk({"uncertain": jobs}, "scenarios/quickstart.yaml", samples=3)
    >>> len(found.costs_usd)
    3

    Raises InfeasibleError where the scenario as it stands has no plan, and what `sweep` raises.
    """
    fits = 1 <= samples <= _FUTURES_AT_MOST
    require(fits, "samples", samples, f"a number from 1 to {_FUTURES_AT_MOST:,}")
    changes, work = _parted(options)
    reader = partial(read_futures, asked=Variant(*asked_changes(changes)))
    path, asked, planner = _asked_of(reader, futures, scenario, changes, work)
    placed(lambda: asked.drawn(planner, 0))
    read = (path, *planner.inputs(asked.base(planner)).read_from)
    names = ("risk.json", "risk.md", "risk.html")
    with _kept_in(out, overwrite, names, read) as folder:
        runs = VariantRuns(partial(_executor, work), time_left(progress))
        found = RiskResult(
            assess_risk(planner, asked, samples, folder.path, force=overwrite, runs=runs)
        )
        if out is not None:
            folder.write(found.files())
    return found


def time_left(progress: Progress) -> Callable[[int, int, int], None]:
    """Tells how many rows are done, and how long the others may take."""
    began = time.monotonic()

    def told(done: int, found: int, rows: int) -> None:
        text = f"planning, {done:,} of {rows:,} done"
        if found < done < rows:
            seconds = (time.monotonic() - began) / (done - found) * (rows - done)
            minutes = f"{seconds / 60:,.0f} min" if seconds >= 90 else f"{seconds:.0f} s"
            text += f", about {minutes} left"
        if progress is not None:
            progress(text)

    return told
