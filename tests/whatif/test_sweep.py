"""Many variants of a scenario: which rows there are, and that it does not matter who plans them."""

import os
import signal
from concurrent.futures.process import BrokenProcessPool
from decimal import Decimal
from multiprocessing import active_children

import pytest

from planner.errors import InputError, LimitError
from planner.inputs.load import Question
from planner.inputs.override import Override
from planner.reporting.sections.variants import sweep_csv
from planner.sizing.sizers import Sizers, size_portfolio
from planner.whatif import variants
from planner.whatif.results import PlanSummary, summary_of
from planner.whatif.sweep import SweepRow, read_grid, run_sweep
from planner.whatif.variants import ProcessExecutor, Variant, VariantPlanner, WorkerConfig

GRID = """\
format: 1
scenario: small.yaml
grid:
  apply: [[], [dear]]
  set:
    offers.l40s.maximum: [0, 3]
rows:
  - {apply: [crowd]}
  - {set: {offers.l40s.maximum: 3}}
"""
DEAR_ENERGY = """\
rules:
  house/dear-energy:
    title: Nothing runs on dear energy
    kind: exclusion
    inputs: {energy_usd_per_kwh: USD/kWh}
    formula: energy_usd_per_kwh > 0.5
    message: energy is too dear at {energy_usd_per_kwh}
    sources: [{title: House policy, locator: page 1, read: 2026-11-01}]
    examples:
      - {name: Dear energy, given: {energy_usd_per_kwh: 1}, expect: true}
"""


@pytest.fixture
def read(path, tmp_path):
    """`read(text)`: the grid in such a file, beside the small scenario."""

    def read(text=GRID):
        (tmp_path / "small.yaml").write_bytes(path.read_bytes())
        (tmp_path / "grid.yaml").write_text(text, encoding="utf-8")
        return read_grid(tmp_path / "grid.yaml")

    return read


@pytest.fixture(scope="session")
def planner(path):
    return VariantPlanner(WorkerConfig(path))


@pytest.fixture
def swept(planner, read, tmp_path):
    """`swept("a", jobs=2)`: the rows, and the bytes of the results in that folder."""
    variants = read().variants(planner)

    def swept(folder, jobs=1):
        out = tmp_path / folder
        out.mkdir(exist_ok=True)
        with ProcessExecutor(planner, jobs) as executor:
            found = run_sweep(executor, variants, out, progress=lambda *_: None)
        rows = [SweepRow(variant, found[key]) for key, variant in variants.items()]
        return rows, {file.name: file.read_bytes() for file in out.iterdir()}

    return swept


def test_every_combination_is_a_row_and_what_asks_the_same_is_one(planner, read):
    variants = list(read().variants(planner).values())
    assert variants == [
        Variant((), (Override.parse("offers.l40s.maximum=0"),)),
        Variant((), (Override.parse("offers.l40s.maximum=3"),)),
        Variant(("dear",), (Override.parse("offers.l40s.maximum=0"),)),
        Variant(("dear",), (Override.parse("offers.l40s.maximum=3"),)),
        Variant(("crowd",), ()),
    ]


def test_a_row_holds_the_figures_of_the_plan_or_says_why_there_is_none(swept, planned):
    rows, _ = swept("rows")
    assert rows[1].figures == summary_of(planned().plan)
    assert rows[3].figures == summary_of(planned("dear").plan)
    assert rows[4].figures.result == "infeasible"
    assert rows[4].figures.cost_cents is None
    assert "GPUs" in rows[4].figures.reason


def test_the_results_are_the_same_bytes_however_the_sweep_is_run(swept):
    _, alone = swept("alone")
    _, together = swept("together", jobs=2)
    assert together == alone


def test_a_stopped_sweep_carries_on_where_it_was(swept, tmp_path, monkeypatch):
    _, whole = swept("whole")
    lines = whole["results.jsonl"].splitlines(keepends=True)
    (tmp_path / "stopped").mkdir()
    torn = lines[3] + lines[0] + lines[1][:70]
    (tmp_path / "stopped" / "results.jsonl").write_bytes(torn)
    planned = []
    original = VariantPlanner.figures

    def figures(planner, variant):
        planned.append(variant)
        return original(planner, variant)

    monkeypatch.setattr(VariantPlanner, "figures", figures)
    _, carried = swept("stopped")
    assert carried == whole
    assert [one.label for one in planned] == [
        "offers.l40s.maximum=3",
        "dear, offers.l40s.maximum=0",
        "crowd",
    ]


