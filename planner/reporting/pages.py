"""What a command writes beside its data: a document as Markdown, a page with pictures, a PDF."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import NoReturn

from planner.errors import Finding, InputError
from planner.reporting import markdown
from planner.reporting.document import Document, Heading, Picture
from planner.reporting.html.pictures import picture_file
from planner.reporting.html.render import render


def illustrated(
    name: str, document: Document, pictures: Mapping[str, Picture], title: str
) -> dict[str, str]:
    """`name.md`, `name.html` and an SVG file for each picture, which both show.

    The pictures, by their file names, stand below the opening of the document on the page, and at
    the end of the Markdown.
    """
    shown = "".join(f"\n{markdown.picture(one.title, file)}\n" for file, one in pictures.items())
    return {
        f"{name}.md": markdown.render(document) + shown,
        f"{name}.html": render(with_pictures(document, pictures), title),
        **{file: picture_file(one) for file, one in pictures.items()},
    }


def with_pictures(document: Document, pictures: Mapping[str, Picture]) -> Document:
    """The document with pictures below its opening, and an anchor at each heading."""
    first = next(
        (place for place, one in enumerate(document) if isinstance(one, Heading) and place),
        len(document),
    )
    page = (*document[:first], *pictures.values(), *document[first:])
    return tuple(
        replace(block, anchor=block.anchor or f"part-{place}")
        if isinstance(block, Heading)
        else block
        for place, block in enumerate(page)
    )


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
