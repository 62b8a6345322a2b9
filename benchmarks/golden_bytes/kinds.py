"""The runs whose bytes are kept: every kind of world, learner, curriculum and self-play, each of a few seconds.

Options and presets are written as the oldest tree to be compared knows them; the map of names (golden_names.toml)
says what newer trees call them.
"""

from __future__ import annotations

from typing import NamedTuple

Options = dict[str, str]


class Kind(NamedTuple):
    """One small run."""

    target: str  # a preset or world
    options: Options  # of the run
    verb: str = "train"
    after: tuple[str, ...] = ()  # commands about the finished run, whose outputs are kept too
    exit_status: int = 0
    interrupt_after: int = 0  # rows of metrics after which it is interrupted and then resumed
    like: str = ""  # the kind that an interrupted one must equal


COINS, DIALS, PICTURES = "golden_world:Coins", "golden_world:Dials", "golden_world:Pictures"

EVERY_RUN: Options = {
    "rollout.threads": "1",
    "run.tensorboard": "false",
    "run.allow_slow": "true",
    "metrics.parquet": "false",
    "metrics.monitor_s": "0",
    "metrics.heartbeat_s": "0",
}
SMALL: Options = {
    "rollout.lanes": "16",
    "rollout.steps": "16",
    "learner.minibatch": "64",
    "run.iterations": "6",
    "evaluation.every": "3",
    "evaluation.episodes": "8",
    "evaluation.final_episodes": "16",
    "checkpoint.every": "3",
}
VTRACE: Options = {"learner.algorithm": "vtrace", "learner.replay": "true", "replay.batch": "32", "learner.epochs": "1"}
TINY_FISH: Options = {
    "rollout.lanes": "8",
    "rollout.steps": "16",
    "evaluation.episodes": "4",
    "evaluation.final_episodes": "4",
    "evaluation.world": '{"fish": 32, "steps": 100}',
    "harvest.episodes": "4",
    "learner.minibatch": "640",
}
SELFPLAY: Options = {
    **SMALL,
    "rollout.steps": "8",
    "duel.mode": "turns",
    "duel.turn_steps": "256",
    "run.iterations": "12",
    "evaluation.every": "2",
    "evaluation.episodes": "24",
    "health.window": "40",
    "health.ring_every": "100",
    "league.size": "3",
}
TOGETHER: Options = {**SELFPLAY, "duel.mode": "simultaneous", "duel.turn_steps": "1"}
CERTIFIED: Options = {
    "response.certify": "true",
    "response.steps": "64",
    "response.duels": "100",
    "response.pass_gap": "0.0",
    "learner.lr_schedule": "linear",
    "run.iterations": "6",
}
OWN_MARIO: Options = {
    **SMALL,
    "world.rom": "own",
    "world.blocks": "false",
    "world.max_steps": "40",
    "rollout.lanes": "8",
    "rollout.steps": "32",
    "policy.hidden": "16",
    "evaluation.episodes": "4",
    "evaluation.final_episodes": "4",
}
TINY_PURSUIT: Options = {
    "rollout.lanes": "16",
    "rollout.steps": "16",
    "learner.minibatch": "64",
    "learner.epochs": "2",
    "policy.hidden": "16,16",
    "world.max_steps": "60",
    "evaluation.episodes": "32",
    "evaluation.final_episodes": "64",
}

KINDS: dict[str, Kind] = {
    "template": Kind("template", {"run.iterations": "12"}, after=("evaluate {run} --json --episodes 40",)),
    "template-resumed": Kind("template", {"run.iterations": "12"}, interrupt_after=3, like="template"),
    "cores": Kind(
        "template",
        {
            **SMALL,
            "policy.core": "gru",
            "policy.core_size": "8",
            "policy.hidden": "16",
            "learner.lr_schedule": "cosine",
            "learner.warmup": "1",
            "learner.target_kl": "0.05",
            "learner.value_clip": "0.2",
            "learner.grad_accum": "2",
            "learner.weight_decay": "0.01",
            "learner.entropy": "0.02",
            "learner.entropy_final": "0.001",
            "learner.entropy_share": "0.5",
            "world.slip": "0.1",
        },
    ),
    "shared": Kind(
        "template",
        {
            **SMALL,
            "policy.separate": "false",
            "policy.norm": "layer",
            "policy.activation": "relu",
            "learner.lr_restart": "0.5",
            "learner.normalize_returns": "false",
            "evaluation.seeds": "rolling",
            "evaluation.sampled": "true",
        },
    ),
    "cartpole": Kind("gym:CartPole-v1", SMALL),
    "cartpole-lstm": Kind(
        "gym:CartPole-v1", {**SMALL, "policy.core": "lstm", "policy.core_size": "8", "policy.hidden": "16"}
    ),
    "cartpole-workers": Kind(
        "gym:CartPole-v1", {**SMALL, "learner.minibatch": "32", "rollout.lanes": "2", "world.backend": "workers"}
    ),
    "dials": Kind(DIALS, {**SMALL, "learner.engine": "torch"}),
    "dials-wide": Kind(DIALS, {**SMALL, "policy.hidden": "96,96", "learner.engine": "wide"}),
    "pictures": Kind(PICTURES, {**SMALL, "policy.hidden": "16"}),
    "vtrace": Kind("template", {**SMALL, **VTRACE}),
    "vtrace-overlap": Kind("gym:CartPole-v1", {**SMALL, **VTRACE, "rollout.overlap": "true"}),
    "vtrace-overlap-resumed": Kind(
        "gym:CartPole-v1",
        {**SMALL, **VTRACE, "rollout.overlap": "true"},
        interrupt_after=2,
        like="vtrace-overlap",
    ),
    "fish": Kind(
        "fish",
        {**TINY_FISH, "run.iterations": "20", "evaluation.every": "2", "gate.success_p10": "60"},
        after=("gate what-if {run} --set success.p10=90 --json",),
    ),
    "fish-v42": Kind(
        "fish-v42",
        {
            **TINY_FISH,
            "run.iterations": "30",
            "evaluation.every": "2",
            "policy.hidden": "32",
            "deck.replay_count": "1",
            "gate.accept_infeasible": "true",
        },
    ),
    "fish-hunt": Kind("fish-hunt", {**TINY_FISH, "world.fish": "24", "world.steps": "50", "run.iterations": "4"}),
    "mario": Kind("mario-1-1", {**OWN_MARIO, "starts.share": "0.5", "starts.explore": "2000", "starts.along": "true"}),
    "mario-vtrace": Kind("mario-vtrace", {**OWN_MARIO, "starts.share": "0.5"}),
    "pursuit-turns": Kind("pursuit-z2", {**TINY_PURSUIT, "run.iterations": "12"}),
    "pursuit-evader": Kind("pursuit-evader", {**TINY_PURSUIT, "run.iterations": "4", "evaluation.every": "2"}),
    "coins-turns": Kind(COINS, SELFPLAY),
    "coins-together": Kind(COINS, TOGETHER),
    "coins-rounds": Kind(COINS, {**SELFPLAY, **CERTIFIED, "response.rounds": "2", "evaluation.every": "0"}),
    "rehearse-template": Kind("template", {}, verb="rehearse"),
}
