"""How a self-play run is judged: evaluations and what is decided by them, the best-response test, the last word."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

from holdfast.config import Config
from holdfast.intervals import wilson
from holdfast.rollout.evaluate import Summary
from holdfast.runs.signals import StopRequest
from holdfast.selfplay.certificate import Case, certify
from holdfast.selfplay.decisions import decide
from holdfast.selfplay.judging import Judgement, judge_pair, wins_at
from holdfast.selfplay.ladder import Ladder
from holdfast.selfplay.probes import alarms
from holdfast.selfplay.response import Found, Gain, nothing
from holdfast.selfplay.rounds import begin_round, inherit, join_pool
from holdfast.selfplay.schedule import last_iteration
from holdfast.selfplay.side import has_role
from holdfast.selfplay.state import DuelState
from holdfast.train import Training
from holdfast.watch import Result

UNSTABLE = 3  # exit status
TOLD = (
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
TEST_EVERY = 0.1  # of the run, at most one best-response test


class JudgedDuel(Training):
    """A self-play run, as far as its pair is judged."""

    state: DuelState  # type: ignore[assignment]
    ladder: Ladder
    certificate: dict[str, Any] | None = None  # of the last best-response test
    heed: Callable[[], None] = staticmethod(nothing)  # raises when somebody asks the run to stop

    def tell(self, kind: str, /, **facts: object) -> None:
        """Everything to the record, what a person waits for also to whoever watches."""
        (self.decision if kind in TOLD else self.event)(kind, **facts)

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
        return self.config.response.certify and self.config.response.midway and enough

    def _test(self, found: Judgement) -> None:
        """The best-response test: only a pair that passes it may be called converged."""
        self.state.book.tested_at = self.state.counts.iteration
        pair = (self.state.vault.take(found.hashes[0]), self.state.vault.take(found.hashes[1]))
        trained = steps_of(self.state)
        self.challengers: list[Found] = []
        case = Case(self.config, self.ladder, found.level, pair, trained, heed=self.heed, until_failed=True)
        case = case._replace(note=self.challengers.append)
        with self.clock("respond"):
            self.certificate = certify(case, power=self.config.response.power, tell=self._tell_gain)
        self.event("best_response", **self.certificate)
        told = {name: self.certificate[name] for name in ("verdict", "gap", "pass_gap")}
        self.watch.decided("best_response", self.state.counts.iteration, told)
        self.run.write_json(f"evals/response-{self.state.counts.iteration:06d}.json", self.certificate)
        if self.is_accepted(self.certificate):
            self.state.book.outcome, self.state.book.because = "converged", "best-response test passed"

    def is_accepted(self, certificate: dict[str, Any]) -> bool:
        return bool(certificate["verdict"] == "passed")

    def has_another_round(self) -> bool:
        """At the end of the run and of every round the pair is tested; unless it passes it learns on, if it may."""
        book, response = self.state.book, self.config.response
        if book.outcome is not None or book.rounds >= response.rounds:
            return False
        with self.clock("evaluate"):
            found = self.judge_held_out()
        if not self.tests_last(found):
            return False
        self.certificate = None  # an earlier pair's says nothing of this one
        self._test_last(found)
        if book.outcome is not None:
            return False
        outdone = self._outdone()
        anew = begin_round(self.state, bool(outdone))
        if not anew:
            self._learn_from_test(outdone)
        self.certificate = None  # the next pair has its own
        until = last_iteration(self.config, book)
        self.tell("round", number=book.rounds, of=response.rounds, anew=anew, until=until)
        return True

    def _outdone(self) -> list[int]:
        """Roles whose challengers gained too much in the last test, if one was made."""
        sides = (self.certificate or {"sides": {}})["sides"]
        return [side.number for side in self.state.sides if side.name in sides and self.is_outdone(sides[side.name])]

    def _learn_from_test(self, outdone: list[int]) -> None:
        """Who outdid a role joins its pool, if there is one; roles that may go on as their best challenger."""
        for number in outdone:
            best = max((one for one in self.challengers if one.response.role == number), key=lambda one: one.wins)
            if self.config.league.size > 0:
                join_pool(self.state, best.response, self.tell)
            if has_role(self.config.response.heirs, number):
                inherit(self.state, best, self.tell)

    def is_outdone(self, facts: dict[str, Any]) -> bool:
        return bool(facts["gap"] > self.config.response.pass_gap)

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
        if book.outcome is None and self.tests_last(found):
            self._test_last(found)
        outcome = book.outcome or "finished"
        self.event(outcome, because=book.because, **found.facts())
        scores = {"learned": summary_of(found), **panel_summaries(found)}
        return self.result(outcome, scores, UNSTABLE if outcome == "unstable" else 0)

    def tests_last(self, found: Judgement) -> bool:
        return self.config.response.certify and found.level == self.ladder.top

    def judge_held_out(self) -> Judgement:
        """The pair as it is, on seeds that nothing was decided by."""
        evaluation = self.config.evaluation
        held_out = dataclasses.replace(evaluation, seed=evaluation.seed + 1, episodes=evaluation.final_episodes)
        config = dataclasses.replace(self.config, evaluation=held_out)
        return self._judge(self.state.book.standing.level, config)

    def _test_last(self, found: Judgement) -> None:
        """A run that is over is tested whatever its balance; an alarm still forbids the word converged."""
        roles = (self.state.sides[0].name, self.state.sides[1].name)
        reasons = self.alarms_of(found, roles)
        if reasons:
            self.tell("alarm", reasons=reasons)
        else:
            self._test(found)

    def alarms_of(self, found: Judgement, roles: tuple[str, str]) -> list[str]:
        return alarms(found.probes, roles, self.state.book.standing.rates)

    def result(self, outcome: str, scores: dict[str, Summary], exit_status: int) -> Result:
        return dataclasses.replace(super().result(outcome, scores, exit_status), certificate=self.certificate)


def steps_of(state: DuelState) -> tuple[int, int]:
    return state.book.sides[0].own_steps, state.book.sides[1].own_steps


def summary_of(found: Judgement) -> Summary:
    low, high = wilson(found.wins, found.duels)
    return Summary(found.rate, low, high, 0.0 if found.wins < found.duels else 1.0, found.duels)


def panel_summaries(found: Judgement) -> dict[str, Summary]:
    return {
        name: Summary(wins / duels, *wilson(wins, duels), 0.0 if wins < duels else 1.0, duels)
        for name, (wins, duels) in found.panel.items()
    }
