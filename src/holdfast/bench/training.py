"""PPO end to end on the template world against Stable-Baselines3 through our adapter, and against a bare torch loop
that does only the same forward passes and updates (no world, no bookkeeping)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from holdfast.bench.rounds import as_table, ratio, take_turns
from holdfast.config.reading import load_config
from holdfast.kit.errors import MissingPackage
from holdfast.kit.timing import Clock
from holdfast.learner.schedules import pace
from holdfast.learner.update import update
from holdfast.rollout.collect import collect
from holdfast.state import State, initial_state
from holdfast.worlds.registry import make_world
from holdfast.worlds.template.world import TrackSettings

LANES, STEPS, EPOCHS, MINIBATCH, WIDTH = 1024, 64, 4, 8192, 64
OBSERVATIONS, ACTIONS, LR, CLIP = 16, 3, 3e-4, 0.2
SAMPLES = LANES * STEPS


def bench_train(repeats: int) -> dict[str, Any]:
    """Samples per second of each contender, and ours as multiples of theirs."""
    state = _our_state()
    torch.set_num_threads(state.world.threads)
    clock = Clock()
    contenders = {"ours": _ours(state, clock), "sb3": _sb3(state.world.threads), "bare_torch": _bare_torch()}
    rates = take_turns(contenders, repeats)
    return {
        **as_table(rates, "samples_per_s"),
        "ratio_sb3": ratio(rates["ours"], rates["sb3"]),
        "ratio_bare_torch": ratio(rates["ours"], rates["bare_torch"]),
        "python_us_per_step": 1e6 * clock.seconds["python"] / ((repeats + 1) * STEPS),
        "where_our_time_goes": ", ".join(f"{name} {100 * share:.0f}%" for name, share in clock.shares().items()),
        "threads": state.world.threads,
        "repeats": repeats,
    }


def _our_state() -> State:
    options = {
        "rollout.lanes": LANES,
        "rollout.steps": STEPS,
        "learner.epochs": EPOCHS,
        "learner.minibatch": MINIBATCH,
        "learner.lr": LR,
        "learner.normalize_observations": "false",
        "learner.normalize_returns": "false",
    }
    config, _ = load_config("template", [f"--{name}={value}" for name, value in options.items()])
    return initial_state(config)


def _ours(state: State, clock: Clock) -> Callable[[], int]:
    def iteration() -> int:
        with clock("python"):  # what is left of collecting when acting and stepping are taken out
            collect(state.world, state.learners, state.seat.batches, state.seat.memory, state.seat.actions, clock)
        with clock("learn"):
            learner = state.learners["player"]
            update(learner, state.seat.batches["player"], pace(learner.config, 0, 1), state.shuffle)
        return SAMPLES

    return iteration


def _sb3(threads: int) -> Callable[[], int]:
    try:
        from stable_baselines3 import PPO
    except ImportError:
        raise MissingPackage("bench train needs Stable-Baselines3: pip install stable-baselines3") from None
    from holdfast.worlds.adapters import as_sb3

    world = make_world("template", TrackSettings(), LANES, seed=1, threads=threads)
    model = PPO(
        "MlpPolicy",
        as_sb3(world),
        learning_rate=LR,
        n_steps=STEPS,
        batch_size=MINIBATCH,
        n_epochs=EPOCHS,
        clip_range=CLIP,
        policy_kwargs={"net_arch": [WIDTH, WIDTH], "activation_fn": nn.Tanh},
        device="cpu",
        verbose=0,
    )

    def iteration() -> int:
        model.learn(SAMPLES, reset_num_timesteps=False)
        return SAMPLES

    return iteration


def _tower(outputs: int) -> nn.Sequential:
    return nn.Sequential(
        nn.Linear(OBSERVATIONS, WIDTH), nn.Tanh(), nn.Linear(WIDTH, WIDTH), nn.Tanh(), nn.Linear(WIDTH, outputs)
    )


def _bare_torch() -> Callable[[], int]:
    """The least a PPO in eager torch can do: per step one forward of both networks and a draw, then the updates."""
    policy, value = _tower(ACTIONS), _tower(1)
    parameters = [*policy.parameters(), *value.parameters()]
    adam = torch.optim.Adam(parameters, lr=LR, eps=1e-5)
    obs = torch.rand(STEPS, LANES, OBSERVATIONS)

    def iteration() -> int:
        actions, old = [], []
        with torch.no_grad():
            for t in range(STEPS):
                log_p = torch.log_softmax(policy(obs[t]), -1)
                value(obs[t])
                action = torch.multinomial(log_p.exp(), 1)
                actions.append(action)
                old.append(log_p.gather(1, action)[:, 0])
        rows = [obs.flatten(0, 1), torch.cat(actions), torch.cat(old), torch.randn(SAMPLES), torch.randn(SAMPLES)]
        for _ in range(EPOCHS):
            for part in torch.randperm(SAMPLES).split(MINIBATCH):
                _bare_step(policy, value, parameters, adam, [row[part] for row in rows])
        return SAMPLES

    return iteration


def _bare_step(
    policy: nn.Module,
    value: nn.Module,
    parameters: list[nn.Parameter],
    adam: torch.optim.Optimizer,
    rows: list[torch.Tensor],
) -> None:
    obs, action, old, advantage, target = rows
    log_p = torch.log_softmax(policy(obs), -1)
    ratios = (log_p.gather(1, action)[:, 0] - old).exp()
    surrogate = torch.minimum(ratios * advantage, ratios.clamp(1 - CLIP, 1 + CLIP) * advantage).mean()
    entropy = -(log_p.exp() * log_p).sum(-1).mean()
    loss = -surrogate + 0.5 * torch.nn.functional.mse_loss(value(obs)[:, 0], target) - 0.0 * entropy
    adam.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(parameters, 0.5)
    adam.step()