def test_rows_of_other_inputs_or_another_version_are_planned_anew(planner, path, monkeypatch):
    changed = path.with_name("changed.yaml")
    changed.write_text(path.read_text(encoding="utf-8").replace("200000", "200001"), "utf-8")
    other = VariantPlanner(WorkerConfig(changed))
    rougher = VariantPlanner(WorkerConfig(path, gap=1e-2))
    keys = {one.key(Variant()) for one in (planner, other, rougher)}
    monkeypatch.setattr("planner.whatif.variants.__version__", "0")
    keys.add(VariantPlanner(WorkerConfig(path)).key(Variant()))
    assert len(keys) == 4


def test_the_plans_of_a_worker_that_is_killed_are_made_again(planner):
    variants = {planner.key(v): v for v in (Variant(), Variant(("dear",)), Variant(("frugal",)))}
    found: dict[str, PlanSummary] = {}

    def done(key, figures):
        if not found:
            os.kill(active_children()[0].pid or 0, signal.SIGKILL)
        found[key] = figures

    with ProcessExecutor(planner, 2) as executor:
        executor.plan(variants, done)
    assert found == {key: planner.figures(variant) for key, variant in variants.items()}


def test_workers_are_replaced_after_their_share_of_rows(planner, monkeypatch):
    monkeypatch.setattr("planner.whatif.variants._ROWS_OF_A_WORKER", 1)
    variants = {planner.key(v): v for v in (Variant(), Variant(("dear",)), Variant(("frugal",)))}
    workers = []
    found = {}

    def done(key, figures):
        workers.append({child.pid for child in active_children()})
        found[key] = figures

    with ProcessExecutor(planner, 2) as executor:
        executor.plan(variants, done)
    assert found.keys() == variants.keys()
    assert not workers[0] & workers[-1]
    assert not active_children()


def test_what_is_sized_alike_is_sized_once(path):
    question, sizers = Question(path), Sizers()

    def sizer(*settings):
        asked = tuple(map(Override.parse, settings))
        return sizers.sizer(question.inputs((), asked), ("h100-80gb-sxm",))

    assert sizer() is sizer("offers.l40s.price_usd=1", "jobs.search.count.2027Q1=2")
    assert sizer() is sizer("finance.energy_usd_per_kwh=0.5")
    assert sizer() is sizer("policies.shortage=drop")
    assert sizer() is not sizer("policies.headroom=50%")


def test_a_setting_sizes_anew_where_a_rule_asks_for_it(path, tmp_path):
    rule = tmp_path / "dear-energy.yaml"
    rule.write_text(DEAR_ENERGY, encoding="utf-8")
    question, sizers = Question(path, rules=(rule,)), Sizers()

    def sized(price):
        inputs = question.inputs((), (Override.parse(f"finance.energy_usd_per_kwh={price}"),))
        (search, _) = size_portfolio(sizers.sizer(inputs, ("h100-80gb-sxm",)), inputs.scenario)
        return search.sizing

    assert sized("0.1").candidates
    assert not sized("0.9").candidates


@pytest.mark.parametrize(
    ("text", "place", "message", "hint"),
    [
        ("grid: {set: {offers.l4s.maximum: [1]}}", "3:", "no 'l4s' in `offers`", "l40s"),
        ("grid: {set: {finance.pue: [1, 9]}}", "3:31", "9 is too large, the most is 5", None),
        ("grid: {apply: [[], [deer]]}", "3:21", "no scenario or override 'deer'", "dear"),
        ("rows: [{set: {horizon: 3}}]", "3:", "is a mapping", None),
        ("rows: [{apply: dear}]", "3:", "list", None),
        ("row: [{apply: [dear]}]", "3:1", "unknown key", "rows"),
        ("grid: {set: {finance.pue: 1}}", "3:", "list", None),
        ("grid: {set: {finance.pue: []}}", "3:", "", None),
        ("rows: []", "1:1", "asks for no row", "grid:"),
        (
            "grid: {apply: [[], [dear], [busy]], set: {finance.pue: [" + "1, " * 40_000 + "]}}",
            "3:1",
            "120,000 combinations",
            None,
        ),
    ],
)
def test_mistakes_are_told_with_their_place_in_the_grid(read, planner, text, place, message, hint):
    with pytest.raises(InputError) as refusal:
        read(f"format: 1\nscenario: small.yaml\n{text}\n").variants(planner)
    finding = refusal.value.findings[0]
    assert f"grid.yaml:{place}" in finding.headline()
    assert message in finding.headline()
    assert hint is None or hint in str(finding.hint)


