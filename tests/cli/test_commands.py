"""Commands other than `plan`, and the documentation of all."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from planner.cli.app import BROKEN_PIPE, GROUPS, planner
from planner.cli.common import flag
from planner.cli.sizing import OPTIONS
from planner.errors import ExitCode

ROOT = Path(__file__).parents[2]
DOCUMENTED = (ROOT / "docs" / "commands.md").read_text(encoding="utf-8")
OF_JOBS = {flag(one.name) for one in OPTIONS}
"""Options that are keys of a job; docs/scenario.md has these."""


def all_commands(
    group: click.Group = planner, prefix: tuple[str, ...] = ("planner",)
) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    ctx = click.Context(group)
    for name in group.list_commands(ctx):
        command = group.get_command(ctx, name)
        assert command is not None
        if isinstance(command, click.Group):
            yield from all_commands(command, (*prefix, name))
        else:
            yield (*prefix, name), command


@pytest.mark.parametrize(("words", "command"), list(all_commands()))
def test_every_command_has_help_and_a_place_in_the_documentation(words, command):
    assert command.help
    name = " ".join(words)
    assert name in DOCUMENTED, f"name {name} in a mark of docs/commands.md, and run `make golden`"
    for parameter in command.params:
        if isinstance(parameter, click.Option):
            assert parameter.help, parameter.name
            option = parameter.opts[0]
            assert f"`{option}" in DOCUMENTED or option in OF_JOBS, f"docs/commands.md: {option}?"


@pytest.mark.parametrize(("words", "command"), list(all_commands()))
def test_an_empty_name_is_no_file_and_not_this_folder(words, command):
    for parameter in command.params:
        if isinstance(parameter.type, click.Path):
            with pytest.raises(click.BadParameter):
                parameter.type.convert("", parameter, None)
        else:
            assert parameter.name not in ("out", "plan_json", "scenario"), words


SHOWN = sorted(
    {
        line
        for pattern in ("*.md", "docs/*.md", "scenarios/**/*.yaml")
        for page in ROOT.glob(pattern)
        for line in re.findall(
            r"^(?:#   |    |\$ |\.venv/bin/)?planner ([a-z].*)",
            page.read_text("utf-8"),
            re.MULTILINE,
        )
        if not re.search(r"[\[(…]|PLAN\.json|wrote it\.", line)
    }
)


@pytest.mark.parametrize("line", SHOWN)
def test_every_command_that_the_documents_show_is_one(line):
    words = shlex.split(re.split(r" > | \| |   ", line)[0], comments=True)
    command: click.Command = planner
    while isinstance(command, click.Group):
        name = words.pop(0)
        found = command.get_command(click.Context(command), name)
        assert found is not None, name
        command = found
    command.make_context(command.name, list(words))  # or it refuses an option
    for word in words:
        assert not word.startswith("scenarios/") or (ROOT / word).exists()


def test_every_exit_code_is_documented():
    for code in (*ExitCode, BROKEN_PIPE):
        assert f"| {int(code)} |" in DOCUMENTED


@pytest.mark.parametrize("name", [(), ("rules",), ("catalog",), ("export",)])
def test_no_command_is_listed_with_half_a_sentence(run, name):
    listed = run(*name, "--help").stdout.partition("--help")[2]
    assert listed.count("\n") > 2
    assert "..." not in listed


def test_the_commands_are_grouped_by_what_one_wants_to_do(run):
    told = run("--help").stdout
    titles = [line[:-1] for line in told.splitlines() if line.endswith(":") and line[0] != " "]
    assert titles == ["Options", *GROUPS]
    assert all(f"\n  {name} " in told for name in planner.commands)


def test_check_shows_all_mistakes_of_all_files_with_places_and_hints(scenario, run):
    text = scenario.read_text(encoding="utf-8")
    wrong = text.replace("method: lora", "method: qlorra").replace("xe9680-h200", "xe9680-h20")
    Path("wrong.yaml").write_text(wrong, encoding="utf-8")
    result = run("check", scenario, "wrong.yaml", "missing.yaml")
    assert result.exit_code == 2
    counts = "2 jobs over 2 quarters, 1 fleet entry and 2 offers"
    assert result.stdout == f"scenario.yaml: no mistakes in {counts}\n"
    assert "error: wrong.yaml:7:21: offers.h200.node_type: " in result.stderr
    assert "'qlorra' is not one of full, lora, qlora, p-tuning" in result.stderr
    assert "hint: did you mean 'qlora'?" in result.stderr
    assert "missing.yaml" in result.stderr
    assert result.stderr.endswith("3 mistakes in 2 files\n")
    caret = next(line for line in result.stderr.splitlines() if line.endswith("^"))
    assert caret.startswith("  |")


def test_a_rule_of_the_users_with_a_wrong_example_fails_the_test(tmp_path, run):
    book = tmp_path / "mine.yaml"
    book.write_text(
        "rules:\n  policies/mine:\n    title: Mine\n    kind: policy\n    sets: pue\n"
        "    value: 1.2\n    unit: ratio\n"
        "    sources: [{title: House rule, read: 2026-11-21}]\n"
        "    examples: [{name: It is 1.3, expect: 1.3}]\n",
        encoding="utf-8",
    )
    result = run("rules", "test", "--rules", book)
    assert result.exit_code == 2, result.stdout + result.stderr
    assert "policies/mine" in result.stdout + result.stderr


def test_rules_are_listed_and_the_errata_shown(run):
    assert "[erratum]" in run("rules", "list").stdout
    shown = run("rules", "show", "serving/plain").stdout
    assert "ERRATUM of the source" in shown
    assert "160" in shown


def test_the_catalog_lists_kinds_and_shows_sources(run):
    assert "GPU types" not in run("catalog", "list", "models").stdout
    assert "GPU types" in run("catalog", "list").stdout
    assert "Source" in run("catalog", "show", "h100-80gb-sxm").stdout
    assert run("catalog", "list", "gpu").exit_code == 2
