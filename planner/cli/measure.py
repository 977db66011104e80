"""`planner measure`: one tuning job on the GPU at hand, as a row of a table of measured runs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import click

import planner
from planner.cli.jobs import OPTIONS, described_job, option_of, tuning_options
from planner.cli.options import FILE, catalog_option
from planner.cli.screen import print_exact
from planner.errors import InputError

__all__ = ["measure"]


@click.command()
@tuning_options
@click.option(
    "--config",
    type=FILE,
    metavar="PATH",
    help="A model's config.json (Hugging Face), instead of `--model`.",
)
@click.option("--gpu-type", metavar="ID", help="Type of the GPU here, if its name does not tell.")
@click.option(
    "--steps",
    type=click.IntRange(1, 1000),
    default=4,
    show_default=True,
    help="Optimizer steps that are timed, after one that is not.",
)
@click.option("--no-header", is_flag=True, help="Without the line of columns, to be appended.")
@catalog_option
def measure(steps: int, no_header: bool, **given: Any) -> None:  # noqa: ANN401 - click's values
    """Run one tuning job for some steps on the GPU at hand, with random weights.

    Prints a table that `planner size --measured` reads. Needs the extra `measure`.

    For example: planner measure --model llama-3.1-8b --method lora --sequence 2048 --batch 4
    """
    unsaid = dict.fromkeys(option.name for option in OPTIONS)
    job = described_job({**unsaid, "serve": False, **given, "gpu_type": ()})
    try:
        seen = planner.measure(
            job,
            config=given["config"],
            gpu_type=given["gpu_type"],
            steps=steps,
            catalog=given["catalog"],
        )
    except InputError as error:
        raise InputError(
            *(
                replace(one, path=one.path and option_of(one.path, serves=False))
                for one in error.findings
            )
        ) from None
    print_exact(seen.to_csv(header=not no_header))
    click.echo(seen.summary[0], err=True)
