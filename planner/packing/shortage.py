"""Explains why no plan exists: which jobs lack room, on which limit, and what would mend it."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import replace
from math import ceil

from planner.errors import InfeasibleError, LimitError
from planner.inputs.text import count_of, one_of, some_of
from planner.packing.build import build_master
from planner.packing.conflict import Conflict, conflicts_of, without_costs
from planner.packing.constraints.base import Condition
from planner.packing.incumbent import Infeasible
from planner.packing.master import MasterProgram
from planner.packing.problem import ALL_TRAFFIC, JobClass, Problem, Supply
from planner.packing.search import search
from planner.packing.solver import Outcome, Program, solve_integer
from planner.packing.supply import whenever
from planner.packing.translation import Translation
from planner.packing.work import spent

_TIME_S = 10.0
"""Seconds of work for one question, and for all of jobs that would start later."""
_JOBS = 4
"""The most jobs that are asked about starting later."""
_TYPES = 4
"""The most GPU types that are named of one job."""
_UNMENDED = "time did not suffice to tell what would mend it"
_UNTOLD = "what is asked for cannot all be kept; time did not suffice to tell what is in the way"


def explain_infeasible(translation: Translation, master: MasterProgram) -> InfeasibleError:
    """Say which job classes conflict, which jobs then lack room, and what would mend it.

    `master` is the program that was proved to have no solution, with its cuts.
    """
    found = conflicts_of(translation)
    conflicts = found.every if found else ()
    members = [one for conflict in conflicts for one in conflict.members]
    stated = [one for one in conflicts if not all(member.procures for member in one.members)]
    if 0 < len(stated) < len(conflicts):
        master = build_master(_without(translation.problem, stated))
    parts = _short(master, master.unit_variables)
    short = _short(master, frozenset()) or parts
    lacking = [*_lacking(translation, short)]
    classes = translation.problem.classes
    wanted = {quarter for number in short for quarter in classes[number].quarters} or {0}
    concerned = {pool for number in short for pool in _pools(translation.problem, classes[number])}
    pools = [_limits(translation, one, min(wanted), max(wanted)) for one in sorted(concerned)]
    remedies = tuple(map(_mended, found.remedies)) if found else ()
    untold = (_UNMENDED,) if found and not (remedies or found.in_time) else ()
    later = tuple(later_remedies(translation, short))
    jobs = tuple(sorted({job for number in short for job, _ in translation.members[number]}))
    if not conflicts:
        return InfeasibleError(f"no plan exists: {_UNTOLD}", (*lacking, *pools), later, jobs)
    reasons = [one.reason for one in members if one.reason and not one.procures] + lacking
    if any(one.procures for one in members) or not members:
        reasons += pools
    causes = list(map(_broken, stated))
    if len(stated) < len(conflicts):
        causes.append(_headline(translation, parts or short))
        remedies = (*_remedies(translation, short), *remedies)
    *others, last = causes
    told = (
        f"no plan exists: {'; '.join(others)}; and {last}" if others else f"no plan exists: {last}"
    )
    return InfeasibleError(told, (*reasons, *untold), (*remedies, *later), jobs)


def _without(problem: Problem, conflicts: Iterable[Conflict]) -> Problem:
    """Return the problem in which nothing is asked for that is in one of these conflicts."""
    for conflict in conflicts:
        for one in conflict.members:
            problem = one.raised(problem, None)
    return problem


def _broken(conflict: Conflict) -> str:
    """Say which conditions cannot be kept, with what is needed if that is one figure."""
    first = conflict.members[0]
    if len(conflict.members) == 1 and conflict.needed and first.needed:
        needed = first.needed(conflict.needed)
        are = "is" if needed.startswith("1 ") else "are"
        return f"{first.name} is {first.figure}, at least {needed} {are} needed"
    *others, last = (one.said for one in conflict.members)
    told = f"{', '.join(others)} and {last} together" if others else last
    return f"no plan for all jobs keeps {told}"


def _mended(raises: tuple[tuple[Condition, int], ...]) -> str:
    words = [condition.mended(more) for condition, more in raises]
    return words[0] if len(words) == 1 else f"together: {', '.join(words)}"


def _short(master: MasterProgram, relaxed: frozenset[int]) -> dict[int, float]:
    """Return the units by job class that lack room so that the fewest GPUs do; empty if none do."""
    program = Program(list(master.program.variables), list(master.program.rows))
    for at in master.cover_rows:  # which count whole units, of those that run
        program.rows[at] = replace(program.rows[at], right=0.0)
    lacking: dict[int, int] = {}
    for number, job_class in enumerate(master.problem.classes):
        cost = float(sum(_gpus(job_class, quarter) for quarter in job_class.quarters))
        lacking[number] = program.variable("lacking", cost=cost, upper=job_class.count)
        takes = min(job_class.takes, default=0) / ALL_TRAFFIC
        rows = {row: takes for row, sharing in master.traffic_rows.items() if number in sharing}
        if not job_class.at_most:
            rows[master.class_rows[number]] = 1.0
        for at, factor in rows.items():
            row = program.rows[at]
            program.rows[at] = replace(row, terms=(*row.terms, (lacking[number], factor)))
    costs = {index: program.variables[index].cost for index in lacking.values()}
    answer = solve_integer(program.priced(costs), time_limit_s=_TIME_S, relaxed=relaxed)
    return {
        number: answer.values[index]
        for number, index in lacking.items()
        if answer.outcome is Outcome.OPTIMAL and answer.values[index] > 1e-6
    }


def _gpus(job_class: JobClass, quarter: int) -> int:
    """Return the fewest GPUs that a unit can do with in a quarter."""
    ways = (mode.shape.gpus * mode.copies_in(quarter) for mode in job_class.modes)
    return min(ways, default=1)


def _headline(translation: Translation, short: dict[int, float]) -> str:
    by_quarter: dict[int, float] = defaultdict(float)
    classes = [translation.problem.classes[number] for number in short]
    for job_class, units in zip(classes, short.values(), strict=True):
        for quarter in job_class.quarters:
            by_quarter[quarter] += units * _gpus(job_class, quarter)
    if not by_quarter:
        return "the units do not fit whole nodes within the offers"
    quarter, gpus = max(by_quarter.items(), key=lambda item: (item[1], -item[0]))
    when = translation.quarters[quarter]
    what = f"at least {_count(gpus)} GPUs more are"
    if _count(gpus) == "1":
        what = "at least 1 GPU more is"
    if any(mode.shape.bundles for job_class in classes for mode in job_class.modes):
        what = "more GPUs are"  # of which how many is open: others may have the same ones
    if any(mode.by_quarter for job_class in classes for mode in job_class.modes):
        what = "more GPUs are"  # a unit that lacks room in one quarter lacks it in all of them
        when = _span([translation.quarters[one] for one in sorted(by_quarter)])
    return f"in {when} {what} needed than can be in service"


def _count(amount: float) -> str:
    return f"{ceil(round(amount, 6)):,}"


def _lacking(translation: Translation, short: dict[int, float]) -> Iterator[str]:
    """Name the jobs that lack room, so that the fewest GPUs do: a line each.

    With the most units at once. Units of a job that may change their GPU type are stated one by
    one, and units that begin in different quarters apart.
    """
    alike: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for number in range(len(translation.problem.classes)):
        alike[tuple(sorted({job for job, _ in translation.members[number]}))].append(number)
    for names, numbers in alike.items():
        lacking, asked = defaultdict[int, float](float), Counter[int]()
        for number in numbers:
            job_class = translation.problem.classes[number]
            for quarter in job_class.quarters:
                lacking[quarter] += short.get(number, 0)
                asked[quarter] += job_class.count
        quarters = sorted(quarter for quarter, units in lacking.items() if units)
        if not quarters:
            continue
        counts = {_count(lacking[quarter]) for quarter in quarters}
        worst = max(quarters, key=lambda quarter: (lacking[quarter], -quarter))
        units = "unit" if asked[worst] == 1 else "units"
        when = _span([translation.quarters[quarter] for quarter in quarters])
        without = f"{_count(lacking[worst])} of {asked[worst]} {units} without room ({when})"
        without = f"up to {without}" if len(counts) > 1 else without
        each = _each(translation.problem, translation.problem.classes[numbers[0]])
        yield f"{some_of(list(names), 4)}: {without}{f'; each takes {each}' if each else ''}"


def _each(problem: Problem, job_class: JobClass) -> str:
    """Return a unit's GPUs on each GPU type, in the quarter that takes most; empty if one suffices.

    Its runs may follow each other, so that one counts. Only GPU types on whose nodes it may be:
    those by the hour are for runs alone.
    """
    may_be_on = {problem.pools[number].gpu_type for number in _pools(problem, job_class)}
    most: dict[str, int] = {}
    for mode in job_class.modes:
        if mode.gpu_type not in may_be_on:
            continue
        copies = 1 if mode.shape.is_run else max(map(mode.copies_in, job_class.quarters))
        gpus = mode.shape.gpus * copies
        most[mode.gpu_type] = min(gpus, most.get(mode.gpu_type, gpus))
    if max(most.values(), default=1) == 1:
        return ""
    fewest = sorted(most.items(), key=lambda item: (item[1], item[0]))
    (gpu_type, gpus), *others = fewest[:_TYPES]
    told = [f"{count_of(gpus, 'GPU')} of {gpu_type}", *(f"{of:,} of {name}" for name, of in others)]
    grows = any(len(set(mode.by_quarter)) > 1 for mode in job_class.modes)
    return f"{'up to ' if grows else ''}{one_of(told)}"


def _span(labels: list[str]) -> str:
    return labels[0] if len(labels) == 1 else f"{labels[0]} to {labels[-1]}"


def _pools(problem: Problem, job_class: JobClass) -> list[int]:
    return [
        number
        for number, pool in enumerate(problem.pools)
        if any(
            mode.gpu_type == pool.gpu_type and pool.nodes_taken(mode.shape) is not None
            for mode in job_class.modes
        )
    ]


def _limits(translation: Translation, number: int, quarter: int, last: int) -> str:
    """Say what a pool can have: owned nodes, and each offer's maximum and first quarter."""
    pool = translation.problem.pools[number]
    if pool.is_api:
        (supply,) = (one for one in translation.problem.supplies if one.pool == number)
        open_in = [one for one, cents in enumerate(supply.unit_cost_cents) if cents is not None]
        when = whenever(open_in, translation.quarters) or "in no quarter"
        return f"API {supply.name}: may be used {when}"
    parts = [f"{pool.owned_in(quarter)} owned"]
    if pool.owned_in(quarter) < pool.owned:
        parts.append(f"{pool.owned - pool.owned_in(quarter)} retired")
    for later in range(quarter + 1, last + 1):
        if gone := pool.owned_in(later - 1) - pool.owned_in(later):
            retires = "retires" if gone == 1 else "retire"
            parts.append(f"{gone} {retires} in {translation.quarters[later]}")
    for index, supply in enumerate(translation.problem.supplies):
        cheaper = supply.lot is not None and supply.lot.fewest > 1
        if supply.pool == number and not (cheaper or supply.releases):
            parts += _offer_limits(translation, index, quarter)
    if pool.spare:
        parts.append(f"{pool.spare} kept spare")
    for group in translation.problem.spare_groups:
        if number in group.pools:
            kept = group.nodes or f"as many as {count_of(group.racks, 'rack')} may hold"
            parts.append(f"{kept} kept spare, as {group.name} shares them")
    return f"{pool.name} ({pool.gpu_type}, {pool.node.gpus} GPUs each): {', '.join(parts)}"


