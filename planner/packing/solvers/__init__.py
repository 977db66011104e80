"""Programs as plain numbers, and the solvers that answer them: HiGHS, and CBC."""
