"""A small scenario with variants, and the sides of comparisons that are made of it."""

from functools import cache
from pathlib import Path

import pytest

from planner.inputs.load import Question
from planner.planning.make import make_plan
from planner.planning.store import dumps, read_saved
from planner.whatif.compare import planned_side
from planner.whatif.variants import (
    CachedRunner,
    ProcessExecutor,
    Variant,
    VariantPlanner,
    WorkerConfig,
)

SCENARIO = """\
format: 1
name: Small
horizon: {first_quarter: 2027Q1, quarters: 2}
fleet:
  own: {node_type: xe9680-h100, count: 1}
offers:
  h100: {node_type: xe9680-h100, kind: buy, price_usd: 300000, quote: Q1, maximum: 3}
  l40s: {node_type: xe7740-l40s, kind: buy, price_usd: 200000, quote: Q2, maximum: 3}
jobs:
  search: {fixed: {gpus: 1}, count: {2027Q1: 6, 2027Q2: 6}}
  talk: {fixed: {gpus: 4}, gpu_types: [h100-80gb-sxm], count: {2027Q2: 1}}
overrides:
  dear: {offers.l40s.price_usd: 240000}
  busy: {jobs.search.count.2027Q2: 20}
  crowd: {jobs.talk.count.2027Q2: 30}
  room: {delete: [offers.h100.maximum]}
  unpriced: {delete: [offers.l40s.price_usd, offers.l40s.quote]}
  frugal: {finance.pue: 1.9}
  newer: {replace: {fleet.own: {node_type: xe9680-h100, count: 2}}}
  later: {horizon.quarters: 1, replace: {jobs.search.count: 6}, delete: [jobs.talk]}
  tight: {policies.shortage: drop, jobs.search.required: true, offers.l40s.maximum: 0,
          offers.h100.maximum: 0}
scenarios:
  everything: [dear, busy, frugal, newer]
  growth: [crowd, room]
"""


def planner_of(folder: Path, text: str) -> VariantPlanner:
    """Plans variants of a scenario with this text."""
    file = folder / "scenario.yaml"
    file.write_text(text, encoding="utf-8")
    return VariantPlanner(WorkerConfig(file))


def runner_of(planner: VariantPlanner, asked: Variant = Variant()) -> CachedRunner:  # noqa: B008
    """Plans them in this process."""
    return CachedRunner(planner, ProcessExecutor(planner, 1), asked, lambda _: None)


@pytest.fixture(scope="session")
def path(tmp_path_factory) -> Path:
    """The scenario as a file."""
    file: Path = tmp_path_factory.mktemp("small") / "small.yaml"
    file.write_text(SCENARIO, encoding="utf-8")
    return file


@pytest.fixture(scope="session")
def planned(path):
    """`planned("dear", "busy")`: a side with these overrides, planned once."""
    question = Question(path)

    @cache
    def side(*variations):
        label = "+".join(variations) or "base"
        return planned_side(label, question.inputs(variations), make_plan)

    return side


@pytest.fixture(scope="session")
def saved(planned):
    """`saved("dear")`: the same side, from its plan.json."""

    def side(*variations):
        made = planned(*variations)
        return read_saved(dumps(made.plan), f"{made.label}.json")

    return side
