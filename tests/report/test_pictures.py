"""Pictures of long horizons can be read: columns stand in strips, words do not overlap."""

import re
from fractions import Fraction

from planner.reporting.document import Chart, Figure, NodeMap, Series, Table
from planner.reporting.pictures import drawn

QUARTERS = tuple(f"{2027 + place // 4}Q{place % 4 + 1}" for place in range(8))
NODES = NodeMap(
    title="",
    says="",
    columns=QUARTERS,
    in_use=("1 of 1",) * 8,
    rows=(("node/site/01", ((("job",),) * 8,) * 8),),
    numbers={"job": 1},
    told={"job": "a job"},
    spanning=frozenset(),
    key=Table((), ()),
)


def test_quarters_that_are_too_wide_for_a_page_stand_in_strips_of_equal_length():
    svg = drawn(NODES)
    (across,) = re.findall(r'viewBox="0 0 (\d+) ', svg)
    assert int(across) <= 1000
    places = {words: int(x) for x, words in re.findall(r'x="(\d+)"[^>]*>(\d{4}Q\d)<', svg)}
    assert [*places] == [*QUARTERS]
    assert [places[label] for label in QUARTERS[:4]] == [places[label] for label in QUARTERS[4:]]
    assert svg.count(NODES.rows[0][0] + "<") == 2


def test_events_side_by_side_share_their_words():
    bars = Series("Owned", (Figure(Fraction(8), "count", ""),) * 8)
    chart = Chart("", "", QUARTERS, (bars,), "GPUs", ((0, "a"), (1, "b"), (4, "c")))
    assert re.findall(r">(▼[^<]*)<", drawn(chart)) == ["▼", "▼ orders arrive", "▼ orders arrive"]


def test_lines_of_a_grid_have_labels_that_differ():
    bars = Series("Owned", (Figure(Fraction(2), "count", ""),) * 8)
    svg = drawn(Chart("", "", QUARTERS, (bars,), "GPUs"))
    assert re.findall(r'text-anchor="end">(\d+)<', svg) == ["0", "1", "2"]
