"""`planner size`: one job on every GPU type, described by options in the words of a scenario."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from planner.cli.jobs import described_job, flag, job_options, option_of, plain
from planner.cli.options import FILE, catalog_option, rules_option
from planner.cli.screen import print_document, print_exact
from planner.errors import Finding, InputError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from planner.inputs.catalog.catalog import Catalog, Model
    from planner.inputs.scenario.job import Job
    from planner.inputs.scenario.scenario import Policies

__all__ = ["size"]


@click.command(short_help="Size one job on every GPU type, side by side.")
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
    help="Your own measured runs (CSV): they correct the expected peaks.",
)
@click.option("--headroom", metavar="SHARE", help="Share of GPU memory kept free, such as 10%.")
@click.option("--mig", is_flag=True, help="Serving: on MIG partitions as well.")
@click.option("--shared-gpus", is_flag=True, help="Serving: beside others on a GPU as well.")
@click.option(
    "--faster", is_flag=True, help="Tuning: on more and more GPUs, a shorter run on each."
)
@click.option("--gpu-type", multiple=True, metavar="ID", help="Only this GPU type. Repeatable.")
@click.option("--sums", is_flag=True, help="Show every sum for each GPU type.")
@click.option("--json", "as_json", is_flag=True, help="Print the whole sizing as JSON.")
@catalog_option
@rules_option
def size(sums: bool, as_json: bool, **given: Any) -> None:  # noqa: ANN401 - click's values
    """Size one job on every GPU type, side by side, with the sums.

    For example: planner size --model llama-3.1-70b --method lora --sequence 4096 --batch 8
    """
    from planner.inputs.load import load_catalog, load_rules  # noqa: PLC0415
    from planner.inputs.measured import read_measurements  # noqa: PLC0415
    from planner.inputs.reading.diagnostics import Attempts  # noqa: PLC0415
    from planner.inputs.settle import settled_settings  # noqa: PLC0415
    from planner.reporting.size import sizing_document  # noqa: PLC0415
    from planner.sizing import Sizer  # noqa: PLC0415
    from planner.sizing.calibrate import calibrate  # noqa: PLC0415

    attempts = Attempts()
    model = attempts.take(lambda: _configured(given))
    if model is not None:
        given["model"] = model[0]
    # Without the configuration that was named it is not known what the options describe.
    job = attempts.take(lambda: described_job(given)) if attempts.sound else None
    policies = attempts.take(lambda: _policies(given))
    known = attempts.take(lambda: load_catalog(given["catalog"]))
    ruled = attempts.take(lambda: load_rules(given["rules"]))
    facts = known and known[0]
    if facts is not None and model is not None:
        facts = facts.model_copy(update={"models": {**facts.models, model[0]: model[1]}})
    if job is not None:
        attempts.findings += _without_effect(job, given)
    if job is not None and facts is not None:
        attempts.findings += [*_unknown_names(job, facts), *_contradictions(job, facts)]
    if attempts.findings or not (job and policies and facts and ruled):
        raise InputError(*attempts.findings)
    book = ruled[0]
    settings = settled_settings(book, policies)
    calibration = None
    if given["measured"] is not None:
        runs = read_measurements(given["measured"], facts)
        calibration = calibrate(runs, Sizer(facts, book, settings, policies), facts, book)
    sizing = Sizer(facts, book, settings, policies, calibration=calibration).size(job)
    if not given["faster"]:
        smallest = tuple(one for one in sizing.candidates if one.decided_by != "time")
        sizing = sizing.model_copy(update={"candidates": smallest})
    if as_json:
        print_exact(sizing.model_dump_json(indent=2) + "\n")
    else:
        print_document(sizing_document(sizing, every_sum=sums, calibration=calibration))


def _configured(given: Mapping[str, Any]) -> tuple[str, Model] | None:
    """The model that a config.json describes; InputError where another is named as well."""
    if given["config"] is None:
        return None
    from planner.inputs.catalog.modelconfig import read_model_config  # noqa: PLC0415

    for other in ("model", "parameters_b", "family"):
        if given[other] is not None:
            message = f"the model is given twice, by --config and by {flag(other)}"
            raise InputError(Finding(message, path=flag(other), hint="leave one of them out"))
    return read_model_config(given["config"])


def _policies(given: Mapping[str, Any]) -> Policies:
    from planner.inputs.reading.diagnostics import validate_values  # noqa: PLC0415
    from planner.inputs.scenario.scenario import Policies  # noqa: PLC0415

    headroom = given["headroom"]
    stated: dict[str, Any] = {"shared_gpus": given["shared_gpus"]}
    if headroom is not None:
        stated["headroom"] = plain("headroom", headroom)
    if given["mig"]:
        stated["mig"] = "same-node"
    return validate_values(stated, Policies, lambda _: "--headroom")


def _without_effect(job: Job, given: Mapping[str, Any]) -> Iterator[Finding]:
    """Options that change nothing for this kind of job."""
    for name, fits, other in (
        ("mig", job.serve, "`--serve`"),
        ("shared_gpus", job.serve, "`--serve`"),
        ("faster", job.tune, "`--method`"),
    ):
        if given[name] and fits is None:
            yield Finding(f"goes with {other} only", path=flag(name))
    if job.tune is not None and given["faster"] and job.tune.dataset_tokens is None:
        hint = "give `--dataset-tokens`"
        yield Finding("needs the hours of a run", path="--faster", hint=hint)


def _contradictions(job: Job, facts: Catalog) -> Iterator[Finding]:
    """What contradicts itself or the model, as in a scenario."""
    from planner.inputs.checks.jobs import contradictions  # noqa: PLC0415
    from planner.inputs.reading.document import dotted  # noqa: PLC0415

    for found in contradictions(job, facts):
        option = option_of(dotted(found.path), serves=job.serve is not None)
        yield Finding(found.message, path=option, hint=found.hint)


def _unknown_names(job: Job, facts: Catalog) -> Iterator[Finding]:
    """Names that stand for nothing, in the words in which a scenario is refused."""
    from planner.inputs.checks.references import unknown_reference  # noqa: PLC0415

    asked = job.tune or job.serve
    model = asked.model if asked is not None else None
    wanted: list[tuple[str, str, str, Collection[str]]] = []
    if model:
        wanted.append(("model", "--model", model, facts.models))
    wanted += [("GPU type", "--gpu-type", name, facts.gpus) for name in job.gpu_types or ()]
    for sort, option, name, known in wanted:
        if name not in known:
            message, hint = unknown_reference(sort, name, known, facts)
            yield Finding(message, path=option, hint=hint)
