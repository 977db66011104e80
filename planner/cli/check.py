"""`planner check` and `planner schema`."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import click

from planner.cli.options import FILE, asking
from planner.cli.screen import print_exact
from planner.errors import InputError
from planner.inputs.layers import written
from planner.reporting.format import count_of, listed

if TYPE_CHECKING:
    from pathlib import Path

    from planner.cli.options import Asked
    from planner.errors import Finding
    from planner.inputs.settled import Inputs

__all__ = ["check", "schema"]


@click.command(short_help="Find all mistakes of scenarios at once.")
@click.argument("scenarios", metavar="SCENARIO...", nargs=-1, required=True, type=FILE)
@asking
@click.option(
    "--resolved",
    is_flag=True,
    help="Print the whole scenario as YAML, each value with the file and line it is from.",
)
def check(
    scenarios: tuple[Path, ...],
    asked: Asked,
    resolved: bool,
) -> None:
    """Find all mistakes of scenarios at once, each with file, line, column and a hint.

    Overrides and scenarios that a file names are tried as well.
    """
    if resolved and len(scenarios) > 1:
        raise click.UsageError("--resolved prints one scenario at a time")
    from planner.inputs.reading.diagnostics import Attempts  # noqa: PLC0415 - slow to load

    mistakes: list[Finding] = []
    for scenario in scenarios:
        attempts = Attempts()
        question = attempts.take(partial(asked.question, scenario))
        if question is not None:
            inputs = attempts.take(partial(question.inputs, asked.variations, asked.settings))
            for case in question.layers.cases:
                attempts.take(partial(question.inputs, (case,)))
            attempts.findings = question.in_order(attempts.findings)
        mistakes += attempts.findings
        if attempts.findings or question is None or inputs is None:
            continue
        if resolved:
            composed = question.layers.composed(asked.variations, asked.settings)
            print_exact(written.resolved(composed))
        else:
            click.echo(_praise(str(scenario), inputs, question.layers.names))
    if mistakes:
        raise InputError(*dict.fromkeys(mistakes))


def _praise(name: str, inputs: Inputs, variations: tuple[str, ...]) -> str:
    scenario = inputs.scenario
    varied = f"; varied by {listed(variations)}" if variations else ""
    changes = f", with {count_of(len(inputs.changes), 'change')}" if inputs.changes else ""
    return (
        f"{name}: no mistakes in {count_of(len(scenario.jobs), 'job')} over "
        f"{count_of(scenario.horizon.quarters, 'quarter')}, "
        f"{count_of(len(scenario.fleet), 'fleet entry', 'fleet entries')} and "
        f"{count_of(len(inputs.offers), 'offer')}{changes}{varied}"
    )


@click.command(short_help="Print the JSON Schema of a scenario.")
def schema() -> None:
    """Print the JSON Schema of a scenario, for editors that complete and check YAML."""
    from planner.inputs.scenario.schema import scenario_schema_text  # noqa: PLC0415

    print_exact(scenario_schema_text())
