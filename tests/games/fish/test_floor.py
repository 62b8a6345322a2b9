"""The floor against all plans played out in the real world, and against the values of the original program."""

from itertools import product

import numpy as np
import pytest

from holdfast.games.fish.world import floor
from holdfast.games.fish.world.fish import Fish, FishSettings
from holdfast.games.fish.world.floor import doomed_fish, spawn_floor
from holdfast.kit.errors import WorldError

EPISODES = 400
KEYS = np.arange(1, EPISODES + 1, dtype=np.uint64)


def crowded(rules: str, key: int, fish: int = 30) -> Fish:
    """A school of which most fish begin within reach of the predator or just outside."""
    world = Fish(FishSettings(rules=rules, fish=fish, neighbours=False), lanes=1, seed=key)  # type: ignore[arg-type]
    world.reset()
    generator = np.random.default_rng(key)
    angle, distance = generator.uniform(0, 2 * np.pi, fish), generator.uniform(0.4, 1.4, fish)
    around = np.stack([np.cos(angle), np.sin(angle)], axis=1) * distance[:, None]
    world.state.fish_pos[0] = world.state.pred_pos[0] + around
    world.state.fish_vel[0] = generator.uniform(-1.4, 1.4, (fish, 2))
    return world


def dead_under_every_plan(world: Fish, depth: int) -> np.ndarray:
    """One lane per plan, followed by all its fish alike: they do not touch, so each fish tries every plan."""
    plans = np.array(list(product(range(5), repeat=depth)))  # [5 ** depth, depth]
    trial = Fish(world.settings, lanes=len(plans), seed=99)
    trial.load(np.arange(len(plans)), world.save(np.array([0])))
    alive = trial.fish.alive.copy()
    for step in range(depth):
        trial.step({"fish": np.repeat(plans[:, step, None], world.settings.fish, axis=1)})
        ended = trial.terminated | trial.truncated
        alive &= np.where(ended[:, None], trial.fish.final_alive, trial.fish.alive)
    return world.fish.alive[0] & ~alive.any(axis=0)


@pytest.mark.parametrize("rules", ["classic", "hunt"])
def test_one_step_ahead_it_is_what_trying_every_action_shows(rules: str) -> None:
    found = 0
    for key in range(1, 21):
        world = crowded(rules, key)
        expected = dead_under_every_plan(world, 1)
        assert np.array_equal(doomed_fish(world)[0], expected)
        found += expected.sum()
    assert 20 < found < 580


def test_further_ahead_it_is_what_trying_every_plan_shows() -> None:
    later = 0
    for key in range(1, 13):
        world = crowded("classic", key)
        for depth in (2, 4):
            expected = dead_under_every_plan(world, depth)
            assert np.array_equal(doomed_fish(world, depth)[0], expected)
        later += (expected & ~doomed_fish(world)[0]).sum()
    assert later > 0  # some live through the first step and can still not get away


def test_the_dead_and_the_absent_are_not_doomed() -> None:
    world = crowded("classic", 1)
    before = doomed_fish(world)[0]
    world.fish.alive[0, ::2] = False
    world.state.n_fish[0] = 21
    expected = before.copy()
    expected[::2] = False
    expected[21:] = False
    assert np.array_equal(doomed_fish(world)[0], expected)


def test_nobody_dies_after_the_limit() -> None:
    world = crowded("classic", 1)
    world.state.step_limit[0] = 1
    assert np.array_equal(doomed_fish(world, 5), doomed_fish(world, 1))


def test_share_is_that_of_the_original() -> None:
    """One episode's standard deviation is 1.6 fish, so that of the share over 400 episodes is 0.0008."""
    settings = FishSettings(fish=96, neighbours=False)
    one, five, twenty = (spawn_floor(settings, KEYS, depth) for depth in (1, 5, 20))
    assert one.doomed.sum() / one.n_fish.sum() == pytest.approx(0.0167, abs=0.0025)
    assert five.doomed.sum() / five.n_fish.sum() == pytest.approx(0.0170, abs=0.0025)
    assert five.doomed.sum() > one.doomed.sum()
    assert np.array_equal(five.doomed, twenty.doomed)
    assert np.array_equal(five.doomed, spawn_floor(settings, KEYS).doomed)
    assert five.ceiling_avg == pytest.approx(1.0 - five.doomed.mean() / 96)
    assert five.ceiling_min == 1.0 - five.doomed.max() / 96


def test_clearance_removes_every_doomed_fish() -> None:
    settings = FishSettings(fish=96, neighbours=False, spawn_clearance=1.4)
    assert not spawn_floor(settings, KEYS).doomed.any()


def test_no_policy_is_better_than_the_ceiling() -> None:
    settings = FishSettings(fish=96, neighbours=False, steps=20)
    world = Fish(settings, lanes=100, seed=0)
    world.reset(keys=KEYS[:100])
    act = world.yardsticks()["dodge_shelter"]
    for _ in range(settings.steps):
        world.step(act(world))
    floor = spawn_floor(settings, KEYS[:100])
    assert (world.finished()["survival"] <= 1.0 - floor.doomed / 96).all()


def test_a_hunter_is_foreseen_one_step_only() -> None:
    with pytest.raises(WorldError, match="depth = 1"):
        doomed_fish(crowded("hunt", 1), 5)
    assert np.array_equal(
        spawn_floor(FishSettings(rules="hunt", fish=20), KEYS[:50]).doomed,
        spawn_floor(FishSettings(rules="hunt", fish=20), KEYS[:50], depth=1).doomed,
    )


def test_the_same_starts_are_searched_once(monkeypatch: pytest.MonkeyPatch) -> None:
    searched: list[int] = []

    def search(world: Fish, depth: int) -> np.ndarray:
        searched.append(depth)
        return doomed_fish(world, depth)

    monkeypatch.setattr(floor, "doomed_fish", search)
    floor._floor_of.cache_clear()
    settings, keys = FishSettings(fish=30, neighbours=False), KEYS[:20]
    first, again = spawn_floor(settings, keys), spawn_floor(FishSettings(fish=30, neighbours=False), keys.copy())
    assert searched == [5] and np.array_equal(first.doomed, again.doomed)
    spawn_floor(settings, keys, depth=1)
    spawn_floor(settings, keys[::-1])
    spawn_floor(settings, keys[:19])
    spawn_floor(FishSettings(fish=30, neighbours=False, boost=0.5), keys)
    assert searched == [5, 1, 5, 5, 5]
    with pytest.raises(ValueError, match="read-only"):
        first.doomed[0] = 0
