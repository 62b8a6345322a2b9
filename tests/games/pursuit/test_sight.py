"""What is seen: lidar against plain geometry, who sees whom, and the layout of every kind of observation."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from holdfast.games.pursuit.world.constants import as_record, make_rules, observation_size
from holdfast.games.pursuit.world.duel import make_rows, views
from holdfast.games.pursuit.world.pursuit import Pursuit, ray_directions
from holdfast.games.pursuit.world.settings import PursuitSettings
from holdfast.games.pursuit.world.sight import bearing, blocked, observe, observe_flat, observe_sensor, sees
from holdfast.kit.errors import ConfigError
from holdfast.worlds.api import Plan, random_policy

KEY = np.uint64(7)
RAYS = ray_directions(36)
coordinate = st.floats(-9.85, 9.85)
angle = st.floats(-math.pi, 3.141592)
Pose = tuple[float, float, float]


def scene(pursuer: Pose, evader: Pose = (5.0, 5.0, 0.0), circles: Any = (), **options: Any) -> tuple[Any, Any]:
    """One duel by hand, and its rules."""
    rows = make_rows(1)
    duel = views(rows)
    given_options = {"lidar_noise": 0.0, **options} if options.get("obs", "sensor") == "sensor" else options
    rules = as_record(make_rules(PursuitSettings(**given_options)))[0]
    duel.half[:], duel.v_max[:] = 10.0, 1.0
    duel.level[0, 3] = 1200.0
    duel.pose[0] = (pursuer, evader)
    duel.distance[0] = math.dist(pursuer[:2], evader[:2])
    duel.n_circles[0] = len(circles)
    for k, circle in enumerate(circles):
        duel.circles[0, k] = circle
    return rows[0], rules


def sensed(duel: Any, rules: Any, side: int = 0) -> np.ndarray:
    obs = np.zeros(7 + 1 + 36 + 10 * 43, np.float32)
    observe_sensor(duel, rules, KEY, RAYS, obs, side)
    return obs


def ranges(pose: Pose, circles: Any = ()) -> np.ndarray:
    """[36] metres."""
    return sensed(*scene(pose, circles=circles))[8:44].astype(np.float64) * 5.0


def walked(pose: Pose, heading: float, circles: Any) -> float:
    """How far a point gets along a ray: by intervals, without solving anything."""
    steps = np.linspace(0.0, 5.0, 20_001)
    x, y = pose[0] + steps * math.cos(heading), pose[1] + steps * math.sin(heading)
    free = (np.abs(x) < 10.0) & (np.abs(y) < 10.0)
    for cx, cy, radius in circles:
        free &= (x - cx) ** 2 + (y - cy) ** 2 > radius**2
    return float(steps[np.argmin(free)]) if not free.all() else 5.0


@settings(max_examples=300, deadline=None)
@given(coordinate, coordinate, angle)
def test_lidar_feels_the_true_walls(x: float, y: float, heading: float) -> None:
    angles = heading - math.pi + 2.0 * math.pi * np.arange(36) / 36
    ux, uy = np.cos(angles), np.sin(angles)
    with np.errstate(divide="ignore"):
        to_x = np.where(np.abs(ux) > 1e-9, (10.0 - np.sign(ux) * x) / np.abs(ux), np.inf)
        to_y = np.where(np.abs(uy) > 1e-9, (10.0 - np.sign(uy) * y) / np.abs(uy), np.inf)
    np.testing.assert_allclose(ranges((x, y, heading)), np.minimum(np.minimum(to_x, to_y), 5.0), atol=1e-5)


def test_the_walls_are_where_the_arena_ends() -> None:
    assert ranges((1.0, 1.0, 0.0)).min() == pytest.approx(5.0)
    assert ranges((9.0, 9.0, 0.0)).min() == pytest.approx(1.0)


@settings(max_examples=60, deadline=None)
@given(coordinate, coordinate, angle, st.lists(st.tuples(coordinate, coordinate, st.floats(0.3, 1.0)), max_size=8))
def test_lidar_feels_circles(x: float, y: float, heading: float, circles: list[Pose]) -> None:
    apart = [circle for circle in circles if math.dist(circle[:2], (x, y)) > circle[2] + 0.1]
    felt = ranges((x, y, heading), apart)
    for ray in range(0, 36, 5):
        true = walked((x, y, heading), heading - math.pi + 2.0 * math.pi * ray / 36, apart)
        grazes = any(abs(_miss((x, y), heading - math.pi + 2.0 * math.pi * ray / 36, c) - c[2]) < 0.01 for c in apart)
        assert grazes or felt[ray] == pytest.approx(true, abs=1e-3)


def _miss(start: tuple[float, float], heading: float, circle: Pose) -> float:
    """How near a line passes to a circle's centre."""
    dx, dy = circle[0] - start[0], circle[1] - start[1]
    return abs(dx * math.sin(heading) - dy * math.cos(heading))


