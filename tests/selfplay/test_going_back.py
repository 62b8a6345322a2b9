"""Where roles go back to, and what does not go back with them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from holdfast.learner.update import Learned
from holdfast.selfplay.book import Milestone
from holdfast.selfplay.decisions import _recover_collapsed, _restore_best
from holdfast.selfplay.pair import Pair
from holdfast.selfplay.pair_judge import PairJudge
from holdfast.selfplay.rollback import Entry
from holdfast.selfplay.rota import SECOND
from holdfast.selfplay.treatment import _restore_best_below, restore_side
from tests.selfplay.levelled import events_of, levelled_pair
from tests.selfplay.running import begun, judge_of

HELD = {"ewc.strength": "10", "health.collapse_threshold": "0.5", "health.collapse_streak": "1"}


def by_rollback(pair: Pair, judge: PairJudge, policy: str) -> None:
    restore_side(pair, SECOND, Entry(policy, 0, None))


def by_level_down(pair: Pair, judge: PairJudge, policy: str) -> None:
    _restore_best_below(pair, SECOND)


def by_regress(pair: Pair, judge: PairJudge, policy: str) -> None:
    _restore_best(pair, quiet)


def by_collapse(pair: Pair, judge: PairJudge, policy: str) -> None:
    found = judge.play(pair.config)
    _recover_collapsed(pair, replace(found, wins=found.duels), quiet)


def quiet(kind: str, /, **facts: Any) -> None:
    """Nobody listens."""


@pytest.mark.parametrize("goes_back", [by_rollback, by_level_down, by_regress, by_collapse])
def test_what_importance_was_measured_is_held_whatever_a_role_goes_back_to(tmp_path: Path, goes_back: Any) -> None:
    """A state from before it was measured has none of its own."""
    run, pair = levelled_pair(tmp_path, **HELD)
    learner = pair.learners[SECOND]
    policy = pair.vault.freeze(learner)
    pair.book.sides[SECOND].milestones = [Milestone(policy, 0, 0, 0, 0.5)]
    before = learner.optimizer.parameters.numpy().copy()
    learner.optimizer.parameters += 1.0
    anchor = learner.anchor
    assert anchor is not None
    anchor.fisher += 3.0
    anchor.centre += 1.0
    anchor.taken += 1
    goes_back(pair, judge_of(run), policy)
    assert np.array_equal(learner.optimizer.parameters.numpy(), before)
    assert int(anchor.taken) == 1 and float(anchor.fisher.min()) == 3.0 and anchor.penalty() > 0.0


def test_no_rollback_leads_to_before_the_end_of_the_cold_start(tmp_path: Path) -> None:
    """The hider does not learn in the seeker's first turn, so the start of its last turn is that of its exercise."""
    cold = {"duel.cold_start": "second", "duel.cold_start_steps": "256", "duel.turn_steps": "2048"}
    sick = {"health.bilateral": "true", "health.cooldown": "0", "run.iterations": "4"}
    run, pair = levelled_pair(tmp_path, **cold, **sick)
    learn = run.learn

    def often_ill(*given: Any) -> Learned:
        learned = learn(*given)
        return learned._replace(result=None) if run.state.counts.iteration >= 2 else learned

    run.learn = often_ill
    begun(run)
    exercised = pair.book.sides[SECOND].cold_steps
    back = [event["targets"]["hider"]["to_steps"] for event in events_of(run, "rollback")]
    assert exercised > 0 and back == [exercised, exercised]
