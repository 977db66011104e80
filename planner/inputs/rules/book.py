"""The rule book: all rules by id, checked against each other, and which of them speak."""

from __future__ import annotations

from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, cast

from planner.errors import InputError
from planner.inputs.base import Frozen
from planner.inputs.rules.check import PLACEHOLDER, mistakes, unplaced
from planner.inputs.rules.rule import Rule, by_result, needs

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable
    from decimal import Decimal

    from planner.errors import Finding

__all__ = ["Rule", "RuleBook"]


class RuleBook(Frozen):
    """All rules by id, checked against each other."""

    rules: dict[str, Rule]
    own: frozenset[str] = frozenset()
    """Ids of those that come from files of the user's, and are not shipped."""

    @classmethod
    def of(
        cls,
        rules: Iterable[Rule],
        place: Callable[[str, tuple[str, ...], str, str | None], Finding] | None = None,
        own: Iterable[str] = (),
    ) -> RuleBook:
        """Gather rules, later ones replacing earlier ones of the same id, and check them together.

        `place(rule id, path in its file, message, hint)` may point a finding at its file and line.
        Raises InputError with every mistake: unknown names, units that differ, circles.
        """
        by_id = {rule.id: rule for rule in rules}
        by_id = {rule_id: by_id[rule_id] for rule_id in sorted(by_id)}
        found = [(place or unplaced)(*mistake) for mistake in mistakes(by_id)]
        if found:
            raise InputError(*found)
        return cls(rules=by_id, own=frozenset(own))

    @cached_property
    def by_result(self) -> dict[str, tuple[Rule, ...]]:
        """Rules by the result or setting that they give."""
        return by_result(self.rules.values())

    @cached_property
    def exclusions(self) -> tuple[Rule, ...]:
        """Rules that keep jobs off GPU types."""
        return tuple(rule for rule in self.rules.values() if rule.kind == "exclusion")

    @cached_property
    def warnings(self) -> tuple[Rule, ...]:
        """Rules that say where the planner's own figures are weak."""
        return tuple(rule for rule in self.rules.values() if rule.kind == "warning")

    def giving(self, name: str) -> tuple[Rule, ...]:
        """Rules that give this result, whether they speak or not."""
        return self.by_result.get(name, ())

    def setting(self, name: str) -> Rule:
        """The policy rule that gives a setting: its `value`, `unit` and `id`; KeyError if none."""
        for rule in self.by_result.get(name, ()):
            if rule.kind == "policy":
                return rule
        raise KeyError(name)

    def figure(self, name: str) -> Decimal:
        """What the policy rule of a setting says, in its unit; KeyError if there is none."""
        return cast("Decimal", self.setting(name).value)  # no policy is without one

    def using(self, name: str) -> tuple[Rule, ...]:
        """Rules that ask for this name and give a result."""
        return self._users.get(name, ())

    @cached_property
    def asked(self) -> frozenset[str]:
        """Names that any rule asks for, or tells in its message."""
        told = (PLACEHOLDER.findall(rule.message or "") for rule in self.rules.values())
        return frozenset(chain(*map(needs, self.rules.values()), *told))

    @cached_property
    def _users(self) -> dict[str, tuple[Rule, ...]]:
        found: dict[str, list[Rule]] = {}
        for rule in self.rules.values():
            if rule.gives is not None:
                for name in needs(rule):
                    found.setdefault(name, []).append(rule)
        return {name: tuple(users) for name, users in found.items()}

    def ever_depending_on(self, facts: frozenset[str]) -> frozenset[str]:
        """Names of results that these facts change in any situation; found once."""
        if facts not in self._depending:
            self._depending[facts] = self.depending_on(facts)
        return self._depending[facts]

    @cached_property
    def _depending(self) -> dict[frozenset[str], frozenset[str]]:
        return {}

    def depending_on(
        self,
        facts: Iterable[str],
        settled: Container[str] = (),
        speaks: Callable[[Rule], object] = lambda _: True,
    ) -> frozenset[str]:
        """Names of results that change with any of these facts, directly or through other rules.

        What is `settled` changes no more, and a rule for which `speaks` is false passes nothing on.
        """
        found = set(facts)
        waiting = list(found)
        while waiting:
            for rule in self.using(waiting.pop()):
                name = rule.gives
                if name is None or name in found or name in settled or not speaks(rule):
                    continue
                found.add(name)
                waiting.append(name)
        return frozenset(found)
