"""Our loss and one whole update against Stable-Baselines3's numbers on the same weights and the same data."""

from __future__ import annotations

import gymnasium
import numpy as np
import pytest
import torch
from stable_baselines3 import PPO
from stable_baselines3.common.buffers import RolloutBuffer

from holdfast.config.sections import LearnerConfig, PolicyConfig
from holdfast.learner.batch import Batch, make_batch
from holdfast.learner.learner import Learner
from holdfast.learner.schedules import pace
from holdfast.learner.update import update
from holdfast.worlds.api import Role
from holdfast.worlds.spaces import Continuous, Discrete, Observations

STEPS, ROWS, SIZE = 16, 8, 4


class Blank(gymnasium.Env):
    """Spaces and nothing else: SB3 wants an environment to build a model."""

    def __init__(self, actions: gymnasium.Space) -> None:
        self.observation_space = gymnasium.spaces.Box(-10, 10, (SIZE,), np.float32)
        self.action_space = actions

    def reset(self, *, seed: int | None = None, options: dict | None = None) -> tuple[np.ndarray, dict]:
        return np.zeros(SIZE, np.float32), {}

    def step(self, action: object) -> tuple[np.ndarray, float, bool, bool, dict]:
        return np.zeros(SIZE, np.float32), 0.0, False, False, {}


def their_model(discrete: bool, value_clip: float) -> PPO:
    space = gymnasium.spaces.Discrete(3) if discrete else gymnasium.spaces.Box(-1, 1, (2,), np.float32)
    return PPO(
        "MlpPolicy",
        Blank(space),
        learning_rate=1e-3,
        n_steps=STEPS,
        batch_size=STEPS * ROWS,
        n_epochs=3,
        ent_coef=0.01,
        clip_range_vf=value_clip or None,
        device="cpu",
        seed=3,
    )


def our_learner(discrete: bool, value_clip: float, engine: str) -> Learner:
    actions = Discrete(3) if discrete else Continuous((-1.0, -1.0), (1.0, 1.0))
    role = Role("player", 1, Observations((SIZE,), np.dtype(np.float32), -10, 10), actions)
    config = LearnerConfig(
        engine=engine,  # type: ignore[arg-type]
        lr=1e-3,
        lr_schedule="constant",
        epochs=3,
        minibatch=STEPS * ROWS,
        entropy=0.01,
        value_clip=value_clip,
        normalize_observations=False,
        normalize_returns=False,
    )
    return Learner(role, PolicyConfig(), config, torch.Generator().manual_seed(1))


def pairs(ours: Learner, theirs: PPO) -> list[tuple[torch.Tensor, torch.Tensor]]:
    """Our parameters beside theirs, layer by layer."""
    policy, mlp = ours.policy, theirs.policy.mlp_extractor
    layers = [
        *zip(policy.body.layers, (mlp.policy_net[0], mlp.policy_net[2]), strict=True),
        *zip(policy.value_body.layers, (mlp.value_net[0], mlp.value_net[2]), strict=True),
        (policy.action_layer, theirs.policy.action_net),
        (policy.value_layer, theirs.policy.value_net),
    ]
    found = [(mine.weight, other.weight) for mine, other in layers] + [(m.bias, o.bias) for m, o in layers]
    return found + ([(policy.extra, theirs.policy.log_std)] if len(policy.extra) else [])


def same_data(ours: Learner, theirs: PPO) -> tuple[Batch, RolloutBuffer]:
    """A rollout with ends in it, acted by their policy, as our batch and as their buffer."""
    generator = np.random.default_rng(0)
    batch = make_batch(ours.role, ROWS, STEPS, 0)
    buffer = RolloutBuffer(
        STEPS, theirs.observation_space, theirs.action_space, "cpu", gae_lambda=0.95, gamma=0.99, n_envs=ROWS
    )
    batch.valid[:] = True
    starts = np.ones(ROWS, np.float32)
    for t in range(STEPS):
        obs = generator.normal(size=(ROWS, SIZE)).astype(np.float32)
        with torch.no_grad():
            actions, values, log_prob = theirs.policy(torch.from_numpy(obs))
        reward = generator.normal(size=ROWS).astype(np.float32)
        buffer.add(obs, actions.numpy().reshape(ROWS, -1), reward, starts, values, log_prob)
        ended = generator.random(ROWS) < 0.15
        batch.obs[t] = torch.from_numpy(obs)
        batch.actions[t] = actions
        batch.log_prob[t], batch.value[t] = log_prob, values[:, 0]
        batch.reward[t], batch.terminated[t] = torch.from_numpy(reward), torch.from_numpy(ended)
        starts = ended.astype(np.float32)
    last = torch.from_numpy(generator.normal(size=ROWS).astype(np.float32))
    batch.last_value[:] = last
    buffer.compute_returns_and_advantage(last_values=last, dones=starts)
    return batch, buffer


@pytest.mark.parametrize(
    ("discrete", "value_clip", "engine"),
    [(True, 0.0, "torch"), (True, 0.0, "fused"), (False, 0.0, "torch"), (True, 0.1, "torch"), (True, 0.1, "fused")],
)
def test_one_update_moves_our_weights_where_theirs_go(discrete: bool, value_clip: float, engine: str) -> None:
    theirs, ours = their_model(discrete, value_clip), our_learner(discrete, value_clip, engine)
    with torch.no_grad():
        for mine, other in pairs(ours, theirs):
            mine.copy_(other)
    before = [mine.clone() for mine, _ in pairs(ours, theirs)]
    batch, theirs.rollout_buffer = same_data(ours, theirs)
    theirs._setup_learn(STEPS * ROWS)
    theirs.train()
    result = update(ours, batch, pace(ours.config, 0, 1), torch.Generator().manual_seed(0)).measured()
    log = theirs.logger.name_to_value
    assert result["explained_variance"] == pytest.approx(log["train/explained_variance"], abs=1e-4)
    assert result["policy_loss"] == pytest.approx(log["train/policy_gradient_loss"], abs=1e-5)
    assert result["value_loss"] == pytest.approx(log["train/value_loss"], rel=1e-3)
    assert result["entropy"] == pytest.approx(-log["train/entropy_loss"], rel=1e-4)
    assert result["approx_kl"] == pytest.approx(log["train/approx_kl"], abs=1e-4, rel=0.8)  # theirs: last epoch only
    for start, (mine, other) in zip(before, pairs(ours, theirs), strict=True):
        assert torch.allclose(mine, other, atol=2e-5)
        assert not torch.allclose(mine, start, atol=1e-4)
