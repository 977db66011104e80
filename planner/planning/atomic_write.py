"""Files that are written whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path
from threading import get_ident

from planner.errors import Finding, InputError


def write_atomically(path: Path, content: str | bytes) -> None:
    """Write a whole file or nothing: a reader never sees half of it, and the old one survives.

    Text in UTF-8, lines end in LF. Raises InputError where the folder cannot be written.
    """
    # Beside the target, so that the rename stays on one volume; of this writer alone.
    temporary = path.with_name(f".{os.getpid()}-{get_ident()}.tmp")
    try:
        try:
            temporary.write_bytes(content if isinstance(content, bytes) else content.encode())
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as error:
        raise InputError(Finding(f"cannot be written: {error.strerror}", str(path))) from None
