"""Every figure leads back to where it was read."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from pydantic import BaseModel, ValidationError

from planner.inputs.catalog.catalog import Catalog, CatalogFile

if TYPE_CHECKING:
    from collections.abc import Iterator

PARTS = ("sources", "gpus", "nodes", "models", "purchase", "rent")


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


def test_the_catalog_holds_hundreds_of_sourced_figures(figures: list[tuple[str, Any]]) -> None:
    assert len(figures) > 400


def test_the_source_of_every_figure_is_listed(
    figures: list[tuple[str, Any]], catalog: Catalog
) -> None:
    assert [place for place, figure in figures if figure.source not in catalog.sources] == []


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
            assert listing or "no stable link" in source.title, key


def test_no_id_stands_in_two_files(files: dict[str, CatalogFile]) -> None:
    for part in PARTS:
        ids = Counter(key for file in files.values() for key in getattr(file, part))
        assert [key for key, times in ids.items() if times > 1] == []


def test_no_entry_hides_another_of_the_same_file(shipped_texts: dict[str, str]) -> None:
    for name, text in shipped_texts.items():
        for mapping in mappings(yaml.compose(text, Loader=yaml.CSafeLoader)):
            keys = Counter(key.value for key, _ in mapping.value)
            assert [key for key, times in keys.items() if times > 1] == [], name


def mappings(node: Any) -> Iterator[yaml.MappingNode]:
    if isinstance(node, yaml.MappingNode):
        yield node
        for _, value in node.value:
            yield from mappings(value)


def test_an_unknown_key_in_an_entry_is_refused() -> None:
    with pytest.raises(ValidationError, match="extra_forbidden"):
        CatalogFile.model_validate({"sources": {"page": {"title": "A page", "link": "x"}}})
