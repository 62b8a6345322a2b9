"""Action heads against torch.distributions, and draws against the probabilities they claim."""

from __future__ import annotations

import torch
from torch.distributions import Categorical, Independent, Normal

from holdfast.learner.heads import make_head
from holdfast.worlds.spaces import Continuous, Discrete, Grid, MultiDiscrete

NONE = torch.zeros(0)


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def test_discrete_agrees_with_torch() -> None:
    head, logits = make_head(Discrete(5)), torch.randn(50, 5, generator=generator())
    actions, log_prob = head.sample(logits, NONE, generator(1))
    reference = Categorical(logits=logits)
    assert torch.allclose(log_prob, reference.log_prob(actions), atol=1e-6)
    judged, entropy = head.evaluate(logits, NONE, actions)
    assert torch.allclose(judged, log_prob, atol=1e-6)
    assert torch.allclose(entropy, reference.entropy(), atol=1e-6)
    assert torch.equal(head.greedy(logits, NONE), logits.argmax(-1))


def test_discrete_draws_follow_their_probabilities() -> None:
    logits = torch.tensor([[0.0, 1.0, -1.0]]).expand(60_000, 3)
    actions, _ = make_head(Discrete(3)).sample(logits, NONE, generator(2))
    shares = torch.bincount(actions, minlength=3) / len(actions)
    assert torch.allclose(shares, torch.softmax(logits[0], -1), atol=0.01)


def test_multi_discrete_is_independent_choices() -> None:
    head, logits = make_head(MultiDiscrete((2, 4))), torch.randn(30, 6, generator=generator())
    actions, log_prob = head.sample(logits, NONE, generator(1))
    parts = [Categorical(logits=logits[:, :2]), Categorical(logits=logits[:, 2:])]
    assert torch.allclose(log_prob, sum(p.log_prob(actions[:, k]) for k, p in enumerate(parts)), atol=1e-6)
    judged, entropy = head.evaluate(logits, NONE, actions)
    assert torch.allclose(judged, log_prob, atol=1e-6)
    assert torch.allclose(entropy, sum(p.entropy() for p in parts), atol=1e-6)
    assert head.greedy(logits, NONE).shape == (30, 2)


def test_continuous_agrees_with_torch_and_respects_bounds() -> None:
    head = make_head(Continuous((-1.0, -2.0), (1.0, 2.0)))
    means, log_std = torch.randn(40, 2, generator=generator()), torch.tensor([0.3, -0.7])
    actions, log_prob = head.sample(means, log_std, generator(1))
    reference = Independent(Normal(means, log_std.exp()), 1)
    assert torch.allclose(log_prob, reference.log_prob(actions), atol=1e-5)
    judged, entropy = head.evaluate(means, log_std, actions)
    assert torch.allclose(judged, log_prob, atol=1e-5)
    assert torch.allclose(entropy, reference.entropy(), atol=1e-5)
    clipped = head.for_world(actions * 10)
    assert clipped.abs().amax(0).tolist() == [1.0, 2.0]


def test_a_grid_chooses_among_the_points_of_its_box() -> None:
    space = Grid((-1.0, -2.0), (1.0, 2.0), (2, 3))
    head = make_head(space)
    assert head.outputs == 6 and head.extra == 0
    points = head.for_world(torch.arange(6))
    assert points.tolist() == [[-1, -2], [-1, 0], [-1, 2], [1, -2], [1, 0], [1, 2]]
    logits = torch.randn(30, 6, generator=generator())
    actions, log_prob = head.sample(logits, NONE, generator(1))
    assert torch.allclose(log_prob, Categorical(logits=logits).log_prob(actions), atol=1e-6)
    assert head.for_world(actions).shape == (30, 2)
