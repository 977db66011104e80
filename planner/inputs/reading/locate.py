"""Finds the files to read: shipped ones, given ones, and those that a scenario uses."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple, get_args

from planner.errors import Finding, InputError
from planner.inputs.base import Frozen
from planner.inputs.reading.diagnostics import Attempts
from planner.inputs.reading.document import YamlDocument
from planner.inputs.reading.reader import read_document
from planner.inputs.text import nearest

MODEL_TYPES, PRODUCT_NAMES = "model-types.yaml", "product-names.yaml"
"""A file in the catalog's folder that is not part of it: how configurations and inventories are
read."""
_NO_FACTS = {MODEL_TYPES, PRODUCT_NAMES}

FolderKind = Literal["catalog", "rules", "scenarios"]


def shipped(kind: FolderKind) -> Path:
    """Return the folder of the shipped catalog, rules or scenarios.

    Raises InputError if it is gone.
    """
    package = Path(__file__).resolve().parents[2]
    for folder in (package / "_data" / kind, package.parent / kind):
        if folder.is_dir():
            return folder
    raise InputError(
        Finding(f"the shipped {kind} folder is missing", hint="install gpu-fit-planner again")
    )


class InputFile(Frozen):
    """A file that shaped the plan."""

    role: Literal["scenario", "base", "catalog", "rules", "measured", "placement"]
    """`base`: a scenario that the scenario extends; `placement`: an earlier plan, whose units run
    today."""
    path: str
    """As named on the command line, or seen from the scenario's folder; shipped files by their
    name alone."""
    sha256: str
    """Of its bytes; of a scenario and its bases what they state, whatever the order of their keys,
    their remarks and line ends."""
    location: Path | None = None
    """Where it was read, so that no output overwrites it; it stands in no output itself."""


Role = Literal["catalog", "rules"]
UsedRole = Literal["catalog", "rules", "measured"]
"""Kinds of files that a scenario may name; measured runs do not ship."""
USED: Final = get_args(UsedRole)

AS_DICT, AS_TEXT = "<dict>", "<text>"
"""Stands for the file of a scenario that was not read from one."""
_SUFFIXES = (".yaml", ".yml")
_MOST_INSIDE = 10_000
"""The most files or folders below a named folder: more is no catalog, but a disk."""


class Located(NamedTuple):
    """A file to read."""

    path: Path
    shown_as: str
    """The name for messages: what an editor can open from here."""
    name: str
    """The name for the plan: as given on the command line, or seen from the scenario's folder."""
    group: str
    """Files of one group (one folder) must not define the same thing twice."""
    named_at: tuple[str | int, ...] = ()
    """Where the scenario names it; empty if the command line does."""

    def record(self, role: UsedRole, sha256: str) -> InputFile:
        """Return what a plan records of it."""
        return InputFile(role=role, path=self.name, sha256=sha256, location=self.path)


def shipped_files(role: Role) -> list[Located]:
    """Return the planner's own files, sorted by name."""
    folder = shipped(role)
    found = _inside(folder, role)
    return [Located(path, name, name, role) for path, name in found if path.name not in _NO_FACTS]


def given_files(paths: Sequence[Path]) -> list[Located]:
    """Return the files named on the command line; a folder stands for its YAML files, sorted."""
    found: list[Located] = []
    findings: list[Finding] = []
    for path in paths:
        if not path.is_dir():
            found.append(Located(path, str(path), str(path), str(path)))
            continue
        try:
            inside = [Located(file, name, name, str(path)) for file, name in _inside(path, path)]
        except InputError as error:
            findings += error.findings
            continue
        if not inside:
            findings.append(Finding("holds no YAML file (*.yaml, *.yml)", file=str(path)))
        found += inside
    if findings:
        raise InputError(*findings, known=found)
    return found


def named_twice(
    files: Sequence[Located], scenario: YamlDocument | None = None
) -> Iterator[Finding]:
    """Find files that are named again, whatever name is used."""
    met: dict[tuple[int, int], Located] = {}
    for file in files:
        try:
            status = file.path.stat()
        except OSError:
            continue
        first = met.setdefault((status.st_dev, status.st_ino), file)
        if first is file:
            continue
        message, hint = f"is the same file as {first.shown_as}", "name it once"
        if file.named_at and scenario is not None:
            yield scenario.finding(file.named_at, f"{file.name!r} {message}", hint)
        else:
            yield Finding(message, file=file.shown_as, hint=hint)


