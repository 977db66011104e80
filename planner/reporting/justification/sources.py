"""Section 15 and the appendices: provenance, sign-off, each job's sums, how figures come about."""

from __future__ import annotations

from shlex import quote
from typing import TYPE_CHECKING

from planner.reporting.changes import changes_section
from planner.reporting.document import (
    Blank,
    Block,
    Bullets,
    Cell,
    Column,
    Fields,
    Fold,
    Heading,
    Paragraph,
    Table,
)
from planner.reporting.format import code, count_of, money
from planner.reporting.parts import taken
from planner.reporting.sums import Sums

if TYPE_CHECKING:
    from collections.abc import Iterator

    from planner.planning.plan import PlannedJob
    from planner.reporting.justification.desk import Desk
    from planner.sizing.candidate import Candidate

__all__ = ["how_section", "jobs_section", "provenance_section"]

_SIZINGS_TOLD = 300
_APPROVERS = ("Requester", "Technical review", "Facilities", "Finance", "Procurement", "Approver")


def provenance_section(desk: Desk, changed: tuple[str, ...]) -> tuple[Block, ...]:
    """What was proved and checked, from which files, by which versions; and who signs."""
    plan = desk.plan
    proof, made_by = plan.proof, plan.provenance
    off = money(proof.cost_cents - proof.bound_cents)
    words = (
        f"Optimal for these inputs, proved to within {off}."
        if proof.status == "proved"
        else f"Best found, not proved: at most {off} dearer than the best there is."
    )
    rows: tuple[tuple[str, Cell], ...] = (
        ("Status", proof.status),
        ("Net present cost, USD", desk.at("proof.cost_cents", "cents", "how-proof")),
        ("Proved bound, USD", desk.at("proof.bound_cents", "cents", "how-proof")),
        ("Gap", desk.at("proof.gap", "gap", "how-proof")),
        ("Gap asked for", desk.at("proof.asked_gap", "gap", "how-proof")),
        ("Method", proof.method),
        ("Planner", made_by.planner_version),
        ("Solver", made_by.solver),
        ("Format of plan.json", plan.format),
        ("Planned as of", desk.day(plan.as_of, "as_of", "how-proof")),
        ("To replay", "planner replay plan.json"),
    )
    return (
        Paragraph(words, tone="strong"),
        Fields(rows),
        Paragraph(
            "The same files and the same versions give the same plan.json, byte for byte; the "
            "replay says so, or what differs.",
            tone="faint",
        ),
        Paragraph("A check that shares no code with the search confirmed from the inputs alone:"),
        Bullets(proof.checks),
        *_since(changed),
        Fold("Input files with their hashes", "files", (_files(desk),)),
        Table(
            (Column("Role"), Column("Name"), Column("Date"), Column("Signature")),
            tuple((role, Blank(), Blank(), Blank()) for role in _APPROVERS),
            caption="Sign-off",
        ),
        Paragraph(
            "Change control: whoever changes an input plans again; this document then has another "
            "hash of the scenario above, and is approved anew."
        ),
        *_changes(desk),
    )


def _since(changed: tuple[str, ...]) -> tuple[Block, ...]:
    told = f"Not as it was when this plan was made: {'; '.join(changed)}."
    return (Paragraph(told, tone="warning"),) if changed else ()


def _changes(desk: Desk) -> tuple[Block, ...]:
    told = changes_section(desk.plan.changes)
    return (
        (Heading("What was changed in the scenario before it was planned", 3), *told)
        if told
        else ()
    )


def _files(desk: Desk) -> Table:
    rows = tuple((path, role, digest) for role, path, digest in desk.plan.provenance.files)
    columns = (Column("File", wraps=True), Column("Role"), Column("SHA-256", wraps=True))
    return Table(columns, rows, caption="Everything that the plan was made from")


