import hashlib
from datetime import date
from decimal import Decimal

import pytest

from planner.errors import InputError
from planner.inputs.layers import stated
from planner.inputs.load import load_catalog, load_rules
from planner.inputs.reading.reader import parse_document
from tests.stated import changed, load_inputs

pytestmark = pytest.mark.usefixtures("small_world")


def findings(*arguments, **options):
    with pytest.raises(InputError) as error:
        load_inputs(*arguments, **options)
    return error.value.findings


def test_every_file_is_recorded_by_name_and_hash_scenario_first(write, scenario_text):
    path = write(scenario_text)

    files = load_inputs(path).files

    assert (files[0].role, files[0].path) == ("scenario", str(path))
    said = stated(parse_document(scenario_text, "s.yaml").data)
    assert files[0].sha256 == hashlib.sha256(said.encode()).hexdigest()
    assert [file.path for file in files if file.role == "catalog"] == [
        "catalog/hardware.yaml",
        "catalog/models.yaml",
        "catalog/prices.yaml",
    ]
    rules = [file.path for file in files if file.role == "rules"]
    assert rules == sorted(rules)
    assert "rules/policies.yaml" in rules


def test_an_order_can_be_placed_from_the_first_day_unless_said_otherwise(write, scenario_text):
    assert load_inputs(write(scenario_text)).scenario.horizon.earliest_order == date(2027, 1, 1)

    later = scenario_text.replace("quarters: 4}", "quarters: 4, as_of: 2026-11-21}")
    assert load_inputs(write(later)).scenario.horizon.earliest_order == date(2026, 11, 21)


def test_a_setting_comes_from_the_scenario_else_from_its_policy_rule(write, scenario_text):
    settings = load_inputs(write(scenario_text + "finance: {pue: 1.2}\n")).settings

    assert (settings.pue.value, settings.pue.origin) == (Decimal("1.2"), "scenario")
    assert not settings.pue.assumed
    assert settings.energy_usd_per_kwh.value == Decimal("0.146")
    assert settings.energy_usd_per_kwh.origin == "rule policies/energy-price"
    assert settings.energy_usd_per_kwh.unit == "USD/kWh"
    assert settings.energy_usd_per_kwh.assumed


def offer(write, scenario_text, text):
    (settled,) = load_inputs(
        write(scenario_text.replace("{node_type: eight-h100, kind: buy}", text))
    ).offers
    return settled


def test_an_own_price_with_a_quote_is_no_illustration(write, scenario_text):
    settled = offer(
        write,
        scenario_text,
        "{node_type: eight-h100, kind: buy, price_usd: 301999.5, quote: Q-17, "
        "price_date: 2026-11-01, maximum: 3, lead_time_weeks: 12}",
    )

    assert settled.unit_price_usd == Decimal("301999.50")
    assert settled.price_text == "$301,999.50 per node"
    assert settled.price_origin == "quote Q-17"
    assert settled.price_date == "2026-11-01"
    assert not settled.illustrative
    assert (settled.maximum, settled.lead_time_weeks) == (3, 12)


def test_a_price_left_out_comes_from_the_price_book_and_says_so(write, scenario_text):
    settled = offer(write, scenario_text, "{node_type: eight-h100, kind: buy}")

    assert settled.unit_price_usd == 325000
    assert settled.price_origin == "price book example-book: Data sheet (https://example.org/sheet)"
    assert settled.price_date == "2026-09-30"
    assert settled.illustrative


def test_rent_is_by_gpu_and_hour_for_a_whole_node_and_quarter_in_cents(write, scenario_text):
    settled = offer(write, scenario_text, "{node_type: eight-h100, kind: rent}")

    # 2.3333 × 8 × 2190 = 40,879.416
    assert settled.unit_price_usd == Decimal("40879.42")
    assert settled.price_text == "$2.3333 per GPU-hour"


@pytest.mark.parametrize(("price", "cents"), [("0.0000625", "1.10"), ("0.0001875", "3.28")])
def test_half_a_cent_goes_to_the_even_cent(write, scenario_text, price, cents):
    # 0.0000625 × 8 × 2190 = 1.095; 0.0001875 × 8 × 2190 = 3.285
    settled = offer(
        write,
        scenario_text,
        f"{{node_type: eight-h100, kind: rent, price_usd_per_gpu_hour: {price}}}",
    )

    assert str(settled.unit_price_usd) == cents


