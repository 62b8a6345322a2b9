"""The fused learner is the torch learner: same answers, same losses, same gradients, for any shape and setting."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.config.sections import LearnerConfig, PolicyConfig
from holdfast.learner.engines import chosen_engine, fused_kernels
from holdfast.learner.learner import Learner
from holdfast.learner.losses import Minibatch, Objective
from holdfast.worlds.api import Role
from holdfast.worlds.spaces import Continuous, Discrete, Observations


def learner(
    inputs: int, actions: int, policy: PolicyConfig, config: LearnerConfig, threads: int = 1, judging: int = 0
) -> Learner:
    sight = Observations((inputs + judging,), np.dtype(np.float32), -9, 9, judging=judging)
    role = Role("player", 1, sight, Discrete(actions))
    return Learner(role, policy, dataclasses.replace(config, engine="fused"), torch.Generator().manual_seed(3), threads)


def minibatch(one: Learner, rows: int, seed: int) -> Minibatch:
    generator = torch.Generator().manual_seed(seed)
    obs = torch.randn(rows, one.role.observations.size, generator=generator) * 4
    none = obs[:0]
    with torch.no_grad():
        one.policy.action_layer.weight.mul_(30.0)  # away from the first weights, so that clipping happens
        one.policy.extra.add_(torch.randn(one.policy.extra.shape, generator=generator) * 0.3)
        out = one.policy(obs, none, none)
        shaken = out.actions + torch.randn(out.actions.shape, generator=generator) * 0.3
        actions, log_prob = one.policy.head.sample(shaken, one.policy.extra, generator)
    numbers = torch.randn(3, rows, generator=generator)
    return Minibatch(obs, actions, log_prob, numbers[0], numbers[1], out.value + 0.3 * numbers[2])


CHOICE = Discrete(3)
OBJECTIVE = Objective(clip=0.2, value_clip=0.0, value_coef=0.5, entropy=0.01)
SHAPES = st.tuples(
    st.integers(1, 20), st.integers(2, 7), st.lists(st.integers(1, 40), max_size=3).map(tuple), st.integers(1, 700)
)


@settings(max_examples=40, deadline=None)
@given(
    SHAPES,
    st.sampled_from(["tanh", "relu"]),
    st.sampled_from([0.0, 0.2]),
    st.sampled_from([0.0, 0.01]),
    st.integers(0, 9),
)
def test_losses_and_gradients_agree_with_torch(
    shape: tuple[int, int, tuple[int, ...], int], activation: str, value_clip: float, entropy: float, judging: int
) -> None:
    inputs, actions, hidden, rows = shape
    policy = PolicyConfig(hidden=hidden, activation=activation)  # type: ignore[arg-type]
    one = learner(inputs, actions, policy, LearnerConfig(value_clip=value_clip), judging=judging)
    part = minibatch(one, rows, seed=rows)
    objective = Objective(0.2, value_clip, 0.5, entropy)
    ours = one.engine.descend(part, objective)
    gradient = one.optimizer.gradients.clone()
    theirs = one.eager.descend(part, objective)
    scale = float(one.optimizer.gradients.abs().max()) + 1e-3
    assert float((gradient - one.optimizer.gradients).abs().max()) < 2e-5 * scale + 1e-6
    for mine, other in zip(ours, theirs, strict=True):
        assert float(mine) == pytest.approx(float(other), rel=1e-4, abs=1e-5)


@pytest.mark.parametrize("rows", [1, 63, 64, 65, 1000])
def test_answers_agree_with_torch(rows: int) -> None:
    one = learner(18, 5, PolicyConfig(), LearnerConfig())
    obs = torch.randn(rows, 18) * 6  # some beyond the horizon of 10
    none = obs[:0]
    found = one.engine.ask(obs, none, none)
    with torch.no_grad():
        expected = one.policy(obs, none, none)
    assert torch.allclose(found.actions, expected.actions, atol=1e-5)
    assert torch.allclose(found.value, expected.value, atol=1e-5)


def test_bytes_do_not_depend_on_threads() -> None:
    found = []
    for threads in (1, 2):
        one = learner(18, 5, PolicyConfig(), LearnerConfig(), threads)
        part = minibatch(one, 3000, seed=1)
        one.engine.descend(part, OBJECTIVE)
        logits = one.ask(part.obs, part.obs[:0], part.obs[:0]).actions
        found.append((one.optimizer.gradients.numpy().tobytes(), logits.numpy().tobytes()))
    assert found[0] == found[1]


def test_tanh_is_tanh() -> None:
    x = np.linspace(-20, 20, 100_001).astype(np.float32)
    row = x.copy()
    fused_kernels.activate(row, fused_kernels.TANH)
    assert np.abs(row - np.tanh(x.astype(np.float64))).max() < 4e-7
    assert np.abs(row).max() <= 1.0


def test_a_nan_is_seen_in_the_loss() -> None:
    one = learner(4, 3, PolicyConfig(), LearnerConfig())
    part = minibatch(one, 50, seed=1)
    part.advantage[7] = float("nan")
    assert not torch.isfinite(one.engine.descend(part, OBJECTIVE).total)


def test_each_engine_is_used_where_it_suits() -> None:
    def chosen(policy: PolicyConfig, actions: Discrete | Continuous = CHOICE) -> str:
        role = Role("player", 1, Observations((4,), np.dtype(np.float32), -9, 9), actions)
        made = Learner(role, policy, LearnerConfig(), torch.Generator())
        name = chosen_engine(made.role, policy, LearnerConfig())
        assert made.engine.follows == (name == "torch")
        return name

    normal = Continuous((-1.0,), (1.0,))
    assert chosen(PolicyConfig()) == "fused"
    assert chosen(PolicyConfig(core="gru")) == chosen(PolicyConfig(separate=False)) == "torch"
    assert chosen(PolicyConfig(), normal) == "wide"
    assert chosen(PolicyConfig(grid=(3,)), normal) == "fused"
    assert chosen(PolicyConfig(hidden=(384, 384))) == chosen(PolicyConfig(hidden=(384, 384)), normal) == "wide"
    assert chosen(PolicyConfig(norm="layer"), normal) == "torch"
