"""What each page shows, what it refuses, and what it writes."""

import html
import json
import re
import sys
from contextlib import chdir
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from click.testing import CliRunner

import planner
from planner.cli.app import planner as command
from planner.view import study
from planner.view.app import levers_of, offers_of, settings_of, words_of
from planner.view.study import Failure, Task
from tests.view.conftest import SMALL

PLAN = "out/plan.json"


def figure(text, place):
    """The figure on a page whose sum is this."""
    (found,) = re.findall(rf'title="[^"]*{re.escape(place)}"[^>]*>([^<]*)<', text)
    return html.unescape(found)


# What is shown


def test_the_folder_shows_its_plans_and_scenarios(get, folder):
    text = get()
    cost = planner.read_plan(PLAN).cost_usd
    assert figure(text, f"{PLAN}: proof.cost_cents") == f"{cost:,.0f}"
    assert 'href="plan?of=out%2Fplan.json"' in text
    assert "<code>scenario.yaml</code>" in text


PAGES = [
    ("plan", {"of": PLAN}, "Who holds which GPU"),
    ("plan", {"of": PLAN}, "Node map"),
    ("plan", {"of": PLAN}, "GPUs needed and GPUs in service"),
    ("job", {"of": PLAN, "name": "claims"}, "Why this GPU type"),
    ("job", {"of": PLAN}, "Why this GPU type"),
    ("what-if", {"of": PLAN}, "Held against"),
    ("what-if", {"of": "scenario.yaml"}, "Prices to buy"),
    ("compare", {}, "Compare two plans"),
    ("compare", {"before": PLAN, "after": PLAN}, "Nothing differs"),
    ("alternatives", {"of": PLAN}, "Find out"),
    ("sensitivity", {"of": PLAN}, "Find out"),
    ("document", {"of": PLAN, "name": "quarterly"}, "Capacity plan"),
    ("document", {"of": PLAN, "name": "justification"}, "Justification"),
    ("page.css", {}, "--ink"),
    ("view.js", {}, "fetch"),
]


def test_every_page_is_there(get):
    for page, fields, words in PAGES:
        assert words in get(page, **fields), page


def test_every_figure_of_a_plan_has_its_sum_and_each_job_leads_to_its_why(get):
    text = get("plan", of=PLAN)
    plan = planner.read_plan(PLAN)
    assert len(re.findall(r'class="n" tabindex="0" title="[^"]+" data-v="[^"]+">', text)) > 50
    for row in plan.jobs:
        assert f'href="job?of=out%2Fplan.json&amp;name={row["job"]}"' in text
    assert "<title>assistant: 6 of 8 GPUs here; serving of 10 B parameters" in text


def test_nothing_on_a_page_is_from_elsewhere(client):
    answer = client.get(f"/token/plan?of={PLAN}")
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    assert answer.headers["cache-control"] == "no-store"
    assert not re.findall(r'(?:src|href)="(?:https?:)?//', answer.text)
    assert "<script>" not in answer.text
    assert ' style="' not in answer.text


def test_names_from_a_file_cannot_open_markup(get, folder):
    hostile = "</title><script>alert(1)</script>"
    named = SMALL.replace("One job", json.dumps(hostile)).replace("chat:", '"<b>chat":')
    planner.plan(named).write(folder / "hostile")
    for page in (get(), get("plan", of="hostile/plan.json"), get("job", of="hostile/plan.json")):
        assert "<script>alert" not in page
        assert "<b>chat" not in page


# What is refused


def test_only_this_machine_and_who_knows_the_address_is_answered(client):
    for path in ("/wrong/", "/", "/token/nothing"):
        assert client.get(path).status_code == 404, path
    for host, status in {
        "evil.example": 403,
        "evil.example:8000": 403,
        "127.0.0.1.evil.example": 403,
        "localhost:8000": 200,
        "[::1]:8000": 200,
    }.items():
        assert client.get("/token/", headers={"host": host}).status_code == status, host


def test_a_form_of_another_page_is_refused(client, view):
    for origin in ("http://evil.example", "null", "https://127.0.0.1:8000", ""):
        headers = {"origin": origin}
        answer = client.post("/token/what-if", content=b"of=scenario.yaml", headers=headers)
        assert answer.status_code == 403, origin
    assert not view.study.runs()


def test_a_form_without_end_is_refused(client):
    assert client.post("/token/what-if", content=b"x" * 1_000_001).status_code == 413


def test_no_file_is_reached_that_is_not_listed(get, folder):
    secret = folder.parent / "secret"
    secret.mkdir()
    (secret / "plan.json").write_bytes(Path(PLAN).read_bytes())
    (folder / "link").symlink_to(secret)
    Path("linked").mkdir()
    Path("linked/plan.json").symlink_to(secret / "plan.json")
    up, over = "../secret/plan.json", "out/../out/plan.json"
    for name in (up, "/etc/passwd", "link/plan.json", over, "a\0.json", ""):
        for page in ("plan", "job", "what-if", "document", "alternatives"):
            assert "is no plan of this folder" in get(page, status=400, of=name), (page, name)
    assert "link" not in re.sub(r"<link [^>]*>", "", get())


