"""Fuzzes the ROM reader and the machine: any file gives a console or a named error, and any program stays in bounds.

    NUMBA_BOUNDSCHECK=1 python benchmarks/nes_fuzz.py --files 100000 --programs 300 --legal 40 --frames 2000 \\
        --json benchmarks/results/nes_fuzz.json

With NUMBA_BOUNDSCHECK=1 the kernels are compiled with bounds checks (in a cache of their own), so that a write outside
an array is an error instead of silence. `--legal` programs consist of legal instructions in RAM and ROM and are reset
when they jam all the same, so that they run for all of their frames.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np

from holdfast.kit.errors import HoldfastError
from holdfast.nes import Console, load_rom
from holdfast.nes.layout import PC
from holdfast.nes.opcodes import OPCODES

LEGAL = np.array([opcode.code for opcode in OPCODES if opcode.mnemonic not in ("JAM", "BRK")], np.uint8)
LENGTHS = np.array([opcode.length for opcode in OPCODES])
HIGH_BYTES = [0x00, 0x01, 0x02, 0x07, 0x1F, 0x20, 0x20, 0x3F, 0x40, 0x40, 0x60, 0x7F, 0x80, 0x9F, 0xC0, 0xFF]
LANES = 8


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


def legal_bytes(random: np.random.Generator, size: int) -> np.ndarray:
    """Instructions one behind the other. Operands favour registers and edges, and are themselves legal opcodes, so
    that a jump into the middle of an instruction finds one."""
    out = np.empty(size + 3, np.uint8)
    at = 0
    while at < size:
        code = int(random.choice(LEGAL))
        out[at : at + 3] = code, int(random.choice(LEGAL)), int(random.choice(HIGH_BYTES))
        at += int(LENGTHS[code])
    return out[:size]


def fuzz_legal(count: int, seed: int, frames: int) -> Counter[str]:
    """Programs that keep running: lanes with different RAM and buttons, reset when they jam."""
    random = np.random.default_rng(seed)
    outcomes: Counter[str] = Counter()
    for index in range(count):
        program = legal_bytes(random, 32768)
        program[0x7FFA:] = np.frombuffer(random.integers(0x8000, 0xFF00, 3).astype("<u2").tobytes(), np.uint8)
        header = b"NES\x1a" + bytes([2, index % 2, index % 2 | (index % 3 == 0) << 1, 0]) + bytes(8)
        tiles = random.integers(0, 256, 8192 * (index % 2), dtype=np.uint8).tobytes()
        console = Console(load_rom(header + program.tobytes() + tiles), LANES)
        for lane in range(LANES):
            console.ram[lane] = legal_bytes(random, 2048)
        places: set[int] = set()
        for frame in range(0, frames, 10):
            console.step(random.integers(0, 256, (LANES, 2), dtype=np.uint8), frames=10)
            places |= set(console.words[:, PC].tolist())
            jammed = np.nonzero(console.jammed)[0]
            outcomes["resets"] += len(jammed)
            if len(jammed):
                console.ram[jammed] = legal_bytes(random, 2048)
                console.reset(jammed)
            if frame % 100 == 0:
                try:
                    console.pixels()
                    outcomes["pictures"] += LANES
                except HoldfastError as error:
                    outcomes[type(error).__name__] += 1
        outcomes["frames"] += LANES * frames
        outcomes["different places"] += len(places)
    return outcomes


def timed(name: str, fuzz: Callable[[], Counter[str]]) -> dict[str, object]:
    started = time.perf_counter()
    outcomes = dict(fuzz())
    result: dict[str, object] = {"part": name, **outcomes, "elapsed_s": round(time.perf_counter() - started)}
    print(json.dumps(result), flush=True)
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=100_000)
    parser.add_argument("--programs", type=int, default=300, help="of random bytes, for five frames each")
    parser.add_argument("--legal", type=int, default=40, help="programs of legal instructions")
    parser.add_argument("--frames", type=int, default=2000, help="for each legal program, on eight lanes")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path, help="write the outcome to this file")
    options = parser.parse_args()
    results = [
        timed("files", lambda: fuzz_files(options.files, options.seed)),
        timed("random bytes", lambda: fuzz_programs(options.programs, options.seed)),
        timed("legal instructions", lambda: fuzz_legal(options.legal, options.seed, options.frames)),
    ]
    if options.json:
        checked = os.environ.get("NUMBA_BOUNDSCHECK") == "1"
        options.json.write_text(json.dumps({"bounds_checks": checked, "parts": results}, indent=1) + "\n")


if __name__ == "__main__":
    main()
