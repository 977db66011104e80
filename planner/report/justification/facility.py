"""Section 11: power and rack units of each site, before and after."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.report.document import (
    Blank,
    Block,
    Cell,
    Chart,
    Column,
    Fields,
    Heading,
    Paragraph,
    Series,
    Table,
)
from planner.report.format import code, listed
from planner.report.justification.desk import Desk, figure
from planner.report.sites import estimated_figures

if TYPE_CHECKING:
    from collections.abc import Iterator

    from planner.plan.ledger.facility import Need
    from planner.report.format import Style

__all__ = ["facility_section", "node_takes"]


def facility_section(desk: Desk) -> tuple[Block, ...]:
    """Power and rack units of each site, before and after, beside what the site allows."""
    rows = tuple(row for site in desk.facility.sites for row in _site_rows(desk, site))
    limits = {use.site for use in desk.plan.sites}
    open_fields = [
        (f"Power and rack units that {site} allows", Blank(f"{code('sites:')} of the scenario"))
        for site in desk.facility.sites
        if site not in limits
    ]
    return (
        Table(
            (
                Column("Site", wraps=True),
                Column("Quarter"),
                Column("kW before", "right"),
                Column("kW after", "right"),
                Column("kW allowed", "right"),
                Column("U before", "right"),
                Column("U after", "right"),
                Column("U allowed", "right"),
                Column("Racks used", "right"),
                Column("Racks", "right"),
            ),
            rows,
            caption="By the nameplates of all nodes in service; before is what is owned already",
        ),
        *_unstated(desk),
        *_power_charts(desk),
        Heading("Each node", 3),
        _node_types(desk),
        *estimated_figures(desk.plan),
        Fields(
            (
                *open_fields,
                ("Network ports, and cooling that the room can carry away", Blank("facilities")),
            )
        ),
    )


def _site_rows(desk: Desk, site: str) -> Iterator[tuple[Cell, ...]]:
    facility = desk.facility
    limits = {use.site: place for place, use in enumerate(desk.plan.sites)}
    for place, label in enumerate(desk.plan.quarters):
        cells: list[Cell] = [site, label]
        needs: tuple[tuple[Need, Style], ...] = (("power_w", "kw"), ("rack_units", "count"))
        for need, style in needs:
            for taken in (facility.before(site, place, need), facility.after(site, place, need)):
                cells.append("?" if taken is None else figure(taken, style, "how-site"))
            cells.append(_limit(desk, limits.get(site), place, need))
        cells += _racks(desk, limits.get(site), place)
        yield tuple(cells)


def _limit(desk: Desk, site: int | None, quarter: int, need: Need) -> Cell:
    if site is None:
        return Blank()
    use, stem = desk.plan.sites[site], f"sites[{site}]"
    if need == "power_w":
        if use.power_limit_w[quarter] is None:
            return "no limit"
        return desk.at(f"{stem}.power_limit_w[{quarter}]", "kw", "how-site")
    stated = []
    if use.rack_units_limit is not None:
        stated.append(desk.read.at(f"{stem}.rack_units_limit"))
    if use.racks is not None:
        stated.append(desk.read.at(f"{stem}.racks") * desk.read.at(f"{stem}.units_per_rack"))
    if not stated:
        return "no limit"
    return figure(min(stated, key=lambda units: units.value), "count", "how-site")


def _racks(desk: Desk, site: int | None, quarter: int) -> tuple[Cell, Cell]:
    if site is None:
        return Blank(), Blank()
    if desk.plan.sites[site].racks is None:
        return "–", "–"
    used = desk.at(f"sites[{site}].racks_used[{quarter}]", "count", "how-site")
    return used, desk.at(f"sites[{site}].racks", "count", "how-site")


def _unstated(desk: Desk) -> tuple[Block, ...]:
    lacking = sorted(
        {name for site in desk.facility.sites for name in desk.facility.unstated(site, "power_w")}
    )
    if not lacking:
        return ()
    text = (
        f"? where the catalog gives no nameplate power: {listed(lacking)}. The fleet entry or the "
        f"offer can state {code('max_power_kw')}."
    )
    return (Paragraph(text, tone="warning"),)


def _power_charts(desk: Desk) -> Iterator[Block]:
    """By nameplates; where the catalog lacks one, by the mean draw under load."""
    for site in desk.facility.sites:
        chart = _power_chart(desk, site, "power_w") or _power_chart(desk, site, "mean_power_w")
        if chart is not None:
            yield chart
    for place, use in enumerate(desk.plan.sites):
        racks = _rack_chart(desk, use.site, place) if use.racks else None
        if racks is not None:
            yield racks


def _power_chart(desk: Desk, site: str, need: Need) -> Chart | None:
    places = range(len(desk.plan.quarters))
    before = [desk.facility.before(site, place, need) for place in places]
    after = [desk.facility.after(site, place, need) for place in places]
    known_before = [traced for traced in before if traced is not None]
    known_after = [traced for traced in after if traced is not None]
    if len(known_before) < len(before) or len(known_after) < len(after):
        return None
    owned = tuple(figure(traced, "kw", "how-site") for traced in known_before)
    added = tuple(
        figure(later - sooner, "kw", "how-site")
        for sooner, later in zip(known_before, known_after, strict=True)
    )
    series = [Series("Owned before", owned), Series("Added", added)]
    limits = {use.site: place for place, use in enumerate(desk.plan.sites)}
    use = limits.get(site)
    if need == "power_w" and use is not None and None not in desk.plan.sites[use].power_limit_w:
        allowed = (
            desk.at(f"sites[{use}].power_limit_w[{place}]", "kw", "how-site") for place in places
        )
        series.append(Series("Allowed", tuple(allowed), "line"))
    says = "; ".join(
        f"{label}: {figure(traced, 'kw', '').text} kW"
        for label, traced in zip(desk.plan.quarters, known_after, strict=True)
    )
    title = f"Power at {site}" if need == "power_w" else f"Mean power at {site}, under load"
    return Chart(title, f"{says}.", desk.plan.quarters, tuple(series), "kW")


def _rack_chart(desk: Desk, site: str, place: int) -> Chart | None:
    """The last quarter, in which most has been bought."""
    last = len(desk.plan.quarters) - 1
    racks = desk.facility.racks(site, last)
    if not racks:
        return None
    taken = tuple(figure(traced, "kw", "how-site") for traced in racks.values())
    series = [Series("Nodes in it", taken)]
    if desk.plan.sites[place].power_per_rack_w is not None:
        limit = desk.at(f"sites[{place}].power_per_rack_w", "kw", "how-site")
        series.append(Series("Allowed", (limit,) * len(racks), "line"))
    names = tuple(f"rack {rack}" for rack in racks)
    says = "; ".join(f"{name}: {one.text} kW" for name, one in zip(names, taken, strict=True))
    title = f"Power of each rack at {site} in {desk.plan.quarters[last]}"
    return Chart(title, f"{says}.", names, tuple(series), "kW")


def _node_types(desk: Desk) -> Table:
    def fact(name: str, need: Need, style: Style) -> Cell:
        return node_takes(desk, name, need, style)

    rows = tuple(
        (
            facts.node_type,
            f"{facts.vendor} {facts.product}",
            f"{facts.gpus} × {facts.gpu_type}",
            fact(facts.node_type, "rack_units", "count"),
            fact(facts.node_type, "power_w", "kw"),
            Blank("the catalog")
            if facts.mean_power_w is None
            else desk.at(f"node_types[{place}].mean_power_w", "kw", f"how-node-{facts.node_type}"),
            facts.cooling or Blank("the catalog"),
        )
        for place, facts in enumerate(desk.plan.node_types)
    )
    columns = (
        Column("Node type"),
        Column("Product", wraps=True),
        Column("GPUs", wraps=True),
        Column("U", "right"),
        Column("Nameplate kW", "right"),
        Column("Mean kW", "right"),
        Column("Cooling", wraps=True),
    )
    return Table(columns, rows, caption="What each node takes, by the catalog")


def node_takes(desk: Desk, node_type: str, need: Need, style: Style) -> Cell:
    """What the catalog says that one node takes."""
    traced = desk.facility.each(node_type, need)
    return (
        Blank("the catalog") if traced is None else figure(traced, style, f"how-node-{node_type}")
    )
