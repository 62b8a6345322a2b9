"""Plays a ROM with a script of inputs: RGB frames for whoever wants to look or to write a video."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from holdfast.nes.cartridge import load_rom
from holdfast.nes.errors import ConsoleError, InputScriptError
from holdfast.nes.inputs import read_inputs

FRAMES_PER_S = 60.0988  # NTSC: 5.369318 MHz / (341 * 262 - 0.5) dots


def play(rom: Path, inputs: Path) -> Iterator[NDArray[np.uint8]]:
    """One RGB picture [240, 256, 3] for each frame of the script, from power-on. Both files are read before the first
    picture, so that mistakes in them come at once."""
    cartridge = load_rom(rom)
    try:
        text = inputs.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputScriptError(f"cannot read the inputs script {inputs}: {error}") from error
    script = read_inputs(text, str(inputs))

    def pictures() -> Iterator[NDArray[np.uint8]]:
        from holdfast.nes.console import Console

        console = Console(cartridge)
        for frame, buttons in enumerate(script):
            console.step(buttons[None])
            if console.jammed[0]:
                raise ConsoleError(f"{rom}: in frame {frame} the program ran into an opcode that stops the CPU")
            yield console.rgb()[0]

    return pictures()
