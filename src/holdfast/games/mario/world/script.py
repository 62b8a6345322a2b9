"""Scripts of forced steps: `RIGHT+B:240,RIGHT+A+B:60` holds the buttons for so many steps (`60f`: frames).

A leading START is satisfied by the world's own start of the game and takes no step; later ones are refused, because in
play they would freeze it.
"""

from __future__ import annotations

import re

from holdfast.games.mario.world.actions import BITS, MENU, buttons_name, buttons_of
from holdfast.games.mario.world.errors import ActionError

SEGMENT = re.compile(r"([^:]+?)(?::\s*(\d+)\s*(f?))?", re.IGNORECASE)
MOST_STEPS = 100_000


def read_script(text: str, actions: tuple[int, ...], frame_skip: int, auto_start: bool = True) -> tuple[int, ...]:
    """The buttons of every forced step."""
    steps: list[int] = []
    for number, segment in enumerate(text.split(",") if text.strip() else []):
        where = f"script = {text!r}, segment {number + 1} ({segment.strip()})"
        held, count = _segment(segment, where, frame_skip)
        if held & MENU:
            if number or held != BITS["START"]:
                raise ActionError(
                    f"{where}: START and SELECT freeze the game in play; only a leading START may be there"
                )
            if auto_start:
                continue  # the world has pressed it already
        elif held not in actions:
            known = ", ".join(buttons_name(one) for one in actions)
            raise ActionError(f"{where}: {buttons_name(held)} is not among the actions {known}")
        steps += [held] * count
        if len(steps) > MOST_STEPS:
            raise ActionError(f"{where}: the script is longer than {MOST_STEPS:,} steps here")
    return tuple(steps)


def _segment(segment: str, where: str, frame_skip: int) -> tuple[int, int]:
    """Buttons and steps of one segment."""
    match = SEGMENT.fullmatch(segment.strip())
    if match is None:
        raise ActionError(f"{where}: expected buttons, or buttons:steps, or buttons:frames and an f")
    held = buttons_of(match[1], where)
    digits = match[2] or "1"
    if len(digits) > 6 or not 1 <= int(digits) <= MOST_STEPS:
        raise ActionError(f"{where}: the count must be from 1 to {MOST_STEPS:,}")
    count = int(digits)
    if match[3]:
        if count % frame_skip:
            raise ActionError(f"{where}: {count} frames are no whole number of steps of {frame_skip} frames")
        count //= frame_skip
    return held, count


def forward_buttons(text: str, actions: tuple[int, ...]) -> int:
    """The buttons of a forced forward step when nothing was probed: the option, else RIGHT+B, else RIGHT."""
    if text:
        held = buttons_of(text, f"forward_action = {text!r}")
        if held not in actions:
            raise ActionError(f"forward_action = {text!r} is not among the actions")
        return held
    for held in (BITS["RIGHT"] | BITS["B"], BITS["RIGHT"]):
        if held in actions:
            return held
    raise ActionError("no action is RIGHT+B or RIGHT, so forward steps need forward_action or probe_steps")
