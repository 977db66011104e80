"""docs/trust.md names only tests that there are."""

from __future__ import annotations

import re

TEST = re.compile(r"`(test_\w+)`")
FILE = re.compile(r"\]\(\.\./(tests/[\w/]+\.py)\)")


def test_every_promise_names_tests_that_exist(root):
    page = (root / "docs" / "trust.md").read_text(encoding="utf-8")
    promised, unpromised = page.split("## What cannot be promised")
    assert not TEST.search(unpromised)
    for section in promised.split("\n## ")[1:]:
        of_section = FILE.findall(section.partition("|")[0])
        for line in section.splitlines():
            if not line.startswith("|") or line.startswith(("|---", "| promise", "| what gives")):
                continue
            files = FILE.findall(line) or of_section
            assert files, line
            code = "".join((root / path).read_text(encoding="utf-8") for path in files)
            assert all(f"def {name}(" in code for name in TEST.findall(line)), line
            assert TEST.findall(line) or "drawn at random" in line, line
