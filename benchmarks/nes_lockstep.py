"""Lockstep with another emulator from the start of every stage: RAM after every frame, pictures now and then.

    python benchmarks/nes_lockstep.py --rival stable-retro --frames 100000 --json benchmarks/results/nes_lockstep.json

Needs the cartridge of gym-super-mario-bros and the rival (cynes, stable-retro). Stages are started by writing to the
RAM of both machines on the title screen.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

from holdfast.nes.lockstep import compare_game
from holdfast.nes.rivals import mario_rom

STAGES = [f"{world}-{level}" for level in range(1, 5) for world in range(1, 9)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rival", default="cynes")
    parser.add_argument("--frames", type=int, default=32_000, help="in all")
    parser.add_argument("--stages", nargs="*", default=STAGES, help="by turns (default: all 32)")
    parser.add_argument("--json", type=Path, help="add the result to this file")
    options = parser.parse_args()
    rom = mario_rom()
    assert rom is not None, "pip install gym-super-mario-bros"
    started = time.perf_counter()
    share = -(-options.frames // len(options.stages))
    frames = differing = pictures = 0
    for seed, stage in enumerate(options.stages):
        cynes = options.rival == "cynes"
        result = compare_game(options.rival, rom, stage, share, seed, pictures=cynes, every=10)
        frames += result.frames
        differing += result.differing_frames
        pictures += result.differing_pictures
        print(f"{stage}: {result.first_difference or 'no difference'}", flush=True)
    outcome = {
        "rival": options.rival,
        "stages": len(options.stages),
        "frames": frames,
        "frames_with_other_ram": differing,
        "other_pictures": pictures,
        "elapsed_s": round(time.perf_counter() - started),
    }
    print(json.dumps(outcome))
    if options.json:
        known = json.loads(options.json.read_text()) if options.json.exists() else []
        kept = [row for row in known if row["rival"] != options.rival]
        options.json.write_text(json.dumps([*kept, outcome], indent=1) + "\n")


if __name__ == "__main__":
    main()
