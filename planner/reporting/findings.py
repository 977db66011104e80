"""Draws what went wrong, in plain text: place, message, the line with a caret, and a hint.

It loads neither rich nor any other room, so that a refusal is as fast as the reading of the file.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from planner.errors import (
    CheckError,
    DisagreementError,
    Finding,
    InfeasibleError,
    InputError,
    PlannerError,
)
from planner.reporting.format import ascii_only, cells_of, count_of, visible

_MOST_SHOWN = 200
_WIDEST_SOURCE_LINE = 120
_CONTEXT_BEFORE = 60
_LONG_WORD = re.compile(r"\S{201,}")
_LONGEST_MESSAGE = 2000


@dataclass(frozen=True, slots=True)
class Styler:
    """What standard error can show."""

    colour: bool = False
    unicode: bool = True
    width: int = _WIDEST_SOURCE_LINE
    """Cells of a line; a longer line of a file is shown around the mistake alone."""

    def red(self, text: str) -> str:
        """An error word."""
        return self._paint("1;31", text)

    def cyan(self, text: str) -> str:
        """A hint word or a place in a file."""
        return self._paint("36", text)

    def finish(self, lines: Sequence[str]) -> str:
        """The lines as one text in what the output can show."""
        text = "\n".join(lines) + "\n"
        return text if self.unicode else ascii_only(text)

    def _paint(self, code: str, text: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self.colour else text


def render_error(error: PlannerError, pen: Styler) -> str:
    """Any error a user can cause, as they read it."""
    if isinstance(error, InputError):
        return render_findings(error.findings, pen)
    word, headline = "error", str(error)
    lines: Sequence[str] = ()
    hints: Sequence[str] = ()
    if isinstance(error, InfeasibleError):
        word, headline, lines, hints = "infeasible", error.headline, error.reasons, error.remedies
    elif isinstance(error, CheckError):
        headline, hint = _unverified(error)
        lines, hints = tuple(map(_short, error.violations[:_MOST_SHOWN])), (hint,)
    elif isinstance(error, DisagreementError):
        headline, lines = f"{error.headline}, so nothing is printed as a plan", error.reasons
        files = " and ".join(error.files)
        hints = (
            f"{files} hold the program and every answer; `planner doctor` says whether this "
            "installation can be trusted",
        )
    told = "\n".join(visible(line) for line in headline.splitlines())
    return pen.finish(
        [
            f"{pen.red(f'{word}:')} {told}",
            *(f"  {visible(line)}" for line in lines),
            *(f"{pen.cyan('hint:')} {visible(hint)}" for hint in hints),
        ]
    )


def _unverified(error: CheckError) -> tuple[str, str]:
    """What failed the check, and what to do about it."""
    ending = "it is neither printed nor written"
    hint = "this is a fault of the planner, not of your files: report it with the scenario"
    if error.file:
        ending = "nothing is drawn from it"
        hint = "it was edited, or made by another version: plan the scenario again"
    count = count_of(len(error.violations), "disagreement")
    return f"{error.file or 'the plan'} failed its independent check ({count}), so {ending}", hint


def render_findings(findings: Sequence[Finding], pen: Styler) -> str:
    """Each mistake with its place, as many as anybody reads, then how many there are."""
    lines: list[str] = []
    for finding in findings[:_MOST_SHOWN]:
        lines += [*_finding(finding, pen), ""]
    files = {finding.file for finding in findings if finding.file}
    where = f" in {count_of(len(files), 'file')}" if len(files) > 1 else ""
    shown = f"; the first {_MOST_SHOWN} are shown" if len(findings) > _MOST_SHOWN else ""
    lines.append(f"{count_of(len(findings), 'mistake')}{where}{shown}")
    return pen.finish(lines)


def _finding(finding: Finding, pen: Styler) -> list[str]:
    finding = replace(finding, message=_short(finding.message))
    lines = [f"{pen.red('error:')} {visible(finding.headline())}"]
    if finding.source_line is not None and finding.line is not None:
        lines += _source(finding, finding.source_line, pen)
    if finding.hint:
        lines.append(f"{pen.cyan('hint:')} {visible(_short(finding.hint))}")
    return lines


def _short(text: str) -> str:
    """The text with endless words, and itself, cut off: nobody reads them."""
    text = _LONG_WORD.sub(lambda word: f"{word[0][:_CONTEXT_BEFORE]}…", text)
    return text if len(text) <= _LONGEST_MESSAGE else f"{text[:_LONGEST_MESSAGE]}…"


def _source(finding: Finding, source_line: str, pen: Styler) -> list[str]:
    number = str(finding.line)
    margin = " " * len(number)
    room = min(pen.width, _WIDEST_SOURCE_LINE) - len(margin) - len(" | ")
    before, rest = _cut(source_line.rstrip("\r\n"), (finding.column or 1) - 1, max(room, 20))
    lines = [f"{pen.cyan(f'{margin} |')}", f"{pen.cyan(f'{number} |')} {before}{rest}"]
    if finding.column is not None:
        caret = pen.red("^")
        lines.append(f"{pen.cyan(f'{margin} |')} {' ' * cells_of(before)}{caret}")
    return lines


def _cut(line: str, column: int, widest: int) -> tuple[str, str]:
    """What stands before and from the column on, a long line shortened around it."""
    before, rest = line[:column], line[column:]
    if len(line) > widest:
        context = min(_CONTEXT_BEFORE, widest // 2)
        if len(before) > context:
            before = "…" + before[-context:]
        room = max(widest - len(before) - 1, 1)
        rest = rest if len(rest) <= room else rest[:room] + "…"
    return visible(before.replace("\t", " ")), visible(rest.replace("\t", " "))
