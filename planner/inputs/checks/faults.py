"""Unknown names, and the faults that several checks of a whole scenario can find."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from difflib import get_close_matches
from functools import cache
from typing import NamedTuple

from planner.errors import Finding
from planner.inputs.base import NotKnown
from planner.inputs.catalog.catalog import Catalog
from planner.inputs.reading.document import Path, YamlDocument
from planner.inputs.reading.hints import is_nothing
from planner.inputs.rules.book import RuleBook
from planner.inputs.scenario.horizon import Horizon
from planner.inputs.scenario.offer import FleetEntry, Offer
from planner.inputs.scenario.quarter import Quarter
from planner.inputs.scenario.scenario import ResolvedScenario
from planner.inputs.scenario.site import SITE_LIMITS
from planner.inputs.text import did_you_mean, difference, folded, foreign_letter, pieces, some_of

_WRITTEN = {
    limit.figure: f"…` ({limit.of_node} of one node, {limit.stated_in})" for limit in SITE_LIMITS
} | {
    "mean_power_kw": "…` (mean draw of one node under load, kW)",
    "cooling": "air` or `cooling: liquid`",
}
"""What follows the key of a figure that an entry may state itself."""


class Fault(NamedTuple):
    """A mistake of a scenario: where it is, what it is, and what would mend it."""

    path: Path
    message: str
    hint: str | None = None
    at_key: bool = False
    """Whether to point at the key rather than at its value."""

    def below(self, *outer: str | int) -> Fault:
        """Return the same fault at a path within another."""
        return self._replace(path=(*outer, *self.path))

    def finding(self, document: YamlDocument) -> Finding:
        """Return the finding at its place in a document."""
        return document.finding(self.path, self.message, self.hint, at_key=self.at_key)


class Whole(NamedTuple):
    """What a check sees besides the entry that it examines."""

    scenario: ResolvedScenario
    catalog: Catalog


def known(*parts: Iterable[Fault]) -> Iterator[Fault]:
    """Yield the faults of each part, up to where it needs a value that is wrong itself."""
    for part in parts:
        with suppress(NotKnown):
            yield from part


def entries(scenario: ResolvedScenario) -> Iterator[tuple[Path, FleetEntry | Offer]]:
    """Yield each fleet entry and each offer, with its path."""
    for name, owned in scenario.fleet.items():
        yield ("fleet", name), owned
    for name, offer in scenario.offers.items():
        yield ("offers", name), offer


def unstated_figure(path: Path, node_type: str, key: str, what: str) -> Fault:
    """Return the fault of a node type that lacks a needed figure; `path` is its entry's."""
    return Fault(
        (*path, "node_type"),
        f"{node_type!r} has no {key} in the catalog, it is needed for {what}",
        f"state it here, beside `node_type`: `{key}: {_WRITTEN[key]}",
    )


def late_figures(path: Path, stated: Iterable[str], horizon: Horizon) -> Iterator[Fault]:
    """Find figures by quarter that apply to no quarter of the horizon."""
    end = horizon.first_quarter + horizon.quarters
    for key in stated:
        if Quarter.parse(key) >= end:
            message = f"{key} lies after the horizon, which ends with {horizon.labels[-1]}"
            yield Fault((*path, key), message, "leave it out", at_key=True)


def held_figures(path: Path, stated: Mapping[str, object], horizon: Horizon) -> Iterator[Fault]:
    """Find late figures among those that hold until the next, and a missing first one."""
    yield from late_figures(path, stated, horizon)
    first = horizon.first_quarter
    if all(Quarter.parse(key) > first for key in stated):
        message = f"says nothing of {first}: a figure holds from its quarter on"
        yield Fault(path, message, f"state one for {first}")


_NAMED = ("sites", "fleet", "offers", "apis", "teams", "jobs")
"""Sections whose entries are named by the user."""
_SITES = ("fleet.*.site", "offers.*.site", "offers.*.site.*")
_TEAMS = ("jobs.*.team",)
_LABELS = ("sites.*.labels.*",)


def alike_names(scenario: YamlDocument) -> Iterator[Finding]:
    """Find each name that looks like another of its kind, and give the other's place.

    It works on the file's plain data, so that no other mistake hides these.
    """
    for section in _NAMED:
        names = (((section, name), name) for name in scenario.section(section))
        yield from _alike(scenario, names)
    if not scenario.data.get("sites"):
        yield from _alike(scenario, _stated(scenario, _SITES))
    if not scenario.data.get("teams"):
        yield from _alike(scenario, _stated(scenario, _TEAMS))
    yield from _alike(scenario, _stated(scenario, _LABELS))