def jobs_section(desk: Desk) -> tuple[Block, ...]:
    """Each job with every sum behind its figures; jobs that are specified alike share the sums."""
    plan = desk.plan
    sums = Sums()
    told: dict[tuple[str, str], str] = {}
    folds = tuple(
        Fold(job.name, desk.job_anchor[job.name], tuple(_job(desk, place, sums, told)))
        for place, job in enumerate(plan.jobs)
    )
    sources = sums.sources(3)
    told_of = count_of(len(folds), "job") + "."
    if sources:
        told_of += " A number in brackets is a source, listed at the end of this appendix."
    return (Paragraph(told_of, tone="faint"), *folds, *sources)


def _job(desk: Desk, place: int, sums: Sums, told: dict[tuple[str, str], str]) -> Iterator[Block]:
    job = desk.plan.jobs[place]
    sizing = desk.plan.sizings[job.sizing]
    anchor = desk.job_anchor[job.name]
    yield Paragraph(f"{sizing.summary[:1].upper()}{sizing.summary[1:]}.{_origin(job)}")
    rows: list[tuple[str, Cell]] = [
        (
            "Adds to the proved bound, USD",
            desk.at(f"jobs[{place}].tag_cents", "cents", "how-proof"),
        )
    ]
    kept = dict(job.ways)
    chosen = [(number, one) for number, one in enumerate(sizing.candidates) if one.way in kept]
    for number, one in chosen:
        stem = f"sizings[{job.sizing}].candidates[{number}]"
        rows += [
            (f"GPUs of a unit on {taken(one)}", desk.at(f"{stem}.gpus", "count", anchor)),
            ("GPU memory needed, GB", desk.at(f"{stem}.gpu_memory_mb", "gb", anchor)),
            ("Of, GB", desk.at(f"{stem}.gpu_capacity_mb", "gb", "how-settings")),
        ]
    yield Fields(tuple(rows))
    yield from _elsewhere(desk, job, place)
    for _, one in chosen:
        yield _sums(one, job, sums, told)
    if sizing.warnings:
        yield Bullets(sizing.warnings, tone="warning")


def _sums(one: Candidate, job: PlannedJob, sums: Sums, told: dict[tuple[str, str], str]) -> Block:
    """The steps, or where they stand already."""
    key = (job.sizing, one.way)
    if key in told:
        return Paragraph(f"The sums on {taken(one)} are those of {told[key]} above.")
    if len(told) >= _SIZINGS_TOLD:
        command = f"planner explain PLAN.json {quote(job.name)}"
        return Paragraph(f"{code(command)} writes the sums out.")
    told[key] = job.name
    return sums.numbered(one.trace, f"The sums on {taken(one)}")


def _origin(job: PlannedJob) -> str:
    if not job.derived_from:
        return ""
    return f" Derived from {job.derived_from} by rule {job.derived_by}."


def _elsewhere(desk: Desk, job: PlannedJob, place: int) -> Iterator[Block]:
    """Other GPU types that the job could run on, and what that would add."""
    rows = tuple(
        (
            other.way,
            "–"
            if other.extra_cents is None
            else desk.at(f"jobs[{place}].alternatives[{number}].extra_cents", "cents", "how-proof"),
            other.reason,
        )
        for number, other in enumerate(job.alternatives)
    )
    if rows:
        columns = (
            Column("Runs on", wraps=True),
            Column("Adds, USD", "right"),
            Column("Why", wraps=True),
        )
        yield Table(columns, rows, caption="What one unit would add to the bound elsewhere")


def how_section(desk: Desk) -> tuple[Block, ...]:
    """What stands behind each kind of figure; tables lead here."""
    return (
        Paragraph(
            "Every figure of this document stands in plan.json, or in the file that its sum begins "
            "with, or is a sum over that. On the page, the place or the sum shows when the figure "
            "is pointed at; the workbook lists them on its last sheet. "
            f"{code('costs[0].cents[2]')} is the third quarter of the first kind of cost, "
            f"{code('nodes[origin=owned]')} are the nodes that were owned, {code('sum()')} adds, "
            f"{code('count()')} counts what stands there. Cents, W and MB there are USD, kW and GB "
            "here. What a formula rests on follows.",
        ),
        *_how(desk),
    )


