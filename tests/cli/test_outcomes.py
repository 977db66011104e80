"""What a plan comes to where the file is sound and the question is not: exit code and words."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
HEAD = "format: 1\nname: Outcome\nhorizon: {first_quarter: 2027Q1, quarters: 2}\n"
OWNED = "fleet:\n  east: {node_type: xe9680-h100, count: 1}\n"
OFFER = "offers:\n  h200: {node_type: xe9680-h200, kind: buy}\n"
CHAT = "serve: {model: llama-3.1-70b, context: 8192, concurrency: 8}"
OWNED_CHAT = f"{HEAD}{OWNED}jobs:\n  t:\n    {CHAT}\n"
FIXED = "jobs:\n  t:\n    fixed: {gpus: 8}\n    count: 3\n"


def job(text):
    return f"{HEAD}{OWNED}{OFFER}jobs:\n  t:\n    {text}\n"


def offer(text, jobs=FIXED):
    return f"{HEAD}{OWNED}offers:\n  h200: {{node_type: xe9680-h200, {text}}}\n{jobs}"


def api(text):
    chat = "serve: {model: llama-3.1-8b, load: {users: 9, requests_per_user_hour: 9, "
    load = f"{chat}input_tokens: 100, output_tokens: 100}}}}"
    return f"{job(load)}apis: {{hosted: {{model: llama-3.1-8b, {text}}}}}\n"


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
    "more cores than any node has": (
        job("fixed: {gpus: 1, cpus: 8000}"),
        ["it needs 8,000 cores of", "the catalog has none with so much, so ask for less"],
    ),
    "more requests than any replica holds": (
        job("serve: {model: llama-3.1-8b, context: 8192, concurrency: 40000}"),
        ["worth a second look: 40,000 requests at once", "ask for less memory of each GPU"],
    ),
    "a price of energy in cents beside a budget": (
        f"{job('fixed: {gpus: 1}')}finance: {{energy_usd_per_kwh: 14.6}}\n"
        "budget: {total_usd: 5000}\n",
        ["spending in total is $5,000", "worth a second look: 14.6 USD/kWh are far above"],
    ),
    "no budget": (
        f"{HEAD}{OWNED}{OFFER}budget: {{total_usd: 0}}\n{FIXED}",
        ["spending in total is $0", "raise spending in total by $"],
    ),
    "a budget in thousands": (
        f"{HEAD}{OFFER}{FIXED}budget: {{capex_usd: 700}}\n",
        ["worth a second look: capex in total, $700.00, pays for no node: the cheapest on"],
    ),
    "headroom that leaves next to nothing": (
        f"{OWNED_CHAT}policies: {{headroom: 99%}}\n",
        ["99 % of each GPU's memory are kept free, which leaves 1 % to all jobs"],
    ),
    "a growth reserve of nearly all": (
        f"{OWNED_CHAT}policies: {{growth_reserve: {{h100-80gb-sxm: 99%}}}}\n",
        ["the growth reserve of h100-80gb-sxm (99 %)"],
    ),
    "more spare nodes than are owned": (
        f"{OWNED_CHAT}policies: {{spare_nodes: 9}}\n",
        ["keep no spare nodes, not 9"],
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
        "60,000 kW are 5,882 times what can stand there (10.2 kW) and limit nothing: the key takes "
        "kW, write 60 if these are W",
    ),
    "power of a site in W that is less than a thousand times the need": (
        f"{job('fixed: {gpus: 8}')}sites: {{main: {{power_kw: 1000}}}}\n",
        "1,000 kW are 98 times what can stand there (10.2 kW)",
    ),
    "power in W beside owned nodes and offers at their maximum": (
        offer("kind: buy, maximum: 9") + "sites: {main: {power_kw: 2000}}\n",
        "2,000 kW are 20 times what can stand there (102 kW)",
    ),
    "power of a rack in W": (
        job("fixed: {gpus: 1}")
        + "sites: {main: {racks: {count: 4, units: 42, power_kw: 30000}}}\n",
        "30,000 kW are 2,941 times what can stand there (10.2 kW)",
    ),
    "a price in thousands": (
        offer("kind: buy, price_usd: 341"),
        "the price of h200, $341, is far from the $357,000 of the price book",
    ),
    "a price break that lacks a digit": (
        offer("kind: buy, price_usd: 341000, price_breaks: [{from_nodes: 2, price_usd: 33300}]"),
        "the price of h200, $33,300, is far from the $357,000 of the price book",
    ),
    "a price of a node that the book does not list": (
        f"{HEAD}{OWNED}{FIXED}"
        "offers:\n  gb: {node_type: xe9712-gb200, kind: buy, price_usd: 3100}\n",
        "the price of gb, $3,100, is far from the $",
    ),
    "a lead time in days": (
        offer("kind: buy, lead_time_weeks: 112", "jobs:\n  t:\n    fixed: {gpus: 8}\n"),
        "h200 takes 112 weeks from order to service: the key takes weeks, 16 if these are days",
    ),
    "a budget in thousands": (
        f"{job('fixed: {gpus: 1}')}budget: {{capex_usd: {{2027Q1: 700}}}}\n",
        "capex of 2027Q1, $700.00, pays for no node: the cheapest on offer costs $357,000",
    ),
    "a budget of everything in thousands": (
        f"{job('fixed: {gpus: 1}')}budget: {{total_usd: 9000}}\n",
        "spending in total, $9,000.00, pays for no node: the cheapest on offer costs $357,000",
    ),
    "a budget in cents": (
        f"{HEAD}{OWNED}{OFFER}{FIXED}budget: {{total_usd: 140000000}}\n",
        "and limits nothing: the key takes USD, not cents",
    ),
    "mean power of a node in MW": (
        job("fixed: {gpus: 1}").replace("count: 1}", "count: 1, mean_power_kw: 0.0072}"),
        "0.0072 kW are far from the 7.105 kW that one xe9680-h100 takes",
    ),
    "support of a node in cents": (
        job("fixed: {gpus: 1}").replace("count: 1}", "count: 1, support_usd_per_year: 2200000}"),
        "2,200,000 USD/year are far from the 32,500 USD/year that one xe9680-h100 takes",
    ),
    "a sequence without a batch": (
        tune("method: lora, sequence: 131072"),
        "`sequence` counts for nothing without `batch`",
    ),
    "runs that hardly make progress": (
        f"{job('fixed: {gpus: 1}')}policies: {{run_utilization: 9%}}\n",
        "a run makes progress in 9 % of its hours, so it takes 11 times as long",
    ),
    "traffic that grows steeply": (
        job(
            "serve: {model: llama-3.1-8b, load: {requests_per_second: 1, input_tokens: 10, "
            "output_tokens: 10, growth_per_quarter: 30}}"
        ),
        "t grows by 3000 % in each quarter",
    ),
    "a price of energy for a Wh": (
        f"{job('fixed: {gpus: 1}')}finance: {{energy_usd_per_kwh: 0.000146}}\n",
        "0.000146 USD/kWh are far below the 0.146 USD/kWh of the rule policies/energy-price",
    ),
    "support of five years at once": (
        f"{job('fixed: {gpus: 1}')}finance: {{support_share_per_year: 50%}}\n",
        "50 % are far above the 10 % of the rule policies/support",
    ),
    "colocation of a year": (
        f"{job('fixed: {gpus: 1}')}finance: {{colocation_usd_per_kw_month: 2160}}\n",
        "2,160 USD/kW/month are far above the 184.06 USD/kW/month of the rule policies/usual-colo",
    ),
    "a licence of a month": (
        f"{job('fixed: {gpus: 1}')}finance: {{licence_usd_per_gpu_year: {{h100-80gb-sxm: 375}}}}\n",
        "375 USD/GPU/year are far below the 4,500 USD/GPU/year of the rule policies/usual-licence",
    ),
    "a licence of a node": (
        f"{job('fixed: {gpus: 1}')}finance: {{licence_usd_per_gpu_year: 36000}}\n",
        "36,000 USD/GPU/year are far above the 4,500 USD/GPU/year",
    ),
    "memory that is kept from all jobs": (
        f"{job('fixed: {gpus: 1}')}policies: {{headroom: 90%}}\n",
        "90 % of each GPU's memory are kept free, which leaves 10 % to all jobs",
    ),
    "parameters in millions": (
        job("serve: {parameters_b: 0.0081}"),
        "t: 0.0081 billion parameters are those of no model of the catalog",
    ),
    "parameters of no model of the family": (
        job("serve: {parameters_b: 0.3, family: mistral, context: 512, concurrency: 2}"),
        "0.3 billion parameters are fewer than the shape of a mistral has, 32 layers",
    ),
    "a rank of half the width": (
        tune("method: lora, batch: 8, sequence: 1024, adapter_rank: 2048"),
        "a rank of 2,048 is half the width of the model (4,096) or more",
    ),
    "spare nodes that shut an owned pool": (
        job("fixed: {gpus: 2}") + "policies: {spare_nodes: {xe9680-h100: 5}}\n",
        "nothing can run on xe9680-h100 @ main, as 5 spare nodes must stay empty in a pool that "
        "runs a job and it never has more nodes than that",
    ),
    "more spare nodes than nodes at work": (
        job("fixed: {gpus: 2}").replace("count: 1}", "count: 1, site: west}")
        + "sites: {west: {}, main: {spare_nodes: 2}}\n"
        + "policies: {excluded_gpu_types: [h100-80gb-sxm]}\n",
        "2 nodes of xe9680-h200 @ main must stay empty as spare beside 1 at work",
    ),
    "a run whose length nobody states, on GPUs that are owned and free": (
        tune("method: lora"),
        "held all quarter by t: stating `tune.dataset_tokens` or `run.hours` would save nothing",
    ),
    "an old price": (
        offer("kind: buy, price_usd: 300000, price_date: 2026-06-30"),
        "the price of h200 is of 2026-06-30, 185 days before",
    ),
    "a price of a day that is still to come": (
        offer("kind: buy, price_usd: 300000, price_date: 2027-02-01"),
        "the price of h200 is of 2027-02-01, 31 days after 2027-01-01, the first day on which",
    ),
    "a price of an API that is still to come": (
        api(
            "usd_per_million_input_tokens: 1, usd_per_million_output_tokens: 1, "
            "price_date: 2027-02-01"
        ),
        "the price of hosted is of 2027-02-01, 31 days after 2027-01-01",
    ),
    "a lead time beyond the horizon": (
        offer("kind: buy, lead_time_weeks: 60", "jobs:\n  t:\n    fixed: {gpus: 8}\n"),
        "h200 takes 60 weeks from order to service: ordered on 2027-01-01, the first day, it comes "
        "on 2028-02-25, too late for 2027Q2",
    ),
    "a lead time beyond the quarters of the offer": (
        offer(
            "kind: buy, lead_time_weeks: 1, available: 2027Q1", "jobs:\n  t: {fixed: {gpus: 8}}\n"
        ),
        "it comes on 2027-01-08, too late for 2027Q1",
    ),
    "a budget of a quarter above that of the whole": (
        f"{job('fixed: {gpus: 1}')}budget: {{opex_usd: {{2027Q2: 200000, total: 150000}}}}\n",
        "opex of 2027Q2, $200,000.00, is above opex in total, $150,000.00, which holds as well",
    ),
    "a budget to buy above that of everything": (
        f"{job('fixed: {gpus: 1}')}budget: {{capex_usd: 900000, total_usd: 500000}}\n",
        "capex in total, $900,000.00, is above spending in total, $500,000.00",
    ),
    "a price of a billion tokens": (
        api("usd_per_million_input_tokens: 0.5, usd_per_million_output_tokens: 500"),
        "500 USD/10^6 tokens are far above the 1 USD/10^6 tokens of the rule policies/usual-token",
    ),
    "a price of a thousand tokens": (
        api("usd_per_million_input_tokens: 0.0005, usd_per_million_output_tokens: 1"),
        "0.0005 USD/10^6 tokens are far below the 1 USD/10^6 tokens",
    ),
    "a network port for the price of a switch": (
        f"{job('fixed: {gpus: 1}')}finance: {{network_usd_per_port: 60000}}\n",
        "60,000 USD/port are far above the 2,000 USD/port of the rule policies/usual-network",
    ),
    "moves for the price of a node": (
        f"{job('fixed: {gpus: 1}')}policies: {{move_cost_usd: 300000}}\n",
        "300,000 USD/move are far above the 1,000 USD/move of the rule policies/usual-move-cost",
    ),
    "moves of one job for the price of a node": (
        job("fixed: {gpus: 1}\n    move_cost_usd: 300000"),
        "300,000 USD/move are far above the 1,000 USD/move",
    ),
    "a used node for the price of ten": (
        job("fixed: {gpus: 1}").replace("count: 1}", "count: 1, sale: {price_usd: 4000000}}"),
        "is sold for $4,000,000, and costs $",
    ),
    "a day of the plan in another year": (
        job("fixed: {gpus: 1}").replace("quarters: ", "as_of: 2020-01-01, quarters: ", 1),
        "weeks before 2027Q1, so that all that is ordered arrives in time",
    ),
    "a context in thousands of tokens": (
        job("serve: {model: llama-3.1-8b, context: 8, concurrency: 4}"),
        "a context of 8 tokens is too short for a prompt and its answer",
    ),
    "hardly a request a year": (
        job(
            "serve: {model: llama-3.1-8b, load: {requests_per_second: 0.000000001, "
            "input_tokens: 10, output_tokens: 10}}"
        ),
        "requests a second are less than one a day, for which GPUs are held",
    ),
    "sequences of one token": (
        tune("method: lora, batch: 8, sequence: 1, dataset_tokens: 1e6"),
        "sequences of 1 tokens are too short for a prompt and its answer",
    ),
    "a batch of a million": (
        tune("method: lora, batch: 1000000, sequence: 2048, gradient_accumulation: 1000000"),
        "a step of 1,000,000 × 2,048 tokens is larger",
    ),
    "a deadline beyond the quarter": (
        tune("method: lora, dataset_tokens: 1e6, deadline_hours: 5000"),
        "the 5,000 h that a run may take are more than the 2,190 h of a quarter",
    ),
    "a draft that is always right": (
        job(
            "serve: {model: llama-3.1-8b, load: {requests_per_second: 1, input_tokens: 100, "
            "output_tokens: 100}, speculative: {draft_tokens: 3, acceptance: 100%, draft_gb: 1}}"
        ),
        "4 tokens a step, of 3 that are proposed and one of the model's own, are more than drafts",
    ),
}


@pytest.mark.parametrize("case", WORTH_A_LOOK)
def test_a_figure_that_is_seldom_meant_is_planned_with_a_warning(scenario, run, case):
    text, words = WORTH_A_LOOK[case]
    scenario.write_text(text, encoding="utf-8")
    result = run("plan", scenario, "--format", "json")
    assert result.exit_code == 0, result.stderr
    assert any(words in note["text"] for note in json.loads(result.stdout)["warnings"])


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


@pytest.mark.parametrize(
    ("owned", "spare"),
    [(2, 1), (1, 0), (6, 5)],
    ids=["as many as work", "none", "enough are owned"],
)
def test_spare_nodes_that_cost_nothing_or_are_usual_are_not_remarked_on(
    scenario, run, owned, spare
):
    fleet = OWNED.replace("count: 1", f"count: {owned}")
    jobs = f"jobs:\n  t: {{fixed: {{gpus: 2}}}}\npolicies: {{spare_nodes: {spare}}}\n"
    scenario.write_text(f"{HEAD}{fleet}{OFFER}{jobs}", encoding="utf-8")
    plan = json.loads(run("plan", scenario, "--format", "json").stdout)
    assert not plan["acquisitions"]
    told = [note["text"] for note in plan["warnings"]]
    assert not any("must stay empty" in text for text in told)


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
    text, words = WORTH_A_LOOK["steep growth"]
    scenario.write_text(text, encoding="utf-8")
    result = run("plan", scenario, "--rules", "own.yaml", "--format", "json")
    assert words not in result.stdout


PLAUSIBLE = {
    "a hall with room to spare": "sites: {main: {power_kw: 900, racks: {count: 40, units: 42}}}\n",
    "racks of a high density": ("sites: {main: {racks: {count: 8, units: 48, power_kw: 132}}}\n"),
    "costs of another country": (
        "finance: {energy_usd_per_kwh: 0.05, pue: 1.1, support_share_per_year: 15%, "
        "colocation_usd_per_kw_month: 95, licence_usd_per_gpu_year: 1100, useful_life_years: 4}\n"
    ),
    "budgets with room to spare": (
        "budget: {capex_usd: {2027Q1: 0, 2027Q2: 900000, total: 3000000}, total_usd: 9000000}\n"
    ),
    "a growth that is planned for": (
        "policies: {headroom: 20%, growth_reserve: {h100-80gb-sxm: 30%}, spare_nodes: 0}\n"
    ),
}


@pytest.mark.parametrize("case", PLAUSIBLE)
def test_a_plausible_figure_is_not_remarked_on(scenario, run, case):
    jobs = "jobs:\n  t:\n    fixed: {gpus: 4}\n  s:\n    serve: {model: llama-3.1-8b}\n"
    text = offer("kind: buy, lead_time_weeks: 12, price_usd: 310000", jobs) + PLAUSIBLE[case]
    scenario.write_text(text, encoding="utf-8")
    result = run("plan", scenario, "--format", "json")
    assert result.exit_code == 0, result.stderr
    origins = {note["origin"].partition(".")[0] for note in json.loads(result.stdout)["warnings"]}
    assert not origins & {"sites", "finance", "budget", "offers"}
    assert "kept free, which leaves" not in result.stdout


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


def test_usual_figures_are_not_remarked_on(scenario, run):
    roomy = "jobs:\n  t:\n    fixed: {gpu_memory_gb: 74}\n"
    roomy += "    count: {2027Q1: 1, 2027Q2: 0, 2027Q4: 1}\n"
    text = offer("kind: buy, price_usd: 300000", roomy).replace("quarters: 2}", "quarters: 4}")
    scenario.write_text(text, encoding="utf-8")
    warnings = json.loads(run("plan", scenario, "--format", "json").stdout)["warnings"]
    told = [note["text"] for note in warnings]
    assert not any("far from" in text or "less free" in text for text in told)


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
