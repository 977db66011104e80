"""The base class of all results: summary, rows, pages and files."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from os import PathLike
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeAlias

from pydantic import BaseModel

from planner.errors import Finding, InputError, PlannerWarning
from planner.planning.files import Folder
from planner.reporting import html, markdown
from planner.reporting.document import (
    Column,
    Document,
    Heading,
    Paragraph,
    Table,
)

FilePath: TypeAlias = str | PathLike[str]
Progress: TypeAlias = "Callable[[str], None] | None"
"""Is told what is being done, in words that change with any version."""
Row: TypeAlias = dict[str, Any]
"""Column and value: text, a number, True or False, or None where there is none."""

_PAGE = 100
"""Cells of a line of text."""


class Result:
    """Something that was found out: `repr()` says it in short, a notebook shows it as a page."""

    title: str
    """What its page is called."""
    read_from: tuple[Path, ...]
    """Files that it was made from: `write` overwrites none of them."""
    _name = ""
    """Of its files, without a suffix."""
    _found: Any
    """What the rooms behind this API found out."""

    def __init__(self, title: str, found: object = None, read_from: tuple[Path, ...] = ()) -> None:
        """Private: functions of `planner` give results."""
        self.title, self._found, self.read_from = title, found, read_from

    @property
    def summary(self) -> tuple[str, ...]:
        """What matters most, in one to five lines: what its page says in bold."""
        told = (one for one in self._document() if isinstance(one, Paragraph))
        return tuple(one.text.removesuffix(".") for one in told if one.tone == "strong")

    def rows(self) -> list[Row]:
        """The figures as flat records, all with the same keys; of files, a row for each."""
        return [
            {"file": name, "bytes": len(text if isinstance(text, bytes) else text.encode())}
            for name, text in self.files().items()
        ]

    def _document(self) -> Document:
        """All of it: its summary and its rows, unless there is more to say."""
        rows, told = self.rows(), (Paragraph(f"{line}.") for line in self.summary)
        names = (
            f"{key[:1].upper()}{key[1:]}".replace("_", " ") for key in (rows[0] if rows else ())
        )
        cells = tuple(tuple("" if v is None else str(v) for v in row.values()) for row in rows)
        return (Heading(self.title, 1), *told, Table(tuple(map(Column, names)), cells))

    def _on_screen(self) -> Document:
        """As much as anybody reads on a screen."""
        return self._document()

    def _brief(self) -> Document:
        """What a notebook shows."""
        return self._on_screen()

    def __repr__(self) -> str:
        """One to five lines."""
        first, *rest = self.summary
        return "\n  ".join((f"<{type(self).__name__} {self.title!r}: {first}>", *rest))

    def _repr_html_(self) -> str:
        """A part of a page, with its own style, as notebooks show it."""
        return html.fragment(self._brief(), self.title)

    def to_text(
        self,
        *,
        width: int = _PAGE,
        colour: bool = False,
        unicode: bool = True,
        brief: bool = False,
    ) -> str:
        """The result as the terminal shows it, on lines of `width` cells, or `brief`ly."""
        from planner.reporting import terminal  # noqa: PLC0415 - `check` needs no rich

        look = terminal.TerminalOptions(width=width, colour=colour, unicode=unicode)
        return terminal.render(self._brief() if brief else self._on_screen(), look)

    def to_html(self) -> str:
        """The whole result as a page that needs no network."""
        return html.render(self._on_page(), self.title)

    def to_part(self, links: Mapping[str, str] = MappingProxyType({})) -> tuple[str, str]:
        """The whole result as a part of a page, and a list of links to its sections, as HTML.

        `planner.page_files()` is its style and script. `links` are addresses of what the page may
        lead to, by anchor: `job-3` is the third of `jobs` of a plan, `low-3` and `high-3` are the
        ends of the third row of a sensitivity.
        """
        content, sections = html.part(self._on_page(), self.title, links)
        return str(content), str(sections)

    def _on_page(self) -> Document:
        """What a page shows."""
        return self._document()

    def to_markdown(self) -> str:
        """The whole result as Markdown."""
        return markdown.render(self._document())

    def to_json(self) -> str:
        """The whole result as JSON, as the command of the same name writes it; else its rows."""
        if isinstance(self._found, BaseModel):
            return self._found.model_dump_json(indent=1) + "\n"
        return json.dumps(self.rows(), indent=1, default=str) + "\n"

    def to_dict(self) -> Any:  # noqa: ANN401 - whatever JSON can hold
        """What `to_json` writes, as plain data."""
        return json.loads(self.to_json())

    def to_pandas(self) -> Any:  # noqa: ANN401 - pandas need not be installed
        """The rows as a pandas DataFrame; raises ImportError where pandas is not installed."""
        return self._frame("pandas")

    def to_polars(self) -> Any:  # noqa: ANN401 - polars need not be installed
        """The rows as a polars DataFrame; raises ImportError where polars is not installed."""
        return self._frame("polars", infer_schema_length=None)

    def _frame(self, library: str, **options: object) -> Any:  # noqa: ANN401 - theirs
        try:
            frames = import_module(library)
        except ImportError:
            message = (
                f"to_{library}() needs {library}, which is not installed: pip install {library}"
            )
            raise ImportError(message, name=library) from None
        return frames.DataFrame(self.rows(), **options)

    def files(self) -> dict[str, str | bytes]:
        """Its files by name, as `--out` of the command of the same name writes them."""
        document = self._document()
        return {
            f"{self._name}.json": self.to_json(),
            f"{self._name}.md": markdown.render(document),
            f"{self._name}.html": html.render(document, self.title),
        }

    def write(self, directory: FilePath, *, overwrite: bool = False) -> tuple[Path, ...]:
        """Write the files into a directory, made if needed, and return their paths.

        Raises InputError, before anything is written, for files that are there already unless
        `overwrite`, for an input of this result in any case, and where nothing can be written.
        """
        return Folder(Path(directory), overwrite).write(self.files(), self.read_from)


def page_files() -> dict[str, str]:
    """Style and script of every page, as files beside one's own page with parts of results.

    >>> import planner
    >>> sorted(planner.page_files())
    ['page.css', 'page.js']
    """
    return {"page.css": html.style(), "page.js": html.script()}


def paths(given: FilePath | Sequence[FilePath]) -> tuple[Path, ...]:
    """One path or several, as paths."""
    several = (given,) if isinstance(given, str | PathLike) else given
    return tuple(map(Path, several))


def require(fits: bool, name: str, value: object, needed: str) -> None:
    """Raise InputError for an argument that does not fit."""
    if not fits:
        shown = repr(value) if isinstance(value, str) else value
        raise InputError(Finding(f"{shown} is not {needed}", path=name))


def warn(sentence: str) -> None:
    """Tell of something that stops nothing."""
    warnings.warn(sentence, PlannerWarning, stacklevel=3)
