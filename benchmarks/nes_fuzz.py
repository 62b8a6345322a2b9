"""Fuzzes the ROM reader and the machine: any file gives a console or a named error, and any program stays in bounds.

    NUMBA_BOUNDSCHECK=1 python benchmarks/nes_fuzz.py --files 100000 --programs 300

With NUMBA_BOUNDSCHECK=1 the kernels are compiled with bounds checks (in a cache of their own), so that a write outside
an array is an error instead of silence.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter

import numpy as np

from holdfast.errors import HoldfastError
from holdfast.worlds.nes import Console, load_rom


def random_file(random: np.random.Generator) -> bytes:
    """Headers from nearly right to noise, with bodies of the right and the wrong length."""
    header = bytearray(b"NES\x1a" + bytes([random.integers(0, 4), random.integers(0, 3), 0, 0]) + bytes(8))
    for _ in range(int(random.integers(0, 5))):
        header[int(random.integers(16))] = int(random.integers(256))
    size = int(random.choice([0, 100, 16384, 24576, 32768, 40960])) + int(random.integers(-2, 3))
    return bytes(header[: int(random.integers(0, 17)) if random.random() < 0.1 else 16]) + bytes(max(size, 0))


def fuzz_files(count: int, seed: int) -> Counter[str]:
    random = np.random.default_rng(seed)
    outcomes: Counter[str] = Counter()
    for _ in range(count):
        try:
            load_rom(random_file(random))
            outcomes["cartridge"] += 1
        except HoldfastError as error:
            outcomes[type(error).__name__] += 1
    return outcomes


def fuzz_programs(count: int, seed: int, frames: int = 5) -> Counter[str]:
    """Random bytes as programs, in random memory."""
    random = np.random.default_rng(seed)
    outcomes: Counter[str] = Counter()
    for index in range(count):
        header = b"NES\x1a" + bytes([2, index % 2, (index % 2) | (index % 3 == 0) << 1, 0]) + bytes(8)
        body = random.integers(0, 256, 32768 + 8192 * (index % 2), dtype=np.uint8).tobytes()
        console = Console(load_rom(header + body))
        console.ram[:] = random.integers(0, 256, 2048, dtype=np.uint8)
        for _ in range(frames):
            console.step(int(random.integers(256)))
        try:
            console.pixels()
            outcomes["picture"] += 1
        except HoldfastError as error:
            outcomes[type(error).__name__] += 1
        outcomes["jammed"] += int(console.jammed[0])
    return outcomes


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=100_000)
    parser.add_argument("--programs", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    started = time.perf_counter()
    print("files:", dict(fuzz_files(options.files, options.seed)), f"{time.perf_counter() - started:.0f} s")
    started = time.perf_counter()
    print("programs:", dict(fuzz_programs(options.programs, options.seed)), f"{time.perf_counter() - started:.0f} s")


if __name__ == "__main__":
    main()