def test_a_scenario_that_no_sweep_may_reach_is_refused(read):
    with pytest.raises(InputError, match=r"grid.yaml:2:11: scenario: "):
        read("format: 1\nscenario: ../../../etc/passwd.yaml\nrows: [{}]\n")


def test_a_table_for_a_spreadsheet_holds_no_formula():
    figures = PlanSummary(result="infeasible", reason="=HYPERLINK(1)")
    row = SweepRow(Variant(("=1+1",), (Override.parse("offers.a.price_usd=+15%"),)), figures)
    header, line = sweep_csv([row]).splitlines()
    assert header.startswith("apply,offers.a.price_usd,result,cost_usd")
    assert line.startswith('"""=1+1""",\'+15%,infeasible,,')
    assert line.endswith(",'=HYPERLINK(1)")


def test_workers_that_die_again_and_again_are_given_up(planner, monkeypatch):
    class Dying(ProcessExecutor):
        def _work(self, variants):
            raise BrokenProcessPool

    planned: dict[str, PlanSummary] = {}
    with Dying(planner, 2) as dying, pytest.raises(LimitError) as told:
        dying.plan(
            {planner.key(v): v for v in (Variant(), Variant(("dear",)))},
            planned.__setitem__,
        )
    assert "died 3 times in a row, at last on as it is; try again with `--jobs 1`" in str(
        told.value
    )
    assert not planned


def test_what_is_asked_of_all_rows_holds_in_each_and_a_row_has_the_last_word(read):
    text = "format: 1\nscenario: small.yaml\nrows:\n  - {set: {finance.pue: 2}}\n  - {}\n"
    grid = read(text)
    planner = VariantPlanner(WorkerConfig(grid.scenario))
    asked = grid.variants(planner, Variant((), (Override.parse("finance.pue=1.5"),)))
    assert [planner.inputs(one).scenario.finance.pue for one in asked.values()] == [
        2,
        Decimal("1.5"),
    ]


def test_values_of_a_grid_may_be_relative(read):
    grid = read("""\
format: 1
scenario: small.yaml
grid: {set: {offers.*.lead_time_weeks: [+0, +4, '+8', -1]}}
""")
    told = [str(*one.settings) for one in grid.rows]
    assert told == [f"offers.*.lead_time_weeks={by}" for by in ("+0", "+4", "+8", "-1")]
    planner = VariantPlanner(WorkerConfig(grid.scenario))
    weeks = [
        [offer.lead_time_weeks for offer in planner.inputs(one).offers] for one in grid.rows[:3]
    ]
    assert [[one - first for one, first in zip(row, weeks[0], strict=True)] for row in weeks] == [
        [by] * len(weeks[0]) for by in (0, 4, 8)
    ]


def test_rows_that_nobody_asks_for_now_do_not_count_as_found(planner, read, tmp_path):
    variants, told = read().variants(planner), []
    first = dict([*variants.items()][:1])
    with ProcessExecutor(planner, 1) as executor:
        for asked in (variants, first):
            run_sweep(executor, asked, tmp_path, force=True, progress=lambda *n: told.append(n))
    assert told[-1] == (1, 1, 1) != (len(variants),) * 3


def test_a_worker_is_ended_by_ctrl_c_without_words():
    heeding = signal.getsignal(signal.SIGINT)
    try:
        variants._start()
        assert signal.getsignal(signal.SIGINT) == signal.SIG_DFL
    finally:
        signal.signal(signal.SIGINT, heeding)
