"""What a scenario names must exist: node types, GPU types, models, MIG profiles, rules."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from planner.inputs.text.words import did_you_mean, foreign_letter, pieces

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from planner.errors import Finding
    from planner.inputs.catalog.catalog import Catalog
    from planner.inputs.reading.document import Document, Path
    from planner.inputs.rules.book import RuleBook

__all__ = ["unknown_reference", "unknown_references"]

_EACH = "*"
_KEYS = "keys"


class _Reference(NamedTuple):
    """Where names of one sort stand in a scenario; `*` is every entry, `keys` the keys."""

    pattern: tuple[str, ...]
    sort: str


_REFERENCES = (
    _Reference(("fleet", _EACH, "node_type"), "node type"),
    _Reference(("offers", _EACH, "node_type"), "node type"),
    _Reference(("policies", "spare_nodes", _KEYS), "node type"),
    _Reference(("finance", "licence_usd_per_gpu_year", _KEYS), "GPU type"),
    _Reference(("policies", "growth_reserve", _KEYS), "GPU type"),
    _Reference(("policies", "allowed_gpu_types", _EACH), "GPU type"),
    _Reference(("policies", "excluded_gpu_types", _EACH), "GPU type"),
    _Reference(("policies", "waived_rules", _KEYS), "rule"),
    _Reference(("jobs", _EACH, "gpu_types", _EACH), "GPU type"),
    _Reference(("jobs", _EACH, "tune", "model"), "model"),
    _Reference(("jobs", _EACH, "serve", "model"), "model"),
    _Reference(("jobs", _EACH, "tune", "gpu_partition"), "MIG profile"),
)


def unknown_references(scenario: Document, catalog: Catalog, rules: RuleBook) -> Iterator[Finding]:
    """Find every name in the scenario that stands for nothing.

    Works on the file's plain data, so that a mistake elsewhere in it hides none of these.
    """
    known: dict[str, Collection[str]] = {
        "node type": catalog.nodes,
        "GPU type": catalog.gpus,
        "model": catalog.models,
        "rule": rules.rules,
        "MIG profile": {name for gpu in catalog.gpus.values() for name in gpu.mig_profiles},
    }
    exclusions = {rule.id for rule in rules.exclusions}
    for reference in _REFERENCES:
        for path, name in _matches(scenario.data, reference.pattern, ()):
            at_key = reference.pattern[-1] == _KEYS
            if name not in known[reference.sort]:
                message, hint = unknown_reference(
                    reference.sort, name, known[reference.sort], catalog
                )
                yield scenario.finding(path, message, hint, at_key=at_key)
            elif reference.sort == "rule" and name not in exclusions:
                message = f"rule {name!r} excludes nothing, only exclusions can be waived"
                hint = did_you_mean(name, sorted(exclusions), 3)
                yield scenario.finding(path, message, hint, at_key=at_key)


def _matches(value: object, pattern: tuple[str, ...], path: Path) -> Iterator[tuple[Path, str]]:
    """Every text at a pattern; what has another shape is reported when the model is built."""
    if not pattern:
        if isinstance(value, str):
            yield path, value
        return
    step, rest = pattern[0], pattern[1:]
    if isinstance(value, tuple) and step == _EACH:
        for position, item in enumerate(value):
            yield from _matches(item, rest, (*path, position))
    elif isinstance(value, dict) and step == _KEYS:
        yield from (((*path, key), key) for key in value)
    elif isinstance(value, dict) and step == _EACH:
        for key, inner in value.items():
            yield from _matches(inner, rest, (*path, key))
    elif isinstance(value, dict) and step in value:
        yield from _matches(value[step], rest, (*path, step))


def unknown_reference(
    sort: str, name: str, known: Collection[str], catalog: Catalog
) -> tuple[str, str | None]:
    """What is wrong with a name that is not known, and what may have been meant."""
    names = sorted(known)
    several = _of_family(name, catalog) if sort == "GPU type" else _made_of(name, sort, names)
    if len(several) > 1:
        return f"{sort} {name!r} is ambiguous", f"write one of {', '.join(several)}"
    message = f"unknown {sort} {name!r}"
    if letter := foreign_letter(name):
        message += f", it contains the non-Latin letter {letter}"
    if several:
        return message, f"did you mean {several[0]!r}?"
    return message, did_you_mean(name, names, 3) or _listing(sort, names)


def _of_family(name: str, catalog: Catalog) -> list[str]:
    """GPU types that a loose name such as `H100` or `h100 80gb` may stand for."""
    loose = name.casefold().replace(" ", "-").replace("_", "-")
    return sorted(
        key
        for key, gpu in catalog.gpus.items()
        if gpu.family.casefold() == loose or key.startswith(f"{loose}-")
    )


def _made_of(name: str, sort: str, names: list[str]) -> list[str]:
    """Node types of which a name is a part, such as their GPUs or their product."""
    asked = pieces(name)
    return [one for one in names if asked < pieces(one)] if asked and sort == "node type" else []


def _listing(sort: str, names: list[str]) -> str | None:
    """All names where they are few, else the command that lists them."""
    if len(names) <= 8:
        return f"known: {', '.join(names)}" if names else None
    return f"`planner {'rules' if sort == 'rule' else 'catalog'} list` lists them"
