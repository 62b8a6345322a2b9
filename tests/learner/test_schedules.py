"""Schedules: counted in iterations, never 0 at the first step, falling to the end, warm-up first."""

from __future__ import annotations

import dataclasses
from itertools import pairwise

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from holdfast.config.sections import LearnerConfig
from holdfast.learner.optim import FlatAdam
from holdfast.learner.schedules import pace, rate, rises_again


def test_rates_fall_over_the_run() -> None:
    assert [rate("linear", 0, k, 4) for k in range(4)] == [1.0, 0.75, 0.5, 0.25]
    assert [round(rate("cosine", 0, k, 4), 6) for k in (0, 2, 4)] == [1.0, 0.5, 0.0]
    assert rate("constant", 0, 3, 4) == 1.0


def test_a_warm_up_rises_to_the_full_rate_and_the_rest_of_the_run_falls_from_it() -> None:
    assert [rate("linear", 2, k, 10) for k in range(4)] == [0.5, 1.0, 1.0, 0.875]


def test_a_rate_may_fall_once_before_and_then_be_what_it_would_have_been() -> None:
    assert [rate("linear", 0, k, 8, 0.5) for k in range(8)] == [1.0, 0.75, 0.5, 0.25, 0.5, 0.375, 0.25, 0.125]
    assert [rate("linear", 1, k, 9, 0.33) for k in (0, 1, 5, 6)] == [1.0, 1.0, pytest.approx(0.2), 0.375]
    restarted = LearnerConfig(lr=0.1, lr_restart=0.25, entropy=0.3, entropy_final=0.1)
    plain = dataclasses.replace(restarted, lr_restart=0.0)
    assert pace(restarted, 6, 8) == pace(plain, 6, 8) and pace(restarted, 5, 8).lr < pace(plain, 5, 8).lr
    assert pace(restarted, 5, 8).entropy == pace(plain, 5, 8).entropy


@given(st.sampled_from(["linear", "cosine"]), st.integers(1, 300), st.floats(0.0, 0.8))
def test_whether_a_rate_will_rise_again_is_known_before(schedule: str, iterations: int, restart: float) -> None:
    rates = [rate(schedule, 0, k, iterations, restart) for k in range(iterations)]
    assert rises_again(iterations, restart) == any(later > earlier + 1e-12 for earlier, later in pairwise(rates))


@given(
    st.sampled_from(["linear", "cosine", "constant"]),
    st.integers(1, 500),
    st.floats(0.0, 0.8),
    st.data(),
)
def test_every_step_of_a_run_has_a_rate_above_zero_and_at_most_one(
    schedule: str, iterations: int, restart: float, data: st.DataObject
) -> None:
    warmup = data.draw(st.integers(0, iterations // 5))
    iteration = data.draw(st.integers(0, iterations - 1))
    assert 0.0 < rate(schedule, warmup, iteration, iterations, restart) <= 1.0


def test_the_entropy_bonus_goes_from_start_to_final() -> None:
    config = LearnerConfig(entropy=0.01, entropy_final=0.002)
    assert [round(pace(config, k, 8).entropy, 6) for k in (0, 4, 8)] == [0.01, 0.006, 0.002]
    assert pace(LearnerConfig(entropy=0.01), 7, 8).entropy == 0.01


def test_the_entropy_bonus_may_reach_its_end_early_and_stays_there() -> None:
    short = LearnerConfig(entropy=0.04, entropy_final=0.0004, entropy_share=0.5)
    whole = dataclasses.replace(short, entropy_share=1.0)
    assert [pace(short, k, 8).entropy for k in range(5)] == [pace(whole, 2 * k, 8).entropy for k in range(5)]
    assert [pace(short, k, 8).entropy for k in range(5, 9)] == pytest.approx([0.0004] * 4)


def test_weight_decay_is_torchs_adamw_on_matrices_alone() -> None:
    def net() -> nn.Sequential:
        torch.manual_seed(0)
        return nn.Sequential(nn.Linear(3, 5), nn.Tanh(), nn.Linear(5, 2))

    ours, theirs = net(), net()
    flat = FlatAdam(ours, 1e-5, weight_decay=0.1)
    matrices = [parameter for parameter in theirs.parameters() if parameter.dim() > 1]
    rest = [parameter for parameter in theirs.parameters() if parameter.dim() == 1]
    groups = [{"params": matrices, "weight_decay": 0.1}, {"params": rest, "weight_decay": 0.0}]
    adam = torch.optim.AdamW(groups, lr=0.01, eps=1e-5)
    for step in range(3):
        x = torch.from_numpy(np.random.default_rng(step).normal(size=(9, 3))).float()
        flat.zero()
        (ours(x) ** 2).mean().backward()
        flat.step(0.01, 0.0)
        adam.zero_grad()
        (theirs(x) ** 2).mean().backward()
        adam.step()
    for mine, other in zip(ours.parameters(), theirs.parameters(), strict=True):
        assert torch.allclose(mine, other, atol=1e-6)


@pytest.mark.parametrize("count", [2, 3])
def test_gathering_makes_means(count: int) -> None:
    flat = FlatAdam(nn.Linear(2, 1), 1e-5)
    for number in range(1, count + 1):
        flat.gradients.fill_(float(number))
        flat.accumulate(number)
    assert torch.allclose(flat.gradients, torch.full_like(flat.gradients, (count + 1) / 2))
