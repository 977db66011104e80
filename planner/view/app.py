"""The pages of `planner view`: each reads its files anew and calls the public functions."""

from __future__ import annotations

import json
import os
import re
import secrets
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias
from urllib.parse import parse_qs, urlencode

import jinja2
import yaml
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import Route

import planner
from planner import (
    Finding,
    InputError,
    PlannerError,
    PlanResult,
    Result,
    Scenario,
)
from planner.view.study import Study, Task, TaskKind, lines_of

_HERE = Path(__file__).parent / "pages"
_LARGEST_FORM_BYTES = 1_000_000
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,59}")
"""What a variant may be called: its name is also a file and a folder of every system."""
_LOCAL = {"127.0.0.1", "localhost", "[::1]"}
_HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; img-src data:; style-src 'self'; "
    "script-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'none'",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
}
_MOST_LISTED = 2000
"""The most jobs that a field proposes, and named changes and offers that a form shows."""


@dataclass(frozen=True, slots=True)
class FormFields:
    """What a browser asks for: the fields of the address, or of the form that it sends."""

    fields: dict[str, list[str]]

    def __getitem__(self, key: str) -> str:
        return self.fields.get(key, [""])[-1]

    def all(self, key: str) -> list[str]:
        """Return every value of a field that may be given several times."""
        return self.fields.get(key, [])


_SOUGHT: dict[str, Any] = {
    "alternatives": planner.AlternativesResult,
    "sensitivity": planner.SensitivityResult,
}
"""What may lie beside a plan, and how it is read."""

Page: TypeAlias = Callable[[FormFields], Response]


