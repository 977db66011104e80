"""What all tests share in a process: shipped files are read once; drawn examples have no clock.

Most tests plan in less time than reading the shipped files takes. What tests start as processes
reads them each time, as users do.
"""

from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any
from unittest import mock

from hypothesis import settings

from planner.inputs.catalog.merged import merged_catalog
from planner.inputs.reading.locate import Located
from planner.inputs.reading.reader import read_document
from planner.inputs.rules.book import gathered_rules
from planner.sizing.sizers import Sizers

ROOT = Path(__file__).parents[1]

settings.register_profile("any machine", deadline=None)
settings.load_profile("any machine")


def _shipped(path: Path) -> bool:
    return any(path.is_relative_to(ROOT / folder) for folder in ("catalog", "rules"))


def _document_once(read: Callable[..., Any]) -> Callable[..., Any]:
    kept = cache(read)
    return lambda path, **how: (kept if _shipped(path) else read)(path, **how)


def _merged_once(merged: Callable[[tuple[Located, ...]], Any]) -> Callable[..., Any]:
    kept = cache(merged)

    def once(files: Sequence[Located]) -> Any:
        return (kept if all(_shipped(file.path) for file in files) else merged)(tuple(files))

    return once


mock.patch("planner.inputs.reading.locate.read_document", _document_once(read_document)).start()
mock.patch("planner.inputs.load.merged_catalog", _merged_once(merged_catalog)).start()
mock.patch("planner.inputs.load.gathered_rules", _merged_once(gathered_rules)).start()


# Jobs are sized once for many plans and their checks, as variants of one scenario are.


def _sized_once(sizer: Callable[..., Any]) -> Callable[..., Any]:
    one = Sizers()
    return lambda _, inputs, gpu_types: sizer(one, inputs, gpu_types)


mock.patch.object(Sizers, "sizer", _sized_once(Sizers.sizer)).start()
