"""The small gray picture and the tile grid against plain NumPy, on pictures of the game and of random machines."""

from __future__ import annotations

import numpy as np
import pytest
from cartridges import SPRITE_ZERO, cartridge
from hypothesis import given, settings
from hypothesis import strategies as st
from test_twin import scramble

from holdfast.nes import Cartridge, Console, load_rom
from holdfast.nes import layout as L
from holdfast.nes.draw import split_settings
from holdfast.nes.errors import ViewError
from holdfast.nes.grid import read_grid
from holdfast.nes.palette import RGB
from holdfast.nes.view import plan_view, shrink, step_and_view, step_and_view_lanes, view_picture

BUSY = cartridge(SPRITE_ZERO.format(x=20, y=50, mask=0x1E))


def overlaps(length: int, size: int) -> np.ndarray:
    """[size, length]: how much of each source pixel a small pixel covers, in units of 1 / size of a source pixel."""
    begin, end = np.arange(size) * length, np.arange(1, size + 1) * length
    pixels = np.arange(length) * size
    return np.clip(np.minimum(end[:, None], pixels + size) - np.maximum(begin[:, None], pixels), 0, None)


def plain_view(pictures: list[np.ndarray], gray: str, resize: str, crop_top: int, size: int) -> np.ndarray:
    """Gray, brighter of the two, crop, resize: each with whole arrays."""
    weights = np.array([299, 587, 114] if gray == "bt601" else [1, 1, 1])
    table = np.floor((RGB[0].astype(np.int64) @ weights * 2 + weights.sum()) / (2 * weights.sum())).astype(np.int64)
    whole = np.maximum(*(table[picture] for picture in pictures))[crop_top:]
    if resize == "nearest":
        lines, columns = (np.trunc(np.arange(size) * (n - 1) / (size - 1)).astype(int) for n in whole.shape)
        return whole[lines][:, columns]
    total = overlaps(whole.shape[0], size) @ whole @ overlaps(256, size).T
    return (2 * total + whole.size) // (2 * whole.size)


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 2**31),
    st.sampled_from(["bt601", "mean"]),
    st.sampled_from(["area", "nearest"]),
    st.integers(0, 60),
    st.sampled_from([84, 84, 2, 96, 128, 180]),
)
def test_shrinking_equals_whole_arrays(seed: int, gray: str, resize: str, crop_top: int, size: int) -> None:
    random = np.random.default_rng(seed)
    blocks = random.integers(0, 64, (30, 32)).repeat(8, 0).repeat(8, 1)
    pictures = [
        np.where(random.random((240, 256)) < share, random.integers(0, 64, (240, 256)), blocks) for share in (0, 0.2)
    ]
    groups = [picture.astype(np.uint8).reshape(-1).view(np.uint64) for picture in pictures]
    out = np.zeros((size, size), np.uint8)
    shrink(plan_view(gray, resize, crop_top, size), groups[0], groups[1], out)
    assert (out == plain_view(pictures, gray, resize, crop_top, size)).all()


def test_a_step_shows_its_last_two_frames(mario: Cartridge) -> None:
    console, other = Console(mario), Console(mario)
    console.step(0, frames=200)  # the demonstration, where things move
    other.load(None, console.save())
    buttons, out = np.array([0x82, 0], np.uint8), np.zeros((84, 84), np.uint8)
    for _ in range(10):
        step_and_view(console.state[0], console.words[0], console.rom, console.code, buttons, 4, plan_view(), out)
        other.step(buttons[None], frames=3)
        earlier = other.pixels()[0]
        other.step(buttons[None])
        pictures = [earlier, other.pixels()[0]]
        assert (console.state == other.state).all()
        assert (out == plain_view(pictures, "bt601", "area", 0, 84)).all()
        assert out.std() > 5
    step_and_view(console.state[0], console.words[0], console.rom, console.code, buttons, 1, plan_view(), out)
    assert (out == plain_view([console.pixels()[0]] * 2, "bt601", "area", 0, 84)).all()
    view_picture(other.state[0], other.words[0], other.rom, plan_view(), out)
    assert (out == plain_view([other.pixels()[0]] * 2, "bt601", "area", 0, 84)).all()


def test_a_batch_shows_what_single_lanes_show() -> None:
    batch, single = Console(load_rom(BUSY), 3, threads=2), Console(load_rom(BUSY))
    buttons = np.array([[1, 0], [2, 0], [130, 0]], np.uint8)
    views, one = np.zeros((3, 84, 84), np.uint8), np.zeros((84, 84), np.uint8)
    for _ in range(3):
        step_and_view_lanes(batch.state, batch.words, batch.rom, batch.code, buttons, 4, plan_view(), views)
        step_and_view(single.state[0], single.words[0], single.rom, single.code, buttons[2], 4, plan_view(), one)
    assert (views[2] == one).all() and (batch.state[2] == single.state[0]).all()


