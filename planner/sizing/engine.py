"""Applies rules: from what is known to what follows, each figure with the rule that gave it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

from planner.errors import Finding, InputError
from planner.inputs.rules.book import PLACEHOLDER
from planner.inputs.rules.expression import ExpressionError, exact
from planner.inputs.rules.facts import FACTS
from planner.inputs.rules.rule import Value, value_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from planner.inputs.rules.book import RuleBook
    from planner.inputs.rules.expression import Exact
    from planner.inputs.rules.rule import Rule, RuleInput

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
    names: frozenset[str]
    """All that is still asked for."""


class Reasoning:
    """What is known in one situation, and what the rules make of it.

    Situations nest: all that holds for a job holds for it on every GPU type, and is derived once.
    `vocabulary` names what this layer may know; everything that depends on it is derived here.
    """

    def __init__(
        self,
        book: RuleBook,
        facts: Mapping[str, Known],
        *,
        vocabulary: frozenset[str] = frozenset(),
        parent: Reasoning | None = None,
    ) -> None:
        self._book = book
        self._facts = facts
        self._parent = parent
        self._outermost: Reasoning = parent._outermost if parent is not None else self
        self._settled: frozenset[str] = frozenset(facts.keys() & book.by_result.keys())
        self._opened: dict[str, _Open | None] = {}
        self._givers: dict[str, tuple[_Open, ...]] = {}
        self._changing: dict[tuple[frozenset[str], frozenset[str]], frozenset[str]] = {}
        self._own: frozenset[str] = frozenset()
        if parent is not None:
            self._own = parent._change(vocabulary.union(facts))
            self._settled |= parent._settled
        self._held: dict[str, bool] = {}
        self._derived: dict[str, Derivation | None] = {}

    def within(self, facts: Mapping[str, Known], vocabulary: frozenset[str]) -> Reasoning:
        """Reason on with more facts; they may settle what was derived, not restate a fact."""
        return Reasoning(self._book, facts, vocabulary=vocabulary, parent=self)

    def derive(self, name: str) -> Derivation | None:
        """Find a value: a fact, else what the one rule that speaks gives; None where unknown.

        Raises InputError where two rules claim the same value, or a formula cannot be computed.
        """
        derived = self._derived
        if name in derived:
            return derived[name]
        where = self
        while where._parent is not None and name not in where._own:
            where = where._parent
        if name not in where._derived:
            where._derived[name] = where._find(name)
        found = derived[name] = where._derived[name]
        return found

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
        opened = self._outermost._open(rule)
        if opened is None:
            return False
        if self._parent is not None and self._own.isdisjoint(opened.names):
            return self._parent.holds(rule)
        if rule.id not in self._held:
            self._held[rule.id] = self._holds(opened)
        return self._held[rule.id]

    def _holds(self, held: _Open) -> bool:
        if not self._speaks(held):
            return False
        if held.rule.expression is None:
            return True
        gathered = self._gather(held)
        return gathered is not None and bool(_evaluate(held.rule, gathered[0]))

    def fill(self, message: str) -> str:
        """Write a message with its {facts} filled in."""

        def put(name: str) -> str:
            value = self.value(name)
            return "an unknown number of" if value is None else _told(value)

        return PLACEHOLDER.sub(lambda match: put(match[1]), message)

    def changes_here(self, name: str) -> bool:
        """Whether a result hangs on what is known here and not around."""
        return name in self._own

    def given_alike(self, name: str) -> bool:
        """Whether one rule gives it here, whatever the values of what is known here alone."""
        decided_here = (
            not self._own.isdisjoint(name for name, _ in opened.conditions)
            for opened in self._outermost._giving(name)
        )
        return len(self._speaking(name)) == 1 and not any(decided_here)

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
        return self._apply(opened) if opened else None

    def _known(self, name: str) -> Known | None:
        where: Reasoning | None = self
        while where is not None:
            if name in where._facts:
                return where._facts[name]
            where = where._parent
        return None

    def _find(self, name: str) -> Derivation | None:
        known = self._known(name)
        if known is not None:
            return Derivation(known)
        speaking = self._speaking(name)
        if len(speaking) > 1:
            return self._largest_floor(name, speaking)
        return self._apply(speaking[0]) if speaking else None

    def applicable(self, name: str) -> tuple[Rule, ...]:
        """Rules that give `name` and speak here; a fallback only where it is alone."""
        return tuple(one.rule for one in self._speaking(name))

    def _speaking(self, name: str) -> Sequence[_Open]:
        speaking = [one for one in self._outermost._giving(name) if self._speaks(one)]
        if len(speaking) < 2:
            return speaking
        return [one for one in speaking if not one.rule.fallback] or speaking

    def _speaks(self, opened: _Open) -> bool:
        for name, holds in opened.conditions:  # noqa: SIM110 - a generator would take half as long again
            if not holds(self.value(name)):
                return False
        return True

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
        names = frozenset(name for name, _ in conditions).union(rule.inputs)
        return _Open(rule, tuple(conditions), tuple(assumed), names)

    def _change(self, facts: frozenset[str]) -> frozenset[str]:
        """What changes with these facts, for all that this situation leaves open."""
        key = (facts, self._settled)
        wide = self._outermost._changing.get(key)
        if wide is None:
            wide = self._book.depending_on(facts, self._settled, self._outermost._open)
            self._outermost._changing[key] = wide
        if self._parent is None:
            return wide
        if key not in self._changing:
            opened = self._outermost._open
            self._changing[key] = self._book.depending_on(
                facts, self._settled, lambda rule: self._may_speak(opened(rule), wide)
            )
        return self._changing[key]

    def _may_speak(self, opened: _Open | None, undecided: frozenset[str]) -> bool:
        """Whether a rule can speak once these names, which change, are known."""
        return opened is not None and all(
            name in undecided or holds(self.value(name)) for name, holds in opened.conditions
        )

    def _largest_floor(self, name: str, speaking: Sequence[_Open]) -> Derivation | None:
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
        floors = [floor for one in speaking if (floor := self._apply(one)) is not None]
        if not floors:
            return None
        largest = max(floors, key=lambda floor: floor.known.value)
        others = tuple(floor for floor in floors if floor is not largest)
        return Derivation(
            largest.known,
            largest.rule,
            largest.inputs,
            largest.needs + others,
            largest.assumed,
        )

    def _apply(self, opened: _Open) -> Derivation | None:
        gathered = self._gather(opened)
        if gathered is None:
            return None
        rule = opened.rule
        inputs, needs, assumed = gathered
        known = Known(_evaluate(rule, inputs), rule.gives_unit, f"rule {rule.id}")
        if rule.basis in ("assumption", "estimate") and rule.kind != "policy":
            assumed = (f"{rule.title} ({rule.id})", *assumed)
        return Derivation(known, rule, inputs, needs, assumed)

    def _gather(
        self, opened: _Open
    ) -> tuple[tuple[tuple[str, Known], ...], tuple[Derivation, ...], tuple[str, ...]] | None:
        """Inputs of a rule, what they rest on and what they assume; None if one is unknown."""
        inputs: list[tuple[str, Known]] = []
        needs: list[Derivation] = []
        assumed = list(opened.assumed)
        for name, _ in opened.conditions:
            decided = self.derive(name)
            if decided is not None and decided.rule is not None:
                needs.append(decided)
        for name, declared in opened.rule.inputs.items():
            derivation = self.derive(name)
            if derivation is None:
                known = _stand_in(declared)
                if known is None:
                    return None
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
        return tuple(inputs), tuple(needs), tuple(assumed)


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
