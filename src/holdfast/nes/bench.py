"""Frames per second of this console and of the other emulators that are installed: same ROM, same inputs, one run.

Contenders take turns, and the middle of several turns counts, because a machine's speed drifts. All emulators must end
at the same place in the level, or the figures would compare different work.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.kit.errors import MissingPackage
from holdfast.nes import rivals

FRAMES = 1600
LEAST_S = (
    0.5  # of a turn: the same script again and again, or a twentieth of a second would stand beside a rival's seconds
)
POSITION = (0x6D, 0x86)  # page and column of the player; see gym-super-mario-bros for the RAM map


FRAME_COUNTER, ALIGNED_AT, LONGEST_BOOT = 0x09, 30, 120  # the game's own counter on the title screen


def mario_inputs(frames: int = FRAMES) -> NDArray[np.uint8]:
    """Start, then run to the right and jump in a rhythm that comes far into 1-1."""
    buttons = np.zeros(frames, np.uint8)
    for frame in range(frames):
        if 10 <= frame < 15:
            buttons[frame] = 0x08
        elif frame >= 30:
            buttons[frame] = 0x83 if (frame + 22) % 29 < 26 else 0x82
    return buttons


def boot(step: Callable[[], None], ram: Callable[[], NDArray[np.uint8]]) -> None:
    """To the title screen: emulators take a different number of frames to boot, so a RAM event decides."""
    for _ in range(LONGEST_BOOT):
        step()
        if ram()[FRAME_COUNTER] == ALIGNED_AT:
            return


def bench(rom: Path | None = None, repeats: int = 5, lanes: int = 32, blocks: bool = False) -> dict[str, Any]:
    """Measure everything; `ratio_...` fields are the middle of the rounds' own quotients."""
    path = rom or rivals.mario_rom()
    if path is None:
        raise MissingPackage("no ROM given, and none found; pip install gym-super-mario-bros, or name a file")
    inputs = mario_inputs()
    contenders: dict[str, Callable[[], float]] = {}
    ends: dict[str, list[int]] = {}
    for name in rivals.installed():
        contenders[name] = _rival_turn(name, path, inputs, ends)
    contenders |= _own_turns(path, inputs, lanes, ends, blocks)
    speeds = _take_turns(contenders, repeats)
    result: dict[str, Any] = {
        "rom": path.name,
        "frames": len(inputs),
        "missing": [name for name in rivals.RIVALS if name not in rivals.installed()],
        "end_positions": ends,
        "same_end": len({tuple(end) for end in ends.values()}) == 1,
        "frames_per_s": {name: round(statistics.median(values)) for name, values in speeds.items()},
        "lowest_highest": {name: [round(min(values)), round(max(values))] for name, values in speeds.items()},
    }
    ratios = _ratios(speeds, blocks)
    result |= {name: round(statistics.median(values), 2) for name, values in ratios.items()}
    result["ratios_lowest_highest"] = {name: [round(min(v), 2), round(max(v), 2)] for name, v in ratios.items()}
    result |= _small_costs(path) | _start_cost(path)
    return result


def _take_turns(contenders: dict[str, Callable[[], float]], repeats: int) -> dict[str, list[float]]:
    speeds: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in range(repeats):
        for name, turn in contenders.items():
            speeds[name].append(turn())
    return speeds


def _rival_turn(name: str, path: Path, inputs: NDArray[np.uint8], ends: dict[str, list[int]]) -> Callable[[], float]:
    def turn() -> float:
        rival = rivals.start(name, path)
        boot(lambda: rival.step(0), rival.ram)
        started = time.perf_counter()
        for buttons in inputs.tolist():
            rival.step(buttons)
        elapsed_s = time.perf_counter() - started
        ram = rival.ram()
        ends[name] = [int(ram[address]) for address in POSITION]
        return len(inputs) / elapsed_s

    return turn


def _speed(frames: int, prepare: Callable[[], None], play: Callable[[], None]) -> float:
    """Frames per second of playing, each time after preparing, which is not counted."""
    spent_s, rounds = 0.0, 0
    while spent_s < LEAST_S:
        prepare()
        started = time.perf_counter()
        play()
        spent_s += time.perf_counter() - started
        rounds += 1
    return rounds * frames / spent_s


