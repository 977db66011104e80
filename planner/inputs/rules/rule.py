"""One rule as data: a formula, baseline, floor, exclusion, policy or warning, with its source."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from functools import cached_property
from operator import ge, gt, le, lt
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    ValidationInfo,
    field_validator,
    model_validator,
)

from planner.inputs.base import LARGEST, Basis, Day, Frozen, Name, NotNegative, Number
from planner.inputs.rules.expression import (
    Exact,
    Expression,
    compile_expression,
    exact,
    figure_text,
)

RuleKind = Literal["formula", "baseline", "floor", "exclusion", "policy", "warning"]
RuleId = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]*(/[a-z0-9][a-z0-9.-]*)*$")]
Value = Exact | bool | str
"""What a fact or a result is worth while rules are applied."""

MAXIMUM_QUOTE_WORDS = 25


def _decimal(value: Any) -> Any:  # noqa: ANN401 - pydantic hands over whatever the file holds
    whole = isinstance(value, int | float) and not isinstance(value, bool)
    return Decimal(str(value)) if whole else value


Scalar = Annotated[bool | Decimal | str, BeforeValidator(_decimal)]
"""A number, a text, or true or false, as a rule file writes it."""


def value_text(value: Value | Decimal) -> str:
    """Format a value for a reader: `true`, `lora`, `68.6`."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if isinstance(value, str) else figure_text(value)


def _value(scalar: bool | Decimal | str) -> Value:
    return exact(scalar) if isinstance(scalar, Decimal) else scalar


def _among(values: tuple[Value, ...], value: Value) -> bool:
    """Return whether a value is in a list; Python takes true for 1, a rule does not."""
    if isinstance(value, str):
        return value in values
    truth = isinstance(value, bool)
    return any(one == value and isinstance(one, bool) == truth for one in values)


def _spelled_out(value: Any) -> Any:  # noqa: ANN401
    if isinstance(value, dict | RuleCondition):
        return value
    return {"one_of": value if isinstance(value, tuple | list) else (value,)}


def _quote(text: str) -> str:
    if len(text.split()) > MAXIMUM_QUOTE_WORDS:
        raise ValueError(f"has {len(text.split())} words, quote at most {MAXIMUM_QUOTE_WORDS}")
    return text


def _with_unit(value: Any) -> Any:  # noqa: ANN401
    return {"unit": value} if isinstance(value, str) else value


_BOUNDS = (
    ("at least", "min", ge),
    ("at most", "max", le),
    ("above", "above", gt),
    ("below", "below", lt),
)
"""Bounds of a condition: the words, the key, and the comparison."""


class RuleCondition(Frozen):
    """What one fact must be for a rule to speak; an unknown fact meets only `known: false`."""

    one_of: Annotated[tuple[Scalar, ...], Field(min_length=1)] | None = None
    """Written as a plain value or a list of values."""
    not_in: tuple[Scalar, ...] = ()
    min: Number | None = None
    max: Number | None = None
    above: Number | None = None
    below: Number | None = None
    known: bool | None = None
    """`known: false` holds where nothing is known of the fact."""

    @model_validator(mode="after")
    def _can_hold(self) -> RuleCondition:
        if self.known is False and (self.one_of or self.not_in or self.bounds):
            raise ValueError("nothing is known of it then: leave out either `known` or the rest")
        least = max(one for one in (self.min, self.above, -LARGEST) if one is not None)
        most = min(one for one in (self.max, self.below, LARGEST) if one is not None)
        if least > most or (least == most and least in (self.above, self.below)):
            raise ValueError(f"holds for no figure: {self.describe()}")
        if self.one_of and set(self.one_of) <= set(self.not_in):
            raise ValueError(f"holds for no value: {self.describe()}")
        return self

    def holds(self, value: Value | None) -> bool:
        """Return whether a fact's value, None if unknown, meets the condition."""
        if value is None or self.known is False:
            return value is None and self.known is False
        one_of, not_in = self._values
        if one_of and not _among(one_of, value):
            return False
        if not_in and _among(not_in, value):
            return False
        return not self.bounds or (
            not isinstance(value, str | bool)
            and all(compare(value, bound) for _, compare, bound in self.bounds)
        )

    @cached_property
    def _values(self) -> tuple[tuple[Value, ...], tuple[Value, ...]]:
        """Return what the fact must be one of, and none of."""
        return tuple(map(_value, self.one_of or ())), tuple(map(_value, self.not_in))

    @cached_property
    def bounds(self) -> tuple[tuple[str, Callable[[Exact, Exact], bool], Exact], ...]:
        """Return its bounds: the words, the comparison, and the figure."""
        return tuple(
            (word, compare, exact(figure))
            for word, key, compare in _BOUNDS
            if (figure := getattr(self, key)) is not None
        )

    def describe(self) -> str:
        """Say it in words: `full or lora`, `at least 68.6`, `none of a100, h100`, `unknown`."""
        words = []
        if self.one_of is not None:
            words.append(" or ".join(map(value_text, self.one_of)))
        if self.not_in:
            words.append("none of " + ", ".join(map(value_text, self.not_in)))
        words += [f"{word} {figure_text(bound)}" for word, _, bound in self.bounds]
        if self.known is not None:
            words.append("known" if self.known else "unknown")
        return " and ".join(words)


class RuleInput(Frozen):
    """A figure that a formula asks for; written as its unit alone where that says enough."""

    unit: str
    meaning: str | None = None
    default: Number | None = None
    """Stands in where nothing is known, and is listed as an assumption."""
    otherwise: Number | None = None
    """Stands in where no rule speaks; nothing is assumed by it (no floor is a floor of 0)."""


class RuleResult(Frozen):
    """What a rule gives."""

    name: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$")]
    unit: str


