"""Running moments against NumPy, and the flat Adam against torch's own on separate parameters."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from holdfast.config.sections import LearnerConfig, PolicyConfig
from holdfast.kit.errors import NonFinite
from holdfast.learner.batch import make_batch
from holdfast.learner.learner import Learner
from holdfast.learner.normalize import Moments
from holdfast.learner.optim import FlatAdam
from holdfast.worlds.api import Role
from holdfast.worlds.spaces import Discrete, Observations


def test_moments_of_pieces_are_moments_of_the_whole() -> None:
    data = np.random.default_rng(0).normal(3.0, [1.0, 50.0], (1000, 2))
    moments = Moments(2)
    for piece in np.array_split(data, [10, 11, 400]):
        moments.update(torch.from_numpy(piece))
    assert np.allclose(moments.mean, data.mean(0)) and np.allclose(moments.variance, data.var(0))
    again = Moments(2)
    again.restore({name: array.copy() for name, array in moments.arrays().items()})
    raw = torch.randn(5, 2)
    assert torch.equal(again.scaled(raw), moments.scaled(raw))
    assert torch.allclose(moments.unscale(moments.scaled(raw)), raw, atol=1e-4)


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 70), st.integers(1, 5), st.integers(1, 9), st.floats(0.0, 1.0), st.floats(-1e4, 1e4))
def test_moments_of_a_batch_are_those_of_its_raw_rows(
    size: int, steps: int, rows: int, alive: float, offset: float
) -> None:
    role = Role("player", 1, Observations((size,), np.dtype(np.float32), -9, 9), Discrete(2))
    batch, draw = make_batch(role, rows, steps, 0), torch.Generator().manual_seed(size)
    fast, plain = Moments(size), Moments(size)
    for _ in range(3):
        batch.obs.normal_(generator=draw)
        batch.scale[0] = offset + torch.randn(size, generator=draw)
        batch.scale[1] = torch.rand(size, generator=draw)
        batch.valid.copy_(torch.rand(steps, rows, generator=draw) < alive)
        fast.update_from(batch)
        plain.update(batch.raw_obs(batch.valid))
    assert torch.equal(fast.count, plain.count)
    assert torch.allclose(fast.mean, plain.mean, rtol=1e-12, atol=1e-12)
    assert torch.allclose(fast.variance, plain.variance, rtol=1e-9, atol=1e-12)


def small_net() -> nn.Sequential:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(3, 5), nn.Tanh(), nn.Linear(5, 2))


def test_flat_adam_is_torchs_adam() -> None:
    ours, theirs = small_net(), small_net()
    flat = FlatAdam(ours, eps=1e-5)
    adam = torch.optim.Adam(theirs.parameters(), lr=0.01, eps=1e-5)
    for step in range(5):
        x = torch.randn(20, 3, generator=torch.Generator().manual_seed(step))
        flat.zero()
        (ours(x) ** 2).mean().backward()
        norm = flat.step(0.01, max_norm=0.1)
        adam.zero_grad()
        (theirs(x) ** 2).mean().backward()
        their_norm = nn.utils.clip_grad_norm_(theirs.parameters(), 0.1)
        adam.step()
        assert norm == pytest.approx(float(their_norm), rel=1e-5)
    for mine, other in zip(ours.parameters(), theirs.parameters(), strict=True):
        assert torch.allclose(mine, other, atol=1e-6)


def test_a_restored_optimiser_goes_on_as_the_first_would_have() -> None:
    nets = small_net(), small_net()
    optimisers = [FlatAdam(net, eps=1e-5) for net in nets]
    x = torch.randn(20, 3)

    def move(k: int) -> None:
        optimisers[k].zero()
        (nets[k](x) ** 2).mean().backward()
        optimisers[k].step(0.01, 0.0)

    move(0)
    optimisers[1].restore({name: array.copy() for name, array in optimisers[0].arrays().items()})
    move(0)
    move(1)
    assert torch.equal(optimisers[0].parameters, optimisers[1].parameters)


def test_a_gradient_that_is_not_finite_stops_before_the_weights_move_and_is_named() -> None:
    net = small_net()
    flat = FlatAdam(net, eps=1e-5)
    before = flat.parameters.clone()
    net[2].bias.grad.fill_(float("nan"))
    with pytest.raises(NonFinite, match=r"2\.bias"):
        flat.step(0.01, 0.5)
    assert torch.equal(flat.parameters, before)


def test_a_new_scale_of_returns_leaves_what_the_value_network_says_as_it_was() -> None:
    role = Role("player", 1, Observations((3,), np.dtype(np.float32), -1, 1), Discrete(2))
    learner = Learner(role, PolicyConfig(), LearnerConfig(), torch.Generator().manual_seed(0))
    obs, none = torch.randn(6, 3), torch.zeros(6, 0)
    for returns in (torch.randn(100) * 7 + 30, torch.randn(50) * 0.1 - 4):
        before = learner.value_in_reward(learner.policy(obs, none, none).value)
        learner.learn_scale(returns)
        after = learner.value_in_reward(learner.policy(obs, none, none).value)
        assert torch.allclose(before, after, atol=1e-4)
