"""Makes, reads, explains, compares and repeats plans."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from math import inf
from os import PathLike
from pathlib import Path
from typing import Any, Literal, TypeAlias, TypedDict, Unpack, overload

from planner.api.result import FilePath, Progress, Result, Row, paths, require, warn
from planner.api.scenario import Changes, Scenario, Source, load
from planner.errors import Finding, InputError
from planner.inputs.reading.locate import AS_DICT, AS_TEXT
from planner.packing.crosscheck import written_program
from planner.packing.incumbent import Incumbent
from planner.packing.translation import Translation
from planner.planning.files import plan_text
from planner.planning.jobs import Explanation, explain_job
from planner.planning.make import make_plan
from planner.planning.store import (
    Saved,
    carried_over,
    checked,
    dumps,
    read_saved,
    scenario_of,
    sound,
)
from planner.reporting import markdown
from planner.reporting.document import Document
from planner.reporting.documents import (
    brief_document,
    drawn_document,
    jobs_document,
    plan_document,
)
from planner.reporting.format import in_usd, listed, record
from planner.reporting.sections.purchases import ask_sentence
from planner.reporting.sections.sizing import explanation_document
from planner.reporting.sections.variants import (
    OPEN,
    comparison_document,
    replay_document,
)
from planner.reporting.traced import FULL, SCREEN
from planner.sizing.sizers import Sizers
from planner.version import GAP, TIME_LIMIT_SECONDS
from planner.whatif.actuals import read_actuals
from planner.whatif.compare import Comparison, Replay, compare_plans, planned_side, replay_plan

_ON_SCREEN, _IN_FULL, _ALL = 40, 1000, 10**9
"""Rows of a table that compares."""
_PURCHASE = (
    "quarter kind offer node_type gpu_type gpus_per_node site count step_hours unit_price_usd "
    "total_usd order_by price_origin"
)
_RELEASE = (
    "quarter action entry node_type gpu_type gpus_per_node site count unit_price_usd total_usd "
    "saved_usd given_up_usd present_usd"
)


class Effort(TypedDict, total=False):
    """How far a plan is to be proved, and for how long that is tried; each may be left out."""

    gap: float
    """Relative gap between cost and bound that counts as proved; 0.0001 unless told otherwise."""
    time_limit_seconds: float
    """Seconds of work for each plan; 60 unless told otherwise."""


class Work(Effort, total=False):
    """How many plans are made, and where; each may be left out."""

    workers: int | None
    """Plans made at the same time, each in a process of its own; 1 is this process, which is what
    is done unless told otherwise; None: as many as there are cores. A script that asks for more
    than one keeps what it runs below `if __name__ == "__main__":`."""
    cluster: str | None
    """Address of a Dask scheduler on whose workers to plan instead, as `tcp://HOST:8786`."""


class PlanResult(Result):
    """A checked plan: what to buy or rent when, what runs where, what it costs, and the proof."""

    _name = "plan"

    def __init__(
        self, saved: Saved, read_from: tuple[Path, ...], program: str | None = None
    ) -> None:
        """Private: `planner.plan` and `planner.read_plan` give plans."""
        super().__init__(saved.plan.scenario, saved, read_from)
        self._saved, self._plan, self.program = saved, saved.plan, program

    program: str | None
    """The integer program in LP format; None unless it was asked for (`program=True`)."""

    @property
    def label(self) -> str:
        """Where it is from: a file, or the scenario's file with its changes."""
        return self._saved.label

    @property
    def checked(self) -> bool:
        """Whether it was held against its inputs; not so where those have changed or are gone."""
        return self._saved.missing is None

    @property
    def status(self) -> Literal["proved", "not proved"]:
        """Whether no plan costs less, within the asked gap."""
        return self._plan.proof.status

    @property
    def proved(self) -> bool:
        """The same as True or False."""
        return self.status == "proved"

    @property
    def cost_usd(self) -> float:
        """Net present cost over the horizon."""
        return self._plan.proof.cost_cents / 100

    @property
    def bound_usd(self) -> float:
        """No plan of these inputs costs less."""
        return self._plan.proof.bound_cents / 100

    @property
    def gap(self) -> float:
        """(cost - bound) / cost."""
        return self._plan.proof.gap

    @property
    def quarters(self) -> tuple[str, ...]:
        """Of its horizon, such as `2027Q1`."""
        return self._plan.quarters

    @property
    def purchases(self) -> list[Row]:
        """What is bought, rented or reserved, a row for each offer, site and quarter."""
        return [record(one, _PURCHASE) for one in self._plan.acquisitions]

    @property
    def releases(self) -> list[Row]:
        """Owned nodes that are sold or switched off, a row for each fleet entry and quarter."""
        return [record(one, _RELEASE) for one in self._plan.releases]

    @property
    def jobs(self) -> list[Row]:
        """Where each job runs: its units by quarter, its GPU types, and its price tag."""
        return [
            {
                "job": job.name,
                "kind": job.kind,
                "team": job.team,
                "gpu_types": ", ".join(name for name, _ in job.gpu_types),
                "price_tag_usd": in_usd(job.tag_cents),
                **dict(zip(self.quarters, job.units, strict=True)),
            }
            for job in self._plan.jobs
        ]

    @property
    def costs(self) -> list[Row]:
        """Costs by kind: present value and total, and by quarter, not discounted."""
        return [
            {
                "cost": line.name,
                **record(line, "present_usd total_usd"),
                **dict(zip(self.quarters, map(in_usd, line.cents), strict=True)),
            }
            for line in self._plan.costs
        ]

    @property
    def warnings(self) -> tuple[str, ...]:
        """What a reader of the plan should know."""
        return tuple(note.text for note in self._plan.warnings)

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What the scenario leaves open and a rule filled in."""
        return tuple(note.text for note in self._plan.assumptions)

    @property
    def summary(self) -> tuple[str, ...]:
        """What is bought, the cost and the proof."""
        return (ask_sentence(self._plan).removesuffix("."),)

    def scenario(self) -> Scenario:
        """The scenario that it was made from, with the same changes, as its files are now.

        Raises InputError where they are not here, or no longer say what was changed, and for a plan
        that took over what runs in an earlier one.
        """
        made_from = self._plan.provenance
        if earlier := made_from.path_of("placement"):
            message = f"was made with what runs in {earlier}, which its scenario does not say"
            raise InputError(Finding(message, file=self.label))
        options = made_from.options
        return load(
            scenario_of(made_from),
            apply=options.variations,
            set=tuple(map(str, options.settings)),
            catalog=options.catalog,
            rules=options.rules,
        )

    def rows(self) -> list[Row]:
        """The purchases."""
        return self.purchases

    def to_json(self) -> str:
        """The plan as `plan.json`, of which every report can be made."""
        return dumps(self._plan)

    def files(self) -> dict[str, str | bytes]:
        """`plan.json` and `plan.md`."""
        return {"plan.json": self.to_json(), "plan.md": self.to_markdown()}

    def _document(self) -> Document:
        return plan_document(self._plan, FULL)

    def _on_screen(self) -> Document:
        return plan_document(self._plan, SCREEN)

    def _on_page(self) -> Document:
        return drawn_document(self._plan)

    def _brief(self) -> Document:
        return brief_document(self._plan, SCREEN)


PlanSource: TypeAlias = PlanResult | str | PathLike[str] | Mapping[str, Any]
"""A plan, the path of a plan.json, or what such a file holds as text or dict."""


def plan(
    source: Source,
    *,
    previous: PlanSource | None = None,
    gap: float = GAP,
    time_limit_seconds: float = TIME_LIMIT_SECONDS,
    crosscheck: bool = False,
    program: bool = False,
    progress: Progress = None,
    **changes: Unpack[Changes],
) -> PlanResult:
    """Plan a scenario at the least net present cost, and check the plan independently.

    `previous` is an earlier plan: what it has in the quarter before this horizon runs today.
    `gap` is the relative gap between cost and bound that counts as proved. `time_limit_seconds`
    are seconds of work as a usual machine does it, so that load changes no plan. `crosscheck` asks
    other solvers for the bound again; `program` keeps the integer program in LP format.

    >>> import planner
    >>> made = planner.plan("scenarios/quickstart.yaml")
    >>> made.status, made.gap <= 1e-4, made.cost_usd >= made.bound_usd
    ('proved', True, True)
    >>> [(one["quarter"], one["offer"], one["count"]) for one in made.purchases]
    [('2027Q1', 'rent-h200', 1), ('2027Q2', 'buy-l40s', 2)]

    Raises InfeasibleError with the reasons where no plan exists, LimitError where the limit is hit
    before a plan is found, InputError as `load` does, CheckError where the check refuses the plan,
    and DisagreementError where another solver refutes the proof.
    """
    require_effort(gap, time_limit_seconds)
    scenario = load(source, **changes)
    inputs = scenario._inputs
    if previous is not None:
        text, path = text_of(previous)
        if isinstance(previous, PlanResult) and previous.read_from != (path,):
            path = Path(AS_DICT)  # it was made, not read: its label is its scenario's
        inputs = carried_over(inputs, text, path, warn)
    sizers = Sizers()
    searched: list[tuple[Translation, Incumbent]] = []
    made = make_plan(
        inputs,
        asked_gap=gap,
        time_limit_s=time_limit_seconds,
        crosscheck=crosscheck,
        progress=progress,
        sizers=sizers,
        watch=(lambda *one: searched.append(one)) if program else None,
    )
    question = scenario._with_text(inputs.question)
    (document,) = question.layers.documents
    saved = Saved(scenario.label, made, document, inputs, asked=question, sizers=sizers)
    written = written_program(*searched[-1]) if program else None
    return PlanResult(saved, inputs.read_from, written)


def read_plan(
    source: PlanSource,
    *,
    catalog: FilePath | Sequence[FilePath] = (),
    rules: FilePath | Sequence[FilePath] = (),
) -> PlanResult:
    """Read a saved plan, and check it against the inputs that it records.

    `source` is the path of a `plan.json`, or what it holds, as text or dict. Its files are looked
    for from the current folder; `catalog` and `rules` name those of one's own where they have
    moved. What has changed of its inputs since is told as a PlannerWarning.

    >>> import planner
    >>> saved = planner.plan("scenarios/quickstart.yaml").to_json()
    >>> planner.read_plan(saved).proved
    True

    Raises InputError for what is no plan or was changed after it was written, CheckError where the
    plan does not pass its check.
    """
    if isinstance(source, PlanResult):
        return source
    text, path = text_of(source)
    label = str(path)
    saved = checked(read_saved(text, label, catalog=paths(catalog), rules=paths(rules)))
    for sentence in saved.stale_inputs(label):
        warn(sentence)
    return PlanResult(saved, (path,))


def text_of(source: PlanSource) -> tuple[str, Path]:
    """The text of a plan.json, and the path that it is known by."""
    if isinstance(source, PlanResult):
        return source.to_json(), Path(source.label)
    if isinstance(source, Mapping):
        return json.dumps(source, default=str), Path(AS_DICT)
    if isinstance(source, str) and source.lstrip().startswith("{"):
        return source, Path(AS_TEXT)
    return plan_text(Path(source)), Path(source)


class ExplainResult(Result):
    """Why a job of a plan runs where it runs, every number with its formula and source."""

    _name = "explanation"

    def __init__(self, found: Explanation) -> None:
        """Private: `planner.explain` gives explanations."""
        super().__init__(found.job.name, found)
        self._drawn = (*explanation_document(found),)

    def rows(self) -> list[Row]:
        """A row for each GPU type: whether it is chosen, what a unit would add, and why."""
        return [
            {
                **record(one, "gpu_type way outcome units extra_usd"),
                "reasons": "; ".join(reason.text for reason in one.reasons),
            }
            for one in self._found.verdicts
        ]

    def _document(self) -> Document:
        return self._drawn


class JobsResult(Result):
    """The jobs of a plan: what each runs on, and what the next best GPU type would add."""

    _name = "jobs"
    _found: PlanResult

    @property
    def summary(self) -> tuple[str, ...]:
        """Their names."""
        return (listed([str(row["job"]) for row in self.rows()]),)

    def rows(self) -> list[Row]:
        """As the plan has them."""
        return self._found.jobs

    def _document(self) -> Document:
        return jobs_document(self._found._plan)


@overload
def explain(plan: PlanSource, job: str) -> ExplainResult: ...


@overload
def explain(plan: PlanSource, job: None = None) -> JobsResult: ...


def explain(plan: PlanSource, job: str | None = None) -> ExplainResult | JobsResult:
    """Say why a job of a plan runs where it runs, and why not elsewhere; without one, list them.

    >>> import planner
    >>> made = planner.plan("scenarios/quickstart.yaml")
    >>> planner.explain(made, "embeddings").rows()[0]["outcome"]
    'chosen'

    Raises InputError for a job that the plan does not have, and what `read_plan` raises.
    """
    saved = read_plan(plan)
    if job is None:
        return JobsResult(saved.title, saved)
    with sound(saved.label, unless=saved.checked):
        return ExplainResult(explain_job(saved._plan, job))


class ComparisonResult(Result):
    """What differs between two plans, and what each cause adds to the cost."""

    _name = "compare"
    _found: Comparison

    @property
    def same(self) -> bool:
        """Whether nothing differs."""
        return self._found.same

    @property
    def added_usd(self) -> float:
        """What the second plan costs beyond the first: net present cost, negative if it is less."""
        return (self._found.after.cost_cents - self._found.before.cost_cents) / 100

    @property
    def inputs(self) -> list[Row]:
        """Values of the inputs that differ: `cause`, `path`, `before` and `after`."""
        return [one.model_dump() for one in self._found.inputs]

    @property
    def purchases(self) -> list[Row]:
        """Purchases that differ, by quarter, offer and site: how many before and after."""
        columns = "quarter kind offer node_type site before after before_usd after_usd"
        return [record(one, columns) for one in self._found.purchases]

    def rows(self) -> list[Row]:
        """A row for each kind of cost that differs, present value; the last is the whole."""
        return [
            {
                "cost": one.name,
                "before_usd": in_usd(one.before),
                "after_usd": in_usd(one.after),
            }
            for one in self._found.costs
        ]

    def to_github(self) -> str:
        """The comparison as a comment on a pull request: Markdown of at most 65,000 bytes.

        Money and nodes are open, all else opens on a click; long tables are cut, and say so.
        """
        document = comparison_document(self._found, _ALL)
        return markdown.comment(document, OPEN, "`planner compare --format json` has all.")

    def _document(self) -> Document:
        return comparison_document(self._found, _IN_FULL)

    def _on_screen(self) -> Document:
        return comparison_document(self._found, _ON_SCREEN)


CompareSource: TypeAlias = "PlanResult | Scenario | str | PathLike[str] | dict[str, Any]"
"""A plan, a scenario, or the path of either; a plan's path ends in `.json`."""


