"""What a plan comes to where the file is sound and the question is not: exit code and words."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
HEAD = "format: 1\nname: Outcome\nhorizon: {first_quarter: 2027Q1, quarters: 2}\n"
OWNED = "fleet:\n  east: {node_type: xe9680-h100, count: 1}\n"
OFFER = "offers:\n  h200: {node_type: xe9680-h200, kind: buy}\n"
FIXED = "jobs:\n  t:\n    fixed: {gpus: 8}\n    count: 3\n"


def job(text):
    return f"{HEAD}{OWNED}{OFFER}jobs:\n  t:\n    {text}\n"


def offer(text, jobs=FIXED):
    return f"{HEAD}{OWNED}offers:\n  h200: {{node_type: xe9680-h200, {text}}}\n{jobs}"


def tune(text):
    return job(f"tune: {{model: llama-3.1-8b, {text}}}")


REFUSED_BY_PROOF = {
    "tuning where only Gaudi 3 is allowed": (
        f"{HEAD}offers:\n  gaudi: {{node_type: xe9680-gaudi3, kind: buy}}\njobs:\n  t:\n"
        "    tune: {model: llama-3.1-8b, method: lora}\n    gpu_types: [gaudi3-128gb]\n",
        ["(exclusions/no-tuning-on-gaudi3)"],
    ),
    "tuning on a partition": (
        tune("method: lora, gpu_partition: 1g.10gb"),
        ["cannot be partitioned", "(exclusions/no-tuning-on-partitioned-gpu)"],
    ),
    "LoRA on a quantized base": (
        tune("method: lora, base_bits: 4"),
        ["(exclusions/lora-needs-unquantized-base)", "use qlora"],
    ),
    "QLoRA on an unquantized base": (
        tune("method: qlora, base_bits: 16"),
        ["(exclusions/qlora-needs-quantized-base)", "use lora"],
    ),
    "a model that fits nothing": (
        job("tune: {parameters_b: 5000, method: full}"),
        ["needs 1,056 GPUs of this type, more than the 64"],
    ),
    "more GPUs than a node without a fabric": (
        job("fixed: {gpus: 9}"),
        ["9 GPUs, which is not a whole number of nodes of 8", "8 or 16 GPUs"],
    ),
    "no GPU type allowed": (
        job("fixed: {gpus: 1}")
        + "policies: {excluded_gpu_types: [h100-80gb-sxm, h200-141gb-sxm]}\n",
        ["h100-80gb-sxm: the scenario excludes it", "h200-141gb-sxm: the scenario excludes it"],
    ),
    "nothing in time": (
        offer("kind: buy, lead_time_weeks: 20"),
        ["t: 2 of 3 units without room", "arrives after the horizon"],
    ),
    "no budget": (
        f"{HEAD}{OWNED}{OFFER}budget: {{total_usd: 0}}\n{FIXED}",
        ["spending in total is $0", "raise spending in total by $"],
    ),
}


@pytest.mark.parametrize("case", REFUSED_BY_PROOF)
def test_what_no_plan_can_do_exits_with_3_and_names_rule_limit_and_remedy(scenario, run, case):
    text, words = REFUSED_BY_PROOF[case]
    scenario.write_text(text, encoding="utf-8")
    result = run("plan", scenario)
    assert (result.exit_code, result.stdout) == (3, ""), result.output
    told = " ".join(result.stderr.split())
    assert all(word in told for word in words), told


WORTH_A_LOOK = {
    "a price per GPU for one per node": (
        offer("kind: buy, price_usd: 40000"),
        "the price of h200, $40,000, is far from the $",
    ),
    "a price per node and hour for one per GPU": (
        offer("kind: rent, price_usd_per_gpu_hour: 31"),
        "the price of h200, $31, is far from the $",
    ),
    "a discount rate of 500 %": (
        f"{job('fixed: {gpus: 1}')}finance: {{discount_rate_per_year: 500%}}\n",
        "a discount rate of 500 % a year",
    ),
    "no headroom": (
        f"{job('fixed: {gpus: 1}')}policies: {{headroom: 0}}\n",
        "no GPU memory is kept free beyond the margins",
    ),
    "steep growth": (
        job("fixed: {gpus: 1}\n    growth_per_quarter: 3000%"),
        "t grows by 3000 % in each quarter",
    ),
    "a need that leaves hardly any memory": (
        job("fixed: {gpu_memory_gb: 79.8}"),
        "on h100-80gb-sxm: the 79.8 GB that the job states leave less free than",
    ),
    "a count that seems to hold until the next": (
        job("fixed: {gpus: 1}\n    count: {2027Q1: 1, 2027Q3: 2}").replace("s: 2}", "s: 3}"),
        "t has no unit in 2027Q2, which its count leaves out",
    ),
    "a price of energy in cents": (
        f"{job('fixed: {gpus: 1}')}finance: {{energy_usd_per_kwh: 14.6}}\n",
        "14.6 USD/kWh are far above the 0.146 USD/kWh of the rule policies/energy-price",
    ),
    "a life in months": (
        f"{job('fixed: {gpus: 1}')}finance: {{useful_life_years: 60}}\n",
        "60 years are far above the 5 years of the rule policies/useful-life",
    ),
    "power of a site in W": (
        f"{job('fixed: {gpus: 1}')}sites: {{main: {{power_kw: {{2027Q1: 60000}}}}}}\n",
        "60,000 kW are over a thousand times what nodes there draw (10.2 kW)",
    ),
    "power of a rack in W": (
        job("fixed: {gpus: 1}")
        + "sites: {main: {racks: {count: 4, units: 42, power_kw: 30000}}}\n",
        "30,000 kW are over a thousand times what nodes there draw (10.2 kW)",
    ),
    "an old price": (
        offer("kind: buy, price_usd: 300000, price_date: 2026-06-30"),
        "the price of h200 is of 2026-06-30, 185 days before",
    ),
}


@pytest.mark.parametrize("case", WORTH_A_LOOK)
def test_a_figure_that_is_seldom_meant_is_planned_with_a_warning(scenario, run, case):
    text, words = WORTH_A_LOOK[case]
    scenario.write_text(text, encoding="utf-8")
    result = run("plan", scenario, "--format", "json")
    assert result.exit_code == 0, result.stderr
    assert any(words in note["text"] for note in json.loads(result.stdout)["warnings"])


CONFIG = {
    "model_type": "llama",
    "hidden_size": 4096,
    "intermediate_size": 14336,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "vocab_size": 128256,
    "max_position_embeddings": 8192,
    "tie_word_embeddings": False,
}


@pytest.mark.parametrize("method", ["tune", "serve"])
@pytest.mark.parametrize(("factor", "exit_code"), [(8, 0), (2, 2), (None, 2)])
def test_more_tokens_than_a_model_takes_need_a_declared_scaling_and_are_told(
    scenario, run, method, factor, exit_code
):
    config = CONFIG | ({"rope_scaling": {"type": "yarn", "factor": factor}} if factor else {})
    Path("config.json").write_text(json.dumps(config), encoding="utf-8")
    Path("own.yaml").write_text("models: {own: {config: config.json}}", encoding="utf-8")
    needs = {
        "tune": "tune: {model: own, method: lora, sequence: 65536, batch: 8}",
        "serve": "serve: {model: own, context: 65536, concurrency: 2}",
    }
    scenario.write_text(job(needs[method]), encoding="utf-8")
    result = run("plan", scenario, "--catalog", "own.yaml", "--format", "json")
    assert result.exit_code == exit_code, result.stderr
    if exit_code:
        assert "65,536 tokens are more than own takes" in result.stderr
    else:
        assert "65,536 tokens, its model is built for 8,192: its rope scaling" in result.stdout


def test_what_is_worth_a_look_is_a_policy_that_a_house_may_change(scenario, run):
    shipped = (ROOT / "rules" / "policies.yaml").read_text(encoding="utf-8")
    (steep,) = (rule for rule in shipped.split("\n\n") if "policies/steep-growth:" in rule)
    own = f"rules:\n{steep}\n".replace("value: 2\n", "value: 40\n")
    Path("own.yaml").write_text(own.replace("expect: 2\n", "expect: 40\n"), encoding="utf-8")
    text, words = WORTH_A_LOOK["steep growth"]
    scenario.write_text(text, encoding="utf-8")
    result = run("plan", scenario, "--rules", "own.yaml", "--format", "json")
    assert words not in result.stdout


def test_usual_figures_are_not_remarked_on(scenario, run):
    roomy = "jobs:\n  t:\n    fixed: {gpu_memory_gb: 74}\n"
    roomy += "    count: {2027Q1: 1, 2027Q2: 0, 2027Q3: 1}\n"
    roomy += "  twice:\n    tune: {model: llama-3.1-8b, method: lora}\n"
    roomy += "    count: {2027Q1: 1, 2027Q3: 1}\n"
    text = offer("kind: buy, price_usd: 300000", roomy).replace("quarters: 2}", "quarters: 3}")
    scenario.write_text(text, encoding="utf-8")
    warnings = json.loads(run("plan", scenario, "--format", "json").stdout)["warnings"]
    told = [note["text"] for note in warnings]
    assert not any("far from" in text or "less free" in text or "no unit" in text for text in told)


def test_names_like_paths_and_devices_are_data(scenario, run):
    names = ["../../x", "CON", "a/b", "con.txt", ".", "=1+1", "<script>"]
    jobs = "".join(f"  '{name}':\n    fixed: {{gpus: 1}}\n" for name in names)
    scenario.write_text(f"{HEAD}{OWNED}jobs:\n{jobs}", encoding="utf-8")
    result = run("plan", scenario, "--out", "out")
    assert result.exit_code == 0, result.stderr
    saved = json.loads((scenario.parent / "out" / "plan.json").read_text(encoding="utf-8"))
    assert {one["name"] for one in saved["jobs"]} == set(names)
    assert sorted(path.name for path in Path("out").iterdir()) == ["plan.json", "plan.md"]
    assert sorted(path.name for path in Path().iterdir()) == ["out", "scenario.yaml"]


def test_owned_nodes_cost_no_capital(scenario, run):
    scenario.write_text(f"{HEAD}{OWNED}jobs:\n  t:\n    fixed: {{gpus: 8}}\n", encoding="utf-8")
    plan = json.loads(run("plan", scenario, "--format", "json").stdout)
    assert plan["acquisitions"] == []
    assert {line["name"] for line in plan["costs"] if any(line["cents"])} == {"energy"}


RULE = """\
rules:
  house/{name}:
    title: House rule
    kind: exclusion
    applies: {{gpu_family: {family}}}
    message: not in this house
    sources: [{{title: House rule, read: 2026-11-21}}]
    examples: [{{name: Refused, given: {{gpu_family: {family}}}, expect: true}}]