def test_noise_is_small_and_stays_within_the_range() -> None:
    world = Pursuit(PursuitSettings(), 256, seed=0)
    world.reset()
    noisy = world.roles["pursuer"].obs[:, 0, 8:44].astype(np.float64) * 5.0
    still = Pursuit(PursuitSettings(lidar_noise=0.0), 256, seed=0)
    still.reset()
    true = still.roles["pursuer"].obs[:, 0, 8:44].astype(np.float64) * 5.0
    assert noisy.max() <= 5.0 and noisy.min() >= 0.0
    assert (noisy - true)[true < 4.9].std() == pytest.approx(0.02, rel=0.1)


@settings(max_examples=200, deadline=None)
@given(coordinate, coordinate, angle, coordinate, coordinate, angle)
def test_a_mirrored_duel_is_seen_mirrored(x: float, y: float, turn: float, ex: float, ey: float, eturn: float) -> None:
    """Across the x-axis: y, headings, turn rates and bearings change their sign, and nothing else."""
    seen = []
    for sign in (1.0, -1.0):
        circles = [(3.0, sign * 4.0, 0.7)]
        duel, rules = scene(
            (x, sign * y, sign * turn), (ex, sign * ey, sign * eturn), circles, obs="flat", circles_observed=1
        )
        obs = np.zeros(17, np.float32)
        observe_flat(duel, rules, KEY, obs, 0)
        seen.append(obs)
    flipped = np.array([1, -1, -1, 1, -1, 1, -1, -1, 1, -1, 1, -1, 1, 1, 1, 1, -1])
    difference = seen[0] - seen[1] * flipped
    difference[[2, 7, 11, 16]] = (difference[[2, 7, 11, 16]] + 1.0) % 2.0 - 1.0  # a bearing of -pi is one of pi
    np.testing.assert_allclose(difference, 0.0, atol=1e-5)


def visible(duel: Any, rules: Any, side: int = 0) -> bool:
    return bool(sees(duel, rules, KEY, blocked(duel), rules["half_cone"], side))


def test_cone_radius_and_circles_limit_sight() -> None:
    assert visible(*scene((0.0, 0.0, 0.0), (5.0, 0.0, 0.0)))
    assert visible(*scene((0.0, 0.0, math.radians(59.0)), (5.0, 0.0, 0.0)))
    assert not visible(*scene((0.0, 0.0, math.radians(61.0)), (5.0, 0.0, 0.0)))
    assert not visible(*scene((-5.0, 0.0, 0.0), (5.1, 0.0, 0.0)))
    assert not visible(*scene((0.0, 0.0, 0.0), (5.0, 0.0, 0.0), [(2.5, 0.6, 0.7)]))
    assert visible(*scene((0.0, 0.0, 0.0), (5.0, 0.0, 0.0), [(2.5, 0.8, 0.7)]))
    assert visible(*scene((0.0, 0.0, 0.0), (5.0, 0.0, 0.0), [(2.5, 0.0, 0.7)], occlusion=False))
    assert visible(*scene((0.0, 0.0, 3.0), (-9.0, 9.0, 0.0), obs="flat"))


def test_only_the_pursuer_is_masked_if_so_asked() -> None:
    world = Pursuit(PursuitSettings(obs="flat_masked", mask_roles="pursuer", sense_radius=2.0), 64, seed=0)
    world.reset()
    assert world.roles["pursuer"].obs.shape[2] == 14 + 1 + 1 + 6 and world.roles["evader"].obs.shape[2] == 14 + 1 + 6
    assert not world.state.visible[:, 0].any() and world.state.visible[:, 1].all()
    assert not world.roles["pursuer"].obs[:, 0, 5:12].any() and world.roles["evader"].obs[:, 0, 5].all()


