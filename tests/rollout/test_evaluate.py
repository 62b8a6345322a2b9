"""Evaluations: fixed seeds, one episode per key, independent of batch size, never touching the run."""

from __future__ import annotations

import numpy as np
import pytest

from holdfast.kit.intervals import bootstrap_mean, wilson
from holdfast.rollout import evaluate as module
from holdfast.rollout.evaluate import Evaluation, evaluation_keys, play_yardsticks, summary
from holdfast.worlds.api import random_policy
from holdfast.worlds.template.world import TrackSettings, optimal_return


def random_episodes(count: int) -> dict[str, np.ndarray]:
    evaluation = Evaluation("template", TrackSettings(), evaluation_keys(1, 0, count), 1)
    return evaluation.play(lambda world: random_policy).columns


def test_the_same_keys_give_the_same_episodes_in_any_batch_size(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = random_episodes(30)
    monkeypatch.setattr(module, "LANES_AT_ONCE", 7)
    pieces = random_episodes(30)
    for name in ("key", "length", "return", "arrived"):
        assert np.array_equal(whole[name], pieces[name])
    assert np.array_equal(whole["key"], evaluation_keys(1, 0, 30))


def test_blocks_of_seeds_do_not_overlap() -> None:
    assert not set(evaluation_keys(1, 0, 500)) & set(evaluation_keys(1, 1, 500))


def test_yardsticks_play_the_same_episodes_and_the_optimal_one_is_optimal() -> None:
    played = play_yardsticks(Evaluation("template", TrackSettings(), evaluation_keys(9, 0, 2000), 1))
    assert played.keys() == {"random", "optimal"}
    best = summary(played["optimal"], "return")
    assert best.low - 0.001 <= optimal_return(TrackSettings()) <= best.high + 0.001
    assert summary(played["random"], "return").high < best.low


def test_wilson_against_published_values() -> None:
    # 95 % intervals from Newcombe (1998), table I, method 3
    assert wilson(81, 263) == pytest.approx((0.2553, 0.3662), abs=1e-4)
    assert wilson(15, 148) == pytest.approx((0.0624, 0.1605), abs=1e-4)
    assert wilson(0, 20) == pytest.approx((0.0, 0.1611), abs=1e-4)
    assert wilson(0, 0) == (0.0, 1.0)


def test_bootstrap_interval_covers_the_mean_of_its_source() -> None:
    generator = np.random.default_rng(0)
    hits = 0
    for _ in range(200):
        low, high = bootstrap_mean(generator.normal(2.0, 1.0, 30))
        hits += low <= 2.0 <= high
    assert 178 <= hits <= 199  # 95 % nominal, slightly less for 30 values
