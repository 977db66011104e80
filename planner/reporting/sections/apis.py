"""APIs by the token: what they answer and cost, and when they would be cheaper than GPUs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.reporting.document import Block, Paragraph, table
from planner.reporting.format import percent, quarter_runs, usd

if TYPE_CHECKING:
    from collections.abc import Iterator

    from planner.planning.plan import Plan
    from planner.reporting.traced import TracedPlan

__all__ = ["apis_section", "on_apis_text"]

_HOW = "how-apis"
_SMALL = 100
"""Times the traffic from which nobody asks where the API begins to be dearer."""


def apis_section(traced: TracedPlan) -> Iterator[Block]:
    """Jobs on APIs with what they pay, and those on GPUs beside APIs that serve their model."""
    plan = traced.plan
    if plan.apis:
        yield table(
            range(len(plan.apis)),
            ("Job", "name", lambda at: plan.apis[at].job),
            ("API", "text", lambda at: plan.apis[at].api),
            ("Quarters", "text", lambda at: _quarters(plan, at)),
            (
                "M tokens",
                "number",
                lambda at: traced.figure(
                    traced.read.sum(f"apis[{at}].million_tokens[*]"), "count", _HOW
                ),
            ),
            (
                "Paid, USD",
                "number",
                lambda at: traced.figure(traced.read.sum(f"apis[{at}].cents[*]"), "usd", _HOW),
            ),
            (
                "Present value",
                "number",
                lambda at: traced.at(f"apis[{at}].present_cents", "usd", _HOW),
            ),
            caption="Requests that APIs answer, at mean traffic; what they keep to of latency is "
            "theirs to promise",
        )
        if plan.api_saving_cents is not None:
            yield Paragraph(
                "Without any API, the best plan costs "
                f"{usd(plan.api_saving_cents)} more, as proved."
            )
    if plan.api_comparisons:
        rows = list(enumerate(plan.api_comparisons))
        yield table(
            rows,
            ("Job", "name", lambda row: row[1].job),
            ("API", "text", lambda row: row[1].api),
            ("Allowed", "text", lambda row: "yes" if row[1].allowed else "no"),
            (
                "GPUs, USD",
                "number",
                lambda row: traced.at(f"api_comparisons[{row[0]}].gpus_cents", "usd", _HOW),
            ),
            (
                "API, USD",
                "number",
                lambda row: traced.at(f"api_comparisons[{row[0]}].api_cents", "usd", _HOW),
            ),
            ("API cheaper", "text", lambda row: _turns(row[1].gpus_cents, row[1].api_cents)),
            caption="Jobs on GPUs, and the net present cost of the same tokens on an API. Of GPUs, "
            "those held count, idle ones not, and of owned nodes what running them costs; the API "
            "is cheaper up to the share of this traffic at which both cost the same",
        )


def _quarters(plan: Plan, at: int) -> str:
    use = plan.apis[at]
    active = [plan.quarters[q] for q, tokens in enumerate(use.million_tokens) if tokens]
    return quarter_runs(plan.quarters, active)


def _turns(gpus_cents: int, api_cents: int) -> str:
    """`below 12 % of this traffic`, `up to 3.2 times this traffic`."""
    if not api_cents or gpus_cents >= _SMALL * api_cents:
        return "at any traffic"
    if gpus_cents <= 0:
        return "at none"
    if gpus_cents < api_cents:
        return f"below {percent(gpus_cents / api_cents)} of it"
    return f"up to {gpus_cents / api_cents:.1f} times it"


def on_apis_text(plan: Plan, job: str) -> str:
    """`2 on hosted-70b`: units of a job on APIs, the most of a quarter; empty where none is."""
    planned = next(one for one in plan.jobs if one.name == job)
    return ", ".join(f"{max(units)} on {api}" for api, units in planned.on_apis)