def test_an_entry_of_a_later_file_replaces_one_of_the_same_id(write):
    mine = write(
        "models:\n  small-8b: {name: mine, parameters_b: 9, layers: 1, hidden: 1, heads: 1, "
        "kv_heads: 1, head_dim: 1, vocab: 1, max_context: 10, source: https://example.org}\n",
        "mine.yaml",
    )

    catalog, files = load_catalog([mine])

    assert catalog.models["small-8b"].parameters_b == 9
    assert "large-70b" in catalog.models
    assert files[-1].path == str(mine)


def test_an_entry_that_extends_another_keeps_what_it_does_not_state(write):
    mine = write(
        "nodes:\n"
        "  four-l40s: {extends: four-l40s, max_power_kw: {value: 4, source: rating-plate}}\n"
        "  six-l40s: {extends: four-l40s, gpus: {value: 6, source: rating-plate}}\n"
        "sources: {rating-plate: {title: The plate of the server}}\n",
        "mine.yaml",
    )
    later = write("nodes: {seven: {extends: six-l40s, vendor: Elsewhere}}\n", "later.yaml")

    before, after = load_catalog([])[0].nodes, load_catalog([mine, later])[0].nodes

    known, mended = before["four-l40s"], after["four-l40s"]
    assert known.max_power_kw is None
    assert mended.max_power_kw is not None
    assert mended.max_power_kw.value == 4
    assert mended.max_power_kw.source == "rating-plate"
    assert changed(mended, max_power_kw=None) == known
    assert after["six-l40s"].gpus.value == 6
    assert after["six-l40s"].max_power_kw is None  # of the earlier file, not of the one beside it
    assert (after["seven"].vendor, after["seven"].gpus.value) == ("Elsewhere", 6)


@pytest.mark.parametrize(
    ("base", "message", "hint"),
    [
        ("four-l40", "no earlier file has 'four-l40' under `nodes`", "did you mean 'four-l40s'?"),
        ("other", "no earlier file has 'other' under `nodes`", None),
        ("3", "no earlier file has 3 under `nodes`", None),
        ("[four-l40s]", "no earlier file has a list under `nodes`", None),
    ],
)
def test_an_entry_extends_only_what_an_earlier_file_has(write, base, message, hint):
    mine = write(f"nodes:\n  other:\n    extends: {base}\n", "mine.yaml")

    with pytest.raises(InputError) as error:
        load_catalog([mine])

    (finding,) = error.value.findings
    assert (finding.message, finding.hint, finding.line) == (message, hint, 3)


def test_what_an_entry_takes_over_must_suit_what_it_states(write):
    mine = write(
        "nodes: {eight-h100: {extends: eight-h100, max_power_kw: {value: 1, source: maker}}}\n",
        "mine.yaml",
    )

    with pytest.raises(InputError, match="more than the 1 kW"):
        load_catalog([mine])


def test_prices_without_a_book_of_their_own_join_the_shipped_book(write):
    mine = write(
        "purchase:\n  four-l40s: {price_usd: 90000, date: 2026-10-01, source: maker, "
        "basis: published}\n",
        "prices.yaml",
    )

    prices = load_catalog([mine])[0].prices

    assert prices.header.id == "example-book"
    assert set(prices.purchase) == {"eight-h100", "four-l40s"}


def test_a_price_book_of_ones_own_never_vouches_for_shipped_prices(write):
    mine = write(
        "price_book: {id: ours, date: 2026-11-01, illustrative: false, notice: Our quotes.}\n"
        "purchase:\n  four-l40s: {price_usd: 90000, date: 2026-10-01, source: maker, "
        "basis: published}\n",
        "prices.yaml",
    )

    prices = load_catalog([mine])[0].prices

    assert prices.header.id == "ours"
    assert set(prices.purchase) == {"four-l40s"}
    assert not prices.rent


def test_a_folder_stands_for_all_its_yaml_files_in_order(write):
    write("sources: {a: {title: A}}\n", "mine/b.yaml")
    write("sources: {a: {title: Z}}\n", "mine/a/z.yml")
    folder = write("not yaml: [", "mine/readme.txt").parent

    catalog, files = load_catalog([folder])

    assert [file.path for file in files[-2:]] == [f"{folder}/a/z.yml", f"{folder}/b.yaml"]
    assert catalog.sources["a"].title == "A"


