"""Harvest: the moments before avoidable losses, from seeds of their own, that play again as they were."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.curriculum.deck_files import Source, read_deck
from holdfast.curriculum.deck_spec import parse_stages
from holdfast.curriculum.deck_supply import deal, open_supply
from holdfast.games.fish.harvest import (
    Harvest,
    HarvestRule,
    bins_before,
    densest_window,
    harvest,
    harvest_keys,
    harvest_run,
    kept_times,
    write_harvest,
)
from holdfast.games.fish.world.fish import Fish, FishSettings
from holdfast.rollout.act import PolicyActor
from holdfast.rollout.evaluate import DURING_RUN, HELD_OUT, evaluation_keys
from holdfast.state import fresh_learners
from holdfast.worlds.api import Act, World
from tests.conftest import small_config

SETTINGS = FishSettings(fish=40, steps=150)
RULE = HarvestRule(episodes=12, worst=4)
SOURCE = Source("run", 8, "policy")


def keep(world: World) -> Act:
    return world.yardsticks()["keep"]


@pytest.fixture(scope="module")
def found() -> Harvest:
    return harvest(SETTINGS, keep, harvest_keys(1, 8, 12), RULE)


def test_seeds_are_not_those_of_any_evaluation_or_other_harvest() -> None:
    sets = [evaluation_keys(411232, block, 50) for block in (DURING_RUN, HELD_OUT)]
    sets += [harvest_keys(411232, iteration, 50) for iteration in (8, 16)]
    assert len(np.unique(np.concatenate(sets))) == 200


@given(deaths=st.lists(st.integers(-1, 60), max_size=30), width=st.integers(1, 30))
def test_the_densest_window_holds_as_many_deaths_as_any(deaths: list[int], width: int) -> None:
    steps = np.array([death for death in deaths if death != 0], np.int16)
    first = densest_window(steps, width)
    counts = {begin: int(((steps >= begin) & (steps < begin + width) & (steps > 0)).sum()) for begin in range(1, 61)}
    if first is None:
        assert max(counts.values()) == 0
    else:
        assert counts[first] == max(counts.values())
        assert all(counts[begin] < counts[first] for begin in range(1, first) if begin in steps)


def test_a_window_near_the_beginning_gives_the_beginning_alone() -> None:
    assert kept_times(np.array([15, 16, 17, -1]), RULE) == [0]
    assert kept_times(np.array([3, 75, 76, 77, -1]), RULE) == [0, 55]
    assert kept_times(np.array([-1, -1]), RULE) == [0]


def test_every_kept_moment_has_avoidable_deaths_ahead(found: Harvest) -> None:
    assert len(found.moments) >= 4
    for moment in found.moments:
        ahead = int((moment.death_step > moment.situation.rows["t"][0]).sum())
        assert 2 <= moment.avoidable <= ahead
    strict = harvest(SETTINGS, keep, harvest_keys(1, 8, 12), RULE._replace(least_avoidable=41))
    assert strict.moments == ()


def test_a_replayed_situation_reproduces_every_death_step(found: Harvest, tmp_path: Path) -> None:
    """Through the file, into other lanes of a roomier world, in another batch size."""
    path = write_harvest(tmp_path / "a.npz", SETTINGS, found, SOURCE)
    assert path is not None
    expected = read_deck(path).per_item["death_step"]
    room = FishSettings(fish=55, steps=150)
    world = Fish(room, len(expected) + 3, seed=99)
    world.reset()
    supply = open_supply(parse_stages("1:a.npz"), tmp_path, world, room)
    lanes = np.arange(len(expected)) + 3
    deal(world, supply, lanes, [0] * len(lanes), range(len(lanes)))
    assert replayed(world, keep(world), lanes, SETTINGS.fish) == expected.tolist()


def replayed(world: Fish, act: Act, lanes: np.ndarray, fish: int) -> list[list[int]]:
    fates: dict[int, list[int]] = {}
    while len(fates) < len(lanes):
        world.step(act(world))
        table = world.finished()
        for lane, deaths in zip(table["lane"], table["death_step"], strict=True):
            if lane in lanes:
                fates.setdefault(int(lane), deaths[:fish].tolist())
    return [fates[int(lane)] for lane in lanes]


def test_a_learned_policys_harvest_plays_again_as_it_was(tmp_path: Path) -> None:
    config = small_config("fish", **{"world.fish": "30", "rollout.lanes": "8", "learner.minibatch": "60"})
    learners = fresh_learners(config, Fish(config.world, 1, seed=0))
    settings = FishSettings(fish=30, steps=120)
    found = harvest(settings, lambda world: PolicyActor(learners), harvest_keys(3, 1, 10), RULE)
    world = Fish(settings, 1, seed=5)
    assert found.moments
    for moment in found.moments:
        world.reset()
        world.begin_from(np.array([0]), moment.situation)
        assert replayed(world, PolicyActor(learners), np.array([0]), 30) == [moment.death_step.tolist()]


def test_no_heading_and_speed_is_kept_too_often(tmp_path: Path, found: Harvest) -> None:
    rule = RULE._replace(per_bin=1)
    first = harvest_run(tmp_path, SETTINGS, keep, harvest_keys(1, 8, 12), rule, SOURCE)
    assert first == tmp_path / "decks" / "harvest_iter0008.npz"
    counts = bins_before(tmp_path, 16)
    assert set(counts.values()) == {1} and sum(counts.values()) < len(found.moments)
    assert bins_before(tmp_path, 8) == Counter()  # the same iteration is harvested again after a resume
    again = harvest_run(tmp_path, SETTINGS, keep, harvest_keys(1, 8, 12), rule, SOURCE._replace(iteration=16))
    assert again is None


def test_the_light_twin_holds_the_same_velocities(tmp_path: Path, found: Harvest) -> None:
    write_harvest(tmp_path / "a.npz", SETTINGS, found, SOURCE)
    full, light = read_deck(tmp_path / "a.npz"), read_deck(tmp_path / "a.json")
    assert full.situations is not None and light.velocities is not None
    assert np.array_equal(full.situations.rows["pred_vel"], light.velocities.astype(np.float32))


def test_a_slowed_harvest_says_so_and_expects_no_deaths(tmp_path: Path, found: Harvest) -> None:
    write_harvest(tmp_path / "plain.npz", SETTINGS, found, SOURCE)
    write_harvest(tmp_path / "slow.npz", SETTINGS, found, SOURCE, scale_speed=0.8)
    plain, slow = read_deck(tmp_path / "plain.npz"), read_deck(tmp_path / "slow.npz")
    assert plain.situations is not None and slow.situations is not None
    assert slow.situations.rows["pred_vel"] == pytest.approx(0.8 * plain.situations.rows["pred_vel"], rel=1e-6)
    assert "0.8" in slow.note and "death_step" not in slow.per_item
