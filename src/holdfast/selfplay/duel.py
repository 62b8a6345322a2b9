"""Self-play: the loop of an ordinary run, lived in turns. Long turns, short turns and learning at once are settings.

A turn lets one role (or both, each in an arena of its own) learn against frozen opponents. `turns.py` begins and ends
turns, `treatment.py` helps roles that fell ill, `judging.py` and `decisions.py` evaluate the pair and act on it.
"""

from __future__ import annotations

import dataclasses
import time
from typing import Any

import numpy as np
import torch

from holdfast.config import Config
from holdfast.errors import ConfigError, NonFinite
from holdfast.intervals import wilson
from holdfast.learner.rnd import NoveltyResult
from holdfast.learner.schedules import pace
from holdfast.learner.update import UpdateResult, update
from holdfast.rollout.collect import collect
from holdfast.rollout.evaluate import Summary
from holdfast.runs.checkpoint import Saved
from holdfast.runs.signals import StopRequest
from holdfast.selfplay.arena import Arena
from holdfast.selfplay.certificate import Case, certify
from holdfast.selfplay.decisions import decide
from holdfast.selfplay.health import Sign, diagnose
from holdfast.selfplay.judging import Judgement, judge_pair, wins_at
from holdfast.selfplay.ladder import Ladder
from holdfast.selfplay.probes import alarms
from holdfast.selfplay.response import Gain
from holdfast.selfplay.state import DuelState, Side, initial_duel
from holdfast.selfplay.treatment import treat
from holdfast.selfplay.turns import begin_turn, end_turn, keep_in_ring, note_outcomes, set_level
from holdfast.train import Training
from holdfast.watch import DuelProgress, Result, RoleProgress
from holdfast.worlds.api import Episodes
from holdfast.worlds.spaces import Continuous

UNSTABLE = 3  # exit status
TOLD = ("advance", "regress", "rollback", "collapse", "stuck", "candidate", "alarm", "challenger", "unstable")
TEST_EVERY = 0.1  # of the run, at most one best-response test


