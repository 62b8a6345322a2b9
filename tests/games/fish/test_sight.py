"""Observations against a plain NumPy version that follows their definition, one fish at a time."""

import numpy as np

from holdfast.games.fish.world.fish import Fish, FishSettings
from holdfast.worlds.api import Plan

VISION = 10 / 3


def own_numbers(world: Fish, lane: int, i: int) -> list[float]:
    p, v = (array[lane, i].astype(float) for array in (world.state.fish_pos, world.state.fish_vel))
    to_predator = world.state.pred_pos[lane] - p
    d = np.linalg.norm(to_predator)
    seen = [1.0, *(to_predator / VISION), *(world.state.pred_vel[lane] / 2), d / VISION]
    return [*(p / 10), *(v / 2), (10 - np.linalg.norm(p)) / 10, *(seen if d < VISION else [0.0] * 6)]


def crowd_numbers(world: Fish, lane: int, i: int) -> list[float]:
    others = world.fish.alive[lane].copy()
    others[i] = False
    relative = (world.state.fish_pos[lane, others] - world.state.fish_pos[lane, i]).astype(float)
    distance = np.linalg.norm(relative, axis=1)
    order = np.argsort(distance)
    near = order[distance[order] <= 3.0]
    if near.size == 0:
        return [0.0] * 7
    velocity = world.state.fish_vel[lane, others][near].astype(float)
    speed = np.linalg.norm(velocity, axis=1)
    radial = (velocity * relative[near]).sum(axis=1) / np.maximum(distance[near], 1e-6)
    mean_x, mean_y = relative[near[:6]].mean(axis=0) / 3
    nearest = distance[near[0]] / 3
    return [min(near.size / 6, 1), mean_x, mean_y, nearest, speed.mean() / 2, speed.std() / 2, radial.mean() / 2]


def swum(world: Fish, steps: int) -> Fish:
    world.reset()
    for _ in range(steps):
        world.step(world.yardsticks()["random"](world))
    return world


def test_all_fish_see_what_the_definition_says() -> None:
    for steps, fish in ((0, 40), (30, 40), (120, 17), (3, 2)):
        world = swum(Fish(FishSettings(fish=fish), lanes=3, seed=8), steps)
        for lane, i in np.argwhere(world.fish.alive):
            expected = own_numbers(world, lane, i) + crowd_numbers(world, lane, i)
            np.testing.assert_allclose(world.fish.obs[lane, i], expected, atol=2e-6)
        assert not world.fish.obs[~world.fish.alive].any()


def test_without_neighbours_the_first_eleven_remain() -> None:
    full = swum(Fish(FishSettings(fish=20), lanes=4, seed=2), 25)
    short = swum(Fish(FishSettings(fish=20, neighbours=False), lanes=4, seed=2), 25)
    assert short.fish.obs.shape == (4, 20, 11)
    assert np.array_equal(full.fish.obs[..., :11], short.fish.obs)


def test_an_absent_fish_is_nobodys_neighbour() -> None:
    small = swum(Fish(FishSettings(fish=6), lanes=4, seed=2), 0)
    large = Fish(FishSettings(fish=30), lanes=4, seed=2)
    large.plan(np.arange(4), Plan({"fish": 6}))
    swum(large, 0)
    assert np.array_equal(small.fish.obs, large.fish.obs[:, :6])


def test_last_sight_of_a_cut_episode_is_what_a_longer_one_sees() -> None:
    cut = swum(Fish(FishSettings(fish=12, steps=20), lanes=3, seed=4), 20)
    uncut = swum(Fish(FishSettings(fish=12, steps=21), lanes=3, seed=4), 20)
    assert cut.truncated.all()
    assert np.array_equal(cut.fish.final_obs, uncut.fish.obs)
    assert np.array_equal(cut.fish.final_alive, uncut.fish.alive)
