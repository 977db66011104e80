"""Errors that a user can cause, as one tree.

PlannerError                 one clear sentence, no traceback; carries its exit code
├── InputError         (2)   one or more findings in files or options, each with its place
├── InfeasibleError    (3)   proved: no plan exists; carries the reasons
├── LimitError         (4)   a limit was hit before any plan was found
├── CheckError         (5)   the answer failed the independent check; nothing is printed as a plan
└── DisagreementError  (5)   another solver refutes what was proved; nothing is printed as a plan
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum


class ExitCode(IntEnum):
    """What the process tells its caller."""

    PROVED = 0
    DIFFERENT = 1
    INPUT = 2
    INFEASIBLE = 3
    LIMIT = 4
    UNVERIFIED = 5
    INTERRUPTED = 130


@dataclass(frozen=True, slots=True)
class Finding:
    """One mistake, its place, and what would mend it."""

    message: str
    """What was found and what is allowed, without a full stop."""
    file: str | None = None
    line: int | None = None
    """1-based."""
    column: int | None = None
    """1-based."""
    path: str | None = None
    """The dotted path in the file, such as `jobs.chat.tune.method`."""
    source_line: str | None = None
    """The line as written, for the caret."""
    hint: str | None = None

    def headline(self) -> str:
        """Return `file:line:column: path: message`, leaving out what is unknown."""
        place = ":".join(str(part) for part in (self.file, self.line, self.column) if part)
        return ": ".join(part for part in (place, self.path, self.message) if part)

    def __str__(self) -> str:
        """Return the headline, and below it the hint."""
        return "\n  hint: ".join(filter(None, (self.headline(), self.hint)))


class PlannerError(Exception):
    """Base of all errors a user can cause; `str()` is what they read."""

    exit_code: ExitCode = ExitCode.INPUT


class InputError(PlannerError):
    """The inputs are refused; it carries all mistakes at once."""

    exit_code = ExitCode.INPUT

    def __init__(self, *findings: Finding, known: object = None) -> None:
        super().__init__("\n".join(map(str, findings)))
        self.findings = findings
        self.known = known
        """What could be read in spite of the mistakes; None: nothing."""


def refuse(findings: Iterable[Finding]) -> None:
    """Raise InputError if there are any findings."""
    if found := list(findings):
        raise InputError(*found)


class InfeasibleError(PlannerError):
    """No plan exists: which job, on which limit, by how much, and what would mend it."""

    exit_code = ExitCode.INFEASIBLE

    def __init__(
        self,
        headline: str,
        reasons: tuple[str, ...],
        remedies: tuple[str, ...] = (),
        lacking: tuple[str, ...] = (),
    ) -> None:
        super().__init__("\n".join((headline, *reasons, *remedies)))
        self.headline = headline
        self.reasons = reasons
        self.remedies = remedies
        self.lacking = lacking
        """Jobs without room, chosen so that the fewest GPUs are."""

    @property
    def cause(self) -> str:
        """Return the headline without its opening: what prevents a plan."""
        return self.headline.removeprefix("no plan exists: ")


class LimitError(PlannerError):
    """A limit was hit and there is no plan to show: neither found nor proved infeasible."""

    exit_code = ExitCode.LIMIT


class CheckError(PlannerError):
    """The independent check disagrees with the answer; it carries every disagreement."""

    exit_code = ExitCode.UNVERIFIED

    def __init__(self, violations: tuple[str, ...], file: str | None = None) -> None:
        whose = file or "the plan"
        super().__init__(f"{whose} failed its independent check\n" + "\n".join(violations))
        self.violations = violations
        self.file = file
        """Where the plan was saved; None: it was just made."""


class DisagreementError(PlannerError):
    """Another solver found a solution although the first one proved that there is none."""

    exit_code = ExitCode.UNVERIFIED

    def __init__(self, headline: str, reasons: tuple[str, ...], files: dict[str, str]) -> None:
        super().__init__("\n".join((headline, *reasons)))
        self.headline = headline
        self.reasons = reasons
        self.files = files
        """By name, the program and each solver's answer, for an investigation."""


class PlannerWarning(UserWarning):
    """Something that a user should know and that stops nothing."""
