"""What a plan rests on: changes, warnings, assumptions, parameters, risks, and near misses."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from planner.inputs.rules.facts import SETTINGS
from planner.reporting.document import Blank, Block, Bullets, Fields, Paragraph, columns_for, table
from planner.reporting.format import code, count_of, listed, percent, shortened, usd
from planner.reporting.sections.purchases import nodes_of, price_source
from planner.reporting.sections.risk import RiskRow, risk_rows

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from planner.inputs.settled import ChangeNote
    from planner.planning.plan import NearMiss, Note, Plan
    from planner.reporting.document import Block, Tone
    from planner.reporting.traced import TracedPlan


def near_miss_section(plan: Plan) -> Iterator[Block]:
    """The changes, what saves most first; nothing where none was found."""
    if plan.near_misses:
        found = sorted(plan.near_misses, key=lambda one: -one.saved_cents)
        yield Bullets(tuple(map(_told, found)))


def _told(one: NearMiss) -> str:
    change = f"{percent(one.share, 0)} less traffic of {one.job}"
    if one.units:
        change = f"{count_of(one.units, 'unit')} fewer of {one.job}"
    freed = f"{count_of(one.gpus, 'GPU')} fewer on {one.node_type} @ {one.site}"
    return f"{change} would save {usd(one.saved_cents)} net present cost ({freed}; planned, proved)"


_LONGEST = 60
_OPEN = "open"
_FIGURE = re.compile(r"[0-9][0-9.,]*")
_SETTINGS, _CATALOG = "settings", "catalog"


def changes_section(changes: Sequence[ChangeNote]) -> Iterator[Block]:
    """What overrides and `--set` changed in a scenario before it was planned, in order."""
    if changes:
        yield table(
            changes,
            ("Value", "text", lambda one: one.path),
            ("Was", "text", lambda one: shortened(one.before or "not stated", _LONGEST)),
            ("Is", "text", lambda one: shortened(one.after or "deleted", _LONGEST)),
            ("By", "text", lambda one: one.by),
        )


def notes_section(notes: Sequence[Note], most: int, tone: Tone, *, whole: bool) -> Iterator[Block]:
    """Every note, or with `whole` false one line for those that differ in figures alone."""
    lines = [_line(note) for note in notes] if whole else list(_merged(notes))
    if lines:
        yield Bullets(tuple(lines[:most]), tone)
    if len(lines) > most:
        more = count_of(len(lines) - most, "more note")
        yield Paragraph(f"… {more}, all of them in plan.json", tone="faint")


def _line(note: Note) -> str:
    told = not note.origin or note.origin in note.text
    return note.text if told else f"{note.text} ({note.origin})"


def _merged(notes: Iterable[Note]) -> Iterator[str]:
    alike: dict[str, list[Note]] = {}
    for note in notes:
        alike.setdefault(_kind(note), []).append(note)
    for kind, group in alike.items():
        if kind == _SETTINGS:
            yield f"settings that the scenario leaves open: {'; '.join(map(_line, group))}"
        elif kind == _CATALOG:
            # `xe9680-a100: cpu_cores = 112 cores is an assumption`, without the reason that follows
            figures = (": ".join(note.text.split(": ")[:2]) for note in group)
            yield (
                f"catalog figures that nobody published: {'; '.join(figures)} "
                f"({code('planner catalog show ID')} says why)"
            )
        elif len(group) > 1:
            others = listed([note.origin for note in group[1:]])
            yield f"{_line(group[0])}; likewise with other figures for {others}"
        else:
            yield _line(group[0])


def _kind(note: Note) -> str:
    """Notes of one kind share a line; what a job's sizing says differs in its figures at most."""
    if note.origin.startswith("rule policies/"):
        return _SETTINGS
    if note.origin.startswith("catalog "):
        return _CATALOG
    of_a_job = note.origin.startswith(("job ", "jobs "))
    return _FIGURE.sub("", note.text) if of_a_job else note.text