def compare(
    before: CompareSource,
    after: CompareSource,
    *,
    labels: tuple[str, str] | None = None,
    actuals: FilePath | None = None,
    causes: bool = True,
    gap: float = GAP,
    time_limit_seconds: float = TIME_LIMIT_SECONDS,
    progress: Progress = None,
    **changes: Unpack[Changes],
) -> ComparisonResult:
    """Show what differs between two plans: inputs first, then purchases, cost, jobs and more.

    Scenarios are planned first; so are the plans between the two that tell which cause costs how
    much, unless `causes` is False. `actuals` is a table of what came beside the plan before
    (quarter, job or node_type, count). `labels` name the two sides. `changes` apply to scenarios on
    either side; of a saved plan, `catalog` and `rules` are looked for there.

    >>> import planner
    >>> base = planner.load("scenarios/quickstart.yaml")
    >>> found = planner.compare(base, base.changed(set={"offers.buy-l40s.price_usd": 150_000}))
    >>> found.added_usd > 0, found.inputs[0]["path"]
    (True, 'offers.buy-l40s.price_usd')

    Raises what planning a side raises: a side without a plan is an error, never a figure.
    """
    require_effort(gap, time_limit_seconds)
    planner = partial(make_plan, asked_gap=gap, time_limit_s=time_limit_seconds, progress=progress)
    sides = [_loaded(one, changes) for one in (before, after)]
    first, second = (
        planned_side(label or side.label, side._inputs, planner)
        if isinstance(side, Scenario)
        else replace(side._saved, label=label or side.label)
        for side, label in zip(sides, labels or ("", ""), strict=True)
    )
    came = read_actuals(Path(actuals), (first.plan, second.plan)) if actuals else ()
    # Of the plans between the two nothing but the cost is told.
    step = partial(planner, price_choices=False, sizers=Sizers()) if causes else None
    found = compare_plans(first, second, step, came)
    title = f"{found.before.label} → {found.after.label}"
    return ComparisonResult(title, found, (*sides[0].read_from, *sides[1].read_from))


