"""What-if levers of a scenario: fields of a form, and the settings that they give."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any

import yaml

from planner import Finding, InputError, Scenario

_TRAFFIC = ("requests_per_second", "tokens_per_day", "users")
_RENT, _LEAD = "price_usd_per_gpu_hour", "lead_time_weeks"
_SHARE = re.compile(r"([+-]?[0-9.]+)\s*(%?)")


@dataclass(frozen=True, slots=True)
class Lever:
    """A field of the form that moves figures of a scenario."""

    key: str
    label: str
    unit: str
    """Behind the field: `%`, `weeks`."""
    now: str
    """What stands there, in words."""
    changes: tuple[tuple[str, str], ...]
    """Path and value, in which `{}` is what was entered; `{+}` is the same with its sign."""

    @property
    def moves(self) -> bool:
        """Whether what is entered is added to what stands there, not put in its place."""
        return any("{}" not in value for _, value in self.changes)


def levers_of(scenario: Scenario) -> tuple[Lever, ...]:
    """The levers that move something in a scenario."""
    data = _data(scenario)
    return tuple(lever for lever in _levers(data) if lever.changes)


def offers_of(scenario: Scenario) -> list[tuple[str, str, tuple[Lever, ...]]]:
    """Each offer by itself: its name, what it is, and its levers."""
    offers = _mapping(_data(scenario).get("offers"))
    return [
        (name, f"{offer.get('kind')} {offer.get('node_type')}", tuple(_own(name, offer)))
        for name, offer in offers.items()
    ]


def _data(scenario: Scenario) -> dict[str, Any]:
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    found = yaml.load(scenario.to_yaml(), loader)  # safe, and in C where there is one
    return dict(_mapping(found))


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _levers(data: Mapping[str, Any]) -> Iterator[Lever]:
    named = {name: _mapping(one) for name, one in _mapping(data.get("offers")).items()}
    jobs = {name: _mapping(one) for name, one in _mapping(data.get("jobs")).items()}
    offers = list(named.values())
    buys = [one for one in offers if one.get("kind") == "buy"]
    rents = [one for one in offers if one.get("kind") != "buy"]
    late = [_quoted(name) for name, one in named.items() if one.get(_LEAD)]
    lead = ["*"] if late and len(late) == len(offers) else late
    loads = [load for job in jobs.values() if (load := _load(job))]
    traffic = [key for key in _TRAFFIC if any(key in load for load in loads)]
    apis = _mapping(data.get("apis"))
    tokens = sorted({key for one in apis.values() for key in _mapping(one) if "_tokens" in key})
    budget = _mapping(data.get("budget"))
    told = ", ".join(f"{key} {_short(budget[key])}" for key in budget)
    for key, label, now, paths in (
        ("price", "Prices to buy", _count(buys, "offer"), ["offers.*.price_usd"] * bool(buys)),
        ("rent", "Prices to rent", _count(rents, "offer"), [f"offers.*.{_RENT}"] * bool(rents)),
        ("api", "Prices of APIs", _count(apis, "API"), [f"apis.*.{key}" for key in tokens]),
        ("lead", "Lead times", _count(late, "offer"), [f"offers.{k}.{_LEAD}" for k in lead]),
        ("traffic", "Traffic", _count(loads, "job"), [f"jobs.*.serve.load.{k}" for k in traffic]),
        ("units", "Units of all jobs", _count(jobs, "job"), ["jobs.*.count"] * bool(jobs)),
        ("budget", "Budgets", told, [f"budget.{key}" for key in budget]),
    ):
        unit, value = ("weeks", "{+}") if key == "lead" else ("%", "{+}%")
        yield Lever(key, label, unit, now, tuple((path, value) for path in paths))
    growing = tuple(_growing(jobs))
    yield Lever("growth", "Growth per quarter", "%", _count(growing, "job"), growing)
    stated = _mapping(data.get("policies")).get("headroom", "by rule")
    yield Lever("headroom", "Headroom", "% of memory", str(stated), (("policies.headroom", "{}%"),))
    if "capex_usd" not in budget:
        yield Lever("capex", "Purchases at most", "USD", "no limit", (("budget.capex_usd", "{}"),))


def _load(job: Mapping[str, Any]) -> Mapping[str, Any]:
    return _mapping(_mapping(job.get("serve")).get("load"))


def _growing(jobs: Mapping[str, Mapping[str, Any]]) -> Iterator[tuple[str, str]]:
    """Growth of a job is a share, which is set as a whole: `{*}` multiplies what stands there."""
    for name, job in jobs.items():
        for held, path in ((job, ""), (_load(job), "serve.load.")):
            found = _SHARE.fullmatch(str(held.get("growth_per_quarter", "")))
            if found and Decimal(found[1]):
                share = Decimal(found[1]) * (1 if found[2] else 100)
                yield f"jobs.{_quoted(name)}.{path}growth_per_quarter", f"{{*}}{share}"


def _own(name: str, offer: Mapping[str, Any]) -> Iterator[Lever]:
    stem = f"offers.{_quoted(name)}"
    price = "price_usd" if offer.get("kind") == "buy" else _RENT
    now = _short(offer[price]) if price in offer else "price book"
    yield Lever(f"price:{name}", "Price", "%", now, ((f"{stem}.{price}", "{+}%"),))
    weeks = offer.get(_LEAD, 0)
    lead = ((f"{stem}.{_LEAD}", "{+}"),)
    yield Lever(f"lead:{name}", "Lead time", "weeks", str(weeks), lead)
    most = str(offer.get("maximum", "no limit"))
    yield Lever(f"most:{name}", "At most", "nodes", most, ((f"{stem}.maximum", "{}"),))


def _quoted(name: str) -> str:
    return name if re.fullmatch(r"[\w-]+", name) else "'{}'".format(name.replace("'", "''"))


def _count(things: Iterable[object], name: str) -> str:
    count = len(list(things))
    return f"{count:,} {name}{'s' * (count != 1)}"


def _short(value: object) -> str:
    by_key = value.items() if isinstance(value, Mapping) else ()
    text = ", ".join(f"{key}: {one}" for key, one in by_key) or str(value)
    return text if len(text) <= 40 else f"{text[:39]}…"


def settings_of(levers: Iterable[Lever], form: Mapping[str, str]) -> list[str]:
    """What the fields that are filled set, as `--set` takes it; raises InputError."""
    settings, wrong = [], []
    for lever in levers:
        entered = form.get(lever.key, "").strip().replace("−", "-")
        if not entered:
            continue
        try:
            number = Decimal(entered)
            if not number.is_finite():
                raise InvalidOperation
        except InvalidOperation:
            wrong.append(Finding(f"{entered!r} is not a number", path=lever.label))
            continue
        settings += [f"{path}={_value(value, number)}" for path, value in lever.changes]
    if wrong:
        raise InputError(*wrong)
    return settings


def _value(written: str, number: Decimal) -> str:
    if written.startswith("{*}"):
        moved = (Decimal(written[3:]) * (1 + number / 100)).quantize(Decimal("0.0001"))
        return f"{_plain(moved)}%"
    return written.replace("{+}", f"{'-' if number < 0 else '+'}{_plain(abs(number))}").replace(
        "{}", _plain(number)
    )


def _plain(number: Decimal) -> str:
    return f"{number.normalize():f}"


def words_of(levers: Iterable[Lever], form: Mapping[str, str], others: Iterable[str]) -> str:
    """A name for a variant: `Prices to buy +15 %, lead times +8 weeks`."""
    said = []
    for lever in levers:
        if entered := form.get(lever.key, "").strip():
            of = lever.key.partition(":")[2]
            sign = "+" if lever.moves and entered[0].isdigit() else ""
            label = f"{of} {lever.label}" if of else lever.label
            said.append(f"{label.lower()} {sign}{entered} {lever.unit.partition(' ')[0]}")
    words = ", ".join((*said, *others))[:80]
    return words[:1].upper() + words[1:]
