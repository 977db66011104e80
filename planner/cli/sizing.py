"""`planner size` and `measure`, and what they rest on: `rules`, `catalog`, `schema`, `doctor`.

A job is described by options: each key of `tune:` and `serve:` that rules ask for is one.
"""

from __future__ import annotations

import json
import re
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import click

import planner
from planner.cli.common import (
    FILE,
    asking,
    catalog_option,
    file_option,
    finish,
    flag,
    format_option,
    print_exact,
    rules_option,
    show,
    together,
)
from planner.errors import ExitCode, Finding, InputError
from planner.inputs.base import AsFact, plain_types
from planner.inputs.scenario.job import Parallelism, Serve, Tune
from planner.inputs.text import ScalarError, plain_value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from pathlib import Path

    from pydantic import BaseModel

    from planner import Changes

_KINDS = ("gpus", "nodes", "models", "prices")
_NO_OPTION = "gpu_partition"
"""A partition is asked for in a scenario alone: rules refuse it to tuning jobs."""
_CALLED = {
    "adapter_rank": "rank",
    "adapters.count": "adapters",
    "adapters.size_gb": "adapter_gb",
    **{f"parallelism.{key}": f"{key}_parallel" for key in Parallelism.model_fields},
}
"""Keys whose options are not named after their last part."""
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
    for key, fact, metavar in _keys(Tune):
        yield Option(_name(key), key, "", metavar, f"Tuning: {fact.meaning}.")
    for key, fact, metavar in _keys(Serve):
        yield Option(_name(key), "", key, metavar, f"Serving: {fact.meaning}.")


def _keys(section: type[BaseModel], outer: str = "") -> Iterator[tuple[str, AsFact, str]]:
    """Keys that rules ask for, dotted, with what they mean and how a value is asked for."""
    facts = AsFact.of(section)
    for name, field in section.model_fields.items():
        types = plain_types(field.annotation)
        if name in facts and name != _NO_OPTION:
            words = dict.fromkeys(str(one) for one in types if isinstance(one, str | int))
            metavar = "true|false" if bool in types else "|".join(words)
            yield (
                f"{outer}{name}",
                facts[name],
                metavar or _METAVARS.get(facts[name].unit, "NUMBER"),
            )
        for inner in types:
            if hasattr(inner, "model_fields"):
                yield from _keys(inner, f"{name}.")


def _name(key: str) -> str:
    return _CALLED.get(key, key.rpartition(".")[2])


OPTIONS = tuple(_options())
_TUNING = [option for option in OPTIONS if option.tune]
_SERVING = [option for option in OPTIONS if not option.tune]


def _as_options(options: Iterable[Option], *required: str) -> Callable[..., Callable[..., None]]:
    return together(
        *(
            click.option(
                flag(one.name), metavar=one.metavar, help=one.help, required=one.name in required
            )
            for one in options
        )
    )


_config_option = file_option(
    "--config", metavar="PATH", says="A model's config.json (Hugging Face), instead of `--model`."
)


def _described_job(given: Mapping[str, Any]) -> dict[str, Any]:
    """What a scenario would say of the job that the options describe; raises InputError."""
    if (given["method"] is None) == (not given["serve"]):
        hint = "give either `--method` to tune it or `--serve` to serve it"
        raise InputError(Finding("say what to do with the model", hint=hint))
    if all(given[name] is None for name in ("config", "model", "parameters_b")):
        hint = "give `--model ID`, `--config PATH` or `--parameters-b NUMBER`"
        raise InputError(Finding("say which model", hint=hint))
    kind, other = ("serve", "--method") if given["serve"] else ("tune", "--serve")
    values: dict[str, Any] = {}
    foreign = []
    for option in OPTIONS:
        text = given[option.name]
        outer, _, inner = getattr(option, kind).partition(".")
        if text is None:
            continue
        if not outer:
            foreign.append(Finding(f"goes with `{other}` only", path=flag(option.name)))
        elif inner:
            values.setdefault(outer, {})[inner] = _plain(option.name, text)
        else:
            values[outer] = _plain(option.name, text)
    if foreign:
        raise InputError(*foreign)
    types = {"gpu_types": tuple(given["gpu_type"])} if given["gpu_type"] else {}
    return {kind: values, **types}


def _plain(name: str, text: str) -> object:
    """Read a value as a scenario would; raises InputError that names the option."""
    try:
        return plain_value(text)
    except ScalarError as error:
        raise InputError(Finding(str(error), path=flag(name))) from None


@contextmanager
def _at_options(kind: str) -> Iterator[None]:
    """Tell of mistakes in a place of a job, such as `tune.adapter_rank`, at its option."""
    places = {kind: "", "gpu_types": "--gpu-type"}
    for option in OPTIONS:
        if key := getattr(option, kind):
            places[f"{kind}.{key}"] = flag(option.name)
            for part in key.split("."):
                places.setdefault(f"{kind}.{part}", flag(option.name))

    def named(key: re.Match[str]) -> str:
        option = places.get(f"{kind}.{key[1]}")
        return f"`{' '.join(filter(None, (option, key[2])))}`" if option else key[0]

    def at_option(one: Finding) -> Finding:
        if one.file:
            return one
        hint = one.hint and _KEY.sub(named, one.hint)
        path = places.get(one.path or "", one.path)
        return replace(one, path=path, message=_KEY.sub(named, one.message), hint=hint)

    try:
        yield
    except InputError as error:
        raise InputError(*map(at_option, error.findings)) from None


