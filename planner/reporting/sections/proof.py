"""What a plan rests on, and why it can be trusted: notes, risks, bound, checks, rules, sign-off."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from planner.inputs.override import AppliedChange
from planner.inputs.rules.facts import SETTINGS
from planner.planning.plan import NearMiss, Note, Plan, SecondOpinion, SettingUse
from planner.reporting.document import (
    Blank,
    Block,
    Bullets,
    Cell,
    Fields,
    Heading,
    Paragraph,
    Table,
    Tone,
    columns_for,
    rest,
    table,
)
from planner.reporting.format import (
    Style,
    code,
    count_of,
    gap_percent,
    listed,
    percent,
    shortened,
    usd,
)
from planner.reporting.sections.purchases import price_source
from planner.reporting.sections.variants import risk_rows
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


def changes_section(changes: Sequence[AppliedChange]) -> Iterator[Block]:
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
    yield from rest(len(lines) - most, "note", ", all of them in plan.json")


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

    def value(one: SettingUse) -> Cell:
        style: Style = "share" if one.unit == "share" else "number"
        return traced.at(f"settings[name={one.name}].value", style, "how-settings")

    settings = table(
        traced.plan.settings,
        ("Parameter", "text", lambda one: f"{SETTINGS[one.name].meaning} ({one.name})"),
        ("Value", "number", value),
        ("Unit", "name", lambda one: "" if one.unit == "share" else one.unit),
        ("From", "text", lambda one: "the scenario" if one.origin == "scenario" else one.origin),
        caption="Parameters of cost and policy",
    )
    illustrative = dict.fromkeys(
        (f"{line.offer} costs {line.price_text}, an illustrative price", price_source(line))
        for _, line in traced.bill
        if line.illustrative
    )
    of_settings = {one.origin for one in traced.plan.settings}
    left_open = [
        (note.text, note.origin)
        for note in traced.plan.assumptions
        if note.origin not in of_settings
    ]
    found = (*illustrative, *left_open)
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


VERDICTS = {
    "confirmed": "confirmed",
    "undecided": "undecided, its time ended before it could say",
    "unfounded": "disagrees without ground: what it says contradicts the program itself",
}
"""What a second opinion means."""

_HASH_SHOWN = 12
FEW_FILES = 8
_KIND_OF_FILE = {"rules": "rule"}
_QUESTION = ("scenario", "base")
"""Roles of the files that ask; what others hold is answered with."""
_APPROVERS = ("Requester", "Technical review", "Facilities", "Finance", "Procurement", "Approver")


def proof_section(traced: TracedPlan, *, every_check: bool, files: int = 0) -> Iterator[Block]:
    """Status, bound with its terms, the independent checks, and what the plan was made from.

    Without `every_check` these are counted. `files` of each role are listed, or their number; where
    it is 0, a sentence tells of them.
    """
    plan, proof, made_by = traced.plan, traced.plan.proof, traced.plan.provenance
    yield Paragraph(
        f"Status: {proof.status}. Cost {usd(proof.cost_cents)}, bound "
        f"{usd(proof.bound_cents)}: no plan for these inputs costs less than the bound. "
        f"Gap {gap_percent(proof.gap)} (asked: {gap_percent(proof.asked_gap)})."
    )
    yield Paragraph(f"Method: {proof.method}", tone="faint")
    yield from _second_opinions(proof.second_opinions)
    yield _bound(traced)
    checked = count_of(len(proof.checks), "statement")
    if every_check and proof.checks:
        yield Paragraph("An independent check confirmed, from the inputs alone:")
        yield Bullets(proof.checks)
    else:
        words = f"An independent check confirmed {checked} about this plan, each in plan.json."
        yield Paragraph(words)
    made = f"Made by gpu-fit-planner {made_by.planner_version} with {made_by.solver}"
    if files:
        yield Paragraph(f"{made}, planned as of {plan.as_of}, from:")
        yield table(
            _some_of(made_by.files, files),
            ("File", "text", lambda row: row[1]),
            ("Role", "name", lambda row: row[0]),
            ("SHA-256", "text", lambda row: row[2]),
        )
        return
    scenarios = ", ".join(
        f"{path} (SHA-256 {digest[:_HASH_SHOWN]}…)"
        for role, path, digest in made_by.files
        if role in _QUESTION
    )
    others = Counter(role for role, _, _ in made_by.files if role not in _QUESTION)
    counted = (
        count_of(number, f"{_KIND_OF_FILE.get(role, role)} file") for role, number in others.items()
    )
    yield Paragraph(f"{made}, from {listed([scenarios, *counted])}.")


def _bound(traced: TracedPlan) -> Table:
    terms = traced.plan.proof.bound_terms
    return table(
        range(len(terms)),
        ("The bound adds up from", "text", lambda at: terms[at][0]),
        ("USD", "number", traced.each("proof.bound_terms[{}][1]", "cents", "how-proof")),
        sums={
            "The bound adds up from": "Bound",
            "USD": traced.at("proof.bound_cents", "cents", "how-proof"),
        },
    )


def _second_opinions(opinions: Sequence[SecondOpinion]) -> Iterator[Block]:
    if opinions:
        yield Paragraph("Other solvers were asked for the bound again:")
        least = ", no plan costs less than {}"
        yield Bullets(
            tuple(
                f"{one.solver}: {VERDICTS[one.verdict]}"
                f"{'' if one.bound_cents is None else least.format(usd(one.bound_cents))}"
                for one in opinions
            )
        )


def _some_of(files: Sequence[tuple[str, str, str]], most: int) -> Iterator[tuple[str, str, str]]:
    """Each file; where one role has more, their number."""
    by_role = Counter(role for role, _, _ in files)
    for role, number in by_role.items():
        if number > most:
            yield role, f"{number:,} files, each in plan.json", ""
        else:
            yield from (file for file in files if file[0] == role)


def rules_section(traced: TracedPlan, most: int) -> Iterator[Block]:
    """The rules that spoke, those with errata first, with where each was read."""
    plan = traced.plan
    if not plan.rules:
        return
    ordered = sorted(plan.rules, key=lambda rule: (not rule.errata, -rule.used, rule.id))
    yield Paragraph(
        f"{count_of(len(ordered), 'rule')} spoke. {code('planner rules show ID')} tells each "
        "with formula, sources and examples; plan.json and plan.md list them."
    )
    if most:
        yield table(
            ordered[:most],
            ("Rule", "text", lambda rule: rule.id),
            ("Jobs", "number", lambda rule: f"{rule.used:,}"),
            ("Source", "text", lambda rule: "; ".join(rule.sources)),
        )
        yield from rest(len(ordered) - most, "rule", "")
    errata = tuple(f"{rule.id}: {erratum}" for rule in ordered for erratum in rule.errata)
    if errata:
        yield Paragraph("Errata of the sources that concern this plan:")
        yield Bullets(errata)


def provenance_section(traced: TracedPlan) -> Iterator[Block]:
    """What was proved and checked, from which files, by which versions; and who signs.

    Checks are counted, and so are files of which there are many.
    """
    plan = traced.plan
    yield from proof_section(traced, every_check=False, files=FEW_FILES)
    if changed := traced.beside.changed:
        told = f"Not as it was when this plan was made: {'; '.join(changed)}."
        yield Paragraph(told, tone="warning")
    yield Paragraph(
        "The same files and the same versions give the same plan.json, byte for byte; "
        f"{code('planner replay plan.json')} says so, or what differs.",
        tone="faint",
    )
    names = {"Requester": plan.owner} if plan.owner else {}
    yield table(
        _APPROVERS,
        ("Role", "name", lambda role: role),
        ("Name", "text", lambda role: names.get(role, Blank())),
        ("Date", "name", lambda _: Blank()),
        ("Signature", "name", lambda _: Blank()),
        caption="Sign-off",
    )
    yield Paragraph(
        "Change control: whoever changes an input plans again; this document then has another "
        "hash of the scenario above, and is approved anew."
    )
    if plan.changes:
        yield Heading("What was changed in the scenario before it was planned", 3)
        yield from changes_section(plan.changes)


def how_section(traced: TracedPlan) -> Iterator[Block]:
    """What stands behind each kind of figure; tables lead here."""
    plan = traced.plan
    yield Paragraph(
        "Every figure of this document stands in plan.json, or in the file that its sum begins "
        "with, or is a sum over that. On the page, the place or the sum shows when the figure "
        "is pointed at; the workbook lists them on its last sheet. "
        f"{code('costs[0].cents[2]')} is the third quarter of the first kind of cost, "
        f"{code('nodes[origin=owned]')} are the nodes that were owned, {code('sum()')} adds, "
        f"{code('count()')} counts what stands there. Cents, W and MB there are USD, kW and GB "
        "here. What a formula rests on follows.",
    )
    of_each: dict[str, Iterator[Block]] = {
        "how-cost": (
            Paragraph(f"{line.name.capitalize()}: {line.explanation}.", anchor=f"how-cost-{place}")
            for place, line in enumerate(plan.costs)
        ),
        "how-bill": (
            Paragraph(
                f"{line.offer}, {line.quarter}: {line.price_text}; {line.price_origin}.",
                anchor=f"how-price-{place}",
            )
            for place, line in traced.bill
        ),
        "how-site": (
            Paragraph(
                f"{facts.node_type}: {'; '.join(facts.sources) or 'the catalog names no source'}.",
                anchor=f"how-node-{facts.node_type}",
            )
            for facts in plan.node_types
        ),
    }
    told = {
        "how-spare": plan.spare_cost is not None,
        "how-optimism": plan.optimism_bias is not None,
        "how-let-go": bool(plan.releases),
        "how-apis": bool(plan.apis or plan.api_comparisons),
    }
    for anchor, (title, text) in _HOW.items():
        if told.get(anchor, True):
            yield Heading(title, 3, anchor)
            yield Paragraph(text.format(assumptions=traced.section("assumptions")))
            yield from of_each.get(anchor, ())


_HOW = {
    "how-cost": ("Cost", "Each kind of cost is summed over nodes:"),
    "how-proof": (
        "Net present cost and its bound",
        "The net present cost is the sum of the present values above, and what the search makes "
        "least. The bound is proved: no plan for these inputs costs less.",
    ),
    "how-spare": (
        "Spare nodes",
        "Planned anew without any spare node, at no place, the best plan costs so much less.",
    ),
    "how-optimism": (
        "Optimism bias",
        "Purchases, in present value, times the share that the scenario states, added to the net "
        "present cost; what servers are worth at the end stays as planned. The UK Green Book asks "
        "for such an adjustment; the rule `policies/steep-optimism-bias` names where, and its "
        "range for equipment.",
    ),
    "how-bill": (
        "Bill of materials",
        "Nodes times the price of one, for a rent or a reservation in each quarter that is paid. "
        "An order is placed the lead time before the first day of its quarter.",
    ),
    "how-let-go": (
        "Owned nodes let go",
        "What a sale brings is as the fleet states it, times the nodes. What is saved is what "
        "these nodes cost within the horizon if they are kept, less what they still cost: of those "
        "sold, all from the quarter of the sale on; of those switched off, energy, and "
        "support where the contract says so. The net present cost falls by both in present value, "
        "less what a node that is sold would have brought right after the horizon.",
    ),
    "how-need": (
        "Units",
        "Units are what the scenario states for each job and quarter, growth included; those of a "
        "derived job follow from the job that it serves.",
    ),
    "how-use": (
        "GPUs and nodes",
        "Counted over the placements of the plan: who holds which GPU of which node in which "
        "quarter. Hours are GPUs times the hours of a quarter; a node kept as spare is in service "
        "and runs nothing.",
    ),
    "how-break-even": (
        "Break-even",
        "Net present cost of one node to the end of the horizon, bought (less what it is worth "
        "then) and rented for every hour; the break-even is where renting by the hour costs as "
        "much as buying.",
    ),
    "how-margins": (
        "Margins",
        "What is left of a budget, over what the price adds to it in the quarters that it covers; "
        "the price of a server counts with its support, which is a share of it, and per cent are "
        "cut off, not rounded. Of a price beside a rent: the difference of one node bought and "
        "rented, over what of its cost moves with that price. Limits: allowed less taken. Days: "
        "from that of the plan to the order, and from there to the last day of sale.",
    ),
    "how-teams": (
        "Charges",
        "The net present cost of each pool and quarter is shared by the GPUs held there.",
    ),
    "how-serving": (
        "Traffic and latency",
        "Requests per second are those of the scenario at the peak; what a replica is planned for "
        "and how long users wait follows from the rules under serving/, as the sums of the job "
        "show. Tokens are those of prompts and answers at mean traffic; their cost is that of the "
        "GPUs held.",
    ),
    "how-apis": (
        "APIs",
        "Tokens at mean traffic times the prices by the token that the scenario states. GPUs are "
        "charged for what is held of them; an API is paid for what is asked of it, so that its "
        "cost grows with the traffic and theirs does not.",
    ),
    "how-site": (
        "Power and space",
        "Nodes in service times what the catalog says of one; limits are those of the scenario.",
    ),
    "how-settings": (
        "Parameters",
        "Stated in the scenario, or given by the rule that {assumptions} names. What GPUs offer is "
        "their memory less the headroom.",
    ),
}
"""By anchor: a title, and how figures of this kind come about."""
