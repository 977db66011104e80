"""The plan beside others: what each costs, takes and leaves undone; what doing nothing means."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction

from planner.inputs.text import some_of
from planner.planning.plan import Plan
from planner.planning.traced_figures import NOTHING, TracedFigure, total, where
from planner.reporting.document import (
    Blank,
    Block,
    Bullets,
    Cell,
    ColumnKind,
    Document,
    Fields,
    Figure,
    Heading,
    Paragraph,
    Table,
    beneath,
    columns_for,
    table,
)
from planner.reporting.format import (
    Style,
    code,
    count_of,
    listed,
    money_short,
    percent,
    signed_percent,
    styled,
    usd,
)
from planner.reporting.sections.variants import acquired_short, traced_chance
from planner.reporting.traced import TracedFile, TracedPlan
from planner.whatif.alternatives import AlternativePlan, Alternatives, Best
from planner.whatif.results import PlanSummary, summary_of

_CHEAPEST = "the cheapest"
_NONE = "–"
_MOST_NAMED = 10
"""The most jobs that a line names if a table below has them all."""
_EXPECTED = ("do nothing", "reclaim first", "rent only")
_UNITS_SHORT = (
    "Units without room on what is owned: the fewest there can be in each quarter, the highest "
    "priority first. A model that is not tuned leaves its deployment short"
)


def command_for(name: str, plan: Plan, out: str = "DIR") -> str:
    """`planner sensitivity scenarios/quarterly.yaml --set finance.pue=1.2 --out DIR`.

    A plan that took over what runs in another is asked again through what it records itself.
    """
    if any(role == "placement" for role, _, _ in plan.provenance.files):
        again = ["planner", "report", f"{out}/plan.json", "--what-if", "all", "--out", out]
        return shlex.join([*again, "--force"])
    asked = plan.provenance.options
    words = ["planner", name]
    words += [path for role, path, _ in plan.provenance.files if role == "scenario"]
    for option, values in (
        ("--scenario", asked.variations),
        ("--set", map(str, asked.settings)),
        ("--catalog", asked.catalog),
        ("--rules", asked.rules),
    ):
        words += [word for value in values for word in (option, value)]
    return shlex.join([*words, "--out", out])


# Plans held against each other


def are_equal(one: PlanSummary, other: PlanSummary) -> bool:
    """Return whether two plans cost the same to the cent and keep the same jobs."""
    ends = [(figures.cost_cents, figures.giving_way, figures.dropped) for figures in (one, other)]
    return one.cost_cents is not None and ends[0] == ends[1]


def same_nodes(one: PlanSummary, other: PlanSummary) -> bool:
    """Return whether they acquire the same as well."""
    return are_equal(one, other) and one.acquired == other.acquired


def is_cheaper(one: PlanSummary | None, plan: PlanSummary) -> bool:
    """Return whether a plan keeps all that another does for less, or more for no more."""
    if one is None or one.cost_cents is None or plan.cost_cents is None:
        return False
    keeps = (
        {*one.short} <= {*plan.short}
        and {*one.dropped} <= {*plan.dropped}
        and one.given_way <= plan.given_way
    )
    return keeps and (one.cost_cents, one.given_way) < (plan.cost_cents, plan.given_way)


def cheaper_ones(found: Alternatives) -> list[AlternativePlan]:
    """Return plans that keep all that the cheapest does for less, or more for no more.

    They may do what the scenario does not allow; or, without settings, the cheapest is not
    proved.
    """
    return [one for one in found.others if is_cheaper(one.figures, found.cheapest)]


def cheaper_text(one: AlternativePlan, plan: PlanSummary) -> str:
    """Say by how much it is cheaper, and what the scenario would have to allow."""
    costs = (one.figures.cost_cents or 0) if one.figures else 0
    told = _better(one.name, (plan.cost_cents or 0) - costs)
    if not one.settings:
        why = "is proved to a gap" if plan.result == "proved" else "is not proved"
        return f"{told}. It takes nothing that the scenario does not allow: the cheapest {why}."
    settings = listed([code(setting.text) for setting in one.settings])
    return (
        f"{told}, with what the scenario does not allow: {settings} ({one.objective}). "
        "Allow that, if you can, and plan again."
    )


def _better(name: str, cents: int) -> str:
    """Say what an option is that keeps as many jobs for so much less, or more for as much."""
    if not cents:
        return f"There is a way to keep more for as much: {name}"
    return f"There is a cheaper way to keep as many jobs: {name}, for {money_short(cents)} less"


def short_text(figures: PlanSummary) -> str:
    """Say who gives way; empty if nobody does.

    `dropped: a, b; short: c by 6 units × quarters; delayed: d`.
    """
    units = {
        one.job: f"{one.job} by {sum(one.short):,} units × quarters" for one in figures.units_short
    }
    delayed = [name for name in figures.short if name not in {*figures.dropped, *units}]
    parts = (("dropped", figures.dropped), ("short", units.values()), ("delayed", delayed))
    return "; ".join(f"{how}: {', '.join(names)}" for how, names in parts if names)


def _told_of(
    found: Alternatives, others: Sequence[AlternativePlan], named: str
) -> Iterator[Bullets]:
    """A line for each alternative, and one for all that acquire what the plan does for as much."""
    ties = [one for one in others if one.figures and same_nodes(one.figures, found.cheapest)]
    lines = [_said(one, found, named) for one in others if one not in ties]
    if ties:
        told = [f"{one.name} ({_best(one.best)})" if one.best else one.name for one in ties]
        lines.append(f"These acquire the same as {named} for as much: {listed(told)}.")
    yield Bullets(tuple(lines))


def _said(one: AlternativePlan, found: Alternatives, named: str) -> str:
    """Say what an alternative is best in, what is proved, who gives way; or why there is none."""
    figures = one.figures
    if figures is None:
        return f"{one.name}: left out, {one.left_out}."
    if figures.cost_cents is None:
        return f"{one.name}: {one.objective}. {figures.result.capitalize()}: {figures.reason}."
    told = f"{one.name}: {one.objective}{f': {_best(one.best)}' if one.best else ''}"
    if are_equal(figures, found.cheapest):
        acquired = acquired_short(figures.acquired)
        told += f"; it costs the same as {named} to the cent, and acquires {acquired}"
    short = short_text(figures)
    if one.units_short is not None and len(figures.short) > _MOST_NAMED:
        short = f"That is {count_of(len(figures.short), 'job')}"
    return f"{told}{short and f'. {short[0].upper()}{short[1:]}'}."


def _best(best: Best) -> str:
    """`3 node types, proved`, or how much better a plan within the tolerance might be."""
    value, bound = _valued(best.value, best.unit), _valued(best.bound, best.unit)
    return f"{value}, {'proved' if value == bound else f'at best {bound}'}"


def _valued(value: float, unit: str) -> str:
    return f"{value:g} %" if unit == "% free" else count_of(round(value), "node type")


# The options as rows of one table

_Option = tuple[str, Mapping[str, Cell]]
"""The name of a plan, or of what came of asking for it, and cells by the titles of columns."""

_COLUMNS = {
    "Status": ("list, 1", ""),
    "Net present cost, USD": ("list, 1", ""),
    "Difference, USD": ("1", ""),
    "More": ("list", ""),
    "Acquired": ("list, report", "nodes that enter service, rented ones in each quarter"),
    "Nodes": ("list", ""),
    "Bought, USD": ("report", ""),
    "Rented or reserved, USD": ("report", ""),
    "After the horizon, USD": (
        "list, report",
        "still to be paid for reservations, in no cost here unless commitments are charged",
    ),
    "GPUs at the end": ("report", ""),
    "Held by jobs": ("report", ""),
    "Idle": ("list, 1", "GPU-hours in service that no job holds"),
    "Most nameplate kW": ("report", ""),
    "Mean power, kW": ("list", "drawn by the servers in service, over the quarters"),
    "Jobs dropped": ("list, 1", ""),
    "Short of units": ("list, 1", "jobs that run, some of their units not in every quarter"),
    "Delayed": ("list, 1", ""),
    "Falls short": ("1", "in that share of the futures drawn, at the worst in any quarter"),
    "Order by": ("1", ""),
}
"""After the option's name: the pages that have a column, and what it means where that is not plain.
Pages are the list of alternatives, the first of a report (`1`), and the section of it that tells
what options take, of which page 1 told what they come to."""
_SELDOM = {
    "After the horizon, USD",
    "Most nameplate kW",
    "Mean power, kW",
    "Short of units",
    "Delayed",
    "Falls short",
}
"""Columns that are left out if no option has a figure there."""


def _options_table(options: Sequence[_Option], page: str) -> Table:
    known = {
        title for _, cells in options for title, cell in cells.items() if isinstance(cell, Figure)
    }
    shown = [
        title
        for title, (pages, _) in _COLUMNS.items()
        if page in pages and title in known.union(_COLUMNS.keys() - _SELDOM)
    ]
    meaning = "; ".join(
        f"{title.partition(',')[0]}: {_COLUMNS[title][1]}" for title in shown if _COLUMNS[title][1]
    )
    kinds: dict[str, ColumnKind] = {"Status": "text", "Acquired": "text"}
    return table(
        options,
        ("Option", "text", lambda one: one[0]),
        *(
            column
            for title in shown
            for column in columns_for(
                [(title, title)],
                lambda one, title: one[1].get(title, _NONE),
                kinds.get(title, "number"),
            )
        ),
        caption=f"Options, each planned by itself{meaning and f'. {meaning}'}",
    )


def _planned(name: str, traced: TracedPlan) -> _Option:
    """Return an option for a plan of which everything is known."""
    plan, accounts, capacity = traced.plan, traced.accounts, traced.capacity
    last = traced.quarters[-1]
    rented = total(accounts.acquired(kind) for kind in ("rent", "reserve", "hourly"))
    after = traced.at("acquisitions[*].committed_cents")

    def short(outcome: str) -> Cell:
        if plan.shortage is None:
            return "none"
        jobs = traced.read.count(f"shortage.jobs{where(outcome=outcome)}")
        return traced.figure(jobs, "count") if jobs.value else "none"

    taken = [
        [capacity.taken(site, quarter, "power_w") for site in capacity.sites]
        for quarter in traced.quarters
    ]
    sums = [total(filter(None, sites)) for sites in taken if None not in sites]
    most = max(sums, key=lambda one: one.value) if len(sums) == len(taken) else None
    idle = accounts.idle_share
    cells: dict[str, Cell] = {
        "Status": plan.proof.status,
        "Net present cost, USD": traced.at("proof.cost_cents"),
        "Acquired": acquired_short(summary_of(plan).acquired),
        "Bought, USD": traced.figure(accounts.acquired("buy"), "usd"),
        "Rented or reserved, USD": traced.figure(rented, "usd"),
        "After the horizon, USD": after if after.value else "none",
        "GPUs at the end": traced.figure(capacity.in_service(last), "count"),
        "Held by jobs": traced.figure(capacity.needed(last), "count"),
        "Idle": traced.figure(idle, "share") if idle else _NONE,
        "Most nameplate kW": "?" if most is None else traced.figure(most, "kw"),
        "Jobs dropped": short("dropped"),
        "Short of units": short("short"),
        "Delayed": short("delayed"),
    }
    if traced.orders:
        cells["Order by"] = traced.order_by(traced.orders[0][0])
    return name, cells


_KEPT: dict[str, tuple[str, Style, str]] = {
    "Bought, USD": ("capex_cents", "usd", _NONE),
    "Rented or reserved, USD": ("rent_cents", "usd", _NONE),
    "After the horizon, USD": ("committed_cents", "usd", "none"),
    "GPUs at the end": ("gpus", "count", _NONE),
    "Held by jobs": ("gpus_held", "count", _NONE),
    "Idle": ("gpus_idle", "share", _NONE),
    "Most nameplate kW": ("power_w", "kw", "?"),
    "Mean power, kW": ("drawn_w", "kw", _NONE),
}
"""Figures of a summary by the titles of their columns, and what stands there without one."""


def _is_told(one: PlanSummary, name: str) -> bool:
    """Return whether there is a figure: nothing due after the horizon is none."""
    value = getattr(one, name)
    return bool(value) if name == "committed_cents" else value is not None


def _found(
    known: TracedFile, name: str, stem: str, one: PlanSummary, cheapest: PlanSummary
) -> _Option:
    """Return an option for a plan of which alternatives.json keeps only figures, at this place."""
    if one.cost_cents is None:
        return name, {"Status": one.result}

    def count(jobs: TracedFigure) -> Cell:
        return known.figure(jobs, "count") if jobs.value else "none"

    dropped, units = known.read.count(f"{stem}.dropped[*]"), NOTHING
    if one.units_short:
        units = known.read.count(f"{stem}.units_short[*]")
    base, same = cheapest.cost_cents or 0, one.acquired == cheapest.acquired
    first = stem == "cheapest"
    more = "equal"
    if one.cost_cents != base:
        more = signed_percent((one.cost_cents - base) / abs(base)) if base else _NONE
    cost = known.read.at(f"{stem}.cost_cents")
    difference = cost - known.read.at("cheapest.cost_cents") if base else cost
    cells: dict[str, Cell] = {
        "Status": one.result,
        "Net present cost, USD": known.figure(cost, "usd"),
        "Difference, USD": known.figure(difference, "more_usd"),
        "More": "0 %" if first else more,
        "Acquired": "the same" if same and not first else acquired_short(one.acquired),
        "Nodes": f"{one.nodes or 0:,}",
        **{
            title: known.at(f"{stem}.{name}", style) if _is_told(one, name) else none
            for title, (name, style, none) in _KEPT.items()
        },
        "Jobs dropped": count(dropped),
        "Short of units": count(units),
        "Delayed": count(known.read.count(f"{stem}.short[*]") - dropped - units),
    }
    if one.order_by:
        cells["Order by"] = known.day(one.order_by, f"{stem}.order_by")
    return name, cells


def _file(found: Alternatives) -> TracedFile:
    return TracedFile(found, "alternatives.json")


def alternatives_document(found: Alternatives) -> Document:
    """Show plans side by side, what each is best in, who is short, and what is left out."""
    cheapest, known = found.cheapest, _file(found)
    options = [_found(known, "cheapest", "cheapest", cheapest, cheapest)]
    options += [
        _found(known, one.name, f"others[{place}].figures", one.figures, cheapest)
        for place, one in enumerate(found.others)
        if one.figures
    ]
    return (
        Heading(f"Alternatives for {found.scenario}", 1),
        Paragraph(
            f"The cheapest plan of the scenario as it stands costs "
            f"{usd(cheapest.cost_cents or 0)}, {cheapest.result}; near it are plans that cost at "
            f"most {percent(found.within or 0)} more.",
            tone="strong",
        ),
        *(Paragraph(cheaper_text(one, cheapest), tone="warning") for one in cheaper_ones(found)),
        _options_table(options, "list"),
        _where(),
        Heading("What each is"),
        *_told_of(found, found.others, _CHEAPEST),
        *_units_short(found, range(len(found.quarters)), found.quarters),
    )


def _options(traced: TracedPlan) -> list[_Option]:
    """Return the recommended plan, those that were handed in, and those planned beside it."""
    found = traced.beside.alternatives
    options = [_planned("Recommended", traced)]
    if traced.beside.risk is not None and traced.beside.risk.chances:
        worst = traced_chance(traced.beside.risk)
        options[0] = ("Recommended", {**options[0][1], "Falls short": worst})
    for name, plan in traced.beside.plans.items():
        _, cells = _planned(name, TracedPlan(plan, name=name))
        more = styled(Fraction(plan.proof.cost_cents - traced.plan.proof.cost_cents), "more_usd")
        options.append((name, {**cells, "Difference, USD": more}))
    if found is not None:
        options += [
            _found(_file(found), one.name, f"others[{place}].figures", one.figures, found.cheapest)
            for place, one in enumerate(found.others)
            if one.figures
            and one.name not in traced.beside.plans
            # Words are enough where it is the recommended plan once more.
            and (one.name in _EXPECTED or not same_nodes(one.figures, found.cheapest))
        ]
    return options


def options_brief(traced: TracedPlan) -> Iterator[Block]:
    """Show, for page 1, each option's extra cost, free share, and jobs that give way."""
    options = _of_page_1(traced, _options(traced))
    yield _options_table(options, "1")
    found = traced.beside.alternatives
    shown = {name for name, _ in options}
    short = tuple(
        f"{some_of(one.figures.short, _MOST_NAMED)} ({one.name})"
        for one in (found.others if found else ())
        if one.figures and one.figures.short and one.name in shown
    )
    if short:
        yield Paragraph(f"Jobs that would give way: {'; '.join(short)}.")


