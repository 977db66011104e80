"""Every figure leads back to where it was read."""

from collections.abc import Iterator
from typing import Any

import pytest
from pydantic import BaseModel

from planner.inputs.catalog.catalog import Catalog


def sourced(value: Any, place: str) -> Iterator[tuple[str, Any]]:
    """Every part of an entry that carries a source, with its dotted place."""
    if isinstance(value, BaseModel):
        if "source" in type(value).model_fields:
            yield place, value
        value = {name: getattr(value, name) for name in type(value).model_fields}
    if isinstance(value, dict):
        for name, item in value.items():
            yield from sourced(item, f"{place}.{name}")


@pytest.fixture(scope="module")
def figures(catalog: Catalog) -> list[tuple[str, Any]]:
    return list(sourced(catalog, "catalog"))


def test_the_source_of_every_partition_table_is_listed(catalog: Catalog) -> None:
    for gpu in catalog.gpus.values():
        assert (gpu.mig_source is not None) == bool(gpu.mig_profiles)
        assert gpu.mig_source is None or gpu.mig_source in catalog.sources


def test_every_estimate_and_assumption_says_how_it_came_about(
    figures: list[tuple[str, Any]],
) -> None:
    weak = [(place, it) for place, it in figures if it.basis in ("estimate", "assumption")]
    assert weak
    assert [place for place, figure in weak if not figure.note] == []


def test_no_source_is_listed_that_no_figure_or_note_names(
    figures: list[tuple[str, Any]], catalog: Catalog
) -> None:
    used = {figure.source for _, figure in figures}
    used |= {gpu.mig_source for gpu in catalog.gpus.values()}
    notes = " ".join(figure.note or "" for _, figure in figures)
    assert [key for key in catalog.sources if key not in used and key not in notes] == []


def test_a_source_has_an_address_or_says_that_it_has_none(catalog: Catalog) -> None:
    for key, source in catalog.sources.items():
        if source.url is None:
            listing = source.locator is not None and "read in" in source.locator
            told = f"{key}: give its url, or say `no stable link` in its title"
            assert listing or "no stable link" in source.title, told
