"""Rules and catalog for a reader."""

import re
from datetime import date
from decimal import Decimal

import pytest

from planner.inputs.base import SourcedFigure
from planner.inputs.catalog.catalog import (
    Catalog,
    DenseTflops,
    GpuType,
    MigProfile,
    Model,
    NodeType,
    PriceBook,
    PriceBookHeader,
    PurchasePrice,
    Source,
)
from planner.inputs.rules.rule import Rule
from planner.reporting.knowledge import (
    catalog_document,
    entry_document,
    entry_ids,
    examples_document,
    rule_document,
    rules_document,
)
from planner.reporting.terminal import TerminalOptions, render
from planner.sizing.selftest import ExampleResult


@pytest.fixture
def rule():
    return Rule.model_validate(
        {
            "id": "serving/plain",
            "title": "Plain serving",
            "kind": "formula",
            "applies": {"kind": "serve", "parameters_b": {"min": Decimal("0.1")}},
            "inputs": {
                "parameters_b": {"unit": "10^9", "meaning": "size of the model"},
                "share": {"unit": "share", "default": Decimal("0.2")},
            },
            "result": {"name": "memory_gb", "unit": "GB"},
            "formula": "parameters_b * 2 * (1 + share)",
            "sources": (
                {
                    "title": "A page",
                    "url": "https://example.org/a",
                    "locator": "table 3",
                    "read": "2026-11-21",
                    "quote": "two GPUs suffice",
                },
            ),
            "examples": (
                {
                    "name": "Seventy",
                    "given": {"parameters_b": Decimal(70), "share": Decimal("0.2")},
                    "expect": Decimal(168),
                },
            ),
            "errata": ({"says": "two suffice", "arithmetic": "160 < 168", "decision": "three"},),
            "known_wrong_when": ("contexts are long",),
        }
    )


def test_a_rule_is_shown_whole(rule):
    text = render(rule_document(rule), TerminalOptions(100))
    for piece in (
        "memory_gb = parameters_b * 2 * (1 + share)   [GB]",
        "· kind is serve",
        "· parameters_b is at least 0.1",
        "size of the model",
        "0.2, listed as an assumption",
        "A page, table 3 (https://example.org/a), read 2026-11-21: “two GPUs suffice”",
        "· Seventy: with parameters_b = 70, share = 0.2, 168 GB",
        "· contexts are long",
    ):
        assert piece in text


def test_an_erratum_cannot_be_overlooked(rule):
    text = render(rule_document(rule), TerminalOptions(100))
    assert "── ERRATUM of the source ──" in text
    assert "It says: two suffice\nThe arithmetic: 160 < 168\nDecision: three\n" in text
    assert text.index("ERRATUM") < text.index("── Sources")
    assert "Plain serving [erratum]" in render(rules_document([rule]), TerminalOptions(100))


def test_examples_that_pass_are_counted_and_failures_are_named():
    good = ExampleResult("a", "one", True, "")
    bad = ExampleResult("b", "two", False, "expected 3, got 4")
    assert render(examples_document([good, good]), TerminalOptions(80)) == (
        "2 examples of 1 rule: all as stated\n"
    )
    assert render(examples_document([good, bad]), TerminalOptions(80)) == (
        "· b: two: expected 3, got 4\n\n1 of 2 examples failed\n"
    )


def fig(value, basis="published", note=None):
    value = Decimal(str(value)) if isinstance(value, float) else value
    return SourcedFigure(value=value, source="spec", basis=basis, note=note)


@pytest.fixture
def catalog():
    return Catalog(
        sources={"spec": Source(title="Data sheet", url="https://example.org/spec")},
        gpus={
            "a-80gb": GpuType(
                vendor="nvidia",
                family="a",
                form_factor="sxm",
                memory_gb=fig(Decimal(80)),
                driver_memory_mib=fig(81559, "measured", "driver 550"),
                dense_tflops=DenseTflops(bf16=fig(Decimal(989))),
                kubernetes_resource="nvidia.com/gpu",
                mig_profiles={
                    "1g.10gb": MigProfile(compute_slices=1, memory_slices=1, placement_starts=(0,))
                },
            )
        },
        nodes={
            "node-a": NodeType(
                vendor="V",
                product="P",
                gpu_type="a-80gb",
                gpus=fig(8),
                cpu_cores=fig(112, "assumption", "from a sibling"),
                host_memory_gb=fig(Decimal(2048)),
            )
        },
        models={
            "m-8b": Model(
                name="M",
                parameters_b=Decimal("8.03"),
                layers=32,
                hidden=4096,
                heads=32,
                kv_heads=8,
                head_dim=128,
                vocab=128256,
                max_context=131072,
                source="spec",
            )
        },
        prices=PriceBook(
            header=PriceBookHeader(
                id="book", date=date(2026, 11, 21), illustrative=True, notice="Not quotes."
            ),
            purchase={
                "node-a": PurchasePrice(
                    price_usd=Decimal(325000),
                    date=date(2026, 11, 1),
                    source="spec",
                    basis="estimate",
                    note="midpoint",
                )
            },
        ),
    )


def test_lists_mark_estimates_and_show_the_notice_of_the_prices(catalog):
    text = render(
        catalog_document(catalog, ("gpus", "nodes", "models", "prices")), TerminalOptions(100)
    )
    assert re.search(r"^node-a +8 × a-80gb +112\* +2,048 ", text, re.M)
    assert re.search(r"^node-a +325,000\* +–$", text, re.M)
    assert re.search(r"^a-80gb +80 +81,559 +– +989 +– +1$", text, re.M)
    assert re.search(r"^m-8b +8\.03 +32 +4,096 +32 / 8 +131,072$", text, re.M)
    assert "Not quotes." in text


def test_only_the_kinds_asked_for_are_listed(catalog):
    text = render(catalog_document(catalog, ("models",)), TerminalOptions(100))
    assert "Models (1)" in text
    assert "Node types" not in text


def test_each_figure_of_an_entry_shows_basis_source_and_note(catalog):
    text = render(entry_document(catalog, "a-80gb"), TerminalOptions(120))
    assert re.search(
        r"driver memory, MiB +81,559 +measured +Data sheet \(https://example\.org/spec\)", text
    )
    assert "· driver memory, MiB: driver 550" in text
    assert re.search(r"dense tflops bf16 +989 ", text)
    assert re.search(r"MIG 1g\.10gb +1 compute, 1 memory slices", text)


def test_a_node_type_is_shown_with_its_price_and_the_price_with_its_source(catalog):
    text = render(entry_document(catalog, "node-a"), TerminalOptions(120))
    assert re.search(r"price, USD +325,000", text)
    assert "Source of all (estimate): Data sheet (https://example.org/spec)" in text
    assert "Note: midpoint" in text


def test_every_entry_can_be_shown(catalog):
    assert entry_ids(catalog) == ("a-80gb", "m-8b", "node-a")
    for id_ in entry_ids(catalog):
        assert render(entry_document(catalog, id_), TerminalOptions(40))
    with pytest.raises(KeyError):
        entry_document(catalog, "nothing")
