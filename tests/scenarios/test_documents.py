"""What the documents show and promise is what the program does."""

from __future__ import annotations

import fnmatch
import re
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner
from pydantic import BaseModel

from planner.cli.app import planner
from planner.costs import node_costs
from planner.inputs.base import AsFact
from planner.inputs.load import load_inputs, load_rules
from planner.inputs.scenario.scenario import ScenarioFile, Variations

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

LEFT_OUT = "[...]"
PAGES = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "docs", "docs/decisions", "docs/examples")
SECTIONS = {
    "Running": "`running`",
    "ScenarioFile": "Top level",
    "Horizon": "`horizon`",
    "UserFiles": "`use`",
    "Site": "`sites`",
    "Racks": "`sites` · `racks`",
    "FleetEntry": "`fleet`",
    "Offer": "`offers`",
    "PriceBreak": "`offers` · `price_breaks`",
    "Policies": "`policies`",
    "Finance": "`finance`",
    "Budget": "`budget`",
    "Team": "`teams`",
    "Job": "`jobs`",
    "Run": "`jobs` · `run`",
    "Tune": "`jobs` · `tune`",
    "Deploy": "`jobs` · `tune` · `deploy`",
    "Serve": "`jobs` · `serve`",
    "Load": "`jobs` · `serve` · `load`",
    "Adapters": "`jobs` · `serve` · `adapters`",
    "Fixed": "`jobs` · `fixed`",
}


def blocks(text: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)


def models_within(model: type[BaseModel]) -> dict[str, type[BaseModel]]:
    """This model and all that its fields can hold, by name."""
    found = {model.__name__: model}
    waiting: list[Any] = [field.annotation for field in model.model_fields.values()]
    while waiting:
        kind = waiting.pop()
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            found |= {name: one for name, one in models_within(kind).items() if name not in found}
        waiting += getattr(kind, "__args__", ())
    return found


FORMAT = models_within(ScenarioFile)
KEYS = [(name, key) for name, model in FORMAT.items() for key in model.model_fields]


@pytest.fixture(scope="session")
def sections(root):
    """The rows of docs/scenario.md: by heading, then by key."""
    text = (root / "docs" / "scenario.md").read_text(encoding="utf-8")
    rows = {}
    for section in text.split("\n## ")[1:]:
        heading, _, body = section.partition("\n")
        rows[heading] = {
            row[1]: row[0] for row in re.finditer(r"^\| `(\w+)` \|.*$", body, re.MULTILINE)
        }
    return rows


def pages(root: Path) -> Iterator[Path]:
    for name in PAGES:
        yield from [root / name] if name.endswith(".md") else sorted((root / name).glob("*.md"))


def printed_by(command: str) -> str:
    words = command.removeprefix("$ planner ").split()
    printed = CliRunner().invoke(planner, words, env={"COLUMNS": "80"}, prog_name="planner")
    assert printed.exit_code == 0, printed.stderr
    return printed.stdout


def renewed(excerpt: str) -> str:
    """The excerpt as the command prints it now: as many paragraphs of each section as before."""
    command, _, shown = excerpt.partition("\n")
    output = printed_by(command)
    opening, *sections = re.split(r"\n\n(?=── )", output.rstrip("\n"))
    by_heading = {section.partition("\n")[0]: section for section in sections}
    parts = []
    for number, part in enumerate(shown.split(f"{LEFT_OUT}\n")):
        first = part.partition("\n")[0]
        if first in by_heading:
            paragraphs = by_heading[first].split("\n\n")[: part.count("\n\n") + 1]
            parts.append("\n\n".join(paragraphs) + "\n")
        else:
            parts.append(opening + "\n" if part and number == 0 else part)
    return f"{command}\n" + f"{LEFT_OUT}\n".join(parts)


def test_the_excerpts_of_the_readme_are_what_the_commands_print(root, monkeypatch, request):
    """`pytest --update-golden` writes the excerpts anew, as it does golden files."""
    monkeypatch.chdir(root)
    text = (root / "README.md").read_text(encoding="utf-8")
    if request.config.getoption("--update-golden"):
        for excerpt in blocks(text, "text"):
            text = text.replace(excerpt, renewed(excerpt))
        (root / "README.md").write_text(text, encoding="utf-8", newline="\n")
    excerpts = blocks(text, "text")
    assert len(excerpts) == 3
    for excerpt in excerpts:
        command, _, shown = excerpt.partition("\n")
        rest = printed_by(command)
        for part in filter(None, shown.split(f"{LEFT_OUT}\n")):
            assert part in rest, f"{command} no longer prints:\n{part}"
            rest = rest.partition(part)[2]