def test_the_masking_curriculum_shows_the_opponent() -> None:
    world = Pursuit(PursuitSettings(obs="flat_masked", sense_radius=0.5), 1000, seed=0)
    world.reset(plan=Plan({"full_pursuer": 0.3}))
    shares = []
    for _ in range(10):
        shares.append(world.state.visible[:, 0].mean())
        assert not world.state.visible[:, 1].any()
        world.step(random_policy(world))
    assert np.mean(shares) == pytest.approx(0.3, abs=0.02)


@pytest.mark.parametrize("rays", [36, 0])
def test_history_holds_the_last_vectors_with_the_newest_at_its_end(rays: int) -> None:
    world = Pursuit(PursuitSettings(filter="none", history_lidar=rays > 0), 3, seed=0)
    world.reset()
    vectors = []
    for step in range(12):
        obs = world.roles["evader"].obs[:, 0]
        vectors.append(np.concatenate([obs[:, :7], obs[:, 8 : 8 + rays]], axis=1))
        past = obs[:, 44:].reshape(3, 10, 7 + rays)
        for back in range(10):
            expected = vectors[step - back] if back <= step else np.zeros((3, 7 + rays))
            np.testing.assert_array_equal(past[:, 9 - back], expected)
        world.step(random_policy(world))
    parts = dict(world.spec.roles[1].observations.parts)
    assert parts == {"state": (8,), "lidar": (36,), "history": (10, 7 + rays)}


def test_heading_as_sine_and_cosine_makes_the_vector_longer() -> None:
    world = Pursuit(PursuitSettings(heading="sincos", history=2, time_left=False), 2, seed=0)
    world.reset()
    assert world.roles["pursuer"].obs.shape[2] == 8 + 36 + 2 * 44
    heading = world.state.pose[:, 0, 2]
    np.testing.assert_allclose(world.roles["pursuer"].obs[:, 0, 2:4], np.stack([np.cos(heading), np.sin(heading)], 1))


def test_the_bearing_is_from_the_own_heading() -> None:
    duel, _ = scene((0.0, 0.0, math.pi / 2), (3.0, 0.0, 0.0))
    assert bearing(duel, 0) == pytest.approx(-math.pi / 2)
    assert bearing(duel, 1) == pytest.approx(-math.pi)


def test_sines_and_cosines_tell_what_angles_tell() -> None:
    told = {}
    for heading in ("angle", "sincos"):
        world = Pursuit(PursuitSettings(obs="flat", obstacles=2, heading=heading), 64, seed=5)  # type: ignore[arg-type]
        world.reset()
        told[heading] = world.roles["evader"].obs[:, 0].astype(np.float64)
    angle, waves = told["angle"], told["sincos"]
    assert waves.shape[1] == angle.shape[1] + 3
    turns = {2: angle[:, 2], 8: angle[:, 7] - angle[:, 2], 13: angle[:, 11]}  # own, the opponent's against it, bearing
    for place, turn in turns.items():
        np.testing.assert_allclose(waves[:, place], np.sin(np.pi * turn), atol=1e-6)
        np.testing.assert_allclose(waves[:, place + 1], np.cos(np.pi * turn), atol=1e-6)
    others = [0, 1, 3, 4, 5, 6, 8, 9, 10, *range(12, angle.shape[1])]
    kept = [place for place in range(waves.shape[1]) if place not in (2, 3, 8, 9, 13, 14)]
    np.testing.assert_array_equal(waves[:, kept], angle[:, others])


