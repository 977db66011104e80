"""What a plan comes to where the file is sound and the question is not: exit code and words."""

import json
from pathlib import Path

import pytest
import yaml

import planner

ROOT = Path(__file__).parents[2]
HEAD = "format: 1\nname: Outcome\nhorizon: {first_quarter: 2027Q1, quarters: 2}\n"
OWNED = "fleet:\n  east: {node_type: xe9680-h100, count: 1}\n"
OFFER = "offers:\n  h200: {node_type: xe9680-h200, kind: buy}\n"


def job(text):
    return f"{HEAD}{OWNED}{OFFER}jobs:\n  t:\n    {text}\n"


BASE = yaml.safe_load(job("fixed: {gpus: 1}"))
REFUSED, DOUBTFUL = (
    yaml.safe_load(Path(__file__).with_name(name).read_text(encoding="utf-8"))
    for name in ("refused.yaml", "doubtful.yaml")
)


@pytest.mark.parametrize("case", REFUSED)
def test_what_no_plan_can_do_exits_with_3_and_names_rule_limit_and_remedy(scenario, run, case):
    sections = {**REFUSED[case]}
    says = sections.pop("says")
    scenario.write_text(yaml.safe_dump({**BASE, **sections}), encoding="utf-8")
    result = run("plan", scenario)
    assert (result.exit_code, result.stdout) == (3, ""), result.output
    told = " ".join(result.stderr.split())
    assert [words for words in says if words not in told] == []


@pytest.mark.parametrize("case", DOUBTFUL)
def test_a_figure_that_is_seldom_meant_is_planned_with_a_warning(case):
    sections = {**DOUBTFUL[case]}
    says, silent_of = (sections.pop(key, []) for key in ("says", "silent of"))
    told = "\n".join(planner.plan({**BASE, **sections}).warnings)
    assert [words for words in says if words not in told] == []
    assert [words for words in silent_of if words in told] == []


@pytest.mark.parametrize("spare", ["5", "{xe9680-h100: 5}"])
def test_nodes_that_are_acquired_to_stand_empty_are_told_at_the_head(scenario, run, spare):
    buys = "offers:\n  more: {node_type: xe9680-h100, kind: buy, price_usd: 3e5, quote: q}\n"
    jobs = f"jobs:\n  t: {{fixed: {{gpus: 2}}}}\npolicies: {{spare_nodes: {spare}}}\n"
    scenario.write_text(f"{HEAD}{OWNED}{buys}{jobs}", encoding="utf-8")
    plan = json.loads(run("plan", scenario, "--format", "json").stdout)
    told = plan["warnings"][0]
    assert sum(line["count"] for line in plan["acquisitions"]) == 5
    assert told["text"] == (
        "5 nodes of xe9680-h100 @ main must stay empty as spare beside 1 at work"
    )
    assert told["origin"] == "policies.spare_nodes"


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
    shipped = (ROOT / "rules" / "policies" / "doubtful.yaml").read_text(encoding="utf-8")
    (steep,) = (rule for rule in shipped.split("\n\n") if "policies/steep-growth:" in rule)
    own = f"rules:\n{steep}\n".replace("value: 2\n", "value: 40\n")
    Path("own.yaml").write_text(own.replace("expect: 2\n", "expect: 40\n"), encoding="utf-8")
    text = job("fixed: {gpus: 1}\n    growth_per_quarter: 3000%")
    scenario.write_text(text, encoding="utf-8")
    told = [run("plan", scenario, *words).stdout for words in ((), ("--rules", "own.yaml"))]
    assert ["t grows by 3,000 % in each quarter" in one for one in told] == [True, False]


def test_a_model_that_is_not_quite_its_shape_is_remarked_on(scenario, run):
    shape = "layers: 32, hidden: 4096, intermediate: 14336, heads: 32, kv_heads: 8, head_dim: 128"
    Path("own.yaml").write_text(
        "sources: {card: {title: Model card}}\nmodels:\n  ours: {name: o, parameters_b: 7, "
        f"{shape}, vocab: 128256, max_context: 8192, source: card}}\n",
        encoding="utf-8",
    )
    scenario.write_text(job("serve: {model: ours}"), encoding="utf-8")
    result = run("plan", scenario, "--catalog", "own.yaml", "--format", "json")
    words = "ours is said to have 7 billion parameters, by its shape it has 7.505 to 8.03"
    assert any(words in note["text"] for note in json.loads(result.stdout)["warnings"])


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


FORMULA = """
rules:
  serving/plain:
    title: Memory in this house
    kind: formula
    applies: {{kind: serve}}
    inputs: {{parameters_b: 10^9 parameters, weight_bits: bit}}
    result: {{name: memory_gb, unit: GB}}
    formula: {formula}
    sources: [{{title: House rule, read: 2026-11-21}}]
    examples: [{{name: One, given: {{parameters_b: 8, weight_bits: 4}}, expect: 1}}]
"""


@pytest.mark.parametrize(
    ("formula", "said"),
    [
        ("parameters_b / (weight_bits - 16)", "the formula divides by zero with parameters_b = 8"),
        ("parameters_b * (4 - weight_bits)", "memory_gb must be above 0, and is −96"),
    ],
)
def test_a_formula_that_cannot_be_meant_is_told_at_its_rule(scenario, run, formula, said):
    rule = FORMULA.format(formula=formula)
    Path("own.yaml").write_text(rule, encoding="utf-8")
    scenario.write_text(job("serve: {parameters_b: 8}"), encoding="utf-8")
    result = run("plan", scenario, "--rules", "own.yaml")
    assert (result.exit_code, result.stdout) == (2, "")
    assert f"own.yaml:3:3: rules.'serving/plain': {said}" in result.stderr


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
