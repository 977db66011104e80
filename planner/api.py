"""The public Python API: what the commands do, as functions that give values.

A scenario is named by its path, or given as YAML text (a string of several lines) or as a dict.
Mistakes are exceptions with the findings that the terminal shows; `planner.errors` has the tree.
"""

from __future__ import annotations

import csv
import io
import os
from abc import ABC, abstractmethod
from contextlib import contextmanager
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from functools import partial
from importlib import import_module
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import yaml

from planner.errors import Finding, InputError
from planner.exchange.kubernetes import kubernetes_files
from planner.exchange.kueue import kueue_files
from planner.exchange.needs import quarter_of
from planner.exchange.watsonx import watsonx_files
from planner.inputs.load import Question
from planner.inputs.reading.diagnostics import Attempts
from planner.planning.explain import explain as explained
from planner.planning.make import make_plan
from planner.planning.saved import checked, read_saved, sound
from planner.planning.store import dumps, write_atomically
from planner.reporting import markdown
from planner.reporting.alternatives import alternatives_document, near_ones
from planner.reporting.ask import ask_sentence
from planner.reporting.compare import comparison_document
from planner.reporting.excel.draw import draw as excel
from planner.reporting.explain import explanation_document
from planner.reporting.html.draw import draw as html
from planner.reporting.html.draw import fragment
from planner.reporting.justification.beside import Beside
from planner.reporting.justification.document import justification_document
from planner.reporting.pages import illustrated
from planner.reporting.plan import FULL, plan_document
from planner.reporting.quarterly import quarterly_document
from planner.reporting.risk import cost_bands, risk_document
from planner.reporting.sensitivity import sensitivity_document, tornado
from planner.reporting.size import sizing_document
from planner.reporting.variants import frontiers, sweep_csv, sweep_document
from planner.reporting.waterfall import waterfall_chart
from planner.sizing.sizers import Sizers
from planner.whatif.alternatives import alternatives as all_alternatives
from planner.whatif.alternatives import standard_alternatives
from planner.whatif.comparison.compare import compare as compared_with
from planner.whatif.comparison.sides import planned_side, saved_side
from planner.whatif.desk.crew import Processes
from planner.whatif.desk.desk import Desk, Station, Variant
from planner.whatif.desk.made import Made
from planner.whatif.grid import read_grid
from planner.whatif.kept import dumps as kept_text
from planner.whatif.risk.futures import read_futures
from planner.whatif.risk.risk import risk as all_futures
from planner.whatif.sensitivity.sensitivity import sensitivity as all_sensitivity
from planner.whatif.sweep import sweep as all_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from planner.inputs.settled import Inputs
    from planner.planning import plan as planning_plan
    from planner.planning.saved import Saved
    from planner.reporting.document import Document
    from planner.sizing.candidate import SizedJob
    from planner.whatif import found as found_data
    from planner.whatif.comparison.comparison import Comparison as ComparisonData
    from planner.whatif.comparison.sides import Side
    from planner.whatif.desk.figures import Figures
    from planner.whatif.risk.risk import Risk as RiskData
    from planner.whatif.sweep import Row

__all__ = [
    "Alternatives",
    "Comparison",
    "Plan",
    "Result",
    "Risk",
    "Scenario",
    "Sensitivity",
    "Sizes",
    "Sweep",
    "alternatives",
    "check",
    "compare",
    "export",
    "load",
    "plan",
    "read_plan",
    "report",
    "risk",
    "sensitivity",
    "size",
    "sweep",
]

Source: TypeAlias = "str | os.PathLike[str] | Mapping[str, Any] | Scenario"
"""A path, YAML text of several lines, a dict, or a scenario that was loaded."""
PlanSource: TypeAlias = "str | os.PathLike[str] | Plan"
"""A plan.json, or a plan."""
Flat = dict[str, Any]
"""One row of a table: plain values by column."""
_GIVEN = Path("<scenario>")
"""What a scenario without a file is called."""
_NO_FILES = (str(_GIVEN), "--set")
_ROWS = 1000
"""Of a table in a comparison."""


