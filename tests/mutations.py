"""Mutation check: `make mutations` breaks places that matter, one at a time, in a copy.

Each must be noticed: at least one of the tests named beside it fails. A place whose text has
changed must be written anew here; until then the check fails. `make mutations ONLY=quota` breaks
those alone whose name holds that word.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
_LEFT_OUT = shutil.ignore_patterns(".*", "__pycache__", "out")


class Mutation(NamedTuple):
    """One way to break the planner."""

    name: str
    file: str
    old: str
    """Stands in the file exactly once."""
    new: str
    tests: str
    """What pytest is asked to run, with blanks between."""


MUTATIONS = (
    Mutation(
        "energy without the overhead of cooling",
        "planner/costs.py",
        "        * settings.pue.value\n",
        "",
        "tests/plan/test_money.py",
    ),
    Mutation(
        "a discount by thirds of a year",
        "planner/costs.py",
        "(Decimal(-quarters) / 4)",
        "(Decimal(-quarters) / 3)",
        "tests/plan/test_money.py",
    ),
    Mutation(
        "a residual value that is a quarter older",
        "planner/costs.py",
        "1 - Decimal(quarters) / life",
        "1 - Decimal(quarters + 1) / life",
        "tests/plan/test_money.py",
    ),
    Mutation(
        "half a cent rounded up",
        "planner/costs.py",
        "known.quantize(Decimal(1), rounding=ROUND_HALF_EVEN)",
        'known.quantize(Decimal(1), rounding="ROUND_HALF_UP")',
        "tests/plan/test_money.py",
    ),
    Mutation(
        "a licence that is included and paid",
        "planner/costs.py",
        "if usd and included is None:",
        "if usd:",
        "tests/scenarios/test_procurement.py -k licence",
    ),
    Mutation(
        "support paid of nodes that are off",
        "planner/costs.py",
        '(on or entry.support_while_off == "charged")',
        "True",
        "tests/plan/test_releases.py",
    ),
    Mutation(
        "operating cost counted as capital",
        "planner/costs.py",
        '(cap.spend == "capex") == (one.name in CAPEX)',
        '(cap.spend == "capex") != (one.name in CAPEX)',
        "tests/scenarios/test_procurement.py -k budget",
    ),
    Mutation(
        "an order before the day of the plan",
        "planner/costs.py",
        "if horizon.earliest_order <= ordered and on_sale and offered:",
        "if on_sale and offered:",
        "tests/packing/test_translate.py",
    ),
    Mutation(
        "an order after the end of sale",
        "planner/costs.py",
        "offer.end_of_sale is None or horizon.order_day(ordered) <= offer.end_of_sale",
        "True",
        "tests/scenarios/test_procurement.py -k sale",
    ),
    Mutation(
        "a price level reached one node late",
        "planner/inputs/settled.py",
        "if level.from_nodes <= nodes)",
        "if level.from_nodes < nodes)",
        "tests/scenarios/test_procurement.py -k large_order",
    ),
    Mutation(
        "a node that stays when it retires",
        "planner/packing/statement/translate.py",
        "sum(end <= quarter for end in ends)",
        "sum(end < quarter for end in ends)",
        "tests/scenarios/test_procurement.py -k owned_nodes",
    ),
    Mutation(
        "another price of a part against a quota",
        "planner/packing/statement/translate.py",
        "return Fraction(taken, gpu.memory_slices)",
        "return Fraction(taken, 2 * gpu.memory_slices)",
        "tests/scenarios/test_quota_of_part.py",
    ),
    Mutation(
        "spare nodes of the policy alone",
        "planner/packing/statement/supply.py",
        "return max(by_type, here.spares_of_each) if here else by_type",
        "return by_type",
        "tests/plan/test_sites.py -k spare",
    ),
    Mutation(
        "a quota row that lets one GPU more pass",
        "planner/packing/constraints/quotas.py",
        "at_most = float(floor(most / divisor) * divisor)",
        "at_most = float(floor(most / divisor) * divisor) + 1",
        "tests/packing/test_quotas.py tests/packing/test_brute_force.py -k quota",
    ),
    Mutation(
        "a quota that is not held at every hour",
        "planner/packing/constraints/quotas.py",
        "                held += changes[hour]\n",
        "",
        "tests/packing/test_run_quotas.py -k kept",
    ),
    Mutation(
        "a budget missed by a cent",
        "planner/packing/constraints/budgets.py",
        "master.total(values, limit.cents, limit.moves) <= limit.at_most_cents",
        "master.total(values, limit.cents, limit.moves) <= limit.at_most_cents + 1",
        "tests/packing/test_procurement.py -k kept",
    ),
    Mutation(
        "a bound above what is proved",
        "planner/packing/incumbent.py",
        "cents = self.cents(bound)",
        "cents = 2 * self.cents(bound)",
        "tests/packing/test_start.py -k bound",
    ),
    Mutation(
        "a plan that is dearer kept",
        "planner/packing/incumbent.py",
        "if self.cost_cents is None or cost < self.cost_cents:",
        "if self.cost_cents is None or cost > self.cost_cents:",
        "tests/packing/test_searches.py",
    ),
    Mutation(
        "partitions that overlap pass the check",
        "planner/planning/checks/gpus.py",
        "if first < second + theirs.taken and second < first + mine.taken:",
        "if first == second:",
        "tests/plan/test_sharing.py",
    ),
    Mutation(
        "GPUs held twice pass the check",
        "planner/planning/checks/gpus.py",
        "if len(parts) < len(holders):",
        "if len(parts) > len(holders):",
        "tests/plan/test_verify.py tests/plan/test_runs.py",
    ),
    Mutation(
        "a core too many passes the check",
        "planner/planning/checks/gpus.py",
        "if cpus > node.cpus:",
        "if cpus > node.cpus + 8:",
        "tests/plan/test_verify.py",
    ),
    Mutation(
        "cents that are not spread",
        "planner/planning/jobs.py",
        "key=lambda key: whole[key] - amounts[key])[:missing]:",
        "key=lambda key: amounts[key] - whole[key])[:missing]:",
        "tests/plan/test_money.py",
    ),
    Mutation(
        "moves within a pool are paid",
        "planner/planning/placing/place.py",
        "inputs.scenario.move_cents(job) if leaves else 0",
        "inputs.scenario.move_cents(job)",
        "tests/plan/test_current.py",
    ),
    Mutation(
        "host memory rounded down",
        "planner/sizing/count.py",
        'memory_mb=ceil(_number(at, "host_memory_gb") * _MB_PER_GB)',
        'memory_mb=floor(_number(at, "host_memory_gb") * _MB_PER_GB)',
        "tests/sizing/test_count.py",
    ),
    Mutation(
        "runs that are rounded down to hours",
        "rules/time/hours.yaml",
        "formula: ceil(run_hours_stated / run_utilization)",
        "formula: floor(run_hours_stated / run_utilization)",
        "tests/sizing/test_count.py",
    ),
    Mutation(
        "GPU types that the scenario excludes",
        "planner/sizing/sizer.py",
        "gpu_type in self._policies.excluded_gpu_types,",
        "False,",
        "tests/sizing/test_exclusions.py",
    ),
    Mutation(
        "a rule with another constant",
        "rules/serving/published.yaml",
        "formula: ((parameters_b * 2) + (adapters * adapter_gb)) * 1.5",
        "formula: ((parameters_b * 2) + (adapters * adapter_gb)) * 1.4",
        "tests/scenarios/test_sources.py tests/rules",
    ),
    Mutation(
        "a percentage of nothing",
        "planner/inputs/override.py",
        "(1 + Fraction(self.by) / 100 if self.percent else 1)",
        "(Fraction(self.by) / 100 if self.percent else 1)",
        "tests/inputs/test_relative_changes.py",
    ),
    Mutation(
        "a price in dollars an hour for a quarter of other hours",
        "planner/inputs/settled.py",
        "hours = settings.hours_per_quarter.value",
        "hours = settings.hours_per_quarter.value + 1",
        "tests/inputs/test_load.py -k rent",
    ),
    Mutation(
        "shares of memory exported too small",
        "planner/exchange/exports.py",
        "share_mib = -(-item.part.taken * _MB // _MIB)",
        "share_mib = item.part.taken * _MB // _MIB",
        "tests/exchange/test_exports.py",
    ),
    Mutation(
        "quotas of queues that sum what is held in turn",
        "planner/exchange/exports.py",
        "changes[end] -= amount",
        "changes[end] -= 0",
        "tests/exchange/test_exports.py",
    ),
    Mutation(
        "GPUs of a Slurm job forgotten",
        "planner/exchange/usage.py",
        "usage.count(job, name, run.begins, run.seconds, run.gpus)",
        "usage.count(job, name, run.begins, run.seconds, 1)",
        "tests/exchange/test_slurm.py",
    ),
    Mutation(
        "a plan that was edited is read",
        "planner/planning/store.py",
        "return hashlib.sha256(text.encode()).hexdigest()",
        "return hashlib.sha256(b'').hexdigest()",
        "tests/plan/test_store.py",
    ),
)


def main(word: str) -> int:
    """Break each in turn; 1 where one is not noticed or not found."""
    chosen = [one for one in MUTATIONS if word in one.name]
    with TemporaryDirectory() as folder:
        copy = Path(folder) / "copy"
        shutil.copytree(ROOT, copy, ignore=_LEFT_OUT)
        bad = [one.name for one in chosen if not _noticed(copy, one)]
    print(f"{len(chosen) - len(bad)} of {len(chosen)} are noticed")
    return bool(bad or not chosen)


def _noticed(copy: Path, mutation: Mutation) -> bool:
    path = copy / mutation.file
    text = path.read_text(encoding="utf-8")
    if text.count(mutation.old) != 1:
        times = text.count(mutation.old)
        print(f"{mutation.name}: its text stands {times} times in {mutation.file}: write it anew")
        return False
    path.write_text(text.replace(mutation.old, mutation.new), encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider"]
    told = subprocess.run(
        [*command, *mutation.tests.split()],
        cwd=copy,
        env={**os.environ, "PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    path.write_text(text, encoding="utf-8")
    failed = [line for line in told.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    if told.returncode != 1 or not failed:
        print(f"{mutation.name}: NOT noticed by {mutation.tests}, pytest {told.returncode}")
        return False
    print(f"{mutation.name}: {failed[0].partition(' - ')[0]}")
    return True


if __name__ == "__main__":
    sys.exit(main(" ".join(sys.argv[1:])))
