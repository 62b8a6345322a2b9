"""What a foreign environment does not keep in arrays: the copies in a situation, and the actions that led to now."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from holdfast.kit.errors import SituationError
from holdfast.worlds.gym_make import Environment
from holdfast.worlds.spaces import Actions, Continuous, Discrete, MultiDiscrete

HISTORY = ("history", "history_offsets")  # arrays of a checkpoint that have no fixed shape
HAIR = 1e-5
History = list[np.ndarray]  # the actions of the current episode, each a flat row


class Totals(NamedTuple):
    """Arrays of a foreign lane beyond its clock."""

    total: np.ndarray  # [N] f64, return so far


class LiveLane(NamedTuple):
    """A copied environment and the actions that brought it to its state."""

    environment: Environment
    history: History


class Packed(NamedTuple):
    """The histories of all lanes as two arrays; lane n is `values[offsets[n]:offsets[n + 1]]`."""

    values: np.ndarray  # [sum of lengths, K]
    offsets: np.ndarray  # [N + 1] i64


def action_row(actions: Actions) -> tuple[int, np.dtype]:
    """Length and type of one action as a flat row."""
    if isinstance(actions, Discrete):
        return 1, np.dtype(np.int64)
    return len(actions), np.dtype(np.float32 if isinstance(actions, Continuous) else np.int64)


def pack(histories: list[History], limit: int, actions: Actions) -> Packed:
    """Histories longer than `limit` are left out: replaying them would take too long."""
    length, dtype = action_row(actions)
    kept = [history if len(history) <= limit else [] for history in histories]
    offsets = np.cumsum([0, *map(len, kept)]).astype(np.int64)
    rows = [row.reshape(-1) for history in kept for row in history]
    return Packed(np.array(rows, dtype).reshape(len(rows), length), offsets)


def unpack(packed: Packed, actions: Actions) -> list[History]:
    """SituationError unless these are histories of actions that the environment takes."""
    _refuse_strange(packed, actions)
    discrete = isinstance(actions, Discrete)
    return [
        [row[0] if discrete else row.copy() for row in packed.values[start:end]]
        for start, end in zip(packed.offsets[:-1], packed.offsets[1:], strict=True)
    ]


def _refuse_strange(packed: Packed, actions: Actions) -> None:
    length, dtype = action_row(actions)
    values, offsets = packed
    whole = values.ndim == 2 and values.shape[1] == length and values.dtype == dtype
    if not whole or offsets.dtype != np.int64 or offsets.ndim != 1:
        raise SituationError("the saved actions of the lanes' episodes are of another shape or type")
    if offsets[0] != 0 or offsets[-1] != len(values) or (np.diff(offsets) < 0).any():
        raise SituationError("the saved actions of the lanes' episodes are not cut into lanes as they are saved")
    match actions:
        case Discrete(n):
            low, high = [0.0], [n - 1.0]
        case MultiDiscrete(counts):
            low, high = [0.0] * length, [count - 1.0 for count in counts]
        case Continuous():  # float32 may round a bound, or an action, by a hair
            low = [end - HAIR * (1.0 + abs(end)) for end in actions.low]
            high = [end + HAIR * (1.0 + abs(end)) for end in actions.high]
    if not ((values >= np.array(low)) & (values <= np.array(high))).all():
        raise SituationError("the saved actions of the lanes' episodes are none that the environment takes")


def saved_arrays(packed: Packed) -> dict[str, np.ndarray]:
    """The histories as a checkpoint keeps them, beside the arrays of fixed shape."""
    return {"history": packed.values, "history_offsets": packed.offsets}


def split_saved(arrays: Mapping[str, np.ndarray], lanes: int, world: str) -> tuple[dict[str, np.ndarray], Packed]:
    """The arrays of fixed shape, and the histories, from what a checkpoint kept of so many lanes."""
    fixed = {name: array for name, array in arrays.items() if name not in HISTORY}
    if any(name not in arrays for name in HISTORY) or len(arrays["history_offsets"]) != lanes + 1:
        raise SituationError(f"the saved lanes do not fit {world} with {lanes} lanes")
    return fixed, Packed(arrays["history"], arrays["history_offsets"])
