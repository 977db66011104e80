"""A local page that shows the plans of a folder, compares them, and asks what if."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from planner import Finding, InputError

_ADDRESS = "127.0.0.1"


def serve(folder: Path, port: int, say: Callable[[str], None]) -> None:
    """Serve the plans of a folder on this machine only, until Ctrl-C.

    `say` is called with the address. A `port` of 0 is any that is free. Raises InputError if the
    extra is missing, for a folder that does not exist, and for a port that is taken.
    """
    try:
        import uvicorn  # noqa: PLC0415 - an extra

        from planner.view.app import Viewer  # noqa: PLC0415
    except ImportError as error:
        hint = "install it with `pip install 'gpu-fit-planner[view]'`"
        message = f"`planner view` needs the package `{error.name}`, which is not installed"
        raise InputError(Finding(message, hint=hint)) from None
    try:
        os.chdir(folder)
    except OSError as error:
        raise InputError(Finding(f"{error.strerror}", file=str(folder))) from None
    try:
        listening = socket.create_server((_ADDRESS, port))  # who comes early waits
    except OSError as error:
        raise InputError(Finding(f"{error.strerror}", path=f"port {port}")) from None
    view = Viewer()
    config = uvicorn.Config(
        view.app,
        log_level="warning",
        access_log=False,
        lifespan="off",
        server_header=False,
        timeout_graceful_shutdown=1,
    )
    say(f"http://{_ADDRESS}:{listening.getsockname()[1]}/{view.token}/")
    try:
        with suppress(KeyboardInterrupt):
            uvicorn.Server(config).run([listening])
    finally:
        view.study.stop()
