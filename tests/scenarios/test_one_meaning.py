"""A public name of a class means one thing in all of the planner; a mutation has one place."""

import ast
from collections import defaultdict
from pathlib import Path

import planner
from tests.mutations import MUTATIONS

ROOT = Path(planner.__file__).parent


def test_no_public_class_shares_its_name_with_another_class_or_type():
    found: defaultdict[str, set[str]] = defaultdict(set)
    classes = set()
    for path in ROOT.rglob("*.py"):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            name = ""
            if isinstance(node, ast.ClassDef):
                name = node.name
                classes.add(name)
            elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                name = node.targets[0].id
            elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                name = node.target.id
            if name[:1].isupper() and not name.isupper():
                found[name].add(str(path.relative_to(ROOT)))
    twice = {name: places for name, places in found.items() if len(places) > 1}
    assert not {name: places for name, places in twice.items() if name in classes}


def test_every_mutation_has_its_place():
    """`make mutations`, which takes long, would only then say so."""
    for one in MUTATIONS:
        text = (ROOT.parent / one.file).read_text(encoding="utf-8")
        assert text.count(one.old) == 1, f"{one.name}: {one.file}"
