"""`planner size` and `measure`: one job on every GPU type, or on the GPU at hand.

The job is described by options: each key of `tune:` and `serve:` that rules ask for is one.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import click

import planner
from planner.cli.options import FILE, asking, catalog_option, file_option, format_option
from planner.cli.screen import print_exact, print_result
from planner.errors import Finding, InputError
from planner.inputs.base import AsFact, plain_types
from planner.inputs.scenario.job import Parallelism, Serve, Tune
from planner.inputs.text import ScalarError, plain_value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from pydantic import BaseModel

    from planner import Changes

_NO_OPTION = "gpu_partition"
"""A partition is asked for in a scenario alone: rules refuse it to tuning jobs."""
_CALLED = {
    "adapter_rank": "rank",
    "adapters.count": "adapters",
    "adapters.size_gb": "adapter_gb",
    **{f"parallelism.{key}": f"{key}_parallel" for key in Parallelism.model_fields},
}
"""Keys whose options are not named after their last part."""
_DESCRIBES = "describes a job, and that of the scenario is described there"
_SETTINGS = {
    "headroom": "policies.headroom={value}",
    "mig": "policies.mig=same-node",
    "shared_gpus": "policies.shared_gpus=true",
    "gpu_type": "jobs.{job}.gpu_types=[{value}]",
}
"""Options that a key of the scenario takes the place of, and what sets that."""
_SCENARIOS = (".yaml", ".yml", ".json")
_METAVARS = {"tokens": "TOKENS", "h": "HOURS", "GB": "GB"}
"""How values in a unit are asked for; a `NUMBER` in any other."""


class Option(NamedTuple):
    """An option, and the keys of `tune:` and `serve:` that it fills; empty where it fills none."""

    name: str
    tune: str
    serve: str
    metavar: str
    help: str


def _options() -> Iterator[Option]:
    for name, metavar, told in (
        ("model", "ID", "Model of the catalog, such as `llama-3.1-8b`."),
        ("parameters_b", "NUMBER", "Or its size, in billions."),
        ("family", "NAME", "With a bare size: whose shape it has."),
    ):
        yield Option(name, name, name, metavar, told)
    for key, fact, types in _keys(Tune):
        yield Option(_name(key), key, "", _metavar(fact, types), f"Tuning: {fact.meaning}.")
    for key, fact, types in _keys(Serve):
        yield Option(_name(key), "", key, _metavar(fact, types), f"Serving: {fact.meaning}.")


def _keys(section: type[BaseModel], outer: str = "") -> Iterator[tuple[str, AsFact, list[Any]]]:
    """Keys that rules ask for, dotted, with what they mean and the types and words of a value."""
    facts = AsFact.of(section)
    for name, field in section.model_fields.items():
        types = plain_types(field.annotation)
        if name in facts and name != _NO_OPTION:
            yield f"{outer}{name}", facts[name], types
        for inner in types:
            if hasattr(inner, "model_fields"):
                yield from _keys(inner, f"{name}.")


_config_option = file_option(
    "--config", metavar="PATH", says="A model's config.json (Hugging Face), instead of `--model`."
)


def _name(key: str) -> str:
    return _CALLED.get(key, key.rpartition(".")[2])


def _metavar(fact: AsFact, types: list[Any]) -> str:
    words = list(dict.fromkeys(str(one) for one in types if isinstance(one, str | int)))
    if bool in types:
        words = ["true", "false"]
    return "|".join(words) or _METAVARS.get(fact.unit, "NUMBER")


OPTIONS = tuple(_options())


def _job_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add every option that describes a job, and `--serve`."""
    first = next(option for option in OPTIONS if not option.tune)
    for option in reversed(OPTIONS):
        command = click.option(flag(option.name), metavar=option.metavar, help=option.help)(command)
        if option is first:
            told = "Serve it, instead of `--method`."
            command = click.option("--serve", is_flag=True, help=told)(command)
    return command