def _offer_limits(translation: Translation, number: int, quarter: int) -> Iterator[str]:
    """Say why an offer gives no node, or no more, in a quarter."""
    supply = translation.problem.supplies[number]
    name = f"offer {supply.name}"
    open_in = [entry for entry, cents in enumerate(supply.unit_cost_cents) if cents is not None]
    if not open_in:
        yield f"{name} arrives after the horizon or is not available in it"
    elif open_in[0] > quarter:
        yield f"{name} is in service from {translation.quarters[open_in[0]]} at the earliest"
    elif not any(entry in open_in for entry in supply.entries(quarter)):
        yield f"{name} gives no node in {translation.quarters[quarter]}"
    if supply.deliveries is not None and open_in:
        arrived = sum(supply.deliveries[entry] for entry in supply.entries(quarter))
        told = f"{name} delivers {count_of(arrived, 'node')}"
        yield f"{told} until {translation.quarters[quarter]}"
    if supply.maximum is not None and open_in:
        others = (one for one in translation.problem.supplies if one.pool != supply.pool)
        elsewhere = supply.offer is not None and any(one.offer == supply.offer for one in others)
        everywhere = " at all of its sites together" if elsewhere else ""
        yield f"{name} ends at {count_of(supply.maximum, 'node')}{everywhere}"