class Duel(Training):
    """A run of self-play in progress."""

    state: DuelState  # type: ignore[assignment]

    def first_state(self) -> Any:
        state = initial_duel(self.config)
        self.conditions = ["well", "well"]  # of both roles, when they last learned
        self.stage = ""
        self.certificate: dict[str, Any] | None = None  # of the last best-response test
        self.ladder = Ladder(self.config, state.world.spec)
        for index in range(len(self.ladder.levels)):  # the world refuses levels at which no duel can start
            state.world.plan(np.zeros(1, np.int64), self.ladder.plan(index))
        return state

    def tell(self, kind: str, **facts: object) -> None:
        """Everything to the record, what a person waits for also to whoever watches."""
        (self.decision if kind in TOLD else self.event)(kind, **facts)

    # --- the loop ----------------------------------------------------------------------------------------------------

    def loop(self) -> Result:
        state = self.state
        with StopRequest() as stop:
            self._take_up()
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
                self.write(metrics, episodes, time.perf_counter() - begun)
                if self.due(self.config.checkpoint.every) or self.done or stop.received is not None:
                    with self.clock("save"):
                        self.save("final" if self.done else "interrupt" if stop.received is not None else "interval")
            if stop.received is not None:
                self.event("interrupted", signal=stop.received)
            return self.conclude(stop)

    def _take_up(self) -> None:
        """Before the first step: a state to come back to. After a resume: tell arenas what they do not save."""
        book = self.state.book
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
        return book.outcome is not None or turns_over or self.state.counts.iteration >= self.config.run.iterations

    @property
    def evaluation_is_due(self) -> bool:
        every, since = self.config.evaluation.every, self.state.counts.iteration - self.state.book.evaluated_at
        return every > 0 and since >= every and not self.state.exercises

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
            rnd = config.rnd
            found = side.novelty.pay(arena.batch, rnd.coef, rnd.clip, rnd.share, self.state.shuffle)
            facts = self._novelty_facts(side, found)
        side.learner.config = dataclasses.replace(config.learner, lr=config.learner.lr * scale)
        now = pace(side.learner.config, self.state.counts.iteration, config.run.iterations)
        try:
            result = update(side.learner, arena.batch, now, self.state.shuffle)
        except NonFinite as error:
            self.event("non_finite", role=side.name, text=str(error))
            return None, facts
        if isinstance(side.learner.role.actions, Continuous):
            with torch.no_grad():
                side.learner.policy.extra.clamp_(min=config.health.log_std_floor)
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

    # --- evaluate and decide -----------------------------------------------------------------------------------------

    def _judge_yardsticks(self) -> None:
        """The scripts are played with every evaluation, each against the learned other role."""

    def judge(self) -> dict[str, float | int]:
        level = self.state.book.standing.level
        found = self.judge_now(level)
        kept = self._kept_from(level - 1, found) if level > 0 else {}
        verdict = decide(self.state, self.ladder, found, self.clock, self.tell)
        self.event("evaluation", verdict=verdict, **found.facts(), **kept)
        self._keep(f"{self.state.counts.iteration:06d}", found)
        if verdict == "candidate" and self._may_test():
            self._test(found)
        low, high = wilson(found.wins, found.duels)
        self.watch.evaluated(self.state.counts.iteration, {"learned": summary_of(found), **panel_summaries(found)})
        return {
            "evaluation.score": found.rate,
            "evaluation.score_low": low,
            "evaluation.score_high": high,
            "evaluation.score_worst": 0.0 if found.wins < found.duels else 1.0,
            "evaluation.gap": found.gap,
            **{f"evaluation.{name}": float(found.episodes[name].mean()) for name in self.state.world.spec.columns},
        }

    def _kept_from(self, level: int, found: Judgement) -> dict[str, float | int]:
        """How the pair does at the level it has left: what was forgotten shows here."""
        pair = (self.state.vault.take(found.hashes[0]), self.state.vault.take(found.hashes[1]))
        wins, duels = wins_at(self.config, self.ladder, level, pair)
        return {"wins_before": wins, "duels_before": duels}

    def judge_now(self, level: int) -> Judgement:
        """The pair as it is, at a level."""
        return self._judge(level, self.config)

    def _judge(self, level: int, config: Config) -> Judgement:
        vault, sides = self.state.vault, self.state.sides
        names = (vault.freeze(sides[0]), vault.freeze(sides[1]))
        pair = (vault.take(names[0]), vault.take(names[1]))
        return judge_pair(config, self.ladder, level, pair, names)

    def _keep(self, name: str, found: Judgement) -> None:
        scores = {"learned": summary_of(found), **panel_summaries(found)}
        content = {
            "iteration": self.state.counts.iteration,
            "score": self.score_name,
            "policies": {who: {"summary": score._asdict()} for who, score in scores.items()},
            "duel": found.facts(),
        }
        self.run.write_json(f"evals/{name}.json", content)

    @property
    def score_name(self) -> str:
        return f"wins of the {self.state.sides[0].name}"

    def _may_test(self) -> bool:
        since = self.state.counts.iteration - self.state.book.tested_at
        enough = since >= TEST_EVERY * self.config.run.iterations or self.state.book.tested_at == 0
        return self.config.response.certify and enough

    def _test(self, found: Judgement) -> None:
        """The best-response test: only a pair that passes it may be called converged."""
        self.state.book.tested_at = self.state.counts.iteration
        pair = (self.state.vault.take(found.hashes[0]), self.state.vault.take(found.hashes[1]))
        case = Case(self.config, self.ladder, found.level, pair, steps_of(self.state))
        with self.clock("respond"):
            self.certificate = certify(case, power=self.config.response.power, tell=self._tell_gain)
        self.event("best_response", **self.certificate)
        told = {name: self.certificate[name] for name in ("verdict", "gap", "pass_gap")}
        self.watch.decided("best_response", self.state.counts.iteration, told)
        self.run.write_json(f"evals/response-{self.state.counts.iteration:06d}.json", self.certificate)
        if self.certificate["verdict"] == "passed":
            self.state.book.outcome, self.state.book.because = "converged", "best-response test passed"

    def _tell_gain(self, who: str, gain: Gain) -> None:
        self.tell("challenger", who=who, steps=gain.steps, rate=gain.rate)

    # --- the end -----------------------------------------------------------------------------------------------------

    def conclude(self, stop: StopRequest) -> Result:
        """The last word: the last pair at the level it reached, however it looks; tested, if that is asked for."""
        if stop.exit_status:
            return self.result("interrupted", {}, stop.exit_status)
        book = self.state.book
        with self.clock("evaluate"):
            found = self.judge_held_out()
        self._keep("final", found)
        if book.outcome is None and self.config.response.certify and found.level == self.ladder.top:
            self._test_last(found)
        outcome = book.outcome or "finished"
        self.event(outcome, because=book.because, **found.facts())
        scores = {"learned": summary_of(found), **panel_summaries(found)}
        return self.result(outcome, scores, UNSTABLE if outcome == "unstable" else 0)

    def judge_held_out(self) -> Judgement:
        """The pair as it is, on seeds that nothing was decided by."""
        evaluation = self.config.evaluation
        held_out = dataclasses.replace(evaluation, seed=evaluation.seed + 1, episodes=evaluation.final_episodes)
        config = dataclasses.replace(self.config, evaluation=held_out)
        return self._judge(self.state.book.standing.level, config)

    def _test_last(self, found: Judgement) -> None:
        """A run that is over is tested whatever its balance; an alarm still forbids the word converged."""
        roles = (self.state.sides[0].name, self.state.sides[1].name)
        reasons = alarms(found.probes, roles, self.state.book.standing.rates)
        if reasons:
            self.tell("alarm", reasons=reasons)
        else:
            self._test(found)

    def result(self, outcome: str, scores: dict[str, Summary], exit_status: int) -> Result:
        return dataclasses.replace(super().result(outcome, scores, exit_status), certificate=self.certificate)


def steps_of(state: DuelState) -> tuple[int, int]:
    return state.book.sides[0].steps, state.book.sides[1].steps


def summary_of(found: Judgement) -> Summary:
    low, high = wilson(found.wins, found.duels)
    return Summary(found.rate, low, high, 0.0 if found.wins < found.duels else 1.0, found.duels)


def panel_summaries(found: Judgement) -> dict[str, Summary]:
    return {
        name: Summary(wins / duels, *wilson(wins, duels), 0.0 if wins < duels else 1.0, duels)
        for name, (wins, duels) in found.panel.items()
    }
