"""No saved lane can make a kernel leave its arrays: every world of ours refuses what lies outside its bounds."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from holdfast.kit.errors import SituationError
from holdfast.worlds.api import ArrayWorld
from holdfast.worlds.bounds import problems_of, undeclared
from holdfast.worlds.check.strange import strange_rows_are_refused
from holdfast.worlds.check.subject import Subject
from holdfast.worlds.gym_lanes import Packed, unpack
from holdfast.worlds.registry import make_world
from holdfast.worlds.spaces import Continuous, Discrete, MultiDiscrete
from holdfast.worlds.template.world import TrackSettings

WORLDS: dict[str, dict[str, Any]] = {"template": {}, "fish": {"fish": 6}, "pursuit": {}, "gym:CartPole-v1": {}}


@pytest.mark.parametrize("name", WORLDS)
def test_extreme_numbers_are_refused_or_lived_with(name: str) -> None:
    assert "refused" in strange_rows_are_refused(Subject(name, WORLDS[name], 4, 20, 7))


def test_a_row_out_of_range_is_refused_on_every_way_in() -> None:
    world = make_world("template", TrackSettings(), 3, seed=1)
    assert isinstance(world, ArrayWorld)
    world.reset()
    lanes = np.arange(3)
    good = world.save(lanes)
    bad = replace(good, rows={**good.rows, "position": np.full(3, 8, np.int32)}, checked=False)
    for load in (
        lambda: world.load(lanes, bad),
        lambda: world.load(lanes, bad, exact=True),
        lambda: world.begin_from(lanes, world.of_episode(bad)),
        lambda: world.check_situation(world.of_episode(bad)),
        lambda: world.restore({**world.arrays(), "position": bad.rows["position"]}),
    ):
        with pytest.raises(SituationError, match="position has numbers outside 0 to 7"):
            load()
    assert (world.state.position == good.rows["position"]).all()


def test_levels_and_floats_are_checked_too() -> None:
    world = make_world("template", TrackSettings(), 3, seed=1)
    world.reset()
    for name, value, words in (("level", 1e300, "outside"), ("total", np.nan, "finite"), ("t", -1, "outside")):
        arrays = {key: array.copy() for key, array in world.arrays().items()}
        arrays[name][...] = value
        with pytest.raises(SituationError, match=words):
            world.restore(arrays)


def test_flags_are_true_or_false() -> None:
    strange = np.full(2, 7, np.uint8).view(np.bool_)
    assert problems_of({"alive": strange}, {}) == ["alive holds flags that are neither true nor false"]
    assert undeclared({"a": np.zeros(1, np.int32), "b": np.zeros(1)}, {}) == ["a"]


@pytest.mark.parametrize(
    ("actions", "values"),
    [
        (Discrete(3), np.array([[3]], np.int64)),
        (Discrete(3), np.array([[-1]], np.int64)),
        (Discrete(3), np.array([[0.0]], np.float32)),
        (MultiDiscrete((2, 3)), np.array([[1, 3]], np.int64)),
        (Continuous((-1.0,), (1.0,)), np.array([[np.nan]], np.float32)),
        (Continuous((-1.0,), (1.0,)), np.array([[2.0]], np.float32)),
    ],
)
def test_actions_that_no_environment_takes_are_not_repeated(actions: Any, values: np.ndarray) -> None:
    with pytest.raises(SituationError):
        unpack(Packed(values, np.array([0, 1], np.int64)), actions)


@pytest.mark.parametrize("offsets", [[0, 2], [1, 1], [0, -1, 1], [0, 2, 1]])
def test_histories_are_cut_as_they_were_saved(offsets: list[int]) -> None:
    with pytest.raises(SituationError, match="cut into lanes"):
        unpack(Packed(np.zeros((1, 1), np.int64), np.array(offsets, np.int64)), Discrete(2))


@pytest.mark.parametrize(
    ("word", "value"),
    [("PC", 1 << 40), ("PC", -1), ("SP", 300), ("DOT", -(1 << 60)), ("SPLITS", 65), ("LOG", 255), ("CHR_AT", 1 << 30)],
)
def test_registers_no_chip_has_are_refused(word: str, value: int) -> None:
    from holdfast.games.mario.world.mario import Mario
    from holdfast.games.mario.world.settings import MarioSettings
    from holdfast.nes import layout

    world = Mario(MarioSettings(rom="own"), 1, seed=1)
    world.reset()
    good = world.save(np.arange(1))
    world.load(np.arange(1), replace(good, checked=False))
    console = good.rows["console"].copy()
    console.view(np.int64)[:, getattr(layout, word)] = value
    with pytest.raises(SituationError, match="of a console"):
        world.load(np.arange(1), replace(good, rows={**good.rows, "console": console}, checked=False))