@pytest.mark.parametrize(
    ("chosen", "says"),
    [
        ({"gray": "green"}, "bt601, mean"),
        ({"resize": "cubic"}, "area, nearest"),
        ({"size": 1}, "2 to 240"),
        ({"crop_top": 200}, "0 to 156"),
    ],
)
def test_a_view_that_cannot_be_is_refused(chosen: dict[str, object], says: str) -> None:
    with pytest.raises(ViewError, match=says):
        plan_view(**chosen)  # type: ignore[arg-type]


def next_line(v: int, t: int) -> int:
    """The PPU's own steps at the end of a line (NESdev, "PPU scrolling")."""
    if v & 0x7000 != 0x7000:
        v += 0x1000
    else:
        v &= ~0x7000
        coarse_y = v >> 5 & 31
        if coarse_y == 29:
            coarse_y, v = 0, v ^ 0x0800
        else:
            coarse_y = (coarse_y + 1) & 31
        v = v & ~0x03E0 | coarse_y << 5
    return v & ~0x041F | t & 0x041F


def plain_grid(console: Console) -> np.ndarray:
    row, words = console.state[0].astype(np.int64), console.words[0]
    grid = np.full((2, 30, 32), -1)
    halves = [row[L.SCREENS + 1024 * half :][:1024].reshape(32, 32) for half in (0, 1)]
    order = (0, 1, 0, 1) if words[L.VERTICAL] else (0, 0, 1, 1)
    log = {int(entry) & 0xFF: int(entry) for entry in words[L.LOG : L.LOG + words[L.SPLITS]]}
    shown = []
    v = t = settings = 0
    for line in range(240):
        if line in log:
            v, t, settings = log[line] >> 8 & 0x7FFF, log[line] >> 23 & 0x7FFF, log[line]
        elif split_settings(settings)[2] & 0x18:
            v = next_line(v, t)
        fine_x, control, mask = split_settings(settings)
        shown.append((control, mask))
        if line % 8 == 4 and mask & 8:
            left, right = (halves[order[(v >> 10 & 3) ^ side]][v >> 5 & 31] for side in (0, 1))
            pixels = np.concatenate([left, right]).repeat(8)[(v & 31) * 8 + fine_x :]
            grid[0, line // 8] = pixels[4:256:8] + (256 if control & 0x10 else 0)
    for top, tile, attributes, x in row[L.OAM : L.OAM + 256].reshape(64, 4)[::-1] + [1, 0, 0, 4]:
        if top >= 240 or x >= 256 or not shown[top][1] & 0x10:
            continue
        tall, table = shown[top][0] & 0x20, 256 if shown[top][0] & 0x08 else 0
        parts = [(tile & 1) * 256 + (tile & 0xFE) + half for half in (0, 1)] if tall else [tile + table]
        for half, part in enumerate(parts[::-1] if attributes & 0x80 else parts):
            if top + 8 * half + 4 < 240:
                grid[1, (top + 8 * half + 4) // 8, x // 8] = part
    return grid


def check_grid(console: Console) -> np.ndarray:
    grid = np.zeros((2, 30, 32), np.int16)
    read_grid(console.state[0], console.words[0], grid)
    assert (grid == plain_grid(console)).all()
    return grid


def test_the_grid_of_the_game_scrolls_under_a_fixed_status_bar(mario: Cartridge) -> None:
    from holdfast.nes.bench import mario_inputs

    console = Console(mario)
    grids = []
    for frame, buttons in enumerate(mario_inputs(500)):
        console.step(buttons)
        if frame >= 300 and frame % 10 == 0:
            grids.append(check_grid(console))
    assert (grids[0][0, :2] == grids[-1][0, :2]).all()  # the words of the status bar stay
    assert (grids[0][0, 4:] != grids[-1][0, 4:]).any()  # the level does not
    assert (grids[-1][1] >= 0).sum() >= 4  # Mario is made of several sprites


MACHINE = Console(load_rom(BUSY))


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 2**31))
def test_the_grid_of_random_machines(seed: int) -> None:
    scramble(MACHINE, seed)
    random = np.random.default_rng(seed)
    lines = [0, *np.unique(random.integers(1, 240, random.integers(0, 6))).tolist()]
    for index, line in enumerate(lines):
        MACHINE.words[0, L.LOG + index] = line | int(random.integers(1 << 49)) << 8
    MACHINE.words[0, L.SPLITS], MACHINE.words[0, L.VERTICAL] = len(lines), random.integers(2)
    check_grid(MACHINE)
