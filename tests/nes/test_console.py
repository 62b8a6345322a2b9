"""The batch: save and load, lanes, threads, power and reset, and errors that say what was wrong."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from cartridges import NMI_TIMING, SPRITE_ZERO, cartridge

from holdfast.kit.compiled import SETTINGS, kernel_sources
from holdfast.nes import Cartridge, Console, load_rom, machine
from holdfast.nes import layout as L
from holdfast.nes.bus import cycle_at
from holdfast.nes.console import MOST_KEPT
from holdfast.nes.errors import LaneError, UnsupportedFeature

BUSY = cartridge(SPRITE_ZERO.format(x=20, y=50, mask=0x1E))


def played(cartridge: Cartridge, lanes: int, frames: int, threads: int = 1, seed: int = 0) -> Console:
    """Lanes with different buttons in every frame."""
    console = Console(cartridge, lanes, threads)
    random = np.random.default_rng(seed)
    for _ in range(frames):
        console.step(random.integers(0, 256, 64, dtype=np.uint8)[:lanes] & 0xF3, frames=2)
    return console


STATUS_TWICE = """
reset:  LDA PPUSTATUS
        STA $10
        LDA PPUSTATUS
        STA $11
stay:   JMP stay
"""


def test_the_vertical_blank_flag_is_up_at_power_on_but_not_after_a_reset() -> None:
    console = Console(load_rom(cartridge(STATUS_TWICE)))
    console.step(0)
    assert console.ram[0, 0x10:0x12].tolist() == [0x80, 0]
    console.step(0, frames=3)
    console.reset()
    console.step(0)
    assert console.ram[0, 0x10:0x12].tolist() == [0, 0]


def test_more_pictures_than_a_console_keeps_backgrounds_for() -> None:
    console = Console(load_rom(BUSY), MOST_KEPT + 6)
    console.ram[:, 0x203] = np.arange(MOST_KEPT + 6)
    for _ in range(2):
        console.step(0, frames=9)
        pictures = console.pixels()
        for lane in (0, 5, MOST_KEPT + 5):
            assert (pictures[lane] == console.pixels([lane])[0]).all()


def test_inner_functions_refuse_python() -> None:
    """Numba would jump to address 0."""
    row = Console(load_rom(BUSY)).state[0]
    if not SETTINGS.DISABLE_JIT:
        with pytest.raises(TypeError, match="cycle_at is for kernels only"):
            cycle_at(row.view(np.int64), 3)


def test_the_example_of_the_docs() -> None:
    consoles = Console(load_rom(BUSY), lanes=64)
    consoles.step(np.zeros(64, np.uint8), frames=4)
    assert consoles.ram[:, 0x86].shape == (64,)
    assert consoles.pixels([0]).shape == (1, 240, 256)
    row = consoles.save([3])
    consoles.load([0, 1, 2], row)
    assert (consoles.state[:3] == row).all()


def test_ram_is_a_live_view() -> None:
    console = Console(load_rom(BUSY))
    console.ram[0, 0x123] = 77
    assert console.state[0, 0x123] == 77 and console.arrays()["state"] is console.state


def test_save_then_load_gives_the_same_future() -> None:
    console = played(load_rom(BUSY), lanes=3, frames=20)
    saved = console.save()
    futures = []
    for _ in range(2):
        console.load(None, saved)
        console.step([1, 2, 3], frames=30)
        futures.append((console.state.copy(), console.pixels()))
    assert (futures[0][0] == futures[1][0]).all() and (futures[0][1] == futures[1][1]).all()


def test_a_batch_equals_single_lanes_and_threads_change_nothing(mario: Cartridge) -> None:
    batch, other = played(mario, 7, 120, threads=1), played(mario, 7, 120, threads=2)
    assert (batch.state == other.state).all()
    single = Console(mario)
    random = np.random.default_rng(0)
    for _ in range(120):
        single.step(random.integers(0, 256, 64, dtype=np.uint8)[3:4] & 0xF3, frames=2)
    assert (single.state[0] == batch.state[3]).all()
    assert (batch.pixels() == other.pixels()).all()


def test_frames_inside_one_call_equal_single_calls() -> None:
    one, many = Console(load_rom(BUSY)), Console(load_rom(BUSY))
    one.step(5, frames=24)
    for _ in range(24):
        many.step(5)
    assert (one.state == many.state).all()


def test_power_on_and_reset() -> None:
    console = Console(load_rom(cartridge("reset: INC $10\nloop: INC $11\n JMP loop\n")), lanes=2)
    fresh = console.save()
    console.step(0, frames=3)
    console.reset([1])
    console.step(0)
    assert console.ram[:, 0x10].tolist() == [1, 2]  # memory stays over a reset
    console.power_on()
    assert (console.state == fresh).all()


def test_the_second_controller_is_its_own() -> None:
    source = """
