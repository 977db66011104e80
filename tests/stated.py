"""A scenario of a test as a file, read with all that it stands on."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar, cast

import pytest
import yaml

import planner
from planner.inputs.load import Question
from planner.inputs.override import Override
from planner.inputs.settled import Inputs

Test = TypeVar("Test", bound=Callable[..., None])


def load_inputs(
    scenario: Path,
    *,
    catalog: Sequence[Path] = (),
    rules: Sequence[Path] = (),
    variations: Sequence[str] = (),
    settings: Sequence[str] = (),
) -> Inputs:
    """Read a scenario with all that it stands on: shipped files, its `use:` files, given files.

    `variations` are names of its overrides and scenarios, `settings` are written `path=value`;
    both are applied in order. Raises InputError with all mistakes of all files, each in its place.
    """
    overrides = tuple(map(Override.parse, settings))
    return Question(scenario, catalog=catalog, rules=rules).inputs(variations, overrides)


def changed(model: Any, **changes: Any) -> Any:
    """A copy in which some fields differ; nothing is checked again."""
    return model.model_copy(update=changes)


def edited(text: str, *changes: tuple[str, str]) -> str:
    """The text with some of its words, which stand in it, exchanged."""
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new)
    return text


def stated(folder: Path, scenario: str | dict[str, Any]) -> Inputs:
    """The inputs of a scenario, text or data, in a file of this folder."""
    if not isinstance(scenario, str):
        scenario = yaml.safe_dump(json.loads(json.dumps(scenario)))  # without anchors
    path = folder / "scenario.yaml"
    path.write_text(scenario, encoding="utf-8")
    return load_inputs(path)


def asked(scenario: str | dict[str, Any]) -> Inputs:
    """The inputs of a scenario, text or data, that stands on shipped files alone."""
    return planner.load(scenario)._inputs


def table(path: str) -> Callable[[Test], Test]:
    """Gives a test the rows that stand under its name in the YAML file beside its module.

    Each row names the arguments of the test, which are empty text where it names them not; `case`,
    if it is there, is what the row is called.
    """

    def parametrized(test: Test) -> Test:
        every = yaml.safe_load(Path(path).with_suffix(".yaml").read_text(encoding="utf-8"))
        rows = every[test.__name__.removeprefix("test_")]
        cases = [row.pop("case", None) for row in rows]
        names = tuple(dict.fromkeys(name for row in rows for name in row))
        values = [tuple(row.get(name, "") for name in names) for row in rows]
        mark = pytest.mark.parametrize(names, values, ids=cases if any(cases) else None)
        return cast("Test", mark(test))

    return parametrized


def question(quarters: int = 1, as_of: str = "") -> dict[str, Any]:
    """What every scenario begins with, as data: so many quarters, from 2027Q1 on."""
    horizon = {"first_quarter": "2027Q1", "quarters": quarters}
    return {"format": 1, "name": "Asked", "horizon": horizon | ({"as_of": as_of} if as_of else {})}


def own_nodes(**types: dict[str, Any]) -> str:
    """A catalog of node types: of 8 GPUs, 64 cores and 1,024 GB, unless they say otherwise."""
    usual = {"gpus": 8, "cpu_cores": 64, "host_memory_gb": 1024}
    nodes = {
        name: {"vendor": "maker", "product": name.title()}
        | {
            key: value if key == "gpu_type" else {"value": value, "source": "maker"}
            for key, value in {**usual, **figures}.items()
        }
        for name, figures in types.items()
    }
    return yaml.safe_dump({"sources": {"maker": {"title": "Data sheet"}}, "nodes": nodes})