def assumptions_section(traced: TracedPlan) -> tuple[Block, ...]:
    """Every parameter, then prices without a quote and all that a rule filled in, as a register."""
    settings = table(
        traced.plan.settings,
        ("Parameter", "text", lambda one: f"{SETTINGS[one.name].meaning} ({one.name})"),
        (
            "Value",
            "number",
            lambda one: traced.at(
                f"settings[name={one.name}].value",
                "share" if one.unit == "share" else "number",
                "how-settings",
            ),
        ),
        ("Unit", "name", lambda one: "" if one.unit == "share" else one.unit),
        (
            "From",
            "text",
            lambda one: "the scenario" if one.origin == "scenario" else one.origin,
        ),
        ("Stated or assumed", "name", lambda one: "assumed" if one.assumed else "stated"),
        caption="Parameters of cost and policy",
    )
    illustrative = dict.fromkeys(
        (f"{line.offer} costs {line.price_text}, an illustrative price", price_source(line))
        for _, line in traced.bill
        if line.illustrative
    )
    found = (*illustrative, *((note.text, note.origin) for note in traced.plan.assumptions))
    notes = table(
        enumerate(found, 1),
        ("No", "name", lambda row: f"A{row[0]}"),
        ("Assumption", "text", lambda row: row[1][0]),
        ("Source", "text", lambda row: row[1][1]),
        caption="Prices without a quote, and what the inputs leave open",
    )
    told = tuple(one for one in (settings, notes) if one.rows)
    return told or (Paragraph("Nothing was left open: every figure is stated."),)


def risks_section(traced: TracedPlan) -> Iterator[Block]:
    """What is known to be at risk: likelihood as drawn futures show it, impact as the plan does."""
    found = traced.beside.risk
    rows = list(risk_rows(found)) if found else []
    rows += _late(traced)
    rows += [(note.text, note.origin, _OPEN, _OPEN, _OPEN) for note in traced.plan.warnings]
    if rows:
        yield table(
            enumerate(rows, 1),
            ("No", "name", lambda row: f"R{row[0]}"),
            ("Risk", "text", lambda row: row[1][0]),
            ("Known from", "text", lambda row: row[1][1]),
            *columns_for(
                (("Likelihood", 2), ("Impact, GPUs missing", 3), ("Impact, USD", 4)),
                lambda row, place: row[1][place],
            ),
            caption="Risks that the planner found",
        )
    else:
        yield Paragraph("The planner found no risk in its inputs.")
    if found is not None:
        yield Paragraph(
            f"Likelihoods are shares of {count_of(found.futures, 'future')} drawn with seed "
            f"{found.seed}, each planned as if it were known; figures stand in risk.json.",
            "faint",
            "how-risk",
        )
    else:
        command = code("planner risk FUTURES --out DIR")
        yield Paragraph(
            f"How likely the plan falls short, and how dear that is, is open: {command} draws "
            "futures and plans each; its risk.json beside plan.json fills this table in.",
            tone="faint",
        )
    answers = traced.plan.owner or Blank(f"{code('owner:')} of the scenario")
    yield Fields(
        (
            ("Who answers for these risks, and how they are mitigated", answers),
            ("Risks beyond the inputs: supply, staff, change of models", Blank()),
        )
    )


def _late(traced: TracedPlan) -> Iterator[RiskRow]:
    """An order that comes late leaves its quarter without these nodes."""
    for number, (place, line) in enumerate(traced.bill, 1):
        if line.lead_time_weeks:
            stem = f"acquisitions[{place}]"
            missing = traced.read.at(f"{stem}.count") * traced.read.at(f"{stem}.gpus_per_node")
            yield (
                f"{nodes_of(line)} ordered after {line.order_by}, or delivered later than in "
                f"{count_of(line.lead_time_weeks, 'week')}, "
                f"{'is' if line.count == 1 else 'are'} not in service in {line.quarter}",
                f"line {number} of the bill, {traced.section('bill')}",
                _OPEN,
                _OPEN if line.step_hours else traced.figure(missing, "count", "how-bill"),
                _OPEN,
            )
