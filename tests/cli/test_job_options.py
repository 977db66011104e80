"""The options of `planner size` that describe a job are the keys that rules ask for."""

from __future__ import annotations

from typing import Any, get_args

import pytest

from planner.cli.size import OPTIONS
from planner.inputs.base import AsFact
from planner.inputs.scenario.job import Adapters, Serve, Tune
from planner.inputs.scenario.load import Load

WITHOUT_OPTION = {"gpu_partition"}
"""A partition is asked for in a scenario alone."""


def leaves(annotation: Any) -> list[Any]:
    return [leaf for one in get_args(annotation) for leaf in leaves(one)] or [annotation]


@pytest.mark.parametrize(("model", "outer"), [(Tune, ""), (Serve, ""), (Adapters, "adapters.")])
def test_every_key_that_rules_ask_for_has_an_option_in_its_words(model, outer):
    options = {option.tune if model is Tune else option.serve: option for option in OPTIONS}
    for key, fact in AsFact.of(model).items():
        if key in WITHOUT_OPTION:
            continue
        option = options[f"{outer}{key}"]
        assert fact.meaning in option.help
        types = leaves(model.model_fields[key].annotation)
        words = list(dict.fromkeys(str(one) for one in types if isinstance(one, str | int)))
        asked = {"tokens": "TOKENS", "h": "HOURS", "GB": "GB"}.get(fact.unit, "NUMBER")
        assert option.metavar == ("true|false" if bool in types else "|".join(words) or asked)


def test_the_load_of_a_serving_job_has_its_options():
    options = {option.serve: option.name for option in OPTIONS}
    assert {f"load.{key}": key for key in AsFact.of(Load)}.items() <= options.items()


def test_no_two_keys_share_an_option():
    names = [option.name for option in OPTIONS]
    assert len(names) == len(set(names))
    assert {"rank", "adapters", "adapter_gb", "model"} <= set(names)
