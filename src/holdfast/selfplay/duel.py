"""Self-play: the loop of an ordinary run, lived in turns. Long turns, short turns and learning at once are settings.

A turn lets one role (or both, each in an arena of its own) learn against frozen opponents. `turns.py` begins and ends
turns, `treatment.py` helps roles that fell ill, `judged.py` evaluates the pair, acts on it and has the last word.
"""

from __future__ import annotations

import dataclasses
import time
from functools import partial
from typing import Any

import numpy as np
import torch

from holdfast.kit.errors import ConfigError, NonFinite
from holdfast.kit.signals import Stopped, StopRequest
from holdfast.learner.rnd import CLIP, SHARE, NoveltyResult
from holdfast.learner.schedules import pace
from holdfast.learner.update import UpdateResult, update
from holdfast.rollout.collect import collect
from holdfast.runs.checkpoint import Saved
from holdfast.runs.watch import DuelProgress, Result, RoleProgress
from holdfast.selfplay.arena import Arena
from holdfast.selfplay.ending import begin_finish, finish_is_due, note_finish, take_up_finish, wants_a_look
from holdfast.selfplay.health import LOG_STD_FLOOR, Sign, diagnose
from holdfast.selfplay.judged import JudgedDuel
from holdfast.selfplay.ladder import Ladder
from holdfast.selfplay.response import pointed
from holdfast.selfplay.rota import SECOND
from holdfast.selfplay.schedule import last_iteration, span
from holdfast.selfplay.side import Side
from holdfast.selfplay.state import initial_duel, keep_in_ring
from holdfast.selfplay.treatment import treat
from holdfast.selfplay.turns import begin_turn, end_turn, note_outcomes, set_level
from holdfast.worlds.api import Episodes
from holdfast.worlds.spaces import Continuous