class Result(ABC):
    """What a function of this API gives: it prints, draws, tabulates and writes itself."""

    @property
    @abstractmethod
    def title(self) -> str:
        """What it is, in a few words."""

    @abstractmethod
    def document(self) -> Document:
        """What the command prints, as blocks that the project's drawers draw."""

    @abstractmethod
    def rows(self) -> list[Flat]:
        """Its main table: a dict for each row, the same columns in each."""

    @abstractmethod
    def files(self) -> dict[str, str | bytes]:
        """What the command writes with `--out`, by file name."""

    @abstractmethod
    def __repr__(self) -> str: ...

    def to_markdown(self) -> str:
        """What the command prints, as Markdown."""
        return markdown.draw(self.document())

    def _repr_html_(self) -> str:
        """What the command prints, as a fragment of HTML, for notebooks."""
        return fragment(self.document(), self.title)

    def to_pandas(self) -> Any:  # noqa: ANN401 - pandas is no dependency
        """`rows()` as a pandas DataFrame; ImportError where pandas is not installed."""
        return _optional("pandas").DataFrame(self.rows())

    def to_polars(self) -> Any:  # noqa: ANN401 - polars is no dependency
        """`rows()` as a polars DataFrame; ImportError where polars is not installed."""
        return _optional("polars").DataFrame(self.rows())

    def write(self, directory: str | os.PathLike[str], *, force: bool = False) -> list[Path]:
        """Write `files()` into a folder, made if needed; the paths that were written.

        Raises InputError where one is there already with other content, and `force` is not given.
        """
        return _write(self.files(), Path(directory), force=force)


def _optional(name: str) -> Any:  # noqa: ANN401 - a module
    try:
        return import_module(name)
    except ImportError:
        raise ImportError(f"{name} is not installed: `pip install {name}`") from None


def _write(files: Mapping[str, str | bytes], folder: Path, *, force: bool) -> list[Path]:
    paths = {folder / name: _bytes(text) for name, text in files.items()}
    changed = [
        path for path, text in paths.items() if not (path.is_file() and path.read_bytes() == text)
    ]
    there = [path for path in changed if path.exists()]
    if there and not force:
        hint = "name another folder, or overwrite with `force=True`"
        raise InputError(*(Finding("is there already", file=str(p), hint=hint) for p in there))
    folder.mkdir(parents=True, exist_ok=True)
    for path in changed:
        write_atomically(path, paths[path])
    return list(paths)


def _bytes(text: str | bytes) -> bytes:
    return text.encode() if isinstance(text, str) else text


@dataclass(frozen=True, repr=False)
class Scenario(Result):
    """A scenario without a mistake, with all that it stands on."""

    inputs: Inputs
    """The settled inputs. Private: their shape may change."""
    path: Path
    text: str | None
    """What it says, where it was given as text or as a dict."""
    asked: Variant
    catalog: tuple[Path, ...]
    rules: tuple[Path, ...]

    @property
    def title(self) -> str:
        """Its `name`, or its file's name where it has none."""
        return self.inputs.scenario.name or self.path.name

    def changed(
        self, changes: Mapping[str, object] | None = None, *, scenarios: Sequence[str] = ()
    ) -> Scenario:
        """The same scenario with further values set, or its own overrides and scenarios applied.

        Raises InputError.

        >>> scenario = load("scenarios/quickstart.yaml")
        >>> scenario.changed({"jobs.support-assistant.count.2027Q3": 4}).rows()[0]["2027Q3"]
        4
        """
        asked = Variant(
            (*self.asked.apply, *scenarios), (*self.asked.settings, *_settings(changes))
        )
        return _loaded(self.path, self.text, asked, self.catalog, self.rules)

    @property
    def quarters(self) -> tuple[str, ...]:
        """The horizon: `2027Q1` and so on."""
        return self.inputs.scenario.horizon.labels

    @property
    def jobs(self) -> tuple[str, ...]:
        """Names of the jobs."""
        return tuple(self.inputs.scenario.jobs)

    def __repr__(self) -> str:
        span = f"{self.quarters[0]} to {self.quarters[-1]}"
        return f"<Scenario {self.title!r}: {len(self.jobs)} jobs, {span}>"

    def document(self) -> Document:
        """How its jobs are sized."""
        return size(self).document()

    def rows(self) -> list[Flat]:
        """A row for each job: name, kind, and units by quarter."""
        horizon = self.inputs.scenario.horizon
        return [
            {
                "job": name,
                "kind": "tuning" if job.tune else "serving" if job.serve else "fixed",
                **dict(zip(horizon.labels, job.counts(horizon), strict=True)),
            }
            for name, job in self.inputs.scenario.jobs.items()
        ]

    def files(self) -> dict[str, str | bytes]:
        """The scenario as one file, with all that was set."""
        return {"scenario.yaml": self.inputs.question}


