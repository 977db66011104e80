"""What people call their things is shown as they wrote it, whatever it holds."""

import csv
import json
import re
from datetime import date
from html.parser import HTMLParser
from pathlib import Path

import pytest
import yaml
from markdown_it import MarkdownIt
from openpyxl import load_workbook

import planner

HOSTILE = "{0}_1 `{0}2` [red]{0}3[/red] *{0}4* __{0}5__ <b>{0}6</b> &amp; | ~~{0}7~~ [a](b) {0}_8"
NAMES = JOB, TEAM, SITE, OFFER, TITLE, UNSURE = [HOSTILE.format(c) for c in "jtsonu"]
SCENARIO = f"""\
format: 1
name: "{TITLE}"
horizon: {{first_quarter: 2027Q1, quarters: 1}}
sites: {{"{SITE}": {{rack_units: 60}}}}
fleet: {{east: {{node_type: xe9680-h100, count: 1, site: "{SITE}"}}}}
offers: {{"{OFFER}": {{node_type: xe9680-h200, kind: rent, site: "{SITE}", maximum: 2}}}}
teams: {{"{TEAM}": {{}}}}
policies: {{shortage: drop}}
jobs:
  "{JOB}": {{fixed: {{gpus: 6, cpus: 1, memory_gb: 1}}, count: 2, team: "{TEAM}"}}
  "- {JOB}": {{priority: 1, fixed: {{gpus: 40, cpus: 1, memory_gb: 1}}, team: "{TEAM}"}}
overrides: {{more: {{"jobs.'{JOB}'.count": 3}}}}
"""
SWEEP = f"""\
format: 1
scenario: scenario.yaml
grid: {{set: {{"jobs.'{JOB}'.count": [2]}}}}
"""
FUTURES = f"""\
format: 1
scenario: scenario.yaml
uncertain: {{"{UNSURE}": {{times: [1, 1, 1.5], of: ["jobs.'{JOB}'.count"]}}}}
"""


