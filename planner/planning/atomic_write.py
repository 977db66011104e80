"""Writes files completely or not at all."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from threading import get_ident

from planner.errors import Finding, InputError


def write_atomically(contents: Mapping[Path, str | bytes]) -> None:
    """Write files completely, or none of them: existing files survive a full disk.

    The text is UTF-8 with LF line ends. Raises InputError if a file cannot be written.
    """
    # Beside each target, so that the rename stays on one volume; of this writer alone.
    mine = f".{os.getpid()}-{get_ident()}"
    written = {path: path.with_name(f"{mine}-{path.name}") for path in contents}
    path = Path()
    try:
        for path, content in contents.items():
            written[path].write_bytes(content if isinstance(content, bytes) else content.encode())
        for path, temporary in written.items():
            temporary.replace(path)
    except OSError as error:
        raise InputError(Finding(f"cannot be written: {error.strerror}", str(path))) from None
    finally:
        for temporary in written.values():
            temporary.unlink(missing_ok=True)
