"""A plan with all that a cluster has a name for: teams, makers, sites, hours, partitions."""

from importlib.util import find_spec

import pytest

from planner.planning.make import make_plan
from tests.stated import asked

# What the extra `measure` brings is of several GB, and no part of the extra `dev`.
collect_ignore = [] if find_spec("torch") and find_spec("peft") else ["test_training_run.py"]

SCENARIO = """\
format: 1
name: A cluster of two sites
horizon: {first_quarter: 2027Q1, quarters: 2, as_of: 2026-07-01}
fleet:
  rack: {node_type: xe9680-h100, count: 2, site: east}
  parts: {node_type: xe9680-h100, count: 1, site: west}
  gaudi: {node_type: xe9680-gaudi3, count: 1, site: east}
  amd: {node_type: xe9680-mi300x, count: 1, site: east}
policies: {mig: same-node}
jobs:
  assistant: {serve: {parameters_b: 1}, count: 10, team: search, sites: [west]}
  ranker: {fixed: {gpus: 2, cpus: 8, memory_gb: 100}, count: 2, team: search, sites: [east],
           gpu_types: [h100-80gb-sxm]}
  first: {fixed: {gpus: 8, cpus: 4, memory_gb: 10}, team: ml, gpu_types: [h100-80gb-sxm],
          sites: [east], run: {hours: 900}}
  second: {fixed: {gpus: 8, cpus: 4, memory_gb: 10}, team: ml, gpu_types: [h100-80gb-sxm],
           sites: [east], run: {hours: 900}}
  chat: {serve: {parameters_b: 10}, gpu_types: [gaudi3-128gb]}
  batch: {fixed: {gpu_memory_gb: 300}, gpu_types: [mi300x-192gb], quarters: 2027Q2, team: ml}
"""


def planned(text):
    """A scenario planned."""
    return make_plan(asked(text))


@pytest.fixture(scope="session")
def plan():
    return planned(SCENARIO)