@pytest.mark.parametrize(("obs", "hold"), [("flat_masked", 3), ("sensor", 1)])
def test_what_was_last_seen_is_recalled_and_ages(obs: str, hold: int) -> None:
    """Against a plain log of every moment each side saw the other. A sensor does not tell how the other faces: that is
    known by where it was a step before, if it was seen then."""
    options = {"obs": obs, "obstacles": 3, "heading": "sincos", "hold": hold, "max_steps": 50 * hold}
    world = Pursuit(PursuitSettings(recall=True, **options), 200, seed=3)  # type: ignore[arg-type]
    plain = Pursuit(PursuitSettings(**options), 200, seed=3)  # type: ignore[arg-type]
    world.reset()
    plain.reset()
    diagonal, log = math.hypot(20.0, 20.0), {}
    kinds = np.zeros(3, int)  # never seen, in sight, recalled
    blank = 0  # seen, but nobody can tell how it faced
    before, after = (-6, None) if obs == "flat_masked" else (9, 15)  # behind the state and the time left
    for _ in range(120):
        state = world.state
        for side, name in enumerate(("pursuer", "evader")):
            obs = world.roles[name].obs[:, 0]
            rest = obs[:, :-6] if after is None else np.delete(obs, np.s_[before:after], axis=1)
            np.testing.assert_array_equal(rest, plain.roles[name].obs[:, 0])  # nothing else changes
            for lane in range(200):
                if state.step[lane] == 0:
                    log.pop((lane, side), None)
                if state.visible[lane, side]:
                    x, y, facing = state.pose[lane, 1 - side]
                    step, last = int(state.step[lane]), log.get((lane, side))
                    if after is not None:
                        is_told = last is not None and last[3] == step - 1 and (x, y) != last[:2]
                        facing = math.atan2(y - last[1], x - last[0]) if is_told else None
                    log[lane, side] = (x, y, facing, step)
                told = obs[lane, before:after]
                if (lane, side) not in log:
                    assert not told.any()
                    kinds[0] += 1
                    continue
                x, y, facing, step = log[lane, side]
                own_x, own_y, heading = state.pose[lane, side]
                ahead, left = math.cos(heading), math.sin(heading)
                dx, dy = x - own_x, y - own_y
                distance = math.hypot(dx, dy)
                expected = [
                    1.0 / (1.0 + 0.05 * (state.step[lane] - step)),
                    distance / diagonal,
                    (ahead * dy - left * dx) / distance,
                    (ahead * dx + left * dy) / distance,
                    *((0.0, 0.0) if facing is None else (math.sin(facing - heading), math.cos(facing - heading))),
                ]
                blank += facing is None
                np.testing.assert_allclose(told, expected, atol=1e-5)
                kinds[1 if state.visible[lane, side] else 2] += 1
        actions = random_policy(world)
        world.step(actions)
        plain.step(actions)
    assert (kinds > 1000).all() and bool(blank) == (after is not None)


@pytest.mark.parametrize("obs", ["flat_masked", "sensor"])
def test_recall_tells_angles_as_the_rest_does_and_only_who_is_masked(obs: str) -> None:
    sizes = {}
    for heading in ("angle", "sincos"):
        options = {"obs": obs, "heading": heading, "mask_roles": "pursuer"}
        for recall in (False, True):
            world = Pursuit(PursuitSettings(recall=recall, **options), 2, seed=0)  # type: ignore[arg-type]
            sizes[heading, recall] = [world.roles[name].obs.shape[2] for name in ("pursuer", "evader")]
    assert np.subtract(sizes["angle", True], sizes["angle", False]).tolist() == [4, 0]
    assert np.subtract(sizes["sincos", True], sizes["sincos", False]).tolist() == [6, 0]
    options = {"obs": obs, "recall": True, "circles_observed": 0, "time_left": False, "history": 0}
    duel, rules = scene((0.0, 0.0, 0.0), (3.0, 4.0, 1.0), **options)
    duel["last_seen"][0] = (0.0, 2.0, 0.5, 10.0)
    duel["step"] = 30
    seen = told(duel, rules, 0, observation_size(PursuitSettings(**options), 0))
    place = 15 if obs == "flat_masked" else 7
    expected = [0.5, 2.0 / math.hypot(20.0, 20.0), 0.5, 0.5 / math.pi]
    np.testing.assert_allclose(seen[place : place + 4], expected, atol=1e-6)