class Viewer:
    """The pages of the current folder, below an address that nobody can guess."""

    def __init__(self, token: str = "") -> None:
        self.token = token or secrets.token_urlsafe(18)
        self.study = Study()
        self._templates = jinja2.Environment(autoescape=True, trim_blocks=True)
        self._templates.loader = jinja2.FileSystemLoader(_HERE)
        self._templates.undefined = jinja2.StrictUndefined
        self._templates.globals.update(folder=Path.cwd().name, address=_address)
        own = {one: (_HERE / one).read_text(encoding="utf-8") for one in ("view.css", "view.js")}
        self._files = {**planner.page_files(), **own}
        self._pages: dict[str, Page] = {
            "": self._study_page,
            "plan": self._plan_page,
            "job": self._job_page,
            "compare": self._compare_page,
            "what-if": self._what_if_page,
            "alternatives": partial(self._sought_page, "alternatives"),
            "sensitivity": partial(self._sought_page, "sensitivity"),
            "document": self._document,
            "run": self._run_page,
            "state": self._state,
        }
        self._actions: dict[str, Page] = {
            "what-if": self._ask,
            "seek": self._seek,
            "cancel": self._cancel,
            "keep": self._keep,
        }
        path = "/{token}/{page:path}"
        self.app = Starlette(routes=[Route(path, self._answer, methods=["GET", "POST"])])

    async def _answer(self, request: Request) -> Response:
        if refused := _refused(request):
            return Response(refused, 403, _HEADERS, "text/plain")
        token, page = request.path_params["token"], request.path_params["page"]
        if not secrets.compare_digest(token.encode(), self.token.encode()):
            return Response("There is nothing here.\n", 404, _HEADERS, "text/plain")
        pages, given = self._pages, request.url.query
        if request.method == "POST":
            body = b""
            async for part in request.stream():
                body += part
                if len(body) > _LARGEST_FORM_BYTES:
                    return Response("That is too long.\n", 413, _HEADERS, "text/plain")
            pages, given = self._actions, body.decode("utf-8", "replace")
        elif page in self._files:
            kind = "text/css" if page.endswith(".css") else "text/javascript"
            return Response(self._files[page], 200, _HEADERS, kind)
        response = await run_in_threadpool(
            self._shown, pages.get(page), FormFields(parse_qs(given))
        )
        for name, value in _HEADERS.items():
            response.headers.setdefault(name, value)
        return response

    def _shown(self, page: Page | None, ask: FormFields) -> Response:
        if page is None:
            return self._page("error.html", "There is no such page", 404, lines=())
        try:
            return page(ask)
        except PlannerError as error:
            return self._page("error.html", "That cannot be shown", 400, lines=lines_of(error))

    def _page(self, template: str, title: str, status: int = 200, **more: Any) -> Response:  # noqa: ANN401
        whole = {"title": title, "of": "", "sections": "", "run": None, **more}
        return HTMLResponse(self._templates.get_template(template).render(whole), status)

    def _page_of(
        self,
        template: str,
        of: str,
        result: Result,
        links: Mapping[str, str] | None = None,
        **more: Any,  # noqa: ANN401 - what the template shows
    ) -> Response:
        """Return a page about a plan, with a result drawn on it."""
        body, sections = result.to_part(links or {})
        about = {"of": of, "body": body, "sections": sections, **self._run_of(of), **more}
        return self._page(template, result.title, **about)

    def _study_page(self, ask: FormFields) -> Response:  # noqa: ARG002 - the same for all
        plans = self.study.plans()
        whole = [one for one in plans if not one.broken]
        last: dict[str, int] = {}
        added = {}
        for one in whole:
            added[one.name] = one.cost_cents - last.get(one.scenario, one.cost_cents)
            last[one.scenario] = one.cost_cents
        return self._page(
            "study.html",
            "Plans",
            plans=whole,
            broken=[one for one in plans if one.broken],
            added=added,
            most=max((one.cost_cents for one in whole), default=0),
            scenarios=self.study.scenarios(),
            runs=[run for run in self.study.runs() if run.state != "done" or run.value],
        )

    # One plan

    def _run_of(self, of: str) -> dict[str, Any]:
        """Return the run of a plan that is not kept, and a name to keep it under."""
        if not of.startswith("run-"):
            return {}
        run = self.study.run(of)
        stem = run.task.title if run.task.is_variant else Path(run.task.scenario).stem
        words = re.sub(r"[^a-z0-9]+", "-", stem.lower()).strip("-")
        return {"run": run, "keep_as": words[:40].strip("-")}

    def _plan_page(self, ask: FormFields) -> Response:
        opened, of = self.study.open(ask["of"]), ask["of"]
        jobs = enumerate(opened.plan.jobs, 1)
        links = {f"job-{place}": _address("job", of=of, name=job["job"]) for place, job in jobs}
        return self._page_of("plan.html", of, opened.plan, links, told=opened.warnings)

    def _job_page(self, ask: FormFields) -> Response:
        plan = self.study.open(ask["of"]).plan
        names = [row["job"] for row in plan.jobs]
        if not names:
            raise InputError(Finding("has no jobs", file=ask["of"]))
        found = planner.explain(plan, ask["name"] or names[0])
        return self._page_of("job.html", ask["of"], found, names=names[:_MOST_LISTED])

    def _document(self, ask: FormFields) -> Response:
        """Return a document as `planner report` writes it: a page with a policy of its own."""
        plan = self.study.open(ask["of"]).plan
        made = planner.report(plan, what_if="none", **self._beside(ask["of"], plan))
        name = "quarterly" if ask["name"] == "quarterly" else "justification"
        own = {"Content-Security-Policy": "frame-ancestors 'none'"}
        return HTMLResponse(made.files()[f"{name}.html"], headers=own)

    def _beside(self, of: str, plan: PlanResult) -> dict[str, Any]:
        """Alternatives and sensitivity that lie beside a plan and are of its question, or None."""
        beside: dict[str, Any] = {"alternatives": None, "sensitivity": None}
        if not of.startswith("run-"):
            plan_path = self.study.plan_path(of)
            for kind, result in _SOUGHT.items():
                path = plan_path.with_name(f"{kind}.json")
                found = result.read(path) if path.is_file() else None
                if found and found.answers(plan) and getattr(found, "whole", True):
                    beside[kind] = found
        return beside

    def _sought_page(self, kind: str, ask: FormFields) -> Response:
        """Show what was found beside a plan, each part of which can be planned.

        Or how to find it.
        """
        of, plan = ask["of"], self.study.open(ask["of"]).plan
        found = self._beside(of, plan)[kind]
        if found is None:
            title = f"{kind.capitalize()} of {plan.title}"
            return self._page("sought.html", title, of=of, kind=kind, body="", **self._run_of(of))
        links, told = {}, []
        for anchor, name, settings in _parts_of(kind, found.to_dict()):
            links[anchor] = _address("what-if", of=of, set=settings, name=name)
            told.append((name, links[anchor]))
        return self._page_of("sought.html", of, found, links, asks=told, kind=kind)

    def _compare_page(self, ask: FormFields) -> Response:
        names, before, after = self._names(), ask["before"], ask["after"]
        if not (before and after):
            return self._page("compare.html", "Compare", names=names, ask=ask, body="")
        labels = names.get(before, before), names.get(after, after)
        plans = self.study.open(before).plan, self.study.open(after).plan
        found = planner.compare(*plans, labels=labels, causes=False)
        return self._page_of("compare.html", after, found, names=names, ask=ask)

    def _names(self) -> dict[str, str]:
        """Return the plans that can be compared: those of the folder, and those not kept."""
        names = {one.name: one.folder for one in self.study.plans() if not one.broken}
        done = (one for one in self.study.runs() if one.task.kind == "plan" and one.state == "done")
        return {**names, **{run.name: f"{run.task.title} (not kept)" for run in done}}

    # What if

    def _what_if_page(self, ask: FormFields, wrong: tuple[str, ...] = ()) -> Response:
        scenario, plan = self._scenario(ask["of"])
        return self._page(
            "what-if.html",
            f"What if: {ask['name'] or scenario.title}",
            400 if wrong else 200,
            of=ask["of"] if plan else "",
            ask=ask,
            base=plan.summary[0] if plan else "",
            levers=levers_of(scenario),
            offers=offers_of(scenario)[:_MOST_LISTED],
            variations=scenario.variations[:_MOST_LISTED],
            wrong=wrong,
        )

    def _scenario(self, of: str) -> tuple[Scenario, PlanResult | None]:
        """Return what a plan was made from, with the plan; or a scenario of the folder."""
        if of.endswith((".yaml", ".yml")):
            return planner.load(self.study.scenario_path(of)), None
        plan = self.study.open(of).plan
        return plan.scenario(), plan

    def _ask(self, ask: FormFields) -> Response:
        """Plan in the background what a form asks; the form shows mistakes."""
        scenario, plan = self._scenario(ask["of"])
        own = (lever for _, _, its in offers_of(scenario) for lever in its)
        levers = (*levers_of(scenario), *own)
        form = {key: values[-1] for key, values in ask.fields.items()}
        names, lines = ask.all("apply"), ask["set"].split("\n")
        lines = [line.strip() for line in lines if line.strip()]
        title = ask["name"].strip() or words_of(levers, form, (*names, *lines))
        try:
            settings = [*settings_of(levers, form), *lines]
            if settings or names:
                settings.append(f"name={json.dumps(title, ensure_ascii=False)}")
            asked = scenario.changed(apply=names, set=settings)
        except InputError as error:
            return self._what_if_page(ask, lines_of(error))
        return self._begun(
            Task(
                *("plan", asked.title, str(asked.path), dict(asked.asked)),
                of=ask["of"] if plan else "",
                back=_address("what-if", **ask.fields),
            )
        )

    def _seek(self, ask: FormFields) -> Response:
        """Start what takes many plans: causes of a difference, alternatives, sensitivity."""
        kind, of = ask["kind"], ask["of"]
        if kind == "causes":
            names = {key: self._names().get(ask[key], ask[key]) for key in ("before", "after")}
            task = Task(
                *("causes", f"Why the cost differs: {' → '.join(names.values())}"),
                plans=tuple(self._source(ask[key]) for key in names),
                labels=(names["before"], names["after"]),
                back=_address("compare", before=ask["before"], after=ask["after"]),
            )
        else:
            path = self.study.plan_path(of)
            found: TaskKind = "alternatives" if kind == "alternatives" else "sensitivity"
            title = f"{found.capitalize()} of {self.study.open(of).plan.title}"
            task = Task(found, title, plans=(str(path),), back=_address(found, of=of))
        return self._begun(task)

    def _source(self, name: str) -> str:
        """Return a plan for another process: its path, or its text."""
        if name.startswith("run-"):
            return str(self.study.made(name).value)
        return str(self.study.plan_path(name))

    def _begun(self, task: Task) -> Response:
        return _to(_address("run", id=self.study.start(task).name))

    # Work in the background

    def _run_page(self, ask: FormFields) -> Response:
        run = self.study.run(ask["id"])
        task, body, sections = run.task, "", ""
        if run.state == "done":
            if task.kind == "plan" and task.of and task.of in self._names():
                return _to(_address("compare", before=task.of, after=run.name))
            if task.kind != "causes":
                return _to(_address("plan", of=run.name) if task.kind == "plan" else task.back)
            body, sections = run.value
        return self._page("run.html", task.title, run=run, body=body, sections=sections)

    def _state(self, ask: FormFields) -> Response:
        run = self.study.run(ask["id"])
        seconds = round(run.elapsed_seconds)
        return JSONResponse({"over": run.is_over, "doing": run.doing, "seconds": seconds})

    def _cancel(self, ask: FormFields) -> Response:
        run = self.study.run(ask["id"])
        if run.state == "done":
            self.study.drop(run.name)
            return _to("./")
        run.end("cancelled")
        return _to(_address("run", id=run.name))

    def _keep(self, ask: FormFields) -> Response:
        """Write a plan beside its scenario, and its changes as a file that extends the scenario."""
        run, name = self.study.made(ask["id"]), ask["name"].strip()
        if not _NAME.fullmatch(name):
            message = (
                f"{name!r} is no name for a file: letters, digits, dots and hyphens, at most 60"
            )
            raise InputError(Finding(message, path="name"))
        scenario = planner.load(Path(run.task.scenario), **run.task.changes)
        beside = scenario.path.parent
        if not beside.resolve().is_relative_to(Path.cwd()):
            raise InputError(Finding("lies outside this folder", file=str(scenario.path)))
        folder, variant = beside / name, beside / f"{name}.yaml"
        for path in (folder, variant):
            if os.path.lexists(path) and (path == folder or run.task.is_variant):
                raise InputError(Finding("is there already: choose another name", file=str(path)))
        try:
            if run.task.is_variant:
                with variant.open("x", encoding="utf-8", newline="\n") as file:
                    file.write(scenario.to_variant(name))
                planner.load(variant)
            self.study.open(run.name).plan.write(folder)
        except (OSError, PlannerError) as error:
            if run.task.is_variant:
                variant.unlink(missing_ok=True)
            if isinstance(error, PlannerError):
                raise
            raise InputError(Finding(f"{error.strerror}", file=str(variant))) from None
        self.study.drop(run.name)
        return _to(_address("plan", of=(folder / "plan.json").as_posix()))


