"""A scenario put together from its files: the base, what extends it, overrides, `--set`.

In this order, later ones win: the base with what it applies; the file that extends it with what
that applies; the overrides named on the command line, as they are named; `--set`, as given.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import chain
from pathlib import Path as FilePath
from typing import Any

from planner.errors import Finding, InputError
from planner.inputs.override import Composed, Listed, Override, changed, changes_of, grafted
from planner.inputs.reading.diagnostics import Attempts, require_kind, validate
from planner.inputs.reading.document import Entry, Path, Refused, YamlDocument, dotted
from planner.inputs.reading.locate import fault_of_path
from planner.inputs.reading.reader import read_document
from planner.inputs.scenario.scenario import ScenarioFile, Variations
from planner.inputs.text import did_you_mean, difference, flow, flow_key, folded, yaml_lines

_TITLES = ("format", "name", "description")
"""Keys that each file states for itself."""
_MOST_LAYERS = 20
"""The most files that build on each other; nobody can follow a value through more."""


@dataclass(frozen=True)
class _Layer:
    """One file: what it says of the question, and of variations."""

    document: YamlDocument
    variations: Variations

    @property
    def question(self) -> YamlDocument:
        """The file without its variations, with each value bound to this file."""
        data = {k: v for k, v in self.document.data.items() if k not in Variations.model_fields}
        branch: dict[str | int, Entry] = {
            key: self.document.branch[key]._replace(origin=self.document) for key in data
        }
        return replace(self.document, data=data, branch=branch)


@dataclass(frozen=True)
class Layers:
    """The files of a scenario, the base first, the one that was named last."""

    files: tuple[_Layer, ...]
    mistakes: tuple[Finding, ...] = ()
    """Mistakes in what the files say beside the question, and in how they are written."""
    listed: Listed = lambda document, path: None  # noqa: ARG005 - nobody knows prices

    @property
    def documents(self) -> tuple[YamlDocument, ...]:
        """Return the files as they were read, the base first."""
        return tuple(layer.document for layer in self.files)

    @property
    def names(self) -> tuple[str, ...]:
        """Return every override and scenario that can be asked for, the base's first."""
        return (*self._overrides, *self._scenarios)

    @property
    def cases(self) -> tuple[str, ...]:
        """Return what a check tries besides the question: scenarios, and overrides in none of them.

        An override may need another beside it, which the lists of the file then say.
        """
        listed = {name for names in self._scenarios.values() for name in names}
        alone = [name for name in self._overrides if name not in listed]
        return (*alone, *self._scenarios)

    @cached_property
    def _overrides(self) -> dict[str, YamlDocument]:
        """Return the file of each override."""
        return {name: one.document for one in self.files for name in one.variations.overrides}

    @cached_property
    def _scenarios(self) -> dict[str, tuple[str, ...]]:
        return {n: list_ for one in self.files for n, list_ in one.variations.scenarios.items()}

    @cached_property
    def _base(self) -> tuple[Composed, tuple[Finding, ...]]:
        """Return the question as the files state it, with what they always apply.

        And its mistakes.
        """
        first, *others = self.files
        findings = list(self.mistakes)
        named = dict.fromkeys(self._expanded(first))
        composed = self._applied(Composed(first.question), named, findings)
        for layer in others:
            document = _extended(composed.document, layer.question, findings)
            fresh = dict.fromkeys(self._expanded(layer))
            names = [name for name in fresh if name not in _made(composed)]
            composed = self._applied(Composed(document, composed.applied), names, findings)
        return composed, tuple(findings)

    def _expanded(self, layer: _Layer) -> Iterator[str]:
        for name in layer.variations.apply:
            yield from self._scenarios.get(name, (name,))

    def composed(
        self, variations: Sequence[str] = (), settings: Sequence[Override] = ()
    ) -> Composed:
        """Apply overrides and scenarios of the files by name, then others.

        An override that is named twice is applied once, where it is named first. Raises
        InputError for unknown names and for changes that cannot be made; the error knows the
        question with all others.
        """
        base, mistakes = self._base
        findings = [*mistakes, *map(self._unknown, set(variations) - set(self.names))]
        named = [one for name in variations for one in self._scenarios.get(name, (name,))]
        fresh = [name for name in dict.fromkeys(named) if name not in _made(base)]
        composed = self._applied(base, fresh, findings)
        composed = changed(composed, settings, findings, self.listed)
        if findings:
            raise InputError(*findings, known=composed)
        return composed

    def _unknown(self, name: str) -> Finding:
        file = self.files[-1].document.shown_as
        near = did_you_mean(name, self.names)
        some = f"there are {', '.join(self.names)}" if self.names else None
        return Finding(
            f"{file} has no scenario or override {name!r}",
            path="--scenario",
            hint=near or some or f"{file} and what it extends have no `overrides:`",
        )

    def _applied(
        self, composed: Composed, names: Iterable[str], findings: list[Finding]
    ) -> Composed:
        known = [name for name in names if name in self._overrides]
        each = (changes_of(self._overrides[name], name, findings) for name in known)
        return changed(composed, chain.from_iterable(each), findings, self.listed)


