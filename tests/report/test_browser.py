"""The page in a real browser: quiet, alone, sortable, printable. Needs Debian's chromium."""

import pytest

from planner.reporting.documents import justification_document
from planner.reporting.html import render
from tests.conftest import CONTRASTS


@pytest.fixture(scope="module")
def path(plan, tmp_path_factory):
    target = tmp_path_factory.mktemp("page") / "justification.html"
    target.write_text(render(justification_document(plan), "Justification"), encoding="utf-8")
    return target


@pytest.fixture
def opened(tab, path):
    """`opened(width)`: the page in a tab of its own."""

    def start(*width, **options):
        page = tab(*width, **options)
        page.goto(path.as_uri())
        return page

    return start


def column(page, caption, title):
    table = page.locator("table", has=page.locator("caption", has_text=caption))
    place = table.locator("thead th").all_inner_texts().index(title) + 1
    return table, table.locator(f"tbody tr:not([hidden]) td:nth-child({place})")


def test_the_page_is_quiet_asks_for_nothing_else_and_never_scrolls_sideways(opened, path):
    page = opened()
    for width in (320, 400, 1280):
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.said == []
    assert page.asked == [path.as_uri()]


def test_a_bill_of_millions_fits_a_laptop(opened):
    page = opened(1280)
    table, each = column(page, "Bill of materials", "Each, USD")
    each.evaluate_all("all => all.forEach(cell => cell.textContent = '12,345,679')")
    _, total = column(page, "Bill of materials", "Total, USD")
    total.evaluate_all("all => all.forEach(cell => cell.textContent = '172,839,505')")
    beyond = table.evaluate("table => table.scrollWidth - table.parentNode.clientWidth")
    assert beyond <= 0, f"the bill is {beyond} pixels too wide: take a column out, or shorten one"


def test_a_table_sorts_by_the_value_of_its_figures(opened):
    page = opened()
    table, amounts = column(page, "Bill of materials", "Total, USD")
    before = amounts.all_inner_texts()
    button = table.get_by_role("button", name="Sort by Total, USD")
    button.click()
    rising = amounts.all_inner_texts()
    button.press("Enter")
    assert rising == sorted(before, key=lambda text: int(text.replace(",", "")))
    assert amounts.all_inner_texts() == sorted(before, key=lambda text: -int(text.replace(",", "")))
    assert table.locator("tfoot").inner_text().startswith("Sum")


def test_a_figure_tells_its_sum_to_the_keyboard(opened):
    page = opened()
    page.locator("dd .n").first.focus()
    assert page.locator("#trace").inner_text() == (
        "plan.json: sum(costs[*].present_cents) / sum(pools[*].gpu_hours_used[*])"
    )


def test_a_job_opens_where_its_name_leads(opened):
    page = opened()
    page.get_by_role("link", name="claims-tune", exact=True).first.click()
    fold = page.locator("details", has=page.locator("#job-2"))
    assert fold.get_attribute("open") is not None
    assert fold.locator("caption").first.is_visible()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_from_its_ground(opened, scheme):
    page = opened(color_scheme=scheme)
    names = ["body", ".faint", ".warning", "nav a", "dt", "caption"]
    assert min(page.evaluate(CONTRASTS, names)) >= 4.5


def test_the_page_prints_whole_on_paper_of_either_size(opened):
    """On several sheets, no table wider than the paper, and what is folded opened."""
    page = opened()
    page.emulate_media(media="print")
    for paper, width in (("A4", 703), ("Letter", 725)):
        page.set_viewport_size({"width": width, "height": 900})
        wide = page.evaluate(
            """() => [...document.querySelectorAll("table")]
              .filter(table => table.scrollWidth > table.parentNode.clientWidth + 1)
              .map(table => table.caption.textContent)"""
        )
        assert wide == [], paper
        printed = page.pdf(format=paper)
        assert printed.startswith(b"%PDF")
        assert printed.count(b"/Type /Page\n") + printed.count(b"/Type /Page ") >= 4
    folded = "() => document.querySelector('details > div').getBoundingClientRect().height"
    assert page.evaluate(folded) > 20


def test_links_to_sections_take_one_line_on_a_narrow_page(opened):
    page = opened(400)
    assert page.locator("nav").evaluate("nav => nav.getBoundingClientRect().height") < 80
    assert page.locator("h1").evaluate("head => head.getBoundingClientRect().top") < 150