def _remedies(translation: Translation, short: dict[int, float]) -> Iterator[str]:
    """Say for each pool how many more nodes suffice, alone, if they are there from the start."""
    problem = translation.problem
    concerned = {pool for number in short for pool in _pools(problem, problem.classes[number])}
    lenders = {number: problem.pools[number].lender for number in concerned}
    since = f"in service from {translation.quarters[0]}"
    since += ", paid from no budget" if problem.budgets else ""
    for number in sorted({pool if lent is None else lent for pool, lent in lenders.items()}):
        pool = problem.pools[number]
        more = None if pool.held or pool.is_api else _nodes_more(problem, number)
        if more:
            yield f"have {count_of(more, 'node')} more of {pool.name} {since}"


def _nodes_more(problem: Problem, pool: int) -> int | None:
    """Return how many more nodes of a pool let the units be laid out; None if no number does."""
    free = Supply("more", "buy", pool, None, (100_000,) + (None,) * (problem.quarters - 1))
    others = without_costs(problem)
    unpaid = (0,) * problem.quarters
    budgets = tuple(replace(limit, cents=(*limit.cents, unpaid)) for limit in problem.budgets)
    more = replace(others, supplies=(*others.supplies, free), budgets=budgets)
    try:
        found = search(more, asked_gap=0.0, time_limit_s=_TIME_S)
    except (Infeasible, LimitError):
        return None
    return round(found.values[found.master.acquire[len(others.supplies), 0]])


