"""A small catalog and rule book of our own, so that shipped data may grow without these tests."""

from pathlib import Path

import pytest

from planner.inputs.catalog.decoder import model_types

HERE = Path(__file__).parent

SCENARIO = """\
format: 1
name: Example
horizon: {first_quarter: 2027Q1, quarters: 4}
offers:
  more: {node_type: eight-h100, kind: buy}
jobs:
  chat:
    serve: {model: small-8b}
  tune-chat:
    tune: {model: small-8b, method: lora, batch: 8, sequence: 4096}
"""


@pytest.fixture
def small_world(monkeypatch):
    """Stand in for the shipped catalog and rules; how configurations are read stays."""
    model_types()
    monkeypatch.setattr(
        "planner.inputs.reading.locate.shipped", lambda kind: HERE / "shipped" / kind
    )


@pytest.fixture
def scenario_text():
    return SCENARIO


@pytest.fixture
def write(tmp_path):
    """Write a file below a fresh folder and give its path."""

    def write(content, name="scenario.yaml"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write
