"""What was not proved, or has no plan, is said beside the figures; what was is said without it."""

from planner.reporting import markdown
from planner.reporting.document import Paragraph
from planner.reporting.sections.sensitivity import sensitivity_document, tornado
from planner.reporting.sections.variants import risk_document
from planner.whatif.results import PlanSummary
from planner.whatif.risk import Chance
from tests.stated import changed

LATE = PlanSummary(result="no plan in time", reason="the time limit was hit")


def cautions(document):
    return [block.text for block in document if isinstance(block, Paragraph) and block.tone]


def test_futures_without_proof_or_plan_are_counted(risk):
    text = markdown.render(
        risk_document(
            changed(
                risk,
                base=changed(risk.base, result="not proved"),
                not_proved=3,
                without_plan=1,
                chances=(Chance(quarter="2027Q2", short=1, of=8),),
            )
        )
    )
    assert "The plan of the scenario as it stands is NOT proved." in text
    assert "NOT proved within the limits: 3 futures." in text
    assert "Without a plan, and so in no figure of cost: 1 future." in text
    assert "Not known who falls short: 2 futures." in text


def test_futures_whose_cost_is_that_of_fewer_jobs_are_counted(risk):
    words = "With jobs that give way, so that the cost is that of the rest: "
    assert words not in markdown.render(risk_document(risk))
    assert f"{words}4 futures." in markdown.render(risk_document(changed(risk, giving_way=4)))


def test_ends_without_proof_are_counted_and_ends_without_a_plan_move_nothing(beside):
    found = beside.sensitivity
    assert not any("NOT proved" in text for text in cautions(sensitivity_document(found)))
    late, price = found.swings
    unsure = changed(
        price, low=changed(price.low, figures=changed(found.base, result="not proved"))
    )
    text = markdown.render(sensitivity_document(changed(found, swings=(late, unsure))))
    assert "NOT proved within the limits: 1 plan of those shown." in text
    hopeless = changed(late, turns=())
    text = markdown.render(sensitivity_document(changed(found, swings=(hopeless,))))
    assert "moves most with" not in text
    assert "Nowhere within these ranges" in text


def test_without_a_plan_as_it_stands_there_is_nothing_to_measure_from(beside):
    found = changed(beside.sensitivity, base=LATE)
    assert [*tornado(beside.sensitivity)]
    assert not [*tornado(found)]
    text = markdown.render(sensitivity_document(found))
    assert "No plan was found as it stands: the time limit was hit." in text
    assert "NOT proved within the limits: 1 plan of those shown." in text