"""


def test_a_rule_of_the_users_that_matches_nothing_is_warned_of(scenario, run):
    for name, family in (("heard", "l40s"), ("silent", "h300")):
        text = RULE.format(name=name, family=family)
        Path(f"{name}.yaml").write_text(text, encoding="utf-8")
    rules = ("--rules", "heard.yaml", "--rules", "silent.yaml")
    result = run("plan", scenario, *rules, "--format", "json")
    assert result.exit_code == 0, result.stderr
    warnings = [note["text"] for note in json.loads(result.stdout)["warnings"]]
    assert [text for text in warnings if text.startswith("your rule")] == [
        "your rule house/silent applied to no job here"
    ]


def test_a_formula_that_divides_by_zero_is_told_with_its_rule(scenario, run):
    rule = RULE.format(name="zero", family="h100").replace(
        "message:", "inputs: {gpu_memory_gb: GB}\n    formula: gpu_memory_gb / 0 > 1\n    message:"
    )
    Path("zero.yaml").write_text(rule, encoding="utf-8")
    scenario.write_text(job("fixed: {gpus: 1}"), encoding="utf-8")
    result = run("plan", scenario, "--rules", "zero.yaml")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "house/zero: the formula divides by zero with gpu_memory_gb = 80" in result.stderr


def test_a_discount_rate_of_nothing_is_taken_as_it_is(scenario, run):
    text = f"{job('fixed: {gpus: 1}')}finance: {{discount_rate_per_year: 0}}\n"
    scenario.write_text(text, encoding="utf-8")
    plan = json.loads(run("plan", scenario, "--format", "json").stdout)
    rate = next(one for one in plan["settings"] if one["name"] == "discount_rate_per_year")
    assert (rate["value"], rate["origin"]) == (0, "scenario")
    assert not any("discount" in note["text"] for note in plan["warnings"])


def test_two_rules_that_leave_no_gpu_type_are_both_named(scenario, run):
    for name, family in (("one", "h100"), ("two", "h200")):
        text = RULE.format(name=name, family=family)
        Path(f"{name}.yaml").write_text(text, encoding="utf-8")
    scenario.write_text(job("fixed: {gpus: 1}"), encoding="utf-8")
    result = run("plan", scenario, "--rules", "one.yaml", "--rules", "two.yaml")
    assert result.exit_code == 3
    assert "(house/one)" in result.stderr
    assert "(house/two)" in result.stderr
