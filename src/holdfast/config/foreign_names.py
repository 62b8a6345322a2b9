"""What other libraries call our options, and what users type who know them: answered with the right option.

The names are those of Stable-Baselines3, CleanRL, RLlib, PufferLib and Sample Factory.
"""

from __future__ import annotations

import re
from collections.abc import Collection

STEPS = "--total-steps N of `holdfast train`"
ON_CPU = "networks run on the CPU: leave it out; rollout.threads sets how many threads"
TARGET = "the environment comes first: holdfast train gym:ID, or module:Class for your own"
WORKERS = "world.backend = workers runs each environment in a process of its own, rollout.lanes of them"
LOGGED = "every run writes metrics.jsonl, and TensorBoard files with run.tensorboard; run.name and run.root say where"

OPTIONS: dict[str, tuple[str, ...]] = {
    "learner.lr": ("lr", "learning_rate", "step_size", "lrate"),
    "learner.lr_schedule": ("anneal_lr", "lr_decay", "use_linear_lr_decay", "lr_annealing"),
    "learner.warmup": ("warmup_steps", "lr_warmup"),
    "learner.gamma": ("discount", "discount_factor"),
    "learner.gae_lambda": ("lam", "lmbda", "lambda", "gae_lam"),
    "learner.epochs": ("n_epochs", "num_epochs", "update_epochs", "ppo_epochs", "num_sgd_iter", "noptepochs"),
    "learner.minibatch": ("batch_size", "minibatch_size", "mini_batch_size", "sgd_minibatch_size", "num_minibatches"),
    "learner.clip": ("clip_range", "clip_coef", "clip_param", "clip_eps", "cliprange", "ppo_clip", "epsilon_clip"),
    "learner.value_clip": ("clip_range_vf", "vf_clip_param", "vf_clip_coef", "clip_vloss"),
    "learner.entropy": ("ent_coef", "entropy_coef", "entropy_coeff", "entropy_cost", "exploration_loss_coeff"),
    "learner.value_coef": ("vf_coef", "value_loss_coef", "value_loss_coeff", "vf_loss_coeff", "critic_coef"),
    "learner.max_grad_norm": ("grad_clip", "gradient_clip", "clip_grad_norm", "max_gradient_norm"),
    "learner.target_kl": ("kl_target", "max_kl", "desired_kl"),
    "learner.weight_decay": ("l2", "l2_reg"),
    "learner.normalize_advantages": ("normalize_advantage", "norm_adv", "standardize_advantages"),
    "learner.normalize_observations": ("norm_obs", "normalize_obs", "normalize_input", "obs_norm"),
    "learner.normalize_returns": ("norm_reward", "normalize_reward", "normalize_rewards", "reward_normalization"),
    "learner.algorithm": ("algo", "alg", "algorithm"),
    "policy.hidden": (
        "net_arch",
        "policy_kwargs",
        "hidden_sizes",
        "hidden_size",
        "hidden_dim",
        "fcnet_hiddens",
        "layers",
    ),
    "policy.activation": ("activation_fn", "fcnet_activation", "nonlinearity"),
    "policy.network": ("policy_type", "features_extractor_class", "encoder_type"),
    "policy.core": ("use_rnn", "rnn_type", "use_lstm", "lstm", "recurrent", "rnn"),
    "policy.core_size": ("lstm_hidden_size", "rnn_size", "lstm_cell_size", "rnn_hidden_size"),
    "policy.initial_log_std": ("log_std_init", "init_std", "logstd"),
    "policy.separate": ("share_features_extractor", "vf_share_layers", "actor_critic_share_weights"),
    "rollout.lanes": ("n_envs", "num_envs", "n_env", "num_env", "nenvs", "num_envs_per_worker", "parallel_envs"),
    "rollout.steps": (
        "n_steps",
        "num_steps",
        "nsteps",
        "rollout_length",
        "rollout",
        "horizon",
        "unroll_length",
        "bptt_horizon",
    ),
    "rollout.threads": ("num_threads", "n_threads", "n_cpus", "num_cpus"),
    "replay.capacity": ("buffer_size", "replay_buffer_size", "replay_size"),
    "run.seed": ("seed", "random_seed"),
    "run.name": ("exp_name", "experiment", "experiment_name", "run_name", "name", "run_id"),
    "run.root": ("log_dir", "logdir", "save_dir", "save_path", "output_dir", "out_dir", "train_dir", "results_dir"),
    "run.iterations": ("n_iterations", "num_iterations", "num_updates", "n_updates", "iterations", "max_iters"),
    "run.init": ("load_path", "pretrained", "init_from", "load_model", "load_model_path"),
    "run.tensorboard": ("tensorboard_log", "use_tensorboard", "tb_log"),
    "run.stop_score": ("reward_threshold", "target_reward", "stop_reward", "target_score"),
    "evaluation.every": ("eval_freq", "eval_every", "eval_interval", "evaluation_interval", "eval_frequency"),
    "evaluation.episodes": ("n_eval_episodes", "eval_episodes", "num_eval_episodes", "evaluation_duration"),
    "checkpoint.every": ("save_freq", "checkpoint_freq", "save_interval", "checkpoint_interval", "save_every"),
    "world.max_steps": ("max_episode_steps", "time_limit", "episode_length", "max_ep_len"),
    "world.stack": ("frame_stack", "framestack", "env_framestack", "num_stack", "n_stack"),
    "world.frame_skip": ("frameskip", "env_frameskip", "action_repeat"),
    "world.sticky": ("repeat_action_probability", "sticky_actions"),
}
OTHERWISE: dict[str, tuple[str, ...]] = {
    STEPS: ("total_timesteps", "total_steps", "timesteps", "n_timesteps", "num_timesteps", "num_env_steps",
            "train_for_env_steps", "total_env_steps", "timesteps_total"),
    ON_CPU: ("device", "cuda", "gpu", "gpus", "num_gpus", "use_cuda", "no_cuda"),
    TARGET: ("env", "env_id", "env_name", "gym_id", "environment", "task", "game"),
    WORKERS: ("num_workers", "n_workers", "vec_env", "vec_env_cls", "async_vectorization", "num_rollout_workers"),
    LOGGED: ("wandb", "track", "use_wandb", "with_wandb", "wandb_project_name", "project", "log_interval"),
    "actions are sampled from the policy: there is no state-dependent exploration": ("use_sde", "sde_sample_freq"),
    "--quiet": ("verbose", "silent", "progress_bar"),
    "holdfast play RUN films it": ("render", "render_mode", "capture_video", "record_video", "video", "save_video"),
    "holdfast resume RUN goes on with a run": ("resume", "restore", "load", "from_checkpoint", "continue"),
    "Adam's epsilon is always 1e-05: leave it out": ("eps", "adam_eps", "adam_epsilon", "epsilon"),
    "runs are deterministic on the CPU: leave it out": ("torch_deterministic", "deterministic"),
}  # fmt: skip
_MEANT = {name: f"--{option}" for option, names in OPTIONS.items() for name in names}
_MEANT_OTHERWISE = {name: answer for answer, names in OTHERWISE.items() for name in names}

