"""Record the RAM of the real game at named moments, for the tests of the facts: python benchmarks/mario_fixtures.py

Needs the ROM. Writes tests/games/mario/ram.npz (2,048 bytes per moment, compressed); no part of the ROM is in it.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from holdfast.games.mario.world import facts
from holdfast.games.mario.world.actions import BITS
from holdfast.games.mario.world.mario import Mario
from holdfast.games.mario.world.rom import open_rom
from holdfast.games.mario.world.search import find_clear
from holdfast.games.mario.world.settings import MarioSettings
from holdfast.games.mario.world.stages import NUMBER
from holdfast.games.mario.world.starts import Lane, make_game, start_row, title_lane

OUT = Path(__file__).resolve().parents[1] / "tests" / "games" / "mario" / "ram.npz"


def main() -> None:
    rom = open_rom()
    game = make_game(rom)
    title = title_lane(rom, game)
    kept: dict[str, np.ndarray] = {}

    def keep(name: str, lane: Lane) -> None:
        kept[name] = lane.row[:2048].copy()

    keep("title", title)
    demo = Lane(game, title.row)
    demo.press(0, 800)
    keep("demo", demo)
    for name in ("1-1", "1-2", "1-4", "2-2", "5-3", "8-4"):
        kept[f"start {name}"] = start_row(title, NUMBER[name])[:2048].copy()
    lane = Lane(game, start_row(title, 0))
    lane.press(BITS["RIGHT"] | BITS["B"], 60)
    keep("running", lane)
    lane.press(BITS["RIGHT"] | BITS["B"] | BITS["A"], 10)
    keep("jumping", lane)
    lane = Lane(game, start_row(title, 0))
    lane.press(BITS["RIGHT"], 160)
    keep("dying", lane)
    lane = Lane(game, start_row(title, 0))
    lane.press(0, 8020)
    keep("clock ran out", lane)
    lane = Lane(game, start_row(title, 0))
    lane.press(BITS["START"], 2)
    keep("paused", lane)
    lane = Lane(game, start_row(title, 0))
    for _ in range(600):
        lane.press(BITS["RIGHT"] | BITS["B"] | (BITS["A"] if lane.frames % 40 < 32 else 0))
        if facts.in_pit(lane.row):
            keep("pit", lane)
            break
    lane = Lane(game, start_row(title, 0))
    lane.row[facts.STATUS], lane.row[facts.SIZE] = 2, 0  # fire, to see his own fireball
    lane.press(0, 4)
    lane.press(BITS["B"], 8)
    keep("fireball", lane)
    for name, star in (("1-1", False), ("1-4", True)):
        world = Mario(MarioSettings(stages=name), 1, seed=1, threads=2)
        found = find_clear(world, NUMBER[name], star=star)
        assert found is not None
        lane = Lane(game, start_row(title, NUMBER[name]))
        for frame, held in enumerate(found.presses.tolist()):
            if star:
                lane.row[facts.STAR_TIMER] = 0x20
            lane.press(held)
            if name == "1-4" and frame == len(found.presses) // 2:
                keep("in the castle", lane)
        keep("flag" if name == "1-1" else "castle cleared", lane)
    np.savez_compressed(OUT, **kept)
    print(f"{len(kept)} moments in {OUT}: {OUT.stat().st_size} bytes")


if __name__ == "__main__":
    main()
