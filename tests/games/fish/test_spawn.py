"""Where an episode begins: the distributions of the original program, and draws addressed by fish."""

import numpy as np
import pytest

from holdfast.games.fish.world.fish import Fish, FishSettings
from holdfast.games.fish.world.spawn import HEADING_EDGES, HEADING_WEIGHTS, from_bins
from holdfast.worlds.api import Plan

SPAWNS = 4000


def spawned(lanes: int = SPAWNS, fish: int = 8, **options: float | bool) -> Fish:
    world = Fish(FishSettings(fish=fish, neighbours=False, **options), lanes=lanes, seed=3)  # type: ignore[arg-type]
    world.reset()
    return world


@pytest.fixture(scope="module")
def spawns() -> Fish:
    return spawned()


def radius(points: np.ndarray) -> np.ndarray:
    return np.hypot(points[..., 0], points[..., 1])


def degrees(world: Fish) -> np.ndarray:
    return np.degrees(world.state.start[:, 0]) % 360.0


def test_predator_begins_as_in_the_original(spawns: Fish) -> None:
    distance = radius(spawns.state.pred_pos)
    assert distance.mean() == pytest.approx(1.91, abs=0.04)
    assert np.percentile(distance, 90) == pytest.approx(2.84, abs=0.06)
    heading = degrees(spawns)
    assert np.mean((heading > 60) & (heading < 120)) == pytest.approx(0.5, abs=0.04)


def test_predator_speed_is_drawn_from_its_bins_and_drifts_once(spawns: Fish) -> None:
    # The bins' mean is 1.219; the drift of the last pre-roll step adds at most 0.05 to it.
    assert np.allclose(spawns.state.start[:, 1], radius(spawns.state.pred_vel), atol=1e-6)
    assert spawns.state.start[:, 1].mean() == pytest.approx(1.255, abs=0.035)
    assert spawns.state.start[:, 1].max() <= 3.05


def test_predator_drifts_upwards() -> None:
    world = spawned(lanes=1000, fish=1, spawn_clearance=5.0)
    height = np.zeros((500, world.lanes))
    swimming = np.ones((500, world.lanes), np.bool_)  # a school of one that is caught begins anew
    for step in range(500):
        world.step({"fish": np.full((world.lanes, 1), 3)})
        swimming[step:] &= ~world.terminated
        height[step] = world.state.pred_pos[:, 1]
    means = [height[first:last][swimming[first:last]].mean() for first, last in ((0, 50), (150, 250), (400, 499))]
    assert means == pytest.approx([3.5, 6.3, 8.5], abs=0.3)
    assert np.mean(height[50:499][swimming[50:499]] < 0.0) < 0.012


@pytest.mark.parametrize(("bins", "shares"), [(7, (0.203, 0.024, 0.773, 0.0)), (8, (0.172, 0.020, 0.658, 0.149))])
def test_the_lost_sector_is_drawn_only_when_the_bias_is_fixed(bins: int, shares: tuple[float, ...]) -> None:
    grid = (np.arange(100) + 0.5) / 100
    headings = [from_bins(HEADING_EDGES, HEADING_WEIGHTS, bins, choice, place) for choice in grid for place in grid]
    found = np.histogram(headings, [0, 60, 90, 120, 150, 330, 360])[0] / len(headings)
    assert [found[0], found[2:4].sum(), found[1] + found[4], found[5]] == pytest.approx(shares, abs=0.011)


def test_fixing_the_bias_changes_the_predator_and_no_fish() -> None:
    before, after = spawned(lanes=500), spawned(lanes=500, heading_bias_fixed=True)
    assert not np.array_equal(before.state.pred_vel, after.state.pred_vel)
    assert np.array_equal(before.state.fish_pos, after.state.fish_pos)


def test_fish_begin_uniform_in_radius_and_swim_outwards(spawns: Fish) -> None:
    position, velocity = spawns.state.fish_pos, spawns.state.fish_vel
    assert np.percentile(radius(position), [25, 50, 75]) == pytest.approx([2, 4, 6], abs=0.15)
    assert radius(position).max() <= 8.0
    assert np.allclose(radius(velocity), 1.5, atol=1e-6)
    outwards = (position * velocity).sum(axis=2) / (radius(position) * radius(velocity))
    assert np.arccos(np.clip(outwards, -1, 1)).std() == pytest.approx(0.35 * np.sqrt(1 - 2 / np.pi), abs=0.02)


def test_without_boost_fish_swim_anywhere() -> None:
    world = spawned(boost=0.0)
    assert radius(world.state.fish_vel).mean() == pytest.approx(0.5, abs=0.02)
    assert (world.state.fish_pos * world.state.fish_vel).sum(axis=2).mean() == pytest.approx(0.0, abs=0.05)


def test_clearance_keeps_fish_away_and_moves_no_other(spawns: Fish) -> None:
    cleared = spawned(spawn_clearance=1.4)
    distance = radius(cleared.state.fish_pos - cleared.state.pred_pos[:, None])
    assert distance.min() >= 1.4 - 1e-6
    was_clear = radius(spawns.state.fish_pos - spawns.state.pred_pos[:, None]) > 1.4 + 1e-6
    assert np.array_equal(cleared.state.fish_pos[was_clear], spawns.state.fish_pos[was_clear])


def test_fish_are_the_same_in_a_small_and_a_large_school() -> None:
    keys = np.arange(1, 6, dtype=np.uint64)
    small, large = spawned(lanes=5, fish=15), spawned(lanes=5, fish=96)
    planned = spawned(lanes=5, fish=96)
    small.reset(keys=keys)
    large.reset(keys=keys)
    planned.reset(plan=Plan({"fish": 15}), keys=keys)
    for other in (large, planned):
        assert np.array_equal(small.state.fish_pos, other.state.fish_pos[:, :15])
        assert np.array_equal(small.state.fish_vel, other.state.fish_vel[:, :15])
        assert np.array_equal(small.state.pred_vel, other.state.pred_vel)
