"""Applies rules: from what is known to what follows, each figure with the rule that gave it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from planner.errors import Finding, InputError
from planner.inputs.rules.book import PLACEHOLDER, RuleBook
from planner.inputs.rules.expression import Exact, ExpressionError, exact
from planner.inputs.rules.facts import FACTS
from planner.inputs.rules.rule import Rule, RuleInput, Value, value_text

ASSUMED: Final = "assumed"
"""Origin of a value that nobody stated."""


class Known(NamedTuple):
    """A value with its unit and where it comes from."""

    value: Value
    unit: str
    origin: str
    """`job`, `catalog <id>`, `rule <id>`, `scenario`, `assumed` or `none` (no rule speaks)."""


@dataclass(slots=True, eq=False)
class Derivation:
    """A value and how it came about; a plain fact has no rule.

    Never changed once made; not declared frozen, which would cost every sizing a tenth.
    """

    known: Known
    rule: Rule | None = None
    inputs: tuple[tuple[str, Known], ...] = ()
    needs: tuple[Derivation, ...] = ()
    """What rules had to give before: inputs, and conditions that a rule decided."""
    assumed: tuple[str, ...] = ()
    """Assumptions that this step itself makes."""


class _Open(NamedTuple):
    """A rule that the facts of the outermost situation leave open, and what they settled of it."""

    rule: Rule
    conditions: tuple[tuple[str, Callable[[Value | None], bool]], ...]
    """What is still to be decided: names, and what tells whether their value will do."""
    assumed: tuple[str, ...]
    """What nobody stated and the settled conditions rest on."""


_Gathered = tuple[tuple[tuple[str, Known], ...], tuple[Derivation, ...], tuple[str, ...]]
"""Inputs of a rule, what they rest on and what they assume."""

_NOTHING: Final = 9
"""Later than all facts: what a situation adds that adds none."""
_SETTLED: Final[dict[str, int]] = {
    **dict.fromkeys(("weight_bits", "kv_bits", "gradient_accumulation"), 1),
    **dict.fromkeys(("gpus_tried", "gpus_for_memory", "gpus_needed"), 2),
    **{name: 3 for name, fact in FACTS.items() if fact.origin == "gpu"},
    **dict.fromkeys(("concurrency", "prefill_engines", "decode_engines"), 4),
    **dict.fromkeys(("in_flight", "ttft_ms"), 5),
}
"""Facts that one situation adds to another, in the order in which they become known.

