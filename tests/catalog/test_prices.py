"""Prices name their sums and their providers, and say that they are illustrative."""

import re
from decimal import Decimal
from statistics import median

from planner.inputs.catalog.catalog import Catalog

SUM = re.compile(r"([48]) x ([\d,]+).*? \+ (?:host )?([\d,]+)")


def usd(text: str) -> int:
    return int(text.strip(",").replace(",", ""))


def test_every_node_type_has_a_price_but_those_without_any_basis(catalog: Catalog) -> None:
    unpriced = set(catalog.nodes) - set(catalog.prices.purchase)
    known = {
        *("as8126-mi350x", "vera-rubin-nvl72", "xe9712-gb200", "xe9712-gb300", "xe9785l-mi355x")
    }
    assert unpriced == known, "state a price in catalog/prices.yaml, or name the node type here"


def test_no_price_is_dated_after_its_book(catalog: Catalog) -> None:
    days = [price.date for price in catalog.prices.purchase.values()]
    days += [price.date for price in catalog.prices.rent.values()]
    assert max(days) <= catalog.prices.header.date


def test_a_price_made_of_parts_is_the_sum_that_its_note_states(catalog: Catalog) -> None:
    sums = 0
    for key, price in catalog.prices.purchase.items():
        stated = SUM.match(price.note or "")
        if stated is None:
            continue
        gpus, gpu_usd, host_usd = int(stated[1]), usd(stated[2]), usd(stated[3])
        assert gpus == catalog.nodes[key].gpus.value, f"{key}: the note counts other GPUs"
        total = gpus * gpu_usd + host_usd
        assert price.price_usd == total, f"{key}: the sum in the note is {total}"
        sums += 1
    assert sums >= 11


def test_the_ratio_of_rents_in_a_note_is_worked_out_right(catalog: Catalog) -> None:
    ratios = 0
    for key, price in catalog.prices.purchase.items():
        for rent, anchor, usd_anchor in re.findall(
            r"([\d.]+) / ([\d.]+) x ([\d,]+\d)", price.note or ""
        ):
            worth = round(Decimal(rent) / Decimal(anchor) * usd(usd_anchor))
            assert f"{worth:,}" in (price.note or ""), f"{key}: the ratio in the note is {worth:,}"
            rented = catalog.prices.rent[key].usd_per_gpu_hour
            assert Decimal(rent) == rented, f"{key}: the note has a rent of {rent}, not {rented}"
            ratios += 1
    assert ratios >= 5


def test_a_rent_is_the_median_of_the_providers_that_its_source_lists(catalog: Catalog) -> None:
    for key, rent in catalog.prices.rent.items():
        locator = catalog.sources[rent.source].locator
        assert locator is not None, key
        by_provider = locator.partition(";")[0].partition(": ")[2].split(", ")
        medians = [Decimal(item.rsplit(" ", 1)[1]) for item in by_provider]
        middle, told = median(medians), f"median of {len(medians)} providers"
        assert abs(middle - rent.usd_per_gpu_hour) <= Decimal("0.001"), f"{key}: it is {middle}"
        assert told in (rent.note or ""), f"{key}: the note should say: {told}"


def test_node_types_with_the_same_gpu_rent_at_the_same_price(catalog: Catalog) -> None:
    by_gpu: dict[str, set[Decimal]] = {}
    for key, rent in catalog.prices.rent.items():
        by_gpu.setdefault(catalog.nodes[key].gpu_type, set()).add(rent.usd_per_gpu_hour)
    assert all(len(prices) == 1 for prices in by_gpu.values())


def test_no_rent_is_invented_for_a_gpu_that_no_provider_lists(catalog: Catalog) -> None:
    rented = {catalog.nodes[key].gpu_type for key in catalog.prices.rent}
    assert rented.isdisjoint({"gaudi3-128gb", "mi350x-288gb", "mi355x-288gb", "h200-141gb-nvl"})
