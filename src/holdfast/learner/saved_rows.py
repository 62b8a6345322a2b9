"""Actions and replayed steps from a checkpoint, checked before a kernel indexes with them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from holdfast.kit.errors import CheckpointError
from holdfast.kit.soundness import refuse_misfits, refuse_outside
from holdfast.worlds.spaces import Actions, Continuous, Discrete, Grid, MultiDiscrete

LARGEST = float(np.finfo(np.float32).max)


def refuse_actions(what: str, actions: Actions | Grid, chosen: np.ndarray) -> None:
    """CheckpointError unless every action is one that the role can choose."""
    match actions:
        case Discrete(n):
            refuse_outside(f"{what}: actions", chosen, 0, n - 1)
        case Grid():
            refuse_outside(f"{what}: actions", chosen, 0, int(np.prod(actions.counts)) - 1)
        case MultiDiscrete(counts):
            for place, count in enumerate(counts):
                refuse_outside(f"{what}: actions", chosen[..., place], 0, count - 1)
        case Continuous():
            refuse_outside(f"{what}: actions", chosen, -LARGEST, LARGEST)


def refuse_rows(
    what: str, actions: Actions | Grid, kinds: Mapping[str, Any], capacity: int, saved: Mapping[str, np.ndarray]
) -> None:
    """CheckpointError unless these are the arrays of a replay that can hold so many rows; `kinds`: shape and type of a
    row of each."""
    refuse_misfits(what, {"counters": np.zeros(4, np.int64)}, saved)
    size, place, updates, pushed = (int(number) for number in saved["counters"])
    if not (0 <= size <= capacity and 0 <= place < capacity and updates >= 0 and size <= pushed):
        raise CheckpointError(f"the saved {what} counts what cannot be: {[size, place, updates, pushed]}")
    if size == 0:
        return
    rows = {name: np.broadcast_to(np.zeros((), kind), (size, *shape)) for name, (shape, kind) in kinds.items()}
    refuse_misfits(what, rows, saved)
    refuse_actions(what, actions, saved["actions"])
    refuse_outside(f"{what}: born", saved["born"], 0, updates)
