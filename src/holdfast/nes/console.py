"""N consoles with one cartridge: rows of one array, stepped together, saved and loaded by copying rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from holdfast.kit.compiled import announced, use_threads
from holdfast.nes import draw, layout, machine
from holdfast.nes.backgrounds import KEPT_WORDS
from holdfast.nes.cartridge import Cartridge
from holdfast.nes.draw import COLUMNS, LINES, line_emphasis
from holdfast.nes.errors import LaneError, UnsupportedFeature
from holdfast.nes.palette import GRAY, RGB
from holdfast.nes.start import power_on_row, restart

BUTTONS = ("A", "B", "SELECT", "START", "UP", "DOWN", "LEFT", "RIGHT")
BUTTON_BITS = {name: 1 << bit for bit, name in enumerate(BUTTONS)}

MOST_KEPT = 64  # backgrounds that a console keeps for its next pictures, 0.2 MB each

Lanes = Sequence[int] | NDArray[np.integer[Any]] | slice | None


def _machine_with_blocks(cartridge: Cartridge) -> machine.Machine:
    from holdfast.nes.blocks import machine_with_blocks  # it profiles with a console of its own

    return machine_with_blocks(cartridge)


class Console:
    """A batch of NES consoles. The same bytes come out for any number of lanes or threads."""

    def __init__(self, cartridge: Cartridge, lanes: int = 1, threads: int = 1, blocks: bool = False) -> None:
        """`blocks` compiles hot parts of this very program into the machine (see blocks.py): slow once, faster then."""
        if lanes < 1:
            raise LaneError(f"a console needs at least 1 lane, not {lanes}")
        self.cartridge = cartridge
        self.lanes = lanes
        self.threads = threads
        self._power_on = power_on_row(cartridge)
        self.state = np.repeat(self._power_on[None], lanes, axis=0)  # [N, bytes]
        self.words = self.state.view(np.int64)  # [N, bytes / 8], see layout.py
        self.rom = np.concatenate([cartridge.program, cartridge.tiles])
        self.machine = _machine_with_blocks(cartridge) if blocks else machine.general_machine(cartridge)
        self.code = self.machine.code
        self._buttons = np.zeros((lanes, 2), np.uint8)
        self._kept = np.zeros((0, KEPT_WORDS), np.uint64)

    @property
    def ram(self) -> NDArray[np.uint8]:
        """The work RAM of all lanes, [N, 2048]: a live view."""
        return self.state[:, : layout.RAM_BYTES]

    @property
    def jammed(self) -> NDArray[np.bool_]:
        """Lanes whose program ran into an opcode that stops the CPU, [N]."""
        return self.words[:, layout.JAMMED] != 0

    @property
    def notes(self) -> NDArray[np.int64]:
        """NOTE_ bits of layout.py per lane, [N]: what a program did that the picture or timing may not show."""
        return self.words[:, layout.NOTES]

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Everything that changes."""
        return {"state": self.state}

    def step(self, buttons: ArrayLike, frames: int = 1) -> None:
        """Hold buttons (bits of BUTTON_BITS; [N] for controller 1, [N, 2] for both, or one number) for some frames."""
        if frames < 0:
            raise LaneError(f"frames is {frames}; it cannot be negative")
        self._set_buttons(buttons)
        use_threads(self.threads)
        with announced("NES", machine.__file__):
            machine.step_lanes(self.state, self.words, self.rom, self.code, self._buttons, frames)

    def _set_buttons(self, buttons: ArrayLike) -> None:
        given = np.asarray(buttons)
        if given.dtype.kind not in "ui" or (given.size and (given.min() < 0 or given.max() > 255)):
            raise LaneError("buttons are whole numbers from 0 to 255, a bit for each button")
        if given.ndim == 0 or given.shape == (self.lanes,):
            self._buttons[:, 0] = given
            self._buttons[:, 1] = 0
        elif given.shape == (self.lanes, 2):
            self._buttons[:] = given
        else:
            raise LaneError(f"buttons have the shape {given.shape}; ({self.lanes},) or ({self.lanes}, 2) fits")

    def save(self, lanes: Lanes = None) -> NDArray[np.uint8]:
        """Copies of whole consoles, [n, bytes]."""
        return self.state[self._numbers(lanes)]

    def load(self, lanes: Lanes, rows: NDArray[np.uint8]) -> None:
        """Put saved consoles into lanes: one row for each lane, or a single row for all of them."""
        numbers = self._numbers(lanes)
        rows = np.atleast_2d(np.asarray(rows))
        if rows.dtype != np.uint8 or rows.shape not in ((1, self.state.shape[1]), (len(numbers), self.state.shape[1])):
            raise LaneError(
                f"rows are {rows.dtype} {rows.shape}; lanes {numbers.tolist()} of this console take "
                f"uint8 ({len(numbers)}, {self.state.shape[1]}) or one row for all"
            )
        self._check_rows(rows)
        self.state[numbers] = rows

    def power_on(self, lanes: Lanes = None) -> None:
        """Switch lanes off and on."""
        self.state[self._numbers(lanes)] = self._power_on

    def reset(self, lanes: Lanes = None) -> None:
        """Press the reset button of some lanes: memory stays."""
        numbers = self._numbers(lanes)
        words = self.words[numbers]
        restart(words, self.cartridge)
        self.words[numbers] = words

    def pixels(self, lanes: Lanes = None) -> NDArray[np.uint8]:
        """Pictures as palette indexes 0-63, [n, 240, 256]."""
        numbers = self._numbers(lanes)
        lost = numbers[(self.notes[numbers] & layout.NOTE_SPLITS_LOST) != 0]
        if lost.size:
            raise UnsupportedFeature(
                f"lane {lost[0]}: the program changes the scroll or the picture's settings on more than "
                f"{layout.LOG_ENTRIES} lines of one frame, which this console does not draw"
            )
        out = np.empty((len(numbers), LINES * COLUMNS), np.uint8)
        if len(self._kept) < min(len(numbers), MOST_KEPT):
            self._kept = np.zeros((min(len(numbers), MOST_KEPT), KEPT_WORDS), np.uint64)
        use_threads(self.threads)
        for first in range(0, len(numbers), MOST_KEPT):
            part = slice(first, first + MOST_KEPT)
            with announced("NES picture", draw.__file__):
                groups = out[part].view(np.uint64)
                machine.paint_lanes(self.state, self.words, self.rom, numbers[part], groups, self._kept)
        return out.reshape(-1, LINES, COLUMNS)

    def rgb(self, lanes: Lanes = None) -> NDArray[np.uint8]:
        """Pictures in colour, [n, 240, 256, 3]."""
        return self._coloured(RGB, lanes)

    def gray(self, lanes: Lanes = None) -> NDArray[np.uint8]:
        """Pictures in gray, [n, 240, 256]."""
        return self._coloured(GRAY, lanes)

    def _coloured(self, table: NDArray[np.uint8], lanes: Lanes) -> NDArray[np.uint8]:
        pixels = self.pixels(lanes)
        emphasis = np.zeros((len(pixels), LINES), np.uint8)
        for index, lane in enumerate(self._numbers(lanes)):
            line_emphasis(self.words[lane], emphasis[index])
        return table[emphasis[:, :, None], pixels]

    def _numbers(self, lanes: Lanes) -> NDArray[np.int64]:
        if lanes is None:
            return np.arange(self.lanes)
        if isinstance(lanes, slice):
            return np.arange(self.lanes)[lanes]
        numbers = np.asarray(lanes, np.int64).reshape(-1)
        wrong = numbers[(numbers < 0) | (numbers >= self.lanes)]
        if wrong.size:
            raise LaneError(f"lane {wrong[0]} does not exist; this console has lanes 0 to {self.lanes - 1}")
        return numbers

    def _check_rows(self, rows: NDArray[np.uint8]) -> None:
        """A row of another board would send reads and writes past its end."""
        words = np.ascontiguousarray(rows).view(np.int64)
        mine = self._power_on.view(np.int64)
        for field in (layout.VERTICAL, layout.CHR_AT, layout.PRG_RAM_AT):
            if (words[:, field] != mine[field]).any():
                raise LaneError("the rows were saved from a console with another kind of cartridge")