def test_the_scenario_of_the_readme_is_the_one_that_ships(root):
    (shown,) = blocks((root / "README.md").read_text(encoding="utf-8"), "yaml")
    assert shown in (root / "scenarios" / "quickstart.yaml").read_text(encoding="utf-8")


def test_every_part_of_the_scenario_format_has_its_section():
    assert set(FORMAT) == set(SECTIONS)


@pytest.mark.parametrize(("model", "key"), KEYS)
def test_every_key_of_a_scenario_is_documented_with_its_default(sections, model, key):
    row = sections[SECTIONS[model]][key]
    field = FORMAT[model].model_fields[key]
    if field.is_required():
        assert row.endswith("| required |")
    elif isinstance(field.default, str | int):
        assert row.endswith(f"| `{str(field.default).lower()}` |")
    marked = AsFact.of(FORMAT[model]).get(key)
    if marked is not None and marked.unit:
        assert f" | {marked.unit} | " in row


@pytest.mark.parametrize("model", FORMAT)
def test_no_key_is_documented_that_does_not_exist(sections, model):
    assert set(sections[SECTIONS[model]]) == set(FORMAT[model].model_fields)


def test_rules_named_as_defaults_exist(root):
    text = (root / "docs" / "scenario.md").read_text(encoding="utf-8")
    named = re.findall(r"rules? `([\w/*-]+)`", text)
    assert len(named) > 8
    known = load_rules()[0].rules
    for rule in named:
        assert fnmatch.filter(known, rule), rule


def test_the_complete_example_is_valid_and_uses_every_key(root, tmp_path):
    text = (root / "docs" / "scenario.md").read_text(encoding="utf-8")
    (example,) = (block for block in blocks(text, "yaml") if block.startswith("format:"))
    path = tmp_path / "every-key.yaml"
    path.write_text(example, encoding="utf-8")
    assert load_inputs(path).scenario.name == "Every key"
    left_out = {"use", "catalog", "rules", "gpu_partition"}
    left_out |= set(Variations.model_fields)
    for _, key in KEYS:
        used = re.search(rf"\b{key}:", example) is not None
        assert used != (key in left_out), key


def test_links_between_the_documents_lead_somewhere(root):
    for page in pages(root):
        text = page.read_text(encoding="utf-8")
        for target, anchor in re.findall(r"\]\((?!https?:)([^)#]*)(?:#([^)]*))?\)", text):
            path = (page.parent / target).resolve() if target else page
            assert path.exists(), f"{page.name} links to {target}"
            if anchor:
                headings = re.findall(r"^#+ (.*)$", path.read_text(encoding="utf-8"), re.MULTILINE)
                slugs = {re.sub(r"[^\w\s-]", "", one).lower().replace(" ", "-") for one in headings}
                assert anchor in slugs, f"{page.name} links to {target}#{anchor}"


def test_every_page_is_in_an_index(root):
    index = (root / "docs" / "README.md").read_text(encoding="utf-8")
    for page in (root / "docs").glob("*.md"):
        assert page.name == "README.md" or f"]({page.name})" in index, page.name
    decisions = (root / "docs" / "decisions" / "README.md").read_text(encoding="utf-8")
    numbered = sorted((root / "docs" / "decisions").glob("[0-9]*.md"))
    for number, page in enumerate(numbered, 1):
        title = page.read_text(encoding="utf-8").splitlines()[0].removeprefix("# ")
        assert title.startswith(f"{number:04} "), page.name
        assert f"| [{number:04}]({page.name}) | {title[5:]} |" in decisions


def test_the_changelog_counts_the_catalog_rightly(root, inputs):
    catalog = inputs("quickstart").catalog
    text = (root / "CHANGELOG.md").read_text(encoding="utf-8")
    counted = (
        f"{len(catalog.gpus)} GPU types, {len(catalog.nodes)} node types and "
        f"{len(catalog.models)} open models"
    )
    assert counted in text


def test_the_prices_of_the_last_quarter_in_the_record_on_money_are_those_of_the_scenario(
    root, inputs
):
    given = inputs("quarterly")
    offers = {offer.name: offer for offer in given.offers}
    text = (root / "docs" / "decisions" / "0005-money.md").read_text(encoding="utf-8")
    for name in ("buy-h200", "rent-h200"):
        streams = node_costs(given, offers[name], given.scenario.horizon.quarters - 1)
        present_usd = Decimal(sum(stream.present_cents for stream in streams)) / 100
        assert f"${present_usd:,.0f}" in text