def _tuning_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add every option that describes a tuning job; `--method` is required."""
    for option in reversed([one for one in OPTIONS if one.tune]):
        command = click.option(
            flag(option.name),
            metavar=option.metavar,
            help=option.help,
            required=option.name == "method",
        )(command)
    return command


def _described_job(given: Mapping[str, Any]) -> dict[str, Any]:
    """What a scenario would say of the job that the options describe; raises InputError."""
    if (given["method"] is None) == (not given["serve"]):
        raise InputError(
            Finding(
                "say what to do with the model",
                hint="give either `--method` to tune it or `--serve` to serve it",
            )
        )
    named = [name for name in ("model", "parameters_b", "family") if given[name] is not None]
    if given["config"] is None and not {"model", "parameters_b"} & set(named):
        hint = "give `--model ID`, `--config PATH` or `--parameters-b NUMBER`"
        raise InputError(Finding("say which model", hint=hint))
    if given["config"] is not None and named:
        message = f"the model is given twice, by --config and by {flag(named[0])}"
        hint = "leave one of them out"
        raise InputError(Finding(message, path=flag(named[0]), hint=hint))
    kind = "serve" if given["serve"] else "tune"
    keys = {option.name: option.serve if given["serve"] else option.tune for option in OPTIONS}
    _require_fitting(given, kind, keys)
    values: dict[str, Any] = {}
    for name, key in keys.items():
        if given[name] is not None:
            _put(values, key, _plain(name, given[name]))
    types = {"gpu_types": tuple(given["gpu_type"])} if given["gpu_type"] else {}
    return {kind: values, **types}


def _option_of(path: str, *, serves: bool) -> str:
    """The option that fills a place in a job, such as `--rank` for `tune.adapter_rank`."""
    kind = "serve" if serves else "tune"
    names = {kind: "", "gpu_types": "--gpu-type"}
    for option in OPTIONS:
        key = option.serve if serves else option.tune
        names[f"{kind}.{key}"] = flag(option.name)
        names.setdefault(f"{kind}.{key.partition('.')[0]}", flag(option.name))
    return names.get(path, path)


def _plain(name: str, text: str) -> object:
    """Read a value as a scenario would; raises InputError that names the option."""
    try:
        return plain_value(text)
    except ScalarError as error:
        raise InputError(Finding(str(error), path=flag(name))) from None


def flag(name: str) -> str:
    """How an option is written on the command line."""
    return f"--{name.replace('_', '-')}"


def _require_fitting(given: Mapping[str, Any], kind: str, keys: Mapping[str, str]) -> None:
    foreign = [name for name, key in keys.items() if not key and given[name] is not None]
    if foreign:
        other = "`--method`" if kind == "serve" else "`--serve`"
        raise InputError(*(Finding(f"goes with {other} only", path=flag(name)) for name in foreign))


def _put(values: dict[str, Any], key: str, value: object) -> None:
    outer, dot, inner = key.partition(".")
    if dot:
        values.setdefault(outer, {})[inner] = value
    else:
        values[outer] = value


@click.command()
@click.argument("scenario", required=False, type=FILE)
@click.argument("job", required=False)
@_job_options
@_config_option
@file_option("--measured", says="Your own measured runs (CSV): they correct what is expected.")
@click.option("--headroom", metavar="SHARE", help="Share of GPU memory kept free, such as 10%.")
@click.option("--mig", is_flag=True, help="Serving: also size it on MIG partitions.")
@click.option(
    "--shared-gpus",
    is_flag=True,
    help="Serving: also size it for GPUs that it shares with other jobs.",
)
@click.option(
    "--faster", is_flag=True, help="Tuning: also size it on more GPUs, where a run takes less time."
)
@click.option("--gpu-type", multiple=True, metavar="ID", help="Only this GPU type. Repeatable.")
@click.option("--sums", is_flag=True, help="Also show host needs, peak memory, and every sum.")
@format_option
@asking
def size(
    scenario: Path | None,
    job: str | None,
    sums: bool,
    format_: str,
    changes: Changes,
    **given: Any,  # noqa: ANN401 - click's values
) -> None:
    """Size one job on every GPU type, the cheapest first.

    A job of a scenario, or one that options describe. For example: planner size
    scenarios/quickstart.yaml claims-expert, or planner size --model llama-3.1-70b --method lora
    --sequence 4096 --batch 8
    """
    if scenario is not None:
        sized = _sized_in(scenario, job, given, changes, sums=sums)
    else:
        sized = _sized_alone(given, changes, sums=sums)
    print_result(sized, format_)


def _sized_in(
    scenario: Path, job: str | None, given: Mapping[str, Any], changes: Changes, *, sums: bool
) -> planner.SizeResult:
    """A job of a scenario; raises InputError where options describe another."""
    if job is None and scenario.suffix not in _SCENARIOS and not scenario.exists():
        hint = f"a model is named by an option: `--model {scenario}`"
        raise InputError(Finding("no such file", file=str(scenario), hint=hint))
    loaded = planner.load(scenario, **changes)
    described = {name: value for name, value in given.items() if value and name != "faster"}
    if described:
        raise InputError(*(_described_there(name, described[name], job) for name in described))
    if job is None:
        names = ", ".join(row["job"] for row in loaded.rows())
        raise InputError(Finding("say which job of the scenario", hint=f"it has {names or 'none'}"))
    return planner.size(job, scenario=loaded, faster=given["faster"], sums=sums)


def _described_there(name: str, value: object, job: str | None) -> Finding:
    setting = _SETTINGS.get(name)
    written = ", ".join(value) if isinstance(value, tuple) else value
    hint = None
    if setting is not None:
        hint = f"`--set '{setting.format(job=job or 'JOB', value=written)}'` changes it there"
    return Finding(_DESCRIBES, path=flag(name), hint=hint)


def _sized_alone(given: Mapping[str, Any], changes: Changes, *, sums: bool) -> planner.SizeResult:
    """The job that the options describe."""
    job = _described_job(given)
    if changes["apply"] or changes["set"]:
        name = "scenario" if changes["apply"] else "set"
        raise InputError(Finding("goes with a scenario only", path=flag(name)))
    asked = {name: given[name] for name in ("config", "measured", "mig", "shared_gpus", "faster")}
    asked |= {"catalog": changes["catalog"], "rules": changes["rules"]}
    if given["headroom"] is not None:
        asked["headroom"] = _plain("headroom", given["headroom"])
    try:
        return planner.size(job, sums=sums, **asked)
    except InputError as error:
        raise InputError(
            *(_on_options(one, serves="serve" in job) for one in error.findings)
        ) from None


@click.command()
@_tuning_options
@_config_option
@click.option("--gpu-type", metavar="ID", help="The type of this GPU, if its name does not tell.")
@click.option(
    "--steps",
    default=4,
    show_default=True,
    metavar="N",
    help="How many optimizer steps to time, after a first one that is not timed.",
)
@catalog_option
def measure(steps: int, **given: Any) -> None:  # noqa: ANN401 - click's values
    """Run one tuning job for some steps on the GPU at hand, with random weights.

    Prints a table that `planner size --measured` reads. Needs the extra `measure`.

    For example: planner measure --model llama-3.1-8b --method lora --sequence 2048 --batch 4
    """
    unsaid = dict.fromkeys(option.name for option in OPTIONS)
    job = _described_job({**unsaid, "serve": False, **given, "gpu_type": ()})
    asked = {name: given[name] for name in ("config", "gpu_type", "catalog")}
    try:
        seen = planner.measure(job, steps=steps, **asked)
    except InputError as error:
        raise InputError(*(_on_options(one, serves=False) for one in error.findings)) from None
    print_exact(seen.to_csv())
    click.echo(seen.summary[0], err=True)


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
    path = _option_of(finding.path, serves=serves)
    message, hint = (_IN_OPTIONS.get(text or "", text) for text in (finding.message, finding.hint))
    return replace(finding, message=message or "", path=path, hint=hint)
