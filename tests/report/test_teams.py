"""The section on teams: who holds, delivers and pays what, and quotas in words."""

import pytest

from planner.planning.plan import Chargeback, QuotaUse, TeamUse
from planner.reporting.document import Bullets, Paragraph, Table, cell_text
from planner.reporting.sections.cost import teams_section
from planner.reporting.traced import TracedPlan
from tests.report.pages import justification, quarterly
from tests.stated import changed

RED = TeamUse(
    team="red",
    gpus=(8, 8, 12),
    gpu_hours=61_320.0,
    delivered_gpu_hours=30_660.0,
    open_gpu_hours=0.0,
    charged_cents=(1_000_000, 1_000_000, 1_500_001),
    cost_cents=3_500_001,
    quotas=(
        QuotaUse(gpu_type=None, limit_gpus=(8, 8, 16), gpus=(8, 8, 12)),
        QuotaUse(gpu_type="h100-80gb-sxm", limit_gpus=(None, None, None), gpus=(4, 4, 4)),
    ),
)
NOBODY = TeamUse(
    team=None,
    gpus=(0, 1, 1),
    gpu_hours=4380.0,
    delivered_gpu_hours=0.0,
    open_gpu_hours=4380.0,
    charged_cents=(0, 50_000, 50_000),
    cost_cents=100_000,
    quotas=(),
)
CHARGEBACK = Chargeback(
    idle="separate", teams=(RED, NOBODY), idle_gpu_hours=2190.0, idle_cents=(100_000, 0, 0)
)


@pytest.fixture
def section(plan):
    def blocks(**changes):
        charged = changed(CHARGEBACK, **changes)
        return tuple(teams_section(TracedPlan(changed(plan, chargeback=charged))))

    return blocks


def table(blocks):
    return next(block for block in blocks if isinstance(block, Table))


def test_each_team_has_its_row_idle_gpus_theirs_and_the_sum_is_the_cost_of_all(section):
    drawn = table(section())
    assert [tuple(map(cell_text, row)) for row in (*drawn.rows, drawn.footer)] == [
        ("red", "8–12", "61,320", "30,660", "35,000", "0.57", "1.14"),
        ("no team", "0–1", "4,380", "–", "1,000", "0.23", "–"),
        ("idle, charged to nobody", "", "2,190", "–", "1,000", "0.46", "–"),
        ("Sum", "", "67,890", "–", "37,000", "0.54", "–"),
    ]


@pytest.mark.parametrize(
    ("idle_cents", "said"),
    [((0, 0, 0), "idle, charged above"), ((9_000, 0, 0), "idle, of pools that nobody uses")],
)
def test_idle_gpus_that_teams_pay_for_are_not_said_to_be_charged_to_nobody(
    section, idle_cents, said
):
    drawn = table(section(idle="spread", idle_cents=idle_cents))
    assert [cell_text(row[0]) for row in drawn.rows] == ["red", "no team", said]


def test_each_document_charges_delivered_hours_too_where_all_are_known(plan):
    known = changed(plan, chargeback=changed(CHARGEBACK, teams=(RED,)))
    drawn = justification(known)
    assert "| **Sum** |  | **63,510** | **30,660** | **36,000** | **0.57** | **1.17** |" in drawn
    assert "- Net present cost of each GPU-hour that jobs deliver, USD: " in drawn
    every = sum(sum(pool.gpu_hours_used) for pool in plan.pools)
    alike = changed(RED, delivered_gpu_hours=every)
    once = changed(plan, chargeback=changed(CHARGEBACK, teams=(alike,)))
    assert "GPU-hour that jobs deliver" not in justification(once)
    assert "- Charged to teams, of the net present cost: 97.2 %\n" in drawn
    by_quarter = quarterly(known)
    assert "| red | 8–12 | 61,320 | 30,660 | 35,000 | 0.57 | 1.14 |" in by_quarter
    drawn = justification(changed(plan, chargeback=CHARGEBACK))
    assert "GPU-hour that jobs deliver" not in drawn


def test_quotas_are_told_by_runs_of_alike_quarters(section):
    (bullets,) = [block for block in section() if isinstance(block, Bullets)]
    assert bullets.items == (
        "red: 8 of 8 (2027Q1–Q2), 12 of 16 (2027Q3)",
        "red: 4 of any number (2027Q1–Q3), on h100-80gb-sxm",
    )


def test_quotas_of_teams_with_runs_are_told_by_their_fullest_hour(plan):
    def said(plan):
        blocks = tuple(teams_section(TracedPlan(changed(plan, chargeback=CHARGEBACK))))
        return [block.text for block in blocks if isinstance(block, Paragraph)][-1]

    assert said(plan) == "Quotas, as GPUs held of GPUs allowed:"
    (first, *others), *later = plan.placements
    run = changed(first.occupants[0], hours=(0, 600))
    first = changed(first, occupants=(run, *first.occupants[1:]))
    runs = changed(plan, placements=((first, *others), *later))
    assert said(runs) == "Quotas, as GPUs held, at their fullest hour, of GPUs allowed:"


def test_who_pays_for_idle_gpus_is_said_and_without_quotas_none_are_told(section):
    told = {idle: section(idle=idle)[0].text for idle in ("separate", "spread")}
    assert "stand in a line of their own" in told["separate"]
    assert "are charged to those who use the pool" in told["spread"]
    assert not [block for block in section(teams=(NOBODY,)) if isinstance(block, Bullets)]
