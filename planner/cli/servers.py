"""`planner view` and `mcp`: servers for a browser and for an assistant.

Both read the files of one folder by the public functions, and write nothing but plans into it.
"""

from __future__ import annotations

import os
import threading
import warnings
import webbrowser
from functools import wraps
from inspect import getdoc
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import planner
from planner.cli.common import FOLDER
from planner.errors import Finding, InputError, PlannerError, PlannerWarning
from planner.reporting.findings import Styler, render_error
from planner.version import TIME_LIMIT_SECONDS
from planner.view import serve

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp.server import MCPServer


@click.command()
@click.argument("folder", type=FOLDER, default=".")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=0,
    show_default="any that is free",
    help="The port of 127.0.0.1 to listen on.",
)
@click.option("--open", "open_", is_flag=True, help="Also open the page in a browser.")
def view(folder: Path, *, port: int, open_: bool) -> None:
    """Show the plans of FOLDER on a local page, compare them, and ask what if.

    Prints an address that works on this machine alone, until Ctrl-C. Nothing is written but what
    you keep, into FOLDER.
    """

    def say(address: str) -> None:
        click.echo(address)
        click.echo("Open this address in a browser; Ctrl-C ends.", err=True)
        if open_:
            webbrowser.open(address)

    serve(folder, port, say)


_SAYS = """\
Sizes jobs that tune or serve language models, and plans which GPU servers to buy or rent for them,
with a proof of how far the cost is from the least possible. Ask instead of guessing GPU memory,
server specifications or prices. A scenario is the path of a YAML file, or its text; `check` names
each mistake with what is allowed. `size` and `check` take a second at most, `plan` and `compare`
seconds to minutes. Prices of the built-in price book are illustrative: say so where you quote them.
"""
_ONE_AT_A_TIME = threading.Lock()
"""Calls come in threads, warnings are caught in all of them, and a plan takes a whole core."""


@click.command()
@click.argument("folder", type=FOLDER, default=".")
def mcp(folder: Path) -> None:
    """Answer an assistant over the Model Context Protocol, on standard input and output.

    It reads the files of FOLDER, the current one if none is named, and writes nothing but plans
    into new folders of it.
    """
    answering = server()
    try:
        os.chdir(folder)
    except OSError as error:
        raise InputError(Finding(f"{error.strerror}", file=str(folder))) from None
    answering.run()


def server() -> MCPServer:
    """The server, whose folder is the current one; raises InputError where `mcp` is missing."""
    try:
        from mcp.server import MCPServer  # noqa: PLC0415 - an extra
        from mcp.types import ToolAnnotations  # noqa: PLC0415
    except ImportError:
        hint = "install it with `pip install 'gpu-fit-planner[mcp]'`"
        message = "`planner mcp` needs the package `mcp`, which is not installed"
        raise InputError(Finding(message, hint=hint)) from None
    made = MCPServer(
        "gpu-fit-planner", version=planner.__version__, instructions=_SAYS, log_level="WARNING"
    )
    for tool in (size, check, plan, explain, compare):
        about = ToolAnnotations(
            read_only_hint=tool is not plan, destructive_hint=False, open_world_hint=False
        )
        made.add_tool(_answered(tool), description=getdoc(tool), annotations=about)
    return made


def _answered(tool: Callable[..., dict[str, Any]]) -> Callable[..., dict[str, Any]]:
    """The tool with its warnings; what a user can cause is told to the assistant as an error."""
    from mcp.server.mcpserver.exceptions import ToolError  # noqa: PLC0415 - an extra

    @wraps(tool)
    def answered(**given: Any) -> dict[str, Any]:  # noqa: ANN401 - as the tool has them
        with _ONE_AT_A_TIME, warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", PlannerWarning)
            try:
                found = tool(**given)
            except PlannerError as error:
                raise ToolError(render_error(error, Styler())) from None
        told = [str(one.message) for one in caught if issubclass(one.category, PlannerWarning)]
        return {**found, "warnings": [*found.get("warnings", ()), *told]}

    return answered


