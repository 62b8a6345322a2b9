"""Deaths, rewards, flags and the numbers of an ended episode, recomputed from what the buffers showed step by step."""

import numpy as np
import pytest

from holdfast.games.fish.world.fish import Fish, FishSettings
from holdfast.kit.errors import ConfigError
from holdfast.worlds.api import Plan

VISION = 10 / 3


def begun(lanes: int = 4, **options: object) -> Fish:
    world = Fish(FishSettings(**options), lanes=lanes, seed=6)  # type: ignore[arg-type]
    world.reset()
    return world


def random_step(world: Fish) -> None:
    world.step(world.yardsticks()["random"](world))


def alive_after(world: Fish) -> np.ndarray:
    """Who lived at the end of the last step, also where the lane then began anew."""
    ended = world.terminated | world.truncated
    return np.where(ended[:, None], world.fish.final_alive, world.fish.alive)


@pytest.mark.parametrize(("present", "steps"), [(30, 80), (9, 80), (1, 200)])
def test_ended_episode_is_what_the_buffers_showed(present: int, steps: int) -> None:
    world = Fish(FishSettings(fish=30, steps=steps), lanes=6, seed=6)
    world.reset(plan=Plan({"fish": present}))
    alive = world.fish.alive.copy()
    assert np.array_equal(alive.sum(axis=1), np.full(6, present))
    died = np.full(alive.shape, -1)
    earned = np.zeros(alive.shape)
    open_lanes = np.ones(6, np.bool_)
    for step in range(1, steps + 1):
        random_step(world)
        after = alive_after(world)
        died[open_lanes[:, None] & alive & ~after] = step
        earned[open_lanes] += world.fish.reward[open_lanes]
        table = world.finished()
        for row, lane in enumerate(table["lane"]):
            if open_lanes[lane]:
                deaths = died[lane][died[lane] > 0]
                assert np.array_equal(world.state.ended_death_step[lane], died[lane])
                assert table["length"][row] == step
                assert table["n_fish"][row] == present
                assert table["survival"][row] == (present - deaths.size) / present
                assert table["first_death"][row] == min(deaths, default=step)
                assert table["step_one"][row] == np.sum(deaths == 1)
                assert table["return"][row] == earned[lane].sum() / present == -deaths.size / present
                assert table["terminated"][row] == (deaths.size == present)
        open_lanes &= ~(world.terminated | world.truncated)
        alive = after
    assert not open_lanes.any()
    assert (died[:, present:] == -1).all()


def test_a_fish_within_reach_dies_and_one_outside_lives() -> None:
    world = begun(lanes=1, fish=3)
    world.state.pred_pos[0] = (0.0, -0.005)  # its drift takes it to the centre
    world.state.pred_vel[0] = 0.0
    world.state.fish_pos[0] = [[0.699, 0.0], [0.701, 0.0], [5.0, 0.0]]
    world.state.fish_vel[0] = 0.0
    world.step({"fish": np.full((1, 3), 4)})
    assert world.fish.alive[0].tolist() == [False, True, True]
    assert world.fish.reward[0].tolist() == [-1.0, 0.0, 0.0]
    assert world.state.death_step[0].tolist() == [1, -1, -1]
    place = world.state.fish_pos[0, 0].copy()
    world.step({"fish": np.full((1, 3), 0)})
    assert world.fish.reward[0, 0] == 0.0
    assert np.array_equal(world.state.fish_pos[0, 0], place)


def test_the_end_of_all_is_terminated_even_at_the_limit() -> None:
    world = begun(lanes=2, fish=3, steps=1)
    world.state.fish_pos[0] = world.state.pred_pos[0]
    world.state.fish_pos[1] = (0.0, -9.0)
    world.step({"fish": np.full((2, 3), 3)})
    assert world.terminated.tolist() == [True, False]
    assert world.truncated.tolist() == [False, True]
    assert world.finished()["survival"].tolist() == [0.0, 1.0]


def classic_reward(world: Fish, lane: int, i: int) -> float:
    settings, p = world.settings, world.state.fish_pos[lane].astype(float)
    d = np.linalg.norm(p[i] - world.state.pred_pos[lane])
    to_wall = 10 - np.linalg.norm(p[i])
    others = world.fish.alive[lane].copy()
    others[i] = False
    relative = p[others] - p[i]
    distance = np.linalg.norm(relative, axis=1)
    near = distance <= 3.0
    points = 2 + (10 * d / VISION if d < VISION else 5) - (2 * (1 - to_wall) if to_wall < 1 else 0)
    points -= settings.density_coef * max(near.sum() / 6 - settings.density_target, 0)
    if near.any():
        velocity = world.state.fish_vel[lane, others][near]
        points += settings.divergence_coef * ((velocity * relative[near]).sum(axis=1) / distance[near]).mean() / 2
    return 0.1 * points


@pytest.mark.parametrize("neighbours", [True, False])
def test_classic_reward_is_its_formula(neighbours: bool) -> None:
    world = begun(
        fish=40, reward="classic", density_coef=0.7, density_target=0.3, divergence_coef=0.9, neighbours=neighbours
    )
    died = near_wall = 0
    for _ in range(60):
        before = world.fish.alive.copy()
        random_step(world)
        for lane, i in np.argwhere(before):
            alive = world.fish.alive[lane, i]
            expected = classic_reward(world, lane, i) if alive else -50.0
            assert world.fish.reward[lane, i] == pytest.approx(expected, abs=1e-5)
            died += not alive
            near_wall += np.linalg.norm(world.state.fish_pos[lane, i]) > 9
        assert not world.fish.reward[~before].any()
    assert died > 0
    assert near_wall > 0


def test_level_sets_the_next_episodes() -> None:
    world = begun(fish=20, reward="classic")
    world.plan(np.array([1]), Plan({"fish": 5, "steps": 3, "boost": 0.5, "density_coef": 2.0}))
    assert world.fish.alive.sum(axis=1).tolist() == [20] * 4
    world.reset()
    assert world.fish.alive.sum(axis=1).tolist() == [20, 5, 20, 20]
    assert world.state.density_coef.tolist() == [0.0, 2.0, 0.0, 0.0]
    assert np.hypot(*world.state.fish_vel[1, :5].T) == pytest.approx(1.0, abs=1e-6)
    for _ in range(3):
        random_step(world)
    assert world.truncated.tolist() == [False, True, False, False]


def test_density_is_no_level_where_no_reward_depends_on_it() -> None:
    with pytest.raises(ConfigError, match="density_coef"):
        begun(fish=5).plan(np.array([0]), Plan({"density_coef": 0.05}))
    with pytest.raises(ConfigError, match="outside 1 to 5"):
        begun(fish=5).plan(np.array([0]), Plan({"fish": 6}))


def test_wall_holds_fish_and_predator() -> None:
    world = begun(fish=30)
    for _ in range(200):
        world.step({"fish": np.zeros((4, 30), np.int64)})
        assert np.hypot(*np.moveaxis(world.state.fish_pos, 2, 0)).max() <= 10.00001
        assert np.hypot(*world.state.pred_pos.T).max() <= 10.00001
        assert np.abs(world.fish.obs).max() <= world.spec.roles[0].observations.high
