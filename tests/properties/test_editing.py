"""A scenario that is edited, varied, planned and compared in any order tells one story."""

from copy import deepcopy
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from planner.errors import InfeasibleError
from planner.inputs.load import Question as Asked
from planner.planning.make import make_plan
from planner.planning.store import checked, dumps, loads, read_saved
from planner.planning.verify import verify
from planner.sizing.sizers import Sizers
from planner.whatif.compare import compare_plans, planned_side
from tests.properties.questions import JOBS, QUESTIONS, Question, drawing, written

SIZERS = Sizers()
"""One for all plans: what a variant leaves behind may change no other."""

OVERRIDES = ("first", "second")
CHANGES = st.one_of(
    st.tuples(st.just("offers.alpha.price_usd"), st.integers(60_000, 400_000)),
    st.tuples(st.just("offers.gamma.maximum"), st.integers(0, 3)),
    st.tuples(st.just("fleet.own.count"), st.integers(1, 3)),
    st.tuples(st.just("policies.headroom"), st.sampled_from(["5%", "10%"])),
    st.tuples(st.just("jobs.kept.count"), st.integers(1, 4)),
)


class Editing(RuleBasedStateMachine):
    """A file with two overrides; after each step it may be asked for its plan."""

    @initialize(question=QUESTIONS, job=JOBS)
    def begin(self, question: Question, job: dict[str, Any]) -> None:
        """Open a file that has a job which no step takes away."""
        self.folder = TemporaryDirectory()
        self.path = Path(self.folder.name) / "scenario.yaml"
        self.question = question.with_jobs(kept=job)
        self.overrides: dict[str, dict[str, Any]] = {}

    @rule(name=st.sampled_from(["one", "two", "three"]), job=JOBS)
    def write_a_job(self, name: str, job: dict[str, Any]) -> None:
        """Put a job in the place of another, or add one."""
        self.question = self.question.with_jobs(**{name: job})

    @rule(name=st.sampled_from(["one", "two", "three"]))
    def delete_a_job(self, name: str) -> None:
        """Take a job out, if it is there."""
        jobs = {key: job for key, job in self.question.jobs.items() if key != name}
        self.question = Question(**{**vars(self.question), "jobs": jobs})

    @rule(name=st.sampled_from(OVERRIDES), change=CHANGES)
    def override(self, name: str, change: tuple[str, Any]) -> None:
        """Write a change into an override."""
        path, value = change
        self.overrides[name] = {**self.overrides.get(name, {}), path: value}

    @precondition(lambda self: self.overrides)
    @rule(data=st.data())
    def delete_an_override(self, data: st.DataObject) -> None:
        """Take an override out."""
        del self.overrides[data.draw(st.sampled_from(sorted(self.overrides)))]

    @rule()
    def plan_it_in_every_way(self) -> None:
        """Applied by the file, by the command line, or written out: it is the same plan."""
        names = sorted(self.overrides)
        parts = self.question.parts()
        varied = parts | {"overrides": self.overrides}
        by_file = self.asked(varied | {"apply": names})
        ways = [self.asked(varied, names), self.asked(self.written_out())]
        assert [figures(plan) for plan in ways] == [figures(by_file)] * 2
        assert self.asked(varied | {"apply": names}) == by_file

    @rule(change=CHANGES)
    def override_and_undo(self, change: tuple[str, Any]) -> None:
        """What is overridden and then taken back has never been."""
        parts, (path, value) = self.question.parts(), change
        before = self.asked(parts)
        self.asked(parts | {"overrides": {"passing": {path: value}}, "apply": ["passing"]})
        assert self.asked(parts) == before

    @rule()
    def compare_with_itself(self) -> None:
        """A plan is the same as itself, saved or planned, and passes its check again."""
        self.write(self.written_out())
        inputs = self.inputs()
        try:
            side = planned_side("now", inputs, planned)
        except InfeasibleError:
            return
        text = dumps(side.plan)
        assert loads(text, "plan.json") == side.plan
        assert verify(inputs, side.plan) == side.plan.proof.checks
        saved = checked(read_saved(text, "then"))
        for other in (side, saved):
            assert compare_plans(other, side, planned).same

    def asked(self, parts: dict[str, Any], variations: list[str] | None = None) -> str:
        """plan.json of a file, or why there is no plan."""
        self.write(parts)
        try:
            return dumps(planned(self.inputs(variations)))
        except InfeasibleError as error:
            return error.headline

    def write(self, parts: dict[str, Any]) -> None:
        """Save the file."""
        self.path.write_text(written({k: v for k, v in parts.items() if v != []}), encoding="utf-8")

    def inputs(self, variations: list[str] | None = None) -> Any:
        """Read the file."""
        return Asked(self.path).inputs(variations or [])

    def written_out(self) -> dict[str, Any]:
        """The scenario with all overrides where they belong, in the order of their names."""
        parts = deepcopy(self.question.parts())
        for name in sorted(self.overrides):
            for path, value in self.overrides[name].items():
                *outer, last = path.split(".")
                place = parts
                for key in outer:
                    place = place.setdefault(key, {})
                place[last] = value
        return parts

    def teardown(self) -> None:
        """Close the file."""
        if hasattr(self, "folder"):
            self.folder.cleanup()


def planned(inputs: Any) -> Any:
    """The plan, made with what earlier plans have left behind."""
    return make_plan(inputs, asked_gap=0.0, sizers=SIZERS, price_choices=False)


def figures(text: str) -> object:
    """What a plan decides and costs, without where its inputs were written."""
    if not text.startswith("{"):
        return text
    plan = loads(text, "plan.json")
    return plan.proof, plan.acquisitions, plan.nodes, plan.placements, plan.jobs, plan.costs


TestEditing = Editing.TestCase
TestEditing.settings = settings(drawing(4), stateful_step_count=7)
