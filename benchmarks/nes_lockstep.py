"""Lockstep with another emulator over many frames and all eight worlds: RAM after every frame, pictures now and then.

    python benchmarks/nes_lockstep.py --rival stable-retro --frames 100000

Needs the cartridge of gym-super-mario-bros and the rival (cynes, stable-retro). Worlds are chosen by writing to RAM,
which stable-retro does not offer here, so it plays from 1-1 with other seeds instead.
"""

from __future__ import annotations

import argparse
import time

from holdfast.worlds.nes.lockstep import compare_game
from holdfast.worlds.nes.rivals import mario_rom

FRAMES_PER_START = 2500


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rival", default="cynes")
    parser.add_argument("--frames", type=int, default=20_000)
    options = parser.parse_args()
    rom = mario_rom()
    assert rom is not None, "pip install gym-super-mario-bros"
    started = time.perf_counter()
    frames = differing = pictures = 0
    start = 0
    while frames < options.frames:
        world = start % 8 if options.rival == "cynes" else 0
        result = compare_game(
            options.rival, rom, world, FRAMES_PER_START, seed=start, pictures=options.rival == "cynes", every=10
        )
        frames += result.frames
        differing += result.differing_frames
        pictures += result.differing_pictures
        start += 1
        if result.first_difference:
            print(f"start {start}, world {world + 1}: {result.first_difference}", flush=True)
    elapsed_s = time.perf_counter() - started
    print(f"{options.rival}: {frames} frames, {differing} differ in RAM, {pictures} pictures differ, {elapsed_s:.0f} s")


if __name__ == "__main__":
    main()
