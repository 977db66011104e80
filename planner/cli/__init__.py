"""The command line: argv in, exit code out; no arithmetic, nothing heavy before it is needed."""

import gc
import os
from _signal import SIGINT, signal  # type: ignore[import-not-found]  # `signal` loads for long

OBJECTS_BETWEEN_SCANS = 1_000_000


def main() -> None:
    """Entry point of the `planner` script: Ctrl-C is heeded before anything else is loaded."""
    signal(SIGINT, _end_interrupted)
    # A portfolio is one large graph without cycles that lives to the end: scanning it for garbage
    # again and again as it grows costs a fifth of the run and frees nothing.
    gc.set_threshold(OBJECTS_BETWEEN_SCANS)
    # What plugins other packages have installed for pydantic is no business of a scenario.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    # Nor is there a large matrix here, for which numpy would start a thread on every other core.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from planner.cli.app import main as run  # noqa: PLC0415 - it takes a tenth of a second

    run()


def _end_interrupted(*_: object) -> None:
    """End at once: nothing has begun that would have to be undone, or all is done."""
    try:
        os.write(2, b"interrupted\n")
    finally:
        os._exit(130)
