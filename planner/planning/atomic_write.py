"""Files that are written whole or not at all."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from errno import EEXIST
from fcntl import LOCK_EX, LOCK_NB, flock
from pathlib import Path
from typing import BinaryIO

from planner.errors import Finding, InputError

_UNFINISHED = 100
"""Temporary files of other runs that may lie beside a target."""
_UNFINISHED_NAME = re.compile(r"\..+\.planner-[0-9]{1,2}\.tmp")


def write_atomically(path: Path, content: str | bytes) -> None:
    """Write a whole file or nothing: a reader never sees half of it, and the old one survives.

    Text in UTF-8, lines end in LF. What killed runs have left in the folder is removed. Raises
    InputError where the folder cannot be written.
    """
    temporary: Path | None = None
    try:
        _remove_leftovers(path.parent)
        temporary, file = _reserve_beside(path)
        with file:
            file.write(content if isinstance(content, bytes) else content.encode())
            file.flush()
            temporary.replace(path)
        temporary = None
    except OSError as error:
        raise InputError(Finding(f"cannot be written: {error.strerror}", str(path))) from None
    finally:
        if temporary is not None:
            temporary.unlink(missing_ok=True)


def _reserve_beside(path: Path) -> tuple[Path, BinaryIO]:
    """Create a new empty file in the same folder, so that the rename stays on one volume.

    It is locked for as long as it is open: by that, others know that its run is alive.
    """
    for number in range(_UNFINISHED):
        temporary = path.with_name(f".{path.name}.planner-{number}.tmp")
        with suppress(FileExistsError):
            file = temporary.open("xb")
            with suppress(OSError):  # where nothing can be locked, nothing is taken for left over
                flock(file, LOCK_EX)
            if os.fstat(file.fileno()).st_nlink:  # or it was taken for one before it was locked
                return temporary, file
            file.close()
    raise FileExistsError(EEXIST, f"{_UNFINISHED} unfinished files of other runs lie beside it")


def _remove_leftovers(folder: Path) -> None:
    """Remove the temporary files of runs that were killed: those that no process has locked."""
    for path in folder.glob(".*.planner-*.tmp"):
        if _UNFINISHED_NAME.fullmatch(path.name) and path.is_file() and not path.is_symlink():
            with suppress(OSError), path.open("r+b") as file:
                flock(file, LOCK_EX | LOCK_NB)
                if os.path.samestat(os.fstat(file.fileno()), path.lstat()):
                    path.unlink()
