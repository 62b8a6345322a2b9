"""Pictures: the console's own view, pooled over two frames, stacked oldest first, filled anew at every start."""

from __future__ import annotations

import numpy as np

from holdfast.games.mario.world.actions import BITS
from holdfast.nes.view import plan_view, view_picture
from tests.games.mario.bot import own_world, press


def gray(world: object, lane: int = 0) -> np.ndarray:
    out = np.empty((84, 84), np.uint8)
    view_picture(world.state.console[lane], world.words[lane], world.fixed.rom, plan_view(), out)  # type: ignore[attr-defined]
    return out


def test_the_stack_holds_the_last_steps_oldest_first() -> None:
    world = own_world(obs="pixels", max_pool=False, stack=3)
    assert world.player.obs.shape == (1, 1, 84, 84, 3) and world.player.obs.dtype == np.uint8
    kept = [gray(world)] * 3
    assert kept[0].std() > 0.0
    for _ in range(5):
        np.testing.assert_array_equal(world.player.obs[0, 0], np.stack(kept[-3:], axis=2))
        press(world, BITS["RIGHT"] | BITS["A"])
        kept.append(gray(world))
    assert any((kept[-1] != picture).any() for picture in kept[:-1])


def test_pooling_takes_the_brighter_of_two_frames() -> None:
    plain, pooled = own_world(obs="pixels", max_pool=False), own_world(obs="pixels")
    for _ in range(4):
        press(plain, BITS["A"])
        press(pooled, BITS["A"])
    assert (pooled.player.obs[0, 0, :, :, -1] != plain.player.obs[0, 0, :, :, -1]).any()
    assert (plain.state.console == pooled.state.console).all()


def test_an_end_leaves_the_last_sight_and_begins_with_the_first() -> None:
    world = own_world(obs="pixels", max_steps=3)
    first = world.player.obs.copy()
    for _ in range(2):
        press(world, BITS["RIGHT"])
    before = world.player.obs.copy()
    press(world, BITS["RIGHT"])
    assert world.truncated[0] and (world.player.obs == first).all()
    np.testing.assert_array_equal(world.player.final_obs[0, 0, :, :, :3], before[0, 0, :, :, 1:])
