"""Sets of actions: which buttons each id holds. START in play freezes the game for ever, so sets with it are refused
unless the policy starts the game itself; even then the console never gets START or SELECT while the game is played."""

from __future__ import annotations

from holdfast.games.mario.world.errors import ActionError
from holdfast.kit.errors import nearest

BUTTONS = ("A", "B", "SELECT", "START", "UP", "DOWN", "LEFT", "RIGHT")
BITS = {name: 1 << bit for bit, name in enumerate(BUTTONS)}
MENU = BITS["START"] | BITS["SELECT"]
NOOP = "NOOP"
OPPOSITE = (("LEFT", "RIGHT"), ("UP", "DOWN"))

RIGHT_ONLY = (NOOP, "RIGHT", "RIGHT+A", "RIGHT+B", "RIGHT+A+B")
SIMPLE = (*RIGHT_ONLY, "A", "LEFT")
COMPLEX = (*SIMPLE, "LEFT+A", "LEFT+B", "LEFT+A+B", "DOWN", "UP")
EXTENDED = (NOOP, "START", "RIGHT", "RIGHT+B", "RIGHT+A", "RIGHT+A+B", "START+RIGHT", "START+RIGHT+B")
SETS = {"right": RIGHT_ONLY, "simple": SIMPLE, "complex": COMPLEX, "extended": EXTENDED}


def buttons_of(text: str, where: str) -> int:
    """The bits of `RIGHT+A` in any order and case; NOOP is no button."""
    names = [name.strip().upper() for name in text.split("+")]
    if names == [NOOP]:
        return 0
    held = 0
    for name in names:
        if name not in BITS:
            known = [*BUTTONS, NOOP]
            raise ActionError(f"{where}: no button is called {name!r}{nearest(name, known)}; there are {known}")
        if held & BITS[name]:
            raise ActionError(f"{where}: {name} is held twice")
        held |= BITS[name]
    for one, other in OPPOSITE:
        if held & BITS[one] and held & BITS[other]:
            raise ActionError(f"{where}: {one} and {other} cannot be held together")
    return held


def buttons_name(held: int) -> str:
    """The usual spelling of some bits: directions first, then A and B."""
    order = ("LEFT", "RIGHT", "UP", "DOWN", "START", "SELECT", "A", "B")
    return "+".join(name for name in order if held & BITS[name]) or NOOP


def read_actions(text: str, auto_start: bool = True) -> tuple[int, ...]:
    """Buttons of every action id: a set's name, or an own list like `NOOP,RIGHT+B,RIGHT+A+B`."""
    names = SETS.get(text, tuple(part.strip() for part in text.split(",")))
    found = [buttons_of(name, f"actions = {text!r}, id {number}") for number, name in enumerate(names)]
    for number, held in enumerate(found):
        if held & MENU and auto_start:
            raise ActionError(
                f"actions = {text!r}, id {number} ({names[number]}): START in play pauses the game: Mario and clock "
                "stand still for ever, and no episode would end. The world starts the game by itself: take `simple`, "
                "which has the same moves, or set auto_start = false to let the policy press START on the title screen"
            )
        if held in found[:number]:
            raise ActionError(f"actions = {text!r}: id {number} ({names[number]}) is there twice")
    return tuple(found)
