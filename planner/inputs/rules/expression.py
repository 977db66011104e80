"""Formulas of rules: arithmetic over named figures, exact, and nothing more.

A formula is text in a rule file, so it is treated as data from a stranger: only a syntax tree that
passes an allow-list is compiled, so that nothing it says can run code, hang or fill the memory.
Figures are exact: a need of seven GPUs never becomes eight by a rounding error.
"""

from __future__ import annotations

import ast
import math
import re
from decimal import Context, Decimal
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from fractions import Fraction
    from types import CodeType
else:
    from quicktions import Fraction  # the same in C: sizing is mostly sums of fractions

MAXIMUM_CHARACTERS: Final = 500
MAXIMUM_NODES: Final = 200
MAXIMUM_DEPTH: Final = 40
MAXIMUM_MAGNITUDE: Final = 30
"""Decimal places before or after the point that a literal may have."""

Exact = Fraction | int
"""A figure without rounding; whole ones are mostly int, which computes ten times as fast."""
Computed = Exact | bool


def exact(figure: Decimal | Exact | float) -> Exact:
    """The same figure, as int where it is whole."""
    return int(figure) if figure == int(figure) else Fraction(figure)


class ExpressionError(ValueError):
    """A formula is refused, or cannot be computed with these figures; the text says why."""


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


_DIGITS = Context(prec=15)
"""How exact roots and logarithms are; decimals round them alike on every machine."""


def _root(figure: Exact) -> Exact:
    if figure < 0:
        raise ExpressionError(f"takes the root of {figure_text(figure)}")
    return exact(_DIGITS.sqrt(_decimal(figure)))


def _log(figure: Exact) -> Exact:
    if figure <= 0:
        raise ExpressionError(f"takes the logarithm of {figure_text(figure)}")
    return exact(_DIGITS.ln(_decimal(figure)))


def _decimal(figure: Exact) -> Decimal:
    return _DIGITS.divide(Decimal(figure.numerator), Decimal(figure.denominator))


_COMPARISONS = (ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Eq, ast.NotEq)
_FUNCTIONS: Final[dict[str, int | None]] = {
    **dict.fromkeys(("min", "max")),
    **dict.fromkeys(("ceil", "floor", "abs", "round", "sqrt", "log"), 1),
}
"""How many figures each takes; None is two or more."""
_QUOTIENT = "÷"
"""No name of a formula: what `/` becomes, since Python's own of two whole numbers is inexact."""
_GLOBALS: Final[dict[str, Any]] = {
    "__builtins__": {},
    _QUOTIENT: _divide,
    **{"min": min, "max": max, "ceil": math.ceil, "floor": math.floor, "abs": abs, "round": round},
    **{"sqrt": _root, "log": _log},
}

_IN_FLOATS: Final[dict[str, Any]] = _GLOBALS | {"sqrt": math.sqrt, "log": math.log}

_SIGNS = {"*": "×", "-": "−", "<=": "≤", ">=": "≥", "!=": "≠", "==": "="}
_WORDS = frozenset({"and", "or", "not", "if", "else"})


class Expression:
    """A compiled formula.

    `names` are the figures it asks for, in the order of their first mention; `is_condition` says
    whether it answers true or false instead of a number.
    """

    __slots__ = ("_code", "_globals", "is_condition", "names", "text")

    def __init__(self, text: str) -> None:
        """Compile `text`; raise ExpressionError for anything but arithmetic over names."""
        self.text = text
        names = _scan(text)
        checker = _Checker(text.strip())
        tree, self.is_condition = checker.checked(_parse(text.strip()))
        self._code = compile(ast.Expression(tree), "<formula>", "eval")
        self._globals = _GLOBALS | checker.figures
        self.names = tuple(
            dict.fromkeys(n for n in names if n not in _WORDS and n not in _FUNCTIONS)
        )

    def evaluate(self, bindings: Mapping[str, Exact]) -> Computed:
        """Compute with these figures; ExpressionError on a missing one or division by zero."""
        try:
            found: Computed = eval(self._code, self._globals, bindings)
            return found
        except ZeroDivisionError:
            raise ExpressionError(f"divides by zero with {self._figures(bindings)}") from None
        except NameError as missing:
            raise ExpressionError(f"has no figure for {missing.name!r}") from None

    def _figures(self, bindings: Mapping[str, Exact]) -> str:
        return ", ".join(
            f"{name} = {figure_text(bindings[name])}" for name in self.names if name in bindings
        )


def estimator(
    formulas: Iterable[tuple[str, Expression]],
) -> Callable[[dict[str, Exact | float]], None]:
    """Compute formulas in floating point, one after the other, each under its name.

    Many times as fast, for searches that compute what they find again, exactly. What it gives adds
    the results to the figures, and raises ArithmeticError or ValueError where it cannot.
    """
    lines = (f"{name} = ({formula.text.strip()})" for name, formula in formulas)
    return partial(exec, _compiled("\n".join(lines)), _IN_FLOATS)


