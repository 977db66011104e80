"""Scenario files that build on each other, and the changes that overrides make."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.errors import InputError
from planner.inputs.layers import read_layers, resolved
from planner.inputs.load import Question
from planner.inputs.override import Override
from planner.inputs.reading.reader import parse_document
from planner.inputs.text import flow
from tests.properties.questions import drawing
from tests.stated import load_inputs

pytestmark = pytest.mark.usefixtures("small_world")

BASE = """\
format: 1
name: Base
horizon: {first_quarter: 2027Q1, quarters: 4}
fleet:
  own: {node_type: eight-h100, count: 1}
offers:
  more: {node_type: eight-h100, kind: buy, price_usd: 300000}
jobs:
  chat: {serve: {model: small-8b}, count: 2}
  spare.one: {fixed: {gpus: 1}}
overrides:
  dear: {offers.more.price_usd: 400000}
  dearer: {offers.more.price_usd: 500000, jobs.chat.count: 3}
  gone: {delete: [jobs.spare.one]}
scenarios:
  both: [dear, dearer]
  other way: [dearer, dear]
""".replace("jobs.spare.one]", "jobs.'spare.one']")


@pytest.fixture
def base(write):
    return write(BASE, "base.yaml")


def price(inputs):
    return inputs.scenario.offers["more"].price_usd


def test_later_overrides_win_in_the_order_of_the_list(base):
    assert price(load_inputs(base, variations=["both"])) == 500_000
    assert price(load_inputs(base, variations=["other way"])) == 400_000
    assert price(load_inputs(base, variations=["dearer", "dear"])) == 400_000


def test_every_change_is_told_with_what_was_there_before(base):
    inputs = load_inputs(base, variations=["both", "gone"])
    told = [(one.path, one.before, one.after, one.by) for one in inputs.changes]
    assert told == [
        ("offers.more.price_usd", "300000", "400000", "override dear"),
        ("offers.more.price_usd", "400000", "500000", "override dearer"),
        ("jobs.chat.count", "2", "3", "override dearer"),
        ("jobs.'spare.one'", "{fixed: {gpus: 1}}", None, "override gone"),
    ]


def test_an_override_named_twice_is_applied_once(base):
    inputs = load_inputs(base, variations=["gone", "gone", "dear", "both"])
    assert [one.by for one in inputs.changes].count("override dear") == 1
    assert price(inputs) == 500_000


def test_a_key_that_only_the_format_knows_can_be_set(base):
    inputs = load_inputs(base, settings=["budget.total_usd=9000000", "policies.headroom=10%"])
    assert inputs.scenario.budget.total_usd == 9_000_000
    assert inputs.changes[0].before is None


def test_replacing_discards_the_whole_mapping(base, write):
    change = "replace: {jobs.chat: {fixed: {gpus: 1}}}"
    path = write(f"extends: base.yaml\napply: [r]\noverrides: {{r: {{{change}}}}}\n")
    chat = load_inputs(path).scenario.jobs["chat"]
    assert chat.serve is None
    assert chat.count == 1


def test_a_file_adds_to_its_base_and_applies_its_own_overrides_last(base, write):
    text = """\
