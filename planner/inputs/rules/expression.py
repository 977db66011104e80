"""Formulas of rules: arithmetic over named figures, exact, and nothing more.

A formula is text in a rule file, so it is treated as data from a stranger: an allow-list over the
syntax tree, compiled to closures, so that nothing it says can run code, hang or fill the memory.
Figures are exact: a need of seven GPUs never becomes eight by a rounding error.
"""

from __future__ import annotations

import ast
import math
import operator
import re
from decimal import Decimal
from functools import lru_cache
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from fractions import Fraction
else:
    from quicktions import Fraction  # the same in C: sizing is mostly sums of fractions

__all__ = [
    "Exact",
    "Expression",
    "ExpressionError",
    "compile_expression",
    "exact",
    "figure_text",
    "with_figures",
]

MAXIMUM_CHARACTERS: Final = 500
MAXIMUM_NODES: Final = 200
MAXIMUM_DEPTH: Final = 40
MAXIMUM_MAGNITUDE: Final = 30
"""Decimal places before or after the point that a literal may have."""

Exact = Fraction | int
"""A figure without rounding; whole ones are mostly int, which computes ten times as fast."""
Result = Exact | bool


def exact(figure: Decimal | Exact) -> Exact:
    """The same figure, as int where it is whole."""
    return int(figure) if figure == int(figure) else Fraction(figure)


class ExpressionError(ValueError):
    """A formula is refused, or cannot be computed with these figures; the text says why."""


class _Part(NamedTuple):
    """A compiled piece of a formula: what computes it, and what kind of value that gives."""

    compute: Callable[[Mapping[str, Exact]], Result]
    kind: Literal["number", "condition"]


_TOKEN = re.compile(
    r"\s+|(?P<number>\d+(?:\.\d*)?(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?)(?![\w.])"
    r"|(?P<name>[A-Za-z_]\w*)|(?P<sign>//|<=|>=|==|!=|[-+*/%<>(),])",
    re.ASCII,
)


def _divide(left: Exact, right: Exact) -> Exact:
    if isinstance(right, int):
        if isinstance(left, int):
            whole, rest = divmod(left, right)
            return Fraction(left, right) if rest else whole
        return left / right
    return left / right


