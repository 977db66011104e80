"""docs/scenario.md: its tables of keys are what the models know of them."""

import fnmatch
import re
from collections.abc import Iterator
from typing import Any

import pytest
from pydantic import BaseModel

from planner.inputs.base import AsFact
from planner.inputs.load import load_rules
from planner.inputs.scenario.scenario import ScenarioFile, Variations
from planner.inputs.scenario.schema import scenario_schema
from tests.stated import load_inputs

_BLOCK = re.compile(r"^\| (.*) \| value \| default \| means \|\n(?:\|.*\n)*", re.MULTILINE)
"""A table, and the sections of which it has the keys, as its header names them."""
_TOP = "a scenario"
_LEFT_OUT = re.compile(r"(.+); (.+?),? if left out")
"""What a key means, and what holds in its place: the default of a key that has no value then."""
_UNITS = {
    **{"b": "10^9 parameters", "days": "days", "deadline": "week", "release": "week"},
    **{"gb": "GB", "gpus": "GPUs", "hour": "USD/h", "hours": "h", "kw": "kW", "kwh": "USD/kWh"},
    **{"month": "USD/month", "nodes": "nodes", "ports": "ports", "quarters": "quarters"},
    **{"mean": "ratio", "port": "USD/port", "pue": "ratio", "second": "requests/s"},
    **{"tokens": "USD", "units": "U", "usd": "USD", "weeks": "weeks"},
    **{"year": "USD/year", "years": "years"},
    **dict.fromkeys(("p50", "p90", "p95", "p99"), "tokens"),
}
"""By the end of a key's name, of a number that is no fact for rules."""


def models_within(model: type[BaseModel]) -> dict[str, type[BaseModel]]:
    """This model and all that its fields can hold, by name."""
    found = {model.__name__: model}
    waiting: list[Any] = [field.annotation for field in model.model_fields.values()]
    while waiting:
        kind = waiting.pop()
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            found |= {name: one for name, one in models_within(kind).items() if name not in found}
        waiting += getattr(kind, "__args__", ())
    return found


FORMAT = models_within(ScenarioFile)
SCHEMA = scenario_schema()


def sections(model: str, path: str) -> Iterator[tuple[str, str]]:
    """A model and all within it, by their dotted paths."""
    yield path, model
    outer = "" if path == _TOP else f"{path}."
    for key, stated in definition(model)["properties"].items():
        for shape in stated.get("anyOf", [stated]):
            place, inner = f"{outer}{key}", shape
            if "additionalProperties" in inner:
                place, inner = f"{place}.NAME", inner["additionalProperties"]
            elif "items" in inner:
                place, inner = f"{place}[]", inner["items"]
            if isinstance(inner, dict) and "$ref" in inner:
                yield from sections(inner["$ref"].rpartition("/")[2], place)


def definition(model: str) -> dict[str, Any]:
    found: dict[str, Any] = SCHEMA if model == "ScenarioFile" else SCHEMA["$defs"][model]
    return found


def paths(mark: str) -> list[str]:
    return [name.strip("`") for name in mark.split(" and ")]


def tables(page: str) -> dict[str, str]:
    """The table of each header: keys that sections have alike stand in one that names them all."""
    marks = [found[1] for found in _BLOCK.finditer(page)]
    models = dict(sections("ScenarioFile", _TOP))
    every = {
        path: {key: row(model, key, one) for key, one in definition(model)["properties"].items()}
        for path, model in models.items()
    }
    together = {mark: [every[path] for path in paths(mark)] for mark in marks if " and " in mark}
    alike = {
        mark: {k: v for k, v in first.items() if all(o.get(k) == v for o in others)}
        for mark, (first, *others) in together.items()
    }
    elsewhere = {path: rows for mark, rows in alike.items() for path in paths(mark)}

    def own(path: str) -> dict[str, str]:
        return {k: v for k, v in every[path].items() if k not in elsewhere.get(path, {})}

    return {mark: table(mark, alike.get(mark) or own(*paths(mark))) for mark in marks}


def table(mark: str, rows: dict[str, str]) -> str:
    return "\n".join((f"| {mark} | value | default | means |", "|---|---|---|---|", *rows.values()))


