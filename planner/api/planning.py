"""Makes, reads and explains plans."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from math import inf
from os import PathLike
from pathlib import Path
from typing import Any, Literal, TypeAlias, TypedDict, Unpack, overload

from planner.api.folder import plan_text
from planner.api.result import FilePath, Progress, Result, Row, paths, require, warn
from planner.api.scenario import Changes, Scenario, Source, load
from planner.errors import Finding, InputError
from planner.inputs.reading.locate import AS_DICT, AS_TEXT
from planner.packing.incumbent import Incumbent
from planner.packing.lp_file import written_program
from planner.packing.translation import Translation
from planner.planning.explain import Explanation, explain_job
from planner.planning.make import make_plan
from planner.planning.plan import Plan
from planner.planning.store import (
    Saved,
    carried_over,
    checked,
    dumps,
    read_saved,
    scenario_of,
    sound,
)
from planner.planning.words import nodes_text
from planner.reporting.document import Document
from planner.reporting.format import gap_percent, in_usd, listed, record, usd
from planner.reporting.plan import (
    FULL,
    SCREEN,
    brief_document,
    drawn_document,
    jobs_document,
    plan_document,
)
from planner.reporting.sections.explain import explanation_document
from planner.reporting.sections.purchases import action_of
from planner.sizing.sizers import Sizers

GAP, TIME_LIMIT_SECONDS = 1e-4, 60.0
"""How far a plan is proved, and for how many seconds of work that is tried, unless told."""
_MOST_SHOWN = 3
"""Purchases that `repr()` names."""
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

    def __init__(self, saved: Saved, read_from: tuple[Path, ...], program: str | None) -> None:
        """Private: `planner.plan` and `planner.read_plan` give plans."""
        super().__init__(saved.plan.scenario, read_from)
        self._saved, self._program = saved, program

    @property
    def _plan(self) -> Plan:
        return self._saved.plan

    @property
    def label(self) -> str:
        """Where it is from: a file, or the scenario's file with its changes."""
        return self._saved.label

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
    def program(self) -> str | None:
        """The integer program in LP format; None unless it was asked for (`program=True`)."""
        return self._program

    @property
    def summary(self) -> tuple[str, ...]:
        """What is bought, the cost and the proof."""
        cost = f"{usd(self._plan.proof.cost_cents)} net present cost, {self.status}"
        lines = [
            f"{one.quarter}: {action_of(one.kind, one.term_quarters, one.step_hours)} "
            f"{nodes_text(one.count, one.step_hours)} {'of' if one.step_hours else '×'} "
            f"{one.product} at {one.site}"
            for one in self._plan.acquisitions
        ]
        lines += [
            f"{one.quarter}: {one.action} {one.count:,} × {one.product} at {one.site}"
            for one in self._plan.releases
        ]
        if len(lines) > _MOST_SHOWN:
            of = "`purchases` and `releases`" if self._plan.releases else "`purchases`"
            lines[_MOST_SHOWN:] = [f"and {len(lines) - _MOST_SHOWN} more of {of}"]
        first = f"{cost} (gap {gap_percent(self.gap)})"
        return first, *(lines or ["nothing is bought or rented"])

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
        inputs = carried_over(inputs, *text_of(previous), warn)
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
    return _read(text, path, str(path), paths(catalog), paths(rules))


def _read(
    text: str, path: Path, label: str, catalog: tuple[Path, ...], rules: tuple[Path, ...]
) -> PlanResult:
    saved = checked(read_saved(text, label, catalog=catalog, rules=rules))
    for sentence in saved.stale_inputs(label):
        warn(sentence)
    return PlanResult(saved, (path,), None)


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

    def __init__(self, told: Explanation, label: str) -> None:
        """Private: `planner.explain` gives explanations."""
        super().__init__(told.job.name)
        self._told = told
        with sound(label):
            self._drawn = explanation_document(told)

    @property
    def summary(self) -> tuple[str, ...]:
        """Where it runs, and how many GPU types were weighed."""
        taken = [one.way for one in self._told.verdicts if one.outcome == "chosen"]
        return (f"runs on {listed(taken)}" if taken else "does not run",)

    def rows(self) -> list[Row]:
        """A row for each GPU type: whether it is chosen, what a unit would add, and why."""
        return [
            {
                **record(one, "gpu_type way outcome units extra_usd"),
                "reasons": "; ".join(reason.text for reason in one.reasons),
            }
            for one in self._told.verdicts
        ]

    def _document(self) -> Document:
        return self._drawn


class JobsResult(Result):
    """The jobs of a plan: what each runs on, and what the next best GPU type would add."""

    _name = "jobs"

    def __init__(self, made: PlanResult) -> None:
        """Private: `planner.explain` without a job gives them."""
        super().__init__(made.title)
        self._made = made

    @property
    def summary(self) -> tuple[str, ...]:
        """Their names."""
        return (listed([str(row["job"]) for row in self.rows()]),)

    def rows(self) -> list[Row]:
        """As the plan has them."""
        return self._made.jobs

    def _document(self) -> Document:
        return jobs_document(self._made._plan)


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
        return JobsResult(saved)
    with sound(saved.label):
        told = explain_job(saved._plan, job)
    return ExplainResult(told, saved.label)


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
