"""Warns of figures that are allowed but seldom meant: old prices, steep rates, wrong units.

The limits are policy rules, the price book, or what the plan needs. They change no figure and
only decide what deserves a second look, such as W for kW, cents for USD, or months for years.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import date, timedelta
from decimal import Decimal

from planner.costs import NOT_PAID, entry_quarters, in_cents
from planner.inputs.catalog.catalog import counted_parameters
from planner.inputs.checks.faults import entries
from planner.inputs.reading.document import dotted
from planner.inputs.rules.facts import SETTINGS
from planner.inputs.scenario.job import Job, Serve, Tune
from planner.inputs.scenario.offer import FleetEntry, Offer, OfferKind
from planner.inputs.scenario.site import Site
from planner.inputs.settled import Inputs
from planner.inputs.text import amount, count_of, price, some_of, usd
from planner.planning.plan import CostLine, Note, Plan, PoolUse

_W_OF_A_KW = 1000
"""Also the least kW that W mistaken for kW give: no site and no rack is fed less than one."""
_TOKENS = "usual_usd_per_million_tokens"
_MORE_TOKENS, _FEWER_TOKENS = "cents, or the price of a billion", "that of a thousand"
_Usual = Mapping[str, tuple[str, str, str | None]]
_USUAL: _Usual = {
    "energy_usd_per_kwh": ("energy_usd_per_kwh", "cents", "a price of MWh in thousands"),
    "useful_life_years": ("useful_life_years", "months", "quarters or decades"),
    "support_share_per_year": ("support_share_per_year", "the support of several years", None),
    "colocation_usd_per_kw_month": (
        "usual_colocation_usd_per_kw_month",
        "the price of a year",
        "that of a day or an hour",
    ),
    "licence_usd_per_gpu_year": (
        "usual_licence_usd_per_gpu_year",
        "the price of a node, or of several years",
        "that of a month or an hour",
    ),
    "network_usd_per_port": (
        "usual_network_usd_per_port",
        "the price of a node or a switch",
        "that of a month, or thousands of USD",
    ),
}
"""For each cost parameter, the policy rule that says what is usual, the likely slip above it (by
the factor of a far-off price), and the likely slip below it (by an order of magnitude)."""
_USUAL_AT_WIDE: _Usual = {
    "move_cost_usd": ("usual_move_cost_usd", "cents, or the price of a node", None),
    "usd_per_million_input_tokens": (_TOKENS, _MORE_TOKENS, _FEWER_TOKENS),
    "usd_per_million_output_tokens": (_TOKENS, _MORE_TOKENS, _FEWER_TOKENS),
    "usd_per_million_cached_tokens": (_TOKENS, _MORE_TOKENS, None),
}
"""The same for policies, jobs and APIs, whose usual values vary more: with the wide factor."""
_BELOW = 10


def unit_slips(inputs: Inputs, plan: Plan) -> Iterator[Note]:
    """List figures of nodes, offers, finance, sites and budgets that look like another unit."""
    yield from _prices_and_needs(inputs)
    for name, site in sorted(inputs.scenario.sites.items()):
        yield from _power(name, site, inputs, plan.pools)
    yield from _idle_budgets(inputs, plan.costs)


def _prices_and_needs(inputs: Inputs) -> Iterator[Note]:
    """Warn of doubtful figures of offers, finance and nodes."""
    for name, offer in sorted(inputs.scenario.offers.items()):
        yield from _price(name, offer, inputs)
        yield from _lead_time(name, offer, inputs)
    yield from _unusual(inputs)
    yield from _needs_of_nodes(inputs)


def _price(name: str, offer: Offer, inputs: Inputs) -> Iterator[Note]:
    """Warn of prices stated here that differ by a factor from those of the price book."""
    usual = _usual(offer, inputs)
    if usual is None:
        return
    low, high, whose = usual
    factor = inputs.rules.figure("far_off_price_factor")
    stated: list[tuple[str, Decimal | None]] = [(offer.price_key, offer.stated_price)]
    stated += [("price_breaks", level.price_usd) for level in offer.price_breaks]
    for key, own in stated:
        if own is not None and not low <= own * factor <= high * factor**2:
            what = "a node, not of a GPU" if offer.kind == "buy" else "a GPU, not of a node"
            figures = " to ".join(dict.fromkeys((price(low), price(high))))
            yield Note(
                text=f"the price of {name}, {price(own)}, is far from the {figures} of "
                f"{whose}: the key takes USD, the price of {what}",
                origin=f"offers.{name}.{key}",
            )
            return


def _usual(offer: Offer, inputs: Inputs) -> tuple[Decimal, Decimal, str] | None:
    """Return the book's price for the node type, or for as many GPUs of this type or any."""
    book, nodes = inputs.catalog.prices, inputs.catalog.nodes
    kind: OfferKind = "buy" if offer.kind == "buy" else "rent"
    if (listed := book.listed(kind, offer.node_type)) is not None:
        return listed.usd, listed.usd, "the price book"

    def gpus(node_type: str) -> int:  # that the price is for
        return nodes[node_type].gpus.value if kind == "buy" else 1

    known = [
        (nodes[name].gpu_type, one.usd / gpus(name))
        for name in (book.purchase if kind == "buy" else book.rent)
        if (one := book.listed(kind, name))
    ]
    alike = [each for gpu_type, each in known if gpu_type == nodes[offer.node_type].gpu_type]
    prices = alike or [each for _, each in known]
    if not prices:
        return None
    low, high = (round(one * gpus(offer.node_type), 2) for one in (min(prices), max(prices)))
    whose = f"{'as many ' * (kind == 'buy')}{'such' if alike else 'other'} GPUs"
    return low, high, f"the price book for {whose}"


