"""Checkpoints of earlier versions in today's words."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np

BOOK = "duel/book"  # where version 0.1 kept what self-play remembers, as JSON in bytes

Arrays = dict[str, np.ndarray]


def renewed(arrays: Mapping[str, np.ndarray], facts: Mapping[str, Any]) -> tuple[Arrays, dict[str, Any]]:
    """What a checkpoint holds, as today's version would have written it."""
    if BOOK not in arrays:
        return dict(arrays), dict(facts)
    kept = json.loads(np.asarray(arrays[BOOK]).tobytes())
    players = {f"arena/{name}/": seated for name, seated in kept["players"].items()}
    moved = {_place(name): array for name, array in arrays.items() if name != BOOK}
    return moved, {**facts, "curriculum": {"book": kept["book"], "players": players}}


def _place(name: str) -> str:
    parts = name.split("/")
    if parts[0] == "vault":
        return f"curriculum/{name}"
    if parts[0] == "arena" and parts[2:3] == ["memory"]:
        return "/".join([*parts[:2], parts[1].removeprefix("exercise-"), *parts[2:]])
    return name
