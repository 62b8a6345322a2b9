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
ALWAYS_SICK: Options = {
    "health.window": "20",
    "health.low": "0.4",
    "health.high": "0.55",
    "health.on_domination": "rollback",
    "health.cooldown": "0",
    "duel.turn_steps": "640",
    "evaluation.sampled": "true",
    "run.iterations": "16",
}
MENDED: Options = {
    "response.rounds": "3",
    "response.anew": "true",
    "response.mends": "1",
    "response.heirs": "first",
    "evaluation.every": "0",
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
EXPLORED: Options = {"world.max_steps": "600", "starts.share": "0.9", "starts.explore": "60000"}
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

PRESETS = (
    *("fish", "fish-hunt", "fish-large", "fish-v42", "mario-1-1", "mario-all", "mario-levels", "mario-pixels"),
    *("mario-vtrace", "pursuit", "pursuit-evader", "pursuit-flat", "pursuit-v", "pursuit-w", "pursuit-x", "pursuit-y"),
    *("pursuit-z1", "pursuit-z2", "template"),
)

KINDS: dict[str, Kind] = {
    "template": Kind("template", {"run.iterations": "24", "run.stop_score": "none"}),
    "template-resumed": Kind(
        "template", {"run.iterations": "24", "run.stop_score": "none"}, interrupt_after=3, like="template"
    ),
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
        after=("evaluate {run} --json --episodes 40",),
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
        interrupt_after=1,
        like="vtrace-overlap",
    ),
    "fish": Kind(
        "fish",
        {
            **TINY_FISH,
            "run.iterations": "20",
            "evaluation.every": "2",
            "gate.success_p10": "60",
            "harvest.episodes": "4",
            "deck.share": "1.0",
        },
        after=("gate what-if {run} --set success.p10=90 --json",),
    ),
    "fish-v42": Kind(
        "fish-v42",
        {
            **TINY_FISH,
            "run.iterations": "14",
            "schedule.phases": "15:2,20:2,25:2,25:2,25:2,25:2,25:2",
            "density.lock_until": "4",
            "evaluation.every": "1",
            "policy.hidden": "32",
            "deck.replay_count": "1",
            "deck.force_reset_steps": "24",
            "gate.accept_infeasible": "true",
            "gate.lock_iteration": "2",
            "gate.required_successes": "1",
            "gate.failure_tolerance": "1",
            "gate.failure_tolerance_by_type": "main:1",
            "gate.freeze_iterations": "1",
            "gate.success_freeze_iterations": "1",
        },
    ),
    "fish-hunt": Kind(
        "fish-hunt",
        {**TINY_FISH, "learner.minibatch": "512", "world.fish": "24", "world.steps": "50", "run.iterations": "4"},
    ),
    "mario": Kind("mario-1-1", {**OWN_MARIO, **EXPLORED, "starts.along": "true"}),
    "mario-backward": Kind(
        "mario-1-1",
        {
            **OWN_MARIO,
            **EXPLORED,
            "starts.backward": "true",
            "starts.imitate": "0.5",
        },
    ),
    "mario-forced": Kind(
        "mario",
        {
            **OWN_MARIO,
            "world.stages": "1-1,1-2",
            "world.script": "RIGHT+B:24,RIGHT+A+B:6",
            "bootstrap.auto_threshold": "2",
            "bootstrap.auto_steps": "16",
            "bootstrap.secondary_threshold": "1",
            "bootstrap.secondary_patience": "1",
            "bootstrap.secondary_steps": "16",
            "adaptive.entropy_min": "0.001",
            "adaptive.entropy_max": "0.05",
            "adaptive.lr_min": "0.5",
            "adaptive.lr_max": "1.5",
            "adaptive.window": "10",
        },
    ),
    "mario-pixels": Kind(
        "mario-pixels", {**OWN_MARIO, "rollout.lanes": "4", "rollout.steps": "16", "run.iterations": "3"}
    ),
    "mario-vtrace": Kind("mario-vtrace", {**OWN_MARIO, "starts.share": "0.5", "replay.batch": "32"}),
    "pursuit-turns": Kind(
        "pursuit-z2",
        {
            **TINY_PURSUIT,
            "run.iterations": "24",
            "evaluation.episodes": "8",
            "evaluation.final_episodes": "16",
            "world.history": "3",
            "evaluation.every": "3",
            "duel.turn_steps": "1024",
            "duel.cold_start_steps": "512",
            "duel.warm_start_steps": "256",
            "duel.max_turns": "0",
            "health.window": "20",
            "health.ring_every": "256",
            "health.cooldown": "256",
            "levels.increment": "5",
            "levels.balance_gap": "1.0",
            "levels.consecutive": "1",
            "levels.advance": "balance",
        },
    ),
    "pursuit-levels": Kind(
        "pursuit-v",
        {
            **TINY_PURSUIT,
            "run.iterations": "24",
            "world.obs": "flat_masked",
            "policy.network": "mlp",
            "duel.turn_steps": "512",
            "duel.cold_start_steps": "256",
            "duel.warm_start_steps": "256",
            "duel.max_turns": "0",
            "duel.mask_steps": "2048",
            "duel.boost_threshold": "0.3",
            "duel.boost_turns": "2",
            "duel.damp_threshold": "0.9",
            "levels.capture_threshold": "0.05",
            "health.window": "20",
        },
    ),
    "pursuit-together": Kind(
        "pursuit",
        {
            **TINY_PURSUIT,
            "run.iterations": "8",
            "world.max_steps": "240",
            "evaluation.every": "4",
            "duel.turn_steps": "256",
            "response.steps": "256",
            "response.duels": "100",
            "response.rounds": "2",
        },
    ),
    "pursuit-evader": Kind("pursuit-evader", {**TINY_PURSUIT, "run.iterations": "4", "evaluation.every": "2"}),
    "coins-turns": Kind(
        COINS, SELFPLAY, after=("exploit {run} --steps 128 --duels 100 --json", "crossplay {run} --duels 32 --json")
    ),
    "coins-turns-resumed": Kind(COINS, SELFPLAY, interrupt_after=5, like="coins-turns"),
    "coins-freeze": Kind(
        COINS,
        {
            **SELFPLAY,
            "duel.alternate_freeze": "true",
            "duel.freeze_threshold": "0.4",
            "duel.force_switch_every": "512",
            "duel.free_play_from": "2048",
            "duel.evader_multiplier": "2",
            "duel.multiplier_when": "always",
            "league.draw": "variance",
            "league.keep": "newest",
            "rnd.coef": "0.1",
            "rnd.roles": "both",
            "health.high": "0.6",
            "health.low": "0.4",
            "health.on_domination": "rollback",
            "health.cooldown": "0",
            "health.collapse_threshold": "0.3",
            "health.collapse_streak": "1",
        },
    ),
    "coins-rollback": Kind(COINS, {**SELFPLAY, **ALWAYS_SICK, "health.max_per_run": "4"}, exit_status=3),
    "coins-switch": Kind(COINS, {**SELFPLAY, **ALWAYS_SICK, "health.on_domination": "switch", "health.low": "0"}),
    "coins-together": Kind(COINS, {**TOGETHER, "policy.core": "gru", "policy.core_size": "4", "duel.evader_lr": "0.5"}),
    "coins-finish": Kind(
        COINS,
        {**TOGETHER, "duel.finish_share": "0.5", "duel.finish_until": "0.9", "learner.lr_schedule": "linear"},
    ),
    "coins-rounds": Kind(COINS, {**SELFPLAY, **CERTIFIED, "response.rounds": "2", "evaluation.every": "0"}),
    "coins-mended": Kind(COINS, {**TOGETHER, **CERTIFIED, **MENDED}),
    "coins-mended-resumed": Kind(COINS, {**TOGETHER, **CERTIFIED, **MENDED}, interrupt_after=8, like="coins-mended"),
    "coins-poisoned": Kind(COINS, {**SMALL, "checkpoint.every": "1", "world.poison": "40"}, exit_status=1),
    "presets": Kind("", {}, verb="presets"),
    "rehearse-fish": Kind("fish", {"harvest.episodes": "4"}, verb="rehearse"),
    "rehearse-pursuit": Kind("pursuit-z2", {"world.obs": "flat_masked", "policy.network": "mlp"}, verb="rehearse"),
    "rehearse-template": Kind("template", {}, verb="rehearse"),
}