extends: ../base.yaml
name: Mine
offers: {rent: {node_type: eight-h100, kind: rent, price_usd_per_gpu_hour: 3}}
finance: {pue: 1.5}
apply: [dear, cheap]
overrides: {cheap: {offers.more.price_usd: 100}}
"""
    inputs = load_inputs(write(text, "what-if/mine.yaml"))
    assert inputs.scenario.name == "Mine"
    assert sorted(inputs.scenario.offers) == ["more", "rent"]
    assert price(inputs) == 100
    assert [(file.role, file.location and file.location.name) for file in inputs.files[:2]] == [
        ("scenario", "mine.yaml"),
        ("base", "base.yaml"),
    ]


def test_a_mistake_in_an_override_is_told_where_the_override_stands(base, write):
    path = write("extends: base.yaml\napply: [x]\noverrides:\n  x: {jobs.chat.count: many}\n")
    with pytest.raises(InputError) as refusal:
        load_inputs(path)
    (finding,) = refusal.value.findings
    assert (finding.file, finding.line, finding.column) == (str(path), 4, 24)
    assert finding.source_line == "  x: {jobs.chat.count: many}"


def test_a_mistake_in_the_base_is_told_where_the_base_stands(write):
    base = write(BASE.replace("count: 2", "count: two"), "base.yaml")
    with pytest.raises(InputError) as refusal:
        load_inputs(write("extends: base.yaml\n"))
    (finding,) = refusal.value.findings
    assert finding.headline() == f"{base}:9:43: jobs.chat.count: 'two' is not a whole number"


def test_a_further_quarter_is_set_among_figures_by_quarter_and_holds_until_the_next(write):
    path = write(BASE.replace("count: 2", "count: {2027Q1: 1, 2027Q4: 2}"))
    inputs = load_inputs(path, settings=["jobs.chat.count.2027Q2=5"])
    chat = inputs.scenario.jobs["chat"]
    assert chat.counts(inputs.scenario.horizon) == (1, 5, 5, 2)


@pytest.mark.parametrize(
    ("argument", "words"),
    [
        ("jobs.chat.count.2028Q1=5", "2028Q1 lies after the horizon"),
        ("jobs.chat.count.2027-Q2=5", "there is no '2027-Q2' in `jobs.chat.count`"),
        ("jobs.chat.count.2027Q5=5", "there is no '2027Q5' in `jobs.chat.count`"),
        ("jobs.2027Q2.count=5", "there is no '2027Q2' in `jobs`"),
    ],
)
def test_what_is_no_further_quarter_is_not_set(write, argument, words):
    path = write(BASE.replace("count: 2", "count: {2027Q1: 1, 2027Q4: 2}"))
    with pytest.raises(InputError) as refusal:
        load_inputs(path, settings=[argument])
    assert words in refusal.value.findings[0].headline()


@pytest.mark.parametrize(
    ("argument", "column", "words"),
    [
        ("offers.mor.price_usd=4", 1, "there is no 'mor' in `offers`"),
        ("offers.more.price_usd=cheap", 23, "'cheap' is not a number"),
        ("offers.more.available=[2027Q5]", 1, "'2027Q5' is not a calendar quarter"),
        ("offers.more={kind: rent}", 1, "offers.more is a mapping"),
        ("offers.more.price_usd=[", 24, "a value is missing here"),
        ("offers.more.price_usd=~", 23, "is empty"),
        ("offers.more.price_usd=.nan", 23, "is not a finite number"),
        ("jobs.chat.count[0]=4", 1, "reaches into a list"),
        ("jobs.spare.one.count=4", 1, "there is no 'spare' in `jobs`"),
        ("format=2", 1, "`format` cannot be changed"),
    ],
)
def test_a_wrong_setting_is_shown_in_the_argument_itself(base, argument, column, words):
    with pytest.raises(InputError) as refusal:
        load_inputs(base, settings=[argument])
    (finding,) = refusal.value.findings
    assert (finding.file, finding.line, finding.column) == ("--set", 1, column)
    assert finding.source_line == argument
    assert words in finding.message


@pytest.mark.parametrize(
    ("argument", "converted"),
    [("offers.more.price_eur=4", True), ("offers.more.pricd_usd=4", False)],
)
def test_a_path_to_a_key_of_another_unit_is_told_to_convert_its_figure(base, argument, converted):
    with pytest.raises(InputError) as refusal:
        load_inputs(base, settings=[argument])
    hint = refusal.value.findings[0].hint or ""
    assert hint.startswith("did you mean 'price_usd'?")
    assert hint.endswith("convert the figure") == converted


@pytest.mark.parametrize(
    "argument", ["price", "=4", "a=", " = ", "a\nb=4", "a..b=4", ".a=4", "a.=4", "a b'c'=4"]
)
def test_what_is_no_setting_is_refused(base, argument):
    with pytest.raises(InputError, match=r"is not a (change|path)"):
        load_inputs(base, settings=[argument])


@pytest.mark.parametrize("name", ["../../base.yaml", "/etc/hostname", "../other/base.yaml", ".."])
def test_no_base_is_read_from_elsewhere(write, name):
    write(BASE, "base.yaml")
    write(BASE, "inner/other/base.yaml")
    path = write(f"extends: {name}\n", "inner/deep/mine.yaml")
    with pytest.raises(InputError, match="leads out of"):
        load_inputs(path)


def test_only_the_file_that_was_named_may_extend_one_above(base, write):
    write("extends: ../base.yaml\n", "inner/middle.yaml")
    with pytest.raises(InputError, match="leads out of"):
        load_inputs(write("extends: inner/middle.yaml\n", "top.yaml"))


def test_bases_that_extend_each_other_are_refused(write):
    write("extends: b.yaml\n", "a.yaml")
    with pytest.raises(InputError, match="in a circle: b\\.yaml -> a"):
        load_inputs(write("extends: a.yaml\n", "b.yaml"))


def test_no_more_than_twenty_files_build_on_each_other(write):
    for number in range(30):
        write(f"extends: f{number + 1}.yaml\n", f"f{number}.yaml")
    with pytest.raises(InputError, match="is file 21, at most 20 build on each other"):
        load_inputs(write("extends: f0.yaml\n", "mine.yaml"))


def test_files_under_use_lie_beside_the_file_that_names_them(base, write):
    write(BASE.replace("name: Base", "name: Base\nuse: {catalog: [mine.yaml]}"), "base.yaml")
    write("sources: {own: {title: Own, url: 'https://example.com', read: 2026-11-01}}\n", "x.yaml")
    path = write("extends: ../base.yaml\n", "what-if/mine.yaml")
    with pytest.raises(InputError) as refusal:
        load_inputs(path)
    (finding,) = refusal.value.findings
    assert str(finding.file).endswith("base.yaml")
    assert "'mine.yaml': no such file" in finding.message


def test_the_files_are_read_once_for_many_variants(base):
    question = Question(base)
    first, second = question.inputs(), question.inputs(["dear"])
    assert first.catalog is second.catalog
    assert (price(first), price(second)) == (300_000, 400_000)


def test_the_resolved_scenario_says_the_same_and_names_the_place_of_each_value(base, write):
    composed = read_layers(base).composed(["both"], [Override.parse("finance.pue=1.5")])
    text = resolved(composed)
    again = load_inputs(write(text, "resolved.yaml"))
    assert (
        again.scenario
        == load_inputs(base, variations=["both"], settings=["finance.pue=1.5"]).scenario
    )
    assert f"price_usd: 500000  # {base}:13 (override dearer)\n" in text
    assert f"node_type: eight-h100  # {base}:5\n" in text
    assert "pue: 1.5  # --set finance.pue=1.5\n" in text


_VALUES = st.recursive(
    st.one_of(
        st.integers(-(10**12), 10**12),
        st.decimals(allow_nan=False, allow_infinity=False, places=4, min_value=-1e6, max_value=1e6),
        st.booleans(),
        st.text(
            st.characters(categories=["L", "N", "P", "S", "Zs"]), min_size=1, max_size=12
        ).filter(lambda text: "${" not in text and "{{" not in text),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(tuple),
        st.dictionaries(
            st.text(st.characters(categories=["L", "N"]), min_size=1, max_size=6), inner, max_size=3
        ),
    ),
    max_leaves=6,
)


@drawing(60)
@given(_VALUES)
def test_a_value_is_written_so_that_it_reads_the_same(value):
    assert parse_document(f"v: {flow(value)}\n", "x").data["v"] == value
