"""Replay: both samplers draw what the priorities say, the ring keeps the newest, and nothing stale is believed."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.config.checks import check_against_world
from holdfast.config.reading import load_config
from holdfast.config.sections import ReplayConfig
from holdfast.kit.errors import ConfigError, NonFinite
from holdfast.learner.batch import Batch
from holdfast.learner.learner import Learner
from holdfast.learner.replay import LEAST_PRIORITY, SAMPLERS, Replay, Rows, Sampled, capacity_of, row_kinds
from holdfast.learner.schedules import Pace
from holdfast.learner.update import update
from holdfast.learner.vtrace import ReplayLesson
from holdfast.views.dry_run import spec_of
from tests.learner.test_advantages import ROLE
from tests.learner.test_vtrace import acted_batch, learner


def chances(count: int, seed: int = 0) -> torch.Tensor:
    return torch.rand(count, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("sampler", SAMPLERS)
@pytest.mark.parametrize("alpha", [0.0, 0.6, 1.0])
def test_draws_follow_the_priorities(sampler: str, alpha: float) -> None:
    priority = np.random.default_rng(1).exponential(size=200).astype(np.float32)
    expected = priority.astype(float) ** alpha / (priority.astype(float) ** alpha).sum()
    places, chance = SAMPLERS[sampler](priority, alpha, chances(100_000))
    assert np.allclose(chance, expected[places])
    counts = np.bincount(places, minlength=200)
    chi2 = ((counts - 1e5 * expected) ** 2 / (1e5 * expected)).sum()
    assert 120 < chi2 < 290  # 199 degrees of freedom: 199 +- 20


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 300))
def test_both_samplers_draw_the_same_places(seed: int, size: int) -> None:
    priority = np.random.default_rng(seed).exponential(size=size).astype(np.float32) + LEAST_PRIORITY
    found = [sampler(priority, 0.6, chances(64, seed % 1000))[0] for sampler in SAMPLERS.values()]
    assert np.array_equal(found[0], found[1]) and found[0].max() < size


def rows(values: np.ndarray, born: int = 0) -> Rows:
    count = len(values)
    obs = np.repeat(values[:, None], 2, 1).astype(np.float32)
    whole = (
        np.zeros(count, np.int64),
        values,
        values,
        obs,
        np.ones(count, np.bool_),
        np.full(count, born),
        np.ones(count),
    )
    return Rows(obs, *whole)


def replay(**options: object) -> Replay:
    config = ReplayConfig(capacity=1024, batch=32, **options)  # type: ignore[arg-type]
    return Replay(ROLE, config, torch.Generator().manual_seed(3))


@given(st.lists(st.integers(1, 1500), min_size=1, max_size=5))
@settings(max_examples=20, deadline=None)
def test_the_ring_keeps_the_newest(sizes: list[int]) -> None:
    one, everything = replay(fp16_scalars=False), np.empty(0)
    for size in sizes:
        new = np.arange(len(everything), len(everything) + size)
        everything = np.append(everything, new)
        one.push(rows(new))
    assert one.rows is not None
    assert sorted(one.rows.reward[: one.size]) == everything[-1024:].tolist()
    assert one.pushed == len(everything) and one.updates == len(sizes)


def test_capacity_obeys_the_memory_limit_but_not_below_what_is_drawn_from() -> None:
    row = sum(int(np.prod(shape)) * kind.itemsize for shape, kind in row_kinds(ROLE, ReplayConfig()).values())
    assert capacity_of(ROLE, ReplayConfig()) == 200_000
    assert capacity_of(ROLE, ReplayConfig(max_gb=row * 5000 / 1e9)) == 5000
    assert capacity_of(ROLE, ReplayConfig(max_gb=0.001, capacity=1024, batch=4000)) == 8000


def test_what_half_precision_cannot_hold_stops_the_run_by_name() -> None:
    with pytest.raises(NonFinite, match=r"log_prob of a player .* 70000.*fp16_scalars = false"):
        replay().push(rows(np.array([1.0, 70_000.0])))
    replay(fp16_scalars=False).push(rows(np.array([1.0, 70_000.0])))


def test_rows_that_are_too_old_weigh_nothing_and_rare_ones_weigh_most() -> None:
    one = replay(max_age=2, alpha=1.0)
    one.push(rows(np.arange(50.0), born=0))
    for born in (1, 2):
        one.push(rows(np.arange(50.0), born=born))
    one.set_priority(np.arange(50, 100), np.full(50, 9.0))
    drawn = one.sample(beta=1.0)
    assert set(drawn.age) == {1, 2, 3}
    assert (drawn.weight[drawn.age > 2] == 0.0).all()
    often = drawn.weight[drawn.age == 2]
    assert np.allclose(often, 1 / 9, rtol=1e-4) and drawn.weight.max() == 1.0


def test_a_restored_replay_draws_what_the_first_would_have() -> None:
    one, other = replay(), replay()
    for born in range(3):
        one.push(rows(np.random.default_rng(born).normal(size=500), born))
    one.sample(0.5)
    other.restore({name: array.copy() for name, array in one.arrays().items()})
    first, second = one.sample(0.5), other.sample(0.5)
    assert np.array_equal(first.places, second.places) and np.array_equal(first.rows.reward, second.rows.reward)
    one.push(rows(np.ones(60)))
    other.push(rows(np.ones(60)))
    assert all(np.array_equal(a, b) for a, b in zip(one.arrays().values(), other.arrays().values(), strict=True))


def drawn_rows(one: Learner, count: int = 8) -> Sampled:
    generator = np.random.default_rng(4)
    given_rows = Rows(
        obs=generator.normal(size=(count, 2)).astype(np.float32),
        actions=generator.integers(0, 2, count),
        log_prob=-generator.random(count),
        reward=generator.normal(size=count),
        next_obs=generator.normal(size=(count, 2)).astype(np.float32),
        goes_on=np.arange(count) % 3 > 0,
        born=np.zeros(count, np.int64),
        priority=np.ones(count),
    )
    return Sampled(np.arange(count), given_rows, generator.random(count), np.ones(count))


def test_ratio_values_and_advantage_are_of_now_and_new_priorities_are_the_new_surprise() -> None:
    one = learner("torch", normalize_returns=False, normalize_observations=False)
    one.replay = replay()
    one.replay.push(rows(np.zeros(40)))
    drawn = drawn_rows(one)
    for shift in (0.0, 3.0):  # the value network changes its mind: so does what a step is worth
        with torch.no_grad():
            one.policy.value_layer.bias.fill_(shift)
            output = one.policy(torch.from_numpy(drawn.rows.obs), torch.zeros(0), torch.zeros(0))
            following = one.policy(torch.from_numpy(drawn.rows.next_obs), torch.zeros(0), torch.zeros(0))
            log_p = torch.log_softmax(output.actions, 1).double().numpy()[np.arange(8), drawn.rows.actions]
        value, after = output.value.double().numpy(), following.value.double().numpy()
        rho = np.minimum(1.0, np.exp(log_p - drawn.rows.log_prob))
        surprise = rho * (drawn.rows.reward + one.config.gamma * drawn.rows.goes_on * after - value)
        expected = -(drawn.weight * surprise / 2.0 * log_p).mean() + 0.5 * (drawn.weight * surprise**2).mean()
        found = ReplayLesson(one, one.replay)._loss(drawn, spread=2.0)
        assert float(found.detach()) == pytest.approx(expected, abs=1e-5)
        assert one.replay.rows is not None
        assert np.allclose(one.replay.rows.priority[:8], np.abs(surprise) + LEAST_PRIORITY, atol=1e-5)
    assert (rho < 1.0).any() and (rho == 1.0).any()


def replayable(batch: Batch) -> torch.Tensor:
    """Steps whose next sight is in the batch, or that ended their episode."""
    chosen = batch.learned & ~batch.truncated
    chosen[-1] &= batch.terminated[-1]
    return chosen


def test_every_step_is_kept_with_the_sight_that_followed_it() -> None:
    one = learner("torch")
    one.replay = replay()
    batch = acted_batch(one)
    update(one, batch, Pace(1e-2, 0.0, 0.0), torch.Generator().manual_seed(0))
    kept, raw = one.replay.rows, batch.raw_obs(torch.ones_like(batch.learned)).view(batch.steps, batch.rows, -1)
    assert kept is not None and one.replay.size == int(replayable(batch).sum()) > 0
    for place, (t, row) in enumerate(torch.nonzero(replayable(batch)).tolist()):
        assert kept.goes_on[place] == (not bool(batch.terminated[t, row]))
        assert np.allclose(kept.obs[place], raw[t, row].numpy())
        if kept.goes_on[place]:
            assert np.allclose(kept.next_obs[place], raw[t + 1, row].numpy())
    assert not kept.goes_on[: one.replay.size].all()


@pytest.mark.parametrize("engine", ["torch", "fused"])
def test_every_update_pushes_and_only_due_ones_replay(engine: str) -> None:
    one = learner(engine)
    one.replay = Replay(ROLE, ReplayConfig(capacity=1024, batch=16, interval=2), torch.Generator().manual_seed(3))
    batch, found = acted_batch(one), []
    for number in range(4):
        found.append(update(one, batch, Pace(1e-2, 0.0, number / 4), torch.Generator().manual_seed(number)).measured())
    learned = int(replayable(batch).sum())
    assert [result["replay_size"] for result in found] == [learned * k for k in (1, 2, 3, 4)]
    assert ["replay_loss" in result for result in found] == [False, False, True, False]
    assert found[2]["replay_beta"] == pytest.approx(0.4 + 0.6 * 0.5)
    assert found[2]["replay_age_p50"] in (1.0, 1.5, 2.0) and 0.0 < found[2]["replay_unique"] <= 1.0


def test_replayed_observations_are_seen_through_todays_scale() -> None:
    one = learner("torch")
    one.replay = replay()
    batch = acted_batch(one)
    batch.scale.copy_(torch.tensor([[1.0, 2.0], [0.5, 4.0]]))
    update(one, batch, Pace(1e-2, 0.0, 0.0), torch.Generator().manual_seed(0))
    assert one.replay.rows is not None
    expected = batch.obs.flatten(0, 1)[replayable(batch).flatten()] * batch.scale[1] + batch.scale[0]
    assert np.allclose(one.replay.rows.obs[: one.replay.size], expected.numpy(), atol=1e-5)


def test_replay_is_refused_where_it_cannot_work() -> None:
    words = ["--learner", "vtrace", "--learner.replay", "true", "--policy.core", "gru"]
    config, explicit = load_config("template", words)
    with pytest.raises(ConfigError, match=r"learner\.replay = true replays single steps, policy\.core = gru needs"):
        check_against_world(config, explicit, spec_of(config))
    with pytest.raises(ConfigError, match=r"learner\.replay has no effect while learner\.algorithm is ppo"):
        load_config("template", ["--learner.replay", "true"])
    with pytest.raises(ConfigError, match=r"replay\.alpha has no effect while learner\.replay is False"):
        load_config("template", ["--learner", "vtrace", "--replay.alpha", "0.5"])