def _parts_of(kind: str, found: Mapping[str, Any]) -> Iterator[tuple[str, str, list[str]]]:
    """Return a result's plans: where each is drawn, its name, and the settings that make it."""
    if kind == "alternatives":
        for place, one in enumerate(found["others"], 2):
            if one["settings"] and one["figures"]:
                yield f"plan-{place}", one["name"], one["settings"]
        return
    for place, one in enumerate(found["swings"], 1):
        for end in ("low", "high"):
            by = one[end]["by"]
            words = f"{100 * by:+.0f} %" if one["unit"] == "share" else f"{by:+.0f} weeks"
            yield f"{end}-{place}", f"{one['name']} {words}", one[end]["settings"]


def _address(page: str, **fields: str | Iterable[str]) -> str:
    given = {key: value for key, value in fields.items() if value}
    return f"{page}?{urlencode(given, doseq=True)}"


def _to(address: str) -> Response:
    return RedirectResponse(address, 303)


def _refused(request: Request) -> str:
    """Say why a request is refused: it is not from a page of this server, on this machine."""
    host = request.headers.get("host", "")
    if (host.rpartition(":")[0] or host) not in _LOCAL:
        return "This page answers at 127.0.0.1 alone.\n"
    if request.method == "POST" and request.headers.get("origin") != f"http://{host}":
        return "This form was sent from another page.\n"
    return ""


