"""The hunting predator, one rule at a time, from places where the answer can be worked out by hand."""

import math

import numpy as np
import pytest

from holdfast.games.fish.world.fish import Fish, FishSettings

KEEP = 4


def pool(fish: list[tuple[float, float]], heading: float = 0.0, speed: float = 1.0, **options: float) -> Fish:
    """One hunter at the centre and fish at rest at these places."""
    settings = FishSettings(rules="hunt", fish=len(fish), neighbours=False, **options)  # type: ignore[arg-type]
    world = Fish(settings, lanes=1, seed=0)
    world.reset()
    world.state.fish_pos[0] = fish
    world.state.fish_vel[0] = 0.0
    world.state.pred_pos[0] = 0.0
    world.state.pred_heading[0] = heading
    world.state.pred_vel[0] = (speed * math.cos(heading), speed * math.sin(heading))
    return world


def hunted(world: Fish, action: int = KEEP) -> tuple[float, float]:
    """Heading and speed of the hunter after a step."""
    world.step({"fish": np.full(world.fish.alive.shape, action)})
    velocity = world.state.pred_vel[0].astype(float)
    assert math.atan2(velocity[1], velocity[0]) == pytest.approx(world.state.pred_heading[0], abs=1e-6)
    return float(world.state.pred_heading[0]), float(np.hypot(*velocity))


def test_it_turns_so_far_and_speeds_up_so_much() -> None:
    assert hunted(pool([(0.0, 3.0)])) == pytest.approx((0.12, 1.2), abs=1e-6)
    assert hunted(pool([(0.0, -3.0)])) == pytest.approx((-0.12, 1.2), abs=1e-6)
    assert hunted(pool([(3.0, 0.03)])) == pytest.approx((math.atan2(0.03, 3.0), 1.2), abs=1e-6)
    assert hunted(pool([(3.0, 0.0)], speed=2.3)) == pytest.approx((0.0, 2.4), abs=1e-6)
    assert hunted(pool([(0.0, 3.0)], turn_max=0.5, accel=0.7)) == pytest.approx((0.5, 1.7), abs=1e-6)


def test_it_turns_the_short_way_round() -> None:
    heading, _ = hunted(pool([(-3.0, -1.0)], heading=3.0))
    assert heading == pytest.approx(3.12, abs=1e-6)
    heading, _ = hunted(pool([(-3.0, -1.0)], heading=3.1))
    assert heading == pytest.approx(3.22 - 2 * math.pi, abs=1e-6)


def test_without_a_target_it_swims_straight_at_its_cruising_speed() -> None:
    assert hunted(pool([(0.0, 4.001)], speed=2.0)) == pytest.approx((0.0, 1.8), abs=1e-6)
    assert hunted(pool([(0.0, 3.999)], speed=2.0))[0] == pytest.approx(0.12, abs=1e-6)
    assert hunted(pool([(0.0, 4.001)], speed=0.9, view_radius=4.0, cruise_speed=1.05))[1] == pytest.approx(1.05)


def test_it_follows_the_nearest_living_fish_in_view() -> None:
    assert hunted(pool([(0.0, 3.0), (0.0, -2.0)]))[0] < 0.0
    assert hunted(pool([(0.0, 2.0), (0.0, -2.0)]))[0] > 0.0  # the first of equals
    assert hunted(pool([(0.0, 3.0), (-2.0, -0.1)], view_angle=2.0))[0] > 0.0
    assert hunted(pool([(-2.0, 0.5)], view_angle=2.0)) == pytest.approx((0.0, 1.0), abs=1e-6)
    world = pool([(0.0, 3.0), (0.0, -2.0)])
    world.fish.alive[0, 1] = False
    assert hunted(world)[0] > 0.0


def test_it_aims_at_where_fish_were_before_they_moved() -> None:
    world = pool([(3.0, 0.0)])
    world.state.fish_vel[0, 0] = (0.0, 2.0)
    assert hunted(world)[0] == 0.0
    assert hunted(world)[0] > 0.0


def test_it_looks_at_nobody_while_it_digests() -> None:
    world = pool([(0.5, 0.0), (0.0, 3.0)], digest_steps=2)
    headings = [hunted(world)[0] for _ in range(4)]
    assert world.state.death_step[0].tolist() == [1, -1]
    assert headings[:3] == [0.0, 0.0, 0.0]
    assert headings[3] == pytest.approx(0.12, abs=1e-6)


def test_the_wall_mirrors_it() -> None:
    world = pool([(0.0, 0.0)], heading=0.5, view_radius=1.0)
    world.state.pred_pos[0] = (9.95, 0.0)
    heading, speed = hunted(world)
    position = world.state.pred_pos[0].astype(float)
    normal = math.atan2(position[1], position[0])
    assert np.hypot(*position) == pytest.approx(10.0, abs=1e-6)
    assert speed == pytest.approx(1.0, abs=1e-6)
    assert heading == pytest.approx(math.pi + 2 * normal - 0.5, abs=1e-6)


def test_a_fish_cannot_outrun_it_but_it_cannot_turn_on_the_spot() -> None:
    settings = FishSettings()
    assert settings.chase_speed > 2.0
    assert settings.chase_speed * 0.1 / settings.turn_max == pytest.approx(2.0)
