"""A file with many mistakes tells them all at the first try, and nothing that follows from them."""

import pytest
from click.testing import CliRunner

from planner.cli.app import planner
from planner.errors import InputError
from tests.stated import load_inputs

pytestmark = pytest.mark.usefixtures("small_world")

SCENARIO = """\
format: 1
name: {name}
horizon: {{first_quarter: 2027Q1, quarters: 4, as_of: {as_of}}}
use: {{catalog: [own.yaml]}}
sites:
  east: {{cooling: [{cooling}], rack_units: 40, labels: [eu]}}
  west: {{power_kw: {{{power}}}, labels: [hot]}}
fleet:
  own: {{node_type: eight-h100, count: {count}, site: east}}
  old: {{node_type: four-l40s, count: 1, site: {old_site}, retires: {retires}}}
offers:
  buy: {{node_type: {node_type}, kind: buy, site: east, price_usd: {price}, available: {available}}}
  rent: {{node_type: four-l40s, kind: rent, site: west, price_usd_per_gpu_hour: 3, {term}}}
teams:
  red: {{quota_gpus: {{{quota}: 8}}}}
policies:
  headroom: {headroom}
  excluded_gpu_types: [{excluded}]
  allowed_gpu_types: [h100-80gb-sxm, l40s-48gb]
budget:
  capex_usd: {{{budget}: 500000}}
jobs:
  chat:
    serve: {{model: small-8b, load: {{requests_per_second: 3{tokens}}}{holds}}}
  answers:
    serve: {{model: {model}, context: 4096, concurrency: 4}}
    team: {team}
    note: {note}
    may_slip_quarters: {slip}
  tuned:
    tune: {{model: small-8b, method: lora, sequence: {sequence}, batch: {batch}, epochs: {epochs}}}
    count: {{{when}: 1}}
  lot:
    fixed: {{gpus: 8, cpus: {cpus}{memory}}}
    sites: [{job_site}]
    labels: [{label}]
  twin: {{fixed: {{gpus: 1}}}}
  {again}: {{fixed: {{gpus: 1}}}}
  {number}: {{fixed: {{gpus: 1}}}}
description: {text}
{key}: {{}}
running:
  - {{job: {listed}, node: eight-h100/east/01, gpus: 1}}
  - {{job: lot, node: eight-h100/east/02, pinned: {pinned}}}
overrides:
  busier: {{jobs.{changed}.priority: 2}}
scenarios:
  stress: [{override}]
"""
CATALOG = """\
nodes:
  eight-h100: {{extends: eight-h100, rack_units: {{value: 6, source: maker}},
    cooling: {{value: air, source: maker}}, max_power_kw: {{value: 11, source: maker}}}}
  four-l40s: {{extends: four-l40s, max_power_kw: {{value: 3, source: maker}}}}
  dim: {{extends: {base}, max_power_kw: {{value: 12, source: maker}}}}
models:
  ours: {{name: o, parameters_b: 8, layers: {layers}, hidden: 4096, heads: 32, kv_heads: {kv},
    head_dim: 128, vocab: 128256, max_context: 8192, source: {source}}}
"""


class Slip:
    """A place in the files, what is wrongly and what is rightly written there, and what is told."""

    def __init__(self, place, wrong, right, *told):
        self.place, self.wrong, self.right, self.told = place, wrong, right, told


