"""Prints a page to PDF, where WeasyPrint is installed."""

from __future__ import annotations

from typing import NoReturn

from planner.errors import Finding, InputError

__all__ = ["print_page"]


def print_page(html: str) -> bytes:
    """The page as a PDF; raises InputError where WeasyPrint or its libraries are missing."""
    try:
        from weasyprint import HTML  # noqa: PLC0415 - an extra, and slow to load
    except (ImportError, OSError):
        raise InputError(
            Finding(
                "`--pdf` needs WeasyPrint, which is not installed here",
                hint="pip install 'gpu-fit-planner[pdf]', or print the HTML file from a browser",
            )
        ) from None
    printed: bytes = HTML(string=html, url_fetcher=_fetch).write_pdf()
    return printed


def _fetch(url: str) -> NoReturn:
    """A page needs nothing that is not in it."""
    raise ValueError(url)
