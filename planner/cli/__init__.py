"""The command line: argv in, exit code out; no arithmetic, nothing heavy before it is needed."""

import os
from _signal import SIGINT, signal  # type: ignore[import-not-found]  # `signal` loads for long


def main() -> None:
    """Entry point of the `planner` script: Ctrl-C is heeded before anything else is loaded."""
    signal(SIGINT, _end_interrupted)
    from planner.cli.app import main as run  # noqa: PLC0415 - it takes a tenth of a second

    run()


def _end_interrupted(*_: object) -> None:
    """End at once: nothing has begun that would have to be undone, or all is done."""
    try:
        os.write(2, b"interrupted\n")
    finally:
        os._exit(130)