def _lead_time(name: str, offer: Offer, inputs: Inputs) -> Iterator[Note]:
    weeks = offer.lead_time_weeks
    if weeks > inputs.rules.figure("long_lead_time_weeks"):
        yield Note(
            text=f"{name} takes {weeks:,} weeks from order to service: the key takes weeks, "
            f"{weeks / 7:.3g} if these are days",
            origin=f"offers.{name}.lead_time_weeks",
        )
        return
    horizon = inputs.scenario.horizon
    arrives = horizon.earliest_order + timedelta(weeks=weeks)
    served = set(horizon.all_quarters) & set(offer.available or horizon.all_quarters)
    told = ""
    if arrives > max(served).start:
        told = (
            f"ordered on {horizon.earliest_order}, the first day, it comes on {arrives}, too late "
            f"for {max(served)}, the last"
        )
    elif not any(horizon.order_day(one, weeks, offer.end_of_sale) for one in served):
        told = (
            f"ordered by {offer.end_of_sale}, the end of its sale, it comes by "
            f"{(offer.end_of_sale or arrives) + timedelta(weeks=weeks)}, too early for "
            f"{min(served)}, the first"
        )
    if told:
        yield Note(
            text=f"{name} takes {count_of(weeks, 'week')} from order to service: {told} quarter "
            "that it could serve in; no plan can use it",
            origin=f"offers.{name}.lead_time_weeks",
        )


def _unusual(inputs: Inputs) -> Iterator[Note]:
    """Warn of cost parameters that are far from those of a policy rule."""
    scenario = inputs.scenario
    above, wide = map(inputs.rules.figure, ("far_off_price_factor", "wide_price_factor"))
    sections: list[tuple[str, object]] = [
        ("finance", scenario.finance),
        ("policies", scenario.policies),
        *((f"jobs.{name}", job) for name, job in sorted(scenario.jobs.items())),
        *((f"apis.{name}", api) for name, api in sorted(scenario.apis.items())),
    ]
    for section, stated in sections:
        yield from _far_off(section, stated, inputs, _USUAL, (above, Decimal(_BELOW)))
        yield from _far_off(section, stated, inputs, _USUAL_AT_WIDE, (wide, wide))


def _far_off(
    section: str, stated: object, inputs: Inputs, table: _Usual, factors: tuple[Decimal, Decimal]
) -> Iterator[Note]:
    """Warn of a section's figures that are many times above or below what a table calls usual."""
    above, below = factors
    for key, (setting, larger, smaller) in table.items():
        usual, rule = inputs.rules.figure(setting), inputs.rules.setting(setting)
        figures = getattr(stated, key, None)
        for gpu_type, own in (figures if isinstance(figures, dict) else {"": figures}).items():
            if own and own > usual * above:
                how, slip = "above", larger
            elif own and smaller and own * below < usual:
                how, slip = "below", smaller
            else:
                continue
            unit = SETTINGS[setting].unit
            yield Note(
                text=f"{amount(own, unit)} are far {how} the {amount(usual, unit)} of the rule "
                f"{rule.id}: the key does not take {slip}",
                origin=".".join(part for part in (section, key, gpu_type) if part),
            )


