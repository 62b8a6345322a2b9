"""Motion, walls, circles, starts, ends and rewards of duels, each against what the rule says."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from holdfast.games.pursuit.world.duel import SIDES, TERMS
from holdfast.games.pursuit.world.geometry import wrap
from holdfast.games.pursuit.world.pursuit import Pursuit, play_scripts
from holdfast.games.pursuit.world.settings import PursuitSettings
from holdfast.games.pursuit.world.shares import reward_shares
from holdfast.kit.errors import ConfigError
from holdfast.rollout.evaluate import play_once
from holdfast.worlds.api import Plan, random_policy

PLAIN: dict[str, Any] = {"obs": "flat", "filter": "none"}
CHASE = play_scripts({"pursuer": "greedy", "evader": "flee"})


def begun(lanes: int = 64, **options: Any) -> Pursuit:
    world = Pursuit(PursuitSettings(**{**PLAIN, **options}), lanes, seed=0)
    world.reset()
    return world


def moves(world: Pursuit, speed: float, turn: float) -> dict[str, np.ndarray]:
    return {role: np.tile(np.array([speed, turn], np.float32), (world.lanes, 1, 1)) for role in world.roles}


def place(world: Pursuit, pursuer: Any, evader: Any, lane: int = 0) -> None:
    world.state.pose[lane] = (pursuer, evader)
    world.state.distance[lane] = math.dist(pursuer[:2], evader[:2])


def test_a_robot_moves_along_its_old_heading_and_then_turns() -> None:
    world = begun(1)
    place(world, (0.0, 0.0, 0.5), (5.0, 5.0, 3.1))
    world.step(moves(world, 1.0, 1.0))
    np.testing.assert_allclose(world.state.pose[0, 0], (0.05 * math.cos(0.5), 0.05 * math.sin(0.5), 0.5 + 0.142))
    assert world.state.pose[0, 1, 2] == pytest.approx(wrap(3.1 + 0.142))


def test_walls_stop_and_are_counted_and_keep_the_heading() -> None:
    world = begun(1, max_steps=3, reward_wall=2.0)
    place(world, (9.84, 0.0, 0.0), (-5.0, 0.0, 0.0))
    for _ in range(3):
        world.step(moves(world, 1.0, 0.0))
    table = world.finished()
    assert table["pursuer_end_x"][0] == pytest.approx(9.85) and table["pursuer_wall"][0] == 1.0
    assert table["pursuer_reward_contact"][0] == -6.0 and table["evader_reward_contact"][0] == 0.0


def test_circles_push_out_and_robots_slide_along() -> None:
    world = begun(1)
    world.state.n_circles[0] = 1
    world.state.circles[0, 0] = (0.0, 0.0, 1.0)
    place(world, (-1.2, 0.5, 0.0), (5.0, 5.0, 0.0))
    for _ in range(60):
        world.step(moves(world, 1.0, 0.0))
        assert math.hypot(*world.state.pose[0, 0, :2]) >= 1.15 - 1e-12
    assert world.state.pose[0, 0, 0] > 0.5  # it went around
    assert world.state.pose[0, 0, 2] == 0.0


def test_capture_ends_a_duel_and_timeout_is_an_escape() -> None:
    caught = play_once(begun(spawn_max=5.0), CHASE, np.arange(1, 65, dtype=np.uint64))
    assert caught["captured"].all() and caught["terminated"].all() and (caught["final_distance"] <= 0.5).all()
    for end in ("terminated", "truncated"):
        world = begun(4, max_steps=5, timeout_as=end)
        for _ in range(5):
            world.step(moves(world, 0.0, 0.0))
        assert getattr(world, end).all() and world.finished()["escaped"].all()
        assert world.finished()["pursuer_reward_outcome"][0] == -100.0


def test_the_pursuer_only_turns_while_it_prepares() -> None:
    world = begun(2, prep_steps=10)
    before = world.state.pose.copy()
    world.step(moves(world, 1.0, 1.0))
    assert np.array_equal(world.state.pose[:, 0, :2], before[:, 0, :2])
    assert (world.state.pose[:, 0, 2] != before[:, 0, 2]).all()
    assert (world.state.pose[:, 1, :2] != before[:, 1, :2]).any()


def test_a_held_action_is_that_many_steps() -> None:
    held, single = begun(8, hold=3), begun(8)
    actions = moves(held, 0.6, 0.3)
    held.step(actions)
    for _ in range(3):
        single.step(actions)
    np.testing.assert_array_equal(held.state.pose, single.state.pose)


def test_fixed_speed_leaves_the_turn_rate_to_choose() -> None:
    world = begun(2, fixed_speed=True)
    assert len(world.spec.roles[0].actions) == 1  # type: ignore[arg-type]
    world.step({role: np.zeros((2, 1, 1), np.float32) for role in world.roles})
    assert (world.state.command == (1.0, 0.0)).all()


def test_starts_keep_their_distance_and_stay_clear() -> None:
    world = begun(500, obstacles=5, spawn_min=4.0, spawn_max=6.0, filter="both")
    assert ((world.state.distance >= 4.0) & (world.state.distance <= 6.0)).all()
    assert (world.state.n_circles == 5).all() and not world.state.missing.any()
    centres, radii = world.state.circles[:, :5, :2], world.state.circles[:, :5, 2]
    gaps = np.linalg.norm(centres[:, :, None] - centres[:, None], axis=3) - radii[:, :, None] - radii[:, None]
    assert gaps[:, ~np.eye(5, dtype=bool)].min() >= 0.5 - 1e-9
    assert (np.abs(centres).max(axis=2) <= 10.0 - radii - 0.5 + 1e-9).all()
    free = np.linalg.norm(world.state.pose[:, :, None, :2] - centres[:, None], axis=3) - radii[:, None]
    assert free.min() > 0.15 and (world.state.tally[:, :, 9] >= 0.0).all()


def test_a_plan_changes_the_next_starts() -> None:
    world = begun(100)
    world.reset(plan=Plan({"spawn_min": 2.0, "spawn_max": 3.0, "obstacles": 4}))
    assert ((world.state.distance >= 2.0) & (world.state.distance <= 3.0)).all() and (world.state.n_circles == 4).all()
    with pytest.raises(ConfigError, match=r"spawn_min = 3\.5 m is more than spawn_max = 3 m"):
        world.plan(np.arange(100), Plan({"spawn_min": 3.5}))
    assert (world.clock.level[:, 0] == 2.0).all()


def test_the_number_of_circles_can_be_drawn() -> None:
    counts = np.bincount(begun(600, obstacles=3, circles_least=1).state.n_circles, minlength=4)
    assert counts[0] == 0 and (counts[1:] > 150).all()


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"spawn_min": 16.0}, "spawn_min = 16 m is more than spawn_max = 15 m"),
        ({"spawn_min": 27.0, "spawn_max": 28.0}, "too rare in 20 x 20 m"),
        (
            {"arena_w": 4.0, "arena_h": 4.0, "spawn_min": 1.0, "obstacles": 8, "circles_radius": (0.9, 1.0)},
            "do not fit into 4 x 4",
        ),
        ({"v_max_pursuer": 0.0}, "world.v_max_pursuer = 0.0 must be at least 0.01"),
        ({"v_max_evader": -1.0}, "world.v_max_evader"),
        ({"obstacles": 9}, "world.obstacles = 9 must be at most 8"),
        ({"circles_observed": 0, "obstacles": 1}, "lets nobody observe them"),
        ({"obs": "flat_masked", "sense_radius": None, "fov_deg": 360.0, "occlusion": False}, "masks nothing"),
        (
            {"play": "evader", "opponent": "orbit"},
            "no script for the pursuer; there are random, still, greedy, intercept",
        ),
        ({"task": "navigate"}, "for one side"),
        ({"reward_visibility_rule": "range_los"}, "no effect while world.reward.visibility is 0"),
        ({"reward_approach": 5000.0, "obstacles": 3}, "evader approach"),
    ],
)
def test_settings_that_cannot_work_are_refused_at_the_start(options: dict[str, Any], text: str) -> None:
    with pytest.raises(ConfigError, match=text):
        Pursuit(PursuitSettings(**{**PLAIN, **options}), 2, seed=0)


def test_terms_add_up_to_the_return_and_mirror_each_other() -> None:
    rewards = {"reward_visibility": 0.01, "reward_occlusion": 0.02, "reward_survival": 0.003, "reward_wall": 0.1}
    world = begun(64, obstacles=3, spawn_max=6.0, **rewards)
    table = play_once(world, CHASE, np.arange(1, 65, dtype=np.uint64))
    for side in SIDES:
        total = sum(table[f"{side}_reward_{term}"] for term in TERMS)
        np.testing.assert_allclose(total, table[f"return_{side}"], atol=1e-3)
    for term in ("distance", "outcome", "seen"):
        np.testing.assert_allclose(table[f"pursuer_reward_{term}"], -table[f"evader_reward_{term}"])
    assert table["evader_reward_survival"] == pytest.approx(0.003 * (table["length"] - 1))


def test_distance_rewards_are_potentials_or_differences() -> None:
    keys = np.arange(1, 33, dtype=np.uint64)
    plain = play_once(begun(32, spawn_max=5.0, reward_shaping="plain"), CHASE, keys)
    gained = (plain["spawn_distance"] - plain["final_distance"]) / math.hypot(20.0, 20.0)
    np.testing.assert_allclose(plain["pursuer_reward_distance"], gained)
    undiscounted = play_once(begun(32, spawn_max=5.0, reward_shaping_gamma=1.0), CHASE, keys)
    whole = undiscounted["spawn_distance"] / math.hypot(20.0, 20.0)  # the potential is 0 at the end
    np.testing.assert_allclose(undiscounted["pursuer_reward_distance"], whole)


def test_hiding_replaces_the_zero_sum_in_duels_with_circles() -> None:
    world = begun(16, obstacles=3, reward_hiding=0.01, max_steps=20)
    for _ in range(20):
        world.step(moves(world, -1.0, 0.0))
    table = world.finished()
    np.testing.assert_allclose(np.abs(table["evader_reward_hidden"]), 0.19)  # both stand: hidden or not for 19 steps
    assert not table["evader_reward_seen"].any() and (table["evader_reward_outcome"] == 100.0).all()


def test_a_standing_pursuer_earns_for_looking_only_once() -> None:
    world = begun(8, obs="flat_masked", sense_radius=2.0, reward_search=0.1, reward_search_stale=1000, max_steps=10)
    world.step(moves(world, -1.0, 0.0))
    first = world.state.terms[:, 0, TERMS.index("search")].copy()
    world.step(moves(world, -1.0, 0.0))
    second = world.state.terms[:, 0, TERMS.index("search")] - first
    assert (first == pytest.approx(0.1)) and (second < 0.001).all()


def test_shares_tell_what_weighs_how_much() -> None:
    shares = reward_shares(PursuitSettings(**PLAIN, reward_survival=0.01))
    assert shares["pursuer outcome"] == 1.0 and shares["pursuer distance"] < 0.01
    assert 0.02 < shares["evader survival"] < 0.2


def test_switching_a_feature_on_changes_no_other_draw() -> None:
    """Starts, circles and scripted play are the same with masks, sensors, filter noise and lessons on or off."""
    usual = begun(50, obstacles=3)
    for options in ({"obs": "sensor"}, {"obs": "flat_masked"}, {"reward_search": 0.01}):
        world = begun(50, obstacles=3, **options)
        np.testing.assert_array_equal(world.state.pose, usual.state.pose)
        np.testing.assert_array_equal(world.state.circles, usual.state.circles)
        np.testing.assert_array_equal(world.scripted("evader", "random"), usual.scripted("evader", "random"))


def test_randomised_bodies_differ_and_act() -> None:
    world = begun(400, randomise="arena", noise_time_constant=0.2)
    half, v_max, gain = world.state.half, world.state.v_max, world.state.gain
    assert half.min() >= 9.0 and half.max() <= 11.0 and half.std() > 0.4 and (half[:, 0] == half[:, 1]).all()
    assert v_max.min() >= 0.85 and v_max.max() <= 1.15 and gain.min() >= 0.8 and gain.max() <= 1.2
    assert (world.state.delay <= 1.0).all() and (world.state.lag < 1.0).all()
    world.step(moves(world, 1.0, 0.0))
    lagging = world.state.command[:, :, 0]
    np.testing.assert_allclose(lagging, world.state.lag * gain * v_max)
    seen = world.roles["pursuer"].obs[:, 0, 0] * half[:, 0] - world.state.pose[:, 0, 0]
    assert 0.003 < seen.std() < 0.008


def test_an_evader_learns_to_navigate_with_the_sight_of_a_duel() -> None:
    options: dict[str, Any] = {"play": "evader", "task": "navigate", "max_steps": 300}
    world, duel = begun(400, **options), begun(1)
    assert world.spec.roles[0].observations == duel.spec.roles[1].observations
    fleeing = world.state.fleeing
    assert 0.4 < fleeing.mean() < 0.6
    goals = world.state.pose[~fleeing, 0, :2]
    assert (np.abs(goals) <= 9.0).all()
    reached, caught = np.zeros(0), 0.0
    for _ in range(300):
        to_goal = world.state.pose[:, 0, :2] - world.state.pose[:, 1, :2]
        sign = np.where(world.state.fleeing, -1.0, 1.0)[:, None]
        wanted = np.arctan2(*(sign * to_goal).T[::-1])
        error = (wanted - world.state.pose[:, 1, 2] + np.pi) % (2.0 * np.pi) - np.pi
        actions = np.stack([np.where(np.abs(error) < 0.7, 1.0, -0.6), np.clip(2.0 * error, -1.0, 1.0)], axis=1)
        world.step({"evader": actions.astype(np.float32)[:, None]})
        ended = world.finished()
        assert ended["terminated"].all() and (ended["goals"] <= 3).all()
        reached = np.append(reached, ended["goals"][ended["fled"] == 0])
        caught += ended["captured"].sum()
    expected = goals_of_a_straight_runner()
    error = 3.0 * expected.std() / np.sqrt((~fleeing).sum())
    assert reached.sum() / (~fleeing).sum() == pytest.approx(expected.mean(), abs=error)
    assert (reached > 0).mean() >= 0.5 and caught < 0.1 * fleeing.sum()  # what the lesson must bring a learner to


def goals_of_a_straight_runner() -> np.ndarray:
    """Goals per lesson by arithmetic: 15 s at 1 m/s, from anywhere to uniform points 1 m off the walls, each counted
    0.5 m before it; until it looks nearly there (0.7 rad) a runner turns at 2.84 rad/s and loses 0.8 m per second."""
    generator = np.random.default_rng(0)
    left, goals = np.full(20_000, 15.0), np.zeros(20_000)
    here = generator.uniform(-9.85, 9.85, (20_000, 2))
    for _ in range(3):
        goal, error = generator.uniform(-9.0, 9.0, (20_000, 2)), generator.uniform(0.0, np.pi, 20_000)
        way = np.hypot(*(goal - here).T) - 0.5
        left -= np.maximum(way, 0.0) + np.maximum(error - 0.7, 0.0) / 2.84 * 0.8
        goals += left >= 0.0
        here = goal
    return goals


def test_a_lane_is_drawn_with_all_it_shows() -> None:
    world = Pursuit(PursuitSettings(obstacles=3), 1, seed=4)
    world.reset()
    empty = world.draw(0)
    for _ in range(60):
        world.step(random_policy(world))
    assert world.draw(0).shape == empty.shape and (world.draw(0) != empty).mean() > 0.01
