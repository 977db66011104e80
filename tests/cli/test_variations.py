"""`--scenario`, `--set` and `check --resolved`, as a user meets them."""

import json
import re
from pathlib import Path


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


def test_one_scenario_is_resolved_at_a_time(varied, run):
    result = run("check", varied, varied, "--resolved")
    assert result.exit_code == 2
    assert "one scenario at a time" in result.stderr


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


def test_an_empty_name_is_a_usage_error(varied, run):
    result = run("plan", varied, "--scenario", "two,")
    assert result.exit_code == 2
    assert "a name is empty" in result.stderr


def test_what_the_base_applies_already_is_not_applied_once_more(varied, run):
    text = varied.read_text(encoding="utf-8").replace("price_usd: 400000", "price_usd: +10%")
    varied.write_text(f"{text}apply: [dear]\n", encoding="utf-8")
    again = Path("again.yaml")
    again.write_text(f"extends: {varied.name}\napply: [dear]\n", encoding="utf-8")
    once, twice = (run("check", path, "--resolved").stdout for path in (varied, again))
    prices = [re.findall(r"price_usd: (\d+)", printed) for printed in (once, twice)]
    assert prices[0] == prices[1] != []