def _how(desk: Desk) -> Iterator[Block]:
    plan = desk.plan
    yield from _told("how-cost", "Cost", "Each kind of cost is summed over nodes:")
    for place, line in enumerate(plan.costs):
        yield Paragraph(
            f"{line.name.capitalize()}: {line.explanation}.", anchor=f"how-cost-{place}"
        )
    yield from _told(
        "how-proof",
        "Net present cost and its bound",
        "The net present cost is the sum of the present values above, and what the search makes "
        "least. The bound is proved: no plan for these inputs costs less. It adds up from:",
    )
    yield Table(
        (Column("Term", wraps=True), Column("USD", "right")),
        tuple(
            (name, desk.at(f"proof.bound_terms[{place}][1]", "cents", "how-proof"))
            for place, (name, _) in enumerate(plan.proof.bound_terms)
        ),
        ("Bound", desk.at("proof.bound_cents", "cents", "how-proof")),
        caption="Terms of the bound",
    )
    if plan.spare_cost is not None:
        yield from _told(
            "how-spare",
            "Spare nodes",
            "Planned anew without any spare node, at no place, the best plan costs so much less. "
            "Likewise without the last one of a single place, those of all others kept: these "
            "figures overlap, or fall short of the whole, and are no parts of a sum.",
        )
    yield from _told(
        "how-bill",
        "Bill of materials",
        "Nodes times the price of one, for a rent or a reservation in each quarter that is paid. "
        "An order is placed the lead time before the first day of its quarter.",
    )
    for place, bought in desk.bill:
        yield Paragraph(
            f"{bought.offer}, {bought.quarter}: {bought.price_text}; {bought.price_origin}.",
            anchor=f"how-price-{place}",
        )
    yield from _told(
        "how-need",
        "Units",
        "Units are what the scenario states for each job and quarter, growth included; those of a "
        "derived job follow from the job that it serves.",
    )
    yield from _told(
        "how-use",
        "GPUs and nodes",
        "Counted over the placements of the plan: who holds which GPU of which node in which "
        "quarter. Hours are GPUs times the hours of a quarter; a node kept as spare is in service "
        "and runs nothing.",
    )
    yield from _told(
        "how-break-even",
        "Break-even",
        "Net present cost of one node to the end of the horizon, bought (less what it is worth "
        "then) and rented for every hour; the break-even is where renting by the hour costs as "
        "much as buying.",
    )
    yield from _told(
        "how-margins",
        "Margins",
        "What is left of a budget, over what the price adds to it in the quarters that it covers; "
        "the price of a server counts with its support, which is a share of it, and per cent are "
        "cut off, not rounded. Of a price beside a rent: the difference of one node bought and "
        "rented, over what of its cost moves with that price. Limits: allowed less taken. Days: "
        "from that of the plan to the order, and from there to the last day of sale.",
    )
    yield from _told(
        "how-teams",
        "Charges",
        "The net present cost of each pool and quarter is shared by the GPUs held there.",
    )
    yield from _told(
        "how-site",
        "Power and space",
        "Nodes in service times what the catalog says of one; limits are those of the scenario.",
    )
    for facts in plan.node_types:
        sources = "; ".join(facts.sources) or "the catalog names no source"
        yield Paragraph(f"{facts.node_type}: {sources}.", anchor=f"how-node-{facts.node_type}")
    yield from _told(
        "how-settings",
        "Parameters",
        f"Stated in the scenario, or given by the rule that {desk.section('assumptions')} names. "
        "What GPUs offer is their memory less the headroom.",
    )


def _told(anchor: str, title: str, text: str) -> tuple[Block, ...]:
    return (Heading(title, 3, anchor), Paragraph(text))