def _own_turns(
    path: Path, inputs: NDArray[np.uint8], lanes: int, ends: dict[str, list[int]], blocks: bool
) -> dict[str, Callable[[], float]]:
    from holdfast.kit.compiled import use_threads
    from holdfast.nes.backgrounds import KEPT_WORDS
    from holdfast.nes.cartridge import load_rom
    from holdfast.nes.console import Console

    cartridge = load_rom(path)
    script = np.stack([inputs, np.zeros_like(inputs)], axis=1)
    pixels, kept = np.zeros((lanes, 240 * 256), np.uint8), np.zeros((lanes, KEPT_WORDS), np.uint64)

    booted = Console(cartridge)
    boot(lambda: booted.step(0), lambda: booted.ram[0])
    aligned = booted.save()

    def single(console: Console, every: int, name: str) -> Callable[[], float]:
        def play() -> None:
            console.machine.kernels.run_script(
                console.state[0], console.words[0], console.rom, console.code, script, every, groups, kept[0]
            )

        def turn() -> float:
            speed = _speed(len(inputs), lambda: console.load([0], aligned), play)
            ends[name] = [int(console.ram[0, address]) for address in POSITION]
            return speed

        groups = pixels[0].view(np.uint64)
        return turn

    def batch(console: Console, every: int, threads: int) -> Callable[[], float]:
        def play() -> None:
            console.machine.kernels.run_scripts(
                console.state, console.words, console.rom, console.code, script, every, groups, kept
            )

        def turn() -> float:
            use_threads(threads)
            return _speed(lanes * len(inputs), lambda: console.load(None, aligned), play)

        groups = pixels.view(np.uint64)
        return turn

    turns: dict[str, Callable[[], float]] = {}
    for kind in ("holdfast", "holdfast with blocks") if blocks else ("holdfast",):
        with_blocks = kind != "holdfast"
        one, many = Console(cartridge, 1, blocks=with_blocks), Console(cartridge, lanes, blocks=with_blocks)
        for every, label in ((0, "no picture"), (4, "every 4th frame"), (1, "every frame")):
            name = f"{kind}, {label}"
            turns[name] = single(one, every, name)
            turns[name]()  # compiles, and warms the caches
        for threads in (1, 2):
            turns[f"{kind}, {lanes} lanes, {threads} threads"] = batch(many, 0, threads)
        turns[f"{kind}, {lanes} lanes, 2 threads, every frame"] = batch(many, 1, 2)
        turns[f"{kind}, {lanes} lanes, 2 threads"]()
    return turns


def _ratios(speeds: dict[str, list[float]], blocks: bool) -> dict[str, list[float]]:
    """One per round: within a round the machine has had less time to change its speed than between rounds."""
    ratios = {}
    for kind in ("holdfast", "holdfast with blocks") if blocks else ("holdfast",):
        prefix = "ratio_blocks_" if kind != "holdfast" else "ratio_"
        for rival in rivals.installed():
            for label in ("no picture", "every frame"):
                key = f"{prefix}{rival}_{label}".replace(" ", "_").replace("-", "_")
                ratios[key] = _quotients(speeds[f"{kind}, {label}"], speeds[rival])
        one, two = (_of(speeds, kind, f" {threads} threads") for threads in (1, 2))
        ratios[f"{prefix}two_threads"] = _quotients(two, one)
    return ratios


def _quotients(ours: list[float], theirs: list[float]) -> list[float]:
    return [a / b for a, b in zip(ours, theirs, strict=True)]


def _of(speeds: dict[str, list[float]], kind: str, ending: str) -> list[float]:
    return next(values for name, values in speeds.items() if name.startswith(f"{kind},") and name.endswith(ending))


def _small_costs(path: Path) -> dict[str, Any]:
    """Saving and loading a lane inside kernels, and the size of a row."""
    from holdfast.nes.bench_kernels import copy_rows
    from holdfast.nes.cartridge import load_rom
    from holdfast.nes.console import Console

    console = Console(load_rom(path), 2)
    copy_rows(console.words[0], console.words[1], 10)
    rounds = 20_000
    started = time.perf_counter()
    copy_rows(console.words[0], console.words[1], rounds)
    return {
        "save_and_load_us": round((time.perf_counter() - started) / rounds * 1e6, 3),
        "row_bytes": int(console.state.shape[1]),
    }


def _start_cost(path: Path) -> dict[str, float]:
    """A new process with compiled kernels in the cache: from import to the first frame."""
    program = (
        "import sys, time; t = time.perf_counter()\n"
        "from holdfast.nes import Console, load_rom\n"
        "import numba, numpy; n = time.perf_counter() - t; t = time.perf_counter()\n"
        "c = Console(load_rom(sys.argv[1]), 1); c.step(0); c.pixels(); print(n, time.perf_counter() - t)"
    )
    done = subprocess.run([sys.executable, "-c", program, str(path)], capture_output=True, text=True, check=True)
    imports_s, start_s = (round(float(text), 2) for text in done.stdout.split()[-2:])
    return {"cached_start_s": start_s, "import_numba_s": imports_s}