VERBS: dict[str, str] = {
    **dict.fromkeys(("learn", "fit", "run", "start", "ppo"), "train"),
    **dict.fromkeys(("eval", "test", "judge", "score"), "evaluate"),
    **dict.fromkeys(("enjoy", "render", "record", "video", "film", "visualize", "view"), "play"),
    **dict.fromkeys(("continue", "restore", "load"), "resume"),
    **dict.fromkeys(("ls", "list", "show"), "runs"),
    **dict.fromkeys(("config", "params", "hyperparameters", "args", "option", "explain"), "options"),
    **dict.fromkeys(("monitor", "status", "tail", "logs", "tensorboard"), "watch"),
    **dict.fromkeys(("check", "verify", "selftest"), "doctor"),
    **dict.fromkeys(("benchmark", "profile", "speed"), "bench"),
    **dict.fromkeys(("example", "quickstart", "tutorial"), "demo"),
}


ANYWHERE = ("", "run", "learner", "rollout", "train")  # sections in which names of others are looked for


def hint(key: str, known: Collection[str] = ()) -> str:
    """' (did you mean …?)' for a name of another library or an option without its section; empty for others."""
    word = key.removeprefix("--").replace("-", "_").lower()
    last = word.rpartition(".")[2]
    if "." in word and last in _MEANT and _MEANT[last].removeprefix("--") == word:
        return ""
    unsectioned = [option for option in known if option.endswith(f".{word}")]
    if len(unsectioned) == 1:
        return f" (did you mean --{unsectioned[0]}?)"
    for name in dict.fromkeys((word, last)):
        option = _MEANT.get(name)
        if option is not None and (not known or option.removeprefix("--") in known):
            return f" (did you mean {option}?)"
        if name in _MEANT_OTHERWISE and word.rpartition(".")[0] in ANYWHERE:
            answer = _MEANT_OTHERWISE[name]
            return f" (did you mean {answer}?)" if answer.startswith("--") else f": {answer}"
    if len(unsectioned) > 1:
        return f" (did you mean {' or '.join(f'--{option}' for option in unsectioned[:4])}?)"
    return ""


def environment_hint(target: str) -> str:
    """' (did you mean gym:CartPole-v1?)' for the name of a Gymnasium environment; empty for other targets."""
    from difflib import get_close_matches

    from gymnasium.envs.registration import registry

    if target in registry or re.fullmatch(r"[\w./-]+-v\d+", target):
        return f" (did you mean gym:{target}?)"
    plain_last = sorted(registry, key=lambda name: "/" not in name)  # of two with one name, the shorter is meant
    bare = {name.rpartition("/")[2].rpartition("-v")[0].lower(): name for name in plain_last}
    near = get_close_matches(target.lower(), list(bare), n=1, cutoff=0.85)
    return f" (did you mean gym:{bare[near[0]]}?)" if near else ""
