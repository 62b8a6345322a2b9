"""Dealing: how a lane goes on from a situation of a file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from holdfast.curriculum.deck_files import Source, write_deck
from holdfast.curriculum.deck_light import write_light
from holdfast.curriculum.deck_spec import parse_stages
from holdfast.curriculum.deck_supply import Supply, deal, open_supply
from holdfast.games.fish.world.fish import Fish, FishSettings
from holdfast.kit.errors import ConfigError, SituationError
from holdfast.worlds.template.world import Template

SETTINGS = FishSettings(fish=12, steps=40)
KEEP = 4


def begun(chosen: FishSettings = SETTINGS, lanes: int = 4, seed: int = 3) -> Fish:
    world = Fish(chosen, lanes=lanes, seed=seed)
    world.reset()
    return world


def drift(world: Fish, steps: int) -> None:
    for _ in range(steps):
        world.step({"fish": np.full(world.fish.alive.shape, KEEP)})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """`full.deck`: three schools after 5 steps; `light.json`: two velocities towards +x, one fast."""
    world = begun(seed=8)
    drift(world, 5)
    write_deck(tmp_path / "full.deck", world, SETTINGS, world.save(np.array([0, 1, 2])), Source())
    write_light(tmp_path / "light.json", np.array([[0.8, 0.0], [2.0, 0.0]]))
    return tmp_path


def opened(text: str, folder: Path, world: Fish) -> Supply:
    return open_supply(parse_stages(text), folder, world, SETTINGS)


def test_a_dealt_school_swims_on_as_it_would_have(folder: Path) -> None:
    origin, world = begun(seed=8), begun(FishSettings(fish=20, steps=40), lanes=3)
    drift(origin, 5)
    deal(world, opened("1:full.deck", folder, world), [2, 0], [0, 0], [1, 2])
    for _ in range(30):
        drift(origin, 1)
        drift(world, 1)
        assert np.array_equal(world.fish.obs[[2, 0], :12], origin.fish.obs[[1, 2]])
        assert np.array_equal(world.state.death_step[[2, 0], :12], origin.state.death_step[[1, 2]])


def test_dealing_leaves_the_ended_episode_to_be_read_and_the_lane_its_own_keys(folder: Path) -> None:
    world = begun()
    supply = opened("1:full.deck", folder, world)
    drift(world, 40)
    assert world.truncated.all()
    before, owned = world.finished(), {name: world.clock._asdict()[name].copy() for name in world.OWN}
    deal(world, supply, range(3), [0, 0, 0], [0, 1, 2])
    for name, column in world.finished().columns.items():
        assert np.array_equal(column, before[name]), name
    for name, array in owned.items():
        assert np.array_equal(world.clock._asdict()[name], array), name
    assert world.clock.t.tolist() == [5, 5, 5, 0]


def test_a_dealt_episode_is_no_longer_than_the_lanes_others(folder: Path) -> None:
    world = begun(FishSettings(fish=12, steps=10))
    deal(world, opened("1:full.deck", folder, world), [1], [0], [0])
    drift(world, 9)
    assert not world.truncated.any()
    drift(world, 1)
    assert world.truncated.all()
    assert world.clock.ended[:, 0].tolist() == [10, 15, 10, 10]


def test_a_light_item_is_the_lanes_own_spawn_with_another_velocity(folder: Path) -> None:
    world, untouched = begun(), begun()
    deal(world, opened("1:light.json", folder, world), [1, 3], [0, 0], [1, 0])
    assert world.state.pred_vel[[1, 3]].tolist() == pytest.approx(np.array([[2.0, 0.0], [0.8, 0.0]]))
    assert np.array_equal(world.state.fish_pos, untouched.state.fish_pos)
    assert np.array_equal(world.state.pred_pos, untouched.state.pred_pos)
    assert np.array_equal(world.fish.obs[[0, 2]], untouched.fish.obs[[0, 2]])
    near = world.fish.obs[1, :, 5] == 1
    assert near.any()
    assert world.fish.obs[1, near, 8] == pytest.approx(1.0)  # 2.0 / 2: the fish see the new velocity


def test_before_the_pre_roll_the_speed_has_no_effect_and_the_heading_little(folder: Path) -> None:
    far = begun(FishSettings(fish=1), lanes=300)
    lanes = np.arange(300)
    deal(far, opened("1:light.json|apply=pre_roll", folder, far), lanes, [0] * 300, [1] * 300)
    speed = np.hypot(*far.state.pred_vel.T)
    assert speed.std() > 0.3 and abs(speed.mean() - 1.29) < 0.1  # the speeds of any spawn
    assert np.degrees(far.state.pred_heading).std() > 15
    near = begun(FishSettings(fish=1), lanes=300)
    near.begin_moving(lanes, np.tile([0.1, 0.0], (300, 1)), True)
    assert np.array_equal(near.state.pred_vel, far.state.pred_vel)


def test_pre_rolled_fish_keep_their_clearance(folder: Path) -> None:
    world = begun(FishSettings(fish=30, spawn_clearance=1.4), lanes=40)
    world.begin_moving(np.arange(40), np.tile([1.0, 1.0], (40, 1)), True)
    gap = np.linalg.norm(world.state.fish_pos - world.state.pred_pos[:, None], axis=2)
    assert gap.min() >= 1.4 - 1e-5


def way(world: Fish, lanes: list[int], steps: int = 8) -> np.ndarray:
    """How far the predators of these lanes come."""
    begin = world.state.pred_pos[lanes].copy()
    drift(world, steps)
    return np.linalg.norm(world.state.pred_pos[lanes] - begin, axis=1)


@pytest.mark.parametrize("name, items", [("full.deck", (0, 1, 2)), ("light.json", (0, 1, 1))])
def test_scaling_speeds_really_slows_the_predator(folder: Path, name: str, items: tuple[int, ...]) -> None:
    plain, slow = begun(), begun()
    deal(plain, opened(f"1:{name}", folder, plain), range(3), [0] * 3, items)
    deal(slow, opened(f"1:{name}|scale_speed=0.5", folder, slow), range(3), [0] * 3, items)
    assert slow.state.pred_vel[:3] == pytest.approx(0.5 * plain.state.pred_vel[:3], abs=1e-6)
    assert np.array_equal(slow.state.pred_pos[:3], plain.state.pred_pos[:3])
    assert (way(slow, [0, 1, 2]) < 0.9 * way(plain, [0, 1, 2])).all()


def test_a_velocity_cannot_be_given_in_the_middle_of_an_episode(folder: Path) -> None:
    world = begun()
    drift(world, 1)
    with pytest.raises(SituationError, match="just begun"):
        deal(world, opened("1:light.json", folder, world), [0], [0], [0])


def test_the_problems_of_all_stages_are_told_at_once(folder: Path) -> None:
    (folder / "empty.json").write_text('{"velocities": []}')
    text = "1:gone.deck;1:empty.json|label=hollow;1:full.deck|apply=pre_roll;1:light.json"
    with pytest.raises(ConfigError) as told:
        opened(text, folder, begun())
    assert len(told.value.problems) == 3
    for word in ("stage 1 (block1:gone)", "stage 2 (hollow)", "stage 3 (block3:full)", "only for velocities"):
        assert word in str(told.value)


def test_a_world_without_predators_refuses_velocities(folder: Path) -> None:
    template = Template(Template.Settings(), lanes=1, seed=0)
    with pytest.raises(ConfigError, match="of world fish; this run plays template"):
        open_supply(parse_stages("1:light.json"), folder, template, Template.Settings())
    template.reset()
    saved = template.save(np.array([0]))
    write_deck(folder / "template.deck", template, Template.Settings(), saved, Source())
    with pytest.raises(ConfigError, match="scale_speed"):
        open_supply(parse_stages("1:template.deck|scale_speed=2"), folder, template, Template.Settings())


def test_a_deck_of_any_world_of_arrays_is_dealt(folder: Path) -> None:
    world = Template(Template.Settings(), lanes=3, seed=0)
    world.reset()
    world.step({role.name: np.zeros((3, role.agents), np.int64) for role in world.spec.roles})
    write_deck(folder / "template.deck", world, Template.Settings(), world.save(np.array([0, 1])), Source())
    other = Template(Template.Settings(), lanes=2, seed=5)
    other.reset()
    supply = open_supply(parse_stages("1:template.deck"), folder, other, Template.Settings())
    deal(other, supply, [0, 1], [0, 0], [1, 0])
    saved, mine = other.of_episode(other.save(np.arange(2))), other.of_episode(world.save(np.array([1, 0])))
    assert saved.rows.keys() == mine.rows.keys()
    assert all(np.array_equal(saved.rows[name], array) for name, array in mine.rows.items())


def test_the_items_of_a_file_come_again_and_each_stage_has_its_own(folder: Path) -> None:
    world = begun()
    supply = opened("1:light.json;1:light.json|scale_speed=0.5", folder, world)
    deal(world, supply, [3, 1, 2], [0, 1, 0], [7, 2, 10])
    assert world.state.pred_vel[1:].tolist() == pytest.approx(np.array([[0.4, 0.0], [0.8, 0.0], [2.0, 0.0]]))


def test_a_declared_type_that_most_items_do_not_have_is_warned_of(folder: Path) -> None:
    supply = opened("1:light.json|type=ne;1:light.json|type=main", folder, begun())
    assert len(supply.warnings) == 1 and "declared type ne" in supply.warnings[0]
