"""EWC: importance against per-sample gradients by another way, and the pull. RND: novelty pays, survival does not."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from holdfast.config.sections import LearnerConfig, PolicyConfig
from holdfast.learner.batch import Batch, make_batch
from holdfast.learner.ewc import Anchor, fisher
from holdfast.learner.learner import Learner
from holdfast.learner.rnd import Bonus, Novelty, length_correlation
from holdfast.learner.schedules import pace
from holdfast.learner.update import update
from holdfast.worlds.api import Role
from holdfast.worlds.spaces import Continuous, Discrete, Observations

SIGHT = Observations((3,), np.dtype(np.float32), -1.0, 1.0)
SPACES = {"continuous": Continuous((-1.0, -1.0), (1.0, 1.0)), "discrete": Discrete(4)}


def learner(kind: str, core: str = "none") -> Learner:
    policy = PolicyConfig(hidden=(8,), core=core, core_size=5)  # type: ignore[arg-type]
    config = LearnerConfig(engine="torch", minibatch=32, normalize_returns=False)
    return Learner(Role("player", 1, SIGHT, SPACES[kind]), policy, config, torch.Generator().manual_seed(1))


def rows(one: Learner, count: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    obs = torch.randn(count, 3, generator=torch.Generator().manual_seed(2))
    return obs, torch.zeros(count, one.policy.core_size), torch.ones(count, dtype=torch.bool)


@pytest.mark.parametrize("core", ["none", "gru"])
@pytest.mark.parametrize("kind", SPACES)
def test_fisher_is_the_mean_square_of_per_sample_gradients(kind: str, core: str) -> None:
    one = learner(kind, core)
    obs, hidden, starts = rows(one, 6)
    found = fisher(one, obs, hidden, starts, torch.Generator().manual_seed(3))
    policy, draw = one.policy, torch.Generator().manual_seed(3)
    parameters = dict(policy.named_parameters())
    expected = {name: torch.zeros_like(parameter) for name, parameter in parameters.items()}
    for n in range(6):  # by torch.autograd.grad instead of the flat array
        output = policy(obs[n : n + 1], hidden[n : n + 1], starts[n : n + 1])
        action, _ = policy.head.sample(output.actions.detach(), policy.extra.detach(), draw)
        log_prob, _ = policy.head.evaluate(output.actions, policy.extra, action)
        slopes = torch.autograd.grad(log_prob.sum(), list(parameters.values()), allow_unused=True)
        for name, slope in zip(parameters, slopes, strict=True):
            expected[name] += 0.0 if slope is None else slope**2 / 6
    for name, start, end in one.optimizer.names:
        torch.testing.assert_close(found[start:end], expected[name].flatten())
    assert bool((found >= 0).all()) and float(found.sum()) > 0


def some_batch(one: Learner) -> Batch:
    batch = make_batch(one.role, 16, 4, one.policy.core_size)
    chance = torch.Generator().manual_seed(4)
    batch.obs.normal_(generator=chance)
    batch.reward.normal_(generator=chance)
    batch.valid.fill_(True)
    return batch


def moved(strength: float, steps: int = 3) -> tuple[float, Anchor]:
    """How far importance-weighted updates go from the anchor."""
    one = learner("continuous")
    anchor = Anchor(one, strength, online=False)
    anchor.take(*rows(one, 32), torch.Generator().manual_seed(5))
    assert anchor.penalty() == 0.0
    for number in range(steps):
        update(one, some_batch(one), pace(one.config, 0, 1), torch.Generator().manual_seed(number))
    return anchor.distance(), anchor


def test_held_weights_move_less_and_the_penalty_is_half_the_weighted_square() -> None:
    free, _ = moved(0.0)
    held, anchor = moved(100.0)
    assert 0.0 < held < 0.8 * free
    shift = anchor.learner.optimizer.parameters.detach() - anchor.centre
    assert anchor.penalty() == pytest.approx(0.5 * 100.0 * float((anchor.fisher * shift * shift).sum()), rel=1e-5)


def test_the_pull_is_the_slope_of_the_penalty() -> None:
    _, anchor = moved(50.0)
    optimizer = anchor.learner.optimizer
    optimizer.zero()
    anchor.pull()
    pulled = optimizer.gradients.clone()
    index = int(pulled.abs().argmax())
    with torch.no_grad():
        before = optimizer.parameters[index].item()
        sides = []
        for shift in (1e-3, -1e-3):
            optimizer.parameters[index] = before + shift
            sides.append(anchor.penalty())
        optimizer.parameters[index] = before
    assert (sides[0] - sides[1]) / 2e-3 == pytest.approx(float(pulled[index]), rel=0.02)


def test_online_keeps_a_share_of_earlier_importance() -> None:
    one = learner("discrete")
    anchor = Anchor(one, 1.0, online=True)
    anchor.take(*rows(one, 8), torch.Generator().manual_seed(1))
    first = anchor.fisher.clone()
    anchor.take(*rows(one, 8), torch.Generator().manual_seed(1))
    torch.testing.assert_close(anchor.fisher, 1.9 * first)


def novelty(share: float = 1.0) -> Novelty:
    return Novelty(slice(None), 3, 16, 8, 1e-3, torch.Generator().manual_seed(1), Bonus(0.1, 2.0, share))


def test_the_bonus_falls_for_what_is_seen_often_and_the_target_stands_still() -> None:
    one, batch = novelty(), some_batch(learner("continuous"))
    target = one.fixed.parameters.clone()
    generator = torch.Generator().manual_seed(1)
    first = one.pay(batch, generator)
    for _ in range(200):
        last = one.pay(batch, generator)
    assert last.error < 0.2 * first.error and torch.equal(target, one.fixed.parameters)
    strange = torch.full((1, 1, 3), 4.0)
    assert float(one.errors(strange)) > 5 * last.error


def test_the_bonus_is_added_to_the_reward_and_has_mean_zero() -> None:
    batch = some_batch(learner("continuous"))
    before = batch.reward.clone()
    found = novelty(0.25).pay(batch, torch.Generator().manual_seed(1))
    added = batch.reward - before
    assert float(added.abs().max()) > 0.01 and abs(float(added.mean())) < 1e-6
    assert abs(found.mean) < 1e-6 and not found.is_survival_bonus


def test_an_uncentred_bonus_would_be_found_out() -> None:
    batch = make_batch(Role("player", 1, SIGHT, SPACES["discrete"]), 50, 20, 0)
    batch.valid.fill_(True)
    for row in range(50):
        batch.terminated[row % 19, row] = True
    assert length_correlation(torch.ones(20, 50), batch) == pytest.approx(1.0)
    assert abs(length_correlation(torch.randn(20, 50, generator=torch.Generator().manual_seed(1)), batch)) < 0.25


def test_both_come_back_from_their_arrays() -> None:
    _, anchor = moved(10.0)
    again = Anchor(learner("continuous"), 10.0, online=False)
    again.restore({name: np.array(array) for name, array in anchor.arrays().items()})
    assert torch.equal(again.fisher, anchor.fisher) and int(again.taken) == 1
    one, two = novelty(), Novelty(slice(None), 3, 16, 8, 1e-3, torch.Generator().manual_seed(9), Bonus(0.1, 2.0, 1.0))
    two.restore({name: np.array(array) for name, array in one.arrays().items()})
    sights = torch.randn(2, 5, 3)
    assert torch.equal(one.errors(sights), two.errors(sights))