def _made(composed: Composed) -> frozenset[str]:
    """Return the names of the overrides that a question holds already."""
    return frozenset(one.by.removeprefix("override ") for one in composed.applied)


def read_layers(path: FilePath, text: str | None = None) -> Layers:
    """Read a scenario and what it extends, recursively; `text` stands in for its file.

    Raises InputError for a file that cannot be read to its end, and for a base that may not be
    read. All else that is wrong, such as unknown names, is among the mistakes.
    """
    attempts = Attempts()

    def layer(document: Callable[[], YamlDocument]) -> _Layer:
        if (found := attempts.known(document)) is None:
            raise InputError(*attempts.findings)
        return _layer(found, attempts)

    layers = [layer(lambda: read_document(path, text=text))]
    read = [path.resolve()]
    while (name := layers[0].variations.extends) is not None:
        base = attempts.take(partial(_base_of, layers[0].document, name, read))
        if base is None:
            raise InputError(*attempts.findings)
        read.append(base.resolve())
        layers.insert(0, layer(partial(read_document, base)))
    found = Layers(tuple(layers))
    mistakes = (*attempts.findings, *_twice_named(found), *_unknown_names(found))
    return replace(found, mistakes=mistakes)


def _base_of(document: YamlDocument, name: str, read: Sequence[FilePath]) -> FilePath:
    """Return the base that a file names.

    Raises InputError if it may not be named, or was read before.
    """
    base = base_path(document, name, may_rise=len(read) == 1)
    fault = None
    if base.resolve() in read:
        circle = [*read[read.index(base.resolve()) :], base]
        fault = f"leads in a circle: {' -> '.join(one.name for one in circle)}"
    elif len(read) == _MOST_LAYERS:
        fault = f"is file {len(read) + 1}, at most {_MOST_LAYERS} build on each other"
    if fault:
        raise InputError(document.finding(("extends",), fault))
    return base


def _layer(document: YamlDocument, attempts: Attempts) -> _Layer:
    """Read one file, and what is known of its variations.

    Raises InputError if its base is not known.
    """
    require_kind(document, ScenarioFile)
    data = {k: v for k, v in document.data.items() if k in Variations.model_fields}
    written = attempts.known(lambda: validate(replace(document, data=data), Variations))
    known = {} if written is None else written.__dict__
    if "extends" in data and "extends" not in known:
        raise InputError(*attempts.findings)
    return _Layer(document, Variations.model_construct(**known))


def base_path(
    document: YamlDocument, name: str, *, key: str = "extends", may_rise: bool = True
) -> FilePath:
    """Return where a base lies that a file names under a key.

    A base lies in the folder of the file that names it or below, and for the file that was named
    by the user also in the folder above, but in no other folder there. Raises InputError for any
    other place.
    """
    assert document.path is not None
    folder = document.path.parent
    above = name.removeprefix("../")
    rises = above != name
    if rises and may_rise and "/" not in above and "\\" not in above:
        folder, name = folder / os.pardir, above
    fault = fault_of_path(folder, name, "the scenario", "scenario file")
    if fault is None:
        return type(folder)(os.path.normpath(folder / name))
    message, hint = fault
    if "leads out of" in message and hint is not None:
        hint = "a base lies in the same folder, below it, or directly in the folder above"
        if rises and not may_rise:
            hint = "only the file that you name may extend one in the folder above it"
    raise InputError(document.finding((key,), message, hint))


def _twice_named(layers: Layers) -> Iterator[Finding]:
    """Find an override or scenario with the name of another, or a name that looks like it."""
    met: dict[str, tuple[str, str]] = {}
    for layer in layers.files:
        for section in ("overrides", "scenarios"):
            for name in getattr(layer.variations, section):
                place = layer.document.key_place((section, name))
                here = f"{layer.document.shown_as}:{place.line}"
                first, earlier = met.setdefault(folded(name), (name, here))
                message = f"{name!r} is also the name of what stands at {earlier}"
                if name != first:
                    what = difference(name, first)
                    message = f"{name!r} differs from {first!r} in {what} ({earlier})"
                if earlier != here:
                    yield layer.document.finding(
                        (section, name), message, "choose another name", at_key=True
                    )