reset:  LDA #1
        STA $4016
        LDA #0
        STA $4016
        LDX #8
next:   LDA $4017
        LSR A
        ROL $10
        DEX
        BNE next
stop:   JMP stop
"""
    console = Console(load_rom(cartridge(source)), lanes=2)
    console.step(np.array([[0xFF, 0x01], [0xFF, 0x81]], np.uint8))
    assert console.ram[:, 0x10].tolist() == [0x80, 0x81]


def test_prg_ram_belongs_to_the_row() -> None:
    program = "reset: LDA #9\n STA $6123\n LDA $6123\n STA $10\nstop: JMP stop"
    console = Console(load_rom(cartridge(program, prg_ram=True)))
    console.step(0)
    assert console.ram[0, 0x10] == 9
    assert console.state[0, int(console.words[0, L.PRG_RAM_AT]) + 0x123] == 9


def test_rows_are_small() -> None:
    assert L.ROW_BYTES < 6 * 1024
    assert L.ROW_BYTES * 10_000 < 100 * 1024 * 1024


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda c: c.step(np.zeros(3, np.uint8)), "shape"),
        (lambda c: c.step(256), "0 to 255"),
        (lambda c: c.step(0.5), "whole numbers"),
        (lambda c: c.step(0, frames=-1), "negative"),
        (lambda c: c.save([2]), "lane 2 does not exist"),
        (lambda c: c.pixels([-1]), "lane -1 does not exist"),
        (lambda c: c.load([0], np.zeros((1, 10), np.uint8)), "one row for all"),
        (lambda c: c.load([0], np.full((1, c.state.shape[1]), 255, np.uint8)), "another kind of cartridge"),
    ],
)
def test_mistakes_are_named(call: object, says: str) -> None:
    console = Console(load_rom(BUSY), lanes=2)
    with pytest.raises(LaneError, match=says):
        call(console)  # type: ignore[operator]


def test_no_lanes_is_a_mistake() -> None:
    with pytest.raises(LaneError, match="at least 1"):
        Console(load_rom(BUSY), lanes=0)


def test_more_splits_than_the_log_holds_is_said_not_hidden() -> None:
    source = """
reset:  JSR start
        LDA #$1E
        STA PPUMASK
loop:   INC $10
        LDA $10
        STA PPUSCROLL
        STA PPUSCROLL
        LDX #18
wait:   DEX
        BNE wait
        JMP loop
"""
    console = Console(load_rom(cartridge(source)))
    console.step(0, frames=6)
    with pytest.raises(UnsupportedFeature, match="more than 64 lines"):
        console.pixels()


def test_the_cache_depends_on_every_kernel_file() -> None:
    """Whatever the machine is made of must be part of its cache's key, also what only generated text imports."""
    known = {path.name for path in kernel_sources(Path(machine.__file__))}
    assert {"apu.py", "bus.py", "decode.py", "draw.py", "frame.py", "handlers.py", "plain.py", "ppu.py"} <= known


SHORT_RUN = """
import sys, hashlib
sys.path.insert(0, {folder!r})
from cartridges import NMI_TIMING, SPRITE_ZERO, FRAME_IRQ, cartridge
from holdfast.nes import Console, load_rom
digest = hashlib.sha256()
for source in (NMI_TIMING.format(mask=0x1E), SPRITE_ZERO.format(x=250, y=3, mask=0x1E), FRAME_IRQ):
    console = Console(load_rom(cartridge(source)), lanes=1)
    for frame in range({frames}):
        console.step(frame % 256)
    digest.update(console.state.tobytes())
    digest.update(console.pixels().tobytes())
print(digest.hexdigest())
"""


def run_short(frames: int, **environment: str) -> str:
    program = SHORT_RUN.format(folder=str(Path(__file__).parent), frames=frames)
    done = subprocess.run(
        [sys.executable, "-c", program], env=os.environ | environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_compiled_equals_plain_python() -> None:
    assert run_short(4) == run_short(4, NUMBA_DISABLE_JIT="1")


def test_timing_cartridge_keeps_its_log() -> None:
    console = Console(load_rom(cartridge(NMI_TIMING.format(mask=0))))
    console.step(0, frames=20)
    assert console.ram[0, 0xFF] == 3 and console.ram[0, 0xFE] > 20