# The form of a what-if: its fields, and the settings that they give

_TRAFFIC = ("requests_per_second", "tokens_per_day", "users")
_RENT, _LEAD = "price_usd_per_gpu_hour", "lead_time_weeks"
_SHARE = re.compile(r"([+-]?[0-9.]+)\s*(%?)")


@dataclass(frozen=True, slots=True)
class Lever:
    """A field of the form that changes figures of a scenario."""

    key: str
    label: str
    unit: str
    """The unit behind the field: `%`, `weeks`."""
    now: str
    """The current value, in words."""
    changes: tuple[tuple[str, str], ...]
    """Paths and values, in which `{}` is what was entered; `{+}` is the same with its sign."""

    @property
    def moves(self) -> bool:
        """Whether the entered value is added to the current one rather than put in its place."""
        return any("{}" not in value for _, value in self.changes)


def levers_of(scenario: Scenario) -> tuple[Lever, ...]:
    """Return the levers that change something in a scenario."""
    data = _data(scenario)
    named, jobs, apis = (data.get(section, {}) for section in ("offers", "jobs", "apis"))
    offers, budget = list(named.values()), data.get("budget", {})
    buys = [one for one in offers if one["kind"] == "buy"]
    rents = [one for one in offers if one["kind"] != "buy"]
    late = [_quoted(name) for name, one in named.items() if one.get(_LEAD)]
    lead = ["*"] if late and len(late) == len(offers) else late
    loads = [load for job in jobs.values() if (load := _load(job))]
    traffic = [key for key in _TRAFFIC if any(key in load for load in loads)]
    tokens = sorted({key for one in apis.values() for key in one if "_tokens" in key})
    told = ", ".join(f"{key} {_short(budget[key])}" for key in budget)
    found = []
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
        found.append(Lever(key, label, unit, now, tuple((path, value) for path in paths)))
    growing = tuple(_growing(jobs))
    found.append(Lever("growth", "Growth per quarter", "%", _count(growing, "job"), growing))
    stated = str(data.get("policies", {}).get("headroom", "by rule"))
    headroom = (("policies.headroom", "{}%"),)
    found.append(Lever("headroom", "Headroom", "% of memory", stated, headroom))
    most = () if "capex_usd" in budget else (("budget.capex_usd", "{}"),)
    found.append(Lever("capex", "Purchases at most", "USD", "no limit", most))
    return tuple(lever for lever in found if lever.changes)


