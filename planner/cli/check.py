"""`planner check` and `planner schema`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from planner.cli.options import catalog_option, rules_option
from planner.cli.screen import print_exact
from planner.errors import InputError
from planner.report.format import count_of

if TYPE_CHECKING:
    from planner.errors import Finding
    from planner.inputs.settled import Inputs

__all__ = ["check", "schema"]


@click.command(short_help="Find all mistakes of scenarios at once.")
@click.argument(
    "scenarios", metavar="SCENARIO...", nargs=-1, required=True, type=click.Path(path_type=Path)
)
@catalog_option
@rules_option
def check(scenarios: tuple[Path, ...], catalog: tuple[Path, ...], rules: tuple[Path, ...]) -> None:
    """Find all mistakes of scenarios at once, each with file, line, column and a hint."""
    from planner.inputs.load import load_inputs  # noqa: PLC0415

    mistakes: list[Finding] = []
    for scenario in scenarios:
        try:
            inputs = load_inputs(scenario, catalog=catalog, rules=rules)
        except InputError as error:
            mistakes += error.findings
        else:
            click.echo(_praise(str(scenario), inputs))
    if mistakes:
        raise InputError(*dict.fromkeys(mistakes))


def _praise(name: str, inputs: Inputs) -> str:
    scenario = inputs.scenario
    return (
        f"{name}: no mistakes in {count_of(len(scenario.jobs), 'job')} over "
        f"{count_of(scenario.horizon.quarters, 'quarter')}, "
        f"{count_of(len(scenario.fleet), 'fleet entry', 'fleet entries')} and "
        f"{count_of(len(inputs.offers), 'offer')}"
    )


@click.command(short_help="Print the JSON Schema of a scenario.")
def schema() -> None:
    """Print the JSON Schema of a scenario, for editors that complete and check YAML."""
    import json  # noqa: PLC0415

    from planner.inputs.schema import scenario_schema  # noqa: PLC0415

    print_exact(json.dumps(scenario_schema(), indent=2, ensure_ascii=False) + "\n")