@pytest.mark.parametrize(("obs", "heading"), [("flat_masked", "sincos"), ("flat_masked", "angle"), ("sensor", "angle")])
def test_the_critic_is_told_where_the_opponent_is_and_nobody_else(obs: str, heading: str) -> None:
    """What it is told is what a flat sight shows; the rest of the observation stays as it was."""
    options = {"heading": heading, "obstacles": 2}
    sights = [{"obs": obs, "critic": "full"}, {"obs": obs}, {"obs": "flat"}]
    worlds = [Pursuit(PursuitSettings(**options, **sight), 64, seed=2) for sight in sights]  # type: ignore[arg-type]
    for world in worlds:
        world.reset()
    told, plain, flat = worlds
    numbers, start = (9, 6) if heading == "sincos" else (7, 5)
    for _ in range(20):
        for side, name in enumerate(("pursuer", "evader")):
            seen = told.roles[name].obs[:, 0]
            judging = told.spec.roles[side].observations.judging
            assert judging == numbers + 1
            np.testing.assert_array_equal(seen[:, :-judging], plain.roles[name].obs[:, 0])
            np.testing.assert_array_equal(seen[:, -judging:-1], flat.roles[name].obs[:, 0, start : start + numbers])
            np.testing.assert_array_equal(seen[:, -1], told.state.visible[:, 1 - side])
        actions = random_policy(told)
        for world in worlds:
            world.step(actions)
    sight = told.spec.roles[0].observations
    assert sight.parts[-1] == ("critic", (numbers + 1,))
    assert sight.acting == plain.spec.roles[0].observations.size


def test_the_picture_shows_what_is_recalled() -> None:
    pictures = []
    for recall in (True, False):
        world = Pursuit(PursuitSettings(obs="flat_masked", recall=recall), 1, seed=3)
        world.reset()
        world.state.pose[0] = ((0.0, 0.0, 0.0), (-6.0, 0.0, 0.0))  # behind the pursuer
        world.state.visible[0] = 0
        world.state.last_seen[0, 0] = (4.0, 3.0, 0.0, 0.0)
        pictures.append(world.draw(0).astype(int))
    where = np.argwhere(np.abs(pictures[0] - pictures[1]).sum(-1) > 20)
    height, width = pictures[0].shape[:2]
    middle = where.mean(0) - (34 + 18 + 524 / 2, width / 2)  # header and margin; y points up in the arena, down here
    assert len(where) > 20 and height == 560 + 34
    np.testing.assert_allclose(middle, [-3.0 * 26.2, 4.0 * 26.2], atol=3.0)


@settings(max_examples=60, deadline=None)
@given(
    st.tuples(coordinate, coordinate, angle), st.tuples(coordinate, coordinate, angle), st.booleans(), st.integers(0, 1)
)
def test_beliefs_learn_from_where_the_other_is_and_nobody_is_shown_it(
    pursuer: Pose, evader: Pose, visible: bool, side: int
) -> None:
    own, other = (pursuer, evader) if side == 0 else (evader, pursuer)
    assume(math.dist(own[:2], other[:2]) > 0.01)
    options = {"heading": "sincos", "critic": "full", "history": 2}
    sights = []
    for belief in (True, False):
        duel, rules = scene(pursuer, evader, belief=belief, **options)
        duel["visible"][:], duel["mirror"][:] = visible, 1.0
        sights.append(told(duel, rules, side, observation_size(PursuitSettings(belief=belief, **options), side)))
    ahead = np.array([math.cos(own[2]), math.sin(own[2])])
    away = np.subtract(other[:2], own[:2]) / math.hypot(20.0, 20.0)
    wanted = [away @ ahead, away @ np.array([-ahead[1], ahead[0]])]
    np.testing.assert_allclose(sights[0][-2:], wanted, atol=1e-6)
    assert np.array_equal(sights[0][:-2], sights[1])


def turned(pose: Pose, sx: float, sy: float, exchanged: bool) -> Pose:
    x, y, heading = pose
    across, along = sx * math.cos(heading), sy * math.sin(heading)
    return (sy * y, sx * x, math.atan2(across, along)) if exchanged else (sx * x, sy * y, math.atan2(along, across))


def told(duel: Any, rules: Any, side: int, numbers: int) -> np.ndarray:
    obs = np.zeros(numbers, np.float32)
    observe(duel, rules, KEY, RAYS, obs, side)
    return obs


FLAT_SIGHT = {"obs": "flat_masked", "recall": True}
SENSOR_SIGHT = {"obs": "sensor", "history": 3}
RECALLED_SIGHT = {"obs": "sensor", "history": 3, "recall": True}
SPARE_SIGHT = {"obs": "sensor", "history": 3, "history_lidar": False, "belief": True}


