"""The catalog and the rules, and tests of the rules and of the solver."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any

from planner.api.result import FilePath, Result, Row, paths
from planner.errors import Finding, InputError
from planner.inputs.catalog.catalog import Catalog
from planner.inputs.load import load_catalog, load_rules
from planner.inputs.rules.book import RuleBook
from planner.inputs.scenario.schema import scenario_schema
from planner.inputs.text import did_you_mean, one_of
from planner.reporting.document import Document
from planner.reporting.format import record
from planner.reporting.knowledge import (
    catalog_document,
    entry_document,
    entry_ids,
    examples_document,
    rule_document,
    rules_document,
)
from planner.sizing.selftest import run_examples

KINDS = ("gpus", "nodes", "models", "prices")

_shipped_catalog, _shipped_rules = cache(load_catalog), cache(load_rules)
"""Files of one's own may change while a process runs; those of the package are read once."""


def catalog_of(own: FilePath | Sequence[FilePath] = ()) -> Catalog:
    """The shipped catalog with files of one's own; raises InputError with all mistakes."""
    files = paths(own)
    return (load_catalog(files) if files else _shipped_catalog())[0]


def rules_of(own: FilePath | Sequence[FilePath] = ()) -> RuleBook:
    """The shipped rules with files of one's own; raises InputError with all mistakes."""
    files = paths(own)
    return (load_rules(files) if files else _shipped_rules())[0]


class KnowledgeResult(Result):
    """Entries of the catalog, rules, or what a test of them came to."""

    _name = "knowledge"

    def __init__(
        self, title: str, rows: Sequence[Row], document: Document, *, failed: int = 0
    ) -> None:
        """Private: `planner.catalog`, `rules`, `examine_rules` and `doctor` give these."""
        super().__init__(title)
        self._rows, self._drawn, self.failed = rows, document, failed

    failed: int
    """Of a test: how many answers were wrong; else 0."""

    @property
    def summary(self) -> tuple[str, ...]:
        """How many, and how many of them failed."""
        return (f"{len(self._rows)} rows" + (f", {self.failed} failed" if self.failed else ""),)

    def rows(self) -> list[Row]:
        """A row for each entry, rule or answer."""
        return [dict(row) for row in self._rows]

    def _document(self) -> Document:
        return self._drawn


def catalog(
    *kinds: str, entry: str | None = None, catalog: FilePath | Sequence[FilePath] = ()
) -> KnowledgeResult:
    """List the catalog, or some `kinds` of it: `gpus`, `nodes`, `models`, `prices`.

    `entry` is the id of a GPU type, node type or model to show alone, each figure with its source.
    `catalog` names files or folders of your own.

    >>> import planner
    >>> [row["id"] for row in planner.catalog("gpus").rows() if row["id"].startswith("h100-")]
    ['h100-80gb-sxm', 'h100-80gb-pcie', 'h100-94gb-nvl']

    Raises InputError for an id or a kind that there is not.
    """
    facts = catalog_of(catalog)
    if entry is not None:
        require_known(entry, entry_ids(facts), "GPU type, node type or model")
        found: list[tuple[str, Any]] = [
            (kind, getattr(facts, kind)[entry])
            for kind in ("gpus", "nodes", "models")
            if entry in getattr(facts, kind)
        ]
        rows = [
            {"id": entry, "kind": kind, "figure": key, **_figure(value)}
            for kind, one in found
            for key, value in one
            if value is not None
        ]
        return KnowledgeResult(entry, rows, entry_document(facts, entry))
    for kind in kinds:
        require_known(kind, KINDS, "kind of entry")
    shown = kinds or KINDS
    listed = [
        {"kind": kind, "id": id_}
        for kind in shown
        if kind != "prices"
        for id_ in getattr(facts, kind)
    ]
    return KnowledgeResult("catalog", listed, catalog_document(facts, shown))


def _figure(value: Any) -> Row:  # noqa: ANN401 - a figure with its source, or a plain value
    told = value.model_dump(mode="json") if hasattr(value, "model_dump") else {"value": str(value)}
    return {"value": told.get("value"), "source": told.get("source"), "basis": told.get("basis")}


def rules(rule: str | None = None, *, rules: FilePath | Sequence[FilePath] = ()) -> KnowledgeResult:
    """List the rules of sizing and policy, or show one `rule` by its id.

    `rules` names files or folders of your own.

    >>> import planner
    >>> sorted({row["kind"] for row in planner.rules().rows()})
    ['baseline', 'exclusion', 'floor', 'formula', 'policy', 'warning']

    Raises InputError for an id that there is not.
    """
    book = rules_of(rules)
    if rule is None:
        chosen, document = tuple(book.rules.values()), rules_document(book.rules.values())
    else:
        require_known(rule, book.rules, "rule")
        chosen, document = (book.rules[rule],), rule_document(book.rules[rule])
    rows = [record(one, "id kind title") for one in chosen]
    return KnowledgeResult(rule or "rules", rows, document)


def examine_rules(*, rules: FilePath | Sequence[FilePath] = ()) -> KnowledgeResult:
    """Run every rule's worked examples.

    >>> import planner
    >>> planner.examine_rules().failed
    0
    """
    book = rules_of(rules)
    outcomes = run_examples(book)
    rows = [
        {"rule": one.rule, "example": one.name, "passed": one.passed, "message": one.message}
        for one in outcomes
    ]
    failed = sum(not one.passed for one in outcomes)
    return KnowledgeResult("examples of rules", rows, examples_document(outcomes), failed=failed)


def schema() -> dict[str, Any]:
    """The JSON Schema of a scenario, for editors that complete and check YAML.

    >>> import planner
    >>> "jobs" in planner.schema()["properties"]
    True
    """
    return scenario_schema()


def doctor() -> KnowledgeResult:
    """Put small programs on which released solvers have lied to the solver installed here.

    >>> import planner
    >>> planner.doctor().failed
    0
    """
    from planner.packing.doctor import examine  # noqa: PLC0415 - loads both solvers
    from planner.reporting.knowledge import doctor_document  # noqa: PLC0415 - likewise

    examined = examine()
    rows = [
        {
            "program": one.case.name,
            "solver": one.solver,
            "decides": one.decides,
            "wrong": one.wrong,
            "said": one.said,
        }
        for one in examined
    ]
    failed = sum(bool(one.wrong) for one in examined if one.decides)
    return KnowledgeResult("solvers", rows, doctor_document(examined), failed=failed)


def require_known(word: str, known: Iterable[str], what: str) -> None:
    """Raise InputError with the nearest names if there is no such id."""
    names = sorted(known)
    if word in names:
        return
    ends = [name for name in names if name.rpartition("/")[2] == word]
    begun = [name for name in names if name.startswith(f"{word}-")]
    near = did_you_mean(ends[0] if ends else word, names, 3)
    hint = f"did you mean {one_of([repr(name) for name in begun[:5]])}?" if begun else near
    raise InputError(
        Finding(f"there is no {what} {word!r}", hint=hint or f"`list` shows every {what}")
    )
