"""Does the sums of a document again from plan.json alone; shares no code with the planner."""

import ast
import json
import operator
import re
from collections.abc import Callable
from datetime import date
from fractions import Fraction

_PLACE = re.compile(
    r"[A-Za-z_]\w*(?:\.\w+|\[(?:\"(?:[^\"\\]|\\.)*\"|[^\]\"])*\])+|as_of|description"
)
_STEP = re.compile(r"\.?(\w+)|\[((?:\"(?:[^\"\\]|\\.)*\"|[^\]\"])*)\]")
_CONDITION = re.compile(r"(\w+)=(\"(?:[^\"\\]|\\.)*\"|[^,]*)(?:, |$)")
_DO = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}
_FOLDS: dict[str, Callable[[list[Fraction]], Fraction]] = {
    "sum": lambda values: sum(values, Fraction(0)),
    "max": max,
    "min": min,
}


def found(plan, place):
    """Everything that stands at a place of the parsed plan.json."""
    values = [plan]
    for key, bracket in _STEP.findall(place):
        if key:
            values = [value[key] for value in values]
        elif bracket == "*":
            values = [item for value in values for item in value]
        elif "=" in bracket:
            wanted = [
                (name, json.loads(text) if text.startswith('"') else text)
                for name, text in _CONDITION.findall(bracket)
            ]
            values = [
                item
                for value in values
                for item in value
                if all(
                    text in map(str, item[name])
                    if isinstance(item[name], list)
                    else str(item[name]) == text
                    for name, text in wanted
                )
            ]
        else:
            values = [v[int(bracket)] if isinstance(v, list) else v[bracket] for v in values]
    return values


def again_in(files, formula):
    """The same over whichever file the sum begins with; plan.json where it names none."""
    name, colon, rest = formula.partition(": ")
    return again(files[name], rest) if colon and name in files else again(files[""], formula)


def again(plan, formula):
    """The value of a sum, or the day that stands at a place."""
    places = []

    def note(match):
        places.append(match[0])
        return f"P[{len(places) - 1}]"

    tree = ast.parse(_PLACE.sub(note, formula), mode="eval")

    def value(node):
        if isinstance(node, ast.BinOp):
            left, right = value(node.left), value(node.right)
            if isinstance(left, str) and isinstance(right, str):  # days
                left, right = (date.fromisoformat(day).toordinal() for day in (left, right))
            return _DO[type(node.op)](left, right)
        if isinstance(node, ast.Call):
            name, values = ast.unparse(node.func), standing(node.args[0])
            if name == "count":
                return Fraction(len(values))
            return _FOLDS[name]([Fraction(repr(one)) for one in values])
        if isinstance(node, ast.Subscript):
            (one,) = standing(node)
            return one if isinstance(one, str) else Fraction(repr(one))
        return Fraction(ast.unparse(node))

    def standing(node):
        return found(plan, places[int(ast.unparse(node).strip("P[]"))])

    return value(tree.body)
