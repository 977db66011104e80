"""Section 11: what is taken of each site, before and after."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.inputs.scenario.site import HEIGHT, POWER, SITE_LIMITS
from planner.reporting.document import (
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
from planner.reporting.format import code, listed
from planner.reporting.justification.desk import Desk, figure
from planner.reporting.sites import estimated_figures, limit_style, limits_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from planner.inputs.scenario.site import SiteLimit
    from planner.reporting.format import Style

__all__ = ["facility_section", "node_takes"]


def facility_section(desk: Desk) -> tuple[Block, ...]:
    """What nodes take of each site, before and after, beside what the site allows."""
    rows = tuple(row for site in desk.capacity.sites for row in _site_rows(desk, site))
    listed_sites, limits = {use.site for use in desk.plan.sites}, limits_of(desk.plan)
    names = " and ".join(limit.name for limit in limits).capitalize()
    open_fields = [
        (f"{names} that {site} allows", Blank(f"{code('sites:')} of the scenario"))
        for site in desk.capacity.sites
        if site not in listed_sites
    ]
    unlimited = [one.name for one in SITE_LIMITS if one not in limits]
    of_room = ", and ".join([*unlimited, "cooling that the room can carry away"])
    return (
        Table(
            (
                Column("Site", wraps=True),
                Column("Quarter"),
                *(
                    Column(f"{limit.stated_in} {when}", "right")
                    for limit in limits
                    for when in ("before", "after", "allowed")
                ),
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
        *estimated_figures(
            desk.plan, [*(limit.figure for limit in limits), "mean_power_kw", "cooling"]
        ),
        Fields(
            (
                *open_fields,
                (of_room[0].upper() + of_room[1:], Blank("facilities")),
            )
        ),
    )


def _site_rows(desk: Desk, site: str) -> Iterator[tuple[Cell, ...]]:
    facility = desk.capacity
    limits = {use.site: place for place, use in enumerate(desk.plan.sites)}
    for place, label in enumerate(desk.plan.quarters):
        cells: list[Cell] = [site, label]
        for limit in limits_of(desk.plan):
            for count in (facility.before, facility.after):
                taken = count(site, place, limit.need)
                told = "?" if taken is None else figure(taken, limit_style(limit), "how-site")
                cells.append(told)
            cells.append(_limit(desk, limits.get(site), place, limit))
        cells += _racks(desk, limits.get(site), place)
        yield tuple(cells)


def _limit(desk: Desk, site: int | None, quarter: int, limit: SiteLimit) -> Cell:
    if site is None:
        return Blank()
    use, stem = desk.plan.sites[site], f"sites[{site}]"
    stated, allowed = [], use.allowed.get(limit.need)
    if allowed is not None and allowed[quarter] is not None:
        stated.append(desk.read.at(f"{stem}.allowed[{limit.need}][{quarter}]"))
    if limit == HEIGHT and use.racks is not None:
        stated.append(desk.read.at(f"{stem}.racks") * desk.read.at(f"{stem}.units_per_rack"))
    if not stated:
        return "no limit"
    return figure(min(stated, key=lambda one: one.value), limit_style(limit), "how-site")


def _racks(desk: Desk, site: int | None, quarter: int) -> tuple[Cell, Cell]:
    if site is None:
        return Blank(), Blank()
    if desk.plan.sites[site].racks is None:
        return "–", "–"
    used = desk.at(f"sites[{site}].racks_used[{quarter}]", "count", "how-site")
    return used, desk.at(f"sites[{site}].racks", "count", "how-site")


def _unstated(desk: Desk) -> tuple[Block, ...]:
    lacking = sorted(
        {name for site in desk.capacity.sites for name in desk.capacity.unstated(site, "power_w")}
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
    for site in desk.capacity.sites:
        chart = _power_chart(desk, site, "power_w") or _power_chart(desk, site, "mean_power_w")
        if chart is not None:
            yield chart
    for place, use in enumerate(desk.plan.sites):
        racks = _rack_chart(desk, use.site, place) if use.racks else None
        if racks is not None:
            yield racks


def _power_chart(desk: Desk, site: str, need: str) -> Chart | None:
    places = range(len(desk.plan.quarters))
    before = [desk.capacity.before(site, place, need) for place in places]
    after = [desk.capacity.after(site, place, need) for place in places]
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
    fed = None if use is None else desk.plan.sites[use].allowed.get(POWER.need)
    if need == POWER.need and fed is not None and None not in fed:
        stem = f"sites[{use}].allowed[{POWER.need}]"
        allowed = (desk.at(f"{stem}[{place}]", "kw", "how-site") for place in places)
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
    racks = desk.capacity.racks(site, last)
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
    limits = limits_of(desk.plan)[::-1]  # both kW side by side
    rows = tuple(
        (
            facts.node_type,
            f"{facts.vendor} {facts.product}",
            f"{facts.gpus} × {facts.gpu_type}",
            *(
                node_takes(desk, facts.node_type, limit.need, limit_style(limit))
                for limit in limits
            ),
            node_takes(desk, facts.node_type, "mean_power_w", "kw"),
            facts.cooling or Blank("the catalog"),
        )
        for facts in desk.plan.node_types
    )
    columns = (
        Column("Node type"),
        Column("Product", wraps=True),
        Column("GPUs", wraps=True),
        *(
            Column("Nameplate kW" if limit == POWER else limit.stated_in, "right")
            for limit in limits
        ),
        Column("Mean kW", "right"),
        Column("Cooling", wraps=True),
    )
    return Table(columns, rows, caption="What each node takes, by the catalog")


def node_takes(desk: Desk, node_type: str, need: str, style: Style) -> Cell:
    """What the catalog says that one node takes."""
    traced = desk.capacity.each(node_type, need)
    if traced is None:
        return Blank("the catalog")
    return figure(traced, style, f"how-node-{node_type}")
