"""The judge of an ordinary run: whole episodes on fixed seeds, beside policies that need no learning."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from holdfast.curriculum.contract import Ending, Evaluated, Numbers
from holdfast.learner.learner import fingerprint
from holdfast.rollout.act import PolicyActor, Tally
from holdfast.rollout.evaluate import (
    DURING_RUN,
    HELD_OUT,
    ROLLING,
    Evaluation,
    Summary,
    evaluation_keys,
    play_yardsticks,
    summary,
)
from holdfast.state import torch_generator
from holdfast.worlds.api import Act, Episodes, World

if TYPE_CHECKING:
    from holdfast.run import Run

SAMPLED_EVALUATION = 4  # purpose of a torch generator


def as_set(settings: Any) -> Any:
    return settings


def unwatched(act: Act, world: World) -> Act:
    return act


class EpisodeJudge:
    """Plays a learned policy and the yardsticks of its world. A curriculum may change the settings that evaluations
    are played under, and watch the policy while it plays."""

    def __init__(
        self, settings: Callable[[Any], Any] = as_set, watching: Callable[[Act, World], Act] = unwatched
    ) -> None:
        self.settings, self.watching = settings, watching
        self.yardsticks: dict[str, Summary] = {}  # on the seeds used during the run

    def score_name(self, run: Run) -> str:
        return run.state.world.spec.score

    def begin(self, run: Run) -> None:
        if run.config.evaluation.every > 0 and not run.is_done:
            self._play_yardsticks(run)

    def evaluation(self, run: Run, block: int, episodes: int) -> Evaluation:
        config = run.config
        keys = evaluation_keys(config.evaluation.seed, block, episodes)
        settings = self.settings(config.evaluation_world)
        return Evaluation(config.world_name, settings, keys, config.rollout.threads, run.supervisor)

    def during(self, run: Run) -> Evaluation:
        """The coming evaluation of the run."""
        return self.evaluation(run, block_of(run), run.config.evaluation.episodes)

    def evaluate(self, run: Run) -> Evaluated:
        played = self.play(run)
        return played._replace(row={**played.row, **self._tell(run, played.episodes)})

    def play(self, run: Run) -> Evaluated:
        """The policy as it is now, on the seeds that are used during the run."""
        evaluation, tally = self.during(run), Tally()
        episodes = evaluation.play(lambda world: self.watching(actor(run, tally), world))
        shares = {f"evaluation.{role}.top_action_share": share for role, share in tally.top_shares().items()}
        return self.keep(run, evaluation, episodes)._replace(row=shares)

    def keep(self, run: Run, evaluation: Evaluation, episodes: Episodes) -> Evaluated:
        run.keep_evaluation(f"{run.state.counts.iteration:06d}", self.score_name(run), {"learned": episodes})
        policy = fingerprint(run.state.learners)
        return Evaluated(episodes, evaluation.settings, lambda world: actor(run), policy)

    def _tell(self, run: Run, episodes: Episodes) -> Numbers:
        """Is this the best so far, and is it good enough to stop? The evidence goes to `events.jsonl`."""
        counts, spec = run.state.counts, run.state.world.spec
        if run.config.evaluation.seeds == "rolling":
            self._play_yardsticks(run)
        found = summary(episodes, spec.score)
        if counts.best_score is None or found.mean > counts.best_score:
            counts.best_score, counts.best_iteration = found.mean, counts.iteration
        goal = run.config.run.stop_score
        counts.solved = goal is not None and found.mean >= goal
        run.event("evaluation", score=found._asdict(), best=counts.best_score, goal=goal, solved=counts.solved)
        run.watch.evaluated(counts.iteration, {"learned": found, **self.yardsticks})
        return {
            "evaluation.score": found.mean,
            "evaluation.score_low": found.low,
            "evaluation.score_high": found.high,
            "evaluation.score_worst": found.worst,
            **{f"evaluation.{name}": float(episodes[name].mean()) for name in spec.columns},
        }

    def _play_yardsticks(self, run: Run) -> None:
        with run.clock("yardsticks"):
            played = play_yardsticks(self.during(run))
        run.keep_evaluation("yardsticks", self.score_name(run), played, block_begun(run))
        self.yardsticks = {name: summary(table, run.state.world.spec.score) for name, table in played.items()}

    def conclude(self, run: Run) -> Ending:
        """The policy on episodes it was never judged by, beside the yardsticks on the same ones."""
        evaluation = self.evaluation(run, HELD_OUT, run.config.evaluation.final_episodes)
        with run.clock("evaluate"):
            tables = {"learned": evaluation.play(lambda world: actor(run))}
            found = Evaluated(tables["learned"], evaluation.settings, lambda world: actor(run), "")
            run.curriculum.conclude(found)
        with run.clock("yardsticks"):
            tables |= play_yardsticks(evaluation)
        run.keep_evaluation("final", self.score_name(run), tables)
        scores = {name: summary(table, run.state.world.spec.score) for name, table in tables.items()}
        outcome = "solved" if run.state.counts.solved else "finished"
        return Ending(outcome, scores, {"scores": {name: one._asdict() for name, one in scores.items()}})


def block_of(run: Run) -> int:
    """Which seeds the coming evaluation is played on."""
    if run.config.evaluation.seeds == "fixed":
        return DURING_RUN
    return ROLLING + run.state.counts.iteration // run.config.evaluation.every


def block_begun(run: Run) -> int:
    """The iteration from which on these seeds are in use; a resumed run says the same as one that went through."""
    every = run.config.evaluation.every
    return 0 if run.config.evaluation.seeds == "fixed" else run.state.counts.iteration // every * every


def actor(run: Run, tally: Tally | None = None) -> PolicyActor:
    """The learned policies as they are now."""
    generator = None
    if run.config.evaluation.sampled:
        generator = torch_generator(run.config.evaluation.seed, SAMPLED_EVALUATION)
    return PolicyActor(run.state.learners, generator, tally)
