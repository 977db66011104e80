"""`planner doctor`: whether the solver of this installation can be trusted."""

from __future__ import annotations

import click

from planner.cli.screen import print_document
from planner.errors import ExitCode

__all__ = ["doctor"]


@click.command(short_help="Say whether the installed solver can be trusted.")
@click.pass_context
def doctor(ctx: click.Context) -> None:
    """Put small programs on which released solvers have lied to the solver installed here.

    Exit code 0: every answer of the solver that plans rest on is right. 5: one is wrong.
    """
    from planner.packing.solvers.doctor import examine  # noqa: PLC0415
    from planner.reporting.doctor import doctor_document  # noqa: PLC0415

    examined = examine()
    print_document(doctor_document(examined))
    if any(one.wrong for one in examined if one.decides):
        ctx.exit(ExitCode.UNVERIFIED)
