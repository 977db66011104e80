"""`planner rules` and `planner catalog`: what the planner knows, and who says so."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from planner.cli.options import catalog_option, require_known, rules_option
from planner.cli.screen import print_document
from planner.cli.typos import Group
from planner.errors import ExitCode

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["catalog", "rules"]

_KINDS = ("gpus", "nodes", "models", "prices")


@click.group(cls=Group, short_help="List, show and test the rules.")
def rules() -> None:
    """List and show the rules of sizing and policy, and run their worked examples."""


@rules.command("list")
@rules_option
def list_rules(rules: tuple[Path, ...]) -> None:
    """List all rules; those whose source contradicts itself are marked."""
    from planner.inputs.load import load_rules  # noqa: PLC0415
    from planner.reporting.rules import rules_document  # noqa: PLC0415

    book, _ = load_rules(rules)
    print_document(rules_document(book.rules.values()))


@rules.command("show", short_help="Show one rule with its sources and examples.")
@click.argument("rule_id", metavar="ID")
@rules_option
def show_rule(rule_id: str, rules: tuple[Path, ...]) -> None:
    """Show one rule: formula, conditions, sources, examples, errata, and where it is wrong."""
    from planner.inputs.load import load_rules  # noqa: PLC0415
    from planner.reporting.rules import rule_document  # noqa: PLC0415

    book, _ = load_rules(rules)
    require_known(rule_id, book.rules, "rule")
    print_document(rule_document(book.rules[rule_id]))


@rules.command("test")
@rules_option
@click.pass_context
def test_rules(ctx: click.Context, rules: tuple[Path, ...]) -> None:
    """Run every rule's examples; exit code 2 if one of them fails."""
    from planner.inputs.load import load_rules  # noqa: PLC0415
    from planner.reporting.rules import examples_document  # noqa: PLC0415
    from planner.sizing.selftest import run_examples  # noqa: PLC0415

    book, _ = load_rules(rules)
    outcomes = run_examples(book)
    print_document(examples_document(outcomes))
    if not all(outcome.passed for outcome in outcomes):
        ctx.exit(ExitCode.INPUT)


@click.group(cls=Group, short_help="List and show the facts.")
def catalog() -> None:
    """List and show the facts: GPU types, node types, models and prices."""


@catalog.command("list")
@click.argument(
    "kinds", metavar="[gpus|nodes|models|prices]...", nargs=-1, type=click.Choice(_KINDS)
)
@catalog_option
def list_catalog(kinds: tuple[str, ...], catalog: tuple[Path, ...]) -> None:
    """List the catalog, or some kinds of it."""
    from planner.inputs.load import load_catalog  # noqa: PLC0415
    from planner.reporting.catalog import catalog_document  # noqa: PLC0415

    facts, _ = load_catalog(catalog)
    print_document(catalog_document(facts, kinds or _KINDS))


@catalog.command("show", short_help="Show one entry, each figure with its source.")
@click.argument("entry_id", metavar="ID")
@catalog_option
def show_entry(entry_id: str, catalog: tuple[Path, ...]) -> None:
    """Show a GPU type, a node type with its prices, or a model: each figure with its source."""
    from planner.inputs.load import load_catalog  # noqa: PLC0415
    from planner.reporting.catalog import entry_document, entry_ids  # noqa: PLC0415

    facts, _ = load_catalog(catalog)
    require_known(entry_id, entry_ids(facts), "GPU type, node type or model")
    print_document(entry_document(facts, entry_id))