class _Words(HTMLParser):
    """What a reader of a page sees, and what is read to who cannot."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.words: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.words += [f" {value} " for key, value in attrs if key == "aria-label" and value]
        self.words += [" "] if tag in ("td", "th", "li", "p") else []

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def shown(path: Path) -> str:
    if path.suffix == ".xlsx":
        rows = (row for sheet in load_workbook(path) for row in sheet.iter_rows(values_only=True))
        return " ".join(str(cell) for row in rows for cell in row)
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".md":
        text = MarkdownIt("commonmark").enable(["table", "strikethrough"]).render(text)
    return "".join(_Words(text).words)


def as_shown(text: str, name: str) -> set[str]:
    """What stands where a name begins, up to where it is cut for want of room."""
    starts = re.finditer(name.split(maxsplit=1)[0], text)
    return {text[one.start() :][: len(name)].split("…", maxsplit=1)[0].rstrip() for one in starts}


ALONE = ("--jobs", "1")
COMMANDS = (
    ("plan", "scenario.yaml", "--out", "out"),
    ("alternatives", "scenario.yaml", "--out", "out", *ALONE),
    ("compare", "scenario.yaml", "more", "--out", "out"),
    ("sweep", "sweep.yaml", "--out", "sweep", *ALONE),
    ("risk", "futures.yaml", "--samples", "2", "--out", "risk", *ALONE),
    ("report", "out/plan.json", "--out", "out", *ALONE),
    ("explain", "out/plan.json", JOB),
)


def test_a_name_is_shown_as_it_is_written_in_every_document(scenario, run):
    scenario.write_text(SCENARIO, encoding="utf-8")
    Path("sweep.yaml").write_text(SWEEP, encoding="utf-8")
    Path("futures.yaml").write_text(FUTURES, encoding="utf-8")
    documents = {}
    for words in COMMANDS:
        result = run(*words, env={"COLUMNS": "5000"})
        assert result.exit_code == 0, result.stderr
        documents[words[0]] = result.stdout
    paths = [path for folder in ("out", "sweep", "risk") for path in Path(folder).iterdir()]
    written = [path for path in paths if path.suffix in (".md", ".html", ".xlsx")]
    documents |= {path.name: shown(path) for path in written}
    assert len(documents) == len(COMMANDS) + 1 + 4 * 2 + 2 * 3
    for document, text in documents.items():
        found = {(name, one) for name in NAMES for one in as_shown(text, name)}
        assert found or document == "report", document
        assert {(name, one) for name, one in found if not name.startswith(one)} == set(), document


NASTY = (
    *("a=b", "x.y", "l[0]", "p, q", "it's", 'say "x"', """both '"' of=them""", "a/b c\\d"),
    *("ü 漢字", "123", "1.5", "2027Q1", "null", "-dash", "=1+1", "- list", "{brace}", "a: b"),
    *("tab|pipe", "<b>&amp;", "jobs.x.count", "as it is", "result", "CON", "../../x"),
)


def path_of(name, key):
    """As the documents tell a user to write it."""
    return "jobs.'{}'.{}".format(name.replace("'", "''"), key)


@pytest.fixture
def nasty(scenario):
    """A scenario with jobs of such names; the first grows, and the last of them are dropped."""
    jobs = {name: {"fixed": {"gpus": 1}, "priority": 100 - at} for at, name in enumerate(NASTY)}
    jobs[NASTY[0]]["growth_per_quarter"] = 0.5
    offer = {"node_type": "xe9680-h100", "kind": "buy", "price_usd": 300000, "quote": "q"}
    document = {
        "format": 1,
        "name": "Nasty",
        "horizon": {"first_quarter": "2027Q1", "quarters": 2, "as_of": date(2026, 7, 1)},
        "fleet": {"own": {"node_type": "xe9680-h100", "count": 2}},
        "offers": {name: {**offer, "maximum": 1} for name in ("a=b", "energy")},
        "policies": {"shortage": "drop"},
        "jobs": jobs,
        "overrides": {"o=1: x": {path_of(name, "fixed.cpus"): 2 for name in NASTY}},
    }
    rows = [
        *({"set": {path_of(name, "count"): 2}} for name in NASTY),
        {"apply": ["o=1: x"], "set": {"jobs.a=b.count": 30}},
    ]
    for path, content in (
        (scenario, document),
        (Path("grid.yaml"), {"format": 1, "scenario": scenario.name, "rows": rows}),
    ):
        text = yaml.safe_dump(content, allow_unicode=True, sort_keys=False)
        path.write_text(text, encoding="utf-8")
    return scenario


def test_each_row_of_a_sweep_says_what_it_sets_whatever_jobs_are_called(nasty, run):
    done = run("sweep", "grid.yaml", "--out", "out", "--jobs", "1", "--gap", "1%")
    assert done.exit_code == 0, done.stderr
    with Path("out/sweep.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == len(NASTY) + 1
    for name, row in zip(NASTY, rows, strict=False):
        stated = {column: value for column, value in row.items() if "count" in column and value}
        assert stated == {path_of(name, "count"): "2"}
    assert rows[-1]["jobs.'a=b'.count"] == "30"
    assert yaml.safe_load(f"[{rows[-1]['apply']}]") == ["o=1: x"]
    assert set(yaml.safe_load(f"[{rows[-1]['short']}]")) <= set(NASTY)


def test_every_setting_that_is_shown_can_be_made_again_whatever_jobs_are_called(nasty, run):
    words = (nasty, "--out", "out", "--jobs", "1", "--gap", "1%")
    rough = ("--swing", "90%", "--precision", "50%")
    assert run("sensitivity", *words, *rough).exit_code == 0
    found = json.loads(Path("out/sensitivity.json").read_text(encoding="utf-8"))
    swings = {one["name"]: one for one in found["swings"]}
    assert {"price of a=b", "price of the offer energy", "price of energy"} <= swings.keys()
    assert swings["growth of demand"]["high"]["settings"] == ["jobs.'a=b'.growth_per_quarter=0.95"]
    shown = Path("out/sensitivity.md").read_text(encoding="utf-8")
    assert "growth_per_quarter" not in shown, "a value is shown, not half of a path"
    assert run("alternatives", *words).exit_code == 0
    settings = {text for one in swings.values() for text in one["high"]["settings"]}
    others = json.loads(Path("out/alternatives.json").read_text(encoding="utf-8"))["others"]
    settings |= {text for one in others for text in one["settings"]}
    checked = run("check", nasty, *(word for text in settings for word in ("--set", text)))
    assert checked.exit_code == 0, checked.stderr


def test_paths_that_compare_tells_can_be_set_whatever_jobs_are_called(nasty, run):
    done = run("compare", nasty, f"{nasty}:o=1: x", "--format", "json", "--gap", "1%")
    assert done.exit_code == 0, done.stderr
    paths = [one["path"] for one in json.loads(done.stdout)["inputs"]]
    assert len(paths) == len(NASTY)
    words = [word for path in paths for word in ("--set", f"{path}=3")]
    checked = run("check", nasty, "--resolved", *words)
    assert checked.exit_code == 0, checked.stderr
    jobs = yaml.safe_load(checked.stdout)["jobs"]
    assert {name: job["fixed"]["cpus"] for name, job in jobs.items()} == dict.fromkeys(NASTY, 3)


def test_a_name_that_needs_quotes_on_the_command_line_is_told_with_them(nasty, run):
    for text, quoted in (("jobs.a=b.count=2", "'a=b'"), ("jobs.x.y.count=2", "'x.y'")):
        refused = run("check", nasty, "--set", text)
        assert refused.exit_code == 2
        assert f"hint: put the name in quotes: {quoted}" in refused.stderr


def test_tables_exports_and_reasons_keep_every_name(nasty, run):
    assert run("plan", nasty, "--out", "out", "--gap", "1%").exit_code == 0
    assert "-dash" in run("explain", "out/plan.json", "--", "-dash").stdout
    made = planner.read_plan("out/plan.json")
    assert all(name in planner.explain(made, name).to_text(width=200) for name in NASTY)
    assert run("export", "portfolio", nasty, "--out", "out").exit_code == 0
    assert run("import", "out/portfolio.csv", "--out", "out/jobs.yaml").exit_code == 0
    assert set(yaml.safe_load(Path("out/jobs.yaml").read_text("utf-8"))["jobs"]) == set(NASTY)
    assert run("export", "kubernetes", "out/plan.json", "--out", "out").exit_code == 0
    kept = {job["name"] for job in json.loads(Path("out/plan.json").read_text("utf-8"))["jobs"]}
    pods = list(yaml.safe_load_all(Path("out/pods.yaml").read_text(encoding="utf-8")))
    names = [pod["metadata"]["annotations"].get("gpu-fit-planner/name") for pod in pods]
    assert {name or pod["metadata"]["name"] for name, pod in zip(names, pods, strict=True)} == kept
    report = ("report", "out/plan.json", "--out", "out", "--jobs", "1", "--what-if", "none")
    assert run(*report).exit_code == 0
    for page in ("justification.html", "quarterly.html"):
        ids = re.findall(r' id="([^"]*)"', Path("out", page).read_text(encoding="utf-8"))
        assert len(ids) == len(set(ids)) > 0
        text, sheets = shown(Path("out", page)), shown(Path("out", page).with_suffix(".xlsx"))
        assert [name for name in kept if name not in text or name not in sheets] == []