def _needs_of_nodes(inputs: Inputs) -> Iterator[Note]:
    """Warn of a node's power or support far from what such a node takes.

    Also of sale prices that are far higher than usual.
    """
    factor = inputs.rules.figure("far_off_need_factor")
    above = inputs.rules.figure("far_off_price_factor")
    share = inputs.settings.support_share_per_year.value
    for path, entry in entries(inputs.scenario):
        node, listed = entry.node_type, inputs.catalog_of_files.nodes[entry.node_type]
        bought = inputs.catalog.prices.listed("buy", node)
        powers = {key: getattr(listed, key) for key in ("max_power_kw", "mean_power_kw")}
        usual = {key: (one.value, "kW") for key, one in powers.items() if one}
        if bought is not None:
            usual["support_usd_per_year"] = (round(bought.usd * share, 2), "USD/year")
        brings = entry.sale.price_usd if isinstance(entry, FleetEntry) and entry.sale else None
        most = max(brings.values()) if isinstance(brings, dict) else brings
        if most is not None and bought is not None and most > bought.usd * above:
            yield Note(
                text=f"one used {node} is sold for {price(most)}, and costs {price(bought.usd)} "
                "new by the price book: the key takes USD of one node",
                origin=f"{dotted(path)}.sale.price_usd",
            )
        for key, (known, unit) in usual.items():
            own = getattr(entry, key, None)
            if own and known and not known <= own * factor <= known * factor**2:
                yield Note(
                    text=f"{amount(own, unit)} are far from the {amount(known, unit)} that one "
                    f"{node} takes: the key takes {unit.partition('/')[0]} of one node",
                    origin=f"{dotted(path)}.{key}",
                )


def _power(name: str, site: Site, inputs: Inputs, pools: Sequence[PoolUse]) -> Iterator[Note]:
    """Warn of power limits an order of magnitude above what can stand there."""
    factor, need = inputs.rules.figure("far_off_need_factor"), _kw_there(name, inputs, pools)
    racks, fed = site.racks, site.power_kw
    fed = max(fed.values()) if isinstance(fed, dict) else fed
    limits = {"power_kw": fed, "racks.power_kw": racks.power_kw if racks else None}
    for key, limit in limits.items():
        if limit is not None and need and limit >= max(need * factor, Decimal(_W_OF_A_KW)):
            yield Note(
                text=f"{amount(limit, 'kW')} are {limit / need:,.0f} times what can stand there "
                f"({amount(need, 'kW')}) and limit nothing: the key takes kW, write "
                f"{(limit / _W_OF_A_KW).normalize():f} if these are W",
                origin=f"sites.{name}.{key}",
            )


def _kw_there(name: str, inputs: Inputs, pools: Sequence[PoolUse]) -> Decimal:
    """Return the largest of one node, all owned and offered nodes, and all planned nodes.

    Offered nodes count up to the offers' maximum.
    """

    def kw(node_type: str) -> Decimal:
        node = inputs.catalog.nodes[node_type]
        known = node.max_power_kw or node.mean_power_kw
        return known.value if known else Decimal(0)

    one = owned = Decimal(0)
    for _, entry in entries(inputs.scenario):
        if name in entry.sites:
            count = entry.count if isinstance(entry, FleetEntry) else entry.maximum
            one = max(one, kw(entry.node_type))
            owned += kw(entry.node_type) * (count or 0)
    here = [(kw(pool.node_type), pool.nodes) for pool in pools if pool.site == name]
    quarters = range(inputs.scenario.horizon.quarters)
    planned = (sum((each * nodes[at] for each, nodes in here), Decimal(0)) for at in quarters)
    return max(one, owned, *planned)


def _idle_budgets(inputs: Inputs, costs: Sequence[CostLine] | None) -> Iterator[Note]:
    """Warn of budgets that buy nothing, or that nothing comes near."""
    buys, every = list[Decimal](), list[Decimal]()
    for offer in inputs.offers:
        each = [offer.unit_price_usd, *(one.unit_price_usd for one in offer.levels)]
        every += each
        buys += each * (offer.kind == "buy")
    paid = sum(line.total_cents for line in costs or () if line.name not in NOT_PAID)
    most = max([paid, *(in_cents(usd_each) for usd_each in buys)])
    factor = inputs.rules.figure("idle_budget_factor")
    for cap in inputs.scenario.budget.caps():
        keys = {"capex": "capex_usd", "opex": "opex_usd", "spending": "total_usd"}
        origin = f"budget.{keys[cap.spend]}" + (f".{cap.quarter}" if cap.quarter else "")
        prices = buys if cap.spend == "capex" else every
        must_buy = cap.spend == "capex" or (cap.spend == "spending" and cap.quarter is None)
        if must_buy and prices and 0 < cap.cents < min(prices) * 100:
            yield Note(
                text=f"{cap.name}, {usd(cap.cents)}, pays for no node: the cheapest on offer costs "
                f"{price(min(prices))}; the key takes USD, not thousands of them",
                origin=origin,
            )
        elif costs is not None and most and cap.cents >= most * factor:
            yield Note(
                text=f"{cap.name}, {usd(cap.cents)}, is {cap.cents / most:,.0f} times what this "
                f"plan pays in all, or one node costs ({usd(most)}), and limits nothing: the key "
                "takes USD, not cents",
                origin=origin,
            )


