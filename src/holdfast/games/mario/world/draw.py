"""A picture of one lane: the game's own screen, and beside it the held buttons and the facts the world reads."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from holdfast.games.mario.world import facts, play
from holdfast.games.mario.world.actions import BITS
from holdfast.games.mario.world.stages import STAGES
from holdfast.nes.draw import COLUMNS, LINES, line_emphasis, paint
from holdfast.nes.palette import RGB
from holdfast.nes.view import PICTURE_WORDS

if TYPE_CHECKING:
    from holdfast.games.mario.world.mario import Mario

PANEL = 128
BACK, INK, FAINT = (16, 18, 28), (226, 232, 240), (92, 102, 120)
PRESSED, IDLE = (240, 180, 60), (44, 50, 66)
PADS = {  # centre and half size of each button on the panel
    "LEFT": (20, 196, 8),
    "RIGHT": (52, 196, 8),
    "UP": (36, 180, 8),
    "DOWN": (36, 212, 8),
    "B": (82, 200, 10),
    "A": (108, 200, 10),
}


def screen(row: np.ndarray, words: np.ndarray, rom: np.ndarray) -> np.ndarray:
    """The console's last picture in colour, [240, 256, 3]."""
    groups, emphasis = np.empty(PICTURE_WORDS, np.uint64), np.zeros(LINES, np.uint8)
    paint(row, words, rom, groups)
    line_emphasis(words, emphasis)
    return RGB[emphasis[:, None], groups.view(np.uint8).reshape(LINES, COLUMNS)]


def fact_lines(row: np.ndarray, track: np.ndarray, t: int) -> list[str]:
    status = ("small", "tall", "fire")[min(int(facts.status(row)), 2)]
    return [
        f"stage {STAGES[track[play.STAGE_NUMBER]]}  {status}",
        f"step {t}",
        f"x {int(facts.x(row))}  y {int(facts.y(row))}",
        f"vx {int(facts.x_speed(row))}  vy {int(facts.y_speed(row))}",
        f"clock {int(facts.clock(row))}",
        f"score {int(facts.score(row))}",
        f"coins {int(facts.coins(row))}",
        f"best x {int(track[play.MAX_X])}",
    ]


def picture(world: Mario, lane: int) -> np.ndarray:
    """[240, 384, 3]."""
    row, track = world.state.console[lane], world.state.track[lane]
    canvas = Image.new("RGB", (COLUMNS + PANEL, LINES), BACK)
    canvas.paste(Image.fromarray(world.screen(lane)), (0, 0))
    pen, font = ImageDraw.Draw(canvas), ImageFont.load_default(11)
    for line, text in enumerate(fact_lines(row, track, int(world.clock.t[lane]))):
        pen.text((COLUMNS + 8, 6 + 14 * line), text, INK, font)
    for line, text in enumerate(world.caption):
        pen.text((COLUMNS + 8, 124 + 14 * line), text, PRESSED, font)
    held = int(track[play.HELD])
    for name, (x, y, half) in PADS.items():
        box = (COLUMNS + x - half, y - half, COLUMNS + x + half, y + half)
        pressed = bool(held & BITS[name])
        shape = pen.ellipse if name in "AB" else pen.rectangle
        shape(box, PRESSED if pressed else IDLE)
        pen.text((COLUMNS + x, y), name[0], BACK if pressed else FAINT, font, anchor="mm")
    return np.asarray(canvas)
