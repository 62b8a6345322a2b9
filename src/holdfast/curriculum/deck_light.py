"""Light decks: a JSON file of predator velocities, to be set after a normal spawn.

    {"format": "deck-light/1", "note": "...", "velocities": [[vx, vy], ...]}

Files of the earlier fish project have no format; their `velocities`, or else those of `summary.clusters`, are taken.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np

from holdfast.curriculum.deck_errors import DeckError
from holdfast.kit.disk import replace_file

KIND, VERSION = "deck-light", 1
LARGEST_BYTES = 1 << 26
FASTEST = 100.0


def write_light(path: Path, velocities: np.ndarray, note: str = "", **more: Any) -> None:
    """`more` goes into the file for readers; only the velocities are dealt."""
    pairs = [[float(vx), float(vy)] for vx, vy in velocities]
    table = {"format": f"{KIND}/{VERSION}", "note": note, "velocities": pairs, **more}
    replace_file(path, (json.dumps(table, indent=1) + "\n").encode())


def read_light(path: Path) -> tuple[np.ndarray, str]:
    """Velocities [K, 2], and the note. DeckError naming the file and the part of it that is wrong."""
    if path.stat().st_size > LARGEST_BYTES:
        raise DeckError(f"deck {path} has {path.stat().st_size} bytes, more than {LARGEST_BYTES} for a light one")
    try:
        table = json.loads(path.read_bytes())
    except (ValueError, RecursionError) as error:
        raise DeckError(f"deck {path} is neither a full deck (ZIP) nor a light one (JSON): {error}") from error
    if not isinstance(table, dict):
        raise DeckError(f"deck {path} is a JSON {type(table).__name__}, not an object with velocities")
    check_format(path, table.get("format", f"{KIND}/{VERSION}"), KIND, VERSION)
    place, found = _listed(path, table)
    return _checked(path, place, found), str(table.get("note", ""))


def check_format(path: Path, text: Any, kind: str, version: int) -> None:
    """DeckError unless the text is `kind/number` with a number this Holdfast can read."""
    name, _, number = str(text).partition("/")
    if name != kind or not number.isdigit():
        raise DeckError(f"deck {path}: format is {text!r}, not {kind}/{version}")
    if int(number) > version:
        raise DeckError(f"deck {path}: format {text} is newer than {kind}/{version}: update Holdfast")


def _listed(path: Path, table: dict[str, Any]) -> tuple[str, list[Any]]:
    if "velocities" in table:
        found = table["velocities"]
        if not isinstance(found, list):
            raise DeckError(f"deck {path}: velocities is a {type(found).__name__}, not a list")
        return "velocities", found
    place = "summary.clusters"
    try:
        return place, [cluster["sample"]["predator_velocity"] for cluster in table["summary"]["clusters"]]
    except (KeyError, TypeError, IndexError):
        raise DeckError(f"deck {path} has no velocities, and no {place} with samples to take them from") from None


def _checked(path: Path, place: str, found: list[Any]) -> np.ndarray:
    if not found:
        raise DeckError(f"deck {path} is empty: {place} has no item")
    for number, pair in enumerate(found):
        if not (isinstance(pair, list) and len(pair) == 2 and all(_is_number(part) for part in pair)):
            raise DeckError(f"deck {path}: {place}[{number}] = {json.dumps(pair)[:60]} is no velocity [vx, vy]")
        if not 0.0 < math.hypot(*pair) <= FASTEST:
            raise DeckError(f"deck {path}: {place}[{number}] = {pair}: the speed must be above 0, at most {FASTEST:g}")
    return np.array(found, np.float64)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e300
