"""What a plan rests on: notes, risks, bound, checks, rules, sign-off."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from itertools import takewhile

from planner.inputs.rules.facts import SETTINGS
from planner.planning.plan import Note, RuleUse, SettingUse
from planner.reporting.document import (
    Blank,
    Block,
    Bullets,
    Cell,
    Fields,
    Heading,
    Paragraph,
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
    with_code,
)
from planner.reporting.sections.jobs import deciding_steps, kept_candidates
from planner.reporting.sections.variants import risk_rows
from planner.reporting.traced import TracedPlan


def near_miss_section(traced: TracedPlan) -> Iterator[Block]:
    """Show small changes that save much, most first; nothing if none was found."""
    lines = []
    for one in sorted(traced.plan.near_misses, key=lambda one: -one.saved_cents):
        targets = listed([f"{key} {ms:,.0f}" for key, ms in one.latency_ms])
        freed = f"{count_of(one.gpus, 'GPU')} fewer on {one.node_type} @ {one.site}; "
        change = f"{percent(one.share, 0)} less traffic of {one.job}"
        if one.latency_ms:
            change, freed = f"{percent(one.share, 0)} more time for {one.job} ({targets})", ""
        elif one.units:
            change = f"{count_of(one.units, 'unit')} fewer of {one.job}"
        if one.policy:
            change = f"jobs free to change GPU type between quarters ({code(one.policy)})"
            freed = ""
        saved = f"{usd(one.saved_cents)} net present cost ({freed}planned, proved)"
        lines.append(f"{change} would save {saved}")
    if lines:
        yield Bullets(tuple(lines))


_LONGEST = 60
_FIGURE = re.compile(r"[0-9][0-9.,]*")
_BY_RULE = re.compile(r" \([a-z/0-9-]+\)$")
"""The rule with which a note of a job ends."""
_LEFT_OPEN = " (the job leaves it open)"


def changes_section(traced: TracedPlan) -> Iterator[Block]:
    """Show what overrides and `--set` changed before planning, in order."""
    if traced.plan.changes:
        yield table(
            traced.plan.changes,
            ("Value", "text", lambda one: one.path),
            ("Was", "text", lambda one: shortened(one.before or "not stated", _LONGEST)),
            ("Is", "text", lambda one: shortened(one.after or "deleted", _LONGEST)),
            ("By", "text", lambda one: one.by),
        )


def warnings_section(traced: TracedPlan) -> Iterator[Block]:
    """Show what a reader should know; of too many, one line for those that differ in figures."""
    notes, most = traced.plan.warnings, traced.detail.notes
    lines = [_line(*note) for note in merged_notes(notes, whole=len(notes) <= most)]
    if lines:
        yield Bullets(tuple(lines[:most]), "warning")
    yield from rest(len(lines) - most, "note", traced.detail.rest)


def checks_section(traced: TracedPlan) -> Iterator[Block]:
    """Show what the independent check confirmed, where there is room for all of it."""
    if len(checks := traced.plan.proof.checks) <= traced.detail.notes:
        yield Bullets(checks)


def _line(text: str, origin: str) -> str:
    return text if not origin or origin in text else f"{text} ({origin})"


def merged_notes(notes: Iterable[Note], *, whole: bool = True) -> Iterator[tuple[str, str]]:
    """Return the text and origin of each note, merging those that say the same of several.

    With `whole` false, those that differ only in figures share a line, too.
    """
    shared: dict[tuple[str, str], dict[tuple[str, str], str]] = defaultdict(dict)
    for note in notes:
        text, origin = with_code(note.text), note.origin
        key, told = ("", _BY_RULE.sub("", text)), text
        if origin.startswith("catalog "):
            # `xe9680-a100: cpu_cores = 112 cores is an assumption`, without the reason that follows
            key, told = (
                ("catalog figures that nobody published", ""),
                ": ".join(text.split(": ")[:2]),
            )
        elif text.endswith(_LEFT_OPEN):
            key, told = ("left open, so taken to be", origin), text.removesuffix(_LEFT_OPEN)
        elif whole:
            key = ("", f"{key[1]}\n{origin}")
        elif origin.startswith(("job ", "jobs ")):
            key = ("", _FIGURE.sub("", key[1]))
        shared[key].setdefault((_BY_RULE.sub("", told), origin), told)
    for (kind, of), group in shared.items():
        texts, origins = list(group.values()), dict.fromkeys(origin for _, origin in group)
        if kind:
            says_why = f" ({code('planner catalog show ID')} says why)" * kind.startswith("catalog")
            origin = of or ("catalog" if says_why else "")
            yield f"{kind}: {'; '.join(texts)}{says_why}", origin
        else:
            likewise = "; likewise with other figures for the others" if len(texts) > 1 else ""
            yield f"{texts[0]}{likewise}", listed(list(filter(None, origins)))


def assumptions_section(traced: TracedPlan) -> Iterator[Block]:
    """List every parameter, and all that the inputs leave open and a rule filled in."""

    def value(one: SettingUse) -> Cell:
        style: Style = "share" if one.unit == "share" else "number"
        return traced.at(f"settings[name={one.name}].value", style)

    settings = table(
        traced.plan.settings,
        ("Parameter", "text", lambda one: f"{SETTINGS[one.name].meaning} ({one.name})"),
        ("Value", "number", value),
        ("Unit", "name", lambda one: "" if one.unit == "share" else one.unit),
        ("From", "text", lambda one: "the scenario" if one.origin == "scenario" else one.origin),
        caption="Parameters of cost and policy",
    )
    of_settings = {one.origin for one in traced.plan.settings}
    left_open = [note for note in traced.plan.assumptions if note.origin not in of_settings]
    by_origin: dict[str, list[str]] = {}
    for text, origin in merged_notes(left_open):
        by_origin.setdefault(origin, []).append(text)
    most = traced.detail.notes
    notes = table(
        list(enumerate(by_origin.items(), 1))[:most],
        ("No", "name", lambda row: f"A{row[0]}"),
        ("Of", "text", lambda row: row[1][0]),
        ("Assumption", "text", lambda row: "; ".join(row[1][1])),
        caption="What the inputs leave open",
    )
    yield from (one for one in (settings, notes) if one.rows)
    yield from rest(len(by_origin) - most, "assumption", traced.detail.rest)
    if not (settings.rows or notes.rows):
        yield Paragraph("Nothing was left open: every figure is stated.")


_OPEN = "open"
_FROM_FUTURES = ("Likelihood", "Impact, GPUs missing", "Impact, USD")


def risks_section(traced: TracedPlan) -> Iterator[Block]:
    """Show known risks: likelihood from drawn futures, impact from the plan.

    That prices are illustrative stands on page 1.
    """
    found = traced.beside.risk
    rows = list(risk_rows(found)) if found else []
    books = {line.price_origin.partition(": ")[0] for _, line in traced.bill}
    warned = [one for one in traced.plan.warnings if f"price book {one.origin}" not in books]
    rows += [(*note, _OPEN, _OPEN, _OPEN) for note in merged_notes(warned)]
    if rows:
        yield table(
            enumerate(rows, 1),
            ("No", "name", lambda row: f"R{row[0]}"),
            ("Risk", "text", lambda row: row[1][0]),
            ("Known from", "text", lambda row: row[1][1]),
            *columns_for(
                ((title, place) for place, title in enumerate(_FROM_FUTURES, 2)),
                lambda row, place: row[1][place],
            ),
            without=() if found else _FROM_FUTURES,
        )
    else:
        yield Paragraph("The planner found no risk in its inputs.")
    if found is not None:
        yield Paragraph(
            f"Likelihoods are shares of {count_of(found.futures, 'future')} drawn with seed "
            f"{found.seed}, each planned as if it were known; figures stand in risk.json.",
            "faint",
        )
    likely = Blank(f"{code('planner risk FUTURES --out DIR')}, then report again")
    yield Fields(
        (
            *(
                ()
                if found
                else (("How likely the plan falls short, and how dear that is", likely),)
            ),
            ("How these risks are mitigated, and by whom", Blank()),
            ("Risks beyond the inputs: supply, staff, change of models", Blank()),
        )
    )


_FEW_FILES = 8
_VERDICTS = {
    "confirmed": "confirmed",
    "undecided": "undecided, its time ended before it could say",
    "unfounded": "disagrees without ground: what it says contradicts the program itself",
}
"""What a second opinion means."""
_APPROVERS = ("Requester", "Technical review", "Facilities", "Finance", "Procurement", "Approver")


def proof_section(traced: TracedPlan) -> Iterator[Block]:
    """Show status, bound with its terms, the independent check, and the plan's inputs."""
    plan, proof, made_by = traced.plan, traced.plan.proof, traced.plan.provenance
    yield Paragraph(
        f"Status: {proof.status}. Cost {usd(proof.cost_cents)}, bound "
        f"{usd(proof.bound_cents)}: no plan for these inputs costs less than the bound. "
        f"Gap {gap_percent(proof.gap)} (asked: {gap_percent(proof.asked_gap)})."
    )
    yield Paragraph(f"Method: {proof.method}")
    if proof.second_opinions:
        least = ", no plan costs less than {}"
        said = (
            f"{one.solver}: {_VERDICTS[one.verdict]}"
            f"{'' if one.bound_cents is None else least.format(usd(one.bound_cents))}"
            for one in proof.second_opinions
        )
        yield Paragraph("Other solvers were asked for the bound again:")
        yield Bullets(tuple(said))
    bound = "The bound adds up from"
    yield table(
        range(len(proof.bound_terms)),
        (bound, "text", lambda at: proof.bound_terms[at][0]),
        ("USD", "number", traced.each("proof.bound_terms[{}][1]", "cents")),
        sums={bound: "Bound", "USD": traced.at("proof.bound_cents", "cents")},
    )
    checked = count_of(len(proof.checks), "statement")
    yield Paragraph(
        f"An independent check confirmed {checked} about this plan from the inputs alone, each in "
        "plan.json."
    )
    made = f"Made by gpu-fit-planner {made_by.planner_version} with {made_by.solver}"
    by_role = Counter(role for role, _, _ in made_by.files)
    yield Paragraph(f"{made}, planned as of {plan.as_of}, from:")
    rows = [one for one in made_by.files if by_role[one[0]] <= _FEW_FILES]
    rows += [
        (role, f"{number:,} files, each in plan.json", "")
        for role, number in by_role.items()
        if number > _FEW_FILES
    ]
    yield table(
        rows,
        ("File", "text", lambda row: row[1]),
        ("Role", "name", lambda row: row[0]),
        ("SHA-256", "text", lambda row: row[2]),
    )