What rests on none of them, or on earlier ones alone, is the same in all situations that differ in
later ones, and is derived once for all of these.
"""

_Found = tuple[Derivation | None, int]
"""A derivation, None where unknown, and the latest of `_SETTLED` that it hangs on; 0: on none."""


class Reasoning:
    """What is known in one situation, and what the rules make of it.

    Situations nest: all that holds for a job holds for it on every GPU type, and is derived once.
    """

    def __init__(
        self, book: RuleBook, facts: Mapping[str, Known], parent: Reasoning | None = None
    ) -> None:
        self._book = book
        self._facts = facts
        self._parent = parent
        self._outermost: Reasoning = parent._outermost if parent is not None else self
        self._adds = min((_SETTLED.get(name, 0) for name in facts), default=_NOTHING)
        """The earliest fact that is known here and not around."""
        self._wider: tuple[tuple[Reasoning, int], ...] = ()
        """Situations around this one, each with the earliest fact that is not known there."""
        if parent is not None:
            wider = ((one, min(adds, self._adds)) for one, adds in parent._wider)
            self._wider = ((parent, self._adds), *wider)
        self._opened: dict[str, _Open | None] = {}
        self._givers: dict[str, tuple[_Open, ...]] = {}
        self._held: dict[str, tuple[bool, int]] = {}
        self._derived: dict[str, _Found] = {}

    def within(self, facts: Mapping[str, Known]) -> Reasoning:
        """Reason on with more facts; they may settle what was derived, not restate a fact."""
        return Reasoning(self._book, facts, self)

    def derive(self, name: str) -> Derivation | None:
        """Find a value: a fact, else what the one rule that speaks gives; None where unknown.

        Raises InputError where two rules claim the same value, or a formula cannot be computed.
        """
        return (self._derived.get(name) or self._look_up(name))[0]

    def value(self, name: str) -> Value | None:
        """Just the value, None where unknown."""
        derivation = self.derive(name)
        return None if derivation is None else derivation.known.value

    def number(self, name: str) -> Exact | None:
        """A value that must be a number, None where unknown."""
        value = self.value(name)
        return None if isinstance(value, str | bool) else value

    def holds(self, rule: Rule) -> bool:
        """Whether an exclusion or warning applies: it speaks, and its formula comes out true."""
        for where, adds in ((self, _NOTHING), *self._wider):
            found = where._held.get(rule.id)
            if found is not None and found[1] < adds:
                return found[0]
        found = self._holds(rule)
        self._around(found[1])._held[rule.id] = self._held[rule.id] = found
        return found[0]

    def _holds(self, rule: Rule) -> tuple[bool, int]:
        held = self._outermost._open(rule)
        if held is None:
            return False, 0
        speaks, latest = self._speaks(held)
        if not speaks or rule.expression is None:
            return speaks, latest
        gathered, later = self._gather(held)
        return gathered is not None and bool(_evaluate(rule, gathered[0])), max(latest, later)

    def _look_up(self, name: str) -> _Found:
        """What was derived around here and is the same here; else derive it."""
        for around, adds in self._wider:
            known = around._derived.get(name)
            if known is not None and known[1] < adds:
                self._derived[name] = known
                return known
        found = self._find(name)
        self._around(found[1])._derived[name] = self._derived[name] = found
        return found

    def _around(self, latest: int) -> Reasoning:
        """The widest situation in which all is the same that hangs on facts up to this one."""
        where = self
        while where._parent is not None and latest < where._adds:
            where = where._parent
        return where

    def fill(self, message: str) -> str:
        """Write a message with its {facts} filled in."""

        def put(name: str) -> str:
            value = self.value(name)
            return "an unknown number of" if value is None else _told(value)

        return PLACEHOLDER.sub(lambda match: put(match[1]), message)

    def changes_here(self, name: str) -> bool:
        """Whether a result hangs on what is known here and not around."""
        self.derive(name)
        return self._derived[name][1] >= self._adds

    def given_alike(self, name: str) -> bool:
        """Whether one rule gives it here, whatever the values of what is known here alone."""
        speaking, latest = self._speaking(name)
        return len(speaking) == 1 and latest < self._adds

    def why_unknown(self, name: str) -> str:
        """Say what is missing: the first name on the way that nobody gives."""
        for rule in self.applicable(name):
            for needed, declared in rule.inputs.items():
                stands_in = declared.default is not None or declared.otherwise is not None
                if self.derive(needed) is None and not stands_in:
                    return self.why_unknown(needed)
        return name

    def step_of(self, rule: Rule) -> Derivation | None:
        """Derive what this rule itself gives, whatever others say; for its examples."""
        opened = self._outermost._open(rule)
        return self._apply(opened)[0] if opened else None

    def _find(self, name: str) -> _Found:
        latest = _SETTLED.get(name, 0)
        where: Reasoning | None = self
        while where is not None:
            if name in where._facts:
                return Derivation(where._facts[name]), latest if where._parent is not None else 0
            where = where._parent
        speaking, later = self._speaking(name)
        latest = max(latest, later)
        if not speaking:
            return None, latest
        if len(speaking) > 1:
            derivation, later = self._largest_floor(name, speaking)
        else:
            derivation, later = self._apply(speaking[0])
        return derivation, max(latest, later)

    def applicable(self, name: str) -> tuple[Rule, ...]:
        """Rules that give `name` and speak here; a fallback only where it is alone."""
        return tuple(one.rule for one in self._speaking(name)[0])

    def _speaking(self, name: str) -> tuple[Sequence[_Open], int]:
        """Rules that give a name and speak, and the latest fact that decides which."""
        speaking, latest = [], 0
        for opened in self._outermost._giving(name):
            speaks, later = self._speaks(opened)
            latest = max(latest, later)
            if speaks:
                speaking.append(opened)
        if len(speaking) > 1:
            speaking = [one for one in speaking if not one.rule.fallback] or speaking
        return speaking, latest

    def _speaks(self, opened: _Open) -> tuple[bool, int]:
        latest = 0
        for name, holds in opened.conditions:
            derivation, later = self._derived.get(name) or self._look_up(name)
            latest = max(latest, later)
            if not holds(None if derivation is None else derivation.known.value):
                return False, latest
        return True, latest

    def _giving(self, name: str) -> tuple[_Open, ...]:
        """Rules that give `name` and that no fact of this outermost situation has silenced."""
        if name not in self._givers:
            opened = (self._open(rule) for rule in self._book.giving(name))
            self._givers[name] = tuple(one for one in opened if one is not None)
        return self._givers[name]

    def _open(self, rule: Rule) -> _Open | None:
        """What the facts of this outermost situation leave of a rule; None if they silence it."""
        if rule.id not in self._opened:
            self._opened[rule.id] = self._settle(rule)
        return self._opened[rule.id]

    def _settle(self, rule: Rule) -> _Open | None:
        conditions: list[tuple[str, Callable[[Value | None], bool]]] = []
        assumed: list[str] = []
        for name, condition in rule.applies.items():
            known = self._facts.get(name)
            if known is None:
                conditions.append((name, condition.holds))
            elif not condition.holds(known.value):
                return None
            elif known.origin == ASSUMED:
                assumed.append(_left_open(name, known))
        return _Open(rule, tuple(conditions), tuple(assumed))

    def _largest_floor(self, name: str, speaking: Sequence[_Open]) -> _Found:
        """Several floors may hold at once, the largest counts; anything else is a contradiction."""
        if any(one.rule.kind != "floor" for one in speaking):
            clash = " and ".join(one.rule.id for one in speaking)
            raise InputError(
                Finding(
                    f"{name} is given by {clash}, which both apply here",
                    path=speaking[0].rule.id,
                    hint="narrow `applies` of one of them, or replace a rule by its id",
                )
            )
        applied = [self._apply(one) for one in speaking]
        latest = max(later for _, later in applied)
        floors = [floor for floor, _ in applied if floor is not None]
        if not floors:
            return None, latest
        largest = max(floors, key=lambda floor: floor.known.value)
        others = tuple(floor for floor in floors if floor is not largest)
        needs = largest.needs + others
        found = Derivation(largest.known, largest.rule, largest.inputs, needs, largest.assumed)
        return found, latest

    def _apply(self, opened: _Open) -> _Found:
        gathered, latest = self._gather(opened)
        if gathered is None:
            return None, latest
        rule = opened.rule
        inputs, needs, assumed = gathered
        known = Known(_evaluate(rule, inputs), rule.gives_unit, f"rule {rule.id}")
        if rule.basis in ("assumption", "estimate") and rule.kind != "policy":
            assumed = (f"{rule.title} ({rule.id})", *assumed)
        return Derivation(known, rule, inputs, needs, assumed), latest

    def _gather(self, opened: _Open) -> tuple[_Gathered | None, int]:
        """What goes into a rule, None if a figure is unknown, and the latest fact behind it."""
        inputs: list[tuple[str, Known]] = []
        needs: list[Derivation] = []
        assumed = list(opened.assumed)
        latest = 0
        for name, _ in opened.conditions:
            decided, later = self._derived.get(name) or self._look_up(name)
            latest = max(latest, later)
            if decided is not None and decided.rule is not None:
                needs.append(decided)
        for name, declared in opened.rule.inputs.items():
            derivation, later = self._derived.get(name) or self._look_up(name)
            latest = max(latest, later)
            if derivation is None:
                known = _stand_in(declared)
                if known is None:
                    return None, latest
                if known.origin == ASSUMED:
                    meaning = declared.meaning or name
                    assumed.append(f"{meaning} {value_text(known.value)} ({opened.rule.id})")
            else:
                known = derivation.known
                if derivation.rule is not None:
                    needs.append(derivation)
                elif known.origin == ASSUMED:
                    assumed.append(_left_open(name, known))
            inputs.append((name, known))
        return (tuple(inputs), tuple(needs), tuple(assumed)), latest


def _left_open(name: str, known: Known) -> str:
    return f"{FACTS[name].meaning}: {value_text(known.value)} (the job leaves it open)"


def _told(value: Value) -> str:
    """Round as one would in a sentence: `4,096`, `1,185.3`, `28.6`, `0.125`."""
    if isinstance(value, str | bool):
        return value_text(value)
    if value.denominator == 1:
        return f"{value.numerator:,}"
    figure = float(value)
    return f"{figure:,.1f}" if abs(figure) >= 100 else f"{figure:.3g}"


def _stand_in(declared: RuleInput) -> Known | None:
    if declared.default is not None:
        return Known(exact(declared.default), declared.unit, ASSUMED)
    if declared.otherwise is not None:
        return Known(exact(declared.otherwise), declared.unit, "none")
    return None


def _evaluate(rule: Rule, inputs: Iterable[tuple[str, Known]]) -> Exact | bool:
    if rule.expression is None:
        return exact(rule.value) if rule.value is not None else True
    try:
        figures = {name: known.value for name, known in inputs}
        return rule.expression.evaluate(figures)  # type: ignore[arg-type] # rules take numbers only
    except ExpressionError as error:
        raise InputError(Finding(f"the formula {error}", path=rule.id)) from None