SLIPS = (
    Slip("name", "' '", "Example", "name: must not be blank"),
    Slip("as_of", "2029-01-01", "2027-01-01", "horizon.as_of: 2029-01-01 lies after the horizon"),
    Slip("cooling", "water", "air", "sites.east.cooling[0]: 'water' is not one of air, liquid"),
    Slip("power", "2027Q3: 80", "2027Q1: 80", "sites.west.power_kw: says nothing of 2027Q1"),
    Slip("count", "0", "2", "fleet.own.count: 0 is too small"),
    Slip("old_site", "wets", "west", "fleet.old.site: unknown site 'wets'"),
    Slip("retires", "2026Q1", "2027Q3", "fleet.old.retires: nodes that retire in 2026Q1 never"),
    Slip("node_type", "eight-h1000", "eight-h100", "offers.buy.node_type: unknown node type"),
    Slip("price", "341k", "341000", "offers.buy.price_usd: '341k' is not a number"),
    Slip("available", "2029Q1", "2027Q2", "offers.buy.available: lies wholly outside"),
    Slip("term", "term_years: 1", "maximum: 3", "offers.rent.term_years: goes with"),
    Slip("quota", "h100", "total", "teams.red.quota_gpus.h100: GPU type 'h100' is ambiguous"),
    Slip("headroom", "15", "15%", "policies.headroom: 15 is too large"),
    Slip("excluded", "l40s-48gb", "", "policies.excluded_gpu_types[0]: 'l40s-48gb' is both"),
    Slip("budget", "2030Q1", "total", "budget.capex_usd.2030Q1: 2030Q1 lies outside"),
    Slip(
        "tokens",
        "",
        ", input_tokens: 500, output_tokens: 200",
        "jobs.chat.serve.load.input_tokens: is missing",
        "jobs.chat.serve.load.output_tokens: is missing",
    ),
    Slip(
        "holds",
        ", latency: {percentile: 99}",
        ", latency: {ttft_ms: 800}",
        "jobs.chat.serve.latency: give at least one of `ttft_ms`, `tpot_ms` and",
    ),
    Slip("model", "small-9b", "small-8b", "jobs.answers.serve.model: unknown model 'small-9b'"),
    Slip("team", "blue", "red", "jobs.answers.team: unknown team 'blue'"),
    Slip("sequence", "200000", "4096", "jobs.tuned.tune.sequence: 200,000 tokens are more than"),
    Slip("batch", "0", "8", "jobs.tuned.tune.batch: 0 is too small"),
    Slip("epochs", "many", "3", "jobs.tuned.tune.epochs: 'many' is not a number"),
    Slip("when", "2031Q1", "2027Q1", "jobs.tuned.count.2031Q1: 2031Q1 lies after the horizon"),
    Slip("cpus", "-8", "8", "jobs.lot.fixed.cpus: -8 is too small"),
    Slip("memory", ", gpu_memory_gb: 80", "", "jobs.lot.fixed: give either `gpus` or"),
    Slip("job_site", "north", "east", "jobs.lot.sites[0]: unknown site 'north'"),
    Slip("label", "us", "eu", "jobs.lot.labels[0]: no site carries the label 'us'"),
    Slip("text", "'{{ why }}'", "A test", "unresolved placeholder '{{ why }}'"),
    Slip("key", "polices", "finance", "polices: unknown key 'polices'"),
    Slip("note", "*shared", "By heart", "aliases (`*name`) are not read"),
    Slip("slip", ".nan", "1", ".nan is not a finite number"),
    Slip("again", "twin", "other", "the key 'twin' stands twice"),
    Slip("number", "7", "seven", "the key 7 is not text"),
    Slip("listed", "chatt", "answers", "running[0].job: unknown job 'chatt'"),
    Slip("pinned", "here", "false", "running[1].pinned: 'here' is not true or false"),
    Slip("changed", "chatt", "tuned", "overrides.busier.'jobs.chatt.priority': there is no"),
    Slip("override", "buzy", "busier", "scenarios.stress[0]: there is no override 'buzy'"),
    Slip("base", "nine-h100", "eight-h100", "nodes.dim.extends: no earlier file has 'nine-h100'"),
    Slip("layers", "'32'", "32", "models.ours.layers: '32' is not a whole number"),
    Slip("kv", "64", "8", "models.ours: 32 heads cannot share 64 KV heads evenly"),
    Slip("source", "card", "maker", "models.ours.source: 'card' is neither a key"),
)


@pytest.fixture
def told(write):
    """Headlines of the mistakes, without their places, of the files in which all else is right."""

    def told(*, mended):
        written = {one.place: one.right if one in mended else one.wrong for one in SLIPS}
        write(CATALOG.format(**written), "own.yaml")
        path = write(SCENARIO.format(**written))
        shown = CliRunner().invoke(planner, ["check", str(path)]).output
        lines = [line for line in shown.splitlines() if line.startswith("error: ")]
        return [line.removeprefix("error: ").split(": ", 1)[1] for line in lines]

    return told


