"""The wide engine looks at parts as torch does: same answers, same losses, same beliefs, same gradients."""

from __future__ import annotations

import dataclasses
import os
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.config.sections import LearnerConfig, PolicyConfig
from holdfast.learner.batch import make_batch
from holdfast.learner.engines.wide import tiles_of
from holdfast.learner.engines.wide_layout import jobs_of, make_net
from holdfast.learner.learner import Learner
from holdfast.learner.losses import Objective, surrogate_loss
from holdfast.learner.parts_encoder import mixture_of
from holdfast.learner.schedules import Pace
from holdfast.learner.update import update
from holdfast.worlds.api import Role
from holdfast.worlds.spaces import Actions, Continuous, Discrete, Observations
from tests.learner.test_fused import minibatch

ENCODERS = ("mlp", "lstm", "belief")
NORMAL = Continuous((-1.0, -1.0), (1.0, 1.0))


def sight(shape: tuple[int, int, int, int], judging: int, believed: int) -> Observations:
    """`shape`: numbers without an order, rays, steps of a history and numbers of each; 0 = no such part."""
    plain, rays, steps, numbers = shape
    parts = [("state", (plain,))] * (plain > 0) + [("lidar", (rays,))] * (rays > 0)
    parts += [("history", (steps, numbers))] * (steps > 0)
    parts += [("critic", (judging,))] * (judging > 0) + [("belief", (believed,))] * (believed > 0)
    size = sum(int(np.prod(shape)) for _, shape in parts)
    return Observations((size,), np.dtype(np.float32), -9, 9, tuple(parts), judging, believed)


def learner(
    encoder: str, shape: tuple[int, int, int, int], actions: Actions = NORMAL, judging: int = 0, threads: int = 1,
    hidden: tuple[int, ...] = (24, 24), **options: Any,
) -> Learner:  # fmt: skip
    believed = 2 if encoder == "belief" and shape[2] > 0 else 0
    role = Role("player", 1, sight(shape, judging, believed), actions)
    policy = PolicyConfig(network="parts", encoder=encoder, hidden=hidden)  # type: ignore[arg-type]
    config = dataclasses.replace(LearnerConfig(), **options)
    return Learner(role, policy, config, torch.Generator().manual_seed(1), threads)


def by_torch(one: Learner, part: Any, entropy: float) -> tuple[Any, float]:
    """The loss, its gradient left in the optimiser, and the distance of the belief from the truth."""
    output, beside, distance = one.eager.forward(part.obs), torch.zeros(()), 0.0
    objective = objective_of(one, entropy)
    loss = surrogate_loss(
        objective, part, *one.policy.head.evaluate(output.actions, one.policy.extra, part.actions), output.value
    )
    if output.belief is not None:
        mixture, truth = mixture_of(output.belief), part.obs[:, -2:]
        beside = objective.belief * mixture.error(truth).mean()
        distance = float((mixture.centre() - truth).square().sum(1).mean().sqrt().detach())
    one.optimizer.zero()
    loss = loss._replace(total=loss.total + beside)
    loss.total.backward()
    return loss, distance


def objective_of(one: Learner, entropy: float) -> Objective:
    return Objective(one.config.clip, one.config.value_clip, one.config.value_coef, entropy, one.config.belief_coef)


def far_apart(one: Learner, gradient: torch.Tensor, limit: float) -> dict[str, float]:
    """Parameters whose gradient is further than a limit from the optimiser's, as a share of its length, and how far."""
    found = {}
    for name, start, end in one.optimizer.names:
        mine, other = gradient[start:end], one.optimizer.gradients[start:end]
        apart = float((mine - other).norm()) / (float(other.norm()) + 1e-3)
        found |= {name: apart} if apart > limit else {}
    return found


SHAPES = st.tuples(st.integers(0, 9), st.integers(0, 40), st.integers(0, 5), st.integers(1, 50)).filter(
    lambda shape: shape[0] + shape[1] + shape[2] > 0
)


@pytest.mark.parametrize("encoder", ENCODERS)
@pytest.mark.parametrize("shape", [(5, 36, 10, 43), (5, 8, 3, 4), (1, 1, 1, 1), (0, 37, 2, 50)])
def test_gradients_are_the_same_but_for_rounding(encoder: str, shape: tuple[int, int, int, int]) -> None:
    one = learner(encoder, shape, hidden=(64, 64))
    part = minibatch(one, 100, seed=3)
    one.engine.descend(part, objective_of(one, 0.01))
    gradient = one.optimizer.gradients.clone()
    by_torch(one, part, 0.01)
    assert far_apart(one, gradient, 2e-5) == {}


