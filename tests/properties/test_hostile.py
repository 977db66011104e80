"""Scenarios and formulas that were damaged at random are answered or refused, without much work."""

import contextlib
from fractions import Fraction
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from planner.errors import Finding, InputError
from planner.inputs.load import inputs_from, load_catalog, load_rules
from planner.inputs.reading.reader import parse_document
from planner.inputs.rules.expression import Expression, ExpressionError
from tests.effort import at_most
from tests.properties.questions import drawing

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "scenarios" / "quickstart.yaml").read_text(encoding="utf-8")
BOOKS = (load_catalog(), load_rules())
WORDS = [
    "~",
    "NO",
    "010",
    "1e6",
    "-1",
    "1e999",
    "0.0",
    "12:30",
    "[]",
    "{}",
    "''",
    "&a",
    "*a",
    "<<:",
]
WORDS += ["!!python/object/apply:os.system [true]", "${X}", "\u202e", "\t", "\x00", ": ", "- ", "#"]
CUTS = st.tuples(st.integers(0, len(TEXT)), st.integers(0, 40), st.sampled_from(["", *WORDS]))


def findings(text: str) -> tuple[Finding, ...]:
    """All mistakes of a scenario; none if it is sound."""
    try:
        inputs_from(parse_document(text, "damaged.yaml"), lambda: BOOKS[0], lambda: BOOKS[1])
    except InputError as error:
        return error.findings
    return ()


@drawing(60)
@given(cuts=st.lists(CUTS, min_size=1, max_size=4))
def test_a_damaged_scenario_is_read_or_refused_with_places(cuts):
    text = TEXT
    for start, length, word in cuts:
        text = text[:start] + word + text[start + length :]
    with at_most(cpu_s=20):
        lines = [one.line for one in findings(text) if one.line is not None]
    assert all(1 <= line <= text.count("\n") + 2 for line in lines)


ATOMS = ["a", "b", "1", "9", "0", "0.5", "1e9", "1e30", "__class__", "(1)", "True", "'x'"]
GLUE = [" + ", " * ", " / ", " // ", " % ", " ** ", " - ", " < ", " == ", " and ", " if ", ", "]
GLUE += [" else ", " << ", ".", "[0]", " is ", " in ", " := "]
CALLS = ["{}", "ceil({})", "min({}, 2)", "(lambda: {})()", "[{}]", "-({})", "eval({})", "({})"]
FORMULAS = st.recursive(
    st.sampled_from(ATOMS),
    lambda inner: st.one_of(
        st.builds("{}{}{}".format, inner, st.sampled_from(GLUE), inner),
        st.builds(str.format, st.sampled_from(CALLS), inner),
    ),
    max_leaves=40,
)


@drawing(150)
@given(text=FORMULAS)
def test_a_formula_is_computed_or_refused_and_never_hangs(text):
    with at_most(cpu_s=5), contextlib.suppress(ExpressionError):
        Expression(text).evaluate({"a": Fraction(7, 3), "b": Fraction(10**9)})
