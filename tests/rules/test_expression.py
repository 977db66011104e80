"""Formulas: exact arithmetic, readable sums, and nothing a stranger can abuse."""

import contextlib
import re
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.inputs.rules.expression import (
    Expression,
    ExpressionError,
    figure_text,
    with_figures,
)
from tests.effort import at_most
from tests.properties.questions import drawing

PEFT = "((parameters_b * 2) + (adapters * adapter_gb)) * 1.5"
FIGURES = {"parameters_b": Fraction(10), "adapters": Fraction(2), "adapter_gb": Fraction(1, 8)}

HOSTILE = {
    "power": "9**9**9",
    "import": "__import__('os').getcwd()",
    "attribute": "parameters_b.numerator",
    "class walk": "().__class__.__bases__",
    "string": "'a' * 1000000000",
    "subscript": "parameters_b[0]",
    "list": "[1, 2]",
    "lambda": "lambda: 1",
    "comprehension": "sum(1 for x in y)",
    "shift": "1 << 1000000",
    "invert": "~1",
    "walrus": "(x := 1)",
    "keyword": "max(1, 2, key=abs)",
    "unknown call": "eval(1)",
    "method": "abs.real",
    "function without brackets": "min",
    "true": "True + 1",
    "none": "None",
    "imaginary": "1j",
    "infinite": "1e400",
    "vast exponent": "1e400000000",
    "tiny exponent": "1e-99999",
    "statement": "a = 1",
    "two lines": "1\n2",
    "semicolon": "1; 2",
    "backslash": "1 \\\n + 1",
    "comment": "1 # 2",
    "null byte": "1\x00",
    "non-latin letter": "рarameters_b * 2",
    "number glued to a word": "1if 1 > 0 else 2",
    "hexadecimal": "0x10",
    "underscore in a number": "1_000",
    "leading zeros": "007",
    "chained comparison": "1 < 2 < 3",
    "number as condition": "1 if 2 else 3",
    "comparison as number": "(1 < 2) + 1",
    "mixed outcome": "1 if 1 < 2 else 2 < 3",
    "not a number": "not 1",
    "and of numbers": "1 and 2",
    "is": "1 is 1",
    "in": "1 in 2",
    "one figure for max": "max(1)",
    "no figure": "ceil()",
    "too many figures": "round(1.5, 2)",
    "empty": "",
    "open bracket": "(1 + 2",
    "deep nesting": "(" * 240 + "1" + ")" * 240,
    "twenty thousand terms": " + ".join(["1"] * 20_000),
    "many parts though flat": "max(" + ",".join(["1"] * 210) + ")",
    "what Python itself looks names up in": "__builtins__ * 2",
    "many parts": "+".join(["1"] * 150),
    "very long": "parameters_b + " * 40 + "1",
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())
def test_anything_but_arithmetic_is_refused_at_once(text):
    with at_most(cpu_s=1), pytest.raises(ExpressionError):
        Expression(text)


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("1 + 2 * 3", 7),
        ("(1 + 2) * 3", 9),
        ("7 // 2", 3),
        ("7 % 4", 3),
        ("-7 + 2", -5),
        ("1 / 3", Fraction(1, 3)),
        ("1e6", 1_000_000),
        (".5 + 0.25", Fraction(3, 4)),
        ("ceil(7.2)", 8),
        ("floor(7.9)", 7),
        ("round(2.5)", 2),
        ("abs(-3)", 3),
        ("min(3, 1, 2)", 1),
        ("max(3, 1, 2)", 3),
        ("1 if 2 > 1 else 5", 1),
        ("1 if 2 < 1 else 2 if 3 < 1 else 3", 3),
        ("1 if not 2 < 1 else 5", 1),
        ("1 if 2 > 1 and 3 > 2 else 5", 1),
        ("1 if 2 < 1 or 3 > 2 else 5", 1),
        ("1 if 1 == 1.0 else 5", 1),
        ("1 if 1 != 1 else 5", 5),
        ("1 if 1 <= 1 and 1 >= 1 else 5", 1),
    ],
)
def test_arithmetic_comes_out_as_it_should(text, result):
    assert Expression(text).evaluate({}) == result


def test_a_condition_answers_true_or_false():
    condition = Expression("parameters_b > 8")
    assert condition.is_condition
    assert condition.evaluate({"parameters_b": Fraction(70)}) is True
    assert condition.evaluate({"parameters_b": Fraction(8)}) is False


def test_tenths_stay_tenths():
    assert Expression("(0.1 + 0.2) * 10").evaluate({}) == 3
    assert Expression("ceil((0.1 + 0.2) * 10)").evaluate({}) == 3
    assert Expression("ceil(0.7 * 10)").evaluate({}) == 7


def test_a_formula_knows_the_names_it_uses_in_their_order():
    assert Expression(PEFT).names == ("parameters_b", "adapters", "adapter_gb")
    assert Expression("max(b, a) if a > 1 else b").names == ("b", "a")


def test_a_formula_is_shown_with_its_figures_in():
    assert with_figures(PEFT, FIGURES) == "((10 × 2) + (2 × 0.125)) × 1.5"
    assert with_figures("a - aa", {"a": Fraction(1), "aa": Fraction(-2)}) == "1 − (−2)"


def test_division_by_zero_names_the_figures():
    with pytest.raises(ExpressionError, match="divides by zero with a = 0"):
        Expression("1 / a").evaluate({"a": Fraction(0)})
    with pytest.raises(ExpressionError, match="divides by zero"):
        Expression("1 % 0").evaluate({})


def test_a_missing_figure_is_named():
    with pytest.raises(ExpressionError, match="no figure for 'b'"):
        Expression("a + b").evaluate({"a": Fraction(1)})


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Fraction(168), "168"),
        (Fraction(243, 8), "30.375"),
        (Fraction(1, 3), "0.333333"),
        (Fraction("8.030261248"), "8.030261248"),
        (Fraction("141.107412992"), "141.107"),
        (Fraction(-5, 2), "−2.5"),
        (Fraction(1, 10**9), "0.000000001"),
        (Fraction(10**15), "1000000000000000"),
    ],
)
def test_figures_are_exact_where_that_is_short(value, text):
    assert figure_text(value) == text


@drawing(60)
@given(st.text(max_size=600))
def test_no_text_does_anything_but_compile_or_be_refused(text):
    with contextlib.suppress(ExpressionError):
        Expression(text)


names = st.sampled_from(("a", "b", "1", "2.5", "0.1"))
sums = st.recursive(
    names,
    lambda inner: st.builds("({} {} {})".format, inner, st.sampled_from("+-*"), inner),
    max_leaves=12,
)


@drawing(60)
@given(sums, st.fractions(max_denominator=999), st.fractions(max_denominator=999))
def test_evaluation_agrees_with_exact_arithmetic(text, a, b):
    exact = re.sub(r"[\d.]+", lambda match: f"F('{match[0]}')", text)
    expected = eval(exact, {"F": Fraction, "a": a, "b": b})
    assert Expression(text).evaluate({"a": a, "b": b}) == expected