def _alike(scenario: YamlDocument, names: Iterable[tuple[Path, str]]) -> Iterator[Finding]:
    met: dict[str, tuple[Path, str]] = {}
    told: set[str] = set()
    for path, name in names:
        where, first = met.setdefault(folded(name), (path, name))
        if name != first and name not in told:
            told.add(name)
            is_key, place = path[-1] == name, scenario.value_place(where)
            yield scenario.finding(
                path,
                f"{name!r} differs from {first!r} in {difference(name, first)} "
                f"({scenario.origin(where).shown_as}:{place.line})",
                f"{'' if is_key else 'write both alike, or '}give one of them another name",
                at_key=is_key,
            )


def _stated(scenario: YamlDocument, places: Iterable[str]) -> Iterator[tuple[Path, str]]:
    """Return every name that stands at some places."""
    for place in places:
        yield from _matches(scenario.data, tuple(place.split(".")), ())


_EACH = "*"
_KEYS = "keys"


_REFERENCES = {
    "fleet.*.node_type": "node type",
    "offers.*.node_type": "node type",
    "policies.spare_nodes.keys": "node type",
    "sites.*.spare_nodes.*.node_types.*": "node type",
    "finance.licence_usd_per_gpu_year.keys": "GPU type",
    "policies.growth_reserve.keys": "GPU type",
    "policies.allowed_gpu_types.*": "GPU type",
    "policies.excluded_gpu_types.*": "GPU type",
    "policies.waived_rules.keys": "rule",
    "jobs.*.gpu_types.*": "GPU type",
    "apis.*.model": "model",
    "jobs.*.tune.model": "model",
    "jobs.*.serve.model": "model",
    "jobs.*.serve.speculative.draft_model": "model",
    "jobs.*.tune.gpu_partition": "MIG profile",
}
"""Where names of each kind stand in a scenario; `*` is every entry, `keys` the keys."""


def unknown_references(
    data: object, catalog: Catalog | None, rules: RuleBook | None
) -> Iterator[Fault]:
    """Find every name in a scenario's plain data that stands for nothing.

    Other mistakes hide none of these; if the catalog or the rules are not known, their names are
    passed over.
    """
    fault_of = cache(lambda sort, name: fault_of_name(sort, name, catalog, rules))
    for place, sort in _REFERENCES.items():
        pattern = tuple(place.split("."))
        for path, name in _matches(data, pattern, ()):
            with suppress(NotKnown):
                if fault := fault_of(sort, name):
                    yield Fault(path, *fault, at_key=pattern[-1] == _KEYS)


def fault_of_name(
    sort: str, name: str, catalog: Catalog | None, rules: RuleBook | None = None
) -> tuple[str, str | None] | None:
    """Say what is wrong with a name, and what may have been meant; None if it is known."""
    if sort == "rule":
        return None if rules is None else _of_rule(name, rules)
    if catalog is None:
        return None
    names: Collection[str] = catalog.models
    if sort == "MIG profile":
        names = {name for gpu in catalog.gpus.values() for name in gpu.mig_profiles}
    elif sort in ("node type", "GPU type"):
        names = catalog.nodes if sort == "node type" else catalog.gpus
    return None if name in names else unknown_reference(sort, name, names, catalog)


def _of_rule(name: str, rules: RuleBook) -> tuple[str, str | None] | None:
    if name not in rules.rules:
        return unknown_reference("rule", name, rules.rules, None)
    exclusions = {rule.id for rule in rules.exclusions}
    if name in exclusions:
        return None
    message = f"rule {name!r} excludes nothing, only exclusions can be waived"
    return message, did_you_mean(name, sorted(exclusions), 3)


def _matches(value: object, pattern: tuple[str, ...], path: Path) -> Iterator[tuple[Path, str]]:
    """Yield every text at a pattern.

    Values of another shape are reported when the model is built.
    """
    if not pattern:
        if isinstance(value, str):
            yield path, value
        return
    step, rest = pattern[0], pattern[1:]
    if isinstance(value, str) and step == _EACH and not rest:
        yield from ((path, name) for name in [value] if not ("," in name or is_nothing(name)))
    elif isinstance(value, tuple) and step == _EACH:
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
    sort: str, name: str, known: Collection[str], catalog: Catalog | None
) -> tuple[str, str | None]:
    """Say what is wrong with an unknown name, and what may have been meant."""
    if catalog is not None and (other := _of_other_sort(sort, name, catalog)):
        return other
    names = sorted(known)
    several = [] if sort == "model" else get_close_matches(name.casefold(), names, 1, _A_SLIP)
    if not several and catalog is not None and sort in _CALLED:
        with suppress(NotKnown):
            several = _CALLED[sort](name, catalog)
    if len(several) > 1:
        return f"{sort} {name!r} is ambiguous", f"write one of {', '.join(several)}"
    message = f"unknown {sort} {name!r}"
    if letter := foreign_letter(name):
        message += f", it contains the non-Latin letter {letter}"
    if several:
        return message, f"did you mean {several[0]!r}?"
    if sort == "model" and (size := _SIZE.fullmatch(name)):
        return message, f"a size is `parameters_b: {size[1]}`, beside its `family`"
    return message, did_you_mean(name, names, 3) or _listing(sort, names)


