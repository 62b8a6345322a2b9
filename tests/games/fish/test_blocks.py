"""Large schools: blocks of fish give every fish the neighbours and the numbers that comparing all pairs gives it."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from holdfast.games.fish.world.blocks import look_around_blocks
from holdfast.games.fish.world.curve import RANKS, SIDE
from holdfast.games.fish.world.fish import Fish, FishSettings
from holdfast.games.fish.world.school import LARGE_SCHOOL, POOL_RADIUS
from holdfast.games.fish.world.sight import look_around
from holdfast.worlds.api import Plan, random_policy

School = tuple[np.ndarray, np.ndarray, np.ndarray]


def both(school: School, pool: float = POOL_RADIUS) -> tuple[np.ndarray, np.ndarray]:
    plain, blocks = np.zeros((len(school[2]), 7)), np.zeros((len(school[2]), 7))
    look_around(*school, plain)
    look_around_blocks(*school, pool, blocks)
    return plain, blocks


def swum(fish: int, steps: int, pool: float = POOL_RADIUS) -> School:
    world = Fish(FishSettings(fish=fish, neighbours=False, pool_radius=pool), lanes=1, seed=5)
    world.reset()
    for _ in range(steps):
        world.step(random_policy(world))
    return world.state.fish_pos[0], world.state.fish_vel[0], world.fish.alive[0]


def scattered(fish: int, spread: float, seed: int) -> School:
    generator = np.random.default_rng(seed)
    position = np.clip(generator.normal(0, spread, (fish, 2)), -7, 7).astype(np.float32)
    return position, generator.uniform(-1.4, 1.4, (fish, 2)).astype(np.float32), generator.random(fish) < 0.8


@pytest.mark.parametrize("radius", [5.0, 40.0, 200.0])
def test_schools_in_other_pools_see_the_same(radius: float) -> None:
    plain, blocks = both(swum(600, 30, radius), radius)
    assert np.array_equal(plain[:, 0], blocks[:, 0])
    np.testing.assert_allclose(plain, blocks, atol=2e-6)


@pytest.mark.parametrize(("fish", "steps"), [(128, 0), (200, 40), (400, 0), (1500, 60), (3000, 0)])
def test_swimming_schools_see_the_same(fish: int, steps: int) -> None:
    plain, blocks = both(swum(fish, steps))
    assert np.array_equal(plain[:, 0], blocks[:, 0])
    np.testing.assert_allclose(blocks, plain, rtol=0, atol=5e-6)


@pytest.mark.parametrize("fish", [0, 1, 2, 7, 15, 16, 17, 63, 64, 65, 129])
def test_any_number_of_fish_will_do(fish: int) -> None:
    for spread in (0.1, 1.5, 20.0):
        plain, blocks = both(scattered(fish, spread, fish))
        assert np.array_equal(plain[:, 0], blocks[:, 0])
        np.testing.assert_allclose(blocks, plain, rtol=0, atol=1e-6)


def test_fish_in_one_place_and_at_the_very_edge_of_reach() -> None:
    """On a grid of half units many pairs are exactly 3 apart, many tie for the sixth place, and some coincide."""
    side = np.arange(-12, 13) * 0.5
    grid = np.stack(np.meshgrid(side, side), axis=2).reshape(-1, 2)
    position = np.concatenate([grid, grid[::7]]).astype(np.float32)
    velocity = np.tile(np.array([[0.5, -0.25]], np.float32), (len(position), 1))
    plain, blocks = both((position, velocity, np.ones(len(position), np.bool_)))
    assert np.array_equal(plain[:, 0], blocks[:, 0])
    np.testing.assert_allclose(blocks, plain, rtol=0, atol=1e-6)


def test_speeds_that_are_all_alike_have_no_spread() -> None:
    """Half of the pool swims at one speed and half at another: a variance from sums in single precision would show."""
    position, _, alive = scattered(1000, 2.5, 1)
    speed = np.where(position[:, :1] < 0, np.float32(1.9), np.float32(0.1))
    plain, blocks = both((position, np.concatenate([speed, 0 * speed], axis=1), alive))
    lonely = alive & (np.abs(position[:, 0]) > 3.0)
    assert lonely.sum() > 50
    assert blocks[lonely, 5].max() < 1e-6
    np.testing.assert_allclose(blocks, plain, rtol=0, atol=5e-6)


def test_the_definition_holds_in_a_large_school() -> None:
    position, velocity, alive = swum(2000, 30)
    _, blocks = both((position, velocity, alive))
    for i in np.flatnonzero(alive)[::97]:
        others = alive.copy()
        others[i] = False
        relative = (position[others] - position[i]).astype(float)
        distance = np.linalg.norm(relative, axis=1)
        order = np.argsort(distance)
        near = order[distance[order] <= 3.0]
        swims = velocity[others][near].astype(float)
        speed = np.linalg.norm(swims, axis=1)
        away = (swims * relative[near]).sum(axis=1) / np.maximum(distance[near], 1e-6)
        six = relative[near[:6]].mean(axis=0) / 3
        expected = [near.size, *six, distance[near[0]] / 3, speed.mean() / 2, speed.std() / 2, away.mean() / 2]
        np.testing.assert_allclose(blocks[i], expected, atol=2e-6)


def test_plain_python_gives_the_same_bytes(tmp_path: Path) -> None:
    school = scattered(150, 2.0, 3)
    np.savez(tmp_path / "school.npz", *school)
    program = (
        "import sys, numpy as np\n"
        "from holdfast.games.fish.world.blocks import look_around_blocks\n"
        "school = list(np.load(sys.argv[1]).values())\n"
        "crowd = np.zeros((len(school[2]), 7))\n"
        "look_around_blocks(*school, 10.0, crowd)\n"
        "np.save(sys.argv[2], crowd)\n"
    )
    words = [sys.executable, "-c", program, str(tmp_path / "school.npz"), str(tmp_path / "crowd.npy")]
    subprocess.run(words, env={**os.environ, "NUMBA_DISABLE_JIT": "1"}, check=True)
    assert np.load(tmp_path / "crowd.npy").tobytes() == both(school)[1].tobytes()


def test_the_method_depends_on_the_size_of_the_school_alone() -> None:
    """A school is the same alone and among others, in a pool of its size and in a larger one."""
    small = Fish(FishSettings(fish=LARGE_SCHOOL), lanes=1, seed=4)
    large = Fish(FishSettings(fish=LARGE_SCHOOL + 30), lanes=3, seed=9, threads=2)
    small.reset(keys=np.array([77], np.uint64))
    large.plan(np.array([1]), Plan({"fish": LARGE_SCHOOL}))
    large.reset(keys=np.array([5, 77, 6], np.uint64))
    for _ in range(5):
        assert np.array_equal(small.fish.obs[0], large.fish.obs[1, :LARGE_SCHOOL])
        small.step({"fish": np.zeros((1, LARGE_SCHOOL), np.int64)})
        large.step({"fish": np.zeros((3, LARGE_SCHOOL + 30), np.int64)})


def test_the_curve_visits_every_cell_and_moves_to_a_neighbour_each_time() -> None:
    order = np.argsort(RANKS)
    assert np.array_equal(np.sort(RANKS), np.arange(SIDE * SIDE))
    column, row = order // SIDE, order % SIDE
    assert (np.abs(np.diff(column)) + np.abs(np.diff(row)) == 1).all()
