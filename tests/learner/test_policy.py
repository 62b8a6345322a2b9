"""Networks: the recurrent core forgets at episode starts and nowhere else, images and vectors both pass."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from holdfast.config import PolicyConfig
from holdfast.learner.policy import Policy
from holdfast.worlds.api import Role
from holdfast.worlds.spaces import Discrete, Observations

VECTOR = Role("player", 1, Observations((3,), np.dtype(np.float32), -1, 1), Discrete(2))
IMAGE = Role("player", 1, Observations((20, 24, 3), np.dtype(np.uint8), 0, 255), Discrete(2))


def policy(role: Role = VECTOR, **options: object) -> Policy:
    return Policy(role, PolicyConfig(**options), torch.Generator().manual_seed(0))


def recurrent() -> Policy:
    return policy(core="gru", core_size=5, hidden=(8,))


def test_a_sequence_is_its_steps_with_memory_emptied_at_starts() -> None:
    net, steps, rows = recurrent(), 6, 4
    obs = torch.randn(steps, rows, 3)
    starts = torch.rand(steps, rows) < 0.4
    hidden = torch.randn(rows, 5)
    whole = net.sequence(obs, hidden, starts)
    memory, values = hidden, []
    for t in range(steps):
        out = net(obs[t], memory, starts[t])
        memory = out.hidden
        values.append(out.value)
    assert torch.allclose(whole.value, torch.cat(values), atol=1e-6)
    assert torch.allclose(whole.hidden, memory, atol=1e-6)


def test_what_was_seen_before_a_start_has_no_influence() -> None:
    net = recurrent()
    starts = torch.tensor([[False], [True], [False]])
    one, other = torch.randn(3, 1, 3), torch.randn(3, 1, 3)
    other[1:] = one[1:]
    first, second = (net.sequence(obs, torch.zeros(1, 5), starts).value for obs in (one, other))
    assert first[0] != second[0]
    assert torch.equal(first[1:], second[1:])


def test_gradients_do_not_flow_across_a_start() -> None:
    net = recurrent()
    obs = torch.randn(3, 1, 3, requires_grad=True)
    starts = torch.tensor([[True], [False], [True]])
    net.sequence(obs, torch.zeros(1, 5), starts).value[2].backward()
    assert obs.grad is not None
    assert obs.grad[:2].abs().sum() == 0.0 and obs.grad[2].abs().sum() > 0.0


@pytest.mark.parametrize("separate", [True, False])
@pytest.mark.parametrize(("role", "network"), [(VECTOR, "auto"), (VECTOR, "mlp"), (IMAGE, "auto"), (IMAGE, "mlp")])
def test_shapes(role: Role, network: str, separate: bool) -> None:
    net = policy(role, separate=separate, network=network)
    assert (net.body.convolutions is not None) == (role is IMAGE and network == "auto")
    obs = torch.zeros(7, *role.observations.shape, dtype=torch.uint8 if role is IMAGE else torch.float32)
    out = net(obs, torch.zeros(7, 0), torch.zeros(7, dtype=torch.bool))
    assert out.actions.shape == (7, 2) and out.value.shape == (7,)


def test_the_same_seed_gives_the_same_weights_whatever_was_drawn_before() -> None:
    first = policy().state_dict()
    torch.rand(5)
    second = policy().state_dict()
    assert all(torch.equal(first[name], second[name]) for name in first)


def test_numbers_beyond_the_horizon_look_like_the_horizon() -> None:
    net = Policy(VECTOR, PolicyConfig(), torch.Generator().manual_seed(0), horizon=10.0)
    none = torch.zeros(1, 0)
    far, edge = (net(torch.full((1, 3), size), none, none).value for size in (1e6, 10.0))
    assert torch.equal(far, edge)