def offers_of(scenario: Scenario) -> list[tuple[str, str, tuple[Lever, ...]]]:
    """Return each offer by itself: its name, what it is, and its levers."""
    found: list[tuple[str, str, tuple[Lever, ...]]] = []
    for name, offer in _data(scenario).get("offers", {}).items():
        stem, price = f"offers.{_quoted(name)}", _RENT
        if offer["kind"] == "buy":
            price = "price_usd"
        now, weeks = _short(offer.get(price, "price book")), str(offer.get(_LEAD, 0))
        most = str(offer.get("maximum", "no limit"))
        own = (
            Lever(f"price:{name}", "Price", "%", now, ((f"{stem}.{price}", "{+}%"),)),
            Lever(f"lead:{name}", "Lead time", "weeks", weeks, ((f"{stem}.{_LEAD}", "{+}"),)),
            Lever(f"most:{name}", "At most", "nodes", most, ((f"{stem}.maximum", "{}"),)),
        )
        found.append((name, f"{offer['kind']} {offer['node_type']}", own))
    return found


def _data(scenario: Scenario) -> dict[str, Any]:
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    return dict(yaml.load(scenario.to_yaml(), loader))  # safe, and in C where there is one


def _load(job: Mapping[str, Any]) -> Mapping[str, Any]:
    load: Mapping[str, Any] = job.get("serve", {}).get("load", {})
    return load