def _expected(slips):
    return sorted(message for slip in slips for message in slip.told)


def _matched(found, expected):
    """What was told as expected, and beside it whatever else was."""
    known = [next((one for one in expected if line.startswith(one)), line) for line in found]
    return sorted(known)


def test_forty_mistakes_of_all_kinds_are_told_by_the_first_try(told):
    assert _matched(told(mended=()), _expected(SLIPS)) == _expected(SLIPS)


def test_the_same_files_without_them_have_no_mistake(told):
    assert told(mended=SLIPS) == []


@pytest.mark.parametrize("slip", SLIPS, ids=lambda slip: slip.place)
def test_each_mistake_is_told_beside_the_others_and_alone(told, slip):
    others = [one for one in SLIPS if one is not slip]

    assert _matched(told(mended=[slip]), _expected(SLIPS)) == _expected(others)
    assert _matched(told(mended=others), _expected(SLIPS)) == _expected([slip])


def findings(path, **asked):
    with pytest.raises(InputError) as error:
        load_inputs(path, **asked)
    return [finding.headline().partition(": ")[2] for finding in error.value.findings]


def test_a_setting_that_cannot_be_made_hides_no_mistake_of_the_file(write, scenario_text):
    scenario = write(scenario_text.replace("batch: 8", "batch: 0"))

    batch, setting = findings(scenario, settings=["jobs.chatt.count=2", "jobs.chat.count=3"])

    assert batch.startswith("jobs.tune-chat.tune.batch: 0 is too small")
    assert setting.startswith("there is no 'chatt' in `jobs`")


def test_what_a_catalog_that_cannot_be_read_may_define_is_not_called_unknown(write, scenario_text):
    scenario = write(
        scenario_text.replace("small-8b, method", "ours-9b, method").replace("batch: 8", "batch: 0")
        + "use: {catalog: [ours.yaml]}\n"
    )

    batch, missing = findings(scenario)

    assert batch.startswith("jobs.tune-chat.tune.batch")
    assert missing == "use.catalog[0]: 'ours.yaml': no such file"

    write("models: {ours-9b: {layers: 42}}\n", "ours.yaml")
    assert not [line for line in findings(scenario) if "unknown model" in line]


def test_a_character_that_cannot_be_seen_hides_no_other_mistake(write, scenario_text):
    scenario = write(scenario_text.replace("  chat:", "  ch\u200bat:").replace("8b}", "9b}"))

    unseen, model = sorted(findings(scenario))

    assert unseen == "holds U+200B ZERO WIDTH SPACE, which cannot be seen"
    assert model.startswith("jobs.chat.serve.model: unknown model 'small-9b'")


@pytest.mark.parametrize(
    ("written", "consequence"),
    [
        ("horizon: {first_quarter: 2027Q7, quarters: 4}", "outside the horizon"),
        ("jobs: 3", "running"),
        ("sites: {east: 3, main: {}}", "unknown site"),
        ("fleet: {own: {node_type: eight-h100, count: two}}", "no node"),
        ("offers: {more: {node_typ: eight-h100, kind: buy}}", "nothing is offered"),
    ],
)
def test_what_follows_from_a_mistake_is_not_told(write, written, consequence):
    sections = {
        "format": "format: 1",
        "name": "name: Example",
        "horizon": "horizon: {first_quarter: 2027Q1, quarters: 4}",
        "sites": "sites: {east: {}, main: {}}",
        "fleet": "fleet: {own: {node_type: eight-h100, count: 2}}",
        "offers": "offers: {more: {node_type: eight-h100, kind: buy, site: east}}",
        "jobs": "jobs: {chat: {fixed: {gpus: 8}, count: {2027Q1: 1}, sites: [east, main]}}",
        "running": "running: [{job: chat, node: eight-h100/main/02}]",
    }
    sections[written.partition(":")[0]] = written

    told = findings(write("\n".join(sections.values()) + "\n"))

    assert not [line for line in told if consequence in line], told


def test_a_value_that_is_refused_is_told_once(write, scenario_text):
    scenario = write(scenario_text.replace("batch: 8", "batch: '${BATCH}'"))

    assert findings(scenario) == ["unresolved placeholder '${BATCH}'"]
