"""Hints: signs of trouble in a run's metrics, each with its evidence and with what may help.

A rule is a pure function of the history (`hint_rules.py` has the table), so the hints of a run can be told again from
its streams. A hint is given again only after a cool-down, which checkpoints keep.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from holdfast.runs.hint_rules import RULES, Rule
from holdfast.runs.history import Facts, History, Row
from holdfast.runs.reading import read_lines

__all__ = ["Advisor", "Facts", "Hint", "hints_for"]
LONGEST = 512  # characters


class Hint(NamedTuple):
    """One sign of trouble."""

    name: str
    text: str
    evidence: dict[str, Any]


def hints_for(history: History, rules: Sequence[Rule] = RULES) -> list[Hint]:
    """All that the rules say about the newest row."""
    found = []
    for rule in rules:
        for who, evidence in rule.look(history):
            text = f"{who}: {rule.advice}" if who else rule.advice
            found.append(Hint(f"{rule.name} {who}".strip(), text[:LONGEST], evidence))
    return found


class Advisor:
    """Hints of a run as it goes on."""

    def __init__(self, facts: Facts, cooldown: int, given: dict[str, int], further: Sequence[Rule] = ()) -> None:
        self.history = History(facts)
        self.rules = (*RULES, *further)
        self.cooldown = cooldown
        self.given = dict(given)  # name of a hint: iteration at which it was last given

    def read(self, folder: Path) -> None:
        """Take in what an earlier process of the run wrote."""
        timing = {row.get("iteration"): row for row in read_lines(folder / "timing.jsonl")}
        for row in read_lines(folder / "metrics.jsonl"):
            self.history.add(row, timing.get(row.get("iteration"), {}))
        self.history.random_score = _random_score(folder / "evals" / "yardsticks.json")

    def advise(self, metrics: Row, timing: Row) -> list[Hint]:
        self.history.add(metrics, timing)
        due = [hint for hint in hints_for(self.history, self.rules) if self._is_due(hint.name)]
        self.given |= {hint.name: self.history.iteration for hint in due}
        return due

    def _is_due(self, name: str) -> bool:
        return name not in self.given or self.history.iteration - self.given[name] >= self.cooldown


def _random_score(path: Path) -> float | None:
    try:
        return float(json.loads(path.read_bytes())["policies"]["random"]["summary"]["mean"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