def _inside(folder: Path, shown_as: Path | str) -> Iterator[tuple[Path, str]]:
    """Yield every YAML file below a folder with its shown name, sorted by that name."""
    start = len(os.path.join(folder, ""))  # noqa: PTH118 - as below, also of `.`
    shown = Path(shown_as).as_posix()
    files: list[str] = []
    for number, (root, _, names) in enumerate(os.walk(folder)):
        files += (
            os.path.join(root, name)[start:].replace(os.sep, "/")  # noqa: PTH118 - hundreds of files
            for name in names
            if name.endswith(_SUFFIXES)
        )
        if max(number, len(files)) >= _MOST_INSIDE:
            message = f"holds {_MOST_INSIDE:,} folders or YAML files and more"
            raise InputError(Finding(message, file=shown, hint="name the folder of these alone"))
    for file in sorted(files):
        yield folder / file, f"{shown}/{file}"


def used_files(
    scenario: YamlDocument, folder: Path, role: UsedRole, *, whole: bool = False
) -> list[Located]:
    """Return the files that the scenario names under `use:`, inside the folder of their namer.

    `folder` is that of the scenario, and of names which no file states. Of a `whole` scenario, a
    name may rise to the folder above, where a base may lie. Raises InputError for absolute paths,
    `..`, links that lead out, addresses and what is no file.
    """
    names = scenario.section("use").get(role)
    found: list[Located] = []
    findings: list[Finding] = []
    for position, name in enumerate(names if isinstance(names, tuple) else ()):
        if not isinstance(name, str):
            continue
        at = ("use", role, position)
        beside, below = _namers_folder(scenario, folder, at), name
        if whole and name.startswith(_ABOVE):
            beside, below = Path(os.path.normpath(folder / os.pardir)), name.removeprefix(_ABOVE)
        sort = "table" if role == "measured" else "YAML file"
        fault = fault_of_path(beside, below, "the scenario", sort)
        if fault is None:
            shown = str(beside / below)
            seen = _seen_from(folder, beside, below)
            found.append(Located(beside / below, shown, seen, shown, at))
        else:
            findings.append(scenario.finding(at, *fault))
    if findings:
        raise InputError(*findings, known=found)
    return found


_ABOVE = "../"


def _namers_folder(scenario: YamlDocument, folder: Path, at: tuple[str | int, ...]) -> Path:
    namer = scenario.origin(at).path
    return namer.parent if namer else folder


def _seen_from(folder: Path, beside: Path, name: str) -> str:
    if beside == folder:
        return name
    return Path(os.path.relpath(beside / name, folder)).as_posix()


def names_from(scenario: YamlDocument, folder: Path) -> dict[str, Any]:
    """Return what the scenario says, its names of files as one file in this folder states them."""
    use: dict[str, Any] = {
        role: tuple(
            _seen_from(folder, _namers_folder(scenario, folder, ("use", role, position)), name)
            for position, name in enumerate(names)
        )
        for role, names in scenario.section("use").items()
    }
    return {**scenario.data, "use": use} if use else scenario.data


def fault_of_path(folder: Path, name: str, namer: str, sort: str) -> tuple[str, str | None] | None:
    """Say what is wrong with a file name that `namer` gives, and what mends it.

    A file may only name files of its own folder, spelled as on disk.
    """
    if "://" in name:
        return f"{name!r} is an address, only files are read", f"save it beside {namer}"
    path = Path(name)
    if path.is_absolute() or ".." in path.parts:
        return (
            f"{name!r} leads out of {namer}'s folder",
            f"put the file beside {namer}, or name it with an option of the command line",
        )
    if fault := _case_fault(folder, path):
        return fault
    resolved = (folder / path).resolve()
    if not resolved.is_relative_to(folder.resolve()):
        return f"{name!r} is a link that leads out of {namer}'s folder", None
    if not resolved.is_file():
        return f"{name!r} is not an ordinary file", f"name each {sort} by itself"
    return None


def _case_fault(folder: Path, path: Path) -> tuple[str, str | None] | None:
    """Find parts that are not spelled as on disk, even if the file system ignores case."""
    here = folder
    for place, part in enumerate(path.parts):
        try:
            beside = sorted(entry.name for entry in here.iterdir())
        except OSError:
            beside = []
        if part not in beside:
            before, after = path.parts[:place], path.parts[place + 1 :]
            meant = [str(Path(*before, name, *after)) for name in nearest(part, beside, most=1)]
            return f"{str(path)!r}: no such file", f"did you mean {meant[0]!r}?" if meant else None
        here /= part
    return None


def open_documents(
    files: Sequence[Located], role: Role, attempts: Attempts
) -> list[tuple[Located, YamlDocument, InputFile]]:
    """Read the files as far as possible; `attempts` collect the mistakes of all of them."""
    found = []
    for file in files:
        document = attempts.known(partial(read_document, file.path, shown_as=file.shown_as))
        if document is not None:
            found.append((file, document, file.record(role, document.sha256)))
    return found