@lru_cache(maxsize=1024)
def _compiled(assignments: str) -> CodeType:
    """Formulas whose texts have passed the allow-list."""
    return compile(assignments, "<formulas>", "exec")


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


class _Checker:
    """Lets an allowed syntax tree pass, with exact figures; everything else is refused by name."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._parts = 0
        self._depth = 0
        self.figures: dict[str, Exact] = {}
        """Literals with a fraction, by the names that stand for them in the tree."""

    def checked(  # noqa: PLR0912 - a case for each kind of node
        self, node: ast.expr
    ) -> tuple[ast.expr, bool]:
        """Give the tree to compile, and whether it answers true or false instead of a number."""
        self._parts += 1
        self._depth += 1
        if self._parts > MAXIMUM_NODES:
            raise ExpressionError(f"has more than {MAXIMUM_NODES} parts")
        if self._depth > MAXIMUM_DEPTH + 1:
            raise ExpressionError(f"is nested deeper than {MAXIMUM_DEPTH} levels")
        found, answers = node, False
        match node:
            case ast.Constant():
                found = self._literal(node)
            case ast.Name(id=name):
                if name in _FUNCTIONS:
                    raise ExpressionError(f"uses {name} without brackets")
                if name.startswith("__"):
                    raise ExpressionError(f"uses {name}, which is the name of no figure")
            case ast.BinOp(op=ast.Div()):
                sides = [self._number(node.left), self._number(node.right)]
                quotient = ast.copy_location(ast.Name(_QUOTIENT, ast.Load()), node)
                found = ast.copy_location(ast.Call(quotient, sides, []), node)
            case ast.BinOp(op=ast.Add() | ast.Sub() | ast.Mult() | ast.FloorDiv() | ast.Mod()):
                node.left, node.right = self._number(node.left), self._number(node.right)
            case ast.UnaryOp(op=ast.USub() | ast.UAdd()):
                node.operand = self._number(node.operand)
            case ast.UnaryOp(op=ast.Not()):
                node.operand, answers = self._condition(node.operand), True
            case ast.BoolOp():
                node.values, answers = [self._condition(value) for value in node.values], True
            case ast.Compare(ops=[_, _, *_]):
                raise ExpressionError("chains comparisons; join two of them with `and`")
            case ast.Compare(ops=[sign], comparators=[right]) if isinstance(sign, _COMPARISONS):
                node.left, node.comparators = self._number(node.left), [self._number(right)]
                answers = True
            case ast.IfExp():
                node.test = self._condition(node.test)
                node.body, answers = self.checked(node.body)
                node.orelse, otherwise = self.checked(node.orelse)
                if answers != otherwise:
                    raise ExpressionError("gives a number in one case and a comparison in another")
            case ast.Call():
                self._check_call(node)
            case _:
                raise ExpressionError(f"holds {self._written(node)!r}, {_ALLOWED}")
        self._depth -= 1
        return found, answers

    def _written(self, node: ast.expr) -> str:
        if node.end_lineno == 1:  # what all formulas are; splitting the text into lines takes long
            return self._text[node.col_offset : node.end_col_offset]
        return ast.get_source_segment(self._text, node) or ""

    def _number(self, node: ast.expr) -> ast.expr:
        found, answers = self.checked(node)
        if answers:
            raise ExpressionError("calculates with a comparison, where a number must stand")
        return found

    def _condition(self, node: ast.expr) -> ast.expr:
        found, answers = self.checked(node)
        if not answers:
            raise ExpressionError("has a number where a comparison must stand")
        return found

    def _literal(self, node: ast.Constant) -> ast.expr:
        written = self._written(node)
        if isinstance(node.value, bool) or not isinstance(node.value, int | float):
            raise ExpressionError(f"holds {written!r}, where a number must stand")
        figure = Decimal(written)
        if figure and not -MAXIMUM_MAGNITUDE <= figure.adjusted() <= MAXIMUM_MAGNITUDE:
            raise ExpressionError(f"holds {written}, which is beyond any figure of this trade")
        value = exact(figure)
        if isinstance(value, int):
            return ast.copy_location(ast.Constant(value), node)
        self.figures[written] = value
        return ast.copy_location(ast.Name(written, ast.Load()), node)

    def _check_call(self, node: ast.Call) -> None:
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        if name not in _FUNCTIONS or node.keywords:
            raise ExpressionError(
                f"calls {self._written(node)!r}; only {', '.join(sorted(_FUNCTIONS))} may be called"
            )
        node.args = [self._number(argument) for argument in node.args]
        given, takes = len(node.args), _FUNCTIONS[name]
        if given != takes and (takes or given < 2):
            raise ExpressionError(f"gives {name} {given} figures, it takes {takes or 'two'}")
