"""`planner size`: one job on every GPU type, described by options in the words of a scenario."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from planner.cli.options import catalog_option, rules_option
from planner.cli.screen import print_document
from planner.errors import Finding, InputError

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from planner.inputs.catalog import Catalog
    from planner.inputs.scenario import Job, Policies

__all__ = ["size"]

_TUNE = {
    "model": "model",
    "parameters_b": "parameters_b",
    "method": "method",
    "precision": "precision",
    "base_bits": "base_bits",
    "optimizer": "optimizer",
    "batch": "batch",
    "sequence": "sequence",
    "dataset_tokens": "dataset_tokens",
    "epochs": "epochs",
    "deadline_hours": "deadline_hours",
    "rank": "adapter_rank",
}
"""Option and the key of a scenario's `tune:` that it fills."""

_SERVE = {
    "model": "model",
    "parameters_b": "parameters_b",
    "bits": "bits",
    "adapters": "adapters.count",
    "adapter_gb": "adapters.size_gb",
}
"""Option and the key of a scenario's `serve:` that it fills."""


@click.command(short_help="Size one job on every GPU type, side by side.")
@click.option("--model", metavar="ID", help="Model of the catalog, such as `llama-3.1-8b`.")
@click.option("--parameters-b", metavar="NUMBER", help="Or its parameters, in billions.")
@click.option("--method", metavar="full|lora|qlora|p-tuning", help="Tune it by this method.")
@click.option("--serve", is_flag=True, help="Or serve it.")
@click.option("--batch", metavar="NUMBER", help="Tuning: sequences per optimizer step.")
@click.option("--sequence", metavar="TOKENS", help="Tuning: maximum sequence length.")
@click.option("--precision", metavar="bf16|fp16|fp32", help="Tuning: number format.")
@click.option("--base-bits", metavar="16|8|4", help="Tuning: weight width of the frozen base.")
@click.option("--optimizer", metavar="adamw|sgd", help="Tuning: optimizer.")
@click.option("--rank", metavar="NUMBER", help="Tuning: rank of the adapter.")
@click.option("--dataset-tokens", metavar="NUMBER", help="Tuning: tokens in one epoch.")
@click.option("--epochs", metavar="NUMBER", help="Tuning: passes over the dataset.")
@click.option("--deadline-hours", metavar="HOURS", help="Tuning: hours that one run may take.")
@click.option("--bits", metavar="16|8|4", help="Serving: weight width.")
@click.option("--adapters", metavar="NUMBER", help="Serving: adapters beside the model.")
@click.option("--adapter-gb", metavar="GB", help="Serving: size of one adapter.")
@click.option("--headroom", metavar="SHARE", help="Share of GPU memory kept free, such as 10%.")
@click.option("--gpu-type", multiple=True, metavar="ID", help="Only this GPU type. Repeatable.")
@click.option("--sums", is_flag=True, help="Show every sum for each GPU type.")
@catalog_option
@rules_option
def size(sums: bool, **given: Any) -> None:  # noqa: ANN401 - click's values
    """Size one job on every GPU type, side by side, with the sums.

    For example: planner size --model llama-3.1-70b --method lora --sequence 4096 --batch 8
    """
    job, policies = _job(given), _policies(given["headroom"])

    from planner.inputs.load import load_catalog, load_rules  # noqa: PLC0415
    from planner.inputs.settle import settled_settings  # noqa: PLC0415
    from planner.report.size import sizing_document  # noqa: PLC0415
    from planner.sizing import Sizer  # noqa: PLC0415

    facts, _ = load_catalog(given["catalog"])
    book, _ = load_rules(given["rules"])
    _require_known_names(job, facts)
    sizing = Sizer(facts, book, settled_settings(book, policies), policies).size(job)
    print_document(sizing_document(sizing, every_sum=sums))


def _policies(headroom: str | None) -> Policies:
    from planner.inputs.diagnostics import validate_values  # noqa: PLC0415
    from planner.inputs.scenario import Policies  # noqa: PLC0415

    given = {} if headroom is None else {"headroom": _plain("headroom", headroom)}
    return validate_values(given, Policies, lambda _: "--headroom")


def _job(given: Mapping[str, Any]) -> Job:
    """The job that the options describe, refused in the same words as in a scenario."""
    from planner.inputs.diagnostics import validate_values  # noqa: PLC0415
    from planner.inputs.scenario import Job  # noqa: PLC0415

    if (given["method"] is None) == (not given["serve"]):
        raise InputError(
            Finding(
                "say what to do with the model",
                hint="give either `--method` to tune it or `--serve` to serve it",
            )
        )
    kind, keys = ("serve", _SERVE) if given["serve"] else ("tune", _TUNE)
    _require_fitting(given, kind, keys)
    values: dict[str, Any] = {}
    for option, key in keys.items():
        if given[option] is not None:
            _put(values, key, _plain(option, given[option]))
    whole: dict[str, Any] = {kind: values}
    if given["gpu_type"]:
        whole["gpu_types"] = tuple(given["gpu_type"])
    names = {f"{kind}.{key}": _flag(option) for option, key in keys.items()}
    names |= {kind: "--model", f"{kind}.adapters": "--adapters", "gpu_types": "--gpu-type"}
    return validate_values(whole, Job, lambda path: names.get(path, path))


def _require_fitting(given: Mapping[str, Any], kind: str, keys: Mapping[str, str]) -> None:
    foreign = [name for name in {**_TUNE, **_SERVE} if name not in keys and given[name] is not None]
    if foreign:
        other = "`--method`" if kind == "serve" else "`--serve`"
        raise InputError(
            *(Finding(f"goes with {other} only", path=_flag(option)) for option in foreign)
        )


def _put(values: dict[str, Any], key: str, value: object) -> None:
    outer, dot, inner = key.partition(".")
    if dot:
        values.setdefault(outer, {})[inner] = value
    else:
        values[outer] = value


def _plain(option: str, text: str) -> object:
    from planner.inputs.scalars import ScalarError, plain_value  # noqa: PLC0415

    try:
        return plain_value(text)
    except ScalarError as error:
        raise InputError(Finding(str(error), path=_flag(option))) from None


def _flag(option: str) -> str:
    return f"--{option.replace('_', '-')}"


def _require_known_names(job: Job, facts: Catalog) -> None:
    """Refuse unknown names in the words in which a scenario is refused."""
    from planner.inputs.references import unknown_reference  # noqa: PLC0415

    asked = job.tune or job.serve
    model = asked.model if asked is not None else None
    wanted: list[tuple[str, str, str, Collection[str]]] = []
    if model:
        wanted.append(("model", "--model", model, facts.models))
    wanted += [("GPU type", "--gpu-type", name, facts.gpus) for name in job.gpu_types or ()]
    findings = []
    for sort, option, name, known in wanted:
        if name not in known:
            message, hint = unknown_reference(sort, name, known, facts)
            findings.append(Finding(message, path=option, hint=hint))
    if findings:
        raise InputError(*findings)
