"""Prints a page to PDF, where WeasyPrint is installed."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from planner.errors import Finding, InputError

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["printer"]


def printer() -> Callable[[str], bytes]:
    """Prints a page as a PDF; raises InputError where WeasyPrint or its libraries are missing."""
    try:
        from weasyprint import HTML  # noqa: PLC0415 - an extra, and slow to load
    except (ImportError, OSError):
        raise InputError(
            Finding(
                "`--pdf` needs WeasyPrint, which is not installed here",
                hint="pip install 'gpu-fit-planner[pdf]', or print the HTML file from a browser",
            )
        ) from None

    def print_page(html: str) -> bytes:
        printed: bytes = HTML(string=html, url_fetcher=_fetch).write_pdf()
        return printed

    return print_page


def _fetch(url: str) -> NoReturn:
    """A page needs nothing that is not in it."""
    raise ValueError(url)
