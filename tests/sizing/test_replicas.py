"""How many copies of its shape a serving job needs on each GPU type to keep up with its load."""

from planner.sizing.sizers import size_portfolio
from tests.sizing.conftest import figure_of
from tests.stated import changed

H100, L4 = "h100-80gb-sxm", "l4-24gb"


def serve(per_second=None, **changes):
    load = {"requests_per_second": per_second, "input_tokens": 1000, "output_tokens": 500}
    job = {"model": "llama-3.1-8b", "context": 8192, "concurrency": 16, **changes}
    return job if per_second is None else {**job, "load": load}


def test_the_replicas_keep_up_at_the_planned_share_and_one_fewer_would_not(size):
    candidates = size(serve=serve(40)).candidates
    assert candidates
    for one in candidates:
        each = figure_of(one, "requests_per_second_per_replica")
        planned = each * figure_of(one, "planned_load_share")
        assert (one.replicas - 1) * planned < 40 <= one.replicas * planned
        assert figure_of(one, "replicas_for_load") == one.replicas


def test_only_the_load_changes_the_replicas_and_it_changes_nothing_else(candidate):
    once, twice = (candidate(H100, serve=serve(rate)) for rate in (20, 40))
    idle = candidate(H100, serve=serve())
    assert idle.replicas == 1 < once.replicas < twice.replicas
    same = {"replicas": 1, "trace": (), "serving": None, "evidence": ()}
    assert changed(once, **same) == changed(twice, **same)
    assert changed(once, **same) == changed(idle, **same)


def test_a_gpu_type_of_unknown_speed_is_rejected_for_a_load_alone(size):
    assert L4 in {one.gpu_type for one in size(serve=serve()).candidates}
    loaded = size(serve=serve(1))
    assert L4 not in {one.gpu_type for one in loaded.candidates}
    said = next(one for one in loaded.rejections if one.gpu_type == L4)
    assert said.message.startswith("replicas_for_load cannot be sized here: nothing is known of ")
    assert "gpu_b" in said.message


def test_a_model_of_unknown_shape_has_no_replicas_anywhere(size):
    sizing = size(serve=serve(1, model=None, parameters_b=8))
    assert not sizing.candidates
    assert all("replicas_for_load" in one.message for one in sizing.rejections)


def test_the_estimate_behind_the_replicas_is_listed_as_one(size):
    assert any("serving/throughput" in text for text in size(serve=serve(1)).assumptions)
    assert not any("serving/throughput" in text for text in size(serve=serve()).assumptions)


def test_the_units_of_a_job_with_a_load_are_its_count_alone(shared_sizer, scenario):
    jobs = size_portfolio(
        shared_sizer,
        scenario({"chat": {"serve": serve(40), "count": 2, "growth_per_quarter": "50%"}}),
    )
    assert jobs[0].units == (2, 3, 5, 7)