_KEY = re.compile(r"`([a-z_.]+)(?:: ([^`]+))?`")
"""A key of a job as messages name it, with or without a value."""


@click.command()
@click.argument("scenario", required=False, type=FILE)
@click.argument("job", required=False)
@_as_options(_TUNING)
@click.option("--serve", is_flag=True, help="Serve it, instead of `--method`.")
@_as_options(_SERVING)
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
    if scenario is None:
        show(_sized_alone(given, changes, sums=sums), format_)
        return
    if job is None and scenario.suffix not in _SCENARIOS and not scenario.exists():
        hint = f"a model is named by an option: `--model {scenario}`"
        raise InputError(Finding("no such file", file=str(scenario), hint=hint))
    loaded = planner.load(scenario, **changes)
    if described := [name for name, value in given.items() if value and name != "faster"]:
        told = "describes a job, and that of the scenario is described there"
        hint = "`--set` changes a value of the scenario"
        raise InputError(*(Finding(told, path=flag(name), hint=hint) for name in described))
    if job is None:
        names = ", ".join(row["job"] for row in loaded.rows())
        raise InputError(Finding("say which job of the scenario", hint=f"it has {names or 'none'}"))
    show(planner.size(job, scenario=loaded, faster=given["faster"], sums=sums), format_)


def _sized_alone(given: Mapping[str, Any], changes: Changes, *, sums: bool) -> planner.SizeResult:
    """The job that the options describe."""
    job = _described_job(given)
    if changes["apply"] or changes["set"]:
        name = "scenario" if changes["apply"] else "set"
        raise InputError(Finding("goes with a scenario only", path=flag(name)))
    asked = {name: given[name] for name in ("config", "measured", "mig", "shared_gpus", "faster")}
    if given["headroom"] is not None:
        asked["headroom"] = _plain("headroom", given["headroom"])
    with _at_options("serve" if given["serve"] else "tune"):
        return planner.size(
            job, sums=sums, catalog=changes["catalog"], rules=changes["rules"], **asked
        )


@click.command()
@_as_options(_TUNING, "method")
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
    unsaid = dict.fromkeys(option.name for option in _SERVING)
    job = _described_job({**unsaid, "serve": False, **given, "gpu_type": ()})
    asked = {name: given[name] for name in ("config", "gpu_type", "catalog")}
    with _at_options("tune"):
        seen = planner.measure(job, steps=steps, **asked)
    print_exact(seen.to_csv())
    click.echo(seen.summary[0], err=True)


@click.group()
def rules() -> None:
    """List and show the rules of sizing and policy, and run their worked examples."""


@rules.command("list")
@rules_option
def list_rules(rules: tuple[Path, ...]) -> None:
    """List all rules; those whose source contradicts itself are marked."""
    show(planner.rules(rules=rules))


@rules.command("show", short_help="Show one rule with its sources and examples.")
@click.argument("rule_id", metavar="ID")
@rules_option
def show_rule(rule_id: str, rules: tuple[Path, ...]) -> None:
    """Show one rule: formula, conditions, sources, examples, errata, and where it is wrong."""
    show(planner.rules(rule_id, rules=rules))


@rules.command("test")
@rules_option
def test_rules(rules: tuple[Path, ...]) -> None:
    """Run every rule's examples; exit code 2 if one of them fails."""
    found = planner.examine_rules(rules=rules)
    show(found)
    finish(ExitCode.INPUT if found.failed else ExitCode.PROVED)


@click.group()
def catalog() -> None:
    """List and show the facts: GPU types, node types, models and prices."""


@catalog.command("list")
@click.argument(
    "kinds", metavar="[gpus|nodes|models|prices]...", nargs=-1, type=click.Choice(_KINDS)
)
@catalog_option
def list_catalog(kinds: tuple[str, ...], catalog: tuple[Path, ...]) -> None:
    """List the catalog, or some kinds of it."""
    show(planner.catalog(*kinds, catalog=catalog))


@catalog.command("show", short_help="Show one entry, each figure with its source.")
@click.argument("entry_id", metavar="ID")
@catalog_option
def show_entry(entry_id: str, catalog: tuple[Path, ...]) -> None:
    """Show a GPU type, a node type with its prices, or a model: each figure with its source."""
    show(planner.catalog(entry=entry_id, catalog=catalog))


@click.command()
def schema() -> None:
    """Print the JSON Schema of a scenario, for editors that complete and check YAML."""
    print_exact(json.dumps(planner.schema(), indent=2, ensure_ascii=False) + "\n")


@click.command()
def doctor() -> None:
    """Test the installed solver on small programs that released solvers have got wrong.

    Exit code 0: every answer of the solver that plans rest on is right. 5: one is wrong.
    """
    found = planner.doctor()
    show(found)
    finish(ExitCode.UNVERIFIED if found.failed else ExitCode.PROVED)
