"""The track does what its rules say, and its optimal return is what the optimal walk earns."""

from __future__ import annotations

import numpy as np
import pytest

from holdfast.worlds.api import Episodes, Plan
from holdfast.worlds.template.rules import CELLS, LEFT, RIGHT, STAY
from holdfast.worlds.template.world import Template, TrackSettings, optimal_return


def begun(lanes: int = 1, seed: int = 5, **options: float) -> Template:
    world = Template(TrackSettings(**options), lanes, seed)
    world.reset()
    return world


def placed(position: int, target: int, **options: float) -> Template:
    """One lane with the player and the target where the test wants them."""
    world = begun(**options)
    world.state.position[0] = position
    world.state.target[0] = target
    return world


def act(world: Template, *actions: int) -> None:
    for action in actions:
        world.step({"player": np.full((world.lanes, 1), action)})


def played(world: Template, yardstick: str, steps: int) -> Episodes:
    policy = world.yardsticks()[yardstick]
    tables = []
    for _ in range(steps):
        world.step(policy(world))
        tables.append(world.finished())
    return Episodes.joined(tables)


@pytest.mark.parametrize(
    "options",
    [{}, {"far": 1}, {"far": 3, "step_cost": 0.1}, {"slip": 0.5}, {"slip": 0.9, "steps": 6}, {"steps": 3}],
    ids=str,
)
def test_optimal_return_is_what_the_optimal_walk_earns(options: dict[str, float]) -> None:
    world = begun(lanes=2000, **options)
    # complete episodes only: in as many steps as the limit, every lane ends its first one
    table = played(world, "optimal", world.settings.steps)
    first = np.unique(table["lane"], return_index=True)[1]
    returns = table["return"][first]
    assert len(returns) == world.lanes
    error = returns.std() / np.sqrt(len(returns))
    assert abs(returns.mean() - optimal_return(world.settings)) < 4 * error + 1e-6


def test_optimal_return_without_slip_is_the_mean_over_all_starts_and_targets() -> None:
    pairs = [(start, target) for start in range(CELLS) for target in range(CELLS) if start != target]
    expected = np.mean([1.0 - 0.01 * abs(start - target) for start, target in pairs])
    assert optimal_return(TrackSettings()) == pytest.approx(expected)


def test_chance_does_worse_than_the_optimal_walk() -> None:
    assert played(begun(200), "random", 100)["return"].mean() < optimal_return(TrackSettings()) - 0.2


def test_a_seed_means_the_same_walk_on_every_machine() -> None:
    world = begun(lanes=4, seed=5, slip=0.25)
    assert world.state.target.tolist() == [7, 1, 6, 3]
    walk = [world.state.position.tolist()]
    for action in (RIGHT, RIGHT, LEFT, STAY, RIGHT, RIGHT):
        act(world, action)
        walk.append(world.state.position.tolist())
    assert walk == [
        [4, 2, 2, 7],
        [5, 2, 3, 7],  # lane 1 slips: it stays
        [5, 3, 4, 6],  # lanes 0 and 3 slip
        [4, 2, 3, 5],
        [4, 2, 4, 5],  # lane 2 slips
        [5, 5, 5, 6],  # lane 1 slips to its target and begins anew
        [6, 6, 5, 6],  # lane 2 arrives and begins anew, lane 3 slips
    ]
    assert world.player.forced[:, 0].tolist() == [False, False, False, True]


@pytest.mark.parametrize(
    ("position", "action", "after"), [(3, LEFT, 2), (3, STAY, 3), (3, RIGHT, 4), (0, LEFT, 0), (7, RIGHT, 7)]
)
def test_moves(position: int, action: int, after: int) -> None:
    world = placed(position, target=5)
    act(world, action)
    assert world.state.position[0] == after
    assert world.player.obs[0, 0].tolist() == [float(cell == after) for cell in range(CELLS)] + [0.0] * 5 + [
        1.0,
        0.0,
        0.0,
    ]
    assert world.player.reward[0, 0] == np.float32(-0.01)
    assert not (world.terminated[0] or world.truncated[0])


def test_arrival_ends_the_episode_and_begins_the_next() -> None:
    world = placed(3, target=5)
    key = world.clock.episode_key[0]
    act(world, RIGHT, RIGHT)
    assert world.player.reward[0, 0] == np.float32(0.99)
    assert world.terminated[0] and not world.truncated[0]
    table = world.finished()
    assert (table["length"][0], table["arrived"][0], table["key"][0]) == (2.0, 1.0, key)
    assert table["return"][0] == pytest.approx(0.98)
    assert np.flatnonzero(world.player.final_obs[0, 0]).tolist() == [5, CELLS + 5]
    assert world.clock.t[0] == 0 and world.clock.episode_key[0] != key
    position, target = world.state.position[0], world.state.target[0]
    assert np.flatnonzero(world.player.obs[0, 0]).tolist() == [position, CELLS + target]


def test_the_limit_truncates() -> None:
    world = placed(0, target=7, steps=3)
    act(world, STAY, STAY)
    assert not world.truncated[0]
    act(world, STAY)
    assert world.truncated[0] and not world.terminated[0]
    assert world.finished()["length"].tolist() == [3.0]
    assert world.finished()["arrived"].tolist() == [0.0]


def test_arrival_in_the_last_step_is_an_arrival() -> None:
    world = placed(4, target=5, steps=1)
    act(world, RIGHT)
    assert world.terminated[0] and not world.truncated[0]


def test_slips_are_marked_as_forced() -> None:
    world = begun(lanes=4000, slip=0.3)
    before = world.state.position.copy()
    target = world.state.target.copy()
    act(world, STAY)
    forced = world.player.forced[:, 0]
    running = ~(world.terminated | world.truncated)
    moved = running & (world.state.position != before)
    assert not (moved & ~forced).any()
    assert (world.terminated & ~forced).sum() == 0 and (before != target).all()
    assert abs(forced.mean() - 0.3) < 4 * np.sqrt(0.3 * 0.7 / 4000)


def test_without_slip_nothing_is_forced() -> None:
    world = begun(lanes=100)
    for _ in range(50):
        act(world, RIGHT)
        assert not world.player.forced.any()


@pytest.mark.parametrize("far", [1, 2, 7])
def test_targets_are_within_far_and_all_of_them_occur(far: int) -> None:
    world = begun(lanes=3000)
    world.reset(plan=Plan({"far": far}))
    distance = np.abs(world.state.position - world.state.target)
    assert set(distance.tolist()) == set(range(1, far + 1))
    assert set(world.state.position.tolist()) == set(range(CELLS))


def test_a_plan_acts_at_the_next_reset_and_not_before() -> None:
    world = placed(0, target=7)
    world.plan(np.array([0]), Plan({"steps": 2}))
    act(world, *[STAY] * 31)
    assert not world.truncated[0]
    act(world, STAY)
    assert world.truncated[0] and world.state.step_limit[0] == 2