def rules_section(traced: TracedPlan) -> Iterator[Block]:
    """Show rules that decided something, with their sources; then errata.

    Those are the rules that decided a count of GPUs, set a parameter, rejected a GPU type or
    derived a job.
    """
    plan = traced.plan
    if not plan.rules:
        return
    named = {one.origin.removeprefix("rule ") for one in plan.settings}
    named |= {said.rule for sizing in plan.sizings.values() for said in sizing.rejections}
    named |= {job.derived_by for job in plan.jobs if job.derived_by}
    named |= {
        step.rule
        for job in plan.jobs
        for candidate in kept_candidates(plan, job)
        for step in deciding_steps(candidate)
    }
    yield Paragraph(
        f"{count_of(len(plan.rules), 'rule')} spoke; plan.json lists all, and here stand those "
        f"that decided something. {code('planner rules show ID')} tells each with formula, sources "
        "and examples."
    )
    yield table(
        _by_page(rule for rule in plan.rules if rule.id in named),
        ("Source", "text", lambda row: row[0]),
        ("Rules that rest on it", "text", lambda row: ", ".join(row[1])),
    )
    errata = tuple(f"{rule.id}: {erratum}" for rule in plan.rules for erratum in rule.errata)
    if errata:
        yield Paragraph("Errata of the sources that concern this plan:")
        yield Bullets(errata)


