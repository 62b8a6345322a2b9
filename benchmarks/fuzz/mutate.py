"""Edits that keep a file's structure: JSON by path, arrays by name, text by token, bytes by place."""

from __future__ import annotations

import copy
import json
import random
from typing import Any

import numpy as np

STRANGE: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 2, 7, 2**31 - 1, 2**31, 2**53, 2**63, 2**64, -(2**63), 10**400,
    0.5, -0.0, 1e-300, 1e300, float("nan"), float("inf"), float("-inf"),
    "", "x", "none", "\ud800", "\x1b[2J", "../..", "a" * 5000, "1e400",
    [], {}, [[]], [0], {"": 0}, [None] * 50,
)  # fmt: skip


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Paths to everything inside a JSON value."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [place for key, one in inner for place in [(*path, key), *places(one, (*path, key))]]


def edited(value: Any, chance: random.Random, most: int = 3) -> Any:
    """The JSON value with a few edits: a replaced value, a missing or foreign key, two that changed places."""
    found = copy.deepcopy(value)
    for _ in range(chance.randint(1, most)):
        paths = places(found)
        if not paths:
            return chance.choice(STRANGE)
        path = chance.choice(paths)
        parent = found
        for key in path[:-1]:
            parent = parent[key]
        match chance.randrange(6):
            case 0 | 1 | 2:
                parent[path[-1]] = chance.choice(STRANGE)
            case 3:
                del parent[path[-1]]
            case 4:
                parent[path[-1]] = near(parent[path[-1]], chance)
            case _:
                if isinstance(parent, dict):
                    parent[chance.choice(["", "extra", "name", "iteration"])] = chance.choice(STRANGE)
                else:
                    parent.append(chance.choice(STRANGE))
    return found


def near(value: Any, chance: random.Random) -> Any:
    """A value of the same type that is not far away."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + chance.choice([-1, 1, 10, -value, value])
    if isinstance(value, float):
        return value * chance.choice([-1.0, 0.0, 2.0, 1e6])
    if isinstance(value, str):
        return edited_text(value, chance)
    return [value]


def as_json(value: Any, chance: random.Random) -> bytes:
    """The text of it, sometimes with what only text can say: 1e400, depth, a torn end."""
    try:
        text = json.dumps(value)
    except ValueError:
        text = "{}"
    match chance.randrange(20):
        case 0:
            text = text.replace("0", "1e400", 1)
        case 1:
            text = text.replace("null", "[" * 2000 + "]" * 2000, 1)
        case 2:
            text = text[: chance.randrange(len(text) + 1)]
        case _:
            pass
    return text.encode("utf-8", "surrogatepass")


def edited_text(text: str, chance: random.Random) -> str:
    """Characters and tokens of a grammar removed, doubled, replaced."""
    signs = ":,;%=-+.x*()[]{}\"' \t\n\0é0123456789eEnaif"
    for _ in range(chance.randint(1, 4)):
        at = chance.randrange(len(text) + 1)
        match chance.randrange(4):
            case 0:
                text = text[:at] + chance.choice(signs) + text[at:]
            case 1:
                text = text[:at] + text[at + chance.randint(1, 3) :]
            case 2:
                text = text[:at] + text[at : at + chance.randint(1, 6)] * chance.choice([2, 2, 3, 50]) + text[at:]
            case _:
                text = text[:at] + str(chance.choice([0, -1, 1e400, 2**63, "nan", "1e400"])) + text[at + 1 :]
    return text


def edited_bytes(content: bytes, chance: random.Random) -> bytes:
    changed = bytearray(content)
    for _ in range(chance.randint(1, 8)):
        if not changed:
            break
        at = chance.randrange(min(len(changed), 64) if chance.random() < 0.5 else len(changed))
        match chance.randrange(4):
            case 0:
                changed[at] = chance.randrange(256)
            case 1:
                changed[at] ^= 1 << chance.randrange(8)
            case 2:
                del changed[at : at + chance.choice([1, 16, 4096, len(changed)])]
            case _:
                changed[at:at] = bytes(chance.randrange(256) for _ in range(chance.choice([1, 16])))
    return bytes(changed)


def edited_arrays(arrays: dict[str, np.ndarray], chance: random.Random) -> dict[str, np.ndarray]:
    """Numbers out of range, other types and shapes, missing and foreign names."""
    found = dict(arrays)
    for _ in range(chance.randint(1, 3)):
        if not found:
            break
        name = chance.choice(sorted(found))
        array = np.array(found[name])
        match chance.randrange(10):
            case 0:
                del found[name]
            case 1:
                found[f"{name}x"] = found.pop(name)
            case 2:
                found[name] = array.astype(chance.choice([np.float32, np.int64, np.uint8, np.int32, np.float64]))
            case 3:
                found[name] = array.reshape(-1) if array.ndim != 1 else array[: chance.randrange(len(array) + 1)]
            case 4:
                found[name] = np.concatenate([array, array]) if array.ndim else array
            case _:
                found[name] = strange_numbers(array, chance)
    return found


def strange_numbers(array: np.ndarray, chance: random.Random) -> np.ndarray:
    """One number, or all of them, at the end of the type or beside what was there."""
    if array.size == 0:
        return array
    kind = array.dtype
    if kind.kind == "f":
        value: Any = chance.choice(
            [np.nan, np.inf, -np.inf, np.finfo(kind).max, np.finfo(kind).min, -1.0, 0.0, 1e6, 1e-30]
        )
    elif kind.kind in "iu":
        low, high = int(np.iinfo(kind).min), int(np.iinfo(kind).max)
        value = chance.choice([low, high, 0, 1, min(255, high), min(1000, high), max(-1, low)])
    else:
        return (
            np.frombuffer(bytes([chance.choice([0, 1, 2, 255])]) * array.size, np.uint8)
            .view(np.bool_)
            .reshape(array.shape)
        )
    changed = np.array(array)
    if chance.random() < 0.4:
        changed[...] = value
    else:
        changed.reshape(-1)[chance.randrange(array.size)] = value
    return changed
