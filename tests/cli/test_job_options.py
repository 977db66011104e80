"""The options of `planner size` that describe a job are the fields of the job."""

from __future__ import annotations

from typing import Any, get_args

import pytest

from planner.cli.jobs import _OPTIONS
from planner.inputs.base import AsFact
from planner.inputs.scenario.job import Adapters, Latency, Load, Serve, Tune

SECTIONS = {"adapters": Adapters, "load": Load, "latency": Latency}
UNITS = {"TOKENS": "tokens", "HOURS": "h", "GB": "GB", "MS": "ms"}
WITHOUT_OPTION = {"gpu_partition"}
"""A partition is asked for in a scenario alone."""
PLACES = [
    (option, model, key)
    for option in _OPTIONS
    for model, key in ((Tune, option.tune), (Serve, option.serve))
    if key
]


def place(model: type, key: str) -> tuple[Any, str]:
    outer, dot, inner = key.partition(".")
    return (SECTIONS[outer], inner) if dot else (model, outer)


def leaves(annotation: Any) -> list[Any]:
    return [leaf for one in get_args(annotation) for leaf in leaves(one)] or [annotation]


@pytest.mark.parametrize(("option", "model", "key"), PLACES)
def test_an_option_fills_a_field_of_the_job_in_its_words_and_unit(option, model, key):
    section, name = place(model, key)
    types = leaves(section.model_fields[name].annotation)
    marked = AsFact.of(section).get(name)
    words = [one for one in types if isinstance(one, str)]
    if words and "|" in option.metavar:
        shown = option.metavar.split("|")
        assert set(shown) - {"…"} <= set(words)
        assert "…" in shown or len(shown) == len(words)
    elif bool in types:
        assert option.metavar == "true|false"
    elif marked is not None and option.metavar in UNITS:
        assert marked.unit == UNITS[option.metavar]


@pytest.mark.parametrize("model", [Tune, Serve, Adapters, Load, Latency])
def test_every_field_that_rules_ask_for_has_an_option(model):
    filled = {
        name for _, kind, key in PLACES for section, name in [place(kind, key)] if section is model
    }
    assert set(AsFact.of(model)) - WITHOUT_OPTION <= filled
