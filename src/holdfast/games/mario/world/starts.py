"""Level starts: a console's row at the first frame in which the player has control, for any of the 32 stages.

From power-on the title screen is waited for, the stage is written where the game keeps it, START is pressed once, and
the black screen is cut short. Every reset is a copy of such a row.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from holdfast.games.mario.world import facts
from holdfast.games.mario.world.actions import BITS
from holdfast.games.mario.world.errors import StageError
from holdfast.games.mario.world.rom import GameRom
from holdfast.games.mario.world.stages import STAGES, START_LIVES, START_X, stage
from holdfast.nes import machine
from holdfast.nes.blocks import machine_with_blocks
from holdfast.nes.console import power_on_row
from holdfast.nes.layout import BUTTONS1, BUTTONS2
from holdfast.nes.machine import general_machine

TITLE_FRAMES, START_FRAMES, LOADING_FRAMES = 60, 4, 200  # patience; the game needs 31, 1 and up to 59


class Game(NamedTuple):
    """A cartridge ready to run; also an argument of kernels."""

    rom: np.ndarray  # u8, the program, then the tiles
    code: np.ndarray  # u32, the program predecoded


_GAMES: dict[tuple[str, bool], Game] = {}  # decoding a program takes half a second, and nothing changes it


def make_game(rom: GameRom, blocks: bool = False) -> Game:
    """For the general machine, or one with this program's hot paths compiled into it: the same results, sooner."""
    if (rom.sha1, blocks) not in _GAMES:
        cartridge = rom.cartridge
        program = np.concatenate([cartridge.program, cartridge.tiles])
        made = machine_with_blocks(cartridge) if blocks else general_machine(cartridge)
        _GAMES[rom.sha1, blocks] = Game(program, made.code)
    return _GAMES[rom.sha1, blocks]


class Lane:
    """One of our consoles on its own, stepped from Python."""

    def __init__(self, game: Game, row: np.ndarray) -> None:
        self.game = game
        self.row = row.copy()
        self.words = self.row.view(np.int64)
        self.frames = 0

    def press(self, buttons: int, frames: int = 1) -> None:
        self.words[BUTTONS1], self.words[BUTTONS2] = buttons, 0
        run_frame: Any = machine.run_frame
        for _ in range(frames):
            run_frame(self.row, self.words, *self.game)
        self.frames += frames

    def follow(self, plan: Iterator[int]) -> None:
        """Hold the buttons that a plan says, frame by frame."""
        for buttons in plan:
            self.press(buttons)


def at_title(row: np.ndarray) -> bool:
    return facts.mode(row) == facts.TITLE and row[facts.TASK] == facts.RUNNING and row[facts.SCREEN_OFF] == 0


def ready(row: np.ndarray) -> bool:
    return bool(facts.in_play(row) and facts.routine(row) == facts.CONTROL)


def to_title(row: np.ndarray, path: str) -> Iterator[int]:
    """What to hold, frame by frame, from power-on to the title screen, before the attract demo."""
    for _ in range(TITLE_FRAMES):
        if at_title(row):
            return
        yield 0
    raise StageError(f"{path}: no title screen within {TITLE_FRAMES} frames of power-on")


def title_lane(rom: GameRom, game: Game) -> Lane:
    lane = Lane(game, power_on_row(rom.cartridge))
    lane.follow(to_title(lane.row, rom.path))
    return lane


def choose(row: np.ndarray, number: int) -> None:
    """Write a stage where the title screen reads it from."""
    wanted = stage(number)
    row[facts.WORLD], row[facts.LEVEL], row[facts.AREA] = wanted.world - 1, wanted.level - 1, wanted.area - 1


def to_start(row: np.ndarray, number: int) -> Iterator[int]:
    """What to hold from the title screen to a stage's first controlled frame, which must be as it should. Writes to the
    row between frames."""
    choose(row, number)
    for _ in range(START_FRAMES):
        yield BITS["START"]
        if facts.mode(row) == facts.PLAY:
            break
    for _ in range(LOADING_FRAMES):
        if ready(row):
            break
        facts.shorten_waits(row)
        yield 0
    else:
        raise StageError(f"stage {STAGES[number]} did not begin within {LOADING_FRAMES} frames of START")
    problems = start_problems(row, number)
    if problems:
        raise StageError(f"stage {STAGES[number]} did not start as it should: {'; '.join(problems)}")


def start_row(title: Lane, number: int) -> np.ndarray:
    lane = Lane(title.game, title.row)
    lane.follow(to_start(lane.row, number))
    return lane.row


def start_problems(row: np.ndarray, number: int) -> list[str]:
    """What is not as it must be at the start of a stage."""
    wanted = stage(number)
    found = {
        "x": (facts.x(row), START_X),
        "y": (facts.y(row), wanted.y),
        "clock": (facts.clock(row), wanted.clock),
        "area type": (facts.area_type(row), wanted.area_type),
        "lives": (facts.lives(row), START_LIVES),
        "paused": (int(facts.paused(row)), 0),
        "status": (facts.status(row), 0),
        "stage": (facts.stage_number(row), number),
    }
    return [f"{name} is {is_} instead of {should}" for name, (is_, should) in found.items() if is_ != should]


_TITLES: dict[str, Lane] = {}  # by digest of the ROM: worlds of one process share what booting found
_ROWS: dict[tuple[str, int], np.ndarray] = {}


def _title(rom: GameRom, game: Game) -> Lane:
    if rom.sha1 not in _TITLES:
        _TITLES[rom.sha1] = title_lane(rom, game)
    return _TITLES[rom.sha1]


def title_rows(rom: GameRom, game: Game, numbers: tuple[int, ...]) -> np.ndarray:
    """[stages, bytes]: the title screen, with each stage chosen."""
    rows = np.repeat(_title(rom, game).row[None], len(numbers), axis=0)
    for row, number in zip(rows, numbers, strict=True):
        choose(row, number)
    return rows


def start_rows(rom: GameRom, game: Game, numbers: tuple[int, ...]) -> np.ndarray:
    """[stages, bytes]; made once per process."""
    for number in numbers:
        if (rom.sha1, number) not in _ROWS:
            _ROWS[rom.sha1, number] = start_row(_title(rom, game), number)
    return np.stack([_ROWS[rom.sha1, number] for number in numbers])