_ARITHMETIC: dict[type, Callable[[Exact, Exact], Exact]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: _divide,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
_COMPARISONS: dict[type, Callable[[Exact, Exact], bool]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}
_FUNCTIONS: dict[str, tuple[Callable[..., Exact], int | None]] = {
    "min": (min, None),
    "max": (max, None),
    "ceil": (math.ceil, 1),
    "floor": (math.floor, 1),
    "abs": (abs, 1),
    "round": (round, 1),
}
"""By name: what it computes and how many figures it takes; None is two or more."""

_SIGNS = {"*": "×", "-": "−", "<=": "≤", ">=": "≥", "!=": "≠", "==": "="}
_WORDS = frozenset({"and", "or", "not", "if", "else"})


class Expression:
    """A compiled formula.

    `names` are the figures it asks for, in the order of their first mention; `is_condition` says
    whether it answers true or false instead of a number.
    """

    __slots__ = ("_compute", "is_condition", "names", "text")

    def __init__(self, text: str) -> None:
        """Compile `text`; raise ExpressionError for anything but arithmetic over names."""
        self.text = text
        names = _scan(text)
        part = _Compiler(text.strip()).compiled()
        self._compute = part.compute
        self.is_condition = part.kind == "condition"
        self.names = tuple(
            dict.fromkeys(n for n in names if n not in _WORDS and n not in _FUNCTIONS)
        )

    def evaluate(self, bindings: Mapping[str, Exact]) -> Result:
        """Compute with these figures; ExpressionError on a missing one or division by zero."""
        try:
            return self._compute(bindings)
        except ZeroDivisionError:
            raise ExpressionError(f"divides by zero with {self._figures(bindings)}") from None
        except KeyError as missing:
            raise ExpressionError(f"has no figure for {missing.args[0]!r}") from None

    def _figures(self, bindings: Mapping[str, Exact]) -> str:
        return ", ".join(
            f"{name} = {figure_text(bindings[name])}" for name in self.names if name in bindings
        )


def with_figures(formula: str, figures: Mapping[str, Fraction | float]) -> str:
    """Write a formula with figures put in: `((10 × 2) + (2 × 0.125)) × 1.5`."""
    pieces = [*_pieces(formula)]
    for place, name in enumerate(pieces):
        if place % 2 and name in figures:
            text = figure_text(figures[name])
            pieces[place] = f"({text})" if text.startswith("−") else text
    return "".join(pieces)


@lru_cache(maxsize=4096)
def _pieces(formula: str) -> tuple[str, ...]:
    """The names of a formula at odd places; between them what a reader writes there."""

    def put(match: re.Match[str]) -> str:
        return f"\0{match[0]}\0" if match["name"] else _SIGNS.get(match[0], match[0])

    return tuple(_TOKEN.sub(put, formula).split("\0"))


@lru_cache(maxsize=4096)
def compile_expression(text: str) -> Expression:
    """Compile a formula once per process; raise ExpressionError where it is refused."""
    return Expression(text)


def figure_text(value: Fraction | Decimal | float) -> str:
    """Write a figure for a reader: exact where that is short, else six significant digits."""
    exact = Fraction(value)
    if exact.denominator == 1:
        return str(exact.numerator).replace("-", "−")
    text = format(float(exact), ".12g")
    same = float(text) == value if isinstance(value, float) else Fraction(Decimal(text)) == exact
    if not same or len(text) > len("1234567.890"):
        text = format(float(exact), ".6g")
    if "e" in text:
        text = format(Decimal(text), "f")
    return text.replace("-", "−")


def _scan(text: str) -> list[str]:
    """Refuse what no formula holds before the parser sees it; give the names in order."""
    if len(text) > MAXIMUM_CHARACTERS:
        raise ExpressionError(f"has {len(text)} characters, at most {MAXIMUM_CHARACTERS} may stand")
    if "**" in text:
        raise ExpressionError("has a power (**), which formulas do not know; multiply instead")
    position, names = 0, []
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            raise ExpressionError(f"has {text[position]!r} at character {position + 1}, {_ALLOWED}")
        if match["name"]:
            names.append(match["name"])
        position = match.end()
    return names


_ALLOWED = "only names, numbers, + - * / // %, comparisons, and, or, not, if, else may stand"


def _parse(text: str) -> ast.expr:
    try:
        return ast.parse(text, mode="eval").body
    except (SyntaxError, RecursionError, MemoryError, ValueError):
        raise ExpressionError("is not a complete sum; check its brackets and signs") from None


class _Compiler:
    """Turns an allowed syntax tree into closures; everything else is refused by name."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._parts = 0
        self._depth = 0

    def compiled(self) -> _Part:
        return self._compile(_parse(self._text))

    def _compile(self, node: ast.expr) -> _Part:
        self._parts += 1
        self._depth += 1
        if self._parts > MAXIMUM_NODES:
            raise ExpressionError(f"has more than {MAXIMUM_NODES} parts")
        if self._depth > MAXIMUM_DEPTH + 1:
            raise ExpressionError(f"is nested deeper than {MAXIMUM_DEPTH} levels")
        method = getattr(self, f"_{type(node).__name__.lower()}", None)
        if method is None:
            raise ExpressionError(f"holds {self._written(node)!r}, {_ALLOWED}")
        part: _Part = method(node)
        self._depth -= 1
        return part

    def _written(self, node: ast.expr) -> str:
        if node.end_lineno == 1:  # what all formulas are; splitting the text into lines takes long
            return self._text[node.col_offset : node.end_col_offset]
        return ast.get_source_segment(self._text, node) or ""

    def _number(self, node: ast.expr) -> Callable[[Mapping[str, Exact]], Exact]:
        part = self._compile(node)
        if part.kind != "number":
            raise ExpressionError("calculates with a comparison, where a number must stand")
        return part.compute

    def _condition(self, node: ast.expr) -> Callable[[Mapping[str, Exact]], bool]:
        part = self._compile(node)
        if part.kind != "condition":
            raise ExpressionError("has a number where a comparison must stand")
        return part.compute  # type: ignore[return-value] # true or false, as its kind says

    def _constant(self, node: ast.Constant) -> _Part:
        written = self._written(node)
        if isinstance(node.value, bool) or not isinstance(node.value, int | float):
            raise ExpressionError(f"holds {written!r}, where a number must stand")
        figure = Decimal(written)
        if figure and not -MAXIMUM_MAGNITUDE <= figure.adjusted() <= MAXIMUM_MAGNITUDE:
            raise ExpressionError(f"holds {written}, which is beyond any figure of this trade")
        value = exact(figure)
        return _Part(lambda _: value, "number")

    def _name(self, node: ast.Name) -> _Part:
        name = node.id
        if name in _FUNCTIONS:
            raise ExpressionError(f"uses {name} without brackets")
        return _Part(lambda bindings: bindings[name], "number")

    def _binop(self, node: ast.BinOp) -> _Part:
        compute = _ARITHMETIC.get(type(node.op))
        if compute is None:
            raise ExpressionError(f"uses {type(node.op).__name__.lower()}, {_ALLOWED}")
        left, right = self._number(node.left), self._number(node.right)
        return _Part(lambda bindings: compute(left(bindings), right(bindings)), "number")

    def _unaryop(self, node: ast.UnaryOp) -> _Part:
        if isinstance(node.op, ast.Not):
            condition = self._condition(node.operand)
            return _Part(lambda bindings: not condition(bindings), "condition")
        if isinstance(node.op, ast.USub | ast.UAdd):
            number = self._number(node.operand)
            sign = -1 if isinstance(node.op, ast.USub) else 1
            return _Part(lambda bindings: sign * number(bindings), "number")
        raise ExpressionError(f"uses {type(node.op).__name__.lower()}, {_ALLOWED}")

    def _boolop(self, node: ast.BoolOp) -> _Part:
        conditions = [self._condition(value) for value in node.values]
        decide = all if isinstance(node.op, ast.And) else any
        return _Part(lambda bindings: decide(c(bindings) for c in conditions), "condition")

    def _compare(self, node: ast.Compare) -> _Part:
        if len(node.ops) != 1:
            raise ExpressionError("chains comparisons; join two of them with `and`")
        compare = _COMPARISONS.get(type(node.ops[0]))
        if compare is None:
            raise ExpressionError(f"uses {type(node.ops[0]).__name__.lower()}, {_ALLOWED}")
        left, right = self._number(node.left), self._number(node.comparators[0])
        return _Part(lambda bindings: compare(left(bindings), right(bindings)), "condition")

    def _ifexp(self, node: ast.IfExp) -> _Part:
        condition = self._condition(node.test)
        then, otherwise = self._compile(node.body), self._compile(node.orelse)
        if then.kind != otherwise.kind:
            raise ExpressionError("gives a number in one case and a comparison in the other")
        yes, no = then.compute, otherwise.compute
        return _Part(lambda bindings: (yes if condition(bindings) else no)(bindings), then.kind)

    def _call(self, node: ast.Call) -> _Part:
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        if name not in _FUNCTIONS or node.keywords:
            raise ExpressionError(
                f"calls {self._written(node)!r}; only {', '.join(sorted(_FUNCTIONS))} may be called"
            )
        compute, takes = _FUNCTIONS[name]
        numbers = [self._number(argument) for argument in node.args]
        if len(numbers) != takes and (takes or len(numbers) < 2):
            raise ExpressionError(f"gives {name} {len(numbers)} figures, it takes {takes or 'two'}")
        if takes:
            (number,) = numbers
            return _Part(lambda bindings: compute(number(bindings)), "number")
        if len(numbers) == 2:
            first, second = numbers
            return _Part(lambda bindings: compute(first(bindings), second(bindings)), "number")
        return _Part(lambda bindings: compute(*[number(bindings) for number in numbers]), "number")
