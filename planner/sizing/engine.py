"""Applies rules: from what is known to what follows, each figure with the rule that gave it.

It runs the worked examples of rules, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Final, NamedTuple, overload

from pydantic import ConfigDict

from planner.errors import InputError
from planner.inputs.base import Frozen
from planner.inputs.rules.book import PLACEHOLDER, RuleBook
from planner.inputs.rules.expression import (
    Exact,
    Expression,
    ExpressionError,
    exact,
    with_figures,
)
from planner.inputs.rules.facts import FACTS
from planner.inputs.rules.rule import (
    Example,
    Rule,
    RuleInput,
    Value,
    given_values,
    value_text,
)

_NEEDS: Final = frozenset(
    {"gpus", "memory_gb", "peak_gb_per_gpu", "host_memory_gb", "cpus", "hours", "planned_hours"}
)
"""Results of which nothing, or less, is a slip of a formula."""

ASSUMED: Final = "assumed"
"""The origin of a value that nobody stated."""


class Known(NamedTuple):
    """A value with its unit and its origin."""

    value: Value
    unit: str
    origin: str
    """`job`, `catalog <id>`, `rule <id>`, `scenario`, `assumed` or `none` (no rule speaks)."""


@dataclass(frozen=True, slots=True)
class Quantity:
    """A named number with its unit."""

    __pydantic_config__: ClassVar[ConfigDict] = Frozen.model_config

    name: str
    value: float | str | bool
    unit: str
    origin: str
    """`job`, `catalog <id>`, `rule <id>`, `scenario`, or `assumed`."""


@dataclass(frozen=True, slots=True)
class DerivationStep:
    """One line of a derivation: the rule, its inputs, its result and its sources."""

    __pydantic_config__: ClassVar[ConfigDict] = Frozen.model_config

    rule: str
    title: str
    formula: str
    """As the rule states it."""
    inputs: tuple[Quantity, ...]
    result: Quantity
    sources: tuple[str, ...]

    @property
    def worked(self) -> str:
        """The formula with figures: `((10 × 2) + (2 × 0.125)) × 1.5`."""
        figures = {one.name: one.value for one in self.inputs if isinstance(one.value, float)}
        return with_figures(self.formula, figures)


@dataclass(eq=False)
class Derivation:
    """A value and how it came about; a plain fact has no rule.

    It never changes; it is not declared frozen, which would cost every sizing a tenth.
    """

    known: Known
    rule: Rule | None = None
    inputs: tuple[tuple[str, Known], ...] = ()
    needs: tuple[Derivation, ...] = ()
    """What rules had to give before: inputs, and conditions that a rule decided."""
    assumed: tuple[str, ...] = ()
    """Assumptions that this step itself makes."""

    @cached_property
    def step(self) -> DerivationStep:
        """Return the step as a reader sees it; only for what a rule gave."""
        if self.rule is None:
            raise LookupError(self.known)
        return DerivationStep(
            rule=self.rule.id,
            title=self.rule.title,
            formula=self.rule.stated,
            inputs=tuple(_quantity(name, known) for name, known in self.inputs),
            result=_quantity(self.rule.gives or self.rule.id, self.known),
            sources=self.rule.source_texts,
        )


def _quantity(name: str, known: Known) -> Quantity:
    value = known.value if isinstance(known.value, str | bool) else float(known.value)
    return Quantity(name, value, known.unit, known.origin)


def walk(roots: Iterable[Derivation | None]) -> tuple[Derivation, ...]:
    """Yield every derivation below these once, what is needed before what needs it.

    A situation derives each name once, so identity tells whether one was seen.
    """
    seen: set[Derivation] = set()
    found: list[Derivation] = []

    def visit(derivation: Derivation) -> None:
        if derivation not in seen:
            seen.add(derivation)
            for needed in derivation.needs:
                visit(needed)
            found.append(derivation)

    for root in roots:
        if root is not None and root.rule is not None:
            visit(root)
    return tuple(found)


class Trace(Sequence[DerivationStep]):
    """Steps that are written when somebody reads them, which happens for few candidates."""

    def __init__(
        self, before: tuple[Derivation, ...], roots: tuple[Derivation | None, ...]
    ) -> None:
        """The steps `before`, then all below `roots`."""
        self._before, self._roots = before, roots

    @property
    def _walked(self) -> Iterator[Derivation]:
        return (one for one in (*self._before, *walk(self._roots)) if one.rule is not None)

    @cached_property
    def rules(self) -> frozenset[str]:
        """Return the ids of the rules that were applied."""
        return frozenset(one.rule.id for one in self._walked if one.rule is not None)

    @cached_property
    def assumed(self) -> frozenset[str]:
        """Return what the job leaves open and the steps below the roots fill in."""
        return frozenset(text for one in walk(self._roots) for text in one.assumed)

    @cached_property
    def _steps(self) -> tuple[DerivationStep, ...]:
        return tuple(one.step for one in self._walked)

    @overload
    def __getitem__(self, index: int) -> DerivationStep: ...

    @overload
    def __getitem__(self, index: slice) -> tuple[DerivationStep, ...]: ...

    def __getitem__(self, index: int | slice) -> DerivationStep | tuple[DerivationStep, ...]:
        """Return one step, or some."""
        return self._steps[index]

    def __len__(self) -> int:
        """Return how many steps there are."""
        return len(self._steps)

    def __eq__(self, other: object) -> bool:
        """Return whether it equals any sequence of the same steps."""
        return isinstance(other, Sequence) and self._steps == tuple(other)

    def __hash__(self) -> int:
        """Return the hash of the steps."""
        return hash(self._steps)


class _Open(NamedTuple):
    """A rule that the outermost facts leave open, and what they settled of it."""

    rule: Rule
    conditions: Sequence[tuple[str, Callable[[Value | None], bool]]]
    """What remains to be decided: names, and tests of their values."""
    assumed: Sequence[str]
    """What nobody stated and the settled conditions rest on."""
    inputs: Sequence[tuple[str, Known | None]]
    """Its figures, each with what stands in where it is unknown."""


class _Changes(NamedTuple):
    """What some facts may change."""

    results: frozenset[str]
    """Names that may have another value."""
    switched: frozenset[str]
    """Those of them that another rule may give."""


_NO_CHANGES: Final = _Changes(frozenset(), frozenset())


class _OpenRules:
    """What the facts of the outermost situation leave of the rules."""

    def __init__(self, book: RuleBook, facts: Mapping[str, Known]) -> None:
        self.book, self._facts = book, facts
        self._opened: dict[str, _Open | None] = {}
        self._givers: dict[str, tuple[_Open, ...]] = {}
        self._changes: dict[frozenset[str], _Changes] = {}

    def open(self, rule: Rule) -> _Open | None:
        """Return what is left of a rule; None if a fact rules it out."""
        if rule.id not in self._opened:
            conditions: list[tuple[str, Callable[[Value | None], bool]]] = []
            assumed: list[str] = []
            self._opened[rule.id] = None
            for name, condition in rule.applies.items():
                known = self._facts.get(name)
                if known is None:
                    conditions.append((name, condition.holds))
                elif not condition.holds(known.value):
                    return None
                elif known.origin == ASSUMED:
                    assumed.append(_left_open(name, known))
            inputs = [(name, _stand_in(declared)) for name, declared in rule.inputs.items()]
            self._opened[rule.id] = _Open(rule, conditions, assumed, inputs)
        return self._opened[rule.id]

    def giving(self, name: str) -> tuple[_Open, ...]:
        """Return the rules that give `name` and that no fact rules out."""
        if name not in self._givers:
            opened = map(self.open, self.book.by_result.get(name, ()))
            self._givers[name] = tuple(one for one in opened if one is not None)
        return self._givers[name]

    def changed_by(self, facts: frozenset[str]) -> _Changes:
        """Return the results that change if more is known."""
        if facts not in self._changes:
            results = self.book.depending_on(facts, self.open)
            switched = (
                name
                for name in results
                if any(asked in results for one in self.giving(name) for asked, _ in one.conditions)
            )
            self._changes[facts] = _Changes(results, frozenset(switched))
        return self._changes[facts]


_Gathered = tuple[tuple[tuple[str, Known], ...], tuple[Derivation, ...], tuple[str, ...]]
"""The inputs of a rule, what they rest on and what they assume."""

_Formulas = tuple[dict[str, Expression], dict[str, float]]
"""Formulas by their results, and figures."""


class Reasoning:
    """What is known in one situation, and what the rules derive from it.

    Situations nest: all that holds for a job holds for it on every GPU type, and is derived
    once.
    """

    def __init__(
        self, book: RuleBook, facts: Mapping[str, Known], parent: Reasoning | None = None
    ) -> None:
        self._facts, self._parent = facts, parent
        self._rules: _OpenRules = parent._rules if parent else _OpenRules(book, facts)
        # of the outermost situation, nothing is known from around
        self._changes = self._rules.changed_by(frozenset(facts)) if parent else _NO_CHANGES
        self._held: dict[str, bool] = {}
        self._derived: dict[str, Derivation | None] = {}
        self._spoke: dict[str, tuple[_Open, ...]] = {}
        self.book = book

    def within(self, facts: Mapping[str, Known]) -> Reasoning:
        """Return a situation with more facts; they may decide what was open, not restate a fact."""
        return Reasoning(self.book, facts, self)

    def derive(self, name: str) -> Derivation | None:
        """Return a value: a fact, or what the one applicable rule gives; None if unknown.

        Raises InputError if two rules claim the same value, or a formula cannot be computed.
        """
        if name not in self._derived:
            where = self  # the situation that settles it, which others share
            while where._parent is not None and name not in where._changes.results:
                where = where._parent
            if name not in where._derived:
                where._derived[name] = where._find(name)
            self._derived[name] = where._derived[name]
        return self._derived[name]

    def value(self, name: str) -> Value | None:
        """Return just the value; None if unknown."""
        derivation = self.derive(name)
        return None if derivation is None else derivation.known.value

    def number(self, name: str) -> Exact | None:
        """Return a value that must be a number; None if unknown."""
        value = self.value(name)
        return None if isinstance(value, str | bool) else value

    def holds(self, rule: Rule) -> bool:
        """Return whether an exclusion or warning applies: its conditions and its formula hold."""
        opened = self._rules.open(rule)
        if opened is None:
            return False
        if rule.id not in self._held:
            parent = self._parent
            if parent is not None and self._changes.results.isdisjoint(rule.asks):
                self._held[rule.id] = parent.holds(rule)
            else:
                held = self._speaks(opened)
                if held and rule.expression is not None:
                    gathered = self._gather(opened)
                    held = gathered is not None and bool(self._evaluate(rule, gathered[0]))
                self._held[rule.id] = held
        return self._held[rule.id]

    def fill(self, message: str) -> str:
        """Return a message with its {facts} filled in."""

        def put(name: str) -> str:
            value = self.value(name)
            return "an unknown number of" if value is None else _told(value)

        return PLACEHOLDER.sub(lambda match: put(match[1]), message)

    def formulas(self, results: Iterable[str]) -> _Formulas | None:
        """Return formulas that give these results from what is known here, as far as known.

        In the order in which they need each other, with the figures that they take from outside.
        None if the choice of rules depends on what varies, so that no fixed list of formulas
        exists.
        """
        formulas: dict[str, Expression] = {}
        fixed: dict[str, float] = {}

        def is_known(name: str) -> bool:
            if name in self._facts or name in formulas:
                return True
            if name not in self._changes.results:
                value = self.value(name)
                if value is not None:
                    fixed[name] = float(value)
                return value is not None
            speaking = self._speaking(name)
            if name in self._changes.switched or len(speaking) > 1:
                raise ValueError(name)
            if not speaking:
                return False
            rule = speaking[0].rule
            if rule.expression is None:
                raise ValueError(name)
            for needed, stand_in in speaking[0].inputs:
                if not is_known(needed):
                    if stand_in is None:
                        return False
                    figure = float(stand_in.value)
                    if fixed.setdefault(needed, figure) != figure:
                        raise ValueError(needed)
            formulas[name] = rule.expression
            return True

        try:
            for name in results:
                is_known(name)
        except ValueError:
            return None
        return formulas, fixed

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
        opened = self._rules.open(rule)
        return self._apply(opened) if opened else None

    def _find(self, name: str) -> Derivation | None:
        where: Reasoning | None = self
        while where is not None:
            if name in where._facts:
                return Derivation(where._facts[name])
            where = where._parent
        speaking = self._speaking(name)
        if len(speaking) > 1:
            return self._largest_floor(name, speaking)
        return self._apply(speaking[0]) if speaking else None

    def applicable(self, name: str) -> tuple[Rule, ...]:
        """Return the rules that give `name` and apply here; a fallback only if it is alone."""
        return tuple(one.rule for one in self._speaking(name))

    def _speaking(self, name: str) -> tuple[_Open, ...]:
        if name not in self._spoke:
            if self._parent is not None and name not in self._changes.switched:
                self._spoke[name] = self._parent._speaking(name)
            else:
                speaking = [one for one in self._rules.giving(name) if self._speaks(one)]
                if len(speaking) > 1:
                    speaking = [one for one in speaking if not one.rule.fallback] or speaking
                self._spoke[name] = tuple(speaking)
        return self._spoke[name]

    def _speaks(self, opened: _Open) -> bool:
        for name, holds in opened.conditions:  # noqa: SIM110 - asked too often for a generator
            if not holds(self.value(name)):
                return False
        return True

    def _largest_floor(self, name: str, speaking: Sequence[_Open]) -> Derivation | None:
        """Return the largest of several floors; any other conflict is an error."""
        if any(one.rule.kind != "floor" for one in speaking):
            clash = " and ".join(one.rule.id for one in speaking)
            message = f"{name} is given by {clash}, which both apply here"
            hint = "narrow `applies` of one of them, or replace a rule by its id"
            owned = [one.rule for one in speaking if one.rule.id in self._rules.book.own]
            rule = (*owned, speaking[0].rule)[0]
            raise InputError(self._rules.book.finding(rule, message, hint))
        floors = [floor for one in speaking if (floor := self._apply(one)) is not None]
        if not floors:
            return None
        largest = max(floors, key=lambda floor: floor.known.value)
        others = tuple(floor for floor in floors if floor is not largest)
        return replace(largest, needs=largest.needs + others)

    def _apply(self, opened: _Open) -> Derivation | None:
        gathered = self._gather(opened)
        if gathered is None:
            return None
        rule = opened.rule
        inputs, needs, assumed = gathered
        known = Known(self._evaluate(rule, inputs), rule.gives_unit, f"rule {rule.id}")
        if rule.basis in ("assumption", "estimate") and rule.kind != "policy":
            assumed = (f"{rule.title} ({rule.id})", *assumed)
        return Derivation(known, rule, inputs, needs, assumed)

    def _evaluate(self, rule: Rule, inputs: Iterable[tuple[str, Known]]) -> Exact | bool:
        book = self._rules.book
        if rule.expression is None:
            return exact(rule.value) if rule.value is not None else True
        figures: dict[str, Any] = {name: known.value for name, known in inputs}
        try:
            found = rule.expression.evaluate(figures)
        except ExpressionError as error:
            hint = "narrow `applies`, or write `… if CONDITION else …`"
            raise InputError(book.finding(rule, f"the formula {error}", hint)) from None
        if rule.id in book.own and rule.gives in _NEEDS and found <= 0:
            worked = with_figures(rule.stated, figures)
            message = f"{rule.gives} must be above 0, and is {value_text(found)} here: {worked}"
            raise InputError(book.finding(rule, message))
        return found

    def _gather(self, opened: _Open) -> _Gathered | None:
        """What goes into a rule; None if a figure is unknown."""
        inputs: list[tuple[str, Known]] = []
        needs: list[Derivation] = []
        assumed = list(opened.assumed)
        for name, _ in opened.conditions:
            decided = self.derive(name)
            if decided is not None and decided.rule is not None:
                needs.append(decided)
        for name, stand_in in opened.inputs:
            derivation = self.derive(name)
            known = derivation.known if derivation else stand_in
            if known is None:
                return None
            if derivation is None:
                if known.origin == ASSUMED:
                    meaning = opened.rule.inputs[name].meaning or name
                    assumed.append(f"{meaning} {value_text(known.value)} ({opened.rule.id})")
            elif derivation.rule is not None:
                needs.append(derivation)
            elif known.origin == ASSUMED:
                assumed.append(_left_open(name, known))
            inputs.append((name, known))
        return tuple(inputs), tuple(needs), tuple(assumed)


def _left_open(name: str, known: Known) -> str:
    return f"{FACTS[name].meaning}: {value_text(known.value)} (the job leaves it open)"


def _told(value: Value) -> str:
    """Round a number as one would in a sentence: `4,096`, `1,185.3`, `28.6`, `0.125`."""
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


@dataclass(frozen=True, slots=True)
class ExampleResult:
    """One example of one rule, or the lack of an example or a source."""

    rule: str
    name: str
    """The example's sentence, or what is missing."""
    passed: bool
    message: str
    """What was expected and what came out; empty if it passed."""


