"""The flags of the earlier fish trainer as of v42, 92 of them: what each becomes here, or why it becomes nothing.

Defaults are that trainer's own, as they were typed: a flag that was not given acted with its default.
"""

from __future__ import annotations

from typing import Any, NamedTuple

GATE_PREFIX = "penalty_gate_"


class Becomes(NamedTuple):
    """A flag whose value is an option's."""

    option: str  # dotted
    default: str  # empty: it had none
    off: Any = ...  # what 0 or less means; left out where it means itself


OPTIONS: dict[str, Becomes] = {
    "run_name": Becomes("run.name", ""),
    "seed": Becomes("run.seed", ""),
    "total_iterations": Becomes("run.iterations", "64"),
    "num_envs": Becomes("rollout.lanes", "128"),
    "n_steps": Becomes("rollout.steps", "512"),
    "batch_size": Becomes("learner.minibatch", "1024"),
    "n_epochs": Becomes("learner.epochs", "10"),
    "learning_rate": Becomes("learner.lr", "3e-4"),
    "lr_schedule": Becomes("learner.lr_schedule", "warm_cosine"),
    "ent_coef": Becomes("learner.entropy", "0.02"),
    "policy_hidden_sizes": Becomes("policy.hidden", "384,384"),
    "checkpoint_interval": Becomes("checkpoint.every", "5"),
    "num_fish": Becomes("world.fish", "25"),
    "divergence_reward_coef": Becomes("world.divergence_coef", "0.0"),
    "density_penalty_coef": Becomes("world.density_coef", "0.0"),
    "density_target": Becomes("world.density_target", "0.4"),
    "multi_eval_interval": Becomes("evaluation.every", "16", off=0),
    "multi_eval_probe_episodes": Becomes("evaluation.episodes", "20"),
    "multi_eval_seed_base": Becomes("evaluation.seed", ""),
    "eval_multi_episodes": Becomes("evaluation.final_episodes", "40"),
    "curriculum": Becomes("schedule.phases", "15:12,20:14,25:8,25:8,25:10,25:4,25:4"),
    "density_penalty_phase_targets": Becomes("density.targets", "0.0,0.02,0.04,0.05,0.055,0.06,0.065"),
    "density_penalty_ramp_phases": Becomes("density.ramp_phases", "6,7"),
    "density_penalty_phase_plateaus": Becomes("density.plateaus", "0,0,6,6,4,0,0"),
    "density_penalty_lock_value": Becomes("density.lock_value", "0.04", off=None),
    "density_penalty_lock_until": Becomes("density.lock_until", "28", off=0),
    "escape_boost_speed": Becomes("boost.speed", "0.75"),
    "escape_boost_phase_speeds": Becomes("boost.phase_speeds", "3:0.76,4:0.78,5:0.82,6:0.82,7:0.82"),
    "escape_boost_phase_floors": Becomes("boost.phase_floors", "3:0.76,4:0.78,5:0.80,6:0.80,7:0.80"),
    "escape_boost_penalty_caps": Becomes("boost.density_caps", "0.05:0.8"),
    "tail_seed_stage_spec": Becomes("deck.stages", ""),
    "tail_force_reset_steps": Becomes("deck.force_reset_steps", "0", off=0),
    "tail_stage_warn_ratio": Becomes("deck.warn_ratio", "0.65", off=0.0),
    "tail_stage_warn_patience": Becomes("deck.warn_patience", "3"),
    "tail_replay_count": Becomes("deck.replay_count", "0", off=0),
}

# without their prefix; others of the gate's options are understood as well
GATE: dict[str, Becomes] = {
    "phase_allowance": Becomes("gate.phase_allowance", "4,5,6"),
    "lock_iteration": Becomes("gate.lock_iteration", "-1", off=None),
    "required_successes": Becomes("gate.required_successes", "1", off=None),
    "freeze_iterations": Becomes("gate.freeze_iterations", "4"),
    "success_freeze_iterations": Becomes("gate.success_freeze_iterations", "1"),
    "success_step_one": Becomes("gate.success_step_one", "7"),
    "success_step_one_by_stage": Becomes("gate.success_step_one_by_type", ""),
    "success_step_one_ratio": Becomes("gate.success_step_one_ratio", "0.0", off=None),
    "success_early_death": Becomes("gate.success_early_death", "0.1"),
    "success_early_death_by_stage": Becomes("gate.success_early_death_by_type", ""),
    "success_early_death_window": Becomes("gate.success_early_death_window", "2"),
    "success_early_death_window_by_stage": Becomes("gate.success_early_death_window_by_type", ""),
    "success_p10": Becomes("gate.success_p10", "120", off=None),
    "success_first_death_p10_by_stage": Becomes("gate.success_p10_by_type", ""),
    "success_median_window": Becomes("gate.success_p10_window", "4"),
    "success_p10_median_window_by_stage": Becomes("gate.success_p10_window_by_type", ""),
    "failure_p10": Becomes("gate.failure_p10", "95"),
    "failure_min_final": Becomes("gate.failure_min_final", "0.5"),
    "failure_tolerance": Becomes("gate.failure_tolerance", "2"),
    "failure_tolerance_by_stage": Becomes("gate.failure_tolerance_by_type", ""),
}

