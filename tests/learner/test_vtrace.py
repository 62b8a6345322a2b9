"""V-trace against its formula written out in NumPy, cases computed by hand, GAE, and the fused engine."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.config.sections import LearnerConfig, PolicyConfig
from holdfast.learner.advantages import Targets, Trace, gae, vtrace, vtrace_kernel
from holdfast.learner.batch import Batch, make_batch
from holdfast.learner.learner import Learner
from holdfast.learner.schedules import Pace
from holdfast.learner.update import update
from holdfast.learner.vtrace import VtraceLesson
from tests.learner.test_advantages import ROLE, random_batch


def everything(batch: Batch, ratio: torch.Tensor, trace: Trace) -> Targets:
    return vtrace(batch, torch.arange(batch.rows), batch.value, ratio, trace)


def written_out(batch: Batch, row: int, ratio: np.ndarray, trace: Trace) -> tuple[np.ndarray, np.ndarray]:
    """v and A of one row, from the sum of products of Espeholt et al. (2018), equation 1."""
    steps, gamma = batch.steps, trace.discount
    V, r = batch.value[:, row].double().numpy(), batch.reward[:, row].double().numpy()
    learned = batch.learned[:, row].numpy()
    term, trunc = batch.terminated[:, row].numpy(), batch.truncated[:, row].numpy()
    rho = np.where(learned, np.minimum(trace.rho_bar, ratio), 0.0)
    c = np.where(learned, trace.trace * np.minimum(trace.c_bar, ratio), 0.0)
    following = np.append(V[1:], float(batch.last_value[row]))
    ahead = np.where(term, 0.0, np.where(trunc, batch.bootstrap[:, row].double().numpy(), following))
    delta = rho * (r + gamma * ahead - V)
    goes_on = ~(term | trunc)
    v = V.copy()
    for s in range(steps):
        weight = 1.0
        for t in range(s, steps):
            v[s] += weight * delta[t]
            if not goes_on[t]:
                break
            weight *= gamma * c[t]
    later = np.append(v[1:], float(batch.last_value[row]))
    return v, rho * (r + gamma * np.where(goes_on, later, ahead) - V)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 9), st.floats(0, 1), st.floats(0, 1), st.floats(0.1, 2), st.floats(0, 2))
def test_the_kernel_is_the_written_out_formula(
    seed: int, steps: int, gamma: float, lam: float, rho_bar: float, c_bar: float
) -> None:
    batch, generator = random_batch(seed, steps, 3), np.random.default_rng(seed)
    batch.forced[:] = torch.from_numpy(generator.random((steps, 3)) < 0.2)
    ratio = torch.from_numpy(np.exp(generator.normal(size=(steps, 3)))).float()
    trace = Trace(gamma, lam, rho_bar, c_bar)
    found = everything(batch, ratio, trace)
    for row in range(3):
        v, advantage = written_out(batch, row, ratio[:, row].double().numpy(), trace)
        learned = batch.learned[:, row].numpy()
        assert np.allclose(found.value[learned, row], v[learned], atol=1e-4)
        assert np.allclose(found.advantage[:, row], advantage, atol=1e-4)


def by_hand(**flags: list[bool]) -> Batch:
    """Two steps of one row: rewards 1 and 2, values 3 and 4, 5 after them."""
    batch = make_batch(ROLE, 1, 2, 0)
    batch.valid[:] = True
    batch.reward[:, 0], batch.value[:, 0] = torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0])
    batch.last_value[0], batch.bootstrap[:] = 5.0, 6.0
    for name, values in flags.items():
        getattr(batch, name)[:, 0] = torch.tensor(values)
    return batch


CASES = {
    # discount 1/2, ratios 2 and 1/2 under limits of 1: rho = c = 1 and 1/2
    # step 2: delta = 0.5 (2 + 2.5 - 4) = 0.25, v = 4.25, A = 0.25; step 1: delta = 1 + 2 - 3 = 0, v = 3 + 0.125
    "plain": ({}, [3.125, 4.25], [1 + 0.5 * 4.25 - 3, 0.25]),
    # an end after step 1: v = 3 + (1 - 3), A = 1 - 3
    "ended": ({"terminated": [True, False]}, [1.0, 4.25], [-2.0, 0.25]),
    # a cut there: the last sight was worth 6, so v = 3 + (1 + 3 - 3), A = 1
    "cut": ({"truncated": [True, False]}, [4.0, 4.25], [1.0, 0.25]),
    # a forced second step teaches nothing, and the first counts its value 4 only
    "forced": ({"forced": [False, True]}, [3.0, 4.0], [0.0, 0.0]),
}


@pytest.mark.parametrize("case", CASES)
def test_cases_computed_by_hand(case: str) -> None:
    flags, value, advantage = CASES[case]
    found = everything(by_hand(**flags), torch.tensor([[2.0], [0.5]]), Trace(0.5, 1.0, 1.0, 1.0))
    assert found.value[:, 0].tolist() == value
    assert found.advantage[:, 0].tolist() == advantage


def test_with_fresh_actions_the_targets_are_those_of_gae() -> None:
    batch = random_batch(7, 15, 4)
    found = everything(batch, torch.ones(15, 4), Trace(0.97, 0.9, 1.0, 1.0))
    _, returns = gae(batch, 0.97, 0.9)
    assert torch.allclose(found.value[batch.valid], returns[batch.valid], atol=1e-5)


def test_compiled_and_plain_give_the_same_bytes() -> None:
    batch, ratio, trace = random_batch(3, 12, 5), torch.rand(12, 5) * 2, Trace(0.99, 0.95, 1.0, 0.8)
    found = everything(batch, ratio, trace)
    names = ("reward", "value", "last_value", "bootstrap", "learned", "terminated", "truncated")
    plain = [np.zeros((12, 5), np.float32) for _ in range(2)]
    vtrace_kernel.py_func(*(getattr(batch, name).numpy() for name in names), ratio.numpy(), trace, *plain)
    assert [array.tobytes() for array in plain] == [tensor.numpy().tobytes() for tensor in found]


def learner(engine: str, **options: object) -> Learner:
    config = LearnerConfig(algorithm="vtrace", engine=engine, minibatch=30, **options)  # type: ignore[arg-type]
    return Learner(ROLE, PolicyConfig(hidden=(8,)), config, torch.Generator().manual_seed(2))


def acted_batch(one: Learner) -> Batch:
    batch, generator = random_batch(5, 10, 6), torch.Generator().manual_seed(1)
    batch.obs[:] = torch.randn(batch.obs.shape, generator=generator)
    batch.actions[:] = torch.randint(0, 2, batch.actions.shape, generator=generator)
    batch.log_prob[:] = -torch.rand(batch.log_prob.shape, generator=generator)
    batch.forced[:] = torch.rand(batch.forced.shape, generator=generator) < 0.2
    return batch


def test_both_engines_give_the_same_loss_and_gradient() -> None:
    found = []
    for engine in ("torch", "fused"):
        one = learner(engine)
        lesson = VtraceLesson(one, acted_batch(one))
        losses = [
            (torch.stack(list(loss)).detach(), one.optimizer.gradients.clone())
            for loss in lesson.epoch(Pace(0.0, 0.02, 0.0), torch.Generator().manual_seed(4))
        ]
        found.append(losses)
    assert len(found[0]) == len(found[1]) == 2
    for (loss, gradient), (other_loss, other_gradient) in zip(*found, strict=True):
        assert torch.allclose(loss, other_loss, atol=1e-5)
        assert torch.allclose(gradient, other_gradient, atol=1e-5) and gradient.abs().max() > 0.01


def test_what_is_forced_or_dead_changes_nothing() -> None:
    """Other numbers in steps nobody chose, and the update is the same; when none is left there is nothing to do."""
    ends = []
    for value in (0.0, 9.0):
        one = learner("torch")
        batch = acted_batch(one)
        batch.forced[:] |= torch.rand(batch.forced.shape, generator=torch.Generator().manual_seed(8)) < 0.4
        idle = ~batch.learned
        batch.log_prob[idle] = -value
        batch.reward[idle] = value
        update(one, batch, Pace(1e-2, 0.0, 0.0), torch.Generator().manual_seed(0))
        ends.append(one.optimizer.parameters.clone())
    assert torch.equal(ends[0], ends[1])
    batch.forced[:] = True
    before = one.optimizer.parameters.clone()
    result = update(one, batch, Pace(1e-2, 0.0, 0.0), torch.Generator().manual_seed(0)).measured()
    assert torch.equal(one.optimizer.parameters, before) and "policy_loss" not in result
    assert result["forced_share"] == pytest.approx(float(batch.valid.float().mean()))


def test_gathered_gradients_are_those_of_the_larger_minibatch() -> None:
    """Two gradients of 30 agent-steps in one move are one of 60: same rows, same mean."""
    ends = []
    for minibatch, accum in ((60, 1), (30, 2)):
        config = dataclasses.replace(
            learner("torch").config, minibatch=minibatch, grad_accum=accum, epochs=1, normalize_advantages=False
        )
        one = Learner(ROLE, PolicyConfig(hidden=(8,)), config, torch.Generator().manual_seed(2))
        batch = acted_batch(one)
        batch.valid[:], batch.forced[:] = True, False
        update(one, batch, Pace(1e-2, 0.01, 0.0), torch.Generator().manual_seed(0))
        ends.append(one.optimizer.parameters.clone())
    assert torch.allclose(ends[0], ends[1], atol=1e-5)
