"""`planner size`: one job on every GPU type, described by options in the words of a scenario."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

import click

import planner
from planner.cli.jobs import described_job, flag, job_options, option_of, plain
from planner.cli.options import FILE, catalog_option, rules_option
from planner.cli.screen import print_result
from planner.errors import Finding, InputError

__all__ = ["size"]


@click.command()
@job_options
@click.option(
    "--config",
    type=FILE,
    metavar="PATH",
    help="A model's config.json (Hugging Face), instead of `--model`.",
)
@click.option(
    "--measured",
    type=FILE,
    metavar="FILE",
    help="Your own measured runs (CSV): they correct what is expected.",
)
@click.option("--headroom", metavar="SHARE", help="Share of GPU memory kept free, such as 10%.")
@click.option("--mig", is_flag=True, help="Serving: on MIG partitions as well.")
@click.option("--shared-gpus", is_flag=True, help="Serving: beside others on a GPU as well.")
@click.option(
    "--faster", is_flag=True, help="Tuning: on more and more GPUs, a shorter run on each."
)
@click.option("--gpu-type", multiple=True, metavar="ID", help="Only this GPU type. Repeatable.")
@click.option("--sums", is_flag=True, help="Show host, peak memory, and every sum, too.")
@click.option("--json", "as_json", is_flag=True, help="Print the whole sizing as JSON.")
@catalog_option
@rules_option
def size(sums: bool, as_json: bool, **given: Any) -> None:  # noqa: ANN401 - click's values
    """Size one job on every GPU type, the cheapest first.

    For example: planner size --model llama-3.1-70b --method lora --sequence 4096 --batch 8
    """
    job = described_job(given)
    given_on = {
        name: given[name]
        for name in ("config", "measured", "mig", "shared_gpus", "faster", "catalog", "rules")
    }
    try:
        headroom = given["headroom"]
        sized = planner.size(
            job,
            headroom=None if headroom is None else cast("str", plain("headroom", headroom)),
            sums=sums,
            **given_on,
        )
    except InputError as error:
        raise InputError(
            *(_on_options(one, serves="serve" in job) for one in error.findings)
        ) from None
    print_result(sized, "json" if as_json else "terminal")


_IN_OPTIONS = {
    "goes with `serve` only": "goes with `--serve` only",
    "goes with `tune` only": "goes with `--method` only",
    "give `dataset_tokens`": "give `--dataset-tokens`",
}
"""What is said of a job in a scenario, and on the command line."""


def _on_options(finding: Finding, *, serves: bool) -> Finding:
    """The same mistake, at the option that it was made in."""
    if finding.file is not None or finding.path is None:
        return finding
    path = option_of(finding.path, serves=serves)
    if path == finding.path and path in ("headroom", "mig", "shared_gpus", "faster"):
        path = flag(path)
    message, hint = (_IN_OPTIONS.get(text or "", text) for text in (finding.message, finding.hint))
    return replace(finding, message=message or "", path=path, hint=hint)
