"""docs/trust.md and tests/broken/README.md name only tests and files that there are."""

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


KNOWN = [
    1,
    2,
    4,
    5,
    7,
    8,
    10,
    11,
    13,
    14,
    16,
    17,
    19,
    20,
    22,
    23,
    25,
    26,
    28,
    29,
    31,
    32,
    34,
    35,
    37,
    38,
    40,
    41,
    43,
    44,
    46,
    47,
    49,
    50,
    52,
    53,
    55,
    56,
    58,
    59,
    61,
    62,
    64,
    65,
    67,
    68,
    70,
    71,
    73,
    74,
    76,
    77,
    79,
    80,
    82,
    83,
    85,
    86,
    88,
    89,
    91,
    92,
    94,
    95,
    97,
    98,
    100,
    101,
    103,
    104,
    106,
    107,
    109,
    110,
    112,
    113,
    115,
    116,
    118,
    119,
    121,
    122,
    124,
    125,
    127,
    128,
    130,
    131,
    133,
    134,
    136,
    137,
    139,
    140,
    142,
    143,
    145,
    146,
    148,
    149,
    151,
    152,
    154,
    155,
    157,
    158,
    160,
    161,
    163,
    164,
    165,
    166,
    167,
    168,
    169,
    170,
    171,
    172,
    173,
    174,
    175,
    176,
    177,
    178,
    179,
    180,
    181,
    182,
    183,
    184,
    185,
    200,
    201,
    202,
    203,
    204,
    205,
    206,
    207,
    220,
    240,
    241,
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
