"""`planner risk`, whole."""

import json
from pathlib import Path

FUTURES = """\
format: 1
scenario: scenario.yaml
uncertain:
  growth: {times: [0, 1, 2], of: [jobs.assistant.growth_per_quarter]}
"""


def test_a_run_writes_its_table_data_and_picture_and_carries_on(scenario, run):
    Path("futures.yaml").write_text(FUTURES, encoding="utf-8")
    words = ("risk", "futures.yaml", "--out", "out", "--jobs", "1", "--samples")
    result = run(*words, "3")
    assert result.exit_code == 0, result.stderr
    assert result.stdout.startswith("Risk of Two jobs\n")
    names = sorted(file.name for file in Path("out").iterdir())
    assert names.pop(0) == "purchases-0"
    assert [name for name in names if "purchases" not in name] == [
        "results.jsonl",
        "risk.html",
        "risk.json",
        "risk.md",
        "risk.svg",
    ]
    assert len(json.loads(Path("out/risk.json").read_text(encoding="utf-8"))["costs_cents"]) == 3
    first = Path("out/results.jsonl").read_text(encoding="utf-8").splitlines()
    assert run(*words, "4", "--force").exit_code == 0
    assert Path("out/results.jsonl").read_text(encoding="utf-8").splitlines()[:3] == first


def test_what_is_set_on_the_command_line_holds_in_every_future(scenario, run):
    Path("futures.yaml").write_text(FUTURES, encoding="utf-8")
    words = ("risk", "futures.yaml", "--jobs", "1", "--samples", "2", "--plans", "0")

    def cost(folder, *more):
        assert run(*words, "--out", folder, *more).exit_code == 0
        told = json.loads(Path(folder, "risk.json").read_text(encoding="utf-8"))
        return told["base"]["cost_cents"]

    assert cost("dear", "--set", "finance.pue=2") > cost("as-it-is")