class Duel(JudgedDuel):
    """A run of self-play in progress."""

    def first_state(self) -> Any:
        state = initial_duel(self.config)
        self.conditions = ["well", "well"]  # of both roles, when they last learned
        self.stage = ""
        self.ladder = Ladder(self.config, state.world.spec)
        for index in range(len(self.ladder.levels)):  # the world refuses levels at which no duel can start
            state.world.plan(np.zeros(1, np.int64), self.ladder.plan(index))
        return state

    # --- the loop ----------------------------------------------------------------------------------------------------

    def loop(self) -> Result:
        with StopRequest() as stop:
            self.heed = partial(self._heed, stop)
            self._take_up()
            try:
                self._play(stop)
                while stop.received is None and self.has_another_round():
                    self._play(stop)
                if stop.received is None:
                    return self.conclude(stop)
            except Stopped:  # in the middle of a test, which a resumed run begins again
                pass
            self.event("interrupted", signal=stop.received)
            return self.conclude(stop)

    def _heed(self, stop: StopRequest) -> None:
        """Challengers call this in every iteration of theirs: a sign of life, and a chance to give up."""
        self.clock.goes_on()
        stop.heed()

    def _play(self, stop: StopRequest) -> None:
        state = self.state
        while not self.done and stop.received is None:
            begun = time.perf_counter()
            if state.book.turn is None:
                begin_turn(state, self.ladder, self.tell)
            metrics, episodes = self.learn()
            if state.book.turn is not None and state.book.turn.left <= 0:
                end_turn(state, self.tell)
                if self.evaluation_is_due:
                    with self.clock("evaluate"):
                        metrics |= self.judge()
                    note_finish(state, float(metrics["evaluation.score"]), self.tell)
                if finish_is_due(state) and not state.book.has_finished:
                    begin_finish(state, self.tell)
            self.write(metrics, episodes, time.perf_counter() - begun)
            if self.due(self.config.checkpoint.every) or self.done or stop.received is not None:
                with self.clock("save"):
                    self.save("final" if self.done else "interrupt" if stop.received is not None else "interval")

    def _take_up(self) -> None:
        """Before the first step: a state to come back to. After a resume: tell arenas what they do not save."""
        book = self.state.book
        take_up_finish(self.state, self.tell)
        for number, side_book in enumerate(book.sides):
            if not side_book.ring.entries:
                keep_in_ring(self.state, number, is_turn_start=True)
            if side_book.sight is not None:
                arena, mix = self.state.arenas[number], self.config.duel.mixed_level_ratio
                set_level(self.state, self.ladder, arena, side_book.sight, mix, only_know=True)

    @property
    def done(self) -> bool:
        book, duel = self.state.book, self.config.duel
        turns_over = duel.max_turns > 0 and book.played >= duel.max_turns and book.turn is None
        is_over = book.has_finished or self.state.counts.iteration >= last_iteration(self.config, book)
        return book.outcome is not None or turns_over or is_over

    @property
    def evaluation_is_due(self) -> bool:
        every, since = self.config.evaluation.every, self.state.counts.iteration - self.state.book.evaluated_at
        return (every > 0 and since >= every and not self.state.exercises) or wants_a_look(self.state)

    def _continue_from(self, saved: Saved, fresh_lanes: bool) -> list[str]:
        if fresh_lanes:
            raise ConfigError(
                ["self-play goes on only with the lanes it had: leave rollout.lanes and the world as they are"]
            )
        return super()._continue_from(saved, fresh_lanes)

    # --- learning ----------------------------------------------------------------------------------------------------

    def learn(self) -> tuple[dict[str, float | int], Episodes | None]:
        """One rollout and one update of every role of the turn; its numbers, and the duels that ended."""
        state, turn = self.state, self.state.book.turn
        assert turn is not None
        self.stage, exercise = turn.stage, turn.stage == "exercise"
        state.live = tuple((state.exercises if exercise else state.arenas)[number] for number in turn.roles)
        tables: list[Episodes] = []
        updates: dict[str, UpdateResult] = {}
        extra: dict[str, float | int] = {}
        for number, arena in zip(turn.roles, state.live, strict=True):
            side = state.sides[number]
            with self.clock("collect"):
                episodes = collect(
                    arena.world,
                    {side.name: side.learner},
                    {side.name: arena.batch},
                    arena.memory,
                    state.actions,
                    self.clock,
                )
            tables += [episodes] if episodes is not None and not exercise else []
            with self.clock("learn"):
                result, facts = self._update(side, arena, turn.lr_scale)
            updates |= {side.name: result} if result is not None else {}
            extra |= facts | self._look_after(number, arena, result, exercise)
        turn.left -= 1
        ended = Episodes.joined(tables) if tables else None
        return self.record(ended, updates) | extra | self._progress(), ended

    def _update(self, side: Side, arena: Arena, scale: float) -> tuple[UpdateResult | None, dict[str, float | int]]:
        """Learn from the arena's batch; no result when a number was not finite (the weights are as before)."""
        config, facts = self.config, {}
        if side.novelty is not None:
            found = side.novelty.pay(arena.batch, config.rnd.coef, CLIP, SHARE, self.state.shuffle)
            facts = self._novelty_facts(side, found)
        if side.number == SECOND:
            scale *= config.duel.evader_lr
        settings = config.learner if self.state.book.finish_at is None else pointed(config)
        side.learner.config = dataclasses.replace(settings, lr=settings.lr * scale)
        start, end = span(config, self.state.book)
        now = pace(side.learner.config, self.state.scheduled - start, end - start)
        try:
            result = update(side.learner, arena.batch, now, self.state.shuffle)
        except NonFinite as error:
            self.event("non_finite", role=side.name, text=str(error))
            return None, facts
        if isinstance(side.learner.role.actions, Continuous):
            with torch.no_grad():
                side.learner.policy.extra.clamp_(min=LOG_STD_FLOOR)
        if side.anchor is not None and int(side.anchor.taken):
            facts |= {
                f"ewc.{side.name}.penalty": side.anchor.penalty(),
                f"ewc.{side.name}.moved": side.anchor.distance(),
            }
        return result, facts

    def _novelty_facts(self, side: Side, found: NoveltyResult) -> dict[str, float | int]:
        if found.is_survival_bonus:
            self.event("rnd_warning", role=side.name, mean=found.mean, length_correlation=found.length_correlation)
        return {f"rnd.{side.name}.{name}": value for name, value in found._asdict().items()}

    def _look_after(
        self, number: int, arena: Arena, result: UpdateResult | None, exercise: bool
    ) -> dict[str, float | int]:
        """Count steps and results, look at the role's health, treat it, and keep a state to come back to."""
        state, side = self.state, self.state.sides[number]
        side_book, turn = state.book.sides[number], state.book.turn
        assert turn is not None
        acted = int(arena.batch.valid.sum())
        side_book.steps += acted
        side_book.cold_steps += acted if exercise else 0
        outcome = {} if exercise else note_outcomes(state, number)
        extra = side.learner.policy.extra.detach()
        sign = Sign(result is not None, tuple(extra.tolist()), 1.0 - turn.left / turn.rollouts)
        found = diagnose(self.config.health, side_book.pulse, sign)
        self.conditions[number] = found.condition
        if found.condition == "well":
            if side_book.ring.is_due(side_book.steps, self.config.health.ring_every):
                keep_in_ring(state, number)
        else:
            treat(state, self.ladder, number, found, self.tell)
        facts: dict[str, float | int] = {f"duel.{side.name}.{name}": value for name, value in outcome.items()}
        if side_book.pulse.rate is not None:
            facts[f"duel.{side.name}.rate"] = side_book.pulse.rate
        return facts

    def _progress(self) -> dict[str, float | int]:
        book = self.state.book
        facts: dict[str, float | int] = {"duel.turn": book.turns, "duel.level": book.standing.level}
        if book.turn is not None:
            facts |= {"duel.lr_scale": book.turn.lr_scale, "duel.full_sight": book.turn.full_sight}
        for side, side_book in zip(self.state.sides, book.sides, strict=True):
            facts |= {
                f"duel.{side.name}.steps": side_book.steps,
                f"duel.{side.name}.pool": len(side_book.pool.members),
                f"duel.{side.name}.rollbacks": side_book.rollbacks,
            }
        return facts

    def duelling(self) -> DuelProgress:
        book, live = self.state.book, {arena.role for arena in self.state.live}
        roles = tuple(
            RoleProgress(
                name=side.name,
                learns=side.name in live,
                wins=sum(one.pulse.results),
                duels=len(one.pulse.results),
                steps=one.steps,
                pool=len(one.pool.members),
                rollbacks=one.rollbacks,
                condition=condition,
            )
            for side, one, condition in zip(self.state.sides, book.sides, self.conditions, strict=True)
        )
        return DuelProgress(book.turns, self.stage, self.ladder.name_of(book.standing.level), roles)