_NODES_OF_A_JOB = 10
"""A fixed job with more memory than this many of the largest nodes would need its own cluster."""


def unlikely_figures(inputs: Inputs) -> Iterator[Note]:
    """List odd dates, steep rates and growth, all or no memory kept free, odd models and jobs."""
    yield from _unstated_day(inputs)
    yield from _odd_dates(inputs)
    finance, policies = inputs.scenario.finance, inputs.scenario.policies
    rate, bias = finance.discount_rate_per_year, finance.optimism_bias
    if rate is not None and rate > inputs.rules.figure("steep_discount_rate"):
        yield Note(
            text=f"a discount rate of {amount(rate, 'share')} a year makes later money almost free",
            origin="finance.discount_rate_per_year",
        )
    if bias is not None and bias > inputs.rules.figure("steep_optimism_bias"):
        yield Note(
            text=f"an optimism bias of {amount(bias, 'share')} is more than the Green Book's for "
            "equipment",
            origin="finance.optimism_bias",
        )
    if policies.headroom == 0:
        yield Note(
            text="no GPU memory is kept free beyond the margins of the formulas",
            origin="policies.headroom",
        )
    yield from _hardly_any_left(inputs)
    yield from _odd_jobs(inputs)


def limiting_figures(inputs: Inputs) -> Iterator[Note]:
    """List the doubtful figures, prices and budgets because of which there may be no plan."""
    yield from _unstated_day(inputs)
    yield from _prices_and_needs(inputs)
    yield from _hardly_any_left(inputs)
    yield from _odd_jobs(inputs)
    yield from _idle_budgets(inputs, None)


def _unstated_day(inputs: Inputs) -> Iterator[Note]:
    """Warn of offers that come too late for the first quarter because no order day was stated."""
    horizon = inputs.scenario.horizon
    first = horizon.first_quarter
    late = [
        f"{offer.name} ({count_of(offer.lead_time_weeks, 'week')})"
        for offer in inputs.offers
        if offer.lead_time_weeks
        and first in (offer.available or horizon.all_quarters)
        and (served := entry_quarters(inputs, offer))
        and served[0] > 0
    ]
    if horizon.as_of is None and late:
        yield Note(
            text=f"the first day of an order is not stated, so it is {first.start}, on which "
            f"{first} begins: what has a lead time comes after that quarter has begun, and serves "
            f"from a later one ({some_of(late, 4)})",
            origin="horizon.as_of",
        )


def _hardly_any_left(inputs: Inputs) -> Iterator[Note]:
    """Warn of policies that withhold most of a resource from every job."""
    most = inputs.rules.figure("steep_share_kept_free")
    policies = inputs.scenario.policies
    kept = {"headroom": (policies.headroom, "each GPU's memory")}
    kept |= {
        f"growth_reserve.{gpu_type}": (share, f"the GPUs of {gpu_type}")
        for gpu_type, share in policies.growth_reserve.items()
    }
    for key, (share, what) in kept.items():
        if share is not None and share > most:
            yield Note(
                text=f"{amount(share, 'share')} of {what} are kept free, which leaves "
                f"{amount(1 - share, 'share')} to all jobs",
                origin=f"policies.{key}",
            )
    utilization = policies.run_utilization
    if utilization is not None and utilization < 1 - most:
        yield Note(
            text=f"a run makes progress in {amount(utilization, 'share')} of its hours, so it "
            f"takes {1 / utilization:,.0f} times as long",
            origin="policies.run_utilization",
        )


