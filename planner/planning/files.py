"""Writes files completely or not at all, and overwrites nothing unless that is asked for."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import get_ident
from types import FrameType

from planner.errors import Finding, InputError, refuse
from planner.inputs.text import unreadable

_WRITABLE = 0o222


def plan_text(path: Path) -> str:
    """The text of a plan.json; raises InputError for what cannot be one."""
    if path.exists() and not path.is_file():
        inside = path / "plan.json"
        hint = f"write {inside}" if inside.is_file() else None
        message = "is not an ordinary file, a plan.json is needed"
        raise InputError(Finding(message, file=str(path), hint=hint))
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise InputError(Finding("is not a plan: it is not UTF-8 text", file=str(path))) from None
    except OSError as error:
        raise InputError(unreadable(path, error, str(path))) from None


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


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder to write into, in which nothing is overwritten unless that is asked for."""

    path: Path
    overwrite: bool = False

    def require_free(
        self, names: Iterable[str], read: Iterable[Path] = (), *, kept: Iterable[str] = ()
    ) -> None:
        """Raise InputError where these files may not be written, before anything long begins.

        Those that are `read` are never overwritten, others only where that is asked for; those
        that are `kept` are carried on from.
        """
        inputs = {os.path.realpath(path) for path in read}
        paths, carried = ([self.path / name for name in some] for some in (names, kept))
        findings = [self._fault()] if paths or carried else []
        findings += (_fault_of(path, inputs) for path in (*paths, *carried))
        there = [str(path) for path in paths if os.path.lexists(path)]
        if there and not self.overwrite and not any(findings):
            told = f"{', '.join(there)} {'are' if there[1:] else 'is'} there already"
            findings.append(Finding(told, hint="name another `--out`, or overwrite with `--force`"))
        refuse(filter(None, findings))

    def make(self) -> list[Path]:
        """Make the folder where there is none; raises InputError. Folders that were made."""
        made = [path for path in (self.path, *self.path.parents) if not path.exists()]
        try:
            self.path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            found = Finding(f"cannot be made: {error.strerror}", file=str(self.path))
            raise InputError(found) from None
        return made

    def write(
        self, texts: Mapping[str, str | bytes], read: Iterable[Path] = ()
    ) -> tuple[Path, ...]:
        """Write files by name, all or none, the folder made if needed; their paths.

        What has come there meanwhile is no more overwritten than what was there before; a file
        that holds the same already stays. Raises InputError.
        """
        changed = {name: text for name, text in texts.items() if not _holds(self.path / name, text)}
        self.require_free(changed, read)
        made = self.make()
        try:
            with _uninterrupted():
                write_atomically({self.path / name: text for name, text in changed.items()})
        except InputError:
            for path in made:
                path.rmdir()
            raise
        return tuple(self.path / name for name in texts)

    def _fault(self) -> Finding | None:
        """Why no file can be written below the folder, which need not be there."""
        folder = self.path
        there = next(path for path in (folder, *folder.absolute().parents) if path.exists())
        cannot = f"cannot be {'written' if there == folder else 'made'}"
        if not there.is_dir():
            return Finding(f"{cannot}: {there} is a file, a folder is needed", file=str(folder))
        if not os.access(there, os.W_OK | os.X_OK):
            return Finding(f"{cannot}: Permission denied", file=str(folder))
        return None


def _fault_of(path: Path, inputs: set[str]) -> Finding | None:
    """Why a file may not be written, whatever is asked for."""
    words = ""
    if os.path.realpath(path) in inputs:
        words = "is an input and would be overwritten"
    elif path.is_symlink():
        words = f"is a link to {path.readlink()}, and nothing is written through links"
    elif path.is_dir():
        words = "is a folder, and a file is to be written there"
    elif path.exists() and not path.is_file():
        words = "is no ordinary file"
    elif path.exists() and not path.stat().st_mode & _WRITABLE:
        words = "is write-protected"
    return Finding(words, file=str(path), hint="name another `--out`") if words else None


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Do what is short and must be whole, then heed the Ctrl-C that came meanwhile."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[tuple[int, FrameType | None]] = []
    heeding = signal.signal(signal.SIGINT, lambda *one: came.append(one))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, heeding)
    if came and callable(heeding):
        heeding(*came[0])


def _holds(path: Path, text: str | bytes) -> bool:
    content = text.encode() if isinstance(text, str) else text
    try:
        return path.is_file() and path.read_bytes() == content
    except OSError:
        return False