def _by_page(rules: Iterable[RuleUse]) -> Iterator[tuple[str, list[str]]]:
    """Each page once, with the rules that rest on it, and where on it each was read."""
    pages: dict[str, list[tuple[str, list[str]]]] = defaultdict(list)
    for rule in rules:
        for source in rule.sources:
            title, opens, address = source.rpartition(" (http")
            pages[f"{opens}{address}"].append((rule.id, title.split(", ")))
    for page, cited in pages.items():
        beside = zip(*(parts for _, parts in cited), strict=False)
        shared = [part for part, *_ in takewhile(lambda at: len({*at}) == 1, beside)]
        places = [(rule, ", ".join(parts[len(shared) :])) for rule, parts in cited]
        told = [f"{rule} ({place})" if place else rule for rule, place in places]
        yield f"{', '.join(shared)}{page}", told


def provenance_section(traced: TracedPlan) -> Iterator[Block]:
    """Show what was proved and checked, from which files and changes, by which versions."""
    yield from proof_section(traced)
    if changed := traced.beside.changed:
        told = f"Not as it was when this plan was made: {'; '.join(changed)}."
        yield Paragraph(told, tone="warning")
    yield Paragraph(
        f"{code('planner replay plan.json')} gives the same file, byte for byte, or says what "
        "differs.",
        tone="faint",
    )
    if traced.plan.changes:
        yield Heading("What was changed in the scenario before it was planned", 3)
        yield from changes_section(traced)


def sign_off_section(traced: TracedPlan) -> Iterator[Block]:
    """Show who signs."""
    names = {"Requester": traced.plan.owner} if traced.plan.owner else {}
    yield table(
        _APPROVERS,
        ("Role", "name", lambda role: role),
        ("Name", "text", lambda role: names.get(role, Blank())),
        ("Date and signature", "name", lambda _: Blank()),
        caption="Sign-off; whoever changes an input plans again, and has the new document approved",
    )


def how_section(_: TracedPlan) -> Iterator[Block]:
    """Say how to read the sum behind a figure."""
    yield Paragraph(
        "Every figure is a sum over plan.json, or over the file that its sum begins with. The page "
        "shows the sum where the figure is pointed at, the workbook on its last sheet. "
        f"{code('costs[0].cents[2]')} is the third quarter of the first kind of cost, "
        f"{code('nodes[origin=owned]')} are the nodes that were owned, {code('count()')} counts "
        "what stands there. Cents, W and MB there are USD, kW and GB here."
    )