def _odd_jobs(inputs: Inputs) -> Iterator[Note]:
    """Warn of models of odd sizes, growth meant in per cent, and more GPU memory than any node."""
    steep = inputs.rules.figure("steep_growth_per_quarter")
    nodes = [inputs.catalog.nodes[one] for one in inputs.scenario.node_types_in_play]
    memories = (one.gpus.value * inputs.catalog.gpus[one.gpu_type].memory_gb.value for one in nodes)
    largest = max(memories, default=None)
    for name, job in sorted(inputs.scenario.jobs.items()):
        if about := job.tune or job.serve:
            yield from _odd_size(name, job, about, inputs)
        asked = job.fixed.gpu_memory_gb if job.fixed else None
        if asked is not None and largest is not None and asked > largest * _NODES_OF_A_JOB:
            yield Note(
                text=f"{name} asks for {amount(asked, 'GB')} of GPU memory, "
                f"{asked / largest:,.0f} times what the largest node here has "
                f"({amount(largest, 'GB')}): the key takes GB, not MB",
                origin=f"jobs.{name}.fixed.gpu_memory_gb",
            )
        load = job.serve.load if job.serve else None
        for stated, where in ((job, ""), (load, "serve.load.")):
            growth = stated.growth_per_quarter if stated else None
            if growth is not None and growth > steep:
                yield Note(
                    text=f"{name} grows by {amount(growth, 'share')} in each quarter; a growth of "
                    f"{amount(growth / 100, 'share')} is written {growth / 100:f}",
                    origin=f"jobs.{name}.{where}growth_per_quarter",
                )


def _odd_size(name: str, job: Job, about: Tune | Serve, inputs: Inputs) -> Iterator[Note]:
    """Warn of a model whose size does not match its shape or any other, or of too long a text."""
    model, own = inputs.catalog.models.get(about.model or ""), about.parameters_b
    if model is not None:
        counted = counted_parameters(model, model.experts)
        share = inputs.rules.figure("odd_parameters_share")
        low, high = counted.least_b * (1 - share), counted.most_b * (1 + share)
        if not low <= model.parameters_b <= high:
            yield Note(
                text=f"{about.model} is said to have {model.parameters_b:f} billion parameters, by "
                f"its shape it has {counted}",
                origin=f"catalog {about.model}",
            )
        key = "sequence" if job.tune else "context"
        tokens: int | None = getattr(about, key)
        if tokens is not None and tokens > model.max_context:
            yield Note(
                text=f"{name} holds {tokens:,} tokens, its model is built for "
                f"{model.max_context:,}: its rope scaling is declared, what the answers are worth "
                "is not",
                origin=f"jobs.{name}.{job.kind}.{key}",
            )
    elif own is not None:
        sizes = [one.parameters_b for one in inputs.catalog.models.values()]
        if sizes and not min(sizes) <= own <= max(sizes):
            yield Note(
                text=f"{name}: {own:f} billion parameters are those of no model of the catalog "
                f"({min(sizes):.3g} to {max(sizes):,.4g}): the key takes billions",
                origin=f"jobs.{name}.{job.kind}.parameters_b",
            )


def _odd_dates(inputs: Inputs) -> Iterator[Note]:
    """Warn of a plan dated long before it starts, and of prices that are old or not known yet."""
    scenario = inputs.scenario
    as_of, apis = scenario.horizon.earliest_order, sorted(scenario.apis.items())
    first = scenario.horizon.first_quarter
    weeks = (first.start - as_of).days // 7
    if weeks > inputs.rules.figure("long_lead_time_weeks"):
        yield Note(
            text=f"the day of the plan, {as_of}, lies {weeks:,} weeks before {first}, so that all "
            "that is ordered arrives in time: a slip of the year?",
            origin="horizon.as_of",
        )
    dated = [
        *(
            ("offers", one.name, one.price_date, scenario.offers[one.name].price_date)
            for one in inputs.offers
        ),
        *(("apis", name, api.price_date, api.price_date) for name, api in apis),
    ]
    for section, name, priced, stated in dated:
        if priced is None:
            continue
        priced_on = date.fromisoformat(str(priced))
        days = (as_of - priced_on).days
        if days > inputs.rules.figure("stale_price_days"):
            yield Note(
                text=f"the price of {name} is of {priced_on}, {count_of(days, 'day')} "
                f"before {as_of}, the first day on which this plan can order",
                origin=f"{section}.{name}",
            )
        elif days < 0 and stated is not None:
            yield Note(
                text=f"the price of {name} is of {priced_on}, {count_of(-days, 'day')} after "
                f"{as_of}, the first day on which this plan can order: one of the days is wrong, "
                "or `horizon.as_of` is to be stated",
                origin=f"{section}.{name}.price_date",
            )
