"""The `planner` command and its subcommands, each loaded when it is called."""

from __future__ import annotations

import gc
import importlib
import os
import sys
import threading
from keyword import iskeyword
from typing import Any

import click

from planner.cli.guard import guarded, require_output, say_nothing_of_memory, told_of
from planner.cli.options import Group, with_hint
from planner.errors import ExitCode
from planner.version import __version__

__all__ = ["COMMANDS", "GROUPS", "OBJECTS_BETWEEN_SCANS", "main", "planner"]

GROUPS = {
    "Decide": {
        "init": ("tables", "Write a first scenario of a few answers, or of what a cluster tells."),
        "plan": ("plan", "Plan a scenario: what to buy, what runs where, the proof."),
        "size": ("size", "Size one job on every GPU type, the cheapest first."),
        "check": ("check", "Find all mistakes of scenarios at once."),
    },
    "Understand": {
        "explain": ("plan", "List the jobs of a saved plan, or say why one runs where it runs."),
        "compare": ("compare", "Show what differs between two plans, and why."),
        "replay": ("plan", "Make a saved plan again and say whether it is the same."),
        "view": ("view", "Look at plans, compare them and ask what if, on a local page."),
    },
    "Ask what if": {
        "sweep": ("whatif", "Plan many variants of a scenario, a row each."),
        "sensitivity": ("whatif", "Show which figures cost and recommendation hang on."),
        "alternatives": (
            "whatif",
            "Show plans that differ where people care, beside the cheapest.",
        ),
        "risk": ("whatif", "Plan many futures: cost bands, and the chance of falling short."),
    },
    "Hand on": {
        "report": ("report", "Write the justification and the quarterly plan of a saved plan."),
        "export": (
            "tables",
            "Write what other tools read: watsonx, Kueue, Kubernetes, spreadsheets.",
        ),
        "mcp": ("mcp", "Answer an assistant over MCP: size, check, plan, explain, compare."),
        "import": ("tables", "Read jobs from a table, loads from traffic, actuals from a cluster."),
    },
    "Look up": {
        "rules": ("knowledge", "List, show and test the rules."),
        "catalog": ("knowledge", "List and show the facts."),
        "schema": ("check", "Print the JSON Schema of a scenario."),
        "doctor": ("check", "Say whether the installed solver can be trusted."),
    },
}
"""Commands by what one wants to do: the module that has the function of each, and what it does in
short, in the order in which users meet them.

Where the name is a word of Python, the function's ends in `_`."""

COMMANDS = {name: known for group in GROUPS.values() for name, known in group.items()}

OBJECTS_BETWEEN_SCANS = 1_000_000


class _Planner(Group):
    """A group that loads a command's module only when the command is called for."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """All commands, for `--help` and completion."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """The command, its module loaded; None if there is none of that name."""
        if cmd_name not in COMMANDS:
            return None
        function = f"{cmd_name}_" if iskeyword(cmd_name) else cmd_name
        module = importlib.import_module(f"planner.cli.{COMMANDS[cmd_name][0]}")
        command: click.Command = getattr(module, function)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """The commands in short, without a look into their modules."""
        widest = max(map(len, COMMANDS))
        for title, group in GROUPS.items():
            with formatter.section(title):
                formatter.write_dl(
                    [(f"{name:{widest}}", told) for name, (_, told) in group.items()]
                )

    def invoke(self, ctx: click.Context) -> Any:  # noqa: ANN401 - whatever a command returns
        """Run; whatever a user can cause becomes a sentence and an exit code."""
        return guarded(ctx, self._invoked)

    def _invoked(self, ctx: click.Context) -> Any:  # noqa: ANN401 - whatever a command returns
        try:
            return super().invoke(ctx)
        except click.NoSuchOption as error:
            raise with_hint(error) from None


@click.group(
    cls=_Planner,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog=(
        "Exit codes: 0 done (a plan is proved), 2 input or usage error, 3 proved infeasible, "
        "4 not proved, 5 failed the independent check, 130 interrupted."
    ),
)
@click.version_option(__version__, prog_name="planner", message="%(prog)s %(version)s")
def planner() -> None:
    """Decide which GPU servers to buy or rent for language models, and prove why."""


def main() -> None:
    """Entry point of the `planner` script."""
    # A portfolio is one large graph without cycles that lives to the end: scanning it for garbage
    # again and again as it grows costs a fifth of the run and frees nothing.
    gc.set_threshold(OBJECTS_BETWEEN_SCANS)
    # What plugins other packages have installed for pydantic is no business of a scenario.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    # Nor is there a large matrix here, for which numpy would start a thread on every other core.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    threading.excepthook = say_nothing_of_memory
    require_output()
    try:
        code = planner(prog_name="planner")
    except SystemExit as done:
        code = done.code
    except Exception as error:  # help and version are written before any command runs
        code = told_of(error)
    try:
        sys.stdout.flush()
    except OSError as error:
        code = told_of(error)
    sys.stderr.flush()
    # To take the interpreter down object by object would cost a tenth of a short run, and around a
    # solver that was given up, which may still run in a thread, it ends in an abort.
    os._exit(int(code or ExitCode.PROVED))