def test_a_broken_plan_is_named_and_the_others_are_shown(get, folder):
    for name, text in {
        "cut": Path(PLAN).read_text(encoding="utf-8")[:500],
        "other": "[]",
        "numbers": '{"proof": 3}',
        "bytes": "\ufeff{",
        "deep": "[" * 100_000,
    }.items():
        (folder / name).mkdir()
        (folder / name / "plan.json").write_text(text, encoding="utf-8")
    text = get()
    assert text.count("it is no plan, or not whole") == 5
    assert "plan?of=out%2Fplan.json" in text
    get("plan", status=400, of="cut/plan.json")


def test_a_plan_that_was_changed_by_hand_is_not_shown(get):
    data = json.loads(Path(PLAN).read_text(encoding="utf-8"))
    data["proof"]["cost_cents"] -= 100_000
    Path(PLAN).write_text(json.dumps(data), encoding="utf-8")
    assert "was changed" in get("plan", status=400, of=PLAN)


def test_a_scenario_that_changes_meanwhile_is_told_and_its_mistakes_too(get):
    scenario = Path("scenario.yaml")
    text = scenario.read_text(encoding="utf-8")
    assert "has changed since" not in get("plan", of=PLAN)
    scenario.write_text(text.replace("count: 1}", "count: 2}"), encoding="utf-8")
    assert "scenario.yaml has changed since" in get("plan", of=PLAN)
    scenario.write_text(text.replace("count: 1}", "cuont: 1}"), encoding="utf-8")
    assert "did you mean &#39;count&#39;?" in get("what-if", status=400, of="scenario.yaml")
    scenario.unlink()
    get("what-if", status=400, of=PLAN)


# Levers


def test_each_lever_moves_what_it_is_called_by(folder):
    base = planner.load("scenario.yaml")
    expected = {
        "price": ("+10", {"offers.h200.price_usd": "392700"}),
        "rent": ("10", {"offers.'l40s.spot'.price_usd_per_gpu_hour": "2.4937"}),
        "api": ("-10", {"apis.house.usd_per_million_input_tokens": "0.9"}),
        "lead": ("-3", {"offers.h200.lead_time_weeks": "5"}),
        "traffic": ("50", {"jobs.invoices.serve.load.requests_per_second": "4.5"}),
        "units": ("100", {"jobs.claims.count": "2"}),
        "growth": ("-50", {"jobs.assistant.growth_per_quarter": "50%"}),
        "headroom": ("5", {"policies.headroom": "5%"}),
        "budget": ("10", {"budget.capex_usd.2027Q2": "1650000", "budget.total_usd": "3300000"}),
    }
    levers = {lever.key: lever for lever in levers_of(base)}
    assert levers.keys() == expected.keys()
    for key, (entered, moved) in expected.items():
        settings = settings_of(levers.values(), {key: entered})
        changes = {one["path"]: one["after"] for one in base.changed(set=settings).changes}
        assert moved.items() <= changes.items(), (key, changes)
    late = base.changed(set=["offers.'l40s.spot'.lead_time_weeks=2"])
    (lead,) = (lever for lever in levers_of(late) if lever.key == "lead")
    assert settings_of([lead], {"lead": "4"}) == ["offers.*.lead_time_weeks=+4"]


def test_each_offer_has_levers_of_its_own(folder):
    base = planner.load("scenario.yaml")
    levers = [lever for _, _, own in offers_of(base) for lever in own]
    form = {"price:l40s.spot": "-50", "lead:h200": "+4", "most:h200": "9", "price:h200": ""}
    settings = settings_of(levers, form)
    changes = {one["path"]: one["after"] for one in base.changed(set=settings).changes}
    assert changes["offers.h200.lead_time_weeks"] == "12"
    assert changes["offers.h200.maximum"] == "9"
    assert len(changes) == 3
    assert words_of(levers, form, ()) == (
        "H200 lead time +4 weeks, h200 at most 9 nodes, l40s.spot price -50 %"
    )


def test_without_a_budget_purchases_can_be_limited():
    question = {
        **{"format": 1, "name": "a", "horizon": {"first_quarter": "2027Q1", "quarters": 1}},
        **{"fleet": {"a": {"node_type": "xe9680-h100", "count": 1}}, "jobs": {}},
    }
    base = planner.load(question)
    (levers, form) = levers_of(base), {"capex": "100000"}
    assert [lever.key for lever in levers] == ["headroom", "capex"]
    changes = base.changed(set=settings_of(levers, form)).changes
    assert [(one["path"], one["after"]) for one in changes] == [("budget.capex_usd", "100000")]


