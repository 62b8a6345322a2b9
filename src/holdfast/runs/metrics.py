"""The one table of metrics (name, unit, meaning) and the streams they are written to.

A name that is not in the table cannot be logged; docs/metrics.md is made from it. `metrics.jsonl` holds only what the
seed decides, so that a resumed run's file equals an uninterrupted one's; clock times go to `timing.jsonl`.
"""

from __future__ import annotations

from holdfast.kit.errors import WorldError, nearest
from holdfast.runs.board import Board
from holdfast.runs.reading import read_lines
from holdfast.runs.streams import Stream
from holdfast.worlds.game import Metric

__all__ = [
    "HEARTBEATS",
    "METRICS",
    "RESOURCES",
    "TIMINGS",
    "Metric",
    "MetricsWriter",
    "Stream",
    "known_names",
    "read_lines",
]


METRICS = (
    Metric("iteration", "count", "rollouts collected and learned from"),
    Metric("agent_steps", "count", "steps that living agents acted in, since the run began"),
    Metric("episodes", "count", "episodes that ended in training, since the run began"),
    Metric("episode.{column}", "as the world says", "mean of a number over the episodes that ended in this iteration"),
    Metric("learner.{role}.policy_loss", "1", "clipped surrogate (PPO) or policy-gradient loss, mean over minibatches"),
    Metric("learner.{role}.value_loss", "1", "squared error of the value network in its own units"),
    Metric("learner.{role}.entropy", "nats", "mean entropy of the policy"),
    Metric(
        "learner.{role}.approx_kl",
        "nats",
        "estimated KL divergence of the update, mean over minibatches",
    ),
    Metric("learner.{role}.clip_fraction", "share", "agent-steps whose probability ratio hit clip or rho_bar"),
    Metric("learner.{role}.grad_norm", "1", "norm of the gradient before clipping, mean over steps"),
    Metric(
        "learner.{role}.explained_variance",
        "share",
        "share of the returns' variance that the values predicted; 1 = all",
    ),
    Metric("learner.{role}.lr", "1", "learning rate"),
    Metric("learner.{role}.entropy_coef", "1", "coefficient of the entropy bonus"),
    Metric("learner.{role}.epochs", "count", "passes over the batch, fewer when the KL limit ended them"),
    Metric("learner.{role}.valid_share", "share", "agent-steps of the batch whose agent was alive"),
    Metric("learner.{role}.forced_share", "share", "agent-steps whose action the policy did not choose"),
    Metric(
        "learner.{role}.belief_loss",
        "nats",
        "minus the log likelihood of the truth under the belief (policy.encoder = belief)",
    ),
    Metric(
        "learner.{role}.belief_distance",
        "deviations",
        "distance between the belief's mean and the truth, root mean square",
    ),
    Metric(
        "learner.{role}.rho",
        "1",
        "mean clipped importance weight; 1 = the policy that acted is the one that learns (only V-trace)",
    ),
    Metric("learner.{role}.replay_size", "count", "agent-steps that can be replayed"),
    Metric("learner.{role}.replay_fill", "share", "of the replay's capacity that is filled"),
    Metric("learner.{role}.replay_pushed", "count", "agent-steps stored for replay since the run began"),
    Metric(
        "learner.{role}.replay_priority_mean",
        "reward",
        "mean priority of the agent-steps that can be replayed: the size of their TD error",
    ),
    Metric("learner.{role}.replay_priority_p50", "reward", "its median"),
    Metric("learner.{role}.replay_priority_p99", "reward", "its 99th percentile"),
    Metric("learner.{role}.replay_loss", "1", "loss on replayed agent-steps, mean over minibatches"),
    Metric("learner.{role}.replay_unique", "share", "distinct agent-steps in a replayed minibatch"),
    Metric("learner.{role}.replay_beta", "1", "exponent that corrects the bias of prioritised sampling; 1 = in full"),
    Metric("learner.{role}.replay_age_p50", "updates", "median age of replayed agent-steps"),
    Metric("evaluation.score", "as the world says", "mean score of the evaluation episodes"),
    Metric("evaluation.score_low", "as the world says", "lower end of its 95 % interval"),
    Metric("evaluation.score_high", "as the world says", "upper end of its 95 % interval"),
    Metric("evaluation.score_worst", "as the world says", "worst evaluation episode"),
    Metric(
        "evaluation.{role}.top_action_share",
        "share",
        "most frequent greedy action among those of living agents; not with evaluation.sampled",
    ),
    Metric("evaluation.{column}", "as the world says", "mean of a number over the evaluation episodes"),
)