SWITCHES: dict[str, tuple[str, bool]] = {  # flags without a value, and what they turn on or off
    "include_neighbor_features": ("neighbours", True),
    "no_neighbor_features": ("neighbours", False),
    "initial_escape_boost": ("boost", True),
    "no_initial_escape_boost": ("boost", False),
}

# read together with others
COMBINED: dict[str, str] = {
    "eval_multi_fish": "25",
    "escape_boost_floor_default": "0.75",
    "tail_seed_replay_path": "",
    "tail_seed_prewarm_iterations": "0",
}

CONSTANTS: dict[str, str] = {  # what is part of the world here
    "neighbor_radius": "3.0",
    "neighbor_average_count": "6",
    "escape_jitter_std": "0.35",
    "predator_spawn_jitter_radius": "1.6",
    "predator_pre_roll_steps": "16",
    "predator_pre_roll_angle_jitter": "0.3",
    "predator_pre_roll_speed_jitter": "0.2",
    "predator_heading_bias": (
        "0-60:1.1,60-90:0.8,90-120:0.08,120-150:0.05,150-210:0.9,210-270:1.3,270-330:1.2,330-360:0.95"
    ),
    "predator_pre_roll_speed_bias": "0-1.0:1.6,1.0-1.6:1.3,1.6-2.0:0.7,2.0-2.4:0.35,2.4-3.0:0.2",
}

NO_ADAPTATION = "the adaptive boost is gone: what it followed, the first death in training, was always in step one"
FILMS = "films are made of the worst episodes of evaluations, as they were played (deck.replay_count)"
BEST = "best checkpoints have no limits: best is by the mean, best-worst by the worst episode against its own ceiling"

ABSENT: dict[str, str] = {
    "entropy_coef_schedule": "the entropy bonus is constant or falls linearly (learner.entropy_final)",
    "eval_episodes": "no evaluation has a single fish; evaluation.final_episodes are of whole schools",
    "best_checkpoint_eval_episodes": "holdfast evaluate RUN --checkpoint best --episodes N judges one anew",
    "skip_final_eval": "the last evaluation takes seconds and is always played",
    "best_checkpoint_max_step_one": BEST,
    "best_checkpoint_max_early_death": BEST,
    "adaptive_boost_window": NO_ADAPTATION,
    "adaptive_boost_lower_p10": NO_ADAPTATION,
    "adaptive_boost_upper_p10": NO_ADAPTATION,
    "adaptive_boost_low_speed": NO_ADAPTATION,
    "adaptive_boost_high_speed": NO_ADAPTATION,
    "adaptive_boost_min_iteration": NO_ADAPTATION,
    "adaptive_boost_stage_floor": NO_ADAPTATION,
    "adaptive_boost_use_median": NO_ADAPTATION,
    "adaptive_boost_use_mean": NO_ADAPTATION,
    "disable_adaptive_boost": NO_ADAPTATION,
    "obs_sampling": "every fish learns from its own observation, so none has to be chosen",
    "video_num_fish": FILMS,
    "video_max_steps": FILMS,
    "video_fps": FILMS,
}
WITHOUT_VALUE = {*SWITCHES, "skip_final_eval", "adaptive_boost_use_median", "adaptive_boost_use_mean",
                 "disable_adaptive_boost"}  # fmt: skip
ACTED = {"entropy_coef_schedule": "16-24:0.03,25-32:0.02"}  # also where it was not given

ALL = {*OPTIONS, *(GATE_PREFIX + name for name in GATE), *SWITCHES, *COMBINED, *CONSTANTS, *ABSENT}
