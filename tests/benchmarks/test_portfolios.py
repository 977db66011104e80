"""Portfolios of the benchmarks on which a simpler search lost its proof or a cheaper plan."""

from __future__ import annotations

import pytest

from benchmarks.portfolio_runs import PROOF, timed
from benchmarks.portfolios import catalogue, runs_beside


def test_a_catalogue_that_needs_every_order_of_first_fit_is_proved():
    assert timed(catalogue(200, 2)).gap <= PROOF


@pytest.mark.parametrize("seed", [0, 1])
def test_runs_beside_endpoints_are_within_half_a_percent_of_the_bound(seed):
    assert timed(runs_beside(80, seed), 5e-3).gap <= 5e-3
