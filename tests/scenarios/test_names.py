"""One name has one meaning: no two modules have a public class of the same name."""

from __future__ import annotations

import re
from collections import defaultdict


def test_no_two_public_classes_have_the_same_name(root):
    places = defaultdict(list)
    for path in sorted((root / "planner").rglob("*.py")):
        for name in re.findall(r"^class ([A-Z]\w*)", path.read_text("utf-8"), re.MULTILINE):
            places[name].append(str(path.relative_to(root)))
    assert not {name: where for name, where in places.items() if len(where) > 1}
