"""A plan warns of purchases of what cannot be ordered then."""

import pytest

import planner

GPU = """\
sources: {{maker: {{title: Road map}}}}
gpus:
  h100-80gb-sxm:
    extends: h100-80gb-sxm
    lifecycle: {{{days}}}
"""
SCENARIO = """\
format: 1
name: Lifecycle
horizon: {first_quarter: 2027Q2, quarters: 1, as_of: 2026-11-02}
offers:
  more: {node_type: xe9680-h100, kind: KIND, PRICE, lead_time_weeks: 8}
jobs:
  chat: {fixed: {gpus: 2}}
"""


@pytest.fixture
def warned(tmp_path):
    """`warned("orderable: 2027-06-01")`: what is said of the order, which is due on 2027-02-04."""

    def told(*days, kind="buy", price="price_usd: 300000"):
        stated = ", ".join(
            f"{name}: {{value: {day}, source: maker}}"
            for name, day in (one.split() for one in days)
        )
        (tmp_path / "own.yaml").write_text(GPU.format(days=stated))
        scenario = tmp_path / "scenario.yaml"
        scenario.write_text(SCENARIO.replace("KIND", kind).replace("PRICE", price))
        plan = planner.plan(scenario, catalog=tmp_path / "own.yaml").to_dict()
        return [one["text"] for one in plan["warnings"] if "confirmed by the seller" in one["text"]]

    return told


@pytest.mark.parametrize(
    ("days", "says"),
    [
        (["orderable 2027-06-01"], "can be ordered from 2027-06-01 on"),
        (["announced 2026-10-01"], "was announced on 2026-10-01, and no source says from when"),
        (["end_of_sale 2026-12-31"], "can be ordered until 2026-12-31"),
    ],
)
def test_an_order_outside_the_days_of_sale_is_told(warned, days, says):
    (text,) = warned(*days)
    assert says in text
    assert text.startswith("more for 2027Q2 is ordered by ")


def test_an_order_within_the_days_of_sale_is_not_and_what_is_rented_is_no_order(warned):
    assert not warned("orderable 2026-01-01", "end_of_sale 2027-12-31")
    price = "price_usd_per_gpu_hour: 3"
    assert not warned("announced 2026-10-01", kind="rent", price=price)
