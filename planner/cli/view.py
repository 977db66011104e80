"""`planner view`: a local page over the plans of a folder."""

from __future__ import annotations

import webbrowser
from typing import TYPE_CHECKING

import click

from planner.cli.options import FOLDER
from planner.view.server import serve

if TYPE_CHECKING:
    from pathlib import Path


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
