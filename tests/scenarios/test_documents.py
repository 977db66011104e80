"""What the documents show and promise is what the program does."""

import re
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

from click.testing import CliRunner

from planner.cli.app import planner
from planner.costs import node_costs

LEFT_OUT = "[...]"
PAGES = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "docs", "docs/decisions", "docs/examples")


def blocks(text: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)


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


def test_the_excerpts_of_the_readme_are_what_the_commands_print(root, monkeypatch, golden):
    monkeypatch.chdir(root)
    text = (root / "README.md").read_text(encoding="utf-8")
    for excerpt in blocks(text, "text"):
        text = text.replace(excerpt, renewed(excerpt))
    golden(root / "README.md", text)
    excerpts = blocks(text, "text")
    assert len(excerpts) == 2
    for excerpt in excerpts:
        assert_printed(excerpt)


def assert_printed(excerpt: str) -> None:
    command, _, shown = excerpt.partition("\n")
    rest = printed_by(command)
    for part in filter(None, shown.split(f"{LEFT_OUT}\n")):
        assert part in rest, f"{command} no longer prints:\n{part}"
        rest = rest.partition(part)[2]


def test_a_resolved_scenario_is_shown_as_it_is_printed(root, monkeypatch):
    monkeypatch.chdir(root)
    (excerpt,) = blocks((root / "docs" / "what-if.md").read_text(encoding="utf-8"), "text")
    assert_printed(excerpt)


def test_the_scenario_of_the_readme_is_the_one_that_ships(root):
    (shown,) = blocks((root / "README.md").read_text(encoding="utf-8"), "yaml")
    assert shown in (root / "scenarios" / "quickstart.yaml").read_text(encoding="utf-8")


def test_links_between_the_documents_lead_somewhere(root):
    followed = 0
    for page in pages(root):
        text = page.read_text(encoding="utf-8")
        for target, anchor in re.findall(r"\]\((?!https?:)([^)#]*)(?:#([^)]*))?\)", text):
            followed += 1
            path = (page.parent / target).resolve() if target else page
            assert path.exists(), f"{page.name} links to {target}"
            if anchor:
                headings = re.findall(r"^#+ (.*)$", path.read_text(encoding="utf-8"), re.MULTILINE)
                slugs = {re.sub(r"[^\w\s-]", "", one).lower().replace(" ", "-") for one in headings}
                assert anchor in slugs, f"{page.name} links to {target}#{anchor}"
    assert followed > 100


def test_files_that_contributors_are_sent_to_are_there(root):
    text = (root / "CONTRIBUTING.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`([\w./-]+(?:\.(?:py|yaml|md|txt|toml|json)|/))`", text))
    assert len(named) > 40
    below = [path.relative_to(root).as_posix() for path in root.glob("[a-z]*/**/*")]
    for name in named - {"config.json"}:
        assert (root / name).exists() or any(
            f"/{path}/".endswith(f"/{name.rstrip('/')}/") for path in below
        ), f"CONTRIBUTING.md names {name}, which is not there"


def test_every_page_is_in_an_index(root):
    index = (root / "docs" / "README.md").read_text(encoding="utf-8")
    for page in (root / "docs").glob("*.md"):
        assert page.name == "README.md" or f"]({page.name})" in index, page.name
    decisions = (root / "docs" / "decisions" / "README.md").read_text(encoding="utf-8")
    numbered = sorted((root / "docs" / "decisions").glob("[0-9]*.md"))
    for number, page in enumerate(numbered, 1):
        title = page.read_text(encoding="utf-8").splitlines()[0].removeprefix("# ")
        assert title.startswith(f"{number:04} "), page.name
        assert f"- [{number:04}]({page.name}) {title[5:]}\n" in decisions, page.name


def test_the_site_lists_every_page_once(root):
    listed = re.findall(r"[\w/-]+\.md", (root / "mkdocs.yml").read_text(encoding="utf-8"))
    folder = root / "docs"
    every = {path.relative_to(folder).as_posix() for path in folder.rglob("*.md")}
    assert sorted(listed) == sorted(every)


def test_a_list_begins_after_an_empty_line(root):
    """Forges do without; the site would run it into the paragraph above."""
    for page in (root / "docs").rglob("*.md"):
        text = re.sub(r"^```.*?^```$", "", page.read_text("utf-8"), flags=re.DOTALL | re.MULTILINE)
        found = re.search(
            r"^(?! *(?:[-*]|[0-9]+\.) |  ).*\S.*\n(?:[-*]|[0-9]+\.) .*", text, re.MULTILINE
        )
        assert found is None, f"{page.name}: {found[0]}"


def test_the_changelog_counts_the_catalog_rightly(root, inputs):
    catalog = inputs("quickstart").catalog
    text = (root / "CHANGELOG.md").read_text(encoding="utf-8")
    counted = (
        f"{len(catalog.gpus)} GPU types, {len(catalog.nodes)} node types and "
        f"{len(catalog.models)} open models"
    )
    assert counted in text, f"CHANGELOG.md should say: {counted}"


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
