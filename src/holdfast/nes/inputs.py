"""Scripts of controller inputs: text in, one number of buttons per frame out.

Each line is `frames buttons`: `60` waits 60 frames, `5 START` holds Start for 5, `120 RIGHT+B` holds both, and
`10 RIGHT | A` holds Right on controller 1 and A on controller 2. `#` begins a comment. `repeat 3` ... `end` repeats
the lines between them; repeats can be nested.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from holdfast.kit.errors import nearest
from holdfast.nes.errors import InputScriptError

BUTTONS = ("A", "B", "SELECT", "START", "UP", "DOWN", "LEFT", "RIGHT")
MOST_FRAMES = 10_000_000


def read_inputs(text: str, name: str = "the inputs script") -> NDArray[np.uint8]:
    """Buttons of both controllers for each frame, uint8 [frames, 2]."""
    stack: list[tuple[int, int, list[tuple[int, int, int]]]] = []  # line, times, runs of (frames, buttons, buttons)
    runs: list[tuple[int, int, int]] = []
    for number, raw in enumerate(text.splitlines(), 1):
        words = raw.split("#")[0].strip()
        where = f"{name}, line {number}: {raw.strip()!r}"
        if not words:
            continue
        if words.split()[0] == "repeat":
            stack.append((number, _count(words.removeprefix("repeat").strip(), where), runs))
            runs = []
        elif words == "end":
            if not stack:
                raise InputScriptError(f"{where}: `end` without a `repeat` before it")
            _, times, outer = stack.pop()
            _check_length(sum(run[0] for run in outer) + times * sum(run[0] for run in runs), where)
            runs = outer + runs * times
        else:
            runs.append(_run(words, where))
            _check_length(sum(run[0] for run in runs), where)
    if stack:
        raise InputScriptError(f"{name}, line {stack[-1][0]}: this `repeat` has no `end`")
    counts = np.array([run[0] for run in runs], np.int64)
    return np.repeat(np.array([run[1:] for run in runs], np.uint8).reshape(-1, 2), counts, axis=0)


def _check_length(frames: int, where: str) -> None:
    if frames > MOST_FRAMES:
        raise InputScriptError(f"{where}: the script is longer than {MOST_FRAMES:,} frames here")


def _count(text: str, where: str) -> int:
    if not text.isascii() or not text.isdigit() or not 0 < int(text[:12]) <= MOST_FRAMES or len(text) > 12:
        raise InputScriptError(
            f"{where}: expected a number of times or frames from 1 to {MOST_FRAMES:,}, as in `120 RIGHT+B`"
        )
    return int(text)


def _run(words: str, where: str) -> tuple[int, int, int]:
    frames, _, held = words.partition(" ")
    controllers = held.split("|")
    if len(controllers) > 2:
        raise InputScriptError(f"{where}: there are two controllers, so at most one `|`")
    first, second = (_buttons(part, where) for part in (*controllers, "")[:2])
    return _count(frames, where), first, second


def _buttons(text: str, where: str) -> int:
    held = 0
    for name in filter(None, text.replace("+", " ").upper().split()):
        if name not in BUTTONS:
            hint = nearest(name, list(BUTTONS))
            raise InputScriptError(f"{where}: no button is called {name}{hint}; there are {', '.join(BUTTONS)}")
        held |= 1 << BUTTONS.index(name)
    return held
