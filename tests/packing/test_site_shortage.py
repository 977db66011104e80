"""Where a site is what keeps a plan from existing, the user reads which limit and by how much."""

from __future__ import annotations

from dataclasses import replace

import pytest

from planner.errors import InfeasibleError
from planner.packing import Translation, solve
from planner.packing.infeasibility.conflict import conflict_of
from planner.packing.limits import Limit, RackSpace
from planner.packing.problem import Problem

BUY = 10_000_000


@pytest.fixture
def told(build):
    """What the user is told of one job on nodes of 8 GPUs that are owned, or offered to buy."""

    def raised(job, pools, *, limits=(), racks=(), quarters=1):
        problem = Problem(
            quarters,
            tuple(pools),
            tuple(build.buy(*(BUY,) * quarters, pool=number) for number in range(len(pools))),
            (job,),
            0,
            tuple(limits),
            tuple(racks),
        )
        members = (tuple(("chat", unit) for unit in range(1, job.count + 1)),)
        labels = ("2027Q1", "2027Q2")[:quarters]
        with pytest.raises(InfeasibleError) as caught:
            solve(Translation(problem, members, labels))
        return caught.value

    return raised


def test_too_little_power_is_named_with_what_would_do(build, told):
    limit = Limit("power at main", ((0, 10_200),), (25_000,), "W")
    error = told(build.units(4, ("h100", 8, 0, 0)), [build.pool(owned=1)], limits=[limit])
    assert error.headline == ("no plan exists: power at main is 25 kW, at least 40.8 kW are needed")
    assert "power at main: 25 kW, owned nodes take 10.2 kW" in error.reasons
    assert "chat: 2 of 4 units without room (2027Q1)" in error.reasons
    assert error.remedies == ("raise power at main by 15.8 kW, to 40.8 kW",)


def test_raises_that_time_did_not_suffice_for_are_said_to_be_lacking(build, told, monkeypatch):
    def hurried(translation):
        conflict = conflict_of(translation)
        assert conflict is not None
        return replace(conflict, remedies=(), in_time=False)

    monkeypatch.setattr("planner.packing.infeasibility.shortage.conflict_of", hurried)
    limit = Limit("power at main", ((0, 10_000),), (25_000,), "W")
    error = told(build.units(4, ("h100", 8, 0, 0)), [build.pool()], limits=[limit])
    assert error.headline == "no plan exists: power at main is 25 kW, at least 40 kW are needed"
    assert error.reasons[-1] == "time did not suffice to tell what would mend it"
    assert error.remedies == ()


def test_too_few_racks_are_named_with_what_would_do(build, told):
    racks = RackSpace("main", 1, 42, 21_000, ((0, 6, 10_200),))
    error = told(build.units(5, ("h100", 8, 0, 0)), [build.pool()], racks=[racks])
    assert error.headline == (
        "no plan exists: the number of racks at main is 1, of 42 U and 21 kW each, "
        "at least 3 are needed"
    )
    assert error.remedies == ("raise the number of racks at main by 2, to 3",)


def test_the_remedy_is_what_layouts_need_and_not_what_the_sums_would_do_with(build, told):
    """15 GPUs fit two nodes by the sum; three units of 5 need three."""
    limit = Limit("power at main", ((0, 10_000),), (20_000,), "W")
    error = told(build.units(3, ("h100", 5, 0, 0)), [build.pool()], limits=[limit])
    assert error.remedies == ("raise power at main by 10 kW, to 30 kW",)


def test_power_by_quarter_is_told_by_quarter(build, told):
    limit = Limit("power at main", ((0, 10_000),), (10_000, 30_000), "W")
    job = build.units(2, ("h100", 8, 0, 0), quarters=(0, 1))
    error = told(job, [build.pool()], limits=[limit], quarters=2)
    assert "power at main is 10 kW from 2027Q1 on, 30 kW from 2027Q2 on" in error.headline
    assert error.remedies == ("raise power at main by 10 kW in every quarter",)


def test_limits_that_each_leave_no_plan_are_raised_together(build, told):
    power = Limit("power at main", ((0, 10_000),), (10_000,), "W")
    height = Limit("rack units at main", ((0, 6),), (6,), "U")
    error = told(build.units(2, ("h100", 8, 0, 0)), [build.pool()], limits=[power, height])
    assert error.headline == "no plan exists: power at main is 10 kW, at least 20 kW are needed"
    assert error.remedies == (
        "together: raise power at main by 10 kW, to 20 kW, "
        "raise rack units at main by 6 U, to 12 U",
    )


def test_no_limit_is_offered_as_a_remedy_where_offers_bind(build, told):
    """The unit needs a node that holds it; no power makes one."""
    power = Limit("power at main", ((0, 10_000),), (10_000,), "W")
    error = told(build.units(1, ("h100", 4, 81, 0)), [build.pool()], limits=[power])
    assert error.remedies == ()


def test_a_limit_of_another_site_is_not_blamed(build, told):
    far = Limit("power at far", ((1, 10_000),), (90_000,), "W")
    near = Limit("power at main", ((0, 10_000),), (10_000,), "W")
    pools = [build.pool(), build.pool("l40s", site="far")]
    error = told(build.units(2, ("h100", 8, 0, 0)), pools, limits=[near, far])
    assert not any("far" in line for line in (*error.reasons, *error.remedies))


def test_owned_nodes_that_do_not_fit_their_racks_are_said_to(build, told):
    """Three of 14 U would fit 42 U by the sum, but a rack of 21 U holds one."""
    racks = RackSpace("main", 2, 21, None, ((0, 14, 0),))
    error = told(build.units(1, ("h100", 8, 0, 0)), [build.pool(owned=3)], racks=[racks])
    assert error.headline == (
        "no plan exists: the number of racks at main is 2, of 21 U each, at least 3 are needed"
    )
    assert error.remedies == ("raise the number of racks at main by 1, to 3",)