class Publication(Frozen):
    """What rules were read in."""

    title: Name
    url: str | None = None
    read: Day


class RuleSource(Publication):
    """Where a rule was read; a file may write a key of `sources` for title, address and date."""

    locator: str | None = None
    """Section, table or line."""
    quote: Annotated[str, AfterValidator(_quote)] | None = None

    @property
    def text(self) -> str:
        """Return `title, locator (url)`."""
        title = f"{self.title}, {self.locator}" if self.locator else self.title
        return f"{title} ({self.url})" if self.url else title


class Example(Frozen):
    """A worked case: what goes in and what must come out."""

    name: str
    """A sentence."""
    given: dict[str, Scalar] = Field(default_factory=dict)
    expect: Scalar
    tolerance: NotNegative | None = None
    """How far the answer may be off, in the unit of the result; exact if left out."""


class Erratum(Frozen):
    """Where a source contradicts itself, and what is planned by instead."""

    says: str
    arithmetic: str
    decision: str


class Rule(Frozen):
    """One rule, for a reader first."""

    id: RuleId
    """The key that it stands under in its file; begins with the file's path or folder."""
    title: Name
    kind: RuleKind
    basis: Basis = "published"
    """`assumption`: no source says this, and every plan that uses it lists it."""
    fallback: bool = False
    """Speaks only where no other rule gives its result."""
    applies: dict[str, Annotated[RuleCondition, BeforeValidator(_spelled_out)]] = Field(
        default_factory=dict
    )
    """When it speaks: all of these must hold."""
    inputs: dict[str, Annotated[RuleInput, BeforeValidator(_with_unit)]] = Field(
        default_factory=dict
    )
    result: RuleResult | None = None
    sets: str | None = None
    """Policy only: the setting that it gives."""
    unit: str | None = None
    """Policy only: unit of its value."""
    value: Number | None = None
    formula: str | None = None
    message: str | None = None
    """Exclusion and warning: what a person is told, with {facts} filled in."""
    sources: tuple[RuleSource, ...] = ()
    examples: tuple[Example, ...] = ()
    errata: tuple[Erratum, ...] = ()
    known_wrong_when: tuple[str, ...] = ()

    @field_validator("formula")
    @classmethod
    def _arithmetic(cls, formula: str | None, info: ValidationInfo) -> str | None:
        if formula is None:
            return None
        expression = compile_expression(formula)
        inputs = info.data.get("inputs", {})
        undeclared = [name for name in expression.names if name not in inputs]
        if undeclared:
            raise ValueError(f"uses {', '.join(undeclared)}, which `inputs` does not declare")
        return formula

    @model_validator(mode="after")
    def _complete(self) -> Rule:
        if faults := "; ".join(_shape_faults(self)):
            raise ValueError(faults)
        return self

    @cached_property
    def expression(self) -> Expression | None:
        """The compiled formula, if it has one."""
        return None if self.formula is None else compile_expression(self.formula)

    @cached_property
    def source_texts(self) -> tuple[str, ...]:
        """Its sources, each in one line."""
        return tuple(source.text for source in self.sources)

    @cached_property
    def asks(self) -> frozenset[str]:
        """Every name that it asks for: its conditions and its inputs."""
        return frozenset((*self.applies, *self.inputs))

    @cached_property
    def gives(self) -> str | None:
        """Name of the result or setting that it gives."""
        return self.result.name if self.result else self.sets

    @cached_property
    def gives_unit(self) -> str:
        """Unit of what it gives."""
        return self.result.unit if self.result else self.unit or "true/false"

    @property
    def stated(self) -> str:
        """The formula as the rule states it, or its value."""
        return self.formula or (value_text(self.value) if self.value is not None else "always")


def _shape_faults(rule: Rule) -> Iterable[str]:
    """Yield what a rule of this kind lacks, and what makes no sense in it."""
    if rule.kind == "policy":
        if rule.sets is None or rule.value is None or rule.unit is None:
            yield "a policy needs `sets`, `value` and `unit`"
        if rule.applies or rule.inputs or rule.formula or rule.result:
            yield "a policy holds always: it takes no `applies`, `inputs`, `formula` or `result`"
    elif rule.kind in ("exclusion", "warning"):
        if not rule.message:
            yield f"a rule of kind {rule.kind} needs a `message`"
        if rule.result or rule.value is not None:
            yield f"a rule of kind {rule.kind} gives no `result` and no `value`"
        if rule.expression and not rule.expression.is_condition:
            yield f"the formula of a rule of kind {rule.kind} must be a comparison"
        if not rule.applies and not rule.formula:
            yield f"a rule of kind {rule.kind} needs `applies` or a `formula`"
    else:
        if rule.result is None or (rule.formula is None) == (rule.value is None):
            yield f"a rule of kind {rule.kind} needs a `result` and either `formula` or `value`"
        if rule.expression and rule.expression.is_condition:
            yield "the formula must give a number, not a comparison"
        unused = set(rule.inputs) - set(rule.expression.names if rule.expression else ())
        if unused:
            yield f"declares {', '.join(sorted(unused))} in `inputs`, which no formula uses"
    if rule.kind != "policy" and (rule.sets or rule.unit):
        yield "only a policy takes `sets` and `unit`"


def given_values(given: Mapping[str, bool | Decimal | str]) -> dict[str, Value]:
    """Return the figures of an example as the engine takes them."""
    return {name: _value(scalar) for name, scalar in given.items()}


def by_result(rules: Iterable[Rule]) -> dict[str, tuple[Rule, ...]]:
    """Return rules by the result or setting that they give."""
    found: dict[str, list[Rule]] = {}
    for rule in rules:
        if rule.gives is not None:
            found.setdefault(rule.gives, []).append(rule)
    return {name: tuple(givers) for name, givers in found.items()}