DUEL_METRICS = (
    Metric("evaluation.gap", "share", "how far the two roles' shares of wins are apart"),
    Metric("duel.turn", "number", "turns begun"),
    Metric("duel.level", "number", "level of training and evaluations"),
    Metric("duel.lr_scale", "1", "factor on the learning rate in this turn"),
    Metric("duel.full_sight", "share", "how often sight is full, by the masking curriculum"),
    Metric("duel.{role}.steps", "count", "agent-steps the role has learned from"),
    Metric("duel.{role}.rate", "share", "its wins against the newest opponent, over the health window"),
    Metric("duel.{role}.won", "share", "its wins against all opponents in this iteration"),
    Metric("duel.{role}.mixed", "share", "episodes at the level before"),
    Metric("duel.{role}.pool", "count", "its earlier policies in the league"),
    Metric("duel.{role}.rollbacks", "count", "how often it went back"),
    Metric("ewc.{role}.penalty", "1", "what holding the weights of earlier levels adds to the loss"),
    Metric("ewc.{role}.moved", "1", "how far the weights are from there, by importance"),
    Metric("rnd.{role}.mean", "deviations", "mean bonus for new sights; far from 0 it pays for being there"),
    Metric("rnd.{role}.length_correlation", "1", "of an episode's bonus with its length"),
    Metric("rnd.{role}.error", "1", "of the predictor of sights, before this rollout"),
    Metric("rnd.{role}.loss", "1", "of the predictor of sights, while it learned"),
)

TIMINGS = (
    Metric("elapsed_s", "s", "since this process began the loop"),
    Metric("agent_steps_per_s", "1/s", "living agent-steps per second of this iteration, all phases counted"),
    Metric("phase.{column}_s", "s", "seconds spent in one phase of the loop since the line before"),
    Metric("memory_mb", "MB", "resident memory of the process"),
)

HEARTBEATS = (
    Metric("time", "UTC", "when the line was written"),
    Metric("host", "name", "the machine that the run is on"),
    Metric("pid", "number", "its process there"),
    Metric("phase", "name", "what the loop is doing: boot, collect, act, world, learn, evaluate, save, loop, ended"),
    Metric("iteration", "count", "rollouts collected and learned from"),
    Metric("agent_steps", "count", "steps that living agents acted in, since the run began"),
    Metric("iterations_per_s", "1/s", "over the last 8 lines"),
    Metric("agent_steps_per_s", "1/s", "over the last 8 lines"),
    Metric("idle_s", "s", "since the loop last went from one phase to another"),
    Metric("every_s", "s", "until the next line"),
)

RESOURCES = (
    Metric("time", "UTC", "when the line was written"),
    Metric("process_cpu_pct", "%", "of one core, by the run's process"),
    Metric("process_memory_mb", "MB", "resident memory of the process"),
    Metric("threads", "count", "of the process"),
    Metric("system_cpu_pct", "%", "of all cores, by everybody"),
    Metric("system_memory_pct", "%", "of the machine's memory in use"),
    Metric("disk_free_mb", "MB", "left where the run folder is"),
    Metric("gpu_{column}_util_pct", "%", "of a GPU's time in use"),
    Metric("gpu_{column}_memory_used_mb", "MB", "of a GPU's memory in use"),
    Metric("gpu_{column}_memory_total_mb", "MB", "that the GPU has"),
)


def known_names(table: tuple[Metric, ...], roles: list[str], columns: list[str]) -> set[str]:
    """All names of a run; a world's column must not be called like a metric that we fill ourselves."""
    names: set[str] = set()
    for metric in table:
        fillings = roles if "{role}" in metric.name else columns if "{column}" in metric.name else [""]
        for filling in fillings:
            name = metric.name.replace("{role}", filling).replace("{column}", filling)
            if "{column}" in metric.name and name in names | {other.name for other in table}:
                raise WorldError(f"the world's column {filling!r} would hide the metric {name}: call it otherwise")
            names.add(name)
    return names


class MetricsWriter:
    """Checks names against the table and writes JSON lines, and TensorBoard if asked."""

    def __init__(self, stream: Stream, names: set[str], board: Board | None) -> None:
        self.stream, self.board = stream, board
        self._names = names

    def write(self, record: dict[str, float | int]) -> None:
        for name in record:
            if name not in self._names:
                raise WorldError(f"metric {name!r} is not in the table of metrics{nearest(name, list(self._names))}")
        self.stream.write(record)
        if self.board is not None:
            self.board.write(record)

    def close(self) -> None:
        self.stream.close()
        if self.board is not None:
            self.board.close()
