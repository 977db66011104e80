"""Reports of a plan, and files that other tools read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Literal, Unpack, cast, get_args

from planner.api.planning import (
    PlanResult,
    PlanSource,
    Work,
    compare,
    effort_of,
    read_plan,
    require_work,
)
from planner.api.result import FilePath, Progress, Result, Row, require, warn
from planner.api.scenario import Changes, Source, load, require_known_keys
from planner.api.variants import (
    AlternativesResult,
    RiskResult,
    SensitivityResult,
    variant_runner,
)
from planner.errors import Finding, InputError
from planner.exchange.exports import EXPORTERS, left_out, quarter_of
from planner.exchange.portfolio import portfolio_csv, portfolio_rows
from planner.inputs.reading.reader import parse_document
from planner.inputs.text import some_of
from planner.planning.store import sound
from planner.reporting import markdown
from planner.reporting.document import Document
from planner.reporting.documents import Edition, justification_document, quarterly_document
from planner.reporting.excel import render as excel
from planner.reporting.format import listed
from planner.reporting.html import printer
from planner.reporting.html import render as html
from planner.reporting.sections.options import command_for
from planner.reporting.traced import RelatedResults
from planner.whatif.alternatives import find_alternatives
from planner.whatif.results import summary_of
from planner.whatif.sensitivity import analyze_sensitivity

WhatIf = Literal["none", "options", "all"]


class ReportResult(Result):
    """The procurement justification and the quarterly capacity plan, with what stands in them."""

    def __init__(
        self,
        plan: PlanResult,
        beside: RelatedResults,
        edition: Edition,
        results: tuple[AlternativesResult | None, SensitivityResult | None, Result | None],
        print_page: Callable[[str], bytes] | None,
    ) -> None:
        """Private: `planner.report` gives reports."""
        super().__init__(plan.title, plan, plan.read_from)
        self.alternatives, self.sensitivity, _ = results
        self._plan, self._results = plan, tuple(filter(None, results))
        self._files: dict[str, str | bytes] = {}
        with sound(plan.label, unless=plan.checked):
            self._documents = {
                "justification": justification_document(plan._plan, beside, edition),
                "quarterly": quarterly_document(plan._plan, beside, edition),
            }
            for name, document in self._documents.items():
                page = html(document, plan.title)
                self._files |= {
                    f"{name}.html": page,
                    f"{name}.xlsx": excel(document, plan.title),
                    f"{name}.md": markdown.render(document),
                }
                if print_page:
                    self._files[f"{name}.pdf"] = print_page(page)

    alternatives: AlternativesResult | None
    """Plans that stand beside it; None where there are none."""
    sensitivity: SensitivityResult | None
    """What its cost depends on; None where that is not known."""

    @property
    def hints(self) -> tuple[str, ...]:
        """What would make the next report better."""
        if self.sensitivity is not None:
            return ()
        file = Path(self._plan.label)
        folder = str(file.parent) if file.suffix == ".json" else "DIR"
        command = command_for("sensitivity", self._plan._plan, folder)
        told = "where the recommendation turns is left open"
        return (f"{told}; `{command}` finds out, for the next report",)

    def files(self) -> dict[str, str | bytes]:
        """Both documents in each format, and the results in them as JSON."""
        kept = {f"{one._name}.json": one.to_json() for one in self._results}
        return {**self._files, **kept}

    def _document(self) -> Document:
        return self._documents["justification"]

    def _brief(self) -> Document:
        return self._document()


def report(  # noqa: PLR0913 - a parameter for each option
    plan: PlanSource,
    *,
    options: Mapping[str, PlanSource] | None = None,
    since: PlanSource | None = None,
    actuals: FilePath | None = None,
    alternatives: AlternativesResult | None = None,
    sensitivity: SensitivityResult | None = None,
    risk: RiskResult | None = None,
    what_if: WhatIf = "options",
    edition: Edition = "full",
    pdf: bool = False,
    progress: Progress = None,
    **work: Unpack[Work],
) -> ReportResult:
    """Draw the procurement justification and the quarterly capacity plan of a plan.

    `options` are other plans by name, to stand beside it. With `since`, an earlier plan, the
    documents say what changed; `actuals` is a table of what came of that. `alternatives`,
    `sensitivity` and `risk` of the same question stand in them; where the first two are not given,
    `what_if` says what is planned: `none`; do nothing, reclaim first and rent only (`options`); or
    `all`. The first page is alone enough to decide; `edition` is `full`, with every table behind
    it, or `short`, about six pages on paper. `pdf` also prints both, with the extra `pdf`.

    >>> import planner
    >>> made = planner.plan("scenarios/quickstart.yaml")
    >>> sorted(planner.report(made).files())[:3]
    ['alternatives.json', 'justification.html', 'justification.md']

    Raises InputError for results of another question, and what `read_plan` raises.
    """
    require_known_keys(work, Work)
    require_work(work)
    if actuals is not None and since is None:
        message = "stands beside an earlier plan, and none is named by `since`"
        raise InputError(Finding(message, path="actuals"))
    require(what_if in get_args(WhatIf), "what_if", what_if, "none, options or all")
    require(edition in get_args(Edition), "edition", edition, "short or full")
    print_page = printer() if pdf else None
    saved = read_plan(plan)
    for given in (alternatives, sensitivity, risk):
        if given is not None and not given.answers(saved):
            raise InputError(Finding("is of another scenario than the plan", path=given._name))
    others = {name: read_plan(one)._plan for name, one in (options or {}).items()}
    comparison = None
    if since is not None:
        last, effort = read_plan(since), effort_of(work)
        comparison = compare(last, saved, actuals=actuals, progress=progress, **effort)
    alternatives, sensitivity = _what_ifs(saved, alternatives, sensitivity, what_if, work, progress)
    beside = RelatedResults(
        others,
        alternatives._found if alternatives else None,
        sensitivity._found if sensitivity else None,
        comparison._found if comparison else None,
        risk._found if risk else None,
        saved._saved.stale_inputs("this plan", gone=False),
    )
    results = (alternatives, sensitivity, comparison)
    return ReportResult(saved, beside, edition, results, print_page)


def _what_ifs(
    plan: PlanResult,
    alternatives: AlternativesResult | None,
    sensitivity: SensitivityResult | None,
    wanted: WhatIf,
    work: Work,
    progress: Progress,
) -> tuple[AlternativesResult | None, SensitivityResult | None]:
    """Alternatives and sensitivity of a plan, planned now where they are wanted and not given."""
    enough = alternatives and (wanted == "options" or (alternatives.whole and sensitivity))
    if wanted == "none" or enough:
        return alternatives, sensitivity
    saved = plan._saved
    try:
        if saved.missing or saved.asked is None:
            raise InputError(Finding(saved.missing or "its files are not known"))
        with variant_runner(saved.asked, work, progress, sizers=saved.sizers) as runner:
            if wanted == "options":
                runner.know(summary_of(plan._plan))
                runner.progress("planning do nothing, reclaim first and rent only")
                return AlternativesResult(find_alternatives(runner, within=None)), sensitivity
            if alternatives is None or not alternatives.whole:
                alternatives = AlternativesResult(find_alternatives(runner))
            sensitivity = sensitivity or SensitivityResult(analyze_sensitivity(runner))
    except InputError as error:
        left_out = "options are" if alternatives is None else "the sensitivity is"
        warn(f"{left_out} not planned: {error}")
    return alternatives, sensitivity


Exporter = Literal["portfolio", "watsonx", "kueue", "kubernetes"]


class ExportResult(Result):
    """Files that other tools read."""

    def __init__(
        self,
        title: str,
        files: Mapping[str, str],
        rows: list[Row] | None = None,
        left_out: tuple[str, ...] = (),
        read_from: tuple[Path, ...] = (),
    ) -> None:
        """Private: `planner.export` gives these."""
        super().__init__(title, files, read_from)
        self._rows, self.left_out = rows, left_out

    left_out: tuple[str, ...]
    """Fixed jobs, which have no place in these files."""

    @property
    def hints(self) -> tuple[str, ...]:
        """What a user may want to know of them."""
        names = some_of(self.left_out, 5)
        return (f"fixed jobs have no specification here: {names}",) if self.left_out else ()

    @property
    def summary(self) -> tuple[str, ...]:
        """The files."""
        return (listed(list(self._found)),)

    def rows(self) -> list[Row]:
        """Of a portfolio, a row for each job, as in the CSV; else one for each file."""
        return super().rows() if self._rows is None else self._rows

    def files(self) -> dict[str, str | bytes]:
        """By name."""
        return dict(self._found)


def export(
    source: PlanSource | Source,
    what: Exporter,
    *,
    quarter: str | None = None,
    **changes: Unpack[Changes],
) -> ExportResult:
    """Write what other tools read: of a plan for one of its quarters, or of a scenario.

    `portfolio` is the jobs of a scenario as a table, which `import_table` reads. Of a plan:
    `watsonx` are custom hardware specifications, `kueue` resource flavors, cluster queues and
    topology, `kubernetes` pod templates; of its first `quarter` unless that is named.

    >>> import planner
    >>> planner.export("scenarios/quickstart.yaml", "portfolio").rows()[0]["job"]
    'claims-expert'
    >>> made = planner.plan("scenarios/quickstart.yaml")
    >>> list(planner.export(made, "kubernetes").files())
    ['pods.yaml']

    Raises InputError for a quarter that the plan does not have.
    """
    formats = (*EXPORTERS, "portfolio")
    require(what in formats, "what", what, f"a format of export: {', '.join(formats)}")
    if what == "portfolio":
        scenario = load(cast("Source", source), **changes)
        jobs = parse_document(scenario._inputs.question, scenario.label).data["jobs"]
        files = {"portfolio.csv": portfolio_csv(jobs)}
        rows: list[Row] = [dict(row) for row in portfolio_rows(jobs)]
        return ExportResult(scenario.title, files, rows, read_from=scenario.read_from)
    plan = read_plan(cast("PlanSource", source))
    asked = quarter_of(plan._plan, quarter)
    with sound(plan.label, unless=plan.checked):
        files = EXPORTERS[what](plan._plan, asked)
        without = left_out(plan._plan, asked) if what == "watsonx" else []
    return ExportResult(plan.title, files, left_out=tuple(without), read_from=plan.read_from)
