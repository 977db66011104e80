"""Whatever a document points at is there: links, sections by their number, what is below or above.

Each way to point is listed here with what must be found; a new one that is not listed fails.
"""

import re
from dataclasses import replace

import pytest

from planner.reporting import markdown
from planner.reporting.documents import (
    justification_document,
    plan_document,
    quarterly_document,
)
from planner.reporting.html import render
from planner.reporting.sections.options import alternatives_document
from planner.reporting.sections.sensitivity import sensitivity_document
from planner.reporting.sections.variants import comparison_document
from planner.reporting.traced import SCREEN, RelatedResults
from tests.report.pages import Page, justification, plan_page
from tests.stated import changed

NUMBERS = r"(?:\d+(?:, \d+)*(?: and \d+)?)"
SECTION = rf"sections? ({NUMBERS})|appendix ([A-Z])|appendices"
"""Every way to name a section."""

POINTERS = {
    r"In support of: [^|]*, section (\d+)\n": "| Job | What it is |",
    r"what would keep each: .*, section (\d+)\n": "### What does not fit",
    r"description: the bill of materials, section (\d+)\n": "| Offer | Quarter |",
    r"rejected GPU types with their rules, section (\d+)": "### Why not other GPU types",
    r"what other GPU types would add, job by job, appendix (A)": "| Elsewhere |",
}
"""What points, and what stands in that section."""
BELOW = {
    "Numbers are those of the jobs below": "Numbers of the node map:",
    "told apart below": "Jobs that give way",
}
ABOVE = {
    "is as for ": ", decided by ",
}
NO_PLACE = re.compile(r"below zero|above which|(?:above|below) \d")
"""Where above and below are no places."""


def without(plan, **changes):
    return changed(plan, **changes)


def unrejected(plan):
    sizings = {name: changed(one, rejections=()) for name, one in plan.sizings.items()}
    return without(plan, sizings=sizings)


@pytest.fixture(
    scope="module",
    params=["plain", "nothing rejected", "nothing bought", "short", "everything beside", "no jobs"],
)
def variant(request, plan, short, beside, compared):
    """A plan, and what is known beside it."""
    return {
        "plain": lambda: (plan, RelatedResults()),
        "nothing rejected": lambda: (unrejected(plan), RelatedResults()),
        "nothing bought": lambda: (
            without(plan, acquisitions=(), break_evens=()),
            RelatedResults(),
        ),
        "short": lambda: (short, RelatedResults()),
        "everything beside": lambda: (plan, replace(beside, comparison=compared)),
        "no jobs": lambda: (
            without(plan, jobs=(), sizings={}, placements=((), (), ()), acquisitions=()),
            RelatedResults(),
        ),
    }[request.param]()


@pytest.fixture(scope="module", params=[justification_document, quarterly_document])
def document(request, variant):
    return request.param(*variant)


def without_sources(drawn):
    """Titles of sources name sections of their own."""
    return re.sub(r"## C\. .*|(?<=\n)## Rules and their sources.*?(?=\n## )", "", drawn, flags=re.S)


@pytest.fixture(scope="module")
def drawn(document):
    return without_sources(markdown.render(document))


def sections(drawn):
    """Text by number or letter of the section."""
    parts = re.split(r"^## (\w+)\. (.*)$", drawn, flags=re.MULTILINE)
    return {
        number: f"{title}\n{text}"
        for number, title, text in zip(parts[1::3], parts[2::3], parts[3::3], strict=True)
    }


def test_every_link_of_a_page_arrives(document):
    page = Page(render(document, "Pointers"))
    assert {link.removeprefix("#") for link in page.links} <= set(page.ids)


def test_every_section_that_is_named_tells_of_what_it_is_named_for(drawn, variant):
    found = sections(drawn)
    jobs = bool(variant[0].jobs)
    spans = []
    for pattern, told in POINTERS.items():
        for pointer in re.finditer(pattern, drawn):
            spans.append(pointer.span())
            number = pointer.groups()[-1]
            assert number in found, pointer[0]
            if jobs:
                assert told in found[number], pointer[0]
    for mention in re.finditer(SECTION, drawn):
        listed = any(start <= mention.start() < end for start, end in spans)
        assert listed, drawn[mention.start() - 60 : mention.end()]


def others(plan, beside, compared):
    yield plan_page(plan)
    yield markdown.render(plan_document(plan, SCREEN))
    yield markdown.render(alternatives_document(beside.alternatives))
    yield markdown.render(sensitivity_document(beside.sensitivity))
    yield markdown.render(comparison_document(compared, 99))


def places(drawn):
    """Every word that points up or down, with what stands before and after it."""
    for word in re.finditer(r"\b(below|above)\b", drawn):
        if not NO_PLACE.match(drawn[word.start() : word.end() + 6]):
            yield word, drawn[max(0, word.start() - 80) : word.end() + 40]


def check_places(drawn):
    for word, around in places(drawn):
        known = BELOW if word[1] == "below" else ABOVE
        told = [text for phrase, text in known.items() if phrase in around]
        assert told, f"not listed here: {around!r}"
        there = drawn[word.end() :] if word[1] == "below" else drawn[: word.start()]
        assert told[0] in there, around


def test_what_is_said_to_be_below_or_above_is_there(drawn):
    check_places(drawn.replace("\\", ""))


def test_other_documents_point_at_what_they_hold(plan, beside, compared):
    for drawn in map(without_sources, others(plan, beside, compared)):
        check_places(drawn)
        assert re.search(SECTION, drawn) is None


def test_what_decided_another_job_stands_above(plan):
    tuned = next(job for job in plan.jobs if job.name == "claims-tune")
    twin = changed(tuned, name="twin")
    told = justification(without(plan, jobs=(*plan.jobs, twin)))
    appendix = sections(told)["A"].replace("\\", "")
    ((way, job),) = re.findall(r"What decided on (.*) is as for (.*) above\.", appendix)
    above = appendix.partition("### twin\n")[0].partition(f"### {job}\n")[2]
    assert f"On {way}, decided by " in above.partition("\n### ")[0]