def later_remedies(translation: Translation, lacking: Iterable[int]) -> Iterator[str]:
    """Say by how many quarters each of these jobs alone would have to start later.

    Every quarter of the job moves, and none beyond the horizon. Proved by a plan that keeps
    every limit and every budget.
    """
    deadline = spent() + _TIME_S
    names = sorted({job for number in lacking for job, _ in translation.members[number]})
    for name in names[:_JOBS]:
        last = max(
            quarter
            for members, job_class in zip(
                translation.members, translation.problem.classes, strict=True
            )
            if any(job == name for job, _ in members)
            for quarter in job_class.quarters
        )
        for delay in range(1, translation.problem.quarters - last):
            if _feasible(_delayed(translation, name, delay), deadline - spent()):
                quarters = count_of(delay, "quarter")
                yield f"start {name} {quarters} later"
                break


def _delayed(translation: Translation, name: str, delay: int) -> Problem:
    """Return the problem in which one job starts later."""
    classes = []
    for members, job_class in zip(translation.members, translation.problem.classes, strict=True):
        moved = sum(job == name for job, _ in members)
        if moved < job_class.count:
            classes.append(replace(job_class, count=job_class.count - moved))
        if moved:
            quarters = tuple(quarter + delay for quarter in job_class.quarters)
            classes.append(replace(job_class, count=moved, quarters=quarters))
    return replace(translation.problem, classes=tuple(classes))


def _feasible(problem: Problem, time_limit_s: float) -> bool:
    try:
        search(without_costs(problem), asked_gap=1.0, time_limit_s=max(time_limit_s, 0.1))
    except (Infeasible, LimitError):
        return False
    return True
