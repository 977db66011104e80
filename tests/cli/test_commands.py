"""Commands other than `plan`, and the documentation of all."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from planner.cli.app import BROKEN_PIPE, GROUPS, planner
from planner.errors import ExitCode

ROOT = Path(__file__).parents[2]
DOCUMENTED = (ROOT / "docs" / "commands.md").read_text(encoding="utf-8")


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
    assert " ".join(words) in DOCUMENTED
    for parameter in command.params:
        if isinstance(parameter, click.Option):
            assert parameter.help, parameter.name
            assert f"`{parameter.opts[0]}" in DOCUMENTED, parameter.opts


@pytest.mark.parametrize(("words", "command"), list(all_commands()))
def test_an_empty_name_is_no_file_and_not_this_folder(words, command):
    for parameter in command.params:
        if isinstance(parameter.type, click.Path):
            with pytest.raises(click.BadParameter):
                parameter.type.convert("", parameter, None)
        else:
            assert parameter.name not in ("out", "plan_json", "scenario"), words


def test_nothing_is_written_where_no_folder_or_file_is_named(scenario, run):
    before = sorted(Path().iterdir())
    refused = run("export", "portfolio", scenario, "--out", "")
    assert refused.exit_code == 2
    assert "'--out': it is empty, a folder is needed" in refused.stderr
    for name, what in (("", "it is empty"), (".", ". is a folder")):
        refused = run("import", scenario, "--out", name)
        assert refused.exit_code == 2
        assert f"'--out': {what}, a file is needed" in refused.stderr
    assert sorted(Path().iterdir()) == before


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


def test_a_mistyped_command_is_recognised(run):
    result = run("exlpain")
    assert result.exit_code == 2
    assert "No such command 'exlpain'. Did you mean 'explain'?" in result.stderr
    result = run("catalog", "lst")
    assert result.exit_code == 2
    assert "No such command 'lst'. Did you mean 'list'?" in result.stderr
    hint = "hint: a model is named by an option: `--model llama-3.1-8b`"
    assert hint in run("size", "llama-3.1-8b", "--method", "lora").stderr
    assert "No such command 'plan.json'." in run("export", "plan.json").stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("plan", "--tim", "5"), "no option '--tim'; did you mean '--time-limit'?"),
        (("plan", "-time", "5"), "no option '-t'; did you mean '--time-limit'?"),
        (("plan", "--form=json"), "no option '--form'; did you mean '--format'?"),
        (("plan", "--gpa", "1%"), "no option '--gpa'; did you mean '--gap'?"),
        (("plan", "--jobs", "2"), "no option '--jobs'\n"),
        (("import", "--templ"), "no option '--templ'; did you mean '--template'?"),
        (("export", "kueue", "--q", "1"), "no option '--q'; did you mean '--quarter'?"),
        (("size", "--parameters", "8"), "no option '--parameters'; did you mean '--parameters-b'?"),
        (("size", "--adapter", "8"), "mean '--adapter-dora', '--adapter-dropout', '--adapter-gb'"),
    ],
)
def test_a_mistyped_or_shortened_option_is_recognised(run, words, message):
    result = run(*words)
    assert result.exit_code == 2
    assert message in result.stderr
    assert f"planner {words[0]}" in result.stderr


@pytest.mark.parametrize(
    ("words", "what"),
    [
        (("plan", "plan.json"), "holds a saved plan"),
        (("check", "sweep.yaml"), "holds a sweep"),
        (("sweep", "scenario.yaml", "--out", "out"), "holds a scenario"),
        (("sweep", "what-if.yaml", "--out", "out"), "holds a scenario"),
        (("risk", "sweep.yaml", "--out", "out"), "holds a sweep"),
        (("plan", "scenario.yaml", "--catalog", "rules.yaml"), "holds rules"),
        (("plan", "scenario.yaml", "--rules", "scenario.yaml"), "holds a scenario"),
    ],
)
def test_a_file_of_another_kind_is_told_what_it_is_and_nothing_else(scenario, run, words, what):
    assert scenario.name == "scenario.yaml"
    Path("plan.json").write_text('{"format": "2.0", "proof": {}, "nodes": []}', encoding="utf-8")
    sweep = "format: 1\nscenario: scenario.yaml\ngrid: {set: {finance.pue: [1.2, 1.5]}}\n"
    Path("sweep.yaml").write_text(sweep, encoding="utf-8")
    Path("what-if.yaml").write_text("extends: scenario.yaml\napply: [dear]\n", encoding="utf-8")
    Path("rules.yaml").write_text("rules: {a/b: {title: x}}\n", encoding="utf-8")
    result = run(*words)
    assert result.exit_code == 2
    assert f": {what}\nhint: " in result.stderr
    assert result.stderr.endswith("\n1 mistake\n")


def test_files_of_this_folder_are_shown_with_one_dot(scenario, run):
    told = run("check", scenario, "--rules", ".").stderr
    assert "error: ./scenario.yaml: holds a scenario" in told


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


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (("catalog", "show", "h200"), "did you mean 'h200-141gb-nvl' or 'h200-141gb-sxm'?"),
        (("rules", "show", "serving/plian"), "did you mean 'serving/plain'"),
        (("rules", "show", "plain"), "did you mean 'serving/plain'"),
        (("rules", "show", "nosuch"), "`list` shows every rule"),
        (("catalog", "show", "xe9680h100"), "did you mean 'xe9680-h100'"),
    ],
)
def test_what_is_not_known_is_near_something_or_listed(run, words, hint):
    result = run(*words)
    assert result.exit_code == 2
    assert f"hint: {hint}" in result.stderr


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