def test_a_folder_without_yaml_files_is_refused(write):
    folder = write("x", "mine/readme.txt").parent

    with pytest.raises(InputError, match="holds no YAML file"):
        load_catalog([folder])


@pytest.mark.parametrize("name", ["{}.yaml", "{}/x.txt"])
def test_a_folder_that_holds_a_disk_is_refused_before_it_is_walked(write, monkeypatch, name):
    monkeypatch.setattr("planner.inputs.reading.locate._MOST_INSIDE", 20)
    for number in range(40):
        folder = write("sources: {}\n", f"mine/{name.format(number)}")
    folder = next(parent for parent in folder.parents if parent.name == "mine")

    with pytest.raises(InputError, match="holds 20 folders or YAML files and more"):
        load_catalog([folder])


RULE = """\
rules:
  {name}:
    title: Half the memory
    kind: formula
    applies: {{kind: serve}}
    inputs: {{{fact}: 10^9 parameters}}
    result: {{name: memory_gb, unit: GB}}
    formula: {fact} / 2
    sources: [{{title: Ours, read: 2026-10-01}}]
"""


def test_a_rule_of_ones_own_replaces_a_shipped_one_by_id(write):
    mine = write(RULE.format(name="serving/plain", fact="parameters_b"), "mine.yaml")

    rules, files = load_rules([mine])

    assert rules.rules["serving/plain"].title == "Half the memory"
    assert files[-1].path == str(mine)


def test_two_rules_of_one_id_in_one_folder_are_refused(write):
    write(RULE.format(name="mine", fact="parameters_b"), "mine/a.yaml")
    folder = write(RULE.format(name="mine", fact="parameters_b"), "mine/b.yaml").parent

    with pytest.raises(InputError, match=r"'mine' is defined by .*a\.yaml as well"):
        load_rules([folder])


def test_a_scenario_brings_its_own_files(write, scenario_text):
    write("sources: {a: {title: A}}\n", "data/mine.yaml")
    path = write(scenario_text + "use: {catalog: [data/mine.yaml]}\n")

    inputs = load_inputs(path)

    assert inputs.catalog.sources["a"].title == "A"
    assert [file.path for file in inputs.files if file.path.startswith("data")] == [
        "data/mine.yaml"
    ]


def test_a_mistake_in_a_used_file_is_told_in_that_file(write, scenario_text):
    used = write("gpus: [1]\n", "data/mine.yaml")

    (finding,) = findings(write(scenario_text + "use: {catalog: [data/mine.yaml]}\n"))

    assert finding.headline() == f"{used}:1:1: gpus: a list is not a mapping"


def test_a_link_that_leads_out_of_the_folder_is_not_followed(write, scenario_text, tmp_path):
    outside = write("sources: {}\n", "outside.yaml")
    path = write(scenario_text + "use: {catalog: [link.yaml]}\n", "inner/scenario.yaml")
    (tmp_path / "inner/link.yaml").symlink_to(outside)

    (finding,) = findings(path)

    assert "is a link that leads out" in finding.message


def test_the_case_of_a_used_file_counts_on_every_system(write, scenario_text):
    write("sources: {}\n", "Prices.yaml")

    (finding,) = findings(write(scenario_text + "use: {catalog: [prices.yaml]}\n"))

    assert finding.hint == "did you mean 'Prices.yaml'?"


def test_only_exclusions_can_be_waived(write, scenario_text):
    waived = "policies: {waived_rules: {exclusions/no-small-gpus: measured by us}}\n"

    inputs = load_inputs(write(scenario_text + waived))

    assert inputs.scenario.policies.waived_rules == {"exclusions/no-small-gpus": "measured by us"}


def test_each_part_of_a_number_that_a_comma_cuts_is_told_of_the_comma(write, scenario_text):
    cut = scenario_text.replace(
        "offers:\n", "offers:\n  cut: {kind: buy, price_usd: $320,000}\n", 1
    )
    told = {one.path: one.hint for one in findings(write(cut))}
    assert "a comma ends a value" in told["offers.cut.price_usd"]
    assert "a comma ends a value" in told["offers.cut.000"]
