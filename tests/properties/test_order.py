"""The same question in another order is the same plan, byte for byte."""

import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.inputs.reading.reader import parse_document
from planner.planning.make import make_plan
from planner.planning.store import dumps
from tests.properties.questions import QUESTIONS, drawing, written
from tests.stated import load_inputs

ROOT = Path(__file__).parents[2]
IN_ORDER = {"apply", "scenarios", "price_breaks", "catalog", "rules", "running"}
"""Lists in which the order says something."""


def shuffled(value: Any, rng: random.Random, key: str = "") -> Any:
    """The same data with keys, and lists that are sets, in another order."""
    if isinstance(value, dict):
        names = list(value)
        rng.shuffle(names)
        return {name: shuffled(value[name], rng, name) for name in names}
    if isinstance(value, list | tuple):
        items = [shuffled(item, rng) for item in value]
        if key not in IN_ORDER:
            rng.shuffle(items)
        return tuple(items)
    return value


@drawing(6)
@given(question=QUESTIONS, seed=st.integers(0, 99))
def test_a_question_in_another_order_is_the_same_plan(planned, question, seed):
    parts = {**question.with_policies(shortage="drop").parts(), "horizon": HORIZON}
    again = shuffled(parts, random.Random(seed))
    assert dumps(planned(written(again))) == dumps(planned(written(parts)))


HORIZON = {"first_quarter": "2027Q1", "quarters": 2, "as_of": "2026-11-23"}


def _text(name: str) -> str:
    if name == "every key":
        return (ROOT / "docs" / "examples" / "every-key.yaml").read_text(encoding="utf-8")
    return (ROOT / "scenarios" / f"{name}.yaml").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["quickstart", "every key"])
def test_another_order_with_line_ends_of_windows_is_the_same_bytes(tmp_path, name):
    path = tmp_path / "scenario.yaml"

    def planned(text: str) -> str:
        path.write_bytes(text.encode())
        return dumps(
            make_plan(load_inputs(path), time_limit_s=30, price_choices=name == "quickstart")
        )

    text = _text(name)
    again = written(shuffled(parse_document(text, "x").data, random.Random(3)))
    assert planned(again.replace("\n", "\r\n")) == planned(text)