def run_examples(rules: RuleBook) -> list[ExampleResult]:
    """Run every example of every rule, by rule id; a rule without source or example fails too."""
    results: list[ExampleResult] = []
    for rule in rules.rules.values():
        if not rule.sources:
            results.append(ExampleResult(rule.id, "source", False, "the rule names no source"))
        if not rule.examples:
            results.append(ExampleResult(rule.id, "example", False, "the rule has no example"))
        results += [_run(rules, rule, example) for example in rule.examples]
    return results


def _run(rules: RuleBook, rule: Rule, example: Example) -> ExampleResult:
    try:
        got = _outcome(rules, rule, example)
    except InputError as error:
        return ExampleResult(rule.id, example.name, False, str(error))
    expected = Fraction(example.expect) if isinstance(example.expect, Decimal) else example.expect
    if isinstance(got, str | bool | None) or isinstance(expected, str | bool):
        passed = type(got) is type(expected) and got == expected
    else:
        passed = abs(Fraction(got) - expected) <= Fraction(example.tolerance or 0)
    shown = "nothing" if got is None else value_text(got)
    message = "" if passed else f"expected {value_text(expected)}, got {shown}"
    return ExampleResult(rule.id, example.name, passed, message)


def _outcome(rules: RuleBook, rule: Rule, example: Example) -> Value | None:
    """Return what a rule gives for an example; None if it does not apply or lacks a figure.

    Facts that a condition fixes need not be repeated in the example.
    """
    fixed = {name: one.one_of[0] for name, one in rule.applies.items() if one.one_of is not None}
    facts = {
        name: Known(value, FACTS[name].unit if name in FACTS else "", "example")
        for name, value in given_values(fixed | example.given).items()
    }
    reasoning = Reasoning(rules, facts)
    if rule.kind in ("exclusion", "warning"):
        return reasoning.holds(rule)
    if rule.kind != "policy" and rule not in reasoning.applicable(rule.gives or ""):
        return None
    derivation = reasoning.step_of(rule)
    return derivation.known.value if derivation else None