def _of_other_sort(sort: str, name: str, catalog: Catalog) -> tuple[str, str | None] | None:
    """Say what a node type or a GPU type is in the other's place; None if it is neither."""
    with suppress(NotKnown):
        if sort == "node type" and name in catalog.gpus:
            meant = sorted(key for key, node in catalog.nodes.items() if node.gpu_type == name)
            message = f"{name!r} is a GPU type, not a node type"
            return message, f"write one of {', '.join(meant)}" if meant else None
        if sort == "GPU type" and name in catalog.nodes:
            of_node = catalog.nodes[name].gpu_type
            return f"{name!r} is a node type, not a GPU type", f"did you mean {of_node!r}?"
    return None


_SIZE = re.compile(r"([0-9.]+) ?[bB]?")
_A_SLIP = 0.9
"""The similarity from which a name counts as a misspelling of another."""
_HOW_MANY = re.compile(r"^[0-9]+x(?=[a-z])")
_SAME_PIECES = re.compile(r"(?P<form>sxm|pcie|nvl)[0-9]*|(?P<size>[0-9]+)g(?:i?b)?")


def _pieces(name: str) -> set[str]:
    """Split a product's name into words as ids have them.

    `SXM5` and `80G` are `sxm` and `80gb`, and `8xH100` is `h100`.
    """
    found = set()
    for whole in pieces(name.replace("_", " ")):
        piece = _HOW_MANY.sub("", whole)
        same = _SAME_PIECES.fullmatch(piece)
        found.add(same["form"] or f"{same['size']}gb" if same else piece)
    return found


_WIDTH = re.compile(
    r"[-_.](?:fp8|int[48]|awq|gptq|gguf|bnb|[48]bit|nvfp4|mxfp4|w[0-9]+a[0-9]+)\b.*", re.I
)
"""The end of a checkpoint's name that tells its width, which is stated separately."""


def _models_called(name: str, catalog: Catalog) -> list[str]:
    """Return the model of a name elsewhere: `Llama-3.1-70B-Instruct-AWQ`, `llama3.1:70b`."""
    plain = _WIDTH.sub("", name.replace(":", "-"))
    if id_ := catalog.model_called(plain):
        return [id_]
    asked, *ids = ("".join(filter(str.isalnum, one.casefold())) for one in (plain, *catalog.models))
    return [id_ for id_, signs in zip(catalog.models, ids, strict=True) if signs == asked]


def _gpus_called(name: str, catalog: Catalog) -> list[str]:
    """Return the GPU types that a product's name stands for.

    Such as `H100`, `A100 SXM4 80GB` or `MI300`.
    """
    asked = _pieces(name)
    of_family = [key for key, gpu in catalog.gpus.items() if pieces(gpu.family) <= asked]
    begun = [
        key
        for key, gpu in catalog.gpus.items()
        if any(re.match(rf"{one}[^0-9]", gpu.family) for one in asked if len(one) > 2)
    ]
    found = of_family or begun
    for also in ({"sxm", "pcie", "nvl"}, {one for one in asked if _SAME_PIECES.fullmatch(one)}):
        if stated := asked & also:
            found = [key for key in found if stated <= pieces(key)] or found
    return sorted(found)


def _nodes_called(name: str, catalog: Catalog) -> list[str]:
    """Return the node types whose ids, products or GPUs contain all known words of a name."""
    words = {
        key: _pieces(f"{key} {node.product} {node.gpu_type}") for key, node in catalog.nodes.items()
    }
    asked = _pieces(name) & set().union(*words.values())
    return sorted(key for key, stated in words.items() if asked <= stated) if asked else []


_CALLED = {"model": _models_called, "GPU type": _gpus_called, "node type": _nodes_called}
"""By sort, what finds the ids that the name of a product or model stands for."""
_LISTED_BY = {
    "rule": "rules list",
    "node type": "catalog list nodes",
    "GPU type": "catalog list gpus",
    "MIG profile": "catalog list gpus",
    "model": "catalog list models",
}


def _listing(sort: str, names: list[str]) -> str | None:
    """List the names if they are few, else name the command that lists them."""
    if len(names) <= 8:
        return f"known: {', '.join(names)}" if names else None
    if sort not in _LISTED_BY:
        return f"known: {some_of(names, 8)}"
    return f"`planner {_LISTED_BY[sort]}` lists them, a file of your own may add one"
