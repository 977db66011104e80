"""docs/verification.md and tests/broken/README.md name only tests and files that there are."""

import re

TEST = re.compile(r"`(test_\w+)`")
FILE = re.compile(r"\]\(\.\./(tests/[\w/]+\.py)\)")


def test_every_promise_names_tests_that_exist(root):
    page = (root / "docs" / "verification.md").read_text(encoding="utf-8")
    before, _, promised = page.partition("## What is promised")
    promised, _, unpromised = promised.partition("## What cannot be promised")
    assert unpromised
    assert not TEST.search(before + unpromised)
    promises = [line for line in promised.splitlines() if line.startswith("|")][2:]
    assert len(promises) > 12
    for line in promises:
        files = FILE.findall(line)
        assert files, line
        code = "".join((root / path).read_text(encoding="utf-8") for path in files)
        assert all(f"def {name}(" in code for name in TEST.findall(line)), line
        assert TEST.findall(line) or "drawn at random" in line, line


KNOWN = [
    *(n for n in range(1, 164) if n % 3),
    *range(164, 186),
    *range(200, 208),
    220,
    *range(240, 305),
]
"""The numbers of tests/broken/README.md: no way to get an input wrong is taken from the list."""


def test_every_known_bad_input_has_its_outcome_and_what_holds_it(root):
    folder = root / "tests" / "broken"
    page = (folder / "README.md").read_text(encoding="utf-8")
    rows = [line.strip("| ").split(" | ") for line in page.splitlines() if line.startswith("| ")]
    numbers = [row[0] for row in rows if row[0].isdigit()]
    assert [int(number) for number in numbers] == KNOWN
    for number, _, follows, held_by in (row for row in rows if row[0].isdigit()):
        assert follows, number
        linked = re.findall(r"\]\(([^)]+)\)", held_by)
        assert linked, number
        assert all((folder / path).is_file() for path in linked), number
        for name, path in re.findall(r"`(test_\w+)` in \[\w+\]\(([^)]+)\)", held_by):
            assert f"def {name}(" in (folder / path).read_text(encoding="utf-8"), name