def load(
    source: Source,
    changes: Mapping[str, object] | None = None,
    *,
    scenarios: Sequence[str] = (),
    catalog: Sequence[str | os.PathLike[str]] = (),
    rules: Sequence[str | os.PathLike[str]] = (),
) -> Scenario:
    """Read a scenario with all that it stands on.

    `changes` are values by dotted path, as `--set` takes them; `scenarios` are names of its own
    overrides and scenarios; `catalog` and `rules` are files or folders of one's own. Raises
    InputError with all mistakes at once.

    >>> load("scenarios/quickstart.yaml")
    <Scenario 'Quickstart': 5 jobs, 2027Q1 to 2027Q3>
    """
    if isinstance(source, Scenario):
        return source.changed(changes, scenarios=scenarios) if changes or scenarios else source
    path, text = _GIVEN, None
    if isinstance(source, str | os.PathLike):
        if isinstance(source, str) and "\n" in source:
            text = source
        else:
            path = Path(source)
    else:
        text = yaml.safe_dump(_plain(source), sort_keys=False, allow_unicode=True)
    asked = Variant(tuple(scenarios), _settings(changes))
    return _loaded(path, text, asked, tuple(map(Path, catalog)), tuple(map(Path, rules)))


def _plain(value: object) -> object:
    """A value that YAML writes as a person would: mappings, lists and figures."""
    if isinstance(value, dict) or hasattr(value, "items"):
        return {key: _plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    if isinstance(value, Decimal | Fraction):
        return float(value)
    return str(value) if isinstance(value, os.PathLike) else value


def _settings(changes: Mapping[str, object] | None) -> tuple[str, ...]:
    return tuple(
        f"{path}={yaml.safe_dump(_plain(value), default_flow_style=True, width=10**9).strip()}"
        if isinstance(value, dict | list | tuple)
        else f"{path}={_scalar(value)}"
        for path, value in (changes or {}).items()
    )


def _scalar(value: object) -> str:
    return yaml.safe_dump(_plain(value)).removesuffix("...\n").strip()


def _loaded(
    path: Path,
    text: str | None,
    asked: Variant,
    catalog: tuple[Path, ...],
    rules: tuple[Path, ...],
) -> Scenario:
    with _placed():
        question = Question(path, catalog=catalog, rules=rules, text=text)
        inputs = question.inputs(asked.apply, asked.settings)
    return Scenario(inputs, path, text, asked, catalog, rules)


@contextmanager
def _placed() -> Iterator[None]:
    """Findings in what comes from no file name their paths alone."""
    try:
        yield
    except InputError as error:
        raise InputError(*map(_without_file, error.findings), known=error.known) from None


def _without_file(found: Finding) -> Finding:
    if found.file not in _NO_FILES:
        return found
    return replace(found, file=None, line=None, column=None, source_line=None)


def check(
    source: Source,
    changes: Mapping[str, object] | None = None,
    *,
    catalog: Sequence[str | os.PathLike[str]] = (),
    rules: Sequence[str | os.PathLike[str]] = (),
) -> tuple[Finding, ...]:
    """All mistakes of a scenario, of its overrides and scenarios too; empty where there is none.

    >>> check({"format": 1, "jobs": {"chat": {"serve": {"modl": "llama-3.1-8b"}}}})[-1].hint
    "did you mean 'model'?"
    """
    attempts = Attempts()
    loaded = attempts.take(lambda: load(source, changes, catalog=catalog, rules=rules))
    if loaded is not None:
        question = Question(
            loaded.path, catalog=loaded.catalog, rules=loaded.rules, text=loaded.text
        )
        for case in question.layers.cases:
            attempts.take(partial(loaded.changed, scenarios=(case,)))
    return tuple(dict.fromkeys(attempts.findings))


class Sizes(Result):
    """How each job runs on each GPU type that it may use, and why not on the others."""

    def __init__(self, scenario: Scenario, jobs: tuple[SizedJob, ...]) -> None:
        self.scenario = scenario
        self._jobs = jobs

    @property
    def title(self) -> str:
        """`Sizes of quickstart`."""
        return f"Sizes of {self.scenario.title}"

    def __repr__(self) -> str:
        return (
            f"<Sizes of {self.scenario.title!r}: {len(self._jobs)} jobs, {len(self.rows())} rows>"
        )

    def document(self) -> Document:
        """A section for each job."""
        return tuple(
            chain.from_iterable(sizing_document(job.sizing, every_sum=False) for job in self._jobs)
        )

    def rows(self) -> list[Flat]:
        """A row for each job and GPU type: GPUs, memory, hours; or the rule that rejects it."""
        found: list[Flat] = []
        for job in self._jobs:
            for one in job.sizing.candidates:
                found.append(
                    {
                        "job": job.name,
                        "gpu_type": one.gpu_type,
                        "way": one.way,
                        "gpus": one.gpus,
                        "hours": one.hours,
                        "rejected_by": None,
                        "reason": None,
                    }
                )
            found += (
                {
                    "job": job.name,
                    "gpu_type": one.gpu_type,
                    "way": None,
                    "gpus": None,
                    "hours": None,
                    "rejected_by": one.rule,
                    "reason": one.message,
                }
                for one in job.sizing.rejections
            )
        return found

    def files(self) -> dict[str, str | bytes]:
        """The rows as a table."""
        return {"sizes.csv": _csv(self.rows())}


def size(source: Source) -> Sizes:
    """Size each job of a scenario on each GPU type in play. Raises InputError.

    >>> size("scenarios/quickstart.yaml").rows()[0]["job"]
    'claims-expert'
    """
    scenario = load(source)
    return Sizes(scenario, Sizers().portfolio(scenario.inputs))


class Plan(Result):
    """What to buy or rent when, what runs where, what it costs, and the proof."""

    def __init__(self, data: planning_plan.Plan, saved: Saved | None = None) -> None:
        self.data = data
        """All of it. Its keys are those of plan.json, whose format has a version of its own."""
        self._saved = saved

    @property
    def title(self) -> str:
        """The scenario's name."""
        return self.data.scenario

    @property
    def status(self) -> str:
        """`proved`, or `not proved` where a limit was hit first."""
        return self.data.proof.status

    @property
    def cost_usd(self) -> Decimal:
        """Net present cost over the horizon."""
        return _usd(self.data.proof.cost_cents)

    @property
    def bound_usd(self) -> Decimal:
        """No plan for these inputs costs less."""
        return _usd(self.data.proof.bound_cents)

    @property
    def gap(self) -> float:
        """How far the cost may be above the best, as a share of the cost."""
        return self.data.proof.gap

    @property
    def quarters(self) -> tuple[str, ...]:
        """The horizon."""
        return self.data.quarters

    @property
    def warnings(self) -> tuple[str, ...]:
        """What is worth a second look."""
        return tuple(note.text for note in self.data.warnings)

    @property
    def changed_since(self) -> tuple[str, ...]:
        """Of a plan that was read: what of its inputs has changed, a sentence each."""
        return self._saved.told("the plan") if self._saved else ()

    def __repr__(self) -> str:
        return f"<Plan {self.title!r}: {ask_sentence(self.data)}>"

    def document(self) -> Document:
        """As `planner plan` prints it, in full."""
        return plan_document(self.data, FULL)

    def rows(self) -> list[Flat]:
        """A row for each line of what to buy, rent or reserve."""
        return [
            {
                "offer": one.offer,
                "kind": one.kind,
                "node_type": one.node_type,
                "gpu_type": one.gpu_type,
                "gpus_per_node": one.gpus_per_node,
                "site": one.site,
                "quarter": one.quarter,
                "count": one.count,
                "order_by": one.order_by,
                "unit_price_usd": _usd(one.unit_price_cents),
                "total_usd": _usd(one.total_cents),
                "illustrative_price": one.illustrative,
            }
            for one in self.data.acquisitions
        ]

    def explain(self, job: str) -> str:
        """Why a job runs where it runs, every number with formula and source, as Markdown.

        Raises InputError where there is no such job.
        """
        with sound("the plan"):
            return markdown.draw(explanation_document(explained(self.data, job)))

    def files(self) -> dict[str, str | bytes]:
        """`plan.json` and `plan.md`."""
        return {"plan.json": dumps(self.data), "plan.md": self.to_markdown()}


def _usd(cents: int) -> Decimal:
    return Decimal(cents) / 100


def plan(
    source: Source,
    changes: Mapping[str, object] | None = None,
    *,
    gap: float = 1e-4,
    time_limit_seconds: float = 60.0,
    crosscheck: bool = False,
    progress: Callable[[str], None] | None = None,
) -> Plan:
    """Plan a scenario at least net present cost, and check the plan independently.

    `gap` is the relative gap that counts as proved. The time limit is in seconds of work, as a
    usual machine does it. With `crosscheck` other solvers are asked for the bound again. Raises
    InputError, InfeasibleError with the reasons where no plan exists, LimitError where the time
    ends before one is found, CheckError and DisagreementError where a check or another solver
    disagrees.

    >>> made = plan("scenarios/quickstart.yaml", {"jobs.support-assistant.count.2027Q3": 4})
    >>> made.status, made.gap, made.cost_usd == made.bound_usd
    ('proved', 0.0, True)
    """
    made = make_plan(
        load(source, changes).inputs,
        asked_gap=gap,
        time_limit_s=time_limit_seconds,
        crosscheck=crosscheck,
        progress=progress,
    )
    return Plan(made)


def read_plan(path: str | os.PathLike[str]) -> Plan:
    """Read a plan.json and check it against the inputs that it records.

    Raises InputError for what is no plan, CheckError where it fails its check.
    """
    file = Path(path)
    try:
        text = file.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        said = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise InputError(Finding(f"cannot be read: {said}", file=str(file))) from None
    saved = checked(read_saved(text, str(file)))
    return Plan(saved.plan, saved)


class Comparison(Result):
    """Two plans side by side: inputs first, then purchases, cost, jobs and more."""

    def __init__(self, data: ComparisonData) -> None:
        self.data = data
        """All of it, as in compare.json."""

    @property
    def title(self) -> str:
        """`before → after`."""
        return f"{self.data.before.label} → {self.data.after.label}"

    @property
    def same(self) -> bool:
        """Whether nothing differs."""
        return self.data.same

    @property
    def cost_difference_usd(self) -> Decimal:
        """What the plan after costs more."""
        return _usd(self.data.after.cost_cents - self.data.before.cost_cents)

    def __repr__(self) -> str:
        return f"<Comparison {self.title}: {self.cost_difference_usd:+,.2f} USD>"

    def document(self) -> Document:
        """As `planner compare` writes it."""
        return comparison_document(self.data, _ROWS)

    def rows(self) -> list[Flat]:
        """Present value by kind of cost: before, after, the difference; the last is the whole."""
        return [
            {
                "cost": one.name,
                "before_usd": _usd(int(one.before or 0)),
                "after_usd": _usd(int(one.after or 0)),
                "difference_usd": _usd(int(one.after or 0) - int(one.before or 0)),
            }
            for one in self.data.costs
        ]

    def files(self) -> dict[str, str | bytes]:
        """`compare.json`, `compare.md`, `compare.html` and, where cost differs, `waterfall.svg`."""
        chart = waterfall_chart(self.data)
        pictures = {"waterfall.svg": chart} if chart else {}
        pages = illustrated("compare", self.document(), pictures, self.title)
        return {"compare.json": self.data.model_dump_json(indent=1) + "\n", **pages}


def compare(
    before: Source | Plan,
    after: Source | Plan,
    *,
    gap: float = 1e-4,
    time_limit_seconds: float = 60.0,
) -> Comparison:
    """Say what differs between two plans; scenarios are planned first, a plan.json is read.

    The steps between them are planned, to tell which cause costs how much. Raises what planning
    and reading raise.
    """

    def planner(inputs: Inputs) -> planning_plan.Plan:
        return make_plan(inputs, asked_gap=gap, time_limit_s=time_limit_seconds)

    def side(given: Source | Plan, label: str) -> Side:
        if isinstance(given, str | os.PathLike) and str(given).endswith(".json"):
            given = read_plan(given)
        if isinstance(given, Plan):
            return saved_side(given._saved or checked(read_saved(dumps(given.data), label)))
        scenario = load(given)
        return planned_side(f"{label}: {scenario.title}", scenario.inputs, planner)

    return Comparison(compared_with(side(before, "before"), side(after, "after"), planner))


class _Kept(Result):
    """What the alternatives and the sensitivity share."""

    name: str

    def __init__(self, data: found_data.Alternatives | found_data.Sensitivity) -> None:
        self._data = data

    @property
    def title(self) -> str:
        """`Alternatives for quickstart`."""
        return f"{self.name.capitalize()} of {self._data.scenario}"

    def _pages(self, pictures: Mapping[str, Any]) -> dict[str, str | bytes]:
        pages = illustrated(self.name, self.document(), pictures, self.title)
        return {f"{self.name}.json": kept_text(self._data), **pages}


class Alternatives(_Kept):
    """Plans that differ where people care, beside the cheapest."""

    name = "alternatives"

    def __init__(self, data: found_data.Alternatives) -> None:
        super().__init__(data)
        self.data = data
        """All of it, as in alternatives.json."""

    def __repr__(self) -> str:
        names = ", ".join(one.name for one in self.data.others if one.figures)
        return f"<Alternatives of {self.data.scenario!r}: {names}>"

    def document(self) -> Document:
        """As `planner alternatives` prints it."""
        return alternatives_document(self.data)

    def rows(self) -> list[Flat]:
        """A row for each plan, the cheapest first: its cost, and why it is left out where it is."""
        first = {"name": "cheapest", "objective": "least cost", **_figures(self.data.cheapest)}
        others = (
            {"name": one.name, "objective": one.objective, **_figures(one.figures, one.left_out)}
            for one in self.data.others
        )
        return [first, *others]

    def files(self) -> dict[str, str | bytes]:
        """As `planner alternatives --out` writes them."""
        return self._pages(frontiers(self.title, near_ones(self.data)))


class Sensitivity(_Kept):
    """Which figures the cost hangs on, and where the recommendation turns."""

    name = "sensitivity"

    def __init__(self, data: found_data.Sensitivity) -> None:
        super().__init__(data)
        self.data = data
        """All of it, as in sensitivity.json."""

    def __repr__(self) -> str:
        names = ", ".join(one.name for one in self.data.swings[:3])
        return f"<Sensitivity of {self.data.scenario!r}: most of all {names}>"

    def document(self) -> Document:
        """As `planner sensitivity` prints it."""
        return sensitivity_document(self.data)

    def rows(self) -> list[Flat]:
        """A row for each figure, moved down and up: what the plans cost then."""
        return [
            {
                "figure": one.name,
                "stated": one.stated,
                "moved_by": one.high.by,
                "unit": one.unit,
                "low_cost_usd": _cost(one.low.figures),
                "high_cost_usd": _cost(one.high.figures),
                "turns_at": ", ".join(
                    setting for turn in one.turns for setting in turn.after.settings
                )
                or None,
            }
            for one in self.data.swings
        ]

    def files(self) -> dict[str, str | bytes]:
        """As `planner sensitivity --out` writes them."""
        picture = tornado(self.data)
        return self._pages({"tornado.svg": picture} if picture else {})


def _cost(figures: Figures) -> Decimal | None:
    return None if figures.cost_cents is None else _usd(figures.cost_cents)


def _figures(figures: Figures | None, left_out: str | None = None) -> Flat:
    return {
        "result": figures.result if figures else None,
        "cost_usd": _cost(figures) if figures else None,
        "left_out": left_out,
    }


@contextmanager
def _made(
    source: Source,
    gap: float,
    time_limit_seconds: float,
    workers: int | None,
    progress: Callable[[str], None] | None,
) -> Iterator[Made]:
    scenario = load(source)
    files = scenario.catalog, scenario.rules
    desk = Desk(Station(scenario.path, *files, gap, time_limit_seconds, scenario.text))
    with Processes(desk, workers or _cores()) as crew:
        yield Made(desk, crew, scenario.asked, progress or (lambda _: None))


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def alternatives(
    source: Source,
    *,
    within: float = 0.03,
    all_goals: bool = True,
    gap: float = 1e-4,
    time_limit_seconds: float = 60.0,
    workers: int | None = None,
    progress: Callable[[str], None] | None = None,
) -> Alternatives:
    """Plan what stands beside the cheapest plan: do nothing, reclaim first, rent only, and others.

    Of those that cost at most a share `within` more: fewest node types, a single vendor, most
    headroom, fewest moves, lowest power, earliest; without `all_goals`, the first three alone.
    Raises what planning raises.
    """
    with _made(source, gap, time_limit_seconds, workers, progress) as made:
        if not all_goals:
            return Alternatives(standard_alternatives(made))
        share = Fraction(within).limit_denominator(10**6)
        return Alternatives(all_alternatives(made, within=share))


def sensitivity(  # noqa: PLR0913 - what the command can be told
    source: Source,
    *,
    swing: float = 0.2,
    lead_time_weeks: int = 4,
    precision: float = 0.01,
    pairs: int = 3,
    gap: float = 1e-4,
    time_limit_seconds: float = 60.0,
    workers: int | None = None,
    progress: Callable[[str], None] | None = None,
) -> Sensitivity:
    """Move prices, growth, lead times and others one at a time, and plan each.

    `swing` is the share of its value by which each figure is moved either way; `precision` the
    share to which a turn of the recommendation is closed in. Raises what planning raises.
    """
    with _made(source, gap, time_limit_seconds, workers, progress) as made:
        found = all_sensitivity(
            made,
            swing=Fraction(swing).limit_denominator(10**6),
            weeks=lead_time_weeks,
            precision=Fraction(precision).limit_denominator(10**6),
            pairs=pairs,
        )
    return Sensitivity(found)


class Sweep(Result):
    """Many variants of a scenario, a row each."""

    def __init__(self, title: str, found: Sequence[Row]) -> None:
        self._title, self._found = title, tuple(found)

    @property
    def title(self) -> str:
        """`Sweep of data-centre`."""
        return f"Sweep of {self._title}"

    def __repr__(self) -> str:
        return f"<Sweep of {self._title!r}: {len(self._found)} rows>"

    def document(self) -> Document:
        """As `planner sweep` prints it."""
        return sweep_document(self._title, self._found)

    def rows(self) -> list[Flat]:
        """The columns of sweep.csv, as text."""
        return list(csv.DictReader(io.StringIO(sweep_csv(self._found))))

    def files(self) -> dict[str, str | bytes]:
        """`sweep.csv`, `sweep.md`, `sweep.html` and its pictures."""
        pictures = frontiers(self._title, [(row.label, row.figures) for row in self._found])
        pages = illustrated("sweep", self.document(), pictures, self.title)
        return {"sweep.csv": sweep_csv(self._found), **pages}


def sweep(
    grid: str | os.PathLike[str],
    directory: str | os.PathLike[str],
    *,
    gap: float = 1e-4,
    time_limit_seconds: float = 60.0,
    workers: int | None = None,
    progress: Callable[[int, int, int], None] | None = None,
) -> Sweep:
    """Plan the variants of a grid file; what the folder has already is not planned again.

    `progress` is told how many rows are done, how many of these were found, and how many there
    are. Raises what planning raises.
    """
    asked = read_grid(Path(grid))
    desk = Desk(Station(asked.scenario, (), (), gap, time_limit_seconds))
    out = Path(directory)
    out.mkdir(parents=True, exist_ok=True)
    with Processes(desk, workers or _cores()) as crew:
        found = all_rows(crew, asked.variants(desk), out, progress=progress or (lambda *_: None))
    return Sweep(desk.name, found)


class Risk(Result):
    """What many futures cost, and how often the plan falls short in them."""

    def __init__(self, data: RiskData) -> None:
        self.data = data
        """All of it, as in risk.json."""

    @property
    def title(self) -> str:
        """`Risk of data-centre`."""
        return f"Risk of {self.data.scenario}"

    def __repr__(self) -> str:
        return f"<Risk of {self.data.scenario!r}: {self.data.futures} futures>"

    def document(self) -> Document:
        """As `planner risk` prints it."""
        return risk_document(self.data)

    def rows(self) -> list[Flat]:
        """Net present cost of the best plan of a future, by percentile."""
        costs = zip(self.data.percentiles, self.data.cost_cents, strict=False)
        return [{"percentile": share, "cost_usd": _usd(cents)} for share, cents in costs]

    def files(self) -> dict[str, str | bytes]:
        """`risk.json`, `risk.md`, `risk.html` and `risk.svg`."""
        pictures = {"risk.svg": cost_bands(self.data)}
        pages = illustrated("risk", self.document(), pictures, self.title)
        return {"risk.json": self.data.model_dump_json(indent=1) + "\n", **pages}


def risk(
    futures: str | os.PathLike[str],
    directory: str | os.PathLike[str],
    *,
    samples: int = 200,
    plans: int = 3,
    gap: float = 1e-4,
    time_limit_seconds: float = 60.0,
    workers: int | None = None,
    progress: Callable[[int, int, int], None] | None = None,
) -> Risk:
    """Draw futures of a scenario from a file that says what is uncertain, and plan each.

    At most so many purchase `plans` are held against each other in them; 0: none. What the folder
    has already is not planned again. Raises what planning raises.
    """
    asked = read_futures(Path(futures))
    desk = Desk(Station(asked.scenario, (), (), gap, time_limit_seconds))
    out = Path(directory)
    out.mkdir(parents=True, exist_ok=True)
    found = all_futures(
        *(desk, asked, samples, out),
        plans=plans,
        hire=lambda one: Processes(one, workers or _cores()),
        progress=progress or (lambda *_: None),
    )
    return Risk(found)


_DRAWERS: dict[str, Callable[[Document, str], str | bytes]] = {
    "html": html,
    "xlsx": excel,
    "md": lambda document, _: markdown.draw(document),
}


def report(
    made: PlanSource,
    directory: str | os.PathLike[str],
    *,
    alternatives: Alternatives | None = None,
    sensitivity: Sensitivity | None = None,
    since: Comparison | None = None,
    options: Mapping[str, Plan] | None = None,
    force: bool = False,
) -> list[Path]:
    """Write the justification and the quarterly plan: HTML, Excel and Markdown; their paths.

    Nothing is planned here: `alternatives`, `sensitivity`, what changed `since` the last plan, and
    other plans by name stand beside the plan where they are given. Raises InputError, CheckError.
    """
    known = made if isinstance(made, Plan) else read_plan(made)
    beside = Beside(
        {name: one.data for name, one in (options or {}).items()},
        alternatives.data if alternatives else None,
        sensitivity.data if sensitivity else None,
        since.data if since else None,
        known._saved.told("this plan", gone=False) if known._saved else (),
    )
    documents = {"justification": justification_document, "quarterly": quarterly_document}
    with sound("the plan"):
        files = {
            f"{name}.{kind}": draw(document_of(known.data, beside), known.title)
            for name, document_of in documents.items()
            for kind, draw in _DRAWERS.items()
        }
    return _write(files, Path(directory), force=force)


Format = Literal["watsonx", "kueue", "kubernetes"]
_EXPORTERS: dict[Format, Callable[[planning_plan.Plan, str], dict[str, str]]] = {
    "watsonx": watsonx_files,
    "kueue": kueue_files,
    "kubernetes": kubernetes_files,
}


def export(
    made: PlanSource,
    format: Format,
    directory: str | os.PathLike[str],
    *,
    quarter: str | None = None,
    force: bool = False,
) -> list[Path]:
    """Write what another tool reads of a plan for one of its quarters, the first by default.

    Raises InputError for another format or quarter.
    """
    if format not in _EXPORTERS:
        raise InputError(Finding(f"{format!r} is not one of {', '.join(_EXPORTERS)}"))
    known = made if isinstance(made, Plan) else read_plan(made)
    asked = quarter_of(known.data, quarter)
    with sound("the plan"):
        files: dict[str, str | bytes] = dict(_EXPORTERS[format](known.data, asked))
    return _write(files, Path(directory), force=force)


def _csv(rows: Iterable[Flat]) -> str:
    every = list(rows)
    out = io.StringIO()
    writer = csv.DictWriter(out, list(every[0]) if every else [], lineterminator="\n")
    writer.writeheader()
    writer.writerows(every)
    return out.getvalue()
