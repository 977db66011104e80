"""Writes a first scenario from answers and from what other programs know, as a commented file.

The template is a scenario that plans. Answers replace its lines; a line that stays is an
assumption, and says so.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal, InvalidOperation
from functools import partial
from itertools import chain, count
from typing import Any, TypeAlias, TypeVar

from planner.errors import Finding, InputError, refuse
from planner.exchange.cluster import KnownServers
from planner.inputs.catalog.catalog import Catalog
from planner.inputs.checks.faults import unknown_reference
from planner.inputs.reading.diagnostics import Attempts
from planner.inputs.reading.hints import figure_hint
from planner.inputs.reading.locate import shipped
from planner.inputs.scenario.load import TRAFFIC
from planner.inputs.scenario.offer import OfferKind
from planner.inputs.scenario.quarter import Quarter
from planner.inputs.text import as_yaml, flow, flow_key, one_of

R = TypeVar("R")

_TEMPLATE = "template.yaml"
_BETWEEN = re.compile(r"[;\n]|,(?![0-9]{3}(?![0-9]))")
"""Separates answers, but not the digits of `1,200 users`."""
_TRAFFIC = re.compile(
    r"(.+?)[:\s]+([0-9][0-9.,]*(?:e[0-9]+|[kmb](?=\s))?)\s*([^\s0-9][^0-9]*)", re.I
)
_BARE = re.compile(r"(.+?)[:\s]+[0-9][0-9.,]*")
_METHOD = re.compile(r"(.+?)[:\s]+(\S+)")
_OWNED = re.compile(r"(?:([0-9]{1,9})\s*[x×]?\s+)?(.+)")
_OFFERED = re.compile(r"(\S+)\s+(.+?)(?:\s+at\s+\$?\s*(\S+))?", re.I)
_SPAN = re.compile(r"(\S+?)(?:\s*(?:\.\.|[–-](?=\s*20)|\bto\b)\s*(\S+))?", re.IGNORECASE)
_UNITS = {
    "users": "users",
    "requests/s": "requests_per_second",
    "tokens/day": "tokens_per_day",
    "user": "users",
    "req/s": "requests_per_second",
    "rps": "requests_per_second",
}
"""What people write, and the keys of a load."""
_UNITS_SHOWN = tuple(_UNITS)[:3]
_KINDS: dict[str, OfferKind] = {"buy": "buy", "rent": "rent", "hourly": "hourly"}
_METHODS = ("lora", "qlora", "full", "p-tuning")
_NOTHING = {"none", "nothing", "no", "-"}
_MOST_QUARTERS = 40
_MOST = 10**15
_QUARTER = re.compile(r"(?<![0-9])(20[0-9]{2})(?:Q([1-4])|-(0[1-9]|1[0-2])-[0-9]{2})")
"""A quarter, or a date in it."""
_WHEN = (
    *("quarters", "count", "run.release", "run.deadline"),
    *(f"serve.load.{key}" for key in TRAFFIC),
)
"""The keys of a job that name quarters or dates."""
_LINE = re.compile(r"( *)([^\s#][^#]*?):(?: ([^#]*?))? *(# (assumed)?(?:: )?(.*))?")
_REMARKS_AT = 36
_PLAIN = re.compile(r"[^A-Za-z0-9_-]+")


Ask: TypeAlias = "Callable[[str, InputError | None], str | None]"
"""Called with the name of a question, and again, with the mistakes, for an unusable answer."""


@dataclass(frozen=True, slots=True)
class Found:
    """What other programs know."""

    jobs: Mapping[str, Mapping[str, Any]]
    servers: tuple[KnownServers, ...] = ()
    unknown: tuple[str, ...] = ()
    """A sentence for each kind of server that the catalog does not know."""


@dataclass(frozen=True, slots=True)
class _Entry:
    """A job, an offer or a server: its name, and its lines without it."""

    name: str
    lines: tuple[str, ...]
    value: str = ""
    """What stands beside the name."""

    def but(self, remark: str = "", **said: str | None) -> _Entry:
        """Return the entry with other lines for some keys, `users="users: 900"`.

        None for no line.
        """
        return replace(self, lines=tuple(_put(self.lines, said, remark)))

    def figure(self, key: str) -> int:
        """Return what stands at a key."""
        found = filter(None, map(_LINE.fullmatch, self.lines))
        return int(next(one[3] for one in found if one[2] == key))


def first_scenario(
    answers: Mapping[str, str | Sequence[str] | None],
    found: Found,
    catalog: Catalog,
    as_of: date,
    ask: Ask | None,
) -> str:
    """The text of the scenario; what is open is asked. Raises InputError with every mistake.

    `answers` are as people write them, by question: serve, tune, own, offer and quarters.
    """
    template = _Template((shipped("scenarios") / _TEMPLATE).read_text(encoding="utf-8"))
    reads: dict[str, Callable[[Any], Any]] = {
        "serve": partial(_entries, "serve", partial(_served, template, catalog)),
        "tune": partial(_entries, "tune", partial(_tuned, template, catalog)),
        "own": partial(_entries, "own", partial(_owned, catalog)),
        "offer": partial(_entries, "offer", partial(_offered, template, catalog)),
        "quarters": partial(_placed, "quarters", partial(_horizon, template, found.jobs, as_of)),
    }
    attempts = Attempts()
    given = {name: one for name, one in answers.items() if one is not None}
    said = {name: attempts.take(partial(reads[name], one)) for name, one in given.items()}
    refuse(attempts.findings)
    if ask is not None:
        known = {*("serve", "tune") * bool(found.jobs), *("own",) * bool(found.servers)}
        open_ = [name for name in reads if name not in said and name not in known]
        said |= {name: _asked(name, reads[name], ask) for name in open_}
    served, tuned, owned = (said.get(name) or [] for name in ("serve", "tune", "own"))
    stated = [
        _Entry(name, tuple(f"  {line}" for line in as_yaml({name: dict(job)}).splitlines()[1:]))
        for name, job in found.jobs.items()
    ]
    fleet = [_owning(one.node_type, one.count, one.doubt) for one in found.servers] + owned
    offers = said.get("offer")
    if not fleet and offers == []:
        message = "nothing is owned and nothing may be had, so nothing can run anywhere"
        raise InputError(Finding(message, path="offer", hint="name what you may buy or rent"))
    jobs = [*stated, *served, *tuned]
    nothing_said = said.get("serve") is None and said.get("tune") is None and not jobs
    left_out = "Left out; docs/catalog.md says how to add a node type of your own:"
    remarks = (left_out, *(f"  {sentence}" for sentence in found.unknown)) if found.unknown else ()
    sections = (
        template.head,
        ["format: 1", "name: A first scenario"],
        said.get("quarters") or reads["quarters"](""),
        [*template.section("fleet", fleet), *(f"  # {remark}" for remark in remarks)],
        template.section("offers", offers),
        template.section("policies"),
        template.section("jobs", None if nothing_said else jobs),
    )
    return "\n".join("".join(f"{line}\n" for line in lines) for lines in sections)


def _asked(name: str, read: Callable[[str], R], ask: Ask) -> R | None:
    mistakes = None
    while (answer := ask(name, mistakes)) is not None:
        try:
            return read(answer)
        except InputError as error:
            mistakes = error
    return None


def assumed(text: str) -> Iterator[dict[str, str]]:
    """The lines of a scenario that are marked so: dotted path, value, and what it means."""
    above: list[tuple[int, str]] = []
    for line in text.splitlines():
        found = _LINE.fullmatch(line)
        if found is None:
            continue
        above = [one for one in above if one[0] < len(found[1])] + [(len(found[1]), found[2])]
        if found[5]:
            path = ".".join(key for _, key in above)
            yield {"key": path, "value": found[3] or "", "why": found[6]}


class _Template:
    """The template by section, each with the remarks above it and the lines below."""

    def __init__(self, text: str) -> None:
        head, _, body = text.partition("\n\n")
        _, _, *self.head = head.splitlines()
        self._tops: dict[str, list[str]] = {}
        self._lines: dict[str, list[str]] = {}
        above: list[str] = []
        section = ""
        for line in filter(None, body.splitlines()):
            if line.startswith("#"):
                above.append(line)
            elif line.startswith(" "):
                self._lines[section].append(line)
            else:
                section = line.partition(":")[0]
                self._tops[section], self._lines[section] = above, []
                above = []

    def entries(self, name: str) -> list[_Entry]:
        """Return the entries of a section of the template."""
        found: list[_Entry] = []
        for line in self._lines[name]:
            if line.startswith("   "):
                found[-1] = replace(found[-1], lines=(*found[-1].lines, line))
            else:
                key, _, value = line.strip().partition(":")
                found.append(_Entry(key, (), value))
        return found

    def section(self, name: str, entries: Sequence[_Entry] | None = None) -> list[str]:
        """Return a section with these entries, or with its own, each under a free name."""
        shown = self.entries(name) if entries is None else entries
        lines = [*self._tops[name], f"{name}:{'' if shown else ' {}'}"]
        taken: set[str] = set()
        for place, entry in enumerate(shown):
            numbered = chain([entry.name], (f"{entry.name}-{number}" for number in count(2)))
            free = next(one for one in numbered if one not in taken)
            taken.add(free)
            lines += [""] * bool(place and entry.lines)
            lines += (f"  {flow_key(free)}:{entry.value}", *entry.lines)
        return lines


def _put(lines: Iterable[str], said: Mapping[str, str | None], remark: str = "") -> Iterator[str]:
    for line in lines:
        found = _LINE.fullmatch(line)
        if found is None or found[2] not in said:
            yield line
        elif (text := said[found[2]]) is not None:
            written = f"{found[1]}{text}"
            yield f"{written:{_REMARKS_AT}}# {remark}" if remark else written


def _entries(
    question: str, read: Callable[[str], _Entry], given: str | Sequence[str]
) -> list[_Entry]:
    """Return the parts of an answer; nothing for `none`.

    Raises InputError with all mistakes.
    """
    attempts = Attempts()
    several = (given,) if isinstance(given, str) else given
    items = [item.strip() for text in several for item in _BETWEEN.split(text)]
    said = [item for item in items if item and item.casefold() not in _NOTHING]
    found = [attempts.take(partial(_placed, question, read, item)) for item in said]
    refuse(attempts.findings)
    return [entry for entry in found if entry is not None]


def _placed(question: str, read: Callable[[str], R], item: str) -> R:
    """Return what an answer says; raises InputError at its question."""
    try:
        return read(item)
    except ValueError as error:
        message, *hint = error.args
        found = Finding(message, path=question, hint=hint[0] if hint else None)
        raise InputError(found) from None


def _model(name: str | None, catalog: Catalog) -> str:
    """Find a model by its id, or by the name under which it is published."""
    written = "-".join((name or "").split())
    if (found := catalog.model_called(written)) is None:
        raise ValueError(*unknown_reference("model", written, catalog.models, catalog))
    return found


def _node_type(name: str | None, catalog: Catalog) -> str:
    """Return the id that a name stands for, its words separated by spaces or dashes."""
    written = "-".join((name or "").split())
    for known in catalog.nodes:
        if known.casefold() == written.casefold():
            return known
    raise ValueError(*unknown_reference("node type", written, catalog.nodes, catalog))


def _served(template: _Template, catalog: Catalog, item: str) -> _Entry:
    """Parse `llama-3.1-8b 900 users`."""
    entry = template.entries("jobs")[0]
    said = _TRAFFIC.fullmatch(item)
    bare = _BARE.fullmatch(item)
    if bare and catalog.model_called(bare[1]):
        raise ValueError(f"{item!r} has a figure without a unit", f"write {one_of(_UNITS_SHOWN)}")
    # `Llama 3.1 8B` is all of it a name
    if said is None or catalog.model_called(item):
        model = _model(item, catalog)
    else:
        model, unit = _model(said[1], catalog), said[3].strip()
        key = _UNITS.get(unit.casefold())
        if key is None:
            raise ValueError(f"{unit!r} is no unit of traffic", f"write {one_of(_UNITS_SHOWN)}")
        entry = entry.but(users=f"{key}: {_number(said[2])}")
        if key != "users":
            entry = entry.but(requests_per_user_hour=None)
    entry = entry.but(model=f"model: {model}")
    if catalog.models[model].encoder:
        entry = entry.but("it writes no text", output_tokens="output_tokens: 0")
    fits = catalog.models[model].longest_context - entry.figure("output_tokens")
    if fits < entry.figure("input_tokens"):
        entry = entry.but("assumed: all that the model takes", input_tokens=f"input_tokens: {fits}")
    return replace(entry, name=f"{_PLAIN.sub('-', model)}-serving")


def _number(figure: str) -> str:
    try:
        found = Decimal(figure.replace(",", ""))
    except InvalidOperation:
        raise ValueError(f"{figure!r} is no number", figure_hint(figure, "", whole=False)) from None
    if not 0 < found < _MOST:
        raise ValueError(f"{figure} is not above 0 and below {_MOST:,}")
    return f"{found:f}"


def _tuned(template: _Template, catalog: Catalog, item: str) -> _Entry:
    """Parse `llama-3.1-8b lora`."""
    entry = template.entries("jobs")[1]
    said = _METHOD.fullmatch(item)
    method = said[2].casefold() if said else ""
    if said is None or catalog.model_called(item):
        model, method = _model(item, catalog), "tuned"
    else:
        model = _model(said[1], catalog)
        if method not in _METHODS:
            raise ValueError(f"{method!r} is no method", f"write {one_of(_METHODS)}")
        entry = entry.but(method=f"method: {method}")
    entry = entry.but(model=f"model: {model}")
    longest = catalog.models[model].max_context
    if longest < entry.figure("sequence"):
        entry = entry.but("assumed: all that the model takes", sequence=f"sequence: {longest}")
    return replace(entry, name=f"{_PLAIN.sub('-', model)}-{method}")


def _owned(catalog: Catalog, item: str) -> _Entry:
    """Parse `2 xe9680-h100`."""
    number, name = _parts(_OWNED, item, "2 xe9680-h100")
    node_type, nodes = _node_type(name, catalog), int(number or 1)
    if not nodes:
        raise ValueError(f"none of {node_type}", "leave it out")
    return _owning(node_type, nodes)


def _owning(node_type: str, nodes: int, doubt: str = "") -> _Entry:
    remark = f"  # assumed: {doubt}" if doubt else ""
    return _Entry(node_type, (), f" {{node_type: {node_type}, count: {nodes}}}{remark}")


def _parts(pattern: re.Pattern[str], item: str, example: str) -> tuple[str | None, ...]:
    found = pattern.fullmatch(item)
    if found is None:
        raise ValueError(f"{item!r} cannot be read", f"write it as `{example}`")
    return found.groups()


def _offered(template: _Template, catalog: Catalog, item: str) -> _Entry:
    """Parse `buy xe9680-h200`, or `buy xe9680-h200 at 310000`."""
    said, name, price = _parts(_OFFERED, item, "buy xe9680-h200 at 310000")
    kind = _KINDS.get((said or "").casefold())
    if kind is None:
        hint = f"write {one_of(tuple(_KINDS))}; other kinds go into the file"
        raise ValueError(f"{said!r} is no kind of offer", hint)
    node_type = _node_type(name, catalog)
    key, example, what = "price_usd_per_gpu_hour", "3.5", "of a GPU and hour"
    if kind == "buy":
        key, example, what = "price_usd", "400000", "of a node"
    priced = "" if price is None else f"\n    {key}: {_number(price)}"
    if price is None and catalog.prices.listed(kind, node_type) is None:
        message = f"the price book has no price of {node_type} ({kind})"
        hint = f"write the price {what} behind it, as `{item} at {example}`"
        raise ValueError(message, hint)
    like = f"    kind: {'buy' if kind == 'buy' else 'rent'}"
    entry = next(one for one in template.entries("offers") if like in one.lines)
    entry = entry.but(node_type=f"node_type: {node_type}", kind=f"kind: {kind}{priced}")
    return replace(entry, name=f"{kind}-{node_type}", value="")


def _stated(job: Mapping[str, Any], path: str) -> object:
    """Return what a job states at a dotted path, None if nothing."""
    found: object = job
    for key in path.split("."):
        found = found.get(key) if isinstance(found, Mapping) else None
    return found


def _horizon(
    template: _Template, jobs: Mapping[str, Mapping[str, Any]], as_of: date, item: str
) -> list[str]:
    """Return `2027Q1..2027Q4`; without an answer, the quarters that the jobs name."""
    if item:
        begins, ends = _parts(_SPAN, item.strip(), "2027Q1..2027Q4")
        named = [Quarter.parse(text) for text in (begins, ends) if text is not None]
    else:
        told = flow([_stated(job, path) for job in jobs.values() for path in _WHEN])
        named = sorted(
            Quarter(int(year), int(number or (int(month) + 2) // 3))
            for year, number, month in _QUARTER.findall(told)
        )
    lines = template.section("horizon")
    day = "the day of the plan: nothing is ordered before it"
    lines = list(_put(lines, {"as_of": f"as_of: {as_of}"}, day))
    if not named:
        first = f"first_quarter: {Quarter.of(as_of) + 1}"
        return list(_put(lines, {"first_quarter": first}, "assumed: the next one"))
    quarters = named[-1] - named[0] + 1
    if not 1 <= quarters <= _MOST_QUARTERS:
        told = f"{named[0]} to {named[-1]} are not 1 to {_MOST_QUARTERS} quarters"
        raise ValueError(told, "write the first and the last, as 2027Q1..2027Q4")
    said = {"first_quarter": f"first_quarter: {named[0]}", "quarters": f"quarters: {quarters}"}
    return list(_put(lines, said))
