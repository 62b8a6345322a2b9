"""Policies that need no learning: run to the right, without and with jumps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from holdfast.games.mario.world.actions import BITS

if TYPE_CHECKING:
    from holdfast.worlds.api import Act

HOP_STEPS, REST_STEPS = 8, 2


def _first(buttons: tuple[int, ...], *wanted: int) -> int:
    """The id of the first of these that is an action; 0 if none is."""
    return next((buttons.index(held) for held in wanted if held in buttons), 0)


def run_right(world: Any) -> dict[str, np.ndarray]:
    right, fast = BITS["RIGHT"], BITS["RIGHT"] | BITS["B"]
    return {"player": np.full((world.lanes, 1), _first(world.buttons, fast, right), np.int64)}


def hop_right(world: Any) -> dict[str, np.ndarray]:
    """Run, and jump as often as possible: A is held for a while, then let go."""
    right, a, b = BITS["RIGHT"], BITS["A"], BITS["B"]
    run, jump = _first(world.buttons, right | b, right), _first(world.buttons, right | a | b, right | a, right)
    phase = world.clock.t.astype(np.int64) % (HOP_STEPS + REST_STEPS)
    return {"player": np.where(phase < HOP_STEPS, jump, run)[:, None]}


POLICIES: dict[str, Act] = {"run_right": run_right, "hop_right": hop_right}
