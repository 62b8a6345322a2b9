"""GAE against its formula written out as sums, with ends, cuts and dead rows."""

from __future__ import annotations

import numpy as np
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.learner.advantages import gae, gae_kernel
from holdfast.learner.batch import Batch, make_batch
from holdfast.worlds.api import Role
from holdfast.worlds.spaces import Discrete, Observations

ROLE = Role("player", 1, Observations((2,), np.dtype(np.float32), -1.0, 1.0), Discrete(2))


def random_batch(seed: int, steps: int, rows: int) -> Batch:
    generator = np.random.default_rng(seed)
    batch = make_batch(ROLE, rows, steps, 0)
    for name in ("reward", "value", "bootstrap"):
        getattr(batch, name)[:] = torch.from_numpy(generator.normal(size=(steps, rows)))
    batch.last_value[:] = torch.from_numpy(generator.normal(size=rows))
    batch.valid[:] = torch.from_numpy(generator.random((steps, rows)) < 0.8)
    ends = generator.random((steps, rows))
    batch.terminated[:] = torch.from_numpy(ends < 0.15) & batch.valid
    batch.truncated[:] = torch.from_numpy(ends > 0.85) & batch.valid
    return batch


def written_out(batch: Batch, row: int, t: int, gamma: float, lam: float) -> float:
    """Sum over k of (gamma lambda)^k times the surprise k steps later, up to the first end, cut or dead step."""
    total, weight = 0.0, 1.0
    for k in range(t, batch.steps):
        if not batch.valid[k, row]:
            break
        ahead = float(batch.last_value[row]) if k == batch.steps - 1 else float(batch.value[k + 1, row])
        if batch.terminated[k, row]:
            ahead = 0.0
        elif batch.truncated[k, row]:
            ahead = float(batch.bootstrap[k, row])
        total += weight * (float(batch.reward[k, row]) + gamma * ahead - float(batch.value[k, row]))
        weight *= gamma * lam
        if batch.terminated[k, row] or batch.truncated[k, row]:
            break
    return total


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 12), st.integers(1, 5), st.floats(0, 1), st.floats(0, 1))
def test_gae_is_the_written_out_formula(seed: int, steps: int, rows: int, gamma: float, lam: float) -> None:
    batch = random_batch(seed, steps, rows)
    advantage, returns = gae(batch, gamma, lam)
    for t in range(steps):
        for row in range(rows):
            expected = written_out(batch, row, t, gamma, lam) if batch.valid[t, row] else 0.0
            assert abs(float(advantage[t, row]) - expected) < 1e-4
    assert torch.equal(returns, advantage + batch.value)


def test_compiled_and_plain_gae_give_the_same_bytes() -> None:
    batch = random_batch(3, 20, 7)
    advantage, _ = gae(batch, 0.99, 0.95)
    plain = np.zeros((20, 7), np.float32)
    names = ("reward", "value", "last_value", "bootstrap", "valid", "terminated", "truncated")
    gae_kernel.py_func(*(getattr(batch, name).numpy() for name in names), 0.99, 0.95, plain)
    assert plain.tobytes() == advantage.numpy().tobytes()


def test_an_end_has_no_future_and_a_cut_has_one() -> None:
    batch = make_batch(ROLE, 2, 1, 0)
    batch.valid[:] = True
    batch.bootstrap[:] = 10.0
    batch.last_value[:] = 99.0
    batch.terminated[0, 0] = True
    batch.truncated[0, 1] = True
    advantage, _ = gae(batch, 0.5, 1.0)
    assert advantage.tolist() == [[0.0, 5.0]]