def _loaded(given: CompareSource, changes: Changes) -> PlanResult | Scenario:
    if isinstance(given, PlanResult):
        return given
    own = {key: changes[key] for key in ("catalog", "rules") if key in changes}
    if isinstance(given, dict):
        return read_plan(given, **own) if "proof" in given else load(given, **changes)
    if not isinstance(given, Scenario) and Path(given).suffix == ".json":
        return read_plan(given, **own)
    return load(given, **changes)


class ReplayResult(Result):
    """Whether a plan that was made again is the same."""

    _name = "replay"
    _found: Replay

    @property
    def identical(self) -> bool:
        """Whether it is the same, byte for byte."""
        return self._found.identical

    def rows(self) -> list[Row]:
        """A row for each file or version that differs: what was recorded, and what is here."""
        return [one.model_dump() for one in self._found.origins]

    def _document(self) -> Document:
        return replay_document(self._found, _IN_FULL)

    def _on_screen(self) -> Document:
        return replay_document(self._found, _ON_SCREEN)


def replay(plan: PlanSource, *, progress: Progress = None) -> ReplayResult:
    """Plan again from the files and options that a plan records, and compare.

    Its files are looked for from the current folder, as when it was planned.

    >>> import planner
    >>> planner.replay(planner.plan("scenarios/quickstart.yaml")).identical
    True

    Raises InputError for a plan that was changed after it was written, and for files that are not
    there.
    """
    text, path = text_of(plan)
    found = replay_plan(text, str(path), plan_text, progress)
    return ReplayResult(found.plan, found, (path,))


def require_effort(gap: float = GAP, time_limit_seconds: float = TIME_LIMIT_SECONDS) -> None:
    """Raise InputError for a gap or a time limit that nothing can be planned by."""
    require(0 <= gap < 1, "gap", gap, "a share from 0 to below 1")
    fits = 0 < time_limit_seconds < inf
    require(fits, "time_limit_seconds", time_limit_seconds, "a number of seconds above 0")


def require_work(work: Work) -> None:
    """Raise InputError for a gap, a time limit, workers or a cluster that cannot be used."""
    require_effort(**effort_of(work))
    workers, cluster = work.get("workers"), work.get("cluster")
    require(workers is None or workers >= 1, "workers", workers, "a number of processes")
    if cluster is None:
        return
    require(bool(cluster.strip()), "cluster", cluster, "an address as tcp://HOST:8786")
    if workers is not None:
        message = "is for other machines, a number of processes for this one: give one of them"
        raise InputError(Finding(message, path="cluster"))


def effort_of(work: Work) -> Effort:
    """Gap and time limit; of those that are left out, what one plan has."""
    return {
        "gap": work.get("gap", GAP),
        "time_limit_seconds": work.get("time_limit_seconds", TIME_LIMIT_SECONDS),
    }
