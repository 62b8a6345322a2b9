"""Self-play as a curriculum: who learns next, against whom, at which level, and what follows from an evaluation.

A turn lets one role (or both, each in an arena of its own) learn against frozen opponents. `turns.py` begins and ends
turns, `treatment.py` helps roles that fell ill, `decisions.py` acts on evaluations, `pair_judge.py` plays them; here
they are put together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from holdfast.curriculum.contract import Curriculum, Numbers, Plan, Played
from holdfast.learner.schedules import Pace, pace
from holdfast.runs.watch import DuelProgress, RoleProgress
from holdfast.selfplay.arena import Arena
from holdfast.selfplay.decisions import decide
from holdfast.selfplay.ending import begin_finish, finish_is_due, note_finish, take_up_finish, wants_a_look
from holdfast.selfplay.health import Sign, diagnose
from holdfast.selfplay.judging import Judgement
from holdfast.selfplay.ladder import Ladder
from holdfast.selfplay.pair import Pair, initial_pair
from holdfast.selfplay.pair_judge import PairJudge
from holdfast.selfplay.response import pointed
from holdfast.selfplay.role_learner import has_role
from holdfast.selfplay.rota import SECOND
from holdfast.selfplay.rounds import begin_round, inherit, join_pool
from holdfast.selfplay.schedule import last_iteration, span
from holdfast.selfplay.treatment import treat
from holdfast.selfplay.turns import begin_turn, end_turn, note_outcomes, set_level
from holdfast.state import State

if TYPE_CHECKING:
    from holdfast.run import Run

TOLD = (  # what a person waits for is told to whoever watches, too
    "advance",
    "regress",
    "rollback",
    "collapse",
    "stuck",
    "candidate",
    "alarm",
    "challenger",
    "challenged",
    "round",
    "heir",
    "finished_early",
    "unstable",
)


def self_play(run: Run) -> tuple[State, SelfPlay, PairJudge]:
    """The parts of a run of self-play."""
    pair = initial_pair(run.config)
    levels = Ladder(run.config, pair.spec)
    for index in range(len(levels.levels)):  # the world refuses levels at which no duel can start
        pair.state.world.plan(np.zeros(1, np.int64), levels.plan(index))
    judge = PairJudge(pair, levels)
    return pair.state, SelfPlay(run, pair, levels, judge), judge


class SelfPlay(Curriculum):
    """Turns of two roles, from the first to the last."""

    needs_its_lanes = True

    def __init__(self, run: Run, pair: Pair, levels: Ladder, judge: PairJudge) -> None:
        self.run, self.config = run, run.config
        self.pair, self.levels, self.tests = pair, levels, judge
        self.conditions = ["well", "well"]  # of both roles, when they last learned
        self.stage = ""

    def tell(self, kind: str, /, **facts: object) -> None:
        (self.run.decision if kind in TOLD else self.run.event)(kind, **facts)

    def begin(self, run: Run, is_new: bool) -> list[str]:
        """Keep a state to come back to; after a resume, tell arenas what they do not save."""
        pair, book = self.pair, self.pair.book
        take_up_finish(pair, self.tell)
        for number, side_book in enumerate(book.sides):
            if not side_book.ring.entries:
                pair.keep_in_ring(number, is_turn_start=True)
            if side_book.sight is not None:
                mix = self.config.duel.mixed_level_ratio
                set_level(pair, self.levels, pair.arenas[number], side_book.sight, mix, only_know=True)
        return []

    # --- plan --------------------------------------------------------------------------------------------------------

    def plan(self, run: Run) -> Plan:
        """The roles of the turn, each against frozen opponents."""
        pair, book = self.pair, self.pair.book
        if book.turn is None:
            pair.forget()
            begin_turn(pair, self.levels, self.tell)
        turn = book.turn
        assert turn is not None
        self.stage = turn.stage
        seats = pair.exercises if turn.stage == "exercise" else dict(enumerate(pair.arenas))
        paces = {pair.roles[number]: self._pace(number, turn.lr_scale) for number in turn.roles}
        return Plan(tuple(seats[number] for number in turn.roles), paces, is_strict=False)

    def _pace(self, number: int, scale: float) -> Pace:
        """What the schedules say; a finish has schedules of its own."""
        config, book = self.config, self.pair.book
        if number == SECOND:
            scale *= config.duel.evader_lr
        settings = config.learner if book.finish_at is None else pointed(config)
        start, end = span(config, book)
        return pace(settings, self.pair.scheduled - start, end - start, scale)

    # --- observe -----------------------------------------------------------------------------------------------------

    def observe(self, run: Run, played: Sequence[Played], row: Numbers) -> Numbers:
        """Count, look at each role's health, recover it, and end the turn when its time is over."""
        turn = self.pair.book.turn
        assert turn is not None
        found: Numbers = {}
        for number, one in zip(list(turn.roles), played, strict=True):
            assert isinstance(one.seat, Arena)
            found |= self._look_after(number, one.seat, one)
        turn.left -= 1
        found |= self._progress()
        if turn.left <= 0:
            end_turn(self.pair, self.tell)
            if not self.evaluation_is_due(run):
                self._finish_if_due()
        return found

    def _look_after(self, number: int, arena: Arena, played: Played) -> Numbers:
        """Count steps and results, look at the role's health, treat it, and keep a state to come back to."""
        pair, role, learned = self.pair, arena.role, played.learned[arena.role]
        side_book, turn = pair.book.sides[number], pair.book.turn
        assert turn is not None
        if learned.result is None:
            self.run.event("non_finite", role=role, text=learned.error)
        if learned.novelty is not None and learned.novelty.is_survival_bonus:
            mean, correlation = learned.novelty.mean, learned.novelty.length_correlation
            self.run.event("rnd_warning", role=role, mean=mean, length_correlation=correlation)
        acted, exercise = int(arena.batch.valid.sum()), not arena.is_counted
        side_book.steps += acted
        side_book.cold_steps += acted if exercise else 0
        pair.book.play_steps += acted if turn.stage == "play" else 0
        outcome = {} if exercise else note_outcomes(pair, number)
        extra = arena.learner.policy.extra.detach()
        sign = Sign(learned.result is not None, tuple(extra.tolist()), 1.0 - turn.left / turn.rollouts)
        found = diagnose(self.config.health, side_book.pulse, sign)
        self.conditions[number] = found.condition
        if found.condition == "well":
            if side_book.ring.is_due(side_book.steps, self.config.health.ring_every):
                pair.keep_in_ring(number)
        else:
            treat(pair, self.levels, number, found, self.tell)
        facts: Numbers = {f"duel.{role}.{name}": value for name, value in outcome.items()}
        if side_book.pulse.rate is not None:
            facts[f"duel.{role}.rate"] = side_book.pulse.rate
        return facts

    def _progress(self) -> Numbers:
        book = self.pair.book
        facts: Numbers = {"duel.turn": book.turns, "duel.level": book.standing.level}
        if book.turn is not None:
            facts |= {"duel.lr_scale": book.turn.lr_scale, "duel.full_sight": book.turn.full_sight}
        for role, side_book in zip(self.pair.roles, book.sides, strict=True):
            facts |= {
                f"duel.{role}.steps": side_book.steps,
                f"duel.{role}.pool": len(side_book.pool.members),
                f"duel.{role}.rollbacks": side_book.rollbacks,
            }
        return facts

    def _finish_if_due(self) -> None:
        if finish_is_due(self.pair) and not self.pair.book.has_finished:
            begin_finish(self.pair, self.tell)

    def progress(self, run: Run) -> DuelProgress:
        book, learning = self.pair.book, self._learning()
        roles = tuple(
            RoleProgress(
                name=role,
                learns=role in learning,
                wins=sum(one.pulse.results),
                duels=len(one.pulse.results),
                steps=one.steps,
                pool=len(one.pool.members),
                rollbacks=one.rollbacks,
                condition=condition,
            )
            for role, one, condition in zip(self.pair.roles, book.sides, self.conditions, strict=True)
        )
        return DuelProgress(book.turns, self.stage, self.levels.name_of(book.standing.level), roles)

    def _learning(self) -> set[str]:
        turn = self.pair.book.turn
        return set() if turn is None else {self.pair.roles[number] for number in turn.roles}

    # --- judge -------------------------------------------------------------------------------------------------------

    def evaluation_is_due(self, run: Run) -> bool:
        """Only between turns."""
        pair, every = self.pair, self.config.evaluation.every
        if pair.book.turn is not None:
            return False
        since = pair.counts.iteration - pair.book.evaluated_at
        return (every > 0 and since >= every and not pair.exercises) or wants_a_look(pair)

    def judge(self, run: Run, found: Judgement) -> Numbers:
        pair = self.pair
        kept = self.tests.forgotten(found)
        verdict = decide(pair, self.levels, found, run.clock, self.tell)
        run.event("evaluation", verdict=verdict, **found.facts(), **kept)
        self.tests.keep(run, f"{pair.counts.iteration:06d}", found)
        if verdict == "candidate" and self.tests.may_test():
            self.tests.test(run, found, self.tell)
        self.tests.tell(run, found)
        note_finish(pair, found.rate, self.tell)
        self._finish_if_due()
        return {}

    def is_done(self, run: Run) -> bool:
        book, duel = self.pair.book, self.config.duel
        turns_over = duel.max_turns > 0 and book.played >= duel.max_turns and book.turn is None
        is_over = book.has_finished or self.pair.counts.iteration >= last_iteration(self.config, book)
        return book.outcome is not None or turns_over or is_over

    def goes_on(self, run: Run) -> bool:
        """At the end of the run and of every round the pair is tested; unless it passes it learns on, if it may."""
        pair, book, tests = self.pair, self.pair.book, self.tests
        if book.outcome is not None or book.rounds >= self.config.response.rounds:
            return False
        with run.clock("evaluate"):
            found = tests.held_out(run)
        if not tests.rules.tests_last(tests, found):
            return False
        tests.certificate = None  # an earlier pair's says nothing of this one
        tests.test_last(run, found, self.tell)
        if book.outcome is not None:
            return False
        outdone = tests.outdone()
        anew = begin_round(pair, bool(outdone))
        if not anew:
            self._learn_from_test(outdone)
        tests.certificate = None  # the next pair has its own
        until = last_iteration(self.config, book)
        self.tell("round", number=book.rounds, of=self.config.response.rounds, anew=anew, until=until)
        return True

    def _learn_from_test(self, outdone: list[int]) -> None:
        """Who outdid a role joins its pool, if there is one; roles that may go on as their best challenger."""
        for number in outdone:
            mine = [one for one in self.tests.challengers if one.response.role == number]
            best = max(mine, key=lambda one: one.wins)
            if self.config.league.size > 0:
                join_pool(self.pair, best.response, self.tell)
            if has_role(self.config.response.heirs, number):
                inherit(self.pair, best, self.tell)

    # --- what it remembers -------------------------------------------------------------------------------------------

    def facts(self) -> dict[str, Any]:
        return self.pair.facts()

    def arrays(self) -> dict[str, np.ndarray]:
        return self.pair.arrays()

    def restore(self, facts: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> None:
        self.pair.restore(facts, arrays)
