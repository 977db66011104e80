"""`--scenario`, `--set` and `check --resolved`; scenarios without jobs."""

import json
import re
from pathlib import Path

import pytest


def test_the_plan_lists_what_was_changed_and_by_what(varied, run):
    words = ("plan", varied, "--scenario", "two,dear", "--set", "finance.pue=1.5")
    result = run(*words)
    assert result.exit_code == 0, result.stderr
    section = result.stdout.partition("── Changes to the scenario")[2].partition("── ")[0]
    rows = [" ".join(line.split()) for line in section.splitlines()]
    assert "fleet.east.count 1 2 override two" in rows
    assert "offers.h200.price_usd not stated 400000 override dear" in rows
    assert "finance.pue not stated 1.5 --set" in rows
    changes = json.loads(run(*words, "--format", "json").stdout)["changes"]
    assert changes[0] == {
        "path": "fleet.east.count",
        "before": "1",
        "after": "2",
        "by": "override two",
    }


def test_the_resolved_scenario_is_a_scenario(varied, run):
    printed = run("check", varied, "--scenario", "stress", "--resolved")
    assert printed.exit_code == 0
    Path("resolved.yaml").write_text(printed.stdout, encoding="utf-8")
    plans = [
        json.loads(run("plan", *words, "--format", "json").stdout)
        for words in ((varied, "--scenario", "stress"), ("resolved.yaml",))
    ]
    for plan in plans:
        del plan["provenance"], plan["changes"], plan["question"]
    assert plans[0] == plans[1]


def test_check_tries_every_override_of_a_file(varied, run):
    good = run("check", varied)
    assert good.stdout.endswith("varied by two, dear, nothing and stress\n")
    text = varied.read_text(encoding="utf-8").replace("400000", "cheap")
    varied.write_text(text, encoding="utf-8")
    bad = run("check", varied)
    assert bad.exit_code == 2
    assert "offers.h200.price_usd: 'cheap' is not a number" in bad.stderr
    assert bad.stderr.endswith("1 mistake\n")


def test_an_override_that_needs_another_is_tried_with_it(varied, run):
    more = "  far: {jobs.claims.sites: [far]}\n  site: {fleet.east.site: far}\n"
    text = varied.read_text(encoding="utf-8")
    text = text.replace("scenarios:", f"{more}scenarios:\n  moved: [site, far]")
    varied.write_text(text, encoding="utf-8")
    assert run("check", varied).exit_code == 0


def test_what_the_base_applies_already_is_not_applied_once_more(varied, run):
    text = varied.read_text(encoding="utf-8").replace("price_usd: 400000", "price_usd: +10%")
    varied.write_text(f"{text}apply: [dear]\n", encoding="utf-8")
    again = Path("again.yaml")
    again.write_text(f"extends: {varied.name}\napply: [dear]\n", encoding="utf-8")
    once, twice = (run("check", path, "--resolved").stdout for path in (varied, again))
    prices = [re.findall(r"price_usd: (\d+)", printed) for printed in (once, twice)]
    assert prices[0] == prices[1] != []


EMPTY = """\
format: 1
name: Empty
horizon: {first_quarter: 2027Q1, quarters: 2, as_of: 2026-11-23}
fleet: {own: {node_type: xe9680-h100, count: 2}}
offers:
  buy: {node_type: xe9680-h200, kind: buy, price_usd: 340000, quote: q}
  rent: {node_type: xe9680-h200, kind: rent, price_usd_per_gpu_hour: 5, quote: q}
finance: {energy_usd_per_kwh: 0.1, pue: 1}
jobs: {}
"""


LIMITED = (
    EMPTY
    + """\
sites: {main: {power_kw: 60, racks: {count: 3, units: 42, power_kw: 31}, spare_nodes: 1}}
teams: {red: {quota_gpus: 8}}
budget: {capex_usd: 100, total_usd: {2027Q1: 20000, total: 100000}}
policies: {spare_nodes: 2, growth_reserve: {h200-141gb-sxm: 10%}, shortage: drop,
           mig: same-node, shared_gpus: true}
"""
)


@pytest.fixture
def empty(scenario):
    scenario.write_text(EMPTY, encoding="utf-8")
    return scenario


@pytest.mark.parametrize("text", [EMPTY, LIMITED], ids=["plain", "limited"])
def test_nothing_is_bought_and_owned_nodes_cost_their_energy(scenario, run, text):
    scenario.write_text(text, encoding="utf-8")
    result = run("plan", scenario, "--out", "out")
    assert result.exit_code == 0, result.stderr
    said = " ".join(result.stdout.split())
    assert "Buy and rent nothing, as the scenario has no jobs, for $" in said
    assert "The scenario has no jobs." in said
    plan = json.loads(Path("out/plan.json").read_text(encoding="utf-8"))
    assert plan["proof"]["status"] == "proved"
    assert plan["acquisitions"] == []
    paid = {line["name"]: line["cents"] for line in plan["costs"]}
    assert paid == {"energy": [311200, 311200]}  # each node 7.105 kW × 2,190 h × $0.10


def test_every_command_answers_for_a_scenario_without_jobs(empty, run):
    assert run("plan", empty, "--out", "out").exit_code == 0
    Path("grid.yaml").write_text(
        f"format: 1\nscenario: {empty.name}\ngrid: {{set: {{finance.pue: [1.2, 1.4]}}}}\n",
        encoding="utf-8",
    )
    Path("futures.yaml").write_text(
        f"format: 1\nscenario: {empty.name}\n"
        "uncertain: {energy: {times: [0.5, 1, 2], of: [finance.energy_usd_per_kwh]}}\n",
        encoding="utf-8",
    )
    plan = "out/plan.json"
    commands = (
        ("check", empty),
        ("check", "--resolved", empty),
        ("plan", empty, "--crosscheck"),
        ("report", plan, "--out", "report"),
        ("replay", plan),
        ("compare", plan, empty, "--exit-code"),
        ("alternatives", empty, "--jobs", "1", "--out", "alternatives"),
        ("sensitivity", empty, "--jobs", "1", "--out", "sensitivity"),
        ("sweep", "grid.yaml", "--jobs", "1", "--out", "sweep"),
        ("risk", "futures.yaml", "--samples", "1", "--jobs", "1", "--out", "risk"),
        ("export", "watsonx", plan, "--out", "export"),
        ("export", "kueue", plan, "--out", "export"),
        ("export", "kubernetes", plan, "--out", "export"),
        ("export", "portfolio", empty, "--out", "export"),
    )
    for command in commands:
        result = run(*command)
        assert result.exit_code == 0, (command, result.stdout + result.stderr)
    unknown = run("explain", plan, "chat")
    assert unknown.exit_code == 2
    assert "the plan has no job 'chat', nor any other" in unknown.stderr


def test_an_override_may_take_every_job_away_but_not_the_key(scenario, run):
    scenario.write_text(EMPTY.replace("{}", "{chat: {fixed: {gpus: 1}}}"), encoding="utf-8")
    ways = (("none", "replace: {jobs: {}}", 0), ("gone", "delete: [jobs]", 2))
    for name, change, exit_code in ways:
        text = f"extends: {scenario.name}\napply: [x]\noverrides: {{x: {{{change}}}}}\n"
        Path(f"{name}.yaml").write_text(text, encoding="utf-8")
        assert run("plan", f"{name}.yaml").exit_code == exit_code
