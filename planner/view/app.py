"""The pages: each reads what it shows anew, and asks the public functions for it."""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias
from urllib.parse import parse_qs, urlencode, urlsplit

import jinja2
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import Route

import planner
from planner import CheckError, Finding, InputError, PlannerError
from planner.view.levers import levers_of, offers_of, settings_of, words_of
from planner.view.runs import Run, Runs, Task
from planner.view.study import Opened, Study

if TYPE_CHECKING:
    from starlette.requests import Request

    from planner import AlternativesResult, PlanResult, Scenario, SensitivityResult

__all__ = ["View"]

_HERE = Path(__file__).parent / "pages"
_LARGEST_FORM_BYTES = 1_000_000
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,59}")
"""What a variant may be called: also a file and a folder of every system."""
_LOCAL = {"127.0.0.1", "localhost", "[::1]"}
_HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; img-src data:; style-src 'self'; script-src 'self'; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
}
_DOCUMENTS = ("justification", "quarterly")


@dataclass(frozen=True, slots=True)
class Ask:
    """What a browser asks: fields of the address, or of the form that it sends."""

    fields: dict[str, list[str]] = field(default_factory=dict)
    sent: bool = False

    def __getitem__(self, key: str) -> str:
        return self.fields.get(key, [""])[-1]

    def all(self, key: str) -> list[str]:
        """Every value of a field that may be given several times."""
        return self.fields.get(key, [])

    @property
    def query(self) -> str:
        """The same as a part of an address; fields left empty are left out."""
        return urlencode(
            {key: kept for key, one in self.fields.items() if (kept := [*filter(None, one)])},
            doseq=True,
        )


Page: TypeAlias = Callable[[Ask], Response]