@settings(max_examples=40, deadline=None)
@given(
    SHAPES,
    st.sampled_from(ENCODERS),
    st.integers(1, 150),
    st.integers(0, 4),
    st.sampled_from([NORMAL, Discrete(5)]),
    st.sampled_from([0.0, 0.02]),
)
def test_losses_beliefs_and_gradients_agree_with_torch(
    shape: tuple[int, int, int, int], encoder: str, rows: int, judging: int, actions: Actions, entropy: float
) -> None:
    """Rounding may put a unit that is nearly 0 on the other side of it, so that its slope counts for one row or not."""
    one = learner(encoder, shape, actions, judging, belief_coef=0.3)
    part = minibatch(one, rows, seed=rows)
    one.optimizer.gradients.fill_(7.0)  # whatever was there before is overwritten
    ours = one.engine.descend(part, objective_of(one, entropy))
    gradient = one.optimizer.gradients.clone()
    theirs, distance = by_torch(one, part, entropy)
    assert far_apart(one, gradient, 2e-3) == {}
    for mine, other in zip(ours, theirs, strict=True):
        assert float(mine) == pytest.approx(float(other.detach()), rel=2e-4, abs=1e-5)
    believed = one.engine.belief_error
    assert (believed is None) == (encoder != "belief" or shape[2] == 0)
    if believed is not None:
        assert believed.distance == pytest.approx(distance, rel=1e-4)


@pytest.mark.parametrize("encoder", ENCODERS)
@pytest.mark.parametrize("rows", [1, 31, 32, 129])
def test_answers_agree_with_torch_and_are_not_overwritten(encoder: str, rows: int) -> None:
    one = learner(encoder, (5, 36, 10, 43), hidden=(256, 256))
    obs = torch.randn(rows, one.role.observations.size, generator=torch.Generator().manual_seed(rows)) * 6
    found = one.ask(obs, obs[:0], obs[:0])
    one.ask(torch.zeros(200, obs.shape[1]), obs[:0], obs[:0])
    with torch.no_grad():
        expected = one.policy(obs, obs[:0], obs[:0])
    assert torch.allclose(found.actions, expected.actions, atol=1e-5)
    assert torch.allclose(found.value, expected.value, atol=1e-5)


def test_bytes_do_not_depend_on_threads() -> None:
    found = []
    for threads in (1, 2):
        one = learner("belief", (5, 36, 10, 43), threads=threads)
        part = minibatch(one, 300, seed=1)
        one.engine.descend(part, objective_of(one, 0.01))
        actions = one.ask(part.obs, part.obs[:0], part.obs[:0]).actions
        found.append((one.optimizer.gradients.numpy().tobytes(), actions.numpy().tobytes()))
    assert found[0] == found[1]


def test_every_weight_is_one_job_and_shifts_are_even() -> None:
    made = learner("belief", (5, 36, 10, 43), hidden=(256, 256))
    net, _, _ = make_net(made.policy, made.optimizer)
    alone, _ = jobs_of(net, 1)
    jobs, shifts = jobs_of(net, 3)
    assert sorted(map(tuple, jobs.tolist())) == sorted(map(tuple, alone.tolist()))
    assert shifts[0] == 0 and shifts[-1] == len(jobs) and (np.diff(shifts) > 0).all()


@pytest.mark.parametrize("rows", [1, 31, 32, 64, 65, 1000])
def test_tiles_hold_all_rows_and_are_no_larger_than_their_room(rows: int) -> None:
    ends = tiles_of(rows)
    assert ends[0] == 0 and ends[-1] == rows
    assert (np.diff(ends) > 0).all() and np.diff(ends).max() <= 64


def test_an_update_tells_how_beliefs_fare() -> None:
    one = learner("belief", (5, 8, 3, 4), minibatch=64, epochs=2)
    batch = make_batch(one.role, 16, 8, 0)
    generator = torch.Generator().manual_seed(3)
    for field in (batch.obs, batch.actions, batch.reward):
        field.copy_(torch.randn(field.shape, generator=generator))
    batch.valid.fill_(True)
    told = update(one, batch, Pace(1e-3, 0.01, 0.0), generator).measured()
    assert np.isfinite(told["belief_loss"]) and told["belief_distance"] > 0.0


def test_a_nan_is_seen_in_the_loss() -> None:
    one = learner("belief", (5, 8, 3, 4))
    part = minibatch(one, 50, seed=1)
    part.obs[7, -1] = float("nan")  # the truth that a belief is measured by
    assert not torch.isfinite(one.engine.descend(part, objective_of(one, 0.01)).total)


def told() -> str:
    """A small network's gradient, in numbers that rounding does not change."""
    one = learner("belief", (3, 5, 2, 3), hidden=(8,))
    one.engine.descend(minibatch(one, 3, seed=1), objective_of(one, 0.01))
    return " ".join(f"{number:.3f}" for number in 1000.0 * one.optimizer.gradients[::997].double())


def test_compiled_and_plain_kernels_agree() -> None:
    words = [sys.executable, "-c", "from tests.learner.test_wide_parts import told; print(told())"]
    done = subprocess.run(
        words, env={**os.environ, "NUMBA_DISABLE_JIT": "1"}, capture_output=True, text=True, check=True
    )
    plain = np.array([float(word) for word in done.stdout.split()])
    assert np.allclose(plain, np.array([float(word) for word in told().split()]), atol=2e-2, rtol=1e-3)
    assert np.abs(plain).max() > 1.0