def _growing(jobs: Mapping[str, Mapping[str, Any]]) -> Iterator[tuple[str, str]]:
    """Return levers for growth.

    Growth of a job is a share, which is set as a whole: `{*}` multiplies the current one.
    """
    for name, job in jobs.items():
        for held, path in ((job, ""), (_load(job), "serve.load.")):
            found = _SHARE.fullmatch(str(held.get("growth_per_quarter", "")))
            if found and Decimal(found[1]):
                share = Decimal(found[1]) * (1 if found[2] else 100)
                yield f"jobs.{_quoted(name)}.{path}growth_per_quarter", f"{{*}}{share}"


def _quoted(name: str) -> str:
    return name if re.fullmatch(r"[\w-]+", name) else "'{}'".format(name.replace("'", "''"))


def _count(things: Collection[object], name: str) -> str:
    return f"{len(things):,} {name}{'s' * (len(things) != 1)}"


def _short(value: object) -> str:
    by_key = value.items() if isinstance(value, Mapping) else ()
    text = ", ".join(f"{key}: {one}" for key, one in by_key) or str(value)
    return text if len(text) <= 40 else f"{text[:39]}…"


def settings_of(levers: Iterable[Lever], form: Mapping[str, str]) -> list[str]:
    """Return what the filled fields set, as `--set` takes it; raises InputError."""
    settings, wrong = [], []
    for lever in levers:
        entered = form.get(lever.key, "").strip().replace("−", "-")
        try:
            number = Decimal(entered or 0)
            if not number.is_finite():
                raise InvalidOperation
        except InvalidOperation:
            wrong.append(Finding(f"{entered!r} is not a number", path=lever.label))
            continue
        for path, value in lever.changes if entered else ():
            if value.startswith("{*}"):
                moved = (Decimal(value[3:]) * (1 + number / 100)).quantize(Decimal("0.0001"))
                settings.append(f"{path}={_plain(moved)}%")
            else:
                signed = f"{'-' if number < 0 else '+'}{_plain(abs(number))}"
                told = value.replace("{+}", signed).replace("{}", _plain(number))
                settings.append(f"{path}={told}")
    if wrong:
        raise InputError(*wrong)
    return settings


def _plain(number: Decimal) -> str:
    return f"{number.normalize():f}"


def words_of(levers: Iterable[Lever], form: Mapping[str, str], others: Iterable[str]) -> str:
    """Return a name for a variant: `Prices to buy +15 %, lead times +8 weeks`."""
    said = []
    for lever in levers:
        if entered := form.get(lever.key, "").strip():
            of = lever.key.partition(":")[2]
            sign = "+" if lever.moves and entered[0].isdigit() else ""
            label = f"{of} {lever.label}" if of else lever.label
            said.append(f"{label.lower()} {sign}{entered} {lever.unit.partition(' ')[0]}")
    words = ", ".join((*said, *others))[:80]
    return words[:1].upper() + words[1:]
