"""The rehearsal of self-play: the real engine at toy scale, with counts of evaluations and one sick update injected.

Nothing else is changed: every advance, regress, rollback, draw, anchor and bonus comes from the code of the run.
"""

from __future__ import annotations

import dataclasses
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from holdfast.config.sections import Config
from holdfast.learner.update import Learned
from holdfast.runs.rehearse import Company
from holdfast.selfplay.ending import finish_is_due
from holdfast.selfplay.judging import Judgement, questions_of
from holdfast.selfplay.levels import DISCRETE, REGRESS_PATIENCE
from holdfast.selfplay.pair import exercised
from holdfast.selfplay.pair_judge import PairJudge, Rules, passed
from holdfast.selfplay.rehearsal_features import WARMUP_TURN, duel_features
from holdfast.selfplay.sequential import ask
from holdfast.selfplay.settings import LeagueConfig, LevelsConfig, ResponseConfig

if TYPE_CHECKING:
    from holdfast.run import Run

DUEL_STEPS, WIDTH, WINDOW = 12, 16, 20
MET = 16  # earlier policies in a turn
AFTER = 8  # iterations after the last forced event
FINISH = 3  # iterations of the finish, if it has all of its time
FEW_WINS, OFTEN, ENOUGH = 0.5, 0.8, 0.7  # what evaluations find in turn, and what ends the finish
TESTED = 100  # duels of each challenger


def duel_company() -> Company:
    return Company(shrink, inject, duel_features)


# --- the miniature ---------------------------------------------------------------------------------------------------


def shrink(whole: Config, mini: Config) -> Config:
    """Duels of some steps, one rollout per turn, every threshold in reach."""
    rollout = mini.rollout.lanes * mini.rollout.steps
    world = mini.world
    if any(item.name == "max_steps" for item in dataclasses.fields(world)):
        world = replace(world, max_steps=min(world.max_steps, DUEL_STEPS))
    duel = replace(
        mini.duel,
        turn_steps=rollout * (WARMUP_TURN if mini.duel.warmup else 1),
        max_turns=0,
        cold_start_steps=rollout,
        warm_start_steps=rollout,
        mask_steps=4 * rollout if mini.duel.mask_steps else 0,
        boost_turns=min(mini.duel.boost_turns, 2),
        finish_share=FINISH / _end(mini) if mini.duel.finish_share > 0.0 else 0.0,
        finish_until=ENOUGH if mini.duel.finish_until > 0.0 else 0.0,
        force_switch_every=min(mini.duel.force_switch_every, 2 * rollout),
    )
    health = replace(mini.health, window=WINDOW, ring_every=1, cooldown=0)
    return replace(
        mini,
        world=world,
        policy=replace(mini.policy, hidden=(WIDTH, WIDTH)),
        levels=_two_levels(mini.levels),
        duel=duel,
        health=health,
        league=_often(mini.league),
        response=_tested_once_more(mini, rollout),
        run=replace(mini.run, iterations=_end(mini)),
    )


def _tested_once_more(mini: Config, rollout: int) -> ResponseConfig:
    """Challengers of one rollout, and a further round of each kind there is: of two iterations, and the whole anew."""
    share, mends = min(1.0, 2.0 / _end(mini)), min(mini.response.mends, 1)
    small = replace(mini.response, midway=False, steps=rollout, duels=TESTED, pass_gap=1.0)
    return replace(small, rounds=min(mini.response.rounds, 1 + mends), mends=mends, round_share=share)


def _often(league: LeagueConfig) -> LeagueConfig:
    """Every turn is offered, and all may be met."""
    active = max(league.active, MET) if league.size > 0 else league.active
    return replace(league, offer_every=1, active=active)


def _two_levels(levels: LevelsConfig) -> LevelsConfig:
    """The first and the last level, or the last two: at the top the first role may win without advancing."""
    if levels.kind == "smooth":
        return replace(levels, increment=max(levels.final_max - levels.start_max, levels.increment), start_level=0)
    return replace(levels, start_level=len(DISCRETE) - 2) if levels.kind == "discrete" else levels


def _phases(config: Config) -> tuple[int, int, int]:
    """Iterations at which the role falls ill, until which evaluations ask to advance, and until which to go down."""
    sick = len(exercised(config)) + 1
    needed = config.levels.consecutive + 2  # a plateau needs three and its streak
    up = sick + needed + 1
    return sick, up, up + REGRESS_PATIENCE + 2


def _end(config: Config) -> int:
    sick, _, down = _phases(config)
    return (down if config.levels.kind != "none" else sick) + AFTER


class RehearsedEvaluation:
    """Plays the duels of an evaluation; only their count is another."""

    def __init__(self, judge: PairJudge) -> None:
        self.judge, self.play = judge, judge.evaluate

    def __call__(self, run: Run) -> Judgement:
        found, config = self.play(run), run.config
        rate = self._wanted_rate(run)
        duels = 100 if config.duel.test == "point" else 4096
        wins, asked = round(rate * duels), questions_of(config)
        answers = ask(asked, [wins], [duels])
        if config.duel.test == "point":
            answers = {question.name: question.by_point(wins, duels) for question in asked}
        panel = {name: (count // 2, count) for name, (_, count) in found.panel.items()}
        return replace(found, wins=wins, duels=duels, answers=answers, panel=panel)

    def _wanted_rate(self, run: Run) -> float:
        sick, up, down = _phases(run.config)
        iteration, levels, pair = run.state.counts.iteration, run.config.levels, self.judge.pair
        if iteration <= sick:
            return 0.6  # neither balanced nor often enough
        if levels.kind == "none" or iteration > down:
            if pair.book.finish_at is None and finish_is_due(pair):
                return FEW_WINS
            return OFTEN if iteration % 2 else FEW_WINS  # wide enough for a boost, then narrow enough for damping
        if iteration <= up:
            return {"capture": (levels.capture_threshold + 1.0 - levels.min_escape) / 2.0}.get(levels.advance, 0.5)
        return 1.0


def lenient_rules() -> Rules:
    """Twelve steps of play look like nothing, and a challenger of one rollout gains nothing."""
    return Rules(
        tests_last=lambda judge, found: judge.config.response.certify,  # wherever its levels have gone
        is_accepted=lambda judge, certificate: (
            passed(judge, certificate) and judge.pair.book.rounds == judge.config.response.rounds
        ),
        is_outdone=lambda judge, side: True,
        alarms_of=lambda judge, found: [],
    )


def inject(run: Run) -> None:
    """Other counts of evaluations, and a few updates that count as not finite."""
    judge, learn = run.judge, run.learn
    assert isinstance(judge, PairJudge)
    judge.evaluate = RehearsedEvaluation(judge)  # type: ignore[method-assign]
    judge.rules = lenient_rules()
    sick = _phases(run.config)[0]

    def sometimes_ill(*given: Any) -> Learned:
        """One update of a playing role, and one of an exercise."""
        learned = learn(*given)
        done = run.state.counts.iteration
        ill = done + 1 == sick or (done == 0 and bool(judge.pair.exercises))
        return learned._replace(result=None) if ill else learned

    run.learn = sometimes_ill
