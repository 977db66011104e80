"""`planner rules`, `catalog`, `schema` and `doctor`: look up facts and rules, and test them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

import planner
from planner.cli.options import CommandGroup, catalog_option, rules_option
from planner.cli.screen import print_exact, print_result
from planner.errors import ExitCode

if TYPE_CHECKING:
    from pathlib import Path

_KINDS = ("gpus", "nodes", "models", "prices")


@click.group(cls=CommandGroup)
def rules() -> None:
    """List and show the rules of sizing and policy, and run their worked examples."""


@rules.command("list")
@rules_option
def list_rules(rules: tuple[Path, ...]) -> None:
    """List all rules; those whose source contradicts itself are marked."""
    print_result(planner.rules(rules=rules))


@rules.command("show", short_help="Show one rule with its sources and examples.")
@click.argument("rule_id", metavar="ID")
@rules_option
def show_rule(rule_id: str, rules: tuple[Path, ...]) -> None:
    """Show one rule: formula, conditions, sources, examples, errata, and where it is wrong."""
    print_result(planner.rules(rule_id, rules=rules))


@rules.command("test")
@rules_option
@click.pass_context
def test_rules(ctx: click.Context, rules: tuple[Path, ...]) -> None:
    """Run every rule's examples; exit code 2 if one of them fails."""
    found = planner.examine_rules(rules=rules)
    print_result(found)
    if found.failed:
        ctx.exit(ExitCode.INPUT)


@click.group(cls=CommandGroup)
def catalog() -> None:
    """List and show the facts: GPU types, node types, models and prices."""


@catalog.command("list")
@click.argument(
    "kinds", metavar="[gpus|nodes|models|prices]...", nargs=-1, type=click.Choice(_KINDS)
)
@catalog_option
def list_catalog(kinds: tuple[str, ...], catalog: tuple[Path, ...]) -> None:
    """List the catalog, or some kinds of it."""
    print_result(planner.catalog(*kinds, catalog=catalog))


@catalog.command("show", short_help="Show one entry, each figure with its source.")
@click.argument("entry_id", metavar="ID")
@catalog_option
def show_entry(entry_id: str, catalog: tuple[Path, ...]) -> None:
    """Show a GPU type, a node type with its prices, or a model: each figure with its source."""
    print_result(planner.catalog(entry=entry_id, catalog=catalog))


@click.command()
def schema() -> None:
    """Print the JSON Schema of a scenario, for editors that complete and check YAML."""
    print_exact(json.dumps(planner.schema(), indent=2, ensure_ascii=False) + "\n")


@click.command()
@click.pass_context
def doctor(ctx: click.Context) -> None:
    """Test the installed solver on small programs that released solvers have got wrong.

    Exit code 0: every answer of the solver that plans rest on is right. 5: one is wrong.
    """
    found = planner.doctor()
    print_result(found)
    if found.failed:
        ctx.exit(ExitCode.UNVERIFIED)