@settings(max_examples=120, deadline=None)
@given(
    poses=st.tuples(*[st.tuples(coordinate, coordinate, angle)] * 2),
    circles=st.lists(st.tuples(coordinate, coordinate, st.floats(0.3, 1.0)), max_size=3),
    turn=st.tuples(st.sampled_from([-1.0, 1.0]), st.sampled_from([-1.0, 1.0]), st.booleans()),
    side=st.integers(0, 1),
    visible=st.booleans(),
    sight=st.sampled_from([FLAT_SIGHT, SENSOR_SIGHT, RECALLED_SIGHT, SPARE_SIGHT]),
)
def test_a_mirrored_sight_is_the_sight_of_the_mirrored_duel(
    poses: Any, circles: Any, turn: tuple[float, float, bool], side: int, visible: bool, sight: dict[str, Any]
) -> None:
    sx, sy, exchanged = turn
    handed = -sx * sy if exchanged else sx * sy
    places = [poses[1 - side][:2], *(circle[:2] for circle in circles)]
    assume(all(math.dist(poses[side][:2], place) > 0.1 for place in places))  # else there is no bearing
    options = {"heading": "sincos", "critic": "full", **sight}
    numbers = observation_size(PursuitSettings(**options), side)
    seen: Pose = (1.0, -2.0, 0.3)
    found = []
    for mirror in (True, False):
        really = (1.0, 1.0, False) if mirror else turn  # told in a mirror, or really turned over
        both = [turned(pose, *really) for pose in poses]
        there = [(*turned((x, y, 0.0), *really)[:2], radius) for x, y, radius in circles]
        hand = 1.0 if mirror else handed
        duel, rules = scene(both[0], both[1], there, mirror=mirror, **options)
        duel["visible"][:] = visible
        duel["command"][:] = ((0.5, hand * 1.5), (0.9, hand * -0.7))
        duel["last_seen"][side] = (*turned(seen, *really), 0.0)
        duel["mirror"][side], duel["exchanged"][side] = (sx, sy, handed), exchanged
        found.append(told(duel, rules, side, numbers))
    behind = np.isclose(np.abs(found[0]), 1.0, atol=1e-5) & np.isclose(np.abs(found[1]), 1.0, atol=1e-5)  # -pi is pi
    np.testing.assert_allclose(found[0][~behind], found[1][~behind], atol=2e-6)


def test_mirrored_duels_run_the_same_way_under_scripts_and_turn_policies_over() -> None:
    plain, mirrored = (Pursuit(PursuitSettings(obs="flat", heading="sincos", mirror=on), 32, 3) for on in (False, True))
    for world in (plain, mirrored):
        world.reset()
    signs, hand = mirrored.state.mirror, np.where(mirrored.state.exchanged, -1.0, 1.0)
    assert (plain.state.mirror == 1.0).all() and not plain.state.exchanged.any()
    assert {-1.0, 1.0} == set(np.unique(signs)) == set(np.unique(hand))
    assert (hand * signs[..., 0] * signs[..., 1] == signs[..., 2]).all()
    assert not np.array_equal(signs[:, 0], signs[:, 1])
    for _ in range(20):
        for world in (plain, mirrored):
            world.step({"pursuer": world.scripted("pursuer", "greedy"), "evader": world.scripted("evader", "orbit")})
        assert np.array_equal(plain.state.pose, mirrored.state.pose)
    left = {name: np.full_like(mirrored.scripted(name, "still"), 0.5) for name in ("pursuer", "evader")}
    mirrored.step(left)
    assert np.array_equal(np.sign(mirrored.state.command[:, :, 1]), mirrored.state.mirror[:, :, 2])


def test_a_long_arena_looks_the_same_in_four_mirrors_only() -> None:
    world = Pursuit(PursuitSettings(obs="flat", heading="sincos", mirror=True, arena_w=24.0, arena_h=16.0), 64, 3)
    world.reset()
    assert not world.state.exchanged.any() and {-1.0, 1.0} == set(np.unique(world.state.mirror))


def test_a_mirror_needs_angles_that_a_sign_turns_over() -> None:
    with pytest.raises(ConfigError, match=r"world\.mirror needs world\.heading = sincos"):
        Pursuit(PursuitSettings(obs="flat", mirror=True), 2, 0)