def row(model: str, key: str, stated: dict[str, Any]) -> str:
    field = FORMAT[model].model_fields[key]
    means = " ".join(stated["description"].split()).removesuffix(".")
    default = f"`{str(stated['default']).lower()}`" if "default" in stated else ""
    if field.is_required():
        default = "required"
    elif not default and (told := _LEFT_OUT.fullmatch(means)):
        means, default = told.groups()
    fact = AsFact.of(FORMAT[model]).get(key)
    unit = fact.unit if fact else _UNITS.get(key.rpartition("_")[2], "")
    return f"| `{key}` | {value(stated, unit)} | {default} | {means} |"


def value(stated: dict[str, Any], unit: str = "") -> str:  # noqa: PLR0911 - a case each
    """What may stand there, in words."""
    if "$ref" in stated:
        return "keys"
    if "anyOf" in stated:
        return ", or ".join(dict.fromkeys(choices(stated["anyOf"], unit)))
    if "enum" in stated or "const" in stated:
        every = stated.get("enum", [stated.get("const")])
        return ", ".join(f"`{one}`" for one in every) + (f" {unit}" if unit else "")
    kind = stated["type"]
    if kind == "object":
        inner = stated["additionalProperties"]
        return "values by path" if inner is True else f"{value(inner, unit)} by name"
    if kind == "array":
        inner = value(stated["items"])
        return f"list of {'names' if inner in ('name', 'text') else inner}"
    if kind in ("integer", "number"):
        most = stated.get("maximum", 10**5)
        limit = f", at most {most:,}" if most < 10**5 else ""
        return (unit or {"integer": "count", "number": "number"}[kind]) + limit
    if kind == "boolean":
        return "`true`, `false`"
    if "Q[1-4]" in stated.get("pattern", ""):
        return "quarters" if r"\.\." in stated["pattern"] else "quarter"
    return str(stated.get("format", "name" if "maxLength" in stated else "text"))


def choices(every: list[dict[str, Any]], unit: str) -> Iterator[str]:
    first, *others = every
    if any("%" in one.get("pattern", "") for one in others):
        yield "share"
        return
    yield value(first, unit)
    for one in others:
        if one.get("type") == "object":
            yield "by quarter" if "patternProperties" in one else "by key"
        elif value(first) != "quarters":
            yield value(one, unit)


@pytest.fixture(scope="module")
def page(root):
    return (root / "docs" / "scenario.md").read_text(encoding="utf-8")


def test_the_tables_of_keys_are_what_the_models_know(root, page, golden):
    told = tables(page)
    made = _BLOCK.sub(lambda found: f"{told[found[1]]}\n", page)
    golden(root / "docs" / "scenario.md", made)


def test_every_key_of_a_scenario_has_its_table(page):
    found = dict(sections("ScenarioFile", _TOP))
    for path, model in found.items():
        told = "".join(block[0] for block in _BLOCK.finditer(page) if path in paths(block[1]))
        for key in definition(model)["properties"]:
            assert f"\n| `{key}` |" in told, (
                f"docs/scenario.md lacks {path}.{key}: run `make golden`; a section needs the line "
                f"| `{path}` | value | default | means |"
            )
    assert set(found.values()) | {"ScenarioFile"} == set(FORMAT)


def test_a_number_has_its_unit_and_a_choice_its_words(page):
    for part in (
        "| `sequence` | tokens |",
        "| `power_kw` | kW, or by quarter |",
        "| `lead_time_weeks` | weeks, at most 520 | `0` |",
        "| `headroom` | share |",
        "| `kind` | `buy`, `rent`, `reserve`, `hourly` | required |",
        "| `gpu_types` | list of names |",
        "| `site` | name, or list of names | `main` |",
        "| `release` | week, at most 13, or date | `1` |",
    ):
        assert part in page, part


def test_rules_named_as_defaults_exist(page):
    named = re.findall(r"rules? `([\w/*-]+)`", page)
    assert len(named) > 8
    known = load_rules()[0].rules
    for rule in named:
        assert fnmatch.filter(known, rule), rule


def test_the_complete_example_is_valid_and_uses_every_key(root):
    path = root / "docs" / "examples" / "every-key.yaml"
    example = path.read_text(encoding="utf-8")
    assert load_inputs(path).scenario.name == "Every key"
    left_out = {"use", "catalog", "rules", "measured", "gpu_partition", *Variations.model_fields}
    for key in {key for model in FORMAT.values() for key in model.model_fields}:
        used = re.search(rf"\b{key}:", example) is not None
        assert used != (key in left_out), f"use `{key}` in docs/examples/every-key.yaml"
