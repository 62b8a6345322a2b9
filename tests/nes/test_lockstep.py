"""This console beside other emulators: the same bytes of RAM and the same pixels, frame by frame."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from cartridges import (
    FRAME_IRQ,
    LENGTH_COUNTERS,
    MASKED_IRQ,
    NMI_ENABLE,
    NMI_TIMING,
    OAM_DMA,
    SPRITE_ZERO,
    VBLANK_FLAG,
    a_frame_later,
    cartridge,
)

from conftest import log_of
from holdfast.nes import Cartridge, Console, load_rom, rivals
from holdfast.nes.lockstep import compare_game

CARTRIDGES = {
    "vertical blank, dark": VBLANK_FLAG.format(mask=0),
    "vertical blank, rendering": VBLANK_FLAG.format(mask=0x1E),
    "NMI, dark": NMI_TIMING.format(mask=0),
    "NMI, rendering": NMI_TIMING.format(mask=0x1E),
    "NMI enabled late": NMI_ENABLE.format(delay=200),
    "OAM DMA, even": OAM_DMA.format(odd=""),
    "OAM DMA, odd": OAM_DMA.format(odd=" LDA $10"),
    "sprite 0, top": SPRITE_ZERO.format(x=0, y=0, mask=0x1E),
    "sprite 0, left": SPRITE_ZERO.format(x=10, y=20, mask=0x1E),
    "sprite 0, right": SPRITE_ZERO.format(x=200, y=180, mask=0x1E),
    "NMI, rendering, a frame later": a_frame_later(NMI_TIMING.format(mask=0x1E)),
    "frame interrupt": FRAME_IRQ,
    "frame interrupt, masked": MASKED_IRQ.format(delay=200),
    "frame interrupt, masked briefly": MASKED_IRQ.format(delay=3),
    "lengths, four steps": LENGTH_COUNTERS.format(sequence=0x40, halt=0, length=0x10),
    "lengths, five steps": LENGTH_COUNTERS.format(sequence=0xC0, halt=0, length=0x10),
    "lengths, halted": LENGTH_COUNTERS.format(sequence=0x40, halt=0xA0, length=0x10),
    "lengths, long": LENGTH_COUNTERS.format(sequence=0x40, halt=0, length=0xB8),
}


@pytest.mark.parametrize("name", CARTRIDGES)
def test_timing_agrees_with_cynes_to_the_cycle(name: str) -> None:
    pytest.importorskip("cynes")
    file = cartridge(CARTRIDGES[name])
    console, rival = Console(load_rom(file)), rivals.start("cynes", file)
    console.step(0, frames=100)
    for _ in range(100):
        rival.step(0)
    ours, theirs = log_of(console.ram[0]), log_of(rival.ram())
    both = min(len(ours), len(theirs))
    assert both >= 60 and abs(len(ours) - len(theirs)) <= 4
    assert ours[:both] == theirs[:both]


@pytest.mark.parametrize(
    ("name", "stage", "frames"),
    [("cynes", "1-1", 400), ("cynes", "7-2", 400), ("stable-retro", "1-1", 2000), ("stable-retro", "8-4", 800)],
)
def test_the_real_game_has_the_same_ram_in_every_frame(name: str, stage: str, frames: int, mario_path: Path) -> None:
    if name not in rivals.installed():
        pytest.skip(f"{name} is not installed")
    result = compare_game(name, mario_path, stage, frames, seed=1, pictures=name != "stable-retro")
    assert result.differing_frames == 0, result
    assert result.differing_pictures == 0, result


def test_pixels_have_the_colours_of_the_console(mario: Cartridge) -> None:
    console = Console(mario)
    console.step(0, frames=60)
    rgb, gray, pixels = console.rgb([0])[0], console.gray([0])[0], console.pixels([0])[0]
    assert rgb.shape == (240, 256, 3) and gray.shape == (240, 256)
    assert len(np.unique(pixels)) > 4  # the title is on the screen
    for colour in np.unique(pixels):
        assert len(np.unique(rgb[pixels == colour].reshape(-1, 3), axis=0)) == 1
