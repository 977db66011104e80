"""A public name of a class means one thing in all of the planner; a mutation has one place."""

import ast
from collections import defaultdict
from pathlib import Path

import planner
from tests.mutations import MUTATIONS

ROOT = Path(planner.__file__).parent


def test_no_public_class_or_type_shares_its_name_with_another():
    """A type may be written down twice, in the plan and in its check, if it is the same."""
    found: defaultdict[str, set[str]] = defaultdict(set)
    for path in ROOT.rglob("*.py"):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            name, meant = "", ""
            if isinstance(node, ast.ClassDef):
                name, meant = node.name, str(path)
            elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                name, meant = node.targets[0].id, ast.dump(node.value)
            elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                name, meant = node.target.id, ast.dump(node)
            if name[:1].isupper() and not name.isupper():
                found[name].add(meant)
    assert not [name for name, meanings in found.items() if len(meanings) > 1]


def test_every_mutation_has_its_place():
    """`make mutations`, which takes long, would only then say so."""
    for one in MUTATIONS:
        text = (ROOT.parent / one.file).read_text(encoding="utf-8")
        assert text.count(one.old) == 1, f"{one.name}: {one.file}"
