"""A folder with a scenario and its plan, and the pages of it, in this process."""

import shutil
import time
from contextlib import chdir
from urllib.parse import urlencode

import pytest
from starlette.testclient import TestClient

import planner
from planner.view.app import Viewer
from planner.view.study import Study

HOST = "127.0.0.1:8000"
SCENARIO = """\
format: 1
name: Two jobs
horizon: {first_quarter: 2027Q1, quarters: 2, as_of: 2026-06-01}
fleet:
  east: {node_type: xe9680-h100, count: 1}
offers:
  h200: {node_type: xe9680-h200, kind: buy, lead_time_weeks: 8, maximum: 4}
  "l40s.spot": {node_type: r760xa-l40s, kind: rent, maximum: 4}
policies: {headroom: 10%}
budget: {capex_usd: {2027Q2: 1500000}, total_usd: 3000000}
apis:
  house: {model: phi-4, usd_per_million_input_tokens: 1, usd_per_million_output_tokens: 3}
jobs:
  assistant:
    serve: {parameters_b: 10, adapters: {count: 2, size_gb: 0.125}, replicas: 6}
    growth_per_quarter: 100%
  invoices:
    serve: {model: phi-4, bits: 8, context: 4096,
            load: {requests_per_second: 3, input_tokens: 3000, output_tokens: 300}}
  claims:
    tune: {model: llama-3.1-70b, method: lora, sequence: 1024, batch: 32}
overrides:
  two: {fleet.east.count: 2}
  nothing: {delete: [fleet.east, offers.h200]}
"""

SMALL = """\
format: 1
name: One job
horizon: {first_quarter: 2027Q1, quarters: 1, as_of: 2026-06-01}
offers: {h200: {node_type: xe9680-h200, kind: buy}}
jobs: {chat: {serve: {model: llama-3.1-8b}}}
"""


@pytest.fixture(scope="session")
def planned(tmp_path_factory):
    """Made once: `scenario.yaml` with its plan in `out`, and `small.yaml` with one in `small`."""
    folder = tmp_path_factory.mktemp("planned")
    (folder / "scenario.yaml").write_text(SCENARIO, encoding="utf-8")
    (folder / "small.yaml").write_text(SMALL, encoding="utf-8")
    with chdir(folder):
        planner.plan("scenario.yaml").write("out")
        planner.plan("small.yaml").write("small")
    return folder


@pytest.fixture
def folder(planned, tmp_path, monkeypatch):
    """The same, to be changed by one test; it is the current folder."""
    path = tmp_path / "study"
    shutil.copytree(planned, path)
    monkeypatch.chdir(path)
    return path


@pytest.fixture(scope="session")
def opened(planned):
    """The plan as it was read once, by what tells it from another."""
    with chdir(planned):
        study = Study()
        study.open("out/plan.json")
    return study._opened


@pytest.fixture
def view(folder, opened):
    """The pages of the folder."""
    assert folder.is_dir()
    made = Viewer("token")
    made.study._opened.update(opened)
    yield made
    made.study.stop()


@pytest.fixture
def client(view):
    """Asks as a browser would."""
    headers = {"origin": f"http://{HOST}"}
    with TestClient(view.app, base_url=f"http://{HOST}", headers=headers) as asking:
        yield asking


@pytest.fixture
def get(client):
    """`get("plan", of="out/plan.json")`: the page's text, which is no error."""

    def got(page="", status=200, **fields):
        answer = client.get(f"/token/{page}", params=urlencode(fields, doseq=True) or None)
        assert answer.status_code == status, answer.text
        return answer.text

    return got


@pytest.fixture
def post(client):
    """`post("what-if", of="scenario.yaml", price="15")`: the answer, to where it leads or not."""

    def sent(page, **fields):
        data = urlencode(fields, doseq=True).encode()
        return client.post(f"/token/{page}", content=data, follow_redirects=False)

    return sent


@pytest.fixture
def came(client, view):
    """What came of a task that was just begun: its run, and the address that it leads to."""

    def waited(answer):
        assert answer.status_code == 303, answer.text
        run = view.study.run(answer.headers["location"].removeprefix("run?id="))
        until = time.monotonic() + 300
        while not run.is_over and time.monotonic() < until:
            time.sleep(0.02)
        shown = client.get(f"/token/run?id={run.name}", follow_redirects=False)
        return run, shown

    return waited
