"""What is seen: the ground, pits, enemies, fire bars and Mario's own fireballs, on recorded RAM of the real game."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.games.mario.world import facts, sight

MOMENTS = dict(np.load(Path(__file__).parent / "ram.npz"))


def compact(ram: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
    out = np.full(sight.COMPACT_NUMBERS, 9.0, np.float32)
    sight.see_compact(ram, out)
    cells = 2 * sight.ROWS * sight.COLUMNS
    return out[:cells].reshape(2, sight.ROWS, sight.COLUMNS), out[cells:-1], float(out[-1])


def wide(ram: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    out = np.full(sight.WIDE_NUMBERS, 9.0, np.float32)
    sight.see_wide(ram, out)
    cells = 4 * sight.WIDE_ROWS * sight.WIDE_COLUMNS
    return out[:cells].reshape(4, sight.WIDE_ROWS, sight.WIDE_COLUMNS), out[cells:]


def test_sizes() -> None:
    assert (sight.COMPACT_NUMBERS, sight.WIDE_NUMBERS, sight.OWN_NUMBERS) == (328, 873, 41)


def test_mario_stands_on_the_ground() -> None:
    planes, own, height = compact(MOMENTS["start 1-1"].copy())
    below = sight.ABOVE + 1
    assert (planes[0, below : below + 2] == 1.0).all()  # two rows of ground under his feet
    assert planes[0, sight.ABOVE, sight.LEFT] == 0.0  # nothing where he is
    assert planes[1].sum() == 0.0
    assert own[5] == 1.0 and own[10] == 1.0 and own[14] == 1.0  # on the ground, small, a full clock
    assert height == np.float32(176 / 256)


def test_the_ground_is_the_last_two_rows_of_the_level() -> None:
    planes, _ = wide(MOMENTS["start 1-1"].copy())
    assert (planes[0, 11:, 1:] == 1.0).all() and planes[0, :11].sum() == 0.0
    assert planes[0, :, 0].sum() == 0.0  # beyond the room's left edge


def test_the_first_goomba_is_seen_where_it_is() -> None:
    ram = MOMENTS["running"].copy()
    assert ram[facts.SLOT_ACTIVE] and ram[facts.SLOT_ID] == 6
    planes, own, _ = compact(ram)
    across = ((int(sight.slot_x(ram, 0)) + 8) >> 4) - ((int(facts.x(ram)) + 8) >> 4) + sight.LEFT
    assert planes[1, sight.ABOVE, across] == 1.0 if across < sight.COLUMNS else planes[1].sum() == 0.0
    assert own[16] == 1.0 and own[17] > 0.0  # dangerous, to the right
    ram[facts.SLOT_STATE] |= sight.DEFEATED
    planes, own, _ = compact(ram)
    assert planes[1].sum() == 0.0 and own[16] == 0.5


def test_fire_bars_are_hazards_and_own_fire_is_not() -> None:
    planes, _ = wide(MOMENTS["in the castle"].copy())
    assert planes[2].sum() >= 1.0
    fire = MOMENTS["fireball"].copy()
    tiles = fire[facts.SPRITES + 1 : facts.SPRITES + 256 : 4]
    assert ((tiles == 0x64) | (tiles == 0x65)).any() and fire[sight.FIREBALL_STATE] != 0
    planes, _ = wide(fire)
    assert planes[2].sum() == 0.0


def test_lifts_are_three_cells_wide_and_can_be_stood_on() -> None:
    ram = MOMENTS["running"].copy()
    ram[facts.SLOT_ACTIVE : facts.SLOT_ACTIVE + 5] = 0
    without, _, _ = compact(ram)
    ram[facts.SLOT_ACTIVE], ram[facts.SLOT_ID] = 1, sight.FIRST_LIFT
    ram[facts.SLOT_X_PAGE], ram[facts.SLOT_X] = ram[facts.X_PAGE], ram[facts.X_PIXEL] + 16
    ram[facts.SLOT_Y] = 120
    planes, own, _ = compact(ram)
    assert (planes - without)[0].sum() == 3.0 and (planes - without)[1].sum() == 0.0 and own[16] == 0.5
    assert wide(ram)[0][3].sum() == 3.0


def test_objects_come_nearest_first() -> None:
    ram = MOMENTS["running"].copy()
    for slot, gap in enumerate((90, 20, 60, 40, 30)):
        x = int(facts.x(ram)) + gap
        ram[facts.SLOT_ACTIVE + slot], ram[facts.SLOT_ID + slot], ram[facts.SLOT_STATE + slot] = 1, 6, 0
        ram[facts.SLOT_X_PAGE + slot], ram[facts.SLOT_X + slot] = x >> 8, x & 255
    _, own, _ = compact(ram)
    gaps = own[sight.MOTION + 1 :: sight.OBJECT_NUMBERS] * 128
    assert gaps.tolist() == [20, 30, 40, 60, 90]


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_any_ram_is_seen_within_bounds(seed: int) -> None:
    ram = np.random.default_rng(seed).integers(0, 256, 2048).astype(np.uint8)
    for see, numbers in ((sight.see_compact, sight.COMPACT_NUMBERS), (sight.see_wide, sight.WIDE_NUMBERS)):
        out = np.full(numbers, 99.0, np.float32)
        see(ram, out)
        assert np.isfinite(out).all() and np.abs(out).max() <= sight.BOUND
