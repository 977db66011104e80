"""What people call their things is shown as they wrote it, whatever it holds."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

from markdown_it import MarkdownIt
from openpyxl import load_workbook

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


COMMANDS = (
    ("plan", "scenario.yaml", "--out", "out"),
    ("alternatives", "scenario.yaml", "--out", "out"),
    ("compare", "scenario.yaml", "more", "--out", "out"),
    ("sweep", "sweep.yaml", "--out", "out"),
    ("risk", "futures.yaml", "--samples", "2", "--plans", "1", "--out", "out"),
    ("report", "out/plan.json", "--out", "out"),
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
    written = [path for path in Path("out").iterdir() if path.suffix in (".md", ".html", ".xlsx")]
    documents |= {path.name: shown(path) for path in written}
    assert len(documents) == len(COMMANDS) + 1 + 4 * 2 + 2 * 3
    for document, text in documents.items():
        found = {(name, one) for name in NAMES for one in as_shown(text, name)}
        assert found or document == "report", document
        assert {(name, one) for name, one in found if not name.startswith(one)} == set(), document
