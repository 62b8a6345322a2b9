"""Hints: each sign of trouble is seen when it is there, not seen when it is not, and not repeated all the time."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from holdfast.games.mario.hints import RULES as STAGE_RULES
from holdfast.runs.hint_rules import RULES as GENERAL
from holdfast.runs.hints import Advisor, hints_for
from holdfast.runs.history import Facts, History, most_entropy
from holdfast.worlds.spaces import Continuous, Discrete, MultiDiscrete

FACTS = Facts(
    iterations=100,
    rollout_steps=32,
    base_lr=1e-3,
    lr_restart=0.0,
    max_grad_norm=0.5,
    max_entropy={"player": math.log(4)},
    roles=("player",),
    score="return",
)
GOOD = {  # a run in its best health
    "agent_steps": lambda i: 1000 * i,
    "episodes": lambda i: 10 * i,
    "episode.return": lambda i: 0.01 * i + 0.001 * (i % 3),
    "learner.player.entropy": lambda i: 0.5,
    "learner.player.explained_variance": lambda i: 0.8,
    "learner.player.lr": lambda i: 1e-3 * (1 - (i - 1) / 100),
    "learner.player.grad_norm": lambda i: 0.6,
}

Column = Callable[[int], float]


def history(
    iterations: int = 60, random_score: float | None = 0.0, speed: Column = lambda i: 1.0, **columns: Any
) -> History:
    """A run of so many iterations: the good one, but for these columns (`_` in names stands for a dot)."""
    found = History(FACTS, random_score)
    named = {**GOOD, **{name.replace("__", "."): column for name, column in columns.items()}}
    for i in range(1, iterations + 1):
        row = {"iteration": i, **{name: column(i) for name, column in named.items()}}
        found.add(row, {"phase.learn_s": speed(i)})
    return found


def names(found: History) -> list[str]:
    return [hint.name for hint in hints_for(found, RULES)]


@pytest.mark.parametrize("iterations", [1, 5, 30, 60, 94, 100])
def test_a_healthy_run_gets_no_hint(iterations: int) -> None:
    assert names(history(iterations)) == []


RULES = (*GENERAL, *STAGE_RULES)
BAD: dict[str, dict[str, Any]] = {
    "undecided player": {"learner__player__entropy": lambda i: 0.99 * math.log(4)},
    "collapsed player": {
        "learner__player__entropy": lambda i: 0.04,
        "evaluation__score": lambda i: 0.5,
        "evaluation__cleared": lambda i: 0.4,
    },
    "blind values player": {"learner__player__explained_variance": lambda i: 0.9 if i < 51 else -0.1},
    "rate gone player": {"learner__player__lr": lambda i: 0.9e-5},
    "rough updates player": {"learner__player__grad_norm": lambda i: 5.1},
    "flat return": {"episode__return": lambda i: math.sin(i)},
    "no better than random": {"evaluation__score": lambda i: 0.0},
    "one action player": {"evaluation__player__top_action_share": lambda i: 0.91},
    "no episode ends": {"episodes": lambda i: 0},
    "standing still": {"episode__end_stagnation": lambda i: 0.6},
    "same obstacle": {
        "episode__end_death": lambda i: 0.5,
        "episode__end_pit": lambda i: 0.47,
        "episode__max_x": lambda i: 700 - i % 5,
    },
    "no distance": {"episode__paid_distance": lambda i: 0.0, "episode__raw_return": lambda i: -3.0},
    "worn replay player": {"learner__player__replay_unique": lambda i: 0.29},
    "empty replay player": {
        "iterations": 100,
        "learner__player__replay_fill": lambda i: 0.04,
        "learner__player__replay_size": lambda i: 4_000,
        "learner__player__replay_pushed": lambda i: 100.0 * i,
    },
    "slower": {"speed": lambda i: 1.0 if i < 30 else 2.1},
}


def test_the_table_of_bad_signs_is_complete() -> None:
    assert {name.removesuffix(" player") for name in BAD} == {rule.name for rule in RULES}


@pytest.mark.parametrize("name", BAD)
def test_each_sign_is_seen_alone_and_with_its_evidence(name: str) -> None:
    found = hints_for(history(**BAD[name]), RULES)
    assert [hint.name for hint in found] == [name]
    assert found[0].evidence and len(found[0].text) <= 512
    json.dumps(found[0].evidence, allow_nan=False)


NOT_YET: dict[str, tuple[int, dict[str, Any]]] = {
    "a fifth of the run is not over": (20, BAD["undecided player"]),
    "certain, and right": (60, {**BAD["collapsed player"], "evaluation__cleared": lambda i: 0.9}),
    "values were blind for only 9 iterations": (59, BAD["blind values player"]),
    "the end of the schedule": (95, BAD["rate gone player"]),
    "only 49 updates": (49, BAD["rough updates player"]),
    "too early to call it flat": (24, BAD["flat return"]),
    "a balance in self-play": (60, {**BAD["flat return"], "duel__turn": lambda i: i}),
    "half the run is not over": (49, BAD["no better than random"]),
    "1,000 steps per lane": (31, BAD["no episode ends"]),
    "the replay is young": (99, {**BAD["empty replay player"], "iterations": 99}),
    "no tenth of the capacity was kept yet": (
        100,
        {**BAD["empty replay player"], "learner__player__replay_pushed": lambda i: 9_000.0},
    ),
    "on the way, though slowly": (60, {**BAD["no distance"], "episode__paid_distance": lambda i: 0.1 * (i % 10 == 0)}),
    "still coming further": (60, {**BAD["same obstacle"], "episode__max_x": lambda i: 700 + i}),
}


@pytest.mark.parametrize("case", NOT_YET)
def test_the_edge_of_each_sign(case: str) -> None:
    iterations, columns = NOT_YET[case]
    assert names(history(**{**columns, "iterations": iterations})) == []


def test_a_rate_that_will_rise_again_is_not_gone() -> None:
    found = history(iterations=75, **BAD["rate gone player"])
    found.facts = FACTS._replace(lr_restart=0.25)
    assert names(found) == []
    found.facts = FACTS._replace(lr_restart=0.5)
    assert names(found) == ["rate gone player"]


def test_what_was_not_measured_is_not_judged() -> None:
    found = History(FACTS)
    for i in range(1, 101):
        found.add({"iteration": i, "agent_steps": i}, {})
    assert names(found) == []


def test_a_hint_is_given_again_after_its_cool_down_only() -> None:
    advisor = Advisor(FACTS, cooldown=10, given={})
    told = []
    for i in range(1, 51):
        row = {"iteration": i, "agent_steps": i, "learner.player.lr": 0.0}
        told += [i for _ in advisor.advise(row, {})]
    assert told == [1, 11, 21, 31, 41]


def test_a_resumed_advisor_says_what_the_first_would_have_said(tmp_path: Path) -> None:
    rows = [
        {"iteration": i, "agent_steps": 10 * i, "learner.player.explained_variance": -1.0, "episode.return": 1.0}
        for i in range(1, 80)
    ]
    whole = Advisor(FACTS, 7, {})
    expected = [(i, hint) for i, row in enumerate(rows) for hint in whole.advise(row, {"phase.learn_s": 1.0})]
    before = Advisor(FACTS, 7, {})
    told = [(i, hint) for i, row in enumerate(rows[:40]) for hint in before.advise(row, {"phase.learn_s": 1.0})]
    (tmp_path / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows[:40]))
    timing = [{"iteration": row["iteration"], "phase.learn_s": 1.0} for row in rows[:40]]
    (tmp_path / "timing.jsonl").write_text("".join(json.dumps(row) + "\n" for row in timing))
    after = Advisor(FACTS, 7, before.given)
    after.read(tmp_path)
    told += [(i, hint) for i, row in enumerate(rows[40:], 40) for hint in after.advise(row, {"phase.learn_s": 1.0})]
    assert told == expected and len(expected) > 10


def test_the_largest_entropy_of_each_kind_of_action() -> None:
    assert most_entropy(Discrete(5)) == math.log(5)
    assert most_entropy(MultiDiscrete((2, 3))) == pytest.approx(math.log(6))
    assert most_entropy(Continuous((0.0,), (1.0,))) is None