def _unknown_names(layers: Layers) -> Iterator[Finding]:
    """Find lists that name an override which neither their own file nor a base of it has."""
    overrides: list[str] = []
    scenarios: list[str] = []
    for layer in layers.files:
        overrides += layer.variations.overrides
        scenarios += layer.variations.scenarios
        lists: list[tuple[Path, Sequence[str], Sequence[str]]] = [
            (("scenarios", name), names, overrides)
            for name, names in layer.variations.scenarios.items()
        ]
        lists.append((("apply",), layer.variations.apply, [*overrides, *scenarios]))
        for path, names, known in lists:
            for position, name in enumerate(names):
                if name not in known:
                    yield layer.document.finding(
                        (*path, position), *_no_override(name, known, scenarios)
                    )


def _no_override(
    name: str, known: Sequence[str], scenarios: Sequence[str]
) -> tuple[str, str | None]:
    if name in scenarios:
        return f"{name!r} is a scenario", "list its overrides here"
    all_of_them = f"known: {', '.join(known)}" if known else "state it under `overrides:`"
    return f"there is no override {name!r}", did_you_mean(name, known) or all_of_them


def _extended(base: YamlDocument, own: YamlDocument, findings: list[Finding]) -> YamlDocument:
    """Return the base with what a file adds; what both of them state is added to `findings`."""
    data, branch = base.data, dict(base.branch)
    for key in _TITLES:
        if key in own.data:
            data, branch = grafted(data, branch, (key,), own.data[key], own.entry((key,)))
    rest = {key: value for key, value in own.data.items() if key not in _TITLES}
    for path, value in _additions(base.data, rest, ()):
        if base.states(path):
            if isinstance(base.value(path), Refused):
                continue
            place = base.key_place(path)
            where = f"{base.origin(path).shown_as}:{place.line}"
            message = f"{dotted(path)} is stated in {where} as well"
            hint = "change it in an override, and name that under `apply:`"
            findings.append(own.finding(path, message, hint, at_key=True))
        else:
            entry: Entry = own.entry(path)
            data, branch = grafted(data, branch, path, value, entry)
    return replace(own, data=data, branch=branch)


def _additions(base: Any, own: dict[str, Any], outer: Path) -> Iterator[tuple[Path, Any]]:  # noqa: ANN401
    """Yield what a file adds that is not a mapping of the base as well, at its outermost path."""
    for key, value in own.items():
        path = (*outer, key)
        there = base.get(key)
        if isinstance(value, dict) and isinstance(there, dict):
            yield from _additions(there, value, path)
        else:
            yield path, value


def resolved(composed: Composed) -> str:
    """Return the whole scenario as YAML, each value with the place or change it is from."""
    document, lines = composed.document, []
    by_path = {one.path: one.by for one in composed.applied}
    for path, value in _values((), document.data):
        key = f"{'  ' * (len(path) - 1)}{flow_key(str(path[-1]))}"
        if isinstance(value, dict) and value:
            lines.append(f"{key}:\n")
        else:
            lines.append(f"{key}: {flow(value)}  # {_origin(document, path, by_path)}\n")
    return "".join(lines)


def _values(outer: Path, data: dict[str, object]) -> Iterator[tuple[Path, object]]:
    for key, value in data.items():
        path = (*outer, key)
        yield path, value
        if isinstance(value, dict):
            yield from _values(path, value)


def _origin(document: YamlDocument, path: Path, by_path: dict[str, str]) -> str:
    around = (dotted(path[:length]) for length in range(len(path), 0, -1))
    by = next((by_path[one] for one in around if one in by_path), None)
    origin = document.origin(path)
    if origin.path is None:
        return f"{by} {origin.text}" if by else origin.shown_as
    place = f"{origin.shown_as}:{document.value_place(path).line}"
    return f"{place} ({by})" if by else place


_IN_ORDER = frozenset(
    {"apply", "catalog", "overrides", "price_breaks", "rules", "running", "scenarios"}
)
"""Keys for which the order of a list matters; all other lists are sets."""


def stated(data: dict[str, Any]) -> str:
    """Return what a scenario says as YAML: sections in the order of the format, all else sorted.

    Scenarios that say the same have the same text, however keys and sets were ordered and
    whatever was commented.
    """
    sections = [name for name in ScenarioFile.model_fields if name in data]
    ordered = ((name, _in_order(data[name], is_set=name not in _IN_ORDER)) for name in sections)
    lines = (line for name, value in ordered for line in yaml_lines(name, value))
    return "".join(f"{line}\n" for line in lines)


def _in_order(value: object, *, is_set: bool) -> object:
    if isinstance(value, dict):
        return {
            key: _in_order(value[key], is_set=is_set and key not in _IN_ORDER)
            for key in sorted(value)
        }
    if isinstance(value, tuple):
        items = tuple(_in_order(item, is_set=is_set) for item in value)
        return tuple(sorted(items, key=flow)) if is_set else items
    return value
