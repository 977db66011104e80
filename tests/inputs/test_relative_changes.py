"""Changes with a sign move the figure that is there; `*` stands for every name."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.errors import InputError
from planner.inputs.override import RelativeChange
from tests.properties.questions import drawing
from tests.stated import load_inputs

pytestmark = pytest.mark.usefixtures("small_world")

BASE = """\
format: 1
name: Base
horizon: {first_quarter: 2027Q1, quarters: 4}
fleet:
  own: {node_type: eight-h100, count: 2}
offers:
  more:
    node_type: eight-h100
    kind: buy
    price_usd: 300000
    lead_time_weeks: 6
    price_breaks: [{from_nodes: 4, price_usd: 280000}]
  hired: {node_type: eight-h100, kind: rent, price_usd_per_gpu_hour: 2.5}
jobs:
  chat: {serve: {model: small-8b}, count: {2027Q1: 2, 2027Q3: 5}}
  one: {fixed: {gpus: 1}, growth_per_quarter: 10%}
overrides:
  dear: {offers.more.price_usd: +15%}
  late: {offers.*.lead_time_weeks: +8}
  sooner: {offers.more.lead_time_weeks: -2}
"""


@pytest.fixture
def changed(write):
    """`changed(*settings, apply=...)`: the scenario after them."""
    path = write(BASE, "base.yaml")
    return lambda *settings, apply=(): load_inputs(path, variations=apply, settings=settings)


def refused(changed, setting):
    with pytest.raises(InputError) as caught:
        changed(setting)
    (finding,) = caught.value.findings
    return finding


def offers(inputs):
    return inputs.scenario.offers


def test_a_percentage_moves_a_price_and_its_price_breaks(changed):
    more = offers(changed(apply=["dear"]))["more"]
    assert (more.price_usd, more.price_breaks[0].price_usd) == (345_000, 322_000)


def test_a_star_is_every_offer_and_what_is_not_stated_is_what_holds(changed):
    inputs = changed(apply=["late"])
    assert [one.lead_time_weeks for one in offers(inputs).values()] == [14, 8]
    told = [(one.path, one.before, one.after, one.by) for one in inputs.changes]
    assert told == [
        ("offers.more.lead_time_weeks", "6", "14", "override late"),
        ("offers.hired.lead_time_weeks", None, "8", "override late"),
    ]


def test_relative_changes_come_one_after_the_other(changed):
    inputs = changed("offers.more.lead_time_weeks=+10%", apply=["late", "sooner"])
    assert offers(inputs)["more"].lead_time_weeks == 13  # 6 + 8 - 2, and 10 % of that, rounded


def test_a_star_passes_over_names_without_such_a_figure(changed):
    inputs = changed("offers.*.price_usd=-10%")
    assert [one.path for one in inputs.changes] == [
        "offers.more.price_usd",
        "offers.more.price_breaks",
    ]
    assert changed("jobs.*.serve.context=4096", "jobs.*.serve.concurrency=8").changes


def test_each_figure_by_quarter_is_moved(changed):
    counts = changed("jobs.chat.count=+50%").scenario.jobs["chat"].count
    assert counts == {"2027Q1": 3, "2027Q3": 8}  # 7.5 is rounded to the even one


def test_the_price_of_the_price_book_is_moved_where_none_is_stated(write):
    lines = (line for line in BASE.splitlines(keepends=True) if "    price_" not in line)
    path = write("".join(lines), "base.yaml")
    (listed,) = (one.unit_price_usd for one in load_inputs(path).offers if one.name == "more")
    inputs = load_inputs(path, settings=["offers.more.price_usd=+10%"])
    assert offers(inputs)["more"].price_usd == listed * Decimal("1.1")


def test_a_share_is_set_as_a_whole(changed):
    finding = refused(changed, "policies.headroom=+5%")
    assert finding.message == "+5% of a share may mean points or a part of it"
    assert finding.hint == "write the share itself: policies.headroom as 5%"
    assert refused(changed, "jobs.one.growth_per_quarter=+5%").hint
    shrinks = changed("jobs.one.growth_per_quarter=-5%").scenario.jobs["one"]
    assert shrinks.growth_per_quarter == Decimal("-0.05")


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("budget.total_usd=+5%", "budget.total_usd is stated nowhere, +5% has nothing to change"),
        ("offers.*.maximum=+1", "offers.*.maximum is stated nowhere, +1 has nothing to change"),
        ("teams.*.name=x", "teams.*.name stands for nothing that is stated"),
        ("offers.*.lead_weeks=+1", "there is no 'lead_weeks' in `offers.more`"),
        ("offers.more.lead_time_weeks=-7", "-1 is too small, the least is 0"),
        ("fleet.own.count=+0.5", "2.5 is not a whole number"),
    ],
)
def test_what_cannot_be_moved_is_told(changed, setting, message):
    assert refused(changed, setting).message == message


def test_text_with_a_sign_stays_text(changed):
    assert changed("name=+15%").scenario.name == "+15%"


def test_a_star_deletes_every_one_that_is_stated(write):
    text = BASE + "  gone: {delete: [offers.*.price_breaks, offers.*.lead_time_weeks]}\n"
    inputs = load_inputs(write(text, "base.yaml"), variations=["gone"])
    assert [one.lead_time_weeks for one in offers(inputs).values()] == [0, 0]
    assert len(inputs.changes) == 2


@drawing(50)
@given(
    st.decimals(0, 10**6, places=2),
    st.decimals(-99, 500, places=2),
)
def test_a_percentage_there_and_back_is_where_it_was(value, percent):
    up = RelativeChange("", percent, percent=True).of(value, whole=False)
    back = (100 / (1 + percent / 100) - 100).quantize(Decimal("1e-20"))
    found = RelativeChange("", back, percent=True).of(Decimal(up), whole=False)
    assert abs(found - value) <= max(Decimal("0.0002"), value * Decimal("1e-6"))


def test_every_figure_of_a_quota_is_moved(write):
    teams = "teams: {t: {quota_gpus: {total: 20, h100-80gb-sxm: {2027Q1: 8, 2027Q2: 16}}}}"
    path = write(BASE.replace("overrides:", f"{teams}\noverrides:"), "base.yaml")
    quota = load_inputs(path, settings=["teams.t.quota_gpus=+50%"]).scenario.teams["t"].quota_gpus
    assert quota == {"total": 30, "h100-80gb-sxm": {"2027Q1": 12, "2027Q2": 24}}