def _of_page_1(traced: TracedPlan, options: Sequence[_Option]) -> list[_Option]:
    """Return the alternatives that everybody asks for, and those that cost less."""
    found = traced.beside.alternatives
    asked = {"Recommended", *traced.beside.plans, *_EXPECTED}
    asked |= {one.name for one in cheaper_ones(found)} if found else set()
    return [one for one in options if one[0] in asked]


def options_section(traced: TracedPlan) -> Iterator[Block]:
    """Show what each plan takes; an option that nobody planned stays open.

    Costs are on page 1, and here if page 1 does not have all of them.
    """
    found, named = traced.beside.alternatives, "the recommended plan"
    options = _options(traced)
    if len(options) > len(_of_page_1(traced, options)):
        yield _options_table(options, "1")
    yield _options_table(options, "report")
    if found is not None:
        others = [one for one in found.others if one.name not in traced.beside.plans]
        yield from _told_of(found, others, named)
        yield _where()
    known = {*traced.beside.plans, *(one.name for one in (found.others if found else ()))}
    ask = Blank(
        f"{code(command_for('alternatives', traced.plan))}, where plan.json is, and report again"
    )
    if missing := tuple((name.capitalize(), ask) for name in _EXPECTED if name not in known):
        yield Fields(missing)
    if found:
        yield from beneath(_units_short(found, traced.columns, traced.plan.quarters))


