"""docs/commands.md: usage and options of each command are what click knows of them."""

import re
from pathlib import Path

import click
import pytest

from planner.cli.common import flag
from planner.cli.sizing import OPTIONS
from tests.cli.test_commands import all_commands

PAGE = Path(__file__).parents[2] / "docs" / "commands.md"
_BLOCK = re.compile(r"<!-- (planner [a-z, ]+|shared) -->\n(.*?)<!-- end -->\n", re.DOTALL)
"""A mark names one command, or several that have their options together."""
TOGETHER = {
    "changes": ("--scenario", "--set", "--catalog", "--rules"),
    "effort": ("--gap", "--time-limit"),
    "workers": ("--jobs", "--cluster"),
}
"""Options that most commands have together, by what they are called in `Also`."""
SHARED = (*(key for keys in TOGETHER.values() for key in keys), "--force", "--format", "--quiet")
JOB_KEYS = {flag(one.name) for one in OPTIONS if not (one.tune and one.serve)}
"""Options of `planner size` and `measure` that are keys of a job."""
COMMANDS = {" ".join(words): command for words, command in all_commands()}


def options_of(command: click.Command) -> dict[str, click.Option]:
    options = (one for one in command.params if isinstance(one, click.Option))
    return {one.opts[0]: one for one in options if not one.hidden}


def row(option: click.Option) -> str:
    ctx = click.Context(click.Command("none"))
    metavar = "" if option.is_flag else f" {option.make_metavar(ctx)}"
    default = option.default if isinstance(option.default, str | int | float) else None
    told = option.help or ""
    if option.show_default:
        stated = option.show_default if isinstance(option.show_default, str) else default
        told += f" Default: {stated:g}." if isinstance(stated, float) else f" Default: {stated}."
    if option.required:
        told += " Required."
    return f"| `{option.opts[0]}{metavar.replace('|', ', ')}` | {told} |"


def table(options: list[click.Option]) -> str:
    return "\n".join(("| option | means |", "|---|---|", *map(row, options))) if options else ""


def block(mark: str) -> str:
    """What stands between the marks of a command, or of several: options told once if alike."""
    told = [told_of(name) for name in mark.split(", ")]
    return "\n\n".join(
        part
        for (head, rest), after in zip(told, [*told[1:], ("", "")], strict=True)
        for part in (head, rest * (rest != after[1]))
        if part
    )


def told_of(name: str) -> tuple[str, str]:
    """Usage and help of a command, and its options."""
    known = {
        flag: one for command in COMMANDS.values() for flag, one in options_of(command).items()
    }
    if name == "shared":
        groups = {key: f"*{group}*" for group, keys in TOGETHER.items() for key in keys}
        rows = [row(known[key]).replace("| ", f"| {groups.get(key, '')} | ", 1) for key in SHARED]
        return "", "\n".join(("| together | option | means |", "|---|---|---|", *rows))
    command = COMMANDS[name]
    ctx = click.Context(command, info_name=name)
    options = options_of(command)
    usage = " ".join(("   ", *name.split(), *command.collect_usage_pieces(ctx)))
    told = " ".join((command.help or "").split())
    shared = [one for one in SHARED if one in options and row(options[one]) == row(known[one])]
    describes = name in ("planner size", "planner measure")
    keys = JOB_KEYS & options.keys() if describes else set()
    as_of_size = of_size(options) if name == "planner measure" else {}
    left_out = {*shared, *keys, *as_of_size}
    own = table([one for key, one in options.items() if key not in left_out])
    whole = {group: keys for group, keys in TOGETHER.items() if {*keys} <= {*shared}}
    also = [f"*{group}*" for group in whole]
    also += [f"`{key}`" for key in shared if not any(key in keys for keys in whole.values())]
    more = f"Also: {', '.join(also)}." if also else ""
    of_jobs = of_a_job() if keys else ""
    if as_of_size:
        listed = ", ".join(f"`{key}`" for key in as_of_size)
        of_jobs = f"As of `planner size`: keys of a tune job, {listed}."
    return f"{usage}\n\n{told}", "\n\n".join(filter(None, (of_jobs, own, more)))


def of_size(options: dict[str, click.Option]) -> dict[str, click.Option]:
    """Those that `planner size` has alike, without shared ones and keys of a job."""
    of = options_of(COMMANDS["planner size"])
    others = {key: one for key, one in options.items() if key not in {*SHARED, *JOB_KEYS}}
    return {key: one for key, one in others.items() if key in of and row(of[key]) == row(one)}


def of_a_job() -> str:
    """The options that stand for keys of a job; docs/scenario.md says what they mean."""
    others = {flag(one.name): one.tune or one.serve for one in OPTIONS}
    named = ", ".join(
        f"`{option}` (`{key}`)"
        for option, key in others.items()
        if option != flag(key.rpartition(".")[2])
    )
    return (
        "Keys of a [tune](scenario.md#jobs-tune) or [serve](scenario.md#jobs-serve) job that decide"
        " on its size are options: `--input-tokens` is `load.input_tokens`. Called otherwise: "
        f"{named}."
    )


def test_the_reference_of_commands_is_what_click_knows(golden):
    text = PAGE.read_text(encoding="utf-8")
    made = _BLOCK.sub(
        lambda found: f"<!-- {found[1]} -->\n\n{block(found[1])}\n\n<!-- end -->\n", text
    )
    golden(PAGE, made)


def test_no_two_keys_of_a_job_share_an_option():
    names = [option.name for option in OPTIONS]
    assert len(names) == len(set(names))
    assert {"rank", "adapters", "adapter_gb", "model", "requests_per_second"} <= set(names)


def test_every_command_has_its_place():
    marks = [found[1] for found in _BLOCK.finditer(PAGE.read_text(encoding="utf-8"))]
    places = {name for mark in marks for name in mark.split(", ")}
    for name in {*COMMANDS} - places:
        pytest.fail(
            f"docs/commands.md needs `<!-- {name} -->` and `<!-- end -->`; `make golden` "
            "fills in what stands between"
        )