def test_a_mistake_is_told_on_the_form_which_keeps_what_was_entered(post, view):
    for fields, told in (
        ({"price": "ten"}, "&#39;ten&#39; is not a number"),
        ({"price": "nan"}, "&#39;nan&#39; is not a number"),
        ({"lead": "-20"}, "lead_time_weeks"),
        ({"set": "offers.h200.price"}, "is not a change"),
        ({"set": "offers.h2000.price_usd=1"}, "h2000"),
        ({"apply": "thrice"}, "thrice"),
    ):
        answer = post("what-if", of=PLAN, **fields)
        assert answer.status_code == 400, fields
        assert told in answer.text
        (value,) = fields.values()
        assert f'value="{value}"' in answer.text or value in answer.text
    assert not view.study.runs()


# Planning in the background


def test_a_variant_is_planned_compared_and_kept_as_the_command_line_reads_it(post, came, get):
    fields = {"price": "15", "apply": "two", "set": "finance.pue=1.2\r\n"}
    run, shown = came(post("what-if", of=PLAN, **fields))
    assert run.state == "done", run.failure
    assert shown.headers["location"] == f"compare?before=out%2Fplan.json&after={run.name}"
    text = get("compare", before=PLAN, after=run.name)
    assert "Prices to buy +15 %, two, finance.pue=1.2" in text
    assert "finance.pue" in text
    assert run.task.title in get()
    kept = post("keep", id=run.name, name="dear")
    assert kept.headers["location"] == "plan?of=dear%2Fplan.json"
    assert not view_of(get, run.name)
    kept_plan, by_file = json.loads(Path("dear/plan.json").read_bytes()), planner.plan("dear.yaml")
    assert kept_plan["proof"]["cost_cents"] == round(100 * by_file.cost_usd)
    assert [one["total_cents"] for one in kept_plan["acquisitions"]] == [
        round(100 * one["total_usd"]) for one in by_file.purchases
    ]
    assert "Changes to the scenario" in get("plan", of="dear/plan.json")
    further = get("what-if", of="dear/plan.json")
    assert "Prices to buy +15 %" in further


def view_of(get, name):
    return name in get()


def test_a_scenario_as_it_is_is_kept_without_a_variant(post, client, came_to, folder):
    text = Path(PLAN).read_text(encoding="utf-8")
    run = came_to(Task("plan", "Two jobs", "scenario.yaml", {"apply": (), "set": ()}), "done", text)
    shown = client.get(f"/token/run?id={run.name}", follow_redirects=False)
    assert shown.headers["location"] == f"plan?of={run.name}"
    assert post("keep", id=run.name, name="again").status_code == 303
    assert Path("again/plan.json").read_text(encoding="utf-8") == text
    assert not (folder / "again.yaml").exists()


@pytest.fixture(scope="session")
def dear_plan(planned):
    """Of a variant: what is asked, and its plan.json."""
    with chdir(planned):
        changed = planner.load("scenario.yaml", set=["offers.h200.price_usd=+5%", "name=Dear"])
        return dict(changed.asked), planner.plan(changed).to_json()


@pytest.fixture
def came_to(view):
    """`came_to(task, "done", value)`: a run as if that had just come of a task."""

    def ended(task, *how):
        run = study.Execution("run-9", task)
        run.end(*how)
        view.study._runs[run.name] = run
        return run

    return ended


@pytest.fixture
def dear(came_to, dear_plan):
    """A plan as if it had just been planned here, of a variant."""
    asked, text = dear_plan
    return came_to(Task("plan", "Dear", "scenario.yaml", asked, of=PLAN), "done", text)


def test_what_is_kept_has_a_name_and_replaces_nothing(dear, post, folder):
    before = sorted(path.name for path in folder.parent.rglob("*"))
    for name in ("../out2", "/tmp/x", "a/b", "", ".", "-a", "a" * 61, "out"):
        assert post("keep", id=dear.name, name=name).status_code == 400, name
    assert sorted(path.name for path in folder.parent.rglob("*")) == before


def test_nothing_is_kept_outside_the_folder(dear, post, folder):
    elsewhere = folder.parent / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "scenario.yaml").write_bytes(Path("scenario.yaml").read_bytes())
    (folder / "way").symlink_to(elsewhere)
    object.__setattr__(dear.task, "scenario", "way/scenario.yaml")
    assert "lies outside this folder" in post("keep", id=dear.name, name="new").text
    assert [path.name for path in elsewhere.iterdir()] == ["scenario.yaml"]


def test_a_variant_that_cannot_be_read_again_is_not_left_behind(dear, post, folder):
    assert post("keep", id=dear.name, name="two").status_code == 400  # a name that the base has
    assert not (folder / "two.yaml").exists()
    assert not (folder / "two").exists()


