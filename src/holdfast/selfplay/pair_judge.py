"""How a pair is judged: evaluations on fixed seeds, the best-response test, the last word."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from holdfast.config.sections import Config
from holdfast.curriculum.contract import Ending, Tell
from holdfast.kit.intervals import wilson
from holdfast.rollout.evaluate import Summary
from holdfast.selfplay.certificate import Case, certify
from holdfast.selfplay.judging import Judgement, judge_pair, wins_at
from holdfast.selfplay.ladder import Ladder
from holdfast.selfplay.pair import Pair
from holdfast.selfplay.probes import alarms
from holdfast.selfplay.response import Found, Gain

if TYPE_CHECKING:
    from holdfast.run import Run

UNSTABLE = 3  # exit status
TEST_EVERY = 0.1  # of the run, at most one best-response test


def at_the_top(judge: PairJudge, found: Judgement) -> bool:
    return judge.config.response.certify and found.level == judge.levels.top


def passed(judge: PairJudge, certificate: dict[str, Any]) -> bool:
    return bool(certificate["verdict"] == "passed")


def gained_too_much(judge: PairJudge, side: dict[str, Any]) -> bool:
    return bool(side["gap"] > judge.config.response.pass_gap)


def probed(judge: PairJudge, found: Judgement) -> list[str]:
    return alarms(found.probes, judge.pair.roles, judge.pair.book.standing.rates)


@dataclass
class Rules:
    """What a judge goes by; a rehearsal of twelve steps goes by others."""

    tests_last: Callable[[PairJudge, Judgement], bool] = at_the_top
    is_accepted: Callable[[PairJudge, dict[str, Any]], bool] = passed
    is_outdone: Callable[[PairJudge, dict[str, Any]], bool] = gained_too_much
    alarms_of: Callable[[PairJudge, Judgement], list[str]] = probed


class PairJudge:
    """Evaluates the two roles against each other, and tests the pair with challengers."""

    def __init__(self, pair: Pair, levels: Ladder) -> None:
        self.pair, self.levels, self.config = pair, levels, pair.config
        self.rules = Rules()
        self.certificate: dict[str, Any] | None = None  # of the last best-response test
        self.challengers: list[Found] = []  # of it

    def begin(self, run: Run) -> None:
        """The scripts are played with every evaluation, each against the learned other role."""

    def score_name(self, run: Run) -> str:
        return f"wins of the {self.pair.roles[0]}"

    # --- evaluations -------------------------------------------------------------------------------------------------

    def evaluate(self, run: Run) -> Judgement:
        return self.play(self.config)

    def play(self, config: Config) -> Judgement:
        """The pair as it is, at its level."""
        vault, learners = self.pair.vault, self.pair.learners
        names = (vault.freeze(learners[0]), vault.freeze(learners[1]))
        pair = (vault.take(names[0]), vault.take(names[1]))
        return judge_pair(config, self.levels, self.pair.book.standing.level, pair, names)

    def held_out(self, run: Run) -> Judgement:
        """The pair as it is, on seeds that nothing was decided by."""
        evaluation = self.config.evaluation
        held_out = dataclasses.replace(evaluation, seed=evaluation.seed + 1, episodes=evaluation.final_episodes)
        return self.play(dataclasses.replace(self.config, evaluation=held_out))

    def forgotten(self, found: Judgement) -> dict[str, float | int]:
        """How the pair does at the level it has left: what was forgotten shows here."""
        if found.level == 0:
            return {}
        pair = (self.pair.vault.take(found.hashes[0]), self.pair.vault.take(found.hashes[1]))
        wins, duels = wins_at(self.config, self.levels, found.level - 1, pair)
        return {"wins_before": wins, "duels_before": duels}

    def keep(self, run: Run, name: str, found: Judgement) -> None:
        policies = {who: {"summary": score._asdict()} for who, score in scores_of(found).items()}
        run.keep_summaries(name, {"score": self.score_name(run), "policies": policies, "duel": found.facts()})

    def tell(self, run: Run, found: Judgement) -> None:
        run.watch.evaluated(run.state.counts.iteration, scores_of(found))

    # --- the best-response test --------------------------------------------------------------------------------------

    def may_test(self) -> bool:
        book, response = self.pair.book, self.config.response
        since = self.pair.counts.iteration - book.tested_at
        enough = since >= TEST_EVERY * self.config.run.iterations or book.tested_at == 0
        return response.certify and response.midway and enough

    def test(self, run: Run, found: Judgement, tell: Tell) -> None:
        """Only a pair that passes may be called converged."""
        pair, book = self.pair, self.pair.book
        book.tested_at = pair.counts.iteration
        arrays = (pair.vault.take(found.hashes[0]), pair.vault.take(found.hashes[1]))
        trained = (book.sides[0].own_steps, book.sides[1].own_steps)
        self.challengers = []

        def heed() -> None:
            """Called in every iteration of a challenger: a sign of life, and a chance to give up."""
            run.clock.goes_on()
            run.stop.heed()

        def gained(who: str, gain: Gain) -> None:
            tell("challenger", who=who, steps=gain.steps, rate=gain.rate)

        case = Case(self.config, self.levels, found.level, arrays, trained, heed=heed, until_failed=True)
        case = case._replace(note=self.challengers.append)
        with run.clock("respond"):
            self.certificate = certify(case, power=self.config.response.power, tell=gained)
        run.event("best_response", **self.certificate)
        told = {name: self.certificate[name] for name in ("verdict", "gap", "pass_gap")}
        run.watch.decided("best_response", pair.counts.iteration, told)
        run.folder.write_json(f"evals/response-{pair.counts.iteration:06d}.json", self.certificate)
        if self.rules.is_accepted(self, self.certificate):
            book.outcome, book.because = "converged", "best-response test passed"

    def test_last(self, run: Run, found: Judgement, tell: Tell) -> None:
        """A run that is over is tested whatever its balance; an alarm still forbids the word converged."""
        reasons = self.rules.alarms_of(self, found)
        if reasons:
            tell("alarm", reasons=reasons)
        else:
            self.test(run, found, tell)

    def outdone(self) -> list[int]:
        """Roles whose challengers gained too much in the last test, if one was made."""
        sides = (self.certificate or {"sides": {}})["sides"]
        named = enumerate(self.pair.roles)
        return [number for number, role in named if role in sides and self.rules.is_outdone(self, sides[role])]

    # --- the end -----------------------------------------------------------------------------------------------------

    def conclude(self, run: Run) -> Ending:
        """The last pair at the level it reached, however it looks; tested, if that is asked for."""
        book = self.pair.book
        with run.clock("evaluate"):
            found = self.held_out(run)
        self.keep(run, "final", found)
        if book.outcome is None and self.rules.tests_last(self, found):
            self.test_last(run, found, run.curriculum.tell)  # type: ignore[attr-defined]
        outcome = book.outcome or "finished"
        facts = {"because": book.because, **found.facts()}
        status = UNSTABLE if outcome == "unstable" else 0
        return Ending(outcome, scores_of(found), facts, status, self.certificate)


def scores_of(found: Judgement) -> dict[str, Summary]:
    """The pair, and each learned role against every script of the other: shares of wins of the first role."""
    scores = {"learned": _score(found.wins, found.duels)}
    return scores | {name: _score(wins, duels) for name, (wins, duels) in found.panel.items()}


def _score(wins: int, duels: int) -> Summary:
    return Summary(wins / duels, *wilson(wins, duels), 0.0 if wins < duels else 1.0, duels)