class View:
    """The pages of the current folder, below an address that nobody can guess."""

    def __init__(self, token: str = "") -> None:
        self.token = token or secrets.token_urlsafe(18)
        self.runs = Runs()
        self._study = Study()
        self._templates = jinja2.Environment(
            loader=jinja2.FileSystemLoader(_HERE),
            autoescape=True,
            trim_blocks=True,
            lstrip_blocks=True,
            undefined=jinja2.StrictUndefined,
        )
        self._templates.globals.update(folder=Path.cwd().name, urlencode=_query)
        self._files = {
            **planner.page_files(),
            **{
                name: (_HERE / name).read_text(encoding="utf-8") for name in ("view.css", "view.js")
            },
        }
        self._pages: dict[str, Page] = {
            "": self._study_page,
            "plan": self._plan_page,
            "job": self._job_page,
            "compare": self._compare_page,
            "what-if": self._what_if_page,
            "alternatives": self._alternatives_page,
            "sensitivity": self._sensitivity_page,
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
        refused = _refused(request)
        if refused:
            return Response(refused, 403, _HEADERS, "text/plain")
        given, page = request.path_params["token"], request.path_params["page"]
        if not secrets.compare_digest(given.encode(), self.token.encode()):
            return Response("There is nothing here.\n", 404, _HEADERS, "text/plain")
        if request.method != "POST":
            ask, pages = Ask(parse_qs(request.url.query)), self._pages
            if page in self._files:
                kind = "text/css" if page.endswith(".css") else "text/javascript"
                return Response(self._files[page], 200, _HEADERS, kind)
        else:
            body = b""
            async for part in request.stream():
                body += part
                if len(body) > _LARGEST_FORM_BYTES:
                    return Response("That is too long.\n", 413, _HEADERS, "text/plain")
            ask, pages = Ask(parse_qs(body.decode("utf-8", "replace")), sent=True), self._actions
        response = await run_in_threadpool(self._shown, pages.get(page), ask)
        for name, value in _HEADERS.items():
            response.headers.setdefault(name, value)
        return response

    def _shown(self, page: Page | None, ask: Ask) -> Response:
        if page is None:
            return self._error("There is no such page", (), 404)
        try:
            return page(ask)
        except PlannerError as error:
            return self._error("That cannot be shown", _lines(error), 400)

    def _error(self, headline: str, lines: tuple[str, ...], status: int) -> Response:
        return self._page("error.html", headline, lines=lines, status=status)

    def _page(self, template: str, title: str, *, status: int = 200, **more: Any) -> Response:  # noqa: ANN401
        whole = {"title": title, "of": "", "sections": "", "run": None, "kind": "", **more}
        return HTMLResponse(self._templates.get_template(template).render(whole), status)

    # The folder

    def _study_page(self, ask: Ask) -> Response:  # noqa: ARG002 - the same for all
        plans = self._study.plans()
        whole = [one for one in plans if not one.broken]
        before: dict[str, int] = {}
        added: dict[str, int | None] = {}
        for one in whole:
            last = before.get(one.scenario)
            added[one.name] = None if last is None else one.cost_cents - last
            before[one.scenario] = one.cost_cents
        return self._page(
            "study.html",
            "Plans",
            plans=whole,
            broken=[one for one in plans if one.broken],
            added=added,
            most=max((one.cost_cents for one in whole), default=0),
            scenarios=self._study.scenarios(),
            runs=self.runs.all(),
        )

    # One plan

    def _open(self, name: str) -> Opened:
        """A plan of the folder, or one that was planned here and is not kept."""
        run = self.runs.get(name)
        if run is not None and run.task.kind == "plan" and run.state == "done":
            return self._study.kept((name, 0, 0), run.value)
        if name.startswith("run-"):
            raise InputError(Finding("is not there any more; plan again", path=name))
        return self._study.open(name)

    def _about(self, name: str) -> dict[str, Any]:
        """What every page about a plan is told."""
        return {"of": name, "run": self.runs.get(name), "keep_as": self._keep_as(name)}

    def _keep_as(self, name: str) -> str:
        run = self.runs.get(name)
        if run is None:
            return ""
        title = self._open(name).plan.title if run.task.changes.get("set") else ""
        words = re.sub(r"[^a-z0-9]+", "-", (title or Path(run.task.scenario).stem).lower())
        return words.strip("-")[:40].strip("-")

    def _plan_page(self, ask: Ask) -> Response:
        opened = self._open(ask["of"])
        body, sections = opened.plan.to_part(_job_links(opened.plan, ask["of"]))
        return self._page(
            "plan.html",
            opened.plan.title,
            body=body,
            sections=sections,
            told=opened.told,
            **self._about(ask["of"]),
        )

    def _job_page(self, ask: Ask) -> Response:
        plan = self._open(ask["of"]).plan
        names = [row["job"] for row in plan.jobs]
        body, sections = planner.explain(plan, ask["name"] or names[0]).to_part()
        about = self._about(ask["of"])
        return self._page(
            "job.html", ask["name"], body=body, sections=sections, names=names[:2000], **about
        )

    def _document(self, ask: Ask) -> Response:
        """A document as `planner report` writes it: a page of its own, with its own policy."""
        if ask["name"] not in _DOCUMENTS:
            return self._error("There is no such document", (), 404)
        plan = self._open(ask["of"]).plan
        found, moved = self._beside(ask["of"], plan)
        made = planner.report(plan, alternatives=found, sensitivity=moved, what_if="none")
        page = HTMLResponse(made.files()[f"{ask['name']}.html"])
        page.headers["Content-Security-Policy"] = "frame-ancestors 'none'"
        return page

    def _beside(
        self, name: str, plan: PlanResult
    ) -> tuple[AlternativesResult | None, SensitivityResult | None]:
        """Results that lie beside a plan and are of its question."""
        if self.runs.get(name) is not None:
            return None, None
        folder = self._study.plan_path(name).parent
        found, moved = folder / "alternatives.json", folder / "sensitivity.json"
        options = planner.read_alternatives(found) if found.is_file() else None
        swings = planner.read_sensitivity(moved) if moved.is_file() else None
        return (
            options if options and options.whole and options.answers(plan) else None,
            swings if swings and swings.answers(plan) else None,
        )

    def _alternatives_page(self, ask: Ask) -> Response:
        plan = self._open(ask["of"]).plan
        found, _ = self._beside(ask["of"], plan)
        if found is None:
            return self._not_sought(ask["of"], plan, "alternatives")
        others = found.to_dict()["others"]
        asks = {
            f"plan-{place}": (one["name"], self._asked(ask["of"], one["settings"]))
            for place, one in enumerate(others, 2)
            if one["settings"] and one["figures"]
        }
        return self._sought(
            ask["of"], found, {"plan-1": ("", _query("plan", of=ask["of"])), **asks}
        )

    def _sensitivity_page(self, ask: Ask) -> Response:
        plan = self._open(ask["of"]).plan
        _, moved = self._beside(ask["of"], plan)
        if moved is None:
            return self._not_sought(ask["of"], plan, "sensitivity")
        asks = {}
        for place, one in enumerate(moved.to_dict()["swings"], 1):
            for end in ("low", "high"):
                by = one[end]["by"]
                words = f"{by:+.0%}" if one["unit"] == "share" else f"{by:+.0f} weeks"
                told = f"{one['name']} {words.replace('%', ' %')}"
                asks[f"{end}-{place}"] = told, self._asked(ask["of"], one[end]["settings"], told)
        return self._sought(ask["of"], moved, asks)

    def _asked(self, of: str, settings: list[str], name: str = "") -> str:
        return _query("what-if", of=of, set=settings, name=name)

    def _sought(
        self,
        of: str,
        found: AlternativesResult | SensitivityResult,
        asks: dict[str, tuple[str, str]],
    ) -> Response:
        body, sections = found.to_part({anchor: address for anchor, (_, address) in asks.items()})
        told = [one for one in asks.values() if one[0]]
        about = self._about(of)
        return self._page(
            "sought.html",
            found.title,
            body=body,
            sections=sections,
            asks=told,
            kind=found._name,
            **about,
        )

    def _not_sought(self, of: str, plan: PlanResult, kind: str) -> Response:
        return self._page(
            "seek.html", f"{kind.capitalize()} of {plan.title}", kind=kind, **self._about(of)
        )

    # Two plans

    def _compare_page(self, ask: Ask) -> Response:
        names = self._names()
        before, after = ask["before"], ask["after"]
        if not (before and after):
            return self._page("compare.html", "Compare", names=names, ask=ask, body="")
        plans = self._open(before).plan, self._open(after).plan
        labels = names.get(before, before), names.get(after, after)
        found = planner.compare(*plans, labels=labels, causes=False)
        body, sections = found.to_part()
        about = {**self._about(after), "of": ""}
        return self._page(
            "compare.html", found.title, names=names, ask=ask, body=body, sections=sections, **about
        )

    def _names(self) -> dict[str, str]:
        """Plans that can be compared: those of the folder, and those that are not kept."""
        names = {one.name: one.folder for one in self._study.plans() if not one.broken}
        for run in self.runs.all():
            if run.task.kind == "plan" and run.state == "done":
                names[run.name] = f"{run.task.title} (not kept)"
        return names

    # What if

    def _scenario(self, of: str) -> Scenario:
        if of.endswith(".json") or of.startswith("run-"):
            return self._open(of).plan.scenario()
        return planner.load(self._study.scenario_path(of))

    def _what_if_page(self, ask: Ask, wrong: tuple[str, ...] = ()) -> Response:
        scenario = self._scenario(ask["of"])
        is_plan = ask["of"].endswith(".json") or ask["of"].startswith("run-")
        about = self._about(ask["of"]) if is_plan else {}
        return self._page(
            "what-if.html",
            f"What if: {scenario.title}",
            **{**about, "run": None},
            asked=ask["of"],
            ask=ask,
            levers=levers_of(scenario),
            offers=offers_of(scenario)[:100],
            variations=scenario.variations[:200],
            wrong=wrong,
            status=400 if wrong else 200,
        )

    def _ask(self, ask: Ask) -> Response:
        """Plan in the background what a form asks; mistakes are told beside the form."""
        scenario = self._scenario(ask["of"])
        every = (
            *levers_of(scenario),
            *(one for offer in offers_of(scenario) for one in offer.levers),
        )
        form = {key: values[-1] for key, values in ask.fields.items()}
        lines = [line for text in ask.all("set") for line in text.splitlines() if line.strip()]
        try:
            settings = [*settings_of(every, form), *map(str.strip, lines)]
            names = ask.all("apply")
            title = ask["name"].strip() or words_of(every, form, (*names, *lines))
            if settings or names:
                settings.append(f"name={json.dumps(title, ensure_ascii=False)}")
            else:
                title = scenario.title
            asked = scenario.changed(apply=names, set=settings)
            if asked.path.suffix not in (".yaml", ".yml"):
                raise InputError(Finding("was made from no file", path=str(asked.path)))
        except InputError as error:
            return self._what_if_page(ask, _lines(error))
        query = _query("what-if", **ask.fields)
        task = Task("plan", title, str(asked.path), dict(asked.asked), of=ask["of"], query=query)
        return self._begun(task)

    def _seek(self, ask: Ask) -> Response:
        """Begin what takes many plans: causes of a difference, alternatives, sensitivity."""
        if ask["kind"] == "causes":
            names = ask["before"], ask["after"]
            labels = tuple(self._names().get(name, name) for name in names)
            task = Task(
                *("causes", f"Why the cost differs: {labels[0]} → {labels[1]}"),
                plans=tuple(map(self._source, names)),
                labels=(labels[0], labels[1]),
                query=_query("compare", before=names[0], after=names[1]),
            )
            return self._begun(task)
        if ask["kind"] not in ("alternatives", "sensitivity"):
            return self._error("There is no such thing to look for", (), 404)
        path = self._study.plan_path(ask["of"])
        kind: Any = ask["kind"]
        title = f"{kind.capitalize()} of {self._open(ask['of']).plan.title}"
        query = _query(kind, of=ask["of"])
        task = Task(
            kind, title, plans=(str(path),), into=str(path.parent), of=ask["of"], query=query
        )
        return self._begun(task)

    def _source(self, name: str) -> str:
        """A plan for another process: its path, or its text."""
        run = self.runs.get(name)
        return str(self._study.plan_path(name)) if run is None else str(run.value)

    def _begun(self, task: Task) -> Response:
        return _to(_query("run", id=self.runs.start(task).name))

    # Work in the background

    def _run(self, ask: Ask) -> Run:
        run = self.runs.get(ask["id"])
        if run is None:
            raise InputError(Finding("is not there any more", path=ask["id"] or "run"))
        return run

    def _run_page(self, ask: Ask) -> Response:
        run = self._run(ask)
        task = run.task
        if run.state == "done" and task.kind == "plan":
            is_plan = task.of.endswith(".json") or self.runs.get(task.of) is not None
            if is_plan:
                return _to(_query("compare", before=task.of, after=run.name))
            return _to(_query("plan", of=run.name))
        if run.state == "done" and task.kind != "causes":
            return _to(task.query)
        body, sections = run.value if run.state == "done" else ("", "")
        return self._page("run.html", task.title, run=run, body=body, sections=sections)

    def _state(self, ask: Ask) -> Response:
        run = self._run(ask)
        seconds = round(run.elapsed_seconds)
        return JSONResponse({"over": run.is_over, "doing": run.doing, "seconds": seconds})

    def _cancel(self, ask: Ask) -> Response:
        run = self._run(ask)
        if run.state == "done":
            self.runs.drop(run.name)
            return _to("./")
        run.end("cancelled")
        return _to(_query("run", id=run.name))

    def _keep(self, ask: Ask) -> Response:
        """Write a plan beside its scenario, and what was changed as a file that extends that."""
        run, name = self._run(ask), ask["name"].strip()
        if not _NAME.fullmatch(name):
            told = f"{name!r} is no name for a file: letters, digits, dots and hyphens, at most 60"
            raise InputError(Finding(told, path="name"))
        plan = self._open(run.name).plan
        scenario = planner.load(Path(run.task.scenario), **run.task.changes)
        beside = scenario.path.parent
        if not beside.resolve().is_relative_to(Path.cwd()):
            raise InputError(Finding("lies outside this folder", file=str(scenario.path)))
        folder, variant = beside / name, beside / f"{name}.yaml"
        if folder.exists():
            raise InputError(Finding("is there already: choose another name", file=str(folder)))
        if scenario.changes:
            _write_new(variant, scenario.to_variant(name))
        try:
            if scenario.changes:
                planner.load(variant)
            plan.write(folder)
        except PlannerError:
            if scenario.changes:
                variant.unlink()
            raise
        self.runs.drop(run.name)
        return _to(_query("plan", of=(folder / "plan.json").as_posix()))


def _write_new(path: Path, text: str) -> None:
    try:
        with path.open("x", encoding="utf-8", newline="\n") as file:
            file.write(text)
    except OSError as error:
        raise InputError(Finding(f"cannot be written: {error.strerror}", file=str(path))) from None


def _job_links(plan: PlanResult, of: str) -> dict[str, str]:
    return {
        f"job-{place}": _query("job", of=of, name=row["job"])
        for place, row in enumerate(plan.jobs, 1)
    }


def _query(page: str, **fields: Any) -> str:  # noqa: ANN401 - text, or several
    given = {key: value for key, value in fields.items() if value}
    return f"{page}?{urlencode(given, doseq=True)}"


def _to(address: str) -> Response:
    return RedirectResponse(address, 303)


def _lines(error: PlannerError) -> tuple[str, ...]:
    if isinstance(error, InputError):
        return tuple(
            f"{one.headline()}{f' – {one.hint}' if one.hint else ''}" for one in error.findings
        )
    if isinstance(error, CheckError):
        return str(error), *error.violations
    return (str(error),)


def _refused(request: Request) -> str:
    """Why a request is not answered: it is not from a page of this server, on this machine."""
    host = request.headers.get("host", "")
    name = ""
    with suppress(ValueError):
        name = (urlsplit(f"//{host}").netloc).rpartition(":")[0] or host
    if name not in _LOCAL:
        return "This page answers at 127.0.0.1 alone.\n"
    if request.method == "POST":
        origin = request.headers.get("origin")
        if origin != f"http://{host}":
            return "This form was sent from another page.\n"
    return ""
