"""The wide engine is the torch learner too: the same answers, losses and gradients, for choices and normal actions."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.config.sections import LearnerConfig, PolicyConfig
from holdfast.learner.engines import loss_kernels
from holdfast.learner.engines.fused import knobs_of, rows_of
from holdfast.learner.learner import Learner
from holdfast.learner.losses import UNLIMITED, Objective
from holdfast.worlds.api import Role
from holdfast.worlds.spaces import Actions, Continuous, Discrete, Observations
from tests.learner.test_fused import OBJECTIVE, minibatch


def learner(inputs: int, actions: Actions, policy: PolicyConfig, judging: int = 0, **options: Any) -> Learner:
    sight = Observations((inputs + judging,), np.dtype(np.float32), -9, 9, judging=judging)
    role = Role("player", 1, sight, actions)
    config = dataclasses.replace(LearnerConfig(), engine="wide", **options)
    return Learner(role, policy, config, torch.Generator().manual_seed(3))


ACTIONS = st.one_of(
    st.integers(2, 6).map(Discrete), st.integers(1, 4).map(lambda n: Continuous((-1.0,) * n, (1.0,) * n))
)
SHAPES = st.tuples(st.integers(1, 20), st.lists(st.integers(1, 200), max_size=3).map(tuple), st.integers(1, 400))


@settings(max_examples=40, deadline=None)
@given(
    SHAPES,
    ACTIONS,
    st.sampled_from(["tanh", "relu"]),
    st.sampled_from([0.0, 0.2]),
    st.sampled_from([0.0, 0.01]),
    st.integers(0, 9),
)
def test_losses_and_gradients_agree_with_torch(
    shape: tuple[int, tuple[int, ...], int],
    actions: Actions,
    activation: str,
    value_clip: float,
    entropy: float,
    judging: int,
) -> None:
    inputs, hidden, rows = shape
    policy = PolicyConfig(hidden=hidden, activation=activation)  # type: ignore[arg-type]
    one = learner(inputs, actions, policy, judging, value_clip=value_clip)
    part = minibatch(one, rows, seed=rows)
    one.optimizer.gradients.fill_(7.0)  # whatever was there before is overwritten
    objective = Objective(one.config.clip, value_clip, one.config.value_coef, entropy)
    ours = one.engine.descend(part, objective)
    gradient = {name: one.optimizer.gradients[start:end].clone() for name, start, end in one.optimizer.names}
    theirs = one.eager.descend(part, objective)
    scale = float(one.optimizer.gradients.abs().max()) + 1e-3
    for name, start, end in one.optimizer.names:
        apart = (gradient[name] - one.optimizer.gradients[start:end]).abs()
        assert end == start or float(apart.max()) < 5e-5 * scale + 1e-6, name
    for mine, other in zip(ours, theirs, strict=True):
        assert float(mine) == pytest.approx(float(other), rel=2e-4, abs=1e-5)


@pytest.mark.parametrize("rows", [1, 64, 1000, 3])
def test_answers_agree_with_torch_and_are_not_overwritten(rows: int) -> None:
    one = learner(18, Continuous((-1.0, -1.0), (1.0, 1.0)), PolicyConfig(hidden=(256, 256)))
    obs = torch.randn(rows, 18) * 6  # some beyond the horizon of 10
    none = obs[:0]
    found = one.ask(obs, none, none)
    one.ask(torch.zeros(2000, 18), none, none)
    with torch.no_grad():
        expected = one.policy(obs, none, none)
    assert torch.allclose(found.actions, expected.actions, atol=1e-5)
    assert torch.allclose(found.value, expected.value, atol=1e-5)


def test_vtrace_takes_the_plain_policy_gradient() -> None:
    one = learner(5, Continuous((-1.0,), (1.0,)), PolicyConfig(hidden=(40,)), algorithm="vtrace")
    part = minibatch(one, 200, seed=4)
    with torch.no_grad():
        log_prob, _ = one.policy.head.evaluate(one.eager.forward(part.obs).actions, one.policy.extra, part.actions)
    one.engine.descend(part._replace(log_prob=log_prob), Objective(UNLIMITED, 0.0, one.config.value_coef, 0.01))
    gradient = one.optimizer.gradients.clone()
    one.optimizer.zero()
    output = one.eager.forward(part.obs)
    log_prob, entropy = one.policy.head.evaluate(output.actions, one.policy.extra, part.actions)
    miss = torch.nn.functional.mse_loss(output.value, part.target)
    (-(part.advantage * log_prob).mean() + one.config.value_coef * miss - 0.01 * entropy.mean()).backward()
    assert torch.allclose(gradient, one.optimizer.gradients, atol=2e-5)


def test_compiled_and_plain_losses_agree() -> None:
    one = learner(4, Continuous((-1.0, -1.0), (1.0, 1.0)), PolicyConfig(hidden=(8,)))
    part = minibatch(one, 30, seed=2)
    means = one.ask(part.obs, part.obs[:0], part.obs[:0]).actions.numpy()
    knobs = knobs_of(OBJECTIVE, 30, np.float32(1e9))
    found = []
    for function in (loss_kernels.normal_errors, loss_kernels.normal_errors.py_func):  # type: ignore[attr-defined]
        errors, slopes, sums = np.zeros_like(means), np.zeros(2, np.float32), np.zeros(5)
        function(means, one.policy.extra.detach().numpy(), rows_of(part), knobs, errors, slopes, sums)
        found.append((errors, slopes, sums))
    for mine, other in zip(*found, strict=True):
        assert np.allclose(mine, other, atol=1e-6)


def test_a_nan_is_seen_in_the_loss() -> None:
    one = learner(4, Continuous((-1.0,), (1.0,)), PolicyConfig(hidden=(16,)))
    part = minibatch(one, 50, seed=1)
    part.advantage[7] = float("nan")
    assert not torch.isfinite(one.engine.descend(part, OBJECTIVE).total)