def why_recommended(traced: TracedPlan) -> str:
    """Say why this plan and no other."""
    plan = traced.plan
    kept = "keeps every job as asked" if plan.shortage is None else "lets the fewest jobs give way"
    told = f"Recommended because it {kept}, and no plan that the scenario allows does so for less"
    if plan.proof.status != "proved":
        told = f"Recommended as the best plan found that {kept}; that none costs less is not proved"
    return f"{told}."


def _where() -> Paragraph:
    return Paragraph(
        f"alternatives.json has these plans, with their settings for {code('planner plan')}.",
        "faint",
    )


def _units_short(
    found: Alternatives, columns: Sequence[int], quarters: Sequence[str]
) -> tuple[Block, ...]:
    """Say what doing nothing leaves without room, unit by unit; nothing if that is not known."""
    every = enumerate(found.others)
    known = next(((at, one.units_short) for at, one in every if one.units_short is not None), None)
    if known is None:
        return ()
    place, short = known
    file, head = _file(found), Heading("Doing nothing, quarter by quarter")
    if not short:
        return (head, Paragraph("What is owned holds every unit in every quarter."))
    rows = table(
        range(len(short)),
        ("Job", "text", lambda at: short[at].job),
        ("Units asked, by quarter", "text", lambda at: ", ".join(map(str, short[at].asked))),
        *columns_for(
            ((quarters[quarter], quarter) for quarter in columns),
            lambda at, quarter: file.at(
                f"others[{place}].units_short[{at}].short[{quarter}]", "count"
            ),
        ),
        caption=_UNITS_SHORT,
    )
    return (head, rows)


# What stands beside the net present cost on page 1


def cheaper_warnings(traced: TracedPlan) -> Iterator[Paragraph]:
    """Warn of each option that keeps as many jobs for less, and what it would take."""
    found = traced.beside.alternatives
    for one in cheaper_ones(found) if found else ():
        yield Paragraph(cheaper_text(one, found.cheapest), "warning")  # type: ignore[union-attr]
    for miss in traced.plan.near_misses:
        if miss.policy:
            way = f"let them change GPU type between quarters ({code(miss.policy)})"
            yield Paragraph(f"{_better(way, miss.saved_cents)}, as proved.", "warning")
    here = summary_of(traced.plan)
    for name, plan in traced.beside.plans.items():
        other = summary_of(plan)
        if is_cheaper(other, here):
            told = _better(name, (here.cost_cents or 0) - (other.cost_cents or 0))
            told += ", with what was asked there and not here. Adopt that, if you can."
            yield Paragraph(told, "warning")