def test_every_page_of_a_plan_that_is_not_kept(dear, get, post):
    assert "Not kept yet" in get("plan", of=dear.name)
    assert "Prices to buy" in get("what-if", of=dear.name)
    assert "Keep the plan first" in get("sensitivity", of=dear.name)
    assert "Justification" in get("document", of=dear.name)
    assert post("cancel", id=dear.name).headers["location"] == "./"
    assert "is not there any more" in get("plan", status=400, of=dear.name)
    assert "is not there any more" in get("run", status=400, id=dear.name)


def test_without_a_plan_the_reasons_and_remedies_are_told(get, came_to):
    task = Task("plan", "Nothing", "scenario.yaml", {"apply": ("nothing",)}, back="what-if?x=1")
    text = get("run", id=came_to(task, "failed", None, done(task)[1]).name)
    assert "No plan exists" in text
    assert "What would help" in text
    assert 'href="what-if?x=1"' in text


def test_a_third_task_waits_for_its_turn_and_can_be_cancelled_meanwhile(post, view, get):
    for _ in range(2):
        view.study._turns.acquire()  # two are at work
    post("what-if", of=PLAN, price="5")
    (run,) = view.study.runs()
    while "waiting" not in run.doing:
        pass
    assert "waiting for another to end" in get("run", id=run.name)
    post("cancel", id=run.name)
    view.study._turns.release()
    assert run.state == "cancelled"
    assert run._process is None


def test_a_plan_at_work_is_ended_at_once(post, view, get):
    post("what-if", of=PLAN, price="5")
    (run,) = view.study.runs()
    while run.state == "waiting":
        pass
    assert json.loads(get("state", id=run.name))["over"] is False
    assert "Cancel" in get("run", id=run.name)
    post("cancel", id=run.name)
    run._process.join(5)
    assert not run._process.is_alive()
    assert "nothing was written" in get("run", id=run.name)


def test_the_steps_between_two_plans_are_planned_when_asked(post, get, view, dear, came_to):
    view.study.start = lambda task: came_to(task, *done(task))
    answer = post("seek", kind="causes", before=PLAN, after=dear.name)
    assert answer.headers["location"] == "run?id=run-9"
    assert "One cause after the other" in get("run", id="run-9")


# What runs in another process, in this one


def done(task):
    said: list[Any] = []
    study._work(cast("Any", SimpleNamespace(send=said.append)), task)
    return said[-1]


def test_what_was_sought_lies_beside_the_plan_and_its_marks_lead_to_a_what_if(get, folder):
    small = "small/plan.json"
    for kind in ("alternatives", "sensitivity"):
        assert done(Task(kind, kind, plans=(small,)))[0] == "done"
        links = re.findall(r'<li><a href="(what-if[^"]*)">', get(kind, of=small))[1:]
        assert links
    text = get("sensitivity", of=small)
    marks = re.findall(r'<a href="([^"]*)" tabindex="-1"><rect', text)
    assert sorted(marks) == sorted(links)  # for the mouse, and for the keyboard
    price = next(html.unescape(one) for one in links if "price_usd" in one)
    assert "offers.h200.price_usd=" in get(price)
    Path("small/sensitivity.json").write_text("{}", encoding="utf-8")
    get("sensitivity", status=400, of=small)
    what, failure = done(Task("sensitivity", "again", plans=(small,)))
    assert what == "failed"
    assert "already" in str(failure)


def test_a_mark_of_a_picture_leads_to_where_the_page_says(folder):
    found = planner.sensitivity("small.yaml", precision=0.5)
    with_links, sections = found.to_part({"high-1": "there"})
    assert with_links.count('<a href="there" tabindex="-1"><rect') == 1
    assert 'href="#' in sections
    assert "data-to" not in with_links + found.to_html()


def test_what_a_user_can_cause_is_told_in_words(folder, dear_plan):
    assert done(Task("plan", "", "none.yaml"))[1].headline.startswith("the question")
    Path(PLAN).write_text("{}", encoding="utf-8")
    assert isinstance(done(Task("causes", "", plans=(PLAN, dear_plan[1])))[1], Failure)


def test_without_the_packages_one_sentence_says_what_to_install(monkeypatch, folder):
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    told = CliRunner().invoke(command, ["view"], prog_name="planner")
    assert told.exit_code == 2
    assert "`planner view` needs the package `uvicorn`" in told.stderr
    assert "pip install 'gpu-fit-planner[view]'" in told.stderr


def test_a_folder_that_is_not_there_is_named(folder):
    told = CliRunner().invoke(command, ["view", "nowhere"], prog_name="planner")
    assert told.exit_code == 2
    assert "nowhere" in told.stderr