def size(
    job: dict[str, Any],
    headroom: str | None = None,
    mig: bool = False,
    shared_gpus: bool = False,
    faster: bool = False,
) -> dict[str, Any]:
    """Size one job on every GPU type: GPUs, peak memory, hours, and why others cannot run it.

    `job` is what a scenario says of a job: `{"tune": {"model": "llama-3.1-70b", "method": "lora",
    "sequence": 4096, "batch": 8}}` or `{"serve": {"model": "llama-3.1-8b", "context": 8192,
    "concurrency": 16}}`; `parameters_b` with `family` stands for a model that is not known.
    `headroom` is the share of GPU memory kept free, such as `10%`. `mig` and `shared_gpus` also try
    parts of a GPU (serving), `faster` more and more GPUs (tuning, needs `dataset_tokens`).
    """
    sized = planner.size(job, headroom=headroom, mig=mig, shared_gpus=shared_gpus, faster=faster)
    return {"job": sized.title, "ways": sized.rows(), "rejected": sized.rejections}


def check(scenario: str) -> dict[str, Any]:
    """Check a scenario (path or YAML text): all mistakes at once, with place and what is allowed.

    Where there are none: what it holds, its jobs by quarter, and the overrides it can be varied by.
    """
    found = planner.check(_source(scenario))
    return {"summary": found.summary, "jobs": found.rows(), "variations": found.variations}


def plan(
    scenario: str,
    apply: list[str] | None = None,
    set: dict[str, Any] | None = None,
    save_as: str | None = None,
    time_limit_seconds: float = TIME_LIMIT_SECONDS,
) -> dict[str, Any]:
    """Plan a scenario (path or YAML text) at the least net present cost, checked and with a bound.

    `apply` names overrides of the scenario; `set` gives values by dotted path, plain or relative:
    `{"offers.buy-h200.price_usd": "+15%"}`. `save_as` is a new folder for plan.json, which
    `explain` and `compare` read, and plan.md, which tells everything.
    """
    folder = None if save_as is None else _inside(save_as)
    if folder is not None and os.path.lexists(folder):
        raise InputError(Finding("is there already", file=save_as, hint="name a new folder"))
    made = planner.plan(
        _source(scenario),
        time_limit_seconds=time_limit_seconds,
        apply=apply or (),
        set=set or {},
    )
    return {
        "scenario": made.title,
        "status": made.status,
        "cost_usd": made.cost_usd,
        "bound_usd": made.bound_usd,
        "purchases": made.purchases,
        "costs": made.costs,
        "jobs": made.jobs,
        "assumptions": made.assumptions,
        "warnings": made.warnings,
        "saved": [] if folder is None else [str(path) for path in made.write(folder)],
    }


def explain(plan_json: str, job: str) -> dict[str, Any]:
    """Say why a job of a saved plan runs where it runs, every number with formula and source.

    `plan_json` is the path of a plan.json.
    """
    return {"told": planner.explain(_inside(plan_json), job).to_text()}


def compare(
    before: str,
    after: str | None = None,
    apply: list[str] | None = None,
    set: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """Show what differs between two plans and what each cause adds to the cost.

    Each side is the path of a plan.json, or a scenario (path or YAML text), which is planned first.
    `apply` and `set`, as in `plan`, change the scenario `after`, which is `before` if left out.
    """
    second = _source(before if after is None else after)
    if apply or set:
        second = planner.load(second, apply=apply or (), set=set or {})
    found = planner.compare(_source(before), second)
    return {"same": found.same, "added_usd": found.added_usd, "told": found.to_text()}


def _source(scenario: str) -> Any:  # noqa: ANN401 - whatever the public functions take
    """A scenario's text as it is, a path as one in the folder."""
    return scenario if "\n" in scenario else _inside(scenario)


def _inside(name: str) -> Path:
    """A path in the current folder; raises InputError for one that leads out of it."""
    here = Path.cwd()
    try:
        within = (here / name).resolve().is_relative_to(here)
    except (OSError, ValueError):
        within = False
    if not within:
        raise InputError(Finding(f"lies outside {here}, whose files alone are read", file=name))
    return Path(name)
